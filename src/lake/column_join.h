/*
 * column_join.h
 *		Rows whose columns are in different files.
 *
 * With data evolution a commit may write some columns of rows that are there
 * already, in files of their own: the files of a group cover the same row ids,
 * and of each column the newest counts.  Large values have files of their own
 * as well.
 *
 * Source: format digest section 6.6.
 */
#ifndef STREAMHOUSE_COLUMN_JOIN_H
#define STREAMHOUSE_COLUMN_JOIN_H

#include "format/format.h"
#include "lake/plan.h"

typedef struct ColumnJoin ColumnJoin;

/* The files in groups of those that have row ids in common, by row id: List of List of DataFileMeta *. */
extern List *column_join_groups(LakeTable *table, List *files);

/* Open a group in CurrentMemoryContext, which owns all of it.  split and fields must outlive it. */
extern ColumnJoin *column_join_open(LakeTable *table, const Split *split, const int *fields, int nfields,
									FormatCounters *counters);

/* Move to the next rows: how many, 0 at the end. */
extern int	column_join_next(ColumnJoin *join);

/* As format_read_column, by table field. */
extern void column_join_read_field(ColumnJoin *join, int field, const int32 *selection, int nselected, Vector *out);

#endif							/* STREAMHOUSE_COLUMN_JOIN_H */
