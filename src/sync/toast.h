/*
 * toast.h
 *		Rows with values that the WAL does not carry: unchanged TOAST values, and
 *		those of deleted rows that stay in the lake.
 *
 * Such a row waits in a queue with the later rows of its key until a flush, or
 * until the queue is full; then the missing values of all of them are read
 * from the lake, unpublished files included, in one scan by key, and the rows
 * go to the writer in their order.  If the table is still being copied, and
 * the lake lacks a row, the lake table is deferred until it is not.
 */
#ifndef STREAMHOUSE_SYNC_TOAST_H
#define STREAMHOUSE_SYNC_TOAST_H

#include "sync/stream.h"

/*
 * Queue a change if it must wait: true if it was taken.  kind ROW_DELETE:
 * row is the row deleted; with missing values it stays, if the lake has it.
 * old_row: a row whose key is deleted first, or NULL.
 * missing: by field, NULL when the row is complete.
 */
extern bool toast_queue_take(SyncStream *stream, SyncTable *table, RowKind kind, const Scalar *old_row,
							 const Scalar *row, const bool *missing);

/* Complete all rows that wait, and give them to the writer. */
extern void toast_queue_resolve(SyncStream *stream, SyncTarget *target);

/* Forget them: the table was truncated. */
extern void toast_queue_discard(SyncTarget *target);

#endif							/* STREAMHOUSE_SYNC_TOAST_H */
