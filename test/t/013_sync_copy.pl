
# The initial copy: in chunks, by several processes, beside the stream.  It goes
# on after crashes; one table's trouble is its own; and whatever happens to the
# tables meanwhile, lake and source are equal in the end.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Utils;
use SyncNode;
use Test::More;
use Time::HiRes qw(usleep time);

my ($node, $lake) = sync_node('copy', q{
max_connections = 30
max_worker_processes = 20
streamhouse.copy_chunk_size = 256kB
streamhouse.copy_workers = 3
});

sub sql { return $node->safe_psql('postgres', @_) }

sub wait_until
{
	my ($query, $what) = @_;
	ok($node->poll_query_until('postgres', $query), $what);
}

sub import_tables
{
	my $tables = join(", ", map { ($_, "\"$_\$snapshots\"") } @_);
	sql("DROP FOREIGN TABLE IF EXISTS lake.$_, lake.\"$_\$snapshots\"") for @_;
	sql("IMPORT FOREIGN SCHEMA d LIMIT TO ($tables) FROM SERVER lake INTO lake");
}

# Snapshots that chunks of a table's copy made, each number once or more.
sub chunk_commits
{
	my ($table) = @_;
	return split /\|/, sql(qq{SELECT count(*) || '|' || count(DISTINCT commit_identifier) FROM lake."$table\$snapshots" WHERE commit_user LIKE '%_copy'});
}

# A session in a transaction that has done something; finishing it rolls back, unless it commits before.
sub transaction
{
	my ($statements) = @_;
	my %session = (in => "BEGIN; $statements; SELECT 'done';\n", out => '', err => '');
	$session{run} = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres') ], '<', \$session{in}, '>', \$session{out}, '2>', \$session{err});
	$session{run}->pump until $session{out} =~ /done/;
	return \%session;
}

sub commit
{
	my ($session) = @_;
	$session->{in} .= "COMMIT;\n";
	$session->{run}->finish;
}

my $script = PostgreSQL::Test::Utils::tempdir() . '/load.sql';
append_to_file($script, q{
\set id random(1, 60000)
\set other random(1, 60000)
BEGIN;
UPDATE account SET v = v + 1 WHERE id = :id;
UPDATE account SET big = repeat(md5(random()::text), 80) WHERE id = :other AND id % 7 = 0;
DELETE FROM account WHERE id = :other AND id % 3 = 0;
INSERT INTO account VALUES (:other, -1, NULL) ON CONFLICT (id) DO UPDATE SET v = account.v + 10;
UPDATE part SET half = 1 - half WHERE id = :id;
INSERT INTO journal VALUES ('meanwhile', :id);
UPDATE plain SET v = v + 1 WHERE id = :id;
DELETE FROM plain WHERE id = :other AND id % 5 = 0;
COMMIT;
});

sub start_load
{
	my ($out, $err) = ('', '');
	return IPC::Run::start([ 'pgbench', '-n', '-c', '2', '-T', '600', '-f', $script, '-p', $node->port, '-h', $node->host, 'postgres' ],
		'>', \$out, '2>', \$err);
}

sql(q{
	CREATE TABLE account (id int PRIMARY KEY, v int, big text) WITH (fillfactor = 80);
	ALTER TABLE account ALTER big SET STORAGE EXTERNAL;
	CREATE TABLE journal (text text, n int);
	CREATE TABLE part (id int, half int, note text, PRIMARY KEY (id, half)) PARTITION BY LIST (half);
	CREATE TABLE part_0 PARTITION OF part FOR VALUES IN (0);
	CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1);
	CREATE TABLE plain (id int PRIMARY KEY, v int, note char(40));
	INSERT INTO account SELECT i, 0, CASE WHEN i % 10 = 0 THEN repeat(md5(i::text), 70) END FROM generate_series(1, 60000) i;
	INSERT INTO journal SELECT 'line', i FROM generate_series(1, 200000) i;
	INSERT INTO part SELECT i, i % 2, 'n' || i FROM generate_series(1, 60000) i;
	INSERT INTO plain SELECT i, 0, 'p' || i FROM generate_series(1, 60000) i;
	CREATE PUBLICATION p FOR TABLE account, part, plain WITH (publish_via_partition_root);
	CREATE PUBLICATION j FOR TABLE journal WITH (publish = 'insert');
});

# under a load
my $load = start_load();
usleep(300_000);
sql(q{
	CALL streamhouse.create_sync('s', 'p', 'lake', 'd', flush_interval => '100 ms', options => '{"bucket": "2"}');
	CALL streamhouse.create_sync('j', 'j', 'lake', 'd', flush_interval => '100 ms');
});
wait_until(q{SELECT count(*) = 0 FROM streamhouse.sync_progress}, 'a copy is made under a load');
usleep(300_000);
eval { $load->kill_kill };
wait_for_sync($node, $_) for qw(s j);
import_tables(qw(account part plain journal));
same_rows($node, $_, "$_ after a copy in chunks under a load") for qw(account part plain journal);
my ($commits, $numbers) = chunk_commits('plain');
cmp_ok($numbers, '>', 10, "plain was copied in $numbers chunks");
is($commits, $numbers, 'each once');

# crashes in the middle
sql(q{CALL streamhouse.drop_sync('s'); CALL streamhouse.drop_sync('j')});
system('rm', '-rf', "$lake/d.db");
$node->append_conf('postgresql.conf', "streamhouse.copy_workers = 2\nstreamhouse.copy_chunk_size = 64kB\n");
$node->reload;
sql(q{
	INSERT INTO plain SELECT i, 0, 'p' || i FROM generate_series(60001, 250000) i;
	CREATE PUBLICATION q FOR TABLE plain;
	CALL streamhouse.create_sync('j', 'j', 'lake', 'd', flush_interval => '100 ms');
	CALL streamhouse.create_sync('q', 'q', 'lake', 'd', flush_interval => '100 ms');
});
my $before = 0;
foreach my $round (1 .. 4)
{
	$load = start_load();
	wait_until("SELECT coalesce(max(chunks_done), 0) >= $before + 5 OR count(*) = 0 FROM streamhouse.sync_progress WHERE \"table\" = 'plain'", "chunks are copied, round $round");
	$before = sql(q{SELECT coalesce(max(chunks_done), 0) FROM streamhouse.sync_progress WHERE "table" = 'plain'});
	note "round $round, $before chunks";
	if ($round == 1)
	{
		sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'streamhouse copy'});
	}
	elsif ($round == 2)
	{
		my $pid = sql(q{SELECT coalesce(max(pid), 0) FROM pg_stat_activity WHERE backend_type = 'streamhouse copy'});
		kill 'KILL', $pid if $pid;
		wait_for_server($node);
	}
	elsif ($round == 3)
	{
		$node->stop('immediate');
		$node->start;
	}
	else
	{
		sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'streamhouse sync'});
	}
	eval { $load->kill_kill };
	wait_until("SELECT min(chunks_before) >= least($before, 10) OR count(*) = 0 FROM streamhouse.sync_progress WHERE \"table\" = 'plain' AND chunks_done IS NOT NULL", 'and are not copied again')
	  if $before > 0 && $round < 4;
}
wait_for_sync($node, $_) for qw(q j);
import_tables(qw(plain journal));
same_rows($node, $_, "$_ after a copy with crashes") for qw(plain journal);
($commits, $numbers) = chunk_commits('plain');
my $chunks = sql(q{SELECT pg_relation_size('plain') / 65536});
note "$commits commits, $chunks chunks of the table";
cmp_ok($commits, '<', $chunks * 1.5, 'finished chunks were not copied again');
sql(q{CALL streamhouse.drop_sync('j'); CALL streamhouse.drop_sync('q')});
system('rm', '-rf', "$lake/d.db");

# a table that joins, with its copy held up, does not hold up the others; what
# happens to tables that wait for their copy arrives all the same
$node->append_conf('postgresql.conf', "streamhouse.copy_workers = 1\nstreamhouse.copy_chunk_size = 64kB\n");
$node->reload;
sql(q{
	CREATE TABLE small (id int PRIMARY KEY, v int);
	INSERT INTO small VALUES (1, 1);
	CREATE TABLE slow (id int PRIMARY KEY, note char(100));
	INSERT INTO slow SELECT i, 's' || i FROM generate_series(1, 200000) i;
	CREATE TABLE w_toast (id int PRIMARY KEY, v int, big text);
	ALTER TABLE w_toast ALTER big SET STORAGE EXTERNAL;
	INSERT INTO w_toast SELECT i, 0, repeat(md5(i::text), 100) FROM generate_series(1, 300) i;
	CREATE TABLE w_truncate (id int PRIMARY KEY, v int);
	INSERT INTO w_truncate SELECT i, 0 FROM generate_series(1, 5000) i;
	CREATE TABLE w_add (id int PRIMARY KEY, v int);
	INSERT INTO w_add SELECT i, 0 FROM generate_series(1, 5000) i;
	CREATE TABLE w_default (LIKE w_add INCLUDING ALL);
	INSERT INTO w_default TABLE w_add;
	CREATE TABLE w_full (LIKE w_add INCLUDING ALL);
	INSERT INTO w_full TABLE w_add;
	CREATE TABLE w_bad (id int PRIMARY KEY, at date);
	INSERT INTO w_bad VALUES (1, '2024-01-01'), (2, 'infinity');
	CREATE PUBLICATION few FOR TABLE small;
	CALL streamhouse.create_sync('few', 'few', 'lake', 'd', flush_interval => '100 ms');
});
wait_for_sync($node, 'few');
import_tables('small');
sql(q{
	ALTER PUBLICATION few ADD TABLE slow, w_toast, w_truncate, w_add, w_default, w_full, w_bad;
	CALL streamhouse.refresh_sync('few');
});
wait_until(q{SELECT chunks_done > 0 FROM streamhouse.sync_progress WHERE "table" = 'slow'}, 'a large table is being copied');
my $locked = transaction('LOCK TABLE slow');

is(sql(q{SELECT phase FROM streamhouse.sync_progress WHERE "table" = 'slow'}), 'copying', 'and it is locked meanwhile');
my ($done, $total, $rows, $expected) = split /\|/, sql(q{SELECT chunks_done, chunks_total, rows_done, rows_expected FROM streamhouse.sync_progress WHERE "table" = 'slow'});
note "$done of $total chunks, $rows of $expected rows";
cmp_ok($done, '<', $total, 'not all chunks are done');
cmp_ok($rows, '>', 0, 'rows are counted');

sql(q{
	UPDATE w_toast SET v = 1 WHERE id % 2 = 0;
	DELETE FROM w_toast WHERE id % 10 = 0;
	UPDATE w_toast SET id = id + 1000 WHERE id % 10 = 4;
	TRUNCATE w_truncate;
	INSERT INTO w_truncate VALUES (1, 1), (7000, 2);
	ALTER TABLE w_add ADD COLUMN extra text;
	UPDATE w_add SET extra = 'x' WHERE id < 100;
	DELETE FROM w_add WHERE id > 4900;
	ALTER TABLE w_default ADD COLUMN extra int DEFAULT 3;
	UPDATE w_default SET v = 5 WHERE id = 1;
	DELETE FROM w_full WHERE id % 2 = 0;
});
sql('VACUUM FULL w_full');
foreach my $v (2 .. 4)
{
	my $start = time();
	sql("UPDATE small SET v = $v");
	$node->poll_query_until('postgres', "SELECT v = $v FROM lake.small") or die 'small does not arrive';
	my $took = time() - $start;
	note "visible after $took s";
	cmp_ok($took, '<', 10, 'another table is fresh meanwhile');
}
is(sql(q{SELECT phase FROM streamhouse.sync_progress WHERE "table" = 'slow'}), 'copying', 'the copy still waits');
is(sql(q{SELECT count(*) FROM streamhouse.sync_tables WHERE NOT copied AND state = 'copying'}), '7', 'and so do the others');

my ($code, $out, $err) = $node->psql('postgres', q{CALL streamhouse.wait_for_sync('few', timeout => '1 s')});
like($err, qr/sync "few" has not reached/, 'waiting for the sync is waiting for copies');
import_tables('slow');
($code, $out, $err) = $node->psql('postgres', q{CALL streamhouse.compact('lake.slow')});
like($err, qr/lake table "d.slow" is being filled by the initial copy/, 'a table that is being copied is not compacted');

$locked->{run}->finish;

wait_until(q{SELECT count(*) = 1 FROM streamhouse.sync_progress}, 'all are copied but one');
like(copy_error($node, 'few', 'w_bad'), qr/w_bad.*on_unrepresentable/s, 'that has a value that the lake does not have');
is(sql(q{SELECT state || ' ' || (error LIKE '%infinity%')::text FROM streamhouse.sync_tables WHERE "table" = 'w_bad'}), 'copying true', 'the view of tables says so');
import_tables(qw(w_toast w_truncate w_add w_full));
is(sql(q{SELECT count(*) FROM lake.w_add WHERE extra = 'x'}), '99', 'a column that was added meanwhile');
sql(q{DELETE FROM w_bad WHERE id = 2});
wait_until(q{SELECT count(*) = 0 FROM streamhouse.sync_progress}, 'once the value is gone the table is copied');
wait_for_sync($node, 'few');
import_tables(qw(w_bad w_default));
same_rows($node, $_, "$_, whatever happened meanwhile") for qw(small slow w_toast w_truncate w_add w_default w_full w_bad);
sql(q{UPDATE w_toast SET v = 9 WHERE id = 1; UPDATE slow SET note = 'new' WHERE id < 10; INSERT INTO w_bad VALUES (3, NULL)});
wait_for_sync($node, 'few');
same_rows($node, $_, "$_ goes on") for qw(slow w_toast w_bad);
$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_replication_slots}) or die;
is(sql(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'streamhouse copy'}), '0', 'no copy workers are left');

# ALTER TABLE that was under way when the snapshot was taken, and writes the table anew: the snapshot sees an empty one
sub wait_for_lock
{
	my ($of, $what) = @_;
	wait_until("SELECT count(*) > 0 FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted AND backend_type = 'streamhouse copy' AND $of", $what);
}

my $first = transaction('CREATE TABLE first (x int)');
sql(q{CREATE TABLE w_anew (id int PRIMARY KEY, v int); INSERT INTO w_anew SELECT i, i FROM generate_series(1, 5000) i});
sql(q{CREATE TABLE w_made (id int PRIMARY KEY, v int, w int); INSERT INTO w_made VALUES (1, 1, 1)});
sql(q{ALTER PUBLICATION few ADD TABLE w_anew, w_made; CALL streamhouse.refresh_sync('few')});
wait_for_lock("locktype = 'transactionid'", 'the snapshot waits for transactions that began before');

# as a crash leaves a lake table that was made, and has no snapshot yet
sql(q{
	CREATE FOREIGN TABLE w_made_before (id int NOT NULL, v int, w int) SERVER lake
		OPTIONS (database 'd', "table" 'w_made', "primary-key" 'id', bucket '1', "snapshot.num-retained.max" '17');
	ALTER TABLE w_made DROP COLUMN v;
	ALTER TABLE w_made ADD COLUMN x text;
});
my $second = transaction('CREATE TABLE second (x int)');
my $xid = sql(q{SELECT max(backend_xid::text::bigint) FROM pg_stat_activity WHERE backend_type = 'client backend'});
commit($first);
wait_for_lock("transactionid::text = '$xid'", 'and for those that began meanwhile');
my $alter = transaction('ALTER TABLE w_anew ALTER v TYPE bigint');
commit($second);
wait_for_lock("relation = 'w_anew'::regclass", 'then the copy waits for the table');
commit($alter);
wait_until(q{SELECT count(*) = 0 FROM streamhouse.sync_progress}, 'it is copied');
wait_for_sync($node, 'few');
import_tables('w_anew', 'w_made');
same_rows($node, 'w_anew', 'with all rows, though it was written anew');
same_rows($node, 'w_made', 'a lake table that had no snapshot yet is as the source is now');

$node->stop;
done_testing();
