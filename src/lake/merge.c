/*
 * merge.c
 *		The files of one section merged by key.
 *
 * The runs stand in a binary heap by their next keys.  Where the first run's
 * rows lie below all others' they are taken in one stretch; where keys tie,
 * the merge function picks.  A step ends when the output is full or when a run
 * must move to its next batch, as strings are views into the batches.
 */
#include "postgres.h"

#include "lake/merge.h"
#include "lake/merge_function.h"
#include "lake/merge_run.h"
#include "lake/prune.h"
#include "lake/read.h"
#include "lake/sections.h"
#include "utils/memutils.h"

/* The files of more runs are not all kept open */
#define MAX_OPEN_RUNS 64

struct SectionMerge
{
	MemoryContext context;		/* holds all of this */
	MergeSource source;
	const MergeFunction *function;
	bool		keep_deletes;
	int		   *positions;		/* by table field: where it is among source.fields, -1: nowhere */
	int			system_positions[2];	/* the same for system columns */
	int			nruns;
	MergeRun   *runs;
	int			nheap;
	MergeRun  **heap;			/* runs with rows left in their batch */
	int			nexhausted;
	MergeRun  **exhausted;		/* runs that must move to their next batch */
	MergeRun  **tied;			/* room for the runs that tie */
	MergeRun  **touched;		/* room for the runs that a read touches */
	int			nchosen;
	int32		chosen_run[BATCH_ROWS]; /* the rows chosen in this step */
	int32		chosen_row[BATCH_ROWS]; /* their rows in the run's batch */
};

static bool
contains_field(const int *fields, int nfields, int field)
{
	for (int i = 0; i < nfields; i++)
		if (fields[i] == field)
			return true;
	return false;
}

/* Fields to read: keys first, then what is asked for, then what merging needs. */
static void
collect_fields(SectionMerge *merge, const SectionMergeOptions *options)
{
	MergeSource *source = &merge->source;
	const TableSchema *schema = source->table->schema;
	static const int needed[] = {FIELD_SEQUENCE_NUMBER, FIELD_VALUE_KIND};
	int			count = 0;

	source->nkeys = schema->ntrimmed_keys;
	source->fields = palloc((source->nkeys + options->nfields + lengthof(needed)) * sizeof(int));
	for (int i = 0; i < source->nkeys; i++)
		source->fields[count++] = schema->trimmed_keys[i];
	for (int i = 0; i < options->nfields; i++)
		if (!contains_field(source->fields, source->nkeys, options->fields[i]))
			source->fields[count++] = options->fields[i];
	source->needs_kinds = contains_field(options->fields, options->nfields, FIELD_VALUE_KIND);
	for (int i = 0; i < lengthof(needed); i++)
		if (!contains_field(options->fields, options->nfields, needed[i]))
			source->fields[count++] = needed[i];
	source->nfields = count;

	merge->positions = palloc(schema->nfields * sizeof(int));
	for (int i = 0; i < schema->nfields; i++)
		merge->positions[i] = -1;
	for (int i = 0; i < count; i++)
	{
		if (source->fields[i] >= 0)
			merge->positions[source->fields[i]] = i;
		else
			merge->system_positions[-1 - source->fields[i]] = i;
	}
}

/* May keys be told apart by their prefixes alone? */
static bool
prefix_is_key(const LakeTable *table)
{
	if (table->schema->ntrimmed_keys != 1)
		return false;
	switch (table->key_types[0]->physical)
	{
		case PHYSICAL_INT8:
		case PHYSICAL_INT16:
		case PHYSICAL_INT32:
		case PHYSICAL_INT64:
			return true;
		default:
			return false;
	}
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
	merge->touched = palloc(merge->nruns * sizeof(MergeRun *));
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
	merge->function = merge_function_of_table(table);
	merge->keep_deletes = options->keep_deletes;
	merge->source.table = table;
	merge->source.split = split;
	merge->source.counters = options->counters;
	merge->source.prefix_is_key = prefix_is_key(table);
	merge->source.key_predicate = predicate_of_fields(table->schema, options->predicate,
													  table->schema->trimmed_keys, table->schema->ntrimmed_keys);
	collect_fields(merge, options);
	open_runs(merge);
	MemoryContextSwitchTo(old);
	return merge;
}

void
section_merge_close(SectionMerge *merge)
{
	MemoryContextDelete(merge->context);
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

static void
take_tied(SectionMerge *merge)
{
	int			ntied = pop_tied(merge);

	choose_rows(merge, merge->tied[merge->function->pick(ntied)], 1);
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

int
section_merge_next(SectionMerge *merge)
{
	do
	{
		load_exhausted(merge);
		merge->nchosen = 0;
		for (int i = 0; i < merge->nheap; i++)
			merge->heap[i]->pending = merge->heap[i]->cursor;
		while (merge->nheap > 0 && merge->nexhausted == 0 && merge->nchosen < BATCH_ROWS)
			choose_next(merge);
	} while (merge->nchosen == 0 && (merge->nheap > 0 || merge->nexhausted > 0));
	return merge->nchosen;
}

/* Read a column in every run that the selected rows come from; any with nulls? */
static bool
read_runs(SectionMerge *merge, int position, const int32 *selection, int nselected)
{
	int			ntouched = 0;
	bool		has_nulls = false;

	for (int i = 0; i < nselected; i++)
	{
		int			chosen = selection ? selection[i] : i;
		MergeRun   *run = &merge->runs[merge->chosen_run[chosen]];

		if (run->loaded[position])
			continue;
		if (run->nwanted == 0)
			merge->touched[ntouched++] = run;
		run->wanted[run->nwanted++] = merge->chosen_row[chosen];
	}
	for (int i = 0; i < ntouched; i++)
		merge_run_read_wanted(merge->touched[i], position);
	for (int i = 0; i < merge->nruns; i++)
		if (merge->runs[i].columns[position] != NULL && merge->runs[i].columns[position]->has_nulls)
			has_nulls = true;
	return has_nulls;
}

static void
gather_nulls(const SectionMerge *merge, int position, const int32 *selection, int nselected, Vector *out)
{
	out->has_nulls = true;
	memset(out->nulls, false, out->capacity);
	for (int i = 0; i < nselected; i++)
	{
		int			chosen = selection ? selection[i] : i;
		const Vector *source = merge->runs[merge->chosen_run[chosen]].columns[position];

		out->nulls[chosen] = source->has_nulls && source->nulls[merge->chosen_row[chosen]];
	}
}

/* Nested values, with their nulls; rows that follow each other in one run at a time. */
static void
gather_nested(const SectionMerge *merge, int position, const int32 *selection, int nselected, Vector *out)
{
	for (int i = 0; i < nselected;)
	{
		int			first = selection ? selection[i] : i;
		int			count = 0;

		do
		{
			count++;
			i++;
		} while (i < nselected && (selection ? selection[i] : i) == first + count &&
				 merge->chosen_run[first + count] == merge->chosen_run[first]);
		vector_gather(out, first, merge->runs[merge->chosen_run[first]].columns[position],
					  &merge->chosen_row[first], count);
	}
}

void
section_merge_read_field(SectionMerge *merge, int field, const int32 *selection, int nselected, Vector *out)
{
	int			position = field >= 0 ? merge->positions[field] : merge->system_positions[-1 - field];

	if (position < 0)
		elog(ERROR, "field %d was not asked for when the merge was opened", field);
	vector_reset(out);
	if (read_runs(merge, position, selection, nselected) && !type_is_nested(out->type))
		gather_nulls(merge, position, selection, nselected, out);

#define GATHER(member) \
	for (int i = 0; i < nselected; i++) \
	{ \
		int			chosen = selection ? selection[i] : i; \
		const Vector *source = merge->runs[merge->chosen_run[chosen]].columns[position]; \
\
		out->values.member[chosen] = source->values.member[merge->chosen_row[chosen]]; \
	} \
	break
	switch (out->type->physical)
	{
		case PHYSICAL_INT8:
			GATHER(i8);
		case PHYSICAL_INT16:
			GATHER(i16);
		case PHYSICAL_INT32:
			GATHER(i32);
		case PHYSICAL_INT64:
			GATHER(i64);
		case PHYSICAL_INT128:
			GATHER(i128);
		case PHYSICAL_FLOAT:
			GATHER(f32);
		case PHYSICAL_DOUBLE:
			GATHER(f64);
		case PHYSICAL_BYTES:
			GATHER(bytes);
		case PHYSICAL_LIST:
		case PHYSICAL_ROW:
			gather_nested(merge, position, selection, nselected, out);
			break;
	}
#undef GATHER
}
