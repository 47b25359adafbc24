/*
 * copy_target.h
 *		The lake table that a copy goes to, as it is when the copy begins.
 */
#ifndef STREAMHOUSE_SYNC_COPY_TARGET_H
#define STREAMHOUSE_SYNC_COPY_TARGET_H

#include "sync/copy_chunk.h"

/*
 * Make the lake table if it is not there, let it be empty, and let the lake
 * say that the stream has passed the position: from there on changes are
 * taken.  The catalog is told, too.  ERROR when it cannot be; false when the
 * source's columns are others now, which is put right: then the table needs another
 * snapshot, or it is paused, or it has left the sync.  In a transaction.
 */
extern bool copy_target_begin(const CopyTable *table);

/* Has a table elsewhere the columns that its mirror has?  In a transaction. */
extern bool copy_columns_fit(const CopyTable *table);

#endif							/* STREAMHOUSE_SYNC_COPY_TARGET_H */
