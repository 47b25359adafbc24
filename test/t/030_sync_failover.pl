
# A standby takes over while the source is written to: from PostgreSQL 17 on it has the slots, and syncs
# go on there without a copy, also one of another server.  What it does not have is not in the lake, if it is waited for.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SyncNode;
use Test::More;
use Time::HiRes qw(usleep);

my ($primary, $lake) = sync_node('primary', q{
max_wal_senders = 10
max_prepared_transactions = 5
streamhouse.sync_memory = 16MB
streamhouse.sync_lag_limit = 2s
}, allows_streaming => 'logical');

plan skip_all => 'standbys have no slots of their primary before PostgreSQL 17' if $primary->pg_version < 17;

sub sql { return $primary->safe_psql('postgres', @_) }

# A standby of the primary that takes its slots over.
sub standby_of_primary
{
	my ($name) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	my $connection = $primary->connstr('postgres') =~ s/'/''/gr;

	sql("SELECT pg_create_physical_replication_slot('$name', true)");
	$primary->backup($name);
	$node->init_from_backup($primary, $name, has_streaming => 1);
	$node->append_conf('postgresql.conf', qq{
hot_standby_feedback = on
sync_replication_slots = on
primary_slot_name = '$name'
primary_conninfo = '$connection'
synchronized_standby_slots = ''
});
	$node->start;
	return $node;
}

# The syncs take nothing that these standbys have not.
sub wait_for_standbys
{
	my ($names) = @_;
	$primary->append_conf('postgresql.conf', "synchronized_standby_slots = '$names'\n");
	$primary->reload;
}

# A slot comes once the primary has passed where the standby began, which it notes every 15 seconds by itself.
sub wait_for_slots
{
	my ($node, $count) = @_;
	for (1 .. 300)
	{
		sql('SELECT pg_log_standby_snapshot()');
		usleep(100_000);
		return if $node->safe_psql('postgres', qq{SELECT count(*) = $count AND bool_and(synced AND NOT temporary AND invalidation_reason IS NULL)
			FROM pg_replication_slots WHERE slot_name LIKE 'streamhouse%'}) eq 't';
	}
	die 'the slots do not come to the standby';
}

sub takes_over
{
	my ($standby) = @_;
	$standby->promote;
	$primary = $standby;
}

# Nothing was copied since the server took over.
sub all_is_right
{
	my ($what) = @_;
	wait_for_sync($primary, $_) for qw(keyed inserts);
	import_lake_tables($primary, 'd', qw(t log undone));
	same_rows($primary, $_, "table $_ $what") for qw(t undone log);
	is(sql(q{SELECT string_agg(health, ' ') FROM streamhouse.sync_status}), 'ok ok', 'both syncs are well');
	unlike(slurp_file($primary->logfile), qr/copies .* again|has copied/, 'nothing is copied');
}

sql(q{
	CREATE TABLE t (id int PRIMARY KEY, v int, big text);
	ALTER TABLE t ALTER big SET STORAGE EXTERNAL;
	INSERT INTO t SELECT i, 0, repeat(md5(i::text), 100) FROM generate_series(1, 2000) i;
	CREATE TABLE log (n bigserial, what text);
	INSERT INTO log (what) SELECT 'before ' || i FROM generate_series(1, 100) i;
	CREATE TABLE undone (id int PRIMARY KEY, v text);
	CREATE PUBLICATION keyed FOR TABLE t, undone;
	CREATE PUBLICATION inserts FOR TABLE log WITH (publish = 'insert');
	CALL streamhouse.create_sync('keyed', 'keyed', 'lake', 'd', flush_interval => '100 ms');
	CALL streamhouse.create_sync('inserts', 'inserts', 'lake', 'd', flush_interval => '100 ms');
});
my $standby = standby_of_primary('second');
wait_for_standbys('second');

# The same publication from another server, which finds the one that can be written.
my ($elsewhere) = sync_node('elsewhere');
my $servers = sprintf 'host=%s,%s port=%s,%s target_session_attrs=read-write dbname=postgres user=%s', map({ $_->host } $primary, $standby),
	map({ $_->port } $primary, $standby), sql('SELECT current_user');
$elsewhere->safe_psql('postgres', "CALL streamhouse.create_sync('far', 'keyed', 'lake', 'd', flush_interval => '100 ms', connection => '$servers')");
wait_for_sync($primary, $_) for qw(keyed inserts);
wait_for_sync($elsewhere, 'far');

my $script = PostgreSQL::Test::Utils::tempdir() . '/load.sql';
append_to_file($script, q{
\set id random(1, 3000)
BEGIN;
UPDATE t SET v = v + 1 WHERE id = :id;
DELETE FROM t WHERE id = :id + 1;
INSERT INTO t VALUES (:id + 2, 1, repeat('x', 3000)) ON CONFLICT (id) DO UPDATE SET v = t.v + 1;
INSERT INTO log (what) VALUES ('row ' || :id), ('again ' || :id);
COMMIT;
});
my ($out, $err) = ('', '');
my $load = IPC::Run::start([ 'pgbench', '-n', '-c', '2', '-T', '100', '-f', $script, '-p', $primary->port, '-h', $primary->host, 'postgres' ],
	'>', \$out, '2>', \$err);
wait_for_slots($standby, 3);

# What is under way when the primary dies: a large transaction, one that is prepared, a change of columns.
my $open = $primary->background_psql('postgres');
$open->query(q{BEGIN; INSERT INTO undone SELECT i, repeat('undone', 50) FROM generate_series(1, 100000) i});
sql(q{
	BEGIN;
	INSERT INTO undone VALUES (-1, 'prepared');
	INSERT INTO log (what) VALUES ('prepared');
	PREPARE TRANSACTION 'p';
	ALTER TABLE t ADD COLUMN more int;
	UPDATE t SET more = id WHERE id % 10 = 0;
});
usleep(int(rand(1_000_000)));
$primary->stop('immediate');
takes_over($standby);
eval { $load->kill_kill };
eval { $open->{run}->kill_kill };
sql(q{
	COMMIT PREPARED 'p';
	UPDATE t SET v = -1 WHERE id % 7 = 0;
	INSERT INTO undone VALUES (1, 'after');
	INSERT INTO log (what) SELECT 'after ' || i FROM generate_series(1, 100) i;
});
all_is_right('at the standby that took over');
wait_for_sync($elsewhere, 'far');
import_lake_tables($elsewhere, 'd', 't');
is($elsewhere->safe_psql('postgres', 'SELECT md5(string_agg(l::text, $$ $$ ORDER BY id)) FROM lake.t l'), sql('SELECT md5(string_agg(l::text, $$ $$ ORDER BY id)) FROM t l'),
	'a sync of another server goes on, too');
$elsewhere->stop;
sql(q{SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE plugin = 'pgoutput'; UPDATE t SET v = 0});
wait_for_sync($primary, 'keyed');

# A standby that is away keeps all out of the lake that it would lack, copies, too.
$standby = standby_of_primary('third');
wait_for_standbys('third');
wait_for_slots($standby, 2);
$standby->stop;
my $newest = sql(q{SELECT max(snapshot_id) FROM streamhouse.snapshots('lake.undone')});
sql(q{INSERT INTO t VALUES (10000, 1, 'not at the standby'); CALL streamhouse.resync_table('keyed', 'undone')});
my ($status, $stdout, $stderr) = $primary->psql('postgres', q{CALL streamhouse.wait_for_sync('keyed', timeout => '3 s')});
like($stderr, qr/has not reached .* in time.*It waits for standbys that synchronized_standby_slots names/s, 'who waits is told of the standby');
$primary->poll_query_until('postgres', q{SELECT health = 'late' FROM streamhouse.sync_status WHERE name = 'keyed'});
like(sql(q{SELECT health_reason FROM streamhouse.sync_status WHERE name = 'keyed'}), qr/it waits for standbys that/, 'and who watches');
like(slurp_file($primary->logfile), qr/WARNING: .*replication slot "third"/, 'and who reads the log');
is(sql('SELECT count(*) FROM lake.t WHERE id = 10000'), '0', 'nothing gets into the lake');
is(sql(q{SELECT max(snapshot_id) FROM streamhouse.snapshots('lake.undone')}), $newest, 'nor is it emptied for a copy');
$primary->stop('immediate');
$standby->start;
takes_over($standby);
sql(q{INSERT INTO t VALUES (10001, 1, 'after')});
all_is_right('at the standby that had not all');
is(sql('SELECT string_agg(id::text, $$ $$) FROM lake.t WHERE id >= 10000'), '10001', 'which is nothing to the lake');

# Where nobody waits for the standby the lake may have more than it.
$standby = standby_of_primary('fourth');
wait_for_slots($standby, 2);
$standby->stop;
sql(q{INSERT INTO t VALUES (20000, 1, 'not at the standby')});
wait_for_sync($primary, 'keyed');
is(sql('SELECT count(*) FROM lake.t WHERE id = 20000'), '1', 'the lake has a row that the standby lacks');
$primary->stop('immediate');
$standby->start;
takes_over($standby);
like(sync_lost($primary, 'keyed', 'left that timeline'), qr/"d.t" has the transactions of timeline 3 up to .*, and this server left that timeline at/,
	'then the sync is lost, although its slot is there');
is(sql(q{SELECT count(*) FROM pg_replication_slots r JOIN streamhouse.sync_status s ON s.slot = r.slot_name AND s.name = 'keyed'}), '1', 'which it is');
sql(q{CALL streamhouse.resync_sync('keyed'); INSERT INTO t VALUES (20001, 1, 'after')});
wait_for_sync($primary, 'keyed');
same_rows($primary, 't', 'and resync_sync makes it whole');

$primary->stop;
done_testing();
