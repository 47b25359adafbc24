/*
 * sync_worker.c
 *		The process of one sync: the stream, beside which tables are copied.
 *
 * When something is to be done about copying (copying.c) the process ends and
 * is started again at once, which takes some milliseconds.
 *
 * When a transaction that is decoded while it runs (streamed.c) meets what it
 * cannot do, the process is started again, too.
 *
 * When columns of a table have changed, or it was dropped, the process also
 * ends, and is started again at once: first to bring all that comes before the change into the
 * lake, then with lake and catalog as the change wants them.  Decoding begins
 * anew at the confirmed position, and what the lake has is skipped as ever.
 *
 * An error ends the process: caches and the state of decoding are best left
 * with it.  The text goes to the status view; the launcher starts the worker
 * again, later and later.
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "replication/slot.h"
#include "storage/ipc.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/timestamp.h"

#include "fdw/fdw.h"
#include "settings.h"
#include "sync/column_change.h"
#include "sync/lake_position.h"
#include "sync/message_table.h"
#include "sync/published.h"
#include "sync/remote_catalog.h"
#include "sync/remote_slot.h"
#include "sync/slot.h"
#include "sync/stream.h"
#include "sync/streamed.h"
#include "worker/copying.h"
#include "worker/shared_state.h"
#include "worker/worker.h"

static MemoryContext worker_context = NULL;
static SyncState *shared;		/* this sync's entry */

static void
set_phase(SyncPhase phase)
{
	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	/* A sync that failed is failing until it has got on. */
	if (shared->error[0] == '\0' || phase == SYNC_FAILING)
		shared->phase = phase;
	LWLockRelease(shared_state->lock);
	ConditionVariableBroadcast(&shared->progress);
}

static bool
monitor_wanted(void)
{
	worker_handle_reload();
	if (copying_is_due(shared))
		shared_stream_restart(shared, false);
	return shared_worker_wanted(&shared->worker);
}

static XLogRecPtr
monitor_flush_request(void)
{
	XLogRecPtr	request;

	LWLockAcquire(shared_state->lock, LW_SHARED);
	request = shared->flush_request;
	LWLockRelease(shared_state->lock);
	return request;
}

static bool
monitor_position_wanted(void)
{
	bool		wanted;

	LWLockAcquire(shared_state->lock, LW_SHARED);
	wanted = shared->source_wanted;
	LWLockRelease(shared_state->lock);
	return wanted;
}

static void
monitor_source_position(TimestampTz since, XLogRecPtr end, XLogRecPtr restart)
{
	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	shared->source_end = end;
	shared->source_restart = restart;
	shared->source_looked = since;
	shared->source_wanted = false;
	LWLockRelease(shared_state->lock);
	ConditionVariableBroadcast(&shared->progress);
}

static void
monitor_rows_written(int64 rows)
{
	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	shared->rows += rows;
	LWLockRelease(shared_state->lock);
}

static void
monitor_reached(XLogRecPtr visible, TimestampTz commit_time)
{
	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	if (!shared->worker.restart)
		shared->visible = Max(shared->visible, visible);
	if (commit_time != 0)
		shared->commit_time = commit_time;
	LWLockRelease(shared_state->lock);
	ConditionVariableBroadcast(&shared->progress);
}

static void
monitor_healthy(void)
{
	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	shared->phase = shared->copying ? SYNC_COPYING : SYNC_STREAMING;
	if (!shared->awaits_standbys)
		shared->caught_up = GetCurrentTimestamp();
	shared->worker.failures = 0;
	shared->error[0] = '\0';
	shared->careful = false;
	LWLockRelease(shared_state->lock);
}

static void
monitor_awaits_standbys(bool awaits)
{
	/* nobody else changes it */
	if (shared->awaits_standbys == awaits)
		return;
	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	shared->awaits_standbys = awaits;
	LWLockRelease(shared_state->lock);
}

static bool
monitor_copy_finished(const SyncTableRecord *table, XLogRecPtr *position)
{
	return copying_finished(shared, table, position);
}

static void
monitor_deferred(const SyncTableRecord *table)
{
	copying_deferred(shared, table);
}

static void
monitor_in_transaction(void (*function) (void *arg), void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	bool		decoding = sync_slot_set_decoding(false);

	worker_begin_transaction();
	function(arg);
	worker_end_transaction(context);
	/* what was looked up is of another time than what is decoded */
	if (sync_slot_set_decoding(decoding) != decoding)
		InvalidateSystemCaches();
}

static const SyncMonitor monitor = {
	.in_transaction = monitor_in_transaction,
	.wanted = monitor_wanted,
	.flush_request = monitor_flush_request,
	.position_wanted = monitor_position_wanted,
	.source_position = monitor_source_position,
	.rows_written = monitor_rows_written,
	.reached = monitor_reached,
	.awaits_standbys = monitor_awaits_standbys,
	.copy_finished = monitor_copy_finished,
	.deferred = monitor_deferred,
	.healthy = monitor_healthy
};

/*
 * Memory: half for transactions being decoded, half for rows being collected;
 * while tables are copied half of both is for that.
 */
static Size
memory_for_rows(void)
{
	return (Size) setting_sync_memory * 1024 / (shared->copying ? 4 : 2);
}

static void
set_decoding_memory(void)
{
	char		memory[32];

	snprintf(memory, sizeof(memory), "%zukB", memory_for_rows() / 1024);
	SetConfigOption("logical_decoding_work_mem", memory, PGC_USERSET, PGC_S_SESSION);
}

/* The catalog's entry and the warehouse; NULL when the sync is gone or paused. */
static SyncRecord *
load_sync(const char *slot, char **warehouse)
{
	MemoryContext context = CurrentMemoryContext;
	SyncRecord *sync = NULL;

	worker_begin_transaction();
	MemoryContextSwitchTo(context);
	if (worker_extension_exists())
		sync = sync_catalog_find_by_slot(slot);
	if (sync && sync->enabled)
	{
		*warehouse = server_warehouse(GetForeignServerByName(sync->server, false), true);
		(void) published_find(sync);
	}
	worker_end_transaction(context);
	return sync && sync->enabled ? sync : NULL;
}

/* What is to be known of a source that is another server, and may have changed. */
static void
ask_source(SyncRecord *sync)
{
	MemoryContext context = CurrentMemoryContext;
	char	   *publish = remote_publication(remote_session(sync), sync->publication);

	sync->source_history = remote_history(sync);
	if (publish == NULL || strcmp(publish, sync->remote_publish) == 0)
		return;
	sync->remote_publish = publish;
	worker_begin_transaction();
	sync_catalog_set_remote(sync);
	worker_end_transaction(context);
}

/* What a standby lacks, WAL or the slot, may be at the primary. */
static void
check_standby(const SyncRecord *sync)
{
	if (sync->slot_made && sync->source_history->standby &&
		remote_slot_look(remote_session(sync), sync->slot).presence == SLOT_MISSING)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the source %s is a standby, which does not have replication slot \"%s\"", sync->remote, sync->slot),
				 errhint("Let \"connection\" lead to the primary, for example with target_session_attrs=read-write.")));
}

static SlotPresence
slot_presence(const SyncRecord *sync)
{
	return sync->connection ? remote_slot_look(remote_session(sync), sync->slot).presence : sync_slot_presence(sync->slot);
}

static void
create_slot(const SyncRecord *sync)
{
	MemoryContext context = CurrentMemoryContext;

	if (sync->connection)
	{
		remote_slot_create(sync);
		return;
	}
	StartTransactionCommand();
	sync_slot_create(sync->slot);
	CommitTransactionCommand();
	MemoryContextSwitchTo(context);
}

static void
make_slot(SyncRecord *sync)
{
	MemoryContext context = CurrentMemoryContext;

	set_phase(SYNC_COPYING);
	create_slot(sync);
	worker_begin_transaction();
	sync_catalog_set_slot_made(sync->name);
	worker_end_transaction(context);
}

/* ---- whether the sync can go on from where the lake is ---- */

pg_noreturn static void
raise_lost(const SyncRecord *sync, const char *reason)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("sync \"%s\" cannot go on from where the lake is: %s", sync->name, reason),
			 errhint("CALL streamhouse.resync_sync(%s) copies all tables again, and replaces what the lake has of them.",
					 quote_literal_cstr(sync->name))));
}

/*
 * The lake must not know of transactions that this server does not have.  Once
 * that was found it is remembered: the server may come to look as if it had them.
 */
static void
check_positions(const SyncRecord *sync, const char *warehouse)
{
	MemoryContext context = CurrentMemoryContext;
	char	   *problem = sync->diverged ? sync->diverged : lake_position_problem(sync, warehouse);

	if (problem == NULL)
		return;
	if (sync->diverged == NULL && !(sync->source_history && sync->source_history->standby))
	{
		worker_begin_transaction();
		sync_catalog_set_diverged(sync->name, problem);
		worker_end_transaction(context);
	}
	raise_lost(sync, problem);
}

/* Why the tables are not copied again without being asked, or NULL. */
static const char *
resync_obstacle(const SyncRecord *sync)
{
	MemoryContext context = CurrentMemoryContext;
	const char *obstacle = NULL;
	ListCell   *cell;

	if (sync->on_slot_loss == SLOT_LOSS_ERROR)
		return "";
	worker_begin_transaction();
	MemoryContextSwitchTo(context);
	foreach(cell, sync->tables)
	{
		if (obstacle == NULL)
			obstacle = column_change_copy_obstacle(sync, lfirst(cell));
	}
	worker_end_transaction(context);
	return obstacle ? psprintf(" (%s)", obstacle) : NULL;
}

/* Copy all tables again, or be lost, as the policy says. */
static void
handle_slot_loss(const SyncRecord *sync, const char *reason)
{
	MemoryContext context = CurrentMemoryContext;
	const char *obstacle = resync_obstacle(sync);

	if (sync->slot_dropped)
		reason = sync->slot_dropped;
	if (obstacle && sync->connection && !sync->slot_dropped)
	{
		/* sessions cannot see the slot */
		worker_begin_transaction();
		sync_catalog_set_slot_dropped(sync->name, reason);
		worker_end_transaction(context);
	}
	if (obstacle)
		raise_lost(sync, psprintf("%s%s", reason, obstacle));
	ereport(LOG,
			(errmsg("sync \"%s\" copies all tables again", sync->name),
			 errdetail_internal("%s", reason)));
	worker_begin_transaction();
	sync_catalog_resync(sync->name);
	worker_end_transaction(context);
	shared_sync_restart(MyDatabaseId, sync->slot);
}

/* A slot that is not known to be made is of before the tables are to be copied. */
static void
remake_slot(SyncRecord *sync)
{
	sync_drop_slot(sync);
	make_slot(sync);
}

/*
 * The slot is made once: what a slot that is gone would have told cannot be
 * known.  False when the worker is to be started again.
 */
static bool
ensure_slot(SyncRecord *sync)
{
	if (sync->slot_made && sync->slot_dropped)
		sync_drop_slot(sync);
	switch (slot_presence(sync))
	{
		case SLOT_FOREIGN:
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("replication slot \"%s\" of sync \"%s\" belongs to another database", sync->slot, sync->name),
					 errhint("The sync may come from a copy of that database: drop it here and create it again.")));
			break;
		case SLOT_PRESENT:
			if (!sync->slot_made)
				remake_slot(sync);
			break;
		case SLOT_INVALIDATED:
			if (!sync->slot_made)
				remake_slot(sync);
			else
			{
				handle_slot_loss(sync, "its replication slot has lost the WAL it needs, for a limit such as max_slot_wal_keep_size");
				return false;
			}
			break;
		case SLOT_MISSING:
			if (sync->slot_made)
			{
				handle_slot_loss(sync, "its replication slot is not there any more");
				return false;
			}
			make_slot(sync);
			break;
	}
	return true;
}

/* Only the worker knows of the slot elsewhere when the extension was dropped. */
static void
leave_source(const SyncRecord *sync)
{
	MemoryContext context = CurrentMemoryContext;
	bool		gone;

	worker_begin_transaction();
	gone = !worker_extension_exists() || sync_catalog_find_by_slot(sync->slot) == NULL;
	worker_end_transaction(context);
	if (gone)
		sync_drop_slot(sync);
}

static void
begin_message_tables(const SyncRecord *sync, const char *warehouse)
{
	MemoryContext context = CurrentMemoryContext;

	if (sync->message_tables == NIL)
		return;
	worker_begin_transaction();
	message_tables_begin(sync, warehouse);
	worker_end_transaction(context);
}

static void
run_sync(const char *slot, SyncStream *stream, char **warehouse)
{
	SyncRecord *sync;

	worker_fix_settings();
	stream->context = worker_context;
	stream->monitor = &monitor;
	stream->careful = (shared->error[0] != '\0' && !shared->source_lost) || shared->careful;
	stream->whole = shared->whole;
	stream->sync = sync = load_sync(slot, warehouse);
	if (sync == NULL)
	{
		shared_sync_stop(MyDatabaseId, slot);
		return;
	}

	if (sync->connection)
	{
		ask_source(sync);
		check_standby(sync);
	}
	check_positions(sync, *warehouse);
	if (!ensure_slot(sync))
		return;
	begin_message_tables(sync, *warehouse);
	stream->frozen = copying_prepare(shared, sync, *warehouse);
	set_decoding_memory();
	stream->map = relation_map_create(stream->sync, *warehouse);
	stream->memory_limit = memory_for_rows();
	stream->change_context = AllocSetContextCreate(stream->context, "streamhouse change", ALLOCSET_DEFAULT_SIZES);
	stream->flush_context = AllocSetContextCreate(stream->context, "streamhouse flush", ALLOCSET_DEFAULT_SIZES);
	apply_note_copied(stream);
	if (stream->frozen)
		apply_hold(stream);
	set_phase(shared->copying ? SYNC_COPYING : SYNC_STREAMING);
	pgstat_report_activity(STATE_RUNNING, "streaming changes");
	if (sync->connection)
	{
		remote_stream_run(stream);
		leave_source(sync);
	}
	else
		stream_run(stream);
}

/* Innermost context, detail and hint of an error, on one line; NULL when there is none of them. */
static char *
error_explanation(const ErrorData *error)
{
	StringInfoData text;

	initStringInfo(&text);
	if (error->context)
		appendStringInfo(&text, "%.*s. ", (int) strcspn(error->context, "\n"), error->context);
	if (error->detail)
		appendStringInfo(&text, "%s ", error->detail);
	if (error->hint)
		appendStringInfo(&text, "%s ", error->hint);
	if (text.len == 0)
		return NULL;
	text.data[text.len - 1] = '\0';
	return text.data;
}

/* Is it one of the connection, or of the server at its other end? */
static bool
is_of_source(const ErrorData *error)
{
	int			category = ERRCODE_TO_CATEGORY(error->sqlerrcode);

	return category == ERRCODE_CONNECTION_EXCEPTION || category == ERRCODE_OPERATOR_INTERVENTION ||
		error->sqlerrcode == ERRCODE_OBJECT_IN_USE;
}

static void
report_failure(void)
{
	ErrorData  *error;

	MemoryContextSwitchTo(TopMemoryContext);
	error = CopyErrorData();
	shared_error_set(shared->error, error->message, error_explanation(error));
	shared->source_lost = is_of_source(error);
	set_phase(SYNC_FAILING);
	EmitErrorReport();
}

/* Columns have changed: see the head of this file. */
static void
follow_change(SyncStream *stream, const char *warehouse)
{
	FlushErrorState();
	if (IsTransactionState())
		AbortCurrentTransaction();
	MemoryContextSwitchTo(worker_context);
	if (MyReplicationSlot)
		ReplicationSlotRelease();
	InvalidateSystemCaches();
	apply_record_counts(stream, true);
	if (!stream->pending)
	{
		stream->map->change->commit_lsn = stream->map->commit_lsn;
		worker_begin_transaction();
		column_change_follow(stream->sync, stream->map->change, warehouse);
		worker_end_transaction(worker_context);
	}
	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	shared->careful = stream->pending;
	shared->worker.restart = true;
	LWLockRelease(shared_state->lock);
}

/* A transaction that runs met what it cannot do: once it has committed it is decoded as a whole. */
static void
decode_as_a_whole(const SyncStream *stream)
{
	TransactionId xid = streamed_transaction_id(stream);
	ErrorData  *error;

	MemoryContextSwitchTo(worker_context);
	error = CopyErrorData();
	FlushErrorState();
	ereport(LOG,
			(errmsg("sync \"%s\" decodes transaction %u when it has committed", stream->sync->name, xid),
			 errdetail_internal("%s", error->message)));
	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	shared->whole = xid;
	shared->worker.restart = true;
	LWLockRelease(shared_state->lock);
}

/* Run the sync to its end, or until a change is to be followed; other errors go on. */
static void
run_to_change(const char *slot)
{
	SyncStream *stream = palloc0(sizeof(SyncStream));
	char	  **warehouse = palloc0(sizeof(char *));

	PG_TRY();
	{
		run_sync(slot, stream, warehouse);
	}
	PG_CATCH();
	{
		if (stream->in_progress)
			decode_as_a_whole(stream);
		else if (stream->map == NULL || stream->map->change == NULL || stream->map->change->kind == CHANGE_STOP)
			PG_RE_THROW();
	}
	PG_END_TRY();
	if (stream->map && stream->map->change && !stream->in_progress)
		follow_change(stream, *warehouse);
}

void
streamhouse_sync_main(Datum argument)
{
	NameData	slot;
	Oid			database;

	shared = &shared_state->syncs[DatumGetInt32(argument)];
	worker_handle_signals();
	if (!shared_worker_attach(&shared->worker))
		proc_exit(0);
	LWLockAcquire(shared_state->lock, LW_SHARED);
	slot = shared->slot;
	database = shared->worker.database;
	LWLockRelease(shared_state->lock);

	/* Registered before the connection is made, so called after its transaction is aborted. */
	worker_delete_at_exit(&worker_context);
	BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, 0);
	worker_context = AllocSetContextCreate(TopMemoryContext, "streamhouse sync", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(worker_context);
	CurrentResourceOwner = ResourceOwnerCreate(NULL, "streamhouse sync");
	pgstat_report_appname(psprintf("streamhouse sync %s", NameStr(shared->name)));

	PG_TRY();
	{
		run_to_change(NameStr(slot));
	}
	PG_CATCH();
	{
		HOLD_INTERRUPTS();
		report_failure();
		proc_exit(1);
	}
	PG_END_TRY();
	proc_exit(0);
}
