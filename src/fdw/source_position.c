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
#include "utils/pg_lsn.h"

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

const LakeSnapshot *
snapshot_at_source_position(const LakeTable *table, XLogRecPtr position)
{
	bool		later;
	LakeSnapshot *snapshot = search(table, position, &later);
	XLogRecPtr	reached = InvalidXLogRecPtr;

	if (!later && source_position_routine)
		reached = source_position_routine->reached(table->name, table->location);
	if (snapshot == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("table \"%s\" has no snapshot as of position %X/%X", table->name, LSN_FORMAT_ARGS(position)),
				 later ? errdetail("Its snapshots of that time have expired, or it was not copied yet.") :
				 errdetail("It has no snapshot of which one sync has made all.")));
	if (snapshot_property(snapshot, SNAPSHOT_PARTIAL_PROPERTY) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" was being copied at position %X/%X", table->name, LSN_FORMAT_ARGS(position)),
				 errdetail("Its snapshots of that time do not show all rows.")));
	if (!later && reached < position)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" may lack changes up to position %X/%X", table->name, LSN_FORMAT_ARGS(position)),
				 reached == InvalidXLogRecPtr ? errdetail("No sync of this database fills it, and its newest position is %X/%X.",
														  LSN_FORMAT_ARGS(position_of_snapshot(snapshot))) :
				 errdetail("Its sync has reached %X/%X.", LSN_FORMAT_ARGS(reached)),
				 errhint("Wait for the position with streamhouse.wait_for_sync.")));
	return snapshot;
}
