-- Groups and aggregates of expressions are computed inside the scan, and give what the server's own do.
SET timezone = 'America/St_Johns';
CREATE SCHEMA aex;
CREATE FOREIGN TABLE aex.t (id int, small smallint, big bigint, price numeric(10,2), qty numeric(6,3), wide numeric(38,6), r real, f double precision,
	word text COLLATE "C", other varchar(20), tag character(3), day date, at timestamp(3), seen timestamptz(6), fine timestamp(9), hour time(3), flag boolean, raw bytea) SERVER lake;
INSERT INTO aex.t SELECT i, i % 7 - 3, CASE WHEN i % 5 > 0 THEN i * 1000000000000 END, CASE WHEN i % 3 > 0 THEN i / 4.0 END, i % 11 / 8.0,
	i * 9999999999999999999999999.000001, i / 2.0, CASE i % 50 WHEN 0 THEN '-0' WHEN 1 THEN 'NaN' WHEN 2 THEN 'Infinity' WHEN 3 THEN NULL ELSE i / 8.0 END,
	CASE WHEN i % 4 > 0 THEN 'Word ' || i % 10 END, 'ö' || i % 3, 'c' || i % 2, date '2024-01-01' + i % 400,
	timestamp '1999-12-31 23:59' + i * interval '7 hours 13 minutes', timestamptz '2006-10-29 00:00' + i * interval '17 minutes',
	timestamp '1969-12-31 22:00' + i * interval '11 minutes', time '00:00' + i * interval '3 minutes',
	CASE i % 3 WHEN 0 THEN NULL WHEN 1 THEN true ELSE false END, decode(lpad(to_hex(i % 20), 2, '0'), 'hex')
	FROM generate_series(1, 3000) i;
CREATE TABLE aex.h AS SELECT * FROM aex.t;
CREATE FOREIGN TABLE aex.none (id int, at timestamp, f double precision, word text COLLATE "C") SERVER lake;

-- the same query on both tables must give the same text; tells whether the scan did it
CREATE FUNCTION aex.compare(query text, OUT rows bigint, OUT same boolean, OUT pushed boolean) LANGUAGE plpgsql AS $$
DECLARE
	lake text;
	heap text;
	line text;
BEGIN
	pushed := false;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || replace(query, '$t', 'aex.t') LOOP
		pushed := pushed OR line ~ 'Lake (Aggregate|Group Key)';
	END LOOP;
	EXECUTE format('SELECT count(*), string_agg(x::text, e''\n'' ORDER BY x::text) FROM (%s) x', replace(query, '$t', 'aex.t')) INTO rows, lake;
	EXECUTE format('SELECT string_agg(x::text, e''\n'' ORDER BY x::text) FROM (%s) x', replace(query, '$t', 'aex.h')) INTO heap;
	same := lake IS NOT DISTINCT FROM heap;
END $$;

-- times: in the zone of the session, through its changes, the hour that comes twice, before 1970
SELECT u, (aex.compare(format('SELECT date_trunc(%L, at) k, count(*) FROM $t GROUP BY k', u))).*
	FROM unnest('{millennium,century,decade,year,quarter,month,week,day,hour,minute,second,milliseconds,Month}'::text[]) u;
SELECT u, (aex.compare(format('SELECT date_trunc(%L, seen) k, count(*) FROM $t GROUP BY k', u))).*
	FROM unnest('{year,quarter,month,week,day,hour,minute,second}'::text[]) u;
SELECT u, (aex.compare(format('SELECT extract(%s FROM at) k, extract(%s FROM seen) l, date_part(%L, seen) m, extract(%s FROM fine) n, count(*) FROM $t GROUP BY 1, 2, 3, 4', u, u, u, u))).*
	FROM unnest('{year,isoyear,quarter,month,week,day,dow,isodow,doy,hour,minute,second,milliseconds,microseconds,epoch}'::text[]) u;
SELECT u, (aex.compare(format('SELECT extract(%s FROM day) k, count(*) FROM $t GROUP BY 1', u))).* FROM unnest('{year,month,week,dow,epoch}'::text[]) u;
SELECT * FROM aex.compare('SELECT at::date, seen::date, fine::date, count(*) FROM $t GROUP BY 1, 2, 3');
SELECT * FROM aex.compare('SELECT date_trunc(''day'', seen, ''Asia/Kathmandu''), seen AT TIME ZONE ''UTC'', count(*) FROM $t GROUP BY 1, 2');
SELECT * FROM aex.compare('SELECT to_char(date_trunc(''month'', seen), ''YYYY-MM''), to_char(at, ''Day''), count(*) FROM $t GROUP BY 1, 2');
SELECT * FROM aex.compare('SELECT extract(hour FROM hour), date_trunc(''hour'', hour) IS NULL, count(*) FROM $t GROUP BY 1, 2');
SELECT * FROM aex.compare('SELECT date_trunc(''day'', at) + interval ''1 day'' AS k, max(seen - interval ''1 hour''), count(*) FROM $t GROUP BY k');
SET timezone = 'Africa/Monrovia';
SELECT * FROM aex.compare('SELECT date_trunc(''hour'', seen) k, date_trunc(''day'', seen - interval ''60 years'') l, count(*) FROM $t GROUP BY k, l');
SET timezone = 'UTC';
SELECT * FROM aex.compare('SELECT date_trunc(''hour'', seen) k, seen::date, count(*) FROM $t GROUP BY 1, 2');
SET timezone = 'America/St_Johns';

-- numbers
SELECT * FROM aex.compare('SELECT id % 7, small + 1::smallint, id / 100, big % 1000000007, -id, abs(small), count(*) FROM $t GROUP BY 1, 2, 3, 4, 5, 6');
SELECT * FROM aex.compare('SELECT id::bigint, small::int, id::numeric, id::real, small::float8, big::float8, id::smallint, id::text, count(*) FROM $t GROUP BY 1, 2, 3, 4, 5, 6, 7, 8');
SELECT * FROM aex.compare('SELECT f * 2 - 1, f / 4, r + f, r * r, r / 2::real, count(*) FROM $t GROUP BY 1, 2, 3, 4, 5');
SELECT * FROM aex.compare('SELECT price * qty, price + qty, price - 1, price * 1.10, qty * id, count(*) FROM $t GROUP BY 1, 2, 3, 4, 5');
SELECT * FROM aex.compare('SELECT sum(price * qty), avg(price * qty), min(price - qty), max(price + 0.125), sum(price * (1 - qty)), sum(price * price * price) FROM $t');
SELECT * FROM aex.compare('SELECT small, sum(f * 2), avg(f / 3 + r), sum(r * 2::real), max(f - r), sum(id::float8 * f) FROM $t WHERE f < 1000 GROUP BY small');
SELECT * FROM aex.compare('SELECT small, stddev(f), stddev_pop(f), variance(r), var_pop(r), var_samp(f), stddev_samp(r * 2), stddev(id::float8) FROM $t GROUP BY small');
SELECT * FROM aex.compare('SELECT id, stddev(f), stddev_pop(f), var_samp(r), var_pop(r) FROM $t GROUP BY id');
SELECT * FROM aex.compare('SELECT sum(wide * wide), sum(price / qty) FROM $t WHERE qty > 0');

-- strings
SELECT * FROM aex.compare('SELECT lower(word), upper(other), length(word), left(other, 1), substr(word, 1, 4), count(*) FROM $t GROUP BY 1, 2, 3, 4, 5');
SELECT * FROM aex.compare('SELECT word || other, coalesce(word, ''none''), tag || ''!'', length(tag), raw || raw, md5(word), count(*) FROM $t GROUP BY 1, 2, 3, 4, 5, 6');
SELECT * FROM aex.compare('SELECT max(length(word)), min(upper(word)), max(lower(word) || id), count(DISTINCT left(word, 5)), count(upper(word)) FROM $t');
SELECT * FROM aex.compare('SELECT other::varchar(1), other::text, word::varchar, count(*) FROM $t GROUP BY 1, 2, 3');
SELECT * FROM aex.compare('SELECT word LIKE ''%d 3'', word ~ ''5$'', other = ''ö1'', word IN (''Word 1'', ''Word 2''), flag IS NULL, NOT flag, flag AND id > 5, count(*) FROM $t GROUP BY 1, 2, 3, 4, 5, 6, 7');
SELECT rows, same FROM aex.compare('SELECT max(upper(other)), min(other) FROM $t');

-- CASE and the like
SELECT * FROM aex.compare('SELECT CASE WHEN id < 100 THEN ''few'' WHEN flag THEN word ELSE ''many'' END k, count(*), sum(CASE WHEN flag THEN f ELSE 0 END) FROM $t GROUP BY k');
SELECT * FROM aex.compare('SELECT CASE small WHEN 1 THEN ''one'' WHEN 2 THEN ''two'' END k, count(*) FROM $t GROUP BY k');
SELECT * FROM aex.compare('SELECT coalesce(day, date ''2000-01-01''), coalesce(at, ''infinity''), CASE WHEN flag THEN day ELSE ''infinity'' END, CASE WHEN flag THEN at END, nullif(small, 2), greatest(id, small), count(*) FROM $t GROUP BY 1, 2, 3, 4, 5, 6');
SELECT * FROM aex.compare('SELECT min(CASE WHEN flag THEN day ELSE ''-infinity'' END), max(coalesce(at, ''infinity'')), bool_and(id > 0), bool_or(length(word) > 100), every(f > 0) FROM $t');
SELECT * FROM aex.compare('SELECT count(*) FILTER (WHERE length(word) > 5), count(DISTINCT small) FILTER (WHERE flag), count(DISTINCT word), count(DISTINCT id % 10) FILTER (WHERE word ~ ''3'' AND id > 50), sum(id) FILTER (WHERE f / 2 > 7) FROM $t');
SELECT * FROM aex.compare('SELECT 100 / nullif(small, 0) k, count(*) FROM $t GROUP BY k');
SELECT * FROM aex.compare('SELECT 100 / small k, sum(7 % small), count(*) FROM $t WHERE small <> 0 GROUP BY k');
SELECT * FROM aex.compare('SELECT CASE WHEN small <> 0 THEN 100 / small END k, sum(CASE WHEN small <> 0 THEN 7 % small END), sum(7 / small) FILTER (WHERE small > 0) FROM $t GROUP BY k');

-- DISTINCT
SELECT * FROM aex.compare('SELECT DISTINCT small, flag FROM $t WHERE id > 5');
SELECT * FROM aex.compare('SELECT DISTINCT date_trunc(''month'', at), upper(word) FROM $t');
SELECT * FROM aex.compare('SELECT DISTINCT word, length(word) AS n FROM $t ORDER BY n DESC, word LIMIT 5');
SELECT * FROM aex.compare('SELECT DISTINCT small, count(*) FROM $t GROUP BY small, flag');
SELECT * FROM aex.compare('SELECT DISTINCT ON (small) small, id FROM $t ORDER BY small, id');
SELECT * FROM aex.compare('SELECT DISTINCT small, rank() OVER (ORDER BY flag) FROM $t');
SELECT * FROM aex.compare('SELECT DISTINCT small, generate_series(1, 2) FROM $t');
SELECT * FROM aex.compare('SELECT DISTINCT f, tag FROM $t');

-- what is left to the server
SELECT * FROM aex.compare('SELECT seen - date_trunc(''day'', seen) k, count(*) FROM $t GROUP BY k');
SELECT * FROM aex.compare('SELECT price / 3 k, count(*) FROM $t GROUP BY k');
SELECT * FROM aex.compare('SELECT id + (random() * 0)::int k, count(*) FROM $t GROUP BY k');
SELECT * FROM aex.compare('SELECT (SELECT max(x) FROM generate_series(1, small) x) k, count(*) FROM $t GROUP BY k');

-- no rows
SELECT count(*), sum(f * 2), max(upper(word)), stddev(f), count(DISTINCT id % 2), bool_or(f > 1) FROM aex.none;
SELECT date_trunc('day', at), count(*) FROM aex.none GROUP BY 1;
SELECT DISTINCT upper(word) FROM aex.none;

-- errors are the server's
SELECT 1 / small AS k, count(*) FROM aex.t GROUP BY k;
SELECT sum(id % (small - small)) FROM aex.t;
SELECT sum(1 / f) FROM aex.t WHERE id = 50;
SELECT sum(f * 1e308) FROM aex.t WHERE id = 49;
SELECT max(f * 1e-200 * 1e-200) FROM aex.t WHERE id = 49;
SELECT sum(small * 30000::smallint) FROM aex.t;
SELECT (big * 10000000)::text AS k, count(*) FROM aex.t GROUP BY k;
SELECT ln(small) AS k, count(*) FROM aex.t GROUP BY k;
SELECT date_trunc('fortnight', at) AS k, count(*) FROM aex.t GROUP BY k;

-- parameters
PREPARE p (int, text) AS SELECT id % $1 AS k, count(*), count(*) FILTER (WHERE word = $2), sum(CASE WHEN id > $1 * 100 THEN f ELSE 0 END) FROM aex.t WHERE f < 20 GROUP BY k ORDER BY k;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE p (3, 'Word 1');
EXECUTE p (3, 'Word 1');
EXECUTE p (2, 'Word 2');
EXECUTE p (NULL, NULL);
EXECUTE p (0, 'Word 2');
RESET plan_cache_mode;
SELECT x, (SELECT count(DISTINCT id % x) FROM aex.t) FROM generate_series(1, 4) x;
SELECT x, (SELECT string_agg(k::text, ' ' ORDER BY k) FROM (SELECT DISTINCT small * x AS k FROM aex.t WHERE small > x) y) FROM generate_series(0, 3) x;
SELECT id > (SELECT 2990) AS k, count(*) FROM aex.t GROUP BY k ORDER BY k;

-- tables that are merged while they are read
CREATE FOREIGN TABLE aex.keyed (id int, at timestamp(6), v double precision, name text) SERVER lake OPTIONS (primary_key 'id', bucket '1');
INSERT INTO aex.keyed SELECT i, timestamp '2024-01-01' + i * interval '1 day', i, 'n' || i % 5 FROM generate_series(1, 300) i;
INSERT INTO aex.keyed SELECT i, timestamp '2025-01-01' + i * interval '1 day', -i, 'm' || i % 5 FROM generate_series(100, 200) i;
DELETE FROM aex.keyed WHERE id % 10 = 0;
SELECT date_trunc('quarter', at) AS q, left(name, 1) AS n, count(*), sum(v / 2), count(DISTINCT upper(name)) FROM aex.keyed GROUP BY q, n ORDER BY q, n;

-- more inputs than are kept, and little memory
CREATE FOREIGN TABLE aex.many (id int, at timestamptz(3), name text) SERVER lake;
INSERT INTO aex.many SELECT i, timestamptz '2024-03-30 00:00' + i * interval '7 seconds', 'name ' || i FROM generate_series(1, 150000) i;
SELECT count(*), sum(n), min(k), max(k) FROM (SELECT upper(name) || 'x' AS k, count(*) n FROM aex.many GROUP BY k) x;
SELECT count(*), sum(n), min(k), max(k) FROM (SELECT date_trunc('hour', at) AS k, count(*) n FROM aex.many GROUP BY k) x;
SELECT sum(length(name)), count(DISTINCT md5(name)) FROM aex.many;
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT count(*), sum(n), min(k), max(k) FROM (SELECT lower(name) AS k, count(*) n FROM aex.many WHERE id <= 40000 GROUP BY k) x;
RESET work_mem;
RESET hash_mem_multiplier;
DROP SCHEMA aex CASCADE;
