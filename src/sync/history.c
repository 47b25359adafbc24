/*
 * history.c
 *		Tables that keep every change: a row for each, with what it was and when.
 *
 * They are append tables, so no row is ever looked up: sources need no key,
 * only what makes the WAL tell of the rows (REPLICA IDENTITY FULL for all of
 * an old row).
 */
#include "postgres.h"

#include "compat.h"
#include "sync/decoded_row.h"
#include "sync/history.h"
#include "sync/shared_target.h"

static void
append_described(SyncStream *stream, SyncTable *table, const char *kind)
{
	apply_metadata(stream, table, table->row, kind);
	apply_row(stream, table, ROW_INSERT, table->row);
	stream->transaction_used = true;
}

/* A row as the WAL has it: of an old one perhaps only the columns that identify it. */
static void
append_row(SyncStream *stream, SyncRelation *source, const char *kind, const TupleTableSlot *slot)
{
	SyncTable  *table = source->table;
	int			n;

	for (n = 0; n < source->rows->nfields; n++)
	{
		if (row_source_is_out_of_reach(source->rows, n, slot))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("the history of table \"%s\" lacks values of an update", source->rows->name),
					 errdetail("Unchanged TOAST values are not in the WAL."),
					 errhint("Set REPLICA IDENTITY FULL for the table, drop the sync and its lake tables, and create the sync again.")));
		row_source_encode(source->rows, n, slot, table->row);
	}
	append_described(stream, table, kind);
}

static void
append_update(SyncStream *stream, SyncRelation *source, const ReorderBufferChange *change)
{
	bool		has_old = compat_old_tuple(change) != NULL;
	UpdatePassage passage = change_load_update(source, compat_old_tuple(change), compat_new_tuple(change));

	if (passage.before && has_old)
		append_row(stream, source, passage.after ? "-U" : "-D", source->old_slot);
	if (passage.after)
		append_row(stream, source, passage.before ? "+U" : "+I", source->new_slot);
}

void
history_apply(SyncStream *stream, SyncRelation *source, const ReorderBufferChange *change)
{
	switch (change->action)
	{
		case REORDER_BUFFER_CHANGE_INSERT:
			if (change_load(source, source->new_slot, compat_new_tuple(change)))
				append_row(stream, source, "+I", source->new_slot);
			break;
		case REORDER_BUFFER_CHANGE_UPDATE:
			append_update(stream, source, change);
			break;
		case REORDER_BUFFER_CHANGE_DELETE:
			change_require_old_tuple(source->table, compat_old_tuple(change));
			if (change_load(source, source->old_slot, compat_old_tuple(change)))
				append_row(stream, source, "-D", source->old_slot);
			break;
		default:
			elog(ERROR, "unexpected change of kind %d", (int) change->action);
	}
}

void
history_truncate(SyncStream *stream, SyncRelation *source)
{
	SyncTable  *table = source->table;
	int			i;

	for (i = 0; i < row_field_count(table->lake->schema, table->record); i++)
		table->row[i].isnull = true;
	if (table->record->shard)
		shared_target_set_shard(table->record, table->lake->schema, table->row);
	append_described(stream, table, "T");
}
