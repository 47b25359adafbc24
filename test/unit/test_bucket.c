/*
 * test_bucket.c
 *		Buckets of keys, as Java assigned them to the same values.
 */
#include "postgres.h"

#include "lake/table.h"
#include "unit.h"

#define BUCKETS 100003			/* many, so that hashes show */

typedef struct BucketCase
{
	BucketFunction function;
	const char *type;
	const char *value;
	int32		bucket;
} BucketCase;

static const BucketCase bucket_cases[] = {
	{BUCKET_FUNCTION_DEFAULT, "BOOLEAN", "true", 70436},
	{BUCKET_FUNCTION_DEFAULT, "BOOLEAN", "false", 54090},
	{BUCKET_FUNCTION_DEFAULT, "BOOLEAN", NULL, 72898},
	{BUCKET_FUNCTION_DEFAULT, "TINYINT", "-128", 45033},
	{BUCKET_FUNCTION_DEFAULT, "TINYINT", "5", 88793},
	{BUCKET_FUNCTION_DEFAULT, "SMALLINT", "-32768", 18158},
	{BUCKET_FUNCTION_DEFAULT, "SMALLINT", "300", 75986},
	{BUCKET_FUNCTION_DEFAULT, "INT", "-1", 53259},
	{BUCKET_FUNCTION_DEFAULT, "INT", "123456789", 75150},
	{BUCKET_FUNCTION_DEFAULT, "INT", NULL, 72898},
	{BUCKET_FUNCTION_DEFAULT, "BIGINT", "-9223372036854775808", 13056},
	{BUCKET_FUNCTION_DEFAULT, "BIGINT", "4294967296", 5280},
	{BUCKET_FUNCTION_DEFAULT, "BIGINT", "-1", 73802},
	{BUCKET_FUNCTION_DEFAULT, "FLOAT", "1.5", 37565},
	{BUCKET_FUNCTION_DEFAULT, "FLOAT", "-0.0", 97736},
	{BUCKET_FUNCTION_DEFAULT, "FLOAT", "NaN", 10916},
	{BUCKET_FUNCTION_DEFAULT, "DOUBLE", "-2.25", 22649},
	{BUCKET_FUNCTION_DEFAULT, "DOUBLE", "-0.0", 13056},
	{BUCKET_FUNCTION_DEFAULT, "DOUBLE", "1e300", 40022},
	{BUCKET_FUNCTION_DEFAULT, "DECIMAL(10, 2)", "12.30", 5754},
	{BUCKET_FUNCTION_DEFAULT, "DECIMAL(10, 2)", "-1.00", 70813},
	{BUCKET_FUNCTION_DEFAULT, "DECIMAL(10, 2)", NULL, 72898},
	{BUCKET_FUNCTION_DEFAULT, "DECIMAL(10, 0)", "1200", 89892},
	{BUCKET_FUNCTION_DEFAULT, "DECIMAL(38, 10)", "-1234567890123456789012345678.0123456789", 25201},
	{BUCKET_FUNCTION_DEFAULT, "DECIMAL(38, 10)", "100", 57566},
	{BUCKET_FUNCTION_DEFAULT, "DECIMAL(38, 10)", NULL, 39354},
	{BUCKET_FUNCTION_DEFAULT, "DECIMAL(38, 10)", "0.0000000001", 857},
	{BUCKET_FUNCTION_DEFAULT, "DATE", "-1", 53259},
	{BUCKET_FUNCTION_DEFAULT, "DATE", "19782", 43376},
	{BUCKET_FUNCTION_DEFAULT, "TIME(3)", "45296789", 28526},
	{BUCKET_FUNCTION_DEFAULT, "STRING", "", 13056},
	{BUCKET_FUNCTION_DEFAULT, "STRING", "a", 52950},
	{BUCKET_FUNCTION_DEFAULT, "STRING", "sieben7", 32399},
	{BUCKET_FUNCTION_DEFAULT, "STRING", "achtacht", 9540},
	{BUCKET_FUNCTION_DEFAULT, "STRING", "grüße aus Köln", 20283},
	{BUCKET_FUNCTION_DEFAULT, "STRING", NULL, 72898},
	{BUCKET_FUNCTION_DEFAULT, "CHAR(10)", "abc", 19362},
	{BUCKET_FUNCTION_DEFAULT, "BYTES", "00ff80", 51806},
	{BUCKET_FUNCTION_DEFAULT, "BYTES", "0102030405060708090a", 52363},
	{BUCKET_FUNCTION_DEFAULT, "TIMESTAMP(3)", "-1", 73802},
	{BUCKET_FUNCTION_DEFAULT, "TIMESTAMP(3)", NULL, 72898},
	{BUCKET_FUNCTION_DEFAULT, "TIMESTAMP(6)", "-1", 57215},
	{BUCKET_FUNCTION_DEFAULT, "TIMESTAMP(6)", "1700000000123456", 34171},
	{BUCKET_FUNCTION_DEFAULT, "TIMESTAMP(6)", NULL, 72437},
	{BUCKET_FUNCTION_DEFAULT, "TIMESTAMP(9)", "-1", 25837},
	{BUCKET_FUNCTION_DEFAULT, "TIMESTAMP(9)", NULL, 72437},
	{BUCKET_FUNCTION_DEFAULT, "TIMESTAMP(6) WITH LOCAL TIME ZONE", "1700000000123456", 34171},
	{BUCKET_FUNCTION_HIVE, "BOOLEAN", "true", 1},
	{BUCKET_FUNCTION_HIVE, "BOOLEAN", "false", 0},
	{BUCKET_FUNCTION_HIVE, "TINYINT", "-128", 19098},
	{BUCKET_FUNCTION_HIVE, "SMALLINT", "-32768", 86461},
	{BUCKET_FUNCTION_HIVE, "SMALLINT", "300", 300},
	{BUCKET_FUNCTION_HIVE, "INT", "-1", 19225},
	{BUCKET_FUNCTION_HIVE, "INT", "123456789", 53087},
	{BUCKET_FUNCTION_HIVE, "INT", NULL, 0},
	{BUCKET_FUNCTION_HIVE, "BIGINT", "-9223372036854775808", 0},
	{BUCKET_FUNCTION_HIVE, "BIGINT", "4294967296", 1},
	{BUCKET_FUNCTION_HIVE, "FLOAT", "1.5", 15435},
	{BUCKET_FUNCTION_HIVE, "FLOAT", "-0.0", 0},
	{BUCKET_FUNCTION_HIVE, "FLOAT", "NaN", 25048},
	{BUCKET_FUNCTION_HIVE, "DOUBLE", "-2.25", 40682},
	{BUCKET_FUNCTION_HIVE, "DOUBLE", "-0.0", 0},
	{BUCKET_FUNCTION_HIVE, "DOUBLE", "1e300", 93752},
	{BUCKET_FUNCTION_HIVE, "DECIMAL(10, 2)", "12.30", 3814},
	{BUCKET_FUNCTION_HIVE, "DECIMAL(10, 2)", "-1.00", 19195},
	{BUCKET_FUNCTION_HIVE, "DECIMAL(10, 2)", "0.00", 0},
	{BUCKET_FUNCTION_HIVE, "DECIMAL(10, 0)", "1200", 37200},
	{BUCKET_FUNCTION_HIVE, "DECIMAL(10, 0)", "-7", 19009},
	{BUCKET_FUNCTION_HIVE, "DECIMAL(38, 10)", "-1234567890123456789012345678.0123456789", 36459},
	{BUCKET_FUNCTION_HIVE, "DECIMAL(38, 10)", "100", 3100},
	{BUCKET_FUNCTION_HIVE, "DECIMAL(38, 10)", NULL, 0},
	{BUCKET_FUNCTION_HIVE, "DECIMAL(38, 10)", "0.0000000001", 41},
	{BUCKET_FUNCTION_HIVE, "DATE", "-1", 19225},
	{BUCKET_FUNCTION_HIVE, "TIME(3)", "45296789", 95433},
	{BUCKET_FUNCTION_HIVE, "STRING", "", 0},
	{BUCKET_FUNCTION_HIVE, "STRING", "a", 97},
	{BUCKET_FUNCTION_HIVE, "STRING", "achtacht", 89130},
	{BUCKET_FUNCTION_HIVE, "STRING", "grüße aus Köln", 95471},
	{BUCKET_FUNCTION_HIVE, "CHAR(10)", "abc", 96354},
	{BUCKET_FUNCTION_HIVE, "BYTES", "00ff80", 19067},
	{BUCKET_FUNCTION_HIVE, "BYTES", "0102030405060708090a", 34770},
	{BUCKET_FUNCTION_MOD, "INT", "-1", BUCKETS - 1},
	{BUCKET_FUNCTION_MOD, "INT", "100003", 0},
	{BUCKET_FUNCTION_MOD, "BIGINT", "-200007", BUCKETS - 1},
	{BUCKET_FUNCTION_MOD, "BIGINT", "4294967296", 38452},
};

/* A table of which only the bucket options are there. */
static LakeTable *
make_table(BucketFunction function, int nkeys, int *keys)
{
	LakeTable  *table = (LakeTable *) palloc0(sizeof(LakeTable));

	table->name = "db.t";
	table->options = (TableOptions *) palloc0(sizeof(TableOptions));
	table->options->bucket_mode = BUCKET_FIXED;
	table->options->buckets = BUCKETS;
	table->options->bucket_function = function;
	table->options->nbucket_keys = nkeys;
	table->options->bucket_keys = keys;
	return table;
}

static Vector *
one_value(const char *type_text, const char *text)
{
	const DataType *type = type_parse_atomic(type_text);
	Vector	   *vector = vector_create(type, 1);
	Scalar		value = unit_scalar(type, text);

	vector_set(vector, 0, &value);
	return vector;
}

static void
test_one_key(void)
{
	int			keys[1] = {0};
	int32		row = 0;

	for (int i = 0; i < lengthof(bucket_cases); i++)
	{
		const BucketCase *test = &bucket_cases[i];
		Vector	   *column = one_value(test->type, test->value);
		int32		bucket;

		lake_assign_buckets(make_table(test->function, 1, keys), &column, &row, 1, &bucket);
		CHECK_MESSAGE(bucket == test->bucket, "function %d, %s %s: bucket %d, not %d",
					  (int) test->function, test->type, test->value ? test->value : "NULL",
					  bucket, test->bucket);
	}
}

/* bucket-key 'd,c,b,a' of a table with the columns a, b, c, d */
static void
test_many_keys(void)
{
	static const char *const types[4] = {"STRING", "DECIMAL(38, 10)", "TIMESTAMP(6)", "INT"};
	static const struct
	{
		const char *values[4];
		int32		bucket;
	}			cases[] = {
		{{"long enough to spill", "-1.5", "1704067200000001", "7"}, 45734},
		{{NULL, NULL, NULL, NULL}, 12908},
		{{"x", NULL, "-500000", "-1"}, 15015},
		{{"exactly8", "12345678901234567890.0000000001", NULL, "0"}, 92202},
	};
	int			keys[4] = {3, 2, 1, 0};
	int32		row = 0;

	for (int i = 0; i < lengthof(cases); i++)
	{
		Vector	   *columns[4];
		int32		bucket;

		for (int column = 0; column < 4; column++)
			columns[column] = one_value(types[column], cases[i].values[column]);
		lake_assign_buckets(make_table(BUCKET_FUNCTION_DEFAULT, 4, keys), columns, &row, 1, &bucket);
		CHECK_INT(bucket, cases[i].bucket);
	}
}

static void
test_other_modes(void)
{
	int			keys[1] = {0};
	Vector	   *column = one_value("STRING", "a");
	LakeTable  *table = make_table(BUCKET_FUNCTION_MOD, 1, keys);
	int32		row = 0;
	int32		bucket = -7;

	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "one bucket key of type INT or BIGINT",
				lake_assign_buckets(table, &column, &row, 1, &bucket));
	table->options->bucket_mode = BUCKET_UNAWARE;
	lake_assign_buckets(table, &column, &row, 1, &bucket);
	CHECK_INT(bucket, 0);
	table->options->bucket_mode = BUCKET_DYNAMIC;
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "cannot be written",
				lake_assign_buckets(table, &column, &row, 1, &bucket));
	table = make_table(BUCKET_FUNCTION_HIVE, 1, keys);
	column = one_value("TIMESTAMP(3)", "0");
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "TIMESTAMP(3)",
				lake_assign_buckets(table, &column, &row, 1, &bucket));
}

int
main(void)
{
	unit_begin();
	RUN(test_one_key);
	RUN(test_many_keys);
	RUN(test_other_modes);
	return unit_end();
}
