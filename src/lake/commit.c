/*
 * commit.c
 *		Publishing a snapshot: the only point at which changes become visible.
 *
 * A try is made on top of the latest snapshot.  It writes manifests and their
 * lists, then creates the next snapshot's file, which fails when somebody else
 * was faster.  Then what the try wrote is removed, and the next try starts from
 * the new latest snapshot.
 *
 * Everything that a snapshot names is durable before it is created.  When
 * creating it ends in an error, it is looked up whether it is there: files are
 * only removed when it is certain that no snapshot names them.
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "format/json.h"
#include "lake/clock.h"
#include "lake/commit.h"
#include "lake/conflict.h"
#include "lake/manifest_merge.h"
#include "lake/path.h"
#include "lake/prune.h"
#include "miscadmin.h"
#include "storage/storage.h"
#include "utils/memutils.h"

#define SLEEP_STEP_MS 50

typedef struct CommitTry
{
	LakeTable  *table;
	CommitRequest *request;
	const LakeSnapshot *latest; /* NULL: the table has none */
	List	   *entries;		/* of the delta */
	PendingFiles *files;		/* manifests and lists of this try */
	ManifestNames names;
	LakeSnapshot *snapshot;		/* being made */
} CommitTry;

void		(*lake_commit_lock_hook) (const char *location, bool acquire) = NULL;

static char *
write_list(CommitTry *attempt, List *manifests, int64 *size)
{
	const LakeTable *table = attempt->table;
	char	   *name = manifest_list_write(table->location, &attempt->names, table->options->manifest_compression,
										   manifests, size);

	pending_files_add(attempt->files, manifest_path(table->location, name));
	return name;
}

/* All manifests of the latest snapshot, merged, are the new one's base. */
static void
write_base(CommitTry *attempt)
{
	const LakeSnapshot *latest = attempt->latest;
	const char *location = attempt->table->location;
	List	   *manifests = NIL;

	if (latest != NULL)
	{
		manifests = manifest_list_read(location, latest->base_manifest_list, latest->base_manifest_list_size);
		manifests = list_concat(manifests, manifest_list_read(location, latest->delta_manifest_list,
															  latest->delta_manifest_list_size));
		manifests = manifest_merge(attempt->table, &attempt->names, manifests, attempt->files);
	}
	attempt->snapshot->base_manifest_list = write_list(attempt, manifests,
													   &attempt->snapshot->base_manifest_list_size);
}

/* The changes, in their order. */
static void
write_delta(CommitTry *attempt)
{
	const LakeTable *table = attempt->table;
	List	   *manifests = NIL;
	ListCell   *lc;

	if (attempt->entries != NIL)
	{
		ManifestWriter *writer = manifest_writer_open(table->location, &attempt->names,
													  table->options->manifest_compression,
													  table->options->manifest_target_size,
													  table->partition_types, table->schema->npartition_keys);

		foreach(lc, attempt->entries)
			manifest_writer_add(writer, (const ManifestEntry *) lfirst(lc));
		manifests = manifest_writer_finish(writer);
	}
	foreach(lc, manifests)
		pending_files_add(attempt->files,
						  manifest_path(table->location, ((const ManifestFileMeta *) lfirst(lc))->file_name));
	attempt->snapshot->delta_manifest_list = write_list(attempt, manifests,
														&attempt->snapshot->delta_manifest_list_size);
}

/* Rows added less rows deleted. */
static int64
count_records(List *entries)
{
	int64		records = 0;
	ListCell   *lc;

	foreach(lc, entries)
	{
		const ManifestEntry *entry = (const ManifestEntry *) lfirst(lc);

		records += entry->kind == FILE_ADD ? entry->file->row_count : -entry->file->row_count;
	}
	return records;
}

/* The latest snapshot's table statistics hold on as long as the schema is the same. */
static char *
inherit_statistics(const CommitTry *attempt)
{
	const LakeSnapshot *latest = attempt->latest;
	char	   *path;
	char	   *text;
	size_t		length;

	if (latest->statistics == NULL)
		return NULL;
	path = statistics_path(attempt->table->location, latest->statistics);
	text = storage_read_whole(path, 0, true, &length);
	if (text == NULL ||
		json_get_int64(json_parse_object(text, length, path), "schemaId", -1, path) != attempt->snapshot->schema_id)
		return NULL;
	return latest->statistics;
}

/* Take over what a snapshot carries on from the one before. */
static void
inherit_from_latest(CommitTry *attempt)
{
	LakeSnapshot *snapshot = attempt->snapshot;
	const LakeSnapshot *latest = attempt->latest;

	snapshot->id = 1;
	if (latest == NULL)
		return;
	snapshot->id = latest->id + 1;
	/* time travel searches by time, so it must not go back */
	snapshot->time_millis = Max(snapshot->time_millis, latest->time_millis);
	snapshot->total_record_count += latest->total_record_count;
	snapshot->has_watermark = latest->has_watermark;
	snapshot->watermark = latest->watermark;
	snapshot->next_row_id = latest->next_row_id;
	snapshot->statistics = inherit_statistics(attempt);
	/* index files belong to data files, of which an overwrite of the table leaves none */
	if (!attempt->request->overwrite_table || attempt->request->overwritten)
		snapshot->index_manifest = latest->index_manifest;
}

static void
build_snapshot(CommitTry *attempt)
{
	const CommitRequest *request = attempt->request;
	LakeSnapshot *snapshot = (LakeSnapshot *) palloc0(sizeof(LakeSnapshot));

	attempt->snapshot = snapshot;
	snapshot->schema_id = schema_load_latest(attempt->table->location, false)->id;
	snapshot->commit_user = pstrdup(request->info.commit_user);
	snapshot->commit_identifier = request->info.commit_identifier;
	snapshot->commit_kind = request->kind;
	snapshot->properties = request->info.properties;
	snapshot->time_millis = clock_millis();
	snapshot->delta_record_count = count_records(attempt->entries);
	snapshot->total_record_count = snapshot->delta_record_count;
	inherit_from_latest(attempt);
	write_base(attempt);
	write_delta(attempt);
}

static bool
is_overwritten(const ManifestEntry *entry, void *pruner)
{
	return scan_pruner_keeps_partition((ScanPruner *) pruner, entry->partition);
}

/* An overwrite deletes all files that are live now, then adds the new ones. */
static List *
delta_entries(const CommitTry *attempt)
{
	const CommitRequest *request = attempt->request;
	List	   *entries = NIL;
	ListCell   *lc;

	if (request->overwrite_table && attempt->latest != NULL && request->overwritten == NULL)
		entries = scan_live_entries(attempt->table, attempt->latest, NULL, NULL);
	else if (request->overwrite_table && attempt->latest != NULL)
		entries = scan_live_entries(attempt->table, attempt->latest, is_overwritten,
									scan_pruner_create(attempt->table, request->overwritten));
	foreach(lc, entries)
		((ManifestEntry *) lfirst(lc))->kind = FILE_DELETE;
	return list_concat(entries, request->entries);
}

/*
 * An overwrite deletes what is there, whatever it is, and level-0 files can be
 * added to any state.  All else depends on the files that were read.
 */
static bool
needs_conflict_check(const CommitRequest *request)
{
	ListCell   *lc;

	if (request->overwrite_table)
		return false;
	if (request->kind != COMMIT_APPEND)
		return true;
	foreach(lc, request->entries)
	{
		const ManifestEntry *entry = (const ManifestEntry *) lfirst(lc);

		if (entry->kind == FILE_DELETE || entry->file->level > 0)
			return true;
	}
	return false;
}

/* Is there a snapshot of this id, and is it the one that we tried to create? */
static bool
snapshot_is_ours(const CommitTry *attempt, const ErrorData *cause)
{
	MemoryContext context = CurrentMemoryContext;
	LakeSnapshot *volatile there = NULL;

	PG_TRY();
	{
		there = snapshot_load(attempt->table->location, attempt->snapshot->id, true);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		FlushErrorState();
		ereport(ERROR,
				(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
				 errmsg("outcome of committing snapshot " INT64_FORMAT " of lake table \"%s\" is unknown",
						attempt->snapshot->id, attempt->table->name),
				 errdetail("Creating it failed (%s), and it could not be read.", cause->message)));
	}
	PG_END_TRY();
	return there != NULL && strcmp(there->delta_manifest_list, attempt->snapshot->delta_manifest_list) == 0;
}

/*
 * Create the snapshot's file; false if another was created in its place.
 * Files are held as long as the outcome is not certain.
 */
static bool
publish(CommitTry *attempt)
{
	MemoryContext context = CurrentMemoryContext;
	PendingFiles *data_files = attempt->request->files;
	volatile bool published = false;
	ErrorData  *volatile error = NULL;

	pending_files_hold(attempt->files, true);
	if (data_files != NULL)
		pending_files_hold(data_files, true);
	HOLD_INTERRUPTS();
	PG_TRY();
	{
		published = snapshot_publish(attempt->table->location, attempt->snapshot);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		/* an ERROR lets interrupts in again */
		HOLD_INTERRUPTS();
	}
	PG_END_TRY();
	if (error != NULL)
		published = snapshot_is_ours(attempt, error);
	RESUME_INTERRUPTS();

	pending_files_hold(attempt->files, false);
	if (data_files != NULL)
		pending_files_hold(data_files, false);
	if (!published && error != NULL)
		ReThrowError(error);
	if (published)
	{
		pending_files_forget(attempt->files);
		if (data_files != NULL)
			pending_files_forget(data_files);
	}
	return published;
}

/* One try on top of latest; false when the race was lost. */
static bool
try_commit(CommitTry *attempt)
{
	CommitRequest *request = attempt->request;

	attempt->files = pending_files_create();
	manifest_names_init(&attempt->names);
	attempt->entries = delta_entries(attempt);
	if (needs_conflict_check(request))
		commit_check_conflicts(attempt->table, attempt->latest, request->kind, attempt->entries);
	build_snapshot(attempt);
	return publish(attempt);
}

/* Wait before the next try, longer each time, and not all for the same time. */
static void
wait_before_retry(const TableOptions *options, int tries)
{
	double		limit = (double) options->commit_max_retry_wait_ms;
	double		wait = (double) options->commit_min_retry_wait_ms;

	for (int i = 1; i < tries && wait < limit; i++)
		wait *= 2;
	wait = Min(wait, limit) * (0.5 + pg_prng_double(&pg_global_prng_state));
	while (wait > 0)
	{
		CHECK_FOR_INTERRUPTS();
		pg_usleep((long) (Min(wait, SLEEP_STEP_MS) * 1000));
		wait -= SLEEP_STEP_MS;
	}
}

/* The snapshot made by a try, in the context of whoever wants it. */
static LakeSnapshot *
copy_snapshot(const LakeSnapshot *snapshot, const char *table_name)
{
	char	   *json = snapshot_to_json(snapshot);

	return snapshot_parse(json, strlen(json), table_name);
}

static bool
is_empty(const CommitRequest *request)
{
	return request->entries == NIL && !request->overwrite_table && !request->info.force;
}

/* Make one try in a context of its own; the new snapshot, or NULL when the race was lost. */
static LakeSnapshot *
commit_once(LakeTable *table, CommitRequest *request)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "lake commit", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	CommitTry	attempt = {table, request, snapshot_load_latest(table->location)};
	LakeSnapshot *snapshot = NULL;
	bool		published;

	/* what the hook makes outlives this try */
	MemoryContextSwitchTo(old);
	if (request->before_try != NULL)
		request->before_try(request, attempt.latest, request->arg);
	MemoryContextSwitchTo(context);
	published = try_commit(&attempt);
	MemoryContextSwitchTo(old);
	if (published)
		snapshot = copy_snapshot(attempt.snapshot, table->name);
	MemoryContextDelete(context);
	return snapshot;
}

/* Try until published. */
LakeSnapshot *
lake_commit(LakeTable *table, CommitRequest *request)
{
	LakeSnapshot *snapshot;

	if (is_empty(request))
		return NULL;
	if (lake_commit_lock_hook != NULL)
		lake_commit_lock_hook(table->location, true);
	for (int tries = 1; (snapshot = commit_once(table, request)) == NULL; tries++)
	{
		if (tries > table->options->commit_max_retries)
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("could not commit to lake table \"%s\" after %d retries", table->name,
							table->options->commit_max_retries),
					 errdetail("Other writers committed first each time."),
					 errhint("Try again, or raise the table's option \"commit.max-retries\".")));
		wait_before_retry(table->options, tries);
	}
	if (lake_commit_lock_hook != NULL)
		lake_commit_lock_hook(table->location, false);
	return snapshot;
}
