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

#endif							/* STREAMHOUSE_SYNC_PREFLIGHT_H */
