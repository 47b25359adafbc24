/*
 * row_source.h
 *		How rows of a relation become rows of its lake table: which of them, and
 *		their columns.
 *
 * The relation is the source of a sync's table, or a partition of it; columns
 * of partitions are found by name.  Used by the initial copy and the stream.
 */
#ifndef STREAMHOUSE_SYNC_ROW_SOURCE_H
#define STREAMHOUSE_SYNC_ROW_SOURCE_H

#include "postgres.h"

#include "executor/executor.h"
#include "utils/rel.h"

#include "fdw/types.h"
#include "lake/schema.h"
#include "sync/column_change.h"
#include "sync/sync_catalog.h"

typedef struct RowSource
{
	const char *name;			/* of the source, for messages */
	const TableSchema *schema;	/* of the lake table */
	int			nfields;		/* without those of history */
	AttrNumber *columns;		/* of the relation, by field; 0: it has none, the field is null */
	ColumnEncoder *encoders;	/* by field */
	int		   *order;			/* of the fields, when a row is encoded: the key's first */
	ExprState  *filter;			/* rows for which this is true are replicated */
	ExprContext *filter_context;	/* NULL: all are */
	const Scalar *named_row;	/* the row being encoded, once its key is; or NULL */
} RowSource;

/*
 * When the source's columns are not those of the lake table any more *change
 * says so; if there is a problem with that the result is of no use.  All is
 * allocated in CurrentMemoryContext.
 */
extern RowSource *row_source_make(const SyncRecord *sync, const SyncTableRecord *record, const TableSchema *schema,
								  Relation relation, ColumnChange **change);

/* Is the row to be replicated? */
extern bool row_source_passes(const RowSource *rows, TupleTableSlot *slot);

/* Column of a field in a deformed row, negative when there is none. */
static inline int
row_source_column(const RowSource *rows, int field)
{
	return rows->columns[field] - 1;
}

/* Encode the next field in the order; n counts them. */
static inline void
row_source_encode(RowSource *rows, int n, const TupleTableSlot *slot, Scalar *row)
{
	int			field = rows->order[n];
	int			column = row_source_column(rows, field);

	if (column < 0)
	{
		row[field].isnull = true;
		return;
	}
	rows->named_row = n >= rows->schema->nprimary_keys ? row : NULL;
	column_encode(&rows->encoders[field], slot->tts_values[column], slot->tts_isnull[column], &row[field]);
	rows->named_row = NULL;
}

/* ", row (id)=(5)" of the row being encoded, for messages; or nothing. */
extern char *row_source_describe(const RowSource *rows);

#endif							/* STREAMHOUSE_SYNC_ROW_SOURCE_H */
