-- Tables that Paimon's Java library wrote (test/fixtures): what SQL cannot make itself.
-- They are copied to where the server may read them.
\set warehouse `d=$(mktemp -d /tmp/streamhouse_fixtures.XXXXXX) && cp -R "$PG_ABS_SRCDIR"/test/fixtures/. "$d" && chmod -R a+rX "$d" && echo "$d"`
\setenv WAREHOUSE :warehouse
SET timezone TO 'UTC';
SET datestyle TO 'ISO';
CREATE SERVER java FOREIGN DATA WRAPPER streamhouse OPTIONS (warehouse :'warehouse');
CREATE SCHEMA java;
IMPORT FOREIGN SCHEMA types FROM SERVER java INTO java;
IMPORT FOREIGN SCHEMA evolve FROM SERVER java INTO java;
\d java.*

-- timestamps finer than SQL's are cut, and compared as they are shown
SELECT * FROM java.parquet_nano WHERE id < 10 ORDER BY id;
SELECT count(*), count(ts7), count(DISTINCT ts9), min(ts9), max(ts9) FROM java.parquet_nano;
CREATE TEMP TABLE nano AS SELECT * FROM java.parquet_nano;
SELECT id FROM java.parquet_nano WHERE ts9 = '1969-12-31 23:59:59.999999' ORDER BY id;
SELECT id FROM java.parquet_nano WHERE ts9 IN ('1969-12-31 23:59:59.999999', '1970-01-01') ORDER BY id;
CREATE FUNCTION pg_temp.compare(operator text, OUT lake bigint, OUT heap bigint) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT count(*) FROM java.parquet_nano WHERE ts9 %s ''1969-12-31 23:59:59.999999''', operator) INTO lake;
	EXECUTE format('SELECT count(*) FROM nano WHERE ts9 %s ''1969-12-31 23:59:59.999999''', operator) INTO heap;
END $$;
SELECT operator, counts.* FROM (VALUES ('='), ('<>'), ('<'), ('<='), ('>'), ('>=')) AS o (operator), pg_temp.compare(operator) AS counts;

-- nor do updates change in passing what SQL cannot show
SELECT id, ts9 FROM java.parquet_nano_pk WHERE id IN (0, 100) ORDER BY id;
UPDATE java.parquet_nano_pk SET ts7 = NULL WHERE id = 100;

-- names with capitals, blanks, keywords and quotes
SELECT "Id", "select", "UPPER", "1st", "with-dash", length("qu""ote") AS quote, length("naïve") AS naive FROM java.odd_names
	WHERE "UPPER" > 0 AND "two words" IS NOT NULL ORDER BY "Id" LIMIT 5;

-- columns were added, dropped, renamed and moved between the commits
SELECT * FROM java.columns_parquet_pk ORDER BY k;
SET streamhouse.as_of = '1';
CREATE SCHEMA java_before;
IMPORT FOREIGN SCHEMA evolve FROM SERVER java INTO java_before;
\d java_before.columns_parquet_pk
SELECT * FROM java_before.columns_parquet_pk ORDER BY 1;
RESET streamhouse.as_of;
SELECT * FROM java_before.columns_parquet_pk;

DROP SERVER java CASCADE;
\! rm -rf "$WAREHOUSE"
