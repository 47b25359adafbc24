/*
 * lake_position.c
 *		How far the lake is, and whether this server has been there.
 */
#include "postgres.h"

#include "access/timeline.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/pg_lsn.h"

#include "lake/table.h"
#include "sync/lake_position.h"

List *
lake_position_properties(const SyncRecord *sync, XLogRecPtr lsn)
{
	const SourceHistory *source = sync->source_history;
	uint64		system = source ? source->system_identifier : GetSystemIdentifier();
	TimeLineID	timeline = source ? source->timeline : GetWALInsertionTimeLine();

	return list_make3(option_pair_make(SNAPSHOT_LSN_PROPERTY, psprintf("%X/%X", LSN_FORMAT_ARGS(lsn))),
					  option_pair_make(SNAPSHOT_SYSTEM_PROPERTY, psprintf(UINT64_FORMAT, system)),
					  option_pair_make(SNAPSHOT_TIMELINE_PROPERTY, psprintf("%u", timeline)));
}

static SourceHistory *
history_of_this_server(void)
{
	SourceHistory *history = palloc0(sizeof(SourceHistory));

	history->system_identifier = GetSystemIdentifier();
	history->timeline = GetWALInsertionTimeLine();
	history->end = GetFlushRecPtr(NULL);
	history->timelines = readTimeLineHistory(history->timeline);
	return history;
}

static const TimeLineHistoryEntry *
find_timeline(const SourceHistory *history, TimeLineID timeline)
{
	ListCell   *cell;

	foreach(cell, history->timelines)
	{
		const TimeLineHistoryEntry *entry = lfirst(cell);

		if (entry->tli == timeline)
			return entry;
	}
	return NULL;
}

/* What is wrong with a position in a snapshot, or NULL. */
static char *
position_problem(const LakeSnapshot *snapshot, XLogRecPtr lsn, const SourceHistory *history)
{
	const char *system = snapshot_property(snapshot, SNAPSHOT_SYSTEM_PROPERTY);
	const char *timeline = snapshot_property(snapshot, SNAPSHOT_TIMELINE_PROPERTY);
	const TimeLineHistoryEntry *entry;

	if (system && strcmp(system, psprintf(UINT64_FORMAT, history->system_identifier)) != 0)
		return psprintf("was filled by another server: its system identifier is %s, and this one's is " UINT64_FORMAT,
						system, history->system_identifier);
	entry = timeline ? find_timeline(history, strtoul(timeline, NULL, 10)) : NULL;
	if (timeline && entry == NULL)
		return psprintf("has transactions of timeline %s, which is not in this server's history", timeline);
	if (entry && !XLogRecPtrIsInvalid(entry->end) && lsn > entry->end)
		return psprintf("has the transactions of timeline %s up to %X/%X, and this server left that timeline at %X/%X",
						timeline, LSN_FORMAT_ARGS(lsn), LSN_FORMAT_ARGS(entry->end));
	if (lsn > history->end)
		return psprintf("is ahead of this server: it has the transactions up to %X/%X, and the server's WAL ends at %X/%X",
						LSN_FORMAT_ARGS(lsn), LSN_FORMAT_ARGS(history->end));
	return NULL;
}

/*
 * A source of a shared lake table may have begun anew since the newest position of the table as a whole,
 * unless a snapshot shows all rows again.
 */
static char *
copy_problem(const LakeTable *lake, const char *user, const SourceHistory *history)
{
	int64		id;

	for (id = snapshot_latest_id(lake->location); id > 0; id--)
	{
		const LakeSnapshot *snapshot = snapshot_load(lake->location, id, true);
		const char *copied;

		CHECK_FOR_INTERRUPTS();
		if (snapshot == NULL)
			break;
		if (strcmp(snapshot->commit_user, user) != 0)
			continue;
		copied = snapshot_property(snapshot, SNAPSHOT_COPIED_PROPERTY);
		if (copied)
			return position_problem(snapshot, DatumGetLSN(DirectFunctionCall1(pg_lsn_in, CStringGetDatum(copied))), history);
		if (snapshot_property(snapshot, SNAPSHOT_PARTIAL_PROPERTY) == NULL)
			break;
	}
	return NULL;
}

static char *
table_problem(const SyncRecord *sync, const SyncTableRecord *record, const char *warehouse, const SourceHistory *history)
{
	LakeTable  *lake = lake_table_open(warehouse, sync->database, record->lake_table, true);
	const LakeSnapshot *newest = lake ? snapshot_latest_of_user(lake->location, sync->slot, 0) : NULL;
	char	   *problem = newest ? position_problem(newest, (XLogRecPtr) newest->commit_identifier, history) : NULL;

	if (newest && problem == NULL && record->shard)
		problem = copy_problem(lake, sync->slot, history);
	if (problem && sync->connection)
		problem = psprintf("%s (the server is the source, %s)", problem, sync->remote);
	return problem ? psprintf("lake table \"%s\" %s", lake->name, problem) : NULL;
}

/* Tables that are not copied, or will be again, have nothing that matters. */
char *
lake_position_problem(const SyncRecord *sync, const char *warehouse)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse lake positions",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	const SourceHistory *history = sync->source_history ? sync->source_history : history_of_this_server();
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
