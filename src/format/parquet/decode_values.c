/*
 * decode_values.c
 *		Choosing a page's value decoder; PLAIN, BYTE_STREAM_SPLIT and booleans.
 *
 * Source: apache/parquet-format, Encodings.md.
 */
#include "postgres.h"

#include "format/parquet/decode.h"

#define INT96_BYTES 12

void
decode_damaged(const ParquetPlace *place, const char *detail)
{
	parquet_damaged(place->path, place->column, detail);
}

size_t
native_size(ParquetType type)
{
	switch (type)
	{
		case PARQUET_BOOLEAN:
			return sizeof(int8);
		case PARQUET_INT32:
			return sizeof(int32);
		case PARQUET_FLOAT:
			return sizeof(float);
		case PARQUET_INT64:
			return sizeof(int64);
		case PARQUET_DOUBLE:
			return sizeof(double);
		default:
			return sizeof(BytesView);
	}
}

static void
too_short(ValueDecoder *decoder)
{
	decode_damaged(&decoder->place, "A page ends before all of its values were read.");
}

const uint8 *
values_take_fixed(ValueDecoder *decoder, int64 count)
{
	const uint8 *values = decoder->cursor;

	if (count > (decoder->end - decoder->cursor) / decoder->width)
		too_short(decoder);
	decoder->cursor += count * decoder->width;
	partial_need(decoder->partial, decoder->cursor);
	return values;
}

static void
fixed_skip(ValueDecoder *decoder, int64 count)
{
	(void) values_take_fixed(decoder, count);
}

static void
fixed_read(ValueDecoder *decoder, int count, void *out)
{
	size_t		width = decoder->width;

	memcpy(out, values_take_fixed(decoder, count), count * width);
}

static void
fixed_bytes_read(ValueDecoder *decoder, int count, void *out)
{
	const uint8 *values = values_take_fixed(decoder, count);
	BytesView  *views = out;

	for (int i = 0; i < count; i++)
	{
		views[i].data = (const char *) values;
		views[i].length = decoder->width;
		values += decoder->width;
	}
}

/* The length in front of a byte array, after checking that all of it is there. */
static inline uint32
byte_array_length(ValueDecoder *decoder, const uint8 *cursor)
{
	uint32		length;

	if (decoder->end - cursor < (ptrdiff_t) sizeof(length))
		too_short(decoder);
	partial_need(decoder->partial, cursor + sizeof(length));
	memcpy(&length, cursor, sizeof(length));
	if (length > (uint64) (decoder->end - cursor) - sizeof(length))
		too_short(decoder);
	return length;
}

static void
byte_array_read(ValueDecoder *decoder, int count, void *out)
{
	const uint8 *cursor = decoder->cursor;
	BytesView  *views = out;

	for (int i = 0; i < count; i++)
	{
		uint32		length = byte_array_length(decoder, cursor);

		cursor += sizeof(length);
		views[i].data = (const char *) cursor;
		views[i].length = length;
		cursor += length;
	}
	partial_need(decoder->partial, cursor);
	decoder->cursor = cursor;
	decoder->passed += count;
}

void
byte_array_skip(ValueDecoder *decoder, int64 count)
{
	const uint8 *cursor = decoder->cursor;

	decoder->passed += count;
	while (count-- > 0)
		cursor += sizeof(uint32) + byte_array_length(decoder, cursor);
	decoder->cursor = cursor;
}

BytesView
byte_array_at(ValueDecoder *decoder, const uint8 *cursor)
{
	BytesView	view;

	view.length = byte_array_length(decoder, cursor);
	view.data = (const char *) cursor + sizeof(uint32);
	partial_need(decoder->partial, cursor + sizeof(uint32) + view.length);
	return view;
}

static void
boolean_read(ValueDecoder *decoder, int count, void *out)
{
	rle_read_bits(&decoder->bits, count, out);
}

static void
boolean_skip(ValueDecoder *decoder, int64 count)
{
	rle_skip(&decoder->bits, count);
}

static void
boolean_bits_init(ValueDecoder *decoder)
{
	rle_init_bits(&decoder->bits, &decoder->place, decoder->cursor, decoder->end - decoder->cursor, 1);
	decoder->read = boolean_read;
	decoder->skip = boolean_skip;
}

/* Runs, after four bytes with their length. */
static void
boolean_runs_init(ValueDecoder *decoder)
{
	uint32		length = 0;

	if (decoder->cursor < decoder->end)
	{
		length = byte_array_length(decoder, decoder->cursor);
		decoder->cursor += sizeof(length);
	}
	rle_init(&decoder->bits, &decoder->place, decoder->cursor, length, 1);
	decoder->read = boolean_read;
	decoder->skip = boolean_skip;
}

void
plain_init(ValueDecoder *decoder)
{
	switch (decoder->type)
	{
		case PARQUET_BOOLEAN:
			boolean_bits_init(decoder);
			return;
		case PARQUET_BYTE_ARRAY:
			decoder->read = byte_array_read;
			decoder->skip = byte_array_skip;
			return;
		case PARQUET_INT96:
		case PARQUET_FIXED_LEN_BYTE_ARRAY:
			decoder->read = fixed_bytes_read;
			break;
		default:
			decoder->read = fixed_read;
			break;
	}
	decoder->skip = fixed_skip;
}

/* Byte b of all values, for each b: put back together, then as PLAIN. */
static pg_attribute_always_inline void
join_streams(const uint8 *streams, size_t count, int width, uint8 *out)
{
	for (int byte = 0; byte < width; byte++)
	{
		const uint8 *stream = streams + byte * count;

		for (size_t i = 0; i < count; i++)
			out[i * width + byte] = stream[i];
	}
}

void
byte_stream_split_init(ValueDecoder *decoder)
{
	size_t		length = decoder->end - decoder->cursor;
	size_t		count = length / decoder->width;
	uint8	   *joined;

	if (length % decoder->width != 0)
		decode_damaged(&decoder->place, "The streams of a page are not equally long.");
	joined = palloc(length + READ_PADDING);
	if (decoder->width == 4)
		join_streams(decoder->cursor, count, 4, joined);
	else if (decoder->width == 8)
		join_streams(decoder->cursor, count, 8, joined);
	else
		join_streams(decoder->cursor, count, decoder->width, joined);
	decoder->cursor = joined;
	decoder->end = joined + length;
	plain_init(decoder);
}

static const char *
encoding_name(ParquetEncoding encoding)
{
	switch (encoding)
	{
		case PARQUET_PLAIN:
			return "PLAIN";
		case PARQUET_PLAIN_DICTIONARY:
			return "PLAIN_DICTIONARY";
		case PARQUET_RLE:
			return "RLE";
		case PARQUET_BIT_PACKED:
			return "BIT_PACKED";
		case PARQUET_DELTA_BINARY_PACKED:
			return "DELTA_BINARY_PACKED";
		case PARQUET_DELTA_LENGTH_BYTE_ARRAY:
			return "DELTA_LENGTH_BYTE_ARRAY";
		case PARQUET_DELTA_BYTE_ARRAY:
			return "DELTA_BYTE_ARRAY";
		case PARQUET_RLE_DICTIONARY:
			return "RLE_DICTIONARY";
		case PARQUET_BYTE_STREAM_SPLIT:
			return "BYTE_STREAM_SPLIT";
	}
	return psprintf("number %d", (int) encoding);
}

static void
refuse_encoding(ValueDecoder *decoder, ParquetEncoding encoding)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("file \"%s\" uses an encoding that is not supported in column \"%s\"",
					decoder->place.path, decoder->place.column),
			 errdetail("The encoding is %s, for values of physical type %d.",
					   encoding_name(encoding), (int) decoder->type)));
}

static int
fixed_width(ParquetType type, int type_length)
{
	switch (type)
	{
		case PARQUET_INT96:
			return INT96_BYTES;
		case PARQUET_FIXED_LEN_BYTE_ARRAY:
			return type_length;
		case PARQUET_BYTE_ARRAY:
			return 0;
		default:
			return (int) native_size(type);
	}
}

void
values_init(ValueDecoder *decoder, const char *path, const char *column, ParquetType type, int type_length,
			ParquetEncoding encoding, const uint8 *data, size_t length, int64 count)
{
	bool		is_number = type == PARQUET_INT32 || type == PARQUET_INT64;
	bool		is_bytes = type == PARQUET_BYTE_ARRAY;
	bool		is_fixed_bytes = type == PARQUET_FIXED_LEN_BYTE_ARRAY;

	memset(decoder, 0, sizeof(*decoder));
	decoder->place.path = path;
	decoder->place.column = column;
	decoder->type = type;
	decoder->width = fixed_width(type, type_length);
	decoder->cursor = data;
	decoder->end = data + length;
	decoder->context = CurrentMemoryContext;

	if (encoding == PARQUET_PLAIN)
		plain_init(decoder);
	else if (encoding == PARQUET_RLE && type == PARQUET_BOOLEAN)
		boolean_runs_init(decoder);
	else if (encoding == PARQUET_DELTA_BINARY_PACKED && is_number)
		delta_values_init(decoder);
	else if (encoding == PARQUET_DELTA_LENGTH_BYTE_ARRAY && is_bytes)
		delta_length_init(decoder, count);
	else if (encoding == PARQUET_DELTA_BYTE_ARRAY && (is_bytes || is_fixed_bytes))
		delta_byte_array_init(decoder, count);
	else if (encoding == PARQUET_BYTE_STREAM_SPLIT &&
			 (is_number || is_fixed_bytes || type == PARQUET_FLOAT || type == PARQUET_DOUBLE))
		byte_stream_split_init(decoder);
	else
		refuse_encoding(decoder, encoding);
}
