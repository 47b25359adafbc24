#include "postgres.h"

#include "lake/manifest_merge.h"
#include "lake/path.h"
#include "lake/pending_files.h"
#include "lake_fixture.h"
#include "storage/storage.h"
#include "utils/memutils.h"

static CommitRequest
request_of(CommitKind kind, List *entries)
{
	CommitRequest request = {.kind = kind,.entries = entries};

	request.info.commit_user = "test";
	request.info.commit_identifier = BATCH_COMMIT_IDENTIFIER;
	return request;
}

static ManifestEntry *
entry_of_kind(const ManifestEntry *entry, FileKind kind, int level)
{
	ManifestEntry *copy = manifest_entry_copy(entry);

	copy->kind = kind;
	copy->file->level = level;
	return copy;
}

/* ---- pending files ---- */

static char *
pending_path(const char *name)
{
	char	   *path = storage_join(unit_directory(), name);

	storage_replace(path, "x", 1);
	return path;
}

static void
test_pending_files(void)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "pending", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = CurrentMemoryContext;
	PendingFiles *files;
	char	   *a = pending_path("a");
	char	   *b = pending_path("b");

	MemoryContextSwitchTo(context);
	files = pending_files_create();
	MemoryContextSwitchTo(old);
	pending_files_add(files, a);
	pending_files_add(files, b);
	pending_files_cut(files, 1);
	CHECK(storage_exists(a) && !storage_exists(b));
	pending_files_forget(files);
	CHECK_INT(pending_files_count(files), 0);
	pending_files_add(files, a);
	pending_files_hold(files, true);
	MemoryContextReset(context);
	CHECK(storage_exists(a));

	MemoryContextSwitchTo(context);
	files = pending_files_create();
	MemoryContextSwitchTo(old);
	pending_files_add(files, a);
	MemoryContextDelete(context);
	CHECK(!storage_exists(a));
}

/* ---- races ---- */

typedef struct Rival
{
	LakeTable  *table;
	int			commits_left;
	int64		seen;			/* the last snapshot that a try was based on */
} Rival;

/* Commit behind the back of a try that has looked at the latest snapshot already. */
static void
commit_before_try(CommitRequest *request, const LakeSnapshot *latest, void *arg)
{
	Rival	   *rival = (Rival *) arg;

	rival->seen = latest != NULL ? latest->id : 0;
	if (rival->commits_left-- > 0)
		fixture_put(rival->table, ROW_INSERT, rival->commits_left, 1);
}

static void
test_lost_race(void)
{
	static const char *const options[] = {"bucket=2", "commit.min-retry-wait=1 ms", "commit.max-retries=3", NULL};
	LakeTable  *table = fixture_table(true, options);
	Rival		rival = {table, 3};
	CommitRequest request = request_of(COMMIT_APPEND, NIL);
	LakeSnapshot *snapshot;

	CHECK(lake_commit(table, &request) == NULL);
	request.info.force = true;
	request.before_try = commit_before_try;
	request.arg = &rival;
	snapshot = lake_commit(table, &request);
	CHECK_INT(snapshot->id, 4);
	CHECK_INT(rival.seen, 3);
	CHECK_INT(snapshot->total_record_count, 3);
	CHECK_INT(snapshot->delta_record_count, 0);
	/* lost tries leave nothing: two lists a snapshot, a manifest for each that has rows */
	CHECK_INT(fixture_count_files(table, "manifest", "manifest-list-"), 8);
	CHECK_INT(fixture_count_files(table, "manifest", "manifest-"), 11);

	rival.commits_left = 100;
	CHECK_ERROR(ERRCODE_T_R_SERIALIZATION_FAILURE, "after 3 retries", lake_commit(table, &request));
	CHECK_INT(rival.commits_left, 96);
	CHECK_INT(snapshot_latest_id(table->location), 8);
}

static void
test_failed_commit(void)
{
	LakeTable  *table = fixture_key_table();
	TableWriter *writer;

	fixture_put(table, ROW_INSERT, 1, 1);
	writer = table_writer_open(table, 100000);
	fixture_append(writer, ROW_INSERT, 2, 2);
	table_writer_prepare(writer);
	CHECK_INT(fixture_count_data_files(table), 2);
	/* snapshots have no place */
	storage_remove_tree(storage_join(table->location, "snapshot"));
	storage_replace(storage_join(table->location, "snapshot"), "", 0);
	CHECK_ERROR(0, "snapshot", fixture_commit(writer));
	table_writer_close(writer);
	CHECK_INT(fixture_count_data_files(table), 1);
}

static int	lock_depth;
static int	lock_calls;

static void
count_locks(const char *location, bool acquire)
{
	lock_depth += acquire ? 1 : -1;
	lock_calls++;
}

static void
test_lock_hook(void)
{
	LakeTable  *table = fixture_key_table();

	lake_commit_lock_hook = count_locks;
	fixture_put(table, ROW_INSERT, 1, 1);
	lake_commit_lock_hook = NULL;
	CHECK_INT(lock_depth, 0);
	CHECK_INT(lock_calls, 2);
}

static void
test_properties(void)
{
	LakeTable  *table = fixture_key_table();
	CommitRequest request = request_of(COMMIT_APPEND, NIL);
	OptionPair	pair = {"lsn", "0/1"};
	LakeSnapshot *snapshot;

	request.info.force = true;
	request.info.properties = list_make1(&pair);
	request.info.commit_identifier = 7;
	lake_commit(table, &request);
	snapshot = snapshot_load_latest(table->location);
	CHECK_INT(snapshot->commit_identifier, 7);
	CHECK_STRING(((OptionPair *) linitial(snapshot->properties))->value, "0/1");
	/* the next snapshot does not inherit them, and its clock does not go back */
	fixture_put(table, ROW_INSERT, 1, 1);
	CHECK(snapshot_load_latest(table->location)->properties == NIL);
	CHECK(snapshot_load_latest(table->location)->time_millis >= snapshot->time_millis);
}

/* ---- conflicts ---- */

#define CHECK_CONFLICT(part, kind, entries) \
	do { \
		CommitRequest conflict_request = request_of((kind), (entries)); \
		CHECK_ERROR(ERRCODE_T_R_SERIALIZATION_FAILURE, (part), lake_commit(table, &conflict_request)); \
	} while (0)

static void
test_conflicts(void)
{
	static const char *const options[] = {"bucket=1", NULL};
	LakeTable  *table = fixture_table(true, options);
	ManifestEntry *first;
	ManifestEntry *second;
	CommitRequest request;
	List	   *entries;

	fixture_put(table, ROW_INSERT, 1, 1);
	first = linitial(fixture_entries(table));
	fixture_put(table, ROW_INSERT, 1, 2);
	second = llast(fixture_entries(table));

	/* up a level: a DELETE and an ADD */
	request = request_of(COMMIT_COMPACT, list_make2(entry_of_kind(first, FILE_DELETE, 0),
													entry_of_kind(first, FILE_ADD, 5)));
	CHECK_INT(lake_commit(table, &request)->total_record_count, 2);
	CHECK_INT(list_length(fixture_entries(table)), 2);

	CHECK_CONFLICT("another commit", COMMIT_COMPACT, list_make1(entry_of_kind(first, FILE_DELETE, 0)));
	CHECK_CONFLICT("another commit", COMMIT_COMPACT, list_make1(entry_of_kind(first, FILE_ADD, 5)));
	/* both have key 1, so they cannot be of one level */
	CHECK_CONFLICT("another commit", COMMIT_COMPACT,
				   list_make2(entry_of_kind(second, FILE_DELETE, 0), entry_of_kind(second, FILE_ADD, 5)));
	request = request_of(COMMIT_COMPACT, list_make2(entry_of_kind(second, FILE_DELETE, 0),
													entry_of_kind(second, FILE_ADD, 4)));
	CHECK(lake_commit(table, &request) != NULL);

	request = request_of(COMMIT_COMPACT, list_make2(entry_of_kind(first, FILE_ADD, 3),
													entry_of_kind(first, FILE_ADD, 3)));
	CHECK_ERROR(ERRCODE_INTERNAL_ERROR, "added twice", lake_commit(table, &request));
	request.entries = list_make2(entry_of_kind(first, FILE_ADD, 3), entry_of_kind(first, FILE_DELETE, 3));
	CHECK_ERROR(ERRCODE_INTERNAL_ERROR, "both added", lake_commit(table, &request));

	entries = list_make1(entry_of_kind(first, FILE_ADD, 0));
	((ManifestEntry *) linitial(entries))->total_buckets = 3;
	((ManifestEntry *) linitial(entries))->file->file_name = pstrdup("data-other-0.parquet");
	request = request_of(COMMIT_COMPACT, entries);
	CHECK_ERROR(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, "number of buckets", lake_commit(table, &request));
	CHECK_INT(snapshot_latest_id(table->location), 4);
}

static void
test_overwrite(void)
{
	LakeTable  *table = fixture_key_table();
	TableWriter *writer;
	FixtureRows rows;
	LakeSnapshot *snapshot;

	for (int i = 0; i < 5; i++)
		fixture_put(table, ROW_INSERT, i, i);
	writer = table_writer_open(table, 100000);
	fixture_append(writer, ROW_INSERT, 6, 6);
	table_writer_truncate(writer);
	fixture_append(writer, ROW_INSERT, 7, 7);
	/* what others commit in the meantime goes, too */
	fixture_put(table, ROW_INSERT, 8, 8);
	fixture_commit(writer);
	table_writer_close(writer);
	fixture_read(table, &rows);
	CHECK_INT(rows.nrows, 1);
	CHECK_INT(rows.values[7], 7);
	snapshot = snapshot_load_latest(table->location);
	CHECK_INT(snapshot->commit_kind, COMMIT_OVERWRITE);
	CHECK_INT(snapshot->total_record_count, 1);
	CHECK_INT(snapshot->delta_record_count, -5);
	CHECK_INT(list_length(scan_delta_entries(table, snapshot)), 7);
}

/* ---- adopting rows of other writers ---- */

/* Two writers that run beside a third: who is adopted later wins, and its files are written anew only if need be. */
static void
test_adopt(void)
{
	LakeTable  *table = fixture_key_table();
	TableWriter *writer = table_writer_open(table, 100000);
	TableWriter *first = table_writer_open(table, 100000);
	TableWriter *second = table_writer_open(table, 100000);
	FixtureRows rows;
	int			files;

	table_writer_set_lead(first, 1000);
	table_writer_set_lead(second, 2000);
	for (int i = 0; i < 50; i++)
		fixture_append(first, ROW_INSERT, i, 100 + i);
	table_writer_savepoint(first, 1);
	fixture_append(first, ROW_INSERT, 500, 500);
	(void) table_writer_flush(first);
	table_writer_rollback(first, 1);
	fixture_append(second, ROW_INSERT, 1, 201);
	fixture_append(second, ROW_INSERT, 2, 202);
	(void) table_writer_flush(second);
	for (int i = 0; i < 60; i++)
		fixture_append(writer, ROW_INSERT, i, i);
	files = fixture_count_files(table, "bucket-0", "data-") + fixture_count_files(table, "bucket-1", "data-");

	/* the one that was numbered higher first */
	table_writer_adopt(writer, second);
	table_writer_close(second);
	fixture_append(writer, ROW_INSERT, 2, 302);
	table_writer_adopt(writer, first);
	CHECK_INT(table_writer_total_rows(first), 0);
	table_writer_close(first);
	fixture_append(writer, ROW_INSERT, 3, 303);
	CHECK_INT(table_writer_total_rows(writer), 60 + 2 + 1 + 50 + 1);
	fixture_commit(writer);
	fixture_read(table, &rows);
	CHECK_INT(rows.nrows, 60);
	CHECK_INT(rows.values[1], 101);
	CHECK_INT(rows.values[2], 102);
	CHECK_INT(rows.values[3], 303);
	CHECK_INT(rows.values[55], 55);
	CHECK_INT(rows.values[500], -1);
	CHECK(fixture_count_files(table, "bucket-0", "data-") + fixture_count_files(table, "bucket-1", "data-") > files);

	/* the next rows come after all of them */
	fixture_append(writer, ROW_INSERT, 1, 1);
	fixture_commit(writer);
	table_writer_close(writer);
	fixture_read(table, &rows);
	CHECK_INT(rows.values[1], 1);
}

/* ---- manifests ---- */

static List *
base_manifests(LakeTable *table)
{
	LakeSnapshot *snapshot = snapshot_load_latest(table->location);

	return manifest_list_read(table->location, snapshot->base_manifest_list, snapshot->base_manifest_list_size);
}

static void
test_minor_merge(void)
{
	static const char *const options[] = {"bucket=2", "manifest.merge-min-count=5", NULL};
	LakeTable  *table = fixture_table(true, options);
	FixtureRows rows;

	/* the base of commit n has the manifests of n - 1 commits */
	for (int i = 1; i <= 5; i++)
		fixture_put(table, ROW_INSERT, i, i);
	CHECK_INT(list_length(base_manifests(table)), 4);
	fixture_put(table, ROW_INSERT, 6, 6);
	CHECK_INT(list_length(base_manifests(table)), 1);
	CHECK_INT(((ManifestFileMeta *) linitial(base_manifests(table)))->num_added_files, 5);
	fixture_put(table, ROW_INSERT, 7, 7);
	CHECK_INT(list_length(base_manifests(table)), 2);
	fixture_read(table, &rows);
	CHECK_INT(rows.nrows, 7);
}

static void
test_full_merge(void)
{
	static const char *const options[] = {
		"bucket=1", "manifest.target-file-size=6 kb", "manifest.full-compaction-threshold-size=8 kb",
		"manifest.merge-min-count=100", NULL
	};
	LakeTable  *table = fixture_table(true, options);
	int			most = 0;
	FixtureRows rows;

	for (int i = 0; i < 60; i++)
	{
		CommitRequest request;
		ManifestEntry *entry;

		fixture_put(table, ROW_INSERT, i, i);
		entry = llast(fixture_entries(table));
		request = request_of(COMMIT_COMPACT, list_make2(entry_of_kind(entry, FILE_DELETE, 0),
														entry_of_kind(entry, FILE_ADD, 5)));
		CHECK(lake_commit(table, &request) != NULL);
		most = Max(most, list_length(base_manifests(table)));
	}
	CHECK_INT(list_length(fixture_entries(table)), 60);
	fixture_read(table, &rows);
	CHECK_INT(rows.nrows, 60);
	CHECK_MESSAGE(most < 20, "there were %d manifests", most);
	/* of 120 DELETE and ADD entries less than half are left */
	{
		int64		deleted = 0;
		ListCell   *lc;

		foreach(lc, base_manifests(table))
			deleted += ((ManifestFileMeta *) lfirst(lc))->num_deleted_files;
		CHECK_MESSAGE(deleted < 20, "there are " INT64_FORMAT " deletes", deleted);
	}
}

int
main(void)
{
	unit_begin();
	RUN(test_pending_files);
	RUN(test_lost_race);
	RUN(test_failed_commit);
	RUN(test_lock_hook);
	RUN(test_properties);
	RUN(test_conflicts);
	RUN(test_overwrite);
	RUN(test_adopt);
	RUN(test_minor_merge);
	RUN(test_full_merge);
	return unit_end();
}
