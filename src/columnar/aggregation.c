/*
 * aggregation.c
 *		GROUP BY over batches.
 */
#include "postgres.h"

#include "columnar/aggregation.h"
#include "columnar/grouping.h"
#include "columnar/row_spill.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* A set of files, and how far it has been read. */
typedef struct SpillLevel
{
	RowSpill   *spill;
	int			next_partition;
} SpillLevel;

struct Aggregation
{
	MemoryContext context;
	const AggregationSpec *spec;
	/* of the groups at hand */
	MemoryContext group_context;
	Grouping   *grouping;		/* NULL: there is one group */
	Aggregate **aggregates;		/* by item; behind those perhaps one that counts rows for them */
	int			naggregates;
	bool		full;			/* no new groups */
	RowSpill   *spill;			/* rows of other groups; NULL: none */
	int			depth;			/* of that */
	List	   *levels;			/* SpillLevel *: files to read, the deepest last */
	int64		spilled_rows;
	/* of a batch */
	Vector	  **columns;		/* by table column */
	const Vector **keys;
	int32	   *groups;
	int32	   *rows;			/* in a group that is at hand */
	int32	   *filtered;
	int			span;			/* rows to look at where most are selected; 0: the selected ones */
	bool	   *absent;			/* of the span: not selected */
	bool	   *masked_nulls;	/* of an item's values: null, or absent */
};

static bool
takes_all_rows(const AggregationItem *item)
{
	return item->filter == NULL && item->condition == NULL;
}

static void
reserve_aggregates(Aggregation *aggregation)
{
	int			capacity = aggregation->grouping != NULL ? grouping_capacity(aggregation->grouping) : 1;

	for (int i = 0; i < aggregation->naggregates; i++)
		aggregate_reserve(aggregation->aggregates[i], capacity);
}

/*
 * Groups are many, and lie wherever rows find them: their rows are counted
 * once, not by each aggregate.
 */
static void
share_counts(Aggregation *aggregation)
{
	const AggregationSpec *spec = aggregation->spec;
	Aggregate  *counter = NULL;
	int			sharing = 0;

	for (int i = 0; i < spec->nitems; i++)
	{
		if (!takes_all_rows(&spec->items[i]))
			continue;
		if (spec->items[i].kind == AGGREGATE_COUNT_ROWS)
			counter = aggregation->aggregates[i];
		sharing += aggregate_can_share_counts(aggregation->aggregates[i]);
	}
	if (aggregation->grouping == NULL || sharing + (counter != NULL) < 2)
		return;
	if (counter == NULL)
	{
		counter = aggregate_create(AGGREGATE_COUNT_ROWS, NULL, true, spec->memory_limit);
		aggregation->aggregates[aggregation->naggregates++] = counter;
	}
	for (int i = 0; i < spec->nitems; i++)
	{
		if (takes_all_rows(&spec->items[i]) && aggregate_can_share_counts(aggregation->aggregates[i]))
			aggregate_share_counts(aggregation->aggregates[i], counter);
	}
}

/* Forget all groups. */
static void
begin_groups(Aggregation *aggregation)
{
	const AggregationSpec *spec = aggregation->spec;
	MemoryContext old;

	MemoryContextReset(aggregation->group_context);
	old = MemoryContextSwitchTo(aggregation->group_context);
	aggregation->grouping = NULL;
	if (spec->nkeys > 0)
	{
		const DataType **types = (const DataType **) palloc(spec->nkeys * sizeof(DataType *));

		for (int i = 0; i < spec->nkeys; i++)
			types[i] = spec->keys[i]->type;
		aggregation->grouping = grouping_create(types, spec->nkeys);
	}
	aggregation->aggregates = (Aggregate **) palloc((spec->nitems + 1) * sizeof(Aggregate *));
	aggregation->naggregates = spec->nitems;
	for (int i = 0; i < spec->nitems; i++)
	{
		const AggregationItem *item = &spec->items[i];

		aggregation->aggregates[i] = aggregate_create(item->kind, item->argument ? item->argument->type : NULL,
													  spec->nkeys > 0, spec->memory_limit);
	}
	share_counts(aggregation);
	reserve_aggregates(aggregation);
	aggregation->full = false;
	aggregation->spill = NULL;
	MemoryContextSwitchTo(old);
}

Aggregation *
aggregation_create(const AggregationSpec *spec)
{
	Aggregation *aggregation = (Aggregation *) palloc0(sizeof(Aggregation));

	aggregation->context = CurrentMemoryContext;
	aggregation->spec = spec;
	aggregation->group_context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse groups",
													   ALLOCSET_DEFAULT_SIZES);
	for (int i = 0; i < spec->nkeys; i++)
		expression_prepare(spec->keys[i]);
	for (int i = 0; i < spec->nitems; i++)
	{
		if (spec->items[i].argument != NULL)
			expression_prepare(spec->items[i].argument);
		if (spec->items[i].condition != NULL)
			expression_prepare(spec->items[i].condition);
	}
	aggregation->columns = (Vector **) palloc0(Max(spec->ntable_columns, 1) * sizeof(Vector *));
	aggregation->keys = (const Vector **) palloc(Max(spec->nkeys, 1) * sizeof(Vector *));
	aggregation->groups = (int32 *) palloc(BATCH_ROWS * sizeof(int32));
	aggregation->rows = (int32 *) palloc(BATCH_ROWS * sizeof(int32));
	aggregation->filtered = (int32 *) palloc(BATCH_ROWS * sizeof(int32));
	aggregation->absent = (bool *) palloc(BATCH_ROWS * sizeof(bool));
	aggregation->masked_nulls = (bool *) palloc(BATCH_ROWS * sizeof(bool));
	begin_groups(aggregation);
	return aggregation;
}

/* ---- memory ---- */

static Size
group_bytes(const Aggregation *aggregation)
{
	Size		bytes = grouping_group_bytes(aggregation->grouping);

	for (int i = 0; i < aggregation->naggregates; i++)
		bytes += aggregate_group_bytes(aggregation->aggregates[i]);
	return bytes;
}

static Size
other_bytes(const Aggregation *aggregation)
{
	Size		bytes = grouping_string_bytes(aggregation->grouping);

	for (int i = 0; i < aggregation->spec->nitems; i++)
		bytes += aggregate_other_bytes(aggregation->aggregates[i]);
	return bytes;
}

/* Is there memory for so many groups?  A batch's groups are always let in. */
static bool
fits(const Aggregation *aggregation, int64 capacity)
{
	if (aggregation->depth >= SPILL_MAX_DEPTH || grouping_count(aggregation->grouping) == 0)
		return true;
	return capacity * group_bytes(aggregation) + other_bytes(aggregation) <= aggregation->spec->memory_limit;
}

/* Make room for a batch's new groups; false if there is none. */
static bool
make_room(Aggregation *aggregation, int nrows)
{
	int64		capacity = grouping_capacity(aggregation->grouping);
	int64		wanted = grouping_count(aggregation->grouping) + nrows;

	while (capacity < wanted)
		capacity *= 2;
	if (aggregation->full || !fits(aggregation, capacity))
	{
		aggregation->full = true;
		return false;
	}
	grouping_reserve(aggregation->grouping, (int) capacity);
	reserve_aggregates(aggregation);
	return true;
}

/* ---- rows ---- */

static void
spill_row(Aggregation *aggregation, Vector *const *columns, int32 row)
{
	const AggregationSpec *spec = aggregation->spec;

	if (aggregation->spill == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(aggregation->context);

		aggregation->spill = row_spill_create(spec->types, spec->ncolumns, aggregation->depth);
		MemoryContextSwitchTo(old);
	}
	row_spill_add(aggregation->spill, grouping_hash(aggregation->keys, spec->nkeys, row),
				  (const Vector *const *) columns, row);
	aggregation->spilled_rows++;
}

/*
 * Find the rows' groups; rows of those that find no place go to files.  Returns
 * the rows that are left, and how many.
 */
static const int32 *
assign_groups(Aggregation *aggregation, Vector *const *columns, const int32 *rows, int *nrows)
{
	const AggregationSpec *spec = aggregation->spec;
	bool		add = make_room(aggregation, *nrows);
	int			kept = 0;

	for (int i = 0; i < spec->nkeys; i++)
		aggregation->keys[i] = expression_evaluate(spec->keys[i], aggregation->columns, rows, *nrows);
	grouping_assign(aggregation->grouping, aggregation->keys, rows, *nrows, add, aggregation->groups);
	if (add)
		return rows;
	for (int i = 0; i < *nrows; i++)
	{
		int32		row = rows != NULL ? rows[i] : i;

		if (aggregation->groups[row] != GROUP_NONE)
			aggregation->rows[kept++] = row;
		else
			spill_row(aggregation, columns, row);
	}
	*nrows = kept;
	return aggregation->rows;
}

/* Keep of the rows those for which a boolean is true. */
static int
keep_true(const Vector *values, int32 *rows, int nrows)
{
	int			kept = 0;

	for (int i = 0; i < nrows; i++)
	{
		int32		row = rows[i];

		if ((!values->has_nulls || !values->nulls[row]) && values->values.i8[row] != 0)
			rows[kept++] = row;
	}
	return kept;
}

/* The rows that count for an item, and how many. */
static const int32 *
filter_rows(Aggregation *aggregation, const AggregationItem *item, const int32 *rows, int *nrows)
{
	int32	   *filtered = aggregation->filtered;
	int			count = *nrows;

	if (takes_all_rows(item))
		return rows;
	for (int k = 0; k < count; k++)
		filtered[k] = rows != NULL ? rows[k] : k;
	if (item->filter != NULL)
		count = predicate_filter(item->filter, aggregation->columns, filtered, count);
	if (item->condition != NULL && count > 0)
		count = keep_true(expression_evaluate(item->condition, aggregation->columns, filtered, count), filtered, count);
	*nrows = count;
	return filtered;
}

/*
 * Where most rows are selected, to look at all of them and take the others for
 * null is faster: loops over consecutive rows are wide.
 */
static void
choose_span(Aggregation *aggregation, const int32 *rows, int nrows)
{
	bool	   *absent = aggregation->absent;

	aggregation->span = 0;
	if (rows == NULL || aggregation->grouping != NULL || nrows <= (rows[nrows - 1] + 1) / 2)
		return;
	aggregation->span = rows[nrows - 1] + 1;
	memset(absent, true, aggregation->span);
	for (int i = 0; i < nrows; i++)
		absent[rows[i]] = false;
}

static bool
takes_span(const Aggregation *aggregation, const AggregationItem *item)
{
	return aggregation->span > 0 && takes_all_rows(item) &&
		(item->kind == AGGREGATE_COUNT || item->kind == AGGREGATE_SUM ||
		 item->kind == AGGREGATE_MIN || item->kind == AGGREGATE_MAX);
}

/* Of absent rows nothing is known, not even a flag that is true or false. */
static void
unite_nulls(const bool *absent, const bool *nulls, int nrows, bool *out)
{
	const uint8 *pg_restrict left = (const uint8 *) absent;
	const uint8 *pg_restrict right = (const uint8 *) nulls;
	uint8	   *pg_restrict united = (uint8 *) out;

	for (int i = 0; i < nrows; i++)
		united[i] = left[i] | (right[i] & (left[i] - 1));
}

static void
add_span(Aggregation *aggregation, int i, const Vector *values)
{
	Vector		masked = *values;

	masked.has_nulls = true;
	masked.nulls = aggregation->absent;
	if (values->has_nulls)
	{
		masked.nulls = aggregation->masked_nulls;
		unite_nulls(aggregation->absent, values->nulls, aggregation->span, aggregation->masked_nulls);
	}
	aggregate_add(aggregation->aggregates[i], &masked, NULL, aggregation->span, NULL);
}

static void
add_to_item(Aggregation *aggregation, int i, const int32 *rows, int nrows)
{
	const AggregationItem *item = &aggregation->spec->items[i];
	const Vector *values = NULL;

	rows = filter_rows(aggregation, item, rows, &nrows);
	if (nrows == 0)
		return;
	if (item->argument != NULL)
		values = expression_evaluate(item->argument, aggregation->columns, rows, nrows);
	if (takes_span(aggregation, item))
		add_span(aggregation, i, values);
	else
		aggregate_add(aggregation->aggregates[i], values, rows, nrows,
					  aggregation->grouping != NULL ? aggregation->groups : NULL);
}

void
aggregation_add(Aggregation *aggregation, Vector *const *columns, const int32 *rows, int nrows)
{
	const AggregationSpec *spec = aggregation->spec;

	for (int i = 0; i < spec->ncolumns; i++)
		aggregation->columns[spec->columns[i]] = columns[i];
	if (aggregation->grouping != NULL)
		rows = assign_groups(aggregation, columns, rows, &nrows);
	if (nrows == 0)
		return;
	choose_span(aggregation, rows, nrows);
	for (int i = 0; i < spec->nitems; i++)
		add_to_item(aggregation, i, rows, nrows);
	for (int i = spec->nitems; i < aggregation->naggregates; i++)
		aggregate_add(aggregation->aggregates[i], NULL, rows, nrows, aggregation->groups);
}

/* ---- groups ---- */

void
aggregation_finish(Aggregation *aggregation)
{
	for (int i = 0; i < aggregation->spec->nitems; i++)
		aggregate_finish(aggregation->aggregates[i]);
	if (aggregation->spill != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(aggregation->context);
		SpillLevel *level = (SpillLevel *) palloc0(sizeof(SpillLevel));

		level->spill = aggregation->spill;
		aggregation->levels = lappend(aggregation->levels, level);
		aggregation->spill = NULL;
		MemoryContextSwitchTo(old);
	}
}

int
aggregation_group_count(const Aggregation *aggregation)
{
	return aggregation->grouping != NULL ? grouping_count(aggregation->grouping) : 1;
}

void
aggregation_key(const Aggregation *aggregation, int key, int32 first, int count, Vector *out)
{
	grouping_key(aggregation->grouping, key, first, count, out);
}

Aggregate *
aggregation_item(const Aggregation *aggregation, int item)
{
	return aggregation->aggregates[item];
}

int64
aggregation_spilled_rows(const Aggregation *aggregation)
{
	return aggregation->spilled_rows;
}

/* Aggregate the rows of the partition that is open. */
static void
read_partition(Aggregation *aggregation, RowSpill *spill)
{
	Batch	   *batch;

	begin_groups(aggregation);
	aggregation->depth = row_spill_depth(spill) + 1;
	while ((batch = row_spill_next(spill)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		aggregation_add(aggregation, batch->columns, NULL, batch->nrows);
	}
	aggregation_finish(aggregation);
}

bool
aggregation_next(Aggregation *aggregation)
{
	while (aggregation->levels != NIL)
	{
		SpillLevel *level = (SpillLevel *) llast(aggregation->levels);

		while (level->next_partition < SPILL_PARTITIONS)
		{
			if (row_spill_open(level->spill, level->next_partition++))
			{
				read_partition(aggregation, level->spill);
				return true;
			}
		}
		row_spill_free(level->spill);
		aggregation->levels = list_delete_last(aggregation->levels);
	}
	return false;
}
