/*
 * index_manifest.h
 *		The index files of a snapshot (format digest section 4.9).
 */
#ifndef STREAMHOUSE_INDEX_MANIFEST_H
#define STREAMHOUSE_INDEX_MANIFEST_H

#include "lake/table.h"

/* ERROR if files of the snapshot have deletion vectors: their rows would come out wrong. */
extern void index_manifest_refuse_deletion_vectors(LakeTable *table, const LakeSnapshot *snapshot);

/* The names (char *) of the index files in the table's index folder. */
extern List *index_manifest_file_names(const char *table_location, const char *name);

#endif							/* STREAMHOUSE_INDEX_MANIFEST_H */
