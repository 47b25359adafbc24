/*
 * merge_state.h
 *		A merge as its files share it: merge.c chooses rows, merge_values.c
 *		reads their values.
 */
#ifndef STREAMHOUSE_MERGE_STATE_H
#define STREAMHOUSE_MERGE_STATE_H

#include "lake/merge.h"
#include "lake/merge_function.h"
#include "lake/merge_run.h"

/* chosen_run of a row that the merge function computes: chosen_row is its key's number */
#define COMPUTED_ROW (-1)

/* The keys of one step whose results are computed */
typedef struct ComputedKeys
{
	MergeKeys	keys;
	int			max_members;
	int32	   *starts;
	int8	   *kinds;			/* by member */
	int32	   *runs;			/* by member */
	int32	   *rows;			/* by member */
	MergeResults results;
} ComputedKeys;

/* The dictionaries that a column has in the runs, one behind the other */
typedef struct JoinedDictionary
{
	uint64		id;				/* of all together, 0: there are none */
	int			size;
	BytesView  *entries;		/* room for BATCH_ROWS */
	uint64	   *ids;			/* by run, 0: it has none in here */
	int32	   *starts;			/* by run: its first entry */
} JoinedDictionary;

/* Where rows of a run lie: values, or codes into entries */
typedef struct StringSource
{
	const BytesView *views;
	const int32 *codes;			/* NULL: views are the rows' values */
} StringSource;

struct SectionMerge
{
	MemoryContext context;		/* holds all of this */
	MergeSource source;
	MergeFunction *function;
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
	int8	   *tied_kinds;		/* room for their rows' kinds */
	MergeRun  **touched;		/* room for the runs that a read touches */
	Vector	 ***deciding;		/* by field the function decides by: its vectors by run */
	Vector	  **sources;		/* room for a field's vectors by run */
	const void **values;		/* room for a field's values by run */
	const bool **nulls;			/* the same for its nulls */
	StringSource *strings;		/* the same for its strings */
	JoinedDictionary **dictionaries;	/* by position in fields; made when first needed */
	int			nchosen;
	int32		chosen_run[BATCH_ROWS]; /* the rows chosen in this step */
	int32		chosen_row[BATCH_ROWS]; /* their rows in the run's batch */
	ComputedKeys computed;
};

/*
 * merge_dictionary.c: a dictionary for all runs of which the column is loaded, for
 * nrows rows; NULL where one of them has none, or they have too many entries.
 */
extern const JoinedDictionary *merge_join_dictionaries(const SectionMerge *merge, int position, int nrows);

/* Allocate what computed results need. */
extern void merge_values_init(SectionMerge *merge);

/* Choose the result of a key that occurs in the tied runs, oldest first. */
extern void merge_compute_key(SectionMerge *merge, int ntied);

/* All rows of the step are chosen: let the function begin, and drop results that delete. */
extern void merge_compute_begin(SectionMerge *merge);

/* Room for the members of one more key? */
static inline bool
merge_compute_has_room(const SectionMerge *merge)
{
	const ComputedKeys *computed = &merge->computed;

	return computed->keys.nkeys == 0 || computed->starts[computed->keys.nkeys] + merge->nruns <= computed->max_members;
}

#endif							/* STREAMHOUSE_MERGE_STATE_H */
