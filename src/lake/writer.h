/*
 * writer.h
 *		Writing rows into a table: buffer, sort, data files; then commit.
 *
 * Rows are collected in column builders in bounded memory; when the buffer is
 * full it is sorted by partition, bucket and key, merged, and written as
 * level-0 files (primary key) or plain files (append).  Nothing is visible
 * until table_writer_commit.  Data files of a writer that is aborted, or whose
 * memory context is deleted, are removed.
 */
#ifndef STREAMHOUSE_LAKE_WRITER_H
#define STREAMHOUSE_LAKE_WRITER_H

#include "lake/read.h"
#include "lake/sequence.h"
#include "lake/table.h"

typedef struct TableWriter TableWriter;

/*
 * Open in a child of CurrentMemoryContext; the writer keeps its own copy of
 * table.  memory_limit: bytes that buffered rows may take before they are
 * written.  ERROR when the table cannot be written (options_check_writable).
 */
extern TableWriter *table_writer_open(LakeTable *table, Size memory_limit);

/* How rows of a table with primary key are numbered; before the first row. */
extern void table_writer_set_sequence_rule(TableWriter *writer, SequenceRule rule);

/*
 * Number rows so far ahead of those committed, for a writer whose rows will be
 * adopted after those of others; before the first row.
 */
extern void table_writer_set_lead(TableWriter *writer, int64 lead);

/*
 * Append one row: a scalar per table field, in the fields' order; bytes are
 * copied.  A table's options may give it another kind, or let it fall.
 */
extern void table_writer_append(TableWriter *writer, RowKind kind, const Scalar *values);

/* Rows buffered but not yet in files, rows in all, bytes of buffer in use. */
extern int64 table_writer_buffered_rows(const TableWriter *writer);
extern int64 table_writer_total_rows(const TableWriter *writer);
extern Size table_writer_memory(const TableWriter *writer);

/* Bytes of the files that are not published yet. */
extern int64 table_writer_file_bytes(const TableWriter *writer);

/*
 * Savepoints: a mark names the state; rolling back to it forgets all rows
 * appended since, whether buffered or in files (which are removed).  Marks
 * nest: levels ascend; a level is released by releasing or rolling back.
 */
extern void table_writer_savepoint(TableWriter *writer, int level);
extern void table_writer_release(TableWriter *writer, int level);
extern void table_writer_rollback(TableWriter *writer, int level);

/*
 * TRUNCATE in this transaction: forget rows appended so far, and let the
 * commit be an OVERWRITE of the whole table.
 */
extern void table_writer_truncate(TableWriter *writer);

/*
 * Let the commit be an OVERWRITE that leaves nothing in the partitions that match, a
 * predicate on columns of the partition.  The writer must be, and stay, empty.
 */
extern void table_writer_clear_partitions(TableWriter *writer, const Predicate *partitions);
extern bool table_writer_truncated(const TableWriter *writer);

/* Write what is buffered; the unpublished entries (ManifestEntry *) so far, in order. */
extern List *table_writer_flush(TableWriter *writer);

/*
 * Take over all rows of another writer of the table, behind those that this
 * one has.  Files are written anew only if their sequence numbers are not
 * above those given so far.  The other one is empty afterwards.
 */
extern void table_writer_adopt(TableWriter *writer, TableWriter *other);

typedef struct CommitInfo
{
	const char *commit_user;
	int64		commit_identifier;	/* BATCH_COMMIT_IDENTIFIER for SQL */
	List	   *properties;		/* OptionPair * */
	bool		force;			/* commit also when there is nothing to */
	int64		unless_overwritten_since;	/* ERROR if a later snapshot than this is an OVERWRITE; 0: no matter */
} CommitInfo;

/*
 * Flush, then check conflicts and publish; returns the snapshot's id, 0 when
 * there was nothing to commit.  If other writers committed to the same
 * buckets since, sequence numbers are raised above theirs (files rewritten).
 * Afterwards the writer is empty and may go on: it keeps its knowledge of
 * sequence numbers.  On ERROR nothing is published, and the writer can only be
 * closed, unless the message says that the outcome is unknown.
 */
extern void table_writer_prepare(TableWriter *writer);	/* all that can fail, short of publishing */
extern int64 table_writer_commit(TableWriter *writer, const CommitInfo *info);

/* Free everything; unpublished files are removed. */
extern void table_writer_close(TableWriter *writer);

#endif							/* STREAMHOUSE_LAKE_WRITER_H */
