/*
 * top_bounds.h
 *		What statistics say of the first rows in an order.
 */
#ifndef STREAMHOUSE_FDW_TOP_BOUNDS_H
#define STREAMHOUSE_FDW_TOP_BOUNDS_H

#include "fdw/top_rows.h"

/* A split, and the first value of a sort key that it may have. */
typedef struct SplitBound
{
	int			number;
	bool		known;			/* else it may have any */
	Scalar		best;			/* unless all rows are null */
	bool		has_nulls;
	bool		all_null;
} SplitBound;

/*
 * The bounds of splits, the one that may have the first rows foremost.  *first:
 * a value that at least limit rows come before or are equal to; null: none is
 * known.  All in CurrentMemoryContext.
 */
extern SplitBound *top_bounds_order(LakeTable *table, List *splits, const TopKey *key, int limit, Scalar *first);

#endif							/* STREAMHOUSE_FDW_TOP_BOUNDS_H */
