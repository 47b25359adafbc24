/*
 * unpack.c
 *		Unpacking numbers of a fixed count of bits, the high bits first.
 */
#include "postgres.h"

#include "format/orc/run_length.h"
#include "port/pg_bswap.h"

static inline uint64
load_big_endian(const uint8 *data)
{
	uint64		word;

	memcpy(&word, data, sizeof(word));
	return pg_ntoh64(word);
}

/* One number of at most 57 bits, or of 64 that begin with a byte. */
static inline uint64
unpack_one(const uint8 *data, int width, uint64 bit)
{
	return load_big_endian(data + bit / 8) << (bit % 8) >> (64 - width);
}

/* Eight numbers are as many bytes as one has bits, so all shifts are constants. */
#define UNPACK_EIGHT(width) \
	case width: \
		for (; done + 8 <= count; done += 8, data += width) \
		{ \
			out[done] = unpack_one(data, width, 0); \
			out[done + 1] = unpack_one(data, width, 1 * width); \
			out[done + 2] = unpack_one(data, width, 2 * width); \
			out[done + 3] = unpack_one(data, width, 3 * width); \
			out[done + 4] = unpack_one(data, width, 4 * width); \
			out[done + 5] = unpack_one(data, width, 5 * width); \
			out[done + 6] = unpack_one(data, width, 6 * width); \
			out[done + 7] = unpack_one(data, width, 7 * width); \
		} \
		break;

/* Groups of eight; returns how many numbers were unpacked. */
static int
unpack_groups(const uint8 *data, int width, int count, uint64 *out)
{
	int			done = 0;

	switch (width)
	{
			UNPACK_EIGHT(1)
			UNPACK_EIGHT(2)
			UNPACK_EIGHT(3)
			UNPACK_EIGHT(4)
			UNPACK_EIGHT(5)
			UNPACK_EIGHT(6)
			UNPACK_EIGHT(7)
			UNPACK_EIGHT(8)
			UNPACK_EIGHT(9)
			UNPACK_EIGHT(10)
			UNPACK_EIGHT(11)
			UNPACK_EIGHT(12)
			UNPACK_EIGHT(13)
			UNPACK_EIGHT(14)
			UNPACK_EIGHT(15)
			UNPACK_EIGHT(16)
			UNPACK_EIGHT(17)
			UNPACK_EIGHT(18)
			UNPACK_EIGHT(19)
			UNPACK_EIGHT(20)
			UNPACK_EIGHT(21)
			UNPACK_EIGHT(22)
			UNPACK_EIGHT(23)
			UNPACK_EIGHT(24)
			UNPACK_EIGHT(26)
			UNPACK_EIGHT(28)
			UNPACK_EIGHT(30)
			UNPACK_EIGHT(32)
			UNPACK_EIGHT(40)
			UNPACK_EIGHT(48)
			UNPACK_EIGHT(56)
			UNPACK_EIGHT(64)
	}
	return done;
}

void
unpack_bits(const uint8 *data, int width, int count, uint64 *out)
{
	int			done = unpack_groups(data, width, count, out);

	for (; done < count; done++)
		out[done] = unpack_one(data, width, (uint64) done * width);
}
