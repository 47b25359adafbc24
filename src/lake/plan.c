/*
 * plan.c
 *		Scan planning: from a snapshot to the files to read.
 *
 * A snapshot's live files are all ADD entries of its manifests less those with
 * a DELETE entry of the same identity, in whatever order they come (format
 * digest 4.7).  So deleted identities are collected first, and then the ADD
 * entries pass by: what is deleted or pruned is never copied, and memory is
 * in proportion to what is left.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "lake/column_join.h"
#include "lake/data_file.h"
#include "lake/deletion_vector.h"
#include "lake/entry_merge.h"
#include "lake/merge_function.h"
#include "lake/incremental.h"
#include "lake/plan.h"
#include "lake/prune.h"
#include "lake/sections.h"
#include "miscadmin.h"
#include "storage/cache.h"
#include "utils/memutils.h"

/* Small files are read in packs: one counts at least as much, a pack holds at most so much */
#define PACK_FILE_COST (INT64CONST(4) * 1024 * 1024)
#define PACK_TARGET (INT64CONST(32) * 1024 * 1024)

/* A guess */
#define SYSTEM_TABLE_ROWS 100

/* Buckets of partitions; bucket -1 stands for the whole partition */
typedef struct BucketKey
{
	BytesView	partition;
	int32		bucket;
} BucketKey;

typedef struct BucketItem
{
	BucketKey	key;
	int32		total_buckets;
	bool		wanted;			/* of a partition: the predicate allows it */
	int64		live_files;		/* of a partition */
	bool		read;			/* of a partition: it has a split */
	List	   *files;			/* of a bucket: DataFileMeta * to read */
	List	   *before_files;	/* of a bucket: those of an earlier snapshot to compare with */
	uint32		hash;
	char		status;
} BucketItem;

static uint32
bucket_key_hash(BucketKey key)
{
	return hash_combine(hash_bytes((const unsigned char *) key.partition.data, (int) key.partition.length),
						hash_bytes_uint32((uint32) key.bucket));
}

static bool
bucket_key_same(BucketKey a, BucketKey b)
{
	return a.bucket == b.bucket && a.partition.length == b.partition.length &&
		memcmp(a.partition.data, b.partition.data, a.partition.length) == 0;
}

#define SH_PREFIX bucket_map
#define SH_ELEMENT_TYPE BucketItem
#define SH_KEY_TYPE BucketKey
#define SH_KEY key
#define SH_HASH_KEY(table, key) bucket_key_hash(key)
#define SH_EQUAL(table, a, b) bucket_key_same(a, b)
#define SH_STORE_HASH
#define SH_GET_HASH(table, item) (item)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* Collecting the live entries of a list of manifests */
typedef struct LiveScan
{
	MemoryContext result_context;
	MemoryContext set_context;	/* holds deleted */
	EntrySet   *deleted;
	EntryFilter filter;			/* of ADD and DELETE alike; NULL: all */
	EntryFilter keep;			/* of ADD entries that are live; NULL: all */
	void	   *arg;
	List	   *live;			/* ManifestEntry * */
} LiveScan;

/* State of one scan_plan */
typedef struct PlanState
{
	LakeTable  *table;
	ScanPruner *pruner;
	MemoryContext context;		/* for the maps */
	bucket_map_hash *partitions;
	bucket_map_hash *buckets;
	List	   *bucket_order;	/* BucketKey *, as they first occurred */
	ScanPlan   *plan;
	int64		cache_hits;		/* of manifests, before */
} PlanState;

static List *
snapshot_manifests(LakeTable *table, const LakeSnapshot *snapshot)
{
	List	   *base = manifest_list_read(table->location, snapshot->base_manifest_list,
										  snapshot->base_manifest_list_size);

	return list_concat(base, manifest_list_read(table->location, snapshot->delta_manifest_list,
												snapshot->delta_manifest_list_size));
}

static void
visit_delete(const ManifestEntry *entry, void *arg)
{
	LiveScan   *scan = arg;

	if (entry->kind == FILE_DELETE && (scan->filter == NULL || scan->filter(entry, scan->arg)))
		entry_set_add(scan->deleted, entry);
}

static void
visit_add(const ManifestEntry *entry, void *arg)
{
	LiveScan   *scan = arg;
	MemoryContext old;

	if (entry->kind != FILE_ADD || (scan->filter != NULL && !scan->filter(entry, scan->arg)))
		return;
	if (entry_set_contains(scan->deleted, entry))
		return;
	if (scan->keep != NULL && !scan->keep(entry, scan->arg))
		return;
	old = MemoryContextSwitchTo(scan->result_context);
	scan->live = lappend(scan->live, manifest_entry_copy(entry));
	MemoryContextSwitchTo(old);
}

static void
live_scan_begin(LiveScan *scan)
{
	MemoryContext old;

	scan->result_context = CurrentMemoryContext;
	scan->set_context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse deleted files",
											  ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(scan->set_context);
	scan->deleted = entry_set_create();
	MemoryContextSwitchTo(old);
}

static void
live_scan_read(LiveScan *scan, const char *location, List *manifests)
{
	ListCell   *cell;

	foreach(cell, manifests)
	{
		const ManifestFileMeta *manifest = lfirst(cell);

		CHECK_FOR_INTERRUPTS();
		if (manifest->num_deleted_files > 0)
			manifest_read(location, manifest, visit_delete, scan);
	}
	foreach(cell, manifests)
	{
		const ManifestFileMeta *manifest = lfirst(cell);

		CHECK_FOR_INTERRUPTS();
		if (manifest->num_added_files > 0)
			manifest_read(location, manifest, visit_add, scan);
	}
}

List *
scan_live_entries(LakeTable *table, const LakeSnapshot *snapshot, EntryFilter filter, void *arg)
{
	LiveScan	scan = {.filter = filter, .arg = arg};

	if (snapshot == NULL)
		return NIL;
	live_scan_begin(&scan);
	live_scan_read(&scan, table->location, snapshot_manifests(table, snapshot));
	MemoryContextDelete(scan.set_context);
	return scan.live;
}

void
scan_manifest_entries(LakeTable *table, const LakeSnapshot *snapshot, ManifestEntryCallback callback, void *arg)
{
	ListCell   *cell;

	if (snapshot == NULL)
		return;
	foreach(cell, snapshot_manifests(table, snapshot))
	{
		CHECK_FOR_INTERRUPTS();
		manifest_read(table->location, lfirst(cell), callback, arg);
	}
}

typedef struct EntryList
{
	MemoryContext context;
	List	   *entries;
} EntryList;

static void
append_entry(const ManifestEntry *entry, void *arg)
{
	EntryList  *list = arg;
	MemoryContext old = MemoryContextSwitchTo(list->context);

	list->entries = lappend(list->entries, manifest_entry_copy(entry));
	MemoryContextSwitchTo(old);
}

List *
scan_delta_entries(LakeTable *table, const LakeSnapshot *snapshot)
{
	EntryList	list = {.context = CurrentMemoryContext};
	ListCell   *cell;

	foreach(cell, manifest_list_read(table->location, snapshot->delta_manifest_list,
									 snapshot->delta_manifest_list_size))
	{
		CHECK_FOR_INTERRUPTS();
		manifest_read(table->location, lfirst(cell), append_entry, &list);
	}
	return list.entries;
}

/* The item of a bucket, or of a partition; made, with its key copied, if it is new. */
static BucketItem *
bucket_item(PlanState *state, bucket_map_hash *map, BytesView partition, int32 bucket, bool *is_new)
{
	BucketKey	key = {.partition = partition, .bucket = bucket};
	BucketItem *item = bucket_map_lookup(map, key);
	bool		found;
	char	   *copy;

	*is_new = item == NULL;
	if (item != NULL)
		return item;
	copy = MemoryContextAlloc(state->context, Max(partition.length, 1));
	memcpy(copy, partition.data, partition.length);
	key.partition.data = copy;
	item = bucket_map_insert(map, key, &found);
	item->total_buckets = 0;
	item->wanted = true;
	item->live_files = 0;
	item->read = false;
	item->files = NIL;
	item->before_files = NIL;
	return item;
}

static BucketItem *
partition_item(PlanState *state, BytesView partition)
{
	bool		is_new;
	BucketItem *item = bucket_item(state, state->partitions, partition, -1, &is_new);

	if (is_new)
		item->wanted = scan_pruner_keeps_partition(state->pruner, partition);
	return item;
}

/*
 * With deletion vectors, level 0 shows only after it was compacted, which makes
 * the vectors; and so where the first row of a key counts, which compaction finds.
 */
static bool
is_hidden(const LakeTable *table, const DataFileMeta *file)
{
	/* changes are in level 0 */
	if (table->incremental != NULL && table->incremental->mode != INCREMENTAL_DIFF)
		return false;
	if (table->view == VIEW_READ_OPTIMIZED && table->has_primary_key)
		return file->level != table->options->num_levels - 1;
	return file->level == 0 && table->has_primary_key &&
		(table->options->deletion_vectors || table->options->merge_engine == MERGE_FIRST_ROW);
}

/*
 * Is the entry in a bucket that may matter?  Live files are counted here, as
 * ADD less DELETE, so that nothing need be kept of partitions that do not.
 */
static bool
plan_filter(const ManifestEntry *entry, void *arg)
{
	PlanState  *state = arg;
	BucketItem *partition;

	/* postponed buckets are not read, and their manifests neither */
	if (entry->bucket < 0)
		return false;
	partition = partition_item(state, entry->partition);
	partition->live_files += entry->kind == FILE_ADD ? 1 : -1;
	return partition->wanted && !is_hidden(state->table, entry->file) &&
		scan_pruner_keeps_bucket(state->pruner, entry->bucket, entry->total_buckets);
}

static bool
plan_keep(const ManifestEntry *entry, void *arg)
{
	PlanState  *state = arg;

	return scan_pruner_keeps_keys(state->pruner, entry->file);
}

/* Manifests that may have entries that matter. */
static List *
plan_manifests(PlanState *state, const LakeSnapshot *snapshot)
{
	ScanCounters *counters = &state->plan->counters;
	List	   *manifests = snapshot_manifests(state->table, snapshot);
	List	   *kept = NIL;
	ListCell   *cell;

	counters->manifests = list_length(manifests);
	foreach(cell, manifests)
		if (scan_pruner_keeps_manifest(state->pruner, lfirst(cell)))
			kept = lappend(kept, lfirst(cell));
	counters->manifests_read = list_length(kept);
	return kept;
}

/* Those of the candidates that this transaction has not deleted, and that may matter. */
static List *
choose_candidates(PlanState *state, const ScanCandidates *candidates, EntrySet *deleted)
{
	List	   *chosen = NIL;
	ListCell   *cell;

	state->plan->counters.manifests = candidates->counters.manifests;
	state->plan->counters.manifests_read = candidates->counters.manifests_read;
	state->plan->counters.manifests_cached = candidates->counters.manifests_cached;
	foreach(cell, candidates->entries)
	{
		ManifestEntry *entry = lfirst(cell);

		if (plan_filter(entry, state) && !entry_set_contains(deleted, entry) && plan_keep(entry, state))
			chosen = lappend(chosen, entry);
	}
	return chosen;
}

/* The live entries to read, published and not. */
static List *
plan_entries(PlanState *state, const ScanRequest *request)
{
	LiveScan	scan = {.filter = plan_filter, .keep = plan_keep, .arg = state};
	List	   *manifests = NIL;
	List	   *published;
	ListCell   *cell;

	live_scan_begin(&scan);
	if (request->snapshot != NULL && !request->truncated && request->candidates == NULL)
		manifests = plan_manifests(state, request->snapshot);
	foreach(cell, request->extra_entries)
		visit_delete(lfirst(cell), &scan);
	live_scan_read(&scan, state->table->location, manifests);
	published = scan.live;
	if (request->candidates != NULL)
		published = choose_candidates(state, request->candidates, scan.deleted);
	else if (request->snapshot != NULL)
		deletion_vectors_find(state->table, request->snapshot, published);
	scan.live = NIL;
	foreach(cell, request->extra_entries)
		visit_add(lfirst(cell), &scan);
	foreach(cell, scan.live)
		((ManifestEntry *) lfirst(cell))->file->unpublished = true;
	MemoryContextDelete(scan.set_context);
	return list_concat(published, scan.live);
}

/* Does a file that lists its columns have all of its schema's? */
static bool
has_all_columns(LakeTable *table, const DataFileMeta *file)
{
	const TableSchema *schema = lake_table_schema(table, file->schema_id);

	for (int i = 0; i < schema->nfields; i++)
	{
		bool		found = FIELD_ID_IS_OF_VIEW(schema->fields[i].id);
		ListCell   *cell;

		foreach(cell, file->write_cols)
			found |= strcmp(lfirst(cell), schema->fields[i].name) == 0;
		if (!found)
			return false;
	}
	return true;
}

static void
check_file_readable(LakeTable *table, const DataFileMeta *file)
{
	(void) data_file_format(table, file->file_name);
	if (file->has_write_cols && !table->options->data_evolution && !has_all_columns(table, file))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" has data files with a part of the columns, which is not supported", table->name),
				 errdetail("Data file \"%s\" is one of them.", file->file_name)));
}

static void
group_by_bucket(PlanState *state, List *entries, bool before)
{
	ListCell   *cell;

	foreach(cell, entries)
	{
		const ManifestEntry *entry = lfirst(cell);
		bool		is_new;
		BucketItem *item;

		check_file_readable(state->table, entry->file);
		item = bucket_item(state, state->buckets, entry->partition, entry->bucket, &is_new);
		if (is_new)
		{
			BucketKey  *key = palloc(sizeof(BucketKey));

			*key = item->key;
			key->partition = entry->partition;
			item->total_buckets = entry->total_buckets;
			state->bucket_order = lappend(state->bucket_order, key);
		}
		if (before)
			item->before_files = lappend(item->before_files, entry->file);
		else
			item->files = lappend(item->files, entry->file);
	}
}

static Split *
add_split(PlanState *state, const BucketKey *key, int32 total_buckets, List *files, bool raw)
{
	ScanPlan   *plan = state->plan;
	Split	   *split = palloc0(sizeof(Split));
	ListCell   *cell;

	split->partition = key->partition;
	split->bucket = key->bucket;
	split->total_buckets = total_buckets;
	split->raw = raw;
	split->files = files;
	foreach(cell, files)
	{
		const DataFileMeta *file = lfirst(cell);

		split->row_count += file->row_count;
		split->bytes += file->file_size;
	}
	plan->splits = lappend(plan->splits, split);
	plan->row_count += split->row_count;
	plan->bytes += split->bytes;
	plan->counters.files_read += list_length(files);
	partition_item(state, key->partition)->read = true;
	return split;
}

/* Raw files in packs, less those that hold no matching row. */
static void
add_raw_splits(PlanState *state, const BucketKey *key, int32 total_buckets, List *files)
{
	List	   *pack = NIL;
	int64		weight = 0;
	ListCell   *cell;

	foreach(cell, files)
	{
		DataFileMeta *file = lfirst(cell);
		int64		cost = Max(file->file_size, PACK_FILE_COST);

		if (!scan_pruner_keeps_rows(state->pruner, file))
			continue;
		if (pack != NIL && weight + cost > PACK_TARGET)
		{
			add_split(state, key, total_buckets, pack, true);
			pack = NIL;
			weight = 0;
		}
		pack = lappend(pack, file);
		weight += cost;
	}
	if (pack != NIL)
		add_split(state, key, total_buckets, pack, true);
}

/*
 * Files of one level above 0 without deletes lie apart: nothing is to be merged.
 * Where deletion vectors have marked older rows, levels do not matter; nor
 * where compaction lets nothing but the first row of a key above level 0.
 */
static bool
files_need_no_merge(const LakeTable *table, List *files)
{
	bool		one_level = !table->options->deletion_vectors && table->options->merge_engine != MERGE_FIRST_ROW;
	const DataFileMeta *first = linitial(files);
	ListCell   *cell;

	foreach(cell, files)
	{
		const DataFileMeta *file = lfirst(cell);

		if (file->level == 0 || data_file_may_have_deletes(file) ||
			(file->level != first->level && one_level))
			return false;
	}
	return true;
}

/*
 * May rows of the section match?  Older rows of a key may where the newest does
 * not: all files are read or none.  A computed row may match where none of
 * those that it is made of does.
 */
static bool
section_may_match(PlanState *state, List *section)
{
	ListCell   *cell;

	if (list_length(section) > 1 && !merge_engine_picks(state->table->options))
		return true;
	foreach(cell, section)
		if (scan_pruner_keeps_rows(state->pruner, lfirst(cell)))
			return true;
	return false;
}

static void
add_section_split(PlanState *state, const BucketKey *key, int32 total_buckets, List *section)
{
	if (section_may_match(state, section))
		add_split(state, key, total_buckets, section,
				  list_length(section) == 1 && !data_file_may_have_deletes(linitial(section)));
}

/* Groups of files with different columns of the same rows; no file's statistics tell of the others' columns. */
static void
add_joined_splits(PlanState *state, const BucketKey *key, int32 total_buckets, List *files)
{
	List	   *raw = NIL;
	ListCell   *cell;

	foreach(cell, column_join_groups(state->table, files))
	{
		List	   *group = lfirst(cell);

		if (list_length(group) == 1)
			raw = lappend(raw, linitial(group));
		else
			add_split(state, key, total_buckets, group, false)->joined = true;
	}
	add_raw_splits(state, key, total_buckets, raw);
}

static void
add_bucket_splits(PlanState *state, const BucketKey *key)
{
	BucketItem *bucket = bucket_map_lookup(state->buckets, *key);
	ListCell   *cell;

	CHECK_FOR_INTERRUPTS();
	if (state->table->options->data_evolution)
	{
		add_joined_splits(state, key, bucket->total_buckets, bucket->files);
		return;
	}
	/* kinds of rows come from the merge */
	if (state->table->has_primary_key && state->table->view == VIEW_AUDIT_LOG)
	{
		foreach(cell, interval_partition(state->table, bucket->files))
			add_split(state, key, bucket->total_buckets, lfirst(cell), false);
		return;
	}
	if (!state->table->has_primary_key || files_need_no_merge(state->table, bucket->files))
	{
		add_raw_splits(state, key, bucket->total_buckets, bucket->files);
		return;
	}
	foreach(cell, interval_partition(state->table, bucket->files))
		add_section_split(state, key, bucket->total_buckets, lfirst(cell));
}

static void
add_diff_split(PlanState *state, const BucketKey *key, const BucketItem *bucket)
{
	Split	   *split;

	if (bucket->files == NIL && bucket->before_files == NIL)
		return;
	split = add_split(state, key, bucket->total_buckets, bucket->files, false);
	split->is_diff = true;
	split->before_files = bucket->before_files;
}

/* The live entries of a snapshot, NULL: none. */
static List *
plan_snapshot(PlanState *state, const LakeSnapshot *snapshot)
{
	ScanRequest request = {.snapshot = snapshot};

	return plan_entries(state, &request);
}

/* What changed: rows as they are in files that were added, or rows of buckets whose files changed. */
static void
plan_incremental(PlanState *state, const Incremental *incremental)
{
	bool		is_diff = incremental->mode == INCREMENTAL_DIFF;
	ListCell   *cell;

	if (is_diff)
	{
		group_by_bucket(state, plan_snapshot(state, incremental->start), true);
		group_by_bucket(state, plan_snapshot(state, incremental->end), false);
	}
	else
		group_by_bucket(state, incremental_entries(state->table, incremental, plan_filter, state), false);
	foreach(cell, state->bucket_order)
	{
		const BucketKey *key = lfirst(cell);
		BucketItem *bucket = bucket_map_lookup(state->buckets, *key);

		if (is_diff)
			incremental_remove_common(&bucket->before_files, &bucket->files);
		if (is_diff && state->table->has_primary_key)
			add_diff_split(state, key, bucket);
		else
			add_raw_splits(state, key, bucket->total_buckets, bucket->files);
	}
}

static void
count_partitions(PlanState *state)
{
	ScanCounters *counters = &state->plan->counters;
	bucket_map_iterator iterator;
	BucketItem *item;

	bucket_map_start_iterate(state->partitions, &iterator);
	while ((item = bucket_map_iterate(state->partitions, &iterator)) != NULL)
	{
		if (item->live_files <= 0)
			continue;
		counters->files += item->live_files;
		counters->partitions++;
		if (item->read)
			counters->partitions_read++;
	}
}

/* The rows of a system table are one split, whose number is not known before. */
static ScanPlan *
plan_system_table(const LakeSnapshot *snapshot)
{
	ScanPlan   *plan = palloc0(sizeof(ScanPlan));
	Split	   *split = palloc0(sizeof(Split));

	split->snapshot = snapshot;
	split->row_count = SYSTEM_TABLE_ROWS;
	plan->splits = list_make1(split);
	plan->row_count = split->row_count;
	return plan;
}

static void
plan_begin(PlanState *state, const Predicate *predicate)
{
	state->plan = palloc0(sizeof(ScanPlan));
	state->cache_hits = cache_hits(CACHE_MANIFEST);
	state->context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse scan planning",
										   ALLOCSET_DEFAULT_SIZES);
	state->partitions = bucket_map_create(state->context, 64, NULL);
	state->buckets = bucket_map_create(state->context, 64, NULL);
	state->pruner = scan_pruner_create(state->table, predicate);
}

static void
count_splits(ScanPlan *plan)
{
	ListCell   *cell;

	plan->counters.splits = list_length(plan->splits);
	foreach(cell, plan->splits)
	{
		const Split *split = lfirst(cell);

		plan->counters.merged_splits += !split->raw && !split->joined;
	}
}

static void
plan_end(PlanState *state)
{
	count_partitions(state);
	count_splits(state->plan);
	state->plan->counters.manifests_cached += cache_hits(CACHE_MANIFEST) - state->cache_hits;
	scan_pruner_free(state->pruner);
	MemoryContextDelete(state->context);
}

ScanCandidates *
scan_candidates(LakeTable *table, const ScanRequest *request)
{
	PlanState	state = {.table = table};
	ScanRequest published = *request;
	ScanCandidates *candidates;

	if (table->view == VIEW_SYSTEM || table->view == VIEW_BINLOG || table->incremental != NULL)
		return NULL;
	published.extra_entries = NIL;
	candidates = palloc0(sizeof(ScanCandidates));
	plan_begin(&state, request->predicate);
	candidates->entries = plan_entries(&state, &published);
	plan_end(&state);
	candidates->counters = state.plan->counters;
	return candidates;
}

ScanPlan *
scan_plan(LakeTable *table, const ScanRequest *request)
{
	PlanState	state = {.table = table};
	ListCell   *cell;

	if (table->view == VIEW_SYSTEM)
		return plan_system_table(request->snapshot);
	if (table->view == VIEW_BINLOG)
	{
		ScanRequest rows = *request;

		/* the predicate is about arrays */
		rows.predicate = NULL;
		return scan_plan(table->base, &rows);
	}
	plan_begin(&state, request->predicate);
	if (table->incremental != NULL)
		plan_incremental(&state, table->incremental);
	else
	{
		group_by_bucket(&state, plan_entries(&state, request), false);
		foreach(cell, state.bucket_order)
			add_bucket_splits(&state, lfirst(cell));
	}
	plan_end(&state);
	return state.plan;
}
