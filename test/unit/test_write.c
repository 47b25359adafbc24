#include "postgres.h"

#include "columnar/compare.h"
#include "lake/key_sort.h"
#include "lake_fixture.h"
#include "storage/storage.h"
#include "utils/memutils.h"

#define SORT_ROWS 500

/* ---- sorting ---- */

static void
fill_random(Vector *vector, int range)
{
	for (int i = 0; i < SORT_ROWS; i++)
	{
		int64		number = unit_random_below(range) - range / 2;
		Scalar		value = {0};

		switch (vector->type->physical)
		{
			case PHYSICAL_INT8:
				value.v.i8 = (int8) number;
				break;
			case PHYSICAL_INT32:
				value.v.i32 = (int32) number;
				break;
			case PHYSICAL_INT64:
				value.v.i64 = number << 40;
				break;
			case PHYSICAL_INT128:
				value.v.i128 = ((int128) number << 64) + unit_random_below(3);
				break;
			case PHYSICAL_DOUBLE:
				value.v.f64 = number % 7 == 0 ? 0.0 / number : number / 3.0;
				break;
			default:
				value.v.bytes = unit_bytes(psprintf("%.*s" INT64_FORMAT, unit_random_below(10), "prefixed ", number));
		}
		vector_set(vector, i, &value);
	}
}

/* Rows must ascend by key, and by position where keys are equal; the last of each is kept. */
static void
check_sort(Vector *const *keys, int nkeys)
{
	int32		rows[SORT_ROWS];
	int32		kept[SORT_ROWS];
	int			nkept = 0;

	for (int i = 0; i < SORT_ROWS; i++)
		rows[i] = i;
	sort_rows_by_key(keys, nkeys, rows, SORT_ROWS);
	for (int i = 0; i < SORT_ROWS; i++)
	{
		int			order = i + 1 < SORT_ROWS ? 0 : -1;

		for (int k = 0; k < nkeys && order == 0; k++)
			order = vector_compare(keys[k], rows[i], keys[k], rows[i + 1]);
		if (order != 0)
			kept[nkept++] = rows[i];
		if (!CHECK(order < 0 || (order == 0 && rows[i] < rows[i + 1])))
			break;
	}
	CHECK_INT(keep_last_of_equal_keys(keys, nkeys, rows, SORT_ROWS), nkept);
	CHECK(memcmp(rows, kept, nkept * sizeof(int32)) == 0);
}

static void
test_sort(void)
{
	static const char *const types[] = {
		"TINYINT", "INT", "BIGINT", "DECIMAL(30, 2)", "DOUBLE", "STRING"
	};

	for (int i = 0; i < lengthof(types); i++)
	{
		Vector	   *keys[2];

		keys[0] = vector_create(type_parse_atomic(types[i]), SORT_ROWS);
		keys[1] = vector_create(type_parse_atomic("INT"), SORT_ROWS);
		fill_random(keys[0], 100);
		fill_random(keys[1], 5);
		check_sort(keys, 1);
		check_sort(keys, 2);
	}
}

/* ---- the writer ---- */

static void
test_last_row_wins(void)
{
	LakeTable  *table = fixture_key_table();
	TableWriter *writer = table_writer_open(table, 40000);
	FixtureRows rows;

	for (int i = 0; i < 3000; i++)
		fixture_append(writer, ROW_INSERT, (i * 7) % 100, i);
	for (int i = 0; i < 50; i++)
		fixture_append(writer, ROW_DELETE, i, 0);
	CHECK_INT(table_writer_total_rows(writer), 3050);
	CHECK(table_writer_memory(writer) <= 40000);
	CHECK_INT(fixture_commit(writer), 1);
	CHECK_INT(fixture_commit(writer), 0);
	fixture_read(table, &rows);
	CHECK_INT(rows.nrows, 50);
	CHECK_INT(rows.values[49], -1);
	for (int i = 2900; i < 3000; i++)
	{
		if ((i * 7) % 100 >= 50)
			CHECK_INT(rows.values[(i * 7) % 100], i);
	}

	/* the writer goes on after its commit */
	fixture_append(writer, ROW_INSERT, 0, 77);
	CHECK_INT(fixture_commit(writer), 2);
	fixture_read(table, &rows);
	CHECK_INT(rows.nrows, 51);
	CHECK_INT(rows.values[0], 77);
	table_writer_close(writer);
}

static void
test_nulls_in_required_columns(void)
{
	DataField	fields[2] = {
		{.name = "k",.type = type_make(TYPE_INT, 0, 0, false)},
		{.name = "v",.type = type_make(TYPE_VARCHAR, TYPE_MAX_LENGTH, 0, false)}
	};
	OptionPair	bucket = {"bucket", "1"};
	TableSchema *schema = schema_build(2, fields, NIL, list_make1("k"), list_make1(&bucket), NULL);
	LakeTable  *table = lake_table_create(unit_directory(), "db", "required", schema);
	TableWriter *writer = table_writer_open(table, 100000);
	Scalar		row[2] = {{0}};

	row[1].isnull = true;
	CHECK_ERROR(ERRCODE_NOT_NULL_VIOLATION, "\"v\"", table_writer_append(writer, ROW_INSERT, row));
	/* only the key of a row that deletes counts */
	table_writer_append(writer, ROW_DELETE, row);
	row[0].isnull = true;
	CHECK_ERROR(ERRCODE_NOT_NULL_VIOLATION, "\"k\"", table_writer_append(writer, ROW_DELETE, row));
	CHECK_INT(table_writer_total_rows(writer), 1);
	CHECK_INT(fixture_commit(writer), 1);
	table_writer_close(writer);
}

static void
test_large_values(void)
{
	LakeTable  *table = fixture_key_table();
	TableWriter *writer = table_writer_open(table, 10000);
	char	   *text = palloc(100000);
	Scalar		row[2] = {{0}};
	FixtureRows rows;

	memset(text, '7', 100000);
	memcpy(text, "value ", 6);
	text[8] = 'x';
	row[1].v.bytes = (BytesView) {text, 100000};
	for (int i = 0; i < 5; i++)
	{
		row[0].v.i32 = i;
		table_writer_append(writer, ROW_INSERT, row);
	}
	CHECK_INT(fixture_commit(writer), 1);
	fixture_read(table, &rows);
	CHECK_INT(rows.nrows, 5);
	CHECK_INT(rows.values[4], 77);
	table_writer_close(writer);
}

/* ---- savepoints ---- */

#define MAX_LEVELS 100

typedef struct SavedRows
{
	FixtureRows rows;
	bool		truncated;
} SavedRows;

/* Random rows, savepoints and truncations, against arrays that are copied. */
static void
run_savepoints(Size memory_limit, bool with_truncate)
{
	LakeTable  *table = fixture_key_table();
	SavedRows  *states = palloc(MAX_LEVELS * sizeof(SavedRows));
	SavedRows  *state = &states[0];
	TableWriter *writer;
	FixtureRows rows;
	int			level = 0;

	fixture_put(table, ROW_INSERT, 999, 999);
	writer = table_writer_open(table, memory_limit);
	memset(state, -1, sizeof(SavedRows));
	state->truncated = false;
	state->rows.values[999] = 999;
	for (int i = 0; i < 3000; i++)
	{
		int			choice = unit_random_below(100);
		int			key = unit_random_below(300);

		if (choice < 3 && level + 1 < MAX_LEVELS)
		{
			table_writer_savepoint(writer, ++level);
			states[level] = states[level - 1];
			state = &states[level];
		}
		else if (choice < 6 && level > 0)
		{
			int			to = 1 + unit_random_below(level);

			/* what is released belongs to the level below */
			table_writer_release(writer, to);
			states[to - 1] = states[level];
			level = to - 1;
			state = &states[level];
		}
		else if (choice < 8 && level > 0)
		{
			level = unit_random_below(level);
			table_writer_rollback(writer, level + 1);
			state = &states[level];
		}
		else if (choice == 8 && with_truncate && unit_random_below(10) == 0)
		{
			table_writer_truncate(writer);
			memset(state->rows.values, -1, sizeof(state->rows.values));
			state->truncated = true;
		}
		else
		{
			bool		delete = choice < 20;

			fixture_append(writer, delete ? ROW_DELETE : ROW_INSERT, key, i);
			state->rows.values[key] = delete ? -1 : i;
		}
	}
	CHECK_INT(table_writer_truncated(writer), state->truncated);
	fixture_commit(writer);
	table_writer_close(writer);
	fixture_read(table, &rows);
	CHECK(memcmp(rows.values, state->rows.values, sizeof(rows.values)) == 0);
	/* what was rolled back left no files */
	CHECK_INT(fixture_count_data_files(table), list_length(fixture_entries(table)) + (state->truncated ? 1 : 0));
}

static void
test_savepoints(void)
{
	for (int i = 0; i < 5; i++)
	{
		run_savepoints(10000, false);
		run_savepoints(10000, true);
		run_savepoints(1000000, i % 2 == 0);
	}
}

/* An error while the buffer is written may be caught: the savepoint before is good. */
static void
test_rollback_after_failed_flush(void)
{
	LakeTable  *table = fixture_key_table();
	TableWriter *writer = table_writer_open(table, 100000);
	char	   *obstacle = storage_join(table->location, "bucket-1");
	FixtureRows rows;

	for (int i = 0; i < 10; i++)
		fixture_append(writer, ROW_INSERT, i, i);
	table_writer_savepoint(writer, 1);
	for (int i = 10; i < 20; i++)
		fixture_append(writer, ROW_INSERT, i, i);
	storage_replace(obstacle, "", 0);
	CHECK_ERROR(0, "bucket-1", table_writer_flush(writer));
	storage_remove(obstacle, false);
	table_writer_rollback(writer, 1);
	fixture_append(writer, ROW_INSERT, 30, 30);
	fixture_commit(writer);
	fixture_read(table, &rows);
	CHECK_INT(rows.nrows, 11);
	CHECK_INT(rows.values[9], 9);
	CHECK_INT(rows.values[10], -1);
	table_writer_close(writer);
}

static void
test_abort_removes_files(void)
{
	LakeTable  *table = fixture_key_table();
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "transaction", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	TableWriter *writer = table_writer_open(table, 10000);

	for (int i = 0; i < 1000; i++)
		fixture_append(writer, ROW_INSERT, i, i);
	MemoryContextSwitchTo(old);
	CHECK(fixture_count_data_files(table) > 2);
	MemoryContextDelete(context);
	CHECK_INT(fixture_count_data_files(table), 0);
	CHECK_INT(shim_open_files(), 0);
}

/* ---- sequence numbers ---- */

/* The later commit wins, whichever writer was opened first. */
static void
test_writers_side_by_side(void)
{
	LakeTable  *table = fixture_key_table();
	TableWriter *writers[2];
	FixtureRows rows;
	int			commits = 0;

	for (int i = 0; i < 2; i++)
		writers[i] = table_writer_open(table, 100000);
	for (int round = 0; round < 5; round++)
	{
		for (int i = 0; i < 2; i++)
		{
			for (int key = 0; key < 10; key++)
				fixture_append(writers[i], ROW_INSERT, key, round * 10 + i);
			table_writer_flush(writers[i]);
		}
		for (int i = 0; i < 2; i++)
		{
			int			turn = (round + i) % 2;

			CHECK_INT(fixture_commit(writers[turn]), ++commits);
			fixture_read(table, &rows);
			CHECK_INT(rows.nrows, 10);
			CHECK_INT(rows.values[3], round * 10 + turn);
		}
	}
	for (int i = 0; i < 2; i++)
		table_writer_close(writers[i]);
	/* files that were written anew are gone in their first form */
	CHECK_INT(fixture_count_data_files(table), list_length(fixture_entries(table)));
}

static void
test_buckets_without_key(void)
{
	static const char *const options[] = {"bucket=1", "bucket-key=k", NULL};
	LakeTable  *table = fixture_table(false, options);
	TableWriter *a = table_writer_open(table, 100000);
	TableWriter *b = table_writer_open(table, 100000);
	List	   *entries;

	fixture_append(a, ROW_INSERT, 1, 1);
	fixture_append(a, ROW_INSERT, 2, 2);
	table_writer_flush(a);
	fixture_append(b, ROW_INSERT, 3, 3);
	table_writer_flush(b);
	fixture_commit(a);
	fixture_commit(b);
	entries = fixture_entries(table);
	CHECK_INT(list_length(entries), 2);
	CHECK_INT(((ManifestEntry *) linitial(entries))->file->max_sequence_number, 1);
	CHECK_INT(((ManifestEntry *) lsecond(entries))->file->min_sequence_number, 2);
	table_writer_close(a);
	table_writer_close(b);
}

/* ---- buckets ---- */

/* A table whose number of buckets was changed: keys would be in two buckets. */
static void
test_other_number_of_buckets(void)
{
	LakeTable  *table = fixture_key_table();
	TableSchema *schema;
	LakeTable  *changed;
	TableWriter *writer;

	fixture_put(table, ROW_INSERT, 1, 1);
	schema = schema_copy(table->schema);
	schema->id++;
	((OptionPair *) linitial(schema->options))->value = "4";
	CHECK(schema_publish(table->location, schema));
	changed = lake_table_with_schema(unit_directory(), "db", strchr(table->name, '.') + 1, schema);
	CHECK_INT(changed->options->buckets, 4);
	CHECK_ERROR(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, "number of buckets",
				fixture_put(changed, ROW_INSERT, 1, 2));
	/* an overwrite changes it for good */
	writer = table_writer_open(changed, 100000);
	table_writer_truncate(writer);
	fixture_append(writer, ROW_INSERT, 1, 2);
	CHECK(fixture_commit(writer) > 0);
	table_writer_close(writer);
	CHECK(fixture_put(changed, ROW_INSERT, 2, 2) > 0);
	CHECK_ERROR(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, "number of buckets",
				fixture_put(table, ROW_INSERT, 1, 2));
}

int
main(void)
{
	unit_begin();
	RUN(test_sort);
	RUN(test_last_row_wins);
	RUN(test_nulls_in_required_columns);
	RUN(test_large_values);
	RUN(test_savepoints);
	RUN(test_rollback_after_failed_flush);
	RUN(test_abort_removes_files);
	RUN(test_writers_side_by_side);
	RUN(test_buckets_without_key);
	RUN(test_other_number_of_buckets);
	return unit_end();
}
