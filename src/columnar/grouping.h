/*
 * grouping.h
 *		Rows of a batch are sorted into groups by the values of key columns.
 *
 * NULL is a value like others, NaN is equal to itself, -0 to 0.  A group keeps
 * the values of the first of its rows.
 */
#ifndef STREAMHOUSE_GROUPING_H
#define STREAMHOUSE_GROUPING_H

#include "columnar/vector.h"

#define GROUPING_MAX_KEYS 32
#define GROUP_NONE (-1)

typedef struct Grouping Grouping;

/* Lives in CurrentMemoryContext. */
extern Grouping *grouping_create(const DataType *const *types, int nkeys);

/*
 * The groups of the selected rows (NULL: the first nrows), at groups[row].
 * If add, there must be room (grouping_reserve) for as many new groups as
 * rows; else rows that fit no group have GROUP_NONE.  Returns how many groups
 * are new: they have the numbers after those before.  A column may be of
 * BATCH_ROWS at most.
 */
extern int	grouping_assign(Grouping *grouping, const Vector *const *columns, const int32 *rows, int nrows, bool add,
							int32 *groups);

/* The first rows of the groups that the last call of grouping_assign made. */
extern const int32 *grouping_new_rows(const Grouping *grouping);

extern int	grouping_count(const Grouping *grouping);

/* Make room for so many groups; how many there is room for. */
extern void grouping_reserve(Grouping *grouping, int capacity);
extern int	grouping_capacity(const Grouping *grouping);

/* Bytes for each group of the capacity, and beside those. */
extern Size grouping_group_bytes(const Grouping *grouping);
extern Size grouping_string_bytes(const Grouping *grouping);

/* A key's values of count groups from first on, at row 0 on of out. */
extern void grouping_key(const Grouping *grouping, int key, int32 first, int count, Vector *out);

/* A hash of a row's keys, which depends on the values alone. */
extern uint64 grouping_hash(const Vector *const *columns, int nkeys, int32 row);

#endif							/* STREAMHOUSE_GROUPING_H */
