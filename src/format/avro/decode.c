/*
 * decode.c
 *		Avro's binary encoding: reading and skipping values.
 *
 * The input is bounded and untrusted.  Each function raises an error instead
 * of reading beyond the end.
 */
#include "postgres.h"

#include "format/avro/avro.h"
#include "miscadmin.h"

/* Schemas may refer to themselves; data nested deeper than this is damaged. */
#define MAX_DEPTH 64

static void skip_value(AvroInput *input, const AvroSchema *schema, int depth);

/* A zigzag varint of at most ten bytes. */
int64
avro_read_long(AvroInput *input)
{
	uint64		value = 0;

	for (int shift = 0; shift < 64; shift += 7)
	{
		uint8		byte;

		if (input->position >= input->end)
			avro_error(input->path, "A block ends within a number.");
		byte = *input->position++;
		value |= (uint64) (byte & 0x7f) << shift;
		if ((byte & 0x80) == 0)
			return (int64) (value >> 1) ^ -(int64) (value & 1);
	}
	avro_error(input->path, "A number is too long.");
}

int32
avro_read_int(AvroInput *input)
{
	int64		value = avro_read_long(input);

	if (value < PG_INT32_MIN || value > PG_INT32_MAX)
		avro_error(input->path, "A number does not fit 32 bits: %lld.", (long long) value);
	return (int32) value;
}

const char *
avro_read_fixed(AvroInput *input, uint64 length)
{
	const char *bytes = input->position;

	if (length > (uint64) (input->end - input->position))
		avro_error(input->path, "A block ends within a value.");
	input->position += length;
	return bytes;
}

BytesView
avro_read_bytes(AvroInput *input)
{
	int64		length = avro_read_long(input);
	BytesView	view;

	if (length < 0 || length > PG_INT32_MAX)
		avro_error(input->path, "A value has the length %lld.", (long long) length);
	view.data = avro_read_fixed(input, length);
	view.length = (uint32) length;
	return view;
}

/* Read the branch of a union with null; is it the null? */
bool
avro_read_null(AvroInput *input, int null_branch)
{
	int64		branch;

	if (null_branch < 0)
		return false;
	branch = avro_read_long(input);
	if (branch != 0 && branch != 1)
		avro_error(input->path, "A union has no branch %lld.", (long long) branch);
	return branch == null_branch;
}

/*
 * The number of items in the next piece of an array or map, 0 at its end.  A
 * negative count is followed by the piece's size in bytes, of which we have no
 * need.  An item has at least a byte, but for types that carry nothing: a
 * piece of many of these is nothing an honest writer makes.
 */
int64
avro_read_item_count(AvroInput *input)
{
	int64		count = avro_read_long(input);

	if (count < 0)
	{
		avro_read_long(input);
		count = count == PG_INT64_MIN ? PG_INT64_MAX : -count;
	}
	if (count > input->end - input->position)
		avro_error(input->path, "An array is longer than the block it is in.");
	return count;
}

static void
skip_items(AvroInput *input, const AvroSchema *schema, int depth)
{
	int64		count;

	while ((count = avro_read_item_count(input)) > 0)
	{
		for (int64 i = 0; i < count; i++)
		{
			if (schema->kind == AVRO_MAP)
				avro_read_bytes(input);
			skip_value(input, schema->children[0], depth + 1);
		}
	}
}

static void
skip_value(AvroInput *input, const AvroSchema *schema, int depth)
{
	int64		branch;

	if (depth > MAX_DEPTH)
		avro_error(input->path, "A value is nested too deep.");

	switch (schema->kind)
	{
		case AVRO_NULL:
			break;
		case AVRO_BOOLEAN:
			avro_read_fixed(input, 1);
			break;
		case AVRO_INT:
		case AVRO_LONG:
		case AVRO_ENUM:
			avro_read_long(input);
			break;
		case AVRO_FLOAT:
			avro_read_fixed(input, 4);
			break;
		case AVRO_DOUBLE:
			avro_read_fixed(input, 8);
			break;
		case AVRO_BYTES:
		case AVRO_STRING:
			avro_read_bytes(input);
			break;
		case AVRO_FIXED:
			avro_read_fixed(input, schema->fixed_size);
			break;
		case AVRO_ARRAY:
		case AVRO_MAP:
			skip_items(input, schema, depth);
			break;
		case AVRO_UNION:
			branch = avro_read_long(input);
			if (branch < 0 || branch >= schema->nchildren)
				avro_error(input->path, "A union has no branch %lld.", (long long) branch);
			skip_value(input, schema->children[branch], depth + 1);
			break;
		case AVRO_RECORD:
			CHECK_FOR_INTERRUPTS();
			for (int i = 0; i < schema->nchildren; i++)
				skip_value(input, schema->children[i], depth + 1);
			break;
	}
}

void
avro_skip(AvroInput *input, const AvroSchema *schema)
{
	skip_value(input, schema, 0);
}
