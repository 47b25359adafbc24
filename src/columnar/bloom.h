/*
 * bloom.h
 *		Bloom filters over one range of bits, as Paimon's file indexes and ORC
 *		files have them.
 */
#ifndef STREAMHOUSE_BLOOM_H
#define STREAMHOUSE_BLOOM_H

#include "postgres.h"

/* The hash of a number in such filters. */
extern uint64 bloom_hash_number(int64 number);

/* May a value with that hash be there?  nbits > 0; the bits of a byte count from the lowest. */
extern bool bloom_may_have(const uint8 *bits, int64 nbits, int32 nhashes, uint64 hash);

#endif							/* STREAMHOUSE_BLOOM_H */
