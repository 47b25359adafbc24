-- Aggregates over joins of lake tables are computed inside the scan, and give what the server's own do.
SET streamhouse.enable_lookup_join = off;
CREATE SCHEMA ja;
CREATE FOREIGN TABLE ja.big (id int, small smallint, far bigint, price numeric(10,2), other numeric(12,2), f double precision,
	word text COLLATE "C", free text, tag character(3), day date, at timestamp(3), micros timestamp(6), flag boolean, raw bytea) SERVER lake;
INSERT INTO ja.big SELECT i, i % 7, CASE WHEN i % 5 > 0 THEN i % 100 END, (i % 40) / 4.0, (i % 40) / 4.0, CASE i % 50 WHEN 0 THEN 'NaN'::float8 WHEN 1 THEN '-0' ELSE i % 50 END,
	CASE WHEN i % 4 > 0 THEN 'w' || i % 13 END, 'o' || i % 9, 'c' || i % 2, date '2024-01-01' + i % 20,
	timestamp '2024-01-01' + i % 90 * interval '1 hour', timestamp '2024-01-01' + i % 90 * interval '1 hour', i % 3 = 0, ('\x0' || i % 8)::bytea
	FROM generate_series(1, 6000) i;
CREATE FOREIGN TABLE ja.dim (id bigint, name text COLLATE "C", word varchar(20) COLLATE "C", free text, price numeric(14,2), f double precision, tag character(3),
	day date, at timestamp(3), v int, flag boolean, raw bytea) SERVER lake;
INSERT INTO ja.dim SELECT nullif(i, 9), 'name ' || i % 4, CASE WHEN i % 6 > 0 THEN 'w' || i END, 'o' || i, i / 4.0, CASE i WHEN 3 THEN 'NaN'::float8 WHEN 4 THEN 0 ELSE i END,
	'c' || i % 3, date '2024-01-01' + i * 2, timestamp '2024-01-01' + i * interval '1 hour', nullif(i % 5, 0), i % 2 = 0, ('\x0' || i)::bytea
	FROM generate_series(0, 9) i;
-- the same names several times
CREATE FOREIGN TABLE ja.twice (k smallint, word text COLLATE "C", v int) SERVER lake;
INSERT INTO ja.twice SELECT i % 5, nullif('w' || i % 6, 'w2'), i FROM generate_series(1, 12) i;
CREATE FOREIGN TABLE ja.none (id int, word text COLLATE "C", v int) SERVER lake;
-- merged when read
CREATE FOREIGN TABLE ja.keyed (id int, word text COLLATE "C", v int) SERVER lake OPTIONS (primary_key 'id', bucket '2');
INSERT INTO ja.keyed SELECT i, 'w' || i % 13, i FROM generate_series(1, 500) i;
INSERT INTO ja.keyed SELECT i, 'w' || i % 11, -i FROM generate_series(250, 600) i;
DELETE FROM ja.keyed WHERE id % 10 = 3;
CREATE SCHEMA jh;
DO $$
DECLARE
	t text;
BEGIN
	FOREACH t IN ARRAY ARRAY['big', 'dim', 'twice', 'none', 'keyed'] LOOP
		EXECUTE format('CREATE TABLE jh.%I AS SELECT * FROM ja.%I', t, t);
		EXECUTE format('ANALYZE jh.%I', t);
		EXECUTE format('ANALYZE ja.%I', t);
	END LOOP;
END $$;

-- the same query on both must give the same text; tells whether the scan did it
CREATE FUNCTION ja.compare(query text, OUT rows bigint, OUT same boolean, OUT pushed boolean) LANGUAGE plpgsql AS $$
DECLARE
	lake text;
	heap text;
	line text;
BEGIN
	SET LOCAL search_path = ja, public;
	pushed := false;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		pushed := pushed OR line ~ 'Lake Join';
	END LOOP;
	EXECUTE format('SELECT count(*), string_agg(x::text, e''\n'' ORDER BY x::text) FROM (%s) x', query) INTO rows, lake;
	SET LOCAL search_path = jh, public;
	EXECUTE format('SELECT string_agg(x::text, e''\n'' ORDER BY x::text) FROM (%s) x', query) INTO heap;
	same := lake IS NOT DISTINCT FROM heap;
END $$;

-- keys of all kinds
SELECT * FROM ja.compare('SELECT count(*), sum(b.id), min(d.name) FROM big b JOIN dim d ON b.small = d.id');
SELECT * FROM ja.compare('SELECT d.name, count(*), sum(b.id), avg(b.price), count(DISTINCT b.word) FROM big b JOIN dim d ON b.far = d.id GROUP BY d.name');
SELECT * FROM ja.compare('SELECT d.name, b.word, count(*) AS n FROM big b JOIN dim d ON b.far = d.id GROUP BY d.name, b.word ORDER BY n DESC, d.name, b.word LIMIT 5');
SELECT * FROM ja.compare('SELECT d.word, b.flag, count(*), sum(d.v), max(b.at), min(d.day) FROM big b JOIN dim d ON b.word = d.word GROUP BY d.word, b.flag');
SELECT * FROM ja.compare('SELECT d.free, count(*) FROM big b JOIN dim d ON b.free = d.free GROUP BY d.free');
SELECT * FROM ja.compare('SELECT d.price, count(*), sum(b.other) FROM big b JOIN dim d ON b.other = d.price GROUP BY 1');
SELECT * FROM ja.compare('SELECT d.f, count(*) FROM big b JOIN dim d ON b.f = d.f GROUP BY 1');
SELECT * FROM ja.compare('SELECT d.day, count(*) FROM big b JOIN dim d ON b.day = d.day GROUP BY 1');
SELECT * FROM ja.compare('SELECT d.at, count(*) FROM big b JOIN dim d ON b.at = d.at GROUP BY 1');
SELECT * FROM ja.compare('SELECT d.raw, count(*) FROM big b JOIN dim d ON b.raw = d.raw GROUP BY 1');
SELECT * FROM ja.compare('SELECT b.flag, d.flag, count(*) FROM big b JOIN dim d ON b.flag = d.flag GROUP BY 1, 2');
SELECT * FROM ja.compare('SELECT d.name, count(*) FROM big b JOIN dim d ON b.small = d.id AND b.word = d.word GROUP BY 1');
SELECT * FROM ja.compare('SELECT d.name, count(*), sum(b.id) FROM big b JOIN dim d ON b.small + 1 = d.id GROUP BY 1');
SELECT rows, same FROM ja.compare('SELECT d.name, count(*) FROM big b JOIN dim d ON b.small::numeric = d.v::numeric GROUP BY 1');
SELECT rows, same FROM ja.compare('SELECT d.name, count(*) FROM big b JOIN dim d ON b.small * 0.5 = d.v * 1.5 GROUP BY 1');
SELECT * FROM ja.compare('SELECT d.name, count(*), count(b.tag), count(d.tag) FROM big b JOIN dim d ON b.small = d.v GROUP BY 1');

-- rows that match several, none, and NULL
SELECT * FROM ja.compare('SELECT t.word, count(*), sum(t.v), sum(b.id), count(b.far) FROM big b JOIN twice t ON b.word = t.word GROUP BY t.word');
SELECT * FROM ja.compare('SELECT t.word, b.word, count(*), sum(t.v), sum(b.id), count(t.k) FROM big b LEFT JOIN twice t ON b.word = t.word GROUP BY t.word, b.word');
SELECT * FROM ja.compare('SELECT d.name, d.v, d.f, d.price, count(*), count(d.id), sum(b.far) FROM big b LEFT JOIN dim d ON b.far = d.id GROUP BY 1, 2, 3, 4');
SELECT * FROM ja.compare('SELECT count(*), count(d.id), sum(coalesce(d.v, 1000)), min(d.name) FROM big b LEFT JOIN dim d ON b.id = d.id');
SELECT * FROM ja.compare('SELECT count(*), count(d.id) FROM big b LEFT JOIN dim d ON b.small = d.id AND b.word = d.word AND d.flag');

-- nothing on a side
SELECT * FROM ja.compare('SELECT count(*), sum(b.id) FROM big b JOIN none n ON b.id = n.id');
SELECT * FROM ja.compare('SELECT n.word, count(*) FROM big b JOIN none n ON b.id = n.id GROUP BY 1');
SELECT * FROM ja.compare('SELECT n.word, count(*), count(n.v), sum(b.id) FROM big b LEFT JOIN none n ON b.word = n.word GROUP BY 1');
SELECT * FROM ja.compare('SELECT count(*), sum(b.id) FROM big b JOIN dim d ON b.small = d.id WHERE b.id < 0');
SELECT * FROM ja.compare('SELECT d.name, count(*) FROM big b JOIN dim d ON b.small = d.id WHERE b.small > 3 AND d.id < 3 GROUP BY 1');

-- filters on both sides, FILTER, HAVING, order
SELECT * FROM ja.compare('SELECT d.name, count(*), sum(b.id) FROM big b JOIN dim d ON b.small = d.id WHERE d.name <> ''name 1'' AND b.day > ''2024-01-05'' GROUP BY 1');
SELECT * FROM ja.compare('SELECT d.name, count(*) FILTER (WHERE b.flag AND d.v > 1), sum(b.id) FILTER (WHERE d.name > ''name 1'' OR b.word = ''w1'') FROM big b JOIN dim d ON b.small = d.id GROUP BY 1');
SELECT * FROM ja.compare('SELECT d.name, count(*), count(*) FILTER (WHERE d.v IS NULL) FROM big b LEFT JOIN dim d ON b.far = d.id GROUP BY 1 HAVING count(*) > 100 AND min(b.id) < 50');
SELECT * FROM ja.compare('SELECT sum(CASE WHEN d.v > 2 THEN b.small ELSE d.v END), sum(b.id * d.v) FROM big b JOIN dim d ON b.small = d.id');
SELECT * FROM ja.compare('SELECT d.name, sum(b.id) + 1 FROM big b JOIN dim d ON b.small = d.id GROUP BY 1 ORDER BY 2 DESC LIMIT 2');
SELECT rows, same FROM ja.compare('SELECT DISTINCT d.name, b.flag FROM big b JOIN dim d ON b.small = d.id');
SELECT * FROM ja.compare('SELECT d.name FROM big b JOIN dim d ON b.small = d.id GROUP BY 1');

-- three tables, one of them by what the second says; the same table twice; the larger side on the right
SELECT * FROM ja.compare('SELECT d.name, t.word, count(*), sum(b.id + t.v) FROM big b JOIN dim d ON b.far = d.id JOIN twice t ON b.word = t.word GROUP BY 1, 2');
SELECT * FROM ja.compare('SELECT d.name, t.word, count(*), sum(b.id), sum(t.v) FROM big b LEFT JOIN dim d ON b.far = d.id LEFT JOIN twice t ON t.k = d.v GROUP BY 1, 2');
SELECT * FROM ja.compare('SELECT d.name, t.word, count(*), sum(t.v) FROM big b LEFT JOIN twice t ON b.small = t.k JOIN dim d ON b.far = d.id GROUP BY 1, 2');
SELECT * FROM ja.compare('SELECT count(*), sum(d.v), sum(e.v) FROM big b JOIN dim d ON b.small = d.id JOIN dim e ON b.far = e.id WHERE e.flag');
SELECT * FROM ja.compare('SELECT a.word, count(*), sum(b.v) FROM twice a JOIN twice b ON a.word = b.word GROUP BY 1');
SELECT * FROM ja.compare('SELECT d.name, count(*) FROM dim d JOIN big b ON d.id = b.small GROUP BY 1');
SELECT rows, same FROM ja.compare('SELECT d.name, count(*), count(b.id) FROM dim d LEFT JOIN big b ON d.id = b.small GROUP BY 1');
SELECT rows, same FROM ja.compare('SELECT d.name, count(*), count(b.id) FROM dim d FULL JOIN big b ON d.id = b.small GROUP BY 1');

-- merged tables on either side
SELECT * FROM ja.compare('SELECT k.word, count(*), sum(b.id), sum(k.v) FROM big b JOIN keyed k ON b.id = k.id GROUP BY 1');
SELECT * FROM ja.compare('SELECT k.word, count(*), sum(b.id), sum(k.v) FROM big b LEFT JOIN keyed k ON b.id = k.id WHERE b.id < 700 GROUP BY 1');
SELECT * FROM ja.compare('SELECT d.name, count(*), sum(k.v) FROM keyed k JOIN dim d ON k.word = d.word GROUP BY 1');
SELECT * FROM ja.compare('SELECT k.word, count(*) FROM keyed k LEFT JOIN twice t ON k.word = t.word GROUP BY 1');

-- what is left to the server
SELECT * FROM ja.compare('SELECT count(*) FROM big b JOIN dim d ON b.small < d.id AND b.id < 50');
SELECT * FROM ja.compare('SELECT count(*) FROM big b JOIN dim d ON b.small = d.id AND b.far < d.v');
SELECT * FROM ja.compare('SELECT count(*) FROM big b LEFT JOIN dim d ON b.small = d.id AND b.id > 100');
SELECT * FROM ja.compare('SELECT count(*) FROM big b JOIN dim d ON b.tag = d.tag');
SELECT * FROM ja.compare('SELECT count(*) FROM big b JOIN dim d ON b.price = d.v');
SELECT * FROM ja.compare('SELECT count(*) FROM big b JOIN dim d ON b.micros = d.at');
SELECT * FROM ja.compare('SELECT count(*) FROM big b JOIN dim d ON b.day = d.at');
SELECT * FROM ja.compare('SELECT count(*) FROM big b CROSS JOIN dim d WHERE b.id < 50');
SELECT * FROM ja.compare('SELECT count(*) FROM big b WHERE EXISTS (SELECT FROM dim d WHERE d.id = b.small)');
SELECT * FROM ja.compare('SELECT count(*) FROM big b WHERE NOT EXISTS (SELECT FROM dim d WHERE d.id = b.small)');
SELECT * FROM ja.compare('SELECT count(*) FROM big b JOIN dim d ON b.small = d.id WHERE length(d.name) > 3');
SELECT * FROM ja.compare('SELECT count(*) FROM big b JOIN generate_series(1, 3) g ON b.small = g');
SELECT * FROM ja.compare('SELECT b.flag, d.flag, count(*) FROM big b JOIN dim d ON b.small = d.id GROUP BY ROLLUP (1, 2)');

-- plans
EXPLAIN (COSTS OFF) SELECT d.name, count(*), sum(b.id) FROM ja.big b JOIN ja.dim d ON b.small = d.id WHERE d.flag AND b.id > 5 GROUP BY d.name HAVING count(*) > 2;
EXPLAIN (COSTS OFF) SELECT count(*), sum(t.v) FROM ja.big b LEFT JOIN ja.dim d ON b.far = d.id AND b.word = d.word JOIN ja.twice t ON t.k = b.small;
-- keys of the built side choose the files of the other one
CREATE FOREIGN TABLE ja.parts (day date, id int, v bigint) SERVER lake OPTIONS (partition 'day');
INSERT INTO ja.parts SELECT date '2024-01-01' + i % 10, i, i FROM generate_series(1, 3000) i;
CREATE FUNCTION ja.explain(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		CONTINUE WHEN line ~ 'Bytes Read|Build Memory|Buffers|Planning|Pages Skipped|Cache';
		RETURN NEXT regexp_replace(line, 'rows=([0-9]+)[.]00', 'rows=\1');	-- since PostgreSQL 18
	END LOOP;
END $$;
SELECT ja.explain('SELECT count(*), sum(p.v) FROM ja.parts p JOIN ja.dim d ON p.day = d.day WHERE d.v = 2');
SELECT ja.explain('SELECT count(*), sum(p.v) FROM ja.parts p JOIN ja.dim d ON p.day = d.day WHERE d.v = 77');
SELECT ja.explain('SELECT count(*), sum(p.v) FROM ja.parts p LEFT JOIN ja.dim d ON p.day = d.day AND d.v = 77');

-- parameters
PREPARE p (int, int) AS SELECT d.name, count(*), sum(b.id) FROM ja.big b JOIN ja.dim d ON b.small = d.id WHERE b.id > $1 AND d.v < $2 GROUP BY d.name ORDER BY 1;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE p (100, 3);
EXECUTE p (100, 3);
EXECUTE p (5900, 5);
EXECUTE p (NULL, 5);
EXECUTE p (5, NULL);
RESET plan_cache_mode;
SELECT x.v, (SELECT count(*) FROM ja.big b JOIN ja.dim d ON b.small = d.id WHERE d.v = x.v AND b.id > x.v * 100) FROM jh.twice x ORDER BY x.v;
SELECT x.v, l.* FROM jh.twice x, LATERAL (SELECT d.name, count(*) FROM ja.big b LEFT JOIN ja.dim d ON b.small = d.id AND d.v >= x.v WHERE b.id < 50 GROUP BY d.name) l WHERE x.v < 3 ORDER BY 1, 2;
SET enable_material = off;
SELECT x, n, s FROM generate_series(1, 2) x LEFT JOIN (SELECT count(*) n, sum(b.id) s FROM ja.big b JOIN ja.dim d ON b.small = d.id) t ON true ORDER BY x;
RESET enable_material;

-- tables of two servers
DO $$ BEGIN EXECUTE format('CREATE SERVER lake_too FOREIGN DATA WRAPPER streamhouse OPTIONS (warehouse %L)', current_setting('data_directory') || '/streamhouse_regress'); END $$;
CREATE SCHEMA jo;
IMPORT FOREIGN SCHEMA ja LIMIT TO (dim, twice) FROM SERVER lake_too INTO jo;
EXPLAIN (COSTS OFF) SELECT d.name, count(*) FROM ja.big b JOIN jo.dim d ON b.small = d.id GROUP BY 1 ORDER BY 1 LIMIT 2;
SELECT d.name, t.word, count(*), sum(d.v), sum(t.v) FROM ja.big b JOIN jo.dim d ON b.small = d.id LEFT JOIN jo.twice t ON t.k = d.v WHERE b.id < 20 GROUP BY 1, 2 ORDER BY 1, 2;
SELECT d.name, t.word, count(*), sum(d.v), sum(t.v) FROM jh.big b JOIN jh.dim d ON b.small = d.id LEFT JOIN jh.twice t ON t.k = d.v WHERE b.id < 20 GROUP BY 1, 2 ORDER BY 1, 2;
SELECT count(*) FROM ja.big b JOIN jo.dim d ON b.small = d.id JOIN jh.twice t ON t.k = b.small;

-- rows of this transaction
BEGIN;
INSERT INTO ja.dim (id, name) VALUES (6, 'new');
INSERT INTO ja.big (id, small) VALUES (10000, 6);
SELECT d.name, count(*), max(b.id) FROM ja.big b JOIN ja.dim d ON b.small = d.id WHERE d.id = 6 GROUP BY 1 ORDER BY 1;
ROLLBACK;
SELECT d.name, count(*), max(b.id) FROM ja.big b JOIN ja.dim d ON b.small = d.id WHERE d.id = 6 GROUP BY 1 ORDER BY 1;

-- a built side that does not fit into memory: portions of it, and the other side again for each
-- (the planner takes "one = 1" for a rare thing)
CREATE FOREIGN TABLE ja.many (id int, one int, k int, name text COLLATE "C", pad text COLLATE "C") SERVER lake;
INSERT INTO ja.many SELECT i, 1, nullif(i % 4, 0), 'name ' || i % 100, repeat('x', 30) || i FROM generate_series(1, 12000) i;
CREATE TABLE jh.many AS SELECT * FROM ja.many;
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT * FROM ja.compare('SELECT m.name, count(*), sum(b.id), min(m.pad) FROM big b JOIN many m ON b.id = m.id WHERE m.one = 1 GROUP BY 1');
SELECT * FROM ja.compare('SELECT m.name, count(*), sum(b.id), min(m.pad) FROM big b LEFT JOIN many m ON b.far = m.id AND m.one = 1 GROUP BY 1');
SELECT * FROM ja.compare('SELECT count(*), count(m.id), sum(m.id), min(b.id), sum(b.id) FROM keyed b LEFT JOIN many m ON m.id = b.v AND m.one = 1');
SELECT * FROM ja.compare('SELECT m.k, count(*), sum(b.id), sum(m.id), min(m.pad) FROM big b JOIN many m ON b.id = m.k WHERE m.one = 1 AND b.id < 100 GROUP BY 1');
SELECT * FROM ja.compare('SELECT m.k, count(*), sum(b.id), sum(m.id), min(m.pad) FROM big b LEFT JOIN many m ON b.id = m.k AND m.one = 1 WHERE b.id < 100 GROUP BY 1');
SELECT * FROM ja.compare('SELECT d.name, m.k, count(*), count(n.id), sum(m.id - n.id) FROM big b LEFT JOIN dim d ON d.id = b.far JOIN many m ON b.id = m.id LEFT JOIN many n ON n.id = b.far WHERE m.one = 1 AND n.one = 1 GROUP BY 1, 2');
SELECT * FROM ja.compare('SELECT d.name, m.k, count(*), count(n.id), sum(m.id - n.id) FROM big b LEFT JOIN dim d ON d.id = b.far JOIN many m ON b.id = m.id AND m.one = 1 LEFT JOIN many n ON n.id = b.far AND n.one = 1 GROUP BY 1, 2');
SELECT (regexp_match(l, 'Passes: (\d+)'))[1]::int > 2 AS several FROM ja.explain('SELECT count(*) FROM ja.big b JOIN ja.many m ON b.id = m.id WHERE m.one = 1') l WHERE l ~ 'Passes';
SELECT (regexp_match(l, 'Passes: (\d+)'))[1]::int > 2 AS several FROM ja.explain('SELECT count(*) FROM ja.big b LEFT JOIN ja.many m ON b.id = m.id AND m.one = 1') l WHERE l ~ 'Passes';
SELECT (regexp_match(l, 'Passes: (\d+)'))[1]::int > 2 AS several FROM ja.explain('SELECT count(*) FROM ja.big b LEFT JOIN ja.many m ON b.id = m.k AND m.one = 1 WHERE b.id < 10') l WHERE l ~ 'Passes';
-- where the planner sees that it does not fit, the server joins
EXPLAIN (COSTS OFF) SELECT count(*) FROM ja.many m JOIN ja.many n ON m.id = n.id;
RESET work_mem;
RESET hash_mem_multiplier;

SET client_min_messages = warning;
DROP SCHEMA ja, jh, jo CASCADE;
DROP SERVER lake_too;
