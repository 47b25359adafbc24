/*
 * top_groups.c
 *		GROUP BY ... ORDER BY an aggregate LIMIT: the groups that may be among the first.
 *
 * Only the first sort key is looked at, in the form in which it is aggregated:
 * groups that it leaves behind are never made into rows, which takes longer
 * than to aggregate dozens of theirs.  The others are sorted by the server.
 */
#include "postgres.h"

#include <math.h>

#include "lib/binaryheap.h"

#include "fdw/top_groups.h"

/* Fractions of an average of integers that are told apart. */
#define AVERAGE_PARTS (1 << 16)

/* Timestamps that are finer than SQL's are of 128 bits. */
static bool
has_rank(const DataType *type)
{
	return type->physical <= PHYSICAL_INT64 || type->physical == PHYSICAL_FLOAT || type->physical == PHYSICAL_DOUBLE;
}

bool
top_groups_can_compare(const ComputedAggregate *computed)
{
	const DataType *type = computed->item.argument != NULL ? computed->item.argument->type : NULL;

	switch (computed->result)
	{
		case RESULT_COUNT:
		case RESULT_SUM:
		case RESULT_FLOAT_SUM:
		case RESULT_FLOAT_AVERAGE:
		case RESULT_FLOAT_VAR_POP:
		case RESULT_FLOAT_VAR_SAMP:
		case RESULT_FLOAT_STDDEV_POP:
		case RESULT_FLOAT_STDDEV_SAMP:
			return true;
		case RESULT_NUMERIC_SUM:
		case RESULT_NUMERIC_AVERAGE:
			return type->physical <= PHYSICAL_INT64;
		case RESULT_EXTREME:
			return has_rank(type);
		default:
			return false;
	}
}

/*
 * Ranks are in 64 bits, and greater where results are, or the same: what does
 * not fit is like the last that does.
 */
static int64
rank_of_int128(int128 value)
{
	return value > PG_INT64_MAX ? PG_INT64_MAX : value < PG_INT64_MIN ? PG_INT64_MIN : (int64) value;
}

/* NaN is above all numbers, and zeros are equal. */
static int64
rank_of_double(double value)
{
	int64		bits;

	if (isnan(value))
		return PG_INT64_MAX;
	value += 0.0;
	memcpy(&bits, &value, sizeof(bits));
	return bits >= 0 ? bits : bits ^ PG_INT64_MAX;
}

static int128
integer_sum(const Aggregate *aggregate, int group)
{
	return aggregate->type->physical == PHYSICAL_INT64 ? aggregate->sums.i128[group] : aggregate->sums.i64[group];
}

static int64
rank_of_extreme(const Vector *extremes, int group)
{
	switch (extremes->type->physical)
	{
		case PHYSICAL_INT8:
			return extremes->values.i8[group];
		case PHYSICAL_INT16:
			return extremes->values.i16[group];
		case PHYSICAL_INT32:
			return extremes->values.i32[group];
		case PHYSICAL_FLOAT:
			return rank_of_double(extremes->values.f32[group]);
		case PHYSICAL_DOUBLE:
			return rank_of_double(extremes->values.f64[group]);
		default:
			return extremes->values.i64[group];
	}
}

/* Of a result that is not NULL.  Those that are not named are double precision. */
static int64
rank_of_result(const ResultColumn *column, const Aggregate *aggregate, int group)
{
	switch (column->result)
	{
		case RESULT_COUNT:
			return aggregate->counts[group];
		case RESULT_SUM:
		case RESULT_NUMERIC_SUM:
			return rank_of_int128(integer_sum(aggregate, group));
		case RESULT_NUMERIC_AVERAGE:
			return rank_of_int128(integer_sum(aggregate, group) *
								  (aggregate->type->physical == PHYSICAL_INT64 ? 1 : AVERAGE_PARTS) /
								  aggregate->counts[group]);
		case RESULT_EXTREME:
			return rank_of_extreme(aggregate->extremes, group);
		case RESULT_FLOAT_SUM:
			return rank_of_double(aggregate->type->physical == PHYSICAL_FLOAT ? aggregate->sums.f32[group] :
								  aggregate->sums.f64[group]);
		default:
			return rank_of_double(DatumGetFloat8(result_column_datum(column, aggregate, group)));
	}
}

/* Greater ones come first. */
static int64
rank_of(const TopGroups *top, const ResultColumn *column, const Aggregate *aggregate, int group)
{
	int64		rank;

	if (result_column_is_null(column, aggregate, group))
		return top->nulls_first ? PG_INT64_MAX : PG_INT64_MIN;
	rank = rank_of_result(column, aggregate, group);
	return top->descending ? rank : ~rank;
}

/* The least rank is at the top of the heap. */
static int
compare_ranks(Datum a, Datum b, void *arg)
{
	int64		first = DatumGetInt64(a);
	int64		second = DatumGetInt64(b);

	return (first < second) - (first > second);
}

/* The rank of the last of the first limit groups. */
static int64
last_rank(const TopGroups *top, const ResultColumn *column, const Aggregate *aggregate, int ngroups)
{
	binaryheap *heap = binaryheap_allocate(top->limit, compare_ranks, NULL);
	int64		last;
	int			group;

	for (group = 0; group < top->limit; group++)
		binaryheap_add_unordered(heap, Int64GetDatum(rank_of(top, column, aggregate, group)));
	binaryheap_build(heap);
	last = DatumGetInt64(binaryheap_first(heap));
	for (; group < ngroups; group++)
	{
		int64		rank = rank_of(top, column, aggregate, group);

		if (rank > last)
		{
			binaryheap_replace_first(heap, Int64GetDatum(rank));
			last = DatumGetInt64(binaryheap_first(heap));
		}
	}
	binaryheap_free(heap);
	return last;
}

int32 *
top_groups_choose(const TopGroups *top, const ResultColumn *column, const Aggregate *aggregate, int ngroups,
				  int *nchosen)
{
	int32	   *chosen;
	int64		last;
	int			count = 0;
	int			most = ngroups / 2;

	if (top->limit == 0 || top->limit > most)
		return NULL;
	last = last_rank(top, column, aggregate, ngroups);
	/* averages that the server rounds to the same number may be on two sides of a rank's edge */
	if (column->result == RESULT_NUMERIC_AVERAGE && last > PG_INT64_MIN)
		last--;
	chosen = MemoryContextAllocHuge(CurrentMemoryContext, (Size) most * sizeof(int32));
	for (int group = 0; group < ngroups; group++)
	{
		if (rank_of(top, column, aggregate, group) < last)
			continue;
		if (count == most)
		{
			pfree(chosen);
			return NULL;
		}
		chosen[count++] = group;
	}
	*nchosen = count;
	return chosen;
}
