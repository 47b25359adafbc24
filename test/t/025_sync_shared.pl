
# Lake tables that several sources fill: of one sync, of two, of two databases.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Utils;
use SyncNode;
use Test::More;
use Time::HiRes qw(usleep);

my $crashes = $ENV{STREAMHOUSE_CRASHES} // 6;
my ($node, $lake) = sync_node('shared', "logical_decoding_work_mem = '64kB'\nstreamhouse.sync_memory = '16MB'\nmax_wal_senders = 5\n");

sub sql { return $node->safe_psql('postgres', @_) }

# The lake table has the rows of a query, each as often.
sub same_as
{
	my ($mine, $query, $what) = @_;
	is(sql(qq{
		(SELECT 'missing', left(t::text, 60) FROM (($query) EXCEPT ALL ($mine)) t ORDER BY 2 LIMIT 5)
		UNION ALL
		(SELECT 'too many', left(t::text, 60) FROM (($mine) EXCEPT ALL ($query)) t ORDER BY 2 LIMIT 5)
	}), '', $what);
}

sub state_of
{
	my ($source) = @_;
	return sql("SELECT state FROM streamhouse.sync_tables WHERE source::text = '$source'");
}

# ---- refusals ----

sql(q{
	CREATE SCHEMA a; CREATE SCHEMA b; CREATE SCHEMA c; CREATE SCHEMA d;
	CREATE TABLE a.item (id int PRIMARY KEY, v int);
	CREATE TABLE b.item (v int, id int PRIMARY KEY);
	CREATE TABLE c.item (id int PRIMARY KEY, v text);
	CREATE TABLE d.item (id int PRIMARY KEY, v int, more int);
	CREATE PUBLICATION items FOR TABLE a.item, b.item;
	CREATE PUBLICATION other_types FOR TABLE a.item, c.item;
	CREATE PUBLICATION other_columns FOR TABLE a.item, d.item;
});

sub refused
{
	my ($publication, $rule, $expected, $what) = @_;
	my ($code, $out, $err) = $node->psql('postgres',
		qq{CALL streamhouse.create_sync('r', '$publication', 'lake', 'r', tables => '[{"source": "(.)\\\\..*", "table": "item", $rule}]')});
	like($err, $expected, $what);
}

refused('items', '"metadata": ["table"]', qr/would both be lake table "item": give them different names with "tables", or tell them apart with "shard"/, 'no shard');
refused('items', '"shard": {"s": "x"}', qr/would both be lake table "item", shard "x"/, 'one shard for both');
refused('items', '"shard": "x"', qr/"shard" of (the|a) rule for .* must be an object/, 'no object');
refused('items', '"shard": {}', qr/must have the name of one column and its value/, 'no column');
refused('items', '"shard": {"s": "x", "t": "y"}', qr/must have the name of one column and its value/, 'two columns');
refused('items', '"shard": {"v": "\\\\1"}', qr/column "v" specified more than once/, 'a name that is taken');
refused('items', '"shard": {"s": "\\\\2"}', qr/the shard of table "a.item" is empty/, 'an empty shard');
refused('other_types', '"shard": {"s": "\\\\1"}', qr/table "c.item" does not fit lake table "item".*Column "v" would be STRING, and is INT/s, 'other types');
refused('other_columns', '"shard": {"s": "\\\\1"}', qr/table "d.item" does not fit lake table "item".*It has a column "more", which others have not/s, 'more columns');

# ---- changes ----

my %orders = (
	t1 => 'id int PRIMARY KEY, v int, note text',
	t2 => 'note text, gone int, v int, id int PRIMARY KEY',
	t3 => 'id int PRIMARY KEY, v int, note text');
my @tenants = sort keys %orders;

sub add_tenant
{
	my ($t, $columns) = @_;
	sql(qq{
		CREATE SCHEMA $t;
		CREATE TABLE $t.orders ($columns);
		ALTER TABLE $t.orders ALTER note SET STORAGE EXTERNAL;
		INSERT INTO $t.orders (id, v, note) SELECT i, i, CASE WHEN i % 3 = 0 THEN repeat(md5('$t' || i), 100) ELSE '$t ' || i END FROM generate_series(1, 500) i;
	});
}

add_tenant($_, $orders{$_}) for @tenants;
sql(q{
	ALTER TABLE t2.orders DROP COLUMN gone;
	CREATE TABLE plain (id int PRIMARY KEY);
	CREATE PUBLICATION p FOR TABLE t1.orders, t2.orders, t3.orders, plain;
	CALL streamhouse.create_sync('s', 'p', 'lake', 'd', flush_interval => '100 ms', options => '{"bucket": "2"}', tables => '[
		{"source": "(t\\\\d)\\\\.(orders)", "table": "all_\\\\2", "shard": {"tenant": "\\\\1"}, "metadata": ["table"]}]');
});
wait_for_sync($node, 's');
import_lake_tables($node, 'd', 'all_orders');

sub all_orders { return join(' UNION ALL ', map { "SELECT id, v, note, '$_'::text, '$_.orders'::text FROM $_.orders" } @_) }

sub orders_are_right
{
	my ($what) = @_;
	wait_for_sync($node, 's');
	same_as('SELECT id, v, note, tenant, _table FROM lake.all_orders', all_orders(@tenants), $what);
}

orders_are_right('copied');
my ($schema) = slurp_file("$lake/d.db/all_orders/schema/schema-0") =~ /("partitionKeys".*)"options"/s;
like($schema, qr/"partitionKeys"\s*:\s*\[\s*"tenant"\s*\],\s*"primaryKeys"\s*:\s*\[\s*"tenant",\s*"id"\s*\]/, 'the shard is the partition, and in the key');
is(sql(q{SELECT string_agg(DISTINCT "table", ' ') || ' ' || count(*) FROM streamhouse.sync_tables WHERE source::text LIKE 't%'}), 'all_orders 3', 'three sources, one lake table');

sub change_orders
{
	my ($t, $other) = @_;
	sql(qq{
		UPDATE $t.orders SET v = v + 1 WHERE id % 2 = 0;
		DELETE FROM $t.orders WHERE id % 5 = 0;
		BEGIN;
		UPDATE $t.orders SET id = id + 1000 WHERE id % 7 = 0 AND id < 1000;
		UPDATE $other.orders SET v = -v WHERE id % 3 = 0;
		INSERT INTO $t.orders (id, v, note) VALUES (5000, 1, 'in $t') ON CONFLICT (id) DO UPDATE SET v = 0;
		SAVEPOINT s;
		DELETE FROM $other.orders;
		ROLLBACK TO s;
		DELETE FROM $other.orders WHERE id = 11;
		COMMIT;
	});
}

change_orders('t1', 't2');
change_orders('t2', 't3');
change_orders('t3', 't1');
orders_are_right('after changes');

# TRUNCATE of one, within a transaction
sql(q{
	BEGIN;
	UPDATE t1.orders SET v = 1 WHERE id = 1;
	UPDATE t2.orders SET v = 77 WHERE id = 1;
	INSERT INTO t2.orders (id, v) VALUES (8888, 1);
	TRUNCATE t2.orders;
	INSERT INTO t2.orders (id, v, note) SELECT i, 2, 'after' FROM generate_series(1, 20) i;
	DELETE FROM t2.orders WHERE id = 20;
	UPDATE t3.orders SET v = 3 WHERE id = 3;
	COMMIT;
	UPDATE t2.orders SET v = 3 WHERE id = 3;
});
orders_are_right('after TRUNCATE');

# transactions that are streamed while they run, of several sources
sql(q{
	BEGIN;
	INSERT INTO t1.orders SELECT i, i, 'large ' || i FROM generate_series(10001, 16000) i;
	INSERT INTO t2.orders (id, v, note) SELECT i, i, 'large ' || i FROM generate_series(10001, 16000) i;
	UPDATE t1.orders SET v = 0 WHERE id BETWEEN 11000 AND 12000;
	DELETE FROM t2.orders WHERE id BETWEEN 11000 AND 12000;
	COMMIT;
	DELETE FROM t1.orders WHERE id > 15000;
});
orders_are_right('after a large transaction');

# one joins, beside changes of others
add_tenant('t4', 'id int PRIMARY KEY, v int, note text');
sql(q{
	UPDATE t1.orders SET v = v + 1;
	ALTER PUBLICATION p ADD TABLE t4.orders;
	CALL streamhouse.refresh_sync('s');
	UPDATE t4.orders SET v = v + 1 WHERE id < 100;
});
for my $i (1 .. 20)
{
	sql("UPDATE t1.orders SET v = $i WHERE id % 20 = $i; DELETE FROM t4.orders WHERE id = $i; UPDATE t4.orders SET v = v + 1 WHERE id % 20 = $i");
}
push @tenants, 't4';
orders_are_right('when one has joined');
sql('CALL streamhouse.compact(\'lake.all_orders\', full => true)');
orders_are_right('compacted');

# one is copied again
sql(q{CALL streamhouse.resync_table('s', 't2.orders'); UPDATE t1.orders SET v = v + 1; DELETE FROM t2.orders WHERE id < 5; UPDATE t2.orders SET v = v + 1 WHERE id < 50});
for my $i (1 .. 20)
{
	sql("UPDATE t3.orders SET v = $i WHERE id % 20 = $i; DELETE FROM t2.orders WHERE id = $i; INSERT INTO t2.orders (id, v) VALUES (20000 + $i, 1)");
}
orders_are_right('when one has been copied again');

# all are
sql(q{CALL streamhouse.resync_sync('s'); UPDATE t1.orders SET v = v + 1});
orders_are_right('when all have been copied again');

# ---- reads ----

sql(q{UPDATE t1.orders SET v = v + 1});
is(sql(q{SET streamhouse.fresh_reads = on; SELECT sum(v) - (SELECT sum(v) FROM t1.orders) FROM lake.all_orders WHERE tenant = 't1'}), '0', 'a fresh read');

# ---- positions ----

my $cut_query = q{SELECT string_agg(concat_ws(' ', tenant, n, total), ', ' ORDER BY tenant) FROM (SELECT tenant, count(*) n, sum(v) total FROM %s t GROUP BY 1) t};
my $all_orders = '(' . join(' UNION ALL ', map { "SELECT id, v, '$_' tenant FROM $_.orders" } @tenants) . ')';

# Where the sync is, and what the sources have then.
sub cut
{
	wait_for_sync($node, 's');
	return [ split /\|/, sql(q{SELECT (SELECT confirmed_lsn FROM streamhouse.sync_status), (} . sprintf($cut_query, $all_orders) . ')') ];
}

sub as_of { return $node->psql('postgres', "SET streamhouse.as_of = 'lsn $_[0]'; " . sprintf($cut_query, 'lake.all_orders')) }

sub cut_is_right
{
	my ($cut, $what) = @_;
	my ($code, $out, $err) = as_of($cut->[0]);
	is($err . $out, $cut->[1], $what);
}

sub cut_is_refused
{
	my ($position, $expected, $what) = @_;
	my ($code, $out, $err) = as_of($position);
	like($err . $out, $expected, $what);
}

my @cuts = map {
	sql("BEGIN; UPDATE t1.orders SET v = v - $_ WHERE id = 100 + $_; INSERT INTO t2.orders (id, v) VALUES (50000 + $_, 0); UPDATE t3.orders SET v = v + $_ WHERE id = 100 + $_; COMMIT");
	cut() } 1 .. 5;
sql('CALL streamhouse.compact(\'lake.all_orders\')');
cut_is_right($cuts[$_], "position $_ of all sources") for 0 .. 4;

# while one is copied again, and is not begun for a transaction that runs
my $running = IPC::Run::start([ 'psql', '-X', '-q', '-c', 'CREATE TABLE running ()', '-c', 'BEGIN; DROP TABLE running; SELECT pg_sleep(3)', '-c', 'COMMIT', $node->connstr('postgres') ]);
$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE '%pg_sleep(3)' AND backend_xid IS NOT NULL AND pid <> pg_backend_pid()});
sql(q{CALL streamhouse.resync_table('s', 't2.orders')});
$node->poll_query_until('postgres', q{SELECT state = 'copying' FROM streamhouse.sync_tables WHERE source = 't2.orders'::regclass});
sql(q{UPDATE t1.orders SET v = v + 1 WHERE id = 101; DELETE FROM t2.orders WHERE id > 50000});
my $during = sql('SELECT pg_current_wal_lsn()');
$node->poll_query_until('postgres', "SELECT confirmed_lsn >= '$during' FROM streamhouse.sync_status");
cut_is_refused($during, qr/was being copied, or paused, at position/, 'a position at which one is to be copied');
$running->finish;
push @cuts, cut();
cut_is_right($cuts[5], 'when it is copied');
cut_is_refused($during, qr/was being copied, or paused, at position/, 'that position shows nothing still');
cut_is_right($cuts[$_], "position $_ of before shows what it has shown") for 0 .. 3;
cut_is_refused('FFF/0', qr/may lack changes up to position/, 'a position that is not reached');

# what follows the copy's snapshot is not taken for what the others have: the copy waits for a transaction, is stopped there, and
# goes on from a point of before the changes
my ($code, $out, $err);
my $holder = $node->background_psql('postgres');
$holder->query(q{BEGIN; CREATE TABLE held ()});
sql(q{CALL streamhouse.resync_table('s', 't2.orders')});
$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'streamhouse copy s' AND wait_event = 'transactionid'}) or die 'the copy does not wait';
my $leader = sql(q{SELECT pid FROM pg_stat_activity WHERE application_name = 'streamhouse copy s'});
kill 'STOP', $leader;
$holder->query('COMMIT');
$holder->quit;
sql('CHECKPOINT');
sql('UPDATE t2.orders SET v = v + 1; UPDATE t1.orders SET v = v + 1 WHERE id = 101');
usleep(500_000);
kill 'CONT', $leader;
orders_are_right('when one has begun before changes of both');

# ---- columns ----

sql(q{
	ALTER TABLE t1.orders ADD COLUMN extra int;
	UPDATE t1.orders SET extra = id WHERE id < 50;
	UPDATE t2.orders SET v = v + 1 WHERE id < 50;
	ALTER TABLE t3.orders ADD COLUMN third text;
	UPDATE t3.orders SET third = 'three' WHERE id < 50;
	ALTER TABLE t2.orders ADD COLUMN extra int;
	UPDATE t2.orders SET extra = -id WHERE id < 50;
	ALTER TABLE t1.orders ALTER v TYPE bigint;
	UPDATE t1.orders SET v = 5000000000 WHERE id = 2;
	ALTER TABLE t2.orders RENAME note TO remark;
	UPDATE t2.orders SET remark = 'renamed' WHERE id < 20;
	ALTER TABLE t4.orders DROP COLUMN note;
	UPDATE t4.orders SET v = 4;
	ALTER TABLE t4.orders ADD COLUMN extra int DEFAULT 5;
	UPDATE t4.orders SET v = v + 1 WHERE id % 2 = 0;
	ALTER TABLE t3.orders ALTER v TYPE bigint;
	UPDATE t3.orders SET v = 6000000000 WHERE id = 2;
});
my $columns = q{SELECT id, v, note, extra, NULL::text, 't1'::text FROM t1.orders UNION ALL SELECT id, v, remark, extra, NULL, 't2' FROM t2.orders
	UNION ALL SELECT id, v, note, NULL, third, 't3' FROM t3.orders UNION ALL SELECT id, v, NULL, extra, NULL, 't4' FROM t4.orders};
wait_for_sync($node, 's');
import_lake_tables($node, 'd', 'all_orders');
same_as('SELECT id, v, note, extra, third, tenant FROM lake.all_orders', $columns, 'columns of each');
is(sql(q{SELECT string_agg(state, ' ') FROM streamhouse.sync_tables WHERE "table" = 'all_orders'}), 'streaming streaming streaming streaming', 'all are streaming');
$node->restart;
sql(q{UPDATE t2.orders SET extra = 7, remark = 'after a restart' WHERE id < 20; UPDATE t3.orders SET third = 'x' WHERE id < 100; UPDATE t4.orders SET extra = 8 WHERE id < 10});
sql(q{CALL streamhouse.resync_table('s', 't2.orders'); CALL streamhouse.resync_table('s', 't3.orders')});
wait_for_sync($node, 's');
same_as('SELECT id, v, note, extra, third, tenant FROM lake.all_orders', $columns, 'columns of each, copied again');

# a column that is dropped and added anew has other values in all rows
sql(q{ALTER TABLE t1.orders DROP COLUMN extra; ALTER TABLE t1.orders ADD COLUMN extra int; UPDATE t1.orders SET extra = 1 WHERE id = 1});
wait_for_sync($node, 's');
same_as('SELECT id, v, note, extra, third, tenant FROM lake.all_orders', $columns, 'a column that is there again');

# what cannot be is a trouble of one
sql(q{ALTER TABLE t4.orders ALTER extra TYPE text USING extra::text; UPDATE t4.orders SET extra = 'x' WHERE id = 30; UPDATE t3.orders SET v = 1});
$node->poll_query_until('postgres', q{SELECT state = 'paused' FROM streamhouse.sync_tables WHERE source = 't4.orders'::regclass}) or die 't4.orders is not paused';
like(sql(q{SELECT error FROM streamhouse.sync_tables WHERE source = 't4.orders'::regclass}),
	qr/Column "extra" would be STRING now, but is INT in the lake. It shares the lake table with others.*give the sources the same columns and call streamhouse.resync_table/s, 'another type');
wait_for_sync($node, 's');
cut_is_refused(sql('SELECT confirmed_lsn FROM streamhouse.sync_status'), qr/was being copied, or paused, at position/, 'which is paused, so there are no positions');
same_as(q{SELECT id, v, note, third, tenant FROM lake.all_orders WHERE tenant = 't3'}, q{SELECT id, v, note, third, 't3'::text FROM t3.orders}, 'the others go on');
sql(q{ALTER TABLE t4.orders ALTER extra TYPE int USING nullif(extra, 'x')::int; CALL streamhouse.resync_table('s', 't4.orders')});
wait_for_sync($node, 's');
same_as('SELECT id, v, note, extra, third, tenant FROM lake.all_orders', $columns, 'it is back');
cut_is_right(cut(), 'with positions');

# one leaves, and its rows stay
sql(q{CREATE TABLE left_orders AS SELECT id, v FROM t3.orders; DROP TABLE t3.orders; UPDATE t1.orders SET v = 9});
wait_for_sync($node, 's');
same_as(q{SELECT id, v FROM lake.all_orders WHERE tenant = 't3'}, 'SELECT id, v::bigint FROM left_orders', 'rows of a source that is gone stay');
same_as(q{SELECT id, v FROM lake.all_orders WHERE tenant = 't1'}, 'SELECT id, v FROM t1.orders', 'those of others are followed');

# ---- two syncs; two databases ----

sub join_items
{
	my ($name, $publication, $shard) = @_;
	return qq{CALL streamhouse.create_sync('$name', '$publication', 'lake', 'd', flush_interval => '100 ms', tables => '[
		{"source": ".*", "table": "items", "shard": {"region": "$shard"}, "soft_delete": "deleted", "partition": ["kind"], "columns": {"kind": "id % 2"}}]')};
}

sql(q{
	CREATE TABLE eu (id int PRIMARY KEY, v text);
	CREATE TABLE us (v text, id int PRIMARY KEY);
	INSERT INTO eu SELECT i, 'eu ' || i FROM generate_series(1, 100) i;
	INSERT INTO us (id, v) SELECT i, 'us ' || i FROM generate_series(1, 100) i;
	CREATE PUBLICATION eu FOR TABLE eu;
	CREATE PUBLICATION us FOR TABLE us;
	CREATE DATABASE far;
});
sql(join_items('eu', 'eu', 'eu'));
wait_for_sync($node, 'eu');
($code, $out, $err) = $node->psql('postgres', join_items('us', 'us', 'eu'));
like($err, qr/sync "eu" writes to lake table "items".*or tell the sources apart with "shard"/s, 'the shard of another sync');
sql(join_items('us', 'us', 'us'));
my $server = "CREATE EXTENSION streamhouse; CREATE SERVER lake FOREIGN DATA WRAPPER streamhouse OPTIONS (warehouse '$lake');";
$node->safe_psql('far', $server . q{
	CREATE TABLE asia (id int PRIMARY KEY, v text);
	CREATE PUBLICATION asia FOR TABLE asia;
});
($code, $out, $err) = $node->psql('far', join_items('asia', 'asia', 'asia'));
like($err, qr/lake table "d.items" is filled by a sync of another database/, 'a sync of another database');
wait_for_sync($node, $_) for qw(eu us);
sql(q{DELETE FROM eu WHERE id <= 10; UPDATE us SET id = id + 1000 WHERE id <= 10; UPDATE eu SET v = 'new' WHERE id = 50});
wait_for_sync($node, $_) for qw(eu us);
import_lake_tables($node, 'd', 'items');
is(sql(q{SELECT string_agg(format('%s %s %s %s', region, n, gone, new), ', ' ORDER BY region) FROM (SELECT region, count(*) n, count(*) FILTER (WHERE deleted) gone,
	count(*) FILTER (WHERE v = 'new' AND id = 50 AND NOT deleted) new FROM lake.items GROUP BY 1) t}), 'eu 100 10 1, us 110 10 0', 'two syncs in one lake table');
sql(q{TRUNCATE eu; INSERT INTO eu VALUES (1, 'again'); CALL streamhouse.resync_table('us', 'us')});
wait_for_sync($node, $_) for qw(eu us);
is(sql(q{SELECT string_agg(format('%s %s %s', region, n, gone), ', ' ORDER BY region) FROM (SELECT region, count(*) n, count(*) FILTER (WHERE deleted) gone FROM lake.items GROUP BY 1) t}),
	'eu 100 99, us 100 0', 'each its own');
is(sql(q{SET streamhouse.fresh_reads = on; SELECT count(*) FROM lake.items WHERE region = 'us'}), '100', 'a fresh read of all syncs');
sub no_position
{
	my ($what) = @_;
	my ($code, $out, $err) = $node->psql('postgres', q{SELECT set_config('streamhouse.as_of', 'lsn ' || confirmed_lsn, false) FROM streamhouse.sync_status WHERE name = 'eu'; SELECT count(*) FROM lake.items});
	like($err, qr/"d.items" cannot be read as of a position of its source.*Several syncs fill it/s, $what);
}
no_position('two syncs have no position in common');
sql(q{CALL streamhouse.drop_sync('us')});
no_position('also when one of them is gone');
($code, $out, $err) = $node->psql('postgres', join_items('us', 'us', 'us'));
like($err, qr/lake table "d.items" has rows of shard "us" that the sync did not write: remove them, or let the source have another shard/, 'rows of before');
sql(q{DELETE FROM lake.items WHERE region = 'us'});
sql(join_items('us', 'us', 'us'));
wait_for_sync($node, 'us');
same_as(q{SELECT id, v, deleted FROM lake.items WHERE region = 'us'}, 'SELECT id, v, false FROM us', 'a source begins where one was before');

# a source elsewhere shares it, too
my $far = $node->connstr('far') . ' user=' . $node->safe_psql('postgres', 'SELECT current_user');
$node->safe_psql('far', q{INSERT INTO asia SELECT i, repeat(md5(i::text), 100) FROM generate_series(1, 50) i; ALTER TABLE asia ALTER v SET STORAGE EXTERNAL});
sql(join_items('asia', 'asia', 'asia') =~ s/, flush_interval/, connection => \$\$$far\$\$, flush_interval/r);
wait_for_sync($node, 'asia');
$node->safe_psql('far', q{DELETE FROM asia WHERE id <= 5; UPDATE asia SET id = id + 100 WHERE id BETWEEN 6 AND 10; INSERT INTO asia VALUES (1, 'back')});
sql(q{UPDATE us SET v = 'beside' WHERE id = 1001});
wait_for_sync($node, $_) for qw(us asia);
sub asia_is { is(sql(q{SELECT count(*) || ' ' || count(*) FILTER (WHERE deleted) || ' ' || bool_and(v IS NOT NULL) FROM lake.items WHERE region = 'asia'}), $_[0], $_[1]) }
asia_is('55 9 true', 'a source elsewhere in a shared lake table');
$node->safe_psql('far', q{TRUNCATE asia; INSERT INTO asia VALUES (2, 'after')});
wait_for_sync($node, 'asia');
asia_is('55 54 true', 'truncated');
is(sql(q{SELECT count(*) FROM lake.items WHERE region = 'us' AND NOT deleted}) , sql('SELECT count(*) FROM us'), 'not the others');
($code, $out, $err) = $node->psql('postgres', q{CALL streamhouse.alter_sync('asia', tables => '[{"source": ".*", "table": "items_of_asia"}]')});
like($err, qr/- table "public.asia": it would go to lake table "items_of_asia" instead of "items"/, 'other rules for a source elsewhere');
sql(q{CALL streamhouse.alter_sync('asia', copy => true, tables => '[{"source": ".*", "table": "items_of_asia"}]')});
$node->safe_psql('far', q{INSERT INTO asia VALUES (3, 'there')});
wait_for_sync($node, 'asia');
import_lake_tables($node, 'd', 'items_of_asia');
is(sql('SELECT string_agg(id::text, $$ $$ ORDER BY id) FROM lake.items_of_asia'), '2 3', 'by which it is copied into a lake table of its own');
sql(q{CALL streamhouse.drop_sync('asia'); CALL streamhouse.drop_sync('us'); CALL streamhouse.drop_sync('eu')});

# ---- without key ----

sql(q{
	CREATE SCHEMA h1; CREATE SCHEMA h2;
	CREATE TABLE h1.event (n int, what text);
	CREATE TABLE h2.event (n int, what text);
	ALTER TABLE h1.event REPLICA IDENTITY FULL;
	ALTER TABLE h2.event REPLICA IDENTITY FULL;
	INSERT INTO h1.event VALUES (1, 'h1');
	INSERT INTO h2.event VALUES (1, 'h2'), (2, 'h2');
	CREATE PUBLICATION h FOR TABLES IN SCHEMA h1, h2;
	CALL streamhouse.create_sync('h', 'h', 'lake', 'd', flush_interval => '100 ms', tables => '[
		{"source": "(.*)\\\\.event", "table": "history", "shard": {"part": "\\\\1"}, "history": true}]');
	CREATE SCHEMA l1; CREATE SCHEMA l2;
	CREATE TABLE l1.line (n int);
	CREATE TABLE l2.line (n int);
	INSERT INTO l1.line SELECT generate_series(1, 10);
	INSERT INTO l2.line SELECT generate_series(1, 20);
	CREATE PUBLICATION l FOR TABLES IN SCHEMA l1, l2 WITH (publish = 'insert, truncate');
	CALL streamhouse.create_sync('l', 'l', 'lake', 'd', flush_interval => '100 ms', tables => '[
		{"source": "(.*)\\\\.line", "table": "lines", "shard": {"part": "\\\\1"}}]');
});
wait_for_sync($node, $_) for qw(h l);
sql(q{UPDATE h1.event SET n = 5; DELETE FROM h2.event WHERE n = 2; TRUNCATE h1.event; INSERT INTO l1.line VALUES (100); TRUNCATE l2.line; INSERT INTO l2.line VALUES (200)});
wait_for_sync($node, $_) for qw(h l);
import_lake_tables($node, 'd', $_) for qw(history lines);
is(sql(q{SELECT string_agg(concat_ws(' ', part, _kind, n, what), ', ' ORDER BY part, _lsn, _kind DESC) FROM lake.history}),
	'h1 +I 1 h1, h1 -U 1 h1, h1 +U 5 h1, h1 T, h2 +I 1 h2, h2 +I 2 h2, h2 -D 2 h2', 'histories of two');
same_as('SELECT n, part FROM lake.lines', q{SELECT n, 'l1'::text FROM l1.line UNION ALL SELECT n, 'l2' FROM l2.line}, 'append tables of two, one truncated');
sql(q{CALL streamhouse.drop_sync('h'); CALL streamhouse.drop_sync('l'); CALL streamhouse.drop_sync('s')});

# ---- kills, while sources join, are truncated and copied again ----

sql(qq{
	CREATE SCHEMA k$_;
	CREATE TABLE k$_.acc (id int PRIMARY KEY, v int, big text);
	ALTER TABLE k$_.acc ALTER big SET STORAGE EXTERNAL;
	INSERT INTO k$_.acc SELECT i, 0, CASE WHEN i % 5 = 0 THEN repeat(md5(i::text), 100) END FROM generate_series(1, 4000) i;
}) for 1 .. 4;
sql(q{
	ALTER SYSTEM SET streamhouse.copy_chunk_size = '256kB';
	SELECT pg_reload_conf();
	CREATE PUBLICATION k FOR TABLE k1.acc, k2.acc, k3.acc;
	CALL streamhouse.create_sync('k', 'k', 'lake', 'd', flush_interval => '100 ms', tables => '[
		{"source": "k(.)\\\\.acc", "table": "acc", "shard": {"k": "\\\\1"}}]');
});
my $script = PostgreSQL::Test::Utils::tempdir() . '/load.sql';
append_to_file($script, join("\n", map { qq{
\\set id random(1, 4000)
\\set n random(1, 300)
BEGIN;
UPDATE k$_.acc SET v = v + 1 WHERE id = :id;
DELETE FROM k$_.acc WHERE id = :id + 1;
INSERT INTO k$_.acc VALUES (:id + 2, 1, repeat('x', 3000)) ON CONFLICT (id) DO UPDATE SET v = acc.v + 1;
\\if :n = 1
TRUNCATE k$_.acc;
INSERT INTO k$_.acc SELECT i, i, repeat('y', 2500) FROM generate_series(1, 500) i;
\\endif
COMMIT;} } 1 .. 4) . "\n");

foreach my $round (1 .. $crashes)
{
	($out, $err) = ('', '');
	my $load = IPC::Run::start([ 'pgbench', '-n', '-c', '2', '-T', '60', '--max-tries', '20', '-f', $script, '-p', $node->port, '-h', $node->host, 'postgres' ],
		'>', \$out, '2>', \$err);
	usleep(300_000 + int(rand(1_200_000)));
	sql('ALTER PUBLICATION k ADD TABLE k4.acc') if $round == 2;
	sql("CALL streamhouse.resync_table('k', 'k$round.acc')") if $round == 1 || $round == 3;
	usleep(int(rand(700_000)));
	if ($round % 2)
	{
		$node->stop('immediate');
		$node->start;
	}
	else
	{
		my $pid = sql(q{SELECT pid FROM pg_stat_activity WHERE backend_type LIKE 'streamhouse %' AND application_name LIKE '% k' ORDER BY random() LIMIT 1});
		kill 'KILL', $pid if $pid;
		wait_for_server($node);
	}
	eval { $load->kill_kill };
}
$node->poll_query_until('postgres', q{SELECT count(*) = 4 AND bool_and(state = 'streaming') FROM streamhouse.sync_tables WHERE name = 'k'})
  or die 'not all tables are copied: ' . sql(q{SELECT string_agg(concat_ws(' ', source, state, error), ', ') FROM streamhouse.sync_tables WHERE name = 'k'});
wait_for_sync($node, 'k');
import_lake_tables($node, 'd', 'acc');
same_as('SELECT id, v, big, k FROM lake.acc', join(' UNION ALL ', map { "SELECT id, v, big, '$_'::text FROM k$_.acc" } 1 .. 4), "all sources after $crashes crashes");

$node->stop;
done_testing();
