/*
 * test_bloom.c
 *		Bloom filters of Parquet files (by Paimon's Java library) and of ORC
 *		files (by pyarrow): what is there is found, what is not costs no read.
 */
#include "postgres.h"

#include "format/format.h"
#include "orc_files.h"
#include "parquet_bloom_file.h"
#include "storage/storage.h"
#include "unit.h"
#include "utils/memutils.h"

#define FILE_VALUES 20			/* in the Parquet file: 0, 2 .. 38 */
#define GROUP_VALUES 300		/* in the ORC file, in groups of 100 rows: 0, 2 .. 598 */

/* A column of a file; format makes a value's text of k. */
typedef struct BloomColumn
{
	const char *name;
	const char *type;
	const char *format;
} BloomColumn;

static const BloomColumn parquet_columns[] = {
	{"ti", "TINYINT", "%d"},
	{"i", "INT", "%d"},
	{"bi", "BIGINT", "%d"},
	{"f", "FLOAT", "%d.5"},
	{"d", "DOUBLE", "%d.5"},
	{"d9", "DECIMAL(9, 2)", "%d.25"},
	{"d18", "DECIMAL(18, 4)", "%d.2500"},
	{"d38", "DECIMAL(38, 10)", "-%d.2500000000"},
	{"s", "STRING", "row %d"},
	{"ts3", "TIMESTAMP(3)", "%d000"},
	{"ts6", "TIMESTAMP(6)", "%d000001"},
	{"lz3", "TIMESTAMP(3) WITH LOCAL TIME ZONE", "%d000"},
	/* as a wider type */
	{"i", "BIGINT", "%d"},
	{"f", "DOUBLE", "%d.5"},
};

static const BloomColumn orc_columns[] = {
	{"i16", "SMALLINT", "%d"},
	{"i64", "BIGINT", "%d"},
	{"f", "FLOAT", "%d.5"},
	{"d", "DOUBLE", "%d.5"},
	{"day", "DATE", "%d"},
	{"s", "STRING", "row number %d"},
	{"bin", "BYTES", "%04x"},
	{"i16", "BIGINT", "%d"},
};

/* What a scan with a predicate met. */
typedef struct Found
{
	int			rows;			/* in the batches */
	int			matching;		/* of them */
	FormatCounters counters;
} Found;

static const char *
write_file(BytesView content)
{
	static int	number;
	char	   *path = psprintf("%s/bloom%d", unit_directory(), number++);
	FILE	   *file = fopen(path, "wb");

	if (file == NULL || fwrite(content.data, 1, content.length, file) != content.length || fclose(file) != 0)
		elog(ERROR, "could not write \"%s\"", path);
	return path;
}

static Found
scan(const char *format, const char *path, const char *name, const DataType *type, const Predicate *predicate)
{
	Found		found = {0};
	DataField	column = {.name = pstrdup(name), .type = unconstify(DataType *, type)};
	FormatReadOptions options = {
		.ncolumns = 1, .columns = &column, .predicate = predicate, .counters = &found.counters
	};
	StorageFile *storage = storage_open(path);
	FormatReader *reader = format_open(format_lookup(format), storage, &options);
	Vector	   *vector = vector_create(type, BATCH_ROWS);
	int32		selection[BATCH_ROWS];

	while (format_next(reader))
	{
		for (int i = 0; i < reader->nrows; i++)
			selection[i] = i;
		format_read_column(reader, 0, NULL, reader->nrows, vector);
		found.rows += reader->nrows;
		found.matching += predicate_filter(predicate, &vector, selection, reader->nrows);
	}
	format_close(reader);
	storage_close(storage);
	return found;
}

/* TIMESTAMP values count from 1970, the file's from 2024. */
static Scalar
value_of(const BloomColumn *column, const DataType *type, int k)
{
	Scalar		value = unit_scalar(type, psprintf(column->format, k));

	if (type->root == TYPE_TIMESTAMP || type->root == TYPE_TIMESTAMP_LTZ)
		value.v.i64 += INT64CONST(1704067200) * (type->precision <= 3 ? 1000 : 1000000);
	return value;
}

static Predicate *
in_list(const BloomColumn *column, const DataType *type, int first, int count)
{
	Scalar	   *values = palloc(count * sizeof(Scalar));

	for (int i = 0; i < count; i++)
		values[i] = value_of(column, type, first + 2 * i);
	return predicate_leaf(PREDICATE_IN, 0, type, values, count);
}

/* All that is there, and what is not there (odd numbers), alone and in lists. */
static void
check_parquet_column(const char *path, const BloomColumn *column)
{
	DataType   *type = type_parse_atomic(column->type);
	int			excluded = 0;
	Found		found;

	for (int k = 0; k < 2 * FILE_VALUES; k += 2)
	{
		found = scan("parquet", path, column->name, type, in_list(column, type, k, 1));
		CHECK_MESSAGE(found.matching == 1, "%s %s: %d is not found", column->name, column->type, k);
	}
	for (int k = 1; k < 2 * FILE_VALUES - 2; k += 2)
	{
		found = scan("parquet", path, column->name, type, in_list(column, type, k, 1));
		CHECK_INT(found.matching, 0);
		CHECK(found.counters.bloom_excluded == 0 || found.rows == 0);
		excluded += found.counters.bloom_excluded;
	}
	CHECK_MESSAGE(excluded >= FILE_VALUES - 4, "%s %s: only %d of %d are excluded", column->name, column->type,
				  excluded, FILE_VALUES - 1);
	found = scan("parquet", path, column->name, type, in_list(column, type, 1, 3));
	CHECK_INT(found.matching, 0);
	found = scan("parquet", path, column->name, type, in_list(column, type, 0, 3));
	CHECK_INT(found.matching, 3);
	/* where statistics exclude all, no filter is asked; of floats they do not tell the greatest */
	if (type->root == TYPE_FLOAT || type->root == TYPE_DOUBLE)
		return;
	found = scan("parquet", path, column->name, type, in_list(column, type, 99, 1));
	CHECK_INT(found.rows, 0);
	CHECK_INT(found.counters.bloom_excluded, 0);
}

static void
test_parquet(void)
{
	const char *path = write_file(unit_hex(parquet_bloom_file));

	for (int i = 0; i < lengthof(parquet_columns); i++)
		check_parquet_column(path, &parquet_columns[i]);
}

/* Each value is in one of three groups, which alone should be read. */
static void
check_orc_column(const char *path, const BloomColumn *column)
{
	DataType   *type = type_parse_atomic(column->type);
	int			rows = 0;
	int			absent = 0;
	int			tries = 0;

	for (int k = 0; k < 2 * GROUP_VALUES; k += 22)
	{
		Found		found = scan("orc", path, column->name, type, in_list(column, type, k, 1));

		CHECK_MESSAGE(found.matching == 1, "%s %s: %d is not found", column->name, column->type, k);
		rows += found.rows;
		found = scan("orc", path, column->name, type, in_list(column, type, k + 1, 1));
		CHECK_INT(found.matching, 0);
		absent += found.rows;
		tries++;
	}
	CHECK_MESSAGE(rows <= 110 * tries, "%s: %d rows read in %d scans", column->name, rows, tries);
	CHECK_MESSAGE(absent <= 20 * tries, "%s: %d rows read in %d scans of what is not there", column->name, absent, tries);
	CHECK_INT(scan("orc", path, column->name, type, in_list(column, type, 0, 200)).matching, 200);
}

static void
test_orc(void)
{
	const char *path = write_file(unit_hex(bloom_file));

	for (int i = 0; i < lengthof(orc_columns); i++)
		check_orc_column(path, &orc_columns[i]);
}

int
main(void)
{
	unit_begin();
	RUN(test_parquet);
	RUN(test_orc);
	return unit_end();
}
