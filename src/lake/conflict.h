/*
 * conflict.h
 *		May changes be committed on top of a snapshot? (format digest 9.3)
 */
#ifndef STREAMHOUSE_CONFLICT_H
#define STREAMHOUSE_CONFLICT_H

#include "lake/table.h"

/*
 * Check changes (ManifestEntry *) against the live files of latest (NULL:
 * none).  ERRCODE_T_R_SERIALIZATION_FAILURE when another commit came between.
 */
extern void commit_check_conflicts(LakeTable *table, const LakeSnapshot *latest, CommitKind kind, List *changes);

/* ERROR when the changes and the live files of their partitions differ in the number of buckets. */
extern void commit_check_total_buckets(LakeTable *table, const LakeSnapshot *latest, List *changes);

#endif							/* STREAMHOUSE_CONFLICT_H */
