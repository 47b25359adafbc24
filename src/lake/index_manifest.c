/*
 * index_manifest.c
 *		The index files of a snapshot.
 *
 * Only one thing is asked of them today: that no rows of data files are marked
 * as deleted.  Hash indexes are of no account to readers.
 */
#include "postgres.h"

#include "format/avro/avro.h"
#include "lake/index_manifest.h"
#include "lake/path.h"

#define DELETION_VECTORS "DELETION_VECTORS"

typedef struct IndexEntry
{
	char	   *index_type;
} IndexEntry;

static const AvroField index_entry_fields[] = {
	{"_INDEX_TYPE", AVRO_TO_STRING, offsetof(IndexEntry, index_type), AVRO_NO_OFFSET},
};

static const AvroLayout index_entry_layout = {
	sizeof(IndexEntry), lengthof(index_entry_fields), index_entry_fields
};

static void
refuse_deletion_vectors(void *record, void *arg)
{
	const IndexEntry *entry = record;
	const LakeTable *table = arg;

	if (strcmp(entry->index_type, DELETION_VECTORS) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" has deletion vectors, which are not supported", table->name)));
}

void
index_manifest_refuse_deletion_vectors(LakeTable *table, const LakeSnapshot *snapshot)
{
	if (snapshot->index_manifest == NULL)
		return;
	avro_read_file(manifest_path(table->location, snapshot->index_manifest), -1,
				   &index_entry_layout, refuse_deletion_vectors, table);
}
