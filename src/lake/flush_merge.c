/*
 * flush_merge.c
 *		Rows of a write buffer merged by key on their way into a file.
 *
 * After sorting, equal keys lie together, older rows first.  Where the merge
 * function picks one of them, positions are dropped and the rest is written
 * from the buffer.  Computed results are put together with the rows of other
 * keys in batches, as the order of keys must be kept.
 *
 * Source: format digest sections 6.6 and 7.2.
 */
#include "postgres.h"

#include "lake/flush_merge.h"
#include "lake/key_sort.h"
#include "lake/read.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* Results of a batch of keys */
typedef struct ResultBatch
{
	Vector	  **columns;		/* by table field */
	int64	   *sequence_numbers;
	int8	   *kinds;
	int32	   *newest;			/* of each result: the newest row of its key */
	int			nrows;
	/* the keys that have several rows */
	MergeKeys	keys;
	MergeResults results;
	int32	   *starts;
	int32	   *places;			/* by key: its result */
	int32	   *identity;		/* by key: its number */
	int			max_members;
	int32	   *members;		/* positions */
	int8	   *member_kinds;
	Vector	 ***deciding;
} ResultBatch;

static int
compare_sequence(const int32 *a, const int32 *b, const KeyedRows *rows)
{
	const TableOptions *options = rows->table->options;

	for (int i = 0; i < options->nsequence_fields; i++)
	{
		const Vector *column = rows->columns[options->sequence_fields[i]];
		int			order = sequence_value_compare(column, *a, column, *b, options->sequence_descending);

		if (order != 0)
			return order;
	}
	return (*a > *b) - (*a < *b);
}

#define ST_SORT sort_by_sequence
#define ST_ELEMENT_TYPE int32
#define ST_COMPARE_ARG_TYPE const KeyedRows
#define ST_COMPARE(a, b, rows) compare_sequence(a, b, rows)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* How many of the sorted rows from the first on have the same key; they are brought into the order of merging. */
static int
next_key(const KeyedRows *rows, int32 *positions, int npositions)
{
	int			count = count_equal_keys(rows->key_columns, rows->table->schema->ntrimmed_keys, positions, npositions);

	if (count > 1 && rows->table->options->nsequence_fields > 0)
		sort_by_sequence(positions, count, rows);
	return count;
}

/* ---- engines that pick ---- */

/* Kinds of the rows of a key, which may be many. */
static const int8 *
list_kinds(const KeyedRows *rows, const int32 *positions, int count, int8 *kinds)
{
	for (int i = 0; i < count; i++)
		kinds[i] = rows->kinds[positions[i]];
	return kinds;
}

static int
pick_rows(const KeyedRows *rows, const MergeFunction *function, int32 *positions, int npositions)
{
	int8	   *kinds = MemoryContextAllocHuge(CurrentMemoryContext, npositions);
	int			kept = 0;
	int			count;

	for (int i = 0; i < npositions; i += count)
	{
		int			picked = 0;

		count = next_key(rows, positions + i, npositions - i);
		if (count > 1)
			picked = merge_function_pick(function, list_kinds(rows, positions + i, count, kinds), count);
		if (picked >= 0)
			positions[kept++] = positions[i + picked];
	}
	pfree(kinds);
	return kept;
}

/* ---- engines that compute ---- */

static ResultBatch *
create_batch(const KeyedRows *rows, const MergeFunction *function)
{
	const TableSchema *schema = rows->table->schema;
	ResultBatch *batch = palloc0(sizeof(ResultBatch));

	batch->columns = palloc(schema->nfields * sizeof(Vector *));
	for (int i = 0; i < schema->nfields; i++)
		batch->columns[i] = vector_create(schema->fields[i].type, BATCH_ROWS);
	batch->sequence_numbers = palloc(BATCH_ROWS * sizeof(int64));
	batch->kinds = palloc(BATCH_ROWS * sizeof(int8));
	batch->newest = palloc(BATCH_ROWS * sizeof(int32));
	batch->starts = palloc0((BATCH_ROWS + 1) * sizeof(int32));
	batch->places = palloc(BATCH_ROWS * sizeof(int32));
	batch->identity = palloc(BATCH_ROWS * sizeof(int32));
	for (int i = 0; i < BATCH_ROWS; i++)
		batch->identity[i] = i;
	batch->max_members = BATCH_ROWS;
	batch->members = palloc(BATCH_ROWS * sizeof(int32));
	batch->member_kinds = palloc(BATCH_ROWS * sizeof(int8));
	batch->results.kinds = palloc(BATCH_ROWS * sizeof(int8));
	batch->results.newest = palloc(BATCH_ROWS * sizeof(int32));
	batch->deciding = palloc(Max(function->ndeciding, 1) * sizeof(Vector **));
	for (int i = 0; i < function->ndeciding; i++)
		batch->deciding[i] = &rows->columns[function->deciding[i]];
	return batch;
}

/* Take the rows of a key that has several. */
static void
add_key(const KeyedRows *rows, ResultBatch *batch, const int32 *positions, int count)
{
	int			key = batch->keys.nkeys++;
	int			first = batch->starts[key];

	if (first + count > batch->max_members)
	{
		batch->max_members = Max(first + count, batch->max_members * 2);
		batch->members = repalloc_huge(batch->members, batch->max_members * sizeof(int32));
		batch->member_kinds = repalloc_huge(batch->member_kinds, batch->max_members);
	}
	memcpy(batch->members + first, positions, count * sizeof(int32));
	(void) list_kinds(rows, positions, count, batch->member_kinds + first);
	batch->starts[key + 1] = first + count;
	batch->places[key] = batch->nrows;
}

/* Begin a batch of results: how many of the sorted rows go into it. */
static int
collect_keys(const KeyedRows *rows, ResultBatch *batch, int32 *positions, int npositions)
{
	int			taken = 0;

	batch->nrows = 0;
	batch->keys.nkeys = 0;
	while (taken < npositions && batch->nrows < BATCH_ROWS)
	{
		int			count = next_key(rows, positions + taken, npositions - taken);

		if (count > 1)
			add_key(rows, batch, positions + taken, count);
		taken += count;
		batch->newest[batch->nrows++] = positions[taken - 1];
	}
	batch->keys.starts = batch->starts;
	batch->keys.kinds = batch->member_kinds;
	batch->keys.rows = batch->members;
	return taken;
}

/* Every result begins as the newest row of its key, and stays that if the row is alone. */
static void
compute_batch(const KeyedRows *rows, MergeFunction *function, ResultBatch *batch)
{
	MergeKeys  *keys = &batch->keys;

	for (int i = 0; i < batch->nrows; i++)
	{
		batch->sequence_numbers[i] = rows->sequence_numbers[batch->newest[i]];
		batch->kinds[i] = rows->kinds[batch->newest[i]];
	}
	merge_function_begin(function, keys, (Vector *const *const *) batch->deciding, &batch->results);
	for (int i = 0; i < keys->nkeys; i++)
	{
		batch->sequence_numbers[batch->places[i]] = rows->sequence_numbers[batch->members[batch->results.newest[i]]];
		batch->kinds[batch->places[i]] = batch->results.kinds[i];
	}
	for (int i = 0; i < rows->table->schema->nfields; i++)
	{
		Vector	   *column = batch->columns[i];

		vector_reset(column);
		vector_gather(column, 0, rows->columns[i], batch->newest, batch->nrows);
		merge_function_merge(function, keys, i, &rows->columns[i], batch->identity, keys->nkeys, batch->places, column);
	}
}

static void
write_computed(const KeyedRows *rows, MergeFunction *function, FileWriter *writer, int32 *positions, int npositions)
{
	ResultBatch *batch = create_batch(rows, function);

	for (int done = 0; done < npositions;)
	{
		CHECK_FOR_INTERRUPTS();
		done += collect_keys(rows, batch, positions + done, npositions - done);
		compute_batch(rows, function, batch);
		file_writer_append_keyed(writer, batch->columns, batch->sequence_numbers, batch->kinds, NULL, batch->nrows);
	}
}

void
write_merged_rows(const KeyedRows *rows, MergeFunction *function, FileWriter *writer,
				  int32 *positions, int npositions)
{
	const TableOptions *options = rows->table->options;
	int			nkeys = rows->table->schema->ntrimmed_keys;
	MemoryContext context;
	MemoryContext old;

	sort_rows_by_key(rows->key_columns, nkeys, positions, npositions);
	if (function->engine->pick == NULL)
	{
		context = AllocSetContextCreate(CurrentMemoryContext, "lake flush of merged rows", ALLOCSET_DEFAULT_SIZES);
		old = MemoryContextSwitchTo(context);
		write_computed(rows, function, writer, positions, npositions);
		MemoryContextSwitchTo(old);
		MemoryContextDelete(context);
		return;
	}
	if (options->merge_engine == MERGE_DEDUPLICATE && options->nsequence_fields == 0)
		npositions = keep_last_of_equal_keys(rows->key_columns, nkeys, positions, npositions);
	else
		npositions = pick_rows(rows, function, positions, npositions);
	file_writer_append_keyed(writer, rows->columns, rows->sequence_numbers, rows->kinds, positions, npositions);
}
