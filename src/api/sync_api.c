/*
 * sync_api.c
 *		SQL procedures and functions about syncs.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/pg_lsn.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "storage/uuid.h"
#include "sync/mirror.h"
#include "sync/preflight.h"
#include "sync/remote_slot.h"
#include "sync/rule_change.h"
#include "sync/slot.h"
#include "sync/sync_catalog.h"
#include "worker/shared_state.h"
#include "worker/sync_wait.h"
#include "worker/worker.h"

#define MIN_FLUSH_INTERVAL (100 * INT64CONST(1000))
#define MAX_FLUSH_INTERVAL USECS_PER_DAY

PG_FUNCTION_INFO_V1(streamhouse_create_sync);
PGDLLEXPORT Datum streamhouse_create_sync(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(streamhouse_check_sync);
PGDLLEXPORT Datum streamhouse_check_sync(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(streamhouse_alter_sync);
PGDLLEXPORT Datum streamhouse_alter_sync(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(streamhouse_drop_sync);
PGDLLEXPORT Datum streamhouse_drop_sync(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(streamhouse_pause_sync);
PGDLLEXPORT Datum streamhouse_pause_sync(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(streamhouse_resume_sync);
PGDLLEXPORT Datum streamhouse_resume_sync(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(streamhouse_refresh_sync);
PGDLLEXPORT Datum streamhouse_refresh_sync(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(streamhouse_resync_table);
PGDLLEXPORT Datum streamhouse_resync_table(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(streamhouse_resync_sync);
PGDLLEXPORT Datum streamhouse_resync_sync(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(streamhouse_wait_for_sync);
PGDLLEXPORT Datum streamhouse_wait_for_sync(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(streamhouse_sync_workers);
PGDLLEXPORT Datum streamhouse_sync_workers(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(streamhouse_start_workers);
PGDLLEXPORT Datum streamhouse_start_workers(PG_FUNCTION_ARGS);

/* As for replication: superusers, and roles with the attribute REPLICATION. */
static void
require_replication_role(void)
{
	if (!superuser() && !has_rolreplication(GetUserId()))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("only superusers and roles with REPLICATION can manage syncs")));
}

static char *
text_argument(FunctionCallInfo fcinfo, int number, const char *name)
{
	if (PG_ARGISNULL(number))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("\"%s\" must not be null", name)));
	return text_to_cstring(PG_GETARG_TEXT_PP(number));
}

static SyncRecord *
find_sync(const char *name)
{
	SyncRecord *sync = sync_catalog_find(name);

	if (sync == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("sync \"%s\" does not exist", name)));
	return sync;
}

static void
check_name(const char *name)
{
	if (name[0] == '\0' || strlen(name) >= NAMEDATALEN)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("name of a sync must have 1 to %d bytes", NAMEDATALEN - 1)));
	if (sync_catalog_find(name))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("sync \"%s\" already exists", name)));
}

static void
check_flush_interval(const Interval *interval)
{
	if (interval->month != 0 || interval->day != 0 ||
		interval->time < MIN_FLUSH_INTERVAL || interval->time > MAX_FLUSH_INTERVAL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("flush_interval must be between 100 milliseconds and 24 hours")));
}

/* A number of bytes, with a unit or not; 0 stands for no limit. */
static int64
parse_wal_limit(Datum text)
{
	int64		limit = DatumGetInt64(DirectFunctionCall1(pg_size_bytes, text));

	if (limit < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"wal_limit\" must not be negative"),
				 errhint("0 stands for no limit.")));
	return limit;
}

static void
check_slot_loss_policy(SlotLossPolicy policy, const SyncRecord *sync)
{
	if (policy == SLOT_LOSS_RESYNC && sync->history)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a sync with \"history\" cannot have \"on_slot_loss\" as \"resync\""),
				 errdetail("To copy the tables again would remove the history.")));
}

/* A name for the slot that no other sync ever has. */
static char *
make_slot_name(void)
{
	char		uuid[UUID_TEXT_LENGTH + 1];
	StringInfoData name;
	char	   *c;

	lake_uuid(uuid);
	initStringInfo(&name);
	appendStringInfoString(&name, SYNC_SLOT_PREFIX);
	for (c = uuid; *c; c++)
	{
		if (*c != '-')
			appendStringInfoChar(&name, *c);
	}
	return name.data;
}

/* The source is another server, unless the connection is empty. */
static void
set_connection(SyncRecord *sync, Datum connection)
{
	char	   *string = TextDatumGetCString(connection);

	sync->owner = OidIsValid(sync->owner) ? sync->owner : GetUserId();
	if (string[0] == '\0')
		return;
	sync->connection = string;
	sync->remote = remote_label(string, sync->owner);
}

Datum
streamhouse_create_sync(PG_FUNCTION_ARGS)
{
	SyncRecord *sync = palloc0(sizeof(SyncRecord));

	require_replication_role();
	sync->name = text_argument(fcinfo, 0, "name");
	sync->publication = text_argument(fcinfo, 1, "publication");
	sync->server = text_argument(fcinfo, 2, "server");
	sync->database = text_argument(fcinfo, 3, "database");
	sync->on_unrepresentable = unrepresentable_policy_parse(text_argument(fcinfo, 6, "on_unrepresentable"));
	sync->on_schema_change = schema_change_policy_parse(text_argument(fcinfo, 8, "on_schema_change"));
	if (PG_ARGISNULL(4) || PG_ARGISNULL(5) || PG_ARGISNULL(7) || PG_ARGISNULL(9) || PG_ARGISNULL(10) || PG_ARGISNULL(12) ||
		PG_ARGISNULL(13))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("\"flush_interval\", \"options\", \"history\", \"auto_refresh\", \"tables\", \"wal_limit\" and \"connection\" must not be null")));
	sync->history = PG_GETARG_BOOL(7);
	sync->auto_refresh = PG_GETARG_BOOL(9);
	sync->on_slot_loss = slot_loss_policy_parse(text_argument(fcinfo, 11, "on_slot_loss"));
	sync->wal_limit = parse_wal_limit(PG_GETARG_DATUM(12));
	check_slot_loss_policy(sync->on_slot_loss, sync);
	set_connection(sync, PG_GETARG_DATUM(13));
	check_name(sync->name);
	check_flush_interval(PG_GETARG_INTERVAL_P(4));
	sync->options = sync_options_parse(PG_GETARG_DATUM(5));
	sync->rules = table_rules_parse(PG_GETARG_DATUM(10));
	sync->slot = make_slot_name();

	preflight(sync, shared_state != NULL);
	sync_catalog_insert(sync, PG_GETARG_DATUM(4), PG_GETARG_DATUM(5), PG_GETARG_DATUM(10));
	worker_start_sync_at_commit(sync->slot, sync->name);
	worker_start_maintenance_at_commit();
	PG_RETURN_VOID();
}

/* What create_sync would say of the same arguments, and warnings; nothing is made. */
Datum
streamhouse_check_sync(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	SyncRecord *sync = palloc0(sizeof(SyncRecord));
	ListCell   *cell;

	require_replication_role();
	sync->name = pstrdup("");
	sync->publication = text_argument(fcinfo, 0, "publication");
	sync->server = text_argument(fcinfo, 1, "server");
	sync->database = text_argument(fcinfo, 2, "database");
	sync->options = sync_options_parse(PG_GETARG_DATUM(3));
	sync->history = PG_GETARG_BOOL(4);
	sync->rules = table_rules_parse(PG_GETARG_DATUM(5));
	set_connection(sync, PG_GETARG_DATUM(6));
	sync->slot = pstrdup("");
	InitMaterializedSRF(fcinfo, 0);
	foreach(cell, preflight_list_problems(sync, shared_state != NULL))
	{
		const PreflightProblem *problem = lfirst(cell);
		Datum		values[4] = {0};
		bool		nulls[4] = {false, problem->table == NULL, false, problem->cure == NULL};

		values[0] = CStringGetTextDatum(problem->is_warning ? "warning" : "error");
		values[1] = problem->table ? CStringGetTextDatum(problem->table) : 0;
		values[2] = CStringGetTextDatum(problem->text);
		values[3] = problem->cure ? CStringGetTextDatum(problem->cure) : 0;
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	PG_RETURN_VOID();
}

/* It must lead to the same source: the slot is there, and the worker compares what the lake has with it. */
static void
alter_connection(SyncRecord *sync, Datum connection)
{
	const char *before = sync->remote;

	if (sync->connection == NULL || VARSIZE_ANY_EXHDR(DatumGetTextPP(connection)) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a source cannot become another server"),
				 errhint("Drop the sync and its lake tables, and create the sync again.")));
	/* whether a password is needed is a matter of the owner */
	if (!superuser() && sync->owner != GetUserId())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("only superusers and the role that created sync \"%s\" can change its \"connection\"", sync->name)));
	set_connection(sync, connection);
	sync_catalog_set_remote(sync);
	/* what is known of another server says nothing of this one */
	if (strcmp(before, sync->remote) != 0)
		sync_catalog_forget_loss(sync->name);
}

/* The worker brings the lake table into form before it copies (column_change_align). */
static void
copy_again(SyncRecord *sync, const SyncTableRecord *table)
{
	List	   *left;
	List	   *anew = preflight_tables(sync, shared_state != NULL, table->source, &left);

	sync_catalog_set_used(sync->name, table, linitial(anew));
	sync_catalog_copy_again(sync->name, table);
	worker_restart_sync_at_commit(sync->slot);
}

/* Take up tables that the publication has and the sync has not, and leave those that it has no more; true if there were any. */
static bool
refresh_tables(SyncRecord *sync)
{
	List	   *left;
	List	   *joined = preflight_tables(sync, shared_state != NULL, InvalidOid, &left);
	ListCell   *cell;

	foreach(cell, left)
		sync_catalog_remove_table(sync->name, lfirst(cell));
	foreach(cell, joined)
		sync_catalog_add_table(sync->name, lfirst(cell));
	mirror_drop_left(left, joined);
	return left != NIL || joined != NIL;
}

/* Tables of which the rules make nothing else go on; others are copied again, if that is wanted. */
static void
alter_rules(SyncRecord *sync, Datum rules, bool copy)
{
	RuleChanges changes;
	ListCell   *cell;

	rule_changes_find(sync, table_rules_parse(rules), copy, &changes);
	foreach(cell, changes.moved)
		sync_catalog_remove_table(sync->name, lfirst(cell));
	preflight_messages(sync);
	(void) refresh_tables(sync);
	mirror_drop_left(changes.moved, NIL);
	foreach(cell, changes.same)
		sync_catalog_set_rule_number(sync->name, lfirst(cell));
	foreach(cell, changes.again)
	{
		/* it may have left */
		if (!list_member_ptr(sync->tables, lfirst(cell)))
			continue;
		sync_catalog_set_rule_number(sync->name, lfirst(cell));
		copy_again(sync, lfirst(cell));
	}
	sync_catalog_set_rules(sync->name, rules);
	rule_changes_publish_options(&changes);
}

/* The worker takes up the new definition by starting again. */
Datum
streamhouse_alter_sync(PG_FUNCTION_ARGS)
{
	SyncRecord *sync;
	Datum		flush_interval = PG_GETARG_DATUM(1);
	UnrepresentablePolicy policy = UNREPRESENTABLE_ERROR;
	SchemaChangePolicy on_schema_change = SCHEMA_CHANGE_EVOLVE;
	bool		auto_refresh = PG_GETARG_BOOL(4);
	SlotLossPolicy on_slot_loss = SLOT_LOSS_ERROR;
	int64		wal_limit = 0;

	require_replication_role();
	sync_catalog_lock(text_argument(fcinfo, 0, "name"));
	sync = find_sync(text_argument(fcinfo, 0, "name"));
	if (!PG_ARGISNULL(1))
		check_flush_interval(PG_GETARG_INTERVAL_P(1));
	if (!PG_ARGISNULL(2))
		policy = unrepresentable_policy_parse(text_argument(fcinfo, 2, "on_unrepresentable"));
	if (!PG_ARGISNULL(3))
		on_schema_change = schema_change_policy_parse(text_argument(fcinfo, 3, "on_schema_change"));
	if (!PG_ARGISNULL(5))
		on_slot_loss = slot_loss_policy_parse(text_argument(fcinfo, 5, "on_slot_loss"));
	check_slot_loss_policy(on_slot_loss, sync);
	if (!PG_ARGISNULL(6))
		wal_limit = parse_wal_limit(PG_GETARG_DATUM(6));
	if (!PG_ARGISNULL(7))
		alter_connection(sync, PG_GETARG_DATUM(7));
	sync_catalog_alter(sync->name, PG_ARGISNULL(1) ? NULL : &flush_interval, PG_ARGISNULL(2) ? NULL : &policy,
					   PG_ARGISNULL(3) ? NULL : &on_schema_change, PG_ARGISNULL(4) ? NULL : &auto_refresh,
					   PG_ARGISNULL(5) ? NULL : &on_slot_loss, PG_ARGISNULL(6) ? NULL : &wal_limit);
	if (!PG_ARGISNULL(8))
		alter_rules(sync, PG_GETARG_DATUM(8), !PG_ARGISNULL(9) && PG_GETARG_BOOL(9));
	worker_restart_sync_at_commit(sync->slot);
	PG_RETURN_VOID();
}

/* The worker copies new tables when it starts again. */
Datum
streamhouse_refresh_sync(PG_FUNCTION_ARGS)
{
	SyncRecord *sync;

	require_replication_role();
	sync_catalog_lock(text_argument(fcinfo, 0, "name"));
	sync = find_sync(text_argument(fcinfo, 0, "name"));
	if (refresh_tables(sync))
		worker_restart_sync_at_commit(sync->slot);
	PG_RETURN_VOID();
}

Datum
streamhouse_resync_table(PG_FUNCTION_ARGS)
{
	SyncRecord *sync;
	ListCell   *cell;

	require_replication_role();
	sync = find_sync(text_argument(fcinfo, 0, "name"));
	foreach(cell, sync->tables)
	{
		const SyncTableRecord *table = lfirst(cell);

		if (!PG_ARGISNULL(1) && !table->refused && table->source == PG_GETARG_OID(1))
		{
			copy_again(sync, table);
			PG_RETURN_VOID();
		}
	}
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("sync \"%s\" does not have that table", sync->name),
			 errhint("See streamhouse.sync_tables.")));
	PG_RETURN_VOID();			/* keep compiler quiet */
}

/* The worker makes a new slot, and copies the tables, when it starts again. */
Datum
streamhouse_resync_sync(PG_FUNCTION_ARGS)
{
	SyncRecord *sync;

	require_replication_role();
	sync = find_sync(text_argument(fcinfo, 0, "name"));
	sync_catalog_resync(sync->name);
	worker_restart_sync_at_commit(sync->slot);
	PG_RETURN_VOID();
}

/* Is this CALL outside a transaction block, so that it may commit? */
static bool
may_commit(FunctionCallInfo fcinfo)
{
	return fcinfo->context && IsA(fcinfo->context, CallContext) && !castNode(CallContext, fcinfo->context)->atomic;
}

static void
commit_now(void)
{
	SPI_connect_ext(SPI_OPT_NONATOMIC);
	SPI_commit();
	SPI_finish();
}

/*
 * The slot goes after the commit, so that a rollback finds it where it was.
 * In a transaction block the maintenance worker sees to it afterwards.
 */
static void
drop_local(const SyncRecord *sync, bool commits)
{
	sync_catalog_delete(sync->name);
	worker_stop_sync_at_commit(sync->slot);
	worker_start_maintenance_at_commit();
	if (commits)
	{
		commit_now();
		sync_slot_drop(sync->slot);
	}
}

/*
 * Nobody else knows of a slot elsewhere: it goes first, when the worker has let go of it, and
 * then the sync.  If that fails the sync is paused, and can be dropped later.
 */
static void
drop_remote_slot(const SyncRecord *sync, bool commits)
{
	if (!commits)
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("a sync with \"connection\" cannot be dropped in a transaction block"),
				 errhint("With force => true it can, and its replication slot is left at the source.")));
	remote_close(remote_connect(sync, false));
	sync_catalog_set_enabled(sync->name, false);
	worker_stop_sync_at_commit(sync->slot);
	commit_now();
	sync_drop_slot(sync);
}

static void
drop_remote(const SyncRecord *sync, bool force, bool commits)
{
	if (force)
		ereport(NOTICE,
				(errmsg("replication slot \"%s\" is left at the source %s", sync->slot, sync->remote),
				 errhint("Drop it there with pg_drop_replication_slot, or it keeps WAL.")));
	else
		drop_remote_slot(sync, commits);
	sync_catalog_delete(sync->name);
	worker_stop_sync_at_commit(sync->slot);
	mirror_drop_left(sync->tables, NIL);
}

Datum
streamhouse_drop_sync(PG_FUNCTION_ARGS)
{
	SyncRecord *sync;

	require_replication_role();
	sync = find_sync(text_argument(fcinfo, 0, "name"));
	if (sync->connection)
		drop_remote(sync, !PG_ARGISNULL(1) && PG_GETARG_BOOL(1), may_commit(fcinfo));
	else
		drop_local(sync, may_commit(fcinfo));
	PG_RETURN_VOID();
}

Datum
streamhouse_pause_sync(PG_FUNCTION_ARGS)
{
	SyncRecord *sync;

	require_replication_role();
	sync = find_sync(text_argument(fcinfo, 0, "name"));
	sync_catalog_set_enabled(sync->name, false);
	worker_stop_sync_at_commit(sync->slot);
	PG_RETURN_VOID();
}

Datum
streamhouse_resume_sync(PG_FUNCTION_ARGS)
{
	SyncRecord *sync;

	require_replication_role();
	shared_state_require();
	sync = find_sync(text_argument(fcinfo, 0, "name"));
	sync_catalog_set_enabled(sync->name, true);
	worker_start_sync_at_commit(sync->slot, sync->name);
	worker_start_maintenance_at_commit();
	PG_RETURN_VOID();
}

/*
 * While waiting there is no snapshot, if the procedure may commit: the initial
 * copy and vacuum are not held up by those who wait.
 */
Datum
streamhouse_wait_for_sync(PG_FUNCTION_ARGS)
{
	const SyncRecord *sync = find_sync(text_argument(fcinfo, 0, "name"));
	XLogRecPtr	position;
	TimestampTz deadline;

	shared_state_require();
	if (PG_ARGISNULL(2))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("\"timeout\" must not be null")));
	deadline = DatumGetTimestampTz(DirectFunctionCall2(timestamptz_pl_interval,
													   TimestampTzGetDatum(GetCurrentTimestamp()),
													   PG_GETARG_DATUM(2)));
	position = !PG_ARGISNULL(1) ? PG_GETARG_LSN(1) : sync->connection ? InvalidXLogRecPtr : compat_log_message("streamhouse");
	if (may_commit(fcinfo))
		commit_now();
	if (XLogRecPtrIsInvalid(position))
		position = sync_wait_for_source(sync, deadline);
	sync_wait(sync, position, true, deadline);
	PG_RETURN_VOID();
}

static const char *
phase_name(SyncPhase phase)
{
	switch (phase)
	{
		case SYNC_STARTING:
			return "starting";
		case SYNC_COPYING:
			return "copying";
		case SYNC_STREAMING:
			return "streaming";
		case SYNC_FAILING:
			return "failing";
	}
	return NULL;				/* keep compiler quiet */
}

static void
report_sync(ReturnSetInfo *result, const SyncState *sync)
{
	Datum		values[11] = {0};
	bool		nulls[11] = {0};

	values[0] = NameGetDatum(&sync->slot);
	values[1] = Int32GetDatum(sync->worker.pid);
	nulls[1] = sync->worker.pid == 0;
	values[2] = CStringGetTextDatum(phase_name(sync->phase));
	values[3] = LSNGetDatum(sync->visible);
	nulls[3] = XLogRecPtrIsInvalid(sync->visible);
	values[4] = TimestampTzGetDatum(sync->commit_time);
	nulls[4] = sync->commit_time == 0;
	values[5] = Int64GetDatum(sync->rows);
	values[6] = CStringGetTextDatum(sync->error);
	nulls[6] = sync->error[0] == '\0';
	values[7] = TimestampTzGetDatum(sync->caught_up);
	nulls[7] = sync->caught_up == 0;
	values[8] = LSNGetDatum(sync->source_end);
	nulls[8] = XLogRecPtrIsInvalid(sync->source_end);
	values[9] = LSNGetDatum(sync->source_restart);
	nulls[9] = XLogRecPtrIsInvalid(sync->source_restart);
	values[10] = BoolGetDatum(sync->awaits_standbys);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

Datum
streamhouse_sync_workers(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	SyncState  *copies;
	int			i;

	InitMaterializedSRF(fcinfo, 0);
	if (shared_state == NULL)
		PG_RETURN_VOID();

	copies = palloc(sizeof(shared_state->syncs));
	LWLockAcquire(shared_state->lock, LW_SHARED);
	memcpy(copies, shared_state->syncs, sizeof(shared_state->syncs));
	LWLockRelease(shared_state->lock);
	for (i = 0; i < MAX_SYNCS; i++)
	{
		if (copies[i].worker.in_use && copies[i].worker.database == MyDatabaseId)
			report_sync(result, &copies[i]);
	}
	PG_RETURN_VOID();
}

Datum
streamhouse_start_workers(PG_FUNCTION_ARGS)
{
	worker_start_maintenance_at_commit();
	PG_RETURN_VOID();
}
