/*
 * copying.c
 *		Copying beside the stream: the part of the sync's worker.
 *
 * A round goes like this:
 *
 *	1. The sync's worker starts, finds tables that are not copied, and asks
 *	   for a round.  If some of them were not begun yet, the slot keeps its place from now on.
 *	2. The round's leader takes a snapshot, of a position that is later than
 *	   the slot's, and has the worker started again.
 *	3. The worker empties these tables in the lake, as of the position, and
 *	   from then on takes their changes that come after it; since the slot has kept
 *	   its place, it meets all of them.
 *	4. The chunks are copied.  Tables that fail are left to the next round.
 *	5. When the stream has passed the position, the tables are copied.
 *
 * Tables of which a part was copied by an earlier round go on with the rest,
 * under the new snapshot; without key they start over.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/timestamp.h"

#include "sync/column_change.h"
#include "sync/copy_plan.h"
#include "sync/copy_target.h"
#include "worker/copy_board.h"
#include "worker/copying.h"
#include "worker/worker.h"

/* The board that this process is attached to. */
static CopyBoard *board = NULL;
static dsm_handle board_handle = DSM_HANDLE_INVALID;

/* The board of the round under way, or NULL. */
static CopyBoard *
current_board(SyncState *shared)
{
	dsm_segment *segment;
	dsm_handle	handle;

	LWLockAcquire(shared_state->lock, LW_SHARED);
	handle = shared->copy.board;
	LWLockRelease(shared_state->lock);
	if (handle == DSM_HANDLE_INVALID || handle == board_handle)
		return board;
	board = board_attach(handle, &segment);
	board_handle = board ? handle : DSM_HANDLE_INVALID;
	return board;
}

bool
copying_finished(SyncState *shared, const SyncTableRecord *record, XLogRecPtr *position)
{
	CopyBoard  *current = current_board(shared);
	const BoardTable *table = current ? board_find(current, record->copy_id) : NULL;
	bool		finished;

	if (table == NULL)
		return false;
	LWLockAcquire(shared_state->lock, LW_SHARED);
	finished = table->state == BOARD_DONE;
	LWLockRelease(shared_state->lock);
	*position = current->position;
	return finished;
}

void
copying_deferred(SyncState *shared, const SyncTableRecord *record)
{
	CopyBoard  *current = current_board(shared);
	BoardTable *table = current ? board_find(current, record->copy_id) : NULL;

	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	shared->deferred = true;
	if (table)
		table->deferred = true;
	LWLockRelease(shared_state->lock);
}

static bool
is_waiting(const SyncTableRecord *record)
{
	return !record->copied && !record->paused;
}

static bool
is_begun(const SyncTableRecord *record)
{
	return !XLogRecPtrIsInvalid(record->base);
}

/* ---- a round has its snapshot ---- */

static void
begin_table(const CopyTable *table)
{
	MemoryContext context = CurrentMemoryContext;
	bool		begun;

	worker_begin_transaction();
	begun = copy_target_begin(table);
	worker_end_transaction(context);
	if (!begun)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("columns of table \"%s\" have changed since it joined the sync", table->record->source_name)));
}

/* One table's trouble is its own. */
static void
try_begin_table(CopyTable *table, SyncTableRecord *record, CopyBoard *current, BoardTable *entry)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		begin_table(table);
		MemoryContextSwitchTo(context);
		record->base = table->position;
		entry->begun = true;
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		worker_abort_transaction(context);
		board_fail(current, entry, error->hint ? psprintf("%s (%s %s)", error->message, error->detail ? error->detail : "", error->hint) :
				   error->message);
	}
	PG_END_TRY();
}

/* Tables of the board that were taken anew, or are of no concern any more. */
static void
leave_others(const SyncRecord *sync, CopyBoard *current)
{
	int			i;

	for (i = 0; i < current->ntables; i++)
	{
		bool		wanted = false;
		ListCell   *cell;

		foreach(cell, sync->tables)
		{
			const SyncTableRecord *record = lfirst(cell);

			wanted |= !record->paused && strcmp(record->copy_id, current->tables[i].copy_id) == 0;
		}
		if (!wanted)
			board_leave(&current->tables[i]);
	}
}

static void
begin_tables(SyncState *shared, SyncRecord *sync, const char *warehouse, CopyBoard *current)
{
	ListCell   *cell;
	int			i;

	leave_others(sync, current);
	foreach(cell, sync->tables)
	{
		SyncTableRecord *record = lfirst(cell);
		CopyTable	table = {.sync = sync, .record = record, .warehouse = warehouse, .position = current->position};
		BoardTable *entry = board_find(current, record->copy_id);

		if (is_waiting(record) && !is_begun(record) && entry && !entry->begun && entry->state != BOARD_FAILED)
			try_begin_table(&table, record, current, entry);
	}
	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	for (i = 0; i < current->ntables; i++)
		current->tables[i].deferred = false;
	shared->copy.go = true;
	if (shared->copy.leader.latch)
		SetLatch(shared->copy.leader.latch);
	LWLockRelease(shared_state->lock);
}

/* ---- no round is under way ---- */

/*
 * Let the lake table be as the source is now, so that nothing is new when the
 * table is begun.  What goes wrong is told then.
 */
static void
try_align_table(const SyncRecord *sync, SyncTableRecord *record, const char *warehouse)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		worker_begin_transaction();
		MemoryContextSwitchTo(context);
		if (!column_change_align(sync, record, warehouse))
			record->paused = true;
		worker_end_transaction(context);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		FlushErrorState();
		worker_abort_transaction(context);
	}
	PG_END_TRY();
}

static void
align_tables(SyncRecord *sync, const char *warehouse)
{
	ListCell   *cell;

	foreach(cell, sync->tables)
	{
		SyncTableRecord *record = lfirst(cell);

		if (is_waiting(record) && !is_begun(record))
			try_align_table(sync, record, warehouse);
	}
}

/* Has a table elsewhere other columns than the copy was begun with?  The stream tells only with rows. */
static bool
columns_have_changed(const CopyTable *table)
{
	MemoryContext context = CurrentMemoryContext;
	bool		fits;

	if (!OidIsValid(table->record->remote_table))
		return false;
	worker_begin_transaction();
	fits = copy_columns_fit(table);
	worker_end_transaction(context);
	return !fits;
}

/*
 * What cannot go on under another snapshot starts over.  So does a table that
 * held the slot back and could not be copied: the slot should not wait for it.
 */
static bool
must_start_over(const CopyTable *table, bool deferred)
{
	return copy_is_of_one_snapshot(table) ||
		(table->record->copy_failed && (deferred || columns_have_changed(table)));
}

static void
reset_tables(SyncRecord *sync, const char *warehouse, bool deferred)
{
	MemoryContext context = CurrentMemoryContext;
	ListCell   *cell;

	foreach(cell, sync->tables)
	{
		SyncTableRecord *record = lfirst(cell);
		CopyTable	table = {.sync = sync, .record = record, .warehouse = warehouse};

		if (!is_waiting(record) || !is_begun(record) || !must_start_over(&table, deferred))
			continue;
		record->base = InvalidXLogRecPtr;
		worker_begin_transaction();
		sync_catalog_set_base(record, InvalidXLogRecPtr);
		worker_end_transaction(context);
	}
}

static bool
some_not_begun(const SyncRecord *sync, CopyBoard *current)
{
	ListCell   *cell;

	foreach(cell, sync->tables)
	{
		const SyncTableRecord *record = lfirst(cell);

		if (is_waiting(record) && !is_begun(record) && (current == NULL || board_find(current, record->copy_id)))
			return true;
	}
	return false;
}

static bool
some_waiting(const SyncRecord *sync)
{
	ListCell   *cell;

	foreach(cell, sync->tables)
	{
		if (is_waiting(lfirst(cell)))
			return true;
	}
	return false;
}

static bool
round_under_way(const SyncState *shared)
{
	bool		result;

	LWLockAcquire(shared_state->lock, LW_SHARED);
	result = shared->copy.leader.wanted;
	LWLockRelease(shared_state->lock);
	return result;
}

bool
copying_is_due(const SyncState *shared)
{
	bool		result;

	LWLockAcquire(shared_state->lock, LW_SHARED);
	result = shared->copying && !shared->copy.leader.wanted && shared->copy.leader.pid == 0 &&
		shared->copy.next_start <= GetCurrentTimestamp();
	LWLockRelease(shared_state->lock);
	return result;
}

/* What the others are to know before the stream begins; returns whether tables had been deferred. */
static bool
note_state(SyncState *shared, bool copying)
{
	bool		deferred;

	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	deferred = shared->deferred;
	shared->deferred = false;
	shared->copying = copying;
	/* what was left out comes again */
	if (deferred)
		shared->visible = InvalidXLogRecPtr;
	LWLockRelease(shared_state->lock);
	return deferred;
}

bool
copying_prepare(SyncState *shared, SyncRecord *sync, const char *warehouse)
{
	bool		deferred = note_state(shared, some_waiting(sync));
	CopyBoard  *current;

	if (!some_waiting(sync))
		return false;
	if (round_under_way(shared))
	{
		current = current_board(shared);
		if (current == NULL)
			return some_not_begun(sync, NULL);
		begin_tables(shared, sync, warehouse, current);
		return false;
	}
	reset_tables(sync, warehouse, deferred);
	if (!copying_is_due(shared))
		return false;
	align_tables(sync, warehouse);
	return shared_copy_start(shared) && some_not_begun(sync, NULL);
}
