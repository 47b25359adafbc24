/*
 * test_aggregates.c
 *		Aggregate functions one by one; bitmaps and sketches against what Java
 *		makes of the same ones, and damaged ones.
 */
#include "postgres.h"

#include "lake/aggregator.h"
#include "lake/java_map.h"
#include "lake/roaring.h"
#include "lake/sketch.h"
#include "damage.h"

/* ---- functions of numbers and strings ---- */

static Aggregator *
make_aggregator(const char *function, DataType *type, List *options)
{
	DataField	fields[2] = {
		{.name = "k", .type = type_make(TYPE_INT, 0, 0, false)},
		{.name = "v", .type = type}
	};
	TableSchema *schema = schema_build(2, fields, NIL, list_make1(pstrdup("k")),
									   lappend(options, option_pair_make("bucket", "1")), NULL);

	return aggregator_create(schema, 1, function, "db.t", CurrentMemoryContext);
}

/* Fold values: one that begins with '<' is older than those before, with '!' it is taken back. */
static Scalar
fold(Aggregator *aggregator, const char *const *inputs)
{
	Scalar		accumulator = {.isnull = true};

	aggregator_reset(aggregator);
	for (; *inputs != NULL; inputs++)
	{
		const char *text = *inputs + (**inputs == '<' || **inputs == '!');
		Scalar		input = unit_scalar(aggregator->field->type, strcmp(text, "null") == 0 ? NULL : text);

		if (**inputs == '<')
			aggregator_add_older(aggregator, &accumulator, &input);
		else if (**inputs == '!')
			aggregator_retract(aggregator, &accumulator, &input);
		else
			aggregator_add(aggregator, &accumulator, &input);
	}
	return accumulator;
}

#define INPUTS(...) ((const char *const[]) {__VA_ARGS__, NULL})

static void
check_fold(const char *function, DataType *type, const char *const *inputs, const char *expected)
{
	Scalar		actual = fold(make_aggregator(function, type, NIL), inputs);
	Scalar		wanted = unit_scalar(type, expected);

	CHECK_MESSAGE(java_values_equal(type, &actual, &wanted), "%s is not %s", function, expected != NULL ? expected : "null");
}

static void
test_sums(void)
{
	DataType   *tiny = type_make(TYPE_TINYINT, 0, 0, true);
	DataType   *big = type_make(TYPE_BIGINT, 0, 0, true);
	DataType   *decimal = type_make(TYPE_DECIMAL, 9, 2, true);
	DataType   *wide = type_make(TYPE_DECIMAL, 20, 2, true);
	DataType   *real = type_make(TYPE_DOUBLE, 0, 0, true);

	check_fold("sum", tiny, INPUTS("100", "null", "100"), "-56");
	check_fold("sum", big, INPUTS("9223372036854775807", "1"), "-9223372036854775808");
	check_fold("sum", big, INPUTS("!5", "7", "!null"), "2");
	check_fold("sum", decimal, INPUTS("1.50", "!2.25"), "-0.75");
	check_fold("sum", wide, INPUTS("999999999999999999.99", "0.01"), NULL);
	check_fold("sum", real, INPUTS("!0"), "-0");
	check_fold("sum", real, INPUTS("null", "null"), NULL);
}

static void
test_products(void)
{
	DataType   *small = type_make(TYPE_SMALLINT, 0, 0, true);
	DataType   *integer = type_make(TYPE_INT, 0, 0, true);
	DataType   *decimal = type_make(TYPE_DECIMAL, 9, 2, true);
	DataType   *wide = type_make(TYPE_DECIMAL, 38, 10, true);

	check_fold("product", small, INPUTS("300", "300"), "24464");
	check_fold("product", integer, INPUTS("null", "7", "!2"), "3");
	check_fold("product", integer, INPUTS("-2147483648", "!-1"), "-2147483648");
	check_fold("product", decimal, INPUTS("1.15", "0.50"), "0.58");
	check_fold("product", decimal, INPUTS("-1.15", "0.50"), "-0.58");
	check_fold("product", decimal, INPUTS("9999999.99", "10"), NULL);
	check_fold("product", decimal, INPUTS("1.00", "!8"), "0.13");
	check_fold("product", wide, INPUTS("1234567890.1234567890", "1000000000"), "1234567890123456789.0000000000");
	check_fold("product", wide, INPUTS("1234567890123456789.5", "1234567890123456789.5"), NULL);
	CHECK_ERROR(ERRCODE_DATA_EXCEPTION, "zero", fold(make_aggregator("product", integer, NIL), INPUTS("1", "!0")));
	CHECK_ERROR(ERRCODE_DATA_EXCEPTION, "no end", fold(make_aggregator("product", decimal, NIL), INPUTS("1", "!3")));
}

static void
test_values(void)
{
	DataType   *integer = type_make(TYPE_INT, 0, 0, true);
	DataType   *real = type_make(TYPE_FLOAT, 0, 0, true);
	DataType   *boolean = type_make(TYPE_BOOLEAN, 0, 0, true);

	check_fold("last_value", integer, INPUTS("1", "null"), NULL);
	check_fold("last_value", integer, INPUTS("1", "<2"), "1");
	check_fold("last_non_null_value", integer, INPUTS("1", "null"), "1");
	check_fold("last_non_null_value", integer, INPUTS("1", "!null"), "1");
	check_fold("last_non_null_value", integer, INPUTS("1", "!2"), NULL);
	check_fold("first_value", integer, INPUTS("null", "1"), NULL);
	check_fold("first_value", integer, INPUTS("1", "2", "<3"), "3");
	check_fold("first_non_null_value", integer, INPUTS("null", "1", "2"), "1");
	check_fold("first_not_null_value", integer, INPUTS("null", "1", "2"), "1");
	check_fold("max", integer, INPUTS("1", "null", "3", "2"), "3");
	check_fold("min", integer, INPUTS("2", "null", "1", "3"), "1");
	check_fold("max", real, INPUTS("1", "NaN", "2"), "NaN");
	check_fold("min", real, INPUTS("0", "-0"), "-0");
	check_fold("bool_and", boolean, INPUTS("true", "null", "false"), "false");
	check_fold("bool_or", boolean, INPUTS("false", "null", "true"), "true");
	CHECK_ERROR(ERRCODE_DATA_EXCEPTION, "\"max\"", fold(make_aggregator("max", integer, NIL), INPUTS("1", "!1")));
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "\"max\"", make_aggregator("max", boolean, NIL));
}

static void
test_listagg(void)
{
	DataType   *text = type_make(TYPE_VARCHAR, TYPE_MAX_LENGTH, 0, true);
	List	   *options = list_make2(option_pair_make("fields.v.list-agg-delimiter", "--"),
									 option_pair_make("fields.v.distinct", "true"));
	Aggregator *distinct = make_aggregator("listagg", text, options);

	check_fold("listagg", text, INPUTS("a", "", "null", "b", "a"), "a,b,a");
	check_fold("listagg", text, INPUTS("", "b"), "b");
	check_fold("listagg", text, INPUTS("b", "<a"), "a,b");
	CHECK_BYTES(fold(distinct, INPUTS("a--a", "b--a----c", "c--b")).v.bytes, unit_bytes("a--a--b--c"));
	CHECK_BYTES(fold(distinct, INPUTS("ab", "a", "b", "a-b")).v.bytes, unit_bytes("ab--a--b--a-b"));
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "listagg", make_aggregator("listagg", type_make(TYPE_VARCHAR, 9, 0, true), NIL));
}

/* ---- bitmaps and sketches ---- */

typedef bool (*Unite) (BytesView a, BytesView b, StringInfo out);

static BytesView
unite(Unite function, BytesView a, BytesView b)
{
	StringInfoData out;
	BytesView	result;

	initStringInfo(&out);
	CHECK(function(a, b, &out));
	result.data = out.data;
	result.length = out.len;
	return result;
}

typedef struct SoundOperand
{
	Unite		function;
	BytesView	bytes;
} SoundOperand;

static void
unite_damaged(BytesView bytes, void *arg)
{
	const SoundOperand *sound = arg;
	StringInfoData out;

	initStringInfo(&out);
	(void) sound->function(bytes, sound->bytes, &out);
	(void) sound->function(sound->bytes, bytes, &out);
}

/* The bytes with some changed, or their end missing, must do no harm. */
static void
check_damaged(Unite function, BytesView sound, int times)
{
	SoundOperand operand = {function, sound};

	damage_read("a union", sound, times, unite_damaged, &operand);
}

static void
check_union(Unite function, const char *a, const char *b, const char *expected)
{
	CHECK_BYTES(unite(function, unit_hex(a), unit_hex(b)), unit_hex(expected));
	check_damaged(function, unit_hex(expected), 500);
}

static void
test_bitmaps(void)
{
	check_union(roaring32_unite, "3a300000020000000000020001000000180000001e0000000100020003007011",
				"3a300000020000000000040003000000180000002200000002000400050006000700400d",
				"3b300200010000060001000000030000000100010006007011400d");
	check_union(roaring32_unite, "3a30000001000000000004001000000000000100020004000c00",
				"3a3000000100000000000100100000000d000e00",
				"3a30000001000000000006001000000000000100020004000c000d000e00");
	check_union(roaring32_unite, "3a30000000000000", "3a3000000100000000000000100000000500",
				"3a3000000100000000000000100000000500");
}

static void
test_wide_bitmaps(void)
{
	check_union(roaring64_unite,
				"0102000000000000000002000200000000010004000000000000000000000000000000000004000000000001000000010000000000"
				"000001000000fe02000000010203000000010002000300010201000000000002000000000000000000000001000000",
				"010400000000000000000200010000001c0000020000000001000002000200000000050004000000000000000000000000000000"
				"000004000000000000000005010000000000000004000000000001000000020000000000000004000000001c00000000030000000"
				"000000001000000fe0400000001020100000002000102010000000000010201000000010001020100000000000400000000000000"
				"0000000003000000",
				"010400000000000000000200010000001c0000020000000001000002000200000000050004000000000000000000000000000000"
				"000004000000000000000005020000000000000004000000000001000000010000000000000004000000001c00000000030000000"
				"000000001000000fe0400000001020300000001000200030001020200000000000100010201000000000001020100000000000400"
				"0000000000000000000003000000");
	check_union(roaring64_unite,
				"01010000000000000004000000000000000000000000000000000001000000fe01000000010201000000050001000000000000000"
				"000000000000000", "00",
				"01010000000000000004000000000000000000000000000000000001000000fe01000000010201000000050001000000000000000"
				"000000000000000");
	CHECK_BYTES(unite(roaring64_unite, unit_hex("00"), unit_hex("00")), unit_hex("00"));
}

static void
test_theta_sketches(void)
{
	check_union(theta_sketch_unite,
				"02030300001acc93030000000000803f15f97dcbbd86a105c397fc1281709d1eba40b3c1da06695d",
				"02030300001acc93020000000000803f40de2ee1c9db3d08ba40b3c1da06695d",
				"02030300001acc93040000000000803f15f97dcbbd86a10540de2ee1c9db3d08c397fc1281709d1eba40b3c1da06695d");
	check_union(theta_sketch_unite, "01030300003acc93e0f48bea9983c37c", "01030300003acc93e0f48bea9983c37c",
				"01030300003acc93e0f48bea9983c37c");
	check_union(theta_sketch_unite, "01030300001e0000", "01030300003acc931ad1300b998c2f22",
				"01030300003acc931ad1300b998c2f22");
}

/* A list of one coupon, of a sketch of 2^lg_k slots. */
static BytesView
one_coupon(int lg_k)
{
	return unit_hex(psprintf("02 01 07 %02x 03 08 01 00 %08x", lg_k, (uint32) unit_random() | 0x40));
}

static void
test_hll_sketches(void)
{
	check_union(hll_sketch_unite, "0201070c030803002bf2fb06862ff90d75816607", "0201070c030802007581660781bc5d06",
				"0201070c030804007581660781bc5d062bf2fb06862ff90d");
	check_union(hll_sketch_unite, "0201070c030804002bf2fb06862ff90d7581660781bc5d06",
				"0201070c030804007b65e608fc2d420ac1e91705d2167307",
				"0301070c0508000108000000c1e91705862ff90d2bf2fb0681bc5d06d2167307758166077b65e608fc2d420a");
	check_union(hll_sketch_unite, "02010704030c0000", "02010704030c0000", "02010704030c0000");
	check_union(hll_sketch_unite,
				"0301070c050800010900000081bc5d06862ff90d2bf2fb06c1e91705d216730734a2610e758166077b65e608fc2d420a",
				"0201070c0308030034a2610eb05b4612f671f206",
				"0301070c050800010b00000081bc5d06862ff90d2bf2fb06b05b4612d216730734a2610e75816607f671f2067b65e608fc2d420ac1e91705");
}

/* Small sketches soon have slots; those of other sizes are folded. */
static void
test_hll_slots(void)
{
	for (int lg_k = 4; lg_k <= 10; lg_k += 3)
	{
		BytesView	sketch = one_coupon(lg_k);
		BytesView	folded;

		for (int i = 0; i < 2000; i++)
			sketch = unite(hll_sketch_unite, sketch, one_coupon(lg_k));
		CHECK_INT(sketch.data[7], 2);
		folded = unite(hll_sketch_unite, sketch, one_coupon(4));
		CHECK_INT(folded.data[3], 4);
		folded = unite(hll_sketch_unite, folded, sketch);
		CHECK_INT(folded.data[3], 4);
		check_damaged(hll_sketch_unite, sketch, 200);
	}
}

int
main(void)
{
	unit_begin();
	RUN(test_sums);
	RUN(test_products);
	RUN(test_values);
	RUN(test_listagg);
	RUN(test_bitmaps);
	RUN(test_wide_bitmaps);
	RUN(test_theta_sketches);
	RUN(test_hll_sketches);
	RUN(test_hll_slots);
	return unit_end();
}
