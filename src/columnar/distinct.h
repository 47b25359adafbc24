/*
 * distinct.h
 *		Counts the distinct values of groups.
 */
#ifndef STREAMHOUSE_DISTINCT_H
#define STREAMHOUSE_DISTINCT_H

#include "columnar/aggregate.h"

/* Lives in CurrentMemoryContext. */
extern DistinctCount *distinct_create(const DataType *type, bool grouped, Size memory_limit);

/* Add the values that are not null and new; counts[group] grows with each. */
extern void distinct_add(DistinctCount *distinct, const Vector *values, const int32 *rows, int nrows,
						 const int32 *groups, int64 *counts);

/* Count what did not fit into memory. */
extern void distinct_finish(DistinctCount *distinct, int64 *counts);

#endif							/* STREAMHOUSE_DISTINCT_H */
