-- Scans in all places of a plan: each compared with a heap copy, or plain to see.
CREATE SCHEMA scan;
CREATE FOREIGN TABLE scan.t (id int, grp int, note text) SERVER lake;
INSERT INTO scan.t SELECT i, i % 10, 'note ' || i FROM generate_series(1, 5000) i;
CREATE TABLE scan.heap AS SELECT * FROM scan.t;
ANALYZE scan.heap;
SELECT count(*), count(id), count(t.*), sum(id), min(note), max(note) FROM scan.t;
SELECT count(*) FROM (SELECT * FROM scan.t EXCEPT SELECT * FROM scan.heap) AS different;

-- no columns, some columns in another order, the whole row, system columns
SELECT 1 AS one FROM scan.t LIMIT 2;
SELECT note, id FROM scan.t WHERE grp = 3 ORDER BY id LIMIT 2;
SELECT t FROM scan.t WHERE id = 7;
SELECT to_jsonb(t) FROM scan.t WHERE id = 7;
SELECT tableoid::regclass, id FROM scan.t WHERE id = 7;
SELECT xmin FROM scan.t LIMIT 1;

-- rescans, with and without new parameters
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SET enable_memoize = off;
SELECT count(*), sum(a.id) FROM scan.heap h JOIN scan.t a ON a.id = h.id AND a.grp = h.grp WHERE h.id <= 10;
SELECT h.id, l.* FROM scan.heap h, LATERAL (SELECT t.id AS lake_id, t.note FROM scan.t WHERE t.id = h.id * 2) l WHERE h.id <= 3 ORDER BY 1;
SELECT h.id, (SELECT count(*) FROM scan.t WHERE t.grp = h.id AND t.id > h.id * 1000) FROM scan.heap h WHERE h.id <= 3 ORDER BY 1;
SELECT h.id, (SELECT t.note FROM scan.t WHERE t.id > h.id ORDER BY t.id LIMIT 1) FROM scan.heap h WHERE h.id IN (1, 4999, 5000) ORDER BY 1;
SELECT h.id FROM scan.heap h WHERE h.id < 5 AND EXISTS (SELECT FROM scan.t WHERE t.id = h.id + 4997) ORDER BY 1;
RESET ALL;

-- joins, aggregates, windows, set operations, CTE
SELECT count(*) FROM scan.t a JOIN scan.t b USING (id) JOIN scan.heap h USING (id) WHERE a.grp = 5;
SELECT grp, count(*), sum(id) FROM scan.t GROUP BY grp ORDER BY grp LIMIT 3;
SELECT id, lag(id) OVER (ORDER BY id) FROM scan.t WHERE id % 1000 = 0 ORDER BY id;
WITH RECURSIVE r AS (SELECT 1 AS id UNION ALL SELECT t.id FROM r JOIN scan.t ON t.id = r.id * 10) SELECT * FROM r;
SELECT * FROM scan.t WHERE id = 1 UNION ALL SELECT * FROM scan.heap WHERE id = 2 ORDER BY id;

-- cursors
BEGIN;
DECLARE forward CURSOR FOR SELECT id FROM scan.t WHERE id > 2045;
FETCH 5 FROM forward;
MOVE 2000 FROM forward;
FETCH 2 FROM forward;
DECLARE scrolling SCROLL CURSOR FOR SELECT id FROM scan.t WHERE id <= 5 ORDER BY id;
FETCH ALL FROM scrolling;
FETCH BACKWARD 2 FROM scrolling;
FETCH FIRST FROM scrolling;
COMMIT;

-- a cursor does not see what comes after it was opened, nor does a statement its own rows
BEGIN;
DECLARE before CURSOR FOR SELECT id FROM scan.t WHERE id > 4999 ORDER BY id;
INSERT INTO scan.t VALUES (5001, 1, 'later');
FETCH ALL FROM before;
SELECT id FROM scan.t WHERE id > 4999 ORDER BY id;
INSERT INTO scan.t SELECT id + 1000, grp, note FROM scan.t WHERE id > 4999;
SELECT id FROM scan.t WHERE id > 4999 ORDER BY id;
WITH added AS (INSERT INTO scan.t VALUES (7000, 1, 'cte') RETURNING id)
SELECT (SELECT max(id) FROM scan.t), id FROM added;
ROLLBACK;
SELECT count(*) FROM scan.t;

-- partition and inheritance child
CREATE TABLE scan.parent (id int, grp int, note text) PARTITION BY LIST (grp);
CREATE TABLE scan.parent_heap PARTITION OF scan.parent FOR VALUES IN (1);
CREATE FOREIGN TABLE scan.parent_lake PARTITION OF scan.parent FOR VALUES IN (2) SERVER lake;
INSERT INTO scan.parent SELECT * FROM scan.heap WHERE grp IN (1, 2);
SELECT tableoid::regclass, count(*) FROM scan.parent GROUP BY 1 ORDER BY 1;
SELECT * FROM scan.parent WHERE id IN (11, 12) ORDER BY id;
EXPLAIN (COSTS OFF) SELECT * FROM scan.parent WHERE grp = 2 AND id < 10;
-- attributes at other places than the parent's
CREATE TABLE scan.base (a int, b text);
CREATE FOREIGN TABLE scan.child (b text, x int, a int) SERVER lake;
ALTER FOREIGN TABLE scan.child DROP COLUMN x;
INSERT INTO scan.child VALUES ('child', 1);
DROP FOREIGN TABLE scan.child;
CREATE FOREIGN TABLE scan.child (b text, a int) SERVER lake OPTIONS ("table" 'child_too');
INSERT INTO scan.child VALUES ('child', 1);
ALTER FOREIGN TABLE scan.child INHERIT scan.base;
INSERT INTO scan.base VALUES (2, 'base');
SELECT * FROM scan.base ORDER BY a;

-- rows locked in a join
BEGIN;
SELECT h.id, t.note FROM scan.heap h JOIN scan.t USING (id) WHERE t.id = 42 FOR UPDATE OF h;
SELECT id FROM scan.t WHERE id = 42 FOR SHARE;
ROLLBACK;

-- views and row security of views
CREATE VIEW scan.odd WITH (security_barrier) AS SELECT * FROM scan.t WHERE id % 2 = 1;
SELECT count(*) FROM scan.odd WHERE id < 10;

-- in a function, and in a subtransaction that fails half way
CREATE FUNCTION scan.total() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	total bigint := 0;
	row record;
BEGIN
	FOR row IN SELECT id FROM scan.t ORDER BY id LOOP
		total := total + row.id;
	END LOOP;
	RETURN total;
END $$;
SELECT scan.total();
DO $$ BEGIN
	PERFORM 1 / (id - 4000) FROM scan.t;
EXCEPTION WHEN division_by_zero THEN
	RAISE NOTICE 'caught: %', SQLERRM;
END $$;
SELECT count(*) FROM scan.t;
