-- IMPORT FOREIGN SCHEMA: all tables that can be read; a warning for each that cannot.
CREATE SCHEMA import_source;
CREATE FOREIGN TABLE import_source.plain (id int, note varchar(20)) SERVER lake OPTIONS (database 'imports');
CREATE FOREIGN TABLE import_source.keyed (id bigint NOT NULL, "Odd name" text, price numeric(10,2), at timestamp(3), c character(3))
	SERVER lake OPTIONS (database 'imports', primary_key 'id', "bucket" '1');
INSERT INTO import_source.keyed VALUES (1, 'one', 1.1, '2024-01-01 00:00', 'a');
-- a table as another engine may have made it: of an aggregate function that is not supported, of an odd type, damaged
DO $$
DECLARE
	folder text := current_setting('data_directory') || '/streamhouse_regress/imports.db/';
	name text;
	schema text;
BEGIN
	FOR name, schema IN VALUES
		('aggregated', '{"version":3,"id":0,"fields":[{"id":0,"name":"k","type":"INT NOT NULL"},{"id":1,"name":"v","type":"INT"}],"highestFieldId":1,"partitionKeys":[],"primaryKeys":["k"],"options":{"bucket":"1","merge-engine":"aggregation","fields.v.aggregate-function":"median"},"timeMillis":1}'),
		('vectors', '{"version":3,"id":0,"fields":[{"id":0,"name":"a","type":{"type":"VECTOR","element":"FLOAT","length":3}}],"highestFieldId":0,"partitionKeys":[],"primaryKeys":[],"options":{},"timeMillis":1}'),
		('csv', '{"version":3,"id":0,"fields":[{"id":0,"name":"a","type":"INT"}],"highestFieldId":0,"partitionKeys":[],"primaryKeys":[],"options":{"file.format":"csv"},"timeMillis":1}'),
		('long_name', '{"version":3,"id":0,"fields":[{"id":0,"name":"a123456789b123456789c123456789d123456789e123456789f123456789g123456789","type":"INT"}],"highestFieldId":0,"partitionKeys":[],"primaryKeys":[],"options":{},"timeMillis":1}'),
		('nine_digits', '{"version":3,"id":0,"fields":[{"id":0,"name":"t","type":"TIMESTAMP(9)"},{"id":1,"name":"z","type":"TIMESTAMP(9) WITH LOCAL TIME ZONE"},{"id":2,"name":"b","type":"TINYINT"},{"id":3,"name":"y","type":"BINARY(4)"},{"id":4,"name":"h","type":"TIME(0)"}],"highestFieldId":4,"partitionKeys":[],"primaryKeys":[],"options":{},"timeMillis":1}')
	LOOP
		EXECUTE format('COPY (SELECT %L) TO PROGRAM %L', schema,
					   format('mkdir -p %1$s/schema && cat >%1$s/schema/schema-0', quote_literal(folder || name)));
	END LOOP;
END $$;
CREATE SCHEMA imported;
IMPORT FOREIGN SCHEMA imports FROM SERVER lake INTO imported;
\d imported.*
SELECT * FROM imported.keyed;
SELECT * FROM imported.nine_digits;
DROP SCHEMA imported CASCADE;
CREATE SCHEMA imported;
IMPORT FOREIGN SCHEMA imports EXCEPT (aggregated, vectors, csv, long_name, plain) FROM SERVER lake INTO imported;
IMPORT FOREIGN SCHEMA imports LIMIT TO (plain) FROM SERVER lake INTO imported;
SELECT foreign_table_name FROM information_schema.foreign_tables WHERE foreign_table_schema = 'imported' ORDER BY 1;
-- what is asked for by name must be there and be readable
IMPORT FOREIGN SCHEMA imports LIMIT TO (vectors) FROM SERVER lake INTO imported;
IMPORT FOREIGN SCHEMA imports LIMIT TO (csv) FROM SERVER lake INTO imported;
IMPORT FOREIGN SCHEMA imports LIMIT TO ("plain$snapshots") FROM SERVER lake INTO imported;
DO $$ BEGIN
	IMPORT FOREIGN SCHEMA imports LIMIT TO (missing) FROM SERVER lake INTO imported;
EXCEPTION WHEN undefined_table THEN
	RAISE NOTICE '%', SQLERRM;
END $$;
DO $$ BEGIN
	IMPORT FOREIGN SCHEMA missing FROM SERVER lake INTO imported;
EXCEPTION WHEN fdw_schema_not_found THEN
	RAISE NOTICE '%', split_part(SQLERRM, ' in ', 1);
END $$;
IMPORT FOREIGN SCHEMA imports FROM SERVER lake INTO imported OPTIONS (case_fold 'true');
-- undone with the transaction
BEGIN;
CREATE SCHEMA passing;
IMPORT FOREIGN SCHEMA imports LIMIT TO (keyed) FROM SERVER lake INTO passing;
SELECT to_jsonb(t) FROM passing.keyed t;
ROLLBACK;
