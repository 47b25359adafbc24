/*
 * row_set.c
 *		Sets of a file's rows: all, none, or a bit for each.
 *
 * Roaring bitmaps in files are not trusted: the library checks their lengths
 * and no more, so rows are looked at one by one.
 */
#include "postgres.h"

#include <roaring/roaring.h>

#include "lake/row_set.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

RowSet
row_set_all(int64 nrows)
{
	return (RowSet) {ROWS_ALL, nrows, NULL};
}

RowSet
row_set_none(int64 nrows)
{
	return (RowSet) {ROWS_NONE, nrows, NULL};
}

RowSet
row_set_empty(int64 nrows)
{
	RowSet		set = {ROWS_SOME, nrows};

	set.words = MemoryContextAllocExtended(CurrentMemoryContext, Max(row_set_words(nrows), 1) * sizeof(uint64),
										   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	return set;
}

bool
row_set_add(RowSet *set, uint64 row)
{
	Assert(set->kind == ROWS_SOME);
	if (row >= (uint64) set->nrows)
		return false;
	set->words[row / ROW_SET_WORD_BITS] |= UINT64CONST(1) << (row % ROW_SET_WORD_BITS);
	return true;
}

/* Adding the rows of a bitmap */
typedef struct BitmapAdder
{
	RowSet	   *set;
	uint64		base;
	bool		failed;
} BitmapAdder;

static bool
add_row(uint32 value, void *arg)
{
	BitmapAdder *adder = arg;

	adder->failed = !row_set_add(adder->set, adder->base + value);
	return !adder->failed;
}

size_t
row_set_add_bitmap(RowSet *set, uint64 base, const char *bytes, size_t length)
{
	BitmapAdder adder = {.set = set, .base = base};
	size_t		used = row_set_bitmap_size(bytes, length);
	roaring_bitmap_t *bitmap;

	if (used == 0)
		return 0;
	bitmap = roaring_bitmap_portable_deserialize_safe(bytes, length);
	if (bitmap == NULL)
		return 0;
	/* nothing is raised while the library's memory is held */
	roaring_iterate(bitmap, add_row, &adder);
	roaring_bitmap_free(bitmap);
	return adder.failed ? 0 : used;
}

size_t
row_set_bitmap_size(const char *bytes, size_t length)
{
	size_t		used = roaring_bitmap_portable_deserialize_size(bytes, length);

	return used <= length ? used : 0;
}

RowSet
row_set_copy(const RowSet *set)
{
	RowSet		copy = *set;

	if (set->kind != ROWS_SOME)
		return copy;
	copy = row_set_empty(set->nrows);
	memcpy(copy.words, set->words, row_set_words(set->nrows) * sizeof(uint64));
	return copy;
}

RowSet
row_set_and(RowSet a, RowSet b)
{
	RowSet		result;

	if (a.kind == ROWS_ALL || b.kind == ROWS_NONE)
		return b;
	if (b.kind == ROWS_ALL || a.kind == ROWS_NONE)
		return a;
	result = row_set_empty(a.nrows);
	for (int64 i = 0; i < row_set_words(a.nrows); i++)
		result.words[i] = a.words[i] & b.words[i];
	return result;
}

RowSet
row_set_or(RowSet a, RowSet b)
{
	RowSet		result;

	if (a.kind == ROWS_NONE || b.kind == ROWS_ALL)
		return b;
	if (b.kind == ROWS_NONE || a.kind == ROWS_ALL)
		return a;
	result = row_set_empty(a.nrows);
	for (int64 i = 0; i < row_set_words(a.nrows); i++)
		result.words[i] = a.words[i] | b.words[i];
	return result;
}

RowSet
row_set_and_not(RowSet a, RowSet b)
{
	RowSet		result;

	if (a.kind == ROWS_NONE || b.kind == ROWS_NONE)
		return a;
	if (b.kind == ROWS_ALL)
		return row_set_none(a.nrows);
	result = row_set_empty(a.nrows);
	for (int64 i = 0; i < row_set_words(a.nrows); i++)
		result.words[i] = (a.kind == ROWS_ALL ? ~UINT64CONST(0) : a.words[i]) & ~b.words[i];
	if (a.kind == ROWS_ALL && a.nrows % ROW_SET_WORD_BITS != 0)
		result.words[a.nrows / ROW_SET_WORD_BITS] &= (UINT64CONST(1) << (a.nrows % ROW_SET_WORD_BITS)) - 1;
	return result;
}

int64
row_set_count(const RowSet *set)
{
	int64		count = 0;

	if (set->kind != ROWS_SOME)
		return set->kind == ROWS_ALL ? set->nrows : 0;
	for (int64 i = 0; i < row_set_words(set->nrows); i++)
		count += pg_popcount64(set->words[i]);
	return count;
}

RowSet
row_set_simplify(RowSet set)
{
	int64		count = row_set_count(&set);

	if (count == 0)
		return row_set_none(set.nrows);
	return count == set.nrows ? row_set_all(set.nrows) : set;
}

/* The places of a byte's bits, for each byte; what is behind them means nothing. */
static uint8 bit_places[256][8];

static void
fill_bit_places(void)
{
	for (int byte = 1; byte < 256; byte++)
	{
		int			count = 0;

		for (int bit = 0; bit < 8; bit++)
		{
			bit_places[byte][count] = (uint8) bit;
			count += byte >> bit & 1;
		}
	}
}

/* The places of a word's bits, beyond first; how many. */
static int
list_bits(uint64 bits, int nbits, int first, int32 *rows)
{
	int			count = 0;
	int			i = 0;

	if (bit_places[0x80][0] == 0)
		fill_bit_places();
	/* eight are written, of which those count that bits stand for: no more than rows passed, so there is room */
	for (; i + 8 <= nbits; i += 8)
	{
		uint8		byte = (uint8) (bits >> i);
		int32	   *out = rows + count;
		uint8		places[8];

		memcpy(places, bit_places[byte], sizeof(places));
		for (int k = 0; k < 8; k++)
			out[k] = first + i + places[k];
		count += pg_number_of_ones[byte];
	}
	for (; i < nbits; i++)
	{
		rows[count] = first + i;
		count += bits >> i & 1;
	}
	return count;
}

int
row_set_list(const RowSet *set, bool in_set, int64 first_row, int nrows, int32 *rows)
{
	int			count = 0;
	int			i = 0;

	Assert(set->kind == ROWS_SOME);
	Assert(first_row >= 0 && first_row + nrows <= set->nrows);
	while (i < nrows)
	{
		int			shift = (first_row + i) % ROW_SET_WORD_BITS;
		int			step = Min(ROW_SET_WORD_BITS - shift, nrows - i);
		uint64		wanted = set->words[(first_row + i) / ROW_SET_WORD_BITS];

		wanted = (in_set ? wanted : ~wanted) >> shift;
		/* stretches without exceptions in one go */
		if (wanted == ~UINT64CONST(0) >> shift)
		{
			for (int j = 0; j < step; j++)
				rows[count++] = i + j;
		}
		else if (wanted != 0)
			count += list_bits(wanted, step, i, rows + count);
		i += step;
	}
	return count;
}
