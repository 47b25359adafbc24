/*
 * protobuf.c
 *		Reading Protocol Buffers messages.
 */
#include "postgres.h"

#include "format/orc/orc_file.h"
#include "format/orc/protobuf.h"

#define WIRE_VARINT 0
#define WIRE_FIXED64 1
#define WIRE_BYTES 2
#define WIRE_FIXED32 5

#define MAX_VARINT_BYTES 10

static void
damaged(const ProtoReader *reader, const char *detail)
{
	orc_damaged(reader->path, NULL, detail);
}

void
proto_init(ProtoReader *reader, const char *path, BytesView message)
{
	memset(reader, 0, sizeof(*reader));
	reader->path = path;
	reader->cursor = (const uint8 *) message.data;
	reader->end = reader->cursor + message.length;
}

static uint64
read_varint(ProtoReader *reader)
{
	uint64		value = 0;

	for (int i = 0; i < MAX_VARINT_BYTES; i++)
	{
		uint8		byte;

		if (reader->cursor == reader->end)
			damaged(reader, "Its metadata end within a number.");
		byte = *reader->cursor++;
		value |= (uint64) (byte & 0x7f) << (7 * i);
		if ((byte & 0x80) == 0)
			return value;
	}
	damaged(reader, "Its metadata have a number that is too long.");
	pg_unreachable();
}

/* Take bytes that follow. */
static const uint8 *
take(ProtoReader *reader, uint64 length)
{
	const uint8 *start = reader->cursor;

	if (length > (uint64) (reader->end - start))
		damaged(reader, "Its metadata end within a value.");
	reader->cursor += length;
	return start;
}

bool
proto_next(ProtoReader *reader)
{
	uint64		tag;
	uint64		length;

	if (reader->cursor == reader->end)
		return false;
	tag = read_varint(reader);
	if (tag > PG_UINT32_MAX)
		damaged(reader, "Its metadata have an impossible field.");
	reader->field = (uint32) tag >> 3;
	reader->wire_type = (uint32) tag & 7;
	reader->start = reader->cursor;
	switch (reader->wire_type)
	{
		case WIRE_VARINT:
			reader->number = read_varint(reader);
			break;
		case WIRE_FIXED64:
			memcpy(&reader->number, take(reader, sizeof(uint64)), sizeof(uint64));
			break;
		case WIRE_BYTES:
			length = read_varint(reader);
			reader->bytes.data = (const char *) take(reader, length);
			reader->bytes.length = (uint32) length;
			break;
		case WIRE_FIXED32:
			take(reader, sizeof(uint32));
			break;
		default:
			damaged(reader, "Its metadata have a field of an unknown kind.");
	}
	return true;
}

static void
expect(const ProtoReader *reader, uint32 wire_type)
{
	if (reader->wire_type != wire_type)
		damaged(reader, "A field of its metadata is of another kind than it should be.");
}

uint64
proto_uint(const ProtoReader *reader)
{
	expect(reader, WIRE_VARINT);
	return reader->number;
}

uint32
proto_uint32(const ProtoReader *reader)
{
	uint64		number = proto_uint(reader);

	if (number > PG_UINT32_MAX)
		damaged(reader, "A number of its metadata is too large.");
	return (uint32) number;
}

int64
proto_sint(const ProtoReader *reader)
{
	uint64		number = proto_uint(reader);

	return (int64) (number >> 1) ^ -(int64) (number & 1);
}

double
proto_double(const ProtoReader *reader)
{
	double		value;

	expect(reader, WIRE_FIXED64);
	memcpy(&value, &reader->number, sizeof(value));
	return value;
}

BytesView
proto_bytes(const ProtoReader *reader)
{
	expect(reader, WIRE_BYTES);
	return reader->bytes;
}

char *
proto_string(const ProtoReader *reader)
{
	BytesView	bytes = proto_bytes(reader);

	if (bytes.length > 0 && memchr(bytes.data, '\0', bytes.length) != NULL)
		damaged(reader, "A name in its metadata has a zero byte.");
	return pnstrdup(bytes.data, bytes.length);
}

void
proto_message(const ProtoReader *reader, ProtoReader *message)
{
	proto_init(message, reader->path, proto_bytes(reader));
}

void
proto_list(const ProtoReader *reader, ProtoReader *list)
{
	if (reader->wire_type == WIRE_BYTES)
	{
		proto_init(list, reader->path, reader->bytes);
		return;
	}
	expect(reader, WIRE_VARINT);
	*list = *reader;
	list->cursor = reader->start;
	list->end = reader->cursor;
}

bool
proto_list_next(ProtoReader *list, uint64 *number)
{
	if (list->cursor == list->end)
		return false;
	*number = read_varint(list);
	return true;
}
