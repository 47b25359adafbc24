/*
 * history.h
 *		Tables that keep every change: a row for each, with what it was and when.
 */
#ifndef STREAMHOUSE_SYNC_HISTORY_H
#define STREAMHOUSE_SYNC_HISTORY_H

#include "replication/reorderbuffer.h"

#include "sync/row_source.h"
#include "sync/stream.h"

/* Append what a change or a TRUNCATE is to the table's history. */
extern void history_apply(SyncStream *stream, SyncRelation *source, const ReorderBufferChange *change);
extern void history_truncate(SyncStream *stream, SyncRelation *source);

#endif							/* STREAMHOUSE_SYNC_HISTORY_H */
