
# Tables join a sync that runs, leave it, and are copied again, while the
# others go on and everything changes; also when the copy is interrupted.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Utils;
use SyncNode;
use Test::More;
use Time::HiRes qw(usleep);

my ($node, $lake) = sync_node('tables', "max_connections = 20\n");

sub sql { return $node->safe_psql('postgres', @_) }

sql(q{
	CREATE TABLE first (id int PRIMARY KEY, v int);
	CREATE TABLE second (id int PRIMARY KEY, v int, big text);
	ALTER TABLE second ALTER big SET STORAGE EXTERNAL;
	CREATE TABLE third (id int PRIMARY KEY, v text);
	INSERT INTO first SELECT i, 0 FROM generate_series(1, 1000) i;
	INSERT INTO second SELECT i, 0, CASE WHEN i % 10 = 0 THEN repeat(i::text, 2000) END FROM generate_series(1, 1000) i;
	CREATE PUBLICATION p FOR TABLE first;
	CALL streamhouse.create_sync('s', 'p', 'lake', 'd', flush_interval => '100 ms');
});
wait_for_sync($node, 's');

my $script = PostgreSQL::Test::Utils::tempdir() . '/load.sql';
append_to_file($script, q{
\set id random(1, 1500)
BEGIN;
UPDATE first SET v = v + 1 WHERE id = :id;
UPDATE second SET v = v + 1 WHERE id = :id;
INSERT INTO second VALUES (:id, 1, repeat('n', 4000)) ON CONFLICT (id) DO UPDATE SET v = second.v + 1;
DELETE FROM second WHERE id = :id / 2;
COMMIT;
});

sub start_load
{
	my ($out, $err) = ('', '');
	return IPC::Run::start([ 'pgbench', '-n', '-c', '2', '-T', '600', '-f', $script, '-p', $node->port, '-h', $node->host, 'postgres' ],
		'>', \$out, '2>', \$err);
}

# a table joins under a load
my $load = start_load();
usleep(500_000);
sql(q{ALTER PUBLICATION p ADD TABLE second});
usleep(300_000);
sql(q{CALL streamhouse.refresh_sync('s')});
wait_for_sync($node, 's');
import_lake_tables($node, 'd', $_) for qw(first second);
is(sql(q{SELECT string_agg("table" || copied::text, ' ' ORDER BY "table") FROM streamhouse.sync_tables}), 'firsttrue secondtrue', 'both are copied');
usleep(500_000);
eval { $load->kill_kill };
wait_for_sync($node, 's');
same_rows($node, $_, "$_ after another table joined") for qw(first second);
is(sql(q{SELECT count(*) FROM pg_replication_slots}), '1', 'the slot of the copy is gone');
sql(q{CALL streamhouse.refresh_sync('s')});
wait_for_sync($node, 's');
same_rows($node, 'second', 'refresh without news changes nothing');

# one is taken out, and comes back
sql(q{
	ALTER PUBLICATION p DROP TABLE second;
	CALL streamhouse.refresh_sync('s');
	UPDATE second SET v = -1;
	DELETE FROM second WHERE id % 7 = 0;
});
wait_for_sync($node, 's');
is(sql(q{SELECT count(*) FROM lake.second WHERE v = -1}), '0', 'a table that left gets no changes');
is(sql(q{SELECT count(*) FROM streamhouse.sync_tables}), '1', 'and is forgotten');
sql(q{ALTER PUBLICATION p ADD TABLE second; CALL streamhouse.refresh_sync('s'); UPDATE second SET v = -2 WHERE id < 10});
wait_for_sync($node, 's');
same_rows($node, 'second', 'a table that came back');

# a table is copied again: under a load, with crashes
sql(q{INSERT INTO second SELECT i, 0, repeat('x', 200) FROM generate_series(10001, 150000) i});
wait_for_sync($node, 's');
foreach my $round (1 .. 3)
{
	$load = start_load();
	sql(q{CALL streamhouse.resync_table('s', 'second')});
	ok($node->poll_query_until('postgres', q{SELECT s.state = 'copying' OR bool_and(copied) FROM streamhouse.sync_status s, streamhouse.sync_tables GROUP BY s.state}),
		'the copy begins');
	usleep(int(rand(400_000)));
	if ($round % 2)
	{
		$node->stop('immediate');
		$node->start;
	}
	else
	{
		my $pid = sql(q{SELECT pid FROM streamhouse.sync_status});
		sql("SELECT pg_terminate_backend($pid)") if $pid;
	}
	eval { $load->kill_kill };
	wait_for_sync($node, 's');
	same_rows($node, $_, "$_ after a copy that was interrupted, round $round") for qw(first second);
}

# the cure for changed columns: the table is copied anew, into the lake table that is there or into a new one
sql(q{ALTER PUBLICATION p ADD TABLE third; CALL streamhouse.refresh_sync('s'); CALL streamhouse.alter_sync('s', on_schema_change => 'pause')});
wait_for_sync($node, 's');
sql(q{
	ALTER TABLE third ADD COLUMN extra int DEFAULT 3;
	INSERT INTO third VALUES (1, 'one', 1);
	INSERT INTO first VALUES (5000, 1);
});
like(table_error($node, 's', 'third'), qr/columns have changed: Column "extra" was added with a default/, 'a new column with values pauses its table');
my ($code, $out, $err);
sql(q{CALL streamhouse.resync_table('s', 'third')});
wait_for_sync($node, 's');
import_lake_tables($node, 'd', 'third');
same_rows($node, 'third', 'copied into the lake table that is there');
sql(q{ALTER TABLE third ALTER id TYPE bigint; INSERT INTO third VALUES (3, 'three', 3)});
like(table_error($node, 's', 'third'), qr/part of the key, whose types cannot change. Changes from here on are not taken: remove the lake table/, 'the key cannot change');
system('rm', '-rf', "$lake/d.db/third");
sql(q{CALL streamhouse.resync_table('s', 'third')});
wait_for_sync($node, 's');
import_lake_tables($node, 'd', 'third');
same_rows($node, $_, "$_, with new columns") for qw(first third);
sql(q{UPDATE third SET extra = 4; INSERT INTO third VALUES (2, 'two', 2)});
wait_for_sync($node, 's');
same_rows($node, 'third', 'and it goes on');

# what cannot join is refused, and nothing changes
sql(q{CREATE TABLE keyless (a int); ALTER PUBLICATION p ADD TABLE keyless});
($code, $out, $err) = $node->psql('postgres', q{CALL streamhouse.refresh_sync('s')});
like($err, qr/sync "s" cannot take up tables.*table "public.keyless" has no primary key/s, 'a table without key does not join');
($code, $out, $err) = $node->psql('postgres', q{CALL streamhouse.resync_table('s', 'keyless')});
like($err, qr/sync "s" does not have that table/, 'nor is it copied again');
sql(q{ALTER PUBLICATION p DROP TABLE keyless, first});
($code, $out, $err) = $node->psql('postgres', q{CALL streamhouse.resync_table('s', 'first')});
like($err, qr/the publication has no table "first"/, 'a table that is not published is not copied again');
sql(q{DROP TABLE first; CALL streamhouse.refresh_sync('s'); UPDATE third SET v = 'end'});
wait_for_sync($node, 's');
same_rows($node, 'third', 'a dropped table is left');
is(sql(q{SELECT string_agg("table", ' ' ORDER BY "table") FROM streamhouse.sync_tables}), 'second third', 'and forgotten');

$node->stop;
done_testing();
