-- What is pushed down, and that it changes no result.
SET timezone TO 'UTC';
SET datestyle TO 'ISO';
CREATE SCHEMA pushdown;
CREATE FOREIGN TABLE pushdown.t (
	i int, b bigint, s smallint, r real, f double precision, n numeric(10,2), flag boolean,
	v varchar(20), t text, c character(5), x bytea, d date, ti time(3), ts timestamp(3), tz timestamptz
) SERVER lake;
INSERT INTO pushdown.t
SELECT i, i * 1000000000::bigint, i, i + 0.1, i + 0.1, i + 0.25, CASE i % 3 WHEN 0 THEN true WHEN 1 THEN false END,
	'v' || i, 't' || i, 'c' || i, decode(lpad(to_hex(i), 4, '0'), 'hex'), date '2024-01-01' + i, time '00:00' + i * interval '1 minute',
	timestamp '2024-01-01' + i * interval '1 hour', timestamptz '2024-01-01 00:00+00' + i * interval '1 hour'
FROM generate_series(-20, 100) i;
INSERT INTO pushdown.t (i) VALUES (NULL);
INSERT INTO pushdown.t (r, f) VALUES ('NaN', 'NaN'), ('infinity', 'infinity'), ('-infinity', '-infinity');
CREATE TEMP TABLE local AS SELECT * FROM pushdown.t;
ANALYZE local;

-- the filters that the lake applies and those that the executor keeps
CREATE FUNCTION pg_temp.filters(condition text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	lake bigint;
	heap bigint;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) SELECT * FROM pushdown.t WHERE ' || condition LOOP
		IF line ~ 'Filter:' THEN
			-- how the result of a subquery is called differs between servers
			RETURN NEXT regexp_replace(trim(line), '\$0|\(InitPlan 1\)\.col1', 'SUBQUERY');
		END IF;
	END LOOP;
	EXECUTE 'SELECT count(*) FROM (SELECT * FROM pushdown.t WHERE ' || condition || ') s' INTO lake;
	EXECUTE 'SELECT count(*) FROM (SELECT * FROM local WHERE ' || condition || ') s' INTO heap;
	RETURN NEXT CASE WHEN lake = heap THEN format('%s rows', lake) ELSE format('WRONG: %s rows, not %s', lake, heap) END;
END $$;

-- comparisons, also with constants of other types, between or beyond the column's values
SELECT * FROM pg_temp.filters('i = 5');
SELECT * FROM pg_temp.filters('5 > i');
SELECT * FROM pg_temp.filters('i <> 5 AND b >= 3000000000 AND s < 40000');
SELECT * FROM pg_temp.filters('i = 5000000000');
SELECT * FROM pg_temp.filters('i < 5000000000');
SELECT * FROM pg_temp.filters('i > 4.5 AND i <= 7.0');
SELECT * FROM pg_temp.filters('n = 1.25 OR n = 2.255');
SELECT * FROM pg_temp.filters('n > 1.251 AND n < 1e30');
SELECT * FROM pg_temp.filters('n < ''NaN''');
SELECT * FROM pg_temp.filters('r = 1.1::real');
SELECT * FROM pg_temp.filters('r < 1.1::float8');
SELECT * FROM pg_temp.filters('r > 1.1::float8');
SELECT * FROM pg_temp.filters('f > ''infinity''');
SELECT * FROM pg_temp.filters('f = ''NaN''');
SELECT * FROM pg_temp.filters('d > ''2024-01-10 12:00''::timestamp');
SELECT * FROM pg_temp.filters('d <= ''infinity''');
SELECT * FROM pg_temp.filters('ts = ''2024-01-02''::date');
SELECT * FROM pg_temp.filters('ts >= ''2024-01-02 00:00:00.0001''');
SELECT * FROM pg_temp.filters('tz < ''2024-01-02 00:00+01''');
SELECT * FROM pg_temp.filters('ti <= ''00:10:00.0005''');
SELECT * FROM pg_temp.filters('x > ''\x0005''');
-- strings: equality always, order where the collation has that of bytes
SELECT * FROM pg_temp.filters('t = ''t5'' AND v = ''v5''');
SELECT * FROM pg_temp.filters('t > ''t5'' COLLATE "C"');
SELECT * FROM pg_temp.filters('v LIKE ''v1%''');
SELECT * FROM pg_temp.filters('v LIKE ''v1_%''');
SELECT * FROM pg_temp.filters('v LIKE ''v10''');
SELECT * FROM pg_temp.filters('v LIKE ''v\_%''');
SELECT * FROM pg_temp.filters('v NOT LIKE ''v1%''');
SELECT * FROM pg_temp.filters('c = ''c5''');
SELECT * FROM pg_temp.filters('c IN (''c5  '', ''c6'') AND c <> ''c7''');
SELECT * FROM pg_temp.filters('c NOT IN (''c5'', ''too long'') AND c > ''c9''');
SELECT * FROM pg_temp.filters('c IS DISTINCT FROM ''c5''');
-- instants and local times
SELECT * FROM pg_temp.filters('tz >= date ''2024-01-03'' AND tz < timestamp ''2024-01-04 05:00''');
SELECT * FROM pg_temp.filters('tz IN (date ''2024-01-03'', date ''2024-01-04'') OR tz > date ''5874897-12-31''');
SET timezone TO 'America/New_York';
SELECT * FROM pg_temp.filters('tz = date ''2024-01-03''');
SET timezone TO 'UTC';
SELECT * FROM pg_temp.filters('tz <= current_date AND ts <= localtimestamp');
SELECT * FROM pg_temp.filters('(i = 5 OR flag) IS TRUE');
SELECT * FROM pg_temp.filters('c IS NOT NULL');
-- lists, nulls, booleans
SELECT * FROM pg_temp.filters('i IN (1, 2, 3, NULL)');
SELECT * FROM pg_temp.filters('i NOT IN (1, 2, 3)');
SELECT * FROM pg_temp.filters('i NOT IN (1, 2, NULL)');
SELECT * FROM pg_temp.filters('i <> ALL (''{}''::int[])');
SELECT * FROM pg_temp.filters('n IN (1.25, 1.255, 2.25)');
SELECT * FROM pg_temp.filters('i IS NULL');
SELECT * FROM pg_temp.filters('i IS NOT NULL AND v IS NULL');
SELECT * FROM pg_temp.filters('i IS DISTINCT FROM 5');
SELECT * FROM pg_temp.filters('i IS NOT DISTINCT FROM NULL');
SELECT * FROM pg_temp.filters('flag');
SELECT * FROM pg_temp.filters('NOT flag');
SELECT * FROM pg_temp.filters('flag IS NOT TRUE');
SELECT * FROM pg_temp.filters('flag IS UNKNOWN');
SELECT * FROM pg_temp.filters('flag = false');
-- AND, OR, NOT; parts of an AND, but never of an OR
SELECT * FROM pg_temp.filters('i BETWEEN 3 AND 5 OR v = ''v7''');
SELECT * FROM pg_temp.filters('NOT (i < 90 OR v = ''v95'')');
SELECT * FROM pg_temp.filters('NOT (i BETWEEN 3 AND 5 AND flag)');
SELECT * FROM pg_temp.filters('(i < 5 AND i % 2 = 0) OR i = 50');
SELECT * FROM pg_temp.filters('i < 5 OR i % 2 = 0');
SELECT * FROM pg_temp.filters('NOT (i < 5 AND i % 2 = 0)');
-- known when the scan begins
SELECT * FROM pg_temp.filters('i = (SELECT max(i) - 1 FROM local)');
SELECT * FROM pg_temp.filters('tz < now()');
SELECT * FROM pg_temp.filters('i = ANY (ARRAY(SELECT generate_series(1, 3)))');
-- not: other columns, volatile functions, casts that lose something, time zones in between
SELECT * FROM pg_temp.filters('i = s');
SELECT * FROM pg_temp.filters('f < random() * 0 - 5');
SELECT * FROM pg_temp.filters('n::int = 1');
SELECT * FROM pg_temp.filters('ts < now()');

-- the setting
SET streamhouse.pushdown = off;
SELECT * FROM pg_temp.filters('i = 5');
RESET streamhouse.pushdown;

-- why the executor tests a clause
CREATE FUNCTION pg_temp.why(condition text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF, FORMAT json) SELECT * FROM pushdown.t WHERE ' || condition INTO plan;
	RETURN QUERY SELECT * FROM json_array_elements_text(plan -> 0 -> 'Plan' -> 'Not Pushed Down');
END $$;
SELECT * FROM pg_temp.why('i = 5 AND t = ''t5''');
SELECT * FROM pg_temp.why('i = s AND i % 2 = 0 AND 3 < i + 1');
SELECT * FROM pg_temp.why('v LIKE ''v1%0'' AND t ~~* ''T%''');
SELECT count(*) = (SELECT count(*) FROM pg_database WHERE datname = current_database() AND datcollate NOT IN ('C', 'POSIX'))
FROM pg_temp.why('t > ''t5''') AS why WHERE why LIKE '%: collation "default" has another order than the lake';
SELECT * FROM pg_temp.why('f < random()');
SELECT why LIKE '%: it has a subquery' FROM pg_temp.why('i > ALL (SELECT b FROM local WHERE i = t.i)');
SELECT * FROM pg_temp.why('ts < now() AND NOT (v LIKE ''v1%'')');
SELECT * FROM pg_temp.why('(i < 5 OR (i = 6 AND t ~ ''6'')) AND (i + 1) IS NOT NULL AND i = ANY (ARRAY[s, 3]) AND isfinite(d)');
SET streamhouse.pushdown = off;
SELECT * FROM pg_temp.why('i = 5');
RESET streamhouse.pushdown;

-- parameters of prepared statements
PREPARE by_range(int, numeric) AS SELECT i, n FROM pushdown.t WHERE i > $1 AND n <= $2 ORDER BY i;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE by_range(1, 2);
EXECUTE by_range(1, 4.255);
EXECUTE by_range(97, 1000);
EXECUTE by_range(NULL, 1000);
RESET plan_cache_mode;
