
# Fresh reads see what was committed before the statement, whatever the flush
# interval; a position of the source's WAL names the same transactions in all tables.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Utils;
use SyncNode;
use Test::More;

my ($node, $lake) = sync_node('freshness');

sub sql { return $node->safe_psql('postgres', @_) }

sub refused
{
	my ($query, $pattern) = @_;
	my ($code, $out, $err) = $node->psql('postgres', $query);
	like($err, $pattern, "refused: $query");
}

sql(q{
	CREATE TABLE a (id int PRIMARY KEY, v bigint);
	CREATE TABLE b (id int PRIMARY KEY, v bigint);
	CREATE TABLE other (id int PRIMARY KEY);
	INSERT INTO a SELECT i, 100 FROM generate_series(1, 10) i;
	INSERT INTO b SELECT i, 100 FROM generate_series(1, 10) i;
	CREATE PUBLICATION pub FOR TABLE a, b;
	CALL streamhouse.create_sync('slow', 'pub', 'lake', 'd', flush_interval => '1 hour');
});
wait_for_sync($node, 'slow');
sql(q{IMPORT FOREIGN SCHEMA d FROM SERVER lake INTO lake});

# ---- fresh reads
sql(q{UPDATE a SET v = v + 1 WHERE id = 1});
is(sql(q{SELECT v FROM lake.a WHERE id = 1}), '100', 'a read shows what is in the lake');
is(sql(q{SET streamhouse.fresh_reads = on; SELECT v FROM lake.a WHERE id = 1}), '101', 'a fresh read what was committed');
foreach my $n (1 .. 20)
{
	my $seen = sql(qq{UPDATE a SET v = v + 1 WHERE id = 2; INSERT INTO other VALUES ($n); SET streamhouse.fresh_reads = on; SELECT v FROM lake.a WHERE id = 2});
	is($seen, 100 + $n, "the own commit $n is seen") if $seen != 100 + $n || $n == 20;
}
sql(q{SET synchronous_commit = off; UPDATE a SET v = v + 1 WHERE id = 1});
is(sql(q{SET streamhouse.fresh_reads = on; SELECT v FROM lake.a WHERE id = 1}), '102', 'also one that was not flushed');
sql(q{ALTER FOREIGN TABLE lake.b OPTIONS (ADD fresh_reads 'true'); UPDATE b SET v = 200 WHERE id = 1; UPDATE a SET v = 200 WHERE id = 5});
is(sql(q{SELECT v FROM lake.b WHERE id = 1}), '200', 'an option of the foreign table');
is(sql(q{SET streamhouse.fresh_reads = on; SELECT count(*), sum(v) FROM lake.b}), '10|1100', 'nothing new is nothing to wait for');
refused(q{ALTER FOREIGN TABLE lake.b OPTIONS (SET fresh_reads 'maybe')}, qr/fresh_reads requires a Boolean value/);
is(sql(q{
	BEGIN ISOLATION LEVEL REPEATABLE READ;
	SET streamhouse.fresh_reads = on;
	SELECT v FROM lake.a WHERE id = 3;
	SELECT dblink FROM (SELECT 1) dblink;
	SELECT v FROM lake.a WHERE id = 3;
	COMMIT}), "100\n(1)\n100", 'a transaction keeps its snapshot');
sql(q{CALL streamhouse.pause_sync('slow'); UPDATE a SET v = v + 1 WHERE id = 1});
refused(q{SET streamhouse.fresh_reads = on; SELECT * FROM lake.a}, qr/sync "slow" is paused/);
is(sql(q{SELECT v FROM lake.a WHERE id = 1}), '102', 'which other reads do not mind');
sql(q{CALL streamhouse.resume_sync('slow')});
is(sql(q{SET streamhouse.fresh_reads = on; SELECT v FROM lake.a WHERE id = 1}), '103', 'resumed');
sql(q{CREATE ROLE reader; GRANT USAGE ON SCHEMA lake TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA lake TO reader; UPDATE a SET v = 1 WHERE id = 1});
is(sql(q{SET ROLE reader; SET streamhouse.fresh_reads = on; SELECT v FROM lake.a WHERE id = 1}), '1', 'for any role that may read the table');

# ---- consistent cuts
sql(q{CALL streamhouse.alter_sync('slow', flush_interval => '100 ms')});
sql(q{BEGIN; UPDATE a SET v = 1000; UPDATE b SET v = 0; COMMIT; CALL streamhouse.wait_for_sync('slow')});
my @cuts;
foreach my $n (1 .. 60)
{
	my ($from, $to) = $n % 2 ? ('a', 'b') : ('b', 'a');
	sql(qq{
		BEGIN;
		UPDATE $from SET v = v - $n WHERE id = 1 + $n % 10;
		UPDATE $to SET v = v + $n WHERE id = 1 + ($n * 7) % 10;
		DELETE FROM a WHERE id = 100 + $n - 3;
		INSERT INTO a VALUES (100 + $n, 0);
		COMMIT});
	push @cuts, [split /\|/, sql(q{SELECT pg_current_wal_lsn(), (SELECT sum(v) FROM a), (SELECT sum(v) FROM b), (SELECT count(*) FROM a)})];
	sql(q{CALL streamhouse.compact('lake.a')}) if $n % 20 == 0;
	select undef, undef, undef, 0.02;
}
wait_for_sync($node, 'slow');
my $bad = 0;
my %snapshots;
foreach my $cut (@cuts)
{
	my $got = sql(qq{SET streamhouse.as_of = 'lsn $cut->[0]'; SELECT (SELECT sum(v) FROM lake.a), (SELECT sum(v) FROM lake.b), (SELECT count(*) FROM lake.a)});
	my @got = split /\|/, $got;
	# the lake has flushed several transactions at once: what it shows is a state that was, not later than the position
	my ($match) = grep { $_->[1] == $got[0] && $_->[2] == $got[1] && $_->[3] == $got[2] } @cuts;
	$bad++ if $got[0] + $got[1] != 10000 || (defined $match && pg_lsn($match->[0]) > pg_lsn($cut->[0]));
	$snapshots{$got}++;
}
sub pg_lsn { my ($high, $low) = split /\//, $_[0]; return hex($high) * 4294967296 + hex($low) }
is($bad, 0, 'each position shows both tables as of one state');
cmp_ok(scalar keys %snapshots, '>', 5, 'and not always the same');
my $last = $cuts[-1];
is(sql(qq{SET streamhouse.as_of = 'lsn $last->[0]'; SELECT (SELECT sum(v) FROM lake.a), (SELECT sum(v) FROM lake.b)}), "$last->[1]|$last->[2]", 'the last position shows all');
is(sql(qq{SET streamhouse.as_of = 'LSN $last->[0]'; SELECT count(*) FROM lake.a}), $last->[3], 'the word in capitals');

refused(q{SET streamhouse.as_of = 'lsn FFF/0'; SELECT count(*) FROM lake.a}, qr/may lack changes up to position FFF\/0.*Its sync has reached/s);
refused(q{SET streamhouse.as_of = 'lsn 0/1'; SELECT count(*) FROM lake.a}, qr/no snapshot as of position 0\/1/);
refused(q{SET streamhouse.as_of = 'lsn x'; SELECT count(*) FROM lake.a}, qr/invalid input syntax for type pg_lsn/);
sql(q{CREATE FOREIGN TABLE lake.plain (id int) SERVER lake OPTIONS (database 'e'); INSERT INTO lake.plain VALUES (1)});
refused(qq{SET streamhouse.as_of = 'lsn $last->[0]'; SELECT count(*) FROM lake.plain}, qr/no snapshot that a sync has made/);
is(sql(q{SET streamhouse.fresh_reads = on; SELECT count(*) FROM lake.plain}), '1', 'tables without a sync are read as they are');

done_testing();
