/*
 * copy_worker.c
 *		The processes that copy tables of a sync: the leader of a round, and its helpers.
 *
 * The leader takes a snapshot, exports it, writes all chunks on a board, and
 * waits until the sync's worker has begun the tables in the lake (copying.c says why).
 * Then leader and helpers take chunks until none is left.  An error costs the
 * table the rest of the round, and the others nothing.
 *
 * The leader's transaction lasts as long as the snapshot is needed, so each chunk
 * is a subtransaction there; helpers import the snapshot for each chunk.  Locks
 * are held for one chunk.
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
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "fdw/fdw.h"
#include "settings.h"
#include "sync/copy_plan.h"
#include "sync/remote_slot.h"
#include "sync/slot.h"
#include "worker/copy_board.h"
#include "worker/worker.h"

#define POLL_MS 100
#define MAX_BACKOFF_SECONDS 60

/* This process's part in a round. */
static SyncState *shared;
static int	round_number;
static CopyBoard *board = NULL;
static BoardTable *current_table = NULL;	/* of the chunk being copied */
static MemoryContext copy_context = NULL;
static SyncRecord *sync_record;
static char *warehouse;
static char *remote_snapshot = NULL;	/* at a source that is another server, of the leader */
static List *helpers = NIL;		/* BackgroundWorkerHandle *, of the leader */

/* ---- monitor ---- */

static bool
monitor_wanted(void)
{
	worker_handle_reload();
	return shared_copy_wanted(shared, round_number) && (current_table == NULL || current_table->state != BOARD_LEFT);
}

static void
monitor_rows_written(int64 rows)
{
	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	shared->rows += rows;
	LWLockRelease(shared_state->lock);
	board_count_rows(current_table, rows);
}

static const SyncMonitor monitor = {
	.wanted = monitor_wanted,
	.rows_written = monitor_rows_written
};

/* ---- a chunk ---- */

static SyncTableRecord *
find_record(const char *copy_id)
{
	ListCell   *cell;

	foreach(cell, sync_record->tables)
	{
		SyncTableRecord *record = lfirst(cell);

		if (strcmp(record->copy_id, copy_id) == 0)
			return record;
	}
	return NULL;
}

static Size
writer_memory(void)
{
	return (Size) setting_sync_memory * 1024 / 2 / setting_copy_workers;
}

/* In an active snapshot; all that is allocated goes with the context. */
static void
copy_one(BoardTable *entry, int chunk)
{
	MemoryContext context = AllocSetContextCreate(copy_context, "streamhouse copied chunk", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	const SyncTableRecord *record = find_record(entry->copy_id);
	TableCounts written = {0};
	CopyTable	table = {.sync = sync_record, .record = record, .warehouse = warehouse, .position = board->position};

	if (sync_record->connection)
		table.snapshot = board->snapshot;

	if (record == NULL)
		elog(ERROR, "table of copy %s has left the sync", entry->copy_id);
	pgstat_report_activity(STATE_RUNNING, psprintf("initial copy of table %s", record->source_name));
	copy_chunk(&table, &board_chunks(board)[chunk], entry->nbefore + chunk - entry->first, writer_memory(), &monitor, &written);
	board_count_written(entry, &written);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* Innermost context, detail and hint, behind the message. */
static char *
error_text(const ErrorData *error)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfoString(&text, error->message);
	if (error->context)
		appendStringInfo(&text, " (%.*s)", (int) strcspn(error->context, "\n"), error->context);
	if (error->detail)
		appendStringInfo(&text, " %s", error->detail);
	if (error->hint)
		appendStringInfo(&text, " %s", error->hint);
	return text.data;
}

/* After an error has been taken down: the table's, unless the copy was to stop. */
static void
note_failure(BoardTable *table, ErrorData *error)
{
	MemoryContextReset(copy_context);
	if (!monitor_wanted())
		return;
	ereport(LOG,
			(errmsg("initial copy of sync \"%s\" failed: %s", NameStr(shared->name), error->message),
			 error->detail ? errdetail_internal("%s", error->detail) : 0,
			 error->context ? errcontext("%s", error->context) : 0));
	board_fail(board, table, error_text(error));
}

/* True when the chunk is in the lake. */
static bool
try_chunk(int table, int chunk, void (*begin) (void), void (*end) (void), void (*undo) (void))
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	volatile bool good = false;

	current_table = &board->tables[table];
	begin();
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		copy_one(current_table, chunk);
		end();
		good = true;
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		undo();
		MemoryContextSwitchTo(context);
		note_failure(current_table, error);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	current_table = NULL;
	return good;
}

/* Has the copy of another source of the same lake table failed, so that the stream leaves it out until a later round? */
static bool
is_held_up(const BoardTable *entry)
{
	const SyncTableRecord *record = find_record(entry->copy_id);
	int			i;

	for (i = 0; i < board->ntables; i++)
	{
		const BoardTable *other = &board->tables[i];
		const SyncTableRecord *other_record = other->state == BOARD_FAILED && other->begun ? find_record(other->copy_id) : NULL;

		if (record && other_record && strcmp(record->lake_table, other_record->lake_table) == 0)
			return true;
	}
	return false;
}

/* Is the table copied, but not all of it visible before the stream takes it up again?  The lock must be held. */
static bool
awaits_stream(const BoardTable *entry)
{
	return entry->state == BOARD_DONE && entry->deferred && !is_held_up(entry);
}

/* The stream takes up tables that it had to leave out until they are copied. */
static void
wake_deferred_stream(void)
{
	bool		deferred = false;
	int			i;

	LWLockAcquire(shared_state->lock, LW_SHARED);
	for (i = 0; i < board->ntables; i++)
		deferred |= awaits_stream(&board->tables[i]);
	deferred &= !shared->worker.restart;
	LWLockRelease(shared_state->lock);
	if (deferred)
		shared_stream_restart(shared, true);
}

static void
copy_chunks(void (*begin) (void), void (*end) (void), void (*undo) (void))
{
	int			table;
	int			chunk;

	while (monitor_wanted() && board_take(board, &table, &chunk))
	{
		if (try_chunk(table, chunk, begin, end, undo))
			board_chunk_done(&board->tables[table]);
		wake_deferred_stream();
		CHECK_FOR_INTERRUPTS();
	}
}

/* ---- both kinds of process ---- */

static void
load_sync(const char *slot)
{
	MemoryContext context = CurrentMemoryContext;

	worker_begin_transaction();
	MemoryContextSwitchTo(context);
	sync_record = worker_extension_exists() ? sync_catalog_find_by_slot(slot) : NULL;
	if (sync_record)
		warehouse = server_warehouse(GetForeignServerByName(sync_record->server, false), true);
	worker_end_transaction(context);
}

/* Connect, and know the sync; false when it is gone. */
static bool
join_round(void)
{
	NameData	slot;
	Oid			database;

	LWLockAcquire(shared_state->lock, LW_SHARED);
	slot = shared->slot;
	database = shared->worker.database;
	LWLockRelease(shared_state->lock);

	worker_delete_at_exit(&copy_context);
	BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, 0);
	MemoryContextSwitchTo(AllocSetContextCreate(TopMemoryContext, "streamhouse copy", ALLOCSET_DEFAULT_SIZES));
	copy_context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse copied chunks", ALLOCSET_DEFAULT_SIZES);
	CurrentResourceOwner = ResourceOwnerCreate(NULL, "streamhouse copy");
	pgstat_report_appname(psprintf("streamhouse copy %s", NameStr(shared->name)));
	worker_fix_settings();
	load_sync(NameStr(slot));
	return sync_record != NULL;
}

/* ---- helpers ---- */

static void
begin_imported(void)
{
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	XactIsoLevel = XACT_REPEATABLE_READ;
	XactReadOnly = true;
	if (sync_record->connection == NULL)
		ImportSnapshot(board->snapshot);
	PushActiveSnapshot(GetTransactionSnapshot());
}

static void
end_imported(void)
{
	PopActiveSnapshot();
	CommitTransactionCommand();
	pgstat_report_stat(true);
}

void
streamhouse_copy_helper_main(Datum argument)
{
	dsm_segment *segment;
	dsm_handle	handle;

	shared = &shared_state->syncs[DatumGetInt32(argument)];
	memcpy(&round_number, MyBgworkerEntry->bgw_extra, sizeof(round_number));
	worker_handle_signals();
	if (!monitor_wanted() || !join_round())
		proc_exit(0);
	LWLockAcquire(shared_state->lock, LW_SHARED);
	handle = shared->copy.board;
	LWLockRelease(shared_state->lock);
	board = board_attach(handle, &segment);
	if (board && board->round == round_number)
		copy_chunks(begin_imported, end_imported, AbortCurrentTransaction);
	proc_exit(0);
}

static void
start_helpers(void)
{
	int			wanted = Min(setting_copy_workers, board->nchunks) - 1;
	int			i;

	for (i = 0; i < wanted; i++)
	{
		BackgroundWorker worker = {0};
		BackgroundWorkerHandle *handle;

		snprintf(worker.bgw_name, BGW_MAXLEN, "%s %s", COPY_TYPE, NameStr(shared->name));
		strlcpy(worker.bgw_type, COPY_TYPE, BGW_MAXLEN);
		strlcpy(worker.bgw_library_name, "streamhouse", BGW_MAXLEN);
		strlcpy(worker.bgw_function_name, "streamhouse_copy_helper_main", BGW_MAXLEN);
		worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
		worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
		worker.bgw_restart_time = BGW_NEVER_RESTART;
		worker.bgw_main_arg = Int32GetDatum((int32) (shared - shared_state->syncs));
		worker.bgw_notify_pid = MyProcPid;
		memcpy(worker.bgw_extra, &round_number, sizeof(round_number));
		/* when there is no room the others do its work */
		if (!RegisterDynamicBackgroundWorker(&worker, &handle))
			break;
		helpers = lappend(helpers, handle);
	}
}

/* ---- the leader ---- */

/* What a table is on the board. */
typedef struct PlannedTable
{
	const SyncTableRecord *record;
	CopyPlan   *plan;			/* NULL: it failed */
	char	   *error;
} PlannedTable;

static List *
tables_to_copy(void)
{
	List	   *tables = NIL;
	ListCell   *cell;

	foreach(cell, sync_record->tables)
	{
		const SyncTableRecord *record = lfirst(cell);

		if (!record->copied && !record->paused)
			tables = lappend(tables, lfirst(cell));
	}
	return tables;
}

static bool
some_need_base(List *tables)
{
	ListCell   *cell;

	foreach(cell, tables)
	{
		if (XLogRecPtrIsInvalid(((SyncTableRecord *) lfirst(cell))->base))
			return true;
	}
	return false;
}

static void
nap(void)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, POLL_MS, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/* What no standby has that is to take over must not get into the lake by a copy, either. */
static void
wait_for_standbys(XLogRecPtr position)
{
	while (monitor_wanted() && !sync_slot_standbys_have(sync_record->slot, position, false))
		nap();
}

/*
 * A snapshot, and a position that is not before any transaction it sees.  When
 * tables are to begin there it must be exact.
 */
static XLogRecPtr
take_snapshot(bool exact)
{
	XLogRecPtr	position;

	/* without holding back vacuum */
	wait_for_standbys(GetFlushRecPtr(NULL));
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	if (exact)
		position = sync_slot_snapshot(psprintf("%s_copy", sync_record->slot));
	else
	{
		XactIsoLevel = XACT_REPEATABLE_READ;
		XactReadOnly = true;
		(void) GetTransactionSnapshot();
		position = GetXLogInsertRecPtr();
		XLogFlush(position);
	}
	PushActiveSnapshot(GetTransactionSnapshot());
	wait_for_standbys(position);
	return position;
}

/* The same at a source that is another server, as long as the holder is connected. */
static XLogRecPtr
take_remote_snapshot(RemoteConnection *holder)
{
	XLogRecPtr	position = remote_slot_snapshot(sync_record, holder, &remote_snapshot);

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	return position;
}

static void
begin_nested(void)
{
	BeginInternalSubTransaction(NULL);
}

/* One table's plan; its error is for later. */
static PlannedTable *
plan_table(SyncTableRecord *record, XLogRecPtr position)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	PlannedTable *planned = palloc0(sizeof(PlannedTable));
	CopyTable	table = {.sync = sync_record, .record = record, .warehouse = warehouse, .position = position,
	.snapshot = remote_snapshot};

	planned->record = record;
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		planned->plan = copy_plan(&table, (int64) setting_copy_chunk_size * 1024);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		planned->plan = NULL;
		planned->error = error_text(error);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return planned;
}

static void
fill_entry(BoardTable *entry, const PlannedTable *planned, int first)
{
	const CopyPlan *plan = planned->plan;
	ListCell   *cell;
	int			i = first;

	strlcpy(entry->copy_id, planned->record->copy_id, sizeof(entry->copy_id));
	entry->begun = !XLogRecPtrIsInvalid(planned->record->base);
	entry->deferred = entry->begun && shared->deferred;
	entry->rows_expected = -1;
	if (plan == NULL)
	{
		board_fail(board, entry, planned->error);
		return;
	}
	foreach(cell, plan->chunks)
		board_chunks(board)[i++] = *(CopyChunk *) lfirst(cell);
	entry->first = first;
	entry->nchunks = list_length(plan->chunks);
	entry->nbefore = plan->nbefore;
	entry->bytes = plan->bytes;
	entry->bytes_before = plan->bytes_before;
	entry->rows_expected = (int64) plan->rows;
	entry->state = entry->nchunks > 0 ? BOARD_COPYING : BOARD_DONE;
}

/* Everything on the board, for all to see. */
static void
publish_board(List *planned, XLogRecPtr position, bool needs_base)
{
	dsm_handle	handle;
	int			nchunks = 0;
	int			first = 0;
	int			i = 0;
	ListCell   *cell;

	foreach(cell, planned)
	{
		const PlannedTable *table = lfirst(cell);

		nchunks += table->plan ? list_length(table->plan->chunks) : 0;
	}
	board = board_create(list_length(planned), nchunks, &handle);
	board->round = round_number;
	board->position = position;
	strlcpy(board->snapshot, remote_snapshot ? remote_snapshot : ExportSnapshot(GetActiveSnapshot()), sizeof(board->snapshot));
	foreach(cell, planned)
	{
		fill_entry(&board->tables[i], lfirst(cell), first);
		first += board->tables[i++].nchunks;
	}
	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	shared->copy.needs_base = needs_base;
	shared->copy.go = !needs_base;
	shared->copy.board = handle;
	LWLockRelease(shared_state->lock);
}

/* Until the sync's worker has begun the tables. */
static void
wait_for_go(void)
{
	bool		go = false;

	while (monitor_wanted() && !go)
	{
		LWLockAcquire(shared_state->lock, LW_SHARED);
		go = shared->copy.go;
		LWLockRelease(shared_state->lock);
		if (!go)
			nap();
	}
}

static void
wait_for_helpers(void)
{
	ListCell   *cell;
	pid_t		pid;

	foreach(cell, helpers)
	{
		while (monitor_wanted() && GetBackgroundWorkerPid(lfirst(cell), &pid) != BGWH_STOPPED)
		{
			wake_deferred_stream();
			nap();
		}
	}
}

/* Until all that the snapshot saw has come by the stream, too; it may have to be started again for that. */
static void
wait_for_stream(void)
{
	bool		passed = false;
	int			i;

	while (monitor_wanted() && !passed)
	{
		LWLockAcquire(shared_state->lock, LW_SHARED);
		passed = shared->visible >= board->position;
		for (i = 0; i < board->ntables; i++)
			passed &= !awaits_stream(&board->tables[i]);
		LWLockRelease(shared_state->lock);
		wake_deferred_stream();
		if (!passed)
			nap();
	}
}

/*
 * What has become of a table goes to the catalog; true when it is copied.  The
 * next round finds the chunks of one that the stream leaves out still.
 */
static bool
record_result(const BoardTable *entry)
{
	MemoryContext context = CurrentMemoryContext;
	bool		copied = entry->begun && entry->state == BOARD_DONE && !entry->deferred;
	const SyncTableRecord *record = find_record(entry->copy_id);

	worker_begin_transaction();
	if (copied)
		sync_catalog_set_copied(entry->copy_id);
	else if (entry->state == BOARD_FAILED)
		sync_catalog_set_copy_error(entry->copy_id, entry->error);
	if (record && entry->written.copied > 0)
		(void) sync_catalog_add_counts(sync_record->name, record, &entry->written);
	worker_end_transaction(context);
	return copied;
}

/* The next one is tried later and later; the lock must be held. */
static void
postpone_next_round(void)
{
	int			seconds = Min(1 << Min(shared->copy.failures, 16), MAX_BACKOFF_SECONDS);

	shared->copy.failures++;
	shared->copy.next_start = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), seconds * 1000);
}

static void
record_results(void)
{
	int			ncopied = 0;
	int			nleft = 0;
	int			i;

	for (i = 0; i < board->ntables; i++)
	{
		bool		copied = record_result(&board->tables[i]);

		ncopied += copied;
		nleft += !copied;
	}
	ereport(LOG,
			(errmsg("sync \"%s\" has copied %d of %d tables as of %X/%X", NameStr(shared->name), ncopied,
					board->ntables, LSN_FORMAT_ARGS(board->position))));
	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	shared->copy.error[0] = '\0';
	if (ncopied > 0)
		shared->copy.failures = 0;
	if (nleft > 0)
		postpone_next_round();
	LWLockRelease(shared_state->lock);
}

static void
lead_round(void)
{
	List	   *tables = tables_to_copy();
	List	   *planned = NIL;
	bool		needs_base = some_need_base(tables);
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	RemoteConnection *holder = sync_record->connection ? remote_connect(sync_record, false) : NULL;
	XLogRecPtr	position = holder ? take_remote_snapshot(holder) : take_snapshot(needs_base);
	ListCell   *cell;

	MemoryContextSwitchTo(context);
	foreach(cell, tables)
		planned = lappend(planned, plan_table(lfirst(cell), position));
	publish_board(planned, position, needs_base);
	if (needs_base)
		shared_stream_restart(shared, true);
	wait_for_go();
	start_helpers();
	copy_chunks(begin_nested, ReleaseCurrentSubTransaction, RollbackAndReleaseCurrentSubTransaction);
	wait_for_helpers();
	PopActiveSnapshot();
	CommitTransactionCommand();
	pgstat_report_stat(true);
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	if (holder)
		remote_close(holder);
	wait_for_stream();
	if (monitor_wanted())
		record_results();
}

/* The round as a whole has failed. */
static void
report_failure(void)
{
	ErrorData  *error;

	MemoryContextSwitchTo(TopMemoryContext);
	error = CopyErrorData();
	shared_error_set(shared->copy.error, error_text(error), NULL);
	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	postpone_next_round();
	LWLockRelease(shared_state->lock);
	EmitErrorReport();
}

static void
end_round(int code, Datum arg)
{
	/* the next leader makes a slot of the same name */
	if (MyReplicationSlot != NULL)
		ReplicationSlotRelease();
	shared_copy_end(shared);
}

void
streamhouse_copy_main(Datum argument)
{
	shared = &shared_state->syncs[DatumGetInt32(argument)];
	worker_handle_signals();
	if (!shared_worker_attach(&shared->copy.leader))
		proc_exit(0);
	LWLockAcquire(shared_state->lock, LW_SHARED);
	round_number = shared->copy.number;
	LWLockRelease(shared_state->lock);
	before_shmem_exit(end_round, (Datum) 0);

	PG_TRY();
	{
		if (join_round())
			lead_round();
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
