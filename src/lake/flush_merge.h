/*
 * flush_merge.h
 *		Rows of a write buffer merged by key on their way into a file.
 */
#ifndef STREAMHOUSE_LAKE_FLUSH_MERGE_H
#define STREAMHOUSE_LAKE_FLUSH_MERGE_H

#include "lake/file_writer.h"
#include "lake/merge_function.h"

/* Rows of a table, by position in flat vectors; their sequence numbers ascend with the positions. */
typedef struct KeyedRows
{
	const LakeTable *table;
	Vector	  **columns;		/* by table field */
	Vector	  **key_columns;	/* by trimmed key */
	const int64 *sequence_numbers;
	const int8 *kinds;
} KeyedRows;

/* Sort rows (ascending positions) by key, merge those of equal keys, and append the results. */
extern void write_merged_rows(const KeyedRows *rows, MergeFunction *function, FileWriter *writer,
							  int32 *positions, int npositions);

#endif							/* STREAMHOUSE_LAKE_FLUSH_MERGE_H */
