
# A replication slot that is lost: dropped by somebody, invalidated by the server, given up for a limit.
# The sync says so, and is made whole by one call, or by itself.  And a warehouse that is away, or full.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use File::Path 'remove_tree';
use PostgreSQL::Test::Utils;
use SyncNode;
use Test::More;

my ($node, $lake) = sync_node('loss', "min_wal_size = 32MB\nmax_wal_size = 32MB\n");

sub sql { return $node->safe_psql('postgres', @_) }

sub status { return sql("SELECT $_[0] FROM streamhouse.sync_status WHERE name = 's'") }

# More than 48 MB, whose segments are not needed any more.
sub write_wal
{
	sql(q{CREATE TABLE IF NOT EXISTS waste (); SELECT pg_switch_wal(); INSERT INTO waste DEFAULT VALUES; CHECKPOINT}) for 1 .. 4;
	sql('CHECKPOINT');
}

sub insert
{
	my ($from, $to) = @_;
	sql("INSERT INTO t SELECT i, 'row ' || i FROM generate_series($from, $to) i");
}

sub pause
{
	my $slot = status('slot');
	sql(q{CALL streamhouse.pause_sync('s')});
	$node->poll_query_until('postgres', "SELECT NOT active FROM pg_replication_slots WHERE slot_name = '$slot'");
	return $slot;
}

sql(q{
	CREATE TABLE t (id int PRIMARY KEY, v text);
	CREATE TABLE u (id int PRIMARY KEY);
	INSERT INTO t SELECT i, 'row ' || i FROM generate_series(1, 100) i;
	INSERT INTO u VALUES (1);
	CREATE PUBLICATION pub FOR TABLE t, u;
	CALL streamhouse.create_sync('s', 'pub', 'lake', 'd', flush_interval => '100 ms');
});
wait_for_sync($node, 's');
sql('IMPORT FOREIGN SCHEMA d FROM SERVER lake INTO lake');
if ($node->pg_version >= 17)
{
	is(sql('SELECT failover FROM pg_replication_slots'), 't', 'standbys get the slot');
}

# Dropped by somebody while the sync was paused: rows that are deleted meanwhile must go, too.
my $slot = pause();
sql("SELECT pg_drop_replication_slot('$slot')");
is(sync_lost($node, 's', 'the replication slot is not there'), 'the replication slot is not there', 'a paused sync whose slot is gone is lost');
sql('DELETE FROM t WHERE id <= 10');
insert(101, 110);
sql(q{CALL streamhouse.resume_sync('s')});
like(sync_error($node, 's'), qr/its replication slot is not there any more.*resync_sync\('s'\) copies all tables/, 'resumed it fails, with the cure');
is(status('health'), 'lost', 'and is lost');
sql(q{CALL streamhouse.resync_sync('s')});
wait_for_sync($node, 's');
same_rows($node, 't', 'resync_sync makes it whole');
same_rows($node, 'u', 'all of it');
is(status('health'), 'ok', 'and it is well');
insert(111, 120);
wait_for_sync($node, 's');
same_rows($node, 't', 'and goes on');


# The same by itself.
sql(q{CALL streamhouse.alter_sync('s', on_slot_loss => 'resync')});
$slot = pause();
sql("SELECT pg_drop_replication_slot('$slot')");
sql('DELETE FROM t WHERE id <= 20');
sql(q{CALL streamhouse.resume_sync('s')});
wait_for_sync($node, 's');
same_rows($node, 't', 'with on_slot_loss => resync it copies by itself');

# Invalidated by the server.
pause();
$node->append_conf('postgresql.conf', "max_slot_wal_keep_size = 1MB\n");
$node->reload;
write_wal();
is(sync_lost($node, 's', 'the replication slot has lost the WAL it needs'), 'the replication slot has lost the WAL it needs', 'a slot that the server has invalidated');
insert(121, 130);
sql(q{CALL streamhouse.resume_sync('s')});
wait_for_sync($node, 's');
same_rows($node, 't', 'is made anew by itself');
sql(q{ALTER SYSTEM RESET ALL; ALTER SYSTEM SET max_slot_wal_keep_size = -1; SELECT pg_reload_conf()});

# A limit of the sync's own, while it is paused.
sql(q{CALL streamhouse.alter_sync('s', on_slot_loss => 'error', wal_limit => '20MB')});
is(status('health'), 'ok', 'a limit that is not passed changes nothing');
pause();
my $offset = -s $node->logfile;
write_wal();
like(sync_lost($node, 's', 'its replication slot retained [0-9]+ MB of WAL, and wal_limit is 20 MB'), qr/its replication slot retained \d+ MB of WAL, and wal_limit is 20 MB/, 'the limit is passed');
is(sql('SELECT count(*) FROM pg_replication_slots'), '0', 'and the slot is dropped');
like(slurp_file($node->logfile, $offset), qr/WARNING:  gave up replication slot/, 'the log tells');
insert(131, 140);
sql(q{CALL streamhouse.resume_sync('s')});
like(sync_error($node, 's'), qr/retained \d+ MB of WAL.*resync_sync/, 'resumed it says why');
sql(q{CALL streamhouse.alter_sync('s', on_slot_loss => 'resync')});
wait_for_sync($node, 's');
same_rows($node, 't', 'and is made whole when the policy says so');

# The same while it fails: the lake cannot be written.
chmod 0555, "$lake/d.db/t/snapshot";
insert(141, 150);
like(sync_error($node, 's'), qr/Permission denied/, 'a sync that fails');
$slot = sql('SELECT restart_lsn FROM pg_replication_slots');
write_wal();
$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_replication_slots WHERE restart_lsn = '$slot'");
pass('its slot goes, too');
chmod 0755, "$lake/d.db/t/snapshot";
sql(q{CALL streamhouse.resume_sync('s')});
wait_for_sync($node, 's');
same_rows($node, 't', 'and it is whole again afterwards');

# Arguments.
my ($status, $out, $err) = $node->psql('postgres', q{CALL streamhouse.alter_sync('s', wal_limit => '-1')});
like($err, qr/"wal_limit" must not be negative/, 'a limit below zero');
($status, $out, $err) = $node->psql('postgres', q{CALL streamhouse.alter_sync('s', on_slot_loss => 'what')});
like($err, qr/"on_slot_loss" must be "error" or "resync"/, 'an unknown policy');
($status, $out, $err) = $node->psql('postgres', q{CALL streamhouse.create_sync('h', 'pub', 'lake', 'h', history => true, on_slot_loss => 'resync')});
like($err, qr/cannot have "on_slot_loss" as "resync"/, 'history would be lost');

# A publication that leaves out deletes: the lake may have more than the source.
sql(q{ALTER PUBLICATION pub SET (publish = 'insert, update')});
$slot = pause();
sql("SELECT pg_drop_replication_slot('$slot')");
sql(q{CALL streamhouse.resume_sync('s')});
like(sync_error($node, 's'), qr/is not there any more \(The table is not copied again by itself/, 'what could be lost is not replaced by itself');
sql(q{CALL streamhouse.resync_sync('s')});
wait_for_sync($node, 's');
same_rows($node, 't', 'but when it is asked for');

# A warehouse that cannot be reached, or that is full, is told, and the sync goes on by itself when it can.
sql(q{ALTER PUBLICATION pub SET (publish = 'insert, update, delete, truncate')});
rename "$lake/d.db", "$lake/away" or die "$!";
insert(151, 160);
like(sync_error($node, 's'), qr/d\.t|d\.db/, 'a warehouse that cannot be reached is named');
remove_tree("$lake/d.db");
rename "$lake/away", "$lake/d.db" or die "$!";
wait_for_sync($node, 's');
same_rows($node, 't', 'afterwards the sync goes on by itself');

SKIP:
{
	my $small = $ENV{STREAMHOUSE_SMALL_DISK};
	skip 'STREAMHOUSE_SMALL_DISK names no small file system', 2 unless $small;
	remove_tree("$small/sync.db");
	sql(qq{
		CREATE TABLE full_disk (id int PRIMARY KEY, v text);
		INSERT INTO full_disk VALUES (1, 'one');
		CREATE PUBLICATION full_pub FOR TABLE full_disk;
		CREATE SERVER small FOREIGN DATA WRAPPER streamhouse OPTIONS (warehouse '$small');
		CALL streamhouse.create_sync('full', 'full_pub', 'small', 'sync', flush_interval => '100 ms');
	});
	wait_for_sync($node, 'full');
	sql('IMPORT FOREIGN SCHEMA sync FROM SERVER small INTO lake');
	system("dd if=/dev/zero of=$small/filler bs=64k 2>/dev/null");
	sql(q{INSERT INTO full_disk SELECT i, md5(i::text) || md5((-i)::text) FROM generate_series(2, 20000) i});
	like(sync_error($node, 'full'), qr/No space left/, 'a full disk is named');
	unlink "$small/filler";
	wait_for_sync($node, 'full');
	same_rows($node, 'full_disk', 'and the sync goes on by itself when there is room');
	sql(q{CALL streamhouse.drop_sync('full')});
}

# Nothing is left behind.
sql(q{CALL streamhouse.drop_sync('s')});
is(sql('SELECT count(*) FROM pg_replication_slots'), '0', 'no slots are left');
$node->stop;
done_testing();
