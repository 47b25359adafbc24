/*
 * top_rows.c
 *		ORDER BY ... LIMIT inside the scan.
 *
 * The rows that are the first so far are kept; the last of them is a bound
 * that later rows have to beat.  Of a batch the sort keys are decoded, then
 * the other columns of rows that beat the bound.  The bound on the first key
 * is a part of the filter as well, so that row groups and pages beyond it are
 * skipped, and splits are read in the order in which their statistics promise
 * the first rows.  To begin with a bound, statistics are looked at, and then the
 * keys of the best split alone.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "columnar/prefix.h"
#include "fdw/top_bounds.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* Longer strings do not become a part of the filter. */
#define MAX_BOUND_BYTES 1024

/*
 * A row, and a number that says where it stands by the first key: the smaller
 * one comes first, equal ones are to be compared.
 */
typedef struct RankedRow
{
	uint64		rank;
	int32		row;
} RankedRow;

struct TopRows
{
	MemoryContext context;
	LakeTable  *table;
	int			nprojection;
	const int  *projection;
	const DataType **types;		/* of the projection */
	int			limit;
	int			nkeys;
	TopKey	   *keys;
	/* rows kept */
	MemoryContext rows_context;
	Batch	   *rows;
	int			nrows;
	bool		bounded;		/* the row number limit - 1 is the bound */
	uint64		bound_rank;
	RankedRow  *ranked;			/* scratch, for rows kept or of a batch */
	int32	   *order;
	/* the bound as a predicate on the first key: this, or null where nulls come first */
	Predicate  *bound;
	Predicate  *null_bound;
	Scalar		bound_value;
	/* splits that are still to be read */
	int			nsplits;
	int			next_split;
	SplitBound *splits;
	int32	   *candidates;
};

static int
row_capacity(const TopRows *top)
{
	return 3 * top->limit;
}

static void
begin_rows(TopRows *top)
{
	MemoryContext old_context;

	top->rows_context = AllocSetContextCreate(top->context, "streamhouse top rows", ALLOCSET_DEFAULT_SIZES);
	old_context = MemoryContextSwitchTo(top->rows_context);
	top->rows = batch_create(top->nprojection, top->types, row_capacity(top));
	top->nrows = 0;
	MemoryContextSwitchTo(old_context);
}

TopRows *
top_rows_create(LakeTable *table, const int *projection, int nprojection, int limit, int nkeys, const TopKey *keys)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse top rows",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(context);
	TopRows    *top = palloc0(sizeof(TopRows));
	int			i;

	top->context = context;
	top->table = table;
	top->projection = projection;
	top->nprojection = nprojection;
	top->limit = limit;
	top->nkeys = nkeys;
	top->keys = palloc(nkeys * sizeof(TopKey));
	memcpy(top->keys, keys, nkeys * sizeof(TopKey));
	top->types = palloc(Max(nprojection, 1) * sizeof(DataType *));
	for (i = 0; i < nprojection; i++)
		top->types[i] = table->schema->fields[projection[i]].type;
	top->ranked = palloc(Max(row_capacity(top), BATCH_ROWS) * sizeof(RankedRow));
	top->order = palloc(row_capacity(top) * sizeof(int32));
	top->candidates = palloc(BATCH_ROWS * sizeof(int32));
	begin_rows(top);
	MemoryContextSwitchTo(old_context);
	return top;
}

void
top_rows_free(TopRows *top)
{
	MemoryContextDelete(top->context);
}

/* ---- order ---- */

static int
compare_with_nulls(const TopKey *key, bool null_a, bool null_b, int result)
{
	if (null_a || null_b)
	{
		result = (int) null_a - (int) null_b;
		return key->nulls_first ? -result : result;
	}
	return key->descending ? -result : result;
}

static int
compare_rows(const TopRows *top, Vector *const *a, int i, Vector *const *b, int k)
{
	int			n;

	for (n = 0; n < top->nkeys; n++)
	{
		const TopKey *key = &top->keys[n];
		const Vector *left = a[key->column];
		const Vector *right = b[key->column];
		bool		null_a = left->has_nulls && left->nulls[i];
		bool		null_b = right->has_nulls && right->nulls[k];
		int			result = compare_with_nulls(key, null_a, null_b,
												null_a || null_b ? 0 : vector_compare(left, i, right, k));

		if (result != 0)
			return result;
	}
	return 0;
}

typedef struct RowOrder
{
	const TopRows *top;
	Vector	  **columns;
} RowOrder;

static inline int
compare_ranked(const RankedRow *a, const RankedRow *b, const RowOrder *order)
{
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return compare_rows(order->top, order->columns, a->row, order->columns, b->row);
}

#define ST_SORT sort_ranked
#define ST_ELEMENT_TYPE RankedRow
#define ST_COMPARE_ARG_TYPE const RowOrder
#define ST_COMPARE(a, b, order) compare_ranked(a, b, order)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Rank BATCH_ROWS rows at most: those listed, or those from start on. */
static void
rank_some(TopRows *top, const Vector *values, const int32 *rows, int start, int nrows, RankedRow *ranked)
{
	const TopKey *key = &top->keys[0];
	uint64		null_rank = key->nulls_first ? 0 : PG_UINT64_MAX;
	uint64		flip = key->descending ? PG_UINT64_MAX : 0;
	uint64		prefixes[BATCH_ROWS];
	int32	   *present = top->candidates;
	int			npresent = 0;
	int			i;

	for (i = 0; i < nrows; i++)
	{
		ranked[i].row = rows != NULL ? rows[i] : start + i;
		present[npresent] = ranked[i].row;
		npresent += !(values->has_nulls && values->nulls[ranked[i].row]);
	}
	vector_prefixes(values, present, npresent, prefixes);
	for (i = 0, npresent = 0; i < nrows; i++)
	{
		bool		isnull = values->has_nulls && values->nulls[ranked[i].row];

		ranked[i].rank = isnull ? null_rank : prefixes[npresent++] ^ flip;
	}
}

/* Rank rows: those listed, or the first ones. */
static void
rank_rows(TopRows *top, Vector **columns, const int32 *rows, int nrows)
{
	const Vector *values = columns[top->keys[0].column];
	int			start;

	for (start = 0; start < nrows; start += BATCH_ROWS)
		rank_some(top, values, rows != NULL ? rows + start : NULL, start, Min(nrows - start, BATCH_ROWS),
				  top->ranked + start);
}

static int
compare_int32(const void *a, const void *b)
{
	int32		first = *(const int32 *) a;
	int32		second = *(const int32 *) b;

	return first < second ? -1 : first > second;
}

/* ---- rows kept ---- */

static void
append_rows(TopRows *top, const Batch *batch)
{
	MemoryContext old_context = MemoryContextSwitchTo(top->rows_context);
	Size		bytes = 0;
	char	   *place;
	int			i;
	int			k;

	for (k = 0; k < top->nprojection; k++)
	{
		vector_gather(top->rows->columns[k], top->nrows, batch->columns[k], batch->selection, batch->nselected);
		for (i = 0; i < batch->nselected; i++)
			bytes += vector_row_cost(top->rows->columns[k], top->nrows + i).bytes;
	}
	place = MemoryContextAllocHuge(top->rows_context, Max(bytes, 1));
	for (k = 0; k < top->nprojection; k++)
	{
		for (i = 0; i < batch->nselected; i++)
			vector_move_bytes(top->rows->columns[k], top->nrows + i, &place);
	}
	top->nrows += batch->nselected;
	MemoryContextSwitchTo(old_context);
}

static void
sort_rows(TopRows *top)
{
	RowOrder	order = {top, top->rows->columns};
	int			i;

	rank_rows(top, top->rows->columns, NULL, top->nrows);
	sort_ranked(top->ranked, top->nrows, &order);
	for (i = 0; i < top->nrows; i++)
		top->order[i] = top->ranked[i].row;
	top->rows->selection = top->order;
	top->rows->nselected = Min(top->nrows, top->limit);
}

/* The last row kept becomes the bound, and its first key a part of the filter. */
static void
tighten_bound(TopRows *top)
{
	const TopKey *key = &top->keys[0];
	Scalar		value = vector_get(top->rows->columns[key->column], top->limit - 1);

	top->bounded = true;
	rank_some(top, top->rows->columns[key->column], NULL, top->limit - 1, 1, top->ranked);
	top->bound_rank = top->ranked[0].rank;
	if (value.isnull)
	{
		/* only where nulls come first does it exclude anything: all that is not null */
		if (key->nulls_first)
			top->bound->op = PREDICATE_FALSE;
		return;
	}
	if (top->bound->type->physical == PHYSICAL_BYTES)
	{
		MemoryContext old_context;

		if (value.v.bytes.length > MAX_BOUND_BYTES)
			return;
		/* open files may still look at the old one */
		old_context = MemoryContextSwitchTo(top->context);
		value = scalar_copy(top->bound->type, &value);
		MemoryContextSwitchTo(old_context);
	}
	top->bound_value = value;
	if (top->nkeys > 1)
		top->bound->op = key->descending ? PREDICATE_GE : PREDICATE_LE;
	else
		top->bound->op = key->descending ? PREDICATE_GT : PREDICATE_LT;
	if (!key->nulls_first)
		top->null_bound->op = PREDICATE_FALSE;
}

/* Keep the first rows only. */
static void
cut_rows(TopRows *top)
{
	MemoryContext old_rows = top->rows_context;
	Batch	   *batch = top->rows;

	sort_rows(top);
	begin_rows(top);
	append_rows(top, batch);
	MemoryContextDelete(old_rows);
	if (top->nrows == top->limit)
		tighten_bound(top);
}

/* ---- reading ---- */

/* Of the ranked rows keep those that beat the bound; how many. */
static int
keep_better(TopRows *top, const Batch *batch, int nrows)
{
	RankedRow  *ranked = top->ranked;
	int			count = 0;
	int			i;

	if (!top->bounded)
		return nrows;
	for (i = 0; i < nrows; i++)
	{
		RankedRow	row = ranked[i];

		if (row.rank < top->bound_rank ||
			(row.rank == top->bound_rank &&
			 compare_rows(top, batch->columns, row.row, top->rows->columns, top->limit - 1) < 0))
			ranked[count++] = row;
	}
	return count;
}

/* Move the first rows, as many as are wanted, to the front, in any order: quickselect. */
static void
select_first(RankedRow *ranked, int nrows, int wanted, const RowOrder *order)
{
	int			low = 0;
	int			high = nrows - 1;

	while (low < high)
	{
		RankedRow	pivot = ranked[low + (high - low) / 2];
		int			i = low;
		int			k = high;

		while (i <= k)
		{
			while (compare_ranked(&ranked[i], &pivot, order) < 0)
				i++;
			while (compare_ranked(&ranked[k], &pivot, order) > 0)
				k--;
			if (i <= k)
			{
				RankedRow	swapped = ranked[i];

				ranked[i++] = ranked[k];
				ranked[k--] = swapped;
			}
		}
		/* up to k they come before or are equal to those from i on */
		if (wanted <= k)
			high = k;
		else if (wanted > i)
			low = i;
		else
			break;
	}
}

/* Of the batch's rows those that beat the bound, and no more than are wanted; how many. */
static int
choose_candidates(TopRows *top, const Batch *batch)
{
	RowOrder	order = {top, batch->columns};
	int			better;
	int			count;
	int			i;

	rank_rows(top, batch->columns, batch->selection, batch->nselected);
	better = keep_better(top, batch, batch->nselected);
	count = Min(better, top->limit);
	if (better > count)
		select_first(top->ranked, better, count, &order);
	for (i = 0; i < count; i++)
		top->candidates[i] = top->ranked[i].row;
	/* selecting leaves them in no order */
	if (better > count)
		qsort(top->candidates, count, sizeof(int32), compare_int32);
	return count;
}

static void
take_batch(TopRows *top, TableReader *reader, Batch *batch)
{
	int			count;
	int			i;

	for (i = 0; i < top->nkeys; i++)
	{
		table_reader_decode(reader, top->keys[i].column);
		vector_flatten(batch->columns[top->keys[i].column], batch->selection, batch->nselected);
	}
	count = choose_candidates(top, batch);
	if (count == 0)
		return;
	table_reader_select(reader, top->candidates, count);
	for (i = 0; i < top->nprojection; i++)
		table_reader_decode(reader, i);
	append_rows(top, batch);
	if ((!top->bounded && top->nrows >= top->limit) || top->nrows >= 2 * top->limit)
		cut_rows(top);
}

static void
read_rows(TopRows *top, TableReader *reader)
{
	Batch	   *batch;

	while ((batch = table_reader_next_rows(reader)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		take_batch(top, reader, batch);
	}
	table_reader_close(reader);
}

/* ---- splits ---- */

/* Can no row of the split beat the bound? */
static bool
split_is_beyond(const TopRows *top, const SplitBound *split)
{
	const TopKey *key = &top->keys[0];
	const Vector *values = top->rows->columns[key->column];
	Scalar		last;
	int			result;

	if (!top->bounded || !split->known || split->has_nulls || split->all_null)
		return false;
	last = vector_get(values, top->limit - 1);
	result = compare_with_nulls(key, false, last.isnull,
								last.isnull ? 0 :
								scalar_compare_values(values->type->physical, &split->best, &last));
	return result > 0 || (result == 0 && top->nkeys == 1);
}

static int64
next_split(void *arg)
{
	TopRows    *top = arg;

	while (top->next_split < top->nsplits)
	{
		const SplitBound *split = &top->splits[top->next_split++];

		if (!split_is_beyond(top, split))
			return split->number;
	}
	return PG_INT64_MAX;
}

/* ---- the bound in the filter ---- */

/* True of every row until there is a bound. */
static Predicate *
bounded_filter(TopRows *top, const Predicate *filter)
{
	const TopKey *key = &top->keys[0];
	const DataType *type = top->types[key->column];
	List	   *either;

	top->bound = predicate_leaf(PREDICATE_IS_NOT_NULL, key->field, type, NULL, 0);
	top->bound->values = &top->bound_value;
	top->bound->nvalues = 1;
	top->null_bound = predicate_leaf(PREDICATE_IS_NULL, key->field, type, NULL, 0);
	either = list_make1(predicate_combine(PREDICATE_OR, list_make2(top->bound, top->null_bound)));
	if (filter != NULL)
		either = lcons(unconstify(Predicate *, filter), either);
	return predicate_combine(PREDICATE_AND, either);
}

/* Does a bound save the decoding of other columns? */
static bool
is_worth_looking_ahead(const TopRows *top, const Predicate *filter)
{
	return filter == NULL && top->nsplits > 0 && top->nprojection > top->nkeys;
}

/* Rows whose first key is beyond the value are not wanted; those where it is equal may be. */
static void
set_bound(TopRows *top, Scalar value)
{
	const TopKey *key = &top->keys[0];

	if (top->bound->type->physical == PHYSICAL_BYTES && value.v.bytes.length > MAX_BOUND_BYTES)
		return;
	top->bound_value = scalar_copy(top->bound->type, &value);
	top->bound->op = key->descending ? PREDICATE_GE : PREDICATE_LE;
	if (!key->nulls_first)
		top->null_bound->op = PREDICATE_FALSE;
}

/* Find a bound by the first keys of the best split alone. */
static void
look_ahead(TopRows *top, List *splits, FormatCounters *counters)
{
	const Split *best = list_nth(splits, top->splits[0].number);
	TopKey		key = top->keys[0];
	TopRows    *ahead;
	Batch	   *batch;

	key.column = 0;
	ahead = top_rows_create(top->table, &top->keys[0].field, 1, top->limit, 1, &key);
	batch = top_rows_read(ahead, list_make1(unconstify(Split *, best)), NULL, counters);
	if (batch != NULL && batch->nselected == top->limit)
	{
		Scalar		last = vector_get(batch->columns[0], batch->selection[batch->nselected - 1]);

		if (!last.isnull)
			set_bound(top, last);
	}
	top_rows_free(ahead);
}

Batch *
top_rows_read(TopRows *top, List *splits, const Predicate *filter, FormatCounters *counters)
{
	MemoryContext old_context = MemoryContextSwitchTo(top->context);
	Predicate  *bounded = bounded_filter(top, filter);
	Scalar		first;
	TableReader *reader;

	top->nsplits = list_length(splits);
	top->next_split = 0;
	top->splits = top_bounds_order(top->table, splits, &top->keys[0], top->limit, &first);
	if (filter == NULL && !first.isnull)
		set_bound(top, first);
	if (is_worth_looking_ahead(top, filter))
		look_ahead(top, splits, counters);
	reader = table_reader_open(top->table, splits, top->projection, top->nprojection, bounded, counters);
	table_reader_share(reader, next_split, top);
	read_rows(top, reader);
	sort_rows(top);
	MemoryContextSwitchTo(old_context);
	return top->rows->nselected > 0 ? top->rows : NULL;
}
