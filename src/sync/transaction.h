/*
 * transaction.h
 *		A committed transaction of the source, change by change.
 *
 * Whoever reads the source tells it so: the output plugin, which decodes this
 * server's WAL (plugin.c), or the stream from another server (remote_stream.c).
 */
#ifndef STREAMHOUSE_SYNC_TRANSACTION_H
#define STREAMHOUSE_SYNC_TRANSACTION_H

#include "postgres.h"

#include "sync/stream.h"

/* What follows is of this transaction, until it ends. */
extern void transaction_begin(SyncStream *stream, const ReorderBufferTXN *transaction);

/*
 * Before and after whatever is done for a change.  While a transaction runs it may
 * turn out that it was aborted meanwhile: core takes care of that error, which
 * does not get here, and decodes on.  What was being looked up in the catalogs
 * is not known then.
 */
extern MemoryContext transaction_enter_change(SyncStream *stream);
extern void transaction_leave_change(SyncStream *stream, MemoryContext old);

/* A row of a relation was inserted, updated or deleted.  Resets the change's context. */
extern void transaction_change(SyncStream *stream, Relation relation, const ReorderBufferChange *change);

/* Relations were truncated. */
extern void transaction_truncate(SyncStream *stream, int nrelations, Relation relations[],
								 const ReorderBufferChange *change);

/* The next flush commits it. */
extern void transaction_commit(SyncStream *stream, const ReorderBufferTXN *transaction);

#endif							/* STREAMHOUSE_SYNC_TRANSACTION_H */
