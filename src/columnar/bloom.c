/*
 * bloom.c
 *		Asking bloom filters over one range of bits.
 *
 * Source: format digest section 8.3; ORC specification version 1, bloom filter
 * index.
 */
#include "postgres.h"

#include "columnar/bloom.h"

/* Thomas Wang's hash of 64 bits; shifts to the right keep the sign, as in Java. */
uint64
bloom_hash_number(int64 number)
{
	uint64		key = (uint64) number;

	key = ~key + (key << 21);
	key ^= (uint64) ((int64) key >> 24);
	key = key + (key << 3) + (key << 8);
	key ^= (uint64) ((int64) key >> 14);
	key = key + (key << 2) + (key << 4);
	key ^= (uint64) ((int64) key >> 28);
	return key + (key << 31);
}

bool
bloom_may_have(const uint8 *bits, int64 nbits, int32 nhashes, uint64 hash)
{
	uint32		first = (uint32) hash;
	uint32		second = (uint32) (hash >> 32);

	for (int32 i = 1; i <= nhashes; i++)
	{
		int32		combined = (int32) (first + (uint32) i * second);
		int64		bit;

		if (combined < 0)
			combined = ~combined;
		bit = combined % nbits;
		if ((bits[bit >> 3] & (1 << (bit & 7))) == 0)
			return false;
	}
	return true;
}
