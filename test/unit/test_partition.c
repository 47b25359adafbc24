/*
 * test_partition.c
 *		Folders of partitions, as Java names them for the same values.
 */
#include "postgres.h"

#include "lake/binary_row.h"
#include "lake/table.h"
#include "unit.h"

#define DEFAULT_NAME "__DEFAULT_PARTITION__"

typedef struct NameCase
{
	const char *type;
	const char *value;
	const char *legacy;			/* NULL: cannot be named */
	const char *cast;			/* the same; "" if it is the legacy one */
} NameCase;

static const NameCase name_cases[] = {
	{"BOOLEAN", "true", "true", ""},
	{"BOOLEAN", "false", "false", ""},
	{"BOOLEAN", NULL, DEFAULT_NAME, ""},
	{"TINYINT", "-128", "-128", ""},
	{"SMALLINT", "7", "7", ""},
	{"INT", "-2147483648", "-2147483648", ""},
	{"BIGINT", "-9223372036854775808", "-9223372036854775808", ""},
	{"FLOAT", "0.0", "0.0", ""},
	{"FLOAT", "-0.0", "-0.0", ""},
	{"FLOAT", "1.5", "1.5", ""},
	{"FLOAT", "0.001", "0.001", ""},
	{"FLOAT", "0.00099", "9.9E-4", ""},
	{"FLOAT", "9999999", "9999999.0", ""},
	{"FLOAT", "1e7", "1.0E7", ""},
	{"FLOAT", "16777216", "1.6777216E7", ""},
	{"FLOAT", "123456.79", "123456.79", ""},
	{"FLOAT", "3.4028235e38", "3.4028235E38", ""},
	{"FLOAT", "-2.5e-9", "-2.5E-9", ""},
	{"FLOAT", "NaN", "NaN", ""},
	{"FLOAT", "-Infinity", "-Infinity", ""},
	{"DOUBLE", "0.1", "0.1", ""},
	{"DOUBLE", "0.002", "0.002", ""},
	{"DOUBLE", "0.00099", "9.9E-4", ""},
	{"DOUBLE", "100", "100.0", ""},
	{"DOUBLE", "12345678.9", "1.23456789E7", ""},
	{"DOUBLE", "123456789.125", "1.23456789125E8", ""},
	{"DOUBLE", "1e21", "1.0E21", ""},
	{"DOUBLE", "1.7976931348623157e308", "1.7976931348623157E308", ""},
	{"DOUBLE", "2.2250738585072014E-308", "2.2250738585072014E-308", ""},
	{"DOUBLE", "Infinity", "Infinity", ""},
	{"DECIMAL(10, 3)", "0", "0.000", ""},
	{"DECIMAL(10, 3)", "12.5", "12.500", ""},
	{"DECIMAL(10, 3)", "-0.001", "-0.001", ""},
	{"DECIMAL(5, 0)", "12300", "12300", ""},
	{"DECIMAL(38, 10)", "-1234567890123456789012345678.0123456789",
	"-1234567890123456789012345678.0123456789", ""},
	{"CHAR(5)", "a", "a", ""},
	{"CHAR(5)", "ab   ", "ab   ", ""},
	{"CHAR(5)", "     ", DEFAULT_NAME, ""},
	{"STRING", "a/b=c%d e", "a%2Fb%3Dc%25d e", ""},
	{"STRING", "", DEFAULT_NAME, ""},
	{"STRING", " \t\n", DEFAULT_NAME, ""},
	{"STRING", "\x1c", DEFAULT_NAME, ""},
	{"STRING", "\xe2\x80\x83\xe3\x80\x80", DEFAULT_NAME, ""},	/* em space, ideographic space */
	{"STRING", "\xc2\xa0", "\xc2\xa0", ""}, /* no-break space */
	{"STRING", "\xe2\x80\x87", "\xe2\x80\x87", ""}, /* figure space */
	{"STRING", "\xc2\x85", "\xc2\x85", ""}, /* next line */
	{"STRING", "\xc3\xa9\xf0\x9f\x98\x80", "\xc3\xa9\xf0\x9f\x98\x80", ""},
	{"STRING", "x\x01\x7fy", "x%01%7Fy", ""},
	{"STRING", "\"#'*:?\\{}[]^", "%22%23%27%2A%3A%3F%5C%7B%7D%5B%5D%5E", ""},
	{"STRING", "~`!@$&()+,;<>|", "~`!@$&()+,;<>|", ""},
	{"STRING", "\xff", NULL, NULL},
	{"DATE", "-719162", "-719162", "0001-01-01"},
	{"DATE", "-1", "-1", "1969-12-31"},
	{"DATE", "0", "0", "1970-01-01"},
	{"DATE", "19782", "19782", "2024-02-29"},
	{"DATE", "2932896", "2932896", "9999-12-31"},
	{"TIME(0)", "45240000", "45240000", "12%3A34%3A00"},
	{"TIME(3)", "0", "0", "00%3A00%3A00.0"},
	{"TIME(3)", "45296123", "45296123", "12%3A34%3A56.123"},
	{"TIME(3)", "45296120", "45296120", "12%3A34%3A56.12"},
	{"TIME(3)", "45296100", "45296100", "12%3A34%3A56.1"},
	{"TIME(3)", "45296007", "45296007", "12%3A34%3A56.007"},
	{"TIME(3)", "43200010", "43200010", "12%3A00%3A00.01"},
	{"TIMESTAMP(0)", "1704067200000", "2024-01-01T00%3A00", "2024-01-01 00%3A00%3A00"},
	{"TIMESTAMP(0)", "-1000", "1969-12-31T23%3A59%3A59", "1969-12-31 23%3A59%3A59"},
	{"TIMESTAMP(3)", "1704112200000", "2024-01-01T12%3A30", "2024-01-01 12%3A30%3A00.000"},
	{"TIMESTAMP(3)", "1704067200010", "2024-01-01T00%3A00%3A00.010", "2024-01-01 00%3A00%3A00.010"},
	{"TIMESTAMP(3)", "-1", "1969-12-31T23%3A59%3A59.999", "1969-12-31 23%3A59%3A59.999"},
	{"TIMESTAMP(6)", "1704067200000010", "2024-01-01T00%3A00%3A00.000010", "2024-01-01 00%3A00%3A00.000010"},
	{"TIMESTAMP(6)", "1704067201100000", "2024-01-01T00%3A00%3A01.100", "2024-01-01 00%3A00%3A01.100000"},
	{"TIMESTAMP(6)", "-1", "1969-12-31T23%3A59%3A59.999999", "1969-12-31 23%3A59%3A59.999999"},
	{"TIMESTAMP(9)", "1704067200000000001", "2024-01-01T00%3A00%3A00.000000001", "2024-01-01 00%3A00%3A00.000000001"},
	{"TIMESTAMP(9)", "-62135596800000000000", "0001-01-01T00%3A00", "0001-01-01 00%3A00%3A00.000000000"},
	{"TIMESTAMP(9)", "253402300799999999999",
	"9999-12-31T23%3A59%3A59.999999999", "9999-12-31 23%3A59%3A59.999999999"},
	{"TIMESTAMP(3) WITH LOCAL TIME ZONE", "1704112200120", "2024-01-01T12%3A30%3A00.120", "2024-01-01 12%3A30%3A00.120"},
	{"BINARY(4)", "00616263", NULL, "%00abc"},
	{"BYTES", "", NULL, DEFAULT_NAME},
	{"BYTES", "ff", NULL, NULL},
};

/* A table partitioned by its first nkeys columns, all of them named. */
static LakeTable *
make_table(int nkeys, const char *const *names, const char *const *types, bool legacy)
{
	LakeTable  *table = (LakeTable *) palloc0(sizeof(LakeTable));
	TableSchema *schema = (TableSchema *) palloc0(sizeof(TableSchema));

	table->name = "db.t";
	table->location = "/lake/db.db/t";
	table->options = (TableOptions *) palloc0(sizeof(TableOptions));
	table->options->partition_default_name = DEFAULT_NAME;
	table->options->partition_legacy_name = legacy;
	table->schema = schema;
	schema->npartition_keys = nkeys;
	schema->partition_keys = (int *) palloc(4 * sizeof(int));
	schema->fields = (DataField *) palloc0(4 * sizeof(DataField));
	table->partition_types = (const DataType **) palloc(4 * sizeof(DataType *));
	for (int i = 0; i < nkeys; i++)
	{
		schema->partition_keys[i] = i;
		schema->fields[i].name = unconstify(char *, names[i]);
		schema->fields[i].type = type_parse_atomic(types[i]);
		table->partition_types[i] = schema->fields[i].type;
	}
	return table;
}

static BytesView
make_partition(const LakeTable *table, const char *const *values)
{
	Scalar		scalars[4];
	int			nkeys = table->schema->npartition_keys;

	for (int i = 0; i < nkeys; i++)
		scalars[i] = unit_scalar(table->partition_types[i], values[i]);
	return binary_row_serialize(table->partition_types, scalars, nkeys);
}

static void
check_name(const NameCase *test, const char *expected, bool legacy)
{
	const char *name = "p";
	LakeTable  *table = make_table(1, &name, &test->type, legacy);
	BytesView	partition = make_partition(table, &test->value);

	if (expected == NULL)
		CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "cannot be named",
					lake_bucket_directory(table, partition, 0));
	else
		CHECK_STRING(lake_bucket_directory(table, partition, 0), psprintf("p=%s/bucket-0", expected));
}

static void
test_names(void)
{
	for (int i = 0; i < lengthof(name_cases); i++)
	{
		const NameCase *test = &name_cases[i];
		bool		same = test->cast != NULL && test->cast[0] == '\0';

		check_name(test, test->legacy, true);
		check_name(test, same ? test->legacy : test->cast, false);
	}
}

static void
test_folders(void)
{
	static const char *const names[] = {"d/y", "c"};
	static const char *const types[] = {"DATE", "STRING"};
	static const char *const values[] = {"19724", "y: z"};
	LakeTable  *table = make_table(2, names, types, true);
	BytesView	partition = make_partition(table, values);
	DataFileMeta file = {0};

	CHECK_STRING(lake_bucket_directory(table, partition, 3), "d%2Fy=19724/c=y%3A z/bucket-3");
	CHECK_STRING(lake_bucket_directory(table, partition, -2), "d%2Fy=19724/c=y%3A z/bucket-postpone");
	CHECK_STRING(lake_partition_text(table, partition), "d/y=2024-01-02/c=y: z");
	table->options->data_path_directory = "data/files";
	CHECK_STRING(lake_bucket_directory(table, partition, 3), "data/files/d%2Fy=19724/c=y%3A z/bucket-3");
	file.file_name = "data-1.parquet";
	CHECK_STRING(lake_data_file_path(table, partition, 3, &file),
				 "/lake/db.db/t/data/files/d%2Fy=19724/c=y%3A z/bucket-3/data-1.parquet");
	table->options->data_path_directory = "a/../../b";
	CHECK_ERROR(ERRCODE_INVALID_PARAMETER_VALUE, "leads out", lake_bucket_directory(table, partition, 3));
	table->options->data_path_directory = NULL;
	file.file_name = "../x";
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "invalid file name \"../x\"",
				lake_data_file_path(table, partition, 3, &file));
	file.file_name = "data-1.parquet";
	file.external_path = "file:/etc/data-1.parquet";
	CHECK_ERROR(ERRCODE_INSUFFICIENT_PRIVILEGE, "outside of its warehouse",
				lake_data_file_path(table, partition, 3, &file));
}

static void
test_without_partitions(void)
{
	LakeTable  *table = make_table(0, NULL, NULL, true);

	CHECK_STRING(lake_bucket_directory(table, binary_row_serialize_empty(), 0), "bucket-0");
	CHECK_STRING(lake_partition_text(table, binary_row_serialize_empty()), "");
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "partition in \"db.t\" is damaged",
				lake_bucket_directory(table, unit_hex("00000001 0000000000000000"), 0));
}

int
main(void)
{
	unit_begin();
	RUN(test_names);
	RUN(test_folders);
	RUN(test_without_partitions);
	return unit_end();
}
