/*
 * hash.h
 *		Hashes of numbers and strings, for tables in memory.
 */
#ifndef STREAMHOUSE_HASH_H
#define STREAMHOUSE_HASH_H

#include "columnar/vector.h"

/* Mix a word into a hash; every bit of the result depends on every bit of both. */
static inline uint64
hash_word(uint64 hash, uint64 word)
{
	uint128		product = (uint128) (hash ^ word ^ UINT64CONST(0x9E3779B97F4A7C15)) * UINT64CONST(0xD6E8FEB86659FD93);

	return (uint64) product ^ (uint64) (product >> 64);
}

/* Eight bytes at a time; the last of them overlap those before. */
static inline uint64
hash_string(BytesView string)
{
	const char *data = string.data;
	uint32		left = string.length;
	uint64		hash = string.length;
	uint64		word = 0;

	while (left > sizeof(uint64))
	{
		memcpy(&word, data, sizeof(uint64));
		hash = hash_word(hash, word);
		data += sizeof(uint64);
		left -= sizeof(uint64);
	}
	word = 0;
	if (string.length >= sizeof(uint64))
		memcpy(&word, string.data + string.length - sizeof(uint64), sizeof(uint64));
	else if (left > 0)
		memcpy(&word, data, left);
	return hash_word(hash, word);
}

#endif							/* STREAMHOUSE_HASH_H */
