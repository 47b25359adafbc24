/*
 * top_bounds.c
 *		What statistics say of the first rows in an order.
 *
 * Manifests know the extremes of files.  Where files are few, those of the
 * groups of rows in each are looked up, too: they are narrower, and not every
 * writer puts any into the manifest.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "fdw/top_bounds.h"
#include "lake/data_file.h"
#include "utils/memutils.h"

/* More files are not opened for their statistics alone. */
#define MAX_FILES 64

/* Rows that surely come before or are equal to a value, null ones aside. */
typedef struct GroupBound
{
	Scalar		worst;
	int64		nrows;
} GroupBound;

typedef struct BoundSearch
{
	LakeTable  *table;
	const TopKey *key;
	const DataType *type;		/* of the key */
	int			ngroups;
	int			capacity;
	GroupBound *groups;
} BoundSearch;

/* <0 where a comes first; neither is null. */
static int
compare_values(const BoundSearch *search, const Scalar *a, const Scalar *b)
{
	int			result = scalar_compare_values(search->type->physical, a, b);

	return search->key->descending ? -result : result;
}

/* Widen a split's bound by what is known of some of its rows; false when that is nothing. */
static bool
widen_bound(const BoundSearch *search, const ColumnStatistics *statistics, int64 nrows, SplitBound *bound)
{
	bool		descending = search->key->descending;
	const Scalar *best = descending ? &statistics->max : &statistics->min;

	if (!statistics->has_null_count)
		return false;
	bound->has_nulls |= statistics->null_count > 0;
	if (statistics->null_count == nrows)
		return true;
	if (!(descending ? statistics->has_max : statistics->has_min))
		return false;
	if (bound->all_null || compare_values(search, best, &bound->best) < 0)
		bound->best = scalar_copy(search->type, best);
	bound->all_null = false;
	return true;
}

static bool
bound_by_manifest(const BoundSearch *search, const Split *split, SplitBound *bound)
{
	ListCell   *lc;

	foreach(lc, split->files)
	{
		const DataFileMeta *file = lfirst(lc);
		ColumnStatistics statistics;

		if (!file_column_statistics(search->table, file, search->key->field, &statistics) ||
			!widen_bound(search, &statistics, file->row_count, bound))
			return false;
	}
	return true;
}

static void
add_group(BoundSearch *search, const GroupStatistics *group)
{
	const ColumnStatistics *statistics = &group->statistics;
	bool		descending = search->key->descending;

	if (!statistics->has_null_count || !(descending ? statistics->has_min : statistics->has_max))
		return;
	if (search->ngroups == search->capacity)
	{
		search->capacity *= 2;
		search->groups = repalloc_huge(search->groups, search->capacity * sizeof(GroupBound));
	}
	search->groups[search->ngroups].worst = scalar_copy(search->type,
														descending ? &statistics->min : &statistics->max);
	search->groups[search->ngroups++].nrows = group->nrows - statistics->null_count;
}

static bool
bound_by_groups(BoundSearch *search, const Split *split, SplitBound *bound)
{
	bool		known = true;
	ListCell   *lc;

	foreach(lc, split->files)
	{
		const DataFileMeta *file = lfirst(lc);
		DataFileReader *reader = data_file_open(search->table, split->partition, split->bucket, file,
												&search->key->field, 1, NULL, NULL, NULL);
		GroupStatistics *groups;
		int			ngroups = data_file_group_statistics(reader, search->key->field, &groups);
		int			i;

		known = known && ngroups > 0;
		for (i = 0; i < ngroups; i++)
		{
			add_group(search, &groups[i]);
			known = known && widen_bound(search, &groups[i].statistics, groups[i].nrows, bound);
		}
		data_file_close(reader);
	}
	return known;
}

/* Merging makes rows out of several, which may be null or not be there; extremes of floats leave NaN out. */
static bool
has_bounds(const BoundSearch *search, const Split *split)
{
	return split->raw && !split->joined && !split->is_diff && lake_table_shows_state(search->table) &&
		search->type->physical != PHYSICAL_FLOAT && search->type->physical != PHYSICAL_DOUBLE;
}

static void
bound_split(BoundSearch *search, const Split *split, bool open_files, SplitBound *bound)
{
	SplitBound	by_groups = *bound;

	bound->all_null = by_groups.all_null = true;
	if (!has_bounds(search, split))
		return;
	bound->known = bound_by_manifest(search, split, bound);
	if (!open_files)
		return;
	by_groups.known = bound_by_groups(search, split, &by_groups);
	if (!bound->known)
		*bound = by_groups;
}

/* Unknown ones first, then those that may have the first rows. */
static int
compare_bounds(const void *a, const void *b, void *arg)
{
	const SplitBound *left = a;
	const SplitBound *right = b;
	const BoundSearch *search = arg;
	int			result;

	if (!left->known || !right->known)
		result = (int) left->known - (int) right->known;
	else if (search->key->nulls_first && left->has_nulls != right->has_nulls)
		result = left->has_nulls ? -1 : 1;
	else if (left->all_null || right->all_null)
		result = (int) left->all_null - (int) right->all_null;
	else
		result = compare_values(search, &left->best, &right->best);
	return result != 0 ? result : left->number - right->number;
}

static int
compare_groups(const void *a, const void *b, void *arg)
{
	return compare_values(arg, &((const GroupBound *) a)->worst, &((const GroupBound *) b)->worst);
}

/* The groups that come first, as many as have the rows wanted, end in a bound. */
static Scalar
bound_of_groups(BoundSearch *search, int limit)
{
	Scalar		none = {.isnull = true};
	int64		nrows = 0;
	int			i;

	qsort_arg(search->groups, search->ngroups, sizeof(GroupBound), compare_groups, search);
	for (i = 0; i < search->ngroups; i++)
	{
		nrows += search->groups[i].nrows;
		if (nrows >= limit)
			return search->groups[i].worst;
	}
	return none;
}

SplitBound *
top_bounds_order(LakeTable *table, List *splits, const TopKey *key, int limit, Scalar *first)
{
	BoundSearch search = {.table = table, .key = key, .capacity = 16};
	SplitBound *bounds = palloc0(Max(list_length(splits), 1) * sizeof(SplitBound));
	int			nfiles = 0;
	int			i = 0;
	ListCell   *lc;

	search.type = table->schema->fields[key->field].type;
	search.groups = palloc(search.capacity * sizeof(GroupBound));
	foreach(lc, splits)
		nfiles += list_length(((const Split *) lfirst(lc))->files);
	foreach(lc, splits)
	{
		bounds[i].number = i;
		bound_split(&search, lfirst(lc), nfiles <= MAX_FILES, &bounds[i]);
		i++;
	}
	qsort_arg(bounds, list_length(splits), sizeof(SplitBound), compare_bounds, &search);
	*first = bound_of_groups(&search, limit);
	return bounds;
}
