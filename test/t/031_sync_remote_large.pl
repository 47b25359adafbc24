
# Large transactions of another server: received while they run beside others,
# with savepoints and rollbacks, with what cannot be streamed, prepared ones,
# and connections that end meanwhile.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Utils;
use SyncNode;
use Test::More;

my ($node, $lake) = sync_node('lake', "wal_level = replica\nstreamhouse.sync_memory = 16MB\n");
my $source = source_node('source', "max_prepared_transactions = 5\nlogical_decoding_work_mem = 64kB\n");
my $connection = connection_to($source);

sub sql { return $node->safe_psql('postgres', @_) }
sub there { return $source->safe_psql('postgres', @_) }

make_signals($source);
there(q{
	CREATE TABLE a (id int PRIMARY KEY, v int, note text);
	CREATE TABLE b (part int, id int, note text, PRIMARY KEY (part, id));
	CREATE TABLE blob (id int PRIMARY KEY, n int, value text);
	ALTER TABLE blob ALTER value SET STORAGE EXTERNAL;
	CREATE TABLE timed (id int PRIMARY KEY, v int);
	CREATE FUNCTION filler(i int) RETURNS text LANGUAGE sql IMMUTABLE RETURN repeat(md5(i::text), 4);
	INSERT INTO a SELECT i, 0, filler(i) FROM generate_series(1, 1000) i;
	CREATE PUBLICATION p FOR TABLE a, b, blob;
	CREATE PUBLICATION q FOR TABLE timed;
});
sql("CALL streamhouse.create_sync('s', 'p', 'lake', 'd', options => '{\"bucket\": \"2\"}', flush_interval => '100 ms', connection => '$connection')");
wait_for_sync($node, 's');
import_lake_tables($node, 'd', qw(a b blob));

sub settled_rows
{
	my ($what, %keys) = @_;
	wait_for_sync($node, 's');
	foreach my $table (sort keys %keys)
	{
		my $rows = "count(*), md5(string_agg(t::text, ',' ORDER BY $keys{$table}))";
		is(sql("SELECT $rows FROM lake.$table t"), there("SELECT $rows FROM $table t"), "$what: $table");
	}
}
my %a = (a => 'id');
my %b = (b => 'part, id');

# Wait until transactions are streamed, whatever happened before.
sub settle_streaming
{
	for (1 .. 100)
	{
		my $sent = streamed_blocks($source);
		there("BEGIN; INSERT INTO b SELECT 60, i, filler(i) FROM generate_series(1, 3000) i; ROLLBACK");
		wait_for_sync($node, 's');
		return if streamed_blocks($source) > $sent;
		select undef, undef, undef, 0.2;
	}
	die 'nothing is streamed';
}

# alone, with subtransactions that end in each way
my $before = streamed_blocks($source);
there(q{
	BEGIN;
	INSERT INTO a SELECT i, 1, filler(i) FROM generate_series(1001, 20000) i;
	SAVEPOINT one;
	UPDATE a SET v = v + 1 WHERE id % 2 = 0;
	SAVEPOINT two;
	INSERT INTO b SELECT i % 7, i, filler(i) FROM generate_series(1, 10000) i;
	ROLLBACK TO two;
	INSERT INTO b SELECT i % 7, -i, filler(i) FROM generate_series(1, 10000) i;
	RELEASE one;
	SAVEPOINT three;
	DELETE FROM a;
	SAVEPOINT four;
	INSERT INTO a SELECT i, 9, filler(i) FROM generate_series(1, 10000) i;
	RELEASE four;
	ROLLBACK TO three;
	DELETE FROM a WHERE id % 5 = 0;
	COMMIT;
});
settled_rows('savepoints', %a, %b);
cmp_ok(streamed_blocks($source), '>', $before, 'it was streamed');

# what is rolled back while it is streamed, to a savepoint and all of it: rows come before it is, and nothing stays
$before = streamed_blocks($source);
my $files = data_files("$lake/d.db/b");
my $session = start_session($source, q{
	BEGIN;
	INSERT INTO a SELECT i, 2, filler(i) FROM generate_series(20001, 25000) i;
	SAVEPOINT one;
	INSERT INTO b SELECT 50, i, filler(i) FROM generate_series(1, 100000) i;
	SELECT wait_for('files are there');
	ROLLBACK TO one;
	INSERT INTO a SELECT i, 2, filler(i) FROM generate_series(25001, 30000) i;
	COMMIT;
	INSERT INTO signal VALUES ('rolled back');
});
wait_for_streaming($source, $before);
for (1 .. 600)
{
	last if data_files("$lake/d.db/b") > $files;
	select undef, undef, undef, 0.1;
}
cmp_ok(data_files("$lake/d.db/b"), '>', $files, 'files are written while it runs');
signal_sessions($source, 'files are there');
there(q{SELECT wait_for('rolled back')});
$session->finish;
settled_rows('a savepoint rolled back', %a, %b);
$session = start_session($source, q{
	BEGIN;
	INSERT INTO b SELECT 51, i, filler(i) FROM generate_series(1, 100000) i;
	SELECT wait_for('abort');
	ROLLBACK;
	INSERT INTO signal VALUES ('aborted');
});
wait_for_streaming($source, streamed_blocks($source));
signal_sessions($source, 'abort');
there(q{SELECT wait_for('aborted')});
$session->finish;
settled_rows('all rolled back', %b);
cmp_ok(data_files("$lake/d.db/b"), '<=', $files + 2, 'files of what was rolled back are gone');

# two large ones beside each other and beside small ones: who commits later wins
$before = streamed_blocks($source);
my $first = start_session($source, q{
	BEGIN;
	INSERT INTO a SELECT i, 100, filler(i) FROM generate_series(100001, 110000) i;
	SELECT wait_for('second is there');
	UPDATE a SET v = 103, note = 'first' WHERE id BETWEEN 200001 AND 203000 OR id < 500;
	COMMIT;
	INSERT INTO signal VALUES ('first has committed');
});
wait_for_streaming($source, $before);
$before = streamed_blocks($source);
my $second = start_session($source, q{
	BEGIN;
	INSERT INTO a SELECT i, 200, filler(i) FROM generate_series(200001, 210000) i;
	SELECT wait_for('small is there');
	UPDATE a SET v = 201 WHERE id < 1000;
	COMMIT;
	INSERT INTO signal VALUES ('second is there');
});
wait_for_streaming($source, $before);
there(q{UPDATE a SET v = 50 WHERE id < 200});
wait_for_sync($node, 's');
is(sql('SELECT count(*) FROM lake.a WHERE v = 50'), there('SELECT count(*) FROM a WHERE v = 50'), 'small ones are visible beside');
signal_sessions($source, 'small is there');
there(q{SELECT wait_for('first has committed')});
there(q{UPDATE a SET v = 300 WHERE id IN (7, 200500)});
$_->finish for $first, $second;
settled_rows('who commits later wins', %a);

# what cannot be streamed comes at the end, at its place
sub given_up { return scalar(() = slurp_file($node->logfile) =~ /decodes transaction \d+ when it has committed/g) }

there(q{
	INSERT INTO blob SELECT i, 0, repeat(md5(i::text), 100) FROM generate_series(1, 1000) i;
	BEGIN;
	INSERT INTO a SELECT i, 1, filler(i) FROM generate_series(300001, 305000) i;
	UPDATE blob SET n = n + 1;
	INSERT INTO a SELECT i, 1, filler(i) FROM generate_series(305001, 310000) i;
	COMMIT;
});
settled_rows('large values left unchanged', %a, blob => 'id');
is(given_up(), 1, 'the log says so');
settle_streaming();
there(q{
	BEGIN;
	INSERT INTO b SELECT 1, i, filler(i) FROM generate_series(400001, 405000) i;
	TRUNCATE b;
	INSERT INTO b SELECT 1, i, filler(i) FROM generate_series(500001, 505000) i;
	COMMIT;
	UPDATE b SET note = 'last' WHERE id = 500500;
});
settled_rows('a table truncated', %b);
is(given_up(), 2, 'which is in the log as well');
settle_streaming();
there(q{
	BEGIN;
	INSERT INTO a SELECT i, 1, filler(i) FROM generate_series(400001, 405000) i;
	ALTER TABLE a ADD more text;
	INSERT INTO a SELECT i, 1, filler(i), 'more' FROM generate_series(440001, 445000) i;
	COMMIT;
	UPDATE a SET more = 'last' WHERE id = 442000;
	BEGIN;
	INSERT INTO a SELECT i, 1, filler(i), 'x' FROM generate_series(500001, 505000) i;
	ALTER TABLE a ADD never text;
	INSERT INTO a SELECT i, 1, filler(i), 'x' FROM generate_series(540001, 545000) i;
	ROLLBACK;
	UPDATE a SET more = 'after never' WHERE id = 442001;
});
wait_for_sync($node, 's');
import_lake_tables($node, 'd', 'a');
settled_rows('columns changed', %a);
is(given_up(), 3, 'and so is that');
is(sql(q{SELECT count(*) FROM streamhouse.sync_status WHERE error IS NOT NULL}), 0, 'and is no failure');

sub walsender { return there(q{SELECT active_pid FROM pg_replication_slots WHERE slot_name LIKE 'streamhouse%' AND active}) }

# the connection and the worker end while a transaction is streamed
settle_streaming();
foreach my $end ('connection', 'worker')
{
	$before = streamed_blocks($source);
	$session = start_session($source, qq{
		BEGIN;
		INSERT INTO b SELECT 2, i, '$end' FROM generate_series(1, 20000) i;
		SAVEPOINT one;
		INSERT INTO b SELECT 3, i, '$end' FROM generate_series(1, 20000) i;
		ROLLBACK TO one;
		SELECT wait_for('$end is gone');
		UPDATE b SET note = '$end later' WHERE part = 2 AND id % 3 = 0;
		COMMIT;
		INSERT INTO signal VALUES ('$end has committed');
	});
	wait_for_streaming($source, $before);
	there('SELECT pg_terminate_backend(' . walsender() . ')') if $end eq 'connection';
	sql('SELECT pg_terminate_backend(pid) FROM streamhouse.sync_status') if $end eq 'worker';
	signal_sessions($source, "$end is gone");
	there("SELECT wait_for('$end has committed')");
	$session->finish;
	settled_rows("$end ended meanwhile", %b);
	there('DELETE FROM b WHERE part IN (2, 3)');
	settle_streaming();
}

# prepared ones, across a crash of the source
there(q{
	BEGIN;
	UPDATE a SET v = v + 1000;
	SAVEPOINT s;
	DELETE FROM a WHERE id % 2 = 0;
	ROLLBACK TO s;
	PREPARE TRANSACTION 'large';
});
settled_rows('prepared is not visible', %a);
$source->stop('immediate');
$source->start;
settled_rows('prepared, after a crash', %a);
there(q{COMMIT PREPARED 'large'});
there(q{UPDATE a SET v = -1 WHERE id = 3});
settled_rows('a large prepared transaction', %a);

# many subtransactions
there(q{
	DO $$
	BEGIN
		FOR i IN 1 .. 1000 LOOP
			BEGIN
				INSERT INTO a SELECT 2000000 + i * 10 + k, k, filler(i) FROM generate_series(1, 8) k;
				IF i % 3 = 0 THEN
					RAISE EXCEPTION 'no';
				END IF;
			EXCEPTION WHEN raise_exception THEN
				UPDATE a SET v = i WHERE id = 4;
			END;
		END LOOP;
	END $$;
});
settled_rows('many subtransactions', %a);

# rows that tell of the end of their transaction come after it
sql("CALL streamhouse.create_sync('t', 'q', 'lake', 't', flush_interval => '100 ms', connection => '$connection', tables => '[{\"source\": \".*\", \"metadata\": [\"commit_time\"]}]')");
wait_for_sync($node, 't');
my $slot = sql("SELECT slot FROM streamhouse.sync WHERE name = 't'");
there('INSERT INTO timed SELECT i, i FROM generate_series(1, 20000) i');
wait_for_sync($node, 't');
import_lake_tables($node, 't', 'timed');
is(sql('SELECT count(*), count(DISTINCT _commit_time), min(_commit_time) > now() - interval \'1 hour\' FROM lake.timed'), '20000|1|t', 'the time of a commit');
is(there("SELECT coalesce(sum(stream_count), 0) FROM pg_stat_replication_slots WHERE slot_name = '$slot'"), '0', 'which was not streamed');

unlike(slurp_file($node->logfile), qr/was terminated by signal/, 'no process crashed');
sql("CALL streamhouse.drop_sync('$_')") for qw(s t);
is(there('SELECT count(*) FROM pg_replication_slots'), '0', 'the slots are dropped');
$node->stop;
$source->stop;
done_testing();
