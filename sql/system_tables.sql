-- Deletion vectors, columns in several files, branches, changes and system tables: what Paimon's Java library wrote (test/fixtures).
\set warehouse `d=$(mktemp -d /tmp/streamhouse_fixtures.XXXXXX) && cp -R "$PG_ABS_SRCDIR"/test/fixtures/. "$d" && chmod -R a+rX "$d" && echo "$d"`
\setenv WAREHOUSE :warehouse
SET timezone TO 'UTC';
SET datestyle TO 'ISO';
\set SHOW_CONTEXT never
CREATE SERVER java FOREIGN DATA WRAPPER streamhouse OPTIONS (warehouse :'warehouse');
CREATE SCHEMA java_vectors;
IMPORT FOREIGN SCHEMA vectors FROM SERVER java INTO java_vectors;
IMPORT FOREIGN SCHEMA evolution FROM SERVER java INTO java_vectors;

-- rows that are deleted without their file being rewritten; level 0 of a table with a key does not show yet
SELECT * FROM java_vectors.append ORDER BY id;
SELECT count(*), count(id), min(id), max(id) FROM java_vectors.append;
SELECT count(*) FROM java_vectors.append WHERE id BETWEEN 2 AND 4;
SELECT * FROM java_vectors.keyed ORDER BY id;
SELECT count(*) FROM java_vectors.keyed;
INSERT INTO java_vectors.append VALUES (13, 'row 13');
SET streamhouse.as_of = '1';
SELECT count(*) FROM java_vectors.append;
RESET streamhouse.as_of;

-- columns of the same rows in several files, and large values in files of their own
SELECT * FROM java_vectors.columns ORDER BY id;
SELECT b FROM java_vectors.columns WHERE a = 'a4';
SELECT count(*), sum(b) FROM java_vectors.columns;
SET streamhouse.as_of = '1';
SELECT * FROM java_vectors.columns ORDER BY id;
RESET streamhouse.as_of;
SELECT id, b, length(b) FROM java_vectors.blobs ORDER BY id;
SELECT id FROM java_vectors.blobs WHERE b IS NULL;
INSERT INTO java_vectors.columns VALUES (7, 'a7', 70);
IMPORT FOREIGN SCHEMA evolution LIMIT TO ("columns$row_tracking") FROM SERVER java INTO java_vectors;
\d java_vectors."columns$row_tracking"
SELECT * FROM java_vectors."columns$row_tracking" ORDER BY id;
SELECT id FROM java_vectors."columns$row_tracking" WHERE "_ROW_ID" > 3 ORDER BY id;

-- system tables
CREATE SCHEMA java_system;
IMPORT FOREIGN SCHEMA changes LIMIT TO (keyed, "keyed$snapshots", "keyed$schemas", "keyed$options", "keyed$audit_log", "keyed$ro",
	"keyed$manifests", "keyed$tags", "keyed$branches", "keyed$consumers", "keyed$partitions", "keyed$buckets", "keyed$statistics",
	"keyed$aggregation_fields", "keyed$file_key_ranges", "keyed$files", "keyed$binlog", "keyed$branch_side", "keyed$branch_side$snapshots") FROM SERVER java INTO java_system;
SELECT snapshot_id, schema_id, commit_user, commit_identifier, commit_kind, total_record_count, delta_record_count,
	changelog_record_count, watermark, next_row_id FROM java_system."keyed$snapshots" ORDER BY snapshot_id;
SELECT snapshot_id FROM java_system."keyed$snapshots" WHERE commit_kind = 'APPEND' AND watermark > 1000 ORDER BY 1;
SELECT count(*), max(commit_time) > '2020-01-01' AS recent FROM java_system."keyed$snapshots";
SELECT schema_id, fields, partition_keys, primary_keys, options, comment FROM java_system."keyed$schemas";
SELECT * FROM java_system."keyed$options" ORDER BY key;
\d java_system."keyed$audit_log"
SELECT * FROM java_system."keyed$audit_log" ORDER BY id;
SELECT * FROM java_system."keyed$audit_log" WHERE rowkind <> '+I';
SELECT * FROM java_system."keyed$ro";
SELECT file_size > 0 AS file_size, num_added_files, num_deleted_files, schema_id, min_partition_stats, max_partition_stats, min_row_id
	FROM java_system."keyed$manifests" ORDER BY num_added_files, max_partition_stats;
SELECT tag_name, snapshot_id, schema_id, record_count, time_retained, create_time IS NULL AS kept FROM java_system."keyed$tags" ORDER BY 1;
SELECT branch_name FROM java_system."keyed$branches";
SELECT * FROM java_system."keyed$consumers";
SELECT partition, record_count, file_count, last_update_time IS NULL AS no_time FROM java_system."keyed$partitions" ORDER BY 1;
SELECT partition, bucket, record_count, file_count FROM java_system."keyed$buckets" ORDER BY 1, 2;
SELECT snapshot_id, schema_id, "mergedRecordCount", colstat::jsonb -> 'id' AS id FROM java_system."keyed$statistics";
SELECT * FROM java_system."keyed$aggregation_fields";
SELECT partition, bucket, file_format, level, record_count, min_key, max_key FROM java_system."keyed$file_key_ranges" ORDER BY 1, 6, 7;
SELECT partition, level, record_count, null_value_counts, min_value_stats, max_value_stats, min_sequence_number, max_sequence_number,
	"deleteRowCount", file_source, write_cols FROM java_system."keyed$files" ORDER BY partition, min_sequence_number;
SELECT count(*) FROM (TABLE java_system."keyed$files" EXCEPT SELECT * FROM streamhouse.files('java_system.keyed')) AS d;
SELECT count(*) FROM (TABLE java_system."keyed$snapshots" EXCEPT SELECT * FROM streamhouse.snapshots('java_system.keyed')) AS d;
SELECT * FROM java_system."keyed$binlog" ORDER BY id;
SELECT id[1] FROM java_system."keyed$binlog" WHERE rowkind = '-D';
IMPORT FOREIGN SCHEMA vectors LIMIT TO ("append$table_indexes") FROM SERVER java INTO java_vectors;
SELECT partition, bucket, index_type, row_count, (dv_ranges[1]).f1, (dv_ranges[1]).f2, (dv_ranges[1])."_CARDINALITY"
	FROM java_vectors."append$table_indexes";
IMPORT FOREIGN SCHEMA evolution LIMIT TO ("columns$files") FROM SERVER java INTO java_vectors;
SELECT record_count, first_row_id, write_cols FROM java_vectors."columns$files" ORDER BY min_sequence_number;
SET streamhouse.as_of = '1';
SELECT partition, record_count, file_count FROM java_system."keyed$partitions" ORDER BY 1;
SELECT * FROM java_system."keyed$audit_log" ORDER BY id;
RESET streamhouse.as_of;

-- of the whole warehouse
IMPORT FOREIGN SCHEMA sys FROM SERVER java INTO java_system;
SELECT table_name, table_type, partitioned, primary_key FROM java_system.tables WHERE database_name IN ('changes', 'vectors') ORDER BY 1;
SELECT partition_name, record_count, file_count, done FROM java_system.partitions WHERE database_name = 'changes' ORDER BY 1;
SELECT table_name, value FROM java_system.all_table_options WHERE key = 'deletion-vectors.enabled' ORDER BY 1;
SELECT key FROM java_system.catalog_options;

-- a branch; neither it nor system tables can be written
SELECT * FROM java_system."keyed$branch_side" ORDER BY id;
SELECT snapshot_id FROM java_system."keyed$branch_side$snapshots";
INSERT INTO java_system."keyed$branch_side" VALUES (8, '2024-01-01', 'eight');
INSERT INTO java_system."keyed$options" VALUES ('a', 'b');
DELETE FROM java_system."keyed$audit_log";
TRUNCATE java_system."keyed$ro";
CALL streamhouse.compact('java_system."keyed$branch_side"');
CALL streamhouse.compact('java_system."keyed$ro"');
IMPORT FOREIGN SCHEMA changes LIMIT TO ("keyed$nothing") FROM SERVER java INTO java_system;
IMPORT FOREIGN SCHEMA changes LIMIT TO ("keyed$row_tracking") FROM SERVER java INTO java_system;
\set VERBOSITY terse
IMPORT FOREIGN SCHEMA changes LIMIT TO ("keyed$branch_nothing") FROM SERVER java INTO java_system;
CREATE FOREIGN TABLE java_system.fresh (a int) SERVER java OPTIONS (database 'changes', "table" 'fresh$branch_b');
\set VERBOSITY default

-- what a table's options say of the past
CREATE FUNCTION pg_temp.ids(options text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	ids text;
BEGIN
	EXECUTE format('CREATE FOREIGN TABLE pg_temp.past (id int, d date, v text) SERVER java OPTIONS (database ''changes'', "table" ''keyed'', %s)', options);
	SELECT string_agg(format('%s=%s', id, v), ', ' ORDER BY id, v) FROM pg_temp.past INTO ids;
	DROP FOREIGN TABLE pg_temp.past;
	RETURN ids;
END $$;
SELECT o, pg_temp.ids(o) FROM (VALUES ('"scan.snapshot-id" ''1'''), ('"scan.tag-name" ''last'''), ('"scan.version" ''first'''),
	('"scan.version" ''2'''), ('"scan.version" ''watermark-1500'''), ('"scan.watermark" ''3000'''), ('"scan.timestamp" ''9999-12-31'''),
	('"scan.timestamp-millis" ''253402214400000'''), ('"incremental-between" ''0,1'''), ('"incremental-between" ''1,3'''),
	('"incremental-between" ''1,3'', "incremental-between-scan-mode" ''delta'''), ('"incremental-between" ''first,last'''),
	('"incremental-between" ''3,3''')) AS options (o);
SELECT pg_temp.ids('"scan.watermark" ''3001''');
SELECT pg_temp.ids('"scan.tag-name" ''other''');
SELECT pg_temp.ids('"scan.snapshot-id" ''1'', "scan.tag-name" ''last''');
SELECT pg_temp.ids('"incremental-between" ''3,1''');
SELECT pg_temp.ids('"incremental-between" ''1,99''');
SELECT pg_temp.ids('"incremental-between" ''first,3''');
SET streamhouse.as_of = 'watermark 2000';
SELECT id, v FROM java_system.keyed ORDER BY id;
SELECT pg_temp.ids('"scan.version" ''first''');
RESET streamhouse.as_of;
ALTER FOREIGN TABLE java_system."keyed$audit_log" OPTIONS (ADD "incremental-between" 'first,last');
SELECT * FROM java_system."keyed$audit_log" ORDER BY id;
ALTER FOREIGN TABLE java_system.keyed OPTIONS (ADD "scan.snapshot-id" '2');
UPDATE java_system.keyed SET v = 'new';

SET client_min_messages TO warning;
DROP SERVER java CASCADE;
\! rm -rf "$WAREHOUSE"
