/*
 * key_sort.c
 *		Sorting the positions of rows by their key columns.
 *
 * What is sorted are pairs of a position and the prefix of the first key
 * column, so that a single integer key is decided by comparing numbers, and
 * strings are compared in full only where their first eight bytes are equal.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "columnar/prefix.h"
#include "lake/key_sort.h"
#include "miscadmin.h"
#include "utils/memutils.h"

typedef struct SortItem
{
	uint64		prefix;
	int32		row;
} SortItem;

typedef struct SortKeys
{
	Vector *const *keys;
	int			nkeys;
	int			first_undecided;	/* key column to compare when prefixes are equal */
} SortKeys;

#define COMPARE_ROWS(a, b) (((a)->row > (b)->row) - ((a)->row < (b)->row))

static int
compare_keys(const SortKeys *sort, int from, int32 a, int32 b)
{
	for (int i = from; i < sort->nkeys; i++)
	{
		int			result = vector_compare(sort->keys[i], a, sort->keys[i], b);

		if (result != 0)
			return result;
	}
	return 0;
}

static inline int
compare_items(const SortItem *a, const SortItem *b, const SortKeys *sort)
{
	int			result;

	if (a->prefix != b->prefix)
		return a->prefix < b->prefix ? -1 : 1;
	result = compare_keys(sort, sort->first_undecided, a->row, b->row);
	return result != 0 ? result : COMPARE_ROWS(a, b);
}

static inline int
compare_exact_items(const SortItem *a, const SortItem *b)
{
	if (a->prefix != b->prefix)
		return a->prefix < b->prefix ? -1 : 1;
	return COMPARE_ROWS(a, b);
}

#define ST_SORT sort_items
#define ST_ELEMENT_TYPE SortItem
#define ST_COMPARE_ARG_TYPE const SortKeys
#define ST_COMPARE(a, b, sort) compare_items(a, b, sort)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

#define ST_SORT sort_exact_items
#define ST_ELEMENT_TYPE SortItem
#define ST_COMPARE(a, b) compare_exact_items(a, b)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Rows and the prefixes of their first key column. */
static void
fill_items(const Vector *key, const int32 *rows, int nrows, SortItem *items)
{
	uint64		prefixes[BATCH_ROWS];

	for (int start = 0; start < nrows; start += BATCH_ROWS)
	{
		int			n = Min(nrows - start, BATCH_ROWS);

		vector_prefixes(key, rows + start, n, prefixes);
		for (int i = 0; i < n; i++)
		{
			items[start + i].prefix = prefixes[i];
			items[start + i].row = rows[start + i];
		}
	}
}

void
sort_rows_by_key(Vector *const *keys, int nkeys, int32 *rows, int nrows)
{
	bool		exact = prefix_is_exact(keys[0]->type->physical);
	SortKeys	sort = {keys, nkeys, exact ? 1 : 0};
	SortItem   *items = (SortItem *) MemoryContextAllocHuge(CurrentMemoryContext, nrows * sizeof(SortItem));

	fill_items(keys[0], rows, nrows, items);
	if (exact && nkeys == 1)
		sort_exact_items(items, nrows);
	else
		sort_items(items, nrows, &sort);
	for (int i = 0; i < nrows; i++)
		rows[i] = items[i].row;
	pfree(items);
}

/* Of sorted rows keep the last of each key. */
int
keep_last_of_equal_keys(Vector *const *keys, int nkeys, int32 *rows, int nrows)
{
	SortKeys	sort = {keys, nkeys, 0};
	int			kept = 0;

	for (int i = 0; i < nrows; i++)
	{
		if (i + 1 < nrows && compare_keys(&sort, 0, rows[i], rows[i + 1]) == 0)
			continue;
		rows[kept++] = rows[i];
	}
	return kept;
}

/* How many of the sorted rows have the same key as the first one. */
int
count_equal_keys(Vector *const *keys, int nkeys, const int32 *rows, int nrows)
{
	SortKeys	sort = {keys, nkeys, 0};
	int			count = 1;

	while (count < nrows && compare_keys(&sort, 0, rows[0], rows[count]) == 0)
		count++;
	return count;
}
