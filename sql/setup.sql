-- The extension, and a server with an empty warehouse for the tests that follow.
CREATE EXTENSION streamhouse;
DO $$
DECLARE
	warehouse text := current_setting('data_directory') || '/streamhouse_regress';
BEGIN
	EXECUTE format('COPY (SELECT 1) TO PROGRAM %L', 'cat >/dev/null; rm -rf ' || quote_literal(warehouse));
	EXECUTE format('CREATE SERVER lake FOREIGN DATA WRAPPER streamhouse OPTIONS (warehouse %L)', warehouse);
END $$;
CREATE FOREIGN TABLE first_one (id int, note text) SERVER lake;
INSERT INTO first_one VALUES (1, 'it works');
SELECT * FROM first_one;

-- what the extension consists of
SELECT fdwname, fdwhandler::regproc, fdwvalidator::regproc FROM pg_foreign_data_wrapper WHERE fdwname = 'streamhouse';
SELECT evtname, evtevent, evttags, evtfoid::regproc FROM pg_event_trigger WHERE evtname = 'streamhouse_ddl';
