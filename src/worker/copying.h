/*
 * copying.h
 *		Copying beside the stream: the part of the sync's worker.
 *
 * The worker of a sync begins a round of copying when tables are not copied
 * (copy_worker.c has the rest of it), and begins the lake tables at the
 * position of the round's snapshot.  It does all this when it starts; whenever
 * something is to be done about copying it is started again.
 */
#ifndef STREAMHOUSE_COPYING_H
#define STREAMHOUSE_COPYING_H

#include "sync/stream.h"
#include "worker/shared_state.h"

/*
 * Do what is to be done, and return whether a round is needed and not yet
 * begun at a position: then the slot must keep its place.  The sync's records
 * are brought up to date.  Outside any transaction.
 */
extern bool copying_prepare(SyncState *shared, SyncRecord *sync, const char *warehouse);

/* Is a round due that had to wait? */
extern bool copying_is_due(const SyncState *shared);

/* For SyncMonitor. */
extern bool copying_finished(SyncState *shared, const SyncTableRecord *record, XLogRecPtr *position);
extern void copying_deferred(SyncState *shared, const SyncTableRecord *record);

#endif							/* STREAMHOUSE_COPYING_H */
