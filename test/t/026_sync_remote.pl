# The source is another server, without the extension: copy and stream of all
# kinds of changes and types, columns that change, restarts of either server,
# lost connections and slots, and what is checked and dropped.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Utils;
use SyncNode;
use Test::More;
use Time::HiRes qw(usleep);

my ($node, $lake) = sync_node('lake', "wal_level = replica\nstreamhouse.copy_chunk_size = 256kB\n");
my $source = source_node('source', "max_prepared_transactions = 5\n");
my $connection = connection_to($source);

sub sql { return $node->safe_psql('postgres', @_) }
sub there { return $source->safe_psql('postgres', @_) }

# What the two servers have of a table, by its key.
sub same_table
{
	my ($table, $columns, $order, $what) = @_;
	is(sql("SELECT $columns FROM lake.$table ORDER BY $order"), there("SELECT $columns FROM $table ORDER BY $order"), $what);
}

# ---- what is checked ----

there(q{
	CREATE TYPE mood AS ENUM ('sad', 'happy');
	CREATE DOMAIN price AS numeric(12,2) CHECK (VALUE >= 0);
	CREATE DOMAIN prices AS price[];
	CREATE TYPE pair AS (a int, b text);
	CREATE TABLE orders (id bigint PRIMARY KEY, customer int, amount price, note text, big text);
	ALTER TABLE orders ALTER big SET STORAGE EXTERNAL;
	CREATE TABLE types (id int PRIMARY KEY, m mood, ms mood[], p price, ps prices, c pair, n numeric, n2 numeric(20,4), b bytea, j jsonb,
		a int[], t timestamptz, ts timestamp, d date, u uuid, f float8, r int4range, bo boolean, ch char(5), i interval, rc regclass, x "char", i2 int2vector);
	CREATE TABLE nokey (a int, b text);
	CREATE TABLE filtered (id int PRIMARY KEY, v int, other text);
	ALTER TABLE filtered REPLICA IDENTITY FULL;
	CREATE TABLE listed (id int PRIMARY KEY, secret text, v int);
	CREATE TABLE parts (id int, k int, v text, PRIMARY KEY (id, k)) PARTITION BY LIST (k);
	CREATE TABLE parts1 PARTITION OF parts FOR VALUES IN (1);
	CREATE TABLE parts2 (v text, k int NOT NULL, id int NOT NULL);
	ALTER TABLE parts ATTACH PARTITION parts2 FOR VALUES IN (2);
	CREATE TABLE full_identity (id int PRIMARY KEY, v text);
	ALTER TABLE full_identity REPLICA IDENTITY FULL;
	CREATE TABLE by_index (id int NOT NULL, other int NOT NULL UNIQUE, v text);
	ALTER TABLE by_index REPLICA IDENTITY USING INDEX by_index_other_key;
	CREATE PUBLICATION bad FOR TABLE orders, nokey;
	CREATE PUBLICATION p FOR TABLE orders, types, filtered WHERE (v >= 0), listed (id, v), parts, full_identity, by_index WITH (publish_via_partition_root);
	CREATE PUBLICATION n FOR TABLE nokey;
	ALTER TABLE nokey REPLICA IDENTITY FULL;
	CREATE ROLE weak LOGIN PASSWORD 'sesame';
});

like(sql("SELECT problem FROM streamhouse.check_sync('bad', 'lake', 'd', connection => '$connection') WHERE severity = 'error'"),
	qr/^table "public.nokey" has no primary key/, 'tables are checked');
is(sql("SELECT count(*) FROM pg_class WHERE relnamespace = 'streamhouse'::regnamespace AND relname LIKE '%public.%'"), '0', 'and nothing is left of that');
like(sql("SELECT problem FROM streamhouse.check_sync('missing', 'lake', 'd', connection => '$connection') WHERE severity = 'error'"),
	qr/publication "missing" does not exist at the source/, 'so is the publication');
like(sql("SELECT problem FROM streamhouse.check_sync('p', 'lake', 'd', connection => 'host=/nowhere port=1 dbname=x')"),
	qr/could not connect to the source/, 'and the connection');
like(sql("SELECT problem FROM streamhouse.check_sync('p', 'lake', 'd', connection => '$connection user=weak')"),
	qr/could not connect to the source: .*(role|REPLICATION|superuser)/, 'and whether it may replicate');
my ($code, $out, $err) = $node->psql('postgres', "CALL streamhouse.create_sync('s', 'bad', 'lake', 'd', connection => '$connection')");
like($err, qr/table "public.nokey" has no primary key/, 'a sync is not created with problems');
sql("CREATE ROLE runner REPLICATION; GRANT ALL ON ALL PROCEDURES IN SCHEMA streamhouse TO runner; GRANT USAGE ON SCHEMA streamhouse, lake TO runner; GRANT USAGE ON FOREIGN SERVER lake TO runner");
($code, $out, $err) = $node->psql('postgres', "SET ROLE runner; CALL streamhouse.create_sync('s', 'p', 'lake', 'd', connection => '$connection')");
like($err, qr/password is required/, 'whoever is no superuser must give a password');

# ---- the copy, beside changes ----

there(q{
	INSERT INTO orders SELECT i, i % 100, i * 1.25, CASE WHEN i % 7 > 0 THEN E'a\tb\\\\c\nd' || i END, CASE WHEN i % 50 = 0 THEN repeat(i::text, 3000) END
		FROM generate_series(1, 20000) i;
	INSERT INTO types VALUES (1, 'happy', '{sad,happy}', 1.5, '{1.25,2}', '(3,"x,y")', 1e30, 12345678.1234, '\x00ff10', '{"a": [1, null]}', '{1,NULL,3}',
		'2026-01-02 03:04:05.678901+02', '2026-01-02 03:04:05', '2026-01-02', '11111111-2222-3333-4444-555555555555', 0.1, '[1,5)', true, 'abc', '1 mon 2 days 03:00', 'orders', 'q', '1 2 3');
	INSERT INTO types (id) VALUES (2);
	INSERT INTO filtered SELECT i, i - 50, 'other' FROM generate_series(1, 100) i;
	INSERT INTO listed SELECT i, 'secret', i FROM generate_series(1, 100) i;
	INSERT INTO parts SELECT i, i % 2 + 1, 'v' || i FROM generate_series(1, 1000) i;
	INSERT INTO full_identity SELECT i, 'v' || i FROM generate_series(1, 100) i;
	INSERT INTO by_index SELECT i, -i, 'v' || i FROM generate_series(1, 100) i;
});
my $script = PostgreSQL::Test::Utils::tempdir() . '/load.sql';
append_to_file($script, q{
\set id random(1, 25000)
BEGIN;
UPDATE orders SET note = 'changed ' || :id, customer = customer + 1 WHERE id = :id;
INSERT INTO orders VALUES (:id, 1, 1, 'new', repeat('n', 4000)) ON CONFLICT (id) DO UPDATE SET amount = orders.amount + 1;
DELETE FROM orders WHERE id = :id / 3;
END;
});
my ($load_out, $load_err) = ('', '');
my @load = ('pgbench', '-n', '-c', '2', '-T', '600', '-f', $script, '-p', $source->port, '-h', $source->host, 'postgres');
my $load = IPC::Run::start(\@load, '>', \$load_out, '2>', \$load_err);
sql("CALL streamhouse.create_sync('s', 'p', 'lake', 'd', flush_interval => '100 ms', connection => '$connection password=sesame')");
wait_for_sync($node, 's');
usleep(500_000);
$load->kill_kill;
wait_for_sync($node, 's');
import_lake_tables($node, 'd', qw(orders types filtered listed parts full_identity by_index));

my %columns = (
	orders => 'id, customer, amount, md5(note), md5(big)',
	listed => 'id, v',
	parts => 'id, k, v',
	full_identity => 'id, v',
	by_index => 'id, other, v');

sub same_all
{
	my ($what) = @_;
	same_table($_, $columns{$_}, $_ eq 'parts' ? 'id, k' : 'id', "$what: $_") foreach qw(orders listed parts full_identity by_index);
	is(sql('SELECT id, v, other FROM lake.filtered ORDER BY id'), there('SELECT id, v, other FROM filtered WHERE v >= 0 ORDER BY id'), "$what: filtered");
}

same_all('copied beside a load');
sub same_types
{
	my $columns = 'id, m::text, ms::text, p, ps::text, c::text, n::text, n2, b, j::text, a::text, extract(epoch FROM t), ts, d, u::text, f, r::text, bo, ch, i::text, x::text, i2::text';
	same_table('types', $columns, 'id', @_);
	is(sql('SELECT rc FROM lake.types WHERE id = 1'), 'public.orders', 'names of objects with their schema');
}
same_types('values of every type');
is(sql("SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'lake.listed'::regclass AND attnum > 0"), 'id,v', 'a column list');
is(sql("SELECT remote FROM streamhouse.sync_status WHERE name = 's'") =~ /sesame/, '', 'no password is shown');
like(sql("SELECT remote FROM streamhouse.sync_status WHERE name = 's'"), qr/^host=\S+ port=\d+ dbname=postgres$/ , 'but where it leads');
is(sql("SELECT string_agg(remote_name, ',' ORDER BY remote_name) FROM streamhouse.sync_tables WHERE name = 's'"),
	'public.by_index,public.filtered,public.full_identity,public.listed,public.orders,public.parts,public.types', 'names of the source');

# ---- changes of all kinds ----

there(q{
	BEGIN;
	UPDATE orders SET id = id + 1000000 WHERE id BETWEEN 100 AND 400;
	UPDATE orders SET note = 'kept big' WHERE id % 50 = 0;
	DELETE FROM orders WHERE id BETWEEN 500 AND 600;
	SAVEPOINT a;
	DELETE FROM orders;
	ROLLBACK TO a;
	UPDATE filtered SET v = -1 WHERE id = 70;
	UPDATE filtered SET v = 1 WHERE id = 10;
	UPDATE filtered SET other = 'another' WHERE id = 80;
	UPDATE listed SET secret = 'still', v = v + 1 WHERE id < 10;
	DELETE FROM listed WHERE id > 95;
	DELETE FROM filtered WHERE id IN (5, 90);
	UPDATE parts SET k = 3 - k WHERE id % 10 = 0;
	DELETE FROM parts WHERE id % 11 = 0;
	UPDATE full_identity SET v = 'other', id = id + 1000 WHERE id < 10;
	DELETE FROM full_identity WHERE id BETWEEN 20 AND 30;
	UPDATE by_index SET other = other - 1000 WHERE id < 10;
	DELETE FROM by_index WHERE id BETWEEN 20 AND 30;
	UPDATE types SET m = 'sad', ms = '{}', n = 'NaN', j = '[]', b = '' WHERE id = 1;
	COMMIT;
	BEGIN; INSERT INTO full_identity VALUES (5000, 'prepared'); PREPARE TRANSACTION 'x'; COMMIT PREPARED 'x';
});
wait_for_sync($node, 's');
same_all('changes');
same_types('types');
is(sql("SET streamhouse.fresh_reads = on; SELECT count(*) FROM lake.orders"), there('SELECT count(*) FROM orders'), 'a fresh read');

there("TRUNCATE by_index, parts; INSERT INTO by_index VALUES (1, 1, 'after'); INSERT INTO parts VALUES (1, 1, 'after')");
wait_for_sync($node, 's');
same_all('truncated');

# a large transaction
there("INSERT INTO full_identity SELECT i, repeat('x', 100) FROM generate_series(10000, 110000) i");
wait_for_sync($node, 's');
is(sql('SELECT count(*), sum(id) FROM lake.full_identity'), there('SELECT count(*), sum(id) FROM full_identity'), 'a large transaction');
there('DELETE FROM full_identity WHERE id >= 10000');

# ---- columns ----

there(q{
	ALTER TABLE orders ADD COLUMN extra text;
	UPDATE orders SET extra = 'e' || id WHERE id % 3 = 0;
	ALTER TABLE orders RENAME note TO remark;
	INSERT INTO orders (id, remark) VALUES (2000000, 'renamed');
	ALTER TABLE orders DROP COLUMN customer;
	INSERT INTO orders (id, remark) VALUES (2000001, 'dropped');
});
$columns{orders} = 'id, amount, md5(remark), md5(big), extra';
wait_for_sync($node, 's');
import_lake_tables($node, 'd', 'orders');
same_all('columns added, renamed and dropped');
like(sql("SELECT string_agg(customer::text, ',') FROM lake.orders WHERE id = 2000001"), qr/^$/, 'a dropped column is null');

there("ALTER TABLE full_identity ADD COLUMN d int DEFAULT 7; INSERT INTO full_identity VALUES (6000, 'x')");
$columns{full_identity} = 'id, v, d';
wait_for_sync($node, 's');
import_lake_tables($node, 'd', 'full_identity');
same_all('a column with a default');
there("ALTER TABLE full_identity ALTER d TYPE bigint USING d * 2; INSERT INTO full_identity VALUES (6001, 'x', 5000000000)");
wait_for_sync($node, 's');
import_lake_tables($node, 'd', 'full_identity');
same_all('a column of another type');
there(q{BEGIN; INSERT INTO full_identity VALUES (6002, 'before'); ALTER TABLE full_identity RENAME v TO w; ALTER TABLE full_identity ADD v int;
	INSERT INTO full_identity VALUES (6003, 'after', 1, 2); COMMIT});
$columns{full_identity} = 'id, w, v, d';
wait_for_sync($node, 's');
import_lake_tables($node, 'd', 'full_identity');
same_all('columns within a transaction');
there("ALTER TABLE by_index REPLICA IDENTITY FULL; ALTER TABLE by_index ADD PRIMARY KEY (id); INSERT INTO by_index VALUES (2, 2, 'other key')");
like(table_error($node, 's', 'by_index'), qr/Its key, or its replica identity, is another one/, 'another key pauses the table');
my $mirror = sql("SELECT source FROM streamhouse.sync_tables WHERE name = 's' AND remote_name = 'public.by_index'");
system('rm', '-rf', "$lake/d.db/by_index");
sql("CALL streamhouse.resync_table('s', '$mirror')");
wait_for_sync($node, 's');
import_lake_tables($node, 'd', 'by_index');
same_all('and is copied again');

# ---- tables join and leave ----

my $long = 'a_table_whose_name_is_so_long_that_its_mirror_needs_another';

there("CREATE TABLE joined (id int PRIMARY KEY, v text); INSERT INTO joined SELECT i, 'j' || i FROM generate_series(1, 100) i; CREATE TABLE $long (\"the Key\" int PRIMARY KEY, \"a \"\"quoted\"\" name\" text); INSERT INTO $long VALUES (1, 'one');
	ALTER PUBLICATION p ADD TABLE joined, $long");
sql("CALL streamhouse.refresh_sync('s')");
there("UPDATE joined SET v = 'later' WHERE id < 10");
wait_for_sync($node, 's');
import_lake_tables($node, 'd', 'joined', $long);
same_table('joined', 'id, v', 'id', 'a table that joined');
same_table($long, '*', 1, 'names of all kinds');
there("ALTER TABLE $long RENAME \"the Key\" TO \"a key\"; INSERT INTO $long VALUES (2, 'two')");
wait_for_sync($node, 's');
import_lake_tables($node, 'd', $long);
same_table($long, '*', 1, 'a key that is renamed');
there("ALTER PUBLICATION p DROP TABLE joined, $long");
sql("CALL streamhouse.refresh_sync('s')");
is(sql("SELECT count(*) FROM streamhouse.sync_tables WHERE remote_name = 'public.joined'"), '0', 'and left');
is(sql("SELECT count(*) FROM pg_class WHERE relname = 's.public.joined' OR relname LIKE 'streamhouse_%.%'"), '0', 'with its mirror');

# ---- failures ----

sub walsender { return there("SELECT active_pid FROM pg_replication_slots WHERE slot_name = '" . sql("SELECT slot FROM streamhouse.sync WHERE name = 's'") . "'") }

$load = IPC::Run::start(\@load, '>', \$load_out, '2>', \$load_err) if there("ALTER TABLE orders RENAME remark TO note; ALTER TABLE orders ADD customer int; SELECT 1") eq '1';
$columns{orders} = 'id, customer, amount, md5(note), md5(big), extra';
foreach my $round (1 .. 3)
{
	usleep(300_000);
	my $pid = walsender();
	there("SELECT pg_terminate_backend($pid)") if $pid ne '';
}
$node->restart;
usleep(500_000);
$node->stop('immediate');
$node->start;
usleep(500_000);
$load->kill_kill;
$source->restart;
wait_for_sync($node, 's');
$source->stop('immediate');
there('SELECT 1') if 0;
$source->start;
there("UPDATE orders SET note = 'after the crash' WHERE id < 20000 AND id % 100 = 0");
wait_for_sync($node, 's');
import_lake_tables($node, 'd', 'orders');
same_all('after kills and restarts');
is(sql("SELECT count(*), count(DISTINCT id) FROM lake.orders"), there('SELECT count(*), count(DISTINCT id) FROM orders'), 'each row once');

# idle: WAL of others does not stay
my $before = there('SELECT pg_current_wal_lsn()');
there("CREATE TABLE noise AS SELECT repeat('x', 500) FROM generate_series(1, 20000)");
$source->poll_query_until('postgres', "SELECT confirmed_flush_lsn >= '$before'::pg_lsn + 5000000 FROM pg_replication_slots WHERE slot_name LIKE 'streamhouse%'")
  or fail('an idle sync moves its slot');
is(sql("SELECT health FROM streamhouse.sync_status WHERE name = 's'"), 'ok', 'and is well');
ok(sql("SELECT retained_bytes IS NOT NULL AND lag_bytes IS NOT NULL FROM streamhouse.sync_status WHERE name = 's'") eq 't', 'with figures of the source');

# history, of a table without a key
sql("CALL streamhouse.create_sync('h', 'n', 'lake', 'h', history => true, connection => '$connection')");
wait_for_sync($node, 'h');
there("INSERT INTO nokey VALUES (1, 'a'), (1, 'a'); UPDATE nokey SET b = 'b'; DELETE FROM nokey WHERE a = 1; TRUNCATE nokey");
wait_for_sync($node, 'h');
import_lake_tables($node, 'h', 'nokey');
is(sql(q{SELECT string_agg(_kind || coalesce(b, ''), ' ' ORDER BY _lsn, _kind DESC) FROM lake.nokey}),
	'+Ia +Ia -Ua +Ub -Ua +Ub -Db -Db T', 'every change is kept');
sql("CALL streamhouse.drop_sync('h')");

# the slot is lost
sql("CALL streamhouse.pause_sync('s')");
my $slot = sql("SELECT slot FROM streamhouse.sync WHERE name = 's'");
$source->poll_query_until('postgres', "SELECT NOT active FROM pg_replication_slots WHERE slot_name = '$slot'");
there("SELECT pg_drop_replication_slot('$slot'); UPDATE orders SET note = 'lost' WHERE id % 10 = 0");
sql("CALL streamhouse.resume_sync('s')");
like(sync_lost($node, 's', 'slot'), qr/its replication slot is not there any more/, 'a lost slot is told');
sql("CALL streamhouse.resync_sync('s')");
wait_for_sync($node, 's');
same_all('copied again');

# ---- dropping ----

($code, $out, $err) = $node->psql('postgres', "BEGIN; CALL streamhouse.drop_sync('s'); COMMIT");
like($err, qr/cannot be dropped in a transaction block/, 'not within a transaction');
$source->stop;
($code, $out, $err) = $node->psql('postgres', "CALL streamhouse.drop_sync('s')");
like($err, qr/could not connect to the source/, 'nor while the source cannot be reached');
$source->start;
sql("CALL streamhouse.drop_sync('s')");
is(there('SELECT count(*) FROM pg_replication_slots'), '0', 'the slot is dropped');
is(sql("SELECT count(*) FROM pg_class WHERE relnamespace = 'streamhouse'::regnamespace AND relname LIKE '%public.%'"), '0', 'and the mirrors');
system('rm', '-rf', "$lake/d.db", "$lake/h.db");
sql("CALL streamhouse.create_sync('f', 'n', 'lake', 'f', history => true, connection => '$connection')");
wait_for_sync($node, 'f');
$source->stop;
($code, $out, $err) = $node->psql('postgres', "CALL streamhouse.drop_sync('f', force => true)");
like($err, qr/replication slot "streamhouse_\w+" is left at the source/, 'by force the slot is left');
$source->start;
is(there('SELECT count(*) FROM pg_replication_slots'), '1', 'as it says');
there("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots");
system('rm', '-rf', "$lake/f.db");
sql("CALL streamhouse.create_sync('e', 'n', 'lake', 'e', history => true, connection => '$connection')");
wait_for_sync($node, 'e');
sql('DROP EXTENSION streamhouse CASCADE');
$source->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_replication_slots') or fail('the worker drops the slot with the extension');
is(sql("SELECT count(*) FROM pg_class WHERE relname LIKE '%public.%'"), '0', 'and the mirrors go with it');

done_testing();
