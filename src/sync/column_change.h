/*
 * column_change.h
 *		Columns of a source that have changed since the lake table was made.
 *
 * Whether they have is asked when a relation is decoded, so the answer is of
 * that moment, and so is all that is remembered of it.  Columns that were
 * added are added to the lake table; those that were dropped stay there, and
 * are null from then on; everything else pauses the table.
 */
#ifndef STREAMHOUSE_SYNC_COLUMN_CHANGE_H
#define STREAMHOUSE_SYNC_COLUMN_CHANGE_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "utils/rel.h"

#include "lake/table.h"
#include "sync/sync_catalog.h"

typedef struct ColumnChange
{
	const SyncTableRecord *record;
	char	   *problem;		/* why it cannot be followed, or NULL */
	bool		column_list;	/* for the record from now on */
	int			nadded;
	AttrNumber *numbers;		/* of the columns that were added */
	DataField  *fields;			/* and what they are in the lake */
	XLogRecPtr	commit_lsn;		/* of the transaction that met it */
} ColumnChange;

/* Fields of a lake table that are filled from the source. */
extern int	source_field_count(const TableSchema *schema, bool history);

/* The source's column of a field, or 0 when the source has none (any more, or yet). */
extern AttrNumber source_column_of_field(const SyncTableRecord *record, TupleDesc source, int field);

/* NULL when the lake table's schema still fits.  Allocates in CurrentMemoryContext. */
extern ColumnChange *column_change_find(const SyncRecord *sync, const SyncTableRecord *record,
										const TableSchema *schema, Relation source);

/* As an ERROR. */
extern void column_change_raise(const ColumnChange *change);

/*
 * Let the lake and the catalog follow it, or pause the table in the catalog.
 * All of the table up to the change must be in the lake.  In a transaction.
 */
extern void column_change_follow(const SyncRecord *sync, const ColumnChange *change, const char *warehouse);

#endif							/* STREAMHOUSE_SYNC_COLUMN_CHANGE_H */
