
# The maintenance worker keeps files and snapshots few; compaction and
# expiration by hand; who may do it; one table in trouble leaves the others alone.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Utils;
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

# orphan files: old ones that nothing refers to, wherever they lie
{
	my $table = "$lake/d.db/left_alone";
	my @orphans = map { "$table/$_" } qw(bucket-0/data-0-0.parquet manifest/manifest-0-0 manifest/manifest-list-0-0 index/index-0-0
		statistics/stat-0-0 snapshot/.snapshot-7.0.tmp);
	my @others = map { "$table/$_" } qw(other/data-0-0.parquet bucket-0/data-1-0.parquet);
	foreach my $folder (qw(index statistics other))
	{
		mkdir "$table/$folder";
	}
	append_to_file($_, 'x') foreach (@orphans, @others);
	my $file = $node->safe_psql('postgres', q{SELECT file_path FROM streamhouse.files('lake.left_alone')});
	my $day = 24 * 60 * 60;
	my @metadata = (glob("$table/*/*"), glob("$table/*/.??*"));
	utime(time - 2 * $day, time - 2 * $day, $_) foreach grep { $_ ne $others[1] } @metadata;

	($code, $out, $err) = $node->psql('postgres', q{CALL streamhouse.remove_orphan_files('lake.left_alone', dry_run => true)});
	like($err, qr/6 orphan files found/, 'a dry run counts orphan files');
	is(scalar(grep { -e $_ } @orphans), 6, 'and removes none');
	($code, $out, $err) = $node->psql('postgres', q{CALL streamhouse.remove_orphan_files('lake.left_alone', older_than => now() - interval '3 days')});
	like($err, qr/0 orphan files removed/, 'they may be too young');
	($code, $out, $err) = $node->psql('postgres', q{CALL streamhouse.remove_orphan_files('lake.left_alone')});
	like($err, qr/6 orphan files removed/, 'a day by default');
	is(scalar(grep { -e $_ } @orphans), 0, 'they are gone');
	is(scalar(grep { -e $_ } @others), 2, 'younger files, and what is in other folders, stay');
	is(scalar(grep { !-e $_ } @metadata), 6, 'and all others');
	is($node->safe_psql('postgres', q{SELECT count(*) FROM lake.left_alone}), '28', 'the rows are the same');
	foreach my $id (7, 8, 9)
	{
		is($node->safe_psql('postgres', qq{SET streamhouse.as_of = '$id'; SELECT count(*) FROM lake.left_alone}), $id == 7 ? '27' : '28', "and of snapshot $id");
	}
}

# the worker does it too
{
	my $orphan = "$lake/d.db/auto/bucket-0/data-0-0.parquet";
	append_to_file($orphan, 'x');
	utime(time - 2 * 24 * 60 * 60, time - 2 * 24 * 60 * 60, $orphan);
	sleep 3;
	ok(-e $orphan, 'once a day by default');
	$node->append_conf('postgresql.conf', 'streamhouse.orphan_file_interval = 1');
	$node->reload;
	my $tries = 0;
	sleep 1 while (-e $orphan && $tries++ < 60);
	ok(!-e $orphan, 'an old orphan file is removed in the background');
	like(slurp_file($node->logfile), qr/removing orphan file "\Q$orphan\E"/, 'and the log tells');
	is($node->safe_psql('postgres', q{SELECT count(*) FROM lake.auto}), '28', 'the rows are the same');
}

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
	[ q{SET ROLE reader; CALL streamhouse.remove_orphan_files('lake.auto')}, qr/must be owner of foreign table auto/ ],
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
