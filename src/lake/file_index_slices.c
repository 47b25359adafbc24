/*
 * file_index_slices.c
 *		Indexes of bits: for each bit of a column's values (bsi), or of their
 *		codes in a sorted dictionary (range-bitmap), the rows that have it.
 *
 * Source: format digest section 8.5.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "lake/file_index.h"

#define MAX_SLICES 64

/* Numbers that are not negative, bit by bit */
typedef struct BitSlices
{
	const char *path;
	int64		nrows;
	int64		min;			/* what was subtracted from each */
	RowSet		existing;		/* rows that have a number */
	int			nslices;
	BytesView	slices[MAX_SLICES]; /* bitmaps, the lowest bit first */
} BitSlices;

/* Rows below a value, equal to it, and above it */
typedef struct Comparison
{
	RowSet		below;
	RowSet		equal;
	RowSet		above;
} Comparison;

/* Read a bitmap over what was in the set. */
static void
read_bitmap(const BitSlices *slices, BytesView bytes, RowSet *rows)
{
	memset(rows->words, 0, row_set_words(rows->nrows) * sizeof(uint64));
	if (row_set_add_bitmap(rows, 0, bytes.data, bytes.length) == 0)
		index_error(slices->path, "A bitmap is invalid, or has a row that the data file has not.");
}

/* From the highest bit down, rows that are equal so far fall to one side or the other. */
static Comparison
compare_slices(const BitSlices *slices, uint64 value)
{
	Comparison	result = {row_set_none(slices->nrows), slices->existing, row_set_none(slices->nrows)};
	int64		nwords = row_set_words(slices->nrows);
	RowSet		slice;

	if (slices->existing.kind != ROWS_SOME)
		return result;
	if (slices->nslices < MAX_SLICES && value >> slices->nslices != 0)
	{
		result.below = slices->existing;
		result.equal = row_set_none(slices->nrows);
		return result;
	}
	result.below = row_set_empty(slices->nrows);
	result.equal = row_set_copy(&slices->existing);
	result.above = row_set_empty(slices->nrows);
	slice = row_set_empty(slices->nrows);
	for (int i = slices->nslices - 1; i >= 0; i--)
	{
		bool		is_one = value >> i & 1;
		uint64	   *side = is_one ? result.below.words : result.above.words;

		read_bitmap(slices, slices->slices[i], &slice);
		for (int64 word = 0; word < nwords; word++)
		{
			uint64		differing = result.equal.words[word] & (is_one ? ~slice.words[word] : slice.words[word]);

			side[word] |= differing;
			result.equal.words[word] &= ~differing;
		}
	}
	return result;
}

/* Rows for which the operator holds of a value that they were compared with. */
static RowSet
rows_of_operator(PredicateOp op, const Comparison *comparison)
{
	switch (op)
	{
		case PREDICATE_EQ:
		case PREDICATE_IN:
			return comparison->equal;
		case PREDICATE_LT:
			return comparison->below;
		case PREDICATE_LE:
			return row_set_or(comparison->below, comparison->equal);
		case PREDICATE_GT:
			return comparison->above;
		case PREDICATE_GE:
			return row_set_or(comparison->above, comparison->equal);
		default:
			Assert(op == PREDICATE_NE || op == PREDICATE_NOT_IN);
			return row_set_or(comparison->below, comparison->above);
	}
}

/* How a value compares with those of an index */
typedef Comparison (*CompareValue) (void *index, const Predicate *leaf, const Scalar *value);

static RowSet
rows_of_leaf(const Predicate *leaf, int64 nrows, RowSet existing, CompareValue compare, void *index)
{
	bool		is_any = leaf->op == PREDICATE_IN;
	RowSet		rows = is_any ? row_set_none(nrows) : existing;

	switch (leaf->op)
	{
		case PREDICATE_IS_NULL:
			return row_set_and_not(row_set_all(nrows), existing);
		case PREDICATE_IS_NOT_NULL:
			return existing;
		default:
			break;
	}
	for (int i = 0; i < leaf->nvalues; i++)
	{
		Comparison	comparison = compare(index, leaf, &leaf->values[i]);
		RowSet		found = rows_of_operator(leaf->op, &comparison);

		rows = is_any ? row_set_or(rows, found) : row_set_and(rows, found);
	}
	return rows;
}

/* bsi: positive numbers, and the absolute values of negative ones */
typedef struct NumberIndex
{
	BitSlices	positive;
	BitSlices	negative;
} NumberIndex;

/* A bitmap without a length before it. */
static BytesView
take_bitmap(IndexInput *input)
{
	BytesView	bytes = {input->position, 0};

	bytes.length = row_set_bitmap_size(input->position, input->end - input->position);
	if (bytes.length == 0)
		index_error(input->path, "A bitmap is invalid.");
	index_take(input, bytes.length);
	return bytes;
}

static void
read_slices(IndexInput *input, int64 nrows, BitSlices *slices)
{
	slices->path = input->path;
	slices->nrows = nrows;
	slices->existing = row_set_none(nrows);
	if (index_take_byte(input) == 0)
		return;
	if (index_take_byte(input) != 1)
		index_error(input->path, "Its bits are of an unknown version.");
	slices->min = index_take_int64(input);
	(void) index_take_int64(input); /* maximum */
	slices->existing = row_set_empty(nrows);
	read_bitmap(slices, take_bitmap(input), &slices->existing);
	slices->nslices = index_take_int32(input);
	if (slices->nslices < 0 || slices->nslices > MAX_SLICES || slices->min < 0)
		index_error(input->path, "It has numbers of %d bits.", slices->nslices);
	for (int i = 0; i < slices->nslices; i++)
		slices->slices[i] = take_bitmap(input);
}

static Comparison
compare_magnitude(const BitSlices *slices, uint64 magnitude)
{
	Comparison	result = {row_set_none(slices->nrows), row_set_none(slices->nrows), slices->existing};

	if (magnitude < (uint64) slices->min)
		return result;
	return compare_slices(slices, magnitude - slices->min);
}

static Comparison
compare_number(void *arg, const Predicate *leaf, const Scalar *value)
{
	NumberIndex *index = arg;
	int64		number = scalar_integer(leaf->type->physical, value);
	Comparison	result;
	RowSet		below;

	if (number >= 0)
	{
		result = compare_magnitude(&index->positive, number);
		result.below = row_set_or(result.below, index->negative.existing);
		return result;
	}
	result = compare_magnitude(&index->negative, -(uint64) number);
	below = result.above;
	result.above = row_set_or(result.below, index->positive.existing);
	result.below = below;
	return result;
}

RowSet
bsi_index_rows(IndexInput input, const Predicate *leaf, int64 nrows)
{
	NumberIndex index = {{0}};
	int32		rows;

	if (leaf->type->physical == PHYSICAL_BYTES || leaf->type->root == TYPE_BOOLEAN)
		return row_set_all(nrows);
	if (index_take_byte(&input) != 1)
		return row_set_all(nrows);
	rows = index_take_int32(&input);
	if (rows != nrows)
		index_error(input.path, "It is of %d rows, the data file has " INT64_FORMAT ".", rows, nrows);
	read_slices(&input, nrows, &index.positive);
	read_slices(&input, nrows, &index.negative);
	return rows_of_leaf(leaf, nrows, row_set_or(index.positive.existing, index.negative.existing),
						compare_number, &index);
}

/* range-bitmap: codes of a sorted dictionary */
typedef struct CodeIndex
{
	IndexInput	heads;			/* of the dictionary's chunks */
	IndexInput	keys;
	int32		nchunks;
	int32	   *offsets;		/* of the heads */
	BitSlices	codes;
} CodeIndex;

/* One chunk of the dictionary */
typedef struct Chunk
{
	Scalar		first;
	int32		code;			/* of the first key */
	int32		nkeys;			/* further ones */
	IndexInput	keys;			/* which follow one another */
} Chunk;

static Chunk
read_chunk(const CodeIndex *index, int32 number, const DataType *type)
{
	IndexInput	head = index_input_at(&index->heads, index->offsets[number]);
	Chunk		chunk;
	int32		offset;

	if (index_take_byte(&head) != 1)
		index_error(head.path, "Its dictionary is of an unknown version.");
	index_take_value(&head, type, &chunk.first);
	chunk.code = index_take_int32(&head);
	offset = index_take_int32(&head);
	chunk.nkeys = index_take_int32(&head);
	chunk.keys = index_input_at(&index->keys, offset);
	/* of strings there are offsets before the keys */
	if (type->physical == PHYSICAL_BYTES)
		index_take(&chunk.keys, index_take_int32(&head));
	return chunk;
}

/* How many keys are below a value; and is it a key? */
static int32
count_keys_below(const CodeIndex *index, const DataType *type, const Scalar *value, bool *found)
{
	Chunk		chunk = {.nkeys = -1};

	*found = false;
	for (int32 i = 0; i < index->nchunks; i++)
	{
		Chunk		next = read_chunk(index, i, type);
		int			order = scalar_compare_values(type->physical, &next.first, value);

		*found = order == 0;
		if (order > 0)
			break;
		chunk = next;
		if (order == 0)
			return chunk.code;
	}
	if (chunk.nkeys < 0)
		return 0;
	for (int32 i = 0; i < chunk.nkeys; i++)
	{
		Scalar		key;
		int			order;

		index_take_value(&chunk.keys, type, &key);
		order = scalar_compare_values(type->physical, &key, value);
		*found = order == 0;
		if (order >= 0)
			return chunk.code + 1 + i;
	}
	return chunk.code + 1 + chunk.nkeys;
}

static Comparison
compare_key(void *arg, const Predicate *leaf, const Scalar *value)
{
	CodeIndex  *index = arg;
	bool		found;
	int32		code = count_keys_below(index, leaf->type, value, &found);
	Comparison	result;

	if (code < 0)
		index_error(index->codes.path, "Its dictionary has the code %d.", code);
	result = compare_slices(&index->codes, code);
	if (!found)
	{
		result.above = row_set_or(result.above, result.equal);
		result.equal = row_set_none(result.equal.nrows);
	}
	return result;
}

/* A part that begins with the length of its head: skip that, and look at the version. */
static void
take_head(IndexInput *input)
{
	(void) index_take_int32(input);
	if (index_take_byte(input) != 1)
		index_error(input->path, "It is of an unknown version.");
}

static void
read_dictionary(IndexInput input, CodeIndex *index)
{
	int32		offsets_length;
	int32		heads_length;

	take_head(&input);
	index->nchunks = index_take_int32(&input);
	offsets_length = index_take_int32(&input);
	heads_length = index_take_int32(&input);
	if (index->nchunks < 0 || offsets_length != (int64) index->nchunks * 4)
		index_error(input.path, "Its dictionary has %d chunks.", index->nchunks);
	if (offsets_length > input.end - input.position)
		index_error(input.path, "Its dictionary ends too early.");
	index->offsets = palloc(Max(index->nchunks, 1) * sizeof(int32));
	for (int32 i = 0; i < index->nchunks; i++)
		index->offsets[i] = index_take_int32(&input);
	index->heads = input;
	index->heads.start = index_take(&input, heads_length);
	index->heads.end = input.position;
	index->keys = input;
	index->keys.start = input.position;
}

static void
read_codes(IndexInput input, int64 nrows, BitSlices *codes)
{
	int32		existing_length;
	int32		places_length;
	IndexInput	places;
	BytesView	existing;
	IndexInput	bodies;

	codes->path = input.path;
	codes->nrows = nrows;
	take_head(&input);
	codes->nslices = index_take_byte(&input);
	existing_length = index_take_int32(&input);
	places_length = index_take_int32(&input);
	if (codes->nslices > MAX_SLICES || places_length != codes->nslices * 8)
		index_error(input.path, "It has codes of %d bits.", codes->nslices);
	places = input;
	index_take(&input, places_length);
	existing.data = index_take(&input, existing_length);
	existing.length = existing_length;
	codes->existing = row_set_empty(nrows);
	read_bitmap(codes, existing, &codes->existing);
	bodies = input;
	bodies.start = input.position;
	for (int i = 0; i < codes->nslices; i++)
	{
		IndexInput	body = index_input_at(&bodies, index_take_int32(&places));
		int32		length = index_take_int32(&places);

		codes->slices[i].data = index_take(&body, length);
		codes->slices[i].length = length;
	}
}

RowSet
range_bitmap_index_rows(IndexInput input, const Predicate *leaf, int64 nrows)
{
	CodeIndex	index = {{0}};
	int32		rows;
	int32		cardinality;
	Scalar		bound;
	int32		dictionary_length;
	IndexInput	dictionary;

	if (leaf->type->root == TYPE_BOOLEAN)
		return row_set_all(nrows);
	take_head(&input);
	rows = index_take_int32(&input);
	cardinality = index_take_int32(&input);
	if (rows != nrows)
		index_error(input.path, "It is of %d rows, the data file has " INT64_FORMAT ".", rows, nrows);
	if (cardinality <= 0)
		return row_set_all(nrows);
	index_take_value(&input, leaf->type, &bound);
	index_take_value(&input, leaf->type, &bound);
	dictionary_length = index_take_int32(&input);
	dictionary = input;
	dictionary.start = index_take(&input, dictionary_length);
	dictionary.end = input.position;
	read_dictionary(dictionary, &index);
	input.start = input.position;
	read_codes(input, nrows, &index.codes);
	return rows_of_leaf(leaf, nrows, index.codes.existing, compare_key, &index);
}
