/*
 * lookup_keys.h
 *		Keys to look rows up by: the values of some columns that are sought.
 *
 * Keys are collected a batch at a time and numbered, equal ones alike.  What
 * they say of each column is a predicate, which prunes and filters the scan;
 * what they say of all columns together is tested on the batches it reads.
 */
#ifndef STREAMHOUSE_FDW_LOOKUP_KEYS_H
#define STREAMHOUSE_FDW_LOOKUP_KEYS_H

#include "columnar/grouping.h"
#include "columnar/predicate.h"
#include "lake/schema.h"

typedef struct LookupKeys LookupKeys;

/* Keys over fields of the table; all of it lives in CurrentMemoryContext. */
extern LookupKeys *lookup_keys_create(const TableSchema *schema, const int *fields, int nfields);

/* Add a key, none of whose values is null; true: a batch is full and must be numbered. */
extern bool lookup_keys_add(LookupKeys *keys, const Scalar *values);

/* The numbers of the keys added since the last call, in their order; how many they are. */
extern int	lookup_keys_number(LookupKeys *keys, const int32 **numbers);

/* How many keys there are that differ; their numbers are below. */
extern int	lookup_keys_count(const LookupKeys *keys);

extern int	lookup_keys_nfields(const LookupKeys *keys);
extern const int *lookup_keys_fields(const LookupKeys *keys);

/* What the keys say of each field by itself.  Shares memory with them. */
extern Predicate *lookup_keys_predicate(const LookupKeys *keys);

/*
 * Which of the keys rows of a batch have: numbers[row], GROUP_NONE for none.
 * columns are those of the fields; rows NULL: the first nrows.
 */
extern void lookup_keys_find(LookupKeys *keys, const Vector *const *columns, const int32 *rows, int nrows,
							 int32 *numbers);

#endif							/* STREAMHOUSE_FDW_LOOKUP_KEYS_H */
