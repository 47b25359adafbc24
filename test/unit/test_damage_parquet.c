/*
 * test_damage_parquet.c
 *		Damaged Parquet files: by pyarrow, by Paimon's Java library, and our own.
 */
#include "postgres.h"

#include <zlib.h>

#include "damage.h"
#include "format/checksum.h"
#include "format/format.h"
#include "nested_values.h"
#include "parquet_bloom_file.h"
#include "parquet_files.h"
#include "storage/storage.h"

#define MAX_COLUMNS 16
#define FLAT_ROWS 3000
#define NESTED_ROWS 40

static const char *const codecs[] = {"none", "snappy", "gzip", "lz4", "zstd"};

static bool own_files;

/* Instead of the product's, and none in our own files: damage is to reach what lies behind checksums. */
uint32
checksum_crc32(const void *data, size_t length)
{
	return own_files ? 0 : (uint32) crc32(0, data, (uInt) length);
}

static void
check_file(const char *what, const char *digits, const char *const *names_and_types, int64 nrows, int times)
{
	DataField	columns[MAX_COLUMNS] = {{0}};
	int			ncolumns = damage_columns(names_and_types, columns);

	damage_data_file(what, "parquet", unit_hex(digits), ncolumns, columns, nrows, times);
}

static void
test_encodings(void)
{
	static const char *const types[] = {
		"i32", "INT", "b", "BOOLEAN", "dec9", "DECIMAL(9, 2)", "dec38", "DECIMAL(38, 10)", "date", "DATE", "time", "TIME(3)",
		"ts3", "TIMESTAMP(3)", "ts9", "TIMESTAMP(9)", "s", "STRING", "bin", "BYTES", "d", "DOUBLE", "u32", "BIGINT", NULL
	};
	static const char *const delta[] = {
		"i64", "BIGINT", "i32", "INT", "lengths", "STRING", "prefixes", "STRING", "b", "BOOLEAN", "bin", "BYTES",
		"d", "DOUBLE", NULL
	};
	static const char *const int96[] = {"t", "TIMESTAMP(9)", NULL};
	static const char *const small[] = {"i", "INT", NULL};

	check_file("types", types_file, types, 6, 400);
	check_file("delta encodings", delta_file, delta, 300, 400);
	check_file("INT96", int96_file, int96, 5, 100);
	check_file("bit-packed levels", bit_packed_levels_file, small, 20, 100);
	check_file("uncompressed pages of version 2", uncompressed_v2_file, small, 20, 100);
}

static void
test_dictionaries_and_pages(void)
{
	static const char *const dictionary[] = {"i", "BIGINT", "s", "STRING", NULL};
	static const char *const pages[] = {"i", "INT", "s", "STRING", "d", "DOUBLE", NULL};
	static const char *const small[] = {"i", "INT", NULL};

	check_file("dictionary", dictionary_file, dictionary, 3000, 300);
	check_file("pages", pages_file, pages, 3000, 300);
	check_file("snappy", snappy_file, small, 40, 100);
	check_file("gzip", gzip_file, small, 40, 100);
	check_file("lz4", lz4_file, small, 40, 100);
	check_file("zstd", zstd_file, small, 40, 100);
}

static void
test_bloom_filters(void)
{
	static const char *const bloom[] = {
		"ti", "TINYINT", "i", "INT", "bi", "BIGINT", "f", "FLOAT", "d9", "DECIMAL(9, 2)", "d38", "DECIMAL(38, 10)",
		"s", "STRING", "ts6", "TIMESTAMP(6)", NULL
	};

	check_file("bloom filters", parquet_bloom_file, bloom, 20, 400);
}

/* ---- files of ours ---- */

static BytesView
write_rows(int ncolumns, const DataField *columns, Vector *const *vectors, int nrows, const char *codec,
		   size_t row_group_bytes)
{
	FormatWriteOptions options = {
		.ncolumns = ncolumns, .columns = columns, .compression = codec, .row_group_bytes = row_group_bytes
	};
	char	   *path = storage_join(unit_directory(), "sound.parquet");
	StorageWriter *storage = storage_create(path);
	FormatWriter *writer = format_create(format_lookup("parquet"), storage, &options);
	ColumnStatistics statistics[MAX_COLUMNS];
	size_t		length;
	BytesView	bytes;

	format_write(writer, vectors, NULL, nrows);
	format_finish(writer, statistics);
	storage_finish(storage);
	bytes.data = storage_read_whole(path, 0, false, &length);
	bytes.length = length;
	storage_remove(path, false);
	return bytes;
}

static void
test_flat_files(void)
{
	static const char *const names_and_types[] = {
		"i", "INT", "n", "BIGINT", "s", "STRING", "d", "DECIMAL(30, 5)", "t", "TIMESTAMP(9)", "f", "DOUBLE", "b", "BOOLEAN", NULL
	};
	DataField	columns[MAX_COLUMNS] = {{0}};
	int			ncolumns = damage_columns(names_and_types, columns);
	Vector	   *vectors[MAX_COLUMNS];

	for (int i = 0; i < ncolumns; i++)
	{
		columns[i].id = i;
		vectors[i] = vector_create(columns[i].type, FLAT_ROWS);
		for (int row = 0; row < FLAT_ROWS; row++)
		{
			Scalar		value = unit_random_scalar(columns[i].type);

			if (columns[i].type->root == TYPE_DECIMAL)
				value.v.i128 %= INT64CONST(1000000000000);
			vector_set(vectors[i], row, &value);
		}
	}
	for (int c = 0; c < lengthof(codecs); c++)
		damage_data_file(psprintf("our file, %s", codecs[c]), "parquet",
						 write_rows(ncolumns, columns, vectors, FLAT_ROWS, codecs[c], c % 2 ? 0 : 30000),
						 ncolumns, columns, FLAT_ROWS, 80);
}

static void
test_nested_files(void)
{
	BytesView	texts[NESTED_ROWS];

	for (int i = 0; i < 100; i++)
	{
		int			next_id = 1;
		DataType   *type = random_nested_type(&next_id);
		DataField	column = {.id = 0, .name = "c", .type = type};
		Vector	   *vector = random_vector(type, NESTED_ROWS, texts);
		const char *codec = codecs[i % lengthof(codecs)];

		damage_data_file(psprintf("%s, %s", type_to_text(type), codec), "parquet",
						 write_rows(1, &column, &vector, NESTED_ROWS, codec, unit_random_below(2) ? 0 : 300),
						 1, &column, NESTED_ROWS, 15);
	}
}

int
main(void)
{
	unit_begin();
	RUN(test_encodings);
	RUN(test_dictionaries_and_pages);
	RUN(test_bloom_filters);
	own_files = true;
	RUN(test_flat_files);
	RUN(test_nested_files);
	return unit_end();
}
