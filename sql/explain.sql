-- EXPLAIN tells what of a table is read.
CREATE SCHEMA explain;
CREATE FOREIGN TABLE explain.t (id int, day date, note text) SERVER lake OPTIONS (partition 'day');
INSERT INTO explain.t SELECT i, date '2024-01-01' + i % 4, 'note ' || i FROM generate_series(1, 1000) i;
INSERT INTO explain.t SELECT i, date '2024-01-01' + i % 4, 'note ' || i FROM generate_series(1001, 2000) i;
-- of ANALYZE only what the lake says: the rest differs between servers
CREATE FUNCTION pg_temp.lake_lines(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Lake|Partitions|Manifests|Files|Row Groups|Pages|Bytes|Rows Removed' THEN
			line := regexp_replace(trim(line), '\$0|\(InitPlan 1\)\.col1', 'SUBQUERY');
			RETURN NEXT regexp_replace(line, '[0-9]+ bytes', 'N bytes');
		END IF;
	END LOOP;
END $$;

EXPLAIN (COSTS OFF) SELECT * FROM explain.t;
EXPLAIN (COSTS OFF) SELECT * FROM explain.t WHERE day = '2024-01-02' AND id > 1500 AND length(note) > 3;
EXPLAIN (COSTS OFF) SELECT * FROM explain.t WHERE day < '2000-01-01';
EXPLAIN (COSTS OFF) SELECT * FROM explain.t a JOIN explain.t b USING (id) WHERE a.day = '2024-01-02' AND b.day = '2024-01-03';
SELECT * FROM pg_temp.lake_lines('SELECT * FROM explain.t');
SELECT * FROM pg_temp.lake_lines('SELECT * FROM explain.t WHERE day = ''2024-01-02'' AND id > 1500');
SELECT * FROM pg_temp.lake_lines('SELECT * FROM explain.t WHERE day = ''2024-01-02'' AND id % 2 = 0');
SELECT * FROM pg_temp.lake_lines('SELECT * FROM explain.t WHERE id = 5000');
SELECT * FROM pg_temp.lake_lines('SELECT * FROM explain.t WHERE day = (SELECT date ''2024-01-03'')');
-- a scan that is never run, a table without snapshots, rows of this transaction
SELECT * FROM pg_temp.lake_lines('SELECT * FROM explain.t WHERE (SELECT false)');
CREATE FOREIGN TABLE explain.empty (id int) SERVER lake;
EXPLAIN (COSTS OFF) SELECT * FROM explain.empty;
SELECT * FROM pg_temp.lake_lines('SELECT * FROM explain.empty');
BEGIN;
INSERT INTO explain.empty VALUES (1);
SELECT * FROM pg_temp.lake_lines('SELECT * FROM explain.empty');
ROLLBACK;
-- numbers for programs
CREATE FUNCTION pg_temp.scan_properties(query text) RETURNS TABLE (property text, value jsonb) LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) ' || query INTO plan;
	RETURN QUERY SELECT key, jsonb_each.value FROM jsonb_each(plan::jsonb -> 0 -> 'Plan')
		WHERE key ~ 'Lake|Partitions|Manifests|Files|Row Groups|Pages' ORDER BY key;
END $$;
SELECT * FROM pg_temp.scan_properties('SELECT * FROM explain.t WHERE day = ''2024-01-02''');
-- row estimates come from the lake's counts
CREATE FUNCTION pg_temp.estimate(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows';
END $$;
SELECT pg_temp.estimate('SELECT * FROM explain.t'), pg_temp.estimate('SELECT * FROM explain.empty'),
	pg_temp.estimate('SELECT * FROM explain.t WHERE day < ''2000-01-01''');
-- merged files, and what a second look finds in memory
CREATE FOREIGN TABLE explain.keyed (id int NOT NULL, note text) SERVER lake OPTIONS (primary_key 'id', bucket '1');
INSERT INTO explain.keyed SELECT i, 'a' FROM generate_series(1, 10) i;
INSERT INTO explain.keyed SELECT i, 'b' FROM generate_series(5, 15) i;
SELECT count(*) FROM explain.keyed WHERE note = 'a';
CREATE FUNCTION pg_temp.cache_lines(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Splits|Cache' THEN
			RETURN NEXT regexp_replace(trim(line), '[0-9]+ pages', 'N pages');
		END IF;
	END LOOP;
END $$;
SELECT * FROM pg_temp.cache_lines('SELECT * FROM explain.keyed');
SET streamhouse.metadata_cache_size = 0;
SELECT * FROM pg_temp.cache_lines('SELECT * FROM explain.keyed');
RESET streamhouse.metadata_cache_size;
