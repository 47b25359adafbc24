/*
 * test_predicate.c
 *		Predicates against a plain evaluator, on batches and on statistics.
 */
#include "postgres.h"

#include <math.h>

#include "columnar/compare.h"
#include "columnar/predicate.h"
#include "utils/memutils.h"
#include "unit.h"

#define MAX_ROWS 200
#define MAX_CLUSTERED_ROWS 700
#define MAX_VALUES 24
#define NCOLUMNS 4

static const char *const all_types[] = {
	"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE",
	"DECIMAL(9, 2)", "DECIMAL(38, 10)", "STRING", "BYTES", "DATE",
	"TIMESTAMP(3)", "TIMESTAMP(9)", "STRING NOT NULL", "INT NOT NULL", "DOUBLE NOT NULL",
};

/* A leaf as it is asked for, before predicate_leaf simplifies it. */
typedef struct Leaf
{
	PredicateOp op;
	const DataType *type;
	Scalar		values[MAX_VALUES];
	int			nvalues;
} Leaf;

/* ---- the plain evaluator: SQL's rules, one value at a time ---- */

static bool
value_in(const Leaf *leaf, const Scalar *value)
{
	for (int i = 0; i < leaf->nvalues; i++)
	{
		if (!leaf->values[i].isnull &&
			scalar_compare_values(leaf->type->physical, value, &leaf->values[i]) == 0)
			return true;
	}
	return false;
}

static bool
has_null_value(const Leaf *leaf)
{
	for (int i = 0; i < leaf->nvalues; i++)
	{
		if (leaf->values[i].isnull)
			return true;
	}
	return false;
}

static bool
starts_with(BytesView bytes, BytesView prefix)
{
	return bytes.length >= prefix.length && memcmp(bytes.data, prefix.data, prefix.length) == 0;
}

static bool
plain_leaf(const Leaf *leaf, const Scalar *value)
{
	int			order = 0;

	if (leaf->op == PREDICATE_IS_NULL || leaf->op == PREDICATE_IS_NOT_NULL)
		return value->isnull == (leaf->op == PREDICATE_IS_NULL);
	if (value->isnull)
		return false;
	if (leaf->op == PREDICATE_IN)
		return value_in(leaf, value);
	if (has_null_value(leaf))
		return false;
	if (leaf->op == PREDICATE_NOT_IN)
		return !value_in(leaf, value);
	if (leaf->op == PREDICATE_STARTS_WITH)
		return starts_with(value->v.bytes, leaf->values[0].v.bytes);
	order = scalar_compare_values(leaf->type->physical, value, &leaf->values[0]);
	switch (leaf->op)
	{
		case PREDICATE_EQ:
			return order == 0;
		case PREDICATE_NE:
			return order != 0;
		case PREDICATE_LT:
			return order < 0;
		case PREDICATE_LE:
			return order <= 0;
		case PREDICATE_GT:
			return order > 0;
		case PREDICATE_GE:
			return order >= 0;
		default:
			return false;
	}
}

static bool
plain_predicate(const Predicate *predicate, Vector *const *columns, int row)
{
	Leaf		leaf = {0};
	Scalar		value;
	ListCell   *cell;

	if (predicate == NULL)
		return true;
	if (predicate->op == PREDICATE_FALSE)
		return false;
	if (predicate->op == PREDICATE_AND || predicate->op == PREDICATE_OR)
	{
		bool		decides = predicate->op == PREDICATE_OR;

		foreach(cell, predicate->children)
		{
			if (plain_predicate((const Predicate *) lfirst(cell), columns, row) == decides)
				return decides;
		}
		return !decides;
	}
	leaf.op = predicate->op;
	leaf.type = predicate->type;
	leaf.nvalues = predicate->nvalues;
	for (int i = 0; i < predicate->nvalues; i++)
		leaf.values[i] = predicate->values[i];
	value = vector_get(columns[predicate->column], row);
	return plain_leaf(&leaf, &value);
}

/* ---- random material ---- */

static const DataType *
random_type(void)
{
	return type_parse_atomic(all_types[unit_random_below(lengthof(all_types))]);
}

static Leaf
random_leaf(const DataType *type)
{
	static const PredicateOp ops[] = {
		PREDICATE_EQ, PREDICATE_NE, PREDICATE_LT, PREDICATE_LE, PREDICATE_GT, PREDICATE_GE,
		PREDICATE_IN, PREDICATE_NOT_IN, PREDICATE_IS_NULL, PREDICATE_IS_NOT_NULL, PREDICATE_STARTS_WITH
	};
	int			nops = type->physical == PHYSICAL_BYTES ? lengthof(ops) : lengthof(ops) - 1;
	Leaf		leaf = {0};

	leaf.type = type;
	leaf.op = ops[unit_random_below(nops)];
	if (leaf.op == PREDICATE_IN || leaf.op == PREDICATE_NOT_IN)
		leaf.nvalues = 1 + unit_random_below(MAX_VALUES);
	else if (leaf.op != PREDICATE_IS_NULL && leaf.op != PREDICATE_IS_NOT_NULL)
		leaf.nvalues = 1;
	for (int i = 0; i < leaf.nvalues; i++)
	{
		leaf.values[i] = unit_random_scalar(type);
		/* a NULL among them now and then, not in most lists */
		if (leaf.values[i].isnull && unit_random_below(4) != 0)
			i--;
	}
	return leaf;
}

static Predicate *
random_predicate(const DataType *const *types, int depth)
{
	List	   *children = NIL;

	if (depth == 0 || unit_random_below(3) == 0)
	{
		int			column = unit_random_below(NCOLUMNS);
		Leaf		leaf = random_leaf(types[column]);

		return predicate_leaf(leaf.op, column, leaf.type, leaf.values, leaf.nvalues);
	}
	for (int i = unit_random_below(4); i >= 0; i--)
		children = lappend(children, random_predicate(types, depth - 1));
	return predicate_combine(unit_random_below(2) ? PREDICATE_AND : PREDICATE_OR, children);
}

/* Turn a plain vector into a dictionary-encoded one, with entries no row has. */
static void
encode_vector(Vector *vector, int nrows)
{
	BytesView  *dictionary = (BytesView *) palloc((nrows + 300) * sizeof(BytesView));
	int			size = 0;
	int			spare = unit_random_below(2) ? 0 : unit_random_below(300);

	for (int i = 0; i < spare; i++)
		dictionary[size++] = unit_bytes("spare");
	for (int row = 0; row < nrows; row++)
	{
		int32		code = 0;

		if (!vector->has_nulls || !vector->nulls[row])
		{
			while (code < size && !bytes_equal(dictionary[code], vector->values.bytes[row]))
				code++;
			if (code == size)
				dictionary[size++] = vector->values.bytes[row];
		}
		vector->codes_buffer[row] = code;
	}
	vector->codes = vector->codes_buffer;
	vector->dictionary = dictionary;
	vector->dictionary_size = size;
}

static Vector *
random_vector(const DataType *type, int nrows)
{
	Vector	   *vector = vector_create(type, nrows);

	for (int row = 0; row < nrows; row++)
	{
		Scalar		value = unit_random_scalar(type);

		vector_set(vector, row, &value);
	}
	if (unit_random_below(20) == 0)
		vector_set_all_null(vector, nrows);
	if (type->physical == PHYSICAL_BYTES && unit_random_below(2))
		encode_vector(vector, nrows);
	return vector;
}

static int
random_selection(int32 *selection, int nrows)
{
	int			share = 1 + unit_random_below(4);
	int			nselected = 0;

	for (int row = 0; row < nrows; row++)
	{
		if (unit_random_below(4) < share)
			selection[nselected++] = row;
	}
	return nselected;
}

/* ---- batches ---- */

static bool
check_leaf(int round, Leaf *leaf, Vector *vector, int32 *selection, int nselected)
{
	Predicate  *predicate = predicate_leaf(leaf->op, 0, leaf->type, leaf->values, leaf->nvalues);
	int32	   *expected = (int32 *) palloc(Max(nselected, 1) * sizeof(int32));
	int			nexpected = 0;

	for (int i = 0; i < nselected; i++)
	{
		Scalar		value = vector_get(vector, selection[i]);

		if (plain_leaf(leaf, &value))
			expected[nexpected++] = selection[i];
	}
	nselected = predicate_filter(predicate, &vector, selection, nselected);
	return CHECK_MESSAGE(nselected == nexpected && memcmp(selection, expected, nexpected * sizeof(int32)) == 0,
						 "round %d: predicate %d on %s keeps %d rows, not %d", round, (int) leaf->op,
						 type_to_text(leaf->type), nselected, nexpected);
}

static void
test_leaves(void)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "round", ALLOCSET_DEFAULT_SIZES);

	for (int round = 0; round < 4000; round++)
	{
		MemoryContext previous = MemoryContextSwitchTo(context);
		int			nrows = 1 + unit_random_below(MAX_ROWS);
		const DataType *type = random_type();
		Vector	   *vector = random_vector(type, nrows);
		Leaf		leaf = random_leaf(type);
		int32		selection[MAX_ROWS];
		int			nselected = random_selection(selection, nrows);

		if (!check_leaf(round, &leaf, vector, selection, nselected))
			return;
		MemoryContextSwitchTo(previous);
		MemoryContextReset(context);
	}
}

/* Many rows of one value, then of another: none is null, or now and then one. */
static Vector *
clustered_vector(const DataType *type, int nrows)
{
	Vector	   *vector = vector_create(type, nrows);
	bool		with_nulls = unit_random_below(4) == 0;
	Scalar		value = {.isnull = true};

	for (int row = 0; row < nrows; row++)
	{
		while (unit_random_below(100) == 0 || (value.isnull && !with_nulls))
			value = unit_random_scalar(type);
		vector_set(vector, row, &value);
	}
	return vector;
}

/* Consecutive rows, of which all match for a while, or none does. */
static void
test_clusters(void)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "round", ALLOCSET_DEFAULT_SIZES);

	for (int round = 0; round < 4000; round++)
	{
		MemoryContext previous = MemoryContextSwitchTo(context);
		int			nrows = 1 + unit_random_below(MAX_CLUSTERED_ROWS);
		const DataType *type = random_type();
		Vector	   *vector = clustered_vector(type, nrows);
		Leaf		leaf = random_leaf(type);
		int32		selection[MAX_CLUSTERED_ROWS];
		int			first = unit_random_below(nrows);
		int			nselected = unit_random_below(nrows - first + 1);

		for (int i = 0; i < nselected; i++)
			selection[i] = first + i;
		if (leaf.nvalues == 1 && leaf.op != PREDICATE_STARTS_WITH && unit_random_below(2))
			leaf.values[0] = vector_get(vector, first);
		if (!check_leaf(round, &leaf, vector, selection, nselected))
			return;
		MemoryContextSwitchTo(previous);
		MemoryContextReset(context);
	}
}

static void
random_columns(const DataType **types, Vector **columns, int nrows)
{
	for (int i = 0; i < NCOLUMNS; i++)
	{
		types[i] = random_type();
		columns[i] = random_vector(types[i], nrows);
	}
}

static void
test_trees(void)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "round", ALLOCSET_DEFAULT_SIZES);

	for (int round = 0; round < 2000; round++)
	{
		MemoryContext previous = MemoryContextSwitchTo(context);
		int			nrows = 1 + unit_random_below(MAX_ROWS);
		const DataType *types[NCOLUMNS];
		Vector	   *columns[NCOLUMNS];
		Predicate  *predicate;
		int32		selection[MAX_ROWS];
		int32		expected[MAX_ROWS];
		int			nselected = random_selection(selection, nrows);
		int			nexpected = 0;

		random_columns(types, columns, nrows);
		predicate = random_predicate(types, 3);
		for (int i = 0; i < nselected; i++)
		{
			if (plain_predicate(predicate, columns, selection[i]))
				expected[nexpected++] = selection[i];
		}
		nselected = predicate_filter(predicate, columns, selection, nselected);
		if (!CHECK_MESSAGE(nselected == nexpected && memcmp(selection, expected, nexpected * sizeof(int32)) == 0,
						   "round %d keeps %d rows, not %d", round, nselected, nexpected))
			return;
		MemoryContextSwitchTo(previous);
		MemoryContextReset(context);
	}
}

/* ---- statistics ---- */

static const ColumnStatistics *
lookup_statistics(void *arg, int column)
{
	return ((const ColumnStatistics **) arg)[column];
}

/* The extremes of what is neither null nor NaN; whether a NaN was met. */
static bool
exact_bounds(const Vector *vector, int nrows, ColumnStatistics *statistics)
{
	PhysicalType physical = vector->type->physical;
	bool		nan_met = false;

	for (int row = 0; row < nrows; row++)
	{
		Scalar		value = vector_get(vector, row);

		if (value.isnull)
			statistics->null_count++;
		else if (scalar_is_nan(physical, &value))
			nan_met = true;
		else
		{
			if (!statistics->has_min || scalar_compare_values(physical, &value, &statistics->min) < 0)
				statistics->min = value;
			if (!statistics->has_max || scalar_compare_values(physical, &value, &statistics->max) > 0)
				statistics->max = value;
			statistics->has_min = statistics->has_max = true;
		}
	}
	statistics->has_null_count = true;
	return nan_met;
}

/* What writers make of a NaN: bounds of the rest, NaN above, or zeros. */
static void
spoil_float_bounds(PhysicalType physical, ColumnStatistics *statistics)
{
	Scalar		zero = {0};
	Scalar		nan = {0};
	int			way = unit_random_below(4);

	if (physical == PHYSICAL_FLOAT)
		nan.v.f32 = NAN;
	else
		nan.v.f64 = NAN;
	if (way == 0)
		return;
	statistics->has_min = statistics->has_max = true;
	statistics->max = way == 2 ? zero : nan;
	if (way >= 2)
		statistics->min = zero;
	else if (isnan(physical == PHYSICAL_FLOAT ? statistics->min.v.f32 : statistics->min.v.f64))
		statistics->min = nan;
}

/* Cut bounds of strings as writers do: the upper one is raised. */
static void
cut_bounds(ColumnStatistics *statistics)
{
	if (statistics->has_min && statistics->min.v.bytes.length > 2)
		statistics->min.v.bytes.length = 2;
	if (statistics->has_max && statistics->max.v.bytes.length > 2)
	{
		char	   *copy = (char *) palloc(2);

		memcpy(copy, statistics->max.v.bytes.data, 2);
		if ((unsigned char) copy[1] == 0xff)
			return;
		copy[1]++;
		statistics->max.v.bytes.data = copy;
		statistics->max.v.bytes.length = 2;
	}
}

static const ColumnStatistics *
random_statistics(const Vector *vector, int nrows)
{
	ColumnStatistics *statistics = (ColumnStatistics *) palloc0(sizeof(ColumnStatistics));
	PhysicalType physical = vector->type->physical;
	bool		nan_met = exact_bounds(vector, nrows, statistics);

	if (unit_random_below(10) == 0)
		return NULL;
	if (nan_met)
		spoil_float_bounds(physical, statistics);
	if (physical == PHYSICAL_BYTES && unit_random_below(2))
		cut_bounds(statistics);
	if (unit_random_below(6) == 0)
		statistics->has_min = false;
	if (unit_random_below(6) == 0)
		statistics->has_max = false;
	if (unit_random_below(6) == 0)
		statistics->has_null_count = false;
	return statistics;
}

/* If a row matches, statistics must say that one may. */
static void
test_statistics_are_safe(void)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "round", ALLOCSET_DEFAULT_SIZES);
	int			excluded = 0;

	for (int round = 0; round < 20000; round++)
	{
		MemoryContext previous = MemoryContextSwitchTo(context);
		int			nrows = 1 + unit_random_below(5);
		const DataType *types[NCOLUMNS];
		Vector	   *columns[NCOLUMNS];
		const ColumnStatistics *statistics[NCOLUMNS];
		Predicate  *predicate;
		bool		matches = false;
		bool		may_match;

		random_columns(types, columns, nrows);
		predicate = random_predicate(types, 2);
		for (int i = 0; i < NCOLUMNS; i++)
			statistics[i] = random_statistics(columns[i], nrows);
		for (int row = 0; row < nrows; row++)
			matches |= plain_predicate(predicate, columns, row);
		may_match = predicate_may_match(predicate, unit_random_below(2) ? nrows : 0,
										lookup_statistics, statistics);
		excluded += !may_match;
		MemoryContextSwitchTo(previous);
		if (!CHECK_MESSAGE(may_match || !matches, "round %d: rows that match are excluded", round))
			return;
		MemoryContextReset(context);
	}
	CHECK_MESSAGE(excluded > 3000, "only %d of 20000 were excluded", excluded);
}

static bool
may_match(const char *type_text, PredicateOp op, const char *value, const char *min, const char *max, int64 nulls)
{
	const DataType *type = type_parse_atomic(type_text);
	ColumnStatistics statistics = {0};
	const ColumnStatistics *lookup = &statistics;
	Scalar		constant = unit_scalar(type, value);

	statistics.has_min = min != NULL;
	statistics.has_max = max != NULL;
	statistics.min = unit_scalar(type, min);
	statistics.max = unit_scalar(type, max);
	statistics.has_null_count = nulls >= 0;
	statistics.null_count = nulls;
	return predicate_may_match(predicate_leaf(op, 0, type, &constant, value != NULL), 10,
							   lookup_statistics, &lookup);
}

static void
test_statistics_exclude(void)
{
	CHECK(!may_match("INT", PREDICATE_EQ, "5", "6", "9", 0));
	CHECK(!may_match("INT", PREDICATE_EQ, "10", "6", "9", 0));
	CHECK(may_match("INT", PREDICATE_EQ, "6", "6", "9", 0));
	CHECK(!may_match("INT", PREDICATE_LT, "6", "6", "9", 0));
	CHECK(may_match("INT", PREDICATE_LE, "6", "6", "9", 0));
	CHECK(!may_match("INT", PREDICATE_GT, "9", "6", "9", 0));
	CHECK(may_match("INT", PREDICATE_GE, "9", "6", "9", 0));
	CHECK(!may_match("INT", PREDICATE_NE, "7", "7", "7", 3));
	CHECK(may_match("INT", PREDICATE_NE, "7", "6", "7", 0));
	CHECK(!may_match("INT", PREDICATE_EQ, "7", NULL, NULL, 10));
	CHECK(may_match("INT", PREDICATE_EQ, "7", NULL, NULL, 9));
	CHECK(!may_match("INT", PREDICATE_IS_NULL, NULL, "1", "2", 0));
	CHECK(may_match("INT", PREDICATE_IS_NULL, NULL, "1", "2", -1));
	CHECK(!may_match("INT", PREDICATE_IS_NOT_NULL, NULL, NULL, NULL, 10));
	/* strings may be cut off */
	CHECK(may_match("STRING", PREDICATE_NE, "ab", "ab", "ab", 0));
	CHECK(!may_match("STRING", PREDICATE_STARTS_WITH, "b", "c", "d", 0));
	CHECK(!may_match("STRING", PREDICATE_STARTS_WITH, "e", "c", "d", 0));
	CHECK(may_match("STRING", PREDICATE_STARTS_WITH, "cc", "c", "d", 0));
	CHECK(may_match("STRING", PREDICATE_STARTS_WITH, "c", "cz", "d", 0));
	/* NaN is above all, and no bound knows of it */
	CHECK(may_match("DOUBLE", PREDICATE_GT, "9", "6", "9", 0));
	CHECK(may_match("DOUBLE", PREDICATE_EQ, "NaN", "6", "9", 0));
	CHECK(may_match("DOUBLE", PREDICATE_NE, "6", "6", "6", 0));
	CHECK(!may_match("DOUBLE", PREDICATE_EQ, "9.5", "6", "9", 0));
	CHECK(!may_match("DOUBLE", PREDICATE_LT, "6", "6", "9", 0));
	CHECK(may_match("DOUBLE", PREDICATE_LT, "-1", "0", "NaN", 0));
	CHECK(may_match("FLOAT", PREDICATE_LT, "-1", "-0", "0", 0));
}

/* ---- trees taken apart ---- */

static Predicate *
int_leaf(PredicateOp op, int column, const char *value)
{
	const DataType *type = type_parse_atomic("INT");
	Scalar		constant = unit_scalar(type, value);

	return predicate_leaf(op, column, type, &constant, 1);
}

static void
test_simplification(void)
{
	const DataType *type = type_parse_atomic("INT");
	Scalar		values[4] = {unit_scalar(type, "3"), unit_scalar(type, NULL),
	unit_scalar(type, "3"), unit_scalar(type, "1")};
	Predicate  *predicate;

	CHECK(predicate_leaf(PREDICATE_IN, 0, type, values, 3)->op == PREDICATE_EQ);
	CHECK(predicate_leaf(PREDICATE_IN, 0, type, values + 1, 1)->op == PREDICATE_FALSE);
	CHECK(predicate_leaf(PREDICATE_IN, 0, type, NULL, 0)->op == PREDICATE_FALSE);
	CHECK(predicate_leaf(PREDICATE_NOT_IN, 0, type, values, 4)->op == PREDICATE_FALSE);
	CHECK(predicate_leaf(PREDICATE_NOT_IN, 0, type, values + 2, 1)->op == PREDICATE_NE);
	CHECK(int_leaf(PREDICATE_LT, 0, NULL)->op == PREDICATE_FALSE);
	predicate = predicate_leaf(PREDICATE_IN, 0, type, values, 4);
	CHECK(predicate->op == PREDICATE_IN);
	CHECK_INT(predicate->nvalues, 2);
	CHECK_INT(predicate->values[0].v.i32, 1);

	CHECK(predicate_combine(PREDICATE_AND, NIL) == NULL);
	predicate = int_leaf(PREDICATE_EQ, 0, "1");
	CHECK(predicate_combine(PREDICATE_OR, list_make1(predicate)) == predicate);
	CHECK(predicate_combine(PREDICATE_OR, list_make2(predicate, int_leaf(PREDICATE_EQ, 1, NULL))) == predicate);
	CHECK(predicate_combine(PREDICATE_AND, list_make2(predicate, int_leaf(PREDICATE_EQ, 1, NULL)))->op
		  == PREDICATE_FALSE);
	predicate = predicate_combine(PREDICATE_AND, list_make2(predicate, int_leaf(PREDICATE_EQ, 1, "2")));
	predicate = predicate_combine(PREDICATE_AND, list_make2(predicate, int_leaf(PREDICATE_EQ, 2, "2")));
	CHECK_INT(list_length(predicate_conjuncts(predicate)), 3);
	CHECK(predicate_conjuncts(NULL) == NIL);
}

static void
test_remap(void)
{
	int			map[3] = {2, -1, 0};
	bool		used[3] = {false, false, false};
	Predicate  *first = int_leaf(PREDICATE_EQ, 0, "1");
	Predicate  *gone = int_leaf(PREDICATE_EQ, 1, "1");
	Predicate  *last = int_leaf(PREDICATE_EQ, 2, "1");
	Predicate  *either = predicate_combine(PREDICATE_OR, list_make2(last, gone));
	Predicate  *both = predicate_combine(PREDICATE_AND, list_make3(first, gone, either));

	CHECK_INT(predicate_remap(first, map)->column, 2);
	CHECK_INT(first->column, 0);
	CHECK(predicate_remap(gone, map) == NULL);
	CHECK(predicate_remap(either, map) == NULL);
	CHECK_INT(predicate_remap(both, map)->column, 2);
	CHECK(predicate_remap(NULL, map) == NULL);
	predicate_columns(either, used);
	CHECK(!used[0] && used[1] && used[2]);
}

int
main(void)
{
	unit_begin();
	RUN(test_leaves);
	RUN(test_clusters);
	RUN(test_trees);
	RUN(test_statistics_are_safe);
	RUN(test_statistics_exclude);
	RUN(test_simplification);
	RUN(test_remap);
	return unit_end();
}
