/*
 * bloom.c
 *		Asking the bloom filters of row groups in an ORC file.
 *
 * A stripe keeps those of a column in one stream, which is read when a leaf
 * first needs it.  Decimals and timestamps are left alone: writers do not
 * agree on what of them is hashed.  So is CHAR, where blanks at the end are.
 *
 * Source: ORC specification version 1, bloom filter index.
 */
#include "postgres.h"

#include <math.h>

#include "columnar/bloom.h"
#include "format/orc/bloom.h"
#include "utils/memutils.h"

#define MAX_HASHES 1000

/* One of many values is almost always found. */
#define MAX_VALUES 1000

#define MURMUR_SEED 104729

typedef struct BloomFilter
{
	uint32		nhashes;		/* 0: none that can be used */
	BytesView	bits;
} BloomFilter;

struct BloomIndex
{
	uint32		nfilters;
	BloomFilter *filters;		/* by row group */
};

static const OrcExtent *
bloom_stream(const OrcColumn *column)
{
	return &column->shared->stripe_columns[column->number].streams[ORC_STREAM_BLOOM_FILTER];
}

bool
bloom_exists(const OrcColumn *column)
{
	return bloom_stream(column)->exists;
}

/* ---- reading ---- */

static void
read_filter(const OrcColumn *column, ProtoReader *message, BloomFilter *filter)
{
	while (proto_next(message))
	{
		if (message->field == 1)
			filter->nhashes = proto_uint32(message);
		else if (message->field == 3)
			filter->bits = proto_bytes(message);
	}
	if (filter->nhashes > MAX_HASHES)
		orc_column_damaged(column, "A bloom filter has an impossible number of hashes.");
	if (filter->bits.length == 0)
		filter->nhashes = 0;
}

/* NULL when there is not one for each row group. */
static struct BloomIndex *
read_filters(OrcColumn *column)
{
	const OrcExtent *extent = bloom_stream(column);
	uint32		ngroups = column->shared->ngroups;
	struct BloomIndex *index = palloc(sizeof(struct BloomIndex));
	ProtoReader message;
	ProtoReader part;

	index->nfilters = 0;
	index->filters = palloc0(ngroups * sizeof(BloomFilter));
	proto_init(&message, column->place.path,
			   stream_read_section(column->shared->file, &column->place, extent->offset, extent->length));
	while (proto_next(&message))
	{
		if (message.field != 1)
			continue;
		if (index->nfilters == ngroups)
			return NULL;
		proto_message(&message, &part);
		read_filter(column, &part, &index->filters[index->nfilters++]);
	}
	return index->nfilters == ngroups ? index : NULL;
}

static const BloomFilter *
find_filter(OrcColumn *column, uint32 group)
{
	if (!column->bloom_read && bloom_exists(column) && column->shared->ngroups > 0)
	{
		MemoryContext old = MemoryContextSwitchTo(column->shared->stripe_context);

		column->bloom_read = true;
		column->bloom = read_filters(column);
		MemoryContextSwitchTo(old);
	}
	return column->bloom != NULL && column->bloom->filters[group].nhashes > 0 ?
		&column->bloom->filters[group] : NULL;
}

/* ---- hashing ---- */

static uint64
rotate_left(uint64 word, int bits)
{
	return word << bits | word >> (64 - bits);
}

static uint64
mix_word(uint64 word)
{
	return rotate_left(word * UINT64CONST(0x87c37b91114253d5), 31) * UINT64CONST(0x4cf5ad432745937f);
}

/* Murmur3 with a single lane of 64 bits; numbers are little-endian. */
static uint64
hash_string(BytesView bytes)
{
	uint64		hash = MURMUR_SEED;
	uint32		whole = bytes.length & ~7U;
	uint64		word;

	for (uint32 i = 0; i < whole; i += 8)
	{
		memcpy(&word, bytes.data + i, sizeof(word));
		hash = rotate_left(hash ^ mix_word(word), 27) * 5 + 0x52dce729;
	}
	word = 0;
	if (bytes.length > whole)
	{
		memcpy(&word, bytes.data + whole, bytes.length - whole);
		hash ^= mix_word(word);
	}
	hash ^= bytes.length;
	hash = (hash ^ hash >> 33) * UINT64CONST(0xff51afd7ed558ccd);
	hash = (hash ^ hash >> 33) * UINT64CONST(0xc4ceb9fe1a85ec53);
	return hash ^ hash >> 33;
}

/* ---- asking ---- */

static uint64
hash_double(double number)
{
	int64		bits;

	memcpy(&bits, &number, sizeof(bits));
	return bloom_hash_number(bits);
}

/* False when it is not certain what was hashed; zeros and NaNs have several forms. */
static bool
hash_value(const OrcColumn *column, const Scalar *value, uint64 *hash)
{
	double		number;

	switch (column->type->kind)
	{
		case ORC_BYTE:
		case ORC_SHORT:
		case ORC_INT:
		case ORC_LONG:
		case ORC_DATE:
			*hash = bloom_hash_number(scalar_integer(column->wanted->physical, value));
			return true;
		case ORC_FLOAT:
		case ORC_DOUBLE:
			number = column->wanted->physical == PHYSICAL_FLOAT ? value->v.f32 : value->v.f64;
			*hash = hash_double(number);
			return number != 0 && !isnan(number);
		case ORC_STRING:
		case ORC_VARCHAR:
		case ORC_BINARY:
			*hash = hash_string(value->v.bytes);
			return true;
		default:
			return false;
	}
}

bool
bloom_may_match(OrcColumn *column, uint32 group, const Predicate *leaf)
{
	const BloomFilter *filter;

	if ((leaf->op != PREDICATE_EQ && leaf->op != PREDICATE_IN) || leaf->nvalues > MAX_VALUES)
		return true;
	filter = find_filter(column, group);
	if (filter == NULL)
		return true;
	for (int i = 0; i < leaf->nvalues; i++)
	{
		uint64		hash;

		if (!hash_value(column, &leaf->values[i], &hash) ||
			bloom_may_have((const uint8 *) filter->bits.data, (int64) filter->bits.length * 8,
						   (int32) filter->nhashes, hash))
			return true;
	}
	return false;
}
