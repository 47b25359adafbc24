/*
 * plan.h
 *		Scan planning: from a snapshot to the files to read (format digest 7.1).
 */
#ifndef STREAMHOUSE_PLAN_H
#define STREAMHOUSE_PLAN_H

#include "format/format.h"
#include "lake/table.h"

/*
 * Files that are read together.  raw: their rows need no merge.  joined: they
 * are one group of files with different columns of the same rows.  Otherwise
 * the files belong to one bucket and key range section and are merged by key.
 */
typedef struct Split
{
	BytesView	partition;
	int32		bucket;
	int32		total_buckets;
	bool		raw;
	bool		joined;
	List	   *files;			/* DataFileMeta * */
	bool		is_part;		/* raw, of one file, of which only rows are read */
	RowRange	rows;
	bool		is_diff;		/* their rows count only where those of before_files were others */
	List	   *before_files;	/* DataFileMeta * */
	int64		row_count;		/* physical rows */
	int64		bytes;
	const LakeSnapshot *snapshot;	/* of the one split of a system table, that it is about */
} Split;

typedef struct ScanCounters
{
	int64		manifests;		/* in the snapshot */
	int64		manifests_read;
	int64		manifests_cached;	/* of these, found in memory */
	int64		files;			/* live files in the manifests read */
	int64		files_read;		/* left after pruning */
	int64		partitions;		/* with live files, in the manifests read */
	int64		partitions_read;
	int64		splits;
	int64		merged_splits;	/* of these, those whose rows are merged by key */
} ScanCounters;

typedef struct ScanPlan
{
	List	   *splits;			/* Split * */
	ScanCounters counters;
	int64		row_count;		/* physical rows of all splits */
	int64		bytes;
} ScanPlan;

/* Files to plan from again and again, with other predicates. */
typedef struct ScanCandidates
{
	List	   *entries;		/* ManifestEntry *: live and published */
	ScanCounters counters;		/* of the manifests */
} ScanCandidates;

typedef struct ScanRequest
{
	const LakeSnapshot *snapshot;	/* NULL: a table without snapshots */
	const Predicate *predicate; /* over table fields; NULL none.  Only prunes */
	List	   *extra_entries;	/* ManifestEntry *: unpublished files of this transaction */
	bool		truncated;		/* ignore the snapshot's files: this transaction truncated the table */
	const ScanCandidates *candidates;	/* the snapshot's files, read before; NULL: not yet */
} ScanRequest;

/* ERROR, naming it, when a file is in a format or of a kind that cannot be read. */
extern ScanPlan *scan_plan(LakeTable *table, const ScanRequest *request);

/*
 * The files of a request's snapshot that its predicate leaves, for requests
 * with stronger ones; in CurrentMemoryContext, as long as they are planned from.
 * NULL when such a request cannot be made: of a view of another kind of rows.
 */
extern ScanCandidates *scan_candidates(LakeTable *table, const ScanRequest *request);

/*
 * All live entries (ManifestEntry *) of a snapshot, after ADD/DELETE
 * combination (4.7), filtered by partition and bucket predicate callback
 * (NULL: all); for commit, compaction and expiration.
 */
typedef bool (*EntryFilter) (const ManifestEntry *entry, void *arg);
extern List *scan_live_entries(LakeTable *table, const LakeSnapshot *snapshot, EntryFilter filter, void *arg);

/* Each entry of a snapshot's manifests, added and deleted, as it is; it lives only for the call. */
extern void scan_manifest_entries(LakeTable *table, const LakeSnapshot *snapshot, ManifestEntryCallback callback, void *arg);

/* The entries of a snapshot's delta, as they are. */
extern List *scan_delta_entries(LakeTable *table, const LakeSnapshot *snapshot);

/* A file's statistics of a table field, evolved to the table's schema (2.4, 4.5). */
extern bool file_column_statistics(LakeTable *table, const DataFileMeta *file, int field, ColumnStatistics *out);

/* The same, as its value statistics have it, also of key columns. */
extern bool file_value_statistics(LakeTable *table, const DataFileMeta *file, int field, ColumnStatistics *out);

/* Sections of overlapping key ranges (7.1): List of List of DataFileMeta *. */
extern List *interval_partition(LakeTable *table, List *files);

#endif							/* STREAMHOUSE_PLAN_H */
