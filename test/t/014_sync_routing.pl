
# Which tables a sync has, and what its lake tables are like: tables join by
# themselves; rules for names, options and columns.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Utils;
use SyncNode;
use Test::More;

my ($node, $lake) = sync_node('routing');

sub sql { return $node->safe_psql('postgres', @_) }

sub wait_for_state
{
	my ($table, $state) = @_;
	$node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM streamhouse.sync_tables WHERE source::text = '$table' AND state = '$state'")
	  or die "table $table does not become $state";
}

# ---- tables that are added to the publication join by themselves ----

sql(q{
	CREATE ROLE keeper REPLICATION LOGIN;
	GRANT USAGE ON FOREIGN SERVER lake TO keeper;
	GRANT USAGE ON SCHEMA streamhouse TO keeper;
	GRANT EXECUTE ON PROCEDURE streamhouse.create_sync TO keeper;
	GRANT EXECUTE ON PROCEDURE streamhouse.refresh_sync TO keeper;
	CREATE TABLE one (id int PRIMARY KEY, v text);
	GRANT SELECT ON one TO keeper;
	INSERT INTO one VALUES (1, 'a');
	CREATE PUBLICATION p FOR TABLE one;
	SET ROLE keeper;
	CALL streamhouse.create_sync('s', 'p', 'lake', 'd', flush_interval => '100 ms');
});
wait_for_sync($node, 's');
sql(q{
	CREATE TABLE two (id int PRIMARY KEY, v text);
	GRANT SELECT ON two TO keeper;
	INSERT INTO two SELECT i, i::text FROM generate_series(1, 100) i;
	ALTER PUBLICATION p ADD TABLE two;
	UPDATE two SET v = 'new' WHERE id < 10;
});
wait_for_state('two', 'streaming');
sql(q{INSERT INTO two VALUES (1000, 'later')});
wait_for_sync($node, 's');
import_lake_tables($node, 'd', 'two');
same_rows($node, 'two', 'a table joined by itself');

# the owner must be able to read it, it needs a key, and its name may be taken
sql(q{
	CREATE TABLE secret (id int PRIMARY KEY);
	CREATE TABLE keyless (a int);
	GRANT SELECT ON keyless TO keeper;
	CREATE SCHEMA other;
	GRANT USAGE ON SCHEMA other TO keeper;
	CREATE TABLE other.one (id int PRIMARY KEY);
	GRANT SELECT ON other.one TO keeper;
	ALTER PUBLICATION p ADD TABLE secret, keyless, other.one;
	INSERT INTO secret VALUES (1);
	INSERT INTO keyless VALUES (1);
});
wait_for_state($_, 'refused') for qw(secret keyless other.one);
like(sql(q{SELECT error FROM streamhouse.sync_tables WHERE source = 'secret'::regclass}),
	qr/^permission denied for table "public.secret": grant SELECT on it$/, 'a table that the owner cannot read');
like(sql(q{SELECT error FROM streamhouse.sync_tables WHERE source = 'keyless'::regclass}), qr/no primary key/, 'a table without key');
like(sql(q{SELECT error FROM streamhouse.sync_tables WHERE source = 'other.one'::regclass}),
	qr/would both be lake table "one"/, 'a table whose name is taken');
sql(q{INSERT INTO one VALUES (2, 'b')});
wait_for_sync($node, 's');
import_lake_tables($node, 'd', 'one');
same_rows($node, 'one', 'the others go on');
is(sql(q{SELECT state || ' ' || health FROM streamhouse.sync_status}), 'streaming ok', 'the sync is well');
my ($code, $out, $err) = $node->psql('postgres', q{CALL streamhouse.resync_table('s', 'secret')});
like($err, qr/sync "s" does not have that table/, 'there is nothing to copy again');
($code, $out, $err) = $node->psql('postgres', q{SET ROLE keeper; CALL streamhouse.refresh_sync('s')});
like($err, qr/sync "s" cannot take up tables.*permission denied for table "public.secret"/s, 'on request it is an error');

# what was in the way is gone
sql(q{
	GRANT SELECT ON secret TO keeper;
	ALTER PUBLICATION p DROP TABLE keyless, other.one;
	SET ROLE keeper;
	CALL streamhouse.refresh_sync('s');
});
wait_for_sync($node, 's');
import_lake_tables($node, 'd', 'secret');
same_rows($node, 'secret', 'a table that was refused joined');
is(sql(q{SELECT string_agg(source::text || ' ' || state, ', ' ORDER BY source::text) FROM streamhouse.sync_tables}),
	'one streaming, secret streaming, two streaming', 'others are forgotten');

# not by themselves
sql(q{
	CALL streamhouse.alter_sync('s', auto_refresh => false);
	CREATE TABLE three (id int PRIMARY KEY);
	ALTER PUBLICATION p ADD TABLE three;
});
sleep(3);
is(sql(q{SELECT count(*) FROM streamhouse.sync_tables}), '3', 'tables join on request only');
sql(q{CALL streamhouse.drop_sync('s')});

# ---- names, options, metadata and history by pattern ----

sub refused
{
	my ($rules, $expected, $what) = @_;
	my ($code, $out, $err) = $node->psql('postgres',
		"CALL streamhouse.create_sync('r', 'rules', 'lake', 'r', tables => '$rules')");
	like($err, $expected, $what);
}

sql(q{
	CREATE SCHEMA shop;
	CREATE TABLE shop.orders (id int PRIMARY KEY, note text);
	CREATE TABLE shop.items (id int PRIMARY KEY, amount int);
	CREATE TABLE shop.log (a int);
	ALTER TABLE shop.log REPLICA IDENTITY FULL;
	CREATE TABLE plain (id int PRIMARY KEY);
	INSERT INTO shop.orders VALUES (1, repeat('one', 3000)), (2, 'two');
	INSERT INTO shop.items SELECT i, i FROM generate_series(1, 20) i;
	INSERT INTO shop.log VALUES (1);
	CREATE PUBLICATION rules FOR TABLES IN SCHEMA shop, TABLE plain;
});
refused('{}', qr/"tables" must be a JSON array of rules/, 'not an array');
refused('[1]', qr/each rule for tables must be a JSON object/, 'not objects');
refused('[{"table": "x"}]', qr/"source" of a rule for tables is missing/, 'no pattern');
refused('[{"source": "x", "colour": 1}]', qr/"colour" of (the|a) rule for .* is not known/, 'an unknown key');
refused('[{"source": "("}]', qr/invalid regular expression/, 'an invalid pattern');
refused('[{"source": "x", "metadata": ["lsn", "when"]}]', qr/has "when", which is not one of "kind", "lsn"/, 'unknown metadata');
refused('[{"source": "x", "metadata": ["lsn", "lsn"]}]', qr/has "lsn" twice/, 'metadata twice');
refused('[{"source": "x", "history": "yes"}]', qr/must be true or false/, 'history is a boolean');
refused('[{"source": "shop.orders", "options": {"merge-engine": "no-such"}}]', qr/merge-engine/, 'an invalid option');
refused('[{"source": "shop..*", "table": "same"}]', qr/would both be lake table "same"/, 'two sources in one');

sql(q{
	CALL streamhouse.create_sync('rules', 'rules', 'lake', 'd', flush_interval => '100 ms', options => '{"bucket": "2", "file.compression": "zstd"}',
		tables => '[
		{"source": "shop.log", "table": "log", "history": true, "metadata": ["xid", "lsn", "table"], "options": {"bucket": "-1"}},
		{"source": "shop\\\\.(or.*)", "table": "ods_\\\\1_x", "options": {"bucket": "3"}, "metadata": ["table", "kind", "lsn", "commit_time", "xid"]},
		{"source": "(.*)\\\\.items", "table": "\\\\1_items"}]');
});
wait_for_sync($node, 'rules');
is(sql(q{SELECT string_agg(source::text || ' ' || "table", ', ' ORDER BY source::text) FROM streamhouse.sync_tables WHERE name = 'rules'}),
	'plain plain, shop.items shop_items, shop.log log, shop.orders ods_orders_x', 'names by pattern');
sql(q{IMPORT FOREIGN SCHEMA d LIMIT TO (plain, shop_items, log, ods_orders_x) FROM SERVER lake INTO lake});
is(sql(q{SELECT string_agg(id || ' ' || length(note) || ' ' || _table || ' ' || _kind || ' ' || (_lsn > 0) || ' ' || (_commit_time IS NULL) || ' ' || (_xid IS NULL), ', ' ORDER BY id)
	FROM lake.ods_orders_x}), '1 9000 shop.orders +I true true true, 2 3 shop.orders +I true true true', 'metadata of copied rows');
sub option_of
{
	my ($table, $option) = @_;
	my ($schema) = slurp_file("$lake/d.db/$table/schema/schema-0") =~ /"\Q$option\E"\s*:\s*"([^"]*)"/;
	return $schema;
}
is(join(' ', map { option_of($_, 'bucket') } qw(ods_orders_x shop_items log)), '3 2 -1', 'options by pattern');
is(option_of('ods_orders_x', 'file.compression'), 'zstd', 'those of the sync hold beside');

my $before = sql(q{SELECT pg_current_wal_lsn() - '0/0'});
sql(q{
	BEGIN;
	UPDATE shop.orders SET id = 10 WHERE id = 1;
	INSERT INTO shop.orders VALUES (3, 'three');
	DELETE FROM shop.orders WHERE id = 2;
	INSERT INTO shop.log VALUES (2);
	UPDATE shop.log SET a = 3 WHERE a = 2;
	CREATE TABLE xids AS SELECT pg_current_xact_id()::xid::text::bigint AS xid;
	COMMIT;
	INSERT INTO shop.items VALUES (100, 100);
	DELETE FROM shop.items WHERE id <= 10;
});
wait_for_sync($node, 'rules');
is(sql(qq{SELECT string_agg(id || ' ' || length(note) || ' ' || _table || ' ' || _kind || ' ' || (_lsn >= $before) || ' ' || (_commit_time > now() - interval '10 minutes')
	|| ' ' || (_xid = (SELECT xid FROM xids)), ', ' ORDER BY id) FROM lake.ods_orders_x}),
	'3 5 shop.orders +I true true true, 10 9000 shop.orders +U true true true', 'metadata of changes, and a large value with a new key');
is(sql(q{SELECT string_agg(a || ' ' || _kind || ' ' || _table || ' ' || coalesce((_xid = (SELECT xid FROM xids))::text, '-'), ', ' ORDER BY _lsn, _kind) FROM lake.log}),
	'1 +I shop.log -, 2 +I shop.log true, 3 +U shop.log true, 2 -U shop.log true', 'history of one table, with more metadata');
is(sql(q{SELECT count(*) FROM (TABLE shop.items EXCEPT ALL TABLE lake.shop_items) t}), '0', 'a table without metadata');
is(sql(q{SELECT count(*) FROM lake.shop_items}), '11', 'which has as many rows');

# columns change before those of metadata; a table joins later; a rename does not change the lake's name
sql(q{
	ALTER TABLE shop.orders ADD COLUMN extra int;
	INSERT INTO shop.orders VALUES (4, 'four', 44);
	UPDATE shop.orders SET extra = 1 WHERE id = 10;
	CREATE TABLE shop.orphans (id int PRIMARY KEY);
	INSERT INTO shop.orphans VALUES (7);
	ALTER TABLE shop.items RENAME TO things;
});
$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM streamhouse.sync_tables WHERE "table" = 'ods_orphans_x' AND state = 'streaming'})
  or die 'the table did not join';
wait_for_sync($node, 'rules');
sql(q{DROP FOREIGN TABLE lake.ods_orders_x; IMPORT FOREIGN SCHEMA d LIMIT TO (ods_orders_x, ods_orphans_x) FROM SERVER lake INTO lake});
is(sql(q{SELECT string_agg(id || ' ' || length(note) || ' ' || coalesce(extra, -1) || ' ' || _kind, ', ' ORDER BY id) FROM lake.ods_orders_x}),
	'3 5 -1 +I, 4 4 44 +I, 10 9000 1 +U', 'a new column before the metadata');
is(sql(q{SELECT id || ' ' || _table || ' ' || _kind FROM lake.ods_orphans_x}), '7 shop.orphans +I', 'a table that joined by a rule');
sql(q{CALL streamhouse.resync_table('rules', 'shop.things'); CALL streamhouse.resync_table('rules', 'shop.orders')});
wait_for_sync($node, 'rules');
is(sql(q{SELECT count(*) FROM lake.shop_items}), '11', 'copied again into the same table');
is(sql(q{SELECT string_agg(id || ' ' || _kind || coalesce(_xid, 0), ', ' ORDER BY id) FROM lake.ods_orders_x}), '3 +I0, 4 +I0, 10 +I0', 'with metadata');
sql(q{CALL streamhouse.drop_sync('rules')});

done_testing();
