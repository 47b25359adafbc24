/*
 * system_files.c
 *		System tables of what manifests say: files, manifests, partitions,
 *		buckets, index files.
 *
 * Source: format digest sections 4 and 13.1.
 */
#include "postgres.h"

#include "columnar/value_text.h"
#include "lake/binary_row.h"
#include "lake/data_file.h"
#include "lake/index_manifest.h"
#include "lake/system_table.h"

/* Wall clock of the machine that wrote it */
#define LOCAL_TIME "TIMESTAMP(3)"

static void
append_value(StringInfo out, const DataType *type, const Scalar *value, ValueTextStyle style)
{
	if (value->isnull || !value_to_text(out, type, value, style))
		appendStringInfoString(out, "null");
}

/* A serialised row as "{a, b}" or "[a, b]". */
static char *
row_text(BytesView row, const DataType *const *types, int nfields, const char *brackets, ValueTextStyle style,
		 const char *path)
{
	StringInfoData out;
	Scalar	   *values = palloc(Max(nfields, 1) * sizeof(Scalar));

	initStringInfo(&out);
	appendStringInfoChar(&out, brackets[0]);
	binary_row_deserialize(row, types, values, nfields, "row", path);
	for (int i = 0; i < nfields; i++)
	{
		if (i > 0)
			appendStringInfoString(&out, ", ");
		append_value(&out, types[i], &values[i], style);
	}
	appendStringInfoChar(&out, brackets[1]);
	return out.data;
}

static char *
partition_row_text(const LakeTable *table, BytesView partition)
{
	return row_text(partition, table->partition_types, table->schema->npartition_keys, "{}", VALUE_TEXT_CAST_UTC,
					table->name);
}

typedef enum StatisticsPart
{
	PART_NULLS,
	PART_MIN,
	PART_MAX
} StatisticsPart;

/* The fields of a schema, sorted by name. */
static int *
sorted_fields(const TableSchema *schema)
{
	int		   *fields = palloc(Max(schema->nfields, 1) * sizeof(int));

	for (int i = 0; i < schema->nfields; i++)
	{
		int			place = i;

		while (place > 0 && strcmp(schema->fields[fields[place - 1]].name, schema->fields[i].name) > 0)
		{
			fields[place] = fields[place - 1];
			place--;
		}
		fields[place] = i;
	}
	return fields;
}

/* Are the file's statistics about a field of the table?  Those that name their columns are about all. */
static bool
statistics_have_field(LakeTable *table, const DataFileMeta *file, const DataField *field)
{
	const TableSchema *schema = lake_table_schema(table, file->schema_id);
	ListCell   *cell;

	if (!file->has_write_cols || file->has_value_stats_cols)
		return true;
	for (int i = 0; i < schema->nfields; i++)
	{
		if (schema->fields[i].id != field->id)
			continue;
		foreach(cell, file->write_cols)
			if (strcmp(lfirst(cell), schema->fields[i].name) == 0)
				return true;
	}
	return false;
}

/* One kind of statistics of all fields as "{field=value, ...}". */
static char *
statistics_text(LakeTable *table, const DataFileMeta *file, StatisticsPart part)
{
	const TableSchema *schema = table->schema;
	int		   *fields = sorted_fields(schema);
	StringInfoData out;

	initStringInfo(&out);
	appendStringInfoChar(&out, '{');
	for (int i = 0; i < schema->nfields; i++)
	{
		const DataField *field = &schema->fields[fields[i]];
		ColumnStatistics statistics = {0};
		Scalar		value = {.isnull = true};
		bool		known;

		if (!statistics_have_field(table, file, field))
			continue;
		known = file_value_statistics(table, file, fields[i], &statistics);
		appendStringInfo(&out, "%s%s=", out.len > 1 ? ", " : "", field->name);
		if (part == PART_NULLS && known && statistics.has_null_count)
		{
			appendStringInfo(&out, INT64_FORMAT, statistics.null_count);
			continue;
		}
		if (part == PART_MIN && known && statistics.has_min)
			value = statistics.min;
		if (part == PART_MAX && known && statistics.has_max)
			value = statistics.max;
		append_value(&out, field->type, &value, VALUE_TEXT_LEGACY);
	}
	appendStringInfoChar(&out, '}');
	return out.data;
}

static const char *
file_source_text(FileSource source)
{
	switch (source)
	{
		case FILE_SOURCE_APPEND:
			return "APPEND";
		case FILE_SOURCE_COMPACT:
			return "COMPACT";
		case FILE_SOURCE_UNKNOWN:
			break;
	}
	return NULL;
}

static bool
has_bucket(const ManifestEntry *entry, void *arg)
{
	return entry->bucket >= 0;
}

/* Without those whose rows wait for a bucket, as a scan. */
static List *
list_files(SystemSource *source)
{
	return scan_live_entries(source->table, source->snapshot, has_bucket, NULL);
}

/* What both tables of files begin with. */
static void
set_file(LakeTable *table, const ManifestEntry *entry, Scalar *values)
{
	const DataFileMeta *file = entry->file;
	int			nkeys = table->schema->ntrimmed_keys;

	system_set_text(&values[0], partition_row_text(table, entry->partition));
	system_set_int32(&values[1], entry->bucket);
	system_set_text(&values[2], file->external_path != NULL ? file->external_path :
					lake_data_file_path(table, entry->partition, entry->bucket, file));
	system_set_text(&values[3], data_file_format_name(file->file_name));
	system_set_int64(&values[4], file->schema_id);
	system_set_int32(&values[5], file->level);
	system_set_int64(&values[6], file->row_count);
	system_set_int64(&values[7], file->file_size);
	if (nkeys == 0)
		return;
	system_set_text(&values[8], row_text(file->min_key, table->key_types, nkeys, "[]", VALUE_TEXT_LEGACY,
										 file->file_name));
	system_set_text(&values[9], row_text(file->max_key, table->key_types, nkeys, "[]", VALUE_TEXT_LEGACY,
										 file->file_name));
}

static bool
fill_file(SystemSource *source, void *item, Scalar *values)
{
	LakeTable  *table = source->table;
	const ManifestEntry *entry = item;
	const DataFileMeta *file = entry->file;

	set_file(table, entry, values);
	system_set_text(&values[10], statistics_text(table, file, PART_NULLS));
	system_set_text(&values[11], statistics_text(table, file, PART_MIN));
	system_set_text(&values[12], statistics_text(table, file, PART_MAX));
	system_set_int64(&values[13], file->min_sequence_number);
	system_set_int64(&values[14], file->max_sequence_number);
	if (file->has_creation_time)
		system_set_int64(&values[15], file->creation_time);
	if (file->has_delete_row_count)
		system_set_int64(&values[16], file->delete_row_count);
	system_set_text(&values[17], file_source_text(file->file_source));
	if (file->has_first_row_id)
		system_set_int64(&values[18], file->first_row_id);
	if (file->has_write_cols)
		system_set_texts(source->types[19], &values[19], file->write_cols);
	return true;
}

static const SystemColumn file_columns[] = {
	{"partition", "STRING"},
	{"bucket", "INT NOT NULL"},
	{"file_path", "STRING NOT NULL"},
	{"file_format", "STRING NOT NULL"},
	{"schema_id", "BIGINT NOT NULL"},
	{"level", "INT NOT NULL"},
	{"record_count", "BIGINT NOT NULL"},
	{"file_size_in_bytes", "BIGINT NOT NULL"},
	{"min_key", "STRING"},
	{"max_key", "STRING"},
	{"null_value_counts", "STRING NOT NULL"},
	{"min_value_stats", "STRING NOT NULL"},
	{"max_value_stats", "STRING NOT NULL"},
	{"min_sequence_number", "BIGINT"},
	{"max_sequence_number", "BIGINT"},
	{"creation_time", LOCAL_TIME},
	{"deleteRowCount", "BIGINT"},
	{"file_source", "STRING"},
	{"first_row_id", "BIGINT"},
	{"write_cols", "ARRAY<STRING>"},
};

const SystemTable system_files = {
	"files", lengthof(file_columns), file_columns, list_files, fill_file
};

static bool
fill_key_range(SystemSource *source, void *item, Scalar *values)
{
	const ManifestEntry *entry = item;

	set_file(source->table, entry, values);
	if (entry->file->has_first_row_id)
		system_set_int64(&values[10], entry->file->first_row_id);
	return true;
}

static const SystemColumn key_range_columns[] = {
	{"partition", "STRING"},
	{"bucket", "INT NOT NULL"},
	{"file_path", "STRING NOT NULL"},
	{"file_format", "STRING NOT NULL"},
	{"schema_id", "BIGINT NOT NULL"},
	{"level", "INT NOT NULL"},
	{"record_count", "BIGINT NOT NULL"},
	{"file_size_in_bytes", "BIGINT NOT NULL"},
	{"min_key", "STRING"},
	{"max_key", "STRING"},
	{"first_row_id", "BIGINT"},
};

const SystemTable system_file_key_ranges = {
	"file_key_ranges", lengthof(key_range_columns), key_range_columns, list_files, fill_key_range
};

static List *
list_manifests(SystemSource *source)
{
	const char *location = source->table->location;
	const LakeSnapshot *snapshot = source->snapshot;
	List	   *manifests;

	if (snapshot == NULL)
		return NIL;
	manifests = manifest_list_read(location, snapshot->base_manifest_list, snapshot->base_manifest_list_size);
	manifests = list_concat(manifests, manifest_list_read(location, snapshot->delta_manifest_list,
														  snapshot->delta_manifest_list_size));
	if (snapshot->changelog_manifest_list != NULL)
		manifests = list_concat(manifests, manifest_list_read(location, snapshot->changelog_manifest_list,
															  snapshot->changelog_manifest_list_size));
	return manifests;
}

static bool
fill_manifest(SystemSource *source, void *item, Scalar *values)
{
	const ManifestFileMeta *manifest = item;

	system_set_text(&values[0], manifest->file_name);
	system_set_int64(&values[1], manifest->file_size);
	system_set_int64(&values[2], manifest->num_added_files);
	system_set_int64(&values[3], manifest->num_deleted_files);
	system_set_int64(&values[4], manifest->schema_id);
	system_set_text(&values[5], partition_row_text(source->table, manifest->partition_stats.min_values));
	system_set_text(&values[6], partition_row_text(source->table, manifest->partition_stats.max_values));
	if (manifest->has_row_id_range)
	{
		system_set_int64(&values[7], manifest->min_row_id);
		system_set_int64(&values[8], manifest->max_row_id);
	}
	return true;
}

static const SystemColumn manifest_columns[] = {
	{"file_name", "STRING NOT NULL"},
	{"file_size", "BIGINT NOT NULL"},
	{"num_added_files", "BIGINT NOT NULL"},
	{"num_deleted_files", "BIGINT NOT NULL"},
	{"schema_id", "BIGINT NOT NULL"},
	{"min_partition_stats", "STRING"},
	{"max_partition_stats", "STRING"},
	{"min_row_id", "BIGINT"},
	{"max_row_id", "BIGINT"},
};

const SystemTable system_manifests = {
	"manifests", lengthof(manifest_columns), manifest_columns, list_manifests, fill_manifest
};

typedef struct GroupScan
{
	MemoryContext context;
	bool		by_bucket;
	FileGroup  *last;			/* neighbours are mostly of one group */
	List	   *groups;			/* FileGroup *, some of them in parts */
} GroupScan;

static int
compare_groups(const ListCell *a, const ListCell *b)
{
	const FileGroup *x = lfirst(a);
	const FileGroup *y = lfirst(b);
	int			order = memcmp(x->partition.data, y->partition.data,
							   Min(x->partition.length, y->partition.length));

	if (order != 0)
		return order;
	if (x->partition.length != y->partition.length)
		return x->partition.length < y->partition.length ? -1 : 1;
	return x->bucket < y->bucket ? -1 : x->bucket > y->bucket;
}

static bool
is_of_group(const FileGroup *group, BytesView partition, int32 bucket)
{
	return group != NULL && group->bucket == bucket && group->partition.length == partition.length &&
		memcmp(group->partition.data, partition.data, partition.length) == 0;
}

static void
add_to_group(const ManifestEntry *entry, void *arg)
{
	GroupScan  *scan = arg;
	const DataFileMeta *file = entry->file;
	int			sign = entry->kind == FILE_ADD ? 1 : -1;
	int32		bucket = scan->by_bucket ? entry->bucket : 0;
	FileGroup  *group = scan->last;

	/* rows that wait for a bucket are in no partition yet */
	if (!scan->by_bucket && entry->bucket < 0)
		return;
	if (!is_of_group(group, entry->partition, bucket))
	{
		MemoryContext old = MemoryContextSwitchTo(scan->context);
		char	   *partition = palloc(entry->partition.length);

		group = scan->last = palloc0(sizeof(FileGroup));
		memcpy(partition, entry->partition.data, entry->partition.length);
		group->partition.data = partition;
		group->partition.length = entry->partition.length;
		group->bucket = bucket;
		scan->groups = lappend(scan->groups, group);
		MemoryContextSwitchTo(old);
	}
	group->record_count += sign * file->row_count;
	group->bytes += sign * file->file_size;
	group->files += sign;
	if (file->has_creation_time && (!group->has_time || file->creation_time > group->time))
	{
		group->has_time = true;
		group->time = file->creation_time;
	}
}

/* Parts of one group follow each other: sum them up, and leave out what has no files any more. */
static List *
unite_groups(List *parts)
{
	List	   *groups = NIL;
	FileGroup  *group = NULL;
	ListCell   *cell;

	foreach(cell, parts)
	{
		FileGroup  *part = lfirst(cell);

		if (!is_of_group(group, part->partition, part->bucket))
		{
			if (group != NULL && group->files > 0)
				groups = lappend(groups, group);
			group = part;
			continue;
		}
		group->record_count += part->record_count;
		group->bytes += part->bytes;
		group->files += part->files;
		if (part->has_time && (!group->has_time || part->time > group->time))
		{
			group->has_time = true;
			group->time = part->time;
		}
	}
	return group != NULL && group->files > 0 ? lappend(groups, group) : groups;
}

List *
system_file_groups(LakeTable *table, const LakeSnapshot *snapshot, bool by_bucket)
{
	GroupScan	scan = {.context = CurrentMemoryContext, .by_bucket = by_bucket};

	scan_manifest_entries(table, snapshot, add_to_group, &scan);
	list_sort(scan.groups, compare_groups);
	return unite_groups(scan.groups);
}

static void
set_group(Scalar *values, const FileGroup *group)
{
	system_set_int64(&values[0], group->record_count);
	system_set_int64(&values[1], group->bytes);
	system_set_int64(&values[2], group->files);
	if (group->has_time)
		system_set_int64(&values[3], group->time);
}

static List *
list_partitions(SystemSource *source)
{
	return system_file_groups(source->table, source->snapshot, false);
}

static bool
fill_partition(SystemSource *source, void *item, Scalar *values)
{
	const FileGroup *group = item;

	system_set_text(&values[0], lake_partition_text(source->table, group->partition));
	set_group(&values[1], group);
	return true;
}

static const SystemColumn partition_columns[] = {
	{"partition", "STRING"},
	{"record_count", "BIGINT NOT NULL"},
	{"file_size_in_bytes", "BIGINT NOT NULL"},
	{"file_count", "BIGINT NOT NULL"},
	{"last_update_time", LOCAL_TIME},
	{"created_at", LOCAL_TIME},
	{"created_by", "STRING"},
	{"updated_by", "STRING"},
	{"options", "STRING"},
};

const SystemTable system_partitions = {
	"partitions", lengthof(partition_columns), partition_columns, list_partitions, fill_partition
};

static List *
list_buckets(SystemSource *source)
{
	return system_file_groups(source->table, source->snapshot, true);
}

static bool
fill_bucket(SystemSource *source, void *item, Scalar *values)
{
	const FileGroup *group = item;

	system_set_text(&values[0], partition_row_text(source->table, group->partition));
	system_set_int32(&values[1], group->bucket);
	set_group(&values[2], group);
	return true;
}

static const SystemColumn bucket_columns[] = {
	{"partition", "STRING"},
	{"bucket", "INT NOT NULL"},
	{"record_count", "BIGINT NOT NULL"},
	{"file_size_in_bytes", "BIGINT NOT NULL"},
	{"file_count", "BIGINT NOT NULL"},
	{"last_update_time", LOCAL_TIME},
};

const SystemTable system_buckets = {
	"buckets", lengthof(bucket_columns), bucket_columns, list_buckets, fill_bucket
};

typedef struct IndexList
{
	MemoryContext context;
	List	   *entries;
} IndexList;

static void
collect_index(const IndexEntry *entry, void *arg)
{
	IndexList  *list = arg;
	MemoryContext old = MemoryContextSwitchTo(list->context);

	list->entries = lappend(list->entries, index_entry_copy(entry));
	MemoryContextSwitchTo(old);
}

static List *
list_indexes(SystemSource *source)
{
	IndexList	list = {.context = CurrentMemoryContext};

	if (source->snapshot != NULL && source->snapshot->index_manifest != NULL)
		index_manifest_read(source->table->location, source->snapshot->index_manifest, collect_index, &list);
	return list.entries;
}

/* Where vectors lie in the file: an array of rows. */
static void
set_ranges(const DataType *type, Scalar *value, List *ranges)
{
	Vector	   *vector = vector_create(type, 1);
	Vector	   *rows = vector->children[0];
	ListCell   *cell;

	vector_reserve(rows, list_length(ranges));
	foreach(cell, ranges)
	{
		const DeletionRange *range = lfirst(cell);
		Scalar		fields[4] = {{0}};

		system_set_text(&fields[0], range->data_file);
		system_set_int32(&fields[1], range->offset);
		system_set_int32(&fields[2], range->length);
		fields[3].isnull = !range->has_cardinality;
		fields[3].v.i64 = range->cardinality;
		for (int i = 0; i < lengthof(fields); i++)
			vector_set(rows->children[i], vector->filled, &fields[i]);
		vector->filled++;
	}
	vector->values.list[0].start = 0;
	vector->values.list[0].length = vector->filled;
	value->isnull = false;
	value->v.nested.vector = vector;
	value->v.nested.row = 0;
}

static bool
fill_index(SystemSource *source, void *item, Scalar *values)
{
	const IndexEntry *entry = item;

	system_set_text(&values[0], partition_row_text(source->table, entry->partition));
	system_set_int32(&values[1], entry->bucket);
	system_set_text(&values[2], entry->index_type);
	system_set_text(&values[3], entry->file_name);
	system_set_int64(&values[4], entry->file_size);
	system_set_int64(&values[5], entry->row_count);
	/* without a vector it is an empty array */
	if (strcmp(entry->index_type, INDEX_DELETION_VECTORS) == 0)
		set_ranges(source->types[6], &values[6], entry->ranges);
	return true;
}

static const SystemColumn index_columns[] = {
	{"partition", "STRING"},
	{"bucket", "INT NOT NULL"},
	{"index_type", "STRING NOT NULL"},
	{"file_name", "STRING NOT NULL"},
	{"file_size", "BIGINT NOT NULL"},
	{"row_count", "BIGINT NOT NULL"},
	{"dv_ranges", "ARRAY<ROW<f0 STRING NOT NULL, f1 INT NOT NULL, f2 INT NOT NULL, _CARDINALITY BIGINT>>"},
};

const SystemTable system_table_indexes = {
	"table_indexes", lengthof(index_columns), index_columns, list_indexes, fill_index
};
