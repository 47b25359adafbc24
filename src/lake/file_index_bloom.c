/*
 * file_index_bloom.c
 *		Bloom filters of a column's values in a data file.
 *
 * Source: format digest section 8.3.
 */
#include "postgres.h"

#include "columnar/bloom.h"
#include "columnar/xxhash.h"
#include "lake/file_index.h"

static uint64
hash_value(const DataType *type, const Scalar *value)
{
	switch (type->physical)
	{
		case PHYSICAL_INT8:
			return bloom_hash_number(value->v.i8);
		case PHYSICAL_INT16:
			return bloom_hash_number(value->v.i16);
		case PHYSICAL_INT32:
			return bloom_hash_number(value->v.i32);
		case PHYSICAL_INT64:
			return bloom_hash_number(value->v.i64);
		default:
			Assert(type->physical == PHYSICAL_BYTES);
			return xxh64(value->v.bytes.data, value->v.bytes.length, 0);
	}
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
		if (bloom_may_have((const uint8 *) input.position, nbits, nhashes,
						   hash_value(leaf->type, &leaf->values[i])))
			return row_set_all(nrows);
	return row_set_none(nrows);
}
