/*
 * change.c
 *		A decoded change becomes rows of the lake: +I, +U, -D.
 *
 * What the WAL has of the old row depends on the replica identity: the key, if
 * it was changed or is stored out of line, or all of it (FULL).  A delete with
 * the key alone is written with the other columns null.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "utils/memutils.h"

#include "compat.h"
#include "sync/source.h"
#include "sync/stream.h"
#include "sync/toast.h"

static inline Form_pg_attribute
field_attribute(const SyncTable *table, TupleDesc desc, int field)
{
	return TupleDescAttr(desc, table->record->columns[field] - 1);
}

/* Is the deformed tuple's value of a field one that lies unchanged in the TOAST table? */
static inline bool
field_is_out_of_reach(const SyncTable *table, TupleDesc desc, int field)
{
	int			column = table->record->columns[field] - 1;

	return !table->nulls[column] && field_attribute(table, desc, field)->attlen == -1 &&
		VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(table->values[column]));
}

static inline void
encode_field(SyncTable *table, int field, Scalar *row)
{
	int			column = table->record->columns[field] - 1;

	column_encode(&table->encoders[field], table->values[column], table->nulls[column], &row[field]);
}

/* The new row; true when fields are missing. */
static bool
decode_new_row(SyncTable *table, TupleDesc desc, HeapTuple tuple)
{
	bool		incomplete = false;
	int			n;

	heap_deform_tuple(tuple, desc, table->values, table->nulls);
	for (n = 0; n < table->record->ncolumns; n++)
	{
		int			field = table->order[n];

		table->named_row = n >= table->lake->schema->nprimary_keys ? table->row : NULL;
		table->missing[field] = field_is_out_of_reach(table, desc, field);
		if (table->missing[field])
		{
			table->row[field].isnull = true;
			incomplete = true;
		}
		else
			encode_field(table, field, table->row);
	}
	table->named_row = NULL;
	return incomplete;
}

/* The old row: all of it, or its key with nulls beside. */
static void
decode_old_row(SyncTable *table, TupleDesc desc, HeapTuple tuple, bool full)
{
	int			nkeys = table->lake->schema->nprimary_keys;
	int			n;

	heap_deform_tuple(tuple, desc, table->values, table->nulls);
	for (n = 0; n < table->record->ncolumns; n++)
	{
		int			field = table->order[n];

		table->named_row = n >= nkeys ? table->old_row : NULL;
		if (full || n < nkeys)
			encode_field(table, field, table->old_row);
		else
			table->old_row[field].isnull = true;
	}
	table->named_row = NULL;
}

/* Fields missing in the new row that the old one has; false when none is left missing. */
static bool
complete_from_old_row(SyncTable *table, bool full)
{
	int			nkeys;
	const int  *key = sync_table_key(table, &nkeys);
	bool		incomplete = false;
	int			i;

	for (i = 0; i < nkeys; i++)
	{
		if (table->missing[key[i]])
			table->row[key[i]] = table->old_row[key[i]];
		table->missing[key[i]] = false;
	}
	for (i = 0; i < table->record->ncolumns; i++)
	{
		if (table->missing[i] && full)
		{
			table->row[i] = table->old_row[i];
			table->missing[i] = false;
		}
		incomplete |= table->missing[i];
	}
	return incomplete;
}

/* By bytes, as buckets are chosen: equal floats such as 0 and -0 may lie in different ones. */
static bool
key_differs(const SyncTable *table)
{
	BytesView	new_key = sync_table_key_bytes(table, table->row);
	BytesView	old_key = sync_table_key_bytes(table, table->old_row);

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

static void
require_old_tuple(const SyncTable *table, HeapTuple tuple)
{
	if (tuple == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a delete from table \"%s\" does not say which row", table->record->source_name),
				 errhint("Give the table a replica identity with ALTER TABLE ... REPLICA IDENTITY, and create the sync again.")));
}

static void
change_row(SyncStream *stream, SyncTable *table, RowKind kind, const Scalar *old_row, const Scalar *row,
		   const bool *missing)
{
	if (toast_queue_take(stream, table, kind, old_row, row, missing))
		return;
	if (old_row)
		apply_row(stream, table, ROW_DELETE, old_row);
	apply_row(stream, table, kind, row);
}

static void
apply_insert(SyncStream *stream, SyncTable *table, Relation relation, HeapTuple new_tuple)
{
	if (decode_new_row(table, RelationGetDescr(relation), new_tuple))
		elog(ERROR, "an inserted row of table \"%s\" lacks values", table->record->source_name);
	change_row(stream, table, ROW_INSERT, NULL, table->row, NULL);
}

static void
apply_update(SyncStream *stream, SyncTable *table, Relation relation, HeapTuple old_tuple, HeapTuple new_tuple)
{
	TupleDesc	desc = RelationGetDescr(relation);
	bool		full = relation->rd_rel->relreplident == REPLICA_IDENTITY_FULL;
	bool		incomplete;
	bool		moved = false;

	require_key(table, "an update");
	incomplete = decode_new_row(table, desc, new_tuple);
	if (old_tuple)
	{
		decode_old_row(table, desc, old_tuple, full && incomplete);
		if (incomplete)
			incomplete = complete_from_old_row(table, full);
		moved = key_differs(table);
	}
	change_row(stream, table, ROW_UPDATE_AFTER, moved ? table->old_row : NULL, table->row,
			   incomplete ? table->missing : NULL);
}

static void
apply_delete(SyncStream *stream, SyncTable *table, Relation relation, HeapTuple old_tuple)
{
	require_key(table, "a delete");
	require_old_tuple(table, old_tuple);
	decode_old_row(table, RelationGetDescr(relation), old_tuple,
				   relation->rd_rel->relreplident == REPLICA_IDENTITY_FULL);
	change_row(stream, table, ROW_DELETE, NULL, table->old_row, NULL);
}

static void
change_error_context(void *arg)
{
	const SyncTable *table = arg;

	errcontext("change of table \"%s\"%s%s", table->record->source_name, table->named_row ? ", row " : "",
			   table->named_row ? source_row_name(table->lake->schema, table->named_row) : "");
}

void
change_apply(SyncStream *stream, SyncTable *table, Relation relation, const ReorderBufferChange *change)
{
	MemoryContext old = MemoryContextSwitchTo(stream->change_context);
	ErrorContextCallback callback;

	callback.callback = change_error_context;
	callback.arg = table;
	callback.previous = error_context_stack;
	error_context_stack = &callback;

	sync_table_check(table, relation);
	switch (change->action)
	{
		case REORDER_BUFFER_CHANGE_INSERT:
			apply_insert(stream, table, relation, compat_new_tuple(change));
			break;
		case REORDER_BUFFER_CHANGE_UPDATE:
			apply_update(stream, table, relation, compat_old_tuple(change), compat_new_tuple(change));
			break;
		case REORDER_BUFFER_CHANGE_DELETE:
			apply_delete(stream, table, relation, compat_old_tuple(change));
			break;
		default:
			elog(ERROR, "unexpected change of kind %d", (int) change->action);
	}

	error_context_stack = callback.previous;
	MemoryContextSwitchTo(old);
	MemoryContextReset(stream->change_context);
}
