/*
 * top_groups.h
 *		GROUP BY ... ORDER BY an aggregate LIMIT: the groups that may be among the first.
 */
#ifndef STREAMHOUSE_FDW_TOP_GROUPS_H
#define STREAMHOUSE_FDW_TOP_GROUPS_H

#include "fdw/aggregate_result.h"

typedef struct TopGroups
{
	int			limit;			/* 0: all groups are wanted */
	int			column;			/* of the scan's rows: an aggregate, the first sort key */
	bool		descending;
	bool		nulls_first;
} TopGroups;

/* Can groups be chosen by such a result? */
extern bool top_groups_can_compare(const ComputedAggregate *computed);

/*
 * The numbers, ascending, of those of the first ngroups groups that may be
 * among the first in order, which are all that are not behind the last of
 * these by their first sort key; in CurrentMemoryContext.  NULL: that is not
 * worth while, or all may.
 */
extern int32 *top_groups_choose(const TopGroups *top, const ResultColumn *column, const Aggregate *aggregate,
								int ngroups, int *nchosen);

#endif							/* STREAMHOUSE_FDW_TOP_GROUPS_H */
