/*
 * xxhash.h
 *		XXH64, the hash of Paimon's and Parquet's bloom filters.
 */
#ifndef STREAMHOUSE_XXHASH_H
#define STREAMHOUSE_XXHASH_H

#include "postgres.h"

extern uint64 xxh64(const void *data, size_t length, uint64 seed);

#endif							/* STREAMHOUSE_XXHASH_H */
