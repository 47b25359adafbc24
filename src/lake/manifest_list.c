/*
 * manifest_list.c
 *		Manifest lists: which manifests make up a snapshot.
 *
 * Source: format digest section 4.2.
 */
#include "postgres.h"

#include "format/record.h"
#include "lake/path.h"
#include "lake/simple_stats.h"
#include "storage/cache.h"
#include "storage/storage.h"
#include "utils/memutils.h"

#define LIST_VERSION 2

/* As Java writes it, letter by letter. */
static const char list_schema[] =
"{\"type\":\"record\",\"name\":\"record\",\"namespace\":\"org.apache.paimon.avro.generated\",\"fields\":["
AVRO_FIELD("_VERSION", "\"int\"") ","
AVRO_FIELD("_FILE_NAME", "\"string\"") ","
AVRO_FIELD("_FILE_SIZE", "\"long\"") ","
AVRO_FIELD("_NUM_ADDED_FILES", "\"long\"") ","
AVRO_FIELD("_NUM_DELETED_FILES", "\"long\"") ","
AVRO_FIELD("_PARTITION_STATS", SIMPLE_STATS_SCHEMA("record__PARTITION_STATS")) ","
AVRO_FIELD("_SCHEMA_ID", "\"long\"") ","
AVRO_NULLABLE_FIELD("_MIN_BUCKET", "\"int\"") ","
AVRO_NULLABLE_FIELD("_MAX_BUCKET", "\"int\"") ","
AVRO_NULLABLE_FIELD("_MIN_LEVEL", "\"int\"") ","
AVRO_NULLABLE_FIELD("_MAX_LEVEL", "\"int\"") ","
AVRO_NULLABLE_FIELD("_MIN_ROW_ID", "\"long\"") ","
AVRO_NULLABLE_FIELD("_MAX_ROW_ID", "\"long\"")
"]}";

/* A record as it is decoded: the ranges' ends may be null one by one. */
typedef struct ListRecord
{
	int32		version;
	ManifestFileMeta meta;
	bool		has_min_bucket;
	bool		has_max_bucket;
	bool		has_min_level;
	bool		has_max_level;
	bool		has_min_row_id;
	bool		has_max_row_id;
} ListRecord;

#define META(member) offsetof(ListRecord, meta.member)
#define RECORD(member) offsetof(ListRecord, member)

static const AvroField list_fields[] = {
	{"_VERSION", AVRO_TO_INT32, RECORD(version), AVRO_NO_OFFSET},
	{"_FILE_NAME", AVRO_TO_STRING, META(file_name), AVRO_NO_OFFSET},
	{"_FILE_SIZE", AVRO_TO_INT64, META(file_size), AVRO_NO_OFFSET},
	{"_NUM_ADDED_FILES", AVRO_TO_INT64, META(num_added_files), AVRO_NO_OFFSET},
	{"_NUM_DELETED_FILES", AVRO_TO_INT64, META(num_deleted_files), AVRO_NO_OFFSET},
	{"_PARTITION_STATS", AVRO_TO_RECORD, META(partition_stats), AVRO_NO_OFFSET, .record = &simple_stats_layout},
	{"_SCHEMA_ID", AVRO_TO_INT64, META(schema_id), AVRO_NO_OFFSET},
	{"_MIN_BUCKET", AVRO_TO_INT32, META(min_bucket), RECORD(has_min_bucket), .optional = true},
	{"_MAX_BUCKET", AVRO_TO_INT32, META(max_bucket), RECORD(has_max_bucket), .optional = true},
	{"_MIN_LEVEL", AVRO_TO_INT32, META(min_level), RECORD(has_min_level), .optional = true},
	{"_MAX_LEVEL", AVRO_TO_INT32, META(max_level), RECORD(has_max_level), .optional = true},
	{"_MIN_ROW_ID", AVRO_TO_INT64, META(min_row_id), RECORD(has_min_row_id), .optional = true},
	{"_MAX_ROW_ID", AVRO_TO_INT64, META(max_row_id), RECORD(has_max_row_id), .optional = true},
};

static const AvroLayout list_layout = {sizeof(ListRecord), lengthof(list_fields), list_fields};

typedef struct ListCollector
{
	const char *path;
	List	   *metas;
} ListCollector;

ManifestFileMeta *
manifest_file_meta_copy(const ManifestFileMeta *meta)
{
	ManifestFileMeta *copy = palloc(sizeof(ManifestFileMeta));

	*copy = *meta;
	copy->file_name = pstrdup(meta->file_name);
	copy->partition_stats = simple_stats_copy(&meta->partition_stats);
	return copy;
}

/* Reading */

static void
check_record(const ListRecord *record, const char *path)
{
	const ManifestFileMeta *meta = &record->meta;

	if (record->version != LIST_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("manifest list \"%s\" has entries of version %d, which is not supported",
						path, record->version)));
	if (!path_step_is_safe(meta->file_name))
		avro_error(path, "A manifest has the invalid name \"%s\".", meta->file_name);
	if (meta->file_size < 0 || meta->num_added_files < 0 || meta->num_deleted_files < 0 || meta->schema_id < 0)
		avro_error(path, "A number of manifest \"%s\" is negative.", meta->file_name);
}

static void
collect_meta(void *record, void *arg)
{
	ListRecord *list_record = record;
	ListCollector *collector = arg;
	ManifestFileMeta *meta;

	check_record(list_record, collector->path);
	meta = manifest_file_meta_copy(&list_record->meta);
	meta->has_bucket_range = list_record->has_min_bucket && list_record->has_max_bucket;
	meta->has_level_range = list_record->has_min_level && list_record->has_max_level;
	meta->has_row_id_range = list_record->has_min_row_id && list_record->has_max_row_id;
	collector->metas = lappend(collector->metas, meta);
}

List *
manifest_list_read(const char *table_location, const char *name, int64 size)
{
	ListCollector collector = {.path = manifest_path(table_location, name)};
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext use = AllocSetContextCreate(caller, "streamhouse manifest list", ALLOCSET_SMALL_SIZES);
	List	   *metas = NIL;
	const List *const *kept;
	ListCell   *lc;

	MemoryContextSwitchTo(use);
	kept = cache_get(CACHE_MANIFEST_LIST, collector.path, size);
	if (kept == NULL)
	{
		MemoryContext context = cache_context_create();
		List	  **value;

		MemoryContextSwitchTo(context);
		record_read_file(collector.path, size, &list_layout, collect_meta, &collector);
		value = palloc(sizeof(List *));
		*value = collector.metas;
		MemoryContextSwitchTo(use);
		kept = (const List *const *) value;
		if (cache_has_room(MemoryContextMemAllocated(context, true)))
			cache_put(CACHE_MANIFEST_LIST, collector.path, size, context, value);
	}
	MemoryContextSwitchTo(caller);
	foreach(lc, *kept)
		metas = lappend(metas, manifest_file_meta_copy(lfirst(lc)));
	MemoryContextDelete(use);
	return metas;
}

/* Writing */

static void
write_meta(StringInfo out, const ManifestFileMeta *meta)
{
	avro_write_long(out, LIST_VERSION);
	avro_write_string(out, meta->file_name);
	avro_write_long(out, meta->file_size);
	avro_write_long(out, meta->num_added_files);
	avro_write_long(out, meta->num_deleted_files);
	simple_stats_write(out, &meta->partition_stats);
	avro_write_long(out, meta->schema_id);
	avro_write_nullable_long(out, meta->has_bucket_range, meta->min_bucket);
	avro_write_nullable_long(out, meta->has_bucket_range, meta->max_bucket);
	avro_write_nullable_long(out, meta->has_level_range, meta->min_level);
	avro_write_nullable_long(out, meta->has_level_range, meta->max_level);
	avro_write_nullable_long(out, meta->has_row_id_range, meta->min_row_id);
	avro_write_nullable_long(out, meta->has_row_id_range, meta->max_row_id);
}

char *
manifest_list_write(const char *table_location, ManifestNames *names, const char *compression,
					List *manifests, int64 *size)
{
	char	   *name = psprintf("manifest-list-%s-%d", names->uuid, names->lists++);
	AvroWriter *writer = avro_writer_create(manifest_path(table_location, name), list_schema, compression, 0);
	ListCell   *lc;

	foreach(lc, manifests)
	{
		write_meta(avro_writer_buffer(writer), lfirst(lc));
		avro_writer_end_record(writer);
	}
	*size = avro_writer_finish(writer);
	return name;
}
