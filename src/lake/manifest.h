/*
 * manifest.h
 *		Manifest lists, manifests and their entries (format digest section 4).
 */
#ifndef STREAMHOUSE_MANIFEST_H
#define STREAMHOUSE_MANIFEST_H

#include "nodes/pg_list.h"

#include "columnar/vector.h"
#include "storage/uuid.h"

/* 4.5; rows serialised with arity. */
typedef struct SimpleStats
{
	BytesView	min_values;
	BytesView	max_values;
	bool		has_null_counts;
	int			nnull_counts;
	int64	   *null_counts;	/* -1: null */
} SimpleStats;

typedef enum FileKind
{
	FILE_ADD = 0,
	FILE_DELETE = 1
} FileKind;

typedef enum FileSource
{
	FILE_SOURCE_UNKNOWN = -1,
	FILE_SOURCE_APPEND = 0,
	FILE_SOURCE_COMPACT = 1
} FileSource;

/* 4.4 */
typedef struct DataFileMeta
{
	char	   *file_name;
	int64		file_size;
	int64		row_count;
	BytesView	min_key;
	BytesView	max_key;
	SimpleStats key_stats;
	SimpleStats value_stats;
	int64		min_sequence_number;
	int64		max_sequence_number;
	int64		schema_id;
	int32		level;
	List	   *extra_files;	/* char * */
	bool		has_creation_time;
	int64		creation_time;	/* local wall clock as UTC millis */
	bool		has_delete_row_count;
	int64		delete_row_count;
	bool		has_embedded_index;
	BytesView	embedded_index;
	FileSource	file_source;
	bool		has_value_stats_cols;
	List	   *value_stats_cols;	/* char *, NIL with has_...: no column */
	char	   *external_path;	/* or NULL */
	bool		has_first_row_id;
	int64		first_row_id;
	bool		has_write_cols;
	List	   *write_cols;		/* char * */
	const struct DeletionVectorPlace *deletions;	/* not stored: where its deletion vector lies; NULL none */
	bool		unpublished;	/* not stored: of this transaction, newer than all published files */
} DataFileMeta;

/* 4.3 */
typedef struct ManifestEntry
{
	FileKind	kind;
	BytesView	partition;		/* serialised row */
	int32		bucket;
	int32		total_buckets;
	DataFileMeta *file;
} ManifestEntry;

/* 4.2 */
typedef struct ManifestFileMeta
{
	char	   *file_name;
	int64		file_size;
	int64		num_added_files;
	int64		num_deleted_files;
	SimpleStats partition_stats;
	int64		schema_id;
	bool		has_bucket_range;
	int32		min_bucket;
	int32		max_bucket;
	bool		has_level_range;
	int32		min_level;
	int32		max_level;
	bool		has_row_id_range;
	int64		min_row_id;
	int64		max_row_id;
} ManifestFileMeta;

/* Names manifests and manifest lists of one writer: one uuid, two counters (section 1). */
typedef struct ManifestNames
{
	char		uuid[UUID_TEXT_LENGTH + 1];
	int			manifests;
	int			lists;
} ManifestNames;

extern void manifest_names_init(ManifestNames *names);

/* Read a manifest list: List of ManifestFileMeta *.  size -1: unknown. */
extern List *manifest_list_read(const char *table_location, const char *name, int64 size);

/* Write one (maybe empty); name and size out. */
extern char *manifest_list_write(const char *table_location, ManifestNames *names, const char *compression,
								 List *manifests, int64 *size);

/*
 * Read a manifest, entry by entry, in bounded memory: callback gets each
 * entry, which lives only for the call (copy what is kept, see
 * manifest_entry_copy).
 */
typedef void (*ManifestEntryCallback) (const ManifestEntry *entry, void *arg);
extern void manifest_read(const char *table_location, const ManifestFileMeta *meta,
						  ManifestEntryCallback callback, void *arg);

/*
 * Would nothing be lost by copying the entries of a manifest into another?
 * Not so when its writer knew fields that we do not: keep that file as it is.
 */
extern bool manifest_can_be_rewritten(const char *table_location, const ManifestFileMeta *meta);

/*
 * Manifest writer: rolls at target_size; gives the metas (ManifestFileMeta *)
 * of the files written, durable.  partition_types: of the partition columns,
 * for partition statistics.
 */
typedef struct ManifestWriter ManifestWriter;
extern ManifestWriter *manifest_writer_open(const char *table_location, ManifestNames *names, const char *compression,
											int64 target_size, const DataType *const *partition_types, int npartition_keys);
extern void manifest_writer_add(ManifestWriter *writer, const ManifestEntry *entry);
extern List *manifest_writer_finish(ManifestWriter *writer);

/* Deep copies into CurrentMemoryContext. */
extern ManifestFileMeta *manifest_file_meta_copy(const ManifestFileMeta *meta);
extern ManifestEntry *manifest_entry_copy(const ManifestEntry *entry);
extern DataFileMeta *data_file_meta_copy(const DataFileMeta *file);

/*
 * Identity of an entry (4.7): partition, bucket, level, name, extra files,
 * embedded index, external path.
 */
extern uint32 manifest_entry_hash(const ManifestEntry *entry);
extern bool manifest_entry_same(const ManifestEntry *a, const ManifestEntry *b);

#endif							/* STREAMHOUSE_MANIFEST_H */
