/*
 * index_manifest.c
 *		The index files of a snapshot.
 *
 * Readers ask for deletion vectors; hash indexes are of no account to them.
 * Expiration asks which files there are.
 */
#include "postgres.h"

#include "format/record.h"
#include "lake/index_manifest.h"
#include "lake/path.h"
#include "lake/simple_stats.h"
#include "storage/cache.h"
#include "utils/memutils.h"

static const AvroField deletion_range_fields[] = {
	{"f0", AVRO_TO_STRING, offsetof(DeletionRange, data_file), AVRO_NO_OFFSET},
	{"f1", AVRO_TO_INT64, offsetof(DeletionRange, offset), AVRO_NO_OFFSET},
	{"f2", AVRO_TO_INT64, offsetof(DeletionRange, length), AVRO_NO_OFFSET},
	{"_CARDINALITY", AVRO_TO_INT64, offsetof(DeletionRange, cardinality),
	offsetof(DeletionRange, has_cardinality), .optional = true},
};

static const AvroLayout deletion_range_layout = {
	sizeof(DeletionRange), lengthof(deletion_range_fields), deletion_range_fields
};

static const AvroField index_entry_fields[] = {
	{"_PARTITION", AVRO_TO_BYTES, offsetof(IndexEntry, partition), AVRO_NO_OFFSET},
	{"_BUCKET", AVRO_TO_INT32, offsetof(IndexEntry, bucket), AVRO_NO_OFFSET},
	{"_INDEX_TYPE", AVRO_TO_STRING, offsetof(IndexEntry, index_type), AVRO_NO_OFFSET},
	{"_FILE_NAME", AVRO_TO_STRING, offsetof(IndexEntry, file_name), AVRO_NO_OFFSET},
	{"_FILE_SIZE", AVRO_TO_INT64, offsetof(IndexEntry, file_size), AVRO_NO_OFFSET},
	{"_ROW_COUNT", AVRO_TO_INT64, offsetof(IndexEntry, row_count), AVRO_NO_OFFSET},
	{"_DELETIONS_VECTORS_RANGES", AVRO_TO_RECORD_LIST, offsetof(IndexEntry, ranges), AVRO_NO_OFFSET,
	.optional = true, .record = &deletion_range_layout},
	{"_EXTERNAL_PATH", AVRO_TO_STRING, offsetof(IndexEntry, external_path), AVRO_NO_OFFSET, .optional = true},
};

static const AvroLayout index_entry_layout = {
	sizeof(IndexEntry), lengthof(index_entry_fields), index_entry_fields
};

IndexEntry *
index_entry_copy(const IndexEntry *entry)
{
	IndexEntry *copy = palloc(sizeof(IndexEntry));
	ListCell   *cell;

	*copy = *entry;
	copy->partition = bytes_copy(entry->partition);
	copy->index_type = pstrdup(entry->index_type);
	copy->file_name = pstrdup(entry->file_name);
	copy->external_path = entry->external_path != NULL ? pstrdup(entry->external_path) : NULL;
	copy->ranges = NIL;
	foreach(cell, entry->ranges)
	{
		DeletionRange *range = palloc(sizeof(DeletionRange));

		*range = *(DeletionRange *) lfirst(cell);
		range->data_file = pstrdup(range->data_file);
		copy->ranges = lappend(copy->ranges, range);
	}
	return copy;
}

char *
index_file_path(const LakeTable *table, const IndexEntry *entry)
{
	char	   *directory;

	if (entry->external_path != NULL)
		return lake_external_path(table, entry->external_path);
	if (!table->options->index_file_in_data_dir)
		return index_path(table->location, entry->file_name);
	directory = lake_bucket_directory(table, entry->partition, entry->bucket);
	return named_file_path(table->location, directory, entry->file_name);
}

static void
keep_entry(void *record, void *arg)
{
	List	  **entries = arg;

	*entries = lappend(*entries, index_entry_copy(record));
}

/* In CurrentMemoryContext, from the cache or into it. */
static const List *
load_entries(const char *path)
{
	const List *const *kept = cache_get(CACHE_INDEX_MANIFEST, path, 0);
	MemoryContext context;
	MemoryContext old;
	List	  **entries;

	if (kept != NULL)
		return *kept;
	context = cache_context_create();
	old = MemoryContextSwitchTo(context);
	entries = palloc0(sizeof(List *));
	record_read_file(path, -1, &index_entry_layout, keep_entry, entries);
	MemoryContextSwitchTo(old);
	if (cache_has_room(MemoryContextMemAllocated(context, true)))
		cache_put(CACHE_INDEX_MANIFEST, path, 0, context, entries);
	return *entries;
}

void
index_manifest_read(const char *table_location, const char *name, IndexEntryCallback callback, void *arg)
{
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext use = AllocSetContextCreate(caller, "streamhouse index manifest", ALLOCSET_SMALL_SIZES);
	const List *entries;
	ListCell   *cell;

	MemoryContextSwitchTo(use);
	entries = load_entries(manifest_path(table_location, name));
	MemoryContextSwitchTo(caller);
	foreach(cell, entries)
		callback(lfirst(cell), arg);
	MemoryContextDelete(use);
}

static void
refuse_deletion_vectors(const IndexEntry *entry, void *arg)
{
	const LakeTable *table = arg;

	if (strcmp(entry->index_type, INDEX_DELETION_VECTORS) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" has deletion vectors, which can only be read", table->name)));
}

void
index_manifest_refuse_deletion_vectors(LakeTable *table, const LakeSnapshot *snapshot)
{
	if (snapshot->index_manifest != NULL)
		index_manifest_read(table->location, snapshot->index_manifest, refuse_deletion_vectors, table);
}

typedef struct CollectNames
{
	MemoryContext context;
	List	   *names;
} CollectNames;

static void
collect_name(const IndexEntry *entry, void *arg)
{
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

	index_manifest_read(table_location, name, collect_name, &collect);
	return collect.names;
}
