/*
 * resequence.h
 *		Raising the sequence numbers of files that are not published yet.
 */
#ifndef STREAMHOUSE_RESEQUENCE_H
#define STREAMHOUSE_RESEQUENCE_H

#include "lake/pending_files.h"
#include "lake/sequence.h"

/*
 * Where other writers have committed sequence numbers since that are not
 * below those of our entries (ManifestEntry *), ours are raised above them, so
 * that the later commit wins.  Files of primary key tables hold the numbers
 * and are written anew.  Returns the entries to commit, in CurrentMemoryContext.
 */
extern List *resequence_entries(LakeTable *table, SequenceMap *sequences, List *entries, PendingFiles *files);

/*
 * The same for entries whose rows come after all that have been numbered by
 * the map, committed or not.
 */
extern List *resequence_after(LakeTable *table, SequenceMap *sequences, List *entries, PendingFiles *files);

#endif							/* STREAMHOUSE_RESEQUENCE_H */
