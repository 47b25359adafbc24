/*
 * source_position.c
 *		Lake tables as of a position of their source's WAL.
 *
 * Each snapshot of a sync carries the position up to which it has the source's
 * transactions, and all tables of a sync commit at the same ones; so a position names the
 * same transactions in all of them, and reading them at it is a consistent cut.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/pg_lsn.h"

#include "compat.h"
#include "fdw/source_position.h"
#include "lake/snapshot.h"

const SourcePositionRoutine *source_position_routine = NULL;

/* Of a snapshot that a sync has made; InvalidXLogRecPtr of others, such as a compaction's. */
static XLogRecPtr
position_of_snapshot(const LakeSnapshot *snapshot)
{
	const char *value = snapshot_property(snapshot, SNAPSHOT_LSN_PROPERTY);

	if (value != NULL)
		return DatumGetLSN(DirectFunctionCall1(pg_lsn_in, CStringGetDatum(value)));
	return InvalidXLogRecPtr;
}

/* The newest snapshot of a sync with an id in [low, high], or NULL. */
static LakeSnapshot *
last_of_sync(const LakeTable *table, int64 low, int64 high)
{
	for (; high >= low; high--)
	{
		LakeSnapshot *snapshot = snapshot_load(table->branch_location, high, true);

		CHECK_FOR_INTERRUPTS();
		if (snapshot != NULL && position_of_snapshot(snapshot) != InvalidXLogRecPtr)
			return snapshot;
	}
	return NULL;
}

/*
 * The newest snapshot up to the position; positions do not decrease.  *later:
 * there is one beyond, so that nothing up to the position is still to come.
 */
static LakeSnapshot *
search(const LakeTable *table, XLogRecPtr position, bool *later)
{
	int64		low = snapshot_earliest_id(table->branch_location);
	int64		high = snapshot_latest_id(table->branch_location);
	LakeSnapshot *found = NULL;

	*later = false;
	while (low > 0 && low <= high)
	{
		int64		middle = low + (high - low) / 2;
		LakeSnapshot *snapshot = last_of_sync(table, low, middle);

		if (snapshot == NULL)
			low = middle + 1;
		else if (position_of_snapshot(snapshot) > position)
		{
			*later = true;
			high = snapshot->id - 1;
		}
		else
		{
			found = snapshot;
			low = middle + 1;
		}
	}
	return found;
}

static bool
is_partial(const LakeSnapshot *snapshot)
{
	return snapshot_property(snapshot, SNAPSHOT_PARTIAL_PROPERTY) != NULL;
}

/* A copy that begins, or a pause, is noted at the position where the table was whole before. */
static LakeSnapshot *
before_copy(const LakeTable *table, LakeSnapshot *snapshot, XLogRecPtr position)
{
	int64		earliest = snapshot_earliest_id(table->branch_location);
	LakeSnapshot *earlier = snapshot;

	while (earlier != NULL && is_partial(earlier) && position_of_snapshot(earlier) == position)
		earlier = last_of_sync(table, earliest, earlier->id - 1);
	return earlier != NULL && position_of_snapshot(earlier) == position ? earlier : snapshot;
}

pg_noreturn static void
refuse_positions(const LakeTable *table)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("table \"%s\" cannot be read as of a position of its source", table->name),
			 errdetail("Several syncs fill it, and each has positions of its own."),
			 errhint("Read it as of a time, a tag or a snapshot.")));
}

/* Positions of a table that others may fill, too, mean something if none does. */
static void
require_one_sync(const LakeTable *table, const char *user)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "streamhouse snapshots of syncs", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(scratch);
	int64		earliest = snapshot_earliest_id(table->branch_location);
	const LakeSnapshot *snapshot;
	int64		id = snapshot_latest_id(table->branch_location);

	if (source_position_routine && source_position_routine->count_syncs(table->name, table->location) > 1)
		refuse_positions(table);
	for (; id >= earliest && (snapshot = last_of_sync(table, earliest, id)) != NULL; id = snapshot->id - 1)
	{
		if (strcmp(snapshot->commit_user, user) != 0)
			refuse_positions(table);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(scratch);
}

static void
require_positions(const LakeTable *table)
{
	LakeSnapshot *newest = last_of_sync(table, snapshot_earliest_id(table->branch_location),
										snapshot_latest_id(table->branch_location));

	if (newest != NULL && snapshot_property(newest, SNAPSHOT_SHARED_PROPERTY) != NULL)
		require_one_sync(table, newest->commit_user);
}

/* A snapshot at the position itself has all that is up to there. */
static void
require_reached(const LakeTable *table, const LakeSnapshot *snapshot, XLogRecPtr position)
{
	XLogRecPtr	reached = InvalidXLogRecPtr;

	if (position_of_snapshot(snapshot) == position)
		return;
	if (source_position_routine)
		reached = source_position_routine->reached(table->name, table->location);
	if (reached < position)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" may lack changes up to position %X/%X", table->name, LSN_FORMAT_ARGS(position)),
				 reached == InvalidXLogRecPtr ? errdetail("No sync of this database follows it now, and its newest position is %X/%X.",
														  LSN_FORMAT_ARGS(position_of_snapshot(snapshot))) :
				 errdetail("Its sync has reached %X/%X.", LSN_FORMAT_ARGS(reached)),
				 errhint("Wait for the position with streamhouse.wait_for_sync.")));
}

const LakeSnapshot *
snapshot_at_source_position(const LakeTable *table, XLogRecPtr position)
{
	bool		later;
	LakeSnapshot *snapshot;

	require_positions(table);
	snapshot = search(table, position, &later);
	if (snapshot == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("table \"%s\" has no snapshot as of position %X/%X", table->name, LSN_FORMAT_ARGS(position)),
				 later ? errdetail("Its snapshots of that time have expired, or it was not copied yet.") :
				 errdetail("It has no snapshot that a sync has made.")));
	snapshot = before_copy(table, snapshot, position);
	if (is_partial(snapshot))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" was being copied, or paused, at position %X/%X", table->name, LSN_FORMAT_ARGS(position)),
				 errdetail("Its snapshots of that time do not show all rows.")));
	if (!later)
		require_reached(table, snapshot, position);
	return snapshot;
}
