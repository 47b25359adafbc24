/*
 * row_source.h
 *		Where the rows of a split come from: one file after the other, files
 *		merged by key or joined by row, the difference of two snapshots, or a
 *		system table's producer.
 */
#ifndef STREAMHOUSE_ROW_SOURCE_H
#define STREAMHOUSE_ROW_SOURCE_H

#include "format/format.h"
#include "lake/plan.h"

typedef struct RowSource RowSource;

typedef struct RowSourceOptions
{
	int			nfields;
	const int  *fields;			/* table fields that may be read */
	const Predicate *filter;	/* only to skip rows; may be NULL */
	FormatCounters *counters;	/* may be NULL */
} RowSourceOptions;

/*
 * Open a source in CurrentMemoryContext, which owns all of it.  file: of a raw
 * split, which of its files; others have but one source.
 */
extern RowSource *row_source_open(LakeTable *table, const Split *split, int file, const RowSourceOptions *options);

/* Move to the next rows: how many (at most BATCH_ROWS), 0 at the end. */
extern int	row_source_next(RowSource *source);

/* List the rows that count; their number. */
extern int	row_source_live_rows(const RowSource *source, int32 *rows);

/* As format_read_column, by table field. */
extern void row_source_read_field(RowSource *source, int field, const int32 *selection, int nselected, Vector *out);

#endif							/* STREAMHOUSE_ROW_SOURCE_H */
