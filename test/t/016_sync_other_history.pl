
# Servers that do not have what the lake has: restored from an older backup, a
# standby that took over, rewound, copied.  The sync must not go on there,
# whatever the WAL has grown to meanwhile, and can be made whole again.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SyncNode;
use Test::More;

my ($primary, $lake) = sync_node('primary', "wal_log_hints = on\nmax_wal_senders = 5\n",
	allows_streaming => 1, has_archiving => 1);

sub insert
{
	my ($node, $from, $to) = @_;
	$node->safe_psql('postgres', "INSERT INTO t SELECT i, 'row ' || i FROM generate_series($from, $to) i");
}

# WAL beyond anything that the lake knows of.
sub grow_wal
{
	my ($node) = @_;
	$node->safe_psql('postgres', q{SELECT pg_switch_wal(); CREATE TABLE IF NOT EXISTS other (); SELECT pg_switch_wal()});
	insert($node, 100001, 100002);
	$node->safe_psql('postgres', q{DELETE FROM t WHERE id > 100000});
}

sub worker_count
{
	my ($node) = @_;
	return $node->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'streamhouse%'});
}

# A node of a backup, that does not fill the lake before it is told to.
sub restored
{
	my ($name, $backup, %options) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init_from_backup($primary, $backup, %options);
	$node->append_conf('postgresql.conf', "archive_mode = off\n");
	return $node;
}

$primary->safe_psql('postgres', q{
	CREATE TABLE t (id int PRIMARY KEY, v text);
	INSERT INTO t SELECT i, 'row ' || i FROM generate_series(1, 100) i;
	CREATE PUBLICATION pub FOR TABLE t;
	CALL streamhouse.create_sync('s', 'pub', 'lake', 'd', flush_interval => '100 ms');
});
wait_for_sync($primary, 's');
$primary->safe_psql('postgres', 'IMPORT FOREIGN SCHEMA d FROM SERVER lake INTO lake');
$primary->backup('early');

# A copy of the folder, taken while the server was down.
$primary->stop;
PostgreSQL::Test::RecursiveCopy::copypath($primary->data_dir, $primary->data_dir . '_cold');
$primary->start;
insert($primary, 101, 200);
wait_for_sync($primary, 's');
my $properties = slurp_file($lake . '/d.db/t/snapshot/snapshot-' . $primary->safe_psql('postgres',
	q{SELECT max(snapshot_id) FROM streamhouse.snapshots('lake.t') WHERE commit_user LIKE 'streamhouse_%' AND commit_kind = 'APPEND'}));
my $system = $primary->safe_psql('postgres', 'SELECT system_identifier FROM pg_control_system()');
like($properties, qr/"streamhouse.system-identifier"\s*:\s*"$system"/, 'snapshots name the system');
like($properties, qr/"streamhouse.timeline"\s*:\s*"1"/, 'and the timeline');

# The copy put back: the same timeline, and a slot that is there; only the positions tell, and only at first.
$primary->stop;
my $cold = PostgreSQL::Test::Cluster->new('cold');
PostgreSQL::Test::RecursiveCopy::copypath($primary->data_dir . '_cold', $cold->data_dir);
chmod 0700, $cold->data_dir or die "$!";
$cold->append_conf('postgresql.conf', 'port = ' . $cold->port . "\nunix_socket_directories = '" . $cold->host . "'\narchive_mode = off\n");
$cold->start;
like(sync_lost($cold, 's', 'is ahead of this server'), qr/is ahead of this server/, 'a copy of before refuses');
grow_wal($cold);
$cold->restart;
like(sync_lost($cold, 's', 'is ahead of this server'), qr/is ahead of this server/, 'and goes on refusing when its WAL has grown');
$cold->stop;
$primary->start;

# The same while one source of a shared lake table is being copied again, which leaves the position of the others where it is.
$primary->safe_psql('postgres', q{
	CREATE SCHEMA a; CREATE SCHEMA b;
	CREATE TABLE a.part (id int PRIMARY KEY, v text);
	CREATE TABLE b.part (id int PRIMARY KEY, v text);
	INSERT INTO a.part VALUES (1, 'a');
	INSERT INTO b.part SELECT i, md5(i::text) FROM generate_series(1, 200000) i;
	CREATE PUBLICATION parts FOR TABLE a.part, b.part;
	ALTER SYSTEM SET streamhouse.copy_chunk_size = '256kB';
	SELECT pg_reload_conf();
	CALL streamhouse.create_sync('parts', 'parts', 'lake', 'd', tables => '[{"source": "(.)\\\\..*", "table": "parts", "shard": {"s": "\\\\1"}}]');
});
wait_for_sync($primary, 'parts');
$primary->stop;
PostgreSQL::Test::RecursiveCopy::copypath($primary->data_dir, $primary->data_dir . '_before');
$primary->start;
wait_for_sync($primary, 'parts');
my @begun = glob "$lake/d.db/parts/snapshot/snapshot-*";
$primary->safe_psql('postgres', q{CALL streamhouse.resync_table('parts', 'b.part')});
for (1 .. 10000)
{
	last if grep { slurp_file($_) =~ /"streamhouse.copied"/ } grep { my $file = $_; !grep { $_ eq $file } @begun } glob "$lake/d.db/parts/snapshot/snapshot-*";
	select undef, undef, undef, 0.001;
}
$primary->stop('immediate');
my $before = PostgreSQL::Test::Cluster->new('before');
PostgreSQL::Test::RecursiveCopy::copypath($primary->data_dir . '_before', $before->data_dir);
chmod 0700, $before->data_dir or die "$!";
$before->append_conf('postgresql.conf', 'port = ' . $before->port . "\nunix_socket_directories = '" . $before->host . "'\narchive_mode = off\n");
$before->start;
like(sync_lost($before, 'parts', 'is ahead of this server'), qr/"d.parts" is ahead of this server/, 'a part of the lake table that is of later');
$before->stop;
$primary->start;
wait_for_sync($primary, 'parts');
is($primary->safe_psql('postgres', q{IMPORT FOREIGN SCHEMA d LIMIT TO (parts) FROM SERVER lake INTO lake; SELECT count(*) FROM lake.parts}), '200001', 'where it was begun it goes on');
$primary->safe_psql('postgres', q{CALL streamhouse.drop_sync('parts'); DROP PUBLICATION parts; DROP SCHEMA a, b CASCADE});

# A standby never runs workers; one that was promoted with all that the lake has lacks the slot before 17.
$primary->backup('late');
my $standby = restored('standby', 'late', has_streaming => 1);
$standby->start;
insert($primary, 201, 210);
wait_for_sync($primary, 's');
$primary->wait_for_catchup($standby);
is(worker_count($standby), 0, 'no workers on a standby');
$primary->stop;

# Started as a server of its own, with the newest transactions.
$standby->promote;
$standby->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'streamhouse maintenance'});
like(sync_lost($standby, 's', 'replication slot'), qr/replication slot/, 'a promoted standby has no slot');
like(sync_error($standby, 's'), qr/its replication slot is not there any more.*resync_sync\('s'\) copies all tables again/, 'and tells the cure');
$standby->safe_psql('postgres', q{CALL streamhouse.alter_sync('s', on_slot_loss => 'resync')});
insert($standby, 211, 220);
wait_for_sync($standby, 's');
same_rows($standby, 't', 'with on_slot_loss => resync the sync goes on there');
is($standby->safe_psql('postgres', q{SELECT health FROM streamhouse.sync_status}), 'ok', 'and is well');

# The old primary must not go on.
$primary->start;
like(sync_lost($primary, 's', 'timeline 2, which is not'), qr/timeline 2, which is not in this server's history/, 'the old primary refuses');
my ($status, $out, $err) = $primary->psql('postgres', q{CALL streamhouse.wait_for_sync('s', timeout => '2 s')});
like($err, qr/timeline 2.*resync_sync/s, 'and tells the cure to those who wait');

# Rewound, it has the same history, up to where it is promoted.
insert($primary, 300, 310);
$primary->stop;
command_ok([ 'pg_rewind', '--target-pgdata', $primary->data_dir, '--source-server', $standby->connstr('postgres') ],
	'pg_rewind of the old primary');
$primary->append_conf('postgresql.conf', 'port = ' . $primary->port . "\narchive_mode = off\n");
$primary->set_standby_mode;
$primary->append_conf('postgresql.conf', "primary_conninfo = '" . $standby->connstr . "'\n");
$primary->start;
$standby->wait_for_catchup($primary);

# It loses transactions that the lake has.
$primary->stop;
insert($standby, 311, 320);
wait_for_sync($standby, 's');
$standby->stop;
$primary->append_conf('postgresql.conf', "shared_preload_libraries = ''\nprimary_conninfo = ''\n");
$primary->start;
$primary->promote;
grow_wal($primary);
$primary->append_conf('postgresql.conf', "shared_preload_libraries = 'streamhouse'\n");
$primary->restart;
like(sync_lost($primary, 's', 'left that timeline'), qr/timeline 2 up to .*, and this server left that timeline at/,
	'transactions that were lost are found by the timeline, whatever on_slot_loss says');
$primary->safe_psql('postgres', q{CALL streamhouse.resync_sync('s')});
wait_for_sync($primary, 's');
same_rows($primary, 't', 'resync_sync makes the lake as the server is');
$primary->stop;

# A backup restored up to a point: a timeline of its own.
my $restored = restored('restored', 'early', has_restoring => 1, standby => 0);
$restored->append_conf('postgresql.conf',
	"recovery_target = 'immediate'\nrecovery_target_action = promote\nrecovery_target_timeline = current\n");
$restored->start;
$restored->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
like(sync_lost($restored, 's', 'which is not in this'), qr/not in this server's history/, 'a restored backup refuses');
grow_wal($restored);
$restored->restart;
like(sync_lost($restored, 's', 'which is not in this'), qr/not in this server's history/, 'also when its WAL has grown');
$restored->safe_psql('postgres', q{CALL streamhouse.resync_sync('s')});
insert($restored, 500, 510);
wait_for_sync($restored, 's');
same_rows($restored, 't', 'resync_sync makes it whole');
insert($restored, 511, 520);
wait_for_sync($restored, 's');
same_rows($restored, 't', 'and it goes on');

# Another cluster with the same catalog: a dump.
my $copy = PostgreSQL::Test::Cluster->new('copy');
$copy->init;
$copy->append_conf('postgresql.conf', "shared_preload_libraries = 'streamhouse'\nwal_level = logical\nstreamhouse.maintenance_interval = 1\n");
$copy->start;
my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump.sql';
$restored->command_ok([ 'pg_dump', '-f', $dump, 'postgres' ], 'dump');
$copy->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, 'postgres' ], 'restore it in another cluster');
like(sync_lost($copy, 's', 'filled by another server: its system identifier is'), qr/filled by another server: its system identifier is/, 'another system is refused');
$copy->safe_psql('postgres', q{CALL streamhouse.drop_sync('s')});
$copy->stop;
wait_for_sync($restored, 's');
same_rows($restored, 't', 'the original is not disturbed');
$restored->stop;

done_testing();
