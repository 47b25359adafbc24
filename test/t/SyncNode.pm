package SyncNode;

# A server with streamhouse loaded and a lake beside it, and what tests of the
# sync need: waiting, and comparing a table with its lake table.

use strict;
use warnings;

use Exporter 'import';
use File::Find;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw(sync_node source_node connection_to import_lake_tables data_files wait_for_server wait_for_sync same_rows sync_error table_error
  sync_lost copy_error start_session make_signals signal_sessions streamed_blocks wait_for_streaming);

# A running server; further settings as text, and what Cluster's init takes.
sub sync_node
{
	my ($name, $settings, %init) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(%init);
	$node->append_conf('postgresql.conf', qq{
shared_preload_libraries = 'streamhouse'
wal_level = logical
max_worker_processes = 16
restart_after_crash = on
streamhouse.maintenance_interval = 1
} . ($settings // ''));
	$node->start;
	my $lake = PostgreSQL::Test::Utils::tempdir();
	$node->safe_psql('postgres', qq{
		CREATE EXTENSION streamhouse;
		CREATE SERVER lake FOREIGN DATA WRAPPER streamhouse OPTIONS (warehouse '$lake');
		CREATE SCHEMA lake;
	});
	return ($node, $lake);
}

# A running server without streamhouse, that a sync may replicate from.
sub source_node
{
	my ($name, $settings, %parameters) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name, %parameters);

	$node->init(allows_streaming => 'logical');
	$node->append_conf('postgresql.conf', "max_connections = 40\n" . ($settings // ''));
	$node->start;
	return $node;
}

# What a sync's "connection" says of a server.
sub connection_to
{
	my ($node, $user) = @_;
	return 'host=' . $node->host . ' port=' . $node->port . ' dbname=postgres user=' . ($user // (getpwuid($<))[0]);
}

# After a process was killed: the server needs a moment to notice.  A connection that breaks meanwhile is an exception, not a code.
sub wait_for_server
{
	my ($node) = @_;
	usleep(200_000);
	for (1 .. 600)
	{
		return if eval { $node->psql('postgres', 'SELECT 1') == 0 };
		usleep(100_000);
	}
	die 'the server does not come back';
}

sub wait_for_sync
{
	my ($node, $sync) = @_;
	$node->safe_psql('postgres', "CALL streamhouse.wait_for_sync('$sync', timeout => '3 minutes')");
}

# Import lake tables into schema "lake", as they are now.
sub import_lake_tables
{
	my ($node, $database, @tables) = @_;
	$node->safe_psql('postgres', "DROP FOREIGN TABLE IF EXISTS lake.$_; IMPORT FOREIGN SCHEMA $database LIMIT TO ($_) FROM SERVER lake INTO lake") foreach @tables;
}

# How many data files lie in the folder of a table, those included that no snapshot has.
sub data_files
{
	my ($folder) = @_;
	my $count = 0;
	find(sub { $count++ if /^data-/ }, $folder);
	return $count;
}

# The table and the lake table imported into schema "lake" have the same rows, each as often.
sub same_rows
{
	my ($node, $table, $what) = @_;
	my $difference = $node->safe_psql('postgres', qq{
		(SELECT 'missing', t::text FROM (TABLE $table EXCEPT ALL TABLE lake.$table) t LIMIT 5)
		UNION ALL
		(SELECT 'too many', t::text FROM (TABLE lake.$table EXCEPT ALL TABLE $table) t LIMIT 5)
	});
	is($difference, '', $what);
}

# Wait until the sync fails, and return why.
sub sync_error
{
	my ($node, $sync) = @_;
	$node->poll_query_until('postgres', "SELECT state = 'failing' FROM streamhouse.sync_status WHERE name = '$sync'")
	  or die "sync $sync does not fail";
	return $node->safe_psql('postgres', "SELECT error FROM streamhouse.sync_status WHERE name = '$sync'");
}

# Wait until the copy of a table fails, and return why.
sub copy_error
{
	my ($node, $sync, $table) = @_;
	my $of = "FROM streamhouse.sync_progress WHERE name = '$sync' AND \"table\" = '$table'";
	$node->poll_query_until('postgres', "SELECT error IS NOT NULL $of")
	  or die "the copy of table $table does not fail";
	return $node->safe_psql('postgres', "SELECT error $of");
}

# Wait until the sync is lost, for a reason that matches (the server's regular expressions), and return the reason.
sub sync_lost
{
	my ($node, $sync, $pattern) = @_;
	my $of = "FROM streamhouse.sync_status WHERE name = '$sync'";
	$node->poll_query_until('postgres', "SELECT health = 'lost' AND health_reason ~ '$pattern' $of");
	return $node->safe_psql('postgres', "SELECT health_reason $of");
}

# Wait until the sync pauses a table, and return why.
sub table_error
{
	my ($node, $sync, $table) = @_;
	my $of = "FROM streamhouse.sync_tables WHERE name = '$sync' AND \"table\" = '$table'";
	$node->poll_query_until('postgres', "SELECT state = 'paused' $of")
	  or die "sync $sync does not pause table $table";
	return $node->safe_psql('postgres', "SELECT error $of");
}

# ---- sessions beside this one, and the transactions they leave open ----

# Run a script in a session of its own.
sub start_session
{
	my ($node, $sql) = @_;
	my $script = PostgreSQL::Test::Utils::tempdir() . '/session.sql';
	append_to_file($script, $sql);
	return IPC::Run::start([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-h', $node->host, '-p', $node->port, '-f', $script, 'postgres' ],
		'<', '/dev/null', '>', '/dev/null');
}

# What sessions wait with, wait_for(name), for a signal of that name.
sub make_signals
{
	my ($node) = @_;
	$node->safe_psql('postgres', q{
		CREATE TABLE signal (name text);
		CREATE FUNCTION wait_for(wanted text) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN
			WHILE NOT EXISTS (SELECT FROM signal WHERE name = wanted) LOOP
				PERFORM pg_sleep(0.02);
			END LOOP;
		END $$;
	});
}

sub signal_sessions
{
	my ($node, $name) = @_;
	$node->safe_psql('postgres', "INSERT INTO signal VALUES ('$name')");
}

# Blocks of transactions that the server has decoded while these ran.
sub streamed_blocks
{
	my ($node) = @_;
	return $node->safe_psql('postgres', 'SELECT coalesce(sum(stream_count), 0) FROM pg_stat_replication_slots');
}

# Wait until there are more than before.
sub wait_for_streaming
{
	my ($node, $before) = @_;
	$node->poll_query_until('postgres', "SELECT sum(stream_count) > $before FROM pg_stat_replication_slots")
	  or die 'nothing is streamed';
}

1;
