/*
 * thrift_write.c
 *		Writing Thrift's compact protocol.
 *
 * A field's header holds its distance from the field before it in the same
 * struct, so fields must be written in ascending order of their ids (a wider
 * or a backward step is only longer).
 */
#include "postgres.h"

#include "format/parquet/thrift.h"

#define MAX_SHORT_DELTA 15		/* of field ids, fits the header's upper half */
#define MAX_SHORT_LIST 14		/* elements, counted in the header's upper half */
#define MAX_VARINT_BYTES 10

void
thrift_write_init(ThriftWriter *writer, StringInfo out)
{
	writer->out = out;
	writer->last_field = 0;
}

static void
write_byte(ThriftWriter *writer, uint8 byte)
{
	appendStringInfoChar(writer->out, (char) byte);
}

/* Seven bits a byte, the lowest first; the top bit says that more follow. */
void
thrift_write_varint(ThriftWriter *writer, uint64 value)
{
	char		buffer[MAX_VARINT_BYTES];
	int			length = 0;

	while (value >= 0x80)
	{
		buffer[length++] = (char) ((value & 0x7F) | 0x80);
		value >>= 7;
	}
	buffer[length++] = (char) value;
	appendBinaryStringInfo(writer->out, buffer, length);
}

void
thrift_write_zigzag(ThriftWriter *writer, int64 value)
{
	thrift_write_varint(writer, ((uint64) value << 1) ^ (uint64) (value < 0 ? -1 : 0));
}

void
thrift_write_binary(ThriftWriter *writer, const void *data, uint32 length)
{
	thrift_write_varint(writer, length);
	appendBinaryStringInfo(writer->out, data, length);
}

void
thrift_write_bool(ThriftWriter *writer, bool value)
{
	write_byte(writer, value ? THRIFT_TRUE : THRIFT_FALSE);
}

static void
write_field_header(ThriftWriter *writer, int16 id, ThriftType type)
{
	int			delta = id - writer->last_field;

	if (delta > 0 && delta <= MAX_SHORT_DELTA)
		write_byte(writer, (uint8) (delta << 4 | type));
	else
	{
		write_byte(writer, (uint8) type);
		thrift_write_zigzag(writer, id);
	}
	writer->last_field = id;
}

int16
thrift_write_struct_begin(ThriftWriter *writer)
{
	int16		saved = writer->last_field;

	writer->last_field = 0;
	return saved;
}

void
thrift_write_struct_end(ThriftWriter *writer, int16 saved)
{
	write_byte(writer, THRIFT_STOP);
	writer->last_field = saved;
}

int16
thrift_write_struct_field(ThriftWriter *writer, int16 id)
{
	write_field_header(writer, id, THRIFT_STRUCT);
	return thrift_write_struct_begin(writer);
}

void
thrift_write_bool_field(ThriftWriter *writer, int16 id, bool value)
{
	write_field_header(writer, id, value ? THRIFT_TRUE : THRIFT_FALSE);
}

void
thrift_write_byte_field(ThriftWriter *writer, int16 id, int8 value)
{
	write_field_header(writer, id, THRIFT_BYTE);
	write_byte(writer, (uint8) value);
}

void
thrift_write_i16_field(ThriftWriter *writer, int16 id, int16 value)
{
	write_field_header(writer, id, THRIFT_I16);
	thrift_write_zigzag(writer, value);
}

void
thrift_write_i32_field(ThriftWriter *writer, int16 id, int32 value)
{
	write_field_header(writer, id, THRIFT_I32);
	thrift_write_zigzag(writer, value);
}

void
thrift_write_i64_field(ThriftWriter *writer, int16 id, int64 value)
{
	write_field_header(writer, id, THRIFT_I64);
	thrift_write_zigzag(writer, value);
}

void
thrift_write_binary_field(ThriftWriter *writer, int16 id, const void *data, uint32 length)
{
	write_field_header(writer, id, THRIFT_BINARY);
	thrift_write_binary(writer, data, length);
}

void
thrift_write_list_field(ThriftWriter *writer, int16 id, ThriftType element, uint32 count)
{
	write_field_header(writer, id, THRIFT_LIST);
	if (count <= MAX_SHORT_LIST)
		write_byte(writer, (uint8) (count << 4 | element));
	else
	{
		write_byte(writer, (uint8) (0xF0 | element));
		thrift_write_varint(writer, count);
	}
}
