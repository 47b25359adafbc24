/*
 * compact_unit.h
 *		Carrying out one compaction unit: files rewritten or moved to a level.
 */
#ifndef STREAMHOUSE_COMPACT_UNIT_H
#define STREAMHOUSE_COMPACT_UNIT_H

#include "lake/maintain.h"
#include "lake/pending_files.h"
#include "lake/pick.h"

/* A compaction on its way, over all buckets */
typedef struct Compaction
{
	LakeTable  *table;
	PendingFiles *pending;		/* new files */
	const MaintenanceProgress *progress;	/* or NULL */
	int64		buckets_done;
	int64		buckets_total;
	int64		rows_written;
	int64		bytes_written;
	List	   *deleted;		/* ManifestEntry *: files that go */
	List	   *added;			/* ManifestEntry *: files that come */
} Compaction;

typedef struct CompactionBucket
{
	BytesView	partition;
	int32		bucket;
	int32		total_buckets;
	List	   *files;			/* DataFileMeta *: live ones */
} CompactionBucket;

extern void compaction_report(const Compaction *compaction);

/* Write what is to be written and add the unit's changes to the compaction. */
extern void compact_unit(Compaction *compaction, const CompactionBucket *bucket, const CompactionUnit *unit);

#endif							/* STREAMHOUSE_COMPACT_UNIT_H */
