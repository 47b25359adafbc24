/*
 * lake_position.h
 *		How far the lake is, and whether this server has been there.
 *
 * The position in a snapshot is one of a certain server, on a certain
 * timeline.  A server that was put back to an older state, a standby that
 * took over without the newest transactions, or a copy elsewhere has other
 * transactions at the same positions: it must not go on with the lake table.
 */
#ifndef STREAMHOUSE_SYNC_LAKE_POSITION_H
#define STREAMHOUSE_SYNC_LAKE_POSITION_H

#include "nodes/pg_list.h"

#include "sync/sync_catalog.h"

/* Where the WAL of a source comes from. */
typedef struct SourceHistory
{
	uint64		system_identifier;
	TimeLineID	timeline;		/* now */
	XLogRecPtr	end;			/* of the WAL, when it was asked */
	bool		standby;		/* which may yet get what it lacks */
	List	   *timelines;		/* TimeLineHistoryEntry *, the newest one first */
} SourceHistory;

/*
 * Properties (OptionPair *) of a snapshot that has the source's transactions up to lsn.
 * The source is this server, unless sync->source_history says otherwise; here and below.
 */
extern List *lake_position_properties(const SyncRecord *sync, XLogRecPtr lsn);

/*
 * Does the source have all that the lake's tables have of the sync?  The
 * reason why it has not, with the cure, or NULL.
 */
extern char *lake_position_problem(const SyncRecord *sync, const char *warehouse);

#endif							/* STREAMHOUSE_SYNC_LAKE_POSITION_H */
