/*
 * pick.h
 *		Which files of a bucket to compact (format digest section 10).
 */
#ifndef STREAMHOUSE_LAKE_PICK_H
#define STREAMHOUSE_LAKE_PICK_H

#include "lake/table.h"

/* Files of one bucket that are compacted together */
typedef struct CompactionUnit
{
	List	   *files;			/* DataFileMeta *; of append tables in the order of their rows */
	int32		output_level;	/* 0 in append tables */
	bool		to_max_level;	/* the output level is the highest one */
	bool		drop_deletes;	/* nothing older lies below: deletes have done their work */
} CompactionUnit;

/* Files that are at least so large are left as they are. */
extern int64 compaction_large_file_size(const LakeTable *table);

/*
 * What is to be compacted of a bucket's live files: List of CompactionUnit *,
 * NIL for nothing.  full: as much as is of use, not only what the table's
 * options ask for.
 */
extern List *pick_compaction(LakeTable *table, List *files, bool full);

#endif							/* STREAMHOUSE_LAKE_PICK_H */
