/*
 * key_sort.h
 *		Sorting the positions of rows by their key columns.
 */
#ifndef STREAMHOUSE_KEY_SORT_H
#define STREAMHOUSE_KEY_SORT_H

#include "columnar/vector.h"

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

#endif							/* STREAMHOUSE_KEY_SORT_H */
