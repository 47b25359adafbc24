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

--
-- Sync: streaming of local tables into the lake
--

CREATE TABLE streamhouse.sync (
	name text PRIMARY KEY,
	slot name NOT NULL UNIQUE,			-- replication slot, and commit user in the lake
	publication text NOT NULL,
	server text NOT NULL,
	database text NOT NULL,				-- of the lake
	flush_interval interval NOT NULL,
	options jsonb NOT NULL,				-- of lake tables that the sync makes
	on_unrepresentable text NOT NULL CHECK (on_unrepresentable IN ('error', 'null', 'clamp')),
	tables jsonb NOT NULL,				-- rules for names, options and columns of lake tables
	history boolean NOT NULL,			-- all lake tables keep every change
	on_schema_change text NOT NULL CHECK (on_schema_change IN ('evolve', 'ignore', 'pause', 'stop')),
	auto_refresh boolean NOT NULL,		-- tables added to the publication join by themselves
	owner regrole NOT NULL,				-- who must be able to read tables that join so
	on_slot_loss text NOT NULL CHECK (on_slot_loss IN ('error', 'resync')),
	wal_limit bigint NOT NULL,			-- bytes that the slot may retain; 0: any
	diverged text,						-- in what the lake is not of this server's history
	slot_dropped text,					-- why the slot of a sync that is there was dropped
	connection text,					-- to the source, if it is another server
	remote text,						-- where that leads, without secrets
	remote_publish text,				-- operations that the publication there publishes
	enabled boolean NOT NULL DEFAULT true,
	slot_made boolean NOT NULL DEFAULT false	-- so it must be there
);
COMMENT ON TABLE streamhouse.sync IS 'syncs: which publication streams into which lake database';

CREATE TABLE streamhouse.sync_table (
	sync text NOT NULL REFERENCES streamhouse.sync ON DELETE CASCADE,
	source regclass NOT NULL,
	lake_table text NOT NULL,
	shard text,							-- which part of the lake table is its own; null: all of it
	rule integer,						-- of the sync's, from 1, that counts for the table; null: none
	used_names text[] NOT NULL,			-- columns that the rule uses, as its expressions call them
	used_columns smallint[] NOT NULL,	-- their attribute numbers
	used_types regtype[] NOT NULL,
	columns smallint[] NOT NULL,		-- attribute numbers of the source, in the order of the lake's fields; 0: dropped
	schema_lsn pg_lsn,					-- rows before this had other columns
	copy_id uuid NOT NULL DEFAULT pg_catalog.gen_random_uuid(),	-- of this copy of the table
	base pg_lsn,						-- changes after this one are taken; null: the copy has not begun
	copied boolean NOT NULL DEFAULT false,	-- the copy of the table is done
	copy_error text,					-- why it failed the last time
	column_list boolean NOT NULL DEFAULT false,	-- some of its columns may not be published, or were not for a while
	paused_at pg_lsn,					-- the commit that the sync could not follow
	error text,							-- why, and the cure; not null: no changes are taken
	refused boolean NOT NULL DEFAULT false,	-- it could not join; error says why
	remote_table oid,					-- of a table of another server, of which source is the mirror
	remote_name text,
	remote_columns smallint[] NOT NULL,	-- its columns, types and their modifiers, by column of the mirror
	remote_types oid[] NOT NULL,
	remote_typmods integer[] NOT NULL,
	rows_inserted bigint NOT NULL DEFAULT 0,	-- written by the stream, and the like
	rows_updated bigint NOT NULL DEFAULT 0,
	rows_deleted bigint NOT NULL DEFAULT 0,
	rows_copied bigint NOT NULL DEFAULT 0,
	bytes_written bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (sync, source)
);
COMMENT ON TABLE streamhouse.sync_table IS 'tables of the syncs';

SELECT pg_catalog.pg_extension_config_dump('streamhouse.sync', '');
SELECT pg_catalog.pg_extension_config_dump('streamhouse.sync_table', '');

CREATE PROCEDURE streamhouse.create_sync(name text, publication text, server text, database text,
	flush_interval interval DEFAULT '1 second', options jsonb DEFAULT '{}', on_unrepresentable text DEFAULT 'error',
	history boolean DEFAULT false, on_schema_change text DEFAULT 'evolve', auto_refresh boolean DEFAULT true,
	tables jsonb DEFAULT '[]', on_slot_loss text DEFAULT 'error', wal_limit text DEFAULT '0', connection text DEFAULT '')
LANGUAGE C AS 'MODULE_PATHNAME', 'streamhouse_create_sync';
COMMENT ON PROCEDURE streamhouse.create_sync IS 'stream the tables of a publication into a lake database';

CREATE FUNCTION streamhouse.check_sync(publication text, server text, database text, options jsonb DEFAULT '{}',
	history boolean DEFAULT false, tables jsonb DEFAULT '[]', connection text DEFAULT '', OUT severity text, OUT "table" text, OUT problem text, OUT cure text)
RETURNS SETOF record LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME', 'streamhouse_check_sync';
COMMENT ON FUNCTION streamhouse.check_sync IS 'everything that would keep create_sync from making a sync, and warnings; makes nothing';

CREATE PROCEDURE streamhouse.alter_sync(name text, flush_interval interval DEFAULT NULL, on_unrepresentable text DEFAULT NULL,
	on_schema_change text DEFAULT NULL, auto_refresh boolean DEFAULT NULL, on_slot_loss text DEFAULT NULL,
	wal_limit text DEFAULT NULL, connection text DEFAULT NULL, tables jsonb DEFAULT NULL, copy boolean DEFAULT false)
LANGUAGE C AS 'MODULE_PATHNAME', 'streamhouse_alter_sync';
COMMENT ON PROCEDURE streamhouse.alter_sync IS 'change what is given of a sync';

CREATE PROCEDURE streamhouse.drop_sync(name text, force boolean DEFAULT false)
LANGUAGE C AS 'MODULE_PATHNAME', 'streamhouse_drop_sync';
COMMENT ON PROCEDURE streamhouse.drop_sync IS 'end a sync and drop its replication slot; the lake tables stay';

CREATE PROCEDURE streamhouse.pause_sync(name text)
LANGUAGE C AS 'MODULE_PATHNAME', 'streamhouse_pause_sync';
COMMENT ON PROCEDURE streamhouse.pause_sync IS 'stop a sync''s worker; its replication slot keeps its place';

CREATE PROCEDURE streamhouse.resume_sync(name text)
LANGUAGE C AS 'MODULE_PATHNAME', 'streamhouse_resume_sync';
COMMENT ON PROCEDURE streamhouse.resume_sync IS 'start a paused sync again, or a failing one without delay';

CREATE PROCEDURE streamhouse.refresh_sync(name text)
LANGUAGE C AS 'MODULE_PATHNAME', 'streamhouse_refresh_sync';
COMMENT ON PROCEDURE streamhouse.refresh_sync IS 'take up tables added to the publication, and leave those that were taken out';

CREATE PROCEDURE streamhouse.resync_table(name text, "table" regclass)
LANGUAGE C AS 'MODULE_PATHNAME', 'streamhouse_resync_table';
COMMENT ON PROCEDURE streamhouse.resync_table IS 'copy a table of a sync again, with the columns that it has now';

CREATE PROCEDURE streamhouse.resync_sync(name text)
LANGUAGE C AS 'MODULE_PATHNAME', 'streamhouse_resync_sync';
COMMENT ON PROCEDURE streamhouse.resync_sync IS 'make a sync whole again: a new replication slot, and all tables copied again';

CREATE PROCEDURE streamhouse.wait_for_sync(name text, lsn pg_lsn DEFAULT NULL, timeout interval DEFAULT '1 minute')
LANGUAGE C AS 'MODULE_PATHNAME', 'streamhouse_wait_for_sync';
COMMENT ON PROCEDURE streamhouse.wait_for_sync IS 'wait until what was committed up to a position (by default: until now) is in the lake';

REVOKE ALL ON PROCEDURE streamhouse.create_sync, streamhouse.alter_sync, streamhouse.refresh_sync,
	streamhouse.resync_table, streamhouse.resync_sync, streamhouse.drop_sync, streamhouse.pause_sync,
	streamhouse.resume_sync FROM PUBLIC;
REVOKE ALL ON FUNCTION streamhouse.check_sync FROM PUBLIC;

CREATE FUNCTION streamhouse.sync_workers(OUT slot name, OUT pid integer, OUT state text, OUT visible_lsn pg_lsn,
	OUT last_commit_time timestamptz, OUT rows bigint, OUT error text, OUT caught_up timestamptz, OUT source_lsn pg_lsn,
	OUT source_restart_lsn pg_lsn, OUT awaits_standbys boolean)
RETURNS SETOF record LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME', 'streamhouse_sync_workers';
COMMENT ON FUNCTION streamhouse.sync_workers IS 'what the sync workers of this database report';

CREATE VIEW streamhouse.sync_status AS
SELECT s.name, s.state,
	CASE WHEN s.lost IS NOT NULL THEN 'lost'
		WHEN s.state IN ('failing', 'paused') THEN s.state
		WHEN s.lag > l.lag OR s.retained_bytes > l.wal THEN 'late'
		ELSE 'ok' END AS health,
	CASE WHEN s.lost IS NOT NULL THEN s.lost
		WHEN s.state = 'failing' THEN s.error
		WHEN s.state = 'paused' THEN 'by streamhouse.pause_sync'
		WHEN s.lag > l.lag THEN format('behind by %s, limit is %s%s', date_trunc('second', s.lag), l.lag,
			CASE WHEN s.awaits_standbys THEN '; it waits for standbys that synchronized_standby_slots names' END)
		WHEN s.retained_bytes > l.wal THEN format('the slot retains %s of WAL, limit is %s',
			pg_size_pretty(s.retained_bytes), pg_size_pretty(l.wal)) END AS health_reason,
	s.pid, s.slot, s.restart_lsn, s.confirmed_lsn, s.lag_bytes, s.lag, s.retained_bytes, s.last_commit_time, s.rows, s.error, s.remote
FROM (
	SELECT s.name, s.slot, s.remote, w.pid, w.rows, w.error, w.awaits_standbys, w.last_commit_time, p.restart_lsn,
		CASE WHEN NOT s.enabled THEN 'paused' ELSE coalesce(w.state, 'starting') END AS state,
		coalesce(w.visible_lsn, r.confirmed_flush_lsn) AS confirmed_lsn,
		(p.current - coalesce(w.visible_lsn, r.confirmed_flush_lsn))::bigint AS lag_bytes,
		CASE WHEN p.current = w.visible_lsn THEN interval '0'
			ELSE greatest(now() - greatest(w.caught_up, w.last_commit_time), interval '0') END AS lag,
		(p.current - p.restart_lsn)::bigint AS retained_bytes,
		coalesce(s.diverged, s.slot_dropped, CASE WHEN r.wal_status = 'lost' THEN 'the replication slot has lost the WAL it needs'
			WHEN s.slot_made AND r.slot_name IS NULL AND s.connection IS NULL AND NOT pg_is_in_recovery() THEN 'the replication slot is not there' END) AS lost
	FROM streamhouse.sync s
	LEFT JOIN streamhouse.sync_workers() w USING (slot)
	LEFT JOIN pg_catalog.pg_replication_slots r ON r.slot_name = s.slot AND s.connection IS NULL
	CROSS JOIN LATERAL (SELECT CASE WHEN s.connection IS NOT NULL THEN w.source_lsn
			WHEN NOT pg_is_in_recovery() THEN pg_current_wal_lsn() END AS current,
		CASE WHEN s.connection IS NOT NULL THEN w.source_restart_lsn ELSE r.restart_lsn END AS restart_lsn) p
) s CROSS JOIN (
	SELECT nullif(current_setting('streamhouse.sync_lag_limit')::interval, interval '0') AS lag,
		nullif(pg_size_bytes(current_setting('streamhouse.sync_wal_limit')), 0) AS wal
) l;
COMMENT ON VIEW streamhouse.sync_status IS 'one row for each sync: what it does and how far it is';

CREATE VIEW streamhouse.sync_tables AS
SELECT t.sync AS name, t.source, s.server, s.database, t.lake_table AS "table", t.copied,
	CASE WHEN t.refused THEN 'refused' WHEN t.error IS NOT NULL THEN 'paused' WHEN t.copied THEN 'streaming' ELSE 'copying' END AS state,
	t.paused_at, coalesce(t.error, CASE WHEN NOT t.copied THEN t.copy_error END) AS error, t.remote_name,
	t.rows_inserted, t.rows_updated, t.rows_deleted, t.rows_copied, t.bytes_written
FROM streamhouse.sync_table t JOIN streamhouse.sync s ON s.name = t.sync;
COMMENT ON VIEW streamhouse.sync_tables IS 'one row for each table of each sync';

CREATE FUNCTION streamhouse.sync_copies(OUT copy_id uuid, OUT phase text, OUT chunks_total integer, OUT chunks_done integer,
	OUT chunks_before integer, OUT rows_done bigint, OUT rows_expected bigint, OUT bytes_done bigint, OUT bytes_total bigint,
	OUT bytes_before bigint, OUT workers integer, OUT started timestamptz)
RETURNS SETOF record LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME', 'streamhouse_sync_copies';
COMMENT ON FUNCTION streamhouse.sync_copies IS 'what the copy workers of this database report';

CREATE VIEW streamhouse.sync_progress AS
SELECT t.sync AS name, t.source, t.lake_table AS "table", coalesce(c.phase, 'waiting') AS phase,
	c.chunks_done, c.chunks_total, c.chunks_before, c.rows_done,
	CASE WHEN c.rows_expected >= 0 THEN greatest(c.rows_expected, c.rows_done)
		WHEN c.bytes_done > 0 THEN (c.rows_done * (c.bytes_total::numeric / c.bytes_done))::bigint END AS rows_expected,
	c.bytes_done, c.bytes_total, c.workers, c.started,
	CASE WHEN c.phase = 'copying' AND c.bytes_done > c.bytes_before
		THEN c.started + (clock_timestamp() - c.started)
			* ((c.bytes_total - c.bytes_before)::float8 / (c.bytes_done - c.bytes_before)) END AS expected_end,
	t.copy_error AS error
FROM streamhouse.sync_table t LEFT JOIN streamhouse.sync_copies() c USING (copy_id)
WHERE NOT t.copied AND t.error IS NULL;
COMMENT ON VIEW streamhouse.sync_progress IS 'one row for each table that is being copied, or waits for that';

GRANT SELECT ON streamhouse.sync_status, streamhouse.sync_tables, streamhouse.sync_progress TO PUBLIC;

-- what the WAL does not tell of changes of tables is written into it
CREATE FUNCTION streamhouse.sync_ddl_trigger()
RETURNS event_trigger
AS 'MODULE_PATHNAME', 'streamhouse_sync_ddl_trigger'
LANGUAGE C SET search_path = pg_catalog, pg_temp;

CREATE EVENT TRIGGER streamhouse_sync_ddl
	ON ddl_command_end
	WHEN TAG IN ('ALTER TABLE', 'ALTER TYPE')
	EXECUTE FUNCTION streamhouse.sync_ddl_trigger();
ALTER EVENT TRIGGER streamhouse_sync_ddl ENABLE ALWAYS;

CREATE EVENT TRIGGER streamhouse_sync_rewrite
	ON table_rewrite
	EXECUTE FUNCTION streamhouse.sync_ddl_trigger();
ALTER EVENT TRIGGER streamhouse_sync_rewrite ENABLE ALWAYS;

CREATE EVENT TRIGGER streamhouse_sync_drop
	ON sql_drop
	EXECUTE FUNCTION streamhouse.sync_ddl_trigger();
ALTER EVENT TRIGGER streamhouse_sync_drop ENABLE ALWAYS;

--
-- Maintenance and inspection of lake tables
--

CREATE PROCEDURE streamhouse.compact("table" regclass, "full" boolean DEFAULT true)
LANGUAGE C AS 'MODULE_PATHNAME', 'streamhouse_compact';
COMMENT ON PROCEDURE streamhouse.compact IS 'merge the files of a lake table';

CREATE PROCEDURE streamhouse.expire_snapshots("table" regclass, retain_max integer DEFAULT NULL,
	retain_min integer DEFAULT NULL, older_than timestamptz DEFAULT NULL)
LANGUAGE C AS 'MODULE_PATHNAME', 'streamhouse_expire_snapshots';
COMMENT ON PROCEDURE streamhouse.expire_snapshots IS 'remove old snapshots of a lake table, and the files that only they use';

CREATE PROCEDURE streamhouse.remove_orphan_files("table" regclass, older_than timestamptz DEFAULT NULL,
	dry_run boolean DEFAULT false)
LANGUAGE C AS 'MODULE_PATHNAME', 'streamhouse_remove_orphan_files';
COMMENT ON PROCEDURE streamhouse.remove_orphan_files IS 'remove files of a lake table that nothing refers to, older than a day';

CREATE FUNCTION streamhouse.snapshots("table" regclass, OUT snapshot_id bigint, OUT schema_id bigint,
	OUT commit_user text, OUT commit_identifier bigint, OUT commit_kind text, OUT commit_time timestamptz,
	OUT base_manifest_list text, OUT delta_manifest_list text, OUT changelog_manifest_list text,
	OUT total_record_count bigint, OUT delta_record_count bigint, OUT changelog_record_count bigint,
	OUT watermark bigint, OUT next_row_id bigint)
RETURNS SETOF record LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME', 'streamhouse_snapshots';
COMMENT ON FUNCTION streamhouse.snapshots IS 'the snapshots of a lake table';

CREATE FUNCTION streamhouse.files("table" regclass, OUT partition text, OUT bucket integer, OUT file_path text,
	OUT file_format text, OUT schema_id bigint, OUT level integer, OUT record_count bigint,
	OUT file_size_in_bytes bigint, OUT min_key text, OUT max_key text, OUT null_value_counts text,
	OUT min_value_stats text, OUT max_value_stats text, OUT min_sequence_number bigint,
	OUT max_sequence_number bigint, OUT creation_time timestamp(3), OUT "deleteRowCount" bigint,
	OUT file_source text, OUT first_row_id bigint, OUT write_cols text[])
RETURNS SETOF record LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME', 'streamhouse_files';
COMMENT ON FUNCTION streamhouse.files IS 'the data files of a lake table''s newest snapshot';

CREATE FUNCTION streamhouse.maintenance_workers(OUT pid integer, OUT phase text, OUT "table" text,
	OUT started timestamptz, OUT buckets_done bigint, OUT buckets_total bigint, OUT rows_written bigint,
	OUT bytes_written bigint, OUT compactions bigint, OUT expired_snapshots bigint, OUT error text)
RETURNS SETOF record LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME', 'streamhouse_maintenance_workers';
COMMENT ON FUNCTION streamhouse.maintenance_workers IS 'what the maintenance worker of this database reports';

CREATE VIEW streamhouse.maintenance_progress AS SELECT * FROM streamhouse.maintenance_workers();
COMMENT ON VIEW streamhouse.maintenance_progress IS 'what the maintenance worker of this database does';

GRANT SELECT ON streamhouse.maintenance_progress TO PUBLIC;

-- let the launcher know of this database
CREATE FUNCTION streamhouse.start_workers() RETURNS void
LANGUAGE C STRICT VOLATILE AS 'MODULE_PATHNAME', 'streamhouse_start_workers';
COMMENT ON FUNCTION streamhouse.start_workers IS 'start the background workers of this database when the transaction commits';
REVOKE ALL ON FUNCTION streamhouse.start_workers FROM PUBLIC;
SELECT streamhouse.start_workers();
