/*
 * variant_read.c
 *		Reading the binary form of VARIANT.
 *
 * A value begins with a byte: two bits for what it is, six that say more of
 * it.  Arrays and objects have a count, then of objects the members' names (by
 * number), then the members' offsets, one more than there are members, then
 * the members.
 */
#include "postgres.h"

#include "columnar/variant.h"

#define METADATA_VERSION 1
#define MAX_DECIMAL_SCALE 38

typedef enum BasicType
{
	BASIC_PRIMITIVE,
	BASIC_SHORT_STRING,
	BASIC_OBJECT,
	BASIC_ARRAY
} BasicType;

typedef enum PrimitiveType
{
	PRIMITIVE_NULL,
	PRIMITIVE_TRUE,
	PRIMITIVE_FALSE,
	PRIMITIVE_INT8,
	PRIMITIVE_INT16,
	PRIMITIVE_INT32,
	PRIMITIVE_INT64,
	PRIMITIVE_DOUBLE,
	PRIMITIVE_DECIMAL4,
	PRIMITIVE_DECIMAL8,
	PRIMITIVE_DECIMAL16,
	PRIMITIVE_DATE,
	PRIMITIVE_TIMESTAMP_LTZ,
	PRIMITIVE_TIMESTAMP,
	PRIMITIVE_FLOAT,
	PRIMITIVE_BINARY,
	PRIMITIVE_STRING,
	PRIMITIVE_TIME,
	PRIMITIVE_TIMESTAMP_LTZ_NANOS,
	PRIMITIVE_TIMESTAMP_NANOS,
	PRIMITIVE_UUID
} PrimitiveType;

static uint64
read_unsigned(const char *at, int size)
{
	uint64		value = 0;

	for (int i = size - 1; i >= 0; i--)
		value = value << 8 | (unsigned char) at[i];
	return value;
}

static int64
read_signed(const char *at, int size)
{
	int			unused = 64 - size * 8;

	return (int64) (read_unsigned(at, size) << unused) >> unused;
}

static int128
read_int128(const char *at)
{
	return (int128) read_signed(at + 8, 8) << 64 | read_unsigned(at, 8);
}

/* The bytes from an offset on. */
static BytesView
rest_of(BytesView bytes, uint32 offset)
{
	BytesView	rest = {bytes.data + offset, bytes.length - offset};

	return rest;
}

bool
variant_read_metadata(BytesView bytes, VariantMetadata *metadata)
{
	unsigned char header;
	uint64		head;

	if (bytes.length < 1)
		return false;
	header = (unsigned char) bytes.data[0];
	metadata->offset_size = (header >> 6) + 1;
	if ((header & 0x0F) != METADATA_VERSION || bytes.length < 1 + metadata->offset_size)
		return false;
	metadata->count = (uint32) read_unsigned(bytes.data + 1, metadata->offset_size);
	metadata->offsets = bytes.data + 1 + metadata->offset_size;
	head = 1 + metadata->offset_size * ((uint64) metadata->count + 2);
	if (head > bytes.length)
		return false;
	metadata->names = rest_of(bytes, (uint32) head);
	return true;
}

bool
variant_metadata_name(const VariantMetadata *metadata, uint32 id, BytesView *name)
{
	const char *at = metadata->offsets + (uint64) id * metadata->offset_size;
	uint64		begin;
	uint64		end;

	if (id >= metadata->count)
		return false;
	begin = read_unsigned(at, metadata->offset_size);
	end = read_unsigned(at + metadata->offset_size, metadata->offset_size);
	if (begin > end || end > metadata->names.length)
		return false;
	name->data = metadata->names.data + begin;
	name->length = (uint32) (end - begin);
	return true;
}

/* ---- values ---- */

/* Bytes of a primitive value after the first one; of strings those of the length; -1: there is no such type. */
static int
primitive_size(int type)
{
	static const int sizes[] = {0, 0, 0, 1, 2, 4, 8, 8, 5, 9, 17, 4, 8, 8, 4, 4, 4, 8, 8, 8, 16};

	return type < lengthof(sizes) ? sizes[type] : -1;
}

static bool
read_decimal(const char *at, int size, VariantValue *value)
{
	value->kind = VARIANT_DECIMAL;
	value->scale = (unsigned char) at[0];
	value->unscaled = size == 16 ? read_int128(at + 1) : read_signed(at + 1, size);
	return value->scale <= MAX_DECIMAL_SCALE;
}

static bool
read_string(BytesView bytes, VariantKind kind, VariantValue *value)
{
	uint64		length = read_unsigned(bytes.data + 1, 4);

	if (length > bytes.length - 5)
		return false;
	value->kind = kind;
	value->bytes = rest_of(bytes, 5);
	value->bytes.length = (uint32) length;
	value->size += (uint32) length;
	return true;
}

static bool
read_integer(const char *at, int size, VariantKind kind, bool is_nanos, VariantValue *value)
{
	value->kind = kind;
	value->integer = read_signed(at, size);
	value->is_nanos = is_nanos;
	return true;
}

static bool
read_float(const char *at, int size, VariantValue *value)
{
	uint64		bits = read_unsigned(at, size);

	value->kind = size == 4 ? VARIANT_FLOAT : VARIANT_DOUBLE;
	if (size == 4)
	{
		uint32		narrow = (uint32) bits;
		float		number;

		memcpy(&number, &narrow, sizeof(number));
		value->number = number;
	}
	else
		memcpy(&value->number, &bits, sizeof(double));
	return true;
}

static bool
read_primitive(BytesView bytes, int type, VariantValue *value)
{
	const char *at = bytes.data + 1;
	int			size = primitive_size(type);

	if (size < 0 || bytes.length < 1 + size)
		return false;
	value->size = 1 + size;
	switch ((PrimitiveType) type)
	{
		case PRIMITIVE_NULL:
			value->kind = VARIANT_NULL;
			return true;
		case PRIMITIVE_TRUE:
		case PRIMITIVE_FALSE:
			value->kind = VARIANT_BOOLEAN;
			value->integer = type == PRIMITIVE_TRUE;
			return true;
		case PRIMITIVE_INT8:
		case PRIMITIVE_INT16:
		case PRIMITIVE_INT32:
		case PRIMITIVE_INT64:
			return read_integer(at, size, VARIANT_INTEGER, false, value);
		case PRIMITIVE_FLOAT:
		case PRIMITIVE_DOUBLE:
			return read_float(at, size, value);
		case PRIMITIVE_DECIMAL4:
		case PRIMITIVE_DECIMAL8:
		case PRIMITIVE_DECIMAL16:
			return read_decimal(at, size - 1, value);
		case PRIMITIVE_DATE:
			return read_integer(at, size, VARIANT_DATE, false, value);
		case PRIMITIVE_TIME:
			return read_integer(at, size, VARIANT_TIME, false, value);
		case PRIMITIVE_TIMESTAMP_LTZ:
		case PRIMITIVE_TIMESTAMP_LTZ_NANOS:
			return read_integer(at, size, VARIANT_TIMESTAMP_LTZ, type == PRIMITIVE_TIMESTAMP_LTZ_NANOS, value);
		case PRIMITIVE_TIMESTAMP:
		case PRIMITIVE_TIMESTAMP_NANOS:
			return read_integer(at, size, VARIANT_TIMESTAMP, type == PRIMITIVE_TIMESTAMP_NANOS, value);
		case PRIMITIVE_BINARY:
			return read_string(bytes, VARIANT_BINARY, value);
		case PRIMITIVE_STRING:
			return read_string(bytes, VARIANT_STRING, value);
		case PRIMITIVE_UUID:
			value->kind = VARIANT_UUID;
			value->bytes.data = at;
			value->bytes.length = size;
			return true;
	}
	return false;
}

static bool
read_short_string(BytesView bytes, int length, VariantValue *value)
{
	if (length > bytes.length - 1)
		return false;
	value->kind = VARIANT_STRING;
	value->bytes.data = bytes.data + 1;
	value->bytes.length = length;
	value->size = 1 + length;
	return true;
}

/* The value's head is checked; its members are when they are read. */
static bool
read_container(BytesView bytes, bool is_large, VariantValue *value)
{
	int			count_size = is_large ? 4 : 1;
	uint64		head = 1 + count_size;
	uint64		ids_size;
	uint64		members_size;

	if (head > bytes.length)
		return false;
	value->count = (uint32) read_unsigned(bytes.data + 1, count_size);
	ids_size = (uint64) value->count * value->id_size;
	value->ids = bytes.data + head;
	value->offsets = value->ids + ids_size;
	head += ids_size + ((uint64) value->count + 1) * value->offset_size;
	if (head > bytes.length)
		return false;
	members_size = read_unsigned(value->offsets + (uint64) value->count * value->offset_size, value->offset_size);
	if (members_size > bytes.length - head)
		return false;
	value->members = rest_of(bytes, (uint32) head);
	value->members.length = (uint32) members_size;
	value->size = (uint32) (head + members_size);
	return true;
}

bool
variant_read(BytesView bytes, VariantValue *value)
{
	int			more;

	memset(value, 0, sizeof(VariantValue));
	value->start = bytes.data;
	if (bytes.length < 1)
		return false;
	more = (unsigned char) bytes.data[0] >> 2;
	switch ((BasicType) (bytes.data[0] & 3))
	{
		case BASIC_PRIMITIVE:
			return read_primitive(bytes, more, value);
		case BASIC_SHORT_STRING:
			return read_short_string(bytes, more, value);
		case BASIC_OBJECT:
			value->kind = VARIANT_OBJECT;
			value->offset_size = (more & 3) + 1;
			value->id_size = (more >> 2 & 3) + 1;
			return read_container(bytes, (more >> 4 & 1) != 0, value);
		case BASIC_ARRAY:
			value->kind = VARIANT_ARRAY;
			value->offset_size = (more & 3) + 1;
			return read_container(bytes, (more >> 2 & 1) != 0, value);
	}
	return false;
}

bool
variant_member(VariantValue *container, const VariantMetadata *metadata, uint32 i, BytesView *name,
			   VariantValue *member)
{
	uint64		offset = read_unsigned(container->offsets + (uint64) i * container->offset_size, container->offset_size);

	if (offset >= container->members.length ||
		!variant_read(rest_of(container->members, (uint32) offset), member))
		return false;
	container->members_read += member->size;
	if (container->members_read > container->members.length)
		return false;
	if (container->kind == VARIANT_ARRAY)
		return true;
	member->id = (uint32) read_unsigned(container->ids + (uint64) i * container->id_size, container->id_size);
	return variant_metadata_name(metadata, member->id, name);
}
