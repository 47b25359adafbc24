/*
 * entry_merge.c
 *		Manifest entries combined in their order.
 */
#include "postgres.h"

#include "lake/entry_merge.h"
#include "utils/memutils.h"

typedef struct EntryItem
{
	const ManifestEntry *entry;
	int			position;		/* in the merge's order */
	uint32		hash;
	char		status;
} EntryItem;

#define SH_PREFIX entry_table
#define SH_ELEMENT_TYPE EntryItem
#define SH_KEY_TYPE const ManifestEntry *
#define SH_KEY entry
#define SH_HASH_KEY(table, key) manifest_entry_hash(key)
#define SH_EQUAL(table, a, b) manifest_entry_same(a, b)
#define SH_STORE_HASH
#define SH_GET_HASH(table, item) (item)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct EntryMerge
{
	MemoryContext context;
	entry_table_hash *table;
	int			nentries;
	int			max_entries;
	ManifestEntry **entries;	/* in order; NULL where a pair has gone */
};

struct EntrySet
{
	MemoryContext context;
	entry_table_hash *table;
};

EntryMerge *
entry_merge_create(void)
{
	EntryMerge *merge = (EntryMerge *) palloc0(sizeof(EntryMerge));

	merge->context = CurrentMemoryContext;
	merge->table = entry_table_create(merge->context, 256, NULL);
	merge->max_entries = 256;
	merge->entries = (ManifestEntry **) palloc(merge->max_entries * sizeof(ManifestEntry *));
	return merge;
}

/* Put an entry of a new identity at the end. */
static void
append_entry(EntryMerge *merge, const ManifestEntry *entry)
{
	MemoryContext old = MemoryContextSwitchTo(merge->context);
	ManifestEntry *copy = manifest_entry_copy(entry);
	bool		found;

	if (merge->nentries == merge->max_entries)
	{
		merge->max_entries *= 2;
		merge->entries = (ManifestEntry **) repalloc_huge(merge->entries,
														  merge->max_entries * sizeof(ManifestEntry *));
	}
	entry_table_insert(merge->table, copy, &found)->position = merge->nentries;
	merge->entries[merge->nentries++] = copy;
	MemoryContextSwitchTo(old);
}

bool
entry_merge_add(EntryMerge *merge, const ManifestEntry *entry)
{
	EntryItem  *item = entry_table_lookup(merge->table, entry);

	if (item == NULL)
	{
		append_entry(merge, entry);
		return true;
	}
	if (entry->kind == FILE_ADD)
		return false;
	/* an identity is added once and deleted once: the pair can go */
	if (item->entry->kind == FILE_ADD)
	{
		merge->entries[item->position] = NULL;
		entry_table_delete(merge->table, entry);
	}
	return true;
}

List *
entry_merge_result(EntryMerge *merge)
{
	List	   *result = NIL;

	for (int i = 0; i < merge->nentries; i++)
	{
		if (merge->entries[i] != NULL)
			result = lappend(result, merge->entries[i]);
	}
	return result;
}

EntrySet *
entry_set_create(void)
{
	EntrySet   *set = (EntrySet *) palloc0(sizeof(EntrySet));

	set->context = CurrentMemoryContext;
	set->table = entry_table_create(set->context, 256, NULL);
	return set;
}

/* Keep the identity alone: statistics and keys are dropped. */
void
entry_set_add(EntrySet *set, const ManifestEntry *entry)
{
	MemoryContext old = MemoryContextSwitchTo(set->context);
	DataFileMeta file = {0};
	ManifestEntry identity = *entry;
	bool		found;

	file.file_name = entry->file->file_name;
	file.level = entry->file->level;
	file.extra_files = entry->file->extra_files;
	file.has_embedded_index = entry->file->has_embedded_index;
	file.embedded_index = entry->file->embedded_index;
	file.external_path = entry->file->external_path;
	identity.file = &file;
	if (entry_table_lookup(set->table, &identity) == NULL)
		entry_table_insert(set->table, manifest_entry_copy(&identity), &found);
	MemoryContextSwitchTo(old);
}

bool
entry_set_contains(EntrySet *set, const ManifestEntry *entry)
{
	return entry_table_lookup(set->table, entry) != NULL;
}

bool
entry_set_is_empty(EntrySet *set)
{
	return set->table->members == 0;
}
