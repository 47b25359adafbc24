/*
 * compact_unit.c
 *		Carrying out one compaction unit: files rewritten or moved to a level.
 *
 * Of a primary key table, sections with more than one run are merged into new
 * files.  A large file that overlaps no other is only moved to its new level,
 * small ones are rewritten together with their neighbours.  Rows keep their
 * sequence numbers.  Source: format digest sections 7.3, 10.1 and 10.2.
 */
#include "postgres.h"

#include "lake/compact_unit.h"
#include "lake/file_writer.h"
#include "lake/read.h"
#include "lake/sections.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* One unit being carried out */
typedef struct UnitState
{
	Compaction *compaction;
	const CompactionBucket *bucket;
	const CompactionUnit *unit;
	List	   *waiting;		/* sections (List of DataFileMeta *), ascending, to be rewritten together */
} UnitState;

void
compaction_report(const Compaction *compaction)
{
	const MaintenanceProgress *progress = compaction->progress;

	if (progress != NULL && progress->report != NULL)
		progress->report(progress->arg, compaction->buckets_done, compaction->buckets_total,
						 compaction->rows_written, compaction->bytes_written);
}

static ManifestEntry *
make_entry(const UnitState *state, FileKind kind, const DataFileMeta *file)
{
	ManifestEntry entry = {
		.kind = kind,
		.partition = state->bucket->partition,
		.bucket = state->bucket->bucket,
		.total_buckets = state->bucket->total_buckets,
		.file = (DataFileMeta *) file
	};

	return manifest_entry_copy(&entry);
}

static void
delete_file(UnitState *state, const DataFileMeta *file)
{
	state->compaction->deleted = lappend(state->compaction->deleted, make_entry(state, FILE_DELETE, file));
}

/* Move a file to the unit's level as it is. */
static void
upgrade_file(UnitState *state, const DataFileMeta *file)
{
	ManifestEntry *entry;

	delete_file(state, file);
	entry = make_entry(state, FILE_ADD, file);
	entry->file->level = state->unit->output_level;
	state->compaction->added = lappend(state->compaction->added, entry);
}

static FileWriter *
open_writer(const UnitState *state, int64 first_sequence_number)
{
	FileWriterTarget target = {
		.partition = state->bucket->partition,
		.bucket = state->bucket->bucket,
		.total_buckets = state->bucket->total_buckets,
		.level = state->unit->output_level,
		.source = FILE_SOURCE_COMPACT,
		.first_sequence_number = first_sequence_number
	};

	return file_writer_open(state->compaction->table, &target, state->compaction->pending);
}

static Split
make_split(const UnitState *state, List *files, bool raw)
{
	Split		split = {
		.partition = state->bucket->partition,
		.bucket = state->bucket->bucket,
		.total_buckets = state->bucket->total_buckets,
		.raw = raw,
		.files = files
	};

	return split;
}

static void
take_written(UnitState *state, List *entries)
{
	Compaction *compaction = state->compaction;
	ListCell   *cell;

	foreach(cell, entries)
		compaction->bytes_written += ((const ManifestEntry *) lfirst(cell))->file->file_size;
	compaction->added = list_concat(compaction->added, entries);
	compaction_report(compaction);
}

static void
merge_section(UnitState *state, List *section, FileWriter *writer)
{
	Compaction *compaction = state->compaction;
	Split		split = make_split(state, section, false);
	MergeReader *reader = merge_reader_open(compaction->table, &split, !state->unit->drop_deletes);
	const int64 *sequence_numbers;
	const int8 *kinds;
	Batch	   *batch;

	while ((batch = merge_reader_next(reader, &sequence_numbers, &kinds)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		file_writer_append_keyed(writer, batch->columns, sequence_numbers, kinds, batch->selection, batch->nselected);
		compaction->rows_written += batch->nselected;
	}
	merge_reader_close(reader);
}

/* Rewrite the sections that wait, into one series of files. */
static void
rewrite_waiting(UnitState *state)
{
	MemoryContext result_context = CurrentMemoryContext;
	MemoryContext work_context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse compaction of sections",
													   ALLOCSET_DEFAULT_SIZES);
	FileWriter *writer;
	ListCell   *cell;

	MemoryContextSwitchTo(work_context);
	writer = open_writer(state, 0);
	foreach(cell, state->waiting)
		merge_section(state, lfirst(cell), writer);
	MemoryContextSwitchTo(result_context);
	take_written(state, file_writer_finish(writer));
	MemoryContextDelete(work_context);
	foreach(cell, state->waiting)
	{
		ListCell   *file;

		foreach(file, (List *) lfirst(cell))
			delete_file(state, lfirst(file));
	}
	state->waiting = NIL;
}

/* A file that overlaps no other is moved, unless it may hold deletes that can be dropped now. */
static void
move_or_rewrite(UnitState *state, DataFileMeta *file)
{
	if (state->unit->to_max_level && data_file_may_have_deletes(file))
	{
		state->waiting = list_make1(list_make1(file));
		rewrite_waiting(state);
	}
	else if (file->level != state->unit->output_level)
		upgrade_file(state, file);
}

static void
finish_waiting(UnitState *state)
{
	List	   *first;

	if (state->waiting == NIL)
		return;
	first = linitial(state->waiting);
	if (list_length(state->waiting) == 1 && list_length(first) == 1)
	{
		/* a small file alone: nothing to put it together with */
		state->waiting = NIL;
		move_or_rewrite(state, linitial(first));
	}
	else
		rewrite_waiting(state);
}

static void
compact_keyed_unit(UnitState *state)
{
	LakeTable  *table = state->compaction->table;
	ListCell   *cell;

	foreach(cell, interval_partition(table, state->unit->files))
	{
		List	   *section = lfirst(cell);
		DataFileMeta *file = linitial(section);

		CHECK_FOR_INTERRUPTS();
		if (list_length(section) > 1 || file->file_size < compaction_large_file_size(table))
			state->waiting = lappend(state->waiting, section);
		else
		{
			finish_waiting(state);
			move_or_rewrite(state, file);
		}
	}
	finish_waiting(state);
}

static void
compact_append_unit(UnitState *state)
{
	Compaction *compaction = state->compaction;
	LakeTable  *table = compaction->table;
	MemoryContext result_context = CurrentMemoryContext;
	MemoryContext work_context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse compaction of files",
													   ALLOCSET_DEFAULT_SIZES);
	const DataFileMeta *first = linitial(state->unit->files);
	Split		split = make_split(state, state->unit->files, true);
	int		   *fields;
	TableReader *reader;
	FileWriter *writer;
	Batch	   *batch;
	ListCell   *cell;

	MemoryContextSwitchTo(work_context);
	fields = palloc(table->schema->nfields * sizeof(int));
	for (int i = 0; i < table->schema->nfields; i++)
		fields[i] = i;
	writer = open_writer(state, first->min_sequence_number);
	reader = table_reader_open(table, list_make1(&split), fields, table->schema->nfields, NULL, NULL);
	while ((batch = table_reader_next(reader)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		file_writer_append(writer, batch->columns, batch->selection, batch->nselected);
		compaction->rows_written += batch->nselected;
	}
	table_reader_close(reader);
	MemoryContextSwitchTo(result_context);
	take_written(state, file_writer_finish(writer));
	MemoryContextDelete(work_context);
	foreach(cell, state->unit->files)
		delete_file(state, lfirst(cell));
}

void
compact_unit(Compaction *compaction, const CompactionBucket *bucket, const CompactionUnit *unit)
{
	UnitState	state = {.compaction = compaction, .bucket = bucket, .unit = unit};

	if (compaction->table->has_primary_key)
		compact_keyed_unit(&state);
	else
		compact_append_unit(&state);
}
