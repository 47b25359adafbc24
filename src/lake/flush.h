/*
 * flush.h
 *		From buffered rows to data files.
 */
#ifndef STREAMHOUSE_LAKE_FLUSH_H
#define STREAMHOUSE_LAKE_FLUSH_H

#include "lake/pending_files.h"
#include "lake/sequence.h"
#include "lake/write_buffer.h"

/*
 * Write the rows first .. end - 1 of a buffer into new files, one series for
 * each partition and bucket: of a primary key table level-0 files in key order
 * with the merged row of each key, of others files in arrival order.  Rows get
 * their sequence numbers here, in arrival order.
 *
 * Returns the ADD entries (ManifestEntry *) in CurrentMemoryContext.
 */
extern List *flush_rows(LakeTable *table, SequenceMap *sequences, WriteBuffer *buffer,
						int first, int end, PendingFiles *files);

#endif							/* STREAMHOUSE_LAKE_FLUSH_H */
