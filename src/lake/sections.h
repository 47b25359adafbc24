/*
 * sections.h
 *		Key ranges of data files: sections, sorted runs and the age of files.
 *
 * interval_partition is declared in plan.h.
 */
#ifndef STREAMHOUSE_SECTIONS_H
#define STREAMHOUSE_SECTIONS_H

#include "lake/table.h"

/*
 * The files of a section as sorted runs (List of List of DataFileMeta *): the
 * files of one run have disjoint, ascending key ranges (7.1, step 4).
 */
extern List *section_runs(LakeTable *table, List *files);

/*
 * Order by age, newest first: unpublished files, then level 0 (6.7), then the
 * levels upward.  Negative when a is newer.
 */
extern int	data_file_compare_age(const DataFileMeta *a, const DataFileMeta *b);

/* For list_sort: data_file_compare_age of list cells. */
extern int	data_file_age_cell_compare(const ListCell *a, const ListCell *b);

/* Does the file hold rows of kind -D or -U, as far as is known? */
extern bool data_file_may_have_deletes(const DataFileMeta *file);

/* Do the files' ranges, sorted by key, lie apart?  Those of one level >= 1 must. */
extern bool key_ranges_are_disjoint(LakeTable *table, List *files);

#endif							/* STREAMHOUSE_SECTIONS_H */
