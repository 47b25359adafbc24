/*
 * copy_target.c
 *		The lake table that a copy goes to, as it is when the copy begins.
 */
#include "postgres.h"

#include "access/table.h"
#include "utils/rel.h"

#include "lake/writer.h"
#include "sync/column_change.h"
#include "sync/copy_target.h"
#include "sync/mirror.h"
#include "sync/shared_target.h"
#include "sync/source.h"
#include "sync/stream.h"

/* The newest schema of the lake table, -1 when there is none. */
static int64
schema_of_target(const CopyTable *table)
{
	LakeTable  *lake = lake_table_open(table->warehouse, table->sync->database, table->record->lake_table, true);

	return lake ? lake->schema->id : -1;
}

/*
 * Are columns and lake table as they were known before the snapshot?  They are
 * from now on.
 */
static bool
columns_are_known(const CopyTable *table)
{
	SyncTableRecord record = *table->record;
	int64		schema = schema_of_target(table);

	return column_change_align(table->sync, &record, table->warehouse) &&
		mirror_is_same(&record, table->record) && record.ncolumns == table->record->ncolumns &&
		memcmp(record.columns, table->record->columns, sizeof(AttrNumber) * record.ncolumns) == 0 &&
		schema_of_target(table) == schema;
}

/*
 * A crash may have kept the lake table, which the sync made or found fit, from
 * its first snapshot; the source may have got other columns since.
 */
static LakeTable *
follow_without_rows(const CopyTable *table, Relation source, LakeTable *lake)
{
	TableSchema *schema = source_other_schema(source, table->record, lake);

	if (schema == NULL)
		return lake;
	column_change_publish(lake, schema);
	return lake_table_open(table->warehouse, table->sync->database, table->record->lake_table, false);
}

static LakeTable *
open_target(const CopyTable *table, Relation source)
{
	const SyncRecord *sync = table->sync;
	const SyncTableRecord *record = table->record;
	LakeTable  *lake = lake_table_open(table->warehouse, sync->database, record->lake_table, true);
	const TableSchema *schema = NULL;

	if (lake == NULL && record->shard)
		schema = shared_target_schema(sync, record, NULL);
	if (lake == NULL)
		return lake_table_create(table->warehouse, sync->database, record->lake_table,
								 schema ? schema : source_lake_schema(source, record, sync_table_options(sync, record)));
	/* a table that the sync has filled is as the source is, and the columns of a shared one have been matched */
	if (record->shard || snapshot_latest_of_user(lake->location, sync->slot, 0) != NULL)
		return lake;
	if (snapshot_latest_id(lake->location) == 0)
		lake = follow_without_rows(table, source, lake);
	(void) source_check_target(source, record, lake, sync->slot);
	return lake;
}

/* Is another source of the same lake table followed from a position of its own? */
static bool
others_have_begun(const CopyTable *table)
{
	ListCell   *cell;

	foreach(cell, table->sync->tables)
	{
		const SyncTableRecord *other = lfirst(cell);

		if (other != table->record && !XLogRecPtrIsInvalid(other->base) && strcmp(other->lake_table, table->record->lake_table) == 0)
			return true;
	}
	return false;
}

/*
 * The lake has what comes by the stream up to the copy's position.  If there are other sources that
 * stays where it is: the table's own base is further on.  What readers find is
 * whole up to where the lake was, whatever the table has missed since.
 */
static void
set_position(const CopyTable *table, LakeTable *lake, CommitInfo *info)
{
	bool		shared = table->record->shard != NULL;
	LakeSnapshot *newest = snapshot_latest_of_user(lake->location, table->sync->slot, 0);
	XLogRecPtr	there = newest ? (XLogRecPtr) newest->commit_identifier : InvalidXLogRecPtr;

	apply_commit_info(info, table->sync, newest ? Min(there, table->position) : table->position, true, shared);
	if (shared)
		info->properties = lappend(info->properties, option_pair_make(SNAPSHOT_COPIED_PROPERTY,
																	  psprintf("%X/%X", LSN_FORMAT_ARGS(table->position))));
	info->commit_identifier = (int64) (shared && others_have_begun(table) ? there : table->position);
}

static void
commit_empty(const CopyTable *table, LakeTable *lake)
{
	const SyncTableRecord *record = table->record;
	TableWriter *writer = table_writer_open(lake, EMPTY_WRITER_MEMORY);
	CommitInfo	info;

	if (record->shard)
		table_writer_clear_partitions(writer, shared_target_condition(record, lake->schema));
	else
		table_writer_truncate(writer);
	set_position(table, lake, &info);
	info.properties = list_concat(info.properties, copy_base_properties(record));
	(void) table_writer_commit(writer, &info);
	table_writer_close(writer);
}

bool
copy_target_begin(const CopyTable *table)
{
	Relation	source;

	if (!columns_are_known(table))
		return false;
	source = table_open(table->record->source, AccessShareLock);
	commit_empty(table, open_target(table, source));
	sync_catalog_set_base(table->record, table->position);
	table_close(source, AccessShareLock);
	return true;
}

bool
copy_columns_fit(const CopyTable *table)
{
	RemoteTable *definition = remote_table(remote_session(table->sync), table->sync->publication, table->record->remote_table);
	Relation	mirror = table_open(table->record->source, AccessShareLock);
	bool		fits = definition && mirror_fits(table->record, mirror, definition);

	table_close(mirror, AccessShareLock);
	return fits;
}
