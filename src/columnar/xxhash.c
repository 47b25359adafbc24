/*
 * xxhash.c
 *		XXH64, as its specification has it.
 */
#include "postgres.h"

#include "columnar/xxhash.h"

#define PRIME_1 UINT64CONST(0x9E3779B185EBCA87)
#define PRIME_2 UINT64CONST(0xC2B2AE3D27D4EB4F)
#define PRIME_3 UINT64CONST(0x165667B19E3779F9)
#define PRIME_4 UINT64CONST(0x85EBCA77C2B2AE63)
#define PRIME_5 UINT64CONST(0x27D4EB2F165667C5)

#define STRIPE 32				/* bytes */

static inline uint64
rotate(uint64 value, int bits)
{
	return value << bits | value >> (64 - bits);
}

static inline uint32
load_le32(const unsigned char *bytes)
{
	return (uint32) bytes[0] | (uint32) bytes[1] << 8 | (uint32) bytes[2] << 16 | (uint32) bytes[3] << 24;
}

static inline uint64
load_le64(const unsigned char *bytes)
{
	return (uint64) load_le32(bytes) | (uint64) load_le32(bytes + 4) << 32;
}

static inline uint64
add_lane(uint64 accumulator, uint64 lane)
{
	return rotate(accumulator + lane * PRIME_2, 31) * PRIME_1;
}

static inline uint64
merge_accumulator(uint64 hash, uint64 accumulator)
{
	return (hash ^ add_lane(0, accumulator)) * PRIME_1 + PRIME_4;
}

/* Whole stripes, in four lanes. */
static uint64
hash_stripes(const unsigned char **data, const unsigned char *end, uint64 seed)
{
	uint64		lanes[4] = {seed + PRIME_1 + PRIME_2, seed + PRIME_2, seed, seed - PRIME_1};
	uint64		hash;

	while (end - *data >= STRIPE)
	{
		for (int i = 0; i < 4; i++)
			lanes[i] = add_lane(lanes[i], load_le64(*data + 8 * i));
		*data += STRIPE;
	}
	hash = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) + rotate(lanes[3], 18);
	for (int i = 0; i < 4; i++)
		hash = merge_accumulator(hash, lanes[i]);
	return hash;
}

uint64
xxh64(const void *data, size_t length, uint64 seed)
{
	const unsigned char *bytes = data;
	const unsigned char *end = bytes + length;
	uint64		hash = length >= STRIPE ? hash_stripes(&bytes, end, seed) : seed + PRIME_5;

	hash += length;
	for (; end - bytes >= 8; bytes += 8)
		hash = rotate(hash ^ add_lane(0, load_le64(bytes)), 27) * PRIME_1 + PRIME_4;
	if (end - bytes >= 4)
	{
		hash = rotate(hash ^ load_le32(bytes) * PRIME_1, 23) * PRIME_2 + PRIME_3;
		bytes += 4;
	}
	for (; bytes < end; bytes++)
		hash = rotate(hash ^ *bytes * PRIME_5, 11) * PRIME_1;
	hash ^= hash >> 33;
	hash *= PRIME_2;
	hash ^= hash >> 29;
	hash *= PRIME_3;
	return hash ^ hash >> 32;
}
