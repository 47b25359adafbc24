/*
 * merge_function.h
 *		Merge engines: what becomes of the rows of one key.
 *
 * Reading, flushing and compaction all merge through this one interface.  An
 * engine is one MergeFunction and one line in the table in merge_function.c.
 */
#ifndef STREAMHOUSE_MERGE_FUNCTION_H
#define STREAMHOUSE_MERGE_FUNCTION_H

#include "lake/table.h"

typedef struct MergeFunction
{
	const char *name;			/* as the option merge-engine names it */

	/*
	 * Which of the rows of one key is the result, if there are two or more.
	 * They are given in ascending order, the newest last.
	 */
	int			(*pick) (int nrows);
} MergeFunction;

/* The table's merge engine; ERROR if it is not supported. */
extern const MergeFunction *merge_function_of_table(const LakeTable *table);

#endif							/* STREAMHOUSE_MERGE_FUNCTION_H */
