
# Large transactions: streamed while they run beside others, with savepoints and
# rollbacks, with what cannot be streamed, prepared ones, and many
# subtransactions.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Utils;
use SyncNode;
use Test::More;

my ($node, $lake) = sync_node('large', q{
shared_buffers = 16MB
streamhouse.sync_memory = 16MB
max_prepared_transactions = 10
});

make_signals($node);
$node->safe_psql('postgres', q{
	CREATE TABLE a (id int PRIMARY KEY, v int, note text);
	CREATE TABLE b (part int, id int, note text, PRIMARY KEY (part, id));
	CREATE TABLE blob (id int PRIMARY KEY, n int, value text);
	ALTER TABLE blob ALTER value SET STORAGE EXTERNAL;
	CREATE TABLE log (id int, note text);
	CREATE FUNCTION filler(i int) RETURNS text LANGUAGE sql IMMUTABLE RETURN repeat(md5(i::text), 4);
	INSERT INTO a SELECT i, 0, filler(i) FROM generate_series(1, 1000) i;
	CREATE PUBLICATION p FOR TABLE a, b, blob;
	CREATE PUBLICATION q FOR TABLE log WITH (publish = 'insert');
	CALL streamhouse.create_sync('s', 'p', 'lake', 'd', options => '{"bucket": "2"}', flush_interval => '100 ms');
	CALL streamhouse.create_sync('l', 'q', 'lake', 'd', flush_interval => '100 ms');
});
wait_for_sync($node, $_) for qw(s l);
$node->safe_psql('postgres', 'IMPORT FOREIGN SCHEMA d FROM SERVER lake INTO lake');

sub settled_rows
{
	my ($what, @tables) = @_;
	wait_for_sync($node, $_) for qw(s l);
	same_rows($node, $_, "$what: $_") for @tables;
}

# alone, with subtransactions that end in each way
my $before = streamed_blocks($node);
$node->safe_psql('postgres', q{
	BEGIN;
	INSERT INTO a SELECT i, 1, filler(i) FROM generate_series(1001, 60000) i;
	SAVEPOINT one;
	UPDATE a SET v = v + 1 WHERE id % 2 = 0;
	SAVEPOINT two;
	INSERT INTO b SELECT i % 7, i, filler(i) FROM generate_series(1, 40000) i;
	INSERT INTO log SELECT i, filler(i) FROM generate_series(1, 40000) i;
	ROLLBACK TO two;
	INSERT INTO b SELECT i % 7, -i, filler(i) FROM generate_series(1, 40000) i;
	RELEASE one;
	SAVEPOINT three;
	DELETE FROM a;
	SAVEPOINT four;
	INSERT INTO a SELECT i, 9, filler(i) FROM generate_series(1, 20000) i;
	RELEASE four;
	ROLLBACK TO three;
	DELETE FROM a WHERE id % 5 = 0;
	INSERT INTO log SELECT i, filler(i) FROM generate_series(1, 20000) i;
	COMMIT;
});
settled_rows('savepoints', qw(a b log));
cmp_ok(streamed_blocks($node), '>', $before, 'it was streamed');

# two large ones beside each other and beside small ones: who commits later wins
$before = streamed_blocks($node);
my $first = start_session($node, q{
	BEGIN;
	INSERT INTO a SELECT i, 100, filler(i) FROM generate_series(100001, 140000) i;
	SELECT wait_for('second is there');
	UPDATE a SET v = 103, note = 'first' WHERE id BETWEEN 200001 AND 203000 OR id < 500;
	INSERT INTO a SELECT i, 100, filler(i) FROM generate_series(140001, 150000) i;
	COMMIT;
	INSERT INTO signal VALUES ('first has committed');
});
wait_for_streaming($node, $before);
$before = streamed_blocks($node);
my $second = start_session($node, q{
	BEGIN;
	INSERT INTO a SELECT i, 200, filler(i) FROM generate_series(200001, 250000) i;
	SELECT wait_for('small is there');
	UPDATE a SET v = 201 WHERE id < 1000;
	COMMIT;
	INSERT INTO signal VALUES ('second is there');
});
wait_for_streaming($node, $before);
$node->safe_psql('postgres', q{UPDATE a SET v = 50 WHERE id < 2000});
wait_for_sync($node, 's');
signal_sessions($node, 'small is there');
$node->safe_psql('postgres', q{SELECT wait_for('first has committed')});
$node->safe_psql('postgres', q{UPDATE a SET v = 300 WHERE id IN (7, 200500)});
$_->finish for $first, $second;
settled_rows('who commits later wins', 'a');

# aborted: nothing is left behind
$node->safe_psql('postgres', q{CALL streamhouse.alter_sync('s', flush_interval => '300 ms')});
wait_for_sync($node, 's');
$before = streamed_blocks($node);
my $files = data_files("$lake/d.db/b");
my $aborted = start_session($node, q{
	BEGIN;
	INSERT INTO b SELECT 100, i, filler(i) FROM generate_series(1, 150000) i;
	SELECT wait_for('abort');
	ROLLBACK;
	INSERT INTO signal VALUES ('aborted');
});
wait_for_streaming($node, $before);
signal_sessions($node, 'abort');
$node->safe_psql('postgres', q{SELECT wait_for('aborted')});
$aborted->finish;
settled_rows('after a large abort', 'b');
cmp_ok(data_files("$lake/d.db/b"), '<=', $files, 'its files are gone');

# what cannot be streamed is decoded at the end, at its place
$node->safe_psql('postgres', q{
	INSERT INTO blob SELECT i, 0, repeat(md5(i::text), 100) FROM generate_series(1, 3000) i;
	BEGIN;
	INSERT INTO a SELECT i, 1, filler(i) FROM generate_series(300001, 340000) i;
	UPDATE blob SET n = n + 1;
	INSERT INTO a SELECT i, 1, filler(i) FROM generate_series(340001, 360000) i;
	COMMIT;
});
wait_for_sync($node, 's');
$node->safe_psql('postgres', q{
	BEGIN;
	INSERT INTO b SELECT 1, i, filler(i) FROM generate_series(400001, 440000) i;
	TRUNCATE b;
	INSERT INTO b SELECT 1, i, filler(i) FROM generate_series(500001, 540000) i;
	COMMIT;
	UPDATE b SET note = 'last' WHERE id = 500500;
});
wait_for_sync($node, 's');
$node->safe_psql('postgres', q{
	BEGIN;
	INSERT INTO a SELECT i, 1, filler(i) FROM generate_series(400001, 440000) i;
	ALTER TABLE a ADD more text;
	INSERT INTO a SELECT i, 1, filler(i), 'more' FROM generate_series(440001, 460000) i;
	COMMIT;
	UPDATE a SET more = 'last' WHERE id = 445000;
});
wait_for_sync($node, 's');
$node->safe_psql('postgres', q{
	BEGIN;
	INSERT INTO a SELECT i, 1, filler(i), 'x' FROM generate_series(500001, 540000) i;
	ALTER TABLE a ADD never text;
	INSERT INTO a SELECT i, 1, filler(i), 'x' FROM generate_series(540001, 560000) i;
	ROLLBACK;
});
wait_for_sync($node, 's');
$node->safe_psql('postgres', 'DROP FOREIGN TABLE lake.a; IMPORT FOREIGN SCHEMA d LIMIT TO (a) FROM SERVER lake INTO lake');
settled_rows('not streamed', qw(a b blob));
my $given_up = () = slurp_file($node->logfile) =~ /decodes transaction \d+ when it has committed/g;
cmp_ok($given_up, '>=', 3, 'the log says so');
is($node->safe_psql('postgres', q{SELECT count(*) FROM streamhouse.sync_status WHERE error IS NOT NULL}), 0, 'which is no failure');

# the worker ends while a transaction is streamed
$before = streamed_blocks($node);
my $interrupted = start_session($node, q{
	BEGIN;
	INSERT INTO b SELECT 2, i, filler(i) FROM generate_series(1, 60000) i;
	SELECT wait_for('worker is gone');
	INSERT INTO b SELECT 3, i, filler(i) FROM generate_series(1, 60000) i;
	COMMIT;
	INSERT INTO signal VALUES ('interrupted has committed');
});
wait_for_streaming($node, $before);
$node->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM streamhouse.sync_status});
signal_sessions($node, 'worker is gone');
$node->safe_psql('postgres', q{SELECT wait_for('interrupted has committed')});
$interrupted->finish;
settled_rows('worker ended meanwhile', 'b');

# prepared ones, across a restart and a crash
$node->safe_psql('postgres', q{
	BEGIN;
	UPDATE a SET v = v + 1000;
	SAVEPOINT s;
	DELETE FROM a WHERE id % 2 = 0;
	ROLLBACK TO s;
	PREPARE TRANSACTION 'large';
	BEGIN;
	INSERT INTO log SELECT i, filler(-i) FROM generate_series(1, 60000) i;
	PREPARE TRANSACTION 'never';
	BEGIN;
	INSERT INTO b VALUES (70, 1, 'small');
	PREPARE TRANSACTION 'small';
	INSERT INTO b VALUES (71, 1, 'meanwhile');
});
settled_rows('prepared is not visible', qw(a b log));
$node->stop('immediate');
$node->start;
settled_rows('prepared, after a crash', qw(a b log));
$node->safe_psql('postgres', q{COMMIT PREPARED 'large'});
$node->safe_psql('postgres', q{UPDATE a SET v = -1 WHERE id = 3});
settled_rows('a large prepared transaction', qw(a b log));
$node->restart;
$node->safe_psql('postgres', q{ROLLBACK PREPARED 'never'});
$node->safe_psql('postgres', q{COMMIT PREPARED 'small'});
settled_rows('both ends of prepared transactions', qw(a b log));

# many subtransactions
$node->safe_psql('postgres', q{
	DO $$
	BEGIN
		FOR i IN 1 .. 10000 LOOP
			BEGIN
				INSERT INTO a SELECT 1000000 + i * 10 + k, k, filler(i) FROM generate_series(1, 8) k;
				IF i % 3 = 0 THEN
					RAISE EXCEPTION 'no';
				END IF;
			EXCEPTION WHEN raise_exception THEN
				UPDATE a SET v = i WHERE id = 4;
			END;
		END LOOP;
	END $$;
});
settled_rows('10,000 subtransactions', 'a');

# One that is streamed although it was aborted long ago, as the worker decodes from before what the lake has: the first
# change of its table that the lake does not have.
my $open = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres') ], '<', \(my $in = "BEGIN; CREATE TABLE open (x int); SELECT 'open';\n"), '>', \(my $out = ''));
$open->pump until $out =~ /open/;
$node->safe_psql('postgres', q{
	CREATE TABLE joins (id int PRIMARY KEY);
	ALTER PUBLICATION p ADD TABLE joins;
	CALL streamhouse.refresh_sync('s');
});
$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted AND backend_type = 'streamhouse copy'})
  or die 'the copy does not wait';
$node->safe_psql('postgres', q{UPDATE a SET v = -2 WHERE id = 3});
$node->poll_query_until('postgres', q{SELECT v = -2 FROM lake.a WHERE id = 3}) or die 'the stream does not go on';
$before = streamed_blocks($node);
$node->safe_psql('postgres', q{CALL streamhouse.pause_sync('s')});
$node->safe_psql('postgres', q{
	BEGIN;
	INSERT INTO a SELECT i, 1, filler(i) FROM generate_series(2000001, 2060000) i;
	ROLLBACK;
	UPDATE a SET v = -3 WHERE id = 3;
	CALL streamhouse.resume_sync('s');
});
$node->poll_query_until('postgres', q{SELECT v = -3 FROM lake.a WHERE id = 3}) or die 'the stream does not go on';
cmp_ok(streamed_blocks($node), '>', $before, 'one that was aborted before was streamed');
$in .= "COMMIT;\n";
$open->finish;
settled_rows('after one that was aborted before', qw(a b));

unlike(slurp_file($node->logfile), qr/was terminated by signal/, 'no process crashed');
$node->stop;
done_testing();
