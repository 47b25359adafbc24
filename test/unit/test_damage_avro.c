/*
 * test_damage_avro.c
 *		Damaged Avro data files, by fastavro.
 */
#include "postgres.h"

#include "avro_files.h"
#include "damage.h"
#include "nested_values.h"

#define MAX_COLUMNS 16

static void
check_file(const char *what, const char *digits, const char *const *names_and_types, int64 nrows, int times)
{
	DataField	columns[MAX_COLUMNS] = {{0}};
	int			ncolumns = damage_columns(names_and_types, columns);

	damage_data_file(what, "avro", unit_hex(digits), ncolumns, columns, nrows, times);
}

static void
test_flat(void)
{
	static const char *const flat[] = {
		"i8", "TINYINT", "i16", "SMALLINT", "i32", "INT", "i64", "BIGINT", "f", "FLOAT", "d", "DOUBLE",
		"dec9", "DECIMAL(9, 2)", "fixed", "DECIMAL(9, 2)", "date", "DATE", "time", "TIME(3)", "ts3", "TIMESTAMP(3)",
		"ltz6", "TIMESTAMP(6) WITH LOCAL TIME ZONE", "s", "STRING", "bin", "BYTES", "dec38", "DECIMAL(38, 10)", NULL
	};

	check_file("flat", flat_file, flat, 6, 800);
}

static void
test_codecs(void)
{
	static const char *const two[] = {"n", "INT", "text", "STRING", NULL};

	check_file("deflate", deflate_file, two, 2500, 150);
	check_file("snappy", snappy_file, two, 2500, 150);
	check_file("zstandard", zstandard_file, two, 2500, 150);
	check_file("bzip2", bzip2_file, two, 2500, 100);
	check_file("blocks", blocks_file, two, 300, 400);
}

static DataType *
array_of(DataType *element)
{
	return nested_type_of(TYPE_ARRAY, 1, &element, NULL);
}

static void
test_nested(void)
{
	static const char *const names[] = {"x", "y"};
	static const char *const array_names[] = {"v"};
	DataType   *types[] = {type_parse_atomic("INT"), type_parse_atomic("STRING")};
	DataType   *swapped[] = {types[1], types[0]};
	DataType   *numbers = array_of(type_parse_atomic("BIGINT"));
	DataField	columns[] = {
		{.name = "a",.type = array_of(types[0])},
		{.name = "aa",.type = array_of(array_of(types[1]))},
		{.name = "m",.type = nested_type_of(TYPE_MAP, 2, swapped, NULL)},
		{.name = "mi",.type = nested_type_of(TYPE_MAP, 2, types, NULL)},
		{.name = "r",.type = nested_type_of(TYPE_ROW, 2, types, names)},
		{.name = "ar",.type = array_of(nested_type_of(TYPE_ROW, 1, &numbers, array_names))},
	};

	damage_data_file("nested", "avro", unit_hex(nested_file), lengthof(columns), columns, 6, 1000);
}

int
main(void)
{
	unit_begin();
	RUN(test_flat);
	RUN(test_codecs);
	RUN(test_nested);
	return unit_end();
}
