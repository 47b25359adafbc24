/*
 * lake_position.c
 *		How far the lake is, and whether this server has been there.
 */
#include "postgres.h"

#include "access/timeline.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "lake/table.h"
#include "sync/lake_position.h"

List *
lake_position_properties(XLogRecPtr lsn, bool whole)
{
	List	   *properties = list_make2(option_pair_make(SNAPSHOT_SYSTEM_PROPERTY, psprintf(UINT64_FORMAT, GetSystemIdentifier())),
										option_pair_make(SNAPSHOT_TIMELINE_PROPERTY, psprintf("%u", GetWALInsertionTimeLine())));

	if (whole)
		properties = lcons(option_pair_make(SNAPSHOT_LSN_PROPERTY, psprintf("%X/%X", LSN_FORMAT_ARGS(lsn))), properties);
	return properties;
}

/* This server's history: TimeLineHistoryEntry *, the newest one first. */
static const TimeLineHistoryEntry *
find_timeline(List *history, TimeLineID timeline)
{
	ListCell   *cell;

	foreach(cell, history)
	{
		const TimeLineHistoryEntry *entry = lfirst(cell);

		if (entry->tli == timeline)
			return entry;
	}
	return NULL;
}

/* What is wrong with a snapshot's position, or NULL. */
static char *
position_problem(const LakeSnapshot *snapshot, List *history)
{
	XLogRecPtr	lsn = (XLogRecPtr) snapshot->commit_identifier;
	XLogRecPtr	end = GetFlushRecPtr(NULL);
	const char *system = snapshot_property(snapshot, SNAPSHOT_SYSTEM_PROPERTY);
	const char *timeline = snapshot_property(snapshot, SNAPSHOT_TIMELINE_PROPERTY);
	const TimeLineHistoryEntry *entry;

	if (system && strcmp(system, psprintf(UINT64_FORMAT, GetSystemIdentifier())) != 0)
		return psprintf("was filled by another server: its system identifier is %s, and this one's is " UINT64_FORMAT,
						system, GetSystemIdentifier());
	entry = timeline ? find_timeline(history, strtoul(timeline, NULL, 10)) : NULL;
	if (timeline && entry == NULL)
		return psprintf("has transactions of timeline %s, which is not in this server's history", timeline);
	if (entry && !XLogRecPtrIsInvalid(entry->end) && lsn > entry->end)
		return psprintf("has the transactions of timeline %s up to %X/%X, and this server left that timeline at %X/%X",
						timeline, LSN_FORMAT_ARGS(lsn), LSN_FORMAT_ARGS(entry->end));
	if (lsn > end)
		return psprintf("is ahead of this server: it has the transactions up to %X/%X, and the server's WAL ends at %X/%X",
						LSN_FORMAT_ARGS(lsn), LSN_FORMAT_ARGS(end));
	return NULL;
}

static char *
table_problem(const SyncRecord *sync, const SyncTableRecord *record, const char *warehouse, List *history)
{
	LakeTable  *lake = lake_table_open(warehouse, sync->database, record->lake_table, true);
	const LakeSnapshot *newest = lake ? snapshot_latest_of_user(lake->location, sync->slot, 0) : NULL;
	char	   *problem = newest ? position_problem(newest, history) : NULL;

	return problem ? psprintf("lake table \"%s\" %s", lake->name, problem) : NULL;
}

/* Tables that are not copied, or will be again, have nothing that matters. */
char *
lake_position_problem(const SyncRecord *sync, const char *warehouse)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse lake positions",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	List	   *history = readTimeLineHistory(GetWALInsertionTimeLine());
	char	   *problem = NULL;
	ListCell   *cell;

	foreach(cell, sync->tables)
	{
		const SyncTableRecord *record = lfirst(cell);

		if (record->paused || (!record->copied && XLogRecPtrIsInvalid(record->base)))
			continue;
		problem = table_problem(sync, record, warehouse, history);
		if (problem)
			break;
		CHECK_FOR_INTERRUPTS();
	}
	MemoryContextSwitchTo(old);
	if (problem)
		problem = pstrdup(problem);
	MemoryContextDelete(context);
	return problem;
}
