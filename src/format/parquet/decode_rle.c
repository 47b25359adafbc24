/*
 * decode_rle.c
 *		The hybrid of runs and bit-packed groups: levels, codes, booleans.
 *
 * Source: apache/parquet-format, Encodings.md, "Run Length Encoding /
 * Bit-Packing Hybrid".
 */
#include "postgres.h"

#include "format/parquet/decode.h"
#include "port/pg_bitutils.h"

#define LEVELS_AT_ONCE 256

#define ONE_IN_EACH_BYTE UINT64CONST(0x0101010101010101)

void
rle_init(RleDecoder *decoder, const ParquetPlace *place, const uint8 *data, size_t length, int bit_width)
{
	memset(decoder, 0, sizeof(*decoder));
	decoder->place = place;
	decoder->cursor = data;
	decoder->end = data + length;
	decoder->bit_width = bit_width;
	if (bit_width < 0 || bit_width > 32)
		decode_damaged(place, "The width of bit-packed values is impossible.");
}

void
rle_init_bits(RleDecoder *decoder, const ParquetPlace *place, const uint8 *data, size_t length, int bit_width)
{
	rle_init(decoder, place, data + length, 0, bit_width);
	decoder->packed = data;
	decoder->packed_left = (uint64) length * 8 / bit_width;
}

static uint64
read_run_header(RleDecoder *decoder)
{
	uint64		value = 0;

	for (int shift = 0; shift < 35; shift += 7)
	{
		uint8		byte;

		if (decoder->cursor >= decoder->end)
			decode_damaged(decoder->place, "Its runs end before all values were read.");
		partial_need(decoder->partial, decoder->cursor + 1);
		byte = *decoder->cursor++;
		value |= (uint64) (byte & 0x7f) << shift;
		if ((byte & 0x80) == 0)
			return value;
	}
	decode_damaged(decoder->place, "A run has an impossible length.");
	return 0;
}

/* Groups of eight; some writers cut the last one short. */
static void
begin_packed_run(RleDecoder *decoder, uint64 groups)
{
	uint64		bytes = groups * decoder->bit_width;
	uint64		available = decoder->end - decoder->cursor;

	decoder->packed = decoder->cursor;
	decoder->packed_index = 0;
	decoder->packed_left = groups * 8;
	if (bytes > available)
	{
		bytes = available;
		decoder->packed_left = available * 8 / decoder->bit_width;
	}
	decoder->cursor += bytes;
	partial_need(decoder->partial, decoder->cursor);
}

static void
begin_repeated_run(RleDecoder *decoder, uint64 count)
{
	int			bytes = (decoder->bit_width + 7) / 8;
	uint32		value = 0;

	if (decoder->end - decoder->cursor < bytes)
		decode_damaged(decoder->place, "Its runs end before all values were read.");
	partial_need(decoder->partial, decoder->cursor + bytes);
	memcpy(&value, decoder->cursor, bytes);
	decoder->cursor += bytes;
	decoder->repeat_left = count;
	decoder->repeat_value = (int32) value;
}

static void
next_run(RleDecoder *decoder)
{
	uint64		header;

	header = read_run_header(decoder);
	if (header & 1)
		begin_packed_run(decoder, header >> 1);
	else
		begin_repeated_run(decoder, header >> 1);
}

/* Value i of a bit-packed sequence. */
static inline int32
unpack_one(const uint8 *packed, uint64 i, int bit_width)
{
	uint64		bit = i * bit_width;
	uint64		word;

	memcpy(&word, packed + bit / 8, sizeof(word));
	return (int32) ((word >> (bit % 8)) & ((UINT64CONST(1) << bit_width) - 1));
}

/*
 * Groups of eight values, for a width that is known when this is compiled:
 * written out, as only then all shifts become constants.
 */
static pg_attribute_always_inline void
unpack_groups(const uint8 *packed, int bit_width, int groups, int32 *out)
{
	for (int group = 0; group < groups; group++)
	{
		out[0] = unpack_one(packed, 0, bit_width);
		out[1] = unpack_one(packed, 1, bit_width);
		out[2] = unpack_one(packed, 2, bit_width);
		out[3] = unpack_one(packed, 3, bit_width);
		out[4] = unpack_one(packed, 4, bit_width);
		out[5] = unpack_one(packed, 5, bit_width);
		out[6] = unpack_one(packed, 6, bit_width);
		out[7] = unpack_one(packed, 7, bit_width);
		packed += bit_width;
		out += 8;
	}
}

static void
unpack(const uint8 *packed, int bit_width, int groups, int32 *out)
{
#define UNPACK_CASE(width) \
		case width: \
			unpack_groups(packed, width, groups, out); \
			break
	switch (bit_width)
	{
			UNPACK_CASE(0);
			UNPACK_CASE(1);
			UNPACK_CASE(2);
			UNPACK_CASE(3);
			UNPACK_CASE(4);
			UNPACK_CASE(5);
			UNPACK_CASE(6);
			UNPACK_CASE(7);
			UNPACK_CASE(8);
			UNPACK_CASE(9);
			UNPACK_CASE(10);
			UNPACK_CASE(11);
			UNPACK_CASE(12);
			UNPACK_CASE(13);
			UNPACK_CASE(14);
			UNPACK_CASE(15);
			UNPACK_CASE(16);
			UNPACK_CASE(17);
			UNPACK_CASE(18);
			UNPACK_CASE(19);
			UNPACK_CASE(20);
		default:
			unpack_groups(packed, bit_width, groups, out);
			break;
	}
#undef UNPACK_CASE
}

static void
read_packed(RleDecoder *decoder, int count, int32 *out)
{
	uint64		i = decoder->packed_index;
	uint64		end = i + count;
	int			groups;

	while (i < end && i % 8 != 0)
		*out++ = unpack_one(decoder->packed, i++, decoder->bit_width);
	groups = (int) ((end - i) / 8);
	unpack(decoder->packed + i / 8 * decoder->bit_width, decoder->bit_width, groups, out);
	out += groups * 8;
	i += groups * 8;
	while (i < end)
		*out++ = unpack_one(decoder->packed, i++, decoder->bit_width);
	decoder->packed_index = end;
	decoder->packed_left -= count;
}

void
rle_read(RleDecoder *decoder, int count, int32 *out)
{
	while (count > 0)
	{
		int			n;

		if (decoder->repeat_left > 0)
		{
			int32		value = decoder->repeat_value;

			n = (int) Min((uint64) count, decoder->repeat_left);
			for (int i = 0; i < n; i++)
				out[i] = value;
			decoder->repeat_left -= n;
		}
		else if (decoder->packed_left > 0)
		{
			n = (int) Min((uint64) count, decoder->packed_left);
			read_packed(decoder, n, out);
		}
		else
		{
			next_run(decoder);
			continue;
		}
		out += n;
		count -= n;
	}
}

static inline uint8
unpack_bit(const uint8 *packed, uint64 i)
{
	return (packed[i / 8] >> (i % 8)) & 1;
}

/* Eight bits become eight bytes: each byte keeps its own bit, then any bit counts as one. */
static inline void
spread_bits(uint8 bits, uint8 *out)
{
	uint64		word = (bits * ONE_IN_EACH_BYTE) & UINT64CONST(0x8040201008040201);

	word = ((word + 0x7f * ONE_IN_EACH_BYTE) >> 7) & ONE_IN_EACH_BYTE;
	memcpy(out, &word, sizeof(word));
}

static void
read_packed_bits(RleDecoder *decoder, int count, uint8 *out)
{
	uint64		i = decoder->packed_index;
	uint64		end = i + count;

	while (i < end && i % 8 != 0)
		*out++ = unpack_bit(decoder->packed, i++);
	for (; end - i >= 8; i += 8, out += 8)
		spread_bits(decoder->packed[i / 8], out);
	while (i < end)
		*out++ = unpack_bit(decoder->packed, i++);
	decoder->packed_index = end;
	decoder->packed_left -= count;
}

void
rle_read_bits(RleDecoder *decoder, int count, uint8 *out)
{
	Assert(decoder->bit_width == 1);
	while (count > 0)
	{
		int			n;

		if (decoder->repeat_left > 0)
		{
			n = (int) Min((uint64) count, decoder->repeat_left);
			memset(out, decoder->repeat_value & 1, n);
			decoder->repeat_left -= n;
		}
		else if (decoder->packed_left > 0)
		{
			n = (int) Min((uint64) count, decoder->packed_left);
			read_packed_bits(decoder, n, out);
		}
		else
		{
			next_run(decoder);
			continue;
		}
		out += n;
		count -= n;
	}
}

/* Packed values, narrowed to bytes. */
static void
read_packed_levels(RleDecoder *decoder, int count, uint8 *out)
{
	int32		unpacked[LEVELS_AT_ONCE];

	while (count > 0)
	{
		int			n = Min(count, LEVELS_AT_ONCE);

		read_packed(decoder, n, unpacked);
		for (int i = 0; i < n; i++)
			out[i] = (uint8) unpacked[i];
		out += n;
		count -= n;
	}
}

void
rle_read_levels(RleDecoder *decoder, int count, uint8 *out)
{
	Assert(decoder->bit_width <= 8);
	if (decoder->bit_width == 1)
	{
		rle_read_bits(decoder, count, out);
		return;
	}
	while (count > 0)
	{
		int			n;

		if (decoder->repeat_left > 0)
		{
			n = (int) Min((uint64) count, decoder->repeat_left);
			memset(out, decoder->repeat_value, n);
			decoder->repeat_left -= n;
		}
		else if (decoder->packed_left > 0)
		{
			n = (int) Min((uint64) count, decoder->packed_left);
			read_packed_levels(decoder, n, out);
		}
		else
		{
			next_run(decoder);
			continue;
		}
		out += n;
		count -= n;
	}
}

/* Bits from..end-1 that are set. */
static int64
count_packed_bits(const uint8 *packed, uint64 from, uint64 end)
{
	int64		ones = 0;

	while (from < end && from % 8 != 0)
		ones += unpack_bit(packed, from++);
	ones += pg_popcount((const char *) packed + from / 8, (int) ((end - from) / 8));
	from += (end - from) / 8 * 8;
	while (from < end)
		ones += unpack_bit(packed, from++);
	return ones;
}

/* The sum of the values skipped, if it is wanted of bits. */
static pg_attribute_always_inline int64
skip_values(RleDecoder *decoder, int64 count, bool sum_bits)
{
	int64		sum = 0;

	while (count > 0)
	{
		uint64		n;

		if (decoder->repeat_left > 0)
		{
			n = Min((uint64) count, decoder->repeat_left);
			if (sum_bits)
				sum += n * (decoder->repeat_value & 1);
			decoder->repeat_left -= n;
		}
		else if (decoder->packed_left > 0)
		{
			n = Min((uint64) count, decoder->packed_left);
			if (sum_bits)
				sum += count_packed_bits(decoder->packed, decoder->packed_index, decoder->packed_index + n);
			decoder->packed_index += n;
			decoder->packed_left -= n;
		}
		else
		{
			next_run(decoder);
			continue;
		}
		count -= n;
	}
	return sum;
}

void
rle_skip(RleDecoder *decoder, int64 count)
{
	(void) skip_values(decoder, count, false);
}

int64
rle_skip_bits(RleDecoder *decoder, int64 count)
{
	Assert(decoder->bit_width == 1);
	return skip_values(decoder, count, true);
}
