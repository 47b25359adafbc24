/*
 * test_nested.c
 *		Nested values: vectors against texts made when they were filled, and
 *		back from Parquet files.
 */
#include "postgres.h"

#include "columnar/vector.h"
#include "format/parquet/parquet.h"
#include "lake/write_buffer.h"
#include "storage/storage.h"
#include "utils/memutils.h"

#include "nested_values.h"
#include "unit.h"

#define MAX_ROWS 300
#define FILE_ROWS 3000

/* ---- vectors ---- */

static void
check_gather(const DataType *type)
{
	BytesView	texts[MAX_ROWS];
	BytesView	expected[2 * MAX_ROWS];
	int32		from[MAX_ROWS];
	int			nrows = 1 + unit_random_below(MAX_ROWS);
	Vector	   *source = random_vector(type, nrows, texts);
	Vector	   *target = vector_create(type, 2 * MAX_ROWS);
	int			at = 0;

	for (int row = 0; row < nrows; row++)
		if (!CHECK_BYTES(row_text(source, row), texts[row]))
			return;
	vector_reset(target);
	while (at < MAX_ROWS)
	{
		int			count = unit_random_below(MAX_ROWS);

		for (int i = 0; i < count; i++)
		{
			from[i] = unit_random_below(nrows);
			expected[at + i] = texts[from[i]];
		}
		vector_gather(target, at, source, from, count);
		at += count;
	}
	vector_reserve(target, 3 * MAX_ROWS);
	vector_flatten(target, NULL, at);
	for (int row = 0; row < at; row++)
		if (!CHECK_BYTES(row_text(target, row), expected[row]))
			return;
	vector_free(target);
}

static void
test_gather(void)
{
	for (int i = 0; i < 200; i++)
	{
		int			next_id = 1;

		check_gather(random_nested_type(&next_id));
	}
}

/* Copies own their bytes: they stay when the source's are overwritten. */
static void
test_scalar_copy(void)
{
	for (int i = 0; i < 100; i++)
	{
		int			next_id = 1;
		DataType   *type = random_nested_type(&next_id);
		BytesView	text;
		Vector	   *vector = random_vector(type, 1, &text);
		Scalar		value = vector_get(vector, 0);
		Scalar		copy;
		RowCost		cost = vector_row_cost(vector, 0);
		char	   *bytes = palloc(Max(cost.bytes, 1));
		char	   *place = bytes;

		vector_move_bytes(vector, 0, &place);
		CHECK_INT(place - bytes, cost.bytes);
		copy = scalar_copy(type, &value);
		memset(bytes, '?', cost.bytes);
		vector_free(vector);
		CHECK(copy.isnull == (strcmp(text.data, "null") == 0));
		if (!copy.isnull)
			CHECK_BYTES(row_text(copy.v.nested.vector, copy.v.nested.row), text);
	}
}

/* Strings with a dictionary, below lists and rows. */
static void
test_flatten(void)
{
	static const BytesView words[] = {{"zero", 4}, {"one", 3}, {"two", 3}};
	DataType   *type = nested_type(TYPE_ARRAY, 1);
	DataType   *row_type = nested_type(TYPE_ROW, 1);
	DataType   *string_type = type_parse_atomic("STRING");
	Vector	   *vector;
	Vector	   *strings;
	Vector	   *copy;
	int32		from[] = {1, 0};

	type->children[0].type = row_type;
	row_type->children[0].type = string_type;
	vector = vector_create(type, 2);
	copy = vector_create(type, 2);
	strings = vector->children[0]->children[0];
	vector->values.list[0] = (ListView) {0, 2};
	vector->values.list[1] = (ListView) {2, 1};
	vector->children[0]->filled = 3;
	strings->codes = strings->codes_buffer;
	strings->dictionary = words;
	strings->dictionary_size = lengthof(words);
	for (int i = 0; i < 3; i++)
		strings->codes[i] = 2 - i;
	CHECK_BYTES(row_text(vector, 0), unit_bytes("[(two,);(one,);]"));
	CHECK_INT(vector_row_cost(vector, 0).bytes, 6);
	vector_gather(copy, 0, vector, from, 2);
	vector_reserve(strings, 1000);
	vector_flatten(vector, NULL, 2);
	CHECK(strings->codes == NULL);
	CHECK_BYTES(row_text(vector, 0), unit_bytes("[(two,);(one,);]"));
	CHECK_BYTES(row_text(vector, 1), unit_bytes("[(zero,);]"));
	CHECK_BYTES(row_text(copy, 0), unit_bytes("[(zero,);]"));
	CHECK_BYTES(row_text(copy, 1), unit_bytes("[(two,);(one,);]"));
	vector_set_all_null(vector, 2);
	CHECK_BYTES(row_text(vector, 1), unit_bytes("null"));
	CHECK_INT(vector->children[0]->filled, 0);
}

/* ... and the same value in every row. */
static void
test_constant(void)
{
	int			next_id = 1;
	DataType   *type = random_nested_type(&next_id);
	BytesView	text;
	Vector	   *vector = random_vector(type, 1, &text);
	Scalar		value = vector_get(vector, 0);
	Vector	   *constant = vector_create(type, 10);

	vector_set_constant(constant, &value, 10);
	for (int i = 0; i < 10; i++)
		CHECK_BYTES(row_text(constant, i), text);
}

/* ---- Parquet files ---- */

static FormatWriter *
begin_file(StorageWriter **storage, const char *path, const DataType *type, const char *compression,
		   size_t row_group_bytes)
{
	DataField	field = {.id = 7, .name = "c", .type = unconstify(DataType *, type)};
	FormatWriteOptions options = {
		.ncolumns = 1, .columns = &field, .compression = compression, .row_group_bytes = row_group_bytes
	};

	*storage = storage_create(path);
	return format_create(&parquet_format, *storage, &options);
}

static void
end_file(FormatWriter *writer, StorageWriter *storage)
{
	ColumnStatistics statistics;

	format_finish(writer, &statistics);
	storage_finish(storage);
	CHECK(!statistics.has_min && !statistics.has_max && !statistics.has_null_count);
}

/* Rows in some order, in pieces of any length, written to a file. */
static void
write_rows(const char *path, Vector *vector, int nrows, BytesView *texts)
{
	StorageWriter *storage;
	BytesView  *written = palloc(nrows * sizeof(BytesView));
	int32	   *rows = palloc(nrows * sizeof(int32));
	FormatWriter *writer = begin_file(&storage, path, vector->type, unit_random_below(2) ? "zstd" : "none",
									  unit_random_below(2) ? 0 : 20000);

	for (int i = 0; i < nrows; i++)
	{
		rows[i] = unit_random_below(nrows);
		written[i] = texts[rows[i]];
	}
	for (int done = 0; done < nrows;)
	{
		int			count = 1 + unit_random_below(1000);

		count = Min(nrows - done, count);
		format_write(writer, &vector, rows + done, count);
		done += count;
	}
	end_file(writer, storage);
	memcpy(texts, written, nrows * sizeof(BytesView));
}

/* A selection of a batch's rows: all (false), few, or many. */
static bool
choose_rows(int nrows, int32 *selection, int *nselected)
{
	int			density = unit_random_below(4);

	*nselected = nrows;
	if (density == 0)
		return false;
	*nselected = 0;
	for (int row = 0; row < nrows; row++)
	{
		if (unit_random_below(density == 1 ? 2 : 100) == 0)
			selection[(*nselected)++] = row;
	}
	return true;
}

static FormatReader *
open_file(StorageFile **file, const char *path, const DataType *type)
{
	DataField	field = {.name = "c", .type = unconstify(DataType *, type)};
	FormatReadOptions options = {.ncolumns = 1, .columns = &field};

	*file = storage_open(path);
	return format_open(&parquet_format, *file, &options);
}

static bool
check_file(const char *path, const DataType *type, const BytesView *texts)
{
	StorageFile *file;
	FormatReader *reader = open_file(&file, path, type);
	Vector	   *vector = vector_create(type, BATCH_ROWS);
	int32		selection[BATCH_ROWS];
	bool		same = true;

	while (same && format_next(reader))
	{
		int			nselected;
		bool		some = choose_rows(reader->nrows, selection, &nselected);

		if (nselected == 0)
			continue;
		format_read_column(reader, 0, some ? selection : NULL, nselected, vector);
		vector_flatten(vector, some ? selection : NULL, nselected);
		for (int i = 0; i < nselected && same; i++)
		{
			int			row = some ? selection[i] : i;

			same = CHECK_BYTES(row_text(vector, row), texts[reader->first_row + row]);
		}
	}
	format_close(reader);
	storage_close(file);
	return same;
}

static void
test_files(void)
{
	for (int i = 0; i < 60; i++)
	{
		int			next_id = 1;
		DataType   *type = random_nested_type(&next_id);
		int			nrows = 1 + unit_random_below(unit_random_below(4) == 0 ? FILE_ROWS : MAX_ROWS);
		BytesView  *texts = palloc(nrows * sizeof(BytesView));
		Vector	   *vector = random_vector(type, nrows, texts);
		const char *path = psprintf("%s/files-%d", unit_directory(), i);

		write_rows(path, vector, nrows, texts);
		for (int k = 0; k < 3; k++)
			if (!check_file(path, type, texts))
				return;
		vector_free(vector);
	}
}

static DataType *
row_type(const char *const *names, const char *const *types, int nfields)
{
	DataType   *type = nested_type(TYPE_ROW, nfields);

	type->nullable = true;
	for (int i = 0; i < nfields; i++)
	{
		type->children[i].id = i;
		type->children[i].name = pstrdup(names[i]);
		type->children[i].type = type_parse_atomic(types[i]);
	}
	return type;
}

static DataType *
array_of(DataType *element)
{
	DataType   *type = nested_type(TYPE_ARRAY, 1);

	type->nullable = true;
	type->children[0].type = element;
	return type;
}

/* Fields of rows are found by name; those that are not there are null. */
static void
test_fields_by_name(void)
{
	static const char *const written_names[] = {"a", "b", "c"};
	static const char *const written_types[] = {"INT", "STRING", "BIGINT"};
	static const char *const read_names[] = {"c", "x", "a"};
	static const char *const read_types[] = {"BIGINT", "STRING", "INT"};
	static const char *const none[] = {"x", "y"};
	DataType   *type = array_of(row_type(written_names, written_types, 3));
	BytesView	texts[MAX_ROWS];
	BytesView	expected[MAX_ROWS];
	const char *path = psprintf("%s/by-name", unit_directory());
	StorageWriter *storage;
	FormatWriter *writer = begin_file(&storage, path, type, "none", 0);
	Vector	   *vector = random_vector(type, MAX_ROWS, texts);

	format_write(writer, &vector, NULL, MAX_ROWS);
	end_file(writer, storage);
	for (int kind = 0; kind < 2; kind++)
	{
		for (int row = 0; row < MAX_ROWS; row++)
		{
			const Vector *rows = vector->children[0];
			ListView	list = vector->values.list[row];
			StringInfoData text;

			initStringInfo(&text);
			appendStringInfoString(&text, vector_get(vector, row).isnull ? "null" : "[");
			for (int i = 0; i < list.length && text.data[0] == '['; i++)
			{
				if (vector_get(rows, list.start + i).isnull)
					appendStringInfoString(&text, "null;");
				else if (kind == 1)
					appendStringInfoString(&text, "(null,null,);");
				else
				{
					appendStringInfoChar(&text, '(');
					append_row(&text, rows->children[2], list.start + i);
					appendStringInfoString(&text, ",null,");
					append_row(&text, rows->children[0], list.start + i);
					appendStringInfoString(&text, ",);");
				}
			}
			if (text.data[0] == '[')
				appendStringInfoChar(&text, ']');
			expected[row].data = text.data;
			expected[row].length = text.len;
		}
		check_file(path, array_of(kind == 0 ? row_type(read_names, read_types, 3) : row_type(none, read_types, 2)),
				   expected);
	}
}

static void
test_refusals(void)
{
	static const char *const names[] = {"a"};
	static const char *const types[] = {"INT"};
	DataType   *type = array_of(row_type(names, types, 1));
	DataType   *deep = type;
	DataType   *required = array_of(type_parse_atomic("INT NOT NULL"));
	DataType   *empty = nested_type(TYPE_ROW, 0);
	const char *path = psprintf("%s/refused", unit_directory());
	StorageWriter *storage;
	StorageFile *file;
	FormatWriter *writer = begin_file(&storage, path, type, "none", 0);
	Vector	   *vector = vector_create(type, 1);

	vector_set_all_null(vector, 1);
	format_write(writer, &vector, NULL, 1);
	end_file(writer, storage);
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "is nested and cannot be read as INT",
				open_file(&file, path, type_parse_atomic("INT")));
	storage_close(file);
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "cannot be read as INT",
				open_file(&file, path, array_of(type_parse_atomic("INT"))));
	storage_close(file);
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "cannot be read as ARRAY", open_file(&file, path, array_of(type)));
	storage_close(file);

	for (int i = 0; i < 70; i++)
		deep = array_of(deep);
	CHECK_ERROR(ERRCODE_PROGRAM_LIMIT_EXCEEDED, "cannot be written",
				begin_file(&storage, psprintf("%s/refused-2", unit_directory()), deep, "none", 0));
	storage_abort(storage);
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "cannot be written",
				begin_file(&storage, psprintf("%s/refused-3", unit_directory()), empty, "none", 0));
	storage_abort(storage);

	vector = vector_create(required, 1);
	vector->values.list[0] = (ListView) {0, 1};
	vector_set_all_null(vector->children[0], 1);
	writer = begin_file(&storage, psprintf("%s/refused-4", unit_directory()), required, "none", 0);
	CHECK_ERROR(ERRCODE_NOT_NULL_VIOLATION, "null value in column \"c.element\"",
				format_write(writer, &vector, NULL, 1));
	storage_abort(storage);
}

/* ---- rows on their way into files ---- */

static void
check_buffer_rows(WriteBuffer *buffer, BytesView **texts, int nfields)
{
	Vector	  **columns = write_buffer_columns(buffer);

	for (int row = 0; row < write_buffer_rows(buffer); row++)
		for (int i = 0; i < nfields; i++)
			if (!CHECK_BYTES(row_text(columns[i], row), texts[i][row]))
				return;
}

/* A row of the buffer's columns, at random; its bytes are lost at once. */
static bool
append_random_row(WriteBuffer *buffer, const TableSchema *schema, BytesView **texts)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "row", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Scalar		values[2];
	BytesView	made[2];
	int			row = write_buffer_rows(buffer);
	bool		room;

	for (int i = 0; i < schema->nfields; i++)
		values[i] = vector_get(random_vector(schema->fields[i].type, 1, &made[i]), 0);
	room = write_buffer_append(buffer, ROW_INSERT, values);
	MemoryContextSwitchTo(old);
	for (int i = 0; i < schema->nfields && room; i++)
	{
		char	   *copy = palloc(made[i].length + 1);

		memcpy(copy, made[i].data, made[i].length);
		texts[i][row].data = copy;
		texts[i][row].length = made[i].length;
	}
	MemoryContextDelete(context);
	return room;
}

static void
test_write_buffer(void)
{
	for (int round = 0; round < 20; round++)
	{
		int			next_id = 1;
		Size		limit = 200 * 1024;
		DataField	fields[2] = {
			{.id = 0, .name = "a", .type = random_nested_type(&next_id)},
			{.id = 1, .name = "b", .type = random_nested_type(&next_id)}
		};
		TableSchema schema = {.nfields = 2, .fields = fields};
		LakeTable	table = {.schema = &schema, .name = "test"};
		BytesView  *texts[2] = {palloc(5000 * sizeof(BytesView)), palloc(5000 * sizeof(BytesView))};
		WriteBuffer *buffer = write_buffer_create(&table, limit);

		for (int i = 0; i < 2000; i++)
		{
			Size		memory = write_buffer_memory(buffer);

			if (!append_random_row(buffer, &schema, texts) || write_buffer_rows(buffer) == 5000)
			{
				check_buffer_rows(buffer, texts, 2);
				write_buffer_reset(buffer);
				CHECK(append_random_row(buffer, &schema, texts));
			}
			/* only a row that is alone may take more, and others that take nothing */
			else if (write_buffer_rows(buffer) > 1)
				CHECK(write_buffer_memory(buffer) <= limit || write_buffer_memory(buffer) == memory);
			if (unit_random_below(50) == 0)
				write_buffer_truncate(buffer, unit_random_below(write_buffer_rows(buffer)));
		}
		check_buffer_rows(buffer, texts, 2);
	}
}

/* In rows that delete, something stands where nothing may be null. */
static void
test_required_in_deletes(void)
{
	DataField	fields[3] = {
		{.name = "k", .type = type_parse_atomic("INT NOT NULL")},
		{.name = "r", .type = nested_type(TYPE_ROW, 2)},
		{.name = "a", .type = nested_type(TYPE_ARRAY, 1)}
	};
	DataField	parts[2] = {
		{.name = "x", .type = type_parse_atomic("STRING NOT NULL")},
		{.name = "y", .type = type_parse_atomic("INT")}
	};
	int			key = 0;
	TableSchema schema = {.nfields = 3, .fields = fields, .nprimary_keys = 1, .primary_keys = &key};
	LakeTable	table = {.schema = &schema, .name = "test"};
	WriteBuffer *buffer;
	Scalar		values[3] = {{.isnull = false}, {.isnull = true}, {.isnull = true}};

	fields[1].type->nullable = fields[2].type->nullable = false;
	fields[1].type->children = parts;
	fields[2].type->children[0].type = type_parse_atomic("INT");
	buffer = write_buffer_create(&table, 1024 * 1024);
	CHECK_ERROR(ERRCODE_NOT_NULL_VIOLATION, "null value in column \"r\"",
				write_buffer_append(buffer, ROW_INSERT, values));
	CHECK(write_buffer_append(buffer, ROW_DELETE, values));
	CHECK_BYTES(row_text(write_buffer_columns(buffer)[1], 0), unit_bytes("(,null,)"));
	CHECK_BYTES(row_text(write_buffer_columns(buffer)[2], 0), unit_bytes("[]"));
}

int
main(void)
{
	unit_begin();
	RUN(test_gather);
	RUN(test_scalar_copy);
	RUN(test_flatten);
	RUN(test_constant);
	RUN(test_files);
	RUN(test_fields_by_name);
	RUN(test_refusals);
	RUN(test_write_buffer);
	RUN(test_required_in_deletes);
	return unit_end();
}
