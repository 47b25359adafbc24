-- Joins that look rows up by key, and the cache of metadata.
\set VERBOSITY terse
-- those that look up the key of one row at a time
SET streamhouse.enable_lookup_join = off;
CREATE FOREIGN TABLE lookup_items (id bigint NOT NULL, name text, price numeric(10,2)) SERVER lake
	OPTIONS (primary_key 'id', bucket '2');
INSERT INTO lookup_items SELECT g, 'item ' || g, g * 1.25 FROM generate_series(1, 60000) g;
CREATE FOREIGN TABLE lookup_lines (shop int NOT NULL, line int NOT NULL, item bigint, note text COLLATE "C") SERVER lake
	OPTIONS (primary_key 'shop,line', bucket '1');
INSERT INTO lookup_lines SELECT g % 300, g, g * 7 % 60000, 'note ' || g FROM generate_series(1, 30000) g;
CREATE TABLE heap_items AS SELECT * FROM lookup_items;
CREATE TABLE heap_lines AS SELECT * FROM lookup_lines;
CREATE INDEX ON heap_items (id);
CREATE TABLE wanted (n int, item bigint, shop int, tag text COLLATE "C");
INSERT INTO wanted SELECT g, CASE WHEN g % 5 = 0 THEN NULL ELSE g * 997 END, g * 29, 't' || g FROM generate_series(1, 12) g;
INSERT INTO wanted VALUES (13, 70000, -1, 'none'), (14, 997, 29, 'again');
ANALYZE wanted, heap_items, heap_lines;

-- EXPLAIN, without what servers number or order differently
CREATE FUNCTION plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		RETURN NEXT regexp_replace(regexp_replace(line, '\$\d+', '$n', 'g'), '\(\$n = (\w+)\)', '(\1 = $n)');
	END LOOP;
END $$;

-- few outer rows look the key up; many do not
SELECT plan_of($$SELECT w.tag, i.name FROM wanted w JOIN lookup_items i ON i.id = w.item$$);
SELECT plan_of($$SELECT w.tag, i.name FROM wanted w LEFT JOIN lookup_items i ON i.id = w.item + 1 AND w.n < 10$$);
SELECT plan_of($$SELECT count(h.name) FROM heap_items h JOIN lookup_items i ON i.id = h.id$$);
-- not by what files are not sorted by
SELECT plan_of($$SELECT w.tag, i.id FROM wanted w JOIN lookup_items i ON i.name = w.tag$$);

-- the same rows as from heap tables, with other values for each outer row, and none for NULL
SELECT w.n, i.* FROM wanted w JOIN lookup_items i ON i.id = w.item ORDER BY w.n;
SELECT w.n, i.id FROM wanted w LEFT JOIN lookup_items i ON i.id = w.item + 1 AND w.n < 10 ORDER BY w.n;
CREATE FUNCTION same_rows(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	same bool;
BEGIN
	EXECUTE format('SELECT NOT EXISTS ((%1$s EXCEPT ALL %2$s) UNION ALL (%2$s EXCEPT ALL %1$s))',
				   query, replace(query, 'lookup_', 'heap_')) INTO same;
	RETURN same;
END $$;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT plan_of($$SELECT w.n, l.* FROM wanted w JOIN lookup_lines l ON l.shop = w.shop AND l.line > w.n * 1000 AND l.note > w.tag || '9'$$);
SELECT same_rows('SELECT w.n, l.* FROM wanted w JOIN lookup_lines l ON l.shop = w.shop');
SELECT same_rows('SELECT w.n, l.* FROM wanted w JOIN lookup_lines l ON l.shop = w.shop AND l.line > w.n * 1000');
SELECT same_rows('SELECT w.n, i.* FROM wanted w JOIN lookup_lines l ON l.shop = w.shop JOIN lookup_items i ON i.id = l.item WHERE w.n < 3');
SELECT same_rows('SELECT w.n, (SELECT i.name FROM lookup_items i WHERE i.id = w.item) FROM wanted w');
SELECT same_rows('SELECT w.n, x.* FROM wanted w, LATERAL (SELECT * FROM lookup_items i WHERE i.id BETWEEN w.item AND w.item + 2) x');
-- what else the join asks for may be none of the lake's business
SELECT same_rows('SELECT w.n, l.* FROM wanted w JOIN lookup_lines l ON l.shop = w.shop AND l.note > w.tag || ''9''');
SELECT same_rows('SELECT w.n, l.* FROM wanted w JOIN lookup_lines l ON l.shop = w.shop AND (l.line % 7 = w.n OR l.note = w.tag)');
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
SET streamhouse.pushdown = off;
SELECT same_rows('SELECT w.n, i.* FROM wanted w JOIN lookup_items i ON i.id = w.item');
RESET streamhouse.pushdown;

-- with what the transaction has written, and level 0 beside older files
BEGIN;
UPDATE lookup_items SET name = 'new' WHERE id = 997;
DELETE FROM lookup_items i USING wanted w WHERE i.id = w.item AND w.n = 2;
UPDATE lookup_items i SET name = w.tag FROM wanted w WHERE i.id = w.item AND w.n = 4;
SELECT w.n, i.* FROM wanted w JOIN lookup_items i ON i.id = w.item WHERE w.n < 5 ORDER BY w.n;
COMMIT;
SELECT w.n, i.* FROM wanted w JOIN lookup_items i ON i.id = w.item WHERE w.n < 5 ORDER BY w.n;
PREPARE item (bigint) AS SELECT * FROM lookup_items WHERE id = $1;
EXECUTE item(997);
EXECUTE item(1994);
EXECUTE item(59999);
SET plan_cache_mode = force_generic_plan;
EXECUTE item(2);
EXECUTE item(NULL);
EXECUTE item(3);
UPDATE lookup_items SET name = 'newer' WHERE id = 3;
EXECUTE item(3);
RESET plan_cache_mode;

-- a table made again at the same place is another one
SHOW streamhouse.metadata_cache_size;
SELECT sum(price) FROM lookup_items WHERE id < 10;
DEALLOCATE item;
DROP FOREIGN TABLE lookup_items;
DO $$ BEGIN
	EXECUTE format('COPY (SELECT 1) TO PROGRAM %L', 'cat >/dev/null; rm -r ' ||
				   quote_literal(current_setting('data_directory') || '/streamhouse_regress/public.db/lookup_items'));
END $$;
CREATE FOREIGN TABLE lookup_items (id bigint NOT NULL, name text) SERVER lake OPTIONS (primary_key 'id', bucket '2');
SELECT * FROM lookup_items;
INSERT INTO lookup_items SELECT g, 'other ' || g FROM generate_series(1, 60000) g;
SELECT w.n, i.* FROM wanted w JOIN lookup_items i ON i.id = w.item WHERE w.n < 4 ORDER BY w.n;
-- with a small cache, and with none
SET streamhouse.metadata_cache_size = '64kB';
SELECT w.n, i.* FROM wanted w JOIN lookup_items i ON i.id = w.item WHERE w.n < 3 ORDER BY w.n;
SET streamhouse.metadata_cache_size = 0;
SELECT w.n, i.* FROM wanted w JOIN lookup_items i ON i.id = w.item WHERE w.n < 3 ORDER BY w.n;
RESET streamhouse.metadata_cache_size;

DROP FOREIGN TABLE lookup_items, lookup_lines;
DROP TABLE heap_items, heap_lines, wanted;
DROP FUNCTION same_rows;
RESET streamhouse.enable_lookup_join;
