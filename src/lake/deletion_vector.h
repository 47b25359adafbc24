/*
 * deletion_vector.h
 *		Rows of data files that are deleted without the file being rewritten.
 *
 * Source: format digest section 7.4.
 */
#ifndef STREAMHOUSE_DELETION_VECTOR_H
#define STREAMHOUSE_DELETION_VECTOR_H

#include "lake/row_set.h"
#include "lake/table.h"

/* Where a data file's vector lies */
typedef struct DeletionVectorPlace
{
	char	   *path;			/* of the index file */
	int64		offset;
	int64		length;
	int64		cardinality;	/* -1 unknown */
} DeletionVectorPlace;

/*
 * Look up the vectors of the files of these entries (ManifestEntry *) in the
 * snapshot's index manifest, and note in the files where they lie.
 */
extern void deletion_vectors_find(LakeTable *table, const LakeSnapshot *snapshot, List *entries);

/* How many rows of the file are deleted, from metadata alone; -1 unknown. */
extern int64 deletion_vector_cardinality(const DataFileMeta *file);

/* Read the rows, of a data file of so many, that are deleted. */
extern RowSet deletion_vector_load(const DeletionVectorPlace *place, const char *data_file, int64 file_rows);

/* Those that are left; of the cache, where the vector was read before. */
extern RowSet deletion_vector_live_rows(const DeletionVectorPlace *place, const char *data_file, int64 file_rows);

#endif							/* STREAMHOUSE_DELETION_VECTOR_H */
