/*
 * decode_delta.c
 *		The delta encodings: numbers, lengths of byte arrays, shared prefixes.
 *
 * Source: apache/parquet-format, Encodings.md.  Sums wrap around as the
 * writer's did, so all arithmetic is unsigned; 32 bit values are the low half.
 */
#include "postgres.h"

#include "format/parquet/decode.h"
#include "miscadmin.h"
#include "utils/memutils.h"

static uint64
read_varint(DeltaDecoder *decoder)
{
	uint64		value = 0;

	for (int shift = 0; shift < 64; shift += 7)
	{
		uint8		byte;

		if (decoder->cursor >= decoder->end)
			decode_damaged(decoder->place, "A page ends before all of its deltas were read.");
		byte = *decoder->cursor++;
		value |= (uint64) (byte & 0x7f) << shift;
		if ((byte & 0x80) == 0)
			return value;
	}
	decode_damaged(decoder->place, "A number is longer than 64 bits.");
	return 0;
}

static uint64
read_zigzag(DeltaDecoder *decoder)
{
	uint64		value = read_varint(decoder);

	return (value >> 1) ^ (0 - (value & 1));
}

/* The header, and the first value into the buffer.  A page of nulls may have none. */
void
delta_init(DeltaDecoder *decoder, const ParquetPlace *place, const uint8 *data, size_t length)
{
	uint64		block_values;
	uint64		miniblocks;

	memset(decoder, 0, offsetof(DeltaDecoder, buffer));
	decoder->place = place;
	decoder->cursor = data;
	decoder->end = data + length;
	if (length == 0)
		return;
	block_values = read_varint(decoder);
	miniblocks = read_varint(decoder);
	decoder->total = read_varint(decoder);
	decoder->last = read_zigzag(decoder);
	if (miniblocks == 0 || miniblocks > PG_INT32_MAX || block_values > PG_INT32_MAX ||
		block_values % miniblocks != 0 || block_values / miniblocks % DELTA_GROUP != 0 || block_values == 0)
		decode_damaged(place, "The block size of its deltas is impossible.");
	decoder->miniblocks = decoder->miniblock = (uint32) miniblocks;
	decoder->miniblock_values = (uint32) (block_values / miniblocks);
	if (decoder->total > 0)
	{
		decoder->buffer[0] = decoder->last;
		decoder->buffered = 1;
		decoder->left = decoder->total - 1;
	}
}

static void
next_block(DeltaDecoder *decoder)
{
	decoder->min_delta = read_zigzag(decoder);
	if ((uint64) (decoder->end - decoder->cursor) < decoder->miniblocks)
		decode_damaged(decoder->place, "A page ends before all of its deltas were read.");
	decoder->widths = decoder->cursor;
	decoder->cursor += decoder->miniblocks;
	decoder->miniblock = 0;
}

static void
next_miniblock(DeltaDecoder *decoder)
{
	uint64		bytes;

	if (decoder->miniblock == decoder->miniblocks)
		next_block(decoder);
	decoder->width = decoder->widths[decoder->miniblock++];
	decoder->miniblock_left = decoder->miniblock_values;
	if (decoder->width > 64)
		decode_damaged(decoder->place, "A block of deltas has an impossible width.");

	/* the last one may have been cut short, as long as the values are there */
	bytes = Min((uint64) decoder->miniblock_values, decoder->left) * decoder->width;
	if (bytes > (uint64) (decoder->end - decoder->cursor) * 8)
		decode_damaged(decoder->place, "A page ends before all of its deltas were read.");
	decoder->packed = decoder->cursor;
	bytes = (uint64) decoder->miniblock_values / 8 * decoder->width;
	decoder->cursor += Min(bytes, (uint64) (decoder->end - decoder->cursor));
}

static inline uint64
unpack_delta(const uint8 *packed, int i, int width, uint64 mask)
{
	uint64		bit = (uint64) i * width;
	uint64		word;
	int			shift = bit % 8;

	memcpy(&word, packed + bit / 8, sizeof(word));
	word >>= shift;
	if (shift + width > 64)
		word |= (uint64) packed[bit / 8 + 8] << (64 - shift);
	return word & mask;
}

/* Unpack up to DELTA_GROUP values into out (room for all); returns how many. */
static int
unpack_group(DeltaDecoder *decoder, uint64 *out)
{
	uint64		mask;
	uint64		last = decoder->last;
	uint64		min_delta = decoder->min_delta;
	int			width;
	int			count;

	if (decoder->left == 0)
		decode_damaged(decoder->place, "A page has fewer values than its header says.");
	if (decoder->miniblock_left == 0)
	{
		next_miniblock(decoder);
		min_delta = decoder->min_delta;
	}
	width = decoder->width;
	mask = width == 64 ? PG_UINT64_MAX : (UINT64CONST(1) << width) - 1;
	count = (int) Min(decoder->left, DELTA_GROUP);
	if (width == 0)
	{
		for (int i = 0; i < count; i++)
			out[i] = last += min_delta;
	}
	else
	{
		for (int i = 0; i < count; i++)
			out[i] = last += min_delta + unpack_delta(decoder->packed, i, width, mask);
	}
	decoder->packed += DELTA_GROUP / 8 * width;
	decoder->last = last;
	decoder->left -= count;
	decoder->miniblock_left -= DELTA_GROUP;
	return count;
}

/* Values of the buffer that are wanted; fills it when it is empty. */
static int
take_buffered(DeltaDecoder *decoder, int64 count, const uint64 **values)
{
	int			n;

	if (decoder->buffered == 0)
	{
		decoder->buffer_next = 0;
		decoder->buffered = unpack_group(decoder, decoder->buffer);
	}
	n = (int) Min(count, decoder->buffered);
	*values = decoder->buffer + decoder->buffer_next;
	decoder->buffer_next += n;
	decoder->buffered -= n;
	return n;
}

void
delta_read_int32(DeltaDecoder *decoder, int count, int32 *out)
{
	while (count > 0)
	{
		const uint64 *values;
		int			n = take_buffered(decoder, count, &values);

		for (int i = 0; i < n; i++)
			out[i] = (int32) (uint32) values[i];
		out += n;
		count -= n;
	}
}

void
delta_read_int64(DeltaDecoder *decoder, int count, int64 *out)
{
	while (count > 0)
	{
		const uint64 *values;
		int			n;

		if (decoder->buffered == 0 && count >= DELTA_GROUP)
			n = unpack_group(decoder, (uint64 *) out);
		else
		{
			n = take_buffered(decoder, count, &values);
			memcpy(out, values, n * sizeof(int64));
		}
		out += n;
		count -= n;
	}
}

void
delta_skip(DeltaDecoder *decoder, int64 count)
{
	const uint64 *values;

	while (count > 0)
		count -= take_buffered(decoder, count, &values);
}

const uint8 *
delta_end(DeltaDecoder *decoder)
{
	decoder->buffered = 0;
	while (decoder->left > 0)
		(void) unpack_group(decoder, decoder->buffer);
	return decoder->cursor;
}

/* ---- DELTA_BINARY_PACKED ---- */

static void
delta_int32_read(ValueDecoder *decoder, int count, void *out)
{
	delta_read_int32(&decoder->delta, count, out);
}

static void
delta_int64_read(ValueDecoder *decoder, int count, void *out)
{
	delta_read_int64(&decoder->delta, count, out);
}

static void
delta_values_skip(ValueDecoder *decoder, int64 count)
{
	delta_skip(&decoder->delta, count);
}

void
delta_values_init(ValueDecoder *decoder)
{
	delta_init(&decoder->delta, &decoder->place, decoder->cursor, decoder->end - decoder->cursor);
	decoder->read = decoder->type == PARQUET_INT32 ? delta_int32_read : delta_int64_read;
	decoder->skip = delta_values_skip;
}

/* ---- DELTA_LENGTH_BYTE_ARRAY ---- */

/*
 * All lengths of a page, which come before the bytes.  They are checked
 * against the bytes as they are used.
 */
static void
read_lengths(ValueDecoder *decoder, int64 count)
{
	DeltaDecoder delta;

	delta_init(&delta, &decoder->place, decoder->cursor, decoder->end - decoder->cursor);
	if (delta.total > (uint64) count)
		decode_damaged(&decoder->place, "A page has more lengths than values.");
	decoder->nlengths = (int64) delta.total;
	decoder->lengths = palloc(Max(delta.total, 1) * sizeof(int32));
	for (int64 done = 0; done < decoder->nlengths;)
	{
		int			n = (int) Min(decoder->nlengths - done, BATCH_ROWS);

		delta_read_int32(&delta, n, decoder->lengths + done);
		done += n;
	}
	decoder->cursor = delta_end(&delta);
}

static void
check_lengths_left(ValueDecoder *decoder, int64 count)
{
	if (count > decoder->nlengths - decoder->next_length)
		decode_damaged(&decoder->place, "A page has fewer lengths than values.");
}

/* The bytes of the next length. */
static inline const uint8 *
take_bytes(ValueDecoder *decoder, uint32 *length)
{
	const uint8 *bytes = decoder->cursor;
	int32		n = decoder->lengths[decoder->next_length++];

	if (n < 0 || n > decoder->end - bytes)
		decode_damaged(&decoder->place, "A page ends before all of its values were read.");
	decoder->cursor += n;
	*length = (uint32) n;
	return bytes;
}

static void
delta_length_read(ValueDecoder *decoder, int count, void *out)
{
	BytesView  *views = out;

	check_lengths_left(decoder, count);
	for (int i = 0; i < count; i++)
		views[i].data = (const char *) take_bytes(decoder, &views[i].length);
}

static void
delta_length_skip(ValueDecoder *decoder, int64 count)
{
	uint32		length;

	check_lengths_left(decoder, count);
	while (count-- > 0)
		(void) take_bytes(decoder, &length);
}

void
delta_length_init(ValueDecoder *decoder, int64 count)
{
	read_lengths(decoder, count);
	decoder->read = delta_length_read;
	decoder->skip = delta_length_skip;
}

/* ---- DELTA_BYTE_ARRAY ---- */

#define PREFIX_STEP 256			/* prefix lengths decoded at a time */
#define ARENA_BYTES (64 * 1024)

/* The length of the next value, and the bytes that follow its prefix. */
static size_t
next_suffix(ValueDecoder *decoder, int32 prefix, uint32 previous_length, const uint8 **bytes, uint32 *suffix)
{
	size_t		length;

	*bytes = take_bytes(decoder, suffix);
	if (prefix < 0 || (uint32) prefix > previous_length)
		decode_damaged(&decoder->place, "A prefix is longer than the value before.");
	length = (size_t) prefix + *suffix;
	if (decoder->type == PARQUET_FIXED_LEN_BYTE_ARRAY && length != (size_t) decoder->width)
		decode_damaged(&decoder->place, "A value has not the length that its column says.");
	if (length > MaxAllocSize)
		decode_damaged(&decoder->place, "A value is longer than 1 GB.");
	return length;
}

/* Make room in last, keeping what is there. */
static void
reserve_last(ValueDecoder *decoder, size_t length)
{
	size_t		capacity;
	uint8	   *last;

	if (length <= decoder->last_capacity)
		return;
	capacity = Max(length, decoder->last_capacity * 2);
	last = MemoryContextAllocHuge(decoder->context, capacity);
	memcpy(last, decoder->last, decoder->last_length);
	pfree(decoder->last);
	decoder->last = last;
	decoder->last_capacity = capacity;
}

/* Values lie in arenas of the caller's context; each takes its prefix from the one before. */
static void
delta_byte_array_read(ValueDecoder *decoder, int count, void *out)
{
	BytesView  *views = out;
	int32		prefixes[PREFIX_STEP];
	char	   *arena = NULL;
	size_t		room = 0;
	const char *previous = (const char *) decoder->last;
	uint32		previous_length = decoder->last_length;

	check_lengths_left(decoder, count);
	for (int i = 0; i < count; i++)
	{
		const uint8 *bytes;
		uint32		suffix;
		int32		prefix;
		size_t		length;

		if (i % PREFIX_STEP == 0)
			delta_read_int32(&decoder->delta, Min(count - i, PREFIX_STEP), prefixes);
		prefix = prefixes[i % PREFIX_STEP];
		length = next_suffix(decoder, prefix, previous_length, &bytes, &suffix);
		if (arena == NULL || length > room)
		{
			CHECK_FOR_INTERRUPTS();
			room = Max(length, ARENA_BYTES);
			arena = palloc(room + READ_PADDING);
		}
		memcpy(arena, previous, prefix);
		memcpy(arena + prefix, bytes, suffix);
		views[i].data = previous = arena;
		views[i].length = previous_length = (uint32) length;
		arena += length;
		room -= length;
	}
	reserve_last(decoder, previous_length);
	memmove(decoder->last, previous, previous_length);
	decoder->last_length = previous_length;
}

static void
delta_byte_array_skip(ValueDecoder *decoder, int64 count)
{
	int32		prefixes[PREFIX_STEP];

	check_lengths_left(decoder, count);
	while (count > 0)
	{
		int			n = (int) Min(count, PREFIX_STEP);

		delta_read_int32(&decoder->delta, n, prefixes);
		for (int i = 0; i < n; i++)
		{
			const uint8 *bytes;
			uint32		suffix;
			size_t		length = next_suffix(decoder, prefixes[i], decoder->last_length, &bytes, &suffix);

			reserve_last(decoder, length);
			memcpy(decoder->last + prefixes[i], bytes, suffix);
			decoder->last_length = (uint32) length;
		}
		count -= n;
	}
}

void
delta_byte_array_init(ValueDecoder *decoder, int64 count)
{
	DeltaDecoder prefixes;

	/* once to see where they end, then again in step with the values */
	delta_init(&prefixes, &decoder->place, decoder->cursor, decoder->end - decoder->cursor);
	if (prefixes.total > (uint64) count)
		decode_damaged(&decoder->place, "A page has more prefixes than values.");
	decoder->delta = prefixes;
	decoder->cursor = delta_end(&prefixes);
	read_lengths(decoder, count);
	decoder->last_capacity = 256;
	decoder->last = palloc(decoder->last_capacity);
	decoder->read = delta_byte_array_read;
	decoder->skip = delta_byte_array_skip;
}
