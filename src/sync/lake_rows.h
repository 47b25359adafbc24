/*
 * lake_rows.h
 *		Rows that tables of a sync have in the lake, with those not committed yet.
 */
#ifndef STREAMHOUSE_SYNC_LAKE_ROWS_H
#define STREAMHOUSE_SYNC_LAKE_ROWS_H

#include "columnar/predicate.h"
#include "sync/stream.h"

/*
 * Read the rows that match, with all fields, as they are with what the lake table's
 * writer has so far; rows that are written meanwhile are not among them.
 */
extern TableReader *lake_rows_open(SyncStream *stream, SyncTarget *target, const Predicate *filter);

/* The next batch, whose values can be taken one by one; NULL at the end. */
extern Batch *lake_rows_next(TableReader *reader);

/* The row at a place of a batch's selection; values point into the batch. */
extern void lake_rows_get(const Batch *batch, int n, Scalar *row);

/* Delete, or mark, all rows of the table one by one.  None waits for values. */
extern void lake_rows_delete(SyncStream *stream, SyncTable *table);

#endif							/* STREAMHOUSE_SYNC_LAKE_ROWS_H */
