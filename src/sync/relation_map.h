/*
 * relation_map.h
 *		The tables of a sync: source relations on one side, lake tables on the other.
 *
 * Several relations lead to one lake table when partitions are published as
 * their root, or rules give it to several sources.  The lake table's fields are the source's columns by attribute
 * number, as they were when the table was copied, and those added since.  Whenever the definition of
 * a relation or of the publication may have changed they are compared again,
 * before the next row.
 */
#ifndef STREAMHOUSE_SYNC_RELATION_MAP_H
#define STREAMHOUSE_SYNC_RELATION_MAP_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "catalog/pg_publication.h"
#include "executor/tuptable.h"
#include "utils/hsearch.h"
#include "utils/rel.h"

#include "compat.h"
#include "lake/table.h"
#include "lake/writer.h"
#include "sync/row_source.h"
#include "sync/sync_catalog.h"

struct ToastQueue;

/* A lake table that is filled by a table of the sync, or by several. */
typedef struct SyncTarget
{
	LakeTable  *lake;
	XLogRecPtr	applied;		/* transactions that end here or before are in the lake */
	int64		snapshot_id;	/* newest of the sync's, or 0 if it has expired */
	bool		partial;		/* it lacks rows of a table that was being copied, or paused */
	bool		copied;			/* all tables are, and none is paused */
	bool		shared;			/* tables have a part of it each */

	/* rows not yet in the lake */
	TableWriter *writer;		/* NULL until the first row */
	bool		pending;		/* the next flush commits to it */
	int64		pending_rows;
	List	   *tables;			/* SyncTable *, that fill it */
	bool		deferred;		/* changes are left out, see apply_defer and apply_hold */
	struct ToastQueue *queue;	/* rows that wait for values from the lake, or NULL */
} SyncTarget;

typedef struct SyncTable
{
	Oid			source;			/* hash key */
	const SyncTableRecord *record;
	SyncTarget *target;
	LakeTable  *lake;			/* the target's */

	/*
	 * While values are looked up in the lake: does it have all that the copy brings?
	 * Rows of transactions up to copied_as_of may be missing all the same: the
	 * copy was made as of there, and they were gone.
	 */
	bool		complete;
	XLogRecPtr	copied_as_of;

	TableCounts pending;		/* what the next flush commits of it */
	TableCounts written;		/* and has since the catalog knew */

	/* room for the row at work on, by field */
	Scalar	   *row;
	Scalar	   *old_row;
	bool	   *missing;		/* fields of row that are unchanged and not at hand */
	bool	   *beside_key;		/* fields of an old row of which the WAL has the key alone */
} SyncTable;

/* A relation of which a change was decoded. */
typedef struct SyncRelation
{
	Oid			relid;			/* hash key */
	bool		mapped;			/* since the last invalidation */
	SyncTable  *table;			/* NULL: of no concern, or not published any more */

	/* when a row was to be replicated */
	bool		prepared;		/* since the last invalidation */
	MemoryContext context;		/* of the rest; NULL when it never was */
	RowSource  *rows;
	TupleTableSlot *new_slot;	/* virtual */
	TupleTableSlot *old_slot;
} SyncRelation;

typedef struct RelationMap
{
	MemoryContext context;
	const SyncRecord *sync;
	HTAB	   *tables;			/* SyncTable by source */
	List	   *targets;		/* SyncTarget * */
	HTAB	   *relations;		/* SyncRelation by relid */
	PublicationActions actions; /* what is published, see relation_map_actions */
	bool		actions_known;
	XLogRecPtr	commit_lsn;		/* of the transaction being decoded */
	ColumnChange *change;		/* why the last ERROR was raised, or NULL */
} RelationMap;

/* With all tables of the sync, opened in the lake; in CurrentMemoryContext. */
extern RelationMap *relation_map_create(const SyncRecord *sync, const char *warehouse);

/* Look up everything again when it is needed. */
extern void relation_map_invalidate(RelationMap *map);

/* The entry of a relation, with its table; nothing else is checked.  While decoding. */
extern SyncRelation *relation_map_find(RelationMap *map, Relation relation);

/*
 * Make the rest of the entry for a change at lsn; ERROR when columns have
 * changed, and then map->change says how.  While decoding.
 */
extern void relation_map_prepare(RelationMap *map, SyncRelation *entry, Relation relation, XLogRecPtr lsn);

/* Only look whether columns have changed, as of lsn. */
extern void relation_map_check(RelationMap *map, const SyncTable *table, Relation relation, XLogRecPtr lsn, bool with_key);

/* Raise the change, after which the map's owner follows it. */
pg_noreturn extern void relation_map_raise(RelationMap *map, ColumnChange *change, XLogRecPtr lsn);

/* What the publication publishes.  While decoding. */
extern const PublicationActions *relation_map_actions(RelationMap *map);

/* ERROR unless the lake table is still the one that was opened. */
extern void sync_target_check_lake(const SyncTarget *target);

/* Its key's fields: empty for append tables. */
extern const int *sync_target_key(const SyncTarget *target, int *nkeys);

/* The key of a row as bytes, in CurrentMemoryContext. */
extern BytesView sync_target_key_bytes(const SyncTarget *target, const Scalar *row);

#endif							/* STREAMHOUSE_SYNC_RELATION_MAP_H */
