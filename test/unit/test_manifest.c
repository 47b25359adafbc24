/*
 * test_manifest.c
 *		Manifests and manifest lists: written, read, summed up, compared.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "lake/binary_row.h"
#include "lake/manifest.h"
#include "lake/path.h"
#include "storage/storage.h"

#include "unit.h"

static const DataType *partition_types[2];

static BytesView
partition_of(const char *text, const char *number)
{
	Scalar		values[] = {unit_scalar(partition_types[0], text), unit_scalar(partition_types[1], number)};

	return binary_row_serialize(partition_types, values, 2);
}

static SimpleStats
no_stats(void)
{
	SimpleStats stats = {binary_row_serialize_empty(), binary_row_serialize_empty(), true, 0, NULL};

	return stats;
}

static ManifestEntry *
make_entry(FileKind kind, BytesView partition, int32 bucket, int i)
{
	ManifestEntry *entry = palloc0(sizeof(ManifestEntry));
	DataFileMeta *file = palloc0(sizeof(DataFileMeta));

	entry->kind = kind;
	entry->partition = partition;
	entry->bucket = bucket;
	entry->total_buckets = 4;
	entry->file = file;
	file->file_name = psprintf("data-%d.parquet", i);
	file->file_size = 1000 + i;
	file->row_count = 10 + i;
	file->min_key = binary_row_serialize_empty();
	file->max_key = binary_row_serialize_empty();
	file->key_stats = no_stats();
	file->value_stats = no_stats();
	file->max_sequence_number = i;
	file->schema_id = i % 3;
	file->level = i % 5;
	file->file_source = FILE_SOURCE_APPEND;
	return entry;
}

/* With all that a file can have. */
static ManifestEntry *
make_full_entry(void)
{
	ManifestEntry *entry = make_entry(FILE_ADD, partition_of("a", "1"), 3, 7);
	DataFileMeta *file = entry->file;

	file->value_stats.min_values = unit_bytes("min");
	file->value_stats.max_values = unit_bytes("max");
	file->value_stats.nnull_counts = 2;
	file->value_stats.null_counts = palloc(2 * sizeof(int64));
	file->value_stats.null_counts[0] = -1;
	file->value_stats.null_counts[1] = 5;
	file->extra_files = list_make2("a.index", "b.index");
	file->has_creation_time = true;
	file->creation_time = 1700000000000;
	file->has_delete_row_count = true;
	file->delete_row_count = 4;
	file->has_embedded_index = true;
	file->embedded_index = unit_hex("00ff00");
	file->file_source = FILE_SOURCE_COMPACT;
	file->has_value_stats_cols = true;
	file->value_stats_cols = list_make1("v");
	file->external_path = pstrdup("file:/elsewhere/data-7.parquet");
	file->has_first_row_id = true;
	file->first_row_id = 100;
	file->has_write_cols = true;
	return entry;
}

static void
collect_entry(const ManifestEntry *entry, void *arg)
{
	List	  **entries = arg;

	*entries = lappend(*entries, manifest_entry_copy(entry));
}

static List *
read_entries(const char *location, const ManifestFileMeta *meta)
{
	List	   *entries = NIL;

	manifest_read(location, meta, collect_entry, &entries);
	return entries;
}

static List *
write_entries(const char *location, List *entries, int64 target_size, ManifestNames *names)
{
	ManifestWriter *writer = manifest_writer_open(location, names, "zstd", target_size, partition_types, 2);
	ListCell   *lc;

	foreach(lc, entries)
		manifest_writer_add(writer, lfirst(lc));
	return manifest_writer_finish(writer);
}

static void
check_full_file(const DataFileMeta *file)
{
	CHECK_STRING(file->file_name, "data-7.parquet");
	CHECK_INT(file->row_count, 17);
	CHECK_BYTES(file->value_stats.max_values, unit_bytes("max"));
	CHECK_INT(file->value_stats.nnull_counts, 2);
	CHECK_INT(file->value_stats.null_counts[0], -1);
	CHECK_INT(file->value_stats.null_counts[1], 5);
	CHECK_INT(list_length(file->extra_files), 2);
	CHECK_INT(file->creation_time, 1700000000000);
	CHECK_INT(file->delete_row_count, 4);
	CHECK_BYTES(file->embedded_index, unit_hex("00ff00"));
	CHECK_INT(file->file_source, FILE_SOURCE_COMPACT);
	CHECK_STRING(linitial(file->value_stats_cols), "v");
	CHECK_STRING(file->external_path, "file:/elsewhere/data-7.parquet");
	CHECK_INT(file->first_row_id, 100);
	CHECK(file->has_write_cols && file->write_cols == NIL);
}

static void
test_entries(void)
{
	const char *location = unit_directory();
	ManifestEntry *full = make_full_entry();
	ManifestEntry *plain = make_entry(FILE_DELETE, partition_of(NULL, "2"), 1, 8);
	ManifestNames names;
	List	   *metas;
	List	   *entries;
	ManifestFileMeta *meta;

	manifest_names_init(&names);
	metas = write_entries(location, list_make2(full, plain), 1 << 20, &names);
	CHECK_INT(list_length(metas), 1);
	meta = linitial(metas);
	CHECK_STRING(meta->file_name, psprintf("manifest-%s-0", names.uuid));
	CHECK(manifest_can_be_rewritten(location, meta));

	entries = read_entries(location, meta);
	CHECK_INT(list_length(entries), 2);
	CHECK(manifest_entry_same(linitial(entries), full));
	CHECK(manifest_entry_same(lsecond(entries), plain));
	check_full_file(((ManifestEntry *) linitial(entries))->file);
	plain = lsecond(entries);
	CHECK_INT(plain->kind, FILE_DELETE);
	CHECK_INT(plain->total_buckets, 4);
	CHECK(!plain->file->has_creation_time && !plain->file->has_embedded_index && plain->file->external_path == NULL);
	CHECK(!plain->file->has_value_stats_cols && !plain->file->has_write_cols);

	meta->file_size--;
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, meta->file_name, read_entries(location, meta));
}

static void
test_sums(void)
{
	ManifestNames names;
	List	   *entries = NIL;
	ManifestFileMeta *meta;
	Scalar		values[2];

	manifest_names_init(&names);
	entries = lappend(entries, make_entry(FILE_ADD, partition_of("b", "5"), 2, 4));
	entries = lappend(entries, make_entry(FILE_ADD, partition_of("b", "5"), 3, 1));
	entries = lappend(entries, make_entry(FILE_ADD, partition_of(NULL, "-7"), 0, 2));
	entries = lappend(entries, make_entry(FILE_DELETE, partition_of("a", "6"), 1, 3));
	entries = lappend(entries, make_entry(FILE_ADD, partition_of(NULL, "0"), 1, 3));
	meta = linitial(write_entries(unit_directory(), entries, 1 << 20, &names));

	CHECK_INT(meta->num_added_files, 4);
	CHECK_INT(meta->num_deleted_files, 1);
	CHECK_INT(meta->schema_id, 2);
	CHECK_INT(meta->min_bucket, 0);
	CHECK_INT(meta->max_bucket, 3);
	CHECK_INT(meta->min_level, 1);
	CHECK_INT(meta->max_level, 4);
	CHECK(!meta->has_row_id_range);
	CHECK_INT(meta->partition_stats.null_counts[0], 2);
	CHECK_INT(meta->partition_stats.null_counts[1], 0);
	binary_row_deserialize(meta->partition_stats.min_values, partition_types, values, 2, "minimum", "test");
	CHECK_BYTES(values[0].v.bytes, unit_bytes("a"));
	CHECK_INT(values[1].v.i32, -7);
	binary_row_deserialize(meta->partition_stats.max_values, partition_types, values, 2, "maximum", "test");
	CHECK_BYTES(values[0].v.bytes, unit_bytes("b"));
	CHECK_INT(values[1].v.i32, 6);
}

static void
test_row_ids(void)
{
	ManifestNames names;
	ManifestEntry *second = make_full_entry();
	ManifestFileMeta *meta;

	manifest_names_init(&names);
	second->file->first_row_id = 50;
	meta = linitial(write_entries(unit_directory(), list_make2(make_full_entry(), second), 1 << 20, &names));
	CHECK(meta->has_row_id_range);
	CHECK_INT(meta->min_row_id, 50);
	CHECK_INT(meta->max_row_id, 116);
}

/* Files are ended once they are large enough, which is looked at every 1000 entries. */
static void
test_rolling(void)
{
	ManifestNames names;
	List	   *entries = NIL;
	List	   *metas;
	ListCell   *lc;
	int64		sum = 0;

	manifest_names_init(&names);
	CHECK(write_entries(unit_directory(), NIL, 10, &names) == NIL);
	for (int i = 0; i < 2500; i++)
		entries = lappend(entries, make_entry(FILE_ADD, partition_of("a", "1"), 0, i));
	metas = write_entries(unit_directory(), entries, 10, &names);
	CHECK_INT(list_length(metas), 3);
	foreach(lc, metas)
		sum += list_length(read_entries(unit_directory(), lfirst(lc)));
	CHECK_INT(sum, 2500);
	CHECK_INT(((ManifestFileMeta *) llast(metas))->num_added_files, 500);
}

static void
test_lists(void)
{
	const char *location = unit_directory();
	ManifestNames names;
	ManifestFileMeta *meta;
	List	   *metas;
	char	   *name;
	int64		size;

	manifest_names_init(&names);
	name = manifest_list_write(location, &names, "zstd", NIL, &size);
	CHECK_STRING(name, psprintf("manifest-list-%s-0", names.uuid));
	CHECK(manifest_list_read(location, name, size) == NIL);
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, name, manifest_list_read(location, name, size + 1));

	metas = write_entries(location, list_make1(make_full_entry()), 1 << 20, &names);
	name = manifest_list_write(location, &names, "none", metas, &size);
	CHECK_STRING(name, psprintf("manifest-list-%s-1", names.uuid));
	metas = manifest_list_read(location, name, -1);
	CHECK_INT(list_length(metas), 1);
	meta = linitial(metas);
	CHECK_INT(meta->num_added_files, 1);
	CHECK_INT(meta->max_bucket, 3);
	CHECK_INT(meta->max_row_id, 116);
	CHECK_INT(meta->partition_stats.nnull_counts, 2);
	CHECK_INT(list_length(read_entries(location, meta)), 1);

	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "../x", manifest_list_read(location, "../x", -1));
}

static void
check_refused(void (*spoil) (ManifestEntry *entry))
{
	ManifestNames names;
	ManifestEntry *entry = make_full_entry();
	List	   *metas;

	manifest_names_init(&names);
	spoil(entry);
	metas = write_entries(unit_directory(), list_make1(entry), 1 << 20, &names);
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, names.uuid, read_entries(unit_directory(), linitial(metas)));
}

static void
spoil_name(ManifestEntry *entry)
{
	entry->file->file_name = pstrdup("../../etc/passwd");
}

static void
spoil_side_file(ManifestEntry *entry)
{
	entry->file->extra_files = list_make1("..");
}

static void
spoil_level(ManifestEntry *entry)
{
	entry->file->level = PG_INT32_MAX;
}

static void
spoil_rows(ManifestEntry *entry)
{
	entry->file->row_count = -1;
}

static void
spoil_kind(ManifestEntry *entry)
{
	entry->kind = 2;
}

static void
test_damaged_entries(void)
{
	check_refused(spoil_name);
	check_refused(spoil_side_file);
	check_refused(spoil_level);
	check_refused(spoil_rows);
	check_refused(spoil_kind);
}

/* What makes two entries the same file (4.7), and what does not. */
static void
test_identity(void)
{
	ManifestEntry *a = make_full_entry();
	ManifestEntry *b = manifest_entry_copy(a);

	b->kind = FILE_DELETE;
	b->file->row_count = 0;
	b->file->has_first_row_id = false;
	CHECK(manifest_entry_same(a, b));
	CHECK_INT(manifest_entry_hash(a), manifest_entry_hash(b));

	b->file->level++;
	CHECK(!manifest_entry_same(a, b));
	b = manifest_entry_copy(a);
	b->file->extra_files = list_make2("b.index", "a.index");
	CHECK(!manifest_entry_same(a, b));
	b = manifest_entry_copy(a);
	b->file->has_embedded_index = false;
	CHECK(!manifest_entry_same(a, b));
	b = manifest_entry_copy(a);
	b->file->external_path = NULL;
	CHECK(!manifest_entry_same(a, b));
	b = manifest_entry_copy(a);
	b->partition = partition_of("a", "2");
	CHECK(!manifest_entry_same(a, b));
}

int
main(void)
{
	unit_begin();
	partition_types[0] = type_parse_atomic("STRING");
	partition_types[1] = type_parse_atomic("INT");
	RUN(test_entries);
	RUN(test_sums);
	RUN(test_row_ids);
	RUN(test_rolling);
	RUN(test_lists);
	RUN(test_damaged_entries);
	RUN(test_identity);
	return unit_end();
}
