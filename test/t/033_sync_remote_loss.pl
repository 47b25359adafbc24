
# What becomes of a sync from another server when that stands still, is a
# standby, or another one, and when its slot is lost or retains too much WAL.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SyncNode;
use Test::More;

my ($node) = sync_node('lake', "wal_level = replica\nwal_receiver_timeout = '3s'\n");

sub sql { return $node->safe_psql('postgres', @_) }

my $source = source_node('source', "wal_receiver_status_interval = 1s\n");

sub there { return $source->safe_psql('postgres', @_) }

# The lake has what the source has, once the sync is well.
sub settled
{
	my ($what) = @_;
	$node->poll_query_until('postgres', "SELECT state = 'streaming' FROM streamhouse.sync_status WHERE name = 's'") or die "$what: it does not stream";
	wait_for_sync($node, 's');
	my $rows = "count(*), sum(id), sum(v)";
	is(sql("SELECT $rows FROM lake.item"), there("SELECT $rows FROM item"), $what);
}

# Wait until the sync says so.
sub failing
{
	my ($pattern, $what) = @_;
	ok($node->poll_query_until('postgres', "SELECT state = 'failing' AND error ~ '$pattern' FROM streamhouse.sync_status WHERE name = 's'"), $what);
}

sub slot { return sql("SELECT slot FROM streamhouse.sync WHERE name = 's'") }

there(q{
	CREATE TABLE item (id int PRIMARY KEY, v int, d date);
	INSERT INTO item SELECT i, 0 FROM generate_series(1, 1000) i;
	CREATE TABLE noise (t text);
	CREATE PUBLICATION p FOR TABLE item;
	CREATE ROLE reader LOGIN REPLICATION;
	GRANT SELECT ON item TO reader;
});
my $own = connection_to($source);
sql("CALL streamhouse.create_sync('s', 'p', 'lake', 'd', flush_interval => '100 ms', connection => '$own')");
wait_for_sync($node, 's');
import_lake_tables($node, 'd', 'item');
settled('copied');

# ---- the source stands still, without closing anything ----

sub signal_source
{
	my ($signal) = @_;
	my $main = (split /\n/, slurp_file($source->data_dir . '/postmaster.pid'))[0];
	my @processes = ($main, split ' ', `ps -o pid= --ppid $main`);
	kill $signal, @processes;
}

signal_source('STOP');
failing('does not answer', 'a source that stands still is noticed');
signal_source('CONT');
there('UPDATE item SET v = 1 WHERE id <= 100');
settled('and goes on');

# ---- what comes before a transaction at fault gets into the lake ----

there("INSERT INTO item VALUES (5000, 1); INSERT INTO item VALUES (5001, 1, 'infinity'); INSERT INTO item VALUES (5002, 1)");
failing('infinity', 'a value that the lake does not have');
ok($node->poll_query_until('postgres', 'SELECT count(*) = 1 FROM lake.item WHERE id >= 5000'), 'what comes before is there');
sql("CALL streamhouse.alter_sync('s', on_unrepresentable => 'null')");
settled('and the rest, when it may be null');

# ---- another connection ----

my $other = connection_to($source, 'reader');
sql("CALL streamhouse.alter_sync('s', connection => '$other')");
there('UPDATE item SET v = 3 WHERE id <= 100');
settled('another role');
is(there("SELECT usename FROM pg_stat_replication"), 'reader', 'which is used');

my $wrong = source_node('wrong', "wal_receiver_status_interval = 1s\n");
$wrong->safe_psql('postgres', 'CREATE TABLE item (id int PRIMARY KEY, v int, d date); CREATE PUBLICATION p FOR TABLE item');
sql("CALL streamhouse.alter_sync('s', connection => '" . connection_to($wrong) . "')");
like(sync_lost($node, 's', 'system identifier'), qr/was filled by another server/, 'another server is noticed');
sql("CALL streamhouse.alter_sync('s', connection => '$own')");
there('UPDATE item SET v = 4 WHERE id <= 100');
settled('and the right one taken up again');
is(sql("SELECT rows_copied FROM streamhouse.sync_tables WHERE name = 's'"), '1000', 'without a copy');
$wrong->stop;

# a standby, which does not have the slot, is no reason to give it up
$source->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($source, 'base', has_streaming => 1);
$standby->start;
sql("CALL streamhouse.alter_sync('s', connection => '" . connection_to($standby) . "', on_slot_loss => 'resync')");
failing('is a standby, which does not have replication slot', 'a standby is refused');
sql("CALL streamhouse.alter_sync('s', connection => '$own', on_slot_loss => 'error')");
there('UPDATE item SET v = 5 WHERE id <= 100');
settled('and the primary taken up again');
is(sql("SELECT rows_copied FROM streamhouse.sync_tables WHERE name = 's'"), '1000', 'without a copy, too');
$standby->stop;

# ---- the slot retains too much ----

sub fill_wal { there("INSERT INTO noise SELECT repeat(md5(i::text), 20) FROM generate_series(1, 10000) i; TRUNCATE noise") }

my $open = IPC::Run::start([ 'psql', '-XAtq', '-d', $source->connstr('postgres') ], '<', \(my $in = "BEGIN; SELECT pg_current_xact_id(); SELECT 'open';\n"), '>', \(my $out = ''));
$open->pump until $out =~ /open/;
there('CHECKPOINT');
settled('beside an old transaction');
sql("CALL streamhouse.alter_sync('s', wal_limit => '4MB')");
fill_wal();
like(sync_lost($node, 's', 'wal_limit'), qr/its replication slot retained \d+ .B of WAL, and wal_limit is 4096 kB/, 'the limit is kept while the sync runs');
$source->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_replication_slots WHERE slot_name = '" . slot() . "'") or fail('the slot is dropped');
$in .= "COMMIT;\n";
$open->finish;
there('UPDATE item SET v = 6 WHERE id <= 100');
sql("CALL streamhouse.resync_sync('s')");
settled('and it is copied again');

sql("CALL streamhouse.pause_sync('s')");
$source->poll_query_until('postgres', 'SELECT NOT active FROM pg_replication_slots') or die;
fill_wal();
# a new process asks the source at once, others every minute
sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'streamhouse maintenance'");
like(sync_lost($node, 's', 'wal_limit'), qr/wal_limit is 4096 kB/, 'also while it is paused');
$source->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_replication_slots') or fail('the slot of a paused sync is dropped');

# ---- copied again without being asked ----

sql("CALL streamhouse.alter_sync('s', on_slot_loss => 'resync', wal_limit => '0'); CALL streamhouse.resume_sync('s')");
there('UPDATE item SET v = 7 WHERE id <= 200');
settled('resumed, it copies all tables again by itself');
sql("CALL streamhouse.pause_sync('s')");
my $slot = slot();
$source->poll_query_until('postgres', "SELECT NOT active FROM pg_replication_slots WHERE slot_name = '$slot'") or die;
there("SELECT pg_drop_replication_slot('$slot'); UPDATE item SET v = 8 WHERE id <= 300; DELETE FROM item WHERE id > 900");
sql("CALL streamhouse.resume_sync('s')");
settled('as it does when somebody dropped the slot');
there("ALTER PUBLICATION p SET (publish = 'insert, update')");
sql("CALL streamhouse.pause_sync('s')");
$source->poll_query_until('postgres', "SELECT NOT active FROM pg_replication_slots WHERE slot_name = '$slot'") or die;
there("SELECT pg_drop_replication_slot('$slot')");
sql("CALL streamhouse.resume_sync('s')");
sync_lost($node, 's', 'slot');
like(sync_error($node, 's'), qr/its replication slot is not there any more \(.* because the publication leaves out some operations/, 'but not if the lake may have what the source has not');

sql("CALL streamhouse.drop_sync('s')");
is(there('SELECT count(*) FROM pg_replication_slots'), '0', 'no slot is left');
unlike(slurp_file($node->logfile), qr/was terminated by signal/, 'no process crashed');
$node->stop;
$source->stop;
done_testing();
