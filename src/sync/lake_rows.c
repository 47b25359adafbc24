/*
 * lake_rows.c
 *		Rows that tables of a sync have in the lake, with those not committed yet.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "lake/plan.h"
#include "lake/read.h"
#include "sync/lake_rows.h"
#include "sync/shared_target.h"

TableReader *
lake_rows_open(SyncStream *stream, SyncTarget *target, const Predicate *filter)
{
	TableWriter *writer = apply_writer(stream, target);
	ScanRequest request = {0};
	int			nfields = target->lake->schema->nfields;
	int		   *projection = palloc(sizeof(int) * nfields);
	int			i;

	for (i = 0; i < nfields; i++)
		projection[i] = i;
	stream->memory -= table_writer_memory(writer);
	request.extra_entries = table_writer_flush(writer);
	stream->memory += table_writer_memory(writer);
	request.truncated = table_writer_truncated(writer);
	request.snapshot = snapshot_load_latest(target->lake->location);
	request.predicate = filter;
	return table_reader_open(target->lake, scan_plan(target->lake, &request)->splits, projection, nfields, filter, NULL);
}

Batch *
lake_rows_next(TableReader *reader)
{
	Batch	   *batch = table_reader_next(reader);
	int			i;

	for (i = 0; batch && i < batch->ncolumns; i++)
		vector_flatten(batch->columns[i], batch->selection, batch->nselected);
	return batch;
}

void
lake_rows_get(const Batch *batch, int n, Scalar *row)
{
	int			position = batch->selection ? batch->selection[n] : n;
	int			i;

	for (i = 0; i < batch->ncolumns; i++)
		row[i] = vector_get(batch->columns[i], position);
}

/* "NOT deleted", of the field that says so. */
static Predicate *
not_deleted(const SyncTable *table)
{
	const TableSchema *schema = table->lake->schema;
	int			field = schema_field(schema, table->record->rule->soft_delete);
	Scalar	   *value = palloc0(sizeof(Scalar));

	return predicate_leaf(PREDICATE_EQ, field, schema->fields[field].type, value, 1);
}

/* Rows of the table that are not deleted. */
static Predicate *
all_of_table(const SyncTable *table)
{
	List	   *conditions = NIL;

	if (sync_table_keeps_deleted(table->record))
		conditions = lappend(conditions, not_deleted(table));
	if (table->record->shard)
		conditions = lappend(conditions, shared_target_condition(table->record, table->lake->schema));
	return list_length(conditions) == 1 ? linitial(conditions) : predicate_combine(PREDICATE_AND, conditions);
}

void
lake_rows_delete(SyncStream *stream, SyncTable *table)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse rows of a truncated table",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext scratch = AllocSetContextCreate(context, "streamhouse row of a truncated table", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	TableReader *reader = lake_rows_open(stream, table->target, all_of_table(table));
	Batch	   *batch;
	int			i;

	while ((batch = lake_rows_next(reader)) != NULL)
	{
		MemoryContextSwitchTo(scratch);
		for (i = 0; i < batch->nselected; i++)
		{
			lake_rows_get(batch, i, table->row);
			apply_metadata(stream, table, table->row, "-D");
			apply_change(stream, table, ROW_DELETE, NULL, table->row);
		}
		MemoryContextSwitchTo(context);
		MemoryContextReset(scratch);
		CHECK_FOR_INTERRUPTS();
	}
	table_reader_close(reader);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}
