/*
 * test_columnar.c
 *		Types, order, vectors and decimals.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "columnar/decimal.h"
#include "unit.h"

/* Texts and how Paimon writes them. */
static const char *const type_texts[][2] = {
	{"BOOLEAN", "BOOLEAN"},
	{"TINYINT", "TINYINT"},
	{"smallint", "SMALLINT"},
	{"INT", "INT"},
	{"Integer", "INT"},
	{"BIGINT NOT NULL", "BIGINT NOT NULL"},
	{"INT NULL", "INT"},
	{"FLOAT", "FLOAT"},
	{"DOUBLE", "DOUBLE"},
	{"DOUBLE PRECISION NOT NULL", "DOUBLE NOT NULL"},
	{"DECIMAL", "DECIMAL(10, 0)"},
	{" decimal ( 12 ,2) not  null ", "DECIMAL(12, 2) NOT NULL"},
	{"NUMERIC(38,38)", "DECIMAL(38, 38)"},
	{"DEC(5)", "DECIMAL(5, 0)"},
	{"CHAR", "CHAR(1)"},
	{"CHAR(10)", "CHAR(10)"},
	{"VARCHAR", "VARCHAR(1)"},
	{"VARCHAR(2147483646)", "VARCHAR(2147483646)"},
	{"VARCHAR(2147483647)", "STRING"},
	{"STRING", "STRING"},
	{"BINARY", "BINARY(1)"},
	{"BINARY(7)", "BINARY(7)"},
	{"VARBINARY(9)", "VARBINARY(9)"},
	{"VARBINARY(2147483647)", "BYTES"},
	{"BYTES", "BYTES"},
	{"DATE", "DATE"},
	{"TIME", "TIME(0)"},
	{"TIME(3) WITHOUT TIME ZONE", "TIME(3)"},
	{"TIMESTAMP", "TIMESTAMP(6)"},
	{"TIMESTAMP(0)", "TIMESTAMP(0)"},
	{"TIMESTAMP(9) WITHOUT TIME ZONE NOT NULL", "TIMESTAMP(9) NOT NULL"},
	{"TIMESTAMP WITH LOCAL TIME ZONE", "TIMESTAMP(6) WITH LOCAL TIME ZONE"},
	{"TIMESTAMP(3)WITH LOCAL TIME ZONE NOT NULL", "TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL"},
	{"TIMESTAMP_LTZ(3)", "TIMESTAMP(3) WITH LOCAL TIME ZONE"},
	{"VARIANT", "VARIANT"},
	{"BLOB", "BLOB"},
};

static const char *const bad_types[] = {
	"", "FOO", "INTEGERS", "INT(3)", "INT ARRAY", "DECIMAL(0)", "DECIMAL(39)", "DECIMAL(5, 6)",
	"DECIMAL(5, 2", "DECIMAL(5 2)", "DECIMAL(-1)", "CHAR(0)", "VARCHAR(2147483648)",
	"VARCHAR(99999999999999999999999)", "STRING(3)", "TIME(10)", "TIMESTAMP(10)",
	"TIMESTAMP WITH TIME ZONE", "TIMESTAMP(3) WITH LOCAL", "INT NOT", "INT NOT NULL x", "DOUBLEPRECISION",
};

static void
test_type_texts(void)
{
	for (int i = 0; i < lengthof(type_texts); i++)
	{
		DataType   *type = type_parse_atomic(type_texts[i][0]);

		if (CHECK_MESSAGE(type != NULL, "\"%s\" is no type", type_texts[i][0]))
			CHECK_STRING(type_to_text(type), type_texts[i][1]);
	}
	for (int i = 0; i < lengthof(bad_types); i++)
		CHECK_MESSAGE(type_parse_atomic(bad_types[i]) == NULL, "\"%s\" is a type", bad_types[i]);
}

static void
test_type_forms(void)
{
	CHECK(type_parse_atomic("DECIMAL(18, 2)")->physical == PHYSICAL_INT64);
	CHECK(type_parse_atomic("DECIMAL(19, 2)")->physical == PHYSICAL_INT128);
	CHECK(type_parse_atomic("TIMESTAMP(6)")->physical == PHYSICAL_INT64);
	CHECK(type_parse_atomic("TIMESTAMP_LTZ(7)")->physical == PHYSICAL_INT128);
	CHECK(type_parse_atomic("BOOLEAN")->physical == PHYSICAL_INT8);
	CHECK(type_is_supported(type_parse_atomic("BLOB")));
	CHECK(type_is_string(type_parse_atomic("CHAR(3)")));
	CHECK(!type_is_string(type_parse_atomic("BYTES")));
	CHECK(type_equal(type_parse_atomic("INT"), type_parse_atomic("INT NOT NULL")));
	CHECK(!type_equal(type_parse_atomic("CHAR(3)"), type_parse_atomic("CHAR(4)")));
	CHECK(!type_equal(type_parse_atomic("DECIMAL(9, 1)"), type_parse_atomic("DECIMAL(9, 2)")));
	CHECK(type_parse_atomic("BLOB")->physical == PHYSICAL_BYTES);
	CHECK(!type_is_primitive(type_parse_atomic("BLOB")));
	CHECK(type_is_nested(type_parse_atomic("VARIANT")));
	CHECK_INT(type_part_count(type_parse_atomic("VARIANT")), 2);
	CHECK_STRING(type_part(type_parse_atomic("VARIANT"), 1)->name, "metadata");
}

static int
compare_texts(const char *type_text, const char *a, const char *b)
{
	const DataType *type = type_parse_atomic(type_text);
	Scalar		values[2] = {unit_scalar(type, a), unit_scalar(type, b)};
	Vector	   *vector = vector_create(type, 2);
	int			order = scalar_compare(type->physical, &values[0], &values[1]);

	vector_set(vector, 0, &values[0]);
	vector_set(vector, 1, &values[1]);
	CHECK_INT(scalar_compare(type->physical, &values[1], &values[0]) < 0, order > 0);
	CHECK_INT(vector_compare(vector, 0, vector, 1) < 0, order < 0);
	CHECK_INT(vector_compare(vector, 1, vector, 0) < 0, order > 0);
	return order;
}

static void
test_order(void)
{
	CHECK(compare_texts("INT", "-1", "1") < 0);
	CHECK(compare_texts("INT", NULL, "-2147483648") < 0);
	CHECK(compare_texts("INT", NULL, NULL) == 0);
	CHECK(compare_texts("BOOLEAN", "false", "true") < 0);
	CHECK(compare_texts("BIGINT", "9223372036854775807", "-9223372036854775808") > 0);
	CHECK(compare_texts("DECIMAL(38, 0)", "-99999999999999999999999999999999999999", "1") < 0);
	CHECK(compare_texts("FLOAT", "NaN", "Infinity") > 0);
	CHECK(compare_texts("FLOAT", "NaN", "NaN") == 0);
	CHECK(compare_texts("DOUBLE", "NaN", "NaN") == 0);
	CHECK(compare_texts("DOUBLE", "-0.0", "0.0") == 0);
	CHECK(compare_texts("DOUBLE", "-Infinity", "NaN") < 0);
	CHECK(compare_texts("DOUBLE", NULL, "-Infinity") < 0);
	CHECK(compare_texts("STRING", "", "a") < 0);
	CHECK(compare_texts("STRING", "abc", "abcd") < 0);
	CHECK(compare_texts("STRING", "abcdefgh", "abcdefgha") < 0);
	CHECK(compare_texts("STRING", "abcdefgh\x01", "abcdefgh\x02") < 0);
	CHECK(compare_texts("STRING", "abcdefgi", "abcdefghzzz") > 0);
	CHECK(compare_texts("STRING", "abcdefgh", "abcdefgh") == 0);
	CHECK(compare_texts("STRING", "\x7f", "\x80") < 0);
	CHECK(compare_texts("BYTES", "00", "0000") < 0);
	CHECK(compare_texts("BYTES", "ff00000000000000", "7f00000000000000") > 0);
}

static void
test_random_bytes_order(void)
{
	const DataType *type = type_parse_atomic("BYTES NOT NULL");

	for (int i = 0; i < 20000; i++)
	{
		BytesView	a = unit_random_scalar(type).v.bytes;
		BytesView	b = unit_random_scalar(type).v.bytes;
		int			expected = memcmp(a.data, b.data, Min(a.length, b.length));
		int			order = bytes_compare(a, b);

		if (expected == 0)
			expected = (int) a.length - (int) b.length;
		if (!CHECK((order > 0) == (expected > 0) && (order < 0) == (expected < 0)) ||
			!CHECK(bytes_equal(a, b) == (expected == 0)))
			return;
	}
}

static bool
same(const DataType *type, Scalar a, Scalar b)
{
	return scalar_compare(type->physical, &a, &b) == 0;
}

static void
test_vectors(void)
{
	for (int i = 0; i < lengthof(type_texts); i++)
	{
		const DataType *type = type_parse_atomic(type_texts[i][0]);
		Scalar		values[10];
		int32		from[10] = {9, 0, 3, 3, 1, 2, 8, 7, 5, 4};
		Vector	   *vector;
		Vector	   *copy;

		if (!type_is_primitive(type))
			continue;
		vector = vector_create(type, 10);
		copy = vector_create(type, 12);
		for (int row = 9; row >= 0; row--)
		{
			values[row] = unit_random_scalar(type);
			vector_set(vector, row, &values[row]);
		}
		vector_set(copy, 0, &values[0]);
		vector_gather(copy, 1, vector, from, 10);
		CHECK(same(type, vector_get(copy, 0), values[0]));
		for (int row = 0; row < 10; row++)
		{
			CHECK(same(type, vector_get(vector, row), values[row]));
			CHECK(same(type, vector_get(copy, row + 1), values[from[row]]));
			CHECK(same(type, scalar_copy(type, &values[row]), values[row]));
		}
		vector_set_constant(vector, &values[4], 10);
		CHECK(same(type, vector_get(vector, 9), values[4]));
		vector_set_all_null(vector, 3);
		CHECK(vector_get(vector, 2).isnull);
		vector_reset(vector);
		CHECK(!vector->has_nulls);
	}
}

/* Rows without nulls come in where there were some. */
static void
test_gather_over_nulls(void)
{
	static const int32 rows[2] = {0, 1};
	const DataType *type = type_parse_atomic("INT");
	Vector	   *source = vector_create(type, 2);
	Vector	   *target = vector_create(type, 3);
	Scalar		one = unit_scalar(type, "1");

	vector_set_constant(source, &one, 2);
	vector_set_all_null(target, 3);
	vector_gather(target, 1, source, rows, 2);
	CHECK(vector_get(target, 0).isnull);
	CHECK(!vector_get(target, 1).isnull && !vector_get(target, 2).isnull);
	vector_set(target, 0, &one);
	CHECK_INT(vector_get(target, 0).v.i32, 1);
}

/* A vector of six rows over three entries; row 2 is null. */
static Vector *
make_encoded(void)
{
	static const int32 codes[6] = {2, 0, 0, 1, 2, 1};
	static const char *const entries[3] = {"zero", "one", "a longer entry, two"};
	BytesView  *dictionary = (BytesView *) palloc(3 * sizeof(BytesView));
	Vector	   *vector = vector_create(type_parse_atomic("STRING"), 6);

	for (int i = 0; i < 3; i++)
		dictionary[i] = unit_bytes(entries[i]);
	vector->codes = vector->codes_buffer;
	memcpy(vector->codes, codes, sizeof(codes));
	vector->dictionary = dictionary;
	vector->dictionary_size = 3;
	vector->has_nulls = true;
	memset(vector->nulls, false, 6);
	vector->nulls[2] = true;
	return vector;
}

static void
test_dictionary_vectors(void)
{
	static const int32 rows[3] = {1, 2, 4};
	Vector	   *vector = make_encoded();
	Vector	   *target = vector_create(vector->type, 3);

	CHECK_BYTES(vector_get(vector, 3).v.bytes, unit_bytes("one"));
	CHECK(vector_get(vector, 2).isnull);
	vector_gather(target, 0, vector, rows, 3);
	CHECK_BYTES(vector_get(target, 2).v.bytes, unit_bytes("a longer entry, two"));
	CHECK(vector_get(target, 1).isnull);
	vector_flatten(vector, rows, 3);
	CHECK(vector->codes == NULL);
	CHECK_BYTES(vector_get(vector, 1).v.bytes, unit_bytes("zero"));
	CHECK(vector_get(vector, 2).isnull);
	vector = make_encoded();
	vector_flatten(vector, NULL, 6);
	CHECK_BYTES(vector_get(vector, 5).v.bytes, unit_bytes("one"));

	/* all null: there need not be any entry */
	vector = make_encoded();
	vector_set_all_null(vector, 6);
	vector->codes = vector->codes_buffer;
	memset(vector->codes, 0, 6 * sizeof(int32));
	vector_gather(target, 0, vector, rows, 3);
	CHECK(vector_get(target, 0).isnull);
	vector_flatten(vector, NULL, 6);
	CHECK(vector_get(vector, 5).isnull);
}

static const char *
decimal_text(const char *text, int precision, int scale)
{
	StringInfoData out;
	int128		unscaled;

	if (!decimal_from_text(text, strlen(text), precision, scale, &unscaled))
		return NULL;
	initStringInfo(&out);
	decimal_to_text(&out, unscaled, scale);
	return out.data;
}

static void
test_decimal_texts(void)
{
	CHECK_STRING(decimal_text("0", 10, 0), "0");
	CHECK_STRING(decimal_text("0", 10, 3), "0.000");
	CHECK_STRING(decimal_text("-0.05", 10, 2), "-0.05");
	CHECK_STRING(decimal_text("+12.3", 10, 2), "12.30");
	CHECK_STRING(decimal_text(".5", 10, 2), "0.50");
	CHECK_STRING(decimal_text("7.", 10, 0), "7");
	CHECK_STRING(decimal_text("1.005", 10, 2), "1.01");
	CHECK_STRING(decimal_text("-1.005", 10, 2), "-1.01");
	CHECK_STRING(decimal_text("1.0049", 10, 2), "1.00");
	CHECK_STRING(decimal_text("9.995", 3, 2), NULL);
	CHECK_STRING(decimal_text("99999999999999999999999999999999999999", 38, 0),
				 "99999999999999999999999999999999999999");
	CHECK_STRING(decimal_text("-0.99999999999999999999999999999999999999", 38, 38),
				 "-0.99999999999999999999999999999999999999");
	CHECK_STRING(decimal_text("99999999999999999999999999999999999999.5", 38, 0), NULL);
	CHECK_STRING(decimal_text("100000000000000000000000000000000000000", 38, 0), NULL);
	CHECK_STRING(decimal_text("9999999999999999999999999999999999999999999999", 38, 0), NULL);
	CHECK_STRING(decimal_text("00000000000000000000000000000000000000000000012", 4, 0), "12");
	CHECK_STRING(decimal_text("1", 38, 38), NULL);
	CHECK_STRING(decimal_text("12345", 4, 0), NULL);
	CHECK_STRING(decimal_text("", 4, 0), NULL);
	CHECK_STRING(decimal_text("-", 4, 0), NULL);
	CHECK_STRING(decimal_text(".", 4, 0), NULL);
	CHECK_STRING(decimal_text("1e3", 4, 0), NULL);
	CHECK_STRING(decimal_text("1.2.3", 4, 0), NULL);
	CHECK_STRING(decimal_text(" 1", 4, 0), NULL);
}

static void
test_decimal_rescale(void)
{
	int128		result;

	CHECK(decimal_rescale(125, 2, 1, 10, &result) && result == 13);
	CHECK(decimal_rescale(-125, 2, 1, 10, &result) && result == -13);
	CHECK(decimal_rescale(124, 2, 1, 10, &result) && result == 12);
	CHECK(decimal_rescale(-124, 2, 0, 10, &result) && result == -1);
	CHECK(decimal_rescale(5, 0, 3, 4, &result) && result == 5000);
	CHECK(!decimal_rescale(5, 0, 3, 3, &result));
	CHECK(!decimal_rescale(decimal_power_of_ten(37), 0, 10, 38, &result));
	CHECK(decimal_rescale(decimal_power_of_ten(38) - 1, 38, 0, 38, &result) && result == 1);
	CHECK(decimal_rescale(1, 0, 37, 38, &result) && result == decimal_power_of_ten(37));
	CHECK(decimal_fits(-999, 3) && !decimal_fits(-1000, 3) && !decimal_fits(1000, 3));
}

int
main(void)
{
	unit_begin();
	RUN(test_type_texts);
	RUN(test_type_forms);
	RUN(test_order);
	RUN(test_random_bytes_order);
	RUN(test_vectors);
	RUN(test_gather_over_nulls);
	RUN(test_dictionary_vectors);
	RUN(test_decimal_texts);
	RUN(test_decimal_rescale);
	return unit_end();
}
