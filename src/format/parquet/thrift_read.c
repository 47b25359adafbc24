/*
 * thrift_read.c
 *		Reading Thrift's compact protocol from memory.
 *
 * The input comes from a file, so every read is checked against its end, and
 * nesting against a limit; the work done is bounded by the input's length.
 */
#include "postgres.h"

#include "format/parquet/thrift.h"

#define THRIFT_MAX_DEPTH 64

static void
thrift_damaged(const ThriftReader *reader, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("file \"%s\" has damaged metadata", reader->path),
			 errdetail_internal("%s", what)));
}

void
thrift_read_init(ThriftReader *reader, const void *data, size_t length, const char *path)
{
	reader->cursor = data;
	reader->end = reader->cursor + length;
	reader->path = path;
	reader->depth = 0;
	reader->last_field = 0;
	reader->is_part = reader->ran_out = false;
}

/* Something goes beyond the end; zeros are fields that end structures, and lists and strings without anything. */
static void
run_out(ThriftReader *reader, const char *what)
{
	if (!reader->is_part)
		thrift_damaged(reader, what);
	reader->ran_out = true;
	reader->cursor = reader->end;
}

static uint8
read_raw_byte(ThriftReader *reader)
{
	if (reader->cursor >= reader->end)
	{
		run_out(reader, "A structure ends before all of its fields were read.");
		return 0;
	}
	return *reader->cursor++;
}

static uint64
read_varint(ThriftReader *reader)
{
	uint64		value = 0;
	int			shift;

	for (shift = 0; shift < 64; shift += 7)
	{
		uint8		byte = read_raw_byte(reader);

		value |= (uint64) (byte & 0x7f) << shift;
		if ((byte & 0x80) == 0)
			return value;
	}
	thrift_damaged(reader, "A number is longer than 64 bits.");
	return 0;
}

static void
enter(ThriftReader *reader)
{
	if (++reader->depth > THRIFT_MAX_DEPTH)
		thrift_damaged(reader, "Structures are nested too deeply.");
}

int16
thrift_struct_begin(ThriftReader *reader)
{
	int16		saved = reader->last_field;

	enter(reader);
	reader->last_field = 0;
	return saved;
}

void
thrift_struct_end(ThriftReader *reader, int16 saved)
{
	reader->depth--;
	reader->last_field = saved;
}

bool
thrift_field(ThriftReader *reader, int16 *id, ThriftType *type)
{
	uint8		header = read_raw_byte(reader);
	int			delta = header >> 4;
	int64		field;

	*type = (ThriftType) (header & 0x0f);
	if (*type == THRIFT_STOP)
		return false;
	if (*type > THRIFT_UUID)
		thrift_damaged(reader, "A field has an unknown type.");
	field = delta != 0 ? (int64) reader->last_field + delta : thrift_read_int(reader);
	if (field < PG_INT16_MIN || field > PG_INT16_MAX)
		thrift_damaged(reader, "A field has an impossible number.");
	reader->last_field = *id = (int16) field;
	return true;
}

void
thrift_expect(ThriftReader *reader, ThriftType type, ThriftType wanted)
{
	if (type != wanted)
		thrift_damaged(reader, "A field has not the type that it should have.");
}

bool
thrift_read_bool(ThriftReader *reader, ThriftType type)
{
	if (type != THRIFT_TRUE && type != THRIFT_FALSE)
		thrift_damaged(reader, "A field has not the type that it should have.");
	return type == THRIFT_TRUE;
}

int8
thrift_read_byte(ThriftReader *reader)
{
	return (int8) read_raw_byte(reader);
}

int64
thrift_read_int(ThriftReader *reader)
{
	uint64		value = read_varint(reader);

	return (int64) (value >> 1) ^ -(int64) (value & 1);
}

int32
thrift_read_i32(ThriftReader *reader)
{
	int64		value = thrift_read_int(reader);

	if (value < PG_INT32_MIN || value > PG_INT32_MAX)
		thrift_damaged(reader, "A number does not fit in 32 bits.");
	return (int32) value;
}

const char *
thrift_read_binary(ThriftReader *reader, uint32 *length)
{
	uint64		value = read_varint(reader);
	const char *data = (const char *) reader->cursor;

	if (value > PG_INT32_MAX)
		thrift_damaged(reader, "A string is longer than 2 GB.");
	if (value > (uint64) (reader->end - reader->cursor))
	{
		run_out(reader, "A string is longer than what is left.");
		value = 0;
	}
	*length = (uint32) value;
	reader->cursor += value;
	return data;
}

char *
thrift_read_string(ThriftReader *reader)
{
	uint32		length;
	const char *data = thrift_read_binary(reader, &length);

	return pnstrdup(data, length);
}

uint32
thrift_read_list(ThriftReader *reader, ThriftType *element)
{
	uint8		header = read_raw_byte(reader);
	uint64		count = header >> 4;

	*element = (ThriftType) (header & 0x0f);
	if (reader->ran_out)
		return 0;
	if (*element == THRIFT_STOP || *element > THRIFT_UUID)
		thrift_damaged(reader, "A list has elements of an unknown type.");
	if (count == 15)
		count = read_varint(reader);
	/* every element takes a byte at least */
	if (count > (uint64) (reader->end - reader->cursor))
	{
		run_out(reader, "A list is longer than what is left.");
		return 0;
	}
	return (uint32) count;
}

static void
skip_bytes(ThriftReader *reader, int count)
{
	if (reader->end - reader->cursor < count)
		run_out(reader, "A structure ends before all of its fields were read.");
	else
		reader->cursor += count;
}

/* An element of a list or map: there a boolean takes a byte. */
static void
skip_element(ThriftReader *reader, ThriftType type)
{
	if (type == THRIFT_TRUE || type == THRIFT_FALSE)
		skip_bytes(reader, 1);
	else
		thrift_skip(reader, type);
}

static void
skip_list(ThriftReader *reader)
{
	ThriftType	element;
	uint32		count = thrift_read_list(reader, &element);

	while (count-- > 0)
		skip_element(reader, element);
}

static void
skip_map(ThriftReader *reader)
{
	uint64		count = read_varint(reader);
	uint8		types;

	if (count == 0)
		return;
	types = read_raw_byte(reader);
	if (count > (uint64) (reader->end - reader->cursor))
		run_out(reader, "A map is longer than what is left.");
	while (count-- > 0 && !reader->ran_out)
	{
		skip_element(reader, (ThriftType) (types >> 4));
		skip_element(reader, (ThriftType) (types & 0x0f));
	}
}

static void
skip_struct(ThriftReader *reader)
{
	int16		saved = thrift_struct_begin(reader);
	int16		id;
	ThriftType	type;

	while (thrift_field(reader, &id, &type))
		thrift_skip(reader, type);
	thrift_struct_end(reader, saved);
}

void
thrift_skip(ThriftReader *reader, ThriftType type)
{
	uint32		length;

	enter(reader);
	switch (type)
	{
		case THRIFT_TRUE:
		case THRIFT_FALSE:
			break;
		case THRIFT_BYTE:
			skip_bytes(reader, 1);
			break;
		case THRIFT_I16:
		case THRIFT_I32:
		case THRIFT_I64:
			(void) read_varint(reader);
			break;
		case THRIFT_DOUBLE:
			skip_bytes(reader, sizeof(double));
			break;
		case THRIFT_BINARY:
			(void) thrift_read_binary(reader, &length);
			break;
		case THRIFT_LIST:
		case THRIFT_SET:
			skip_list(reader);
			break;
		case THRIFT_MAP:
			skip_map(reader);
			break;
		case THRIFT_STRUCT:
			skip_struct(reader);
			break;
		case THRIFT_UUID:
			skip_bytes(reader, 16);
			break;
		case THRIFT_STOP:
			thrift_damaged(reader, "A field has an unknown type.");
			break;
		default:
			thrift_damaged(reader, "A field has an unknown type.");
	}
	reader->depth--;
}
