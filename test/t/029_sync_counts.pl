
# Rows and bytes per table in streamhouse.sync_tables.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Utils;
use SyncNode;
use Test::More;

my ($node, $lake) = sync_node('counts', "logical_decoding_work_mem = '64kB'\nstreamhouse.sync_memory = '16MB'\n");

sub sql { return $node->safe_psql('postgres', @_) }

# They are written down from time to time.
sub counted
{
	my ($table, $rows, $what) = @_;
	wait_for_sync($node, 's');
	ok($node->poll_query_until('postgres', qq{SELECT concat_ws(' ', rows_inserted, rows_updated, rows_deleted, rows_copied) = '$rows'
		FROM streamhouse.sync_tables WHERE source = '$table'::regclass}), $what)
	  or diag(sql(qq{SELECT concat_ws(' ', rows_inserted, rows_updated, rows_deleted, rows_copied) FROM streamhouse.sync_tables WHERE source = '$table'::regclass}));
}

sql(q{
	CREATE TABLE plain (id int PRIMARY KEY, v int);
	CREATE TABLE soft (id int PRIMARY KEY, v int);
	CREATE SCHEMA a; CREATE SCHEMA b;
	CREATE TABLE a.part (id int PRIMARY KEY, v int);
	CREATE TABLE b.part (id int PRIMARY KEY, v int);
	INSERT INTO plain SELECT i, i FROM generate_series(1, 1000) i;
	INSERT INTO soft SELECT i, i FROM generate_series(1, 100) i;
	CREATE PUBLICATION p FOR TABLE plain, soft, a.part, b.part;
	CALL streamhouse.create_sync('s', 'p', 'lake', 'd', flush_interval => '100 ms', tables => '[
		{"source": "public.soft", "soft_delete": "deleted"}, {"source": "(.)[.]part", "table": "part", "shard": {"s": "\\\\1"}}]');
});
counted('plain', '0 0 0 1000', 'copied rows');
counted('soft', '0 0 0 100', 'of another table');
my $bytes = sql(q{SELECT bytes_written FROM streamhouse.sync_tables WHERE source = 'plain'::regclass});
my ($files) = map { s/\s.*//r } `find $lake/d.db/plain -name 'data-*' -printf '%s\n' | awk '{ s += \$1 } END { print s }'`;
chomp $files;
is($bytes, $files, 'bytes are those of the files');

sql(q{
	INSERT INTO plain SELECT i, i FROM generate_series(2001, 2010) i;
	UPDATE plain SET v = 0 WHERE id <= 20;
	DELETE FROM plain WHERE id <= 3;
	BEGIN; INSERT INTO plain VALUES (3000, 1); ROLLBACK;
	BEGIN; INSERT INTO plain VALUES (3001, 1); SAVEPOINT s; INSERT INTO plain VALUES (3002, 1); ROLLBACK TO s; COMMIT;
	DELETE FROM soft WHERE id <= 7;
	UPDATE soft SET v = 1 WHERE id > 90;
	INSERT INTO a.part SELECT i, i FROM generate_series(1, 30) i;
	INSERT INTO b.part SELECT i, i FROM generate_series(1, 10) i;
});
counted('plain', '11 20 3 1000', 'changes');
counted('soft', '0 10 7 100', 'deleted rows that stay');
counted('a.part', '30 0 0 0', 'one of two that share a lake table');
counted('b.part', '10 0 0 0', 'the other one');
cmp_ok(sql(q{SELECT bytes_written FROM streamhouse.sync_tables WHERE source = 'plain'::regclass}), '>', $bytes, 'more bytes');

# a transaction that is streamed while it runs, in part rolled back
sql(q{
	BEGIN;
	INSERT INTO plain SELECT i, i FROM generate_series(10001, 15000) i;
	SAVEPOINT a;
	UPDATE plain SET v = 1 WHERE id BETWEEN 10001 AND 13000;
	SAVEPOINT b;
	DELETE FROM plain WHERE id BETWEEN 10001 AND 12000;
	ROLLBACK TO b;
	DELETE FROM plain WHERE id BETWEEN 10001 AND 11000;
	ROLLBACK TO a;
	DELETE FROM plain WHERE id BETWEEN 14001 AND 15000;
	COMMIT;
});
counted('plain', '5011 20 1003 1000', 'a large transaction');
$node->restart;
sql(q{UPDATE plain SET v = 2 WHERE id = 500; CALL streamhouse.resync_table('s', 'soft')});
counted('plain', '5011 21 1003 1000', 'after a restart');
counted('soft', '0 10 7 193', 'another copy');

# While the worker decodes and writes counts its transaction is one like others: snapshots do not see it before it has committed.
sql(q{
	CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(2); RETURN new; END $$;
	CREATE TRIGGER slow BEFORE UPDATE ON streamhouse.sync_table FOR EACH ROW WHEN (new.rows_inserted > old.rows_inserted) EXECUTE FUNCTION slow();
	INSERT INTO plain VALUES (20001, 1);
});
my $writes = q{FROM pg_stat_activity WHERE backend_type = 'streamhouse sync' AND backend_xid IS NOT NULL};
$node->poll_query_until('postgres', "SELECT count(*) > 0 $writes") or die 'no counts are written';
sql('SELECT pg_current_xact_id()');
is(sql("SELECT pg_visible_in_snapshot(backend_xid::text::xid8, pg_current_snapshot()) $writes"), 'f', 'it is not seen by others');
sql('DROP TRIGGER slow ON streamhouse.sync_table');
counted('plain', '5012 21 1003 1000', 'and its counts are there then');

$node->stop;
done_testing();
