/*
 * merge.h
 *		The files of one section merged by key.
 *
 * Shaped like a file reader: a step chooses the next result rows from keys,
 * sequence numbers and kinds alone, and the values of the rows chosen are read
 * when they are asked for.
 */
#ifndef STREAMHOUSE_MERGE_H
#define STREAMHOUSE_MERGE_H

#include "format/format.h"
#include "lake/plan.h"

typedef struct SectionMerge SectionMerge;

typedef struct SectionMergeOptions
{
	int			nfields;
	const int  *fields;			/* table fields and system columns that may be read */
	const Predicate *predicate; /* what it says of keys skips rows; may be NULL */
	bool		keep_deletes;	/* give out results of kind -D and -U */
	FormatCounters *counters;	/* may be NULL */
} SectionMergeOptions;

/* Open in a child of CurrentMemoryContext.  split and fields must outlive it. */
extern SectionMerge *section_merge_open(LakeTable *table, const Split *split, const SectionMergeOptions *options);

/* Choose the next result rows, in key order: how many (at most BATCH_ROWS), 0 at the end. */
extern int	section_merge_next(SectionMerge *merge);

/*
 * Values of the rows chosen, as format_read_column: a field may be read once a
 * step, and strings live until the next step.
 */
extern void section_merge_read_field(SectionMerge *merge, int field, const int32 *selection, int nselected,
									 Vector *out);

#endif							/* STREAMHOUSE_MERGE_H */
