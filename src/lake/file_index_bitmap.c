/*
 * file_index_bitmap.c
 *		Bitmaps of the rows that have each value of a column in a data file.
 *
 * Both versions are read from front to back, value by value: there are few
 * values, or such an index would not be.
 *
 * Source: format digest section 8.4.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "lake/file_index.h"

/* The rows of one value, or of null */
typedef struct BitmapPlace
{
	int32		offset;			/* < 0: the single row -1 - offset */
	int32		length;			/* -1: to the end */
} BitmapPlace;

typedef struct BitmapIndex
{
	IndexInput	input;
	const Predicate *leaf;
	int64		nrows;
	bool		has_nulls;
	BitmapPlace nulls;
	IndexInput	bitmaps;		/* begins where offsets count from */
	RowSet		found;			/* rows of the leaf's values */
} BitmapIndex;

static void
add_rows(BitmapIndex *index, BitmapPlace place)
{
	IndexInput	input;
	int64		length;

	if (place.offset < 0)
	{
		if (!row_set_add(&index->found, (uint64) (-1 - (int64) place.offset)))
			index_error(index->input.path, "A bitmap has a row that the data file has not.");
		return;
	}
	input = index_input_at(&index->bitmaps, place.offset);
	length = place.length >= 0 ? place.length : input.end - input.position;
	if (row_set_add_bitmap(&index->found, 0, index_take(&input, length), length) == 0)
		index_error(index->input.path, "A bitmap is invalid, or has a row that the data file has not.");
}

/* Is the value one of the leaf's, which are sorted? */
static bool
is_listed(const Predicate *leaf, const Scalar *value)
{
	int			low = 0;
	int			high = leaf->nvalues;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;
		int			order = scalar_compare_values(leaf->type->physical, value, &leaf->values[middle]);

		if (order == 0)
			return true;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

static void
visit_values(BitmapIndex *index, IndexInput *input, int32 count, bool has_lengths)
{
	if (count < 0)
		index_error(input->path, "A bitmap index has %d values.", count);
	for (int32 i = 0; i < count; i++)
	{
		Scalar		value;
		BitmapPlace place = {.length = -1};

		index_take_value(input, index->leaf->type, &value);
		place.offset = index_take_int32(input);
		if (has_lengths)
			place.length = index_take_int32(input);
		if (is_listed(index->leaf, &value))
			add_rows(index, place);
	}
}

/* Bitmaps follow the values; they must be known before a value is looked at. */
static void
read_version_1(BitmapIndex *index, int32 count)
{
	IndexInput	values = index->input;
	IndexInput	skipped = index->input;

	for (int32 i = 0; i < count; i++)
	{
		Scalar		value;

		index_take_value(&skipped, index->leaf->type, &value);
		(void) index_take_int32(&skipped);
	}
	index->bitmaps = skipped;
	index->bitmaps.start = skipped.position;
	visit_values(index, &values, count, false);
}

/* Values are in blocks, listed with the first value of each. */
static void
read_version_2(BitmapIndex *index)
{
	IndexInput *input = &index->input;
	int32		nblocks = index_take_int32(input);
	IndexInput	listed = *input;
	IndexInput	body;
	int32		offset;

	for (int32 i = 0; i < nblocks; i++)
	{
		Scalar		value;

		index_take_value(input, index->leaf->type, &value);
		(void) index_take_int32(input);
	}
	offset = index_take_int32(input);
	body = *input;
	body.start = body.position;
	index->bitmaps = index_input_at(&body, offset);
	index->bitmaps.start = index->bitmaps.position;
	for (int32 i = 0; i < nblocks; i++)
	{
		Scalar		value;
		IndexInput	block;

		index_take_value(&listed, index->leaf->type, &value);
		block = index_input_at(&body, index_take_int32(&listed));
		visit_values(index, &block, index_take_int32(&block), true);
	}
}

static RowSet
null_rows(BitmapIndex *index)
{
	if (!index->has_nulls)
		return row_set_none(index->nrows);
	index->found = row_set_empty(index->nrows);
	add_rows(index, index->nulls);
	return index->found;
}

/* Rows of the leaf's values; and nulls, since their bitmap is found on the way. */
static void
read_index(BitmapIndex *index)
{
	IndexInput *input = &index->input;
	uint8		version = index_take_byte(input);
	int32		rows = index_take_int32(input);
	int32		count = index_take_int32(input);

	if (version != 1 && version != 2)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("file index \"%s\" has a bitmap index of version %d, which is not supported",
						input->path, version)));
	if (rows != index->nrows || count < 0)
		index_error(input->path, "A bitmap index has %d values of %d rows, the data file has " INT64_FORMAT " rows.",
					count, rows, index->nrows);
	index->found = row_set_empty(index->nrows);
	index->has_nulls = index_take_byte(input) != 0;
	index->nulls.length = -1;
	if (index->has_nulls)
		index->nulls.offset = index_take_int32(input);
	if (index->has_nulls && version == 2)
		index->nulls.length = index_take_int32(input);
	if (version == 1)
		read_version_1(index, count);
	else
		read_version_2(index);
}

RowSet
bitmap_index_rows(IndexInput input, const Predicate *leaf, int64 nrows)
{
	BitmapIndex index = {.input = input, .leaf = leaf, .nrows = nrows};
	RowSet		rows;

	switch (leaf->op)
	{
		case PREDICATE_EQ:
		case PREDICATE_IN:
			read_index(&index);
			return index.found;
		case PREDICATE_NE:
		case PREDICATE_NOT_IN:
			read_index(&index);
			rows = row_set_and_not(row_set_all(nrows), index.found);
			return row_set_and_not(rows, null_rows(&index));
		case PREDICATE_IS_NULL:
			read_index(&index);
			return null_rows(&index);
		case PREDICATE_IS_NOT_NULL:
			read_index(&index);
			return row_set_and_not(row_set_all(nrows), null_rows(&index));
		default:
			return row_set_all(nrows);
	}
}
