/*
 * writer.c
 *		Writing rows into a table: buffer, savepoints, files, commit.
 *
 * Rows are in the buffer, and before them, once it was full, in files.  The
 * files' entries are a list in the order of writing.  So a state of the writer
 * is a few numbers, of entries, files and buffered rows, and rolling back to
 * it is to cut what is behind.  When the buffer is written, the rows between
 * two savepoints go to files of their own.
 */
#include "postgres.h"

#include "lake/commit.h"
#include "lake/conflict.h"
#include "lake/flush.h"
#include "lake/resequence.h"
#include "lake/writer.h"
#include "utils/memutils.h"

/* A state of the writer that can be returned to. */
typedef struct Savepoint
{
	int			level;
	int			nentries;
	int			nfiles;			/* pending */
	int			nrows;			/* buffered */
	int64		total_rows;
	bool		truncated;
	int			nforgotten;
} Savepoint;

struct TableWriter
{
	MemoryContext context;
	MemoryContext entries_context;	/* reset at each commit */
	LakeTable  *table;
	WriteBuffer *buffer;
	SequenceMap *sequences;
	SequenceRule rule;
	PendingFiles *files;
	List	   *entries;		/* ManifestEntry *: unpublished files */
	int			nforgotten;		/* the first so many entries are truncated away */
	bool		truncated;
	const Predicate *cleared;	/* partitions that the commit clears; NULL: none */
	int64		total_rows;
	List	   *savepoints;		/* Savepoint *, levels ascending */
};

TableWriter *
table_writer_open(LakeTable *table, Size memory_limit)
{
	MemoryContext context;
	MemoryContext old;
	TableWriter *writer;

	options_check_writable(table->schema, table->options, table->name);
	context = AllocSetContextCreate(CurrentMemoryContext, "lake table writer", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	writer = (TableWriter *) palloc0(sizeof(TableWriter));
	writer->context = context;
	writer->entries_context = AllocSetContextCreate(context, "lake table writer entries", ALLOCSET_DEFAULT_SIZES);
	writer->table = lake_table_copy(table);
	writer->buffer = write_buffer_create(writer->table, memory_limit);
	writer->sequences = sequence_map_create(writer->table);
	writer->files = pending_files_create();
	MemoryContextSwitchTo(old);
	return writer;
}

void
table_writer_set_sequence_rule(TableWriter *writer, SequenceRule rule)
{
	writer->rule = rule;
	sequence_map_set_rule(writer->sequences, rule);
}

void
table_writer_close(TableWriter *writer)
{
	MemoryContextDelete(writer->context);
}

int64
table_writer_buffered_rows(const TableWriter *writer)
{
	return write_buffer_rows(writer->buffer);
}

int64
table_writer_total_rows(const TableWriter *writer)
{
	return writer->total_rows;
}

Size
table_writer_memory(const TableWriter *writer)
{
	return write_buffer_memory(writer->buffer);
}

bool
table_writer_truncated(const TableWriter *writer)
{
	return writer->truncated;
}

/*
 * Writers of append tables without buckets, and of base rows, number their
 * rows from 0; all others go on after what is in the bucket.
 */
static bool
continues_sequences(const TableWriter *writer)
{
	return writer->table->options->bucket_mode != BUCKET_UNAWARE && writer->rule != SEQUENCE_BASE;
}

void
table_writer_set_lead(TableWriter *writer, int64 lead)
{
	if (continues_sequences(writer))
		sequence_map_set_lead(writer->sequences, lead);
}

/* Learn of the sequence numbers that were used since the last time. */
static void
refresh_sequences(TableWriter *writer, const LakeSnapshot *latest)
{
	if (continues_sequences(writer))
		sequence_map_refresh(writer->sequences, latest);
}

/* Learn of the latest snapshot's sequence numbers before giving new ones. */
static void
refresh_from_latest(TableWriter *writer)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "lake latest snapshot",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	refresh_sequences(writer, snapshot_load_latest(writer->table->location));
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/*
 * Write all that is buffered: the rows between two savepoints make files of
 * their own.  The writer changes only when all is written: an ERROR before
 * may be caught, and a savepoint from before be rolled back to.
 */
static void
write_buffered(TableWriter *writer)
{
	int			nrows = write_buffer_rows(writer->buffer);
	MemoryContext old;
	List	   *entries = NIL;
	List	   *written = NIL;	/* Savepoint *: as they are afterwards */
	int			first = 0;
	ListCell   *lc;
	ListCell   *lw;

	if (nrows == 0)
		return;
	refresh_from_latest(writer);
	old = MemoryContextSwitchTo(writer->entries_context);
	foreach(lc, writer->savepoints)
	{
		Savepoint  *savepoint = (Savepoint *) palloc(sizeof(Savepoint));

		*savepoint = *(Savepoint *) lfirst(lc);
		written = lappend(written, savepoint);
		/* with no rows before it in the buffer, it stands where it stood */
		if (savepoint->nrows == 0)
			continue;
		entries = list_concat(entries, flush_rows(writer->table, writer->sequences, writer->buffer,
												  first, savepoint->nrows, writer->files));
		first = savepoint->nrows;
		savepoint->nrows = 0;
		savepoint->nentries = list_length(writer->entries) + list_length(entries);
		savepoint->nfiles = pending_files_count(writer->files);
	}
	entries = list_concat(entries, flush_rows(writer->table, writer->sequences, writer->buffer,
											  first, nrows, writer->files));
	writer->entries = list_concat(writer->entries, entries);
	MemoryContextSwitchTo(old);
	forboth(lc, writer->savepoints, lw, written)
		*(Savepoint *) lfirst(lc) = *(Savepoint *) lfirst(lw);
	list_free_deep(written);
	write_buffer_reset(writer->buffer);
}

/* The kind that the row itself tells, by the table's option for that. */
static RowKind
kind_from_column(const TableWriter *writer, const Scalar *value)
{
	static const char *const names[] = {
		[ROW_INSERT] = "+I", [ROW_UPDATE_BEFORE] = "-U", [ROW_UPDATE_AFTER] = "+U", [ROW_DELETE] = "-D"
	};
	const LakeTable *table = writer->table;

	for (int i = 0; i < lengthof(names) && !value->isnull; i++)
		if (value->v.bytes.length == 2 && memcmp(value->v.bytes.data, names[i], 2) == 0)
			return (RowKind) i;
	ereport(ERROR,
			(errcode(ERRCODE_DATA_EXCEPTION),
			 errmsg("column \"%s\" of lake table \"%s\" does not tell the kind of a row",
					table->schema->fields[table->options->rowkind_field].name, table->name),
			 errdetail("Kinds are \"+I\", \"-U\", \"+U\" and \"-D\".")));
	return ROW_INSERT;			/* keep compiler quiet */
}

/* Does the table let rows of the kind fall? */
static bool
is_ignored(const TableWriter *writer, RowKind kind)
{
	const TableOptions *options = writer->table->options;

	if (!writer->table->has_primary_key)
		return false;
	return (options->ignore_delete && ROW_KIND_IS_RETRACT(kind)) ||
		(options->ignore_update_before && kind == ROW_UPDATE_BEFORE);
}

void
table_writer_append(TableWriter *writer, RowKind kind, const Scalar *values)
{
	int			rowkind_field = writer->table->options->rowkind_field;

	if (rowkind_field >= 0 && writer->table->has_primary_key)
		kind = kind_from_column(writer, &values[rowkind_field]);
	if (is_ignored(writer, kind))
		return;
	if (!write_buffer_append(writer->buffer, kind, values))
	{
		write_buffered(writer);
		if (!write_buffer_append(writer->buffer, kind, values))
			elog(ERROR, "row does not fit into an empty write buffer");
	}
	writer->total_rows++;
}

/* The entries that count, in a new list. */
static List *
current_entries(const TableWriter *writer)
{
	return list_copy_tail(writer->entries, writer->nforgotten);
}

int64
table_writer_file_bytes(const TableWriter *writer)
{
	int64		bytes = 0;
	ListCell   *lc;

	for_each_from(lc, writer->entries, writer->nforgotten)
		bytes += ((const ManifestEntry *) lfirst(lc))->file->file_size;
	return bytes;
}

List *
table_writer_flush(TableWriter *writer)
{
	write_buffered(writer);
	return current_entries(writer);
}

/* ---- savepoints ---- */

/* When no savepoint can bring truncated rows back, their files can go. */
static void
drop_forgotten(TableWriter *writer)
{
	if (writer->savepoints != NIL)
		return;
	for (int i = 0; i < writer->nforgotten; i++)
	{
		ManifestEntry *entry = (ManifestEntry *) list_nth(writer->entries, i);

		pending_files_remove(writer->files,
							 lake_data_file_path(writer->table, entry->partition, entry->bucket, entry->file));
	}
	writer->entries = list_delete_first_n(writer->entries, writer->nforgotten);
	writer->nforgotten = 0;
}

void
table_writer_savepoint(TableWriter *writer, int level)
{
	Savepoint  *top = writer->savepoints != NIL ? (Savepoint *) llast(writer->savepoints) : NULL;
	MemoryContext old;
	Savepoint  *savepoint;

	if (top != NULL && top->level >= level)
	{
		/* the first mark of a level is the one to return to */
		Assert(top->level == level);
		return;
	}
	old = MemoryContextSwitchTo(writer->context);
	savepoint = (Savepoint *) palloc(sizeof(Savepoint));
	savepoint->level = level;
	savepoint->nentries = list_length(writer->entries);
	savepoint->nfiles = pending_files_count(writer->files);
	savepoint->nrows = write_buffer_rows(writer->buffer);
	savepoint->total_rows = writer->total_rows;
	savepoint->truncated = writer->truncated;
	savepoint->nforgotten = writer->nforgotten;
	writer->savepoints = lappend(writer->savepoints, savepoint);
	MemoryContextSwitchTo(old);
}

void
table_writer_release(TableWriter *writer, int level)
{
	while (writer->savepoints != NIL && ((Savepoint *) llast(writer->savepoints))->level >= level)
	{
		pfree(llast(writer->savepoints));
		writer->savepoints = list_delete_last(writer->savepoints);
	}
	drop_forgotten(writer);
}

void
table_writer_rollback(TableWriter *writer, int level)
{
	ListCell   *lc;

	foreach(lc, writer->savepoints)
	{
		Savepoint  *savepoint = (Savepoint *) lfirst(lc);

		if (savepoint->level < level)
			continue;
		pending_files_cut(writer->files, savepoint->nfiles);
		writer->entries = list_truncate(writer->entries, savepoint->nentries);
		write_buffer_truncate(writer->buffer, savepoint->nrows);
		writer->total_rows = savepoint->total_rows;
		writer->truncated = savepoint->truncated;
		writer->nforgotten = savepoint->nforgotten;
		break;
	}
	table_writer_release(writer, level);
}

void
table_writer_truncate(TableWriter *writer)
{
	/* a savepoint may want the rows back: files can be set aside, buffered rows cannot */
	if (writer->savepoints != NIL)
		write_buffered(writer);
	else
		write_buffer_reset(writer->buffer);
	writer->nforgotten = list_length(writer->entries);
	writer->truncated = true;
	writer->total_rows = 0;
	drop_forgotten(writer);
}

void
table_writer_clear_partitions(TableWriter *writer, const Predicate *partitions)
{
	Assert(writer->total_rows == 0);
	writer->cleared = partitions;
}

/* ---- taking over ---- */

/* Copies of entries, in CurrentMemoryContext. */
static List *
copy_entries(const List *entries)
{
	List	   *copies = NIL;
	ListCell   *lc;

	foreach(lc, entries)
		copies = lappend(copies, manifest_entry_copy((const ManifestEntry *) lfirst(lc)));
	return copies;
}

void
table_writer_adopt(TableWriter *writer, TableWriter *other)
{
	MemoryContext old;
	List	   *entries;

	Assert(writer->savepoints == NIL && !other->truncated);
	table_writer_release(other, 0);
	write_buffered(other);
	write_buffered(writer);
	old = MemoryContextSwitchTo(writer->entries_context);
	entries = copy_entries(other->entries);
	pending_files_take(writer->files, other->files);
	if (continues_sequences(writer))
		entries = resequence_after(writer->table, writer->sequences, entries, writer->files);
	writer->entries = list_concat(writer->entries, entries);
	writer->total_rows += other->total_rows;
	MemoryContextSwitchTo(old);
	other->entries = NIL;
	other->total_rows = 0;
	MemoryContextReset(other->entries_context);
}

/* ---- commit ---- */

void
table_writer_prepare(TableWriter *writer)
{
	write_buffered(writer);
}

/*
 * Let our rows come after those of the snapshot that the commit is based on,
 * and into buckets that are counted as there.
 */
static void
prepare_try(CommitRequest *request, const LakeSnapshot *latest, void *arg)
{
	TableWriter *writer = (TableWriter *) arg;
	MemoryContext old;

	/* rows that were read before an overwrite must not come back after it */
	if (request->info.unless_overwritten_since > 0 &&
		snapshot_overwritten_since(writer->table->location, latest, request->info.unless_overwritten_since))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("lake table \"%s\" was overwritten meanwhile", writer->table->name)));
	if (!continues_sequences(writer))
		return;
	refresh_sequences(writer, latest);
	/* an overwrite leaves none of the other rows */
	if (request->overwrite_table)
		return;
	if (sequence_map_has_other_totals(writer->sequences, request->entries))
		commit_check_total_buckets(writer->table, latest, request->entries);
	old = MemoryContextSwitchTo(writer->entries_context);
	writer->entries = resequence_entries(writer->table, writer->sequences, request->entries, writer->files);
	request->entries = writer->entries;
	MemoryContextSwitchTo(old);
}

int64
table_writer_commit(TableWriter *writer, const CommitInfo *info)
{
	CommitRequest request = {0};
	LakeSnapshot *snapshot;
	int64		snapshot_id = 0;
	MemoryContext old;

	table_writer_release(writer, 0);
	write_buffered(writer);
	old = MemoryContextSwitchTo(writer->entries_context);
	request.overwrite_table = writer->truncated || writer->cleared;
	request.kind = request.overwrite_table ? COMMIT_OVERWRITE : COMMIT_APPEND;
	request.entries = writer->entries;
	request.overwritten = writer->cleared;
	request.info = *info;
	request.files = writer->files;
	request.before_try = prepare_try;
	request.arg = writer;
	snapshot = lake_commit(writer->table, &request);
	if (snapshot != NULL)
	{
		sequence_map_committed(writer->sequences, snapshot, request.entries);
		snapshot_id = snapshot->id;
	}
	MemoryContextSwitchTo(old);
	writer->entries = NIL;
	MemoryContextReset(writer->entries_context);
	writer->truncated = false;
	writer->cleared = NULL;
	writer->total_rows = 0;
	return snapshot_id;
}
