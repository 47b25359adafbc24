/*
 * predicate_stats.c
 *		May rows match, as far as statistics tell?
 *
 * Always on the safe side: "no" only when the bounds leave no other answer.
 * Bounds of strings may be cut off, so they tell where values lie but never
 * that all values are one.
 *
 * Floats need care, as PostgreSQL sorts NaN above everything while those who
 * write statistics mostly leave it out: an upper bound says nothing of NaN.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "columnar/predicate.h"

/* What statistics tell of one leaf's column. */
typedef struct Bounds
{
	PhysicalType physical;
	bool		may_have_nulls;
	bool		may_have_values;
	const Scalar *min;			/* NULL: not known */
	const Scalar *max;			/* NULL: not known; of floats: of those that are not NaN */
} Bounds;

static bool
is_float(PhysicalType physical)
{
	return physical == PHYSICAL_FLOAT || physical == PHYSICAL_DOUBLE;
}

static double
float_value(PhysicalType physical, const Scalar *value)
{
	return physical == PHYSICAL_FLOAT ? value->v.f32 : value->v.f64;
}

static const Scalar *
usable_bound(bool has, const Scalar *bound, PhysicalType physical)
{
	return has && !bound->isnull && !scalar_is_nan(physical, bound) ? bound : NULL;
}

static bool
is_zero_or_unknown(PhysicalType physical, const Scalar *bound)
{
	return bound == NULL || float_value(physical, bound) == 0;
}

/* A writer that met a NaN may leave zeros in place of the bounds, or of one of them. */
static bool
float_bounds_are_void(const Bounds *bounds)
{
	return is_zero_or_unknown(bounds->physical, bounds->min) &&
		is_zero_or_unknown(bounds->physical, bounds->max);
}

static void
read_statistics(const ColumnStatistics *statistics, PhysicalType physical, int64 row_count, Bounds *bounds)
{
	bounds->physical = physical;
	bounds->may_have_nulls = !statistics->has_null_count || statistics->null_count != 0;
	bounds->may_have_values = !statistics->has_null_count || row_count <= 0 ||
		statistics->null_count < row_count;
	bounds->min = usable_bound(statistics->has_min, &statistics->min, physical);
	bounds->max = usable_bound(statistics->has_max, &statistics->max, physical);
	if (is_float(physical) && float_bounds_are_void(bounds))
	{
		bounds->min = NULL;
		bounds->max = NULL;
	}
}

/* Can a value equal this one? */
static bool
may_equal(const Bounds *bounds, const Scalar *value)
{
	if (bounds->min != NULL && scalar_compare_values(bounds->physical, value, bounds->min) < 0)
		return false;
	if (bounds->max != NULL && !scalar_is_nan(bounds->physical, value) &&
		scalar_compare_values(bounds->physical, value, bounds->max) > 0)
		return false;
	return true;
}

/* Can a value equal one of these, which are sorted?  Then it does the first that is not below the bounds. */
static bool
may_equal_any(const Bounds *bounds, const Scalar *values, int nvalues)
{
	int			first = 0;
	int			end = bounds->min != NULL ? nvalues : 0;

	while (first < end)
	{
		int			middle = first + (end - first) / 2;

		if (scalar_compare_values(bounds->physical, &values[middle], bounds->min) < 0)
			first = middle + 1;
		else
			end = middle;
	}
	if (first < nvalues && may_equal(bounds, &values[first]))
		return true;

	/* NaN, the last of all, is within all bounds */
	return first < nvalues && may_equal(bounds, &values[nvalues - 1]);
}

/* Can a value lie above this one, or (or_equal) be equal to it? */
static bool
may_exceed(const Bounds *bounds, const Scalar *value, bool or_equal)
{
	int			order;

	if (bounds->max == NULL || is_float(bounds->physical))
		return true;
	order = scalar_compare_values(bounds->physical, bounds->max, value);
	return or_equal ? order >= 0 : order > 0;
}

static bool
may_be_below(const Bounds *bounds, const Scalar *value, bool or_equal)
{
	int			order;

	if (bounds->min == NULL)
		return true;
	order = scalar_compare_values(bounds->physical, bounds->min, value);
	return or_equal ? order <= 0 : order < 0;
}

/* Can a value be none of the leaf's?  Not if all are the same, and it is one of them. */
static bool
may_differ(const Bounds *bounds, const Predicate *leaf)
{
	if (bounds->min == NULL || bounds->max == NULL ||
		is_float(bounds->physical) || bounds->physical == PHYSICAL_BYTES ||
		scalar_compare_values(bounds->physical, bounds->min, bounds->max) != 0)
		return true;
	for (int i = 0; i < leaf->nvalues; i++)
	{
		if (scalar_compare_values(bounds->physical, bounds->min, &leaf->values[i]) == 0)
			return false;
	}
	return true;
}

/* Can a string begin so?  Such strings lie between the prefix and all that it begins. */
static bool
may_start_with(const Bounds *bounds, BytesView prefix)
{
	if (bounds->max != NULL && bytes_compare(bounds->max->v.bytes, prefix) < 0)
		return false;
	if (bounds->min != NULL)
	{
		BytesView	head = bounds->min->v.bytes;

		head.length = Min(head.length, prefix.length);
		if (bytes_compare(head, prefix) > 0)
			return false;
	}
	return true;
}

static bool
values_may_match(const Predicate *leaf, const Bounds *bounds)
{
	switch (leaf->op)
	{
		case PREDICATE_EQ:
		case PREDICATE_IN:
			return may_equal_any(bounds, leaf->values, leaf->nvalues);
		case PREDICATE_NE:
		case PREDICATE_NOT_IN:
			return may_differ(bounds, leaf);
		case PREDICATE_LT:
			return may_be_below(bounds, &leaf->values[0], false);
		case PREDICATE_LE:
			return may_be_below(bounds, &leaf->values[0], true);
		case PREDICATE_GT:
			return may_exceed(bounds, &leaf->values[0], false);
		case PREDICATE_GE:
			return may_exceed(bounds, &leaf->values[0], true);
		case PREDICATE_STARTS_WITH:
			return may_start_with(bounds, leaf->values[0].v.bytes);
		default:
			return true;
	}
}

bool
predicate_leaf_may_match(const Predicate *leaf, int64 row_count, const ColumnStatistics *statistics)
{
	Bounds		bounds;

	if (statistics == NULL)
		return true;
	read_statistics(statistics, leaf->type->physical, row_count, &bounds);
	if (leaf->op == PREDICATE_IS_NULL)
		return bounds.may_have_nulls;
	return bounds.may_have_values && values_may_match(leaf, &bounds);
}

bool
predicate_may_hold(const Predicate *predicate, PredicateTest test, void *arg)
{
	ListCell   *cell;

	switch (predicate->op)
	{
		case PREDICATE_FALSE:
			return false;
		case PREDICATE_AND:
			foreach(cell, predicate->children)
			{
				if (!predicate_may_hold((const Predicate *) lfirst(cell), test, arg))
					return false;
			}
			return true;
		case PREDICATE_OR:
			foreach(cell, predicate->children)
			{
				if (predicate_may_hold((const Predicate *) lfirst(cell), test, arg))
					return true;
			}
			return false;
		default:
			return test(predicate, arg);
	}
}

/* What the statistics are asked for. */
typedef struct StatisticsTest
{
	int64		row_count;
	StatisticsLookup lookup;
	void	   *arg;
} StatisticsTest;

static bool
test_statistics(const Predicate *leaf, void *arg)
{
	const StatisticsTest *test = arg;

	return predicate_leaf_may_match(leaf, test->row_count, test->lookup(test->arg, leaf->column));
}

/* May any of row_count rows (0: not known how many) match? */
bool
predicate_may_match(const Predicate *predicate, int64 row_count, StatisticsLookup lookup, void *arg)
{
	StatisticsTest test = {row_count, lookup, arg};

	return predicate == NULL || predicate_may_hold(predicate, test_statistics, &test);
}
