/*
 * preflight.h
 *		Everything that can be known to be wrong with a sync before it is made.
 */
#ifndef STREAMHOUSE_SYNC_PREFLIGHT_H
#define STREAMHOUSE_SYNC_PREFLIGHT_H

#include "sync/sync_catalog.h"

/*
 * Check server, publication and tables, and fill in sync->tables.  One ERROR
 * lists all problems, each with its cure.  preloaded: the library was loaded
 * at server start, so there are workers.
 */
extern void preflight(SyncRecord *sync, bool preloaded);

typedef struct PreflightProblem
{
	bool		is_warning;		/* the sync can be created all the same */
	const char *table;			/* "schema.table", or NULL: of the whole sync */
	const char *text;
	const char *cure;			/* or NULL */
} PreflightProblem;

/*
 * Let a sync that exists have the tables of messages that its rules give it.  ERROR
 * unless it may fill those that it has not had before.
 */
extern void preflight_messages(SyncRecord *sync);

/* All problems (PreflightProblem *) of a sync that is not to be made yet, and warnings; allocated in CurrentMemoryContext. */
extern List *preflight_list_problems(SyncRecord *sync, bool preloaded);

/*
 * The same for a sync that exists, and tables that join it: those that the
 * publication has and the sync has not, or only the given one, which is then
 * taken anew.  Returns their records; *left are those of the sync that the
 * publication has no more.
 */
extern List *preflight_tables(SyncRecord *sync, bool preloaded, Oid only, List **left);

/*
 * The same without an ERROR: what is wrong with a table that joins is in its
 * record (refused).  Those that were refused before are tried anew if again.
 * *left are only tables that were refused.
 */
extern List *preflight_joining(SyncRecord *sync, bool preloaded, bool again, List **left);

#endif							/* STREAMHOUSE_SYNC_PREFLIGHT_H */
