/*
 * distinct.c
 *		Counts the distinct values of groups.
 *
 * The pairs of group and value are grouped themselves: each that is new
 * counts.  Once their number has reached the memory limit, pairs that are not
 * among those known go to files by their hash, and are counted a file at a
 * time in the end.
 */
#include "postgres.h"

#include "columnar/distinct.h"
#include "columnar/grouping.h"
#include "columnar/row_spill.h"
#include "utils/memutils.h"

#define MAX_KEYS 2

struct DistinctCount
{
	MemoryContext context;
	Size		memory_limit;
	bool		grouped;
	int			nkeys;
	const DataType *types[MAX_KEYS];	/* the value's, and that of group numbers if grouped */
	DataType   *group_type;
	int			depth;			/* of the next spill */
	MemoryContext set_context;
	Grouping   *set;
	bool		full;
	RowSpill   *spill;			/* NULL: everything fitted so far */
	/* of a batch */
	Vector	   *group_numbers;
	int32	   *rows;
	int32	   *found;
	bool	   *seen;			/* by dictionary code */
	uint64		seen_id;		/* of that dictionary */
	int			seen_capacity;
};

static void
begin_set(DistinctCount *distinct)
{
	MemoryContext old;

	if (distinct->set_context == NULL)
		distinct->set_context = AllocSetContextCreate(distinct->context, "streamhouse distinct values",
													  ALLOCSET_DEFAULT_SIZES);
	else
		MemoryContextReset(distinct->set_context);
	old = MemoryContextSwitchTo(distinct->set_context);
	distinct->set = grouping_create(distinct->types, distinct->nkeys);
	distinct->full = false;
	MemoryContextSwitchTo(old);
}

DistinctCount *
distinct_create(const DataType *type, bool grouped, Size memory_limit)
{
	DistinctCount *distinct = (DistinctCount *) palloc0(sizeof(DistinctCount));

	distinct->context = CurrentMemoryContext;
	distinct->memory_limit = memory_limit;
	distinct->grouped = grouped;
	distinct->types[distinct->nkeys++] = type;
	if (grouped)
	{
		distinct->group_type = type_make(TYPE_INT, 0, 0, false);
		distinct->types[distinct->nkeys++] = distinct->group_type;
		distinct->group_numbers = vector_create(distinct->group_type, BATCH_ROWS);
	}
	distinct->rows = (int32 *) palloc(BATCH_ROWS * sizeof(int32));
	distinct->found = (int32 *) palloc(BATCH_ROWS * sizeof(int32));
	begin_set(distinct);
	return distinct;
}

/* Make room for a batch's new pairs, unless there is none. */
static bool
may_add(DistinctCount *distinct, int nrows)
{
	int			capacity = grouping_capacity(distinct->set);
	Size		bytes = capacity * grouping_group_bytes(distinct->set);

	if (distinct->full || grouping_string_bytes(distinct->set) + bytes > distinct->memory_limit)
		distinct->full = distinct->depth < SPILL_MAX_DEPTH;
	if (distinct->full)
		return false;
	if (grouping_count(distinct->set) + nrows <= capacity)
		return true;
	if (grouping_string_bytes(distinct->set) + 2 * bytes > distinct->memory_limit &&
		capacity >= 2 * BATCH_ROWS && distinct->depth < SPILL_MAX_DEPTH)
	{
		distinct->full = true;
		return false;
	}
	grouping_reserve(distinct->set, Max(2 * capacity, grouping_count(distinct->set) + nrows));
	return true;
}

/* Forget which entries of the dictionary were seen, if it is another. */
static void
begin_dictionary(DistinctCount *distinct, const Vector *values)
{
	if (values->dictionary_id != 0 && values->dictionary_id == distinct->seen_id)
		return;
	distinct->seen_id = values->dictionary_id;
	if (values->dictionary_size > distinct->seen_capacity)
	{
		if (distinct->seen != NULL)
			pfree(distinct->seen);
		distinct->seen = (bool *) MemoryContextAllocHuge(distinct->context, values->dictionary_size);
		distinct->seen_capacity = values->dictionary_size;
	}
	memset(distinct->seen, false, values->dictionary_size);
}

/* The first rows of entries of a dictionary, where rows are not grouped; how many. */
static int
choose_entries(DistinctCount *distinct, const Vector *values, const int32 *rows, int nrows)
{
	const bool *nulls = values->has_nulls ? values->nulls : NULL;
	const int32 *codes = values->codes;
	bool	   *seen;
	int			chosen = 0;

	begin_dictionary(distinct, values);
	seen = distinct->seen;
	for (int i = 0; i < nrows; i++)
	{
		int32		row = rows != NULL ? rows[i] : i;

		if ((nulls != NULL && nulls[row]) || seen[codes[row]])
			continue;
		seen[codes[row]] = true;
		distinct->rows[chosen++] = row;
	}
	return chosen;
}

/* Rows without null; how many. */
static int
choose_rows(DistinctCount *distinct, const Vector *values, const int32 *rows, int nrows)
{
	int			chosen = 0;

	if (values->codes != NULL && !distinct->grouped)
		return choose_entries(distinct, values, rows, nrows);
	for (int i = 0; i < nrows; i++)
	{
		int32		row = rows != NULL ? rows[i] : i;

		distinct->rows[chosen] = row;
		chosen += !(values->has_nulls && values->nulls[row]);
	}
	return chosen;
}

static void
spill_rows(DistinctCount *distinct, const Vector *const *columns, int nrows)
{
	for (int i = 0; i < nrows; i++)
	{
		int32		row = distinct->rows[i];

		if (distinct->found[row] != GROUP_NONE)
			continue;
		if (distinct->spill == NULL)
		{
			MemoryContext old = MemoryContextSwitchTo(distinct->context);

			distinct->spill = row_spill_create(distinct->types, distinct->nkeys, distinct->depth);
			MemoryContextSwitchTo(old);
		}
		row_spill_add(distinct->spill, grouping_hash(columns, distinct->nkeys, row), columns, row);
	}
}

/* Count the new ones among distinct->rows. */
static void
add_pairs(DistinctCount *distinct, const Vector *const *columns, int nrows, const int32 *groups, int64 *counts)
{
	bool		add = may_add(distinct, nrows);
	int			added = grouping_assign(distinct->set, columns, distinct->rows, nrows, add, distinct->found);
	const int32 *new_rows = grouping_new_rows(distinct->set);

	for (int i = 0; i < added; i++)
		counts[groups != NULL ? groups[new_rows[i]] : 0]++;
	if (!add)
		spill_rows(distinct, columns, nrows);
}

void
distinct_add(DistinctCount *distinct, const Vector *values, const int32 *rows, int nrows, const int32 *groups,
			 int64 *counts)
{
	const Vector *columns[MAX_KEYS] = {values, distinct->group_numbers};
	int			chosen = choose_rows(distinct, values, rows, nrows);

	Assert(distinct->grouped == (groups != NULL));
	if (chosen == 0)
		return;
	if (distinct->grouped)
	{
		for (int i = 0; i < chosen; i++)
			distinct->group_numbers->values.i32[distinct->rows[i]] = groups[distinct->rows[i]];
	}
	add_pairs(distinct, columns, chosen, groups, counts);
}

/* A file of pairs, all of which are unknown in the files before. */
static void
count_spilled(DistinctCount *distinct, RowSpill *spill, int64 *counts)
{
	Batch	   *batch;

	while ((batch = row_spill_next(spill)) != NULL)
	{
		for (int i = 0; i < batch->nrows; i++)
			distinct->rows[i] = i;
		add_pairs(distinct, (const Vector *const *) batch->columns, batch->nrows,
				  distinct->grouped ? batch->columns[1]->values.i32 : NULL, counts);
	}
}

void
distinct_finish(DistinctCount *distinct, int64 *counts)
{
	RowSpill   *spill = distinct->spill;
	int			depth = distinct->depth;

	if (spill == NULL)
		return;
	distinct->depth = depth + 1;
	for (int partition = 0; partition < SPILL_PARTITIONS; partition++)
	{
		if (!row_spill_open(spill, partition))
			continue;
		begin_set(distinct);
		distinct->spill = NULL;
		count_spilled(distinct, spill, counts);
		distinct_finish(distinct, counts);
	}
	distinct->depth = depth;
	distinct->spill = NULL;
	row_spill_free(spill);
}
