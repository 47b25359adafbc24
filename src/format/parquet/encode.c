/*
 * encode.c
 *		Parquet's encodings, as far as the writer uses them: PLAIN and the
 *		hybrid of run lengths and bit packing.
 */
#include "postgres.h"

#include "format/parquet/parquet_write.h"
#include "utils/memutils.h"

#define GROUP 8					/* values that are bit-packed together */
#define BUFFER_START 1024
#define MAX_VARINT_BYTES 5		/* of a uint32 */
#define NANOS_PER_DAY INT64CONST(86400000000000)
#define JULIAN_EPOCH 2440588	/* 1970-01-01 */
#define INT96_WIDTH 12

void
byte_buffer_init(ByteBuffer *buffer, MemoryContext context)
{
	memset(buffer, 0, sizeof(ByteBuffer));
	buffer->context = context;
}

char *
byte_buffer_reserve(ByteBuffer *buffer, size_t extra)
{
	size_t		needed = buffer->length + extra;

	if (needed > buffer->capacity)
	{
		size_t		capacity = Max(Max(needed, buffer->capacity * 2), BUFFER_START);

		if (buffer->data == NULL)
			buffer->data = MemoryContextAllocHuge(buffer->context, capacity);
		else
			buffer->data = repalloc_huge(buffer->data, capacity);
		buffer->capacity = capacity;
	}
	return buffer->data + buffer->length;
}

void
byte_buffer_append(ByteBuffer *buffer, const void *data, size_t length)
{
	char	   *target = byte_buffer_reserve(buffer, length);

	if (length > 0)
		memcpy(target, data, length);
	buffer->length += length;
}

void
byte_buffer_clear(ByteBuffer *buffer, size_t keep)
{
	if (buffer->capacity > keep)
	{
		pfree(buffer->data);
		buffer->data = NULL;
		buffer->capacity = 0;
	}
	buffer->length = 0;
}

int
code_bit_width(int count)
{
	int			width = 1;

	while (width < 31 && count > (1 << width))
		width++;
	return width;
}

static void
append_varint(ByteBuffer *out, uint32 value)
{
	char	   *target = byte_buffer_reserve(out, MAX_VARINT_BYTES);

	while (value >= 0x80)
	{
		*target++ = (char) ((value & 0x7F) | 0x80);
		value >>= 7;
	}
	*target++ = (char) value;
	out->length = target - out->data;
}

/* Eight bytes of 0 or 1 to the bits of one byte, the first the lowest. */
static inline uint8
pack_eight_bits(const uint8 *values)
{
	uint64		bytes;

	memcpy(&bytes, values, sizeof(bytes));
	return (uint8) ((bytes * UINT64CONST(0x0102040810204080)) >> 56);
}

/* Bytes of 0 or 1 to bits; the last byte is filled up with zeros. */
static char *
pack_bits(char *target, const uint8 *values, int nvalues)
{
	int			whole = nvalues - nvalues % GROUP;

	for (int i = 0; i < whole; i += GROUP)
		*target++ = (char) pack_eight_bits(values + i);
	if (whole < nvalues)
	{
		uint8		rest[GROUP] = {0};

		memcpy(rest, values + whole, nvalues - whole);
		*target++ = (char) pack_eight_bits(rest);
	}
	return target;
}

static pg_attribute_always_inline int32
hybrid_value(const void *values, bool levels, int i)
{
	return levels ? ((const uint8 *) values)[i] : ((const int32 *) values)[i];
}

/* Values of width bits, the lowest bit first; the last group is filled up with zeros. */
static pg_attribute_always_inline char *
pack_values(char *target, const void *values, bool levels, int first, int count, int width)
{
	uint64		bits = 0;
	int			nbits = 0;
	int			padded = (count + GROUP - 1) / GROUP * GROUP;

	for (int i = 0; i < padded; i++)
	{
		if (i < count)
			bits |= (uint64) (uint32) hybrid_value(values, levels, first + i) << nbits;
		nbits += width;
		if (nbits >= 32)
		{
			uint32		word = (uint32) bits;

			memcpy(target, &word, sizeof(word));
			target += sizeof(word);
			bits >>= 32;
			nbits -= 32;
		}
	}
	for (; nbits > 0; nbits -= 8)
	{
		*target++ = (char) bits;
		bits >>= 8;
	}
	return target;
}

/* Values bit-packed, in whole groups. */
static pg_attribute_always_inline void
append_packed(ByteBuffer *out, const void *values, bool levels, int first, int count, int width)
{
	int			groups = (count + GROUP - 1) / GROUP;
	char	   *target;

	if (count == 0)
		return;
	append_varint(out, (uint32) groups << 1 | 1);
	target = byte_buffer_reserve(out, (size_t) groups * width);
	if (levels && width == 1)
		target = pack_bits(target, (const uint8 *) values + first, count);
	else
		target = pack_values(target, values, levels, first, count, width);
	out->length = target - out->data;
}

/* One value, count times. */
static void
append_run(ByteBuffer *out, int32 value, int count, int width)
{
	append_varint(out, (uint32) count << 1);
	byte_buffer_append(out, &value, (width + 7) / 8);
}

/*
 * A run is written as such where that is shorter than its packed bits.  What
 * comes before it must fill whole groups: the run lends the values that lack.
 */
static pg_attribute_always_inline void
hybrid_encode(ByteBuffer *out, const void *values, bool levels, int nvalues, int width)
{
	int			min_run = width == 1 ? 4 * GROUP : width <= 3 ? 2 * GROUP : GROUP;
	int			packed = 0;		/* where the values not yet written begin */
	int			i = 0;

	while (i < nvalues)
	{
		int32		value = hybrid_value(values, levels, i);
		int			end = i + 1;
		int			lent = (GROUP - (i - packed) % GROUP) % GROUP;

		while (end < nvalues && hybrid_value(values, levels, end) == value)
			end++;
		if (end - i - lent >= min_run)
		{
			append_packed(out, values, levels, packed, i + lent - packed, width);
			append_run(out, value, end - i - lent, width);
			packed = end;
		}
		i = end;
	}
	append_packed(out, values, levels, packed, nvalues - packed, width);
}

void
rle_encode_levels(ByteBuffer *out, const uint8 *levels, int nlevels, int width)
{
	hybrid_encode(out, levels, true, nlevels, width);
}

void
rle_encode_codes(ByteBuffer *out, const int32 *codes, int ncodes, int width)
{
	hybrid_encode(out, codes, false, ncodes, width);
}

void
plain_encode_booleans(ByteBuffer *out, const uint8 *values, int nvalues)
{
	char	   *target = byte_buffer_reserve(out, nvalues / 8 + 1);

	out->length = pack_bits(target, values, nvalues) - out->data;
}

void
plain_encode_bytes(ByteBuffer *out, const BytesView *values, int nvalues)
{
	size_t		total = 0;
	char	   *target;

	for (int i = 0; i < nvalues; i++)
		total += sizeof(uint32) + values[i].length;
	target = byte_buffer_reserve(out, total);
	for (int i = 0; i < nvalues; i++)
	{
		memcpy(target, &values[i].length, sizeof(uint32));
		if (values[i].length > 0)
			memcpy(target + sizeof(uint32), values[i].data, values[i].length);
		target += sizeof(uint32) + values[i].length;
	}
	out->length += total;
}

void
plain_encode_decimals(char *out, const int128 *values, int nvalues, int width)
{
	for (int i = 0; i < nvalues; i++)
	{
		int128		value = values[i];

		for (int byte = width - 1; byte >= 0; byte--)
		{
			out[byte] = (char) value;
			value >>= 8;
		}
		out += width;
	}
}

/*
 * INT96: nanoseconds of the day, then the Julian day.  The day is rounded
 * down, so that the time of day is never negative.
 */
void
plain_encode_int96(char *out, const int128 *values, int nvalues)
{
	for (int i = 0; i < nvalues; i++)
	{
		int128		day = values[i] / NANOS_PER_DAY;
		int64		nanos = (int64) (values[i] - day * NANOS_PER_DAY);
		int32		julian;

		if (nanos < 0)
		{
			nanos += NANOS_PER_DAY;
			day--;
		}
		day += JULIAN_EPOCH;
		if (day < PG_INT32_MIN || day > PG_INT32_MAX)
			ereport(ERROR,
					(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
					 errmsg("timestamp out of range for a Parquet file")));
		julian = (int32) day;
		memcpy(out, &nanos, sizeof(nanos));
		memcpy(out + sizeof(nanos), &julian, sizeof(julian));
		out += INT96_WIDTH;
	}
}
