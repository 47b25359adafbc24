/*
 * preflight.h
 *		Everything that can be known to be wrong with a sync before it is made.
 */
#ifndef STREAMHOUSE_SYNC_PREFLIGHT_H
#define STREAMHOUSE_SYNC_PREFLIGHT_H

#include "sync/sync_catalog.h"

/*
 * Check server, publication and tables, and fill in sync->tables.  One ERROR
 * lists all problems, each with its cure.
 */
extern void preflight(SyncRecord *sync);

#endif							/* STREAMHOUSE_SYNC_PREFLIGHT_H */
