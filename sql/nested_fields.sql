-- Of rows only the fields that a query uses are read.
SET datestyle TO 'ISO';
CREATE SCHEMA nested_fields;
CREATE TYPE nested_fields.inner_row AS (d date, tags text[]);
CREATE TYPE nested_fields.outer_row AS (x int, y text, deep nested_fields.inner_row);
CREATE FOREIGN TABLE nested_fields.fields (id int, r nested_fields.outer_row) SERVER lake OPTIONS ("table" 'fields');
INSERT INTO nested_fields.fields SELECT i, CASE WHEN i % 4 > 0 THEN ROW(i, repeat('y', i % 3),
	CASE WHEN i % 3 > 0 THEN ROW(date '2024-01-01' + i, ARRAY['a', 'b' || i])::nested_fields.inner_row END)::nested_fields.outer_row END
	FROM generate_series(1, 12) i;
CREATE FOREIGN TABLE nested_fields.fields_json (id int, r jsonb) SERVER lake OPTIONS ("table" 'fields');
CREATE FUNCTION pg_temp.fields_read(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Lake Nested Fields' THEN
			RETURN NEXT trim(line);
		END IF;
	END LOOP;
END $$;
SELECT * FROM pg_temp.fields_read('SELECT (r).x FROM nested_fields.fields');
SELECT id, (r).x FROM nested_fields.fields ORDER BY id;
SELECT * FROM pg_temp.fields_read('SELECT ((r).deep).d, (r).y FROM nested_fields.fields WHERE (r).x > 3');
SELECT ((r).deep).d, (r).y FROM nested_fields.fields WHERE (r).x > 3 ORDER BY id;
SELECT * FROM pg_temp.fields_read('SELECT (r).deep FROM nested_fields.fields WHERE ((r).deep).d > ''2024-01-03''');
SELECT (r).deep FROM nested_fields.fields WHERE ((r).deep).d > '2024-01-03' ORDER BY id;
SELECT sum((r).x), count(r) FROM nested_fields.fields;
SELECT (r).y, max(((r).deep).d) FROM nested_fields.fields GROUP BY (r).y ORDER BY 1;
-- used as a whole, too: nothing is left out
SELECT * FROM pg_temp.fields_read('SELECT (r).x, r FROM nested_fields.fields');
SELECT * FROM pg_temp.fields_read('SELECT (f.r).x, f FROM nested_fields.fields f');
SELECT * FROM pg_temp.fields_read('SELECT (r).x FROM nested_fields.fields WHERE r IS NOT NULL');
SELECT (f.r).x, f FROM nested_fields.fields f WHERE id = 2;
SELECT (r).x FROM nested_fields.fields WHERE r IS NOT NULL ORDER BY 1;
-- joins, subqueries, lateral ones
SELECT * FROM pg_temp.fields_read('SELECT (a.r).x, (b.r).y FROM nested_fields.fields a JOIN nested_fields.fields b ON (a.r).x = b.id');
SELECT (a.r).x, (b.r).y FROM nested_fields.fields a JOIN nested_fields.fields b ON (a.r).x = b.id ORDER BY 1;
SELECT a.id, l.y FROM nested_fields.fields a, LATERAL (SELECT ((a.r).deep).tags[2] AS y OFFSET 0) l WHERE (a.r).x < 4 ORDER BY 1;
SELECT (r).x, (SELECT max((b.r).x) FROM nested_fields.fields b WHERE (b.r).y = (a.r).y) FROM nested_fields.fields a WHERE id < 4 ORDER BY 1;
SELECT id, (s.w).y FROM (SELECT id, r AS w FROM nested_fields.fields OFFSET 0) s WHERE id < 4 ORDER BY 1;
-- as jsonb
SELECT * FROM pg_temp.fields_read('SELECT r -> ''deep'' ->> ''d'', r ->> ''x'' FROM nested_fields.fields_json');
SELECT id, r -> 'deep' ->> 'd', r -> 'deep' -> 'tags', r ->> 'x', r -> 'none' FROM nested_fields.fields_json ORDER BY id;
SELECT * FROM pg_temp.fields_read('SELECT r -> ''x'', r FROM nested_fields.fields_json');
SELECT r -> 'x', r FROM nested_fields.fields_json WHERE id = 5;
-- merged rows, and rows that change, which come back whole
CREATE FOREIGN TABLE nested_fields.keyed (id int NOT NULL, r nested_fields.outer_row) SERVER lake OPTIONS (primary_key 'id');
INSERT INTO nested_fields.keyed SELECT * FROM nested_fields.fields;
INSERT INTO nested_fields.keyed SELECT id, ROW(id + 100, 'new', (r).deep)::nested_fields.outer_row FROM nested_fields.fields WHERE id < 4;
SELECT * FROM pg_temp.fields_read('SELECT (r).y, ((r).deep).tags FROM nested_fields.keyed');
SELECT id, (r).y, ((r).deep).tags FROM nested_fields.keyed ORDER BY id LIMIT 5;
UPDATE nested_fields.keyed SET id = id + 100 WHERE (r).x = 5;
UPDATE nested_fields.keyed SET r.y = 'changed' WHERE (r).x = 7;
SELECT * FROM nested_fields.keyed WHERE id IN (105, 7) ORDER BY id;
-- less is read of wide rows
CREATE FOREIGN TABLE nested_fields.wide (id int, r nested_fields.outer_row) SERVER lake;
INSERT INTO nested_fields.wide SELECT i, ROW(i, (SELECT string_agg(md5((i * 100 + k)::text), '') FROM generate_series(1, 20) k), NULL)::nested_fields.outer_row
	FROM generate_series(1, 3000) i;
CREATE FUNCTION pg_temp.bytes_read(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) ' || query INTO plan;
	RETURN plan -> 0 -> 'Plan' ->> 'Bytes Read';
END $$;
SELECT pg_temp.bytes_read('SELECT (r).x FROM nested_fields.wide') * 10 < pg_temp.bytes_read('SELECT r FROM nested_fields.wide') AS less;
DROP SCHEMA nested_fields CASCADE;
