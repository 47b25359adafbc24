/*
 * test_merge.c
 *		Sections, picking of compactions, and rows merged from real files
 *		against a plain model.
 */
#include "postgres.h"

#include "lake/binary_row.h"
#include "lake/file_writer.h"
#include "lake/pick.h"
#include "lake/read.h"
#include "lake/sections.h"
#include "unit.h"

#define MAX_KEYS 20000

/* Table columns */
#define COLUMN_PART 0
#define COLUMN_KEY 1
#define COLUMN_NAME 2
#define COLUMN_VALUE 3
#define COLUMN_TEXT 4
#define NCOLUMNS 5

typedef struct ModelRow
{
	bool		exists;
	int64		sequence;		/* of the newest row, deletes included; -1 none */
	int8		kind;
	int64		value;
} ModelRow;

static int	table_counter = 0;
static int	different_values = 1000;

static BytesView
text_view(char *text)
{
	BytesView	view = {.data = text, .length = strlen(text)};

	return view;
}

/* The second key column and the text column follow from key and value. */
static BytesView
key_name(int key)
{
	return text_view(psprintf("a common beginning %06d", key));
}

static BytesView
value_text(int64 value)
{
	return text_view(psprintf("text of " INT64_FORMAT, value));
}

static bool
text_is_null(int64 value)
{
	return value % 16 == 5;
}

static LakeTable *
make_table(List *primary_keys, List *options)
{
	DataField	fields[NCOLUMNS] = {
		{.name = "part", .type = type_make(TYPE_INT, 0, 0, false)},
		{.name = "key", .type = type_make(TYPE_INT, 0, 0, false)},
		{.name = "name", .type = type_make(TYPE_VARCHAR, TYPE_MAX_LENGTH, 0, false)},
		{.name = "value", .type = type_make(TYPE_BIGINT, 0, 0, true)},
		{.name = "text", .type = type_make(TYPE_VARCHAR, TYPE_MAX_LENGTH, 0, true)},
	};
	TableSchema *schema;

	schema = schema_build(NCOLUMNS, fields, NIL, primary_keys, options, NULL);
	return lake_table_create(unit_directory(), "db", psprintf("t%d", table_counter++), schema);
}

static OptionPair *
option(char *key, char *value)
{
	OptionPair *pair = palloc(sizeof(OptionPair));

	pair->key = key;
	pair->value = value;
	return pair;
}

static LakeTable *
make_int_table(void)
{
	return make_table(list_make1("key"), list_make1(option("bucket", "1")));
}

/* A file as metadata alone, of a table whose key is one integer. */
static DataFileMeta *
meta(LakeTable *table, char *name, int32 level, int min_key, int max_key, int64 sequence, int64 size)
{
	DataFileMeta *file = palloc0(sizeof(DataFileMeta));
	Scalar		min = {.v.i32 = min_key};
	Scalar		max = {.v.i32 = max_key};

	file->file_name = name;
	file->level = level;
	file->min_key = binary_row_serialize(table->key_types, &min, 1);
	file->max_key = binary_row_serialize(table->key_types, &max, 1);
	file->min_sequence_number = sequence;
	file->max_sequence_number = sequence + 9;
	file->file_size = size;
	file->has_delete_row_count = true;
	return file;
}

/* "a b | c": names of files, in lists. */
static char *
names_of(List *lists)
{
	StringInfoData text;
	ListCell   *list;
	ListCell   *cell;

	initStringInfo(&text);
	foreach(list, lists)
	{
		if (text.len > 0)
			appendStringInfoString(&text, "| ");
		foreach(cell, (List *) lfirst(list))
			appendStringInfo(&text, "%s ", ((DataFileMeta *) lfirst(cell))->file_name);
	}
	return text.data;
}

static void
test_sections(void)
{
	LakeTable  *table = make_int_table();
	List	   *files = list_make5(meta(table, "d", 0, 30, 40, 1, 1),
								   meta(table, "a", 0, 1, 10, 1, 1),
								   meta(table, "c", 0, 20, 25, 1, 1),
								   meta(table, "b", 0, 10, 20, 1, 1),
								   meta(table, "e", 0, 41, 41, 1, 1));

	CHECK_STRING(names_of(interval_partition(table, files)), "a b c | d | e ");
	CHECK_STRING(names_of(section_runs(table, list_make3(list_nth(files, 1), list_nth(files, 2),
														 list_nth(files, 3)))), "a c | b ");
	CHECK_STRING(names_of(interval_partition(table, NIL)), "");
	CHECK(key_ranges_are_disjoint(table, list_make2(list_nth(files, 0), list_nth(files, 1))));
	CHECK(!key_ranges_are_disjoint(table, list_make2(list_nth(files, 1), list_nth(files, 3))));
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "minimum key of data file \"x\"",
				interval_partition(table, list_make1(meta(table, "x", 0, 2, 1, 1, 1))));
}

static void
test_age(void)
{
	LakeTable  *table = make_int_table();
	DataFileMeta *older = meta(table, "older", 0, 1, 2, 10, 1);
	DataFileMeta *newer = meta(table, "newer", 0, 1, 2, 20, 1);
	DataFileMeta *level1 = meta(table, "level1", 1, 1, 2, 99, 1);

	CHECK(data_file_compare_age(newer, older) < 0);
	CHECK(data_file_compare_age(older, newer) > 0);
	CHECK(data_file_compare_age(older, level1) < 0);
	older->unpublished = true;
	CHECK(data_file_compare_age(older, newer) < 0);
}

/* The unit picked: its files, newest first, and level; "" for none. */
static char *
picked(LakeTable *table, List *files, bool full)
{
	List	   *units = pick_compaction(table, files, full);
	CompactionUnit *unit;

	if (units == NIL)
		return "";
	unit = linitial(units);
	return psprintf("%s-> %d%s", names_of(list_make1(unit->files)), unit->output_level,
					unit->drop_deletes ? " drop" : "");
}

static void
test_pick_keyed(void)
{
	LakeTable  *table = make_int_table();
	List	   *level0 = list_make4(meta(table, "n1", 0, 1, 9, 40, 10), meta(table, "n2", 0, 1, 9, 30, 10),
									meta(table, "n3", 0, 1, 9, 20, 10), meta(table, "n4", 0, 1, 9, 10, 10));
	DataFileMeta *base = meta(table, "base", 5, 1, 9, 1, 1000);

	/* fewer runs than the trigger */
	CHECK_STRING(picked(table, level0, false), "");
	CHECK_STRING(picked(table, level0, true), "n1 n2 n3 n4 -> 5 drop");
	/* similar sizes go together, below the large run */
	CHECK_STRING(picked(table, lappend(list_copy(level0), base), false), "n1 n2 n3 n4 -> 4");
	/* the new ones are large: everything */
	base->file_size = 10;
	CHECK_STRING(picked(table, lappend(list_copy(level0), base), false), "n1 n2 n3 n4 base -> 5 drop");
	/* level 0 takes no output: the next level is part of it */
	base->file_size = 1000;
	base->level = 1;
	CHECK_STRING(picked(table, lappend(list_copy(level0), base), false), "n1 n2 n3 n4 base -> 5 drop");
	base->level = 5;
	CHECK_STRING(picked(table, list_make1(base), true), "");
	base->level = 2;
	CHECK_STRING(picked(table, list_make1(base), true), "base -> 5 drop");
}

static void
test_pick_append(void)
{
	LakeTable  *plain = make_table(NIL, NIL);
	LakeTable  *bucketed = make_table(NIL, list_make2(option("bucket", "1"), option("bucket-key", "key")));
	LakeTable  *keyed = make_int_table();
	int64		large = 250 * INT64CONST(1024) * 1024;
	List	   *files = list_make4(meta(keyed, "a", 0, 1, 1, 0, 10), meta(keyed, "b", 0, 1, 1, 10, large),
								   meta(keyed, "c", 0, 1, 1, 20, 10), meta(keyed, "d", 0, 1, 1, 30, 10));

	CHECK_STRING(picked(plain, files, false), "");
	CHECK_STRING(picked(plain, files, true), "a c d -> 0");
	CHECK_STRING(picked(bucketed, files, false), "");
	CHECK_STRING(picked(bucketed, files, true), "c d -> 0");
	files = lappend(files, meta(keyed, "e", 0, 1, 1, 40, 10));
	CHECK_STRING(picked(bucketed, files, false), "a b c d e -> 0");
	files = lappend(files, meta(keyed, "f", 0, 1, 1, 50, 10));
	CHECK_STRING(picked(plain, files, false), "a c d e f -> 0");
}

/* Write the rows of the keys marked, in key order, as one level-0 file and into the model. */
static List *
write_run(LakeTable *table, PendingFiles *pending, ModelRow *model, int nkeys, double share, double deletes,
		  int64 *next_sequence)
{
	FileWriterTarget target = {.partition = binary_row_serialize_empty(), .total_buckets = 1};
	FileWriter *writer = file_writer_open(table, &target, pending);
	Vector	   *columns[NCOLUMNS];
	int64		sequences[BATCH_ROWS];
	int8		kinds[BATCH_ROWS];
	int			count = 0;
	List	   *files = NIL;
	ListCell   *cell;

	for (int i = 0; i < NCOLUMNS; i++)
		columns[i] = vector_create(table->schema->fields[i].type, BATCH_ROWS);
	for (int key = 0; key <= nkeys; key++)
	{
		if (count == BATCH_ROWS || (key == nkeys && count > 0))
		{
			file_writer_append_keyed(writer, columns, sequences, kinds, NULL, count);
			for (int i = 0; i < NCOLUMNS; i++)
				vector_reset(columns[i]);
			count = 0;
		}
		if (key < nkeys && unit_random_below(100000) < share * 100000)
		{
			ModelRow   *row = &model[key];
			Scalar		values[NCOLUMNS] = {{0}};

			row->kind = unit_random_below(100000) < deletes * 100000 ? ROW_DELETE : ROW_INSERT;
			row->exists = row->kind == ROW_INSERT;
			/* the order in which rows arrived is not that of their keys, but that does not matter here */
			row->sequence = (*next_sequence)++;
			row->value = unit_random_below(different_values);
			values[COLUMN_PART].v.i32 = key % 7;
			values[COLUMN_KEY].v.i32 = key;
			values[COLUMN_NAME].v.bytes = key_name(key);
			values[COLUMN_VALUE].isnull = row->value == 0;
			values[COLUMN_VALUE].v.i64 = row->value;
			values[COLUMN_TEXT].isnull = text_is_null(row->value);
			values[COLUMN_TEXT].v.bytes = value_text(row->value);
			for (int i = 0; i < NCOLUMNS; i++)
				vector_set(columns[i], count, &values[i]);
			sequences[count] = row->sequence;
			kinds[count++] = row->kind;
		}
	}
	foreach(cell, file_writer_finish(writer))
		files = lappend(files, ((ManifestEntry *) lfirst(cell))->file);
	return files;
}

static Split *
merged_split(List *files)
{
	Split	   *split = palloc0(sizeof(Split));

	split->partition = binary_row_serialize_empty();
	split->total_buckets = 1;
	split->files = files;
	return split;
}

static List *
merged_splits(LakeTable *table, List *files)
{
	List	   *splits = NIL;
	ListCell   *cell;

	foreach(cell, interval_partition(table, files))
		splits = lappend(splits, merged_split(lfirst(cell)));
	return splits;
}

/* Read text, key and value, filtered, and compare with the model. */
static void
check_read(LakeTable *table, List *files, const ModelRow *model, int nkeys, const Predicate *filter,
		   int min_key, int max_key, int64 value)
{
	int			projection[] = {COLUMN_TEXT, COLUMN_KEY, COLUMN_VALUE};
	TableReader *reader = table_reader_open(table, merged_splits(table, files), projection, 3, filter, NULL);
	bool	   *seen = palloc0(nkeys * sizeof(bool));
	int			expected = 0;
	int			rows = 0;
	Batch	   *batch;

	while ((batch = table_reader_next(reader)) != NULL)
	{
		for (int i = 0; i < batch->nselected; i++)
		{
			int			at = batch->selection ? batch->selection[i] : i;
			int			key = vector_get(batch->columns[1], at).v.i32;
			Scalar		got = vector_get(batch->columns[2], at);
			Scalar		text = vector_get(batch->columns[0], at);

			rows++;
			if (!CHECK(key >= 0 && key < nkeys && !seen[key]))
				return;
			seen[key] = true;
			if (!CHECK(model[key].exists) ||
				!CHECK(got.isnull == (model[key].value == 0)) ||
				!CHECK(got.isnull || got.v.i64 == model[key].value) ||
				!CHECK(text.isnull == text_is_null(model[key].value)) ||
				!(text.isnull || CHECK_BYTES(text.v.bytes, value_text(model[key].value))))
				return;
		}
	}
	for (int key = 0; key < nkeys; key++)
		expected += model[key].exists && key >= min_key && key <= max_key &&
			(value < 0 || model[key].value == value);
	CHECK_INT(rows, expected);
	table_reader_close(reader);
}

static Predicate *
leaf(LakeTable *table, PredicateOp op, int column, int64 value)
{
	Scalar	   *scalar = palloc0(sizeof(Scalar));

	if (column == COLUMN_KEY)
		scalar->v.i32 = (int32) value;
	else
		scalar->v.i64 = value;
	return predicate_leaf(op, column, table->schema->fields[column].type, scalar, 1);
}

static void
check_reads(LakeTable *table, List *files, const ModelRow *model, int nkeys)
{
	int			low = unit_random_below(nkeys);
	int			high = low + unit_random_below(nkeys - low);
	int64		value = 1 + unit_random_below(999);
	Predicate  *range = predicate_combine(PREDICATE_AND, list_make2(leaf(table, PREDICATE_GE, COLUMN_KEY, low),
																	leaf(table, PREDICATE_LE, COLUMN_KEY, high)));
	Predicate  *exact = leaf(table, PREDICATE_EQ, COLUMN_VALUE, value);

	check_read(table, files, model, nkeys, NULL, 0, nkeys, -1);
	check_read(table, files, model, nkeys, range, low, high, -1);
	check_read(table, files, model, nkeys, exact, 0, nkeys, value);
	check_read(table, files, model, nkeys, leaf(table, PREDICATE_EQ, COLUMN_KEY, low), low, low, -1);
	check_read(table, files, model, nkeys,
			   predicate_combine(PREDICATE_AND, list_make2(exact, range)), low, high, value);
}

/* The rows that compaction would write. */
static void
check_merge_reader(LakeTable *table, List *files, const ModelRow *model, int nkeys, bool keep_deletes)
{
	ListCell   *cell;
	int			last_key = -1;
	int			rows = 0;
	int			expected = 0;

	foreach(cell, merged_splits(table, files))
	{
		MergeReader *reader = merge_reader_open(table, lfirst(cell), keep_deletes);
		const int64 *sequences;
		const int8 *kinds;
		Batch	   *batch;

		while ((batch = merge_reader_next(reader, &sequences, &kinds)) != NULL)
		{
			for (int i = 0; i < batch->nselected; i++)
			{
				int			key = vector_get(batch->columns[COLUMN_KEY], i).v.i32;

				rows++;
				if (!CHECK(key > last_key) ||
					!CHECK_INT(sequences[i], model[key].sequence) ||
					!CHECK_INT(kinds[i], model[key].kind) ||
					!CHECK_BYTES(vector_get(batch->columns[COLUMN_NAME], i).v.bytes, key_name(key)))
					return;
				last_key = key;
			}
		}
		merge_reader_close(reader);
	}
	for (int key = 0; key < nkeys; key++)
		expected += model[key].sequence >= 0 && (keep_deletes || model[key].exists);
	CHECK_INT(rows, expected);
}

static void
check_random_runs(List *primary_keys, int nkeys, int nruns)
{
	LakeTable  *table = make_table(primary_keys, list_make1(option("bucket", "1")));
	PendingFiles *pending = pending_files_create();
	ModelRow   *model = palloc0(MAX_KEYS * sizeof(ModelRow));
	int64		next_sequence = 0;
	List	   *files = NIL;

	for (int key = 0; key < nkeys; key++)
		model[key].sequence = -1;
	for (int run = 0; run < nruns; run++)
	{
		double		share = run == 0 ? 0.9 : unit_random_below(100) / 150.0;

		files = list_concat(files, write_run(table, pending, model, nkeys, share, run == 0 ? 0 : 0.1,
											 &next_sequence));
	}
	check_reads(table, files, model, nkeys);
	check_merge_reader(table, files, model, nkeys, true);
	check_merge_reader(table, files, model, nkeys, false);
}

static void
test_merge_integer_key(void)
{
	for (int i = 0; i < 12; i++)
		check_random_runs(list_make1("key"), 1 + unit_random_below(MAX_KEYS), 1 + unit_random_below(6));
}

static void
test_merge_string_key(void)
{
	for (int i = 0; i < 6; i++)
		check_random_runs(list_make1("name"), 1 + unit_random_below(MAX_KEYS), 1 + unit_random_below(6));
}

static void
test_merge_several_keys(void)
{
	for (int i = 0; i < 6; i++)
		check_random_runs(list_make2("name", "key"), 1 + unit_random_below(MAX_KEYS), 1 + unit_random_below(6));
}

/* So many that files are closed before their rows were used. */
static void
test_merge_many_runs(void)
{
	check_random_runs(list_make1("name"), 5000, 90);
	check_random_runs(list_make1("key"), 300, 200);
}

/* Rows of several runs have codes where the runs' dictionaries are small together. */
static void
test_merge_of_dictionaries(void)
{
	LakeTable  *table = make_int_table();
	PendingFiles *pending = pending_files_create();
	ModelRow   *model = palloc0(MAX_KEYS * sizeof(ModelRow));
	int64		next_sequence = 0;
	int			projection[] = {COLUMN_TEXT};
	List	   *files = NIL;
	TableReader *reader;
	Batch	   *batch;

	different_values = 40;
	for (int run = 0; run < 3; run++)
		files = list_concat(files, write_run(table, pending, model, MAX_KEYS, 0.5, 0.1, &next_sequence));
	different_values = 1000;
	check_reads(table, files, model, MAX_KEYS);

	reader = table_reader_open(table, merged_splits(table, files), projection, 1, NULL, NULL);
	while ((batch = table_reader_next(reader)) != NULL)
	{
		const Vector *text = batch->columns[0];

		if (batch->nselected < 3 * 40)
			continue;
		CHECK(text->codes != NULL && text->dictionary_id != 0);
		CHECK(text->dictionary_size >= 40 - 3 && text->dictionary_size <= 3 * 40);
	}
	table_reader_close(reader);
}

/* Numbers that overlap between files, and equal ones: the row decides, then the file. */
static void
test_overlapping_sequence_numbers(void)
{
	LakeTable  *table = make_int_table();
	PendingFiles *pending = pending_files_create();
	ModelRow   *model = palloc0(MAX_KEYS * sizeof(ModelRow));
	ModelRow   *first = palloc0(MAX_KEYS * sizeof(ModelRow));
	int64		sequence = 500;
	List	   *newer;
	List	   *older;

	newer = write_run(table, pending, first, 1000, 1.0, 0, &sequence);
	sequence = 0;
	older = write_run(table, pending, model, 1000, 1.0, 0, &sequence);
	/* key k has number 500 + k in the one file and k in the other */
	check_read(table, list_concat(older, newer), first, 1000, NULL, 0, 1000, -1);

	/* now both are 0 .. 999: the file that is not published yet wins */
	sequence = 0;
	newer = write_run(table, pending, first, 1000, 1.0, 0, &sequence);
	((DataFileMeta *) linitial(newer))->unpublished = true;
	check_read(table, list_make2(linitial(newer), linitial(older)), first, 1000, NULL, 0, 1000, -1);
}

int
main(void)
{
	unit_begin();
	RUN(test_sections);
	RUN(test_age);
	RUN(test_pick_keyed);
	RUN(test_pick_append);
	RUN(test_merge_integer_key);
	RUN(test_merge_string_key);
	RUN(test_merge_several_keys);
	RUN(test_merge_many_runs);
	RUN(test_merge_of_dictionaries);
	RUN(test_overlapping_sequence_numbers);
	return unit_end();
}
