/*
 * row_source.h
 *		How rows of a relation become rows of its lake table: which of them, and
 *		their columns.
 *
 * The relation is the source of a sync's table, or a partition of it; columns
 * of partitions are found by name.  Values of columns that have another type
 * in the lake are converted.  Used by the initial copy and the stream.
 */
#ifndef STREAMHOUSE_SYNC_ROW_SOURCE_H
#define STREAMHOUSE_SYNC_ROW_SOURCE_H

#include "postgres.h"

#include "executor/executor.h"
#include "utils/rel.h"

#include "fdw/types.h"
#include "lake/schema.h"
#include "sync/column_change.h"
#include "sync/conversion.h"
#include "sync/sync_catalog.h"

typedef struct RowSource
{
	const char *name;			/* of the source, for messages */
	const TableSchema *schema;	/* of the lake table */
	int			nfields;		/* without those of metadata */
	AttrNumber *columns;		/* of the relation, by field; 0: it has none, the field is null or computed */
	struct ComputedField *computed; /* by field, from first_computed on */
	int			first_computed;
	char	   *needs_old_rows; /* see rule_needs_old_rows */
	ColumnEncoder *encoders;	/* by field */
	ValueConversion **conversions;	/* by field, before it is encoded; NULL: none */
	ColumnChange **misfits;		/* by field: to be told when a value cannot be converted */
	ColumnChange **misfit;		/* and where to; or NULL */
	const SyncTableRecord *record;
	int		   *order;			/* of the fields, when a row is encoded: the key's first */
	ExprState  *filter;			/* rows for which this is true are replicated */
	ExprContext *context;		/* of filter and computed fields */
	const Scalar *named_row;	/* the row being encoded, once its key is; or NULL */
} RowSource;

/*
 * While a value is converted, or if a column cannot be, *misfit says what is
 * wrong with it; misfit may be NULL.  Allocates in CurrentMemoryContext.
 */
extern RowSource *row_source_make(const SyncRecord *sync, const SyncTableRecord *record, const TableSchema *schema,
								  Relation relation, ColumnChange **misfit);

/* column_change_find for the source that a relation is, or belongs to. */
extern ColumnChange *row_source_change(const SyncRecord *sync, const SyncTableRecord *record, const TableSchema *schema,
									   Relation relation, bool with_key);

/* Is the row to be replicated? */
extern bool row_source_passes(const RowSource *rows, TupleTableSlot *slot);

/* Column of a field in a deformed row, negative when there is none. */
static inline int
row_source_column(const RowSource *rows, int field)
{
	return rows->columns[field] - 1;
}

/* A value of a field's column as one that its encoder takes. */
extern Datum row_source_convert(RowSource *rows, int field, Datum value);

/* A value is null of a column of the key: those of the partition are NOT NULL in tables with a key, whatever they are in the source. */
pg_noreturn extern void row_source_refuse_null(RowSource *rows, int field);

/* Encode a field that is computed. */
extern void row_source_encode_computed(RowSource *rows, int field, const TupleTableSlot *slot, Scalar *row);

/* Is not all at hand of which the field is made? */
extern bool row_source_is_out_of_reach(const RowSource *rows, int field, const TupleTableSlot *slot);

/* Encode the next field in the order; n counts them. */
static inline void
row_source_encode(RowSource *rows, int n, const TupleTableSlot *slot, Scalar *row)
{
	int			field = rows->order[n];
	int			column = row_source_column(rows, field);
	Datum		value;

	if (field >= rows->first_computed)
	{
		row_source_encode_computed(rows, field, slot, row);
		return;
	}
	if (column < 0)
	{
		row[field].isnull = true;
		return;
	}
	value = slot->tts_values[column];
	if (slot->tts_isnull[column] && !rows->schema->fields[field].type->nullable)
		row_source_refuse_null(rows, field);
	rows->named_row = n >= rows->schema->nprimary_keys ? row : NULL;
	if (rows->conversions[field] && !slot->tts_isnull[column])
		value = row_source_convert(rows, field, value);
	column_encode(&rows->encoders[field], value, slot->tts_isnull[column], &row[field]);
	rows->named_row = NULL;
}

/* ", row (id)=(5)" of the row being encoded, for messages; or nothing. */
extern char *row_source_describe(const RowSource *rows);

#endif							/* STREAMHOUSE_SYNC_ROW_SOURCE_H */
