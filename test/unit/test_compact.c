/*
 * test_compact.c
 *		Compaction beside writers and other compactors, and what scan planning
 *		prunes.
 */
#include "postgres.h"

#include "lake/maintain.h"
#include "lake/sections.h"
#include "lake_fixture.h"
#include "utils/memutils.h"

#define MAX_LEVELS 16

/* Names of all data files that any snapshot's changes name, as a check against files left over. */
static int
count_files_ever_added(LakeTable *table)
{
	int			count = 0;

	for (int64 id = 1; id <= snapshot_latest_id(table->location); id++)
	{
		ListCell   *cell;

		foreach(cell, scan_delta_entries(table, snapshot_load(table->location, id, false)))
			count += ((ManifestEntry *) lfirst(cell))->kind == FILE_ADD;
	}
	return count;
}

static void
check_rows(LakeTable *table, const FixtureRows *model)
{
	FixtureRows rows;
	int			expected = 0;

	fixture_read(table, &rows);
	for (int key = 0; key < FIXTURE_KEYS; key++)
	{
		expected += model->values[key] >= 0;
		if (!CHECK_INT(rows.values[key], model->values[key]))
			return;
	}
	CHECK_INT(rows.nrows, expected);
}

/* Files of one level above 0 must lie apart, bucket by bucket. */
static void
check_levels(LakeTable *table)
{
	List	   *files[2][MAX_LEVELS] = {{NIL}};
	ListCell   *cell;

	foreach(cell, fixture_entries(table))
	{
		ManifestEntry *entry = lfirst(cell);

		if (!CHECK(entry->bucket < 2 && entry->file->level < MAX_LEVELS))
			return;
		files[entry->bucket][entry->file->level] = lappend(files[entry->bucket][entry->file->level], entry->file);
	}
	for (int bucket = 0; bucket < 2; bucket++)
		for (int level = 1; level < MAX_LEVELS; level++)
			CHECK(key_ranges_are_disjoint(table, files[bucket][level]));
}

/* One commit of random rows, into the model as well. */
static void
write_random(LakeTable *table, FixtureRows *model)
{
	TableWriter *writer = table_writer_open(table, 1024 * 1024);
	int			nrows = 1 + unit_random_below(unit_random_below(2) ? 5 : 400);

	for (int i = 0; i < nrows; i++)
	{
		int			key = unit_random_below(FIXTURE_KEYS);
		int			value = unit_random_below(100000);
		bool		is_delete = unit_random_below(4) == 0;

		fixture_append(writer, is_delete ? ROW_DELETE : ROW_INSERT, key, value);
		model->values[key] = is_delete ? -1 : value;
	}
	fixture_commit(writer);
	table_writer_close(writer);
}

static void
test_random_history(void)
{
	static const char *const options[] = {"bucket=2", "target-file-size=4 kb", "num-sorted-run.compaction-trigger=3",
	NULL};
	LakeTable  *table = fixture_table(true, options);
	FixtureRows model;

	memset(model.values, -1, sizeof(model.values));
	for (int round = 0; round < 60; round++)
	{
		bool		full = unit_random_below(8) == 0;

		write_random(table, &model);
		lake_compact(table, full, 0, "compactor", NULL);
		check_levels(table);
		check_rows(table, &model);
		CHECK(!lake_compaction_due(table));
	}
	CHECK_INT(fixture_count_data_files(table), count_files_ever_added(table));
}

/* When everything is merged, deletes have done their work. */
static void
test_deletes_are_dropped(void)
{
	LakeTable  *table = fixture_key_table();
	CompactResult result;
	ListCell   *cell;

	for (int key = 0; key < 20; key++)
		fixture_put(table, ROW_INSERT, key, key);
	for (int key = 0; key < 10; key++)
		fixture_put(table, ROW_DELETE, key, key);
	result = lake_compact(table, true, 0, "compactor", NULL);
	CHECK_INT(result.snapshot_id, 31);
	CHECK_INT(result.buckets, 2);
	CHECK_INT(result.files_before, 30);
	CHECK_INT(result.files_after, 2);
	CHECK_INT(result.rows_written, 10);
	foreach(cell, fixture_entries(table))
	{
		DataFileMeta *file = ((ManifestEntry *) lfirst(cell))->file;

		CHECK_INT(file->delete_row_count, 0);
		CHECK_INT(file->level, 5);
		CHECK_INT(file->file_source, FILE_SOURCE_COMPACT);
	}
	CHECK_INT(lake_compact(table, true, 0, "compactor", NULL).snapshot_id, 0);

	for (int key = 10; key < 20; key++)
		fixture_put(table, ROW_DELETE, key, key);
	lake_compact(table, true, 0, "compactor", NULL);
	CHECK_INT(list_length(fixture_entries(table)), 0);
}

/* What others do while a compaction runs */
typedef struct Meanwhile
{
	LakeTable  *table;
	int			times;			/* left */
	bool		compact;		/* compact, too; then put a row */
	int			next_key;
} Meanwhile;

static void
do_meanwhile(void *arg, int64 buckets_done, int64 buckets_total, int64 rows_written, int64 bytes_written)
{
	Meanwhile  *meanwhile = arg;

	/* when everything is written, and only the commit is left */
	if (buckets_done < buckets_total || meanwhile->times == 0)
		return;
	meanwhile->times--;
	if (meanwhile->compact)
		lake_compact(meanwhile->table, true, 0, "rival", NULL);
	fixture_put(meanwhile->table, ROW_INSERT, meanwhile->next_key++, 7);
}

static CompactResult
compact_with_rival(LakeTable *table, int times, bool compact)
{
	Meanwhile	meanwhile = {.table = lake_table_copy(table),.times = times,.compact = compact,.next_key = 500};
	MaintenanceProgress progress = {.report = do_meanwhile,.arg = &meanwhile};

	return lake_compact(table, true, 0, "compactor", &progress);
}

static LakeTable *
table_of_five_rows(FixtureRows *model)
{
	LakeTable  *table = fixture_key_table();

	memset(model->values, -1, sizeof(model->values));
	for (int key = 0; key < 5; key++)
	{
		fixture_put(table, ROW_INSERT, key, key);
		model->values[key] = key;
	}
	return table;
}

static void
test_beside_a_writer(void)
{
	FixtureRows model;
	LakeTable  *table = table_of_five_rows(&model);
	CompactResult result = compact_with_rival(table, 1, false);

	/* the row put meanwhile stays in level 0 */
	model.values[500] = 7;
	CHECK_INT(result.snapshot_id, 7);
	CHECK_INT(result.files_before, 5);
	CHECK_INT(list_length(fixture_entries(table)), 3);
	check_rows(table, &model);
}

static void
test_beside_a_compactor(void)
{
	FixtureRows model;
	LakeTable  *table = table_of_five_rows(&model);
	CompactResult result = compact_with_rival(table, 1, true);

	/* the rival was faster: at the second attempt only the row put meanwhile is to be merged */
	model.values[500] = 7;
	CHECK_INT(result.snapshot_id, 8);
	CHECK_INT(result.buckets, 1);
	CHECK_INT(result.files_before, 2);
	CHECK_INT(result.files_after, 1);
	check_rows(table, &model);
	CHECK_INT(fixture_count_data_files(table), count_files_ever_added(table));
}

static void
test_endless_rivalry(void)
{
	FixtureRows model;
	LakeTable  *table = table_of_five_rows(&model);
	Meanwhile	meanwhile = {.table = lake_table_copy(table),.times = 100,.compact = true,.next_key = 500};
	MaintenanceProgress progress = {.report = do_meanwhile,.arg = &meanwhile};
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "transaction", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	CompactResult result;

	/* each attempt finds a new row, and has it compacted under its hands */
	CHECK_ERROR(ERRCODE_T_R_SERIALIZATION_FAILURE, "another commit changed the same files",
				result = lake_compact(table, true, 0, "compactor", &progress));
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	for (int key = 500; key < meanwhile.next_key; key++)
		model.values[key] = 7;
	check_rows(table, &model);
	meanwhile.times = 0;
	result = lake_compact(table, true, 0, "compactor", &progress);
	check_rows(table, &model);
	CHECK(result.snapshot_id > 0);
	CHECK_INT(fixture_count_data_files(table), count_files_ever_added(table));
}

static void
test_append_table(void)
{
	static const char *const options[] = {"bucket=1", "bucket-key=k", NULL};
	LakeTable  *table = fixture_table(false, options);
	CompactResult result;
	ManifestEntry *entry;

	for (int key = 0; key < 4; key++)
		fixture_put(table, ROW_INSERT, key, key);
	CHECK(!lake_compaction_due(table));
	CHECK_INT(lake_compact(table, false, 0, "compactor", NULL).snapshot_id, 0);
	fixture_put(table, ROW_INSERT, 4, 4);
	CHECK(lake_compaction_due(table));
	result = lake_compact(table, false, 0, "compactor", NULL);
	CHECK_INT(result.files_before, 5);
	CHECK_INT(result.files_after, 1);
	CHECK_INT(list_length(fixture_entries(table)), 1);
	entry = linitial(fixture_entries(table));
	CHECK_INT(entry->file->row_count, 5);
	CHECK_INT(entry->file->min_sequence_number, 0);
	CHECK_INT(entry->file->max_sequence_number, 4);
}

/* ---- planning ---- */

static Predicate *
key_is(LakeTable *table, int key)
{
	Scalar	   *value = palloc0(sizeof(Scalar));

	value->v.i32 = key;
	return predicate_leaf(PREDICATE_EQ, 0, table->schema->fields[0].type, value, 1);
}

static Predicate *
value_is(LakeTable *table, const char *text)
{
	Scalar	   *value = palloc0(sizeof(Scalar));

	value->v.bytes = unit_bytes(text);
	return predicate_leaf(PREDICATE_EQ, 1, table->schema->fields[1].type, value, 1);
}

static ScanPlan *
plan_for(LakeTable *table, const Predicate *predicate)
{
	ScanRequest request = {.snapshot = snapshot_load_latest(table->location),.predicate = predicate};

	return scan_plan(table, &request);
}

static void
test_pruning(void)
{
	LakeTable  *table = fixture_key_table();
	ScanPlan   *plan;

	fixture_put(table, ROW_INSERT, 1, 10);
	fixture_put(table, ROW_INSERT, 2, 20);
	fixture_put(table, ROW_INSERT, 1, 30);

	/* by bucket and key */
	plan = plan_for(table, key_is(table, 2));
	CHECK_INT(plan->counters.files, 3);
	CHECK_INT(plan->counters.files_read, 1);
	CHECK(((Split *) linitial(plan->splits))->raw);
	plan = plan_for(table, key_is(table, 1));
	CHECK_INT(plan->counters.files_read, 2);
	CHECK(!((Split *) linitial(plan->splits))->raw);
	CHECK_INT(plan_for(table, key_is(table, 3))->counters.files_read, 0);

	/* an older row matches: its section is read as a whole, for the newer one replaces it */
	CHECK_INT(plan_for(table, value_is(table, "value 10"))->counters.files_read, 2);
	CHECK_INT(plan_for(table, value_is(table, "value 20"))->counters.files_read, 1);
	CHECK_INT(plan_for(table, value_is(table, "value 99"))->counters.files_read, 0);
}

static void
test_unpublished_files(void)
{
	static const int projection[] = {0, 1};
	LakeTable  *table = fixture_key_table();
	TableWriter *writer = table_writer_open(table, 1024 * 1024);
	ScanRequest request = {0};
	TableReader *reader;
	Batch	   *batch;
	int			nrows = 0;

	/* ours is written first, with the lower sequence number, and is newer all the same */
	fixture_append(writer, ROW_INSERT, 1, 10);
	request.extra_entries = table_writer_flush(writer);
	fixture_put(table, ROW_INSERT, 1, 20);
	fixture_put(table, ROW_INSERT, 1, 30);
	request.snapshot = snapshot_load_latest(table->location);
	reader = table_reader_open(table, scan_plan(table, &request)->splits, projection, 2, NULL, NULL);
	while ((batch = table_reader_next(reader)) != NULL)
	{
		nrows += batch->nselected;
		CHECK_BYTES(vector_get(batch->columns[1], batch->selection != NULL ? batch->selection[0] : 0).v.bytes,
					unit_bytes("value 10"));
	}
	CHECK_INT(nrows, 1);
	table_reader_close(reader);
	request.truncated = true;
	request.extra_entries = NIL;
	CHECK_INT(list_length(scan_plan(table, &request)->splits), 0);
	table_writer_close(writer);
}

int
main(void)
{
	unit_begin();
	RUN(test_random_history);
	RUN(test_deletes_are_dropped);
	RUN(test_beside_a_writer);
	RUN(test_beside_a_compactor);
	RUN(test_endless_rivalry);
	RUN(test_append_table);
	RUN(test_pruning);
	RUN(test_unpublished_files);
	return unit_end();
}
