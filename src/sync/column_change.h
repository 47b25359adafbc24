/*
 * column_change.h
 *		Columns of a source that are not those of its lake table any more.
 *
 * Whether they have changed is asked when a relation is decoded, or a message
 * that says so (table_message.h); the answer is of that moment, and so is all
 * that is remembered of it.  What becomes of a change is the sync's policy;
 * column_follow.c does it.
 */
#ifndef STREAMHOUSE_SYNC_COLUMN_CHANGE_H
#define STREAMHOUSE_SYNC_COLUMN_CHANGE_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "utils/rel.h"

#include "compat.h"
#include "lake/table.h"
#include "sync/sync_catalog.h"

/* What a change asks for; of several the last one in this order. */
typedef enum ColumnChangeKind
{
	CHANGE_NONE,
	CHANGE_FOLLOW,				/* another schema in the lake, other columns in the record */
	CHANGE_MIRROR,				/* the mirror is not as the source is: then it is known what is asked for */
	CHANGE_COPY,				/* rows that exist have other values: the table is copied again */
	CHANGE_PAUSE,				/* the table is paused */
	CHANGE_STOP,				/* the sync fails */
	CHANGE_DROPPED				/* the table is not there any more */
} ColumnChangeKind;

typedef struct ColumnChange
{
	const SyncTableRecord *record;
	ColumnChangeKind kind;
	char	   *reason;			/* sentences; NULL when there is nothing to tell */
	char	   *cure;			/* of a pause or stop; what to do, without full stop */
	TableSchema *schema;		/* of the lake table from now on; NULL: it stays */
	int			ncolumns;		/* of the record from now on */
	AttrNumber *columns;
	bool		column_list;
	const struct RemoteLayout *layout;	/* of CHANGE_MIRROR: what the rows of the source have */
	XLogRecPtr	lsn;			/* of the row or message that met it */
	XLogRecPtr	commit_lsn;		/* of its transaction */
} ColumnChange;

/* Fields of a lake table that are columns of the source; those of all of a row, without metadata. */
extern int	source_field_count(const TableSchema *schema, const SyncTableRecord *record);
extern int	row_field_count(const TableSchema *schema, const SyncTableRecord *record);

/* Are all values of one type, as readers of older files get them, the same in the other? */
extern bool column_type_is_wider(const DataType *from, const DataType *to);

/* The source's column of a field, or 0 when the source has none (any more, or yet). */
extern AttrNumber source_column_of_field(const SyncTableRecord *record, TupleDesc source, int field);

/*
 * NULL when the lake table still fits, as the policy has it.  The key matters
 * only to rows: with_key.  Allocates in CurrentMemoryContext.
 */
extern ColumnChange *column_change_find(const SyncRecord *sync, const SyncTableRecord *record,
										const TableSchema *schema, Relation source, bool with_key);

/* The same, and something else is asked for that nobody can see in the columns. */
extern ColumnChange *column_change_find_more(const SyncRecord *sync, const SyncTableRecord *record, const TableSchema *schema,
											 Relation source, ColumnChangeKind kind, char *reason);

/* The same for a table that will be copied anyway: its values in the lake do not matter. */
extern ColumnChange *column_change_before_copy(const SyncRecord *sync, const SyncTableRecord *record,
											   const TableSchema *schema, Relation source);

/* Values in rows that exist have changed, of some columns (attribute numbers); NULL when the lake has none of them. */
extern ColumnChange *column_change_of_values(const SyncRecord *sync, const SyncTableRecord *record, TupleDesc source,
											 List *numbers);

/* A change that asks for something, whatever the columns are. */
extern ColumnChange *column_change_make(const SyncTableRecord *record, ColumnChangeKind kind, char *reason);

/*
 * May the lake's rows be replaced by the source's without being asked?  The
 * reason why not, or NULL.
 */
extern const char *column_change_copy_obstacle(const SyncRecord *sync, const SyncTableRecord *record);

/* As an ERROR. */
pg_noreturn extern void column_change_raise(const ColumnChange *change);

/* column_follow.c */

/* The schema is the lake table's newest from now on; NULL: nothing changes. */
extern void column_change_publish(const LakeTable *lake, const TableSchema *schema);

/*
 * Let the lake and the catalog follow, or mark the table in the catalog.  All
 * of the table up to the change must be in the lake.  In a transaction.
 */
extern void column_change_follow(const SyncRecord *sync, const ColumnChange *change, const char *warehouse);

/*
 * Bring the lake table of a table that is to be copied, if it is there, into
 * the form that the source has now; the record follows.  False when that
 * cannot be: then the table is paused, or has left the sync.  In a transaction.
 */
extern bool column_change_align(const SyncRecord *sync, SyncTableRecord *record, const char *warehouse);

#endif							/* STREAMHOUSE_SYNC_COLUMN_CHANGE_H */
