-- Arrays, composite types and jsonb: to the lake and back.
SET timezone TO 'UTC';
SET datestyle TO 'ISO';
CREATE SCHEMA nested;
CREATE TYPE nested.item AS (sku text, price numeric(10,2), tags text[]);
CREATE TYPE nested.place AS (city text, at timestamp(3));
CREATE TYPE nested.address AS (street varchar(20), place nested.place, since date);
CREATE DOMAIN nested.positive AS int CHECK (VALUE > 0);
CREATE FOREIGN TABLE nested.every (
	id int NOT NULL,
	bo boolean[], si smallint[], i int[], bi bigint[], re real[], dp double precision[], de numeric(20,2)[],
	ch character(3)[], vc varchar(4)[], tx text[], by bytea[], da date[], ti time(3)[], ts timestamp(3)[], tz timestamptz[],
	po nested.positive[], address nested.address, items nested.item[]
) SERVER lake;
CREATE TEMP TABLE local AS SELECT * FROM nested.every;
INSERT INTO local VALUES
	(1, '{t,f}', '{1,-32768}', '{1,2,2147483647}', '{-9223372036854775808}', '{1.5,NaN}', '{-0,infinity}', '{1.00,-999999999999999999.99}',
	 '{a,abc}', '{"",abcd}', '{"a b","","NULL",ä😀,"quote\"d"}', '{"\\x00ff","\\x"}', '{2024-02-29,0001-01-01}', '{12:34:56.789}',
	 '{"1969-12-31 23:59:59.999"}', '{"2024-02-29 12:34:56.123456+02"}', '{1,2}', '("Main St, 1","(Zürich,""2024-01-01 00:00:00.5"")",2020-02-02)',
	 ARRAY[('x', 1.5, '{red,NULL}')::nested.item, NULL, ('y', NULL, NULL)::nested.item, (NULL, NULL, '{}')::nested.item]),
	(2, '{t,NULL}', '{NULL}', '{NULL,5,NULL}', '{NULL,7}', '{NULL,0}', '{1,NULL}', '{NULL,0.01}',
	 '{NULL,ab}', '{NULL}', '{NULL,x}', '{NULL,"\\x01"}', '{NULL,1970-01-01}', '{NULL}', '{NULL}', '{NULL}', '{NULL,3}', '(,,)', '{NULL}'),
	(3, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '("","(,)",)', '{}'),
	(4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(5, '{t}', '{5}', '{5}', '{5}', '{5}', '{5}', '{5}', '{5}', '{5}', '{5}', '{5}', '{2005-05-05}', '{05:05:05}', '{2005-05-05}', '{2005-05-05}', '{5}',
	 '(s,,)', (SELECT array_agg((i::text, i, array_fill(i::text, ARRAY[i % 4]))::nested.item ORDER BY i) FROM generate_series(1, 300) i));
INSERT INTO nested.every SELECT * FROM local;
SELECT id, bo, si, i, bi, re, dp, de FROM nested.every ORDER BY id;
SELECT id, ch, vc, tx, by, da, ti, ts, tz, po FROM nested.every ORDER BY id;
SELECT id, address, (address).place.city, left(items::text, 60) AS items, cardinality(items), items[1].tags FROM nested.every ORDER BY id;
-- no difference, not even in the texts
SELECT count(*) FROM (SELECT e::text FROM nested.every e EXCEPT ALL SELECT l::text FROM local l) AS different;
SELECT count(*) FROM (SELECT l::text FROM local l EXCEPT ALL SELECT e::text FROM nested.every e) AS different;
-- IS NULL is pushed down, comparisons are not
EXPLAIN (COSTS OFF) SELECT id FROM nested.every WHERE i IS NULL AND address IS NOT DISTINCT FROM NULL AND tx = '{}';
SELECT count(*) FILTER (WHERE i IS NULL) AS nulls, count(i) FROM nested.every;
SELECT id FROM nested.every WHERE i IS NULL;
SELECT id FROM nested.every WHERE tx IS NOT NULL AND i @> '{5}' ORDER BY id;
SELECT id FROM nested.every WHERE address IS NOT NULL;
SELECT i, count(*) FROM nested.every WHERE id < 4 GROUP BY i ORDER BY i;
SELECT array_agg(id) FROM nested.every GROUP BY address ORDER BY 1;
-- many rows, long arrays
CREATE FOREIGN TABLE nested.long (id int, a int[], t text[]) SERVER lake;
CREATE TEMP TABLE local_long AS
	SELECT i AS id, CASE WHEN i % 7 > 0 THEN array_agg(n) END AS a, array_agg(CASE WHEN n % 3 > 0 THEN n::text END) AS t
	FROM generate_series(1, 3000) i, generate_series(1, i % 100) n GROUP BY i
	UNION ALL SELECT 0, array_agg(n), array_agg(n::text) FROM generate_series(1, 100000) n;
INSERT INTO nested.long SELECT * FROM local_long;
SELECT count(*), count(a), sum(cardinality(a)), sum(cardinality(t)) FROM nested.long;
SELECT count(*) FROM (TABLE nested.long EXCEPT ALL TABLE local_long) AS different;

-- the same as jsonb
CREATE FOREIGN TABLE nested.as_json (id int, i jsonb, dp jsonb, de jsonb, tx jsonb, by jsonb, da jsonb, ti jsonb, ts jsonb, tz jsonb, address jsonb, items jsonb)
	SERVER lake OPTIONS ("table" 'every');
SELECT id, i, dp, de, tx, by, da, ti, ts, tz, address FROM nested.as_json WHERE id <> 5 ORDER BY id;
SELECT id, items FROM nested.as_json WHERE id < 5 ORDER BY id;
CREATE TYPE nested.loose AS (sku text, tags jsonb);
CREATE FOREIGN TABLE nested.mixed (id int, address jsonb, items nested.loose[]) SERVER lake OPTIONS ("table" 'every');
SELECT id, items FROM nested.mixed WHERE id < 3 ORDER BY id;
INSERT INTO nested.mixed (id) VALUES (1);
-- written as jsonb
CREATE FOREIGN TABLE nested.keyed (id int NOT NULL, i int[], f real[], d numeric(4,1)[], t text[], b bytea[], z timestamptz[], r nested.item, n nested.address)
	SERVER lake OPTIONS (primary_key 'id', "bucket" '1');
CREATE FOREIGN TABLE nested.keyed_json (id int NOT NULL, i jsonb, f jsonb, d jsonb, t jsonb, b jsonb, z jsonb, r jsonb, n jsonb)
	SERVER lake OPTIONS ("table" 'keyed');
INSERT INTO nested.keyed_json VALUES
	(1, '[1,null,"3",4.0]', '[1.5,"NaN","-Infinity"]', '[1,"2.25",null]', '["a","",null]', '["\\x00ff",""]', '["2024-01-01T00:00:00+01:00"]',
	 '{"sku": "x", "tags": ["a"]}', '{"place": {"city": "Bern", "at": "2024-01-01T12:00:00.123"}, "street": null}'),
	(2, '[]', '[]', 'null', NULL, '[]', '[]', '{}', '{"place": {}}');
SELECT * FROM nested.keyed ORDER BY id;
SELECT * FROM nested.keyed_json ORDER BY id;
UPDATE nested.keyed_json SET r = jsonb_set(r, '{price}', '9.99') WHERE id = 1;
UPDATE nested.keyed SET i = i || 10, n.since = '2024-05-05' WHERE id = 2;
UPDATE nested.keyed SET id = 3, t = ARRAY['moved'] WHERE id = 1;
DELETE FROM nested.keyed WHERE i IS NULL;
SELECT * FROM nested.keyed ORDER BY id;
-- JSON's numbers have no negative zero: an update would lose it
INSERT INTO nested.keyed (id, f) VALUES (7, '{-0}');
UPDATE nested.keyed_json SET i = '[]' WHERE id = 7;
UPDATE nested.keyed SET i = '{}' WHERE id = 7;
SET client_min_messages = warning;
CALL streamhouse.compact('nested.keyed');
RESET client_min_messages;
SELECT * FROM nested.keyed_json ORDER BY id;

-- what the lake cannot hold
INSERT INTO nested.keyed (id, i) VALUES (9, '{{1,2},{3,4}}');
INSERT INTO nested.keyed (id, d) VALUES (9, '{1000}');
INSERT INTO nested.keyed (id, d) VALUES (9, '{NaN}');
INSERT INTO nested.keyed (id, r) VALUES (9, ROW('x', 'NaN', NULL));
INSERT INTO nested.keyed_json (id, i) VALUES (9, '{"a": 1}');
INSERT INTO nested.keyed_json (id, i) VALUES (9, '[true]');
INSERT INTO nested.keyed_json (id, i) VALUES (9, '[12345678901]');
INSERT INTO nested.keyed_json (id, i) VALUES (9, '["x"]');
INSERT INTO nested.keyed_json (id, i) VALUES (9, '1');
INSERT INTO nested.keyed_json (id, t) VALUES (9, '["a", ["b"]]');
INSERT INTO nested.keyed_json (id, r) VALUES (9, '{"sku": "x", "colour": "red"}');
INSERT INTO nested.keyed_json (id, n) VALUES (9, '{"place": {"city": 5}}');
INSERT INTO nested.keyed_json (id, n) VALUES (9, '{"street": "longer than twenty letters"}');
INSERT INTO nested.keyed_json (id, z) VALUES (9, '["infinity"]');

-- definitions that are refused
CREATE FOREIGN TABLE nested.bad (a int[], j json) SERVER lake;
CREATE FOREIGN TABLE nested.bad (a jsonb[]) SERVER lake;
CREATE FOREIGN TABLE nested.bad (a int2vector) SERVER lake;
CREATE TYPE nested.unfit AS (a int, b nested.item, c uuid[]);
CREATE FOREIGN TABLE nested.bad (u nested.unfit[]) SERVER lake;
CREATE TYPE nested.nothing AS ();
CREATE FOREIGN TABLE nested.bad (u nested.nothing) SERVER lake;
CREATE FOREIGN TABLE nested.bad (id int[] NOT NULL, v int) SERVER lake OPTIONS (primary_key 'id', "bucket" '1');
CREATE FOREIGN TABLE nested.bad (id int, p int[]) SERVER lake OPTIONS (partition 'p');
CREATE FOREIGN TABLE nested.bad (id int, i bigint[]) SERVER lake OPTIONS ("table" 'keyed');
CREATE FOREIGN TABLE nested.bad (id int, i int) SERVER lake OPTIONS ("table" 'keyed');
CREATE FOREIGN TABLE nested.bad (id jsonb) SERVER lake OPTIONS ("table" 'keyed');
CREATE FOREIGN TABLE nested.bad (id int, r nested.place) SERVER lake OPTIONS ("table" 'keyed');
CREATE FOREIGN TABLE nested.bad (id int, r record) SERVER lake OPTIONS ("table" 'keyed');

-- types that SQL has no word for: made by others
DO $$
DECLARE
	folder text := current_setting('data_directory') || '/streamhouse_regress/nested.db/';
	schema text := '{"version":3,"id":0,"fields":['
		'{"id":0,"name":"id","type":"INT NOT NULL"},'
		'{"id":1,"name":"m","type":{"type":"MAP","key":"STRING NOT NULL","value":"INT NOT NULL"}},'
		'{"id":2,"name":"mi","type":{"type":"MAP","key":"INT","value":{"type":"ARRAY","element":"DATE"}}},'
		'{"id":3,"name":"ms","type":{"type":"MULTISET","element":"STRING"}},'
		'{"id":4,"name":"v","type":"VARIANT"},'
		'{"id":5,"name":"vs","type":{"type":"ARRAY","element":"VARIANT"}},'
		'{"id":6,"name":"aa","type":{"type":"ARRAY","element":{"type":"ARRAY","element":"INT"}}},'
		'{"id":7,"name":"nn","type":{"type":"ARRAY","element":"INT NOT NULL"}},'
		'{"id":8,"name":"r","type":{"type":"ROW","fields":[{"id":9,"name":"a","type":"INT NOT NULL"},'
			'{"id":10,"name":"In ner","type":{"type":"ARRAY","element":{"type":"ROW","fields":[{"id":11,"name":"m","type":{"type":"MAP","key":"STRING","value":"STRING"}}]}}}]}}'
		'],"highestFieldId":11,"partitionKeys":[],"primaryKeys":["id"],"options":{"bucket":"1"},"timeMillis":1}';
BEGIN
	EXECUTE format('COPY (SELECT %L) TO PROGRAM %L', schema,
				   format('mkdir -p %1$s/schema && cat >%1$s/schema/schema-0', quote_literal(folder || 'others')));
END $$;
CREATE SCHEMA nested_imported;
IMPORT FOREIGN SCHEMA nested LIMIT TO (others) FROM SERVER lake INTO nested_imported;
\d nested_imported.others
\d nested_imported.others_r
\d "nested_imported"."others_r_In ner"
INSERT INTO nested_imported.others VALUES
	(1, '{"a": 1, "": 2}', '[[1, ["2024-01-01", null]], [2, null]]', '{"x": 2, "y": 1}',
	 '{"n": null, "b": true, "i": [1, 200, 70000, 5000000000, 1.50, -0.001, 1e30, 12345678901234567890123456789012345678, 1e-30, 1e300], "s": "text", "o": {"long": "0123456789012345678901234567890123456789012345678901234567890123456789", "z": {}, "a": []}}',
	 ARRAY['1'::jsonb, 'null', NULL, '"x"', '{"k": [{"k": 1}]}'], '[[1, 2], [], null, [null]]', '{1,2}',
	 ROW(1, ARRAY[ROW('{"k": null}')::nested_imported."others_r_In ner"])),
	(2, '{}', '[]', '[]', 'null', '{}', '[]', '{}', ROW(2, NULL)),
	(3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(4, '[["pair", 1]]', '{"5": []}', '[["z", 7]]', '"just text"', NULL, NULL, NULL, NULL),
	(5, NULL, NULL, NULL, (SELECT jsonb_object_agg('key ' || i, i) FROM generate_series(1, 300) i), NULL, NULL, NULL, NULL);
SELECT id, m, mi, ms, vs, aa, nn, r FROM nested_imported.others ORDER BY id;
SELECT id, left(v::text, 120) AS v FROM nested_imported.others ORDER BY id;
SELECT count(*), sum(value::int) FROM nested_imported.others, jsonb_each(v) WHERE id = 5;
UPDATE nested_imported.others SET v = v || '{"more": 1}' WHERE id = 1;
SELECT v->'more' AS more, v->'i'->4 AS decimal, v->'i'->9 = '1e300' AS double FROM nested_imported.others WHERE id = 1;
INSERT INTO nested_imported.others (id, m) VALUES (9, '{"a": null}');
INSERT INTO nested_imported.others (id, m) VALUES (9, '[["a", 1], ["a", 2]]');
INSERT INTO nested_imported.others (id, m) VALUES (9, '[["a", 1, 2]]');
INSERT INTO nested_imported.others (id, m) VALUES (9, '"a"');
INSERT INTO nested_imported.others (id, mi) VALUES (9, '{"1": [], "01": []}');
INSERT INTO nested_imported.others (id, mi) VALUES (9, '[[null, []]]');
INSERT INTO nested_imported.others (id, ms) VALUES (9, '{"a": "many"}');
INSERT INTO nested_imported.others (id, v) VALUES (9, '1e-40');
INSERT INTO nested_imported.others (id, v) VALUES (9, '1.00000000000000000000000000000000000000001');
INSERT INTO nested_imported.others (id, aa) VALUES (9, '[[1], 2]');
INSERT INTO nested_imported.others (id, nn) VALUES (9, '{1,NULL}');
INSERT INTO nested_imported.others (id, r) VALUES (9, ROW(NULL, NULL));
SELECT id FROM nested_imported.others WHERE id = 9;
-- the types are there, and used again; others of the same name are left alone
DROP FOREIGN TABLE nested_imported.others;
IMPORT FOREIGN SCHEMA nested LIMIT TO (others) FROM SERVER lake INTO nested_imported;
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'nested_imported.others'::regclass AND attnum > 0 ORDER BY attnum;
DROP FOREIGN TABLE nested_imported.others;
DROP TYPE nested_imported.others_r;
CREATE TYPE nested_imported.others_r AS (a int);
IMPORT FOREIGN SCHEMA nested LIMIT TO (others) FROM SERVER lake INTO nested_imported;
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'nested_imported.others'::regclass AND attname = 'r';
DROP FOREIGN TABLE nested_imported.others;
IMPORT FOREIGN SCHEMA nested LIMIT TO (others) FROM SERVER lake INTO nested_imported OPTIONS (rows 'jsonb');
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'nested_imported.others'::regclass AND attname = 'r';
SELECT id, r FROM nested_imported.others WHERE id < 3 ORDER BY id;
IMPORT FOREIGN SCHEMA nested LIMIT TO (keyed) FROM SERVER lake INTO nested_imported OPTIONS (rows 'text');
-- names of types never take those of tables
BEGIN;
CREATE FOREIGN TABLE nested.keyed_n (id int) SERVER lake;
COMMIT;
IMPORT FOREIGN SCHEMA nested LIMIT TO (keyed, keyed_n) FROM SERVER lake INTO nested_imported;
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'nested_imported.keyed'::regclass AND attname IN ('r', 'n') ORDER BY attname;
SELECT n FROM nested_imported.keyed ORDER BY id;
DROP SCHEMA nested_imported CASCADE;
DROP SCHEMA nested CASCADE;
