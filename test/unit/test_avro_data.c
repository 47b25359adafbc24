/*
 * test_avro_data.c
 *		Avro data files: types, batches, selections, codecs, nested values, damage.
 *
 * The files were written by fastavro.
 */
#include "postgres.h"

#include "avro_files.h"
#include "columnar/decimal.h"
#include "format/format.h"
#include "nested_values.h"
#include "storage/storage.h"
#include "unit.h"
#include "utils/memutils.h"

#define MAX_COLUMNS 20

/* A column wanted: its name and type */
typedef struct Wanted
{
	const char *name;
	DataType   *type;
} Wanted;

static char *
put_file(const char *digits)
{
	BytesView	bytes = unit_hex(digits);
	char	   *path = storage_join(unit_directory(), "file.avro");

	storage_replace(path, bytes.data, bytes.length);
	return path;
}

static FormatReader *
open_columns(const char *path, const Wanted *wanted, int ncolumns, int64 rows)
{
	FormatReadOptions options = {.ncolumns = ncolumns, .file_rows = rows};
	DataField  *columns = palloc0(MAX_COLUMNS * sizeof(DataField));

	for (int i = 0; i < ncolumns; i++)
	{
		columns[i].name = pstrdup(wanted[i].name);
		columns[i].type = wanted[i].type;
	}
	options.columns = columns;
	return format_open(format_lookup("avro"), storage_open(path), &options);
}

static FormatReader *
open_column(const char *path, const char *name, DataType *type, int64 rows)
{
	Wanted		wanted = {name, type};

	return open_columns(path, &wanted, 1, rows);
}

static DataType *
atomic(const char *text)
{
	return type_parse_atomic(text);
}

static DataType *
array_of(DataType *element)
{
	return nested_type_of(TYPE_ARRAY, 1, &element, NULL);
}

static DataType *
map_of(const char *key, const char *value)
{
	DataType   *types[2] = {atomic(key), atomic(value)};

	return nested_type_of(TYPE_MAP, 2, types, NULL);
}

/* ---- flat types ---- */

static int128
number_at(const Vector *vector, int row)
{
	switch (vector->type->physical)
	{
		case PHYSICAL_INT8:
			return vector->values.i8[row];
		case PHYSICAL_INT16:
			return vector->values.i16[row];
		case PHYSICAL_INT32:
			return vector->values.i32[row];
		case PHYSICAL_INT64:
			return vector->values.i64[row];
		case PHYSICAL_INT128:
			return vector->values.i128[row];
		case PHYSICAL_FLOAT:
			return (int128) (vector->values.f32[row] * 4);
		case PHYSICAL_DOUBLE:
			return (int128) (vector->values.f64[row] * 4);
		default:
			elog(ERROR, "no number");
	}
}

/* Column, type and the value of row i: factor * i + offset; of floats four times that */
typedef struct NumberColumn
{
	const char *name;
	const char *type;
	int64		factor;
	int64		offset;
} NumberColumn;

static const NumberColumn number_columns[] = {
	{"i8", "TINYINT", 50, -128},
	{"i8", "INT", 50, -128},
	{"i16", "SMALLINT", 13107, -32768},
	{"i32", "INT", 858993459, -2147483648},
	{"i32", "BIGINT", 858993459, -2147483648},
	{"i64", "BIGINT", INT64CONST(1234567890123456789), 3 * INT64CONST(-1234567890123456789)},
	{"f", "FLOAT", 2, -4},
	{"f", "DOUBLE", 2, -4},
	{"d", "DOUBLE", 1, -4},
	{"dec9", "DECIMAL(9, 2)", 12345, -30000},
	{"dec9", "DECIMAL(38, 2)", 12345, -30000},
	{"fixed", "DECIMAL(9, 2)", 12345, -30000},
	{"date", "DATE", 10000, -20000},
	{"time", "TIME(3)", 1000001, 0},
	{"timeus", "TIME(0)", 1000, 0},
	{"ts3", "TIMESTAMP(3)", 1000000007, -2000000014},
	{"ts3", "TIMESTAMP(6)", INT64CONST(1000000007000), INT64CONST(-2000000014000)},
	{"ts3", "TIMESTAMP(9)", INT64CONST(1000000007000000), INT64CONST(-2000000014000000)},
	{"ltz6", "TIMESTAMP(6) WITH LOCAL TIME ZONE", 1000000007, -2000000014},
	{"ltz6", "TIMESTAMP(9) WITH LOCAL TIME ZONE", INT64CONST(1000000007000), INT64CONST(-2000000014000)},
};

static void
check_numbers(const char *path, const NumberColumn *column)
{
	DataType   *type = atomic(column->type);
	FormatReader *reader = open_column(path, column->name, type, 6);
	Vector	   *vector = vector_create(type, BATCH_ROWS);

	CHECK(format_next(reader));
	CHECK_INT(reader->nrows, 6);
	format_read_column(reader, 0, NULL, 6, vector);
	for (int i = 0; i < 6; i++)
	{
		bool		isnull = i == 3 && strcmp(column->name, "i32") != 0;

		CHECK_MESSAGE((vector->has_nulls && vector->nulls[i]) == isnull, "%s, row %d", column->name, i);
		if (!isnull)
			CHECK_MESSAGE(number_at(vector, i) == (int128) column->factor * i + column->offset,
						  "%s as %s, row %d", column->name, column->type, i);
	}
	CHECK(!format_next(reader));
	format_close(reader);
}

static void
test_numbers(void)
{
	char	   *path = put_file(flat_file);

	for (int i = 0; i < lengthof(number_columns); i++)
		check_numbers(path, &number_columns[i]);
}

static void
test_other_types(void)
{
	Wanted		wanted[] = {
		{"b", atomic("BOOLEAN")}, {"dec38", atomic("DECIMAL(38, 10)")}, {"s", atomic("STRING")},
		{"bin", atomic("BYTES")}, {"nothing", atomic("INT")},
	};
	FormatReader *reader = open_columns(put_file(flat_file), wanted, lengthof(wanted), 6);
	Vector	   *vectors[lengthof(wanted)];
	int32		selection[] = {0, 1, 5};

	CHECK(format_next(reader));
	for (int i = 0; i < lengthof(wanted); i++)
	{
		vectors[i] = vector_create(wanted[i].type, BATCH_ROWS);
		format_read_column(reader, i, selection, 3, vectors[i]);
	}
	for (int i = 0; i < 3; i++)
	{
		int			row = selection[i];
		char		bytes[3] = {(char) row, (char) (255 - row), 0};

		CHECK(vectors[0]->values.i8[row] == (row % 2 == 0));
		CHECK(vectors[1]->values.i128[row] == (row - 2) * decimal_power_of_ten(36));
		CHECK_INT(vectors[2]->values.bytes[row].length, row);
		CHECK_BYTES(vectors[3]->values.bytes[row], ((BytesView) {bytes, 3}));
	}
	CHECK(!reader->present[4]);
	CHECK(vectors[4]->has_nulls && vectors[4]->nulls[5]);
}

static void
test_wrong_types(void)
{
	char	   *path = put_file(flat_file);

	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "column \"s\" of file", open_column(path, "s", atomic("INT"), 6));
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "cannot be read as DECIMAL(9, 3)",
				open_column(path, "dec9", atomic("DECIMAL(9, 3)"), 6));
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "cannot be read as BOOLEAN",
				open_column(path, "i32", atomic("BOOLEAN"), 6));
}

/* Values beyond the wanted type are damage. */
static void
test_out_of_range(void)
{
	static const char *const columns[][2] = {
		{"i32", "SMALLINT"}, {"i16", "TINYINT"}, {"dec9", "DECIMAL(4, 2)"}, {"i64", "INT"},
	};
	char	   *path = put_file(flat_file);

	for (int i = 0; i < lengthof(columns); i++)
	{
		DataType   *type = atomic(columns[i][1]);
		FormatReader *reader = open_column(path, columns[i][0], type, 6);
		Vector	   *vector = vector_create(type, BATCH_ROWS);

		CHECK(format_next(reader));
		CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "is damaged", format_read_column(reader, 0, NULL, 6, vector));
	}
}

/* ---- batches ---- */

static void
check_row(const Vector *numbers, const Vector *texts, int row, int64 i)
{
	CHECK_INT(numbers->values.i32[row], i / 100);
	CHECK((texts->has_nulls && texts->nulls[row]) == (i % 10 == 0));
	if (i % 10 != 0)
		CHECK_BYTES(texts->values.bytes[row], unit_bytes(psprintf("row %d", (int) (i % 7))));
}

/* Read a file of numbers and texts; of every batch but each third, and of that only some rows. */
static void
read_numbers(const char *path, int64 nrows)
{
	Wanted		wanted[] = {{"text", atomic("STRING")}, {"n", atomic("INT")}};
	FormatReader *reader = open_columns(path, wanted, 2, nrows);
	Vector	   *texts = vector_create(wanted[0].type, BATCH_ROWS);
	Vector	   *numbers = vector_create(wanted[1].type, BATCH_ROWS);
	int64		total = 0;
	int			nbatches = 0;

	while (format_next(reader))
	{
		int32		selection[BATCH_ROWS];
		int			nselected = 0;

		CHECK_INT(reader->first_row, total);
		total += reader->nrows;
		if (nbatches++ % 3 == 2)
			continue;
		for (int row = nbatches % 2; row < reader->nrows; row += 3)
			selection[nselected++] = row;
		format_read_column(reader, 1, selection, nselected, numbers);
		format_read_column(reader, 0, selection, nselected, texts);
		for (int i = 0; i < nselected; i++)
			check_row(numbers, texts, selection[i], reader->first_row + selection[i]);
	}
	CHECK_INT(total, nrows);
	format_close(reader);
}

static void
test_codecs(void)
{
	static const char *const files[] = {deflate_file, snappy_file, zstandard_file, bzip2_file};

	for (int i = 0; i < lengthof(files); i++)
		read_numbers(put_file(files[i]), 2500);
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "codec \"xz\"", open_column(put_file(xz_file), "n", atomic("INT"), 10));
}

static void
test_blocks(void)
{
	read_numbers(put_file(blocks_file), 300);
}

/* Nobody asks for a column: rows are only counted. */
static void
test_no_columns(void)
{
	FormatReader *reader = open_columns(put_file(deflate_file), NULL, 0, 2500);

	CHECK(format_next(reader));
	CHECK_INT(reader->nrows, BATCH_ROWS);
	CHECK(format_next(reader));
	CHECK_INT(reader->nrows, 2500 - BATCH_ROWS);
	CHECK(!format_next(reader));
}

static void
read_all(FormatReader *reader)
{
	while (format_next(reader))
		;
}

static void
test_wrong_count(void)
{
	char	   *path = put_file(blocks_file);

	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "is damaged", read_all(open_column(path, "n", atomic("INT"), 301)));
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "is damaged", read_all(open_column(path, "n", atomic("INT"), 299)));
}

/* ---- nested types ---- */

/* The elements of a list that is not null. */
static ListView
list_at(const Vector *vector, int row, int length)
{
	ListView	list = vector->values.list[row];

	CHECK(!vector->has_nulls || !vector->nulls[row]);
	CHECK_INT(list.length, length);
	return list;
}

static bool
is_null(const Vector *vector, int row)
{
	return vector->has_nulls && vector->nulls[row];
}

static Vector *
read_nested(const char *column, DataType *type)
{
	FormatReader *reader = open_column(put_file(nested_file), column, type, 6);
	Vector	   *vector = vector_create(type, BATCH_ROWS);

	CHECK(format_next(reader));
	format_read_column(reader, 0, NULL, 6, vector);
	CHECK(is_null(vector, 4));
	return vector;
}

static void
test_arrays(void)
{
	Vector	   *vector = read_nested("a", array_of(atomic("INT")));

	for (int i = 0; i < 6; i++)
	{
		ListView	list;

		if (i == 4)
			continue;
		list = list_at(vector, i, i);
		for (int j = 0; j < list.length; j++)
		{
			CHECK(is_null(vector->children[0], list.start + j) == (j == 2));
			if (j != 2)
				CHECK_INT(vector->children[0]->values.i32[list.start + j], i * 10 + j);
		}
	}
}

static void
test_arrays_of_arrays(void)
{
	Vector	   *vector = read_nested("aa", array_of(array_of(atomic("STRING"))));
	ListView	outer = list_at(vector, 5, 5);
	Vector	   *arrays = vector->children[0];

	CHECK(is_null(arrays, outer.start + 1));
	for (int j = 2; j < 5; j++)
	{
		ListView	inner = list_at(arrays, outer.start + j, j);

		for (int k = 0; k < inner.length; k++)
			CHECK_BYTES(arrays->children[0]->values.bytes[inner.start + k], unit_bytes(psprintf("5.%d", j)));
	}
}

static void
test_maps(void)
{
	Vector	   *by_text = read_nested("m", map_of("STRING", "INT"));
	Vector	   *by_number = read_nested("mi", map_of("INT", "STRING"));
	ListView	list = list_at(by_text, 3, 3);

	for (int j = 0; j < list.length; j++)
	{
		CHECK_BYTES(by_text->children[0]->values.bytes[list.start + j], unit_bytes(psprintf("key%d", j)));
		CHECK(is_null(by_text->children[1], list.start + j) == (j == 1));
		if (j != 1)
			CHECK_INT(by_text->children[1]->values.i32[list.start + j], 3 + j);
	}
	list = list_at(by_number, 5, 5);
	for (int j = 0; j < list.length; j++)
	{
		CHECK_INT(by_number->children[0]->values.i32[list.start + j], 5 * j);
		CHECK(is_null(by_number->children[1], list.start + j) == (j == 1));
		if (j != 1)
			CHECK_INT(by_number->children[1]->values.bytes[list.start + j].length, j);
	}
}

/* Fields in another order, one that the file lacks and one that nobody wants. */
static void
test_rows(void)
{
	static const char *const names[] = {"y", "new", "x"};
	DataType   *types[] = {atomic("STRING"), atomic("DATE"), atomic("BIGINT")};
	Vector	   *vector = read_nested("r", nested_type_of(TYPE_ROW, 3, types, names));

	for (int i = 0; i < 6; i++)
	{
		if (i == 4)
			continue;
		CHECK(!is_null(vector, i));
		CHECK(is_null(vector->children[0], i) == (i == 1));
		if (i != 1)
			CHECK_BYTES(vector->children[0]->values.bytes[i], unit_bytes(psprintf("y%d", i)));
		CHECK(is_null(vector->children[1], i));
		CHECK_INT(vector->children[2]->values.i64[i], i);
	}
}

static void
test_arrays_of_rows(void)
{
	static const char *const names[] = {"v"};
	DataType   *types[] = {array_of(atomic("BIGINT"))};
	Vector	   *vector = read_nested("ar", array_of(nested_type_of(TYPE_ROW, 1, types, names)));
	ListView	outer = list_at(vector, 5, 5);
	Vector	   *rows = vector->children[0];
	Vector	   *arrays = rows->children[0];
	ListView	inner;

	CHECK(is_null(rows, outer.start + 1));
	list_at(arrays, outer.start, 0);
	inner = list_at(arrays, outer.start + 4, 3);
	CHECK_INT(arrays->children[0]->values.i64[inner.start], 5);
	CHECK(is_null(arrays->children[0], inner.start + 1));
	CHECK_INT(arrays->children[0]->values.i64[inner.start + 2], 4);
}

int
main(void)
{
	unit_begin();
	RUN(test_numbers);
	RUN(test_other_types);
	RUN(test_wrong_types);
	RUN(test_out_of_range);
	RUN(test_codecs);
	RUN(test_blocks);
	RUN(test_no_columns);
	RUN(test_wrong_count);
	RUN(test_arrays);
	RUN(test_arrays_of_arrays);
	RUN(test_maps);
	RUN(test_rows);
	RUN(test_arrays_of_rows);
	return unit_end();
}
