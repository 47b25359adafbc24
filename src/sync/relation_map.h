/*
 * relation_map.h
 *		The tables of a sync: source relation on one side, lake table on the other.
 *
 * The lake table's fields are the source's columns by attribute number, as
 * they were when the sync was created.  Whenever the source's definition
 * may have changed the columns are compared again, before the next row.
 */
#ifndef STREAMHOUSE_SYNC_RELATION_MAP_H
#define STREAMHOUSE_SYNC_RELATION_MAP_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "utils/hsearch.h"
#include "utils/rel.h"

#include "fdw/types.h"
#include "lake/table.h"
#include "lake/writer.h"
#include "sync/sync_catalog.h"

struct ToastQueue;

typedef struct SyncTable
{
	Oid			relid;			/* hash key */
	const SyncTableRecord *record;
	LakeTable  *lake;
	XLogRecPtr	applied;		/* transactions that end here or before are in the lake */
	int64		snapshot_id;	/* newest of the sync's, or 0 if it has expired */
	UnrepresentablePolicy on_unrepresentable;
	bool		checked;		/* columns compared since the last invalidation */
	ColumnEncoder *encoders;	/* by field */
	MemoryContext encoder_context;	/* what they have allocated */
	int		   *order;			/* of the fields, when a row is encoded */

	/* rows not yet in the lake */
	TableWriter *writer;		/* NULL until the first row */
	bool		pending;		/* the next flush commits this table */
	int64		pending_rows;
	struct ToastQueue *queue;	/* rows that wait for values from the lake, or NULL */

	/* room for the row at work on */
	int			natts;			/* of values and nulls */
	Datum	   *values;
	bool	   *nulls;
	Scalar	   *row;			/* by field */
	Scalar	   *old_row;
	const Scalar *named_row;	/* of these two, the one being encoded, once its key is; or NULL */
	bool	   *missing;		/* fields of row that are unchanged and not at hand */
} SyncTable;

/* All tables of the sync, opened in the lake; hash by relid, in CurrentMemoryContext. */
extern HTAB *relation_map_create(const SyncRecord *sync, const char *warehouse);

/* ERROR unless the lake table is still the one that was opened. */
extern void sync_table_check_lake(const SyncTable *table);

/* Compare the columns, if they may have changed; ERROR when they differ. */
extern void sync_table_check(SyncTable *table, Relation relation);

/* Its key's fields: empty for append tables. */
extern const int *sync_table_key(const SyncTable *table, int *nkeys);

/* The key of a row as bytes, in CurrentMemoryContext. */
extern BytesView sync_table_key_bytes(const SyncTable *table, const Scalar *row);

#endif							/* STREAMHOUSE_SYNC_RELATION_MAP_H */
