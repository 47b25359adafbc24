/*
 * test_merge_engines.c
 *		Merge engines: random rows flushed, read and compacted, against a plain
 *		model that merges rows one by one and column by column.
 */
#include "postgres.h"

#include "lake/commit.h"
#include "lake/maintain.h"
#include "lake/merge_function.h"
#include "lake/read.h"
#include "lake/writer.h"
#include "unit.h"

enum
{
	COLUMN_K, COLUMN_A, COLUMN_B, COLUMN_S, COLUMN_C, COLUMN_D, COLUMN_T, COLUMN_U, COLUMN_E, NCOLUMNS
};

#define NKEYS 12
#define MAX_COMMITS 8
#define MAX_ROWS 40				/* of a commit */

/* A row, or the state of a key while its rows are merged; values as texts, NULL for null */
typedef struct ModelRow
{
	bool		exists;
	RowKind		kind;
	int			sequence;
	const char *values[NCOLUMNS];
} ModelRow;

/* A table, as its options say it, and the same for the model */
typedef struct Engine
{
	const char *const *options;
	MergeEngineKind kind;
	bool		deletes;		/* rows of all kinds are written */
	int			sequence_field; /* 0: none */
	bool		descending;
	bool		ignore_delete;
	bool		remove_on_delete;
	int			removing_group;
	int			groups[NCOLUMNS];	/* sequence group of each column, 0: none */
	const char *functions[NCOLUMNS];
	bool		ignore_retract[NCOLUMNS];
} Engine;

static const char *const columns[NCOLUMNS] = {"k", "a", "b", "s", "c", "d", "t", "u", "e"};

/* ---- the model ---- */

static int64
number(const char *value)
{
	return strtoll(value, NULL, 10);
}

static int
compare_nullable(const char *a, const char *b)
{
	if (a == NULL || b == NULL)
		return (a != NULL) - (b != NULL);
	return number(a) < number(b) ? -1 : number(a) > number(b);
}

/* first_value: what was seen first is noted in *first_seen. */
static const char *
aggregate(const char *function, const char *accumulator, const char *input, bool *first_seen)
{
	if (strcmp(function, "last_value") == 0)
		return input;
	if (strcmp(function, "first_value") == 0)
	{
		bool		is_first = !*first_seen;

		*first_seen = true;
		return is_first ? input : accumulator;
	}
	if (accumulator == NULL || input == NULL)
		return accumulator == NULL ? input : accumulator;
	if (strcmp(function, "sum") == 0)
		return psprintf(INT64_FORMAT, number(accumulator) + number(input));
	if (strcmp(function, "max") == 0)
		return number(accumulator) < number(input) ? input : accumulator;
	if (strcmp(function, "listagg") == 0)
		return psprintf("%s,%s", accumulator, input);
	return input;				/* last_non_null_value */
}

static const char *
retract(const char *function, const char *accumulator, const char *input)
{
	if (strcmp(function, "last_value") == 0)
		return NULL;
	if (strcmp(function, "sum") == 0)
	{
		if (input == NULL)
			return accumulator;
		return psprintf(INT64_FORMAT, (accumulator != NULL ? number(accumulator) : 0) - number(input));
	}
	return input != NULL ? NULL : accumulator;	/* last_non_null_value */
}

static const char *
function_of(const Engine *engine, int column)
{
	return engine->functions[column] != NULL ? engine->functions[column] : "last_non_null_value";
}

static void
model_aggregate(const Engine *engine, const ModelRow *rows, int nrows, ModelRow *out)
{
	bool		first_seen[NCOLUMNS] = {false};

	for (int i = 0; i < nrows; i++)
	{
		bool		retracts = ROW_KIND_IS_RETRACT(rows[i].kind);

		if (engine->remove_on_delete && rows[i].kind == ROW_DELETE)
		{
			memcpy(out->values, rows[i].values, sizeof(out->values));
			out->kind = ROW_DELETE;
			continue;
		}
		out->kind = ROW_INSERT;
		for (int c = 0; c < NCOLUMNS; c++)
		{
			if (c == COLUMN_K)
				out->values[c] = rows[i].values[c];
			else if (!retracts)
				out->values[c] = aggregate(c == engine->sequence_field ? "last_value" : function_of(engine, c),
										   out->values[c], rows[i].values[c], &first_seen[c]);
			else if (!engine->ignore_retract[c])
				out->values[c] = retract(c == engine->sequence_field ? "last_value" : function_of(engine, c),
										 out->values[c], rows[i].values[c]);
		}
	}
}

static int
next_of_group(const Engine *engine, int group, int after)
{
	/* the sequence columns: s of group 1; t, u of group 2 */
	if (group == 1)
		return after < COLUMN_S ? COLUMN_S : NCOLUMNS;
	return after < COLUMN_T ? COLUMN_T : after < COLUMN_U ? COLUMN_U : NCOLUMNS;
}

static bool
is_sequence_column(const Engine *engine, int column)
{
	int			group = engine->groups[column];

	return group != 0 && (group == 1 ? column == COLUMN_S : column == COLUMN_T || column == COLUMN_U);
}

static int
compare_group(const Engine *engine, int group, const ModelRow *input, const ModelRow *state, bool *is_empty)
{
	int			result = 0;

	*is_empty = true;
	for (int c = next_of_group(engine, group, 0); c < NCOLUMNS; c = next_of_group(engine, group, c))
	{
		if (input->values[c] != NULL)
			*is_empty = false;
		if (result == 0)
			result = compare_nullable(input->values[c], state->values[c]);
	}
	return result;
}

/* One row into the state, column by column; true if it removes the result. */
static bool
model_update_groups(const Engine *engine, const ModelRow *input, ModelRow *state, bool *first_seen)
{
	bool		retracts = ROW_KIND_IS_RETRACT(input->kind);

	for (int c = 0; c < NCOLUMNS; c++)
	{
		int			group = engine->groups[c];
		const char *function = engine->functions[c];
		const char *value = input->values[c];
		bool		is_empty;
		int			order;

		if (group == 0)
		{
			if (!retracts && value != NULL)
				state->values[c] = value;
			continue;
		}
		order = compare_group(engine, group, input, state, &is_empty);
		if (is_empty)
			continue;
		if (order >= 0 && is_sequence_column(engine, c))
		{
			if (input->kind == ROW_DELETE && group == engine->removing_group)
				return true;
			for (int s = next_of_group(engine, group, 0); s < NCOLUMNS; s = next_of_group(engine, group, s))
				state->values[s] = input->values[s];
		}
		else if (retracts && function != NULL)
			state->values[c] = engine->ignore_retract[c] ? state->values[c] : retract(function, state->values[c], value);
		else if (retracts && order >= 0)
			state->values[c] = NULL;
		else if (!retracts && order >= 0)
			state->values[c] = function != NULL ? aggregate(function, state->values[c], value, &first_seen[c]) : value;
		else if (!retracts && function != NULL)
			state->values[c] = aggregate(function, value, state->values[c], &first_seen[c]);
	}
	return false;
}

static void
model_update_partially(const Engine *engine, const ModelRow *rows, int nrows, ModelRow *out)
{
	bool		first_seen[NCOLUMNS] = {false};
	bool		has_insert = false;

	for (int i = 0; i < nrows; i++)
	{
		bool		retracts = ROW_KIND_IS_RETRACT(rows[i].kind);
		bool		removes = false;

		if (retracts && i == 0)
			memcpy(out->values, rows[i].values, sizeof(out->values));
		has_insert |= !retracts;
		if (!retracts || (engine->removing_group + engine->groups[COLUMN_S] > 0 && !engine->ignore_delete))
			removes = model_update_groups(engine, &rows[i], out, first_seen);
		else if (engine->remove_on_delete)
			removes = rows[i].kind == ROW_DELETE;
		if (removes)
			memcpy(out->values, rows[i].values, sizeof(out->values));
		out->kind = removes || !has_insert ? ROW_DELETE : ROW_INSERT;
	}
}

/* Rows of one key, oldest first. */
static ModelRow
model_merge(const Engine *engine, const ModelRow *rows, int nrows)
{
	ModelRow	out = {0};

	if (nrows == 0)
		return out;
	if (nrows == 1)
		return rows[0];
	out.exists = true;
	out.sequence = rows[nrows - 1].sequence;
	if (engine->kind == MERGE_AGGREGATION)
		model_aggregate(engine, rows, nrows, &out);
	else if (engine->kind == MERGE_PARTIAL_UPDATE)
		model_update_partially(engine, rows, nrows, &out);
	else
		out = rows[nrows - 1];
	return out;
}

/* Sort by sequence field and number, a few rows. */
static void
model_sort(const Engine *engine, ModelRow *rows, int nrows)
{
	for (int i = 1; i < nrows; i++)
	{
		for (int k = i; k > 0; k--)
		{
			const char *a = rows[k - 1].values[engine->sequence_field];
			const char *b = rows[k].values[engine->sequence_field];
			int			order = engine->sequence_field == 0 ? 0 : compare_nullable(a, b);
			ModelRow	row = rows[k];

			if (engine->descending && a != NULL && b != NULL)
				order = -order;
			if (order < 0 || (order == 0 && rows[k - 1].sequence < rows[k].sequence))
				break;
			rows[k] = rows[k - 1];
			rows[k - 1] = row;
		}
	}
}

/* ---- the table ---- */

/* By key: what each commit left, then what compaction did. */
typedef struct Model
{
	ModelRow	rows[NKEYS][MAX_COMMITS];
	int			nrows[NKEYS];
	int			next_sequence;
} Model;

static LakeTable *
make_table(const Engine *engine)
{
	static int	counter = 0;
	DataField	fields[NCOLUMNS];
	List	   *options = list_make1(option_pair_make("bucket", "1"));

	for (int i = 0; i < NCOLUMNS; i++)
	{
		bool		is_text = i == COLUMN_B || i == COLUMN_D;
		TypeRoot	root = is_text ? TYPE_VARCHAR : i == COLUMN_C ? TYPE_BIGINT : TYPE_INT;

		fields[i] = (DataField) {
			.name = pstrdup(columns[i]),
			.type = type_make(root, is_text ? TYPE_MAX_LENGTH : 0, 0, i != COLUMN_K)
		};
	}
	for (int i = 0; engine->options[i] != NULL; i += 2)
		options = lappend(options, option_pair_make(engine->options[i], engine->options[i + 1]));
	return lake_table_create(unit_directory(), "db", psprintf("t%d", counter++),
							 schema_build(NCOLUMNS, fields, NIL, list_make1(pstrdup("k")), options, NULL));
}

static ModelRow
random_row(const Engine *engine, Model *model)
{
	ModelRow	row = {.exists = true, .kind = ROW_INSERT, .sequence = model->next_sequence++};

	row.values[COLUMN_K] = psprintf("%d", unit_random_below(NKEYS));
	for (int c = 1; c < NCOLUMNS; c++)
		if (unit_random_below(4) > 0)
			row.values[c] = psprintf("%d", unit_random_below(c == COLUMN_B || c == COLUMN_D ? 100 : 5));
	if (engine->deletes && unit_random_below(4) == 0)
		row.kind = unit_random_below(3) == 0 ? ROW_UPDATE_BEFORE : ROW_DELETE;
	return row;
}

static void
append_row(LakeTable *table, TableWriter *writer, const ModelRow *row)
{
	Scalar		values[NCOLUMNS];

	for (int i = 0; i < NCOLUMNS; i++)
		values[i] = unit_scalar(table->schema->fields[i].type, row->values[i]);
	table_writer_append(writer, row->kind, values);
}

/* Write one commit of random rows, in one flush. */
static void
write_commit(const Engine *engine, LakeTable *table, Model *model)
{
	TableWriter *writer = table_writer_open(table, 16 * 1024 * 1024);
	CommitInfo	info = {"test", BATCH_COMMIT_IDENTIFIER, NIL, false};
	int			count = 1 + unit_random_below(MAX_ROWS);
	ModelRow   *written = palloc(count * sizeof(ModelRow));
	int			nwritten = 0;

	for (int i = 0; i < count; i++)
	{
		ModelRow	row = random_row(engine, model);

		append_row(table, writer, &row);
		/* the writer lets them fall, without a number */
		if (engine->ignore_delete && ROW_KIND_IS_RETRACT(row.kind))
			model->next_sequence--;
		else
			written[nwritten++] = row;
	}
	(void) table_writer_commit(writer, &info);
	table_writer_close(writer);
	for (int key = 0; key < NKEYS; key++)
	{
		ModelRow	rows[MAX_ROWS];
		int			nrows = 0;
		ModelRow	merged;

		for (int i = 0; i < nwritten; i++)
			if (number(written[i].values[COLUMN_K]) == key)
				rows[nrows++] = written[i];
		model_sort(engine, rows, nrows);
		merged = model_merge(engine, rows, nrows);
		if (merged.exists)
			model->rows[key][model->nrows[key]++] = merged;
	}
}

static ModelRow
merge_all(const Engine *engine, Model *model, int key)
{
	ModelRow	merged;

	model_sort(engine, model->rows[key], model->nrows[key]);
	merged = model_merge(engine, model->rows[key], model->nrows[key]);
	if (merged.exists && ROW_KIND_IS_RETRACT(merged.kind))
		merged.exists = false;
	return merged;
}

static void
compact(const Engine *engine, LakeTable *table, Model *model)
{
	CompactResult result = lake_compact(table, true, 0, "test", NULL);

	/* a single file at the highest level is not touched */
	if (result.snapshot_id == 0)
		return;
	for (int key = 0; key < NKEYS; key++)
	{
		ModelRow	merged = merge_all(engine, model, key);

		model->nrows[key] = 0;
		if (merged.exists)
			model->rows[key][model->nrows[key]++] = merged;
	}
}

static void
check_value(LakeTable *table, int column, const Scalar *actual, const char *expected)
{
	const DataType *type = table->schema->fields[column].type;
	Scalar		wanted = unit_scalar(type, expected);

	if (actual->isnull || wanted.isnull)
		CHECK_MESSAGE(actual->isnull == wanted.isnull, "column %s is %snull", columns[column], actual->isnull ? "" : "not ");
	else if (type->physical == PHYSICAL_BYTES)
		CHECK_BYTES(actual->v.bytes, wanted.v.bytes);
	else if (type->physical == PHYSICAL_INT64)
		CHECK_INT(actual->v.i64, wanted.v.i64);
	else
		CHECK_INT(actual->v.i32, wanted.v.i32);
}

/* Read some columns, the key first, and compare. */
static void
check_read(const Engine *engine, LakeTable *table, Model *model, const int *projection, int nprojection)
{
	ScanRequest request = {.snapshot = snapshot_load_latest(table->location)};
	TableReader *reader = table_reader_open(table, scan_plan(table, &request)->splits, projection, nprojection, NULL, NULL);
	bool		seen[NKEYS] = {false};
	Batch	   *batch;

	while ((batch = table_reader_next(reader)) != NULL)
	{
		for (int i = 0; i < batch->nselected; i++)
		{
			int			row = batch->selection != NULL ? batch->selection[i] : i;
			int			key = vector_get(batch->columns[0], row).v.i32;
			ModelRow	merged = merge_all(engine, model, key);

			CHECK_MESSAGE(merged.exists && !seen[key], "key %d should not be there", key);
			seen[key] = true;
			for (int c = 1; c < nprojection && merged.exists; c++)
			{
				Scalar		value = vector_get(batch->columns[c], row);

				check_value(table, projection[c], &value, merged.values[projection[c]]);
			}
		}
	}
	table_reader_close(reader);
	for (int key = 0; key < NKEYS; key++)
		CHECK_MESSAGE(seen[key] || !merge_all(engine, model, key).exists, "key %d is missing", key);
}

static void
run_engine(const Engine *engine)
{
	static const int all[] = {COLUMN_K, COLUMN_A, COLUMN_B, COLUMN_S, COLUMN_C, COLUMN_D, COLUMN_T, COLUMN_U, COLUMN_E};

	for (int round = 0; round < 40; round++)
	{
		Model	   *model = palloc0(sizeof(Model));
		LakeTable  *table = make_table(engine);
		int			ncommits = 1 + unit_random_below(MAX_COMMITS - 1);

		for (int i = 0; i < ncommits; i++)
		{
			int			some[2] = {COLUMN_K, 1 + unit_random_below(NCOLUMNS - 1)};

			write_commit(engine, table, model);
			if (unit_random_below(4) == 0)
				compact(engine, table, model);
			check_read(engine, table, model, all, NCOLUMNS);
			check_read(engine, table, model, some, 2);
		}
		lake_table_close(table);
	}
}

static void
test_sequence_field(void)
{
	static const char *const ascending[] = {"sequence.field", "s", NULL};
	static const char *const descending[] = {"sequence.field", "s", "sequence.field.sort-order", "descending", NULL};
	static const char *const ignoring[] = {"sequence.field", "t", "deduplicate.ignore-delete", "true", NULL};
	Engine		engine = {.options = ascending, .deletes = true, .sequence_field = COLUMN_S};

	run_engine(&engine);
	engine.options = descending;
	engine.descending = true;
	run_engine(&engine);
	engine = (Engine) {.options = ignoring, .deletes = true, .sequence_field = COLUMN_T, .ignore_delete = true};
	run_engine(&engine);
}

static void
test_partial_update(void)
{
	static const char *const plain[] = {"merge-engine", "partial-update", NULL};
	static const char *const removing[] = {
		"merge-engine", "partial-update", "partial-update.remove-record-on-delete", "true", NULL
	};
	static const char *const ignoring[] = {"merge-engine", "partial-update", "ignore-delete", "true", NULL};
	Engine		engine = {.options = plain, .kind = MERGE_PARTIAL_UPDATE};

	run_engine(&engine);
	engine.deletes = true;
	engine.options = removing;
	engine.remove_on_delete = true;
	run_engine(&engine);
	engine.options = ignoring;
	engine.remove_on_delete = false;
	engine.ignore_delete = true;
	run_engine(&engine);
}

#define GROUP_OPTIONS \
	"merge-engine", "partial-update", "fields.s.sequence-group", "a,b", "fields.t,u.sequence-group", "c,d", \
	"fields.a.aggregate-function", "first_value", "fields.a.ignore-retract", "true", \
	"fields.c.aggregate-function", "sum", "fields.d.aggregate-function", "listagg", "fields.d.ignore-retract", "true"

static void
test_sequence_groups(void)
{
	static const char *const grouped[] = {GROUP_OPTIONS, NULL};
	static const char *const removing[] = {
		GROUP_OPTIONS, "partial-update.remove-record-on-sequence-group", "t", NULL
	};
	Engine		engine = {
		.options = grouped,
		.kind = MERGE_PARTIAL_UPDATE,
		.deletes = true,
		.groups = {[COLUMN_A] = 1, [COLUMN_B] = 1, [COLUMN_S] = 1, [COLUMN_C] = 2, [COLUMN_D] = 2, [COLUMN_T] = 2, [COLUMN_U] = 2},
		.functions = {[COLUMN_A] = "first_value", [COLUMN_C] = "sum", [COLUMN_D] = "listagg"},
		.ignore_retract = {[COLUMN_A] = true, [COLUMN_D] = true}
	};

	run_engine(&engine);
	engine.options = removing;
	engine.removing_group = 2;
	run_engine(&engine);
}

#define AGGREGATE_OPTIONS \
	"merge-engine", "aggregation", "fields.a.aggregate-function", "sum", "fields.b.aggregate-function", "last_value", \
	"fields.c.aggregate-function", "max", "fields.d.aggregate-function", "listagg", "fields.e.aggregate-function", "first_value"

static void
test_aggregation(void)
{
	static const char *const adding[] = {AGGREGATE_OPTIONS, "sequence.field", "s", NULL};
	static const char *const removing[] = {AGGREGATE_OPTIONS, "aggregation.remove-record-on-delete", "true", NULL};
	static const char *const taking_back[] = {
		AGGREGATE_OPTIONS, "fields.c.ignore-retract", "true", "fields.d.ignore-retract", "true",
		"fields.e.ignore-retract", "true", NULL
	};
	Engine		engine = {
		.options = adding,
		.kind = MERGE_AGGREGATION,
		.sequence_field = COLUMN_S,
		.functions = {
			[COLUMN_A] = "sum", [COLUMN_B] = "last_value", [COLUMN_C] = "max", [COLUMN_D] = "listagg", [COLUMN_E] = "first_value"
		},
		.ignore_retract = {[COLUMN_C] = true, [COLUMN_D] = true, [COLUMN_E] = true}
	};

	run_engine(&engine);
	engine.sequence_field = 0;
	engine.deletes = true;
	engine.options = taking_back;
	run_engine(&engine);
	engine.options = removing;
	engine.remove_on_delete = true;
	/* -U is no removal: what cannot take it back fails */
	engine.deletes = false;
	run_engine(&engine);
}

/* Kinds alone decide which row is the first. */
static void
test_first_row(void)
{
	static const char *const first[] = {"merge-engine", "first-row", NULL};
	static const char *const ignoring[] = {"merge-engine", "first-row", "first-row.ignore-delete", "true", NULL};
	const int8	kinds[] = {ROW_DELETE, ROW_INSERT, ROW_UPDATE_AFTER};
	Engine		engine = {.options = first};
	LakeTable  *table = make_table(&engine);
	MergeFunction *function = merge_function_create(table->schema, table->options, table->name);

	CHECK_INT(merge_function_pick(function, kinds + 1, 2), 0);
	CHECK_ERROR(ERRCODE_DATA_EXCEPTION, "first-row", merge_function_pick(function, kinds, 3));
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "first-row", table_writer_open(table, 1024 * 1024));
	engine.options = ignoring;
	table = make_table(&engine);
	function = merge_function_create(table->schema, table->options, table->name);
	CHECK_INT(merge_function_pick(function, kinds, 3), 1);
	CHECK_INT(merge_function_pick(function, kinds, 1), -1);
}

static void
write_kinds(LakeTable *table, const RowKind *kinds, int nkinds)
{
	TableWriter *writer = table_writer_open(table, 1024 * 1024);
	CommitInfo	info = {"test", BATCH_COMMIT_IDENTIFIER, NIL, false};

	for (int i = 0; i < nkinds; i++)
	{
		ModelRow	row = {.kind = kinds[i], .values = {[COLUMN_K] = "1"}};

		append_row(table, writer, &row);
	}
	(void) table_writer_commit(writer, &info);
	table_writer_close(writer);
}

/* Deletes where an engine or a function has no rule for them. */
static void
test_unwanted_deletes(void)
{
	static const char *const plain[] = {"merge-engine", "partial-update", NULL};
	static const char *const maximum[] = {"merge-engine", "aggregation", "fields.a.aggregate-function", "max", NULL};
	const RowKind kinds[] = {ROW_INSERT, ROW_DELETE};
	Engine		engine = {.options = plain};

	CHECK_ERROR(ERRCODE_DATA_EXCEPTION, "partial-update", write_kinds(make_table(&engine), kinds, 2));
	engine.options = maximum;
	CHECK_ERROR(ERRCODE_DATA_EXCEPTION, "\"max\" of column \"a\"", write_kinds(make_table(&engine), kinds, 2));
}

static void
check_refused(const char *part, const char *const *options)
{
	Engine		engine = {.options = options};
	LakeTable  *table = make_table(&engine);

	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, part, options_check_readable(table->schema, table->options, table->name));
}

static void
test_refusals(void)
{
	check_refused("\"median\" of column \"a\"",
				  (const char *const[]) {"merge-engine", "aggregation", "fields.a.aggregate-function", "median", NULL});
	check_refused("\"sum\" of column \"b\"",
				  (const char *const[]) {"merge-engine", "aggregation", "fields.b.aggregate-function", "sum", NULL});
	check_refused("\"collect\" of column \"a\"",
				  (const char *const[]) {"merge-engine", "aggregation", "fields.default-aggregate-function", "collect", NULL});
	check_refused("\"sum\" of column \"a\"",
				  (const char *const[]) {"merge-engine", "partial-update", "fields.a.aggregate-function", "sum", NULL});
	check_refused("fields.s.sequence-group",
				  (const char *const[]) {"merge-engine", "partial-update", "fields.s.sequence-group", "a,k", NULL});
	check_refused("sequence-group",
				  (const char *const[]) {"merge-engine", "partial-update", "fields.s.sequence-group", "a",
				  "fields.t.sequence-group", "a", NULL});
	check_refused("remove-record-on-sequence-group",
				  (const char *const[]) {"merge-engine", "partial-update", "fields.s.sequence-group", "a",
				  "partial-update.remove-record-on-sequence-group", "t", NULL});
	check_refused("remove-record-on-delete",
				  (const char *const[]) {"merge-engine", "partial-update", "fields.s.sequence-group", "a",
				  "partial-update.remove-record-on-delete", "true", NULL});
}

int
main(void)
{
	unit_begin();
	RUN(test_sequence_field);
	RUN(test_partial_update);
	RUN(test_sequence_groups);
	RUN(test_aggregation);
	RUN(test_first_row);
	RUN(test_unwanted_deletes);
	RUN(test_refusals);
	return unit_end();
}
