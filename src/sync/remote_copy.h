/*
 * remote_copy.h
 *		The initial copy of tables of another server: their blocks by COPY.
 */
#ifndef STREAMHOUSE_SYNC_REMOTE_COPY_H
#define STREAMHOUSE_SYNC_REMOTE_COPY_H

#include "executor/tuptable.h"
#include "utils/rel.h"

#include "sync/copy_chunk.h"

typedef struct RemoteCopy RemoteCopy;

/* The relations (CopyRelation *) whose rows are the table's. */
extern List *remote_copy_relations(const CopyTable *table);

/*
 * Begin to read a chunk under the table's snapshot.  ERROR if the source's
 * columns are not the mirror's any more, or its blocks are others.
 */
extern RemoteCopy *remote_copy_begin_chunk(const CopyTable *table, const CopyChunk *chunk, Relation mirror);

/* The next row, in a slot of the mirror's columns; what it needs is allocated in the context.  False at the end. */
extern bool remote_copy_row(RemoteCopy *copy, TupleTableSlot *slot, MemoryContext context);

extern void remote_copy_end_chunk(RemoteCopy *copy);

#endif							/* STREAMHOUSE_SYNC_REMOTE_COPY_H */
