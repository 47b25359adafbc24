-- What becomes of rows with equal keys: merge engines and sequence fields.
SET client_min_messages = warning;
CREATE SCHEMA engines;

-- the newest by a column of the table, whenever it comes
CREATE FOREIGN TABLE engines.latest (k int NOT NULL, version int, v text) SERVER lake
	OPTIONS (database 'engines', primary_key 'k', "bucket" '1', "sequence.field" 'version');
INSERT INTO engines.latest VALUES (1, 5, 'five'), (1, 3, 'three'), (2, NULL, 'none'), (2, 1, 'one');
INSERT INTO engines.latest VALUES (1, 4, 'four'), (2, 1, 'one again'), (3, NULL, 'first'), (3, NULL, 'second');
SELECT * FROM engines.latest ORDER BY k;
UPDATE engines.latest SET v = 'updated' WHERE k = 1;
UPDATE engines.latest SET version = 0, v = 'too late' WHERE k = 2;
DELETE FROM engines.latest WHERE k = 3;
SELECT * FROM engines.latest ORDER BY k;
CALL streamhouse.compact('engines.latest');
SELECT * FROM engines.latest ORDER BY k;

-- deletes that count for nothing
CREATE FOREIGN TABLE engines.kept (k int NOT NULL, v text) SERVER lake
	OPTIONS (database 'engines', primary_key 'k', "bucket" '1', "ignore-delete" 'true');
INSERT INTO engines.kept VALUES (1, 'one');
DELETE FROM engines.kept;
UPDATE engines.kept SET k = 2;
UPDATE engines.kept SET v = 'uno';
SELECT * FROM engines.kept;

-- what is not null replaces what was there
CREATE FOREIGN TABLE engines.partial (k int NOT NULL, a int, b text) SERVER lake
	OPTIONS (database 'engines', primary_key 'k', "bucket" '1', "merge-engine" 'partial-update',
		"partial-update.remove-record-on-delete" 'true');
INSERT INTO engines.partial VALUES (1, 1, NULL), (1, NULL, 'one'), (2, 2, 'two');
INSERT INTO engines.partial VALUES (1, NULL, 'uno'), (2, 22, NULL);
SELECT * FROM engines.partial ORDER BY k;
-- no single file has such a row
SELECT * FROM engines.partial WHERE a = 22 AND b = 'two';
UPDATE engines.partial SET a = 5;
DELETE FROM engines.partial WHERE k = 1;
INSERT INTO engines.partial (k, a) VALUES (1, 11);
SELECT * FROM engines.partial ORDER BY k;

-- groups of columns, each with its own order
CREATE FOREIGN TABLE engines.groups (k int NOT NULL, a int, b text, s1 int, c int, s2 int) SERVER lake
	OPTIONS (database 'engines', primary_key 'k', "bucket" '1', "merge-engine" 'partial-update',
		"fields.s1.sequence-group" 'a,b', "fields.s2.sequence-group" 'c', "fields.c.aggregate-function" 'sum');
INSERT INTO engines.groups VALUES (1, 1, 'one', 5, 10, 5), (1, 2, 'late', 4, 20, 4), (1, 3, NULL, 6, 30, NULL);
SELECT * FROM engines.groups;
INSERT INTO engines.groups VALUES (1, 4, 'later', 5, 40, 9);
SELECT * FROM engines.groups;

-- every column by a function of its own
CREATE FOREIGN TABLE engines.totals (k int NOT NULL, n bigint, amount numeric(9,2), top int, names text, seen boolean, note text)
	SERVER lake OPTIONS (database 'engines', primary_key 'k', "bucket" '1', "merge-engine" 'aggregation',
		"fields.n.aggregate-function" 'sum', "fields.amount.aggregate-function" 'product', "fields.top.aggregate-function" 'max',
		"fields.names.aggregate-function" 'listagg', "fields.names.distinct" 'true', "fields.seen.aggregate-function" 'bool_or',
		"aggregation.remove-record-on-delete" 'true');
INSERT INTO engines.totals VALUES (1, 1, 1.5, 7, 'a', false, 'first'), (1, 2, 1.55, 3, 'b,a', NULL, NULL), (2, 5, NULL, NULL, NULL, NULL, NULL);
SELECT * FROM engines.totals ORDER BY k;
INSERT INTO engines.totals VALUES (1, 10, 2, 9, 'c,a', true, NULL);
SELECT * FROM engines.totals ORDER BY k;
SELECT k FROM engines.totals WHERE n = 13;
DELETE FROM engines.totals WHERE k = 2;
UPDATE engines.totals SET n = 0;
CALL streamhouse.compact('engines.totals');
SELECT * FROM engines.totals ORDER BY k;

-- the row tells what it does
CREATE FOREIGN TABLE engines.kinds (k int NOT NULL, v text, op text) SERVER lake
	OPTIONS (database 'engines', primary_key 'k', "bucket" '1', "rowkind.field" 'op');
INSERT INTO engines.kinds VALUES (1, 'one', '+I'), (2, 'two', '+I');
INSERT INTO engines.kinds VALUES (1, 'one', '-D'), (2, 'due', '+U');
SELECT * FROM engines.kinds;
INSERT INTO engines.kinds VALUES (3, 'three', 'I');
INSERT INTO engines.kinds VALUES (3, 'three', NULL);
DELETE FROM engines.kinds;

-- what cannot be
CREATE FOREIGN TABLE engines.bad (k int NOT NULL, v text) SERVER lake
	OPTIONS (primary_key 'k', "bucket" '1', "merge-engine" 'aggregation', "fields.v.aggregate-function" 'sum');
CREATE FOREIGN TABLE engines.bad (k int NOT NULL, v text) SERVER lake
	OPTIONS (primary_key 'k', "bucket" '1', "merge-engine" 'aggregation', "fields.v.aggregate-function" 'median');
CREATE FOREIGN TABLE engines.bad (k int NOT NULL, v int) SERVER lake
	OPTIONS (primary_key 'k', "bucket" '1', "merge-engine" 'partial-update', "fields.v.aggregate-function" 'sum');
CREATE FOREIGN TABLE engines.bad (k int NOT NULL, v int) SERVER lake
	OPTIONS (primary_key 'k', "bucket" '1', "merge-engine" 'partial-update', "fields.w.sequence-group" 'v');
CREATE FOREIGN TABLE engines.bad (k int NOT NULL, v int) SERVER lake
	OPTIONS (primary_key 'k', "bucket" '1', "merge-engine" 'newest');
CREATE FOREIGN TABLE engines.sums (k int NOT NULL, v int) SERVER lake
	OPTIONS (database 'engines', primary_key 'k', "bucket" '1', "merge-engine" 'aggregation', "fields.v.aggregate-function" 'max');
DELETE FROM engines.sums;

DROP SCHEMA engines CASCADE;
