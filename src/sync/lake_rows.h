/*
 * lake_rows.h
 *		Rows that a table of a sync has in the lake, with those not committed yet.
 */
#ifndef STREAMHOUSE_SYNC_LAKE_ROWS_H
#define STREAMHOUSE_SYNC_LAKE_ROWS_H

#include "columnar/predicate.h"
#include "sync/stream.h"

/*
 * Read the rows that match, with all fields, as they are with what the table's
 * writer has so far; rows that are written meanwhile are not among them.
 */
extern TableReader *lake_rows_open(SyncStream *stream, SyncTable *table, const Predicate *filter);

/* The next batch, whose values can be taken one by one; NULL at the end. */
extern Batch *lake_rows_next(TableReader *reader);

/* The row at a place of a batch's selection; values point into the batch. */
extern void lake_rows_get(const Batch *batch, int n, Scalar *row);

/* A TRUNCATE of a table whose rows stay: all of them are marked as deleted.  Those that wait have been written. */
extern void lake_rows_mark_deleted(SyncStream *stream, SyncTable *table);

#endif							/* STREAMHOUSE_SYNC_LAKE_ROWS_H */
