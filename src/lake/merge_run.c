/*
 * merge_run.c
 *		One sorted run of a merge: its files' rows in key order.
 *
 * Keys are compared by a 64-bit prefix of the first key column, computed for a
 * whole batch at a time; only ties look at the columns.  For a single key
 * column of an integer type the prefix is the key.
 *
 * An open file takes much memory whatever its size, so where runs are many, as
 * they are after many small commits, the last batch of a file is copied and
 * the file closed.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "columnar/prefix.h"
#include "lake/key_sort.h"
#include "lake/merge_run.h"
#include "lake/read.h"
#include "lake/sections.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* No batch of the files has more rows than that. */
static int
batch_capacity(const List *files)
{
	int64		rows = 1;
	ListCell   *cell;

	foreach(cell, files)
		rows = Max(rows, ((const DataFileMeta *) lfirst(cell))->row_count);
	return (int) Min(rows, BATCH_ROWS);
}

void
merge_run_init(MergeRun *run, const MergeSource *source, int index, List *files)
{
	memset(run, 0, sizeof(*run));
	run->source = source;
	run->context = CurrentMemoryContext;
	run->index = index;
	run->files = files;
	run->file_context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse merged file",
											  ALLOCSET_START_SMALL_SIZES);
	run->batch_context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse merged batch",
											   ALLOCSET_START_SMALL_SIZES);
	run->capacity = batch_capacity(files);
	run->rows = palloc(run->capacity * sizeof(int32));
	run->wanted = palloc(run->capacity * sizeof(int32));
	run->prefixes = palloc(run->capacity * sizeof(uint64));
	run->columns = palloc0(source->nfields * sizeof(Vector *));
	run->loaded = palloc0(source->nfields * sizeof(bool));
	run->key_vectors = palloc0(source->table->schema->nfields * sizeof(Vector *));
	for (int i = 0; i < source->nkeys; i++)
	{
		run->columns[i] = vector_create(data_file_field_type(source->table, source->fields[i]), run->capacity);
		run->key_vectors[source->fields[i]] = run->columns[i];
	}
}

static bool
open_next_file(MergeRun *run)
{
	const MergeSource *source = run->source;
	MemoryContext old;

	if (run->next_file >= list_length(run->files))
		return false;
	run->file = list_nth(run->files, run->next_file++);
	old = MemoryContextSwitchTo(run->file_context);
	run->reader = data_file_open(source->table, source->split->partition, source->split->bucket, run->file,
								 source->fields, source->nfields, source->key_predicate, NULL,
								 source->counters);
	MemoryContextSwitchTo(old);
	return true;
}

static void
close_file(MergeRun *run)
{
	data_file_close(run->reader);
	run->reader = NULL;
	MemoryContextReset(run->file_context);
}

static void
read_column(MergeRun *run, int position, const int32 *rows, int nrows)
{
	const MergeSource *source = run->source;
	MemoryContext old;

	if (run->columns[position] == NULL)
	{
		old = MemoryContextSwitchTo(run->context);
		run->columns[position] =
			vector_create(data_file_field_type(source->table, source->fields[position]), run->capacity);
		MemoryContextSwitchTo(old);
	}
	old = MemoryContextSwitchTo(run->file_context);
	data_file_read_field(run->reader, source->fields[position], rows, nrows, run->columns[position]);
	MemoryContextSwitchTo(old);
	if (source->plain[position])
		vector_flatten(run->columns[position], rows, nrows);
	run->loaded[position] = true;
}

/* Position of a system column among the fields to read. */
static int
system_column(const MergeSource *source, int field)
{
	for (int i = source->nkeys; i < source->nfields; i++)
		if (source->fields[i] == field)
			return i;
	elog(ERROR, "system column %d is not read", field);
}

int
merge_run_compare(const MergeRun *a, int place_a, const MergeRun *b, int place_b)
{
	uint64		prefix_a = a->prefixes[place_a];
	uint64		prefix_b = b->prefixes[place_b];

	if (prefix_a != prefix_b)
		return prefix_a < prefix_b ? -1 : 1;
	if (a->source->prefix_is_key)
		return 0;
	for (int i = 0; i < a->source->nkeys; i++)
	{
		int			order = vector_compare(a->columns[i], a->rows[place_a], b->columns[i], b->rows[place_b]);

		if (order != 0)
			return order;
	}
	return 0;
}

int
merge_run_count_below(const MergeRun *run, const MergeRun *other)
{
	int			below = run->cursor;	/* is below */
	int			step = 1;
	int			above;

	/* ever longer steps, then halving: rows often come in long stretches, or one by one */
	while (below + step < run->nrows && merge_run_compare(run, below + step, other, other->cursor) < 0)
	{
		below += step;
		step *= 2;
	}
	above = Min(below + step, run->nrows);
	while (above - below > 1)
	{
		int			middle = below + (above - below) / 2;

		if (merge_run_compare(run, middle, other, other->cursor) < 0)
			below = middle;
		else
			above = middle;
	}
	return below + 1 - run->cursor;
}

static void
check_keys(const MergeRun *run)
{
	for (int i = 0; i < run->source->nkeys; i++)
	{
		const Vector *key = run->columns[i];

		for (int place = 0; key->has_nulls && place < run->nrows; place++)
			if (key->nulls[run->rows[place]])
				ereport(ERROR,
						(errcode(ERRCODE_DATA_CORRUPTED),
						 errmsg("data file \"%s\" of table \"%s\" has a null in a primary key column",
								run->file->file_name, run->source->table->name)));
	}
}

/* Mostly the prefixes ascend, which is seen in a loop without branches. */
static void
check_order(const MergeRun *run)
{
	bool		ascending = true;

	for (int place = 1; place < run->nrows; place++)
		ascending &= run->prefixes[place - 1] < run->prefixes[place];
	for (int place = 1; !ascending && place < run->nrows; place++)
		if (merge_run_compare(run, place - 1, run, place) > 0)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("data file \"%s\" of table \"%s\" is not sorted by its key",
							run->file->file_name, run->source->table->name)));
}

static void
read_kinds(MergeRun *run)
{
	int			position;
	const int8 *kinds;

	run->kinds = NULL;
	if (!run->source->needs_kinds && !data_file_may_have_deletes(run->file))
		return;
	position = system_column(run->source, FIELD_VALUE_KIND);
	read_column(run, position, run->rows, run->nrows);
	kinds = run->columns[position]->values.i8;
	for (int place = 0; place < run->nrows; place++)
		if (kinds[run->rows[place]] < ROW_INSERT || kinds[run->rows[place]] > ROW_DELETE)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("data file \"%s\" of table \"%s\" has rows of unknown kind %d",
							run->file->file_name, run->source->table->name, kinds[run->rows[place]])));
	run->kinds = kinds;
}

/* Take the batch that the reader stands on; false if none of its rows takes part. */
static bool
take_batch(MergeRun *run)
{
	const MergeSource *source = run->source;

	run->nrows = data_file_live_rows(run->reader, run->rows);
	run->cursor = 0;
	run->pending = 0;
	for (int i = 0; i < source->nkeys && run->nrows > 0; i++)
		read_column(run, i, run->rows, run->nrows);
	if (source->key_predicate != NULL && run->nrows > 0)
		run->nrows = predicate_filter(source->key_predicate, run->key_vectors, run->rows, run->nrows);
	if (run->nrows == 0)
		return false;
	check_keys(run);
	vector_prefixes(run->columns[0], run->rows, run->nrows, run->prefixes);
	check_order(run);
	read_kinds(run);
	return true;
}

/* Copy the strings of the batch's rows, which the file owns. */
static void
copy_strings(MergeRun *run, Vector *column)
{
	Size		length = 0;
	char	   *copy;

	for (int place = 0; place < run->nrows; place++)
		if (!column->has_nulls || !column->nulls[run->rows[place]])
			length += column->values.bytes[run->rows[place]].length;
	copy = MemoryContextAllocHuge(run->batch_context, Max(length, 1));
	for (int place = 0; place < run->nrows; place++)
	{
		BytesView  *value = &column->values.bytes[run->rows[place]];

		if (column->has_nulls && column->nulls[run->rows[place]])
			continue;
		memcpy(copy, value->data, value->length);
		value->data = copy;
		copy += value->length;
	}
}

/* Read all columns of the batch, make them independent of the file, and close it. */
static void
detach_batch(MergeRun *run)
{
	for (int position = 0; position < run->source->nfields; position++)
	{
		if (!run->loaded[position])
			read_column(run, position, run->rows, run->nrows);
		vector_flatten(run->columns[position], run->rows, run->nrows);
		if (run->columns[position]->type->physical == PHYSICAL_BYTES)
			copy_strings(run, run->columns[position]);
	}
	close_file(run);
}

bool
merge_run_load(MergeRun *run)
{
	memset(run->loaded, 0, run->source->nfields * sizeof(bool));
	MemoryContextReset(run->batch_context);
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (run->reader == NULL && !open_next_file(run))
			return false;
		if (data_file_next(run->reader) == 0)
			close_file(run);
		else if (take_batch(run))
		{
			if (run->source->many_runs && !data_file_may_have_more(run->reader))
				detach_batch(run);
			return true;
		}
	}
}

bool
merge_run_may_have_more(const MergeRun *run)
{
	return run->next_file < list_length(run->files) ||
		(run->reader != NULL && data_file_may_have_more(run->reader));
}

void
merge_run_read_pending(MergeRun *run, int position)
{
	/* not only rows to come: rows already chosen may be asked for later */
	if (!run->loaded[position])
		read_column(run, position, run->rows + run->pending, run->nrows - run->pending);
}

static int64
next_sequence_number(MergeRun *run)
{
	int			position = system_column(run->source, FIELD_SEQUENCE_NUMBER);

	merge_run_read_pending(run, position);
	return run->columns[position]->values.i64[run->rows[run->cursor]];
}

/* The order that the table's sequence columns give; NULL is the oldest, whichever the direction. */
static int
compare_sequence_fields(MergeRun *a, MergeRun *b)
{
	for (int i = 0; i < a->source->nsequence; i++)
	{
		int			position = a->source->sequence_positions[i];
		int			order;

		merge_run_read_pending(a, position);
		merge_run_read_pending(b, position);
		order = sequence_value_compare(a->columns[position], a->rows[a->cursor],
									   b->columns[position], b->rows[b->cursor],
									   a->source->sequence_descending);
		if (order != 0)
			return order;
	}
	return 0;
}

int
merge_run_compare_age(MergeRun *a, MergeRun *b)
{
	int64		sequence_a;
	int64		sequence_b;
	int			order = compare_sequence_fields(a, b);

	if (order != 0)
		return order;

	/* where whole files follow each other, the numbers need not be read */
	if (a->file->unpublished == b->file->unpublished &&
		a->file->min_sequence_number <= b->file->max_sequence_number &&
		b->file->min_sequence_number <= a->file->max_sequence_number)
	{
		sequence_a = next_sequence_number(a);
		sequence_b = next_sequence_number(b);
		if (sequence_a != sequence_b)
			return sequence_a < sequence_b ? -1 : 1;
	}
	else if (a->file->unpublished == b->file->unpublished)
		return a->file->min_sequence_number < b->file->min_sequence_number ? -1 : 1;
	return -data_file_compare_age(a->file, b->file);
}

void
merge_run_read_wanted(MergeRun *run, int position)
{
	memcpy(run->wanted + run->nwanted, run->rows + run->cursor, (run->nrows - run->cursor) * sizeof(int32));
	read_column(run, position, run->wanted, run->nwanted + run->nrows - run->cursor);
	run->nwanted = 0;
}
