/*
 * merge.c
 *		The files of one section merged by key.
 *
 * The runs stand in a binary heap by their next keys.  Where the first run's
 * rows lie below all others' they are taken in one stretch; where keys tie,
 * the merge function picks one, or is to compute the result from all.  A step
 * ends when the output is full or when a run must move to its next batch, as
 * strings are views into the batches.
 */
#include "postgres.h"

#include "columnar/prefix.h"
#include "lake/merge_state.h"
#include "lake/prune.h"
#include "lake/read.h"
#include "lake/sections.h"
#include "utils/memutils.h"

/* The files of more runs are not all kept open */
#define MAX_OPEN_RUNS 64

static bool
contains_field(const int *fields, int nfields, int field)
{
	for (int i = 0; i < nfields; i++)
		if (fields[i] == field)
			return true;
	return false;
}

static void
add_field(MergeSource *source, int field)
{
	if (!contains_field(source->fields, source->nfields, field))
		source->fields[source->nfields++] = field;
}

/* Fields to read: keys first, then what is asked for, then what merging needs. */
static void
collect_fields(SectionMerge *merge, const SectionMergeOptions *options)
{
	MergeSource *source = &merge->source;
	const TableSchema *schema = source->table->schema;
	const TableOptions *table_options = source->table->options;

	source->nkeys = schema->ntrimmed_keys;
	source->fields = palloc((schema->nfields + 2) * sizeof(int));
	for (int i = 0; i < source->nkeys; i++)
		add_field(source, schema->trimmed_keys[i]);
	for (int i = 0; i < options->nfields; i++)
		add_field(source, options->fields[i]);
	source->needs_kinds = contains_field(source->fields, source->nfields, FIELD_VALUE_KIND);
	add_field(source, FIELD_SEQUENCE_NUMBER);
	add_field(source, FIELD_VALUE_KIND);
	for (int i = 0; i < table_options->nsequence_fields; i++)
		add_field(source, table_options->sequence_fields[i]);
	for (int i = 0; i < merge->function->ndeciding; i++)
		add_field(source, merge->function->deciding[i]);

	merge->positions = palloc(schema->nfields * sizeof(int));
	for (int i = 0; i < schema->nfields; i++)
		merge->positions[i] = -1;
	for (int i = 0; i < source->nfields; i++)
	{
		if (source->fields[i] >= 0)
			merge->positions[source->fields[i]] = i;
		else
			merge->system_positions[-1 - source->fields[i]] = i;
	}
	source->nsequence = table_options->nsequence_fields;
	source->sequence_descending = table_options->sequence_descending;
	source->sequence_positions = palloc(Max(source->nsequence, 1) * sizeof(int));
	for (int i = 0; i < source->nsequence; i++)
		source->sequence_positions[i] = merge->positions[table_options->sequence_fields[i]];
}

/* What is compared, or goes into the merge function, has no dictionaries; nor have strings within nested values. */
static void
choose_plain_fields(SectionMerge *merge)
{
	MergeSource *source = &merge->source;
	bool		computes = merge->function->engine->pick == NULL;

	source->plain = palloc(source->nfields * sizeof(bool));
	for (int i = 0; i < source->nfields; i++)
		source->plain[i] = i < source->nkeys || computes ||
			data_file_field_type(source->table, source->fields[i])->physical != PHYSICAL_BYTES;
	for (int i = 0; i < source->nsequence; i++)
		source->plain[source->sequence_positions[i]] = true;
}

static void
open_runs(SectionMerge *merge)
{
	List	   *runs = section_runs(merge->source.table, merge->source.split->files);
	ListCell   *cell;

	merge->nruns = list_length(runs);
	merge->source.many_runs = merge->nruns > MAX_OPEN_RUNS;
	merge->runs = palloc0(merge->nruns * sizeof(MergeRun));
	merge->heap = palloc(merge->nruns * sizeof(MergeRun *));
	merge->exhausted = palloc(merge->nruns * sizeof(MergeRun *));
	merge->tied = palloc(merge->nruns * sizeof(MergeRun *));
	merge->tied_kinds = palloc(merge->nruns);
	foreach(cell, runs)
	{
		int			index = foreach_current_index(cell);

		merge_run_init(&merge->runs[index], &merge->source, index, lfirst(cell));
		merge->exhausted[merge->nexhausted++] = &merge->runs[index];
	}
}

SectionMerge *
section_merge_open(LakeTable *table, const Split *split, const SectionMergeOptions *options)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse merge", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SectionMerge *merge = palloc0(sizeof(SectionMerge));

	merge->context = context;
	merge->function = merge_function_create(table->schema, table->options, table->name);
	merge->keep_deletes = options->keep_deletes;
	merge->source.table = table;
	merge->source.split = split;
	merge->source.counters = options->counters;
	merge->source.prefix_is_key = table->schema->ntrimmed_keys == 1 && prefix_is_exact(table->key_types[0]->physical);
	merge->source.key_predicate = predicate_of_fields(table->schema, options->predicate,
													  table->schema->trimmed_keys, table->schema->ntrimmed_keys);
	collect_fields(merge, options);
	choose_plain_fields(merge);
	open_runs(merge);
	merge_values_init(merge);
	MemoryContextSwitchTo(old);
	return merge;
}

static bool
next_key_is_below(const MergeRun *a, const MergeRun *b)
{
	return merge_run_compare(a, a->cursor, b, b->cursor) < 0;
}

/* The heap's first run has moved on: put it where it belongs. */
static void
heap_sift_down(SectionMerge *merge)
{
	MergeRun  **heap = merge->heap;
	MergeRun   *run = heap[0];
	int			hole = 0;

	for (;;)
	{
		int			child = 2 * hole + 1;

		if (child >= merge->nheap)
			break;
		if (child + 1 < merge->nheap && next_key_is_below(heap[child + 1], heap[child]))
			child++;
		if (!next_key_is_below(heap[child], run))
			break;
		heap[hole] = heap[child];
		hole = child;
	}
	heap[hole] = run;
}

static void
heap_push(SectionMerge *merge, MergeRun *run)
{
	MergeRun  **heap = merge->heap;
	int			hole = merge->nheap++;

	while (hole > 0 && next_key_is_below(run, heap[(hole - 1) / 2]))
	{
		heap[hole] = heap[(hole - 1) / 2];
		hole = (hole - 1) / 2;
	}
	heap[hole] = run;
}

static void
heap_remove_first(SectionMerge *merge)
{
	merge->heap[0] = merge->heap[--merge->nheap];
	if (merge->nheap > 0)
		heap_sift_down(merge);
}

/* The run with the second smallest key, or NULL. */
static MergeRun *
heap_second(const SectionMerge *merge)
{
	if (merge->nheap < 2)
		return NULL;
	if (merge->nheap > 2 && next_key_is_below(merge->heap[2], merge->heap[1]))
		return merge->heap[2];
	return merge->heap[1];
}

/* A run has no rows left in its batch: it must move on in the next step, if it can. */
static void
note_exhausted(SectionMerge *merge, MergeRun *run)
{
	if (merge_run_may_have_more(run))
		merge->exhausted[merge->nexhausted++] = run;
}

static void
choose_rows(SectionMerge *merge, MergeRun *run, int count)
{
	const int32 *rows = run->rows + run->cursor;
	int			nchosen = merge->nchosen;

	if (run->kinds == NULL || merge->keep_deletes)
	{
		memcpy(merge->chosen_row + nchosen, rows, count * sizeof(int32));
		for (int i = 0; i < count; i++)
			merge->chosen_run[nchosen + i] = run->index;
		nchosen += count;
	}
	else
	{
		for (int i = 0; i < count; i++)
		{
			merge->chosen_row[nchosen] = rows[i];
			merge->chosen_run[nchosen] = run->index;
			nchosen += ROW_KIND_IS_RETRACT(run->kinds[rows[i]]) ? 0 : 1;
		}
	}
	run->nchosen += nchosen - merge->nchosen;
	merge->nchosen = nchosen;
}

/* Take a stretch of the first run's rows, whose keys no other run has. */
static void
take_stretch(SectionMerge *merge, MergeRun *run, int count)
{
	count = Min(count, BATCH_ROWS - merge->nchosen);
	choose_rows(merge, run, count);
	run->cursor += count;
	if (run->cursor < run->nrows)
		heap_sift_down(merge);
	else
	{
		heap_remove_first(merge);
		note_exhausted(merge, run);
	}
}

/* Take the runs whose next key is the smallest out of the heap, oldest row first. */
static int
pop_tied(SectionMerge *merge)
{
	int			ntied = 0;

	do
	{
		MergeRun   *run = merge->heap[0];
		int			place = ntied++;

		heap_remove_first(merge);
		while (place > 0 && merge_run_compare_age(run, merge->tied[place - 1]) < 0)
		{
			merge->tied[place] = merge->tied[place - 1];
			place--;
		}
		merge->tied[place] = run;
	} while (merge->nheap > 0 &&
			 merge_run_compare(merge->heap[0], merge->heap[0]->cursor,
							   merge->tied[0], merge->tied[0]->cursor) == 0);
	return ntied;
}

/* Choose the row of the tied runs that the function picks. */
static void
pick_tied(SectionMerge *merge, int ntied)
{
	int			picked;

	for (int i = 0; i < ntied; i++)
		merge->tied_kinds[i] = merge_run_next_kind(merge->tied[i]);
	picked = merge_function_pick(merge->function, merge->tied_kinds, ntied);
	if (picked >= 0)
		choose_rows(merge, merge->tied[picked], 1);
}

static void
take_tied(SectionMerge *merge)
{
	int			ntied = pop_tied(merge);

	if (merge->function->engine->pick != NULL)
		pick_tied(merge, ntied);
	else
		merge_compute_key(merge, ntied);
	for (int i = 0; i < ntied; i++)
	{
		MergeRun   *run = merge->tied[i];

		run->cursor++;
		if (run->cursor < run->nrows)
			heap_push(merge, run);
		else
			note_exhausted(merge, run);
	}
}

static void
choose_next(SectionMerge *merge)
{
	MergeRun   *first = merge->heap[0];
	MergeRun   *second = heap_second(merge);

	if (second == NULL)
		take_stretch(merge, first, first->nrows - first->cursor);
	else if (next_key_is_below(first, second))
		take_stretch(merge, first, merge_run_count_below(first, second));
	else
		take_tied(merge);
}

/* Let the runs that stand at the end of their batch move on. */
static void
load_exhausted(SectionMerge *merge)
{
	for (int i = 0; i < merge->nexhausted; i++)
		if (merge_run_load(merge->exhausted[i]))
			heap_push(merge, merge->exhausted[i]);
	merge->nexhausted = 0;
}

static void
begin_step(SectionMerge *merge)
{
	merge->nchosen = 0;
	merge->computed.keys.nkeys = 0;
	for (int i = 0; i < merge->nruns; i++)
	{
		merge->runs[i].pending = merge->runs[i].cursor;
		merge->runs[i].nchosen = 0;
	}
}

int
section_merge_next(SectionMerge *merge)
{
	do
	{
		load_exhausted(merge);
		begin_step(merge);
		while (merge->nheap > 0 && merge->nexhausted == 0 && merge->nchosen < BATCH_ROWS &&
			   merge_compute_has_room(merge))
			choose_next(merge);
		merge_compute_begin(merge);
	} while (merge->nchosen == 0 && (merge->nheap > 0 || merge->nexhausted > 0));
	return merge->nchosen;
}
