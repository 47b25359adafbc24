/*
 * sync_wait.h
 *		Sessions that wait until a sync has brought a position into the lake.
 */
#ifndef STREAMHOUSE_SYNC_WAIT_H
#define STREAMHOUSE_SYNC_WAIT_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "datatype/timestamp.h"

#include "sync/sync_catalog.h"

/*
 * Wait until all that was committed up to the position is in the lake; the
 * sync's worker does not wait for its interval.  ERROR at the deadline, or
 * when the sync is paused.  copies: also until all tables are copied.
 */
extern void sync_wait(const SyncRecord *sync, XLogRecPtr position, bool copies, TimestampTz deadline);

/*
 * Where a source that is another server is, no earlier than now, as the sync's worker
 * sees it.  ERROR at the deadline, or when the sync is paused.
 */
extern XLogRecPtr sync_wait_for_source(const SyncRecord *sync, TimestampTz deadline);

/* Let the foreign data wrapper know of the syncs of this server; from _PG_init while preloading. */
extern void sync_wait_init(void);

#endif							/* STREAMHOUSE_SYNC_WAIT_H */
