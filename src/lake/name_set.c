/*
 * name_set.c
 *		A set of names or paths.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "lake/name_set.h"
#include "utils/memutils.h"

typedef struct NameItem
{
	const char *name;
	uint32		hash;
	char		status;
} NameItem;

#define SH_PREFIX name_table
#define SH_ELEMENT_TYPE NameItem
#define SH_KEY_TYPE const char *
#define SH_KEY name
#define SH_HASH_KEY(table, key) hash_bytes((const unsigned char *) (key), (int) strlen(key))
#define SH_EQUAL(table, a, b) (strcmp(a, b) == 0)
#define SH_STORE_HASH
#define SH_GET_HASH(table, item) (item)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct NameSet
{
	MemoryContext context;
	name_table_hash *table;
};

NameSet *
name_set_create(void)
{
	NameSet    *set = (NameSet *) palloc(sizeof(NameSet));

	set->context = CurrentMemoryContext;
	set->table = name_table_create(set->context, 64, NULL);
	return set;
}

bool
name_set_add(NameSet *set, const char *name)
{
	bool		found;

	if (name_table_lookup(set->table, name) != NULL)
		return false;
	name_table_insert(set->table, MemoryContextStrdup(set->context, name), &found);
	return true;
}

bool
name_set_contains(NameSet *set, const char *name)
{
	return name_table_lookup(set->table, name) != NULL;
}
