/*
 * manifest.c
 *		Manifests: entries that add and delete data files, read.
 *
 * Source: format digest sections 4.3, 4.4 and 4.7.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "format/record.h"
#include "lake/path.h"
#include "lake/simple_stats.h"
#include "miscadmin.h"
#include "storage/cache.h"
#include "utils/memutils.h"

#define ENTRY_VERSION 2

/* No writer has more levels than this; it keeps arrays by level small. */
#define MAX_LEVEL 1000

/* Entries in memory take up to so many times the bytes of their file. */
#define DECODED_FACTOR 16

/* A data file as it is decoded. */
typedef struct FileRecord
{
	DataFileMeta file;
	int32		file_source;
	bool		has_file_source;
} FileRecord;

/* An entry as it is decoded. */
typedef struct EntryRecord
{
	int32		version;
	int32		kind;
	ManifestEntry entry;
	FileRecord	data;
} EntryRecord;

#define FILE_META(member) offsetof(FileRecord, file.member)
#define FILE_EXTRA(member) offsetof(FileRecord, member)
#define ENTRY(member) offsetof(EntryRecord, entry.member)
#define RECORD(member) offsetof(EntryRecord, member)

static const AvroField file_fields[] = {
	{"_FILE_NAME", AVRO_TO_STRING, FILE_META(file_name), AVRO_NO_OFFSET},
	{"_FILE_SIZE", AVRO_TO_INT64, FILE_META(file_size), AVRO_NO_OFFSET},
	{"_ROW_COUNT", AVRO_TO_INT64, FILE_META(row_count), AVRO_NO_OFFSET},
	{"_MIN_KEY", AVRO_TO_BYTES, FILE_META(min_key), AVRO_NO_OFFSET},
	{"_MAX_KEY", AVRO_TO_BYTES, FILE_META(max_key), AVRO_NO_OFFSET},
	{"_KEY_STATS", AVRO_TO_RECORD, FILE_META(key_stats), AVRO_NO_OFFSET, .record = &simple_stats_layout},
	{"_VALUE_STATS", AVRO_TO_RECORD, FILE_META(value_stats), AVRO_NO_OFFSET, .record = &simple_stats_layout},
	{"_MIN_SEQUENCE_NUMBER", AVRO_TO_INT64, FILE_META(min_sequence_number), AVRO_NO_OFFSET},
	{"_MAX_SEQUENCE_NUMBER", AVRO_TO_INT64, FILE_META(max_sequence_number), AVRO_NO_OFFSET},
	{"_SCHEMA_ID", AVRO_TO_INT64, FILE_META(schema_id), AVRO_NO_OFFSET},
	{"_LEVEL", AVRO_TO_INT32, FILE_META(level), AVRO_NO_OFFSET},
	{"_EXTRA_FILES", AVRO_TO_STRING_LIST, FILE_META(extra_files), AVRO_NO_OFFSET},
	{
		"_CREATION_TIME", AVRO_TO_INT64, FILE_META(creation_time), FILE_META(has_creation_time),
		.optional = true, .column_type = "TIMESTAMP(3)"
	},
	{
		"_DELETE_ROW_COUNT", AVRO_TO_INT64, FILE_META(delete_row_count),
		FILE_META(has_delete_row_count), .optional = true
	},
	{
		"_EMBEDDED_FILE_INDEX", AVRO_TO_BYTES, FILE_META(embedded_index),
		FILE_META(has_embedded_index), .optional = true
	},
	{
		"_FILE_SOURCE", AVRO_TO_INT32, FILE_EXTRA(file_source), FILE_EXTRA(has_file_source),
		.optional = true, .column_type = "TINYINT"
	},
	{
		"_VALUE_STATS_COLS", AVRO_TO_STRING_LIST, FILE_META(value_stats_cols),
		FILE_META(has_value_stats_cols), .optional = true
	},
	{"_EXTERNAL_PATH", AVRO_TO_STRING, FILE_META(external_path), AVRO_NO_OFFSET, .optional = true},
	{"_FIRST_ROW_ID", AVRO_TO_INT64, FILE_META(first_row_id), FILE_META(has_first_row_id), .optional = true},
	{"_WRITE_COLS", AVRO_TO_STRING_LIST, FILE_META(write_cols), FILE_META(has_write_cols), .optional = true},
};

static const AvroLayout file_layout = {sizeof(FileRecord), lengthof(file_fields), file_fields};

static const AvroField entry_fields[] = {
	{"_VERSION", AVRO_TO_INT32, RECORD(version), AVRO_NO_OFFSET},
	{"_KIND", AVRO_TO_INT32, RECORD(kind), AVRO_NO_OFFSET, .column_type = "TINYINT"},
	{"_PARTITION", AVRO_TO_BYTES, ENTRY(partition), AVRO_NO_OFFSET},
	{"_BUCKET", AVRO_TO_INT32, ENTRY(bucket), AVRO_NO_OFFSET},
	{"_TOTAL_BUCKETS", AVRO_TO_INT32, ENTRY(total_buckets), AVRO_NO_OFFSET},
	{"_FILE", AVRO_TO_RECORD, RECORD(data), AVRO_NO_OFFSET, .record = &file_layout},
};

static const AvroLayout entry_layout = {sizeof(EntryRecord), lengthof(entry_fields), entry_fields};

typedef struct EntryReader
{
	const char *path;
	ManifestEntryCallback callback;
	void	   *arg;
} EntryReader;

void
manifest_names_init(ManifestNames *names)
{
	lake_uuid(names->uuid);
	names->manifests = 0;
	names->lists = 0;
}

/* Reading */

static void
check_file(const FileRecord *record, const char *path)
{
	const DataFileMeta *file = &record->file;
	ListCell   *lc;

	if (!path_step_is_safe(file->file_name))
		avro_error(path, "A data file has the invalid name \"%s\".", file->file_name);
	foreach(lc, file->extra_files)
	{
		if (!path_step_is_safe(lfirst(lc)))
			avro_error(path, "Data file \"%s\" has a side file with the invalid name \"%s\".",
					   file->file_name, (char *) lfirst(lc));
	}
	if (file->file_size < 0 || file->row_count < 0 || file->schema_id < 0 || file->delete_row_count < 0)
		avro_error(path, "A number of data file \"%s\" is negative.", file->file_name);
	if (file->level < 0 || file->level > MAX_LEVEL)
		avro_error(path, "Data file \"%s\" has the level %d.", file->file_name, file->level);
	if (record->has_file_source && record->file_source != FILE_SOURCE_APPEND &&
		record->file_source != FILE_SOURCE_COMPACT)
		avro_error(path, "Data file \"%s\" has the source %d.", file->file_name, record->file_source);
}

static void
read_entry(void *data, void *arg)
{
	EntryRecord *record = data;
	EntryReader *reader = arg;

	if (record->version != ENTRY_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("manifest \"%s\" has entries of version %d, which is not supported",
						reader->path, record->version)));
	if (record->kind != FILE_ADD && record->kind != FILE_DELETE)
		avro_error(reader->path, "An entry is of the unknown kind %d.", record->kind);
	check_file(&record->data, reader->path);

	record->entry.kind = record->kind;
	record->entry.file = &record->data.file;
	record->data.file.file_source = record->data.has_file_source ? record->data.file_source : FILE_SOURCE_UNKNOWN;
	reader->callback(&record->entry, reader->arg);
}

static void
read_entries(const char *path, int64 size, ManifestEntryCallback callback, void *arg)
{
	EntryReader reader = {.path = path, .callback = callback, .arg = arg};

	record_read_file(path, size, &entry_layout, read_entry, &reader);
}

/* All entries of a manifest, as the cache keeps them */
typedef struct KeptEntries
{
	MemoryContext context;
	List	   *entries;		/* ManifestEntry * */
} KeptEntries;

static void
keep_entry(const ManifestEntry *entry, void *arg)
{
	KeptEntries *kept = arg;
	MemoryContext old = MemoryContextSwitchTo(kept->context);

	kept->entries = lappend(kept->entries, manifest_entry_copy(entry));
	MemoryContextSwitchTo(old);
}

/* The entries from the cache, or read into it; in use until CurrentMemoryContext is gone. */
static const KeptEntries *
load_entries(const char *path, int64 size)
{
	const KeptEntries *found = cache_get(CACHE_MANIFEST, path, size);
	MemoryContext context;
	KeptEntries *kept;

	if (found != NULL)
		return found;
	context = cache_context_create();
	kept = MemoryContextAllocZero(context, sizeof(KeptEntries));
	kept->context = context;
	read_entries(path, size, keep_entry, kept);
	if (cache_has_room(MemoryContextMemAllocated(context, true)))
		cache_put(CACHE_MANIFEST, path, size, context, kept);
	return kept;
}

void
manifest_read(const char *table_location, const ManifestFileMeta *meta, ManifestEntryCallback callback, void *arg)
{
	char	   *path = manifest_path(table_location, meta->file_name);
	MemoryContext old;
	MemoryContext use;
	const KeptEntries *kept;
	ListCell   *lc;

	if (!cache_has_room((Size) meta->file_size * DECODED_FACTOR))
	{
		read_entries(path, meta->file_size, callback, arg);
		return;
	}
	use = AllocSetContextCreate(CurrentMemoryContext, "streamhouse manifest", ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(use);
	kept = load_entries(path, meta->file_size);
	MemoryContextSwitchTo(old);
	foreach(lc, kept->entries)
	{
		CHECK_FOR_INTERRUPTS();
		callback(lfirst(lc), arg);
	}
	MemoryContextDelete(use);
}

bool
manifest_can_be_rewritten(const char *table_location, const ManifestFileMeta *meta)
{
	char	   *path = manifest_path(table_location, meta->file_name);
	AvroReader *reader;
	bool		complete;

	if (!record_file_is_avro(path))
		return false;
	reader = avro_reader_open(path, meta->file_size);
	complete = !avro_plan_skips(avro_bind(avro_reader_schema(reader), &entry_layout, path));
	avro_reader_close(reader);
	return complete;
}

/* Copies */

DataFileMeta *
data_file_meta_copy(const DataFileMeta *file)
{
	DataFileMeta *copy = palloc(sizeof(DataFileMeta));

	*copy = *file;
	copy->file_name = pstrdup(file->file_name);
	copy->min_key = bytes_copy(file->min_key);
	copy->max_key = bytes_copy(file->max_key);
	copy->key_stats = simple_stats_copy(&file->key_stats);
	copy->value_stats = simple_stats_copy(&file->value_stats);
	copy->extra_files = string_list_copy(file->extra_files);
	copy->embedded_index = bytes_copy(file->embedded_index);
	copy->value_stats_cols = string_list_copy(file->value_stats_cols);
	copy->external_path = file->external_path != NULL ? pstrdup(file->external_path) : NULL;
	copy->write_cols = string_list_copy(file->write_cols);
	return copy;
}

ManifestEntry *
manifest_entry_copy(const ManifestEntry *entry)
{
	ManifestEntry *copy = palloc(sizeof(ManifestEntry));

	*copy = *entry;
	copy->partition = bytes_copy(entry->partition);
	copy->file = data_file_meta_copy(entry->file);
	return copy;
}

/* Identity */

static bool
bytes_equal(BytesView a, BytesView b)
{
	return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

static bool
string_lists_equal(const List *a, const List *b)
{
	ListCell   *la;
	ListCell   *lb;

	if (list_length(a) != list_length(b))
		return false;
	forboth(la, a, lb, b)
	{
		if (strcmp(lfirst(la), lfirst(lb)) != 0)
			return false;
	}
	return true;
}

/* File names are unique in practice, so hashing them is enough. */
uint32
manifest_entry_hash(const ManifestEntry *entry)
{
	const char *name = entry->file->file_name;
	uint32		hash = hash_bytes((const unsigned char *) name, (int) strlen(name));

	return hash_combine(hash, murmurhash32(((uint32) entry->bucket << 10) ^ (uint32) entry->file->level));
}

bool
manifest_entry_same(const ManifestEntry *a, const ManifestEntry *b)
{
	const DataFileMeta *fa = a->file;
	const DataFileMeta *fb = b->file;

	if (a->bucket != b->bucket || fa->level != fb->level || strcmp(fa->file_name, fb->file_name) != 0)
		return false;
	if (fa->has_embedded_index != fb->has_embedded_index ||
		(fa->external_path == NULL) != (fb->external_path == NULL))
		return false;
	return bytes_equal(a->partition, b->partition) &&
		string_lists_equal(fa->extra_files, fb->extra_files) &&
		(!fa->has_embedded_index || bytes_equal(fa->embedded_index, fb->embedded_index)) &&
		(fa->external_path == NULL || strcmp(fa->external_path, fb->external_path) == 0);
}
