/*
 * index_manifest.h
 *		The index files of a snapshot (format digest section 4.9).
 */
#ifndef STREAMHOUSE_INDEX_MANIFEST_H
#define STREAMHOUSE_INDEX_MANIFEST_H

#include "lake/table.h"

#define INDEX_DELETION_VECTORS "DELETION_VECTORS"

/* Where a data file's deletion vector lies in the index file. */
typedef struct DeletionRange
{
	char	   *data_file;		/* its name */
	int64		offset;
	int64		length;			/* as the vector's version counts it */
	bool		has_cardinality;
	int64		cardinality;
} DeletionRange;

typedef struct IndexEntry
{
	BytesView	partition;		/* serialised row */
	int32		bucket;
	char	   *index_type;
	char	   *file_name;
	int64		file_size;
	int64		row_count;
	List	   *ranges;			/* DeletionRange * */
	char	   *external_path;	/* or NULL */
} IndexEntry;

/* Deep copy into CurrentMemoryContext. */
extern IndexEntry *index_entry_copy(const IndexEntry *entry);

/* Full path of an index file. */
extern char *index_file_path(const LakeTable *table, const IndexEntry *entry);

/* Call back for each entry, which lives only for the call. */
typedef void (*IndexEntryCallback) (const IndexEntry *entry, void *arg);
extern void index_manifest_read(const char *table_location, const char *name,
								IndexEntryCallback callback, void *arg);

/* ERROR if files of the snapshot have deletion vectors: whoever rewrites files must not lose them. */
extern void index_manifest_refuse_deletion_vectors(LakeTable *table, const LakeSnapshot *snapshot);

/* The names (char *) of the index files in the table's index folder. */
extern List *index_manifest_file_names(const char *table_location, const char *name);

#endif							/* STREAMHOUSE_INDEX_MANIFEST_H */
