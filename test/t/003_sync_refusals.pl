
# What cannot be replicated is refused, all at once and by name, before
# anything is made; what comes later stops the sync with an error that says why.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use SyncNode;
use Test::More;

my ($node, $lake) = sync_node('refusals', "max_replication_slots = 5\n");

sub refused
{
	my ($call, @patterns) = @_;
	my ($code, $out, $err) = $node->psql('postgres', $call);
	isnt($code, 0, "refused: $call");
	like($err, $_, "says why") foreach @patterns;
	return $err;
}

$node->safe_psql('postgres', q{
	CREATE TABLE good (id int PRIMARY KEY, v text);
	CREATE TABLE no_key (a int, b text);
	CREATE TABLE no_key_full (a int, b text);
	ALTER TABLE no_key_full REPLICA IDENTITY FULL;
	CREATE TABLE deferred (id int PRIMARY KEY DEFERRABLE, v text);
	CREATE TABLE nothing (id int PRIMARY KEY);
	ALTER TABLE nothing REPLICA IDENTITY NOTHING;
	CREATE SCHEMA twin;
	CREATE TABLE twin.good (id int PRIMARY KEY, v text);
	CREATE PUBLICATION bad FOR TABLE good, no_key, no_key_full, deferred, nothing, twin.good;
	CREATE PUBLICATION empty;
	CREATE PUBLICATION good FOR TABLE good;
	CREATE PUBLICATION inserts FOR TABLE no_key WITH (publish = 'insert');
	CREATE PUBLICATION everything FOR ALL TABLES;
	CREATE FOREIGN DATA WRAPPER other;
	CREATE SERVER other FOREIGN DATA WRAPPER other;
	CREATE TABLE mixed (id int) PARTITION BY LIST (id);
	CREATE FOREIGN TABLE mixed_1 PARTITION OF mixed FOR VALUES IN (1) SERVER other;
	CREATE PUBLICATION mixed FOR TABLE mixed WITH (publish = 'insert', publish_via_partition_root);
	CREATE ROLE walker;
	GRANT USAGE ON SCHEMA streamhouse TO walker;
});

my $all = refused(q{CALL streamhouse.create_sync('s', 'bad', 'lake', 'd')},
	qr/sync "s" cannot be created/,
	qr/table "public.no_key" has no primary key/,
	qr/table "public.no_key_full" has no primary key/,
	qr/primary key of table "public.deferred" is deferrable/,
	qr/table "public.nothing" has REPLICA IDENTITY NOTHING/,
	qr/"public.good" and "twin.good" would both be lake table "good"|"twin.good" and "public.good" would both be lake table "good"/);
refused(q{CALL streamhouse.create_sync('s', 'mixed', 'lake', 'd')}, qr/partition "mixed_1" of table "public.mixed" is a foreign table/);
refused(q{CALL streamhouse.create_sync('s', 'empty', 'nowhere', 'd')},
	qr/publication "empty" has no tables/, qr/server "nowhere" does not exist/);
refused(q{CALL streamhouse.create_sync('s', 'good', 'other', 'd')}, qr/not of the foreign data wrapper streamhouse/);
refused(q{CALL streamhouse.create_sync('s', 'gone', 'lake', 'd')}, qr/publication "gone" does not exist/);
refused(q{CALL streamhouse.create_sync('s', 'good', 'lake', '../d')}, qr/\.\.\/d/);
refused(q{CALL streamhouse.create_sync('s', 'good', 'lake', 'd', flush_interval => '1 ms')}, qr/flush_interval must be/);
refused(q{CALL streamhouse.create_sync('s', 'good', 'lake', 'd', options => '{"bucket": "-2"}')}, qr/bucket/);
refused(q{CALL streamhouse.create_sync('s', 'good', 'lake', 'd', options => '{"bucket": {}}')}, qr/value of option "bucket" must be/);
refused(q{CALL streamhouse.create_sync('', 'good', 'lake', 'd')}, qr/name of a sync/);
refused(q{CALL streamhouse.create_sync(NULL, 'good', 'lake', 'd')}, qr/"name" must not be null/);
refused(q{SET ROLE walker; CALL streamhouse.create_sync('s', 'good', 'lake', 'd')}, qr/permission denied/);
refused(q{CALL streamhouse.drop_sync('s')}, qr/sync "s" does not exist/);
is($node->safe_psql('postgres', 'SELECT count(*) FROM streamhouse.sync'), '0', 'nothing was made');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_replication_slots'), '0', 'and no slot');

# a lake table of somebody else's is not touched
$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE lake.good (id int NOT NULL, v text) SERVER lake OPTIONS (database 'taken', "primary-key" 'id', "bucket" '1');
	INSERT INTO lake.good VALUES (1, 'mine');
	CREATE FOREIGN TABLE lake.other (id int NOT NULL, w text) SERVER lake
	  OPTIONS (database 'different', "table" 'good', "primary-key" 'id', "bucket" '1');
});
refused(q{CALL streamhouse.create_sync('s', 'good', 'lake', 'taken')}, qr/It has rows that the sync did not write/);
refused(q{CALL streamhouse.create_sync('s', 'good', 'lake', 'different')}, qr/It has column "w" in the place of "v"/);

# an append table takes inserts; FOR ALL TABLES leaves out the extension's own
$node->safe_psql('postgres', q{
	DROP TABLE no_key_full, deferred, nothing, mixed;
	DROP SCHEMA twin CASCADE;
	INSERT INTO no_key VALUES (1, 'one'), (1, 'one'), (NULL, NULL);
	CALL streamhouse.create_sync('append', 'inserts', 'lake', 'append');
});
refused(q{CALL streamhouse.create_sync('append2', 'inserts', 'lake', 'append')}, qr/sync "append" writes to lake table "no_key"/);
wait_for_sync($node, 'append');
$node->safe_psql('postgres', q{INSERT INTO no_key VALUES (2, 'two'), (2, 'two')});
wait_for_sync($node, 'append');
$node->safe_psql('postgres', 'IMPORT FOREIGN SCHEMA append FROM SERVER lake INTO lake');
same_rows($node, 'no_key', 'an append table');
$node->safe_psql('postgres', q{
	DROP TABLE no_key;
	CALL streamhouse.create_sync('everything', 'everything', 'lake', 'everything');
});
wait_for_sync($node, 'everything');
is($node->safe_psql('postgres', q{SELECT string_agg("table", ' ') FROM streamhouse.sync_tables WHERE name = 'everything'}), 'good',
	'the own tables of the extension are left out');
$node->safe_psql('postgres', q{CALL streamhouse.drop_sync('everything')});

# changed columns that cannot be followed pause the table at the first row, and nothing wrong is written
$node->safe_psql('postgres', q{
	DROP FOREIGN TABLE lake.good, lake.other;
	CREATE TABLE steady (id int PRIMARY KEY);
	CREATE PUBLICATION steady FOR TABLE steady;
	CALL streamhouse.create_sync('good', 'good', 'lake', 'd', flush_interval => '100 ms', on_schema_change => 'pause');
	CALL streamhouse.create_sync('steady', 'steady', 'lake', 'd', flush_interval => '100 ms');
});
wait_for_sync($node, $_) for qw(good steady);
$node->safe_psql('postgres', q{
	IMPORT FOREIGN SCHEMA d FROM SERVER lake INTO lake;
	INSERT INTO good VALUES (1, 'before');
	ALTER TABLE good ADD COLUMN extra int DEFAULT 5;
	INSERT INTO good VALUES (2, 'after', 6);
});
like(table_error($node, 'good', 'good'), qr/columns have changed: Column "extra" was added with a default/, 'a new column with values pauses the table');
ok($node->poll_query_until('postgres', 'SELECT count(*) = 1 FROM lake.good'), 'what was committed before gets into the lake');
is($node->safe_psql('postgres', 'SELECT * FROM lake.good WHERE id = 2'), '', 'nothing of what came after is written');
$node->safe_psql('postgres', 'INSERT INTO steady VALUES (1)');
wait_for_sync($node, 'steady');
same_rows($node, 'steady', 'another sync is not held up');
my ($code, $out, $err);
$node->safe_psql('postgres', q{CALL streamhouse.drop_sync('good')});
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_replication_slots}), '2', 'a sync with a paused table can be dropped');

foreach my $change (
	[ 'ALTER TABLE good RENAME v TO w', qr/Column "v" is called "w" now/ ],
	[ 'ALTER TABLE good ALTER id TYPE bigint', qr/Column "id" would be BIGINT/ ],
	[ 'ALTER TABLE good DROP v; ALTER TABLE good ADD v text', qr/Column "v" was dropped/ ])
{
	my ($ddl, $pattern) = @$change;
	$node->safe_psql('postgres', q{
		DROP TABLE good;
		DROP FOREIGN TABLE IF EXISTS lake.good;
		CREATE TABLE good (id int PRIMARY KEY, v text);
		ALTER PUBLICATION good ADD TABLE good;
	});
	system('rm', '-rf', "$lake/d.db/good");
	$node->safe_psql('postgres', q{CALL streamhouse.create_sync('good', 'good', 'lake', 'd', flush_interval => '100 ms', on_schema_change => 'pause')});
	wait_for_sync($node, 'good');
	$node->safe_psql('postgres', "$ddl; INSERT INTO good VALUES (1, 'x')");
	like(table_error($node, 'good', 'good'), $pattern, $ddl);
	$node->safe_psql('postgres', q{CALL streamhouse.drop_sync('good')});
}

# a warehouse that cannot be written: the sync says so, and goes on when it can be
chmod 0555, "$lake/d.db/steady/snapshot";
$node->safe_psql('postgres', 'INSERT INTO steady SELECT i FROM generate_series(2, 10) i');
like(sync_error($node, 'steady'), qr/steady\/snapshot/, 'a folder that cannot be written is named');
($code, $out, $err) = $node->psql('postgres', q{CALL streamhouse.wait_for_sync('steady', timeout => '200 ms')});
like($err, qr/The sync fails: .*steady\/snapshot/, 'who waits is told why');
chmod 0755, "$lake/d.db/steady/snapshot";
wait_for_sync($node, 'steady');
same_rows($node, 'steady', 'the sync goes on when the folder can be written again');
is($node->safe_psql('postgres', q{SELECT state, error IS NULL FROM streamhouse.sync_status WHERE name = 'steady'}), 'streaming|t',
	'and the error is gone');

# another table in the place of the lake table is not taken for it
system('rm', '-rf', "$lake/d.db/steady");
$node->safe_psql('postgres', q{
	DROP FOREIGN TABLE lake.steady;
	CREATE FOREIGN TABLE lake.steady (id int NOT NULL) SERVER lake OPTIONS (database 'd', "primary-key" 'id', "bucket" '1');
	INSERT INTO steady VALUES (11)});
like(sync_error($node, 'steady'), qr/lake table "d.steady" is not the one that the sync has filled/, 'a lake table that was replaced');
$node->restart;
like(sync_error($node, 'steady'), qr/lake table "d.steady" is not the one that the sync has filled/, 'also at the start');

# a lost slot is named
my $slot = $node->safe_psql('postgres', q{SELECT slot FROM streamhouse.sync_status WHERE name = 'steady'});
$node->safe_psql('postgres', q{CALL streamhouse.pause_sync('steady')});
$node->poll_query_until('postgres', "SELECT NOT active FROM pg_replication_slots WHERE slot_name = '$slot'");
$node->safe_psql('postgres', qq{
	SELECT pg_drop_replication_slot('$slot');
	CALL streamhouse.resume_sync('steady');
});
like(sync_error($node, 'steady'), qr/cannot go on from where the lake is: its replication slot is not there.*resync_sync\('steady'\)/, 'a lost slot');

$node->stop;
done_testing();
