/*
 * initial_copy.h
 *		All tables of a sync as they were when its slot was made.
 */
#ifndef STREAMHOUSE_SYNC_INITIAL_COPY_H
#define STREAMHOUSE_SYNC_INITIAL_COPY_H

#include "sync/monitor.h"
#include "sync/sync_catalog.h"

/*
 * Create the slot, copy every table under its snapshot, and let the slot
 * persist.  After an error or a crash the slot is gone, and the copy is made
 * again, replacing what was written.  Outside any transaction.
 */
extern void initial_copy(const SyncRecord *sync, const char *warehouse, const SyncMonitor *monitor);

/*
 * Copy some tables of a sync that has a slot, under the snapshot of another
 * slot that is made for it.  Their changes up to that snapshot, which the
 * sync's slot may still have, are then known to be in the lake.
 */
extern void initial_copy_tables(const SyncRecord *sync, List *tables, const char *warehouse,
								const SyncMonitor *monitor);

#endif							/* STREAMHOUSE_SYNC_INITIAL_COPY_H */
