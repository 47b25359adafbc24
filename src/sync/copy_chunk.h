/*
 * copy_chunk.h
 *		The unit of a table's initial copy: some blocks of a relation, one snapshot of
 *		the lake table.
 *
 * The stream writes to the same lake table meanwhile.  In tables with a key
 * the rows of the copy lie under all changes, whatever is committed first;
 * so a chunk may also be copied twice, or under a later snapshot than others,
 * once the stream has passed that.  In tables without a key all chunks must
 * be of the snapshot at whose position the stream begins.
 *
 * A chunk's commit says which blocks it has; so after a crash the lake tells
 * which are left.
 */
#ifndef STREAMHOUSE_SYNC_COPY_CHUNK_H
#define STREAMHOUSE_SYNC_COPY_CHUNK_H

#include "storage/block.h"

#include "compat.h"
#include "lake/table.h"
#include "sync/monitor.h"
#include "sync/sync_catalog.h"

typedef struct CopyChunk
{
	Oid			relid;			/* the source, or a partition of it; the number at the source */
	Oid			file;			/* its relfilenode: blocks of another file are others */
	BlockNumber start;
	BlockNumber end;			/* the first block behind */
} CopyChunk;

/* A table to be copied. */
typedef struct CopyTable
{
	const SyncRecord *sync;
	const SyncTableRecord *record;
	const char *warehouse;
	XLogRecPtr	position;		/* of the snapshot */
	const char *snapshot;		/* its name at a source that is another server; or NULL */
} CopyTable;

/*
 * Copy the rows that the active snapshot sees, and commit them.  memory: for
 * rows being collected.  number: of the chunk, for the commit.  What was written is added to counts.
 */
extern void copy_chunk(const CopyTable *table, const CopyChunk *chunk, int64 number, Size memory,
					   const SyncMonitor *monitor, TableCounts *counts);

/* A statement wrote the table anew: its rows are only for later snapshots, unless they are copied again. */
pg_noreturn extern void copy_raise_written_anew(const CopyTable *table);

/* The chunks (CopyChunk *) of a table that are in the lake. */
extern List *copy_chunks_done(const CopyTable *table, const LakeTable *lake);

/* Properties of the snapshot that begins a copy. */
extern List *copy_base_properties(const SyncTableRecord *record);

#endif							/* STREAMHOUSE_SYNC_COPY_CHUNK_H */
