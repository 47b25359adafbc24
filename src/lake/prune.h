/*
 * prune.h
 *		What a predicate excludes before anything is read: manifests,
 *		partitions, buckets and files.
 *
 * file_column_statistics is declared in plan.h.
 */
#ifndef STREAMHOUSE_LAKE_PRUNE_H
#define STREAMHOUSE_LAKE_PRUNE_H

#include "lake/table.h"

typedef struct ScanPruner ScanPruner;

/* What a predicate over table fields says of the fields listed alone; NULL if nothing. */
extern Predicate *predicate_of_fields(const TableSchema *schema, const Predicate *predicate,
									  const int *fields, int nfields);

/* predicate: over table fields, NULL for none.  Lives in CurrentMemoryContext. */
extern ScanPruner *scan_pruner_create(LakeTable *table, const Predicate *predicate);

extern void scan_pruner_free(ScanPruner *pruner);

/* False if the manifest's entries surely hold no partition that matches. */
extern bool scan_pruner_keeps_manifest(ScanPruner *pruner, const ManifestFileMeta *manifest);

/* Exact: the conjuncts on partition columns, evaluated. */
extern bool scan_pruner_keeps_partition(ScanPruner *pruner, BytesView partition);

/* False if no key that the predicate allows falls into the bucket. */
extern bool scan_pruner_keeps_bucket(ScanPruner *pruner, int32 bucket, int32 total_buckets);

/* False if none of the file's keys matches; true for a table without primary key. */
extern bool scan_pruner_keeps_keys(ScanPruner *pruner, const DataFileMeta *file);

/*
 * False if none of the file's rows matches.  Of use only where the file's rows
 * are not merged with those of other files (7.1, step 6).
 */
extern bool scan_pruner_keeps_rows(ScanPruner *pruner, const DataFileMeta *file);

#endif							/* STREAMHOUSE_LAKE_PRUNE_H */
