
# The output plugin for clients of logical decoding. JSON lines that are applied to a
# copy make it equal to the source; the binary form is byte for byte what pgoutput sends.

use strict;
use warnings;

use FindBin;
use List::Util 'sum';
use lib $FindBin::Bin;
use PostgreSQL::Test::Utils;
use SyncNode;
use Test::More;

my ($node, $lake) = sync_node('output', "logical_decoding_work_mem = 64kB\nmax_prepared_transactions = 5\nmax_replication_slots = 20\nmax_wal_senders = 5\n");

sub sql { return $node->safe_psql('postgres', @_) }

sub refused
{
	my ($query, $pattern) = @_;
	my ($code, $out, $err) = $node->psql('postgres', $query);
	like($err, $pattern, "refused: $query");
}

# Servers since August 2026 name the plugins that may be loaded.
if (sql("SELECT count(*) FROM pg_settings WHERE name = 'output_plugin_libraries'"))
{
	sql("ALTER SYSTEM SET output_plugin_libraries = 'pgoutput', 'streamhouse'");
	sql('SELECT pg_reload_conf()');
	$node->poll_query_until('postgres', "SELECT current_setting('output_plugin_libraries') LIKE '%streamhouse%'");
}

sub make_slot
{
	my ($slot, $plugin, $two_phase) = @_;
	sql("SELECT pg_create_logical_replication_slot('$slot', '$plugin', false, " . ($two_phase // 'false') . ')');
}

sub lines
{
	my ($slot, $options) = @_;
	return sql("SELECT data FROM pg_logical_slot_get_changes('$slot', NULL, NULL" . ($options ? ", $options" : '') . ')');
}

my $plain = "'include_xids', 'off', 'include_lsn', 'off', 'include_time', 'off'";

# ---- lines of JSON, applied to copies
sql(q{
	CREATE TYPE pair AS (a int, b text);
	CREATE TYPE mood AS ENUM ('well', 'ill');
	CREATE DOMAIN small AS int CHECK (VALUE < 1000);
	CREATE TABLE item (id int PRIMARY KEY, amount numeric, ratio float8, small_ratio float4, ok boolean, j json, jb jsonb, ints int[], texts text[],
		day date, at timestamp, atz timestamptz, span interval, bytes bytea, p pair, pairs pair[], m mood, s small, u uuid, r int4range, note text,
		twice int GENERATED ALWAYS AS (id * 2) STORED);
	ALTER TABLE item ALTER note SET STORAGE EXTERNAL;
	CREATE TABLE pairs (a int, b text, v text, PRIMARY KEY (b, a));
	CREATE TABLE whole (a int, v text);
	ALTER TABLE whole REPLICA IDENTITY FULL;
	ALTER TABLE whole ALTER v SET STORAGE EXTERNAL;
	CREATE TABLE "Odd ""name" ("Key" int PRIMARY KEY, "a,b" text);
	CREATE SCHEMA copy;
	CREATE TABLE copy.item (LIKE item INCLUDING INDEXES);
	CREATE TABLE copy.pairs (LIKE pairs INCLUDING INDEXES);
	CREATE TABLE copy.whole (LIKE whole);
	CREATE TABLE copy."Odd ""name" (LIKE "Odd ""name");

	-- one line applied to the copy of its table
	CREATE FUNCTION apply(line jsonb) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		target text := format('copy.%I', line->>'table');
		columns text;
		changed text;
		key jsonb := coalesce(line->'old', (SELECT jsonb_object_agg(a.attname, line->'new'->a.attname::text)
			FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
			WHERE i.indisprimary AND i.indrelid = format('public.%I', line->>'table')::regclass));
		chosen text;
	BEGIN
		SELECT string_agg(format('t.%I IS NOT DISTINCT FROM k.%1$I', name), ' AND ') INTO chosen FROM jsonb_object_keys(key) name;
		SELECT string_agg(format('%I', name), ', '), string_agg(format('n.%I', name), ', ') INTO columns, changed FROM jsonb_object_keys(line->'new') name;
		CASE line->>'action'
		WHEN 'I' THEN
			EXECUTE format('INSERT INTO %s SELECT * FROM jsonb_populate_record(NULL::%1$s, $1)', target) USING line->'new';
		WHEN 'U' THEN
			EXECUTE format('UPDATE %s t SET (%s) = ROW(%s) FROM jsonb_populate_record(NULL::%1$s, $1) k, jsonb_populate_record(NULL::%1$s, $2) n
				WHERE t.ctid = (SELECT t.ctid FROM %1$s t WHERE %4$s LIMIT 1)', target, columns, changed, chosen)
				USING key, line->'new';
		WHEN 'D' THEN
			EXECUTE format('DELETE FROM %s d WHERE d.ctid = (SELECT t.ctid FROM %1$s t, jsonb_populate_record(NULL::%1$s, $1) k WHERE %2$s LIMIT 1)',
				target, chosen) USING key;
		WHEN 'T' THEN
			EXECUTE format('TRUNCATE %s', target);
		ELSE
		END CASE;
	END $$;
});
make_slot('lines', 'streamhouse');
sql(q{
	INSERT INTO item SELECT i, i * 1.5, i / 3.0, i / 7.0, i % 2 = 0, format('{"a":%s %s}', chr(10), i)::json, jsonb_build_array(i, NULL, 'x"y'), ARRAY[i, NULL],
		ARRAY['a"b', E'c\nd', NULL], '2024-02-29'::date + i, timestamp '2024-01-01 10:00' + i * interval '1.000001 hour', timestamptz '2024-01-01 10:00+05' + i * interval '1 day',
		i * interval '1 day 2 hours', decode('00ff' || lpad(i::text, 4, '0'), 'hex'), (i, 'p,' || i)::pair, ARRAY[(i, NULL)::pair], 'well', i,
		gen_random_uuid(), int4range(i, i + 5), CASE WHEN i % 3 = 0 THEN repeat('long ', 1000) || i ELSE 'short' END FROM generate_series(1, 90) i;
	INSERT INTO item (id, amount, ratio, small_ratio, day, at, atz) VALUES (500, 'NaN', 'NaN', '-Infinity', 'infinity', '-infinity', 'infinity'), (501, 1e40, 1e300, 0, '0044-03-15 BC', NULL, NULL);
	INSERT INTO pairs SELECT i, chr(97 + i % 5), 'v' || i FROM generate_series(1, 50) i;
	INSERT INTO whole SELECT i % 10, repeat('w', 3000) || i FROM generate_series(1, 40) i;
	INSERT INTO "Odd ""name" VALUES (1, 'x'), (2, E'\\ " \t \x01');
	BEGIN;
	UPDATE item SET amount = -amount WHERE id % 2 = 0;		-- leaves the long notes unchanged
	UPDATE item SET id = id + 1000 WHERE id % 5 = 0;
	SAVEPOINT a; DELETE FROM item; ROLLBACK TO a;
	DELETE FROM item WHERE id % 7 = 0;
	UPDATE pairs SET a = a + 100, v = NULL WHERE a < 10;
	UPDATE whole SET a = a + 1 WHERE a > 3;
	DELETE FROM whole WHERE a = 1;
	UPDATE "Odd ""name" SET "a,b" = 'new', "Key" = "Key" + 10;
	COMMIT;
	TRUNCATE pairs;
	INSERT INTO pairs VALUES (1, 'again', NULL);
});
my $text = lines('lines');
is((grep { !/^\{.*\}$/ } split /\n/, $text), 0, 'each message is one line');
my $script = PostgreSQL::Test::Utils::tempdir() . '/apply.sql';
append_to_file($script, join("\n", map { my $line = $_; $line =~ s/'/''/g; "SELECT apply('$line');" } grep { /"action":"[IUDT]"/ } split /\n/, $text));
$node->command_ok(['psql', '-qXAt', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null', '-f', $script, $node->connstr('postgres')], 'the lines can be applied');
foreach my $table ('item', 'pairs', 'whole', '"Odd ""name"')
{
	is(sql(qq{WITH source AS (SELECT regexp_replace(t::text, '[[:space:]]+', ' ', 'g') r FROM $table t), copy AS (SELECT regexp_replace(t::text, '[[:space:]]+', ' ', 'g') r FROM copy.$table t)
		(SELECT 'missing', left(r, 200) FROM (TABLE source EXCEPT ALL TABLE copy) d LIMIT 3) UNION ALL
		(SELECT 'too many', left(r, 200) FROM (TABLE copy EXCEPT ALL TABLE source) d LIMIT 3)}), '', "$table: the copy is equal");
	isnt(sql("SELECT count(*) FROM $table"), '0', "$table: there are rows");
}
like($text, qr/"unchanged":\["note"\]/, 'unchanged values are named');
is(scalar(() = $text =~ /"action":"B"/g), scalar(() = $text =~ /"action":"C"/g), 'each transaction that begins is committed');
like($text, qr/^\{"action":"B","xid":\d+,"lsn":"[0-9A-F]+\/[0-9A-F]+","timestamp":"[-0-9T:.]+\+00:00"\}$/m, 'the head of a transaction');

# ---- what clients ask for
sql(q{
	CREATE TABLE a (id int PRIMARY KEY, v varchar(10), n numeric(8,2), hidden text);
	CREATE TABLE b (v int);
	CREATE TABLE c (id int, region text, v int, PRIMARY KEY (id, region)) PARTITION BY LIST (region);
	CREATE TABLE c_north (v int, region text NOT NULL, id int NOT NULL);
	ALTER TABLE c ATTACH PARTITION c_north FOR VALUES IN ('north');
	CREATE PUBLICATION chosen FOR TABLE a (id, v) WHERE (id < 100), c WITH (publish_via_partition_root);
	CREATE PUBLICATION every FOR TABLE a, c, whole;
});
make_slot($_, 'streamhouse') foreach 'chosen', 'wal2json', 'by_publication', 'by_table';
make_slot('own', 'streamhouse');
make_slot('pgoutput', 'pgoutput');
sql(q{
	INSERT INTO a VALUES (1, 'x', 1.50, 'h'), (200, 'y', 2, NULL);
	UPDATE a SET id = id + 99;
	UPDATE a SET id = 300 WHERE id = 100;
	UPDATE a SET id = 50 WHERE id = 299;
	DELETE FROM a WHERE id = 50;
	INSERT INTO c VALUES (1, 'north', 5);
	UPDATE c SET v = 6;
	TRUNCATE c;
});
is(lines('by_publication', "'publication', 'chosen', 'include_transactions', 'off', $plain"), join("\n",
	'{"action":"I","schema":"public","table":"a","new":{"id":1,"v":"x"}}',
	'{"action":"D","schema":"public","table":"a","old":{"id":1}}',
	'{"action":"I","schema":"public","table":"a","new":{"id":50,"v":"y"}}',
	'{"action":"D","schema":"public","table":"a","old":{"id":50}}',
	'{"action":"I","schema":"public","table":"c","new":{"id":1,"region":"north","v":5}}',
	'{"action":"U","schema":"public","table":"c","new":{"id":1,"region":"north","v":6}}',
	'{"action":"T","schema":"public","table":"c","cascade":false,"restart_identity":false}'),
	'a publication: filter, columns, partitions as their root');
is(lines('by_table', "'tables', 'public.a, other.*', 'actions', 'delete', 'include_types', 'on', $plain"), join("\n",
	'{"action":"B"}', '{"action":"D","schema":"public","table":"a","old":{"id":50},"types":{"id":"integer","v":"character varying(10)","n":"numeric(8,2)","hidden":"text"}}', '{"action":"C"}'),
	'tables and actions');
is(lines('wal2json', "'layout', 'wal2json', 'tables', 'public.a', 'include_transactions', 'off', $plain"), join("\n",
	'{"action":"I","schema":"public","table":"a","columns":[{"name":"id","type":"integer","value":1},{"name":"v","type":"character varying(10)","value":"x"},{"name":"n","type":"numeric(8,2)","value":1.50},{"name":"hidden","type":"text","value":"h"}]}',
	'{"action":"I","schema":"public","table":"a","columns":[{"name":"id","type":"integer","value":200},{"name":"v","type":"character varying(10)","value":"y"},{"name":"n","type":"numeric(8,2)","value":2.00},{"name":"hidden","type":"text","value":null}]}',
	'{"action":"U","schema":"public","table":"a","columns":[{"name":"id","type":"integer","value":100},{"name":"v","type":"character varying(10)","value":"x"},{"name":"n","type":"numeric(8,2)","value":1.50},{"name":"hidden","type":"text","value":"h"}],"identity":[{"name":"id","type":"integer","value":1}]}',
	'{"action":"U","schema":"public","table":"a","columns":[{"name":"id","type":"integer","value":299},{"name":"v","type":"character varying(10)","value":"y"},{"name":"n","type":"numeric(8,2)","value":2.00},{"name":"hidden","type":"text","value":null}],"identity":[{"name":"id","type":"integer","value":200}]}',
	'{"action":"U","schema":"public","table":"a","columns":[{"name":"id","type":"integer","value":300},{"name":"v","type":"character varying(10)","value":"x"},{"name":"n","type":"numeric(8,2)","value":1.50},{"name":"hidden","type":"text","value":"h"}],"identity":[{"name":"id","type":"integer","value":100}]}',
	'{"action":"U","schema":"public","table":"a","columns":[{"name":"id","type":"integer","value":50},{"name":"v","type":"character varying(10)","value":"y"},{"name":"n","type":"numeric(8,2)","value":2.00},{"name":"hidden","type":"text","value":null}],"identity":[{"name":"id","type":"integer","value":299}]}',
	'{"action":"D","schema":"public","table":"a","identity":[{"name":"id","type":"integer","value":50}]}'),
	'the layout of wal2json');

# a transaction without a change for the client, and one without a key
sql('INSERT INTO b VALUES (1); DELETE FROM b');
is(lines('chosen', "'exclude_tables', '*.a, public.c, public.c_north', $plain"), join("\n",
	'{"action":"B"}', '{"action":"I","schema":"public","table":"b","new":{"v":1}}', '{"action":"C"}',
	'{"action":"B"}', '{"action":"D","schema":"public","table":"b"}', '{"action":"C"}'), 'excluded tables leave no empty transactions');

# ---- the binary form
sql(q{
	INSERT INTO whole VALUES (77, 'whole');
	UPDATE whole SET a = a + 1 WHERE a = 77;
	INSERT INTO c VALUES (7, 'north', 7);
	BEGIN; INSERT INTO a VALUES (7, 'seven', 7, 'h'); SAVEPOINT s; INSERT INTO a VALUES (8); ROLLBACK TO s; DELETE FROM a WHERE id = 7; COMMIT;
});
my $binary = q{SELECT count(*), md5(string_agg(data, '' ORDER BY n)) FROM pg_logical_slot_get_binary_changes('%s', NULL, NULL, 'publication%s', 'every', %s) WITH ORDINALITY AS c(lsn, xid, data, n)};
my $ours = sql(sprintf($binary, 'own', '', "'format', 'binary'"));
is($ours, sql(sprintf($binary, 'pgoutput', '_names', "'proto_version', '1', 'binary', 'true'")), 'the binary form is what pgoutput sends');
cmp_ok((split /\|/, $ours)[0], '>', 30, 'and it is not empty');

# ---- prepared transactions, messages
make_slot('two_phase', 'streamhouse', 'true');
sql(q{BEGIN; INSERT INTO b VALUES (2); PREPARE TRANSACTION 'first'});
sql(q{BEGIN; INSERT INTO b VALUES (3); PREPARE TRANSACTION 'second'});
is(lines('two_phase', $plain), join("\n", map { (qq({"action":"b","gid":"$_->[0]"}), qq({"action":"I","schema":"public","table":"b","new":{"v":$_->[1]}}), qq({"action":"P","gid":"$_->[0]"})) } (['first', 2], ['second', 3])),
	'prepared transactions are told when they are prepared');
sql(q{COMMIT PREPARED 'second'});
sql(q{ROLLBACK PREPARED 'first'});
is(lines('two_phase', $plain), join("\n", '{"action":"K","gid":"second"}', '{"action":"r","gid":"first"}'), 'and what becomes of them');
is(lines('chosen', "'tables', 'public.b', $plain"), join("\n", '{"action":"B"}', '{"action":"I","schema":"public","table":"b","new":{"v":3}}', '{"action":"C"}'),
	'other slots get them when they are committed');

sql(q{SELECT pg_logical_emit_message(true, 'app', 'say "hi"'), pg_logical_emit_message(true, 'other', 'no'), pg_logical_emit_message(true, 'app', '\xff00'::bytea)});
is(lines('two_phase', "'message_prefixes', 'app', $plain"), join("\n", '{"action":"B"}', '{"action":"M","transactional":true,"prefix":"app","content":"say \"hi\""}',
	'{"action":"M","transactional":true,"prefix":"app","content_hex":"ff00"}', '{"action":"C"}'), 'messages of a prefix');

sql(q{SELECT pg_logical_emit_message(true, 'app', 'plain'); ALTER TABLE a ADD more int});
is(lines('two_phase', "'messages', 'on', 'include_transactions', 'off', $plain"), '{"action":"M","transactional":true,"prefix":"app","content":"plain"}', 'messages without those of the extension');

# ---- large transactions before they commit
make_slot('streamed', 'streamhouse');
sql(q{BEGIN; INSERT INTO b SELECT i FROM generate_series(1, 5000) i; SAVEPOINT s; INSERT INTO b SELECT -i FROM generate_series(1, 5000) i; ROLLBACK TO s; INSERT INTO b VALUES (0); COMMIT});
my (%rows, $commits);
foreach my $line (split /\n/, lines('streamed', "'streaming', 'on', 'include_lsn', 'off'"))
{
	$rows{$1}++ if $line =~ /"action":"I","xid":(\d+)/;
	delete $rows{$1} if $line =~ /"action":"A".*"subxid":(\d+)/;
	$commits++ if $line =~ /"action":"c"/;
}
is($commits, 1, 'a large transaction is streamed');
is(sum(values %rows), 5001, 'what it has rolled back is aborted');

# ---- a client over the replication protocol
make_slot('recv', 'streamhouse');
my $end = sql('INSERT INTO b VALUES (77); SELECT pg_current_wal_lsn()');
my ($out, $err);
IPC::Run::run(['pg_recvlogical', '-d', $node->connstr('postgres'), '-S', 'recv', '--start', '-f', '-', '--no-loop', '--endpos', $end,
	'-o', 'include_xids=off', '-o', 'include_lsn=off', '-o', 'include_time=off'], '>', \$out, '2>', \$err);
like($out, qr/^\{"action":"B"\}\n\{"action":"I","schema":"public","table":"b","new":\{"v":77\}\}\n\{"action":"C"\}$/m, 'pg_recvlogical');

# ---- what is wrong is said
refused("SELECT pg_logical_slot_get_changes('recv', NULL, NULL, 'formt', 'json')", qr/output plugin "streamhouse" has no option "formt"/);
refused("SELECT pg_logical_slot_get_changes('recv', NULL, NULL, 'format', 'xml')", qr/option "format" of output plugin "streamhouse" cannot be "xml".*It is json or binary/s);
refused("SELECT pg_logical_slot_get_changes('recv', NULL, NULL, 'tables', 'item')", qr/cannot be "item".*names like shop.orders/s);
refused("SELECT pg_logical_slot_get_changes('recv', NULL, NULL, 'streaming', 'maybe')", qr/cannot be "maybe"/);
refused("SELECT pg_logical_slot_get_changes('recv', NULL, NULL, 'layout', 'wal2json', 'format', 'binary')", qr/is for format json only/);
sql('INSERT INTO b VALUES (78)');
refused("SELECT pg_logical_slot_get_changes('recv', NULL, NULL, 'publication', 'none')", qr/publication "none" does not exist/);

# ---- beside a sync
sql(q{CREATE PUBLICATION synced FOR TABLE a; CALL streamhouse.create_sync('beside', 'synced', 'lake', 'd', flush_interval => '100 ms')});
sql(q{INSERT INTO a VALUES (9, 'nine')});
wait_for_sync($node, 'beside');
sql(q{IMPORT FOREIGN SCHEMA d FROM SERVER lake INTO lake});
same_rows($node, 'a', 'a sync and slots of clients beside each other');

done_testing();
