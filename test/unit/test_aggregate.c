/*
 * test_aggregate.c
 *		Groups and aggregates, against counting by hand.
 */
#include "postgres.h"

#include <math.h>

#include "columnar/aggregation.h"
#include "columnar/compare.h"
#include "unit.h"
#include "utils/memutils.h"

#define ROWS 5000
#define COLUMNS 5

/* Columns of a table in memory. */
static const DataType *types[COLUMNS];
static Scalar *values[COLUMNS];
static const int all_columns[COLUMNS] = {0, 1, 2, 3, 4};

static void
make_rows(void)
{
	types[0] = type_make(TYPE_VARCHAR, TYPE_MAX_LENGTH, 0, true);
	types[1] = type_make(TYPE_INT, 0, 0, true);
	types[2] = type_make(TYPE_DECIMAL, 30, 2, true);
	types[3] = type_make(TYPE_DOUBLE, 0, 0, true);
	types[4] = type_make(TYPE_BIGINT, 0, 0, true);
	for (int c = 0; c < COLUMNS; c++)
	{
		values[c] = palloc(ROWS * sizeof(Scalar));
		for (int row = 0; row < ROWS; row++)
			values[c][row] = unit_random_scalar(types[c]);
	}
	/* many groups by this one */
	for (int row = 0; row < ROWS; row++)
	{
		values[4][row].isnull = unit_random_below(20) == 0;
		values[4][row].v.i64 = unit_random_below(ROWS);
	}
	for (int row = 0; row < ROWS; row++)
		values[1][row].v.i32 %= 1000;
}

/* Of some strings, a dictionary: each row's is its own entry. */
static void
encode(Vector *vector, int nrows)
{
	BytesView  *dictionary = palloc(Max(nrows, 1) * sizeof(BytesView));

	memcpy(dictionary, vector->values.bytes, nrows * sizeof(BytesView));
	for (int i = 0; i < nrows; i++)
	{
		vector->codes_buffer[i] = i;
		if (vector->has_nulls && vector->nulls[i])
			dictionary[i] = unit_bytes("");
	}
	vector->codes = vector->codes_buffer;
	vector->dictionary = dictionary;
	vector->dictionary_size = nrows;
}

/* A row that is not selected may have anything for a flag. */
static void
forget_row(Batch *batch, int row)
{
	for (int c = 0; c < COLUMNS; c++)
		((uint8 *) batch->columns[c]->nulls)[row] = 0x5a;
}

/* Feed the rows from first on, those that are selected; half of the batches have codes. */
static void
feed_batch(Aggregation *aggregation, int first, int nrows, const bool *selected)
{
	Batch	   *batch = batch_create(COLUMNS, types, BATCH_ROWS);
	int32	   *rows = palloc(nrows * sizeof(int32));
	int			count = 0;

	for (int c = 0; c < COLUMNS; c++)
	{
		for (int i = 0; i < nrows; i++)
			vector_set(batch->columns[c], i, &values[c][first + i]);
	}
	if (unit_random_below(2) == 0)
		encode(batch->columns[0], nrows);
	for (int i = 0; i < nrows; i++)
	{
		if (selected[first + i])
			rows[count++] = i;
		else
			forget_row(batch, i);
	}
	aggregation_add(aggregation, batch->columns, count < nrows ? rows : NULL, count);
}

static Expression *
column(int number)
{
	Expression *expression = palloc0(sizeof(Expression));

	expression->kind = EXPRESSION_COLUMN;
	expression->column = number;
	expression->type = types[number];
	return expression;
}

/* The aggregates of every test, over the columns that can have them. */
static AggregationItem *
make_items(int *nitems)
{
	static const AggregateKind kinds[] = {AGGREGATE_COUNT, AGGREGATE_COUNT_DISTINCT, AGGREGATE_MIN, AGGREGATE_MAX,
	AGGREGATE_SUM};
	AggregationItem *items = palloc0((lengthof(kinds) * COLUMNS + 1) * sizeof(AggregationItem));

	items[0].kind = AGGREGATE_COUNT_ROWS;
	*nitems = 1;
	for (int c = 0; c < COLUMNS; c++)
	{
		for (int k = 0; k < lengthof(kinds); k++)
		{
			if (kinds[k] == AGGREGATE_SUM && types[c]->root != TYPE_INT && types[c]->root != TYPE_BIGINT &&
				types[c]->root != TYPE_DECIMAL)
				continue;
			items[*nitems].kind = kinds[k];
			items[(*nitems)++].argument = column(c);
		}
	}
	return items;
}

static bool
in_group(const Aggregation *aggregation, const AggregationSpec *spec, int group, int row)
{
	for (int k = 0; k < spec->nkeys; k++)
	{
		Vector	   *key = vector_create(spec->keys[k]->type, 1);
		Scalar		value;

		aggregation_key(aggregation, k, group, 1, key);
		value = vector_get(key, 0);
		if (scalar_compare(key->type->physical, &value, &values[spec->keys[k]->column][row]) != 0)
			return false;
	}
	return true;
}

static void
check_sum(const Aggregate *aggregate, int group, int c, const int *rows, int nrows)
{
	int128		sum = 0;
	int128		got;

	for (int i = 0; i < nrows; i++)
	{
		const Scalar *value = &values[c][rows[i]];

		if (!value->isnull)
			sum += types[c]->physical == PHYSICAL_INT32 ? value->v.i32 :
				types[c]->physical == PHYSICAL_INT64 ? value->v.i64 : value->v.i128;
	}
	if (types[c]->physical == PHYSICAL_INT32)
		got = aggregate->sums.i64[group];
	else if (types[c]->physical == PHYSICAL_INT64)
		got = aggregate->sums.i128[group];
	else
		got = (int128) ((uint128) aggregate->sums.wide[group].high << 64) + aggregate->sums.wide[group].low;
	CHECK(got == sum);
}

static void
check_item(const Aggregate *aggregate, int group, int c, const int *rows, int nrows)
{
	PhysicalType physical = types[c]->physical;
	int64		count = 0;
	int64		distinct = 0;
	Scalar		best = {.isnull = true};

	for (int i = 0; i < nrows; i++)
	{
		const Scalar *value = &values[c][rows[i]];
		bool		seen = false;
		int			order;

		if (value->isnull)
			continue;
		for (int k = 0; k < i && !seen; k++)
			seen = scalar_compare(physical, value, &values[c][rows[k]]) == 0;
		count++;
		distinct += !seen;
		order = best.isnull ? 0 : scalar_compare_values(physical, value, &best);
		if (best.isnull || (aggregate->kind == AGGREGATE_MIN ? order < 0 : order > 0))
			best = *value;
	}
	CHECK_INT(aggregate->counts[group], aggregate->kind == AGGREGATE_COUNT_DISTINCT ? distinct : count);
	if (aggregate->extremes != NULL && count > 0)
	{
		Scalar		got = vector_get(aggregate->extremes, group);

		CHECK_INT(scalar_compare_values(physical, &got, &best), 0);
	}
	if (aggregate->kind == AGGREGATE_SUM)
		check_sum(aggregate, group, c, rows, nrows);
}

/* Returns how many rows the group has. */
static int
check_group(const Aggregation *aggregation, const AggregationSpec *spec, int group, const bool *selected)
{
	int		   *rows = palloc(ROWS * sizeof(int));
	int			nrows = 0;

	for (int row = 0; row < ROWS; row++)
	{
		if (selected[row] && in_group(aggregation, spec, group, row))
			rows[nrows++] = row;
	}
	CHECK_INT(aggregation_item(aggregation, 0)->counts[group], nrows);
	for (int i = 1; i < spec->nitems; i++)
		check_item(aggregation_item(aggregation, i), group, spec->items[i].argument->column, rows, nrows);
	return nrows;
}

/* Group by some columns; every so many groups one is looked at. */
static void
check_grouping(int nkeys, const int *keys, Size memory_limit, int step)
{
	AggregationSpec spec = {.nkeys = nkeys, .ntable_columns = COLUMNS, .ncolumns = COLUMNS, .columns = all_columns};
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "check", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	bool	   *selected = palloc(ROWS * sizeof(bool));
	Aggregation *aggregation;
	int64		rows = 0;
	int64		expected = 0;

	spec.keys = palloc(Max(nkeys, 1) * sizeof(Expression *));
	for (int k = 0; k < nkeys; k++)
		spec.keys[k] = column(keys[k]);
	spec.items = make_items(&spec.nitems);
	spec.types = types;
	spec.memory_limit = memory_limit;
	aggregation = aggregation_create(&spec);
	for (int row = 0; row < ROWS; row++)
	{
		/* most rows of a batch, half of them, or few */
		selected[row] = unit_random_below(4) > row / BATCH_ROWS % 3;
		expected += selected[row];
	}
	for (int first = 0; first < ROWS; first += BATCH_ROWS)
		feed_batch(aggregation, first, Min(BATCH_ROWS, ROWS - first), selected);
	aggregation_finish(aggregation);
	do
	{
		for (int group = 0; group < aggregation_group_count(aggregation); group++)
		{
			rows += aggregation_item(aggregation, 0)->counts[group];
			if (group % step == 0 && check_group(aggregation, &spec, group, selected) == 0)
				CHECK(nkeys == 0);
		}
	} while (aggregation_next(aggregation));
	CHECK_INT(rows, expected);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

static void
test_one_group(void)
{
	make_rows();
	check_grouping(0, NULL, 1024 * 1024 * 1024, 1);
}

static void
test_groups(void)
{
	static const int keys[] = {0, 1, 2, 3};

	make_rows();
	check_grouping(1, keys, 1024 * 1024 * 1024, 97);
	check_grouping(1, keys + 3, 1024 * 1024 * 1024, 97);
	check_grouping(4, keys, 1024 * 1024 * 1024, 997);
}

/* Groups, and distinct values, that go to files. */
static void
test_little_memory(void)
{
	static const int keys[] = {4, 0};

	make_rows();
	check_grouping(0, NULL, 16 * 1024, 1);
	check_grouping(1, keys, 16 * 1024, 97);
	check_grouping(2, keys, 16 * 1024, 97);
}

static void
test_overflow(void)
{
	Aggregate  *aggregate;
	Vector	   *vector;

	types[0] = type_make(TYPE_DOUBLE, 0, 0, true);
	vector = vector_create(types[0], 2);
	aggregate = aggregate_create(AGGREGATE_SUM, types[0], false, 0);
	aggregate_reserve(aggregate, 1);
	vector->values.f64[0] = vector->values.f64[1] = 1e308;
	CHECK_ERROR(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, "overflow", aggregate_add(aggregate, vector, NULL, 2, NULL));
	aggregate = aggregate_create(AGGREGATE_SUM, types[0], false, 0);
	aggregate_reserve(aggregate, 1);
	vector->values.f64[0] = INFINITY;
	aggregate_add(aggregate, vector, NULL, 2, NULL);
	CHECK(isinf(aggregate->sums.f64[0]));
}

/* CASE evaluates what it chooses alone; arithmetic fails as the server's. */
static void
test_expressions(void)
{
	const DataType *type = type_make(TYPE_INT, 0, 0, true);
	Scalar		one = {.v.i32 = 1};
	Expression	number = {.kind = EXPRESSION_COLUMN, .type = type};
	Expression	constant = {.kind = EXPRESSION_CONSTANT, .type = type, .constant = one};
	Expression *arguments[] = {&number, &constant};
	Expression	sum = {.kind = EXPRESSION_ARITHMETIC, .op = ARITHMETIC_ADD, .type = type, .narguments = 2, .arguments = arguments};
	Expression *choices[] = {&sum, &number};
	Predicate  *conditions[] = {predicate_leaf(PREDICATE_LT, 0, type, &one, 1)};
	Expression	choice = {.kind = EXPRESSION_CASE, .type = type, .narguments = 2, .arguments = choices,
	.conditions = conditions};
	Vector	   *vector = vector_create(type, BATCH_ROWS);
	const Vector *result;

	expression_prepare(&choice);
	vector->values.i32[0] = 0;
	vector->values.i32[1] = PG_INT32_MAX;
	vector_set(vector, 2, &(Scalar) {.isnull = true});
	result = expression_evaluate(&choice, &vector, NULL, 3);
	CHECK_INT(result->values.i32[0], 1);
	CHECK_INT(result->values.i32[1], PG_INT32_MAX);
	CHECK(result->nulls[2] && !result->nulls[0]);
	CHECK_ERROR(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range",
				expression_evaluate(&sum, &vector, NULL, 3));
}

/* ---- arithmetic ---- */

/* One row of each number, combined. */
static Scalar
combine(ArithmeticOperator op, const DataType *type, Scalar left, Scalar right)
{
	Vector	   *a = vector_create(type, 1);
	Vector	   *b = vector_create(type, 1);
	Vector	   *result = vector_create(type, 1);

	vector_set(a, 0, &left);
	vector_set(b, 0, &right);
	arithmetic_compute(op, a, b, NULL, 1, result);
	return vector_get(result, 0);
}

#define I32(value) ((Scalar) {.v.i32 = (value)})
#define F64(value) ((Scalar) {.v.f64 = (value)})

static void
test_integer_arithmetic(void)
{
	const DataType *type = type_make(TYPE_INT, 0, 0, true);
	const DataType *small = type_make(TYPE_SMALLINT, 0, 0, true);
	Scalar		null = {.isnull = true};
	Scalar		large = {.v.i16 = 300};

	CHECK_INT(combine(ARITHMETIC_DIVIDE, type, I32(-7), I32(2)).v.i32, -3);
	CHECK_INT(combine(ARITHMETIC_REMAINDER, type, I32(-7), I32(2)).v.i32, -1);
	CHECK_INT(combine(ARITHMETIC_REMAINDER, type, I32(PG_INT32_MIN), I32(-1)).v.i32, 0);
	CHECK(combine(ARITHMETIC_DIVIDE, type, null, I32(0)).isnull);
	CHECK_ERROR(ERRCODE_DIVISION_BY_ZERO, "division by zero", combine(ARITHMETIC_DIVIDE, type, I32(1), I32(0)));
	CHECK_ERROR(ERRCODE_DIVISION_BY_ZERO, "division by zero", combine(ARITHMETIC_REMAINDER, type, I32(1), I32(0)));
	CHECK_ERROR(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range",
				combine(ARITHMETIC_DIVIDE, type, I32(PG_INT32_MIN), I32(-1)));
	CHECK_ERROR(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, "smallint out of range",
				combine(ARITHMETIC_MULTIPLY, small, large, large));
}

static void
test_float_arithmetic(void)
{
	const DataType *type = type_make(TYPE_DOUBLE, 0, 0, true);

	CHECK(combine(ARITHMETIC_ADD, type, F64(0.5), F64(0.25)).v.f64 == 0.75);
	CHECK(isinf(combine(ARITHMETIC_MULTIPLY, type, F64(INFINITY), F64(2)).v.f64));
	CHECK(isnan(combine(ARITHMETIC_SUBTRACT, type, F64(INFINITY), F64(INFINITY)).v.f64));
	CHECK(isnan(combine(ARITHMETIC_DIVIDE, type, F64(NAN), F64(0)).v.f64));
	CHECK(combine(ARITHMETIC_DIVIDE, type, F64(1), F64(INFINITY)).v.f64 == 0);
	CHECK_ERROR(ERRCODE_DIVISION_BY_ZERO, "division by zero", combine(ARITHMETIC_DIVIDE, type, F64(1), F64(0)));
	CHECK_ERROR(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow",
				combine(ARITHMETIC_ADD, type, F64(1e308), F64(1e308)));
	CHECK_ERROR(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: underflow",
				combine(ARITHMETIC_MULTIPLY, type, F64(1e-300), F64(1e-300)));
}

static void
test_decimals_widened(void)
{
	const DataType *from = type_make(TYPE_DECIMAL, 10, 2, true);
	const DataType *to = type_make(TYPE_DECIMAL, 30, 6, true);
	Vector	   *argument = vector_create(from, 2);
	Vector	   *result = vector_create(to, 2);

	vector_set(argument, 0, &(Scalar) {.v.i64 = -12345});
	vector_set(argument, 1, &(Scalar) {.isnull = true});
	arithmetic_widen(argument, NULL, 2, result);
	CHECK(vector_get(result, 0).v.i128 == -123450000);
	CHECK(vector_get(result, 1).isnull);
	arithmetic_compute(ARITHMETIC_MULTIPLY, result, result, NULL, 1, result);
	CHECK(vector_get(result, 0).v.i128 == (int128) 123450000 * 123450000);
}

/* ---- functions whose results are kept ---- */

static int	computed_rows;

/* "<n>" of a number n that is not 7. */
static void
compute_text(MemoFunction *function, Vector *const *columns, const int32 *rows, int nrows, Vector *result)
{
	for (int i = 0; i < nrows; i++)
	{
		Scalar		number = vector_get(columns[0], rows[i]);
		Scalar		text = {.isnull = number.isnull || number.v.i32 == 7};

		if (!text.isnull)
		{
			text.v.bytes.data = psprintf("<%d>", number.v.i32);
			text.v.bytes.length = strlen(text.v.bytes.data);
		}
		vector_set(result, rows[i], &text);
	}
	computed_rows += nrows;
}

static void
column_is_key(MemoFunction *function, Vector *const *columns, const int32 *rows, int nrows, const Vector **keys)
{
	keys[0] = columns[0];
}

/* Batches of numbers below a limit: results are right, and how many were computed. */
static int
count_computed(int nbatches, int limit)
{
	const DataType *type = type_make(TYPE_INT, 0, 0, true);
	MemoFunction function = {.compute = compute_text, .make_keys = column_is_key, .nkeys = 1, .key_types = &type};
	const DataType *text = type_make(TYPE_VARCHAR, TYPE_MAX_LENGTH, 0, true);
	Vector	   *result = vector_create(text, BATCH_ROWS);
	Vector	   *numbers = vector_create(type, BATCH_ROWS);
	Memo	   *memo = memo_create(&function, text);

	computed_rows = 0;
	for (int b = 0; b < nbatches; b++)
	{
		for (int i = 0; i < BATCH_ROWS; i++)
			vector_set(numbers, i, &(Scalar) {.isnull = i % 100 == 99, .v.i32 = (b * BATCH_ROWS + i) % limit});
		memo_evaluate(memo, &numbers, NULL, BATCH_ROWS, result);
		for (int i = 0; i < BATCH_ROWS; i++)
		{
			Scalar		number = vector_get(numbers, i);
			Scalar		value = vector_get(result, i);
			char		expected[32];

			snprintf(expected, sizeof(expected), "<%d>", number.v.i32);
			CHECK(value.isnull == (number.isnull || number.v.i32 == 7));
			CHECK(value.isnull || (value.v.bytes.length == strlen(expected) &&
								   memcmp(value.v.bytes.data, expected, value.v.bytes.length) == 0));
		}
		vector_reset(numbers);
	}
	return computed_rows;
}

static void
test_memo(void)
{
	CHECK_INT(count_computed(10, 300), 301);
	/* too many to be kept, though they repeat */
	CHECK(count_computed(200, 50000) >= 50000);
	/* they never repeat: all are computed */
	CHECK(count_computed(100, PG_INT32_MAX) >= 100 * BATCH_ROWS * 98 / 100);
}

int
main(void)
{
	unit_begin();
	RUN(test_one_group);
	RUN(test_groups);
	RUN(test_little_memory);
	RUN(test_overflow);
	RUN(test_expressions);
	RUN(test_integer_arithmetic);
	RUN(test_float_arithmetic);
	RUN(test_decimals_widened);
	RUN(test_memo);
	return unit_end();
}
