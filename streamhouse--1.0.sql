/* streamhouse--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION streamhouse" to load this file. \quit

GRANT USAGE ON SCHEMA streamhouse TO PUBLIC;

--
-- Foreign data wrapper
--

CREATE FUNCTION streamhouse.fdw_handler()
RETURNS pg_catalog.fdw_handler
AS 'MODULE_PATHNAME', 'streamhouse_fdw_handler'
LANGUAGE C STRICT;

CREATE FUNCTION streamhouse.fdw_validator(text[], oid)
RETURNS void
AS 'MODULE_PATHNAME', 'streamhouse_fdw_validator'
LANGUAGE C STRICT;

CREATE FOREIGN DATA WRAPPER streamhouse
	HANDLER streamhouse.fdw_handler
	VALIDATOR streamhouse.fdw_validator;

-- CREATE FOREIGN TABLE makes the lake table when there is none
CREATE FUNCTION streamhouse.ddl_trigger()
RETURNS event_trigger
AS 'MODULE_PATHNAME', 'streamhouse_ddl_trigger'
LANGUAGE C;

CREATE EVENT TRIGGER streamhouse_ddl
	ON ddl_command_end
	WHEN TAG IN ('CREATE FOREIGN TABLE', 'ALTER FOREIGN TABLE')
	EXECUTE FUNCTION streamhouse.ddl_trigger();
