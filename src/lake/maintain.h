/*
 * maintain.h
 *		Compaction, snapshot expiration and clean-up of a lake table.
 */
#ifndef STREAMHOUSE_LAKE_MAINTAIN_H
#define STREAMHOUSE_LAKE_MAINTAIN_H

#include "lake/table.h"

typedef struct MaintenanceProgress
{
	/* called now and then; any may be 0 */
	void		(*report) (void *arg, int64 buckets_done, int64 buckets_total, int64 rows_written, int64 bytes_written);
	void	   *arg;
} MaintenanceProgress;

typedef struct CompactResult
{
	int64		snapshot_id;	/* 0: nothing was to be done */
	int64		buckets;		/* compacted */
	int64		files_before;
	int64		files_after;
	int64		rows_written;
	int64		bytes_written;
} CompactResult;

/*
 * Compact.  full: all runs into the highest level (10.1), small append files
 * together (10.2).  Otherwise only what the triggers ask for.  One COMPACT
 * snapshot.  A conflict with another compactor is retried from the start a few
 * times, then ERRCODE_T_R_SERIALIZATION_FAILURE.  Nothing is done if a later
 * snapshot than since (0: no matter) is an OVERWRITE: what was known of the table
 * holds no more.
 */
extern CompactResult lake_compact(LakeTable *table, bool full, int64 since, const char *commit_user,
								  const MaintenanceProgress *progress);

/* Does a bucket have so many runs (or an append table so many small files) that compaction is due? */
extern bool lake_compaction_due(LakeTable *table);

typedef struct ExpireResult
{
	int64		snapshots;		/* removed */
	int64		data_files;
	int64		manifest_files; /* manifests, lists, index manifests, statistics */
} ExpireResult;

/*
 * Expire by rule 9.6: all but the newest retain_min snapshots that are beyond
 * the newest retain_max, or were made before older_than (milliseconds since
 * 1970).  A negative value stands for the table's option.
 */
extern ExpireResult lake_expire_snapshots(LakeTable *table, int64 retain_max, int64 retain_min, int64 older_than);

/* Orphan files younger than this are left alone unless somebody asks for it. */
#define ORPHAN_AGE_MS (24 * 60 * 60 * INT64CONST(1000))

typedef struct OrphanResult
{
	int64		files;			/* removed, or found */
} OrphanResult;

/* Told of each orphan file, before it is removed. */
typedef void (*OrphanCallback) (const char *path, void *arg);

/*
 * Remove files of the table that were modified before older_than (milliseconds
 * since 1970) and that no snapshot, tag or changelog of any branch refers to
 * (9.10).  A writer must commit its files before they are as old as that.
 */
extern OrphanResult lake_remove_orphan_files(const LakeTable *table, int64 older_than, bool dry_run,
											 OrphanCallback callback, void *arg);

#endif							/* STREAMHOUSE_LAKE_MAINTAIN_H */
