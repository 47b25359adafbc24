/*
 * resequence.c
 *		Raising the sequence numbers of files that are not published yet.
 *
 * Two writers that started from the same snapshot give the same numbers to
 * their rows.  The second to commit shifts all its numbers of a bucket by one
 * offset, which keeps their order.
 */
#include "postgres.h"

#include "lake/data_file.h"
#include "lake/file_writer.h"
#include "lake/resequence.h"
#include "utils/memutils.h"

/* Find the lowest number of each bucket that the entries are in. */
static void
note_lowest(SequenceMap *sequences, List *entries)
{
	ListCell   *lc;

	foreach(lc, entries)
	{
		const ManifestEntry *entry = (const ManifestEntry *) lfirst(lc);

		sequence_map_bucket(sequences, entry->partition, entry->bucket)->lowest_pending = PG_INT64_MAX;
	}
	foreach(lc, entries)
	{
		const ManifestEntry *entry = (const ManifestEntry *) lfirst(lc);
		BucketState *state = sequence_map_bucket(sequences, entry->partition, entry->bucket);

		state->lowest_pending = Min(state->lowest_pending, entry->file->min_sequence_number);
	}
}

/* How far each bucket's numbers must be raised: above those committed, or those given at all. */
static void
note_offsets(SequenceMap *sequences, List *entries, bool after_all)
{
	ListCell   *lc;

	foreach(lc, entries)
	{
		const ManifestEntry *entry = (const ManifestEntry *) lfirst(lc);
		BucketState *state = sequence_map_bucket(sequences, entry->partition, entry->bucket);
		int64		lowest = after_all ? state->next : state->committed + 1;

		state->offset = Max(lowest - state->lowest_pending, 0);
	}
}

/* Copy a file's rows with their sequence numbers raised. */
static void
copy_rows(LakeTable *table, const ManifestEntry *entry, int64 offset, FileWriter *writer)
{
	int			nfields = table->schema->nfields;
	int		   *fields = (int *) palloc((nfields + 2) * sizeof(int));
	Vector	  **columns = (Vector **) palloc((nfields + 2) * sizeof(Vector *));
	Vector	   *sequence_numbers;
	Vector	   *kinds;
	DataFileReader *reader;
	int			nrows;

	for (int i = 0; i < nfields; i++)
		fields[i] = i;
	fields[nfields] = FIELD_SEQUENCE_NUMBER;
	fields[nfields + 1] = FIELD_VALUE_KIND;
	for (int i = 0; i < nfields + 2; i++)
		columns[i] = vector_create(data_file_field_type(table, fields[i]), BATCH_ROWS);
	sequence_numbers = columns[nfields];
	kinds = columns[nfields + 1];

	reader = data_file_open(table, entry->partition, entry->bucket, entry->file, fields, nfields + 2, NULL, NULL, NULL);
	while ((nrows = data_file_next(reader)) > 0)
	{
		for (int i = 0; i < nfields + 2; i++)
			data_file_read_field(reader, fields[i], NULL, nrows, columns[i]);
		for (int i = 0; i < nrows; i++)
			sequence_numbers->values.i64[i] += offset;
		file_writer_append_keyed(writer, columns, sequence_numbers->values.i64, kinds->values.i8, NULL, nrows);
	}
	data_file_close(reader);
}

/* Write a file anew with its sequence numbers raised; the entries of what takes its place. */
static List *
rewrite_file(LakeTable *table, const ManifestEntry *entry, int64 offset, PendingFiles *files)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "lake resequencing",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	FileWriterTarget target = {0};
	FileWriter *writer;
	List	   *entries;

	target.partition = entry->partition;
	target.bucket = entry->bucket;
	target.total_buckets = entry->total_buckets;
	target.level = entry->file->level;
	target.source = entry->file->file_source;
	writer = file_writer_open(table, &target, files);
	copy_rows(table, entry, offset, writer);
	MemoryContextSwitchTo(old);
	entries = file_writer_finish(writer);
	pending_files_remove(files, lake_data_file_path(table, entry->partition, entry->bucket, entry->file));
	MemoryContextDelete(context);
	return entries;
}

/* An entry whose file does not hold the numbers. */
static ManifestEntry *
shift_entry(const ManifestEntry *entry, int64 offset)
{
	ManifestEntry *shifted = manifest_entry_copy(entry);

	shifted->file->min_sequence_number += offset;
	shifted->file->max_sequence_number += offset;
	return shifted;
}

static List *
raise_numbers(LakeTable *table, SequenceMap *sequences, List *entries, PendingFiles *files, bool after_all)
{
	List	   *result = NIL;
	ListCell   *lc;

	note_lowest(sequences, entries);
	note_offsets(sequences, entries, after_all);
	foreach(lc, entries)
	{
		ManifestEntry *entry = (ManifestEntry *) lfirst(lc);
		BucketState *state = sequence_map_bucket(sequences, entry->partition, entry->bucket);
		int64		offset = state->offset;

		state->next = Max(state->next, entry->file->max_sequence_number + offset + 1);
		if (offset == 0)
			result = lappend(result, entry);
		else if (table->has_primary_key)
			result = list_concat(result, rewrite_file(table, entry, offset, files));
		else
			result = lappend(result, shift_entry(entry, offset));
	}
	return result;
}

List *
resequence_entries(LakeTable *table, SequenceMap *sequences, List *entries, PendingFiles *files)
{
	return raise_numbers(table, sequences, entries, files, false);
}

List *
resequence_after(LakeTable *table, SequenceMap *sequences, List *entries, PendingFiles *files)
{
	return raise_numbers(table, sequences, entries, files, true);
}
