/*
 * packed_numbers.c
 *		A page's integers in as few bytes each as they need, and searched if they ascend.
 */
#include "postgres.h"

#include "format/parquet/packed_numbers.h"
#include "port/pg_bitutils.h"

/* Integers of either width as int64; they need not be aligned. */
static inline int64
load_number(const uint8 *values, int64 i, int width)
{
	int64		wide;
	int32		narrow;

	if (width == sizeof(wide))
	{
		memcpy(&wide, values + i * sizeof(wide), sizeof(wide));
		return wide;
	}
	memcpy(&narrow, values + i * sizeof(narrow), sizeof(narrow));
	return narrow;
}

static inline uint64
low_bytes(int width)
{
	return width == sizeof(uint64) ? PG_UINT64_MAX : (UINT64CONST(1) << (width * 8)) - 1;
}

static pg_attribute_always_inline void
measure(const uint8 *values, int width, int64 count, PackedNumbers *out)
{
	int64		least = load_number(values, 0, width);
	int64		greatest = least;
	bool		descends = false;
	int			bytes;

	for (int64 i = 1; i < count; i++)
	{
		int64		value = load_number(values, i, width);

		least = Min(least, value);
		greatest = Max(greatest, value);
		descends |= value < load_number(values, i - 1, width);
	}
	bytes = least == greatest ? 1 : pg_leftmost_one_pos64((uint64) greatest - (uint64) least) / 8 + 1;
	out->count = count;
	out->base = least;
	out->width = Min(bytes, width);
	out->ascending = !descends;
}

void
numbers_measure(const uint8 *values, int width, int64 count, PackedNumbers *out)
{
	if (count == 0)
		memset(out, 0, sizeof(*out));
	else if (width == sizeof(int64))
		measure(values, sizeof(int64), count, out);
	else
		measure(values, sizeof(int32), count, out);
}

/* Each value is written whole: the next ones overwrite what it has too much. */
static pg_attribute_always_inline void
pack(const uint8 *values, int width, const PackedNumbers *numbers, int packed_width, uint8 *out)
{
	for (int64 i = 0; i < numbers->count; i++)
	{
		uint64		offset = (uint64) load_number(values, i, width) - (uint64) numbers->base;

		memcpy(out + i * packed_width, &offset, sizeof(offset));
	}
}

void
numbers_pack(const uint8 *values, int width, const PackedNumbers *numbers, uint8 *out)
{
	if (width == sizeof(int64))
		pack(values, sizeof(int64), numbers, numbers->width, out);
	else
		pack(values, sizeof(int32), numbers, numbers->width, out);
}

static inline int64
packed_value(const ValueDecoder *decoder, const uint8 *values, int64 i, uint64 mask)
{
	uint64		word;

	memcpy(&word, values + i * decoder->width, sizeof(word));
	return (int64) ((word & mask) + (uint64) decoder->base);
}

static void
packed_read(ValueDecoder *decoder, int count, void *out)
{
	const uint8 *values = values_take_fixed(decoder, count);
	uint64		mask = low_bytes(decoder->width);

	if (decoder->type == PARQUET_INT64)
	{
		for (int i = 0; i < count; i++)
			((int64 *) out)[i] = packed_value(decoder, values, i, mask);
	}
	else
	{
		for (int i = 0; i < count; i++)
			((int32 *) out)[i] = (int32) packed_value(decoder, values, i, mask);
	}
}

void
packed_init(ValueDecoder *decoder, const ParquetPlace *place, ParquetType type,
			const PackedNumbers *numbers, const uint8 *data)
{
	values_init(decoder, place->path, place->column, type, 0, PARQUET_PLAIN, data, numbers->count * numbers->width,
				numbers->count);
	if (numbers->width == decoder->width)
		return;
	decoder->width = numbers->width;
	decoder->packed = true;
	decoder->base = numbers->base;
	decoder->read = packed_read;
}

static int64
number_at(const ValueDecoder *decoder, int64 i, uint64 mask)
{
	return decoder->packed ? packed_value(decoder, decoder->cursor, i, mask) :
		load_number(decoder->cursor, i, decoder->width);
}

int64
numbers_search(const ValueDecoder *decoder, int64 count, int64 bound, bool equal)
{
	uint64		mask = low_bytes(decoder->width);
	int64		low = 0;
	int64		high = Min(count, (decoder->end - decoder->cursor) / decoder->width);

	Assert(decoder->ascending);
	while (low < high)
	{
		int64		middle = low + (high - low) / 2;
		int64		value = number_at(decoder, middle, mask);

		if (value < bound || (equal && value == bound))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
