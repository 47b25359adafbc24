/*
 * group_table.h
 *		Numbers for keys of a fixed number of 64-bit words.
 */
#ifndef STREAMHOUSE_GROUP_TABLE_H
#define STREAMHOUSE_GROUP_TABLE_H

#include "columnar/vector.h"

#define GROUP_UNKNOWN (-1)

typedef struct GroupTable GroupTable;

/* Lives in CurrentMemoryContext. */
extern GroupTable *group_table_create(int nwords);

/*
 * The numbers of nrows keys, which lie one behind the other.  If add, keys
 * that are new get the next number, for which there must be room, and first
 * (nrows of room) gets their places; else they are GROUP_UNKNOWN.  Returns how
 * many were added.
 */
extern int	group_table_find(GroupTable *table, const uint64 *keys, int nrows, bool add, int32 *groups,
							 int32 *first);

/* Make room for so many keys. */
extern void group_table_reserve(GroupTable *table, int capacity);

extern int	group_table_count(const GroupTable *table);
extern int	group_table_capacity(const GroupTable *table);

/* The words of a key. */
extern const uint64 *group_table_key(const GroupTable *table, int32 group);

/* Bytes that it takes for each key of its capacity. */
extern Size group_table_key_bytes(const GroupTable *table);

#endif							/* STREAMHOUSE_GROUP_TABLE_H */
