-- Aggregates are computed inside the scan, and give what the server's own do.
CREATE SCHEMA agg;
CREATE FOREIGN TABLE agg.t (id int, small smallint, big bigint, price numeric(10,2), wide numeric(38,6), r real, f double precision,
	word text COLLATE "C", other text, tag character(3), day date, at timestamp(3), flag boolean) SERVER lake;
INSERT INTO agg.t SELECT i, i % 7 - 3, CASE WHEN i % 5 > 0 THEN i * 1000000000000 END, CASE WHEN i % 3 > 0 THEN i / 4.0 END,
	i * 99999999999999999999999999999.000001, i / 2.0, i / 8.0, CASE WHEN i % 4 > 0 THEN 'w' || i % 10 END, 'o' || i % 3, 'c' || i % 2,
	date '2024-01-01' + i % 20, timestamp '2024-01-01' + i * interval '1 hour', CASE i % 3 WHEN 0 THEN NULL WHEN 1 THEN true ELSE false END
	FROM generate_series(1, 1000) i;
CREATE TABLE agg.h AS SELECT * FROM agg.t;

-- the same query on both tables must give the same text; tells whether the scan did it
CREATE FUNCTION agg.compare(query text, OUT rows bigint, OUT same boolean, OUT pushed boolean) LANGUAGE plpgsql AS $$
DECLARE
	lake text;
	heap text;
	line text;
BEGIN
	pushed := false;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || replace(query, '$t', 'agg.t') LOOP
		pushed := pushed OR line ~ 'Lake (Aggregate|Group Key|Limit)';
	END LOOP;
	EXECUTE format('SELECT count(*), string_agg(x::text, e''\n'' ORDER BY x::text) FROM (%s) x', replace(query, '$t', 'agg.t')) INTO rows, lake;
	EXECUTE format('SELECT string_agg(x::text, e''\n'' ORDER BY x::text) FROM (%s) x', replace(query, '$t', 'agg.h')) INTO heap;
	same := lake IS NOT DISTINCT FROM heap;
END $$;

-- every aggregate, without and with groups
SELECT * FROM agg.compare('SELECT count(*), count(big), count(tag), count(DISTINCT small), count(DISTINCT word), count(DISTINCT f) FROM $t');
SELECT * FROM agg.compare('SELECT sum(id), sum(small), sum(big), sum(price), sum(wide), sum(r), sum(f) FROM $t');
SELECT * FROM agg.compare('SELECT avg(id), avg(small), avg(big), avg(price), avg(wide), avg(r), avg(f) FROM $t');
SELECT * FROM agg.compare('SELECT min(id), max(small), min(big), max(price), min(wide), max(r), min(f), max(word), min(day), max(at) FROM $t');
SELECT * FROM agg.compare('SELECT bool_and(flag), bool_or(flag), every(flag) FROM $t');
SELECT * FROM agg.compare('SELECT word, count(*), count(big), count(DISTINCT small), count(DISTINCT other), sum(big), avg(price), sum(wide), max(word), bool_or(flag) FROM $t GROUP BY word');
SELECT * FROM agg.compare('SELECT small, flag, day, sum(f), avg(f), avg(r), min(at), max(big) FROM $t GROUP BY small, flag, day');
SELECT * FROM agg.compare('SELECT price, wide, f, r, at, other, count(*) FROM $t GROUP BY 1, 2, 3, 4, 5, 6');
SELECT * FROM agg.compare('SELECT word, day FROM $t GROUP BY word, day');
SELECT * FROM agg.compare('SELECT count(*) FROM $t GROUP BY word');

-- nothing to aggregate
SELECT * FROM agg.compare('SELECT count(*), sum(id), avg(big), max(word), count(DISTINCT id), bool_and(flag), avg(f) FROM $t WHERE id < 0');
SELECT * FROM agg.compare('SELECT word, count(*) FROM $t WHERE id < 0 GROUP BY word');
SELECT * FROM agg.compare('SELECT sum(price), avg(price), count(price) FROM $t WHERE price IS NULL');

-- filters, FILTER, HAVING, expressions
SELECT * FROM agg.compare('SELECT count(*), sum(id) FROM $t WHERE big > 5000000000000 AND word LIKE ''w%'' AND flag IS NOT TRUE');
SELECT * FROM agg.compare('SELECT other, count(*) FILTER (WHERE id > 500), sum(price) FILTER (WHERE flag), min(word) FILTER (WHERE word > ''w5'') FROM $t GROUP BY other');
SELECT * FROM agg.compare('SELECT word, sum(id) + 1, count(*)::text || ''!'' FROM $t GROUP BY word HAVING count(*) > 80 AND max(id) < 999');
SELECT * FROM agg.compare('SELECT sum(CASE WHEN small > 0 THEN small ELSE 0 END), sum(id * 2 - small), sum(id + big), max(coalesce(big, 7)) FROM $t');
SELECT * FROM agg.compare('SELECT id * 2 AS k, id * 2 + 1, count(*) FROM $t GROUP BY id * 2');
SELECT * FROM agg.compare('SELECT small + 1, CASE WHEN flag THEN 1 WHEN flag IS NULL THEN 2 ELSE small END AS c, count(*) FROM $t GROUP BY 1, c');
SELECT * FROM agg.compare('SELECT sum(id::numeric), avg(big::numeric), sum(small::bigint) FROM $t');
SELECT * FROM agg.compare('SELECT DISTINCT small, flag FROM $t');

-- what is left to the server: collations, blanks, order, grouping sets, volatile functions, other filters
-- (those of the default collation only if that is not C)
SELECT rows, same FROM agg.compare('SELECT max(other) FROM $t');
SELECT * FROM agg.compare('SELECT tag, count(*) FROM $t GROUP BY tag');
SELECT * FROM agg.compare('SELECT string_agg(word, '','' ORDER BY id) FROM $t');
SELECT * FROM agg.compare('SELECT word, count(*) FROM $t GROUP BY ROLLUP (word)');
SELECT * FROM agg.compare('SELECT count(*) FROM $t WHERE random() >= 0');
SELECT * FROM agg.compare('SELECT count(*) FROM $t WHERE length(word) > 2');
SELECT * FROM agg.compare('SELECT stddev(f), sum(DISTINCT small), count(DISTINCT (id, small)) FROM $t');
SELECT * FROM agg.compare('SELECT count(t) FROM $t t');

-- the first rows of an order
SELECT * FROM agg.compare('SELECT id, word FROM $t ORDER BY id DESC LIMIT 5');
SELECT * FROM agg.compare('SELECT id, word FROM $t ORDER BY word NULLS FIRST, id DESC LIMIT 5 OFFSET 100');
SELECT * FROM agg.compare('SELECT id, price FROM $t WHERE small > 0 ORDER BY price DESC, id LIMIT 300');
SELECT * FROM agg.compare('SELECT id FROM $t ORDER BY at LIMIT 5000');
SELECT rows, same FROM agg.compare('SELECT id FROM $t ORDER BY other, id LIMIT 5');
SELECT * FROM agg.compare('SELECT id FROM $t ORDER BY id % 3, id LIMIT 5');
SELECT * FROM agg.compare('SELECT small FROM $t ORDER BY small FETCH FIRST 3 ROWS WITH TIES');

-- in every order of every type, with values that begin alike, ties, nulls, NaN and both zeros, over several batches
CREATE FOREIGN TABLE agg.orders (id int, small smallint, big bigint, price numeric(10,2), wide numeric(38,6), r real, f double precision,
	word text COLLATE "C", raw bytea, day date, at timestamp(3), fine timestamp(6), flag boolean) SERVER lake;
INSERT INTO agg.orders SELECT i, (k % 5 - 2)::smallint, CASE WHEN k % 7 > 0 THEN (k - 3000) * 3000000000 END, CASE WHEN k % 11 > 0 THEN (k - 3000) / 4.0 END,
	CASE WHEN k % 13 > 0 THEN (k / 3 - 1000) * 1000000000000000.000001 END, CASE k % 17 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN 0 ELSE (k - 3000) / 8.0 END::real,
	CASE k % 19 WHEN 0 THEN NULL WHEN 1 THEN 'NaN' WHEN 2 THEN '-Infinity' ELSE (3000 - k) / 8.0 END,
	CASE k % 23 WHEN 0 THEN NULL WHEN 1 THEN '' ELSE 'begins alike ' || k / 2 END, CASE WHEN k % 29 > 0 THEN decode(lpad(to_hex(k), 4, '0'), 'hex') END,
	date '1970-01-01' + k / 9 - 300, CASE WHEN k % 31 > 0 THEN timestamp '1970-01-01' + (k - 3000) * interval '1 hour' END,
	timestamp '2024-01-01' + i / 4 * interval '1 microsecond', CASE k % 3 WHEN 0 THEN NULL WHEN 1 THEN true ELSE false END
	FROM (SELECT i, i * 7919 % 6007 AS k FROM generate_series(1, 6000) i) numbers;
CREATE TABLE agg.orders_heap AS SELECT * FROM agg.orders;
-- rows, in their order, and whether the scan chose them, are as expected
CREATE FUNCTION agg.is_right(query text, part_of_plan text, chosen boolean) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	lake text;
	heap text;
	line text;
	plan text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || replace(query, '$t', 'agg.orders') LOOP
		plan := plan || line;
	END LOOP;
	EXECUTE format('SELECT string_agg(x::text, e''\n'') FROM (%s) x', replace(query, '$t', 'agg.orders')) INTO lake;
	EXECUTE format('SELECT string_agg(x::text, e''\n'') FROM (%s) x', replace(query, '$t', 'agg.orders_heap')) INTO heap;
	RETURN lake IS NOT DISTINCT FROM heap AND chosen = (plan LIKE '%' || part_of_plan || '%');
END $$;
SELECT count(*) AS queries, string_agg(query, e'\n') FILTER (WHERE NOT agg.is_right(query, 'Lake Limit', true)) AS wrong FROM (
	SELECT format('SELECT id, %I::text AS shown FROM $t ORDER BY %I %s NULLS %s, %s LIMIT %s', attname, attname, direction, nulls, last, wanted) AS query
	FROM pg_attribute, unnest('{ASC,DESC}'::text[]) direction, unnest('{FIRST,LAST}'::text[]) nulls,
		unnest('{"small DESC, id",id DESC}'::text[]) last, unnest('{1,9,700}'::int[]) wanted
	WHERE attrelid = 'agg.orders'::regclass AND attnum > 1) x;

-- the first groups in the order of an aggregate: by what is kept of it, if that is a number of 64 bits or becomes one
SELECT count(*) AS queries, string_agg(query, e'\n') FILTER (WHERE NOT agg.is_right(query, 'Lake Top Groups', is_chosen)) AS wrong FROM (
	SELECT format('SELECT %1$s, %2$s AS a, count(*) AS n FROM $t GROUP BY %1$s ORDER BY a %3$s NULLS %4$s, %1$s LIMIT %5$s', keys, aggregate, direction, nulls, wanted) AS query,
		aggregate !~ 'wide|word|raw' AS is_chosen
	FROM unnest('{id,day,"word, flag",big}'::text[]) keys,
		unnest('{count(*),count(big),count(DISTINCT small),sum(small),sum(big),sum(price),sum(wide),sum(r),sum(f),sum(big) FILTER (WHERE id % 2 = 0)}'::text[] ||
			'{avg(small),avg(big),avg(price),avg(wide),avg(r),avg(f),stddev_samp(f),var_pop(r),max(id),min(big),max(price),min(wide),max(r),min(f)}' ||
			'{max(word),max(day),min(at),max(fine),bool_or(flag)}') aggregate,
		unnest('{ASC,DESC}'::text[]) direction, unnest('{FIRST,LAST}'::text[]) nulls, unnest('{1,20,400 OFFSET 3}'::text[]) wanted) x;
SELECT query, agg.is_right(query, 'Lake Top Groups', false) FROM unnest(ARRAY[
	'SELECT day, count(*) AS n FROM $t GROUP BY day HAVING count(*) < 9 ORDER BY n DESC, day LIMIT 3',
	'SELECT DISTINCT n FROM (SELECT day, count(*) AS n FROM $t GROUP BY day) x ORDER BY n LIMIT 3',
	'SELECT DISTINCT count(*) AS n FROM $t GROUP BY day ORDER BY n LIMIT 3',
	'SELECT day, count(*) AS n, sum(count(*)) OVER () FROM $t GROUP BY day ORDER BY n DESC, day LIMIT 3',
	'SELECT count(*) AS n, generate_series(1, 2) FROM $t GROUP BY day ORDER BY n DESC, 2 LIMIT 3',
	'SELECT day, count(*) AS n FROM $t GROUP BY ROLLUP (day) ORDER BY n DESC, day LIMIT 3',
	'SELECT day, count(*) AS n FROM $t GROUP BY day ORDER BY count(*) + 1 DESC, day LIMIT 3',
	'SELECT day, count(*) AS n FROM $t GROUP BY day ORDER BY day, n DESC LIMIT 3',
	'SELECT day, count(*) AS n FROM $t GROUP BY day ORDER BY n DESC, day FETCH FIRST 3 ROWS WITH TIES',
	'SELECT day, count(*) AS n FROM $t GROUP BY day ORDER BY n DESC, day LIMIT (SELECT 3)',
	'SELECT day, count(*) AS n FROM $t GROUP BY day ORDER BY n DESC, day LIMIT 0',
	'(SELECT day, count(*) AS n FROM $t GROUP BY day UNION ALL SELECT day, 1000 FROM $t WHERE id = 1) ORDER BY n DESC, day LIMIT 3']) query;
EXPLAIN (COSTS OFF) SELECT word, flag, sum(big) FROM agg.orders GROUP BY word, flag ORDER BY 3 NULLS FIRST, word LIMIT 4 OFFSET 2;

-- plans
EXPLAIN (COSTS OFF) SELECT word, count(*), sum(big) + 1 FROM agg.t WHERE id > 5 GROUP BY word HAVING count(*) > 2;
EXPLAIN (COSTS OFF) SELECT count(*), max(id), count(big) FROM agg.t;
EXPLAIN (COSTS OFF) SELECT id FROM agg.t WHERE flag ORDER BY at DESC, id NULLS FIRST LIMIT 5 OFFSET 5;
SET streamhouse.pushdown = off;
EXPLAIN (COSTS OFF) SELECT word, count(*) FROM agg.t WHERE id > 5 GROUP BY word;
EXPLAIN (COSTS OFF) SELECT id FROM agg.t ORDER BY id LIMIT 5;
RESET streamhouse.pushdown;

-- parameters, known when the scan begins
PREPARE p (int) AS SELECT count(*), sum(small) FROM agg.t WHERE id > $1;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE p (900);
EXECUTE p (900);
EXECUTE p (990);
EXECUTE p (NULL);
PREPARE listed (int[]) AS SELECT count(*) FROM agg.t WHERE id = ANY ($1);
EXPLAIN (COSTS OFF) EXECUTE listed ('{1,2}');
EXECUTE listed ('{1,2,2000}');
RESET plan_cache_mode;
SELECT id, (SELECT count(*) FROM agg.t WHERE t.id < x.id) FROM agg.h x WHERE id IN (1, 50, 1000) ORDER BY id;
SELECT id, (SELECT string_agg(t.word || '=' || n, ' ') FROM (SELECT word, count(*) AS n FROM agg.t WHERE t.id < x.id * 90 GROUP BY word ORDER BY n DESC, word LIMIT 2) t)
	FROM agg.h x WHERE id IN (1, 2, 3) ORDER BY id;
SELECT id, (SELECT max(t.id) FROM (SELECT id FROM agg.t WHERE t.small < x.small ORDER BY id DESC LIMIT 3) t) FROM agg.h x WHERE id IN (1, 2, 3) ORDER BY id;

SET enable_material = off;
SELECT x, n, s FROM generate_series(1, 2) x LEFT JOIN (SELECT count(*) n, sum(id) s FROM agg.t WHERE id > 10) t ON true ORDER BY x;
SELECT count(*), sum(id) FROM generate_series(1, 3) x CROSS JOIN (SELECT id FROM agg.t ORDER BY at DESC LIMIT 4) t;
RESET enable_material;

-- numbers that do not fit are an error as ever
SELECT sum(big * 10000) FROM agg.t;
SELECT sum(id * 2147483647) FROM agg.t;
CREATE FOREIGN TABLE agg.huge (f double precision, r real) SERVER lake;
INSERT INTO agg.huge VALUES (1e308, 3e38), (1e308, 3e38);
SELECT sum(f) FROM agg.huge;
SELECT sum(r) FROM agg.huge;
SELECT avg(f) FROM agg.huge;
CREATE FOREIGN TABLE agg.odd (k int, f double precision) SERVER lake;
INSERT INTO agg.odd VALUES (1, 'NaN'), (1, 1), (2, 'Infinity'), (2, '-Infinity'), (3, '-0'), (3, NULL), (4, 0), (5, 'NaN');
SELECT k, sum(f), avg(f), min(f), max(f) FROM agg.odd GROUP BY k ORDER BY k;
SELECT f, count(*) FROM agg.odd GROUP BY f ORDER BY f, 2;
SELECT count(DISTINCT f) FROM agg.odd;

-- from manifests alone, where they know: partitions, rows of this transaction, keys
CREATE FOREIGN TABLE agg.parts (day date, id int, v bigint, name text COLLATE "C") SERVER lake OPTIONS (partition 'day');
INSERT INTO agg.parts SELECT date '2024-01-01' + i % 3, i, nullif(i % 10, 0), 'n' || i FROM generate_series(1, 300) i;
EXPLAIN (COSTS OFF) SELECT count(*), min(v), max(v), count(v), min(id) FROM agg.parts WHERE day > '2024-01-01';
SELECT count(*), min(v), max(v), count(v), min(id) FROM agg.parts WHERE day > '2024-01-01';
EXPLAIN (COSTS OFF) SELECT count(*) FROM agg.parts WHERE id > 5;
EXPLAIN (COSTS OFF) SELECT count(*), max(name) FROM agg.parts;
BEGIN;
INSERT INTO agg.parts VALUES ('2024-02-01', 1000, 1000, 'new');
SELECT count(*), max(v), max(day) FROM agg.parts;
ROLLBACK;
CREATE FOREIGN TABLE agg.keyed (id int, v int) SERVER lake OPTIONS (primary_key 'id', bucket '1');
INSERT INTO agg.keyed SELECT i, i FROM generate_series(1, 100) i;
INSERT INTO agg.keyed SELECT i, -i FROM generate_series(51, 150) i;
DELETE FROM agg.keyed WHERE id > 140;
SELECT count(*), min(v), max(v), sum(v) FROM agg.keyed;

-- groups that do not fit into memory
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
CREATE FOREIGN TABLE agg.many (id int, name text COLLATE "C", v bigint) SERVER lake;
INSERT INTO agg.many SELECT i, 'name ' || i % 10007, i FROM generate_series(1, 40000) i;
SELECT count(*), sum(s), sum(c), min(n) FROM (SELECT id, sum(v) s, count(*) c, min(name) n FROM agg.many GROUP BY id) x;
SELECT count(*), sum(s), sum(c), sum(d) FROM (SELECT name, sum(v) s, count(*) c, count(DISTINCT id) d FROM agg.many GROUP BY name) x;
SELECT count(DISTINCT id), count(DISTINCT name), count(DISTINCT v) FROM agg.many;
SELECT id % 3 AS k, count(DISTINCT id), count(DISTINCT name) FROM agg.many GROUP BY id % 3 ORDER BY 1;
SELECT count(*), sum(d) FROM (SELECT id * 0 + 7 AS k, count(DISTINCT v) d FROM agg.many GROUP BY 1) x;
SELECT id, sum(v), count(v) FROM agg.many GROUP BY id ORDER BY 2 DESC LIMIT 3;
SELECT name, count(*), sum(v) FROM agg.many GROUP BY name ORDER BY 2, 1 LIMIT 3;
RESET work_mem;
RESET hash_mem_multiplier;

-- ANALYZE
ANALYZE agg.t;
SELECT attname, null_frac, n_distinct FROM pg_stats WHERE schemaname = 'agg' AND tablename = 't' AND attname IN ('id', 'word', 'flag') ORDER BY 1;
SELECT reltuples FROM pg_class WHERE oid = 'agg.t'::regclass;
DROP SCHEMA agg CASCADE;
