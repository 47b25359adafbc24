/*
 * apply.c
 *		Rows go to the tables' writers; all tables commit at one position.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "sync/lake_position.h"
#include "sync/lake_rows.h"
#include "sync/stream.h"
#include "sync/streamed.h"
#include "sync/toast.h"

#define MIN_FILE_ROWS 256
#define RECORD_INTERVAL_MS 10000

void
apply_commit_info(CommitInfo *info, const SyncRecord *sync, XLogRecPtr lsn, bool partial, bool shared)
{
	info->commit_user = sync->slot;
	info->commit_identifier = (int64) lsn;
	info->properties = lake_position_properties(sync, lsn);
	if (partial)
		info->properties = lappend(info->properties, option_pair_make(SNAPSHOT_PARTIAL_PROPERTY, "true"));
	if (shared)
		info->properties = lappend(info->properties, option_pair_make(SNAPSHOT_SHARED_PROPERTY, "true"));
	info->force = true;
	info->unless_overwritten_since = 0;
}

TableWriter *
apply_writer(SyncStream *stream, SyncTarget *target)
{
	if (target->writer == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(stream->context);

		target->writer = table_writer_open(target->lake, stream->memory_limit);
		table_writer_set_sequence_rule(target->writer, SEQUENCE_ABOVE_BASE);
		MemoryContextSwitchTo(old);
		stream->memory += table_writer_memory(target->writer);
	}
	return target->writer;
}

static void
close_writer(SyncStream *stream, SyncTarget *target)
{
	if (target->writer == NULL)
		return;
	stream->memory -= table_writer_memory(target->writer);
	table_writer_close(target->writer);
	target->writer = NULL;
}

/*
 * Close the writers of lake tables without pending rows; *largest is the writer
 * left that uses the most memory, NULL if there is none.
 */
static void
close_idle_writers(SyncStream *stream, TableWriter **largest)
{
	ListCell   *cell;

	*largest = NULL;
	foreach(cell, stream->map->targets)
	{
		SyncTarget *target = lfirst(cell);

		if (!target->pending)
			close_writer(stream, target);
		else if (target->writer && (*largest == NULL || table_writer_memory(target->writer) > table_writer_memory(*largest)))
			*largest = target->writer;
	}
}

/*
 * The writers use too much memory: idle ones go, the largest one writes its
 * buffer out.  Many tables with few rows each are over the limit by what an
 * empty writer takes; files of a few rows would not help.
 */
static void
relieve_memory(SyncStream *stream)
{
	TableWriter *largest;

	stream->full |= stream->in_progress == NULL;
	close_idle_writers(stream, &largest);
	(void) streamed_memory(stream, &largest);
	if (stream->memory <= stream->memory_limit || table_writer_buffered_rows(largest) < MIN_FILE_ROWS)
		return;
	stream->memory -= table_writer_memory(largest);
	(void) table_writer_flush(largest);
	stream->memory += table_writer_memory(largest);
}

void
apply_count(TableCounts *counts, RowKind kind)
{
	if (kind == ROW_INSERT)
		counts->inserted++;
	else if (kind == ROW_DELETE)
		counts->deleted++;
	else
		counts->updated++;
}

void
apply_add_counts(TableCounts *counts, const TableCounts *more)
{
	counts->inserted += more->inserted;
	counts->updated += more->updated;
	counts->deleted += more->deleted;
	counts->copied += more->copied;
	counts->bytes += more->bytes;
}

static int64
rows_of_counts(const TableCounts *counts)
{
	return counts->inserted + counts->updated + counts->deleted;
}

/* Append a row of a change that is written as if it was of another kind. */
static void
append(SyncStream *stream, SyncTable *table, RowKind kind, RowKind written_as, const Scalar *row)
{
	SyncTarget *target = table->target;
	TableWriter *writer = stream->in_progress ? streamed_writer(stream, table) : apply_writer(stream, target);
	Size		before = table_writer_memory(writer);

	table_writer_append(writer, written_as, row);
	if (stream->in_progress)
		streamed_count(stream, table, kind);
	else
	{
		target->pending = true;
		target->pending_rows++;
		apply_count(&table->pending, kind);
	}
	stream->memory += table_writer_memory(writer) - before;
	if (stream->memory > stream->memory_limit)
		relieve_memory(stream);
}

void
apply_row(SyncStream *stream, SyncTable *table, RowKind kind, const Scalar *row)
{
	append(stream, table, kind, kind, row);
}

void
apply_change(SyncStream *stream, SyncTable *table, RowKind kind, const Scalar *old_row, const Scalar *row)
{
	bool		keeps = sync_table_keeps_deleted(table->record);

	if (old_row && !keeps)
		apply_row(stream, table, ROW_DELETE, old_row);
	append(stream, table, kind, keeps && kind == ROW_DELETE ? ROW_UPDATE_AFTER : kind, row);
}

void
apply_metadata(const SyncStream *stream, const SyncTable *table, Scalar *row, const char *kind)
{
	const SyncTableRecord *record = table->record;
	const ReorderBufferTXN *transaction = stream->transaction;
	RowOrigin	origin = {.kind = kind, .lsn = stream->change_lsn, .table = record->source_name};

	if (record->nmetadata == 0)
		return;
	origin.commit_lsn = stream->remote ? transaction->final_lsn : transaction->end_lsn;
	origin.commit_time = transaction->xact_time.commit_time;
	origin.xid = transaction->xid;
	metadata_describe(row + row_field_count(table->lake->schema, record), record->metadata, record->nmetadata, &origin);
}

/*
 * Rows that stay are marked; those of a shared lake table are deleted, as the table's alone.  Both by key, once all
 * of them are there: those that a copy has yet to bring could not be.
 */
static void
truncate_rows(SyncStream *stream, SyncTable *table)
{
	MemoryContext old;
	ColumnChange *change;

	if (table->record->copied && table->lake->has_primary_key)
	{
		toast_queue_resolve(stream, table->target);
		if (!table->target->deferred)
			lake_rows_delete(stream, table);
		return;
	}
	old = MemoryContextSwitchTo(stream->context);
	change = column_change_make(table->record, CHANGE_COPY, "It was truncated.");
	MemoryContextSwitchTo(old);
	relation_map_raise(stream->map, change, stream->change_lsn);
}

/* Rows that were to be committed are not there any more. */
static void
forget_pending(SyncTarget *target)
{
	ListCell   *cell;

	target->pending_rows = 0;
	foreach(cell, target->tables)
		memset(&((SyncTable *) lfirst(cell))->pending, 0, sizeof(TableCounts));
}

void
apply_truncate(SyncStream *stream, SyncTable *table)
{
	SyncTarget *target = table->target;
	TableWriter *writer;

	if (target->shared || sync_table_keeps_deleted(table->record))
	{
		truncate_rows(stream, table);
		return;
	}
	writer = apply_writer(stream, target);
	toast_queue_discard(target);
	stream->memory -= table_writer_memory(writer);
	table_writer_truncate(writer);
	stream->memory += table_writer_memory(writer);
	target->pending = true;
	forget_pending(target);
}

/* The copies of all tables that fill the lake table are to wait until the stream takes it up again. */
static void
report_deferred(SyncStream *stream, const SyncTarget *target)
{
	ListCell   *cell;

	foreach(cell, target->tables)
		stream->monitor->deferred(((SyncTable *) lfirst(cell))->record);
}

void
apply_defer(SyncStream *stream, SyncTable *table)
{
	SyncTarget *target = table->target;

	ereport(LOG,
			(errmsg("sync \"%s\" leaves out changes of table \"%s\" until its copy is made",
					stream->sync->name, table->record->source_name)));
	toast_queue_discard(target);
	close_writer(stream, target);
	target->pending = false;
	forget_pending(target);
	target->deferred = true;
	stream->frozen = true;
	report_deferred(stream, target);
}

void
apply_hold(SyncStream *stream)
{
	ListCell   *cell;
	ListCell   *other;

	foreach(cell, stream->sync->tables)
	{
		const SyncTableRecord *record = lfirst(cell);

		if (record->paused || record->copied || !XLogRecPtrIsInvalid(record->base))
			continue;
		foreach(other, stream->map->targets)
		{
			SyncTarget *target = lfirst(other);

			if (strcmp(((SyncTable *) linitial(target->tables))->record->lake_table, record->lake_table) != 0)
				continue;
			target->deferred = true;
			stream->monitor->deferred(record);
		}
	}
}

typedef struct FlushContext
{
	const SyncTarget *target;
	XLogRecPtr	boundary;
} FlushContext;

static void
flush_error_context(void *arg)
{
	const FlushContext *context = arg;

	errcontext("writing to lake table \"%s\" as of %X/%X", context->target->lake->name,
			   LSN_FORMAT_ARGS(context->boundary));
}

/* Run one step of the flush for every pending lake table. */
static void
for_each_pending(SyncStream *stream, void (*step) (SyncStream *stream, SyncTarget *target))
{
	ListCell   *cell;
	FlushContext context = {.boundary = stream->boundary};
	ErrorContextCallback callback;

	callback.callback = flush_error_context;
	callback.arg = &context;
	callback.previous = error_context_stack;
	error_context_stack = &callback;

	foreach(cell, stream->map->targets)
	{
		SyncTarget *target = lfirst(cell);

		context.target = target;
		if (target->pending)
			step(stream, target);
		CHECK_FOR_INTERRUPTS();
	}
	error_context_stack = callback.previous;
}

static void
prepare_target(SyncStream *stream, SyncTarget *target)
{
	sync_target_check_lake(target);
	table_writer_prepare(target->writer);
}

/* What the commit has written, by table: of files the tables have their share of rows. */
static void
count_commit(SyncTarget *target, int64 bytes)
{
	ListCell   *cell;

	foreach(cell, target->tables)
	{
		SyncTable  *table = lfirst(cell);

		if (target->pending_rows > 0)
			table->pending.bytes = (int64) ((double) bytes * rows_of_counts(&table->pending) / target->pending_rows);
		apply_add_counts(&table->written, &table->pending);
		memset(&table->pending, 0, sizeof(TableCounts));
	}
}

static void
commit_target(SyncStream *stream, SyncTarget *target)
{
	CommitInfo	info;
	int64		bytes = table_writer_file_bytes(target->writer);

	apply_commit_info(&info, stream->sync, stream->boundary, !target->copied, target->shared);
	target->snapshot_id = table_writer_commit(target->writer, &info);
	target->applied = stream->boundary;
	target->pending = false;
	count_commit(target, bytes);
}

/* Counts that the catalog cannot take now stay for the next time; tables of messages have no entry there. */
static void
record_counts(const SyncStream *stream, SyncTable *table)
{
	if (table->record->copy_id && rows_of_counts(&table->written) > 0 &&
		sync_catalog_add_counts(stream->sync->name, table->record, &table->written))
		memset(&table->written, 0, sizeof(TableCounts));
}

static void
record_all_counts(void *arg)
{
	const SyncStream *stream = arg;
	HASH_SEQ_STATUS status;
	SyncTable  *table;

	hash_seq_init(&status, stream->map->tables);
	while ((table = hash_seq_search(&status)) != NULL)
		record_counts(stream, table);
}

void
apply_record_counts(SyncStream *stream, bool all)
{
	TimestampTz now = GetCurrentTimestamp();

	if (stream->rows_written == stream->rows_recorded ||
		(!all && !TimestampDifferenceExceeds(stream->counts_recorded, now, RECORD_INTERVAL_MS)))
		return;
	stream->counts_recorded = now;
	stream->rows_recorded = stream->rows_written;
	stream->monitor->in_transaction(record_all_counts, stream);
}

/* Where all sources have been copied the lake has what comes before the copies, however little the stream brought. */
static void
pass_copies(SyncTarget *target)
{
	ListCell   *cell;

	foreach(cell, target->tables)
		target->applied = Max(target->applied, ((SyncTable *) lfirst(cell))->record->base);
}

void
apply_note_copied(SyncStream *stream)
{
	MemoryContext old = MemoryContextSwitchTo(stream->flush_context);
	ListCell   *cell;
	CommitInfo	info;

	foreach(cell, stream->map->targets)
	{
		SyncTarget *target = lfirst(cell);

		if (target->partial != target->copied)
			continue;
		if (target->copied)
			pass_copies(target);
		apply_commit_info(&info, stream->sync, target->applied, !target->copied, target->shared);
		target->snapshot_id = table_writer_commit(apply_writer(stream, target), &info);
		target->partial = !target->copied;
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(stream->flush_context);
}

/* Rows of the flush, and the memory of the writers. */
static int64
settle_accounts(SyncStream *stream)
{
	ListCell   *cell;
	int64		rows = 0;

	stream->memory = streamed_memory(stream, NULL);
	foreach(cell, stream->map->targets)
	{
		SyncTarget *target = lfirst(cell);

		rows += target->pending_rows;
		target->pending_rows = 0;
		if (target->writer)
			stream->memory += table_writer_memory(target->writer);
	}
	return rows;
}

void
apply_flush(SyncStream *stream)
{
	int64		rows;
	MemoryContext old = MemoryContextSwitchTo(stream->flush_context);

	for_each_pending(stream, toast_queue_resolve);
	for_each_pending(stream, prepare_target);
	for_each_pending(stream, commit_target);
	if (!stream->frozen)
		stream->confirm(stream, stream->boundary, true);

	stream->pending = false;
	stream->full = false;
	stream->visible = stream->boundary;
	rows = settle_accounts(stream);
	stream->rows_written += rows;
	stream->monitor->rows_written(rows);
	stream->monitor->reached(stream->visible, stream->commit_time);
	MemoryContextSwitchTo(old);
	MemoryContextReset(stream->flush_context);
}
