/*
 * copy_chunk.c
 *		The unit of a table's initial copy: some blocks of a relation, one snapshot of
 *		the lake table.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "lake/writer.h"
#include "sync/copy_chunk.h"
#include "sync/remote_copy.h"
#include "sync/row_source.h"

#define COPY_PROPERTY "streamhouse.copy"
#define CHUNK_PROPERTY "streamhouse.copied"
#define REPORT_ROWS 1024

/* A chunk being copied. */
typedef struct ChunkCopy
{
	const CopyTable *table;
	const CopyChunk *chunk;
	const SyncMonitor *monitor;
	LakeTable  *lake;
	TableWriter *writer;
	RowSource  *rows;
	Scalar	   *row;
	int64		ntaken;			/* rows */
	MemoryContext row_context;
} ChunkCopy;

List *
copy_base_properties(const SyncTableRecord *record)
{
	return list_make1(option_pair_make(COPY_PROPERTY, record->copy_id));
}

static char *
commit_user(const SyncRecord *sync)
{
	return psprintf("%s_copy", sync->slot);
}

/* ---- the blocks, row by row ---- */

/* What the slot has may be allocated in the row's context. */
static void
copy_row(ChunkCopy *copy, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(copy->row_context);
	const SyncTableRecord *record = copy->table->record;
	int			ncolumns = row_field_count(copy->lake->schema, record);
	XLogRecPtr	position = copy->table->position;
	RowOrigin	origin = {.kind = "+I", .lsn = position, .commit_lsn = position, .table = record->source_name};
	int			n;

	slot_getallattrs(slot);
	if (row_source_passes(copy->rows, slot))
	{
		for (n = 0; n < ncolumns; n++)
			row_source_encode(copy->rows, n, slot, copy->row);
		metadata_describe(copy->row + ncolumns, record->metadata, record->nmetadata, &origin);
		table_writer_append(copy->writer, ROW_INSERT, copy->row);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(copy->row_context);
}

/* Stop when the sync is dropped or paused. */
static void
report_rows(ChunkCopy *copy, int64 rows)
{
	copy->monitor->rows_written(rows);
	if (!copy->monitor->wanted())
		ereport(ERROR,
				(errcode(ERRCODE_QUERY_CANCELED),
				 errmsg("initial copy of sync \"%s\" was stopped", copy->table->sync->name)));
}

static void
take_row(ChunkCopy *copy, TupleTableSlot *slot)
{
	copy_row(copy, slot);
	if (++copy->ntaken % REPORT_ROWS == 0)
		report_rows(copy, REPORT_ROWS);
	CHECK_FOR_INTERRUPTS();
}

/* Vacuum may have cut off blocks at the end since they were counted. */
static void
limit_scan(TableScanDesc scan, const CopyChunk *chunk)
{
	BlockNumber blocks = ((HeapScanDesc) scan)->rs_nblocks;

	if (chunk->start < blocks)
		heap_setscanlimits(scan, chunk->start, Min(chunk->end, blocks) - chunk->start);
	else
		heap_setscanlimits(scan, 0, 0);
}

/* Blocks are a matter of heaps; other tables are one chunk. */
static TableScanDesc
begin_scan(const CopyChunk *chunk, Relation relation)
{
	TableScanDesc scan = table_beginscan_strat(relation, GetActiveSnapshot(), 0, NULL, true, false);

	if (relation->rd_tableam == GetHeapamTableAmRoutine())
		limit_scan(scan, chunk);
	return scan;
}

static void
scan_blocks(ChunkCopy *copy, Relation relation)
{
	TableScanDesc scan = begin_scan(copy->chunk, relation);
	TupleTableSlot *slot = table_slot_create(relation, NULL);

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
		take_row(copy, slot);
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
}

/* The same of a table elsewhere, whose rows come by COPY. */
static void
receive_blocks(ChunkCopy *copy, Relation mirror)
{
	RemoteCopy *source = remote_copy_begin_chunk(copy->table, copy->chunk, mirror);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(mirror), &TTSOpsVirtual);

	while (remote_copy_row(source, slot, copy->row_context))
		take_row(copy, slot);
	ExecDropSingleTupleTableSlot(slot);
	remote_copy_end_chunk(source);
}

/* ---- the chunk ---- */

void
copy_raise_written_anew(const CopyTable *table)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("table \"%s\" was truncated or written anew while it was copied", table->record->source_name)));
}

/* The relation, if its blocks are those that were counted; or its mirror. */
static Relation
open_relation(const ChunkCopy *copy)
{
	bool		is_mirror = copy->table->snapshot != NULL;
	Relation	relation = try_table_open(is_mirror ? copy->table->record->source : copy->chunk->relid, AccessShareLock);

	if (relation == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table \"%s\" does not exist any more", copy->table->record->source_name)));
	if (!is_mirror && relation->rd_rel->relfilenode != copy->chunk->file)
		copy_raise_written_anew(copy->table);
	return relation;
}

/* Changes of columns since the copy was begun are the stream's, unless rows that exist have got other values by them. */
static void
open_rows(ChunkCopy *copy, Relation relation)
{
	const CopyTable *table = copy->table;
	ColumnChange *change = row_source_change(table->sync, table->record, copy->lake->schema, relation, true);

	if (change && change->kind >= CHANGE_COPY && change->reason)
		column_change_raise(change);
	copy->rows = row_source_make(table->sync, table->record, copy->lake->schema, relation, NULL);
}

static void
commit_chunk(ChunkCopy *copy, int64 number, int64 since)
{
	const CopyChunk *chunk = copy->chunk;
	CommitInfo	info = {0};

	info.commit_user = commit_user(copy->table->sync);
	info.commit_identifier = number;
	info.properties = lappend(copy_base_properties(copy->table->record),
							  option_pair_make(CHUNK_PROPERTY, psprintf("%u/%u/%u/%u", chunk->relid, chunk->file,
																		chunk->start, chunk->end)));
	info.force = true;
	info.unless_overwritten_since = since;
	(void) table_writer_commit(copy->writer, &info);
}

static void
chunk_error_context(void *arg)
{
	const ChunkCopy *copy = arg;

	errcontext("initial copy of table \"%s\"%s", copy->table->record->source_name,
			   copy->rows ? row_source_describe(copy->rows) : "");
}

void
copy_chunk(const CopyTable *table, const CopyChunk *chunk, int64 number, Size memory, const SyncMonitor *monitor,
		   TableCounts *counts)
{
	ChunkCopy	copy = {.table = table, .chunk = chunk, .monitor = monitor};
	Relation	relation;
	int64		since;
	ErrorContextCallback callback;

	callback.callback = chunk_error_context;
	callback.arg = &copy;
	callback.previous = error_context_stack;
	error_context_stack = &callback;

	copy.lake = lake_table_open(table->warehouse, table->sync->database, table->record->lake_table, false);
	since = snapshot_latest_id(copy.lake->location);
	relation = open_relation(&copy);
	open_rows(&copy, relation);
	copy.row_context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse copied row", ALLOCSET_DEFAULT_SIZES);
	copy.row = palloc0(sizeof(Scalar) * copy.lake->schema->nfields);
	copy.writer = table_writer_open(copy.lake, memory);
	table_writer_set_sequence_rule(copy.writer, copy.lake->has_primary_key ? SEQUENCE_BASE : SEQUENCE_CONTINUES);
	if (table->snapshot)
		receive_blocks(&copy, relation);
	else
		scan_blocks(&copy, relation);
	report_rows(&copy, copy.ntaken % REPORT_ROWS);
	table_close(relation, AccessShareLock);
	copy.rows = NULL;
	table_writer_prepare(copy.writer);
	counts->copied += table_writer_total_rows(copy.writer);
	counts->bytes += table_writer_file_bytes(copy.writer);
	commit_chunk(&copy, number, since);
	table_writer_close(copy.writer);
	error_context_stack = callback.previous;
}

/* ---- what is in the lake ---- */

/* The chunk of a snapshot, NULL when it is of something else; *begin: this copy was begun with it. */
static CopyChunk *
chunk_of_snapshot(const CopyTable *table, const LakeSnapshot *snapshot, bool *begin)
{
	const char *copy = snapshot_property(snapshot, COPY_PROPERTY);
	const char *blocks = snapshot_property(snapshot, CHUNK_PROPERTY);
	CopyChunk  *chunk;

	*begin = false;
	if (copy == NULL || strcmp(copy, table->record->copy_id) != 0)
		return NULL;
	*begin = blocks == NULL;
	if (blocks == NULL)
		return NULL;
	chunk = palloc(sizeof(CopyChunk));
	if (sscanf(blocks, "%u/%u/%u/%u", &chunk->relid, &chunk->file, &chunk->start, &chunk->end) != 4)
		return NULL;
	return chunk;
}

List *
copy_chunks_done(const CopyTable *table, const LakeTable *lake)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "streamhouse snapshots of a copy",
												  ALLOCSET_DEFAULT_SIZES);
	List	   *done = NIL;
	bool		begin = false;
	int64		id;

	for (id = snapshot_latest_id(lake->location); id > 0 && !begin; id--)
	{
		MemoryContext old = MemoryContextSwitchTo(scratch);
		LakeSnapshot *snapshot = snapshot_load(lake->location, id, true);
		CopyChunk  *chunk;

		CHECK_FOR_INTERRUPTS();
		MemoryContextSwitchTo(old);
		if (snapshot == NULL)
			break;
		chunk = chunk_of_snapshot(table, snapshot, &begin);
		if (chunk)
			done = lappend(done, chunk);
		MemoryContextReset(scratch);
	}
	MemoryContextDelete(scratch);
	return done;
}
