/*
 * test_damage_orc.c
 *		Damaged ORC files, by pyarrow.
 */
#include "postgres.h"

#include "damage.h"
#include "nested_values.h"
#include "orc_files.h"

#define MAX_COLUMNS 16

static void
check_file(const char *what, const char *digits, const char *const *names_and_types, int64 nrows, int times)
{
	DataField	columns[MAX_COLUMNS] = {{0}};
	int			ncolumns = damage_columns(names_and_types, columns);

	damage_data_file(what, "orc", unit_hex(digits), ncolumns, columns, nrows, times);
}

static void
test_types(void)
{
	static const char *const types[] = {
		"i32", "INT", "b", "BOOLEAN", "i8", "TINYINT", "dec9", "DECIMAL(9, 2)", "dec38", "DECIMAL(38, 10)", "date", "DATE",
		"ts", "TIMESTAMP(9)", "tz", "TIMESTAMP(3) WITH LOCAL TIME ZONE", "s", "STRING", "bin", "BYTES", "f", "FLOAT", NULL
	};

	check_file("types", types_file, types, 6, 800);
}

/* Row groups with positions, dictionaries, runs of every kind */
static void
test_row_groups(void)
{
	static const char *const groups[] = {
		"id", "BIGINT", "mixed", "INT", "word", "STRING", "text", "STRING", "half", "DOUBLE", "flag", "BOOLEAN",
		"amount", "DECIMAL(12, 2)", "at", "TIMESTAMP(9)", "none", "INT", NULL
	};
	static const char *const bloom[] = {
		"i16", "SMALLINT", "i64", "BIGINT", "f", "FLOAT", "d", "DOUBLE", "day", "DATE", "s", "STRING", "bin", "BYTES", NULL
	};

	check_file("row groups", groups_file, groups, 3000, 400);
	check_file("bloom filters", bloom_file, bloom, 300, 300);
}

static void
test_codecs(void)
{
	static const char *const small[] = {"id", "BIGINT", "word", "STRING", NULL};

	check_file("snappy", snappy_file, small, 300, 200);
	check_file("zlib", zlib_file, small, 300, 200);
	check_file("lz4", lz4_file, small, 300, 200);
	check_file("zstd", zstd_file, small, 300, 200);
	check_file("version 0.11", old_file, small, 300, 200);
}

static void
test_nested(void)
{
	static const char *const names[] = {"x", "y", "none"};
	DataType   *string = type_parse_atomic("STRING");
	DataType   *integer = type_parse_atomic("INT");
	DataType   *pair[] = {string, type_parse_atomic("BIGINT")};
	DataType   *fields[] = {integer, nested_type_of(TYPE_ARRAY, 1, &string, NULL), string};
	DataField	columns[] = {
		{.name = "list",.type = nested_type_of(TYPE_ARRAY, 1, &integer, NULL)},
		{.name = "map",.type = nested_type_of(TYPE_MAP, 2, pair, NULL)},
		{.name = "row",.type = nested_type_of(TYPE_ROW, 3, fields, names)},
	};

	damage_data_file("nested", "orc", unit_hex(nested_file), lengthof(columns), columns, 40, 800);
}

int
main(void)
{
	unit_begin();
	RUN(test_types);
	RUN(test_row_groups);
	RUN(test_codecs);
	RUN(test_nested);
	return unit_end();
}
