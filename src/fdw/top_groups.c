/*
 * top_groups.c
 *		GROUP BY ... ORDER BY an aggregate LIMIT: the groups that may be among the first.
 *
 * Only the first sort key is looked at, in the form in which it is aggregated:
 * groups that it leaves behind are never made into rows, which takes longer
 * than to aggregate dozens of theirs.  The others are sorted by the server.
 */
#include "postgres.h"

#include "lib/binaryheap.h"

#include "fdw/top_groups.h"

bool
top_groups_can_compare(const ComputedAggregate *computed)
{
	switch (computed->result)
	{
		case RESULT_COUNT:
		case RESULT_SUM:
			return true;
		case RESULT_NUMERIC_SUM:
			return computed->item.argument->type->physical == PHYSICAL_INT64;
		default:
			return false;
	}
}

/* In 64 bits; what does not fit is like the last that does, which puts no group behind another that it is before. */
static int64
value_of(const ResultColumn *column, const Aggregate *aggregate, int group)
{
	int128		sum;

	if (column->result == RESULT_COUNT)
		return aggregate->counts[group];
	if (column->result == RESULT_SUM)
		return aggregate->sums.i64[group];
	sum = aggregate->sums.i128[group];
	return sum > PG_INT64_MAX ? PG_INT64_MAX : sum < PG_INT64_MIN ? PG_INT64_MIN : (int64) sum;
}

/* Greater ones come first. */
static int64
rank_of(const TopGroups *top, const ResultColumn *column, const Aggregate *aggregate, int group)
{
	int64		value;

	if (column->result != RESULT_COUNT && aggregate->counts[group] == 0)
		return top->nulls_first ? PG_INT64_MAX : PG_INT64_MIN;
	value = value_of(column, aggregate, group);
	return top->descending ? value : ~value;
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
