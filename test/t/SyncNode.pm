package SyncNode;

# A server with streamhouse loaded and a lake beside it, and what tests of the
# sync need: waiting, and comparing a table with its lake table.

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw(sync_node import_lake_tables wait_for_server wait_for_sync same_rows sync_error table_error sync_lost copy_error);

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

1;
