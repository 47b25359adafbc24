
# The maintenance worker keeps files and snapshots few; compaction and
# expiration by hand; who may do it; one table in trouble leaves the others alone.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use SyncNode;
use Test::More;

my ($node, $lake) = sync_node('maintenance', "streamhouse.maintenance = off\n");

$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE lake.auto (id int NOT NULL, v text) SERVER lake
	  OPTIONS (database 'd', "primary-key" 'id', "bucket" '1', "snapshot.num-retained.max" '5', "snapshot.num-retained.min" '2');
	CREATE FOREIGN TABLE lake.left_alone (id int NOT NULL, v text) SERVER lake
	  OPTIONS (database 'd', "primary-key" 'id', "bucket" '1', "write-only" 'true');
	CREATE FOREIGN TABLE lake.broken (id int NOT NULL, v text) SERVER lake
	  OPTIONS (database 'd', "primary-key" 'id', "bucket" '1');
});
foreach my $i (1 .. 8)
{
	$node->safe_psql('postgres', "INSERT INTO lake.$_ SELECT i, 'v$i' FROM generate_series($i, $i + 20) i") for qw(auto left_alone broken);
}
is($node->safe_psql('postgres', q{SELECT count(*) FROM streamhouse.files('lake.auto')}), '8', 'nothing happens while maintenance is off');

# a table whose metadata cannot be read
open(my $damaged, '>', "$lake/d.db/broken/snapshot/snapshot-8") or die $!;
print $damaged 'damaged';
close $damaged;
$node->append_conf('postgresql.conf', 'streamhouse.maintenance = on');
$node->reload;
ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM streamhouse.files('lake.auto')}), 'a table with many files is compacted');
ok($node->poll_query_until('postgres', q{SELECT count(*) <= 5 FROM streamhouse.snapshots('lake.auto')}), 'and its snapshots expire');
is($node->safe_psql('postgres', q{SELECT count(*), min(v), max(v) FROM lake.auto}), '28|v1|v8', 'its rows are the same');
is($node->safe_psql('postgres', q{SELECT count(*) FROM streamhouse.files('lake.left_alone')}), '8', 'a write-only table is left alone');
ok($node->poll_query_until('postgres', q{SELECT error LIKE '%broken%' FROM streamhouse.maintenance_progress}), 'trouble is reported');
sleep 3;
my $log = PostgreSQL::Test::Utils::slurp_file($node->logfile);
is(scalar(() = $log =~ /maintenance of lake table "lake.broken" failed/g), 1, 'and logged once');
is($node->safe_psql('postgres', q{SELECT compactions > 0, expired_snapshots > 0 FROM streamhouse.maintenance_progress}), 't|t',
	'the view counts what was done');

# by hand
my ($code, $out, $err) = $node->psql('postgres', q{CALL streamhouse.compact('lake.left_alone')});
like($err, qr/lake table "d.left_alone" compacted in snapshot 9/, 'compact says what it did');
is($node->safe_psql('postgres', q{SELECT count(*), max(level) > 0 FROM streamhouse.files('lake.left_alone')}), '1|t', 'one file is left');
($code, $out, $err) = $node->psql('postgres', q{CALL streamhouse.compact('lake.left_alone')});
like($err, qr/needs no compaction/, 'there is nothing left to do');
($code, $out, $err) = $node->psql('postgres', q{CALL streamhouse.expire_snapshots('lake.left_alone', retain_max => 3, retain_min => 1)});
like($err, qr/6 snapshots expired/, 'expire_snapshots says what it did');
is($node->safe_psql('postgres', q{SELECT string_agg(snapshot_id::text, ',' ORDER BY snapshot_id) FROM streamhouse.snapshots('lake.left_alone')}),
	'7,8,9', 'the newest are kept');
is($node->safe_psql('postgres', q{SELECT count(*) FROM lake.left_alone}), '28', 'the rows are the same');

# privileges and wrong arguments
$node->safe_psql('postgres', q{
	CREATE ROLE reader;
	GRANT USAGE ON SCHEMA lake TO reader;
	GRANT SELECT ON lake.auto TO reader;
	CREATE TABLE plain (id int);
});
foreach my $case (
	[ q{SET ROLE reader; CALL streamhouse.compact('lake.auto')}, qr/must be owner of foreign table auto/ ],
	[ q{SET ROLE reader; CALL streamhouse.expire_snapshots('lake.auto')}, qr/must be owner of foreign table auto/ ],
	[ q{SET ROLE reader; SELECT * FROM streamhouse.files('lake.left_alone')}, qr/permission denied for foreign table left_alone/ ],
	[ q{CALL streamhouse.compact('plain')}, qr/"plain" is not a foreign table of streamhouse/ ],
	[ q{CALL streamhouse.compact(NULL)}, qr/"table" must not be null/ ],
	[ q{CALL streamhouse.expire_snapshots('lake.auto', retain_max => 0)}, qr/"retain_max" must be at least 1/ ],
	[ q{CALL streamhouse.expire_snapshots('lake.auto', older_than => 'infinity')}, qr/"older_than" is out of range/ ])
{
	my ($call, $pattern) = @$case;
	($code, $out, $err) = $node->psql('postgres', $call);
	like($err, $pattern, $call);
}
is($node->safe_psql('postgres', q{SET ROLE reader; SELECT count(*) > 0 FROM streamhouse.snapshots('lake.auto')}), 't',
	'who may read a table may look at its snapshots');

$node->stop;
done_testing();
