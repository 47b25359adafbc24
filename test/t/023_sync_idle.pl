
# A sync that is left alone: a day of idleness and trickle, made short by small
# intervals.  WAL that is kept, snapshots, manifests and data files stay
# bounded, however long it goes on.

use strict;
use warnings;

use File::Find;
use FindBin;
use lib $FindBin::Bin;
use SyncNode;
use Test::More;
use Time::HiRes qw(sleep time);

my ($node, $lake) = sync_node('idle', "max_wal_size = 64MB\nmin_wal_size = 32MB\n");

sub sql { return $node->safe_psql('postgres', @_) }

sub retained { return sql("SELECT pg_current_wal_lsn() - restart_lsn FROM streamhouse.sync_status") }

# files of a table, by kind
sub files
{
	my ($table) = @_;
	my %count = (snapshot => 0, manifest => 0, data => 0);
	find(sub {
		$count{snapshot}++ if /^snapshot-\d/;
		$count{manifest}++ if /^manifest-/;
		$count{data}++ if /^data-/;
	}, "$lake/d.db/$table");
	return \%count;
}

$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', 'CREATE TABLE busy (n int, text text)');
# an hour of the default snapshot.time-retained is three seconds here
sql(q{
	CREATE TABLE quiet (id int PRIMARY KEY, v text);
	CREATE TABLE trickle (id int PRIMARY KEY, v text);
	CREATE TABLE log (n int, v text);
	INSERT INTO quiet VALUES (1, 'one');
	CREATE PUBLICATION p FOR TABLE quiet, trickle;
	CREATE PUBLICATION l FOR TABLE log WITH (publish = 'insert');
	CALL streamhouse.create_sync('s', 'p', 'lake', 'd', flush_interval => '100 ms', options => '{"snapshot.time-retained": "3 s"}');
	CALL streamhouse.create_sync('l', 'l', 'lake', 'd', flush_interval => '100 ms', options => '{"snapshot.time-retained": "3 s"}');
});
wait_for_sync($node, $_) foreach qw(s l);
my $quiet = files('quiet');

# Another database writes WAL, which no sync wants.
my $largest = 0;
my $written = sql('SELECT pg_current_wal_lsn()');
foreach my $round (1 .. 15)
{
	$node->safe_psql('other', "INSERT INTO busy SELECT i, repeat('x', 200) FROM generate_series(1, 20000) i; CHECKPOINT");
	sleep(0.5);
	$largest = (sort { $b <=> $a } $largest, split(/\n/, retained()))[0];
}
$written = sql("SELECT pg_current_wal_lsn() - '$written'");
cmp_ok($written, '>', 60e6, 'the other database has written');
cmp_ok($largest, '<', 32e6, "of $written bytes of WAL never more than $largest were kept");
is_deeply(files('quiet'), $quiet, 'an idle table gets no snapshot and no file');

# A row now and then.
my ($n, @counts) = (0);
foreach my $part (1 .. 3)
{
	my $end = time() + 12;
	while (time() < $end)
	{
		$n++;
		sql("INSERT INTO trickle VALUES ($n, 'row $n'); UPDATE trickle SET v = 'again' WHERE id = $n / 2; INSERT INTO log VALUES ($n, 'row')" . ($n % 20 ? '' : '; CHECKPOINT'));
		sleep(0.1);
	}
	my %most;
	# the most of a moment: compaction and expiration come in rounds
	foreach (1 .. 5)
	{
		foreach my $table (qw(trickle log))
		{
			my $count = files($table);
			foreach (keys %$count)
			{
				$most{"$table $_"} = $count->{$_} if !defined $most{"$table $_"} || $count->{$_} < $most{"$table $_"};
			}
		}
		sleep(0.5);
	}
	push @counts, \%most;
	note join(', ', map { "$_ $most{$_}" } sort keys %most);
}
cmp_ok($n, '>', 100, "$n commits");
foreach (sort keys %{ $counts[0] })
{
	cmp_ok($counts[2]{$_}, '<=', $counts[0]{$_} * 1.5 + 20, "files of $_ do not grow with time: $counts[0]{$_}, $counts[1]{$_}, $counts[2]{$_}");
}
cmp_ok((sort { $b <=> $a } split(/\n/, retained()))[0], '<', 32e6, 'nor does the WAL that is kept');

# and then nothing: what is left is what is needed
sleep(6);
my $last = files('trickle');
cmp_ok($last->{snapshot}, '<=', 15, "snapshots that are left: $last->{snapshot}");
cmp_ok($last->{data}, '<=', 40, "data files that are left: $last->{data}");
wait_for_sync($node, $_) foreach qw(s l);
sql('IMPORT FOREIGN SCHEMA d FROM SERVER lake INTO lake');
same_rows($node, $_, "$_ is whole") foreach qw(quiet trickle log);

$node->stop;
done_testing();
