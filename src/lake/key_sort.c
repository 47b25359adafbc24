/*
 * key_sort.c
 *		Sorting the positions of rows by their key columns.
 *
 * What is sorted are pairs of a position and an abbreviation of the first key
 * column: a number in the order of the values.  For integers it is the value,
 * so that a single integer key is decided by comparing numbers; strings are
 * compared in full only where their first eight bytes are equal.
 */
#include "postgres.h"

#include <math.h>

#include "columnar/compare.h"
#include "lake/key_sort.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/memutils.h"

typedef struct SortItem
{
	uint64		abbreviation;
	int32		row;
} SortItem;

typedef struct SortKeys
{
	Vector *const *keys;
	int			nkeys;
	int			first_undecided;	/* key column to compare when abbreviations are equal */
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

	if (a->abbreviation != b->abbreviation)
		return a->abbreviation < b->abbreviation ? -1 : 1;
	result = compare_keys(sort, sort->first_undecided, a->row, b->row);
	return result != 0 ? result : COMPARE_ROWS(a, b);
}

static inline int
compare_exact_items(const SortItem *a, const SortItem *b)
{
	if (a->abbreviation != b->abbreviation)
		return a->abbreviation < b->abbreviation ? -1 : 1;
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

#define SIGN_BIT UINT64CONST(0x8000000000000000)

/* Numbers in the order of doubles: NaN above all, the zeros equal. */
static uint64
abbreviate_double(double value)
{
	uint64		bits;

	if (isnan(value))
		return PG_UINT64_MAX;
	if (value == 0)
		value = 0;
	memcpy(&bits, &value, sizeof(bits));
	return (bits & SIGN_BIT) ? ~bits : bits ^ SIGN_BIT;
}

/* The first eight bytes as a big-endian number, shorter strings filled with zeros. */
static uint64
abbreviate_bytes(BytesView value)
{
	uint64		head = 0;

	memcpy(&head, value.data, Min(value.length, sizeof(head)));
	return pg_ntoh64(head);
}

/* Abbreviations of the first key column, ascending with its values. */
static void
abbreviate(const Vector *key, SortItem *items, int nitems)
{
	for (int i = 0; i < nitems; i++)
	{
		int32		row = items[i].row;
		uint64		value = 0;

		switch (key->type->physical)
		{
			case PHYSICAL_INT8:
				value = (uint64) (int64) key->values.i8[row] ^ SIGN_BIT;
				break;
			case PHYSICAL_INT16:
				value = (uint64) (int64) key->values.i16[row] ^ SIGN_BIT;
				break;
			case PHYSICAL_INT32:
				value = (uint64) (int64) key->values.i32[row] ^ SIGN_BIT;
				break;
			case PHYSICAL_INT64:
				value = (uint64) key->values.i64[row] ^ SIGN_BIT;
				break;
			case PHYSICAL_INT128:
				value = (uint64) (key->values.i128[row] >> 64) ^ SIGN_BIT;
				break;
			case PHYSICAL_FLOAT:
				value = abbreviate_double(key->values.f32[row]);
				break;
			case PHYSICAL_DOUBLE:
				value = abbreviate_double(key->values.f64[row]);
				break;
			case PHYSICAL_BYTES:
				value = abbreviate_bytes(key->values.bytes[row]);
				break;
			case PHYSICAL_LIST:
			case PHYSICAL_ROW:
				elog(ERROR, "keys of type %s have no order", type_to_text(key->type));
		}
		items[i].abbreviation = value;
	}
}

/* Does the abbreviation of a value say all of it? */
static bool
abbreviation_is_exact(PhysicalType physical)
{
	return physical != PHYSICAL_INT128 && physical != PHYSICAL_BYTES;
}

void
sort_rows_by_key(Vector *const *keys, int nkeys, int32 *rows, int nrows)
{
	bool		exact = abbreviation_is_exact(keys[0]->type->physical);
	SortKeys	sort = {keys, nkeys, exact ? 1 : 0};
	SortItem   *items = (SortItem *) MemoryContextAllocHuge(CurrentMemoryContext, nrows * sizeof(SortItem));

	for (int i = 0; i < nrows; i++)
		items[i].row = rows[i];
	abbreviate(keys[0], items, nrows);
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
