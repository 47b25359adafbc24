/*
 * file_index_bloom.c
 *		Bloom filters of a column's values in a data file.
 *
 * Source: format digest section 8.3.
 */
#include "postgres.h"

#include "columnar/xxhash.h"
#include "lake/file_index.h"

/* Thomas Wang's hash of 64 bits; shifts to the right keep the sign, as in Java. */
static uint64
hash_number(int64 number)
{
	uint64		key = (uint64) number;

	key = ~key + (key << 21);
	key ^= (uint64) ((int64) key >> 24);
	key = key + (key << 3) + (key << 8);
	key ^= (uint64) ((int64) key >> 14);
	key = key + (key << 2) + (key << 4);
	key ^= (uint64) ((int64) key >> 28);
	return key + (key << 31);
}

static uint64
hash_value(const DataType *type, const Scalar *value)
{
	switch (type->physical)
	{
		case PHYSICAL_INT8:
			return hash_number(value->v.i8);
		case PHYSICAL_INT16:
			return hash_number(value->v.i16);
		case PHYSICAL_INT32:
			return hash_number(value->v.i32);
		case PHYSICAL_INT64:
			return hash_number(value->v.i64);
		default:
			Assert(type->physical == PHYSICAL_BYTES);
			return xxh64(value->v.bytes.data, value->v.bytes.length, 0);
	}
}

/* May the value be there? */
static bool
filter_has(const unsigned char *bits, int64 nbits, int32 nhashes, uint64 hash)
{
	uint32		first = (uint32) hash;
	uint32		second = (uint32) (hash >> 32);

	for (int32 i = 1; i <= nhashes; i++)
	{
		int32		combined = (int32) (first + (uint32) i * second);
		int64		bit;

		if (combined < 0)
			combined = ~combined;
		bit = combined % nbits;
		if ((bits[bit >> 3] & (1 << (bit & 7))) == 0)
			return false;
	}
	return true;
}

RowSet
bloom_index_rows(IndexInput input, const Predicate *leaf, int64 nrows)
{
	int32		nhashes;
	int64		nbits;

	if ((leaf->op != PREDICATE_EQ && leaf->op != PREDICATE_IN) || leaf->type->root == TYPE_BOOLEAN)
		return row_set_all(nrows);
	nhashes = index_take_int32(&input);
	nbits = (input.end - input.position) * (int64) 8;
	if (nhashes < 1 || nhashes > 1000 || nbits == 0)
		index_error(input.path, "A bloom filter has %d hashes and " INT64_FORMAT " bits.", nhashes, nbits);
	for (int i = 0; i < leaf->nvalues; i++)
		if (filter_has((const unsigned char *) input.position, nbits, nhashes,
					   hash_value(leaf->type, &leaf->values[i])))
			return row_set_all(nrows);
	return row_set_none(nrows);
}
