/*
 * sync_wait.c
 *		Sessions that wait until a sync has brought a position into the lake:
 *		streamhouse.wait_for_sync, and reads that are to be fresh.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "storage/condition_variable.h"
#include "storage/latch.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "fdw/fdw.h"
#include "fdw/source_position.h"
#include "worker/shared_state.h"
#include "worker/sync_wait.h"

/* How long a read waits for its sync. */
#define FRESH_READ_TIMEOUT_MS (60 * 1000)

/* Why a sync gets no further, or NULL; the lock must be held. */
static char *
obstacle_of(const SyncState *shared)
{
	if (shared->error[0] != '\0')
		return psprintf("The sync fails: %s", shared->error);
	if (shared->copying && shared->copy.error[0] != '\0')
		return psprintf("The sync fails: %s", shared->copy.error);
	if (shared->awaits_standbys)
		return pstrdup("It waits for standbys that synchronized_standby_slots names.");
	return NULL;
}

/*
 * True when the position is in the lake, with copies that are being made if these count; otherwise the worker is asked not to
 * wait for its interval.  Why it does not get there goes to *obstacle.
 */
static bool
position_is_visible(const SyncRecord *sync, XLogRecPtr position, bool copies, ConditionVariable **progress, char **obstacle)
{
	SyncState  *shared;
	bool		visible = false;

	*progress = NULL;
	*obstacle = NULL;
	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	shared = shared_sync_find(MyDatabaseId, sync->slot);
	if (shared)
	{
		visible = shared->visible >= position && !(copies && shared->copying);
		shared->flush_request = Max(shared->flush_request, position);
		*progress = &shared->progress;
		if (shared->worker.latch && !visible)
			SetLatch(shared->worker.latch);
		*obstacle = obstacle_of(shared);
	}
	LWLockRelease(shared_state->lock);
	return visible;
}

static void
sleep_for_progress(ConditionVariable *progress, long milliseconds)
{
	if (progress)
		(void) ConditionVariableTimedSleep(progress, Min(milliseconds, 1000), PG_WAIT_EXTENSION);
	else
	{
		/* no worker yet */
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, Min(milliseconds, 50),
						 PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
	CHECK_FOR_INTERRUPTS();
}

static void
require_enabled(const SyncRecord *sync)
{
	if (!sync->enabled)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("sync \"%s\" is paused", sync->name),
				 errhint("Call streamhouse.resume_sync.")));
}

/* True when the source has been looked at since, and is at *position; otherwise the worker is asked to look. */
static bool
source_is_known(const SyncRecord *sync, TimestampTz since, XLogRecPtr *position, ConditionVariable **progress, char **error)
{
	SyncState  *shared;
	bool		known = false;

	*progress = NULL;
	*error = NULL;
	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	shared = shared_sync_find(MyDatabaseId, sync->slot);
	if (shared)
	{
		known = shared->source_looked > since;
		*position = shared->source_end;
		*progress = &shared->progress;
		shared->source_wanted |= !known;
		if (shared->worker.latch && !known)
			SetLatch(shared->worker.latch);
		if (shared->error[0] != '\0')
			*error = pstrdup(shared->error);
	}
	LWLockRelease(shared_state->lock);
	return known;
}

XLogRecPtr
sync_wait_for_source(const SyncRecord *sync, TimestampTz deadline)
{
	TimestampTz since = GetCurrentTimestamp();
	XLogRecPtr	position = InvalidXLogRecPtr;
	ConditionVariable *progress;
	char	   *error;

	require_enabled(sync);
	while (!source_is_known(sync, since, &position, &progress, &error))
	{
		long		left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), deadline);

		if (left <= 0)
			ereport(ERROR,
					(errcode(ERRCODE_QUERY_CANCELED),
					 errmsg("sync \"%s\" has not reached its source in time", sync->name),
					 error ? errdetail("The sync fails: %s", error) : 0,
					 errhint("See streamhouse.sync_status.")));
		sleep_for_progress(progress, left);
	}
	ConditionVariableCancelSleep();
	return position;
}

void
sync_wait(const SyncRecord *sync, XLogRecPtr position, bool copies, TimestampTz deadline)
{
	ConditionVariable *progress;
	char	   *obstacle;

	require_enabled(sync);
	while (!position_is_visible(sync, position, copies, &progress, &obstacle))
	{
		long		left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), deadline);

		if (left <= 0)
			ereport(ERROR,
					(errcode(ERRCODE_QUERY_CANCELED),
					 errmsg("sync \"%s\" has not reached %X/%X in time", sync->name, LSN_FORMAT_ARGS(position)),
					 obstacle ? errdetail_internal("%s", obstacle) : 0,
					 errhint("See streamhouse.sync_status.")));
		sleep_for_progress(progress, left);
	}
	ConditionVariableCancelSleep();
}

/* ---- for the foreign data wrapper ---- */

/* Where the WAL that is written so far ends; all of it is on disk then, so that it can be decoded. */
static XLogRecPtr
end_of_wal(void)
{
	XLogRecPtr	end = GetXLogInsertRecPtr();
	uint64		in_page = end % XLOG_BLCKSZ;

	/* the next record would begin behind its page's header, but the last one ends before it */
	if (in_page == SizeOfXLogShortPHD || (XLogSegmentOffset(end, wal_segment_size) == SizeOfXLogLongPHD))
		end -= in_page;
	XLogFlush(end);
	return end;
}

/* The syncs (SyncRecord *) of this database that fill a lake table, with their tables that do. */
static List *
syncs_of_lake_table(const char *name, const char *location)
{
	List	   *syncs = NIL;
	ListCell   *lc;

	foreach(lc, sync_catalog_find_by_lake_table(name))
	{
		SyncRecord *sync = lfirst(lc);
		SyncTableRecord *table = linitial(sync->tables);
		ForeignServer *server = GetForeignServerByName(sync->server, true);

		if (server != NULL &&
			strcmp(lake_table_location(server_warehouse(server, false), sync->database, table->lake_table), location) == 0)
			syncs = lappend(syncs, sync);
	}
	return syncs;
}

/* Is a table of the sync that fills a lake table paused?  *copied: are all of them? */
static bool
some_paused(const SyncRecord *sync, bool *copied)
{
	bool		paused = false;
	ListCell   *lc;

	*copied = true;
	foreach(lc, sync->tables)
	{
		const SyncTableRecord *table = lfirst(lc);

		paused |= table->paused;
		*copied &= table->copied;
	}
	return paused;
}

static void
refresh(const char *name, const char *location)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), FRESH_READ_TIMEOUT_MS);
	ListCell   *lc;

	foreach(lc, syncs_of_lake_table(name, location))
	{
		const SyncRecord *sync = lfirst(lc);
		bool		copied;

		if (some_paused(sync, &copied))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("lake table \"%s\" cannot be read fresh: sync \"%s\" has paused it", name, sync->name),
					 errhint("See streamhouse.sync_tables, or read it without fresh_reads.")));
		sync_wait(sync, sync->connection ? sync_wait_for_source(sync, deadline) : end_of_wal(), !copied, deadline);
	}
}

static XLogRecPtr
reached(const char *name, const char *location)
{
	List	   *syncs = syncs_of_lake_table(name, location);
	const SyncRecord *sync;
	SyncState  *shared;
	XLogRecPtr	visible = InvalidXLogRecPtr;
	bool		copied;

	if (list_length(syncs) != 1 || some_paused(linitial(syncs), &copied) || !copied)
		return InvalidXLogRecPtr;
	sync = linitial(syncs);
	LWLockAcquire(shared_state->lock, LW_SHARED);
	shared = shared_sync_find(MyDatabaseId, sync->slot);
	if (shared)
		visible = shared->visible;
	LWLockRelease(shared_state->lock);
	return visible;
}

static int
count_syncs(const char *name, const char *location)
{
	return list_length(syncs_of_lake_table(name, location));
}

static const SourcePositionRoutine routine = {
	.refresh = refresh,
	.reached = reached,
	.count_syncs = count_syncs
};

void
sync_wait_init(void)
{
	source_position_routine = &routine;
}
