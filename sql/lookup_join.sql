-- Joins that look rows of a lake table up by the keys of many rows at a time.
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE FOREIGN TABLE lj_items (id bigint NOT NULL, name text COLLATE "C", price numeric(10,2), day date, seen timestamp(3),
	weight double precision, code smallint)
	SERVER lake OPTIONS (primary_key 'id', bucket '2');
INSERT INTO lj_items SELECT g, 'item ' || g % 500, g * 1.25, date '2024-01-01' + g % 100,
	CASE WHEN g % 11 > 0 THEN timestamp '2024-01-01' + g * interval '1 minute' END, g % 7 / 2.0, g % 50
	FROM generate_series(1, 20000) g;
CREATE FOREIGN TABLE lj_lines (shop int NOT NULL, line int NOT NULL, item bigint, note text COLLATE "C") SERVER lake
	OPTIONS (primary_key 'shop,line', bucket '1');
INSERT INTO lj_lines SELECT g % 300, g, CASE WHEN g % 9 > 0 THEN g * 7 % 20000 END, 'note ' || g % 40 FROM generate_series(1, 20000) g;
CREATE FOREIGN TABLE lj_log (kind text COLLATE "C", n int, place int) SERVER lake;
INSERT INTO lj_log SELECT CASE WHEN g % 11 > 0 THEN 'k' || g % 200 END, g, g % 5 FROM generate_series(1, 20000) g;
-- merged when read: level 0 over what was compacted
CALL streamhouse.compact('lj_items');
INSERT INTO lj_items SELECT g, 'changed', -g, NULL, NULL, NULL, NULL FROM generate_series(1, 20000, 17) g;
DELETE FROM lj_items WHERE id % 1000 = 3;
CREATE TABLE hj_items AS SELECT * FROM lj_items;
CREATE TABLE hj_lines AS SELECT * FROM lj_lines;
CREATE TABLE hj_log AS SELECT * FROM lj_log;
-- keys that are null, that occur twice, and that the lake does not have
CREATE TABLE wanted (n int, item bigint, num numeric, shop int, line int, tag text COLLATE "C", kind varchar(10) COLLATE "C",
	day date, at timestamp, w real, tz timestamptz);
INSERT INTO wanted SELECT g, CASE WHEN g % 5 > 0 THEN g * 37 END, g * 61 + g % 2 * 0.5, g % 310, g * 31 % 20100, 'item ' || g % 600,
	CASE WHEN g % 7 > 0 THEN 'k' || g % 250 END, date '2024-01-01' + g % 120, timestamp '2024-01-01' + g % 40 * interval '30 minutes',
	g % 9 / 2.0, '2024-01-01' FROM generate_series(1, 400) g;
INSERT INTO wanted SELECT n + 1000, item, num, shop, line, tag, kind, day, at, w, tz FROM wanted WHERE n % 3 = 0;
ANALYZE lj_items, lj_lines, lj_log, wanted, hj_items, hj_lines, hj_log;

CREATE FUNCTION join_plan(query text, options text DEFAULT 'ANALYZE OFF') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (COSTS OFF, %s) %s', options, query) LOOP
		IF line !~ 'Lake Snapshot|Partitions:|Manifests:|Files:|Row Groups|Pages|Bytes' THEN
			RETURN NEXT line;
		END IF;
	END LOOP;
END $$;
-- how a query is joined, and whether its rows are those of heap tables
CREATE FUNCTION check_join(query text, OUT lookup_joins bigint, OUT same bool, OUT result_rows bigint) LANGUAGE plpgsql AS $$
BEGIN
	SELECT count(*) INTO lookup_joins FROM join_plan(query) AS line WHERE line ~ 'lookup join';
	EXECUTE 'CREATE TEMP TABLE found AS ' || query;
	PERFORM set_config('enable_hashjoin', 'on', true);
	EXECUTE 'CREATE TEMP TABLE expected AS ' || replace(query, 'lj_', 'hj_');
	SELECT NOT EXISTS ((TABLE found EXCEPT ALL TABLE expected) UNION ALL (TABLE expected EXCEPT ALL TABLE found)),
		(SELECT count(*) FROM found) INTO same, result_rows;
	DROP TABLE found, expected;
	PERFORM set_config('enable_hashjoin', 'off', true);
END $$;

SELECT join_plan('SELECT w.n, i.name FROM wanted w JOIN lj_items i ON i.id = w.item');
SELECT join_plan('SELECT w.n, l.note FROM wanted w LEFT JOIN lj_lines l ON l.shop = w.shop AND l.line = w.line AND l.note > w.tag WHERE l.item IS NULL OR w.n > 5');
SELECT join_plan('SELECT w.n FROM wanted w WHERE NOT EXISTS (SELECT FROM lj_items i WHERE i.id = w.item AND i.name <> w.tag)');
SELECT join_plan('SELECT * FROM lj_log WHERE kind IN (SELECT kind FROM wanted WHERE n < 10)');
-- the planner may do without
SET streamhouse.enable_lookup_join = off;
SELECT count(*) FROM join_plan('SELECT w.n, i.name FROM wanted w JOIN lj_items i ON i.id = w.item') line WHERE line ~ 'lookup join';
RESET streamhouse.enable_lookup_join;
SET streamhouse.pushdown = off;
SELECT count(*) FROM join_plan('SELECT w.n, i.name FROM wanted w JOIN lj_items i ON i.id = w.item') line WHERE line ~ 'lookup join';
RESET streamhouse.pushdown;

-- from here on as if it were always the cheapest
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
-- types of keys
SELECT * FROM check_join('SELECT w.n, i.* FROM wanted w JOIN lj_items i ON i.id = w.item');
SELECT * FROM check_join('SELECT w.n, i.* FROM wanted w JOIN lj_items i ON i.id = w.num');
SELECT * FROM check_join('SELECT w.n, i.* FROM wanted w JOIN lj_items i ON i.id = w.n + 1');
SELECT * FROM check_join('SELECT w.n, i.id FROM wanted w JOIN lj_items i ON i.price = w.num');
SELECT * FROM check_join('SELECT w.n, i.id FROM wanted w JOIN lj_items i ON i.day = w.day WHERE w.n < 50');
SELECT * FROM check_join('SELECT w.n, i.id FROM wanted w JOIN lj_items i ON i.day = w.at WHERE w.n < 50');
SELECT * FROM check_join('SELECT w.n, i.id FROM wanted w JOIN lj_items i ON i.seen = w.at');
SELECT * FROM check_join('SELECT w.n, i.id FROM wanted w JOIN lj_items i ON i.weight = w.w WHERE w.n < 20');
SELECT * FROM check_join('SELECT w.n, i.id FROM wanted w JOIN lj_items i ON i.code = w.n AND i.name = w.tag');
SELECT * FROM check_join('SELECT w.n, i.id FROM wanted w JOIN lj_items i ON i.name = w.tag');
SELECT * FROM check_join('SELECT w.n, l.n AS m FROM wanted w JOIN lj_log l ON l.kind = w.kind');
-- compound keys, in part and whole, and what else is asked of rows
SELECT * FROM check_join('SELECT w.n, l.* FROM wanted w JOIN lj_lines l ON l.shop = w.shop AND l.line = w.line');
SELECT * FROM check_join('SELECT w.n, l.* FROM wanted w JOIN lj_lines l ON l.shop = w.shop AND l.line = w.n * 31 % 20100');
SELECT * FROM check_join('SELECT w.n, l.* FROM wanted w JOIN lj_lines l ON l.shop = w.shop');
SELECT * FROM check_join('SELECT w.n, l.* FROM wanted w JOIN lj_lines l ON l.line = w.line AND l.item > w.item');
SELECT * FROM check_join('SELECT w.n, l.* FROM wanted w JOIN lj_lines l ON l.shop = w.shop AND l.note > w.tag WHERE l.line % 3 = 0 AND l.line > 100');
SELECT * FROM check_join('SELECT w.n, l::text, w FROM wanted w JOIN lj_lines l ON l.shop = w.shop AND l.line + w.n > 9000');
SELECT * FROM check_join('SELECT count(*) FROM wanted w JOIN lj_lines l ON l.shop = w.shop');
-- left, semi and anti joins
SELECT * FROM check_join('SELECT w.n, i.* FROM wanted w LEFT JOIN lj_items i ON i.id = w.item');
SELECT * FROM check_join('SELECT w.n, i.* FROM wanted w LEFT JOIN lj_items i ON i.id = w.item AND w.n < 200 AND i.name < w.tag');
SELECT * FROM check_join('SELECT w.n, i.* FROM wanted w LEFT JOIN lj_items i ON i.id = w.item WHERE i.name IS NULL OR i.price > 500');
SELECT * FROM check_join('SELECT w.n, i.x FROM wanted w LEFT JOIN (SELECT id, coalesce(name, ''none'') AS x FROM lj_items) i ON i.id = w.item');
SELECT * FROM check_join('SELECT w.n, w.tag FROM wanted w WHERE EXISTS (SELECT FROM lj_lines l WHERE l.shop = w.shop AND l.item > w.n * 40)');
SELECT * FROM check_join('SELECT w.n FROM wanted w WHERE w.kind IN (SELECT kind FROM lj_log)');
SELECT * FROM check_join('SELECT w.n, w.tag FROM wanted w WHERE NOT EXISTS (SELECT FROM lj_lines l WHERE l.shop = w.shop AND l.line = w.line)');
SELECT * FROM check_join('SELECT w.n FROM wanted w WHERE NOT EXISTS (SELECT FROM lj_items i WHERE i.id = w.item AND i.name > w.tag)');
SELECT * FROM check_join('SELECT w.n, i.id FROM wanted w LEFT JOIN lj_items i ON i.id = w.item WHERE i.id IS NULL');
SELECT * FROM check_join('SELECT * FROM lj_items WHERE id IN (SELECT item FROM wanted)');
SELECT * FROM check_join('SELECT * FROM lj_log l WHERE EXISTS (SELECT FROM wanted w WHERE w.kind = l.kind)');
-- joins of joins, of lake tables with each other, of values and functions
SELECT * FROM check_join('SELECT w.n, l.line, i.name FROM wanted w JOIN lj_lines l ON l.shop = w.shop JOIN lj_items i ON i.id = l.item WHERE w.n < 100');
SELECT * FROM check_join('SELECT w.n, l.line, i.name FROM wanted w LEFT JOIN lj_lines l ON l.shop = w.shop AND l.line = w.line LEFT JOIN lj_items i ON i.id = l.item');
SELECT * FROM check_join('SELECT i.* FROM (VALUES (1), (2), (NULL), (2), (99999)) AS v(id) JOIN lj_items i ON i.id = v.id');
SELECT * FROM check_join('SELECT i.*, g FROM generate_series(1, 3000, 3) g JOIN lj_items i ON i.id = g');
SELECT * FROM check_join('SELECT s.k, i.name FROM (SELECT item % 50 AS k, count(*) AS c FROM wanted GROUP BY 1) s JOIN lj_items i ON i.id = s.k * s.c');
SELECT * FROM check_join('SELECT i.* FROM lj_items i JOIN wanted w ON i.id = w.item AND i.name LIKE ''item 1%'' WHERE false OR w.n > 300');
-- nothing to look up
SELECT * FROM check_join('SELECT w.n, i.id FROM wanted w LEFT JOIN lj_items i ON i.id = w.item WHERE w.item IS NULL');
SELECT * FROM check_join('SELECT w.n, i.id FROM wanted w JOIN lj_items i ON i.id = w.item WHERE w.n < 0');
-- many batches
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT * FROM check_join('SELECT w.n, i.* FROM wanted w JOIN lj_items i ON i.id = w.item');
SELECT * FROM check_join('SELECT w.n, i.* FROM wanted w LEFT JOIN lj_items i ON i.id = w.item AND i.name > w.tag');
SELECT * FROM check_join('SELECT w.n, w.tag FROM wanted w WHERE NOT EXISTS (SELECT FROM lj_lines l WHERE l.shop = w.shop AND l.line = w.line)');
SELECT * FROM check_join('SELECT w.n FROM wanted w WHERE w.kind IN (SELECT kind FROM lj_log)');
SELECT line FROM join_plan('SELECT w.n, i.* FROM wanted w JOIN lj_items i ON i.id = w.item', 'ANALYZE, TIMING OFF, SUMMARY OFF') line
	WHERE line ~ 'Look';
RESET work_mem;
RESET hash_mem_multiplier;

-- starting over: below nested loops, with other parameters, and with the same
SET enable_nestloop = on;
SET enable_material = off;
SELECT * FROM check_join('SELECT a.n, (SELECT string_agg(i.name, '','' ORDER BY i.id, w.n) FROM wanted w JOIN lj_items i ON i.id = w.item + a.n WHERE w.n < a.n * 10) FROM wanted a WHERE a.n < 15');
SELECT * FROM check_join('SELECT a.n, (SELECT count(*) FROM wanted w JOIN lj_items i ON i.id = w.item WHERE i.code > a.n) FROM wanted a WHERE a.n < 15');
SELECT * FROM check_join('SELECT a.n, x.* FROM (VALUES (1), (5)) AS a(n), LATERAL (SELECT w.n AS wn, i.name FROM wanted w JOIN lj_items i ON i.id = w.item WHERE w.n < a.n * 3 OFFSET 0) x');
SELECT * FROM check_join('SELECT a.n, x.id FROM (VALUES (1), (5), (200)) AS a(n) LEFT JOIN (SELECT w.n AS wn, i.id FROM wanted w JOIN lj_items i ON i.id = w.item) x ON x.wn > a.n * 50');
RESET enable_material;
SET enable_nestloop = off;

-- prepared statements
PREPARE found (int, text) AS SELECT w.n, i.id, i.name FROM wanted w JOIN lj_items i ON i.id = w.item + $1 AND i.name > $2 WHERE w.n < 4 ORDER BY w.n;
SET plan_cache_mode = force_generic_plan;
EXECUTE found(0, '');
EXECUTE found(1, 'item 2');
EXECUTE found(NULL, '');
RESET plan_cache_mode;
-- cursors see what there was, also backwards
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT w.n, i.id FROM (SELECT * FROM wanted WHERE n < 5 ORDER BY n) w JOIN lj_items i ON i.id = w.item;
FETCH 1 FROM c;
DELETE FROM lj_items WHERE id < 1000;
FETCH ALL FROM c;
FETCH BACKWARD 2 FROM c;
-- what the transaction has written is seen
INSERT INTO lj_items (id, name) VALUES (37, 'mine');
SELECT w.n, i.id, i.name FROM wanted w JOIN lj_items i ON i.id = w.item WHERE w.n < 5 ORDER BY w.n;
ROLLBACK;
SELECT w.n, i.id, i.name FROM wanted w JOIN lj_items i ON i.id = w.item WHERE w.n < 5 ORDER BY w.n;
-- rows to change
BEGIN;
UPDATE lj_items i SET name = w.tag FROM wanted w WHERE i.id = w.item AND w.n < 4;
SELECT id, name FROM lj_items WHERE id < 150 AND id % 37 = 0 ORDER BY id;
UPDATE wanted w SET tag = i.name FROM lj_items i WHERE i.id = w.item AND w.n < 4;
DELETE FROM lj_items i USING wanted w WHERE i.id = w.item AND w.n = 2;
SELECT w.n, w.tag, i.id FROM wanted w LEFT JOIN lj_items i ON i.id = w.item WHERE w.n < 4 ORDER BY w.n;
SELECT w.n, i.id FROM wanted w JOIN lj_items i ON i.id = w.item WHERE w.n < 4 ORDER BY w.n FOR UPDATE OF w;
ROLLBACK;

DROP FOREIGN TABLE lj_items, lj_lines, lj_log;
DROP TABLE hj_items, hj_lines, hj_log, wanted;
DROP FUNCTION join_plan, check_join;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_nestloop;
