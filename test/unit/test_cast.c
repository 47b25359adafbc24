/*
 * test_cast.c
 *		Casts between types.  The expected values are those of Paimon's Java
 *		library in the time zone UTC.
 */
#include "postgres.h"

#include "columnar/cast.h"
#include "columnar/compare.h"
#include "columnar/decimal.h"
#include "unit.h"

/* Strings as they are, bytes in hexadecimal digits, all but floats as the number that is in memory. */
typedef struct CastCase
{
	const char *from;
	const char *to;
	const char *value;
	const char *expected;		/* or NULL, ERROR */
} CastCase;

static const CastCase cases[] = {
	/* integers lose upper bits */
	{"INT", "TINYINT", "383", "127"},
	{"INT", "SMALLINT", "-32769", "32767"},
	{"BIGINT", "INT", "-2147483649", "2147483647"},
	{"BIGINT", "TINYINT", "9223372036854775807", "-1"},
	{"TINYINT", "BIGINT", "-128", "-128"},
	{"BIGINT", "FLOAT", "16777217", "16777216"},
	{"BIGINT", "DOUBLE", "9007199254740993", "9007199254740992"},
	{"INT", "BOOLEAN", "256", "1"},
	{"BIGINT", "BOOLEAN", "4294967296", "1"},
	{"BOOLEAN", "DOUBLE", "1", "1"},
	{"BOOLEAN", "DECIMAL(5, 2)", "1", "100"},
	{"BOOLEAN", "DECIMAL(3, 3)", "1", "NULL"},
	/* floats become the nearest int or long */
	{"DOUBLE", "INT", "-2147483648.9", "-2147483648"},
	{"DOUBLE", "INT", "1e10", "2147483647"},
	{"DOUBLE", "INT", "NaN", "0"},
	{"DOUBLE", "BIGINT", "-1e30", "-9223372036854775808"},
	{"DOUBLE", "BIGINT", "Infinity", "9223372036854775807"},
	{"DOUBLE", "TINYINT", "128.7", "-128"},
	{"DOUBLE", "SMALLINT", "1e10", "-1"},
	{"FLOAT", "TINYINT", "-1e20", "0"},
	{"DOUBLE", "FLOAT", "1e300", "Infinity"},
	{"FLOAT", "DOUBLE", "0.1", "0.10000000149011612"},
	/* decimals are rounded half away from zero */
	{"DOUBLE", "DECIMAL(5, 2)", "1.005", "101"},
	{"DOUBLE", "DECIMAL(5, 2)", "-1.005", "-101"},
	{"DOUBLE", "DECIMAL(5, 2)", "999.995", "NULL"},
	{"DOUBLE", "DECIMAL(5, 2)", "NaN", "ERROR"},
	{"FLOAT", "DECIMAL(18, 6)", "0.1", "100000"},
	{"INT", "DECIMAL(5, 2)", "1000", "NULL"},
	{"BIGINT", "DECIMAL(38, 10)", "-9223372036854775808", "-92233720368547758080000000000"},
	{"DECIMAL(5, 2)", "DECIMAL(3, 1)", "-1285", "-129"},
	{"DECIMAL(5, 2)", "DECIMAL(3, 1)", "9999", "NULL"},
	{"DECIMAL(38, 38)", "DECIMAL(38, 0)", "-99999999999999999999999999999999999999", "-1"},
	{"DECIMAL(38, 0)", "DECIMAL(38, 38)", "1", "NULL"},
	{"DECIMAL(5, 2)", "INT", "-12799", "-127"},
	{"DECIMAL(18, 6)", "TINYINT", "383000000", "127"},
	{"DECIMAL(38, 10)", "BIGINT", "520770459170743873717390671141953993", "5829096804785506235"},
	{"DECIMAL(18, 6)", "DOUBLE", "100000", "0.1"},
	{"DECIMAL(38, 10)", "FLOAT", "1000000000", "0.1"},
	/* numbers as Java prints them */
	{"DOUBLE", "STRING", "1e10", "1.0E10"},
	{"DOUBLE", "STRING", "9999999", "9999999.0"},
	{"DOUBLE", "STRING", "0.00099", "9.9E-4"},
	{"DOUBLE", "STRING", "-Infinity", "-Infinity"},
	{"DOUBLE", "STRING", "4.9e-324", "4.9E-324"},
	{"FLOAT", "STRING", "1.4e-45", "1.4E-45"},
	{"FLOAT", "STRING", "123.456", "123.456"},
	{"DECIMAL(5, 2)", "STRING", "-5", "-0.05"},
	{"BIGINT", "VARCHAR(3)", "-12345", "-12"},
	{"INT", "CHAR(5)", "-7", "-7   "},
	{"BOOLEAN", "CHAR(5)", "1", "true "},
	{"BOOLEAN", "VARCHAR(3)", "0", "fal"},
	/* numbers in strings */
	{"STRING", "INT", "-12.7", "-12"},
	{"STRING", "INT", ".", "0"},
	{"STRING", "INT", "+007", "7"},
	{"STRING", "INT", "2147483648", "ERROR"},
	{"STRING", "TINYINT", "-128", "-128"},
	{"STRING", "TINYINT", "128", "ERROR"},
	{"STRING", "BIGINT", "-9223372036854775808", "-9223372036854775808"},
	{"STRING", "BIGINT", "9223372036854775808", "ERROR"},
	{"STRING", "INT", " 12", "ERROR"},
	{"STRING", "INT", "1e3", "ERROR"},
	{"STRING", "INT", "-", "ERROR"},
	{"STRING", "INT", "", "ERROR"},
	{"STRING", "DOUBLE", "\t1.5\n", "1.5"},
	{"STRING", "DOUBLE", "1.5f", "1.5"},
	{"STRING", "DOUBLE", "0x1.8p1", "3"},
	{"STRING", "DOUBLE", "-Infinity", "-Infinity"},
	{"STRING", "DOUBLE", "1e400", "Infinity"},
	{"STRING", "DOUBLE", "inf", "ERROR"},
	{"STRING", "DOUBLE", "0x10", "ERROR"},
	{"STRING", "DOUBLE", ".", "ERROR"},
	{"STRING", "DOUBLE", "1e", "ERROR"},
	{"STRING", "FLOAT", "1.0000001", "1.00000012"},
	{"STRING", "DECIMAL(38, 10)", "1.5E-10", "2"},
	{"STRING", "DECIMAL(5, 2)", "1.23456789e2", "12346"},
	{"STRING", "DECIMAL(5, 2)", "999.995", "NULL"},
	{"STRING", "DECIMAL(5, 2)", "1e400", "NULL"},
	{"STRING", "DECIMAL(5, 2)", "1e-400", "0"},
	{"STRING", "DECIMAL(5, 2)", "0e999999999", "0"},
	{"STRING", "DECIMAL(5, 2)", "1e99999999999", "ERROR"},
	{"STRING", "DECIMAL(5, 2)", " 1", "ERROR"},
	{"STRING", "BOOLEAN", "Yes", "1"},
	{"STRING", "BOOLEAN", "F", "0"},
	{"STRING", "BOOLEAN", "on", "ERROR"},
	/* strings and bytes */
	{"STRING", "CHAR(3)", "\xc3\xa4\xe2\x82\xac", "\xc3\xa4\xe2\x82\xac "},
	{"STRING", "CHAR(1)", "\xf0\x9d\x84\x9ex", "\xf0\x9d\x84\x9e"},
	{"STRING", "VARCHAR(3)", "\xc3\xa4\xc3\xb6\xc3\xbc\xe2\x82\xac", "\xc3\xa4\xc3\xb6\xc3\xbc"},
	{"STRING", "VARCHAR(3)", "\xff\xfe\xe2\x82", "\xff\xfe\xe2\x82"},
	{"CHAR(5)", "STRING", "ab   ", "ab   "},
	{"STRING", "BINARY(3)", "a", "610000"},
	{"STRING", "VARBINARY(2)", "abc", "6162"},
	{"BYTES", "BINARY(2)", "010203", "0102"},
	{"BYTES", "VARCHAR(1)", "616263", "abc"},
	/* dates and times */
	{"DATE", "STRING", "19782", "2024-02-29"},
	{"DATE", "STRING", "2932897", "0000-01-01"},
	{"DATE", "STRING", "-1000000", "0)*(-02-04"},
	{"DATE", "TIMESTAMP(6)", "-1", "-86400000000"},
	{"TIME(3)", "STRING", "45296780", "12:34:56.78"},
	{"TIME(0)", "STRING", "0", "00:00:00"},
	{"TIME(3)", "TIMESTAMP(9)", "1", "1000000"},
	{"STRING", "DATE", "2024-2-9", "19762"},
	{"STRING", "DATE", "2024-02", "19754"},
	{"STRING", "DATE", "2024", "2024"},
	{"STRING", "DATE", "2024-02-29 no time", "19782"},
	{"STRING", "DATE", "2023-02-29", "ERROR"},
	{"STRING", "DATE", "10000-01-01", "ERROR"},
	{"STRING", "TIME(3)", "12:34:56.7895", "45296790"},
	{"STRING", "TIME(3)", "12:34", "45240000"},
	{"STRING", "TIME(3)", "12:34:56-01:30", "39896000"},
	{"STRING", "TIME(3)", "99:99:99", "ERROR"},
	{"STRING", "TIME(3)", "12:3x:56", "ERROR"},
	/* timestamps */
	{"TIMESTAMP(9)", "TIMESTAMP(6)", "-1", "-1"},
	{"TIMESTAMP(9)", "TIMESTAMP(3)", "1709210096123456789", "1709210096123"},
	{"TIMESTAMP(3)", "TIMESTAMP(0)", "-1500", "-1000"},
	{"TIMESTAMP(6)", "TIMESTAMP(4)", "1709210096123456", "1709210096123400"},
	{"TIMESTAMP(3)", "TIMESTAMP(9) WITH LOCAL TIME ZONE", "-1", "-1000000"},
	{"TIMESTAMP(6)", "DATE", "-1", "0"},
	{"TIMESTAMP(6) WITH LOCAL TIME ZONE", "DATE", "-1", "-1"},
	{"TIMESTAMP(6)", "TIME(3)", "1709210096123456", "45296123"},
	{"TIMESTAMP(6)", "BIGINT", "-1500000", "-1"},
	{"TIMESTAMP(3)", "INT", "2147483648000", "-2147483648"},
	{"INT", "TIMESTAMP(3)", "-1", "-1000"},
	{"BIGINT", "TIMESTAMP(3)", "9223372036854775807", "-1000"},
	{"BIGINT", "TIMESTAMP(6)", "9223372036855", "ERROR"},
	{"TIMESTAMP(0)", "STRING", "-1000", "1969-12-31 23:59:59"},
	{"TIMESTAMP(3)", "STRING", "1709210096120", "2024-02-29 12:34:56.120"},
	{"TIMESTAMP(9) WITH LOCAL TIME ZONE", "STRING", "1", "1970-01-01 00:00:00.000000001"},
	{"STRING", "TIMESTAMP(3)", "2024-02-29 12:34:56.123456789", "1709210096123"},
	{"STRING", "TIMESTAMP(9)", "1969-12-31 23:59:59.999999999", "-1"},
	{"STRING", "TIMESTAMP(4)", "2024-02-29 12:34:56.12349", "1709210096123400"},
	{"STRING", "TIMESTAMP(3)", "2024-2-9 1:2:3.5", "1707440523500"},
	{"STRING", "TIMESTAMP(3)", "2023-02-30", "1677542400000"},
	{"STRING", "TIMESTAMP(3)", "2024-02-29 24:00:00", "1709251200000"},
	{"STRING", "TIMESTAMP(3)", "2024-02-29 24:00:01", "ERROR"},
	{"STRING", "TIMESTAMP(3)", "+10000-01-01 00:00:00", "253402300800000"},
	{"STRING", "TIMESTAMP(3)", "0000-01-01", "ERROR"},
	{"STRING", "TIMESTAMP(3)", "2024-02-29T12:34:56", "ERROR"},
	{"STRING", "TIMESTAMP(3)", "2024-02-32", "ERROR"},
	{"STRING", "TIMESTAMP(3)", "2024-02-29 12:34", "ERROR"},
	{"STRING", "TIMESTAMP(3)", "2024--01", "ERROR"},
	{"STRING", "TIMESTAMP(0)", "-12", "-12000"},
	{"STRING", "TIMESTAMP(6)", "2024", "2024"},
	{"STRING", "TIMESTAMP(4)", "2024", "ERROR"},
	{"STRING", "TIMESTAMP(6) WITH LOCAL TIME ZONE", "2024", "ERROR"},
};

static Scalar
scalar_of(const DataType *type, const char *text)
{
	Scalar		value = {0};
	int128		number = 0;

	if (strcmp(text, "NULL") == 0)
	{
		value.isnull = true;
		return value;
	}
	(void) decimal_from_text(text, strlen(text), TYPE_MAX_DECIMAL_PRECISION, 0, &number);
	switch (type->physical)
	{
		case PHYSICAL_INT8:
			value.v.i8 = (int8) number;
			break;
		case PHYSICAL_INT16:
			value.v.i16 = (int16) number;
			break;
		case PHYSICAL_INT32:
			value.v.i32 = (int32) number;
			break;
		case PHYSICAL_INT64:
			value.v.i64 = (int64) number;
			break;
		case PHYSICAL_INT128:
			value.v.i128 = number;
			break;
		case PHYSICAL_FLOAT:
			value.v.f32 = strtof(text, NULL);
			break;
		case PHYSICAL_DOUBLE:
			value.v.f64 = strtod(text, NULL);
			break;
		default:
			value.v.bytes = type_is_string(type) ? unit_bytes(text) : unit_hex(text);
			break;
	}
	return value;
}

/* The value in the third of four rows, the others not selected. */
static const char *
cast_one(const DataType *from, const DataType *to, const Scalar *value, Scalar *result)
{
	Vector	   *source = vector_create(from, 4);
	Vector	   *target = vector_create(to, 4);
	int32		selection[1] = {2};
	const char *failure;

	vector_reset(source);
	vector_set(source, 2, value);
	failure = cast_vector(cast_create(from, to), source, selection, 1, target);
	if (failure == NULL)
		*result = vector_get(target, 2);
	return failure;
}

static void
test_cases(void)
{
	for (int i = 0; i < lengthof(cases); i++)
	{
		const CastCase *one = &cases[i];
		DataType   *from = type_parse_atomic(one->from);
		DataType   *to = type_parse_atomic(one->to);
		Scalar		value = scalar_of(from, one->value);
		Scalar		expected = scalar_of(to, one->expected);
		Scalar		result;
		const char *failure;

		if (!CHECK_MESSAGE(cast_is_supported(from, to), "%s to %s", one->from, one->to))
			continue;
		failure = cast_one(from, to, &value, &result);
		if (strcmp(one->expected, "ERROR") == 0)
			CHECK_MESSAGE(failure != NULL, "%s to %s: \"%s\"", one->from, one->to, one->value);
		else if (CHECK_MESSAGE(failure == NULL, "%s to %s: \"%s\": %s", one->from, one->to, one->value, failure))
			CHECK_MESSAGE(scalar_compare(to->physical, &result, &expected) == 0,
						  "%s to %s: \"%s\" is not \"%s\"", one->from, one->to, one->value, one->expected);
	}
}

static const char *const every_type[] = {
	"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9, 2)", "CHAR(3)", "VARCHAR(5)",
	"STRING", "BINARY(3)", "VARBINARY(4)", "BYTES", "DATE", "TIME(0)", "TIMESTAMP(3)",
	"TIMESTAMP(6) WITH LOCAL TIME ZONE",
};

/* A row for each type to cast from, a column for each to cast to, in that order */
static const char *const matrix[] = {
	"111111111110000000",
	"111111111110000000",
	"111111111110000000",
	"111111111110000011",
	"111111111110000011",
	"011111111110000000",
	"011111111110000000",
	"011111111110000000",
	"111111111111111111",
	"111111111111111111",
	"111111111111111111",
	"000000001111110000",
	"000000001111110000",
	"000000001111110000",
	"000000000010001011",
	"000000000010000111",
	"000110000010001111",
	"000110000010001111",
};

static void
test_supported(void)
{
	for (int i = 0; i < lengthof(every_type); i++)
	{
		for (int k = 0; k < lengthof(every_type); k++)
		{
			bool		expected = matrix[i][k] == '1';

			CHECK_MESSAGE(cast_is_supported(type_parse_atomic(every_type[i]), type_parse_atomic(every_type[k])) == expected,
						  "%s to %s", every_type[i], every_type[k]);
		}
	}
}

static void
test_identity(void)
{
	static const char *const same[][2] = {
		{"VARCHAR(5)", "STRING"}, {"CHAR(5)", "STRING"}, {"BINARY(2)", "BYTES"}, {"INT", "INT NOT NULL"},
		{"DECIMAL(5, 2)", "DECIMAL(9, 2)"}, {"TIMESTAMP(4)", "TIMESTAMP(6) WITH LOCAL TIME ZONE"},
	};
	static const char *const different[][2] = {
		{"VARCHAR(5)", "VARCHAR(9)"}, {"VARCHAR(5)", "CHAR(5)"}, {"STRING", "BYTES"}, {"INT", "BIGINT"},
		{"DECIMAL(5, 2)", "DECIMAL(38, 2)"}, {"DECIMAL(5, 2)", "DECIMAL(5, 1)"}, {"DATE", "INT"},
		{"TIMESTAMP(3)", "TIMESTAMP(6)"}, {"TIMESTAMP(6)", "TIMESTAMP(4)"}, {"TINYINT", "BOOLEAN"},
	};

	for (int i = 0; i < lengthof(same); i++)
		CHECK_MESSAGE(cast_is_identity(type_parse_atomic(same[i][0]), type_parse_atomic(same[i][1])),
					  "%s to %s", same[i][0], same[i][1]);
	for (int i = 0; i < lengthof(different); i++)
		CHECK_MESSAGE(!cast_is_identity(type_parse_atomic(different[i][0]), type_parse_atomic(different[i][1])),
					  "%s to %s", different[i][0], different[i][1]);
}

static void
test_integers(void)
{
	DataType   *small = type_parse_atomic("SMALLINT");
	DataType   *large = type_parse_atomic("BIGINT");
	Scalar		value = {.v.i16 = -300};

	CHECK(cast_is_widening(small, large));
	CHECK(!cast_is_widening(large, small));
	CHECK(!cast_is_widening(small, small));
	CHECK(!cast_is_widening(small, type_parse_atomic("DOUBLE")));
	CHECK(!cast_is_widening(type_parse_atomic("DATE"), large));
	CHECK(cast_integer(small, large, &value));
	CHECK_INT(value.v.i64, -300);
	CHECK(cast_integer(large, small, &value));
	CHECK_INT(value.v.i16, -300);
	value.v.i64 = 32768;
	CHECK(!cast_integer(large, small, &value));
}

/* Whole batches, with nulls; strings of one call go with the next one. */
static void
test_vectors(void)
{
	DataType   *from = type_parse_atomic("BIGINT");
	DataType   *to = type_parse_atomic("CHAR(12)");
	DataType   *number = type_parse_atomic("DOUBLE");
	Vector	   *source = vector_create(from, BATCH_ROWS);
	Vector	   *target = vector_create(to, BATCH_ROWS);
	Vector	   *numbers = vector_create(number, BATCH_ROWS);
	Cast	   *cast = cast_create(from, to);
	Cast	   *to_number = cast_create(from, number);

	for (int round = 0; round < 100; round++)
	{
		vector_reset(source);
		for (int i = 0; i < BATCH_ROWS; i++)
		{
			Scalar		value = {.isnull = i % 7 == round % 7, .v.i64 = (int64) i * round};

			vector_set(source, i, &value);
		}
		CHECK(cast_vector(cast, source, NULL, BATCH_ROWS, target) == NULL);
		CHECK(cast_vector(to_number, source, NULL, BATCH_ROWS, numbers) == NULL);
		for (int i = 0; i < BATCH_ROWS; i++)
		{
			bool		isnull = i % 7 == round % 7;

			if (!CHECK(target->nulls[i] == isnull && numbers->nulls[i] == isnull))
				return;
			if (!isnull && !(CHECK_BYTES(target->values.bytes[i], unit_bytes(psprintf("%-12d", i * round))) &&
							 CHECK(numbers->values.f64[i] == (double) i * round)))
				return;
		}
	}
}

static void
test_dictionary(void)
{
	DataType   *from = type_parse_atomic("STRING");
	DataType   *to = type_parse_atomic("INT");
	BytesView	words[3] = {unit_bytes("12"), unit_bytes("twelve"), unit_bytes("-3")};
	Vector	   *source = vector_create(from, 3);
	Vector	   *target = vector_create(to, 3);
	int32		selection[2] = {0, 2};
	Cast	   *cast = cast_create(from, to);

	vector_reset(source);
	source->codes = source->codes_buffer;
	source->dictionary = words;
	source->dictionary_size = 3;
	source->codes[0] = 2;
	source->codes[1] = 1;
	source->codes[2] = 0;
	CHECK(cast_vector(cast, source, selection, 2, target) == NULL);
	CHECK_INT(target->values.i32[0], -3);
	CHECK_INT(target->values.i32[2], 12);
	CHECK_STRING(cast_vector(cast, source, NULL, 3, target),
				 "The value \"twelve\" of type STRING has no counterpart of type INT.");
}

/* ---- nested types ---- */

/* A row type of fields "a", "b", ... with ids. */
static DataType *
row_of(int nfields, const int32 *ids, DataType *const *types)
{
	DataType   *type = palloc0(sizeof(DataType));

	type->root = TYPE_ROW;
	type->nullable = true;
	type->physical = PHYSICAL_ROW;
	type->nchildren = nfields;
	type->children = palloc0(nfields * sizeof(DataField));
	for (int i = 0; i < nfields; i++)
	{
		type->children[i].id = ids[i];
		type->children[i].name = psprintf("%c", 'a' + i);
		type->children[i].type = types[i];
	}
	return type;
}

static DataType *
list_of(TypeRoot root, int nparts, DataType *const *types)
{
	static const int32 ids[2] = {0, 0};
	DataType   *type = row_of(nparts, ids, types);

	type->root = root;
	type->physical = PHYSICAL_LIST;
	return type;
}

static DataType *
array_of(DataType *element)
{
	return list_of(TYPE_ARRAY, 1, &element);
}

static DataType *
map_of(const char *key, const char *value)
{
	DataType   *types[2] = {type_parse_atomic(key), type_parse_atomic(value)};

	return list_of(TYPE_MAP, 2, types);
}

/* ROW<INT, STRING, DOUBLE> with ids 1, 2, 3 and what became of it: 3 gone, 4 new, 2 before 1, which is wider */
static void
make_row_types(DataType **from, DataType **to)
{
	static const int32 from_ids[3] = {1, 2, 3};
	static const int32 to_ids[3] = {2, 4, 1};
	DataType   *from_types[3] = {type_parse_atomic("INT"), type_parse_atomic("STRING"), type_parse_atomic("DOUBLE")};
	DataType   *to_types[3] = {type_parse_atomic("STRING"), type_parse_atomic("DATE"), type_parse_atomic("BIGINT")};

	*from = row_of(3, from_ids, from_types);
	*to = row_of(3, to_ids, to_types);
}

/* Row i: null if a multiple of five, else (i, "text i" or null if even, i / 2) */
static void
fill_rows(Vector *vector, int nrows)
{
	vector_reset(vector);
	for (int i = 0; i < nrows; i++)
	{
		Scalar		number = {.v.i32 = i};
		Scalar		text = {.isnull = i % 2 == 0, .v.bytes = unit_bytes(psprintf("text %d", i))};
		Scalar		half = {.v.f64 = i / 2.0};
		Scalar		null_value = {.isnull = true};

		vector_set(vector->children[0], i, &number);
		vector_set(vector->children[1], i, &text);
		vector_set(vector->children[2], i, &half);
		if (i % 5 == 0)
			vector_set(vector, i, &null_value);
		else if (vector->has_nulls)
			vector->nulls[i] = false;
	}
}

static void
check_row(const Vector *vector, int row, int i)
{
	if (!CHECK(vector->nulls[row] == (i % 5 == 0)) || i % 5 == 0)
		return;
	CHECK((vector->children[0]->has_nulls && vector->children[0]->nulls[row]) == (i % 2 == 0));
	if (i % 2 != 0)
		CHECK_BYTES(vector->children[0]->values.bytes[row], unit_bytes(psprintf("text %d", i)));
	CHECK(vector->children[1]->has_nulls && vector->children[1]->nulls[row]);
	CHECK_INT(vector->children[2]->values.i64[row], i);
}

static void
test_rows(void)
{
	DataType   *from;
	DataType   *to;
	Vector	   *source;
	Vector	   *target;
	int32		selection[] = {0, 1, 2, 3, 7, 8, 20};

	make_row_types(&from, &to);
	CHECK(cast_is_supported(from, to));
	CHECK(!cast_is_identity(from, to));
	CHECK(cast_is_identity(from, from));
	source = vector_create(from, 32);
	target = vector_create(to, 32);
	fill_rows(source, 32);
	CHECK(cast_vector(cast_create(from, to), source, selection, lengthof(selection), target) == NULL);
	for (int i = 0; i < lengthof(selection); i++)
		check_row(target, selection[i], selection[i]);
}

/* Elements in an order of their own, and some that no list has. */
static void
test_lists_of_rows(void)
{
	DataType   *from;
	DataType   *to;
	Vector	   *source;
	Vector	   *target;
	Vector	   *elements;

	make_row_types(&from, &to);
	source = vector_create(array_of(from), 4);
	target = vector_create(array_of(to), 4);
	vector_reset(source);
	elements = source->children[0];
	vector_reserve(elements, 200);
	fill_rows(elements, 200);
	elements->filled = 200;
	for (int i = 0; i < 4; i++)
	{
		source->values.list[i].start = 150 - i * 50;
		source->values.list[i].length = i * 10;
	}
	CHECK(cast_vector(cast_create(source->type, target->type), source, NULL, 4, target) == NULL);
	for (int i = 0; i < 4; i++)
	{
		ListView	list = target->values.list[i];

		CHECK_INT(list.length, i * 10);
		for (int k = 0; k < list.length; k++)
			check_row(target->children[0], list.start + k, 150 - i * 50 + k);
	}
}

static void
test_nested_support(void)
{
	DataType   *from;
	DataType   *to;

	make_row_types(&from, &to);
	CHECK(cast_is_supported(array_of(from), array_of(to)));
	CHECK(cast_is_supported(map_of("STRING", "INT"), map_of("STRING", "BIGINT")));
	CHECK(!cast_is_supported(map_of("INT", "INT"), map_of("BIGINT", "INT")));
	CHECK(!cast_is_supported(map_of("INT", "DATE"), map_of("INT", "INT")));
	CHECK(!cast_is_supported(array_of(from), to));
	CHECK(!cast_is_supported(type_parse_atomic("STRING"), array_of(from)));
	CHECK(cast_is_supported(array_of(from), type_parse_atomic("VARCHAR(5)")));
	CHECK(!cast_is_supported(array_of(type_parse_atomic("BLOB")), type_parse_atomic("STRING")));
	CHECK(cast_is_identity(map_of("INT", "VARCHAR(5)"), map_of("INT", "STRING")));
	CHECK(!cast_is_identity(array_of(type_parse_atomic("INT")), array_of(type_parse_atomic("BIGINT"))));
}

/* Whatever the length of the string type */
static void
test_nested_to_string(void)
{
	DataType   *from;
	DataType   *to;
	Vector	   *rows;
	Vector	   *maps = vector_create(map_of("STRING", "DOUBLE"), 1);
	Vector	   *text = vector_create(type_parse_atomic("VARCHAR(3)"), 4);
	Scalar		key = {.v.bytes = unit_bytes("k")};
	Scalar		values[2] = {{.v.f64 = 1e10}, {.isnull = true}};

	make_row_types(&from, &to);
	rows = vector_create(from, 4);
	fill_rows(rows, 4);
	CHECK(cast_vector(cast_create(from, text->type), rows, NULL, 4, text) == NULL);
	CHECK(text->nulls[0]);
	CHECK_BYTES(text->values.bytes[1], unit_bytes("{1, text 1, 0.5}"));
	CHECK_BYTES(text->values.bytes[2], unit_bytes("{2, null, 1.0}"));

	vector_reset(maps);
	for (int i = 0; i < 2; i++)
	{
		vector_set(maps->children[0], i, &key);
		vector_set(maps->children[1], i, &values[i]);
	}
	maps->values.list[0] = (ListView) {0, 2};
	CHECK(cast_vector(cast_create(maps->type, text->type), maps, NULL, 1, text) == NULL);
	CHECK_BYTES(text->values.bytes[0], unit_bytes("{k -> 1.0E10, k -> null}"));
}

int
main(void)
{
	unit_begin();
	RUN(test_cases);
	RUN(test_supported);
	RUN(test_identity);
	RUN(test_integers);
	RUN(test_vectors);
	RUN(test_dictionary);
	RUN(test_rows);
	RUN(test_lists_of_rows);
	RUN(test_nested_support);
	RUN(test_nested_to_string);
	return unit_end();
}
