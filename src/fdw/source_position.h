/*
 * source_position.h
 *		What the wrapper asks about the source of a lake table: the tables of a
 *		database that a sync streams into the lake.
 *
 * The sync's side answers (worker/sync_wait.c); without it there are no syncs.
 */
#ifndef STREAMHOUSE_SOURCE_POSITION_H
#define STREAMHOUSE_SOURCE_POSITION_H

#include "postgres.h"

#include "access/xlogdefs.h"

#include "lake/table.h"

typedef struct SourcePositionRoutine
{
	/*
	 * Let all that was committed before the call be in the lake table; waits
	 * for its sync.  Nothing to do when no sync of this database fills it.
	 * ERROR when the sync cannot bring it.
	 */
	void		(*refresh) (const char *name, const char *location);

	/*
	 * The position up to which the table's sync has brought everything;
	 * InvalidXLogRecPtr when no sync of this database does.
	 */
	XLogRecPtr	(*reached) (const char *name, const char *location);

	/* How many syncs of this database fill the lake table. */
	int			(*count_syncs) (const char *name, const char *location);
} SourcePositionRoutine;

/* NULL: no syncs. */
extern const SourcePositionRoutine *source_position_routine;

/*
 * The snapshot that shows a table as of a position of its source: the newest
 * of the sync's up to there.  ERROR when the lake cannot tell.
 */
extern const LakeSnapshot *snapshot_at_source_position(const LakeTable *table, XLogRecPtr position);

#endif							/* STREAMHOUSE_SOURCE_POSITION_H */
