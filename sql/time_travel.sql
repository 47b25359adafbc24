-- Reading the past: streamhouse.as_of names a snapshot, a tag or a time.
CREATE SCHEMA travel;
CREATE FOREIGN TABLE travel.t (id int NOT NULL, note text) SERVER lake OPTIONS (primary_key 'id', "bucket" '1');
INSERT INTO travel.t VALUES (1, 'one'), (2, 'two');
UPDATE travel.t SET note = 'changed' WHERE id = 1;
DELETE FROM travel.t WHERE id = 2;
SELECT * FROM travel.t ORDER BY id;
SET streamhouse.as_of = '1';
SELECT * FROM travel.t ORDER BY id;
SET streamhouse.as_of = '2';
SELECT * FROM travel.t ORDER BY id;
EXPLAIN (COSTS OFF) SELECT * FROM travel.t;
SET streamhouse.as_of = '9999-12-31';
SELECT * FROM travel.t ORDER BY id;
-- a tag is a copy of a snapshot's file
DO $$
DECLARE
	folder text := quote_literal(current_setting('data_directory') || '/streamhouse_regress/travel.db/t');
BEGIN
	EXECUTE format('COPY (SELECT 1) TO PROGRAM %L',
				   format('cat >/dev/null; mkdir -p %1$s/tag && cp %1$s/snapshot/snapshot-1 %1$s/tag/tag-start', folder));
END $$;
SET streamhouse.as_of = 'start';
SELECT * FROM travel.t ORDER BY id;
-- the past is not written
INSERT INTO travel.t VALUES (3, 'three');
UPDATE travel.t SET note = 'again';
DELETE FROM travel.t;
TRUNCATE travel.t;
-- what is not there
SET streamhouse.as_of = '99';
SELECT * FROM travel.t;
SET streamhouse.as_of = 'nothing';
SELECT * FROM travel.t;
SET streamhouse.as_of = '1999-12-31 23:59';
SELECT * FROM travel.t;
SET streamhouse.as_of = 'infinity';
SELECT * FROM travel.t;
SET streamhouse.as_of = '../snapshot/snapshot-1';
SELECT * FROM travel.t;
RESET streamhouse.as_of;
-- for a transaction
BEGIN;
SET LOCAL streamhouse.as_of = '1';
SELECT count(*) FROM travel.t;
COMMIT;
SELECT count(*) FROM travel.t;
-- the table as it was: its columns, too
DO $$
DECLARE
	folder text := current_setting('data_directory') || '/streamhouse_regress/travel.db/t/schema/';
	schema jsonb := pg_read_file(folder || 'schema-0');
BEGIN
	schema := jsonb_set(jsonb_set(schema, '{id}', '1'), '{fields,1,name}', '"remark"');
	EXECUTE format('COPY (SELECT %L) TO PROGRAM %L', schema, 'cat >' || quote_literal(folder || 'schema-1'));
END $$;
SELECT * FROM travel.t;
SET streamhouse.as_of = '1';
SELECT * FROM travel.t ORDER BY id;
RESET streamhouse.as_of;
CREATE SCHEMA travelled;
IMPORT FOREIGN SCHEMA travel FROM SERVER lake INTO travelled;
SELECT * FROM travelled.t;
SET streamhouse.as_of = '1';
SELECT * FROM travelled.t;
