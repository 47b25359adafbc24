/*
 * options.h
 *		Paimon's table options, parsed; and what of them we cannot honour.
 *
 * Source: format digest section 11.  Never guess: an option that needs what
 * is not implemented is refused by name, for writing always, for reading where
 * rows could come out wrong.
 */
#ifndef STREAMHOUSE_OPTIONS_H
#define STREAMHOUSE_OPTIONS_H

#include "lake/schema.h"

typedef enum BucketMode
{
	BUCKET_UNAWARE,				/* append table, bucket = -1: everything in bucket 0 */
	BUCKET_FIXED,				/* bucket > 0 */
	BUCKET_DYNAMIC,				/* primary key, bucket = -1 */
	BUCKET_POSTPONE				/* bucket = -2 */
} BucketMode;

typedef enum BucketFunction
{
	BUCKET_FUNCTION_DEFAULT,
	BUCKET_FUNCTION_MOD,
	BUCKET_FUNCTION_HIVE
} BucketFunction;

typedef enum MergeEngineKind
{
	MERGE_DEDUPLICATE,
	MERGE_PARTIAL_UPDATE,
	MERGE_AGGREGATION,
	MERGE_FIRST_ROW
} MergeEngineKind;

typedef struct TableOptions
{
	bool		is_branch;		/* no option: set for tables that are branches */
	BucketMode	bucket_mode;
	int32		buckets;		/* of BUCKET_FIXED; else the option's value */
	BucketFunction bucket_function;
	int			nbucket_keys;
	int		   *bucket_keys;	/* positions in fields; BUCKET_FIXED only */
	char	   *file_format;	/* "parquet" */
	char	   *file_compression;
	int			zstd_level;
	int64		target_file_size;
	char	   *data_file_prefix;
	char	   *data_path_directory;	/* or NULL */
	bool		thin_mode;
	bool		index_file_in_data_dir;
	bool		deletion_vectors;
	bool		data_evolution;
	char	   *partition_default_name;
	bool		partition_legacy_name;
	bool		stats_dense_store;
	bool		write_only;
	/* merging (7.2) */
	MergeEngineKind merge_engine;
	bool		ignore_delete;
	bool		ignore_update_before;
	int			nsequence_fields;	/* rows of a key are ordered by these first */
	int		   *sequence_fields;	/* positions in fields */
	bool		sequence_descending;
	int			rowkind_field;	/* position in fields of the column with the kind of rows written, -1: none */
	/* manifests */
	char	   *manifest_compression;
	int64		manifest_target_size;
	int64		manifest_full_threshold;
	int			manifest_merge_min_count;
	/* retention (9.6) */
	int64		snapshot_num_retained_min;
	int64		snapshot_num_retained_max;
	int64		snapshot_time_retained_ms;
	int64		snapshot_expire_limit;
	bool		snapshot_clean_empty_directories;
	/* compaction (10) */
	int			num_levels;
	int			compaction_trigger;
	int			size_amplification_percent;
	int			size_ratio;
	int			compaction_min_file_num;	/* append tables */
	/* commit */
	int			commit_max_retries;
	int64		commit_min_retry_wait_ms;
	int64		commit_max_retry_wait_ms;
} TableOptions;

/* Parse; a malformed value is an ERROR that names the option. */
extern TableOptions *options_parse(const TableSchema *schema);

/*
 * ERROR (ERRCODE_FEATURE_NOT_SUPPORTED) that names table and the option, type
 * or table kind when rows could be read wrong.
 */
extern void options_check_readable(const TableSchema *schema, const TableOptions *options, const char *table_name);

/* The same for everything that writes: rows, compaction. */
extern void options_check_writable(const TableSchema *schema, const TableOptions *options, const char *table_name);

/*
 * The same for UPDATE, where the key stays, and for DELETE: afterwards the new
 * row must be what is read, or none.  The table must be writable.
 */
extern void options_check_update(const TableSchema *schema, const TableOptions *options, const char *table_name);
extern void options_check_delete(const TableSchema *schema, const TableOptions *options, const char *table_name);

/* The same for copying all changes of another table, of which deletes may have the key alone. */
extern void options_check_replicable(const TableSchema *schema, const TableOptions *options, const char *table_name);

/* The same for expiration (changelog retention, consumers ... are honoured or refused). */
extern void options_check_expirable(const TableSchema *schema, const TableOptions *options, const char *table_name);

/* An integer option, or what it is if missing. */
extern int32 option_int(const TableSchema *schema, const char *key, int32 missing, int32 minimum);

/* Is a boolean option given and on? */
extern bool option_is_true(const TableSchema *schema, const char *key);

/* "10 s", "1 h", "PT1H" -> milliseconds; "128 mb" -> bytes.  ERROR names the option. */
extern int64 option_parse_duration(const char *key, const char *value);
extern int64 option_parse_memory(const char *key, const char *value);

#endif							/* STREAMHOUSE_OPTIONS_H */
