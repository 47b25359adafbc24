-- Parallel workers share a scan: each split is read once, at the leader's snapshot.
CREATE SCHEMA par;
CREATE FOREIGN TABLE par.t (part int, id int, word text COLLATE "C", price numeric(10,2), big bigint, f double precision) SERVER lake
	OPTIONS (partition 'part');
INSERT INTO par.t SELECT i % 8, i, 'w' || i % 5, i / 4.0, CASE WHEN i % 9 > 0 THEN i * 1000000000000 END, i / 8.0 FROM generate_series(1, 4000) i;
CREATE TABLE par.h AS SELECT * FROM par.t;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET seq_page_cost = 1000;

EXPLAIN (COSTS OFF) SELECT id, word FROM par.t WHERE id % 2 = 0;
EXPLAIN (COSTS OFF) SELECT word, count(*), sum(id), avg(id), sum(price), avg(price), sum(big), avg(big), avg(f), min(word), max(f) FROM par.t GROUP BY word;
SELECT count(*), sum(id), sum(length(word)) FROM (SELECT id, word FROM par.t WHERE id % 2 = 0) x;
-- what workers have aggregated is combined by the server
SELECT word, count(*), sum(id), avg(id), sum(price), avg(price), sum(big), avg(big), avg(f), min(word), max(f) FROM par.t GROUP BY word ORDER BY word;
SELECT word, count(*), sum(id), avg(id), sum(price), avg(price), sum(big), avg(big), avg(f), min(word), max(f) FROM par.h GROUP BY word ORDER BY word;
SELECT count(*), sum(big), avg(big), avg(price), avg(f), sum(f), max(word), bool_or(id > 3999) FROM par.t;
SELECT count(*), sum(big), avg(big), avg(price), avg(f), sum(f), max(word), bool_or(id > 3999) FROM par.h;
SELECT sum(big), avg(big), avg(price), avg(f), avg(id), max(word) FROM par.t WHERE id > 3 AND id < 3;
SELECT word, avg(big), sum(price) FROM par.t WHERE id IN (9, 18, 27) GROUP BY word ORDER BY word;

-- joins, and scans begun again
SELECT count(*), sum(a.id) FROM par.t a JOIN par.t b ON a.id = b.id + 1 WHERE a.price > 5;
SELECT x, (SELECT count(*) FROM par.t WHERE id <= x AND id % 2 = 0) FROM generate_series(0, 20, 10) x;

-- the counters are those of all
CREATE FUNCTION pg_temp.lake_lines(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Lake|Partitions|Files|Row Groups' THEN
			RETURN NEXT trim(line);
		END IF;
	END LOOP;
END $$;
SELECT * FROM pg_temp.lake_lines('SELECT id, word FROM par.t WHERE id % 2 = 0');
SET parallel_leader_participation = off;
SELECT * FROM pg_temp.lake_lines('SELECT id, word FROM par.t WHERE id % 2 = 0');
SELECT count(*), sum(id) FROM (SELECT id FROM par.t WHERE id % 2 = 0) x;
RESET parallel_leader_participation;

-- one large file is cut by rows
CREATE FOREIGN TABLE par.long (id int, word text COLLATE "C") SERVER lake;
INSERT INTO par.long SELECT i, md5(i::text) FROM generate_series(1, 300000) i;
SELECT * FROM pg_temp.lake_lines('SELECT id, word FROM par.long WHERE id % 2 = 0');
SELECT count(*), sum(id), sum(hashtext(word)) FROM (SELECT id, word FROM par.long WHERE id % 2 = 0) x;
SELECT count(*), sum(i), sum(hashtext(md5(i::text))) FROM generate_series(2, 300000, 2) i;
SELECT id % 3 AS k, count(*), sum(id), min(word), max(word) FROM par.long GROUP BY id % 3 ORDER BY 1;
SELECT i % 3 AS k, count(*), sum(i), min(md5(i::text) COLLATE "C"), max(md5(i::text) COLLATE "C") FROM generate_series(1, 300000) i GROUP BY i % 3 ORDER BY 1;
SELECT count(*), min(id) FROM (SELECT id FROM par.long WHERE id BETWEEN 99900 AND 250100 AND id % 2 = 0) x;

-- a transaction's own rows are not for workers
BEGIN;
PREPARE q AS SELECT count(*), sum(id) FROM par.t WHERE id % 2 = 0;
SET LOCAL plan_cache_mode = force_generic_plan;
EXECUTE q;
INSERT INTO par.t VALUES (1, 5000, 'w1', 1, 1, 1);
EXPLAIN (COSTS OFF) SELECT id, word FROM par.t WHERE id % 2 = 0;
SELECT count(*), sum(id) FROM par.t WHERE id % 2 = 0;
EXECUTE q;
ROLLBACK;
EXECUTE q;

-- the past
SET streamhouse.as_of = '1';
SELECT count(*), sum(id) FROM par.t WHERE id % 2 = 0;
RESET streamhouse.as_of;
DROP SCHEMA par CASCADE;
