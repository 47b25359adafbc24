/*
 * compact.c
 *		Compaction of a lake table: choose, rewrite, publish one snapshot.
 *
 * Files that others add meanwhile are newer than all that is merged here, so
 * they are simply left out.  Only a second compactor gets in the way: whoever
 * publishes first wins, the other starts over from the new snapshot.
 */
#include "postgres.h"

#include "lake/commit.h"
#include "lake/compact_unit.h"
#include "lake/index_manifest.h"
#include "lake/plan.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* How often compaction is started when others get in its way */
#define MAX_ATTEMPTS 5

static int
bytes_view_order(BytesView a, BytesView b)
{
	int			order = memcmp(a.data, b.data, Min(a.length, b.length));

	return order != 0 ? order : (a.length < b.length ? -1 : a.length > b.length);
}

static int
entry_bucket_compare(const ListCell *a, const ListCell *b)
{
	const ManifestEntry *first = lfirst(a);
	const ManifestEntry *second = lfirst(b);
	int			order = bytes_view_order(first->partition, second->partition);

	if (order != 0)
		return order;
	return first->bucket < second->bucket ? -1 : first->bucket > second->bucket;
}

static bool
is_real_bucket(const ManifestEntry *entry, void *arg)
{
	return entry->bucket >= 0;
}

/* Columns that were added since the table was opened would be lost. */
static void
check_schema(const LakeTable *table, const DataFileMeta *file)
{
	if (file->schema_id > table->schema->id)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("the schema of lake table \"%s\" has changed meanwhile", table->name),
				 errhint("Try again.")));
}

/* The live files by bucket: List of CompactionBucket *. */
static List *
live_buckets(LakeTable *table, const LakeSnapshot *snapshot)
{
	List	   *entries = scan_live_entries(table, snapshot, is_real_bucket, NULL);
	List	   *buckets = NIL;
	CompactionBucket *bucket = NULL;
	ListCell   *cell;

	list_sort(entries, entry_bucket_compare);
	foreach(cell, entries)
	{
		const ManifestEntry *entry = lfirst(cell);

		check_schema(table, entry->file);
		if (bucket == NULL || bucket->bucket != entry->bucket ||
			bytes_view_order(bucket->partition, entry->partition) != 0)
		{
			bucket = palloc0(sizeof(CompactionBucket));
			bucket->partition = entry->partition;
			bucket->bucket = entry->bucket;
			bucket->total_buckets = entry->total_buckets;
			buckets = lappend(buckets, bucket);
		}
		bucket->files = lappend(bucket->files, entry->file);
	}
	return buckets;
}

static void
compact_buckets(Compaction *compaction, List *buckets, bool full, CompactResult *result)
{
	ListCell   *cell;

	compaction->buckets_total = list_length(buckets);
	foreach(cell, buckets)
	{
		const CompactionBucket *bucket = lfirst(cell);
		int			ndeleted = list_length(compaction->deleted);
		ListCell   *unit;

		CHECK_FOR_INTERRUPTS();
		foreach(unit, pick_compaction(compaction->table, bucket->files, full))
			compact_unit(compaction, bucket, lfirst(unit));
		if (list_length(compaction->deleted) > ndeleted)
			result->buckets++;
		compaction->buckets_done++;
		compaction_report(compaction);
	}
	result->files_before = list_length(compaction->deleted);
	result->files_after = list_length(compaction->added);
	result->rows_written = compaction->rows_written;
	result->bytes_written = compaction->bytes_written;
}

/* Publish; false if somebody else changed the files and may_conflict. */
static bool
publish(Compaction *compaction, const char *commit_user, bool may_conflict, CompactResult *result)
{
	LakeTable  *table = compaction->table;
	MemoryContext context = CurrentMemoryContext;
	volatile bool published = true;
	CommitRequest request = {
		.kind = COMMIT_COMPACT,
		.entries = list_concat(compaction->deleted, compaction->added),
		.info = {.commit_user = commit_user, .commit_identifier = BATCH_COMMIT_IDENTIFIER},
		.files = compaction->pending
	};

	PG_TRY();
	{
		LakeSnapshot *snapshot = lake_commit(table, &request);

		result->snapshot_id = snapshot != NULL ? snapshot->id : 0;
	}
	PG_CATCH();
	{
		if (!may_conflict || geterrcode() != ERRCODE_T_R_SERIALIZATION_FAILURE)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		FlushErrorState();
		if (lake_commit_lock_hook != NULL)
			lake_commit_lock_hook(table->location, false);
		published = false;
	}
	PG_END_TRY();
	return published;
}

/* One attempt in CurrentMemoryContext, with whose end the files of a failed one go. */
static bool
try_compact(LakeTable *table, bool full, int64 since, const char *commit_user, const MaintenanceProgress *progress,
			bool may_conflict, CompactResult *result)
{
	Compaction	compaction = {.table = table, .progress = progress};
	LakeSnapshot *snapshot = snapshot_load_latest(table->location);

	memset(result, 0, sizeof(*result));
	if (snapshot == NULL || (since > 0 && snapshot_overwritten_since(table->location, snapshot, since)))
		return true;
	index_manifest_refuse_deletion_vectors(table, snapshot);
	compaction.pending = pending_files_create();
	compact_buckets(&compaction, live_buckets(table, snapshot), full, result);
	if (compaction.deleted == NIL)
		return true;
	return publish(&compaction, commit_user, may_conflict, result);
}

CompactResult
lake_compact(LakeTable *table, bool full, int64 since, const char *commit_user, const MaintenanceProgress *progress)
{
	CompactResult result;
	bool		done = false;

	options_check_writable(table->schema, table->options, table->name);
	for (int attempt = 1; !done; attempt++)
	{
		MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse compaction",
													  ALLOCSET_DEFAULT_SIZES);
		MemoryContext old = MemoryContextSwitchTo(context);

		done = try_compact(table, full, since, commit_user, progress, attempt < MAX_ATTEMPTS, &result);
		MemoryContextSwitchTo(old);
		MemoryContextDelete(context);
	}
	return result;
}

bool
lake_compaction_due(LakeTable *table)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse compaction check",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	LakeSnapshot *snapshot = snapshot_load_latest(table->location);
	bool		due = false;
	ListCell   *cell;

	if (snapshot != NULL)
	{
		foreach(cell, live_buckets(table, snapshot))
		{
			const CompactionBucket *bucket = lfirst(cell);

			if (pick_compaction(table, bucket->files, false) != NIL)
			{
				due = true;
				break;
			}
		}
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return due;
}
