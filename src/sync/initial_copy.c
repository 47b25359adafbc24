/*
 * initial_copy.c
 *		All tables of a sync as they were when its slot was made.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "lake/writer.h"
#include "settings.h"
#include "sync/history.h"
#include "sync/initial_copy.h"
#include "sync/row_source.h"
#include "sync/slot.h"
#include "sync/source.h"
#include "sync/stream.h"

#define REPORT_ROWS 1024

/* One table being copied. */
typedef struct TableCopy
{
	const SyncRecord *sync;
	const SyncTableRecord *record;
	const SyncMonitor *monitor;
	XLogRecPtr	position;		/* of the snapshot */
	LakeTable  *lake;
	TableWriter *writer;
	RowSource  *rows;			/* of the relation being scanned, or NULL */
	Scalar	   *row;
	MemoryContext row_context;
} TableCopy;

/* The lake table, made if it is not there.  *replace: it has rows of a copy that was not finished. */
static LakeTable *
open_target(Relation relation, const SyncRecord *sync, const SyncTableRecord *record, const char *warehouse,
			bool *replace)
{
	LakeTable  *lake = lake_table_open(warehouse, sync->database, record->lake_table, true);

	*replace = false;
	if (lake)
		*replace = source_check_target(relation, record->columns, record->ncolumns, sync->history, lake, sync->slot);
	else
		lake = lake_table_create(warehouse, sync->database, record->lake_table,
								 source_lake_schema(relation, record->columns, record->ncolumns, sync->history, sync->options));
	return lake;
}

static void
copy_row(TableCopy *copy, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(copy->row_context);
	int			n;

	slot_getallattrs(slot);
	if (row_source_passes(copy->rows, slot))
	{
		for (n = 0; n < copy->record->ncolumns; n++)
			row_source_encode(copy->rows, n, slot, copy->row);
		if (copy->sync->history)
			history_describe(copy->row, copy->record->ncolumns, "+I", copy->position, copy->position, 0);
		table_writer_append(copy->writer, ROW_INSERT, copy->row);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(copy->row_context);
}

/* Stop when the sync is dropped or paused. */
static void
report_rows(TableCopy *copy, int64 rows)
{
	copy->monitor->rows_written(rows);
	if (!copy->monitor->wanted())
		ereport(ERROR,
				(errcode(ERRCODE_QUERY_CANCELED),
				 errmsg("initial copy of sync \"%s\" was stopped", copy->sync->name)));
}

static void
scan_relation(TableCopy *copy, Relation relation)
{
	TableScanDesc scan = table_beginscan(relation, GetActiveSnapshot(), 0, NULL);
	TupleTableSlot *slot = table_slot_create(relation, NULL);
	int64		rows = 0;
	ColumnChange *change = row_source_change(copy->sync, copy->record, copy->lake->schema, relation, true);

	if (change && change->reason)
		column_change_raise(change);
	copy->rows = row_source_make(copy->sync, copy->record, copy->lake->schema, relation, NULL);
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		copy_row(copy, slot);
		if (++rows % REPORT_ROWS == 0)
			report_rows(copy, REPORT_ROWS);
		CHECK_FOR_INTERRUPTS();
	}
	report_rows(copy, rows % REPORT_ROWS);
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
	copy->rows = NULL;
}

/* The partitions that have rows, or the table itself.  No lock may be needed for longer than a scan. */
static void
scan_source(TableCopy *copy, Relation source)
{
	List	   *relids = list_make1_oid(RelationGetRelid(source));
	ListCell   *cell;

	if (source->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		relids = find_all_inheritors(RelationGetRelid(source), NoLock, NULL);
	foreach(cell, relids)
	{
		Relation	relation = try_table_open(lfirst_oid(cell), AccessShareLock);

		if (relation == NULL)
			continue;
		if (relation->rd_rel->relkind == RELKIND_RELATION)
			scan_relation(copy, relation);
		table_close(relation, AccessShareLock);
	}
}

static void
copy_error_context(void *arg)
{
	const TableCopy *copy = arg;

	errcontext("initial copy of table \"%s\"%s", copy->record->source_name,
			   copy->rows ? row_source_describe(copy->rows) : "");
}

/* Copy one table and commit it at the slot's first position. */
static void
copy_table(const SyncRecord *sync, const SyncTableRecord *record, const char *warehouse, const SyncMonitor *monitor,
		   XLogRecPtr position)
{
	TableCopy	copy = {.sync = sync, .record = record, .monitor = monitor, .position = position};
	Relation	source;
	CommitInfo	info;
	bool		replace;
	ErrorContextCallback callback;

	callback.callback = copy_error_context;
	callback.arg = &copy;
	callback.previous = error_context_stack;
	error_context_stack = &callback;

	source = try_table_open(record->source, AccessShareLock);
	if (source == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table %u of sync \"%s\" does not exist any more", record->source, sync->name),
				 errhint("Drop the sync and create it again.")));
	pgstat_report_activity(STATE_RUNNING, psprintf("initial copy of table %s", record->source_name));
	copy.lake = open_target(source, sync, record, warehouse, &replace);
	copy.row_context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse copied row", ALLOCSET_DEFAULT_SIZES);
	copy.row = palloc0(sizeof(Scalar) * copy.lake->schema->nfields);
	copy.writer = table_writer_open(copy.lake, (Size) setting_sync_memory * 1024 / 2);
	if (replace)
		table_writer_truncate(copy.writer);
	scan_source(&copy, source);
	table_close(source, AccessShareLock);
	apply_commit_info(&info, sync, position);
	(void) table_writer_commit(copy.writer, &info);
	table_writer_close(copy.writer);
	error_context_stack = callback.previous;
}

static void
copy_tables(const SyncRecord *sync, List *tables, const char *warehouse, const SyncMonitor *monitor, XLogRecPtr position)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse initial copy",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	ListCell   *cell;

	foreach(cell, tables)
	{
		copy_table(sync, lfirst(cell), warehouse, monitor, position);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* Create the slot and copy the tables under its snapshot; it is still ephemeral. */
static void
copy_under_slot(const char *slot, const SyncRecord *sync, List *tables, const char *warehouse,
				const SyncMonitor *monitor)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	XLogRecPtr	position;

	StartTransactionCommand();
	position = sync_slot_create(slot);
	PushActiveSnapshot(GetTransactionSnapshot());
	copy_tables(sync, tables, warehouse, monitor, position);
	PopActiveSnapshot();
	CommitTransactionCommand();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;

	ereport(LOG,
			(errmsg_plural("sync \"%s\" has copied %d table as of %X/%X", "sync \"%s\" has copied %d tables as of %X/%X",
						   list_length(tables), sync->name, list_length(tables), LSN_FORMAT_ARGS(position))));
}

void
initial_copy(const SyncRecord *sync, const char *warehouse, const SyncMonitor *monitor)
{
	copy_under_slot(sync->slot, sync, sync->tables, warehouse, monitor);
	sync_slot_persist();
}

void
initial_copy_tables(const SyncRecord *sync, List *tables, const char *warehouse, const SyncMonitor *monitor)
{
	copy_under_slot(psprintf("%s_copy", sync->slot), sync, tables, warehouse, monitor);
	sync_slot_discard();
}
