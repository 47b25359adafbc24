/*
 * top_rows.h
 *		ORDER BY ... LIMIT inside the scan: the first so many rows.
 */
#ifndef STREAMHOUSE_FDW_TOP_ROWS_H
#define STREAMHOUSE_FDW_TOP_ROWS_H

#include "lake/read.h"

/* A sort key: a column of the projection. */
typedef struct TopKey
{
	int			column;
	int			field;			/* the table's */
	bool		descending;
	bool		nulls_first;
} TopKey;

typedef struct TopRows TopRows;

/* Lives in a child of CurrentMemoryContext. */
extern TopRows *top_rows_create(LakeTable *table, const int *projection, int nprojection, int limit, int nkeys,
								const TopKey *keys);

/*
 * Read the splits for the first rows among those that match the filter.  The
 * batch has them all, in order by its selection, which is not ascending; it
 * lives as long as top.  NULL: no row.
 */
extern Batch *top_rows_read(TopRows *top, List *splits, const Predicate *filter, FormatCounters *counters);

extern void top_rows_free(TopRows *top);

#endif							/* STREAMHOUSE_FDW_TOP_ROWS_H */
