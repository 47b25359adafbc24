/*
 * manifest_merge.c
 *		Merging a table's manifests at commit.
 *
 * Every commit adds a small manifest.  Without merging, planning would read
 * ever more of them; with too much of it commits would rewrite them over and
 * over.  So two measures are taken, each when enough has come together: a full
 * one, which drops deleted entries, and a minor one, which only puts small
 * neighbours together.  Manifests with fields that we do not know, written by
 * a later release, would lose them: those stay as they are.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "lake/binary_row.h"
#include "lake/entry_merge.h"
#include "lake/manifest_merge.h"
#include "lake/path.h"
#include "miscadmin.h"
#include "utils/memutils.h"

typedef struct ManifestMerge
{
	LakeTable  *table;
	ManifestNames *names;
	PendingFiles *files;		/* where new manifests are registered */
	MemoryContext result_context;	/* of their metas */
	MemoryContext work_context; /* reset after each manifest or group */
	EntrySet   *deleted;		/* full merge: identities of all DELETE entries */
	List	   *deleted_partitions; /* BytesView *: theirs */
} ManifestMerge;

static ManifestWriter *
open_writer(const ManifestMerge *merge)
{
	const LakeTable *table = merge->table;

	return manifest_writer_open(table->location, merge->names, table->options->manifest_compression,
								table->options->manifest_target_size, table->partition_types,
								table->schema->npartition_keys);
}

/* Finish a writer whose metas are to be part of the result. */
static List *
finish_writer(const ManifestMerge *merge, ManifestWriter *writer)
{
	MemoryContext old = MemoryContextSwitchTo(merge->result_context);
	List	   *metas = manifest_writer_finish(writer);
	ListCell   *lc;

	foreach(lc, metas)
		pending_files_add(merge->files,
						  manifest_path(merge->table->location, ((const ManifestFileMeta *) lfirst(lc))->file_name));
	MemoryContextSwitchTo(old);
	return metas;
}

static bool
can_be_rewritten(ManifestMerge *merge, const ManifestFileMeta *manifest)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "lake manifest fields",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	bool		result = manifest_can_be_rewritten(merge->table->location, manifest);

	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return result;
}

/* ---- the full merge ---- */

static bool
must_change(const ManifestMerge *merge, const ManifestFileMeta *manifest)
{
	return manifest->num_deleted_files > 0 || manifest->file_size < merge->table->options->manifest_target_size;
}

static bool
full_merge_is_due(const ManifestMerge *merge, List *manifests)
{
	int64		bytes = 0;
	ListCell   *lc;

	foreach(lc, manifests)
	{
		const ManifestFileMeta *manifest = (const ManifestFileMeta *) lfirst(lc);

		if (must_change(merge, manifest))
			bytes += manifest->file_size;
	}
	return bytes >= merge->table->options->manifest_full_threshold;
}

/* Remember the identity of a DELETE entry, and its partition. */
static void
note_deleted(const ManifestEntry *entry, void *arg)
{
	ManifestMerge *merge = (ManifestMerge *) arg;
	BytesView  *last;

	if (entry->kind != FILE_DELETE)
		return;
	entry_set_add(merge->deleted, entry);
	last = merge->deleted_partitions != NIL ? (BytesView *) llast(merge->deleted_partitions) : NULL;
	if (last == NULL || bytes_compare(*last, entry->partition) != 0)
	{
		MemoryContext old = MemoryContextSwitchTo(merge->result_context);
		BytesView  *partition = (BytesView *) palloc(sizeof(BytesView));
		char	   *bytes = (char *) palloc(entry->partition.length);

		memcpy(bytes, entry->partition.data, entry->partition.length);
		partition->data = bytes;
		partition->length = entry->partition.length;
		merge->deleted_partitions = lappend(merge->deleted_partitions, partition);
		MemoryContextSwitchTo(old);
	}
}

static void
collect_deleted(ManifestMerge *merge, List *manifests)
{
	ListCell   *lc;

	merge->deleted = entry_set_create();
	foreach(lc, manifests)
	{
		const ManifestFileMeta *manifest = (const ManifestFileMeta *) lfirst(lc);
		MemoryContext old;

		CHECK_FOR_INTERRUPTS();
		if (manifest->num_deleted_files == 0)
			continue;
		old = MemoryContextSwitchTo(merge->work_context);
		manifest_read(merge->table->location, manifest, note_deleted, merge);
		MemoryContextSwitchTo(old);
		MemoryContextReset(merge->work_context);
	}
}

/* Does a partition lie in the ranges of a manifest's partition statistics? */
static bool
ranges_hold_partition(const ManifestMerge *merge, const Scalar *minima, const Scalar *maxima, const Scalar *partition)
{
	for (int i = 0; i < merge->table->schema->npartition_keys; i++)
	{
		PhysicalType physical = merge->table->partition_types[i]->physical;

		/* a range without bounds says nothing, nor does it of NULLs */
		if (partition[i].isnull || minima[i].isnull || maxima[i].isnull)
			continue;
		if (scalar_compare(physical, &partition[i], &minima[i]) < 0 ||
			scalar_compare(physical, &partition[i], &maxima[i]) > 0)
			return false;
	}
	return true;
}

/* May a manifest have entries of a partition that entries were deleted from? */
static bool
may_hold_deleted(const ManifestMerge *merge, const ManifestFileMeta *manifest)
{
	int			nkeys = merge->table->schema->npartition_keys;
	const DataType *const *types = merge->table->partition_types;
	Scalar	   *values;
	ListCell   *lc;

	if (nkeys == 0)
		return merge->deleted_partitions != NIL;
	values = (Scalar *) palloc(3 * nkeys * sizeof(Scalar));
	binary_row_deserialize(manifest->partition_stats.min_values, types, values, nkeys,
						   "least partition", manifest->file_name);
	binary_row_deserialize(manifest->partition_stats.max_values, types, values + nkeys, nkeys,
						   "greatest partition", manifest->file_name);
	foreach(lc, merge->deleted_partitions)
	{
		binary_row_deserialize(*(const BytesView *) lfirst(lc), types, values + 2 * nkeys, nkeys,
							   "partition", manifest->file_name);
		if (ranges_hold_partition(merge, values, values + nkeys, values + 2 * nkeys))
			return true;
	}
	return false;
}

typedef struct FindDeletedArg
{
	const ManifestMerge *merge;
	bool		found;
} FindDeletedArg;

static void
find_deleted(const ManifestEntry *entry, void *arg)
{
	FindDeletedArg *find = (FindDeletedArg *) arg;

	if (!find->found)
		find->found = entry_set_contains(find->merge->deleted, entry);
}

/* Has a manifest entries that are deleted?  Only if it has is it worth writing anew. */
static bool
holds_deleted(const ManifestMerge *merge, const ManifestFileMeta *manifest)
{
	FindDeletedArg find = {merge, false};

	manifest_read(merge->table->location, manifest, find_deleted, &find);
	return find.found;
}

typedef struct KeepLiveArg
{
	const ManifestMerge *merge;
	ManifestWriter *writer;
} KeepLiveArg;

static void
keep_live(const ManifestEntry *entry, void *arg)
{
	KeepLiveArg *keep = (KeepLiveArg *) arg;

	if (entry->kind == FILE_ADD && !entry_set_contains(keep->merge->deleted, entry))
		manifest_writer_add(keep->writer, entry);
}

/* Split manifests into those that stay as they are, and those to write anew. */
static void
choose_for_full_merge(ManifestMerge *merge, List *manifests, List **kept, List **rewritten)
{
	MemoryContext old = CurrentMemoryContext;
	ListCell   *lc;

	foreach(lc, manifests)
	{
		ManifestFileMeta *manifest = (ManifestFileMeta *) lfirst(lc);
		bool		rewrite = must_change(merge, manifest);

		CHECK_FOR_INTERRUPTS();
		if (!rewrite && !entry_set_is_empty(merge->deleted))
		{
			MemoryContextSwitchTo(merge->work_context);
			rewrite = may_hold_deleted(merge, manifest) && holds_deleted(merge, manifest);
			MemoryContextSwitchTo(old);
			MemoryContextReset(merge->work_context);
		}
		if (rewrite && can_be_rewritten(merge, manifest))
			*rewritten = lappend(*rewritten, manifest);
		else
			*kept = lappend(*kept, manifest);
	}
}

/*
 * Drop all DELETE entries, with the ADD entries they cancel, and put small
 * manifests together.  False if that would change nothing worth it.
 */
static bool
full_merge(ManifestMerge *merge, List *manifests, List **result)
{
	List	   *kept = NIL;
	List	   *rewritten = NIL;
	KeepLiveArg keep = {merge, NULL};
	ListCell   *lc;

	if (!full_merge_is_due(merge, manifests))
		return false;
	collect_deleted(merge, manifests);
	choose_for_full_merge(merge, manifests, &kept, &rewritten);
	if (list_length(rewritten) <= 1)
		return false;
	keep.writer = open_writer(merge);
	foreach(lc, rewritten)
	{
		MemoryContext old = MemoryContextSwitchTo(merge->work_context);

		CHECK_FOR_INTERRUPTS();
		manifest_read(merge->table->location, (const ManifestFileMeta *) lfirst(lc), keep_live, &keep);
		MemoryContextSwitchTo(old);
		MemoryContextReset(merge->work_context);
	}
	*result = list_concat(kept, finish_writer(merge, keep.writer));
	return true;
}

/* ---- the minor merge ---- */

typedef struct CombineArg
{
	const ManifestMerge *merge;
	EntryMerge *entries;
} CombineArg;

static void
combine_entry(const ManifestEntry *entry, void *arg)
{
	CombineArg *combine = (CombineArg *) arg;

	if (!entry_merge_add(combine->entries, entry))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("manifests of lake table \"%s\" are damaged", combine->merge->table->name),
				 errdetail("File \"%s\" is added twice.", entry->file->file_name)));
}

/* Write the entries of some neighbours, combined, into new manifests. */
static List *
combine_manifests(ManifestMerge *merge, List *group)
{
	MemoryContext old = MemoryContextSwitchTo(merge->work_context);
	CombineArg	combine = {merge, entry_merge_create()};
	List	   *entries;
	List	   *metas = NIL;
	ListCell   *lc;

	foreach(lc, group)
	{
		CHECK_FOR_INTERRUPTS();
		manifest_read(merge->table->location, (const ManifestFileMeta *) lfirst(lc), combine_entry, &combine);
	}
	entries = entry_merge_result(combine.entries);
	if (entries != NIL)
	{
		ManifestWriter *writer = open_writer(merge);

		foreach(lc, entries)
			manifest_writer_add(writer, (const ManifestEntry *) lfirst(lc));
		metas = finish_writer(merge, writer);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(merge->work_context);
	return metas;
}

/* Combine a group, as far as its members can be written anew. */
static List *
merge_group(ManifestMerge *merge, List *group)
{
	List	   *result = NIL;
	List	   *run = NIL;
	ListCell   *lc;

	foreach(lc, group)
	{
		ManifestFileMeta *manifest = (ManifestFileMeta *) lfirst(lc);

		if (can_be_rewritten(merge, manifest))
		{
			run = lappend(run, manifest);
			continue;
		}
		result = list_concat(result, list_length(run) > 1 ? combine_manifests(merge, run) : run);
		result = lappend(result, manifest);
		run = NIL;
	}
	return list_concat(result, list_length(run) > 1 ? combine_manifests(merge, run) : run);
}

/* Put neighbours together until each group is as big as a manifest should be. */
static List *
minor_merge(ManifestMerge *merge, List *manifests)
{
	List	   *result = NIL;
	List	   *group = NIL;
	int64		bytes = 0;
	ListCell   *lc;

	foreach(lc, manifests)
	{
		ManifestFileMeta *manifest = (ManifestFileMeta *) lfirst(lc);

		group = lappend(group, manifest);
		bytes += manifest->file_size;
		if (bytes < merge->table->options->manifest_target_size)
			continue;
		result = list_concat(result, list_length(group) > 1 ? merge_group(merge, group) : group);
		group = NIL;
		bytes = 0;
	}
	/* the rest waits for more company */
	if (list_length(group) >= merge->table->options->manifest_merge_min_count)
		group = merge_group(merge, group);
	return list_concat(result, group);
}

/* The manifests of a snapshot as the next snapshot's base. */
List *
manifest_merge(LakeTable *table, ManifestNames *names, List *manifests, PendingFiles *files)
{
	ManifestMerge merge = {table, names, files, CurrentMemoryContext};
	List	   *result = NIL;

	merge.work_context = AllocSetContextCreate(CurrentMemoryContext, "lake manifest merge",
											   ALLOCSET_DEFAULT_SIZES);
	if (!full_merge(&merge, manifests, &result))
		result = minor_merge(&merge, manifests);
	MemoryContextDelete(merge.work_context);
	return result;
}
