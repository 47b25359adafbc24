/*
 * column_follow.c
 *		The lake and the catalog follow a change of columns, or the table is paused.
 *
 * The lake table changes first, then the catalog; after a crash in between,
 * the stream meets the change again, and finds the lake as it should be.  A
 * table that is to be copied is marked first; its lake table changes before
 * the copy.
 */
#include "postgres.h"

#include "access/table.h"
#include "utils/snapmgr.h"

#include "sync/column_change.h"
#include "sync/mirror.h"
#include "sync/published.h"
#include "sync/shared_target.h"

void
column_change_publish(const LakeTable *lake, const TableSchema *schema)
{
	if (schema && !schema_publish(lake->location, schema))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("lake table \"%s\" got another schema at the same time", lake->name)));
}

static void
pause_table(const SyncRecord *sync, const ColumnChange *change)
{
	ereport(LOG,
			(errmsg("sync \"%s\" pauses table \"%s\" at %X/%X: its columns have changed",
					sync->name, change->record->source_name, LSN_FORMAT_ARGS(change->commit_lsn)),
			 errdetail_internal("%s", change->reason)));
	sync_catalog_pause_table(sync->name, change->record, change->commit_lsn,
							 psprintf("columns have changed: %s Changes from here on are not taken: %s.", change->reason,
									  change->cure ? change->cure : "call streamhouse.resync_table"));
}

static void
leave_table(const SyncRecord *sync, const SyncTableRecord *record)
{
	ereport(LOG,
			(errmsg("sync \"%s\" leaves table \"%s\", which was dropped", sync->name, record->source_name),
			 errdetail("The lake table \"%s\" stays.", record->lake_table)));
	sync_catalog_remove_table(sync->name, record);
	if (OidIsValid(record->remote_table))
		mirror_drop(record);
}

static void
follow_columns(const SyncRecord *sync, const ColumnChange *change, const char *warehouse)
{
	column_change_publish(lake_table_open(warehouse, sync->database, change->record->lake_table, false), change->schema);
	sync_catalog_set_columns(sync->name, change->record, change->columns, change->ncolumns, change->column_list, change->lsn);
	if (change->reason)
		ereport(LOG,
				(errmsg("sync \"%s\" follows a change of columns of table \"%s\"", sync->name, change->record->source_name),
				 errdetail_internal("%s", change->reason)));
}

/* What the mirror's change asks for, now that it is made; NULL: nothing. */
static ColumnChange *
change_of_mirror(const SyncRecord *sync, SyncTableRecord *record, const RemoteLayout *layout, const RemoteTable *table,
				 const char *warehouse)
{
	MirrorChange made = mirror_follow(sync, record, table);
	LakeTable  *lake = lake_table_open(warehouse, sync->database, record->lake_table, false);
	Relation	mirror = table_open(record->source, AccessShareLock);
	AttrNumber *numbers = palloc(sizeof(AttrNumber) * layout->ncolumns);
	ColumnChangeKind more = CHANGE_NONE;
	char	   *reason = NULL;
	ColumnChange *change;

	if (made.pause)
	{
		more = CHANGE_PAUSE;
		reason = made.pause;
	}
	else if (!mirror_match(record, mirror, layout, numbers))
	{
		/* the catalogs do not tell any more what the rows have that come now */
		more = CHANGE_COPY;
		reason = "Columns have changed at the source more than once.";
	}
	else if (made.copy && sync->on_schema_change != SCHEMA_CHANGE_IGNORE)
	{
		more = CHANGE_COPY;
		reason = made.copy;
	}
	change = column_change_find_more(sync, record, lake->schema, mirror, more, reason);
	table_close(mirror, AccessShareLock);
	return change;
}

/* Let the mirror be as the source is, and then the lake as the mirror is. */
static void
follow_source(const SyncRecord *sync, const ColumnChange *change, const char *warehouse)
{
	SyncTableRecord *record = unconstify(SyncTableRecord *, change->record);
	RemoteTable *table = remote_table(remote_session(sync), sync->publication, record->remote_table);
	ColumnChange *next;

	if (table == NULL)
	{
		leave_table(sync, record);
		return;
	}
	next = change_of_mirror(sync, record, change->layout, table, warehouse);
	if (next == NULL)
		return;
	next->lsn = change->lsn;
	next->commit_lsn = change->commit_lsn;
	if (next->kind == CHANGE_STOP)
		column_change_raise(next);
	column_change_follow(sync, next, warehouse);
}

void
column_change_follow(const SyncRecord *sync, const ColumnChange *change, const char *warehouse)
{
	switch (change->kind)
	{
		case CHANGE_MIRROR:
			follow_source(sync, change, warehouse);
			break;
		case CHANGE_FOLLOW:
			follow_columns(sync, change, warehouse);
			break;
		case CHANGE_COPY:
			ereport(LOG,
					(errmsg("sync \"%s\" copies table \"%s\" again", sync->name, change->record->source_name),
					 errdetail_internal("%s", change->reason)));
			sync_catalog_copy_again(sync->name, change->record);
			break;
		case CHANGE_PAUSE:
			pause_table(sync, change);
			break;
		case CHANGE_DROPPED:
			leave_table(sync, change->record);
			break;
		case CHANGE_NONE:
		case CHANGE_STOP:
			break;
	}
}

/* What the source has now is what the record says from now on. */
static void
take_columns(const SyncRecord *sync, SyncTableRecord *record, AttrNumber *columns, int ncolumns, bool column_list)
{
	sync_catalog_set_columns(sync->name, record, columns, ncolumns, column_list, InvalidXLogRecPtr);
	record->columns = columns;
	record->ncolumns = ncolumns;
	record->column_list = column_list;
	record->schema_lsn = InvalidXLogRecPtr;
}

/*
 * There is no lake table, or none of ours: one is made of the published columns.  Or it
 * is shared with others, whose columns these have to go with.
 */
static void
begin_anew(const SyncRecord *sync, SyncTableRecord *record, const LakeTable *lake, Relation source)
{
	const Publication *publication = published_find(sync);
	SyncTableRecord anew = *record;
	const TableSchema *schema;

	anew.columns = published_columns(publication, source, &anew.ncolumns);
	schema = record->shard ? shared_target_schema(sync, record, lake) : NULL;
	if (schema)
		shared_target_match(source, &anew, schema, lake != NULL);
	take_columns(sync, record, anew.columns, anew.ncolumns, published_has_column_list(publication, source));
}

/* Are the columns known of which the lake table, if there is one, has our rows? */
static bool
is_known(const SyncRecord *sync, const SyncTableRecord *record, const LakeTable *lake)
{
	if (lake == NULL)
		return false;
	return record->shard ? record->ncolumns > 0 : snapshot_latest_of_user(lake->location, sync->slot, 0) != NULL;
}

static bool
align(const SyncRecord *sync, SyncTableRecord *record, const LakeTable *lake, Relation source)
{
	ColumnChange *change = column_change_before_copy(sync, record, lake->schema, source);

	if (change && change->kind == CHANGE_PAUSE)
	{
		pause_table(sync, change);
		return false;
	}
	if (change)
	{
		column_change_publish(lake, change->schema);
		take_columns(sync, record, change->columns, change->ncolumns, change->column_list);
	}
	return true;
}

/* The mirror of a table elsewhere becomes as the source is now; false when that is not there any more. */
static bool
align_mirror(const SyncRecord *sync, SyncTableRecord *record)
{
	RemoteTable *table = remote_table(remote_session(sync), sync->publication, record->remote_table);

	if (table)
		(void) mirror_follow(sync, record, table);
	return table != NULL;
}

bool
column_change_align(const SyncRecord *sync, SyncTableRecord *record, const char *warehouse)
{
	bool		there = !OidIsValid(record->remote_table) || align_mirror(sync, record);
	Relation	source = there ? try_table_open(record->source, AccessShareLock) : NULL;
	LakeTable  *lake;
	bool		aligned = true;

	if (source == NULL)
	{
		leave_table(sync, record);
		return false;
	}
	lake = lake_table_open(warehouse, sync->database, record->lake_table, true);
	if (!is_known(sync, record, lake))
		begin_anew(sync, record, lake, source);
	if (lake && is_known(sync, record, lake))
		aligned = align(sync, record, lake, source);
	table_close(source, AccessShareLock);
	return aligned;
}
