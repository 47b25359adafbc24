
# A sync's memory is bounded by its setting, not by the data: a large initial
# copy, a large transaction with subtransactions, and large values.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Utils;
use SyncNode;
use Test::More;
use Time::HiRes qw(usleep);

plan skip_all => 'needs /proc' unless -r "/proc/self/task/$$/children";

my ($node, $lake) = sync_node('memory', "shared_buffers = 4MB\nstreamhouse.sync_memory = 16MB\n");

sub contents
{
	my ($path) = @_;
	open(my $file, '<', $path) or return '';
	return join('', <$file>);
}

# Peak of a process's memory, in MB; 0 when it is gone.
sub peak_of_process
{
	my ($pid) = @_;
	return contents("/proc/$pid/status") =~ /^VmHWM:\s+(\d+) kB/m ? int($1 / 1024) : 0;
}

# Of the sync worker.
sub peak_memory
{
	return peak_of_process($node->safe_psql('postgres', q{SELECT pid FROM streamhouse.sync_status}));
}

# Of the server; they may live for less time than a query takes that asks for them.
sub processes_that_copy
{
	my ($postmaster) = split(/\n/, contents($node->data_dir . '/postmaster.pid'));
	return grep { contents("/proc/$_/cmdline") =~ /streamhouse copy/ }
		split(' ', contents("/proc/$postmaster/task/$postmaster/children"));
}

# The highest of the processes that copy, until the copy is made.
sub peak_of_copy
{
	my $peak = 0;
	my $unseen = 0;
	while ($unseen < 200 || $node->safe_psql('postgres', q{SELECT count(*) FROM streamhouse.sync_tables WHERE NOT copied}) > 0)
	{
		my @pids = processes_that_copy();
		$unseen = @pids ? 0 : $unseen + 1;
		foreach my $memory (map { peak_of_process($_) } @pids)
		{
			$peak = $memory if $memory > $peak;
		}
		usleep(2000);
	}
	return $peak;
}

$node->safe_psql('postgres', q{
	CREATE TABLE rows (id int PRIMARY KEY, a text, b text);
	CREATE TABLE large (id int PRIMARY KEY, n int, value text);
	ALTER TABLE large ALTER value SET STORAGE EXTERNAL;
	INSERT INTO rows SELECT i, md5(i::text), repeat(md5((-i)::text), 6) FROM generate_series(1, 400000) i;
	CREATE PUBLICATION p FOR ALL TABLES;
	CALL streamhouse.create_sync('s', 'p', 'lake', 'd');
});
my $memory = peak_of_copy();
note "peak $memory MB";
cmp_ok($memory, '>', 0, 'there are processes that copy');
cmp_ok($memory, '<', 80, 'an initial copy of 100 MB');
wait_for_sync($node, 's');
$node->safe_psql('postgres', 'IMPORT FOREIGN SCHEMA d FROM SERVER lake INTO lake');
same_rows($node, 'rows', 'its rows');

$node->safe_psql('postgres', q{
	BEGIN;
	UPDATE rows SET a = md5(a);
	SAVEPOINT s;
	DELETE FROM rows;
	ROLLBACK TO s;
	INSERT INTO rows SELECT i, md5(i::text), repeat(md5((-i)::text), 6) FROM generate_series(400001, 600000) i;
	COMMIT;
});
wait_for_sync($node, 's');
$memory = peak_memory();
note "peak $memory MB";
cmp_ok($memory, '<', 90, 'a transaction of 150 MB');
same_rows($node, 'rows', 'its rows');

$node->safe_psql('postgres', q{
	INSERT INTO large SELECT i, 0, repeat(md5(i::text), 32768) FROM generate_series(1, 60) i;
	UPDATE large SET n = n + 1;
	UPDATE large SET n = n + 1 WHERE id % 2 = 0;
	BEGIN;
	UPDATE large SET id = id + 1000;
	UPDATE large SET n = n + 1 WHERE id % 5 = 0;
	UPDATE large SET id = id - 1000 WHERE id % 3 = 0;
	DELETE FROM large WHERE id % 7 = 0;
	COMMIT;
});
wait_for_sync($node, 's');
$memory = peak_memory();
note "peak $memory MB";
cmp_ok($memory, '<', 110, '60 values of 1 MB, inserted and left unchanged by updates');
same_rows($node, 'large', 'their rows');

$node->stop;
done_testing();
