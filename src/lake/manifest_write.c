/*
 * manifest_write.c
 *		Manifests written: entries encoded, rolled into files, summed up.
 *
 * Source: format digest sections 4.1 to 4.6 and 4.8.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "lake/binary_row.h"
#include "lake/path.h"
#include "lake/simple_stats.h"
#include "utils/memutils.h"

#define ENTRY_VERSION		2
#define ROLL_CHECK_INTERVAL	1000	/* entries, as Java */

/* As Java writes it, letter by letter. */
static const char entry_schema[] =
"{\"type\":\"record\",\"name\":\"record\",\"namespace\":\"org.apache.paimon.avro.generated\",\"fields\":["
AVRO_FIELD("_VERSION", "\"int\"") ","
AVRO_FIELD("_KIND", "\"int\"") ","
AVRO_FIELD("_PARTITION", "\"bytes\"") ","
AVRO_FIELD("_BUCKET", "\"int\"") ","
AVRO_FIELD("_TOTAL_BUCKETS", "\"int\"") ","
"{\"name\":\"_FILE\",\"type\":{\"type\":\"record\",\"name\":\"record__FILE\",\"fields\":["
AVRO_FIELD("_FILE_NAME", "\"string\"") ","
AVRO_FIELD("_FILE_SIZE", "\"long\"") ","
AVRO_FIELD("_ROW_COUNT", "\"long\"") ","
AVRO_FIELD("_MIN_KEY", "\"bytes\"") ","
AVRO_FIELD("_MAX_KEY", "\"bytes\"") ","
AVRO_FIELD("_KEY_STATS", SIMPLE_STATS_SCHEMA("record__FILE__KEY_STATS")) ","
AVRO_FIELD("_VALUE_STATS", SIMPLE_STATS_SCHEMA("record__FILE__VALUE_STATS")) ","
AVRO_FIELD("_MIN_SEQUENCE_NUMBER", "\"long\"") ","
AVRO_FIELD("_MAX_SEQUENCE_NUMBER", "\"long\"") ","
AVRO_FIELD("_SCHEMA_ID", "\"long\"") ","
AVRO_FIELD("_LEVEL", "\"int\"") ","
AVRO_FIELD("_EXTRA_FILES", "{\"type\":\"array\",\"items\":\"string\"}") ","
AVRO_NULLABLE_FIELD("_CREATION_TIME", "{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}") ","
AVRO_NULLABLE_FIELD("_DELETE_ROW_COUNT", "\"long\"") ","
AVRO_NULLABLE_FIELD("_EMBEDDED_FILE_INDEX", "\"bytes\"") ","
AVRO_NULLABLE_FIELD("_FILE_SOURCE", "\"int\"") ","
AVRO_NULLABLE_FIELD("_VALUE_STATS_COLS", "{\"type\":\"array\",\"items\":\"string\"}") ","
AVRO_NULLABLE_FIELD("_EXTERNAL_PATH", "\"string\"") ","
AVRO_NULLABLE_FIELD("_FIRST_ROW_ID", "\"long\"") ","
AVRO_NULLABLE_FIELD("_WRITE_COLS", "{\"type\":\"array\",\"items\":\"string\"}")
"]}}]}";

/* Extremes and nulls of one partition column over the entries of a file. */
typedef struct PartitionColumn
{
	const DataType *type;
	Scalar		min;			/* null until a value is seen */
	Scalar		max;
	int64		null_count;
} PartitionColumn;

struct ManifestWriter
{
	MemoryContext context;		/* of the writer and its results until they are given out */
	MemoryContext file_context; /* of the statistics of the file being written */
	const char *table_location;
	ManifestNames *names;
	const char *compression;
	int64		target_size;
	int			npartition_keys;
	const DataType *const *partition_types;
	List	   *metas;			/* ManifestFileMeta *: files finished */

	/* the file being written */
	AvroWriter *file;			/* NULL between files */
	ManifestFileMeta *meta;
	int64		entries;
	bool		all_have_row_ids;
	PartitionColumn *columns;
	BytesView	last_partition; /* most entries repeat the one before */
	int64		last_partition_entries; /* not yet counted as nulls */
};

/* Encoding */

static void
write_string_list(StringInfo out, const List *list)
{
	ListCell   *lc;

	if (list != NIL)
		avro_write_long(out, list_length(list));
	foreach(lc, list)
		avro_write_string(out, lfirst(lc));
	avro_write_long(out, 0);
}

static void
write_nullable_string_list(StringInfo out, bool present, const List *list)
{
	avro_write_long(out, present ? 1 : 0);
	if (present)
		write_string_list(out, list);
}

static void
write_nullable_bytes(StringInfo out, bool present, BytesView bytes)
{
	avro_write_long(out, present ? 1 : 0);
	if (present)
		avro_write_bytes(out, bytes.data, bytes.length);
}

static void
write_file(StringInfo out, const DataFileMeta *file)
{
	avro_write_string(out, file->file_name);
	avro_write_long(out, file->file_size);
	avro_write_long(out, file->row_count);
	avro_write_bytes(out, file->min_key.data, file->min_key.length);
	avro_write_bytes(out, file->max_key.data, file->max_key.length);
	simple_stats_write(out, &file->key_stats);
	simple_stats_write(out, &file->value_stats);
	avro_write_long(out, file->min_sequence_number);
	avro_write_long(out, file->max_sequence_number);
	avro_write_long(out, file->schema_id);
	avro_write_long(out, file->level);
	write_string_list(out, file->extra_files);
	avro_write_nullable_long(out, file->has_creation_time, file->creation_time);
	avro_write_nullable_long(out, file->has_delete_row_count, file->delete_row_count);
	write_nullable_bytes(out, file->has_embedded_index, file->embedded_index);
	avro_write_nullable_long(out, file->file_source != FILE_SOURCE_UNKNOWN, file->file_source);
	write_nullable_string_list(out, file->has_value_stats_cols, file->value_stats_cols);
	avro_write_long(out, file->external_path != NULL ? 1 : 0);
	if (file->external_path != NULL)
		avro_write_string(out, file->external_path);
	avro_write_nullable_long(out, file->has_first_row_id, file->first_row_id);
	write_nullable_string_list(out, file->has_write_cols, file->write_cols);
}

static void
write_entry(StringInfo out, const ManifestEntry *entry)
{
	avro_write_long(out, ENTRY_VERSION);
	avro_write_long(out, entry->kind);
	avro_write_bytes(out, entry->partition.data, entry->partition.length);
	avro_write_long(out, entry->bucket);
	avro_write_long(out, entry->total_buckets);
	write_file(out, entry->file);
}

/* Statistics of a file */

static void
widen(PartitionColumn *column, const Scalar *value, int64 entries)
{
	PhysicalType physical = column->type->physical;

	if (value->isnull)
	{
		column->null_count += entries;
		return;
	}
	if (column->min.isnull || scalar_compare_values(physical, value, &column->min) < 0)
		column->min = scalar_copy(column->type, value);
	if (column->max.isnull || scalar_compare_values(physical, value, &column->max) > 0)
		column->max = scalar_copy(column->type, value);
}

/* Count the entries of the run of equal partitions that ends. */
static void
end_partition_run(ManifestWriter *writer)
{
	MemoryContext old = MemoryContextSwitchTo(writer->file_context);
	Scalar	   *values;

	if (writer->last_partition_entries > 0)
	{
		values = palloc(Max(writer->npartition_keys, 1) * sizeof(Scalar));
		binary_row_deserialize(writer->last_partition, writer->partition_types, values, writer->npartition_keys,
							   "partition", writer->meta->file_name);
		for (int i = 0; i < writer->npartition_keys; i++)
			widen(&writer->columns[i], &values[i], writer->last_partition_entries);
		pfree(values);
	}
	writer->last_partition_entries = 0;
	MemoryContextSwitchTo(old);
}

static void
note_partition(ManifestWriter *writer, BytesView partition)
{
	if (writer->last_partition_entries == 0 || writer->last_partition.length != partition.length ||
		memcmp(writer->last_partition.data, partition.data, partition.length) != 0)
	{
		MemoryContext old;

		end_partition_run(writer);
		old = MemoryContextSwitchTo(writer->file_context);
		writer->last_partition = bytes_copy(partition);
		MemoryContextSwitchTo(old);
	}
	writer->last_partition_entries++;
}

static void
note_row_ids(ManifestWriter *writer, const DataFileMeta *file)
{
	ManifestFileMeta *meta = writer->meta;
	int64		last = file->first_row_id + file->row_count - 1;

	if (!file->has_first_row_id)
	{
		writer->all_have_row_ids = false;
		return;
	}
	meta->min_row_id = writer->entries == 0 ? file->first_row_id : Min(meta->min_row_id, file->first_row_id);
	meta->max_row_id = writer->entries == 0 ? last : Max(meta->max_row_id, last);
}

static void
note_entry(ManifestWriter *writer, const ManifestEntry *entry)
{
	ManifestFileMeta *meta = writer->meta;
	bool		first = writer->entries == 0;

	if (entry->kind == FILE_ADD)
		meta->num_added_files++;
	else
		meta->num_deleted_files++;
	meta->schema_id = Max(meta->schema_id, entry->file->schema_id);
	meta->min_bucket = first ? entry->bucket : Min(meta->min_bucket, entry->bucket);
	meta->max_bucket = first ? entry->bucket : Max(meta->max_bucket, entry->bucket);
	meta->min_level = first ? entry->file->level : Min(meta->min_level, entry->file->level);
	meta->max_level = first ? entry->file->level : Max(meta->max_level, entry->file->level);
	note_row_ids(writer, entry->file);
	note_partition(writer, entry->partition);
}

static SimpleStats
partition_stats(ManifestWriter *writer)
{
	int			n = writer->npartition_keys;
	Scalar	   *mins = palloc(Max(n, 1) * sizeof(Scalar));
	Scalar	   *maxs = palloc(Max(n, 1) * sizeof(Scalar));
	SimpleStats stats = {.has_null_counts = true, .nnull_counts = n};

	stats.null_counts = palloc(Max(n, 1) * sizeof(int64));
	for (int i = 0; i < n; i++)
	{
		mins[i] = writer->columns[i].min;
		maxs[i] = writer->columns[i].max;
		stats.null_counts[i] = writer->columns[i].null_count;
	}
	stats.min_values = binary_row_serialize(writer->partition_types, mins, n);
	stats.max_values = binary_row_serialize(writer->partition_types, maxs, n);
	return stats;
}

/* Files */

ManifestWriter *
manifest_writer_open(const char *table_location, ManifestNames *names, const char *compression,
					 int64 target_size, const DataType *const *partition_types, int npartition_keys)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "manifest writer", ALLOCSET_DEFAULT_SIZES);
	ManifestWriter *writer = MemoryContextAllocZero(context, sizeof(ManifestWriter));

	writer->context = context;
	writer->file_context = AllocSetContextCreate(context, "manifest file", ALLOCSET_DEFAULT_SIZES);
	writer->table_location = MemoryContextStrdup(context, table_location);
	writer->names = names;
	writer->compression = MemoryContextStrdup(context, compression);
	writer->target_size = target_size;
	writer->partition_types = partition_types;
	writer->npartition_keys = npartition_keys;
	return writer;
}

static void
begin_file(ManifestWriter *writer)
{
	MemoryContext old = MemoryContextSwitchTo(writer->context);

	writer->meta = palloc0(sizeof(ManifestFileMeta));
	writer->meta->file_name = psprintf("manifest-%s-%d", writer->names->uuid, writer->names->manifests++);
	writer->entries = 0;
	writer->all_have_row_ids = true;
	writer->last_partition_entries = 0;

	MemoryContextSwitchTo(writer->file_context);
	writer->columns = palloc0(Max(writer->npartition_keys, 1) * sizeof(PartitionColumn));
	for (int i = 0; i < writer->npartition_keys; i++)
	{
		writer->columns[i].type = writer->partition_types[i];
		writer->columns[i].min.isnull = true;
		writer->columns[i].max.isnull = true;
	}
	writer->file = avro_writer_create(manifest_path(writer->table_location, writer->meta->file_name),
									  entry_schema, writer->compression, 0);
	MemoryContextSwitchTo(old);
}

static void
end_file(ManifestWriter *writer)
{
	MemoryContext old = MemoryContextSwitchTo(writer->context);
	ManifestFileMeta *meta = writer->meta;

	end_partition_run(writer);
	meta->file_size = avro_writer_finish(writer->file);
	meta->partition_stats = partition_stats(writer);
	meta->has_bucket_range = true;
	meta->has_level_range = true;
	meta->has_row_id_range = writer->all_have_row_ids;
	writer->metas = lappend(writer->metas, meta);
	writer->file = NULL;
	MemoryContextReset(writer->file_context);
	MemoryContextSwitchTo(old);
}

void
manifest_writer_add(ManifestWriter *writer, const ManifestEntry *entry)
{
	if (writer->file == NULL)
		begin_file(writer);

	write_entry(avro_writer_buffer(writer->file), entry);
	avro_writer_end_record(writer->file);
	note_entry(writer, entry);
	writer->entries++;
	if (writer->entries % ROLL_CHECK_INTERVAL == 0 &&
		avro_writer_position(writer->file) >= (uint64) writer->target_size)
		end_file(writer);
}

List *
manifest_writer_finish(ManifestWriter *writer)
{
	List	   *metas = NIL;
	ListCell   *lc;

	if (writer->file != NULL)
		end_file(writer);
	foreach(lc, writer->metas)
		metas = lappend(metas, manifest_file_meta_copy(lfirst(lc)));
	MemoryContextDelete(writer->context);
	return metas;
}
