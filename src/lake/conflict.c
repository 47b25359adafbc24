/*
 * conflict.c
 *		May changes be committed on top of a snapshot?
 *
 * Changes were made from an older snapshot.  They can be published if all
 * files that they delete are still there, none that they add is there
 * already, and the levels of each bucket stay in order.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "lake/conflict.h"
#include "lake/entry_merge.h"
#include "lake/plan.h"
#include "lake/sections.h"
#include "utils/memutils.h"

/* The partitions that the changes touch, sorted. */
typedef struct PartitionSet
{
	int			npartitions;
	BytesView  *partitions;
	int32	   *total_buckets;	/* of the files in each; 0 not known yet */
} PartitionSet;

static int
compare_partitions(const void *a, const void *b)
{
	return bytes_compare(*(const BytesView *) a, *(const BytesView *) b);
}

static PartitionSet *
partitions_of_changes(List *changes)
{
	PartitionSet *set = (PartitionSet *) palloc0(sizeof(PartitionSet));
	int			n = list_length(changes);
	ListCell   *lc;

	set->partitions = (BytesView *) palloc(Max(n, 1) * sizeof(BytesView));
	n = 0;
	foreach(lc, changes)
		set->partitions[n++] = ((const ManifestEntry *) lfirst(lc))->partition;
	qsort(set->partitions, n, sizeof(BytesView), compare_partitions);
	for (int i = 0; i < n; i++)
	{
		if (i == 0 || compare_partitions(&set->partitions[i], &set->partitions[i - 1]) != 0)
			set->partitions[set->npartitions++] = set->partitions[i];
	}
	set->total_buckets = (int32 *) palloc0(Max(n, 1) * sizeof(int32));
	return set;
}

/* Position of a partition, -1 when the changes do not touch it. */
static int
find_partition(const PartitionSet *set, BytesView partition)
{
	BytesView  *found = (BytesView *) bsearch(&partition, set->partitions, set->npartitions,
											  sizeof(BytesView), compare_partitions);

	return found != NULL ? (int) (found - set->partitions) : -1;
}

static bool
is_in_partitions(const ManifestEntry *entry, void *arg)
{
	return find_partition((const PartitionSet *) arg, entry->partition) >= 0;
}

static void
report_conflict(const LakeTable *table, const char *detail, const char *file_name)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not commit to lake table \"%s\" because another commit changed the same files",
					table->name),
			 errdetail("%s: \"%s\".", detail, file_name)));
}

/* Changes that contradict themselves are the caller's mistake. */
static void
check_changes_alone(const LakeTable *table, List *changes)
{
	EntryMerge *merge = entry_merge_create();
	ListCell   *lc;

	foreach(lc, changes)
	{
		const ManifestEntry *entry = (const ManifestEntry *) lfirst(lc);

		if (!entry_merge_add(merge, entry))
			elog(ERROR, "file \"%s\" is added twice to lake table \"%s\"", entry->file->file_name, table->name);
	}
	if (list_length(entry_merge_result(merge)) != list_length(changes))
		elog(ERROR, "a file is both added to and deleted from lake table \"%s\"", table->name);
}

/* The live files after the commit; what is to be deleted must be there. */
static List *
merge_changes(LakeTable *table, List *base, List *changes)
{
	EntryMerge *merge = entry_merge_create();
	List	   *result;
	ListCell   *lc;

	foreach(lc, base)
		(void) entry_merge_add(merge, (const ManifestEntry *) lfirst(lc));
	foreach(lc, changes)
	{
		const ManifestEntry *entry = (const ManifestEntry *) lfirst(lc);

		if (!entry_merge_add(merge, entry))
			report_conflict(table, "A file to add is there already", entry->file->file_name);
	}
	result = entry_merge_result(merge);
	foreach(lc, result)
	{
		const ManifestEntry *entry = (const ManifestEntry *) lfirst(lc);

		if (entry->kind == FILE_DELETE)
			report_conflict(table, "A file to delete is gone", entry->file->file_name);
	}
	return result;
}

/* All files of a partition must have been written for one number of buckets. */
static void
check_total_buckets(LakeTable *table, PartitionSet *set, List *entries)
{
	ListCell   *lc;

	foreach(lc, entries)
	{
		const ManifestEntry *entry = (const ManifestEntry *) lfirst(lc);
		int			position = find_partition(set, entry->partition);

		if (position < 0 || entry->total_buckets <= 0)
			continue;
		if (set->total_buckets[position] == 0)
			set->total_buckets[position] = entry->total_buckets;
		if (set->total_buckets[position] != entry->total_buckets)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("number of buckets of lake table \"%s\" differs from that of its files", table->name),
					 errdetail("Files of partition \"%s\" were written for %d and for %d buckets.",
							   lake_partition_text(table, entry->partition),
							   set->total_buckets[position], entry->total_buckets),
					 errhint("Rewrite the partition after the option \"bucket\" was changed.")));
	}
}

/* Order by partition, bucket and level. */
static int
compare_levels(const ListCell *a, const ListCell *b)
{
	const ManifestEntry *x = (const ManifestEntry *) lfirst(a);
	const ManifestEntry *y = (const ManifestEntry *) lfirst(b);
	int			result = bytes_compare(x->partition, y->partition);

	if (result != 0)
		return result;
	if (x->bucket != y->bucket)
		return x->bucket < y->bucket ? -1 : 1;
	return (x->file->level > y->file->level) - (x->file->level < y->file->level);
}

/* The files of one level above 0 of a bucket must not overlap. */
static void
check_level_ranges(LakeTable *table, List *entries)
{
	List	   *files = NIL;
	int			n;

	list_sort(entries, compare_levels);
	n = list_length(entries);
	for (int i = 0; i < n; i++)
	{
		ManifestEntry *entry = (ManifestEntry *) list_nth(entries, i);

		if (entry->file->level > 0)
			files = lappend(files, entry->file);
		if (i + 1 < n && compare_levels(list_nth_cell(entries, i), list_nth_cell(entries, i + 1)) == 0)
			continue;
		if (files != NIL && !key_ranges_are_disjoint(table, files))
			report_conflict(table, psprintf("Key ranges of bucket %d overlap in level %d",
											entry->bucket, entry->file->level),
							entry->file->file_name);
		list_free(files);
		files = NIL;
	}
}

/* Check changes against the live files of latest. */
void
commit_check_conflicts(LakeTable *table, const LakeSnapshot *latest, CommitKind kind, List *changes)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "lake conflict check",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	PartitionSet *set = partitions_of_changes(changes);
	List	   *base = NIL;
	List	   *entries;

	check_changes_alone(table, changes);
	if (latest != NULL)
		base = scan_live_entries(table, latest, is_in_partitions, set);
	entries = merge_changes(table, base, changes);
	if (kind != COMMIT_OVERWRITE)
		check_total_buckets(table, set, entries);
	if (table->has_primary_key)
		check_level_ranges(table, entries);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

void
commit_check_total_buckets(LakeTable *table, const LakeSnapshot *latest, List *changes)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "lake bucket check",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	PartitionSet *set = partitions_of_changes(changes);

	if (latest != NULL)
		check_total_buckets(table, set, scan_live_entries(table, latest, is_in_partitions, set));
	check_total_buckets(table, set, changes);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}
