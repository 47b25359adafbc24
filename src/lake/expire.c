/*
 * expire.c
 *		Expiration of snapshots.
 *
 * Source: format digest section 9.6.  Nothing is removed by its age on disk,
 * only by what snapshots and tags say.  Data files go first, then manifests,
 * then the snapshots that name them: a crash in between leaves snapshots whose
 * files are partly gone, and the next run goes on with them.
 */
#include "postgres.h"

#include "format/json.h"
#include "lake/clock.h"
#include "lake/expire_data.h"
#include "lake/index_manifest.h"
#include "lake/maintain.h"
#include "lake/name_set.h"
#include "lake/path.h"
#include "miscadmin.h"
#include "storage/storage.h"
#include "utils/memutils.h"

#define TAG_PREFIX "tag-"
#define TAG_MARKS_FOLDER "tag-success-file"
#define CONSUMER_PREFIX "consumer-"

typedef struct Expiration
{
	LakeTable  *table;
	int64		begin;			/* first snapshot to expire */
	int64		end;			/* first to stay */
	List	   *tags;			/* LakeSnapshot *, ascending */
	NameSet    *kept;			/* names of metadata files that must stay */
	int64		manifest_files; /* removed */
} Expiration;

/* ---- what is to expire ---- */

/* The smallest next snapshot of the table's consumers: what they have not read must stay. */
static int64
next_snapshot_of_consumers(const LakeTable *table)
{
	char	   *folder = storage_join(table->location, "consumer");
	int64		smallest = PG_INT64_MAX;
	ListCell   *lc;

	foreach(lc, storage_list(folder))
	{
		const char *name = (const char *) lfirst(lc);
		char	   *path = storage_join(folder, name);
		char	   *text;
		size_t		length;
		int64		next;

		if (strncmp(name, CONSUMER_PREFIX, strlen(CONSUMER_PREFIX)) != 0)
			continue;
		text = storage_read_whole(path, 0, true, &length);
		if (text == NULL)
			continue;
		next = json_get_int64(json_parse_object(text, length, path), "nextSnapshot", -1, path);
		if (next < 0)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("consumer file \"%s\" has no next snapshot", path)));
		smallest = Min(smallest, next);
	}
	return smallest;
}

/* The first of lo .. end - 1 that was not made before a time, else end. */
static int64
first_to_keep_by_age(const LakeTable *table, int64 lo, int64 end, int64 older_than)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "lake snapshot ages",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	int64		id;

	for (id = lo; id < end; id++)
	{
		LakeSnapshot *snapshot = snapshot_load(table->location, id, true);

		CHECK_FOR_INTERRUPTS();
		if (snapshot != NULL && snapshot->time_millis >= older_than)
			break;
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return Min(id, end);
}

/* Find the range; false when nothing expires. */
static bool
find_range(Expiration *expiration, int64 retain_max, int64 retain_min, int64 older_than)
{
	const LakeTable *table = expiration->table;
	int64		earliest = snapshot_earliest_id(table->location);
	int64		latest = snapshot_latest_id(table->location);
	int64		next_read;
	int64		lo;
	int64		end;

	if (latest == 0 || earliest == 0)
		return false;
	lo = Max(latest - retain_max + 1, earliest);
	end = latest - retain_min + 1;
	next_read = next_snapshot_of_consumers(table);
	end = Min(end, next_read);
	end = Min(end, earliest + table->options->snapshot_expire_limit);
	end = first_to_keep_by_age(table, lo, end, older_than);
	expiration->begin = earliest;
	expiration->end = end;
	return end > earliest;
}

/* An interrupted run may have removed the first snapshots of a range, but for a later one: start behind. */
static void
skip_missing_snapshots(Expiration *expiration)
{
	for (int64 id = expiration->end - 1; id >= expiration->begin; id--)
	{
		if (!storage_exists(snapshot_path(expiration->table->location, id)))
		{
			expiration->begin = id + 1;
			break;
		}
	}
}

static int
compare_snapshot_ids(const ListCell *a, const ListCell *b)
{
	int64		x = ((const LakeSnapshot *) lfirst(a))->id;
	int64		y = ((const LakeSnapshot *) lfirst(b))->id;

	return (x > y) - (x < y);
}

/* The snapshots that tags hold. */
static void
load_tags(Expiration *expiration)
{
	const char *location = expiration->table->location;
	ListCell   *lc;

	foreach(lc, storage_list(storage_join(location, "tag")))
	{
		const char *name = (const char *) lfirst(lc);
		LakeSnapshot *tag;

		if (strncmp(name, TAG_PREFIX, strlen(TAG_PREFIX)) != 0 || strcmp(name, TAG_MARKS_FOLDER) == 0)
			continue;
		tag = snapshot_load_tag(location, name + strlen(TAG_PREFIX), true);
		if (tag != NULL)
			expiration->tags = lappend(expiration->tags, tag);
	}
	list_sort(expiration->tags, compare_snapshot_ids);
}

/* ---- metadata files ---- */

static void
keep_list(Expiration *expiration, const char *name, int64 size)
{
	ListCell   *lc;

	name_set_add(expiration->kept, name);
	foreach(lc, manifest_list_read(expiration->table->location, name, size))
		name_set_add(expiration->kept, ((const ManifestFileMeta *) lfirst(lc))->file_name);
}

/* All metadata files that a snapshot or tag needs must stay. */
static void
keep_snapshot(Expiration *expiration, const LakeSnapshot *snapshot)
{
	ListCell   *lc;

	keep_list(expiration, snapshot->base_manifest_list, snapshot->base_manifest_list_size);
	keep_list(expiration, snapshot->delta_manifest_list, snapshot->delta_manifest_list_size);
	if (snapshot->index_manifest != NULL)
	{
		name_set_add(expiration->kept, snapshot->index_manifest);
		foreach(lc, index_manifest_file_names(expiration->table->location, snapshot->index_manifest))
			name_set_add(expiration->kept, (const char *) lfirst(lc));
	}
	if (snapshot->statistics != NULL)
		name_set_add(expiration->kept, snapshot->statistics);
}

/*
 * Collect the names that stay: those of the first snapshot that stays, and of
 * the tags from the last at or before the range up to its end.
 */
static void
collect_kept(Expiration *expiration)
{
	int			first = 0;

	expiration->kept = name_set_create();
	keep_snapshot(expiration, snapshot_load(expiration->table->location, expiration->end, false));
	for (int i = 0; i < list_length(expiration->tags); i++)
	{
		if (((const LakeSnapshot *) list_nth(expiration->tags, i))->id <= expiration->begin)
			first = i;
	}
	for (int i = first; i < list_length(expiration->tags); i++)
	{
		const LakeSnapshot *tag = (const LakeSnapshot *) list_nth(expiration->tags, i);

		CHECK_FOR_INTERRUPTS();
		if (tag->id >= expiration->end)
			break;
		keep_snapshot(expiration, tag);
	}
}

/* Remove a metadata file unless it is kept, or was removed before. */
static void
remove_unless_kept(Expiration *expiration, const char *name, const char *path)
{
	if (name_set_add(expiration->kept, name) && storage_remove(path, true))
		expiration->manifest_files++;
}

static void
remove_list(Expiration *expiration, const char *name, int64 size)
{
	const char *location = expiration->table->location;
	List	   *manifests;
	ListCell   *lc;

	if (name == NULL || name_set_contains(expiration->kept, name) ||
		!manifest_list_read_if_there(location, name, size, &manifests))
		return;
	foreach(lc, manifests)
	{
		const char *manifest = ((const ManifestFileMeta *) lfirst(lc))->file_name;

		CHECK_FOR_INTERRUPTS();
		remove_unless_kept(expiration, manifest, manifest_path(location, manifest));
	}
	remove_unless_kept(expiration, name, manifest_path(location, name));
}

/* Remove the metadata files of a snapshot that expires. */
static void
remove_metadata(Expiration *expiration, const LakeSnapshot *snapshot)
{
	const char *location = expiration->table->location;
	const char *index = snapshot->index_manifest;
	ListCell   *lc;

	remove_list(expiration, snapshot->base_manifest_list, snapshot->base_manifest_list_size);
	remove_list(expiration, snapshot->delta_manifest_list, snapshot->delta_manifest_list_size);
	remove_list(expiration, snapshot->changelog_manifest_list, snapshot->changelog_manifest_list_size);
	if (index != NULL && !name_set_contains(expiration->kept, index) &&
		storage_exists(manifest_path(location, index)))
	{
		foreach(lc, index_manifest_file_names(location, index))
			remove_unless_kept(expiration, (const char *) lfirst(lc),
							   index_path(location, (const char *) lfirst(lc)));
		remove_unless_kept(expiration, index, manifest_path(location, index));
	}
	if (snapshot->statistics != NULL)
		remove_unless_kept(expiration, snapshot->statistics, statistics_path(location, snapshot->statistics));
}

/* ---- the whole ---- */

typedef void (*SnapshotAction) (Expiration *expiration, DataExpiration *data, const LakeSnapshot *snapshot);

static void
remove_deleted_data(Expiration *expiration, DataExpiration *data, const LakeSnapshot *snapshot)
{
	data_expiration_remove_deleted(data, snapshot);
}

static void
remove_changelog_data(Expiration *expiration, DataExpiration *data, const LakeSnapshot *snapshot)
{
	data_expiration_remove_changelog(data, snapshot);
}

static void
remove_snapshot_metadata(Expiration *expiration, DataExpiration *data, const LakeSnapshot *snapshot)
{
	remove_metadata(expiration, snapshot);
}

/* Do something for each snapshot of first .. last that is there. */
static void
for_snapshots(Expiration *expiration, DataExpiration *data, int64 first, int64 last, SnapshotAction action)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "lake expired snapshot",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	for (int64 id = first; id <= last; id++)
	{
		const LakeSnapshot *snapshot = snapshot_load(expiration->table->location, id, true);

		CHECK_FOR_INTERRUPTS();
		if (snapshot != NULL)
			action(expiration, data, snapshot);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

static void
expire_range(Expiration *expiration, ExpireResult *result)
{
	const char *location = expiration->table->location;
	DataExpiration *data;

	load_tags(expiration);
	collect_kept(expiration);
	data = data_expiration_begin(expiration->table, expiration->tags);
	for_snapshots(expiration, data, expiration->begin + 1, expiration->end, remove_deleted_data);
	for_snapshots(expiration, data, expiration->begin, expiration->end - 1, remove_changelog_data);
	result->data_files = data_expiration_end(data);
	for_snapshots(expiration, NULL, expiration->begin, expiration->end - 1, remove_snapshot_metadata);
	result->manifest_files = expiration->manifest_files;
	for (int64 id = expiration->begin; id < expiration->end; id++)
	{
		CHECK_FOR_INTERRUPTS();
		if (storage_remove(snapshot_path(location, id), true))
			result->snapshots++;
	}
	snapshot_write_earliest_hint(location, expiration->end);
}

static void
check_limits(int64 retain_max, int64 retain_min)
{
	if (retain_min < 1 || retain_max < retain_min)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid numbers of snapshots to retain: at least " INT64_FORMAT ", at most " INT64_FORMAT,
						retain_min, retain_max),
				 errdetail("At least one snapshot must stay, and the maximum cannot be below the minimum.")));
}

ExpireResult
lake_expire_snapshots(LakeTable *table, int64 retain_max, int64 retain_min, int64 older_than)
{
	const TableOptions *options = table->options;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "lake expiration",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Expiration	expiration = {table};
	ExpireResult result = {0};

	options_check_expirable(table->schema, options, table->name);
	if (retain_max < 0)
		retain_max = options->snapshot_num_retained_max;
	if (retain_min < 0)
		retain_min = Min(options->snapshot_num_retained_min, retain_max);
	if (older_than < 0)
		older_than = clock_millis() - options->snapshot_time_retained_ms;
	check_limits(retain_max, retain_min);
	if (find_range(&expiration, retain_max, retain_min, older_than))
	{
		skip_missing_snapshots(&expiration);
		expire_range(&expiration, &result);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return result;
}
