#include "postgres.h"

#include "lake/maintain.h"
#include "lake/path.h"
#include "lake_fixture.h"
#include "storage/storage.h"

#define ANY_AGE PG_INT64_MAX

static ManifestEntry *
entry_of_kind(const ManifestEntry *entry, FileKind kind, int level)
{
	ManifestEntry *copy = manifest_entry_copy(entry);

	copy->kind = kind;
	copy->file->level = level;
	return copy;
}

/* Snapshots 1 .. n of one row each, in one bucket. */
static LakeTable *
table_with_snapshots(int n)
{
	static const char *const options[] = {"bucket=1", "snapshot.clean-empty-directories=true", NULL};
	LakeTable  *table = fixture_table(true, options);

	for (int i = 1; i <= n; i++)
		fixture_put(table, ROW_INSERT, i, i);
	return table;
}

/* A commit that deletes all files, and adds the first again at another level. */
static void
replace_files(LakeTable *table)
{
	CommitRequest request = {.kind = COMMIT_COMPACT};
	List	   *entries = fixture_entries(table);
	ListCell   *lc;

	request.info.commit_user = "test";
	foreach(lc, entries)
		request.entries = lappend(request.entries, entry_of_kind(lfirst(lc), FILE_DELETE, 0));
	request.entries = lappend(request.entries, entry_of_kind(linitial(entries), FILE_ADD, 5));
	CHECK(lake_commit(table, &request) != NULL);
}

static void
make_tag(LakeTable *table, const char *name, int64 snapshot_id)
{
	char	   *json = snapshot_to_json(snapshot_load(table->location, snapshot_id, false));

	storage_replace(tag_path(table->location, name), json, strlen(json));
}

/* Everything that the remaining snapshots and tags need must be there. */
static void
check_readable(LakeTable *table, const LakeSnapshot *snapshot, int nfiles)
{
	List	   *entries = scan_live_entries(table, snapshot, NULL, NULL);
	ListCell   *lc;

	CHECK_INT(list_length(entries), nfiles);
	foreach(lc, entries)
	{
		ManifestEntry *entry = lfirst(lc);

		CHECK(storage_exists(lake_data_file_path(table, entry->partition, entry->bucket, entry->file)));
	}
}

static void
test_expire(void)
{
	LakeTable  *table = table_with_snapshots(5);
	ExpireResult result;

	replace_files(table);
	fixture_put(table, ROW_INSERT, 6, 6);
	result = lake_expire_snapshots(table, 2, 2, ANY_AGE);
	CHECK_INT(result.snapshots, 5);
	/* of the files replaced by snapshot 6, one only moved */
	CHECK_INT(result.data_files, 4);
	CHECK_INT(snapshot_earliest_id(table->location), 6);
	CHECK_INT(fixture_count_files(table, "bucket-0", "data-"), 2);
	/* two lists a snapshot; manifests of the base stay */
	CHECK_INT(fixture_count_files(table, "manifest", "manifest-list-"), 4);
	CHECK_INT(result.manifest_files, 10);
	check_readable(table, snapshot_load(table->location, 6, false), 1);
	check_readable(table, snapshot_load(table->location, 7, false), 2);
	CHECK_INT(lake_expire_snapshots(table, 2, 2, ANY_AGE).snapshots, 0);
	CHECK_INT(lake_expire_snapshots(table, 1, 1, ANY_AGE).snapshots, 1);
	check_readable(table, snapshot_load(table->location, 7, false), 2);
}

static void
test_limits(void)
{
	LakeTable  *table = table_with_snapshots(4);

	/* all are younger than an hour, the table's own limit, and fewer than ten */
	CHECK_INT(lake_expire_snapshots(table, -1, 1, -1).snapshots, 0);
	CHECK_INT(lake_expire_snapshots(table, -1, -1, ANY_AGE).snapshots, 0);
	CHECK_INT(lake_expire_snapshots(table, 3, 1, 0).snapshots, 1);
	CHECK_ERROR(ERRCODE_INVALID_PARAMETER_VALUE, "retain", lake_expire_snapshots(table, 0, 0, ANY_AGE));
	CHECK_ERROR(ERRCODE_INVALID_PARAMETER_VALUE, "retain", lake_expire_snapshots(table, 2, 3, ANY_AGE));
	CHECK_INT(lake_expire_snapshots(fixture_key_table(), 1, 1, ANY_AGE).snapshots, 0);
}

static void
test_tags(void)
{
	LakeTable  *table = table_with_snapshots(5);

	make_tag(table, "three", 3);
	replace_files(table);
	fixture_put(table, ROW_INSERT, 6, 6);
	CHECK_INT(lake_expire_snapshots(table, 1, 1, ANY_AGE).snapshots, 6);
	check_readable(table, snapshot_load_tag(table->location, "three", false), 3);
	check_readable(table, snapshot_load(table->location, 7, false), 2);
	/* files 4 and 5 are gone, those of the tag are not */
	CHECK_INT(fixture_count_files(table, "bucket-0", "data-"), 4);
}

static void
test_consumers(void)
{
	LakeTable  *table = table_with_snapshots(6);
	char	   *folder = storage_join(table->location, "consumer");
	const char *consumer = "{\n  \"nextSnapshot\" : 3\n}";

	storage_replace(storage_join(folder, "consumer-a"), consumer, strlen(consumer));
	CHECK_INT(lake_expire_snapshots(table, 1, 1, ANY_AGE).snapshots, 2);
	CHECK_INT(snapshot_earliest_id(table->location), 3);
	storage_replace(storage_join(folder, "consumer-b"), "{}", 2);
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "consumer-b", lake_expire_snapshots(table, 1, 1, ANY_AGE));
	storage_remove_tree(folder);
	CHECK_INT(lake_expire_snapshots(table, 1, 1, ANY_AGE).snapshots, 3);
}

/* A run that ended after it had removed files, but no snapshot, is taken up again. */
static void
test_interrupted(void)
{
	LakeTable  *table = table_with_snapshots(5);
	LakeSnapshot *third = snapshot_load(table->location, 3, false);

	replace_files(table);
	storage_remove(manifest_path(table->location, third->delta_manifest_list), false);
	storage_remove(manifest_path(table->location, third->base_manifest_list), false);
	storage_remove(snapshot_path(table->location, 1), false);
	CHECK_INT(lake_expire_snapshots(table, 1, 1, ANY_AGE).snapshots, 4);
	check_readable(table, snapshot_load(table->location, 6, false), 1);
}

static void
test_empty_folders(void)
{
	LakeTable  *table = table_with_snapshots(2);
	TableWriter *writer = table_writer_open(table, 100000);

	table_writer_truncate(writer);
	fixture_commit(writer);
	table_writer_close(writer);
	CHECK(storage_exists(storage_join(table->location, "bucket-0")));
	lake_expire_snapshots(table, 1, 1, ANY_AGE);
	CHECK(!storage_exists(storage_join(table->location, "bucket-0")));
}

int
main(void)
{
	unit_begin();
	RUN(test_expire);
	RUN(test_limits);
	RUN(test_tags);
	RUN(test_consumers);
	RUN(test_interrupted);
	RUN(test_empty_folders);
	return unit_end();
}
