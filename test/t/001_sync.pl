
# A sync from its creation to its end: initial copy, every kind of change,
# transactions, TRUNCATE, idleness, pause and resume, drop.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use SyncNode;
use Test::More;

my ($node, $lake) = sync_node('sync', "max_prepared_transactions = 5\n");

$node->safe_psql('postgres', q{
	CREATE TABLE orders (id bigint PRIMARY KEY, amount numeric(12,2), note text, placed timestamptz, paid boolean);
	CREATE TABLE parts (a int, gone int, b text, v double precision, PRIMARY KEY (b, a));
	ALTER TABLE parts DROP COLUMN gone;
	CREATE TABLE nothing (id int PRIMARY KEY);
	CREATE TABLE stranger (id int PRIMARY KEY);
	INSERT INTO orders SELECT i, i * 1.25, 'order ' || i, timestamptz '2024-01-01 00:00+00' + i * interval '1 minute', i % 2 = 0
	  FROM generate_series(1, 5000) i;
	INSERT INTO parts SELECT i, 'k' || i % 7, i FROM generate_series(1, 100) i;
	CREATE PUBLICATION shop FOR TABLE orders, parts, nothing;
	CALL streamhouse.create_sync('shop', publication => 'shop', server => 'lake', database => 'shop',
	  flush_interval => '200 ms', options => '{"bucket": "2"}');
});
wait_for_sync($node, 'shop');
$node->safe_psql('postgres', 'IMPORT FOREIGN SCHEMA shop FROM SERVER lake INTO lake');
same_rows($node, $_, "initial copy of $_") for qw(orders parts nothing);
is($node->safe_psql('postgres', q{SELECT count(*) FROM streamhouse.snapshots('lake.nothing')}), '2',
	'an empty table has a snapshot too');
is($node->safe_psql('postgres', q{SELECT state, error IS NULL FROM streamhouse.sync_status}), 'streaming|t', 'the sync streams');
is($node->safe_psql('postgres', q{SELECT count(DISTINCT bucket) FROM streamhouse.files('lake.orders')}), '2',
	'options reach the lake tables');

$node->safe_psql('postgres', q{
	INSERT INTO orders VALUES (10001, 1, 'new', now(), true), (10002, NULL, NULL, NULL, NULL);
	UPDATE orders SET amount = amount + 1 WHERE id <= 10;
	DELETE FROM orders WHERE id BETWEEN 11 AND 20;
	UPDATE orders SET id = id + 20000 WHERE id BETWEEN 21 AND 30;
	UPDATE parts SET b = 'moved', v = NULL WHERE a = 5;
	BEGIN;
	INSERT INTO orders VALUES (10003, 3, 'kept', now(), false);
	SAVEPOINT s;
	DELETE FROM orders;
	ROLLBACK TO s;
	UPDATE orders SET note = 'kept, too' WHERE id = 10003;
	COMMIT;
	BEGIN;
	DELETE FROM parts;
	ROLLBACK;
	BEGIN;
	INSERT INTO orders VALUES (10005, 5, 'prepared', now(), false);
	PREPARE TRANSACTION 'kept';
	BEGIN;
	INSERT INTO orders VALUES (10006, 6, 'prepared in vain', now(), false);
	PREPARE TRANSACTION 'dropped';
	COMMIT PREPARED 'kept';
	ROLLBACK PREPARED 'dropped';
	INSERT INTO orders VALUES (10007, 7, 'first', now(), false) ON CONFLICT (id) DO UPDATE SET note = 'never';
	INSERT INTO orders VALUES (10007, 7, 'never', now(), false) ON CONFLICT (id) DO UPDATE SET note = 'second';
	INSERT INTO orders VALUES (10004, 3, 'short', now(), false);
	DELETE FROM orders WHERE id = 10004;
	INSERT INTO orders VALUES (10004, 4, 'again', now(), false);
});
wait_for_sync($node, 'shop');
same_rows($node, $_, "changes of $_") for qw(orders parts);
is($node->safe_psql('postgres', q{
	SELECT count(*) FROM streamhouse.snapshots('lake.orders') s, streamhouse.sync_status y WHERE s.commit_user = y.slot}) > 1,
	1, 'snapshots name the sync as their user');

# a transaction is shown whole, in all tables at once
$node->safe_psql('postgres', q{
	BEGIN;
	INSERT INTO orders SELECT i FROM generate_series(100001, 120000) i;
	INSERT INTO nothing SELECT i FROM generate_series(1, 500) i;
	COMMIT;
});
$node->poll_query_until('postgres', 'SELECT count(*) > 0 FROM lake.nothing');
is($node->safe_psql('postgres', q{SELECT count(*) FROM lake.nothing}), '500', 'all of a transaction is there');
wait_for_sync($node, 'shop');
same_rows($node, 'orders', 'a larger transaction');

# TRUNCATE, with rows before and after in one transaction
$node->safe_psql('postgres', q{
	BEGIN;
	INSERT INTO parts VALUES (900, 'lost', 1);
	TRUNCATE parts;
	INSERT INTO parts VALUES (901, 'stays', 2);
	COMMIT;
	TRUNCATE nothing;
});
wait_for_sync($node, 'shop');
same_rows($node, $_, "TRUNCATE of $_") for qw(parts nothing);
is($node->safe_psql('postgres', 'SELECT a FROM lake.parts'), '901', 'what came after the TRUNCATE is there');

# without changes there are no snapshots, but the slot moves
my $snapshots = $node->safe_psql('postgres', q{SELECT max(snapshot_id) FROM streamhouse.snapshots('lake.orders')});
my $before = $node->safe_psql('postgres', 'SELECT confirmed_flush_lsn FROM pg_replication_slots');
$node->safe_psql('postgres', q{INSERT INTO stranger SELECT i FROM generate_series(1, 20000) i; CHECKPOINT});
ok($node->poll_query_until('postgres', "SELECT confirmed_flush_lsn > pg_lsn '$before' + 1000000 FROM pg_replication_slots"),
	'the slot moves past changes of other tables');
my $held;
foreach (1 .. 30)
{
	$node->safe_psql('postgres', 'CHECKPOINT');
	$held = $node->safe_psql('postgres', 'SELECT pg_current_wal_lsn() - restart_lsn FROM pg_replication_slots');
	last if $held < 1000000;
	sleep 1;
}
cmp_ok($held, '<', 1000000, 'and lets go of WAL');
is($node->safe_psql('postgres', q{SELECT max(snapshot_id) FROM streamhouse.snapshots('lake.orders')}), $snapshots,
	'no snapshot is made for nothing');

# pause and resume
$node->safe_psql('postgres', q{CALL streamhouse.pause_sync('shop')});
ok($node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'streamhouse sync'}),
	'a paused sync has no worker');
is($node->safe_psql('postgres', 'SELECT state FROM streamhouse.sync_status'), 'paused', 'and says so');
my ($code, $out, $err) = $node->psql('postgres', q{CALL streamhouse.wait_for_sync('shop')});
like($err, qr/sync "shop" is paused/, 'nobody waits for a paused sync');
$node->safe_psql('postgres', q{INSERT INTO orders VALUES (200001)});
$node->safe_psql('postgres', q{CALL streamhouse.resume_sync('shop')});
wait_for_sync($node, 'shop');
same_rows($node, 'orders', 'what happened meanwhile is there after resume');

# a server restart
$node->restart;
$node->safe_psql('postgres', q{UPDATE orders SET note = 'after restart' WHERE id = 1});
wait_for_sync($node, 'shop');
same_rows($node, 'orders', 'the sync goes on after a restart');

# waiting for what does not come
($code, $out, $err) = $node->psql('postgres',
	q{CALL streamhouse.wait_for_sync('shop', lsn => 'FFFFFF/0', timeout => '300 ms')});
like($err, qr/sync "shop" has not reached/, 'waiting ends in time');

# drop: worker and slot go, the lake table stays
$node->safe_psql('postgres', q{CALL streamhouse.drop_sync('shop')});
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_replication_slots'), '0', 'the slot is dropped');
is($node->safe_psql('postgres', 'SELECT count(*) FROM streamhouse.sync_tables'), '0', 'the tables are forgotten');
same_rows($node, 'orders', 'the lake table stays');

# in a transaction block it is dropped afterwards, and a rollback keeps it
$node->safe_psql('postgres', q{
	CREATE PUBLICATION one FOR TABLE stranger;
	CALL streamhouse.create_sync('one', 'one', 'lake', 'other');
});
wait_for_sync($node, 'one');
$node->safe_psql('postgres', q{BEGIN; CALL streamhouse.drop_sync('one'); ROLLBACK});
wait_for_sync($node, 'one');
$node->safe_psql('postgres', q{BEGIN; CALL streamhouse.drop_sync('one'); COMMIT});
ok($node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_replication_slots'), 'the slot goes after the transaction');

# so do slots and workers when the extension or the database goes
$node->safe_psql('postgres', q{CALL streamhouse.create_sync('two', 'one', 'lake', 'another')});
wait_for_sync($node, 'two');
$node->safe_psql('postgres', 'DROP EXTENSION streamhouse CASCADE');
ok($node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_replication_slots'), 'DROP EXTENSION leaves no slot behind');
ok($node->poll_query_until('postgres',
	q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type IN ('streamhouse sync', 'streamhouse maintenance')}),
	'and no worker');

$node->safe_psql('postgres', 'CREATE DATABASE away');
$node->safe_psql('away', qq{
	CREATE EXTENSION streamhouse;
	CREATE SERVER lake FOREIGN DATA WRAPPER streamhouse OPTIONS (warehouse '$lake');
	CREATE TABLE t (id int PRIMARY KEY);
	CREATE PUBLICATION p FOR TABLE t;
	CALL streamhouse.create_sync('s', 'p', 'lake', 'away');
	CALL streamhouse.wait_for_sync('s');
});
$node->safe_psql('postgres', 'DROP DATABASE away');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_replication_slots'), '0', 'DROP DATABASE sends the workers away');

$node->stop;
done_testing();
