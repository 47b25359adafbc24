/*
 * read.h
 *		Batches of a scan's rows: raw files, or sorted runs merged by key.
 */
#ifndef STREAMHOUSE_LAKE_READ_H
#define STREAMHOUSE_LAKE_READ_H

#include "format/format.h"
#include "lake/plan.h"

typedef enum RowKind
{
	ROW_INSERT = 0,				/* +I */
	ROW_UPDATE_BEFORE = 1,		/* -U */
	ROW_UPDATE_AFTER = 2,		/* +U */
	ROW_DELETE = 3				/* -D */
} RowKind;

#define ROW_KIND_IS_RETRACT(kind) ((kind) == ROW_UPDATE_BEFORE || (kind) == ROW_DELETE)

typedef struct TableReader TableReader;

/*
 * Read splits (Split *).  projection: table fields wanted, in the batch's
 * order.  filter: over table fields, applied exactly (NULL none).  counters
 * may be NULL.  Everything lives in a child of CurrentMemoryContext.
 */
extern TableReader *table_reader_open(LakeTable *table, List *splits, const int *projection, int nprojection,
									  const Predicate *filter, FormatCounters *counters);

/*
 * Read only the splits whose numbers a function gives, one after the other,
 * until it gives one that there is not: several readers of one list share it.
 * They have to read the same columns, or parts of files would not meet:
 * returns a hash of these, for the caller to compare.
 */
typedef int64 (*SplitChooser) (void *arg);
extern uint32 table_reader_share(TableReader *reader, SplitChooser chooser, void *arg);

/* Next batch with at least one selected row, valid until the next call; NULL at the end. */
extern Batch *table_reader_next(TableReader *reader);

/*
 * The same in steps: first a batch of which only the rows are known; then a
 * column (of the projection) at a time is decoded for the rows selected, which
 * may become fewer in between.
 */
extern Batch *table_reader_next_rows(TableReader *reader);
extern void table_reader_decode(TableReader *reader, int column);
extern void table_reader_select(TableReader *reader, const int32 *rows, int nrows);
extern void table_reader_rescan(TableReader *reader);
extern void table_reader_close(TableReader *reader);

/*
 * Reading for compaction: the files of one bucket's section, merged, with
 * sequence number and kind.  Columns of the batch: all table fields.
 */
typedef struct MergeReader MergeReader;
extern MergeReader *merge_reader_open(LakeTable *table, const Split *split, bool keep_deletes);

/* kinds and sequence numbers by row of the batch; NULL at the end. */
extern Batch *merge_reader_next(MergeReader *reader, const int64 **sequence_numbers, const int8 **kinds);
extern void merge_reader_close(MergeReader *reader);

#endif							/* STREAMHOUSE_LAKE_READ_H */
