/*
 * sequence.h
 *		Sequence numbers of a table's buckets, as one writer knows them.
 *
 * Sequence numbers order the rows of a partition's bucket (format digest
 * 6.6).  A writer goes on after the highest number of the files that are
 * there.  Those it learns once from all manifests of a snapshot, later from
 * the deltas of newer snapshots only.  In passing it learns which partitions
 * may have another number of buckets.
 */
#ifndef STREAMHOUSE_LAKE_SEQUENCE_H
#define STREAMHOUSE_LAKE_SEQUENCE_H

#include "lake/table.h"

/*
 * Rows of an initial copy lie under all changes, in whatever order they are
 * committed: they have number 0, which no change gets.
 */
typedef enum SequenceRule
{
	SEQUENCE_CONTINUES,			/* after the highest number of the bucket, from 0 */
	SEQUENCE_ABOVE_BASE,		/* the same, from 1 */
	SEQUENCE_BASE				/* all rows have number 0 */
} SequenceRule;

typedef struct BucketState
{
	BytesView	partition;		/* serialised row */
	int32		bucket;
	int64		committed;		/* highest number in snapshots, -1: none */
	int64		next;			/* the next one to give to a row */
	int64		step;			/* to the one after it */
	int64		lowest_pending; /* of unpublished files; this and the next are of use to resequence.c only */
	int64		offset;			/* by which they are raised */
	bool		other_total;	/* a file was written for another number of buckets */
} BucketState;

typedef struct SequenceMap SequenceMap;

/* An empty map in a child of CurrentMemoryContext. */
extern SequenceMap *sequence_map_create(LakeTable *table);

/* SEQUENCE_CONTINUES unless said otherwise, before there are buckets. */
extern void sequence_map_set_rule(SequenceMap *map, SequenceRule rule);

/*
 * Give numbers so far above those in snapshots, for rows that will be
 * committed after others which are not numbered yet.
 */
extern void sequence_map_set_lead(SequenceMap *map, int64 lead);

/*
 * Learn the numbers used in the snapshots up to latest (NULL: there is none).
 * Numbers never go down.
 */
extern void sequence_map_refresh(SequenceMap *map, const LakeSnapshot *latest);

/* The state of a bucket, made if need be; stays where it is. */
extern BucketState *sequence_map_bucket(SequenceMap *map, BytesView partition, int32 bucket);

/*
 * Were files ever written for another number of buckets than the table has,
 * into a partition that the entries (ManifestEntry *) are in?
 */
extern bool sequence_map_has_other_totals(SequenceMap *map, List *entries);

/*
 * Our own commit made this snapshot of the entries (ManifestEntry *), on top
 * of the one that the map was refreshed to: its delta needs no reading.
 */
extern void sequence_map_committed(SequenceMap *map, const LakeSnapshot *snapshot, List *entries);

#endif							/* STREAMHOUSE_LAKE_SEQUENCE_H */
