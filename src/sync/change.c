/*
 * change.c
 *		A decoded change becomes rows of the lake: +I, +U, -D.
 *
 * What the WAL has of the old row depends on the replica identity: the key, if
 * it was changed or is stored out of line, or all of it (FULL).  A delete with
 * the key alone is written with the other columns null; where deleted rows
 * stay in the lake, these are taken from there.
 */
#include "postgres.h"

#include "catalog/pg_class.h"

#include "compat.h"
#include "sync/decoded_row.h"
#include "sync/history.h"
#include "sync/stream.h"
#include "sync/streamed.h"
#include "sync/toast.h"

bool
change_load(const SyncRelation *source, TupleTableSlot *slot, HeapTuple tuple)
{
	decoded_row_store(slot, tuple);
	return row_source_passes(source->rows, slot);
}

/* Without the old row nothing of it has changed that the filter looks at. */
UpdatePassage
change_load_update(const SyncRelation *source, HeapTuple old_tuple, HeapTuple new_tuple)
{
	UpdatePassage passage;

	decoded_row_store_update(source->new_slot, source->old_slot, new_tuple, old_tuple);
	passage.after = row_source_passes(source->rows, source->new_slot);
	passage.before = old_tuple ? row_source_passes(source->rows, source->old_slot) : passage.after;
	return passage;
}

/* The new row; true when fields are missing. */
static bool
decode_new_row(SyncRelation *source)
{
	SyncTable  *table = source->table;
	bool		incomplete = false;
	int			n;

	for (n = 0; n < source->rows->nfields; n++)
	{
		int			field = source->rows->order[n];

		table->missing[field] = row_source_is_out_of_reach(source->rows, field, source->new_slot);
		if (table->missing[field])
		{
			table->row[field].isnull = true;
			incomplete = true;
		}
		else
			row_source_encode(source->rows, n, source->new_slot, table->row);
	}
	return incomplete;
}

/* The old row: all of it, or its key with nulls beside. */
static void
decode_old_row(SyncRelation *source, bool full)
{
	SyncTable  *table = source->table;
	int			nkeys = table->lake->schema->nprimary_keys;
	int			n;

	for (n = 0; n < source->rows->nfields; n++)
	{
		if (full || n < nkeys)
			row_source_encode(source->rows, n, source->old_slot, table->old_row);
		else
			table->old_row[source->rows->order[n]].isnull = true;
	}
}

/* By bytes, as buckets are chosen: equal floats such as 0 and -0 may lie in different ones. */
static bool
key_differs(const SyncTable *table)
{
	BytesView	new_key = sync_target_key_bytes(table->target, table->row);
	BytesView	old_key = sync_target_key_bytes(table->target, table->old_row);

	return new_key.length != old_key.length || memcmp(new_key.data, old_key.data, new_key.length) != 0;
}

/* A change of a row that exists cannot be written to a table without key. */
static void
require_key(const SyncTable *table, const char *operation)
{
	if (!table->lake->has_primary_key)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot replicate %s of table \"%s\", which has no primary key", operation, table->record->source_name),
				 errhint("Add a primary key and create the sync again, or publish only inserts.")));
}

void
change_require_old_tuple(const SyncTable *table, HeapTuple tuple)
{
	if (tuple == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a delete from table \"%s\" does not say which row", table->record->source_name),
				 errhint("Give the table a replica identity with ALTER TABLE ... REPLICA IDENTITY, and create the sync again.")));
}

static void
require_whole_row(const SyncTable *table, bool incomplete)
{
	if (incomplete)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a row that is new to the lake lacks values in table \"%s\"", table->record->source_name),
				 errdetail("An update brought it into the row filter; its unchanged TOAST values are not in the WAL."),
				 errhint("Set REPLICA IDENTITY FULL for the table, drop the sync and its lake tables, and create the sync again.")));
}

/*
 * Write the row.  old_row: its key was another one before.  missing: fields that are not at hand, or NULL.
 */
static void
change_row(SyncStream *stream, SyncTable *table, RowKind kind, Scalar *old_row, Scalar *row,
		   const bool *missing)
{
	stream->transaction_used = true;
	apply_metadata(stream, table, row, kind == ROW_INSERT ? "+I" : kind == ROW_UPDATE_AFTER ? "+U" : "-D");
	if (old_row)
		apply_metadata(stream, table, old_row, "-D");
	if (stream->in_progress && missing)
		streamed_give_up(stream, kind == ROW_DELETE ? "deletes rows that stay in the lake" : "leaves large values unchanged");
	if (!stream->in_progress && toast_queue_take(stream, table, kind, old_row, row, missing))
		return;
	apply_change(stream, table, kind, old_row, row);
}

static void
apply_insert(SyncStream *stream, SyncRelation *source, HeapTuple new_tuple)
{
	if (!change_load(source, source->new_slot, new_tuple))
		return;
	if (decode_new_row(source))
		elog(ERROR, "an inserted row of table \"%s\" lacks values", source->rows->name);
	change_row(stream, source->table, ROW_INSERT, NULL, source->table->row, NULL);
}

static void
delete_old_row(SyncStream *stream, SyncRelation *source, bool full)
{
	SyncTable  *table = source->table;

	decode_old_row(source, full);
	change_row(stream, table, ROW_DELETE, NULL, table->old_row,
			   sync_table_keeps_deleted(table->record) && !full ? table->beside_key : NULL);
}

/* An update of a row that is replicated before and after. */
static void
apply_inner_update(SyncStream *stream, SyncRelation *source, bool full, bool has_old)
{
	SyncTable  *table = source->table;
	bool		incomplete = decode_new_row(source);
	bool		moved = false;

	if (has_old)
	{
		decode_old_row(source, false);
		moved = key_differs(table);
	}
	if (moved && sync_table_keeps_deleted(table->record))
	{
		delete_old_row(stream, source, full);
		if (table->target->deferred)
			return;
		decode_old_row(source, false);
	}
	change_row(stream, table, ROW_UPDATE_AFTER, moved ? table->old_row : NULL, table->row,
			   incomplete ? table->missing : NULL);
}

/* An update may bring a row into the filter, or out of it: an insert or a delete for the lake. */
static void
apply_update(SyncStream *stream, SyncRelation *source, bool full, HeapTuple old_tuple, HeapTuple new_tuple)
{
	SyncTable  *table = source->table;
	UpdatePassage passage;

	require_key(table, "an update");
	passage = change_load_update(source, old_tuple, new_tuple);
	if (passage.before && passage.after)
		apply_inner_update(stream, source, full, old_tuple != NULL);
	else if (passage.before)
		delete_old_row(stream, source, full);
	else if (passage.after)
	{
		require_whole_row(table, decode_new_row(source));
		change_row(stream, table, ROW_INSERT, NULL, table->row, NULL);
	}
}

static void
apply_delete(SyncStream *stream, SyncRelation *source, bool full, HeapTuple old_tuple)
{
	require_key(source->table, "a delete");
	change_require_old_tuple(source->table, old_tuple);
	if (change_load(source, source->old_slot, old_tuple))
		delete_old_row(stream, source, full);
}

static void
apply_to_rows(SyncStream *stream, SyncRelation *source, bool full, const ReorderBufferChange *change)
{
	switch (change->action)
	{
		case REORDER_BUFFER_CHANGE_INSERT:
			apply_insert(stream, source, compat_new_tuple(change));
			break;
		case REORDER_BUFFER_CHANGE_UPDATE:
			apply_update(stream, source, full, compat_old_tuple(change), compat_new_tuple(change));
			break;
		case REORDER_BUFFER_CHANGE_DELETE:
			apply_delete(stream, source, full, compat_old_tuple(change));
			break;
		default:
			elog(ERROR, "unexpected change of kind %d", (int) change->action);
	}
}

static void
change_error_context(void *arg)
{
	const SyncRelation *source = arg;

	errcontext("change of table \"%s\"%s", source->table->record->source_name,
			   source->rows ? row_source_describe(source->rows) : "");
}

void
change_apply(SyncStream *stream, SyncRelation *source, Relation relation, const ReorderBufferChange *change)
{
	ErrorContextCallback callback;

	callback.callback = change_error_context;
	callback.arg = source;
	callback.previous = error_context_stack;
	error_context_stack = &callback;

	relation_map_prepare(stream->map, source, relation, change->lsn);
	stream->change_lsn = change->lsn;
	if (source->table->record->history)
		history_apply(stream, source, change);
	else
		apply_to_rows(stream, source, relation->rd_rel->relreplident == REPLICA_IDENTITY_FULL, change);
	error_context_stack = callback.previous;
}
