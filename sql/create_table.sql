-- CREATE FOREIGN TABLE makes the lake table when there is none.
CREATE SCHEMA ddl;
CREATE FOREIGN TABLE ddl.orders (
	id bigint NOT NULL,
	day date NOT NULL,
	amount numeric(12,2),
	note text
) SERVER lake OPTIONS (primary_key 'id, day', partition 'day', "bucket" '2');
INSERT INTO ddl.orders VALUES (1, '2024-02-29', 12.5, 'leap'), (2, '2024-03-01', NULL, NULL);
SELECT * FROM ddl.orders ORDER BY id;

-- the database is the schema's name, the table the foreign table's, if nothing else is said
CREATE FOREIGN TABLE orders_again (id bigint NOT NULL, note text) SERVER lake OPTIONS (database 'ddl', "table" 'orders');
SELECT * FROM orders_again ORDER BY id;
INSERT INTO orders_again VALUES (3, 'a row without a day');

-- columns of a table that is there must suit it
CREATE FOREIGN TABLE bad (id int) SERVER lake OPTIONS (database 'ddl', "table" 'orders');
CREATE FOREIGN TABLE bad (id bigint, amount numeric(10,2)) SERVER lake OPTIONS (database 'ddl', "table" 'orders');
CREATE FOREIGN TABLE bad (id bigint, amount numeric(20,4)) SERVER lake OPTIONS (database 'ddl', "table" 'orders');
CREATE FOREIGN TABLE bad (id bigint, price numeric(12,2)) SERVER lake OPTIONS (database 'ddl', "table" 'orders');
CREATE FOREIGN TABLE bad (id bigint) SERVER lake OPTIONS (database 'ddl', "table" 'orders', primary_key 'id');
CREATE FOREIGN TABLE bad (id bigint) SERVER lake OPTIONS (database 'ddl', "table" 'orders', "bucket" '3');
CREATE FOREIGN TABLE wider (id bigint, day date, amount numeric(20,2), note varchar) SERVER lake
	OPTIONS (database 'ddl', "table" 'orders', "bucket" '2');
SELECT * FROM wider ORDER BY id;

-- ALTER FOREIGN TABLE does not change the lake
ALTER FOREIGN TABLE ddl.orders OPTIONS (SET "bucket" '4');
ALTER FOREIGN TABLE ddl.orders ADD COLUMN later int;
SELECT * FROM ddl.orders;
ALTER FOREIGN TABLE ddl.orders DROP COLUMN later;
ALTER FOREIGN TABLE ddl.orders RENAME COLUMN note TO remark;
SELECT * FROM ddl.orders;
ALTER FOREIGN TABLE ddl.orders RENAME COLUMN remark TO note;
ALTER FOREIGN TABLE wider OPTIONS (SET "table" 'missing');
\set VERBOSITY terse
SELECT * FROM wider;
\set VERBOSITY default

-- what cannot be made is refused, and leaves nothing
CREATE FOREIGN TABLE bad () SERVER lake;
CREATE FOREIGN TABLE bad (a numeric) SERVER lake;
CREATE FOREIGN TABLE bad (a numeric(40,2)) SERVER lake;
CREATE FOREIGN TABLE bad (a uuid) SERVER lake;
CREATE FOREIGN TABLE bad (a uuid[]) SERVER lake;
CREATE FOREIGN TABLE bad (a time) SERVER lake;
CREATE FOREIGN TABLE bad (a jsonb) SERVER lake;
CREATE FOREIGN TABLE bad (a int) SERVER lake OPTIONS (primary_key 'b');
CREATE FOREIGN TABLE bad (a int) SERVER lake OPTIONS (partition 'b');
CREATE FOREIGN TABLE bad (a int) SERVER lake OPTIONS ("bucket" 'many');
CREATE FOREIGN TABLE bad (a int, b int) SERVER lake OPTIONS (primary_key 'a', "bucket" '1', "merge-engine" 'first-row');
SELECT count(*) FROM pg_foreign_table t JOIN pg_class c ON c.oid = t.ftrelid WHERE c.relname = 'bad';

-- the lake table appears when the transaction commits
BEGIN;
CREATE FOREIGN TABLE ddl.fresh (id int, note text) SERVER lake;
SELECT * FROM ddl.fresh;
INSERT INTO ddl.fresh VALUES (1, 'in the same transaction');
SELECT * FROM ddl.fresh;
CREATE FOREIGN TABLE ddl.fresh_too (id int, more text) SERVER lake OPTIONS ("table" 'fresh');
ROLLBACK;
BEGIN;
SAVEPOINT a;
CREATE FOREIGN TABLE ddl.fresh (id bigint) SERVER lake;
INSERT INTO ddl.fresh VALUES (1);
ROLLBACK TO a;
CREATE FOREIGN TABLE ddl.fresh (id int, note text) SERVER lake;
INSERT INTO ddl.fresh VALUES (2, 'second try');
COMMIT;
SELECT * FROM ddl.fresh;

-- DROP FOREIGN TABLE leaves the lake table
DROP FOREIGN TABLE ddl.fresh;
CREATE FOREIGN TABLE ddl.fresh (id int, note text) SERVER lake;
SELECT * FROM ddl.fresh;

-- generated columns are kept as values, domains as their base types
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE FOREIGN TABLE ddl.computed (a positive, b int GENERATED ALWAYS AS (a * 2) STORED, c text DEFAULT 'none') SERVER lake;
INSERT INTO ddl.computed (a) VALUES (21);
INSERT INTO ddl.computed (a) VALUES (-1);
SELECT * FROM ddl.computed;

-- only foreign tables of this wrapper are looked at
CREATE FOREIGN DATA WRAPPER dummy;
CREATE SERVER nothing FOREIGN DATA WRAPPER dummy;
CREATE FOREIGN TABLE not_ours (a uuid) SERVER nothing;
ALTER FOREIGN TABLE not_ours OPTIONS (ADD x 'y');
DROP FOREIGN DATA WRAPPER dummy CASCADE;
DROP FOREIGN TABLE orders_again, wider;

-- one bucket is the default of a table with a key
CREATE FOREIGN TABLE ddl.one_bucket (k int NOT NULL, v text) SERVER lake OPTIONS (primary_key 'k');
INSERT INTO ddl.one_bucket VALUES (1, 'a'), (2, 'b'), (1, 'c');
SELECT * FROM ddl.one_bucket ORDER BY k;
SELECT bucket, record_count FROM streamhouse.files('ddl.one_bucket');
