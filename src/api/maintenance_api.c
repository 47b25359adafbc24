/*
 * maintenance_api.c
 *		SQL procedures that compact and expire, and what the worker reports.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "api/lake_relation.h"
#include "lake/clock.h"
#include "lake/maintain.h"
#include "sync/sync_catalog.h"
#include "worker/shared_state.h"

#define COMPACT_USER "streamhouse_compact"
#define UNIX_EPOCH_MICROS ((POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY)

PG_FUNCTION_INFO_V1(streamhouse_compact);
PGDLLEXPORT Datum streamhouse_compact(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(streamhouse_expire_snapshots);
PGDLLEXPORT Datum streamhouse_expire_snapshots(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(streamhouse_remove_orphan_files);
PGDLLEXPORT Datum streamhouse_remove_orphan_files(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(streamhouse_maintenance_workers);
PGDLLEXPORT Datum streamhouse_maintenance_workers(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum streamhouse_compact(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum streamhouse_expire_snapshots(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum streamhouse_maintenance_workers(PG_FUNCTION_ARGS);

static Oid
table_argument(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("\"table\" must not be null")));
	return PG_GETARG_OID(0);
}

Datum
streamhouse_compact(PG_FUNCTION_ARGS)
{
	LakeTable  *table = lake_relation_maintain(table_argument(fcinfo));
	bool		full = PG_ARGISNULL(1) || PG_GETARG_BOOL(1);
	int64		newest;
	CompactResult result;

	options_check_writable(table->schema, table->options, table->name);
	newest = snapshot_latest_id(table->location);
	if (sync_catalog_is_copied_to(table))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("lake table \"%s\" is being filled by the initial copy of a sync", table->name),
				 errhint("See streamhouse.sync_progress.")));
	result = lake_compact(table, full, newest, COMPACT_USER, NULL);
	if (result.snapshot_id == 0)
		ereport(NOTICE,
				(errmsg("lake table \"%s\" needs no compaction", table->name)));
	else
		ereport(NOTICE,
				(errmsg("lake table \"%s\" compacted in snapshot " INT64_FORMAT, table->name, result.snapshot_id),
				 errdetail(INT64_FORMAT " buckets, " INT64_FORMAT " files before and " INT64_FORMAT " after, "
						   INT64_FORMAT " rows and " INT64_FORMAT " bytes written.",
						   result.buckets, result.files_before, result.files_after,
						   result.rows_written, result.bytes_written)));
	PG_RETURN_VOID();
}

/* A number of snapshots; -1 stands for the table's option. */
static int64
retain_argument(FunctionCallInfo fcinfo, int number, const char *name)
{
	if (PG_ARGISNULL(number))
		return -1;
	if (PG_GETARG_INT32(number) < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" must be at least 1", name)));
	return PG_GETARG_INT32(number);
}

static int64
older_than_argument(FunctionCallInfo fcinfo, int number)
{
	TimestampTz time;

	if (PG_ARGISNULL(number))
		return -1;
	time = PG_GETARG_TIMESTAMPTZ(number);
	if (TIMESTAMP_NOT_FINITE(time) || time + UNIX_EPOCH_MICROS < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"older_than\" is out of range")));
	return (time + UNIX_EPOCH_MICROS) / 1000;
}

Datum
streamhouse_expire_snapshots(PG_FUNCTION_ARGS)
{
	LakeTable  *table = lake_relation_maintain(table_argument(fcinfo));
	int64		retain_max = retain_argument(fcinfo, 1, "retain_max");
	int64		retain_min = retain_argument(fcinfo, 2, "retain_min");
	int64		older_than = older_than_argument(fcinfo, 3);
	ExpireResult result;

	options_check_expirable(table->schema, table->options, table->name);
	result = lake_expire_snapshots(table, retain_max, retain_min, older_than);
	ereport(NOTICE,
			(errmsg("lake table \"%s\": " INT64_FORMAT " snapshots expired", table->name, result.snapshots),
			 errdetail(INT64_FORMAT " data files and " INT64_FORMAT " metadata files removed.",
					   result.data_files, result.manifest_files)));
	PG_RETURN_VOID();
}

static void
tell_orphan(const char *path, void *arg)
{
	ereport(DEBUG1,
			(errmsg_internal("orphan file \"%s\"", path)));
}

Datum
streamhouse_remove_orphan_files(PG_FUNCTION_ARGS)
{
	LakeTable  *table = lake_relation_maintain(table_argument(fcinfo));
	int64		older_than = older_than_argument(fcinfo, 1);
	bool		dry_run = !PG_ARGISNULL(2) && PG_GETARG_BOOL(2);
	OrphanResult result;

	if (older_than < 0)
		older_than = clock_millis() - ORPHAN_AGE_MS;
	options_check_expirable(table->schema, table->options, table->name);
	result = lake_remove_orphan_files(table, older_than, dry_run, tell_orphan, NULL);
	ereport(NOTICE,
			(dry_run ? errmsg("lake table \"%s\": " INT64_FORMAT " orphan files found", table->name, result.files) :
			 errmsg("lake table \"%s\": " INT64_FORMAT " orphan files removed", table->name, result.files)));
	PG_RETURN_VOID();
}

static const char *
phase_name(MaintenancePhase phase)
{
	switch (phase)
	{
		case MAINTENANCE_IDLE:
			return "idle";
		case MAINTENANCE_COMPACTING:
			return "compacting";
		case MAINTENANCE_EXPIRING:
			return "expiring";
		case MAINTENANCE_CLEANING:
			return "removing orphan files";
	}
	return NULL;				/* keep compiler quiet */
}

static void
report_database(ReturnSetInfo *result, const DatabaseState *state)
{
	Datum		values[11] = {0};
	bool		nulls[11] = {0};
	bool		idle = state->phase == MAINTENANCE_IDLE;

	values[0] = Int32GetDatum(state->worker.pid);
	nulls[0] = state->worker.pid == 0;
	values[1] = CStringGetTextDatum(phase_name(state->phase));
	values[2] = CStringGetTextDatum(state->table);
	values[3] = TimestampTzGetDatum(state->started);
	nulls[2] = nulls[3] = idle;
	values[4] = Int64GetDatum(state->buckets_done);
	values[5] = Int64GetDatum(state->buckets_total);
	values[6] = Int64GetDatum(state->rows_written);
	values[7] = Int64GetDatum(state->bytes_written);
	nulls[4] = nulls[5] = nulls[6] = nulls[7] = idle;
	values[8] = Int64GetDatum(state->compactions);
	values[9] = Int64GetDatum(state->expired_snapshots);
	values[10] = CStringGetTextDatum(state->error);
	nulls[10] = state->error[0] == '\0';
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

Datum
streamhouse_maintenance_workers(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	DatabaseState *copies;
	int			i;

	InitMaterializedSRF(fcinfo, 0);
	if (shared_state == NULL)
		PG_RETURN_VOID();

	copies = palloc(sizeof(shared_state->databases));
	LWLockAcquire(shared_state->lock, LW_SHARED);
	memcpy(copies, shared_state->databases, sizeof(shared_state->databases));
	LWLockRelease(shared_state->lock);
	for (i = 0; i < MAX_DATABASES; i++)
	{
		if (copies[i].worker.in_use && copies[i].worker.database == MyDatabaseId)
			report_database(result, &copies[i]);
	}
	PG_RETURN_VOID();
}
