/*
 * entry_merge.h
 *		Manifest entries combined in their order (format digest section 4.7).
 *
 * An ADD stays until a DELETE of the same identity takes it away; a DELETE
 * that finds no ADD stays as it is.  Used where manifests are merged and where
 * a commit is checked for conflicts.  (Reading a snapshot has no order: see
 * plan.c.)
 */
#ifndef STREAMHOUSE_ENTRY_MERGE_H
#define STREAMHOUSE_ENTRY_MERGE_H

#include "lake/manifest.h"

typedef struct EntryMerge EntryMerge;

/* In CurrentMemoryContext, where entries are copied to as well. */
extern EntryMerge *entry_merge_create(void);

/* False, and nothing is done, for an ADD of an identity that is there already. */
extern bool entry_merge_add(EntryMerge *merge, const ManifestEntry *entry);

/* What is left (ManifestEntry *), in order. */
extern List *entry_merge_result(EntryMerge *merge);

/* A set of identities, for lookups only. */
typedef struct EntrySet EntrySet;
extern EntrySet *entry_set_create(void);
extern void entry_set_add(EntrySet *set, const ManifestEntry *entry);
extern bool entry_set_contains(EntrySet *set, const ManifestEntry *entry);
extern bool entry_set_is_empty(EntrySet *set);

#endif							/* STREAMHOUSE_ENTRY_MERGE_H */
