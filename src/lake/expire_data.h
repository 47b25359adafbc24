/*
 * expire_data.h
 *		Removing data files that no snapshot or tag shows any more.
 */
#ifndef STREAMHOUSE_EXPIRE_DATA_H
#define STREAMHOUSE_EXPIRE_DATA_H

#include "lake/table.h"

typedef struct DataExpiration DataExpiration;

/* tags: LakeSnapshot *, ascending by id.  In a child of CurrentMemoryContext. */
extern DataExpiration *data_expiration_begin(LakeTable *table, List *tags);

/*
 * Remove the files that this snapshot's commit deleted: earlier snapshots, all
 * of which expire, were the last to show them.
 */
extern void data_expiration_remove_deleted(DataExpiration *expiration, const LakeSnapshot *snapshot);

/* Remove the changelog files of a snapshot that expires. */
extern void data_expiration_remove_changelog(DataExpiration *expiration, const LakeSnapshot *snapshot);

/* Remove empty folders if the table wants that, and free; how many files were removed. */
extern int64 data_expiration_end(DataExpiration *expiration);

/*
 * The manifests (ManifestFileMeta *) of a list.  False when the list is not
 * there: an expiration that was interrupted has removed it.
 */
extern bool manifest_list_read_if_there(const char *table_location, const char *name, int64 size, List **manifests);

#endif							/* STREAMHOUSE_EXPIRE_DATA_H */
