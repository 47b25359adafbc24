/*
 * copy_plan.h
 *		The chunks in which a table is copied.
 */
#ifndef STREAMHOUSE_SYNC_COPY_PLAN_H
#define STREAMHOUSE_SYNC_COPY_PLAN_H

#include "sync/copy_chunk.h"

/* What is to be known of a relation whose rows are copied: a table, or a partition. */
typedef struct CopyRelation
{
	Oid			relid;
	Oid			file;			/* its relfilenode */
	BlockNumber blocks;
	BlockNumber toast_blocks;	/* of values out of line */
	double		rows;			/* as last estimated; -1 unknown */
	bool		whole_rows;		/* changes tell of all of a row: REPLICA IDENTITY FULL */
	bool		divisible;		/* its blocks can be read by themselves */
} CopyRelation;

typedef struct CopyPlan
{
	List	   *chunks;			/* CopyChunk *: those left to be copied */
	int			nbefore;		/* chunks that are in the lake */
	int64		bytes;			/* of the source, without those before */
	int64		bytes_before;
	double		rows;			/* of the source, as last estimated; -1 unknown */
} CopyPlan;

/*
 * Cut the relations of a table whose copy was begun into chunks of about
 * chunk_size bytes, in an active snapshot.  What is in the lake is left out,
 * unless the table must be copied as a whole.
 */
extern CopyPlan *copy_plan(const CopyTable *table, int64 chunk_size);

/*
 * Must all of the table be of one snapshot?  Then a copy that was interrupted
 * starts over.
 */
extern bool copy_is_of_one_snapshot(const CopyTable *table);

#endif							/* STREAMHOUSE_SYNC_COPY_PLAN_H */
