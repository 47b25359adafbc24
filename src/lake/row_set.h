/*
 * row_set.h
 *		Sets of a file's rows: all, none, or a bit for each.
 */
#ifndef STREAMHOUSE_ROW_SET_H
#define STREAMHOUSE_ROW_SET_H

#include "postgres.h"

typedef enum RowSetKind
{
	ROWS_ALL,
	ROWS_NONE,
	ROWS_SOME
} RowSetKind;

typedef struct RowSet
{
	RowSetKind	kind;
	int64		nrows;			/* of the file */
	uint64	   *words;			/* of ROWS_SOME */
} RowSet;

#define ROW_SET_WORD_BITS 64

static inline int64
row_set_words(int64 nrows)
{
	return (nrows + ROW_SET_WORD_BITS - 1) / ROW_SET_WORD_BITS;
}

/* All in CurrentMemoryContext; a set that others are made of must not be changed any more. */
extern RowSet row_set_all(int64 nrows);
extern RowSet row_set_none(int64 nrows);
extern RowSet row_set_empty(int64 nrows);	/* the same with bits, to add to */

/* Add a row; false if the file has none such. */
extern bool row_set_add(RowSet *set, uint64 row);

/* Add the rows of a bitmap in roaring's portable form: the bytes it takes, 0 if it is damaged. */
extern size_t row_set_add_bitmap(RowSet *set, uint64 base, const char *bytes, size_t length);

/* The bytes that such a bitmap takes, 0 if that cannot be told. */
extern size_t row_set_bitmap_size(const char *bytes, size_t length);

extern RowSet row_set_copy(const RowSet *set);
extern RowSet row_set_and(RowSet a, RowSet b);
extern RowSet row_set_or(RowSet a, RowSet b);
extern RowSet row_set_and_not(RowSet a, RowSet b);

/* ROWS_NONE or ROWS_ALL if the bits say so; and how many they are. */
extern RowSet row_set_simplify(RowSet set);
extern int64 row_set_count(const RowSet *set);

/*
 * Of nrows rows from first_row on, list those in the set (or those not), as
 * positions relative to first_row: how many.
 */
extern int	row_set_list(const RowSet *set, bool in_set, int64 first_row, int nrows, int32 *rows);

#endif							/* STREAMHOUSE_ROW_SET_H */
