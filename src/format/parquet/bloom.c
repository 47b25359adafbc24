/*
 * bloom.c
 *		Asking the bloom filters of column chunks.
 *
 * A filter is a header and blocks of 32 bytes; a value belongs to one block,
 * so this block is all that is read for it.  What is hashed is the value as
 * it is in the file.
 *
 * Source: apache/parquet-format, BloomFilter.md and parquet.thrift.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "columnar/xxhash.h"
#include "format/parquet/bloom.h"
#include "port/pg_bswap.h"

#define HEADER_BYTES 64			/* more than a header has */
#define BLOCK_BYTES 32
#define BLOCK_WORDS (BLOCK_BYTES / (int) sizeof(uint32))

/* One of many values is almost always found, and each costs a read. */
#define MAX_VALUES 16

/* Kinds of the header's unions that there are: split block, xxHash, uncompressed */
#define KNOWN_KIND 1

typedef struct BloomFilter
{
	uint64		start;			/* of the blocks, in the file */
	uint64		nblocks;
} BloomFilter;

typedef struct BloomTest
{
	ParquetFile *file;
	const IndexedColumn *columns;
	int64		num_rows;
} BloomTest;

static const uint32 salts[BLOCK_WORDS] = {
	0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31
};

static void
filter_damaged(const IndexedColumn *column)
{
	parquet_damaged(column->place->path, column->place->column, "Its bloom filter is damaged.");
}

/* Bytes of the file, from memory if they are there. */
static void
read_bytes(ParquetFile *file, uint64 offset, size_t length, char *buffer)
{
	const char *bytes = parquet_file_peek(file, offset, length);

	if (bytes != NULL)
		memcpy(buffer, bytes, length);
	else
		parquet_file_read(file, offset, length, buffer);
}

/* ---- the header ---- */

/* A union of empty structs: is it the one that is known? */
static bool
is_known(ThriftReader *reader, ThriftType type)
{
	bool		known = false;
	int16		saved;
	int16		id;

	thrift_expect(reader, type, THRIFT_STRUCT);
	saved = thrift_struct_begin(reader);
	while (thrift_field(reader, &id, &type))
	{
		known = id == KNOWN_KIND;
		thrift_skip(reader, type);
	}
	thrift_struct_end(reader, saved);
	return known;
}

/* The number of the filter's bytes; 0: it is of a kind that is not known. */
static int32
parse_header(ThriftReader *reader)
{
	int32		nbytes = 0;
	bool		known = true;
	int16		id;
	ThriftType	type;

	(void) thrift_struct_begin(reader);
	while (thrift_field(reader, &id, &type))
	{
		if (id == 1)
		{
			thrift_expect(reader, type, THRIFT_I32);
			nbytes = thrift_read_i32(reader);
		}
		else if (id >= 2 && id <= 4)
			known &= is_known(reader, type);
		else
			thrift_skip(reader, type);
	}
	return known ? nbytes : 0;
}

/* False: there is none that can be used. */
static bool
find_filter(ParquetFile *file, const IndexedColumn *column, BloomFilter *filter)
{
	uint64		start = (uint64) column->chunk->bloom_filter_offset;
	char		header[HEADER_BYTES + READ_PADDING] = {0};
	ThriftReader reader;
	size_t		length;
	int32		nbytes;

	if (column->chunk->bloom_filter_offset == 0)
		return false;
	if (start > file->data_end)
		filter_damaged(column);
	length = Min(HEADER_BYTES, file->data_end - start);
	read_bytes(file, start, length, header);
	thrift_read_init(&reader, header, length, file->path);
	nbytes = parse_header(&reader);
	filter->start = start + (reader.cursor - (const uint8 *) header);
	if (nbytes == 0)
		return false;
	if (nbytes < 0 || nbytes % BLOCK_BYTES != 0 || (uint64) nbytes > file->data_end - filter->start)
		filter_damaged(column);
	filter->nblocks = (uint64) nbytes / BLOCK_BYTES;
	return true;
}

/* ---- values ---- */

/* A value as the file has it, without the length of strings. */
typedef struct PlainValue
{
	char		bytes[sizeof(int128)];
	BytesView	view;
} PlainValue;

static bool
plain_integer(const ParquetField *field, int64 number, PlainValue *out)
{
	int32		narrow = (int32) number;

	if (field->type == PARQUET_INT64)
	{
		memcpy(out->bytes, &number, sizeof(number));
		out->view.length = sizeof(number);
		return true;
	}
	if (field->type != PARQUET_INT32 || (narrow != number && !(field->is_unsigned && (uint32) number == number)))
		return false;
	memcpy(out->bytes, &narrow, sizeof(narrow));
	out->view.length = sizeof(narrow);
	return true;
}

static bool
plain_decimal(const ParquetField *field, int128 number, PlainValue *out)
{
	uint64		words[2];
	int			shift = 128 - 8 * field->type_length;

	if (field->type == PARQUET_INT32 || field->type == PARQUET_INT64)
		return number == (int64) number && plain_integer(field, (int64) number, out);
	/* of free length the number may have more bytes than it needs */
	if (field->type != PARQUET_FIXED_LEN_BYTE_ARRAY || field->type_length > sizeof(int128) ||
		(int128) ((uint128) number << shift) >> shift != number)
		return false;
	words[0] = pg_hton64((uint64) (number >> 64));
	words[1] = pg_hton64((uint64) number);
	memcpy(out->bytes, (const char *) words + sizeof(words) - field->type_length, field->type_length);
	out->view.length = field->type_length;
	return true;
}

/* Zeros and NaNs have several forms. */
static bool
plain_float(const ParquetField *field, double number, PlainValue *out)
{
	float		narrow = (float) number;

	if (number == 0 || isnan(number))
		return false;
	if (field->type == PARQUET_DOUBLE)
	{
		memcpy(out->bytes, &number, sizeof(number));
		out->view.length = sizeof(number);
		return true;
	}
	if (field->type != PARQUET_FLOAT || narrow != number)
		return false;
	memcpy(out->bytes, &narrow, sizeof(narrow));
	out->view.length = sizeof(narrow);
	return true;
}

/* False when it is not certain how the file has it. */
static bool
plain_value(const IndexedColumn *column, const Scalar *value, PlainValue *out)
{
	const DataType *type = column->wanted;

	out->view.data = out->bytes;
	switch (type->root)
	{
		case TYPE_FLOAT:
			return plain_float(column->field, value->v.f32, out);
		case TYPE_DOUBLE:
			return plain_float(column->field, value->v.f64, out);
		case TYPE_DECIMAL:
			return plain_decimal(column->field,
								 type->physical == PHYSICAL_INT128 ? value->v.i128 : value->v.i64, out);
		case TYPE_VARCHAR:
		case TYPE_CHAR:
		case TYPE_BINARY:
		case TYPE_VARBINARY:
			out->view = value->v.bytes;
			return true;
		case TYPE_TINYINT:
		case TYPE_SMALLINT:
		case TYPE_INT:
		case TYPE_BIGINT:
		case TYPE_DATE:
		case TYPE_TIME:
		case TYPE_TIMESTAMP:
		case TYPE_TIMESTAMP_LTZ:
			/* of times in other units several values become one */
			return type->physical != PHYSICAL_INT128 &&
				column->conversion->multiplier == 1 && column->conversion->divisor == 1 &&
				plain_integer(column->field, scalar_integer(type->physical, value), out);
		default:
			return false;
	}
}

/* ---- asking ---- */

static bool
block_may_have(const char *block, uint32 hash)
{
	for (int i = 0; i < BLOCK_WORDS; i++)
	{
		uint32		word;

		memcpy(&word, block + i * sizeof(word), sizeof(word));
		if ((word & (UINT32_C(1) << ((hash * salts[i]) >> 27))) == 0)
			return false;
	}
	return true;
}

static bool
filter_may_have(ParquetFile *file, const BloomFilter *filter, const PlainValue *value)
{
	uint64		hash = xxh64(value->view.data, value->view.length, 0);
	uint64		block = ((hash >> 32) * filter->nblocks) >> 32;
	char		bytes[BLOCK_BYTES];

	read_bytes(file, filter->start + block * BLOCK_BYTES, BLOCK_BYTES, bytes);
	return block_may_have(bytes, (uint32) hash);
}

static bool
test_leaf(const Predicate *leaf, void *arg)
{
	const BloomTest *test = arg;
	const IndexedColumn *column = &test->columns[leaf->column];
	BloomFilter filter;

	if (!column->used)
		return true;
	if (!predicate_leaf_may_match(leaf, test->num_rows, &column->statistics))
		return false;
	if ((leaf->op != PREDICATE_EQ && leaf->op != PREDICATE_IN) || leaf->nvalues > MAX_VALUES ||
		column->field == NULL || !find_filter(test->file, column, &filter))
		return true;
	for (int i = 0; i < leaf->nvalues; i++)
	{
		PlainValue	value;

		if (!plain_value(column, &leaf->values[i], &value) || filter_may_have(test->file, &filter, &value))
			return true;
	}
	return false;
}

bool
bloom_filters_may_match(ParquetFile *file, const IndexedColumn *columns, const Predicate *predicate, int64 num_rows)
{
	BloomTest	test = {file, columns, num_rows};

	return predicate_may_hold(predicate, test_leaf, &test);
}
