/*
 * file_writer.h
 *		Data files of one partition and bucket, with their metadata.
 *
 * A file writer takes rows in the order they shall lie in, rolls to a new file
 * at the table's target size, and gives the manifest entries of the files it
 * wrote.  Flushes of a TableWriter and compaction both write through it.
 */
#ifndef STREAMHOUSE_LAKE_FILE_WRITER_H
#define STREAMHOUSE_LAKE_FILE_WRITER_H

#include "lake/pending_files.h"
#include "lake/table.h"

typedef struct FileWriter FileWriter;

typedef struct FileWriterTarget
{
	BytesView	partition;		/* serialised row */
	int32		bucket;
	int32		total_buckets;	/* for the manifest entries */
	int32		level;
	FileSource	source;

	/*
	 * Append tables: the first row's sequence number, which is not stored in
	 * the file but counted on row by row.
	 */
	int64		first_sequence_number;
} FileWriterTarget;

/*
 * Open in a child of CurrentMemoryContext.  No file is made before the first
 * row.  Finished files are registered with files.
 */
extern FileWriter *file_writer_open(LakeTable *table, const FileWriterTarget *target, PendingFiles *files);

/*
 * Rows of a table without primary key.  columns: vectors by table field; rows:
 * positions in them, NULL for 0 .. nrows - 1.  Dictionary-encoded vectors are
 * flattened.
 */
extern void file_writer_append(FileWriter *writer, Vector *const *columns, const int32 *rows, int nrows);

/*
 * Rows of a primary key table, with sequence numbers and kinds (RowKind) by
 * position.  Keys must ascend strictly, over all calls.
 */
extern void file_writer_append_keyed(FileWriter *writer, Vector *const *columns,
									 const int64 *sequence_numbers, const int8 *kinds,
									 const int32 *rows, int nrows);

/*
 * Finish and free the writer: ADD entries (ManifestEntry *) of the files
 * written, all durable, in CurrentMemoryContext.  NIL when there was no row.
 */
extern List *file_writer_finish(FileWriter *writer);

#endif							/* STREAMHOUSE_LAKE_FILE_WRITER_H */
