/*
 * group_table.c
 *		Numbers for keys of a fixed number of 64-bit words.
 *
 * A hash table with open addressing; slots hold a number and a part of the
 * hash, and are at most half full.
 */
#include "postgres.h"

#include "columnar/group_table.h"
#include "columnar/hash.h"
#include "utils/memutils.h"

#define FIRST_CAPACITY 1024
#define FREE_SLOT GROUP_UNKNOWN

typedef struct GroupSlot
{
	uint32		hash;			/* the upper half */
	int32		group;			/* FREE_SLOT: empty */
} GroupSlot;

struct GroupTable
{
	int			nwords;
	int			count;
	int			capacity;		/* a power of two; there are twice as many slots */
	uint64	   *keys;			/* by number */
	GroupSlot  *slots;
};

static inline uint64
hash_key(const uint64 *key, int nwords)
{
	uint64		hash = hash_word(0, key[0]);

	for (int i = 1; i < nwords; i++)
		hash = hash_word(hash, key[i]);
	return hash;
}

static inline bool
same_key(const uint64 *a, const uint64 *b, int nwords)
{
	for (int i = 0; i < nwords; i++)
	{
		if (a[i] != b[i])
			return false;
	}
	return true;
}

static void
fill_slots(GroupTable *table)
{
	uint32		mask = table->capacity * 2 - 1;

	for (uint32 i = 0; i <= mask; i++)
		table->slots[i].group = FREE_SLOT;
	for (int group = 0; group < table->count; group++)
	{
		uint64		hash = hash_key(group_table_key(table, group), table->nwords);
		uint32		at = (uint32) hash & mask;

		while (table->slots[at].group != FREE_SLOT)
			at = (at + 1) & mask;
		table->slots[at].hash = (uint32) (hash >> 32);
		table->slots[at].group = group;
	}
}

GroupTable *
group_table_create(int nwords)
{
	GroupTable *table = (GroupTable *) palloc0(sizeof(GroupTable));

	table->nwords = nwords;
	table->capacity = FIRST_CAPACITY;
	table->keys = (uint64 *) palloc((Size) table->capacity * nwords * sizeof(uint64));
	table->slots = (GroupSlot *) palloc((Size) table->capacity * 2 * sizeof(GroupSlot));
	fill_slots(table);
	return table;
}

void
group_table_reserve(GroupTable *table, int capacity)
{
	int			grown = table->capacity;

	if (capacity <= grown)
		return;
	while (grown < capacity)
		grown *= 2;
	table->keys = (uint64 *) repalloc_huge(table->keys, (Size) grown * table->nwords * sizeof(uint64));
	table->slots = (GroupSlot *) repalloc_huge(table->slots, (Size) grown * 2 * sizeof(GroupSlot));
	table->capacity = grown;
	fill_slots(table);
}

/* The number of a key, FREE_SLOT if it has none; then *at is where it would lie. */
static inline int32
probe(const GroupTable *table, const uint64 *key, int nwords, uint64 hash, uint32 *at)
{
	const GroupSlot *slots = table->slots;
	uint32		mask = table->capacity * 2 - 1;
	uint32		place = (uint32) hash & mask;

	while (slots[place].group != FREE_SLOT)
	{
		int32		group = slots[place].group;

		if (slots[place].hash == (uint32) (hash >> 32) &&
			same_key(table->keys + (Size) group * nwords, key, nwords))
			return group;
		place = (place + 1) & mask;
	}
	*at = place;
	return FREE_SLOT;
}

/* Inlined for small nwords, so that the loops over words disappear. */
static inline int
find_keys(GroupTable *table, const uint64 *keys, int nwords, int nrows, bool add, int32 *groups, int32 *first)
{
	int			added = 0;

	for (int i = 0; i < nrows; i++)
	{
		const uint64 *key = keys + (Size) i * nwords;
		uint64		hash = hash_key(key, nwords);
		uint32		at = 0;
		int32		group = probe(table, key, nwords, hash, &at);

		if (group == FREE_SLOT && add)
		{
			Assert(table->count < table->capacity);
			group = table->count++;
			memcpy(table->keys + (Size) group * nwords, key, nwords * sizeof(uint64));
			table->slots[at].hash = (uint32) (hash >> 32);
			table->slots[at].group = group;
			first[added++] = i;
		}
		groups[i] = group;
	}
	return added;
}

int
group_table_find(GroupTable *table, const uint64 *keys, int nrows, bool add, int32 *groups, int32 *first)
{
	if (table->nwords == 1)
		return find_keys(table, keys, 1, nrows, add, groups, first);
	if (table->nwords == 2)
		return find_keys(table, keys, 2, nrows, add, groups, first);
	return find_keys(table, keys, table->nwords, nrows, add, groups, first);
}

int
group_table_count(const GroupTable *table)
{
	return table->count;
}

int
group_table_capacity(const GroupTable *table)
{
	return table->capacity;
}

const uint64 *
group_table_key(const GroupTable *table, int32 group)
{
	return table->keys + (Size) group * table->nwords;
}

Size
group_table_key_bytes(const GroupTable *table)
{
	return table->nwords * sizeof(uint64) + 2 * sizeof(GroupSlot);
}
