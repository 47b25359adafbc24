/*
 * key_sort.h
 *		Sorting the positions of rows by their key columns.
 */
#ifndef STREAMHOUSE_KEY_SORT_H
#define STREAMHOUSE_KEY_SORT_H

#include "columnar/compare.h"

/*
 * Sort rows, which are ascending positions in the columns, by the key; rows
 * of equal keys stay in ascending order.  keys: vectors of the key columns,
 * flat and without nulls.
 */
extern void sort_rows_by_key(Vector *const *keys, int nkeys, int32 *rows, int nrows);

/*
 * Of sorted rows keep the last of each key, in place: the newest, as rows
 * arrived in the order of their positions.  Returns how many are left.
 */
extern int	keep_last_of_equal_keys(Vector *const *keys, int nkeys, int32 *rows, int nrows);

/* How many of the sorted rows have the same key as the first one, which must be there. */
extern int	count_equal_keys(Vector *const *keys, int nkeys, const int32 *rows, int nrows);

/*
 * The order of two values of a sequence column, oldest first: NULL is the
 * oldest also where the others descend.  Both vectors flat.
 */
static inline int
sequence_value_compare(const Vector *a, int i, const Vector *b, int j, bool descending)
{
	int			order = vector_compare(a, i, b, j);

	if (descending && !(a->has_nulls && a->nulls[i]) && !(b->has_nulls && b->nulls[j]))
		order = -order;
	return order;
}

#endif							/* STREAMHOUSE_KEY_SORT_H */
