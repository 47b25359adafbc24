/*
 * index_manifest.c
 *		The index files of a snapshot.
 *
 * Readers ask that no rows of data files are marked as deleted; hash indexes are
 * of no account to them.  Expiration asks which files there are.
 */
#include "postgres.h"

#include "format/avro/avro.h"
#include "lake/index_manifest.h"
#include "lake/path.h"

#define DELETION_VECTORS "DELETION_VECTORS"

typedef struct IndexEntry
{
	char	   *index_type;
	char	   *file_name;
	char	   *external_path;	/* or NULL */
} IndexEntry;

static const AvroField index_entry_fields[] = {
	{"_INDEX_TYPE", AVRO_TO_STRING, offsetof(IndexEntry, index_type), AVRO_NO_OFFSET},
	{"_FILE_NAME", AVRO_TO_STRING, offsetof(IndexEntry, file_name), AVRO_NO_OFFSET},
	{"_EXTERNAL_PATH", AVRO_TO_STRING, offsetof(IndexEntry, external_path), AVRO_NO_OFFSET, .optional = true},
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

typedef struct CollectNames
{
	MemoryContext context;
	List	   *names;
} CollectNames;

static void
collect_name(void *record, void *arg)
{
	const IndexEntry *entry = record;
	CollectNames *collect = arg;
	MemoryContext old;

	if (entry->external_path != NULL)
		return;
	old = MemoryContextSwitchTo(collect->context);
	collect->names = lappend(collect->names, pstrdup(entry->file_name));
	MemoryContextSwitchTo(old);
}

List *
index_manifest_file_names(const char *table_location, const char *name)
{
	CollectNames collect = {CurrentMemoryContext, NIL};

	avro_read_file(manifest_path(table_location, name), -1, &index_entry_layout, collect_name, &collect);
	return collect.names;
}
