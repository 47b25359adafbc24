/*
 * merge_run.h
 *		One sorted run of a merge: its files' rows in key order.
 */
#ifndef STREAMHOUSE_MERGE_RUN_H
#define STREAMHOUSE_MERGE_RUN_H

#include "lake/data_file.h"
#include "lake/plan.h"

/* What the runs of one merge have in common */
typedef struct MergeSource
{
	LakeTable  *table;
	const Split *split;
	int			nkeys;			/* the first fields are the key columns */
	int			nfields;
	int		   *fields;			/* table fields and system columns to read */
	int			nsequence;		/* columns of the table's own that order rows of a key, before the numbers do */
	int		   *sequence_positions; /* in fields */
	bool		sequence_descending;
	bool	   *plain;			/* by position in fields: strings are read without their dictionary */
	bool		prefix_is_key;	/* equal prefixes are equal keys */
	const Predicate *key_predicate; /* on key columns: rows it excludes do not take part; may be NULL */
	bool		needs_kinds;	/* also of files without deletes */
	bool		many_runs;		/* too many to keep all their files open */
	FormatCounters *counters;
} MergeSource;

/*
 * A run and its current batch.  rows lists the batch's rows that take part, in
 * key order; places are positions in it.  Key columns are read at once, the
 * others when they are needed.
 */
typedef struct MergeRun
{
	const MergeSource *source;
	MemoryContext context;		/* holds all but the open file */
	int			index;			/* among the runs */
	List	   *files;			/* DataFileMeta *, ascending in key */
	int			next_file;
	MemoryContext file_context; /* of the open file */
	MemoryContext batch_context;	/* strings of a batch whose file was closed */
	DataFileReader *reader;		/* NULL: none is open */
	const DataFileMeta *file;
	int			capacity;		/* no batch has more rows */
	int			nrows;
	int32	   *rows;
	uint64	   *prefixes;		/* by place: orders as the first key column does, as far as 64 bits go */
	int			cursor;			/* place of the next row */
	int			pending;		/* place from which rows were not yet given out */
	int			nchosen;		/* of those given out in this step */
	Vector	  **columns;		/* by position in fields; made when first read */
	bool	   *loaded;			/* by position in fields: read for this batch */
	Vector	  **key_vectors;	/* key columns by table field, for key_predicate */
	const int8 *kinds;			/* of the batch, NULL: none is a retraction */
	int			nwanted;		/* see merge_run_want */
	int32	   *wanted;
} MergeRun;

/* Prepare a run in CurrentMemoryContext, which must outlive it. */
extern void merge_run_init(MergeRun *run, const MergeSource *source, int index, List *files);

/* Move to the next batch with rows that take part; false at the end. */
extern bool merge_run_load(MergeRun *run);

/* May there be another batch? */
extern bool merge_run_may_have_more(const MergeRun *run);

/* Order of the keys at two places. */
extern int	merge_run_compare(const MergeRun *a, int place_a, const MergeRun *b, int place_b);

/* How many rows from the cursor on, at least one is known to be, lie below the other run's next key. */
extern int	merge_run_count_below(const MergeRun *run, const MergeRun *other);

/* Age of the next rows, whose keys are equal: negative when a's is older. */
extern int	merge_run_compare_age(MergeRun *a, MergeRun *b);

/* Kind of the next row. */
static inline int8
merge_run_next_kind(const MergeRun *run)
{
	return run->kinds != NULL ? run->kinds[run->rows[run->cursor]] : 0;
}

/* Read a column, unless it is there, for the rows that were not yet given out. */
extern void merge_run_read_pending(MergeRun *run, int position);

/* Read a column for the rows wanted so far and for all rows to come of the batch. */
extern void merge_run_read_wanted(MergeRun *run, int position);

#endif							/* STREAMHOUSE_MERGE_RUN_H */
