/*
 * system_table.h
 *		Paimon's system tables: a table's metadata as rows.
 *
 * A system table is opened like a lake table, planned and read like one: its
 * rows come from a producer instead of from files.  Others are views of the
 * table's own rows: with other files, or with more columns.
 *
 * Source: format digest section 13.1.
 */
#ifndef STREAMHOUSE_SYSTEM_TABLE_H
#define STREAMHOUSE_SYSTEM_TABLE_H

#include "format/format.h"
#include "lake/plan.h"

#define SYSTEM_BATCH_ROWS 256

/* What a producer works with */
typedef struct SystemSource
{
	const char *warehouse;
	LakeTable  *table;			/* the base table; NULL for those of the whole warehouse */
	const LakeSnapshot *snapshot;	/* the one that is read, NULL: none */
	const DataType **types;		/* of the columns */
	void	   *state;			/* the producer's */
} SystemSource;

typedef struct SystemColumn
{
	const char *name;
	const char *type;			/* as in schema files; arrays and rows by their own names, see system_table.c */
} SystemColumn;

typedef struct SystemTable
{
	const char *name;
	int			ncolumns;
	const SystemColumn *columns;

	/* What there is a row for each of; in CurrentMemoryContext, which stays. */
	List	   *(*list) (SystemSource *source);

	/* The row of an item, in CurrentMemoryContext, values all null before; false: it is gone meanwhile. */
	bool		(*fill) (SystemSource *source, void *item, Scalar *values);
} SystemTable;

/*
 * Split "t$branch_b$snapshots" into the name of a table (or of a branch) and
 * that of a system table, NULL when the name has none.
 */
extern void system_table_split_name(const char *name, char **table, char **system);

/*
 * The system table of this name over a table, which it takes over: closing the
 * one closes the other.  ERROR if there is none such.
 */
extern LakeTable *system_table_open(LakeTable *base, const char *name);

/* The system table in database "sys", NULL if there is none such. */
extern LakeTable *system_table_open_global(const char *warehouse, const char *name);

#define SYSTEM_DATABASE "sys"

/* Names (char *) of those in database "sys". */
extern List *system_table_global_names(void);

/* How many of the last fields are shown first. */
extern int	system_table_leading_fields(const LakeTable *table);

/* Rows as batches, of the fields listed; in CurrentMemoryContext. */
typedef struct SystemReader SystemReader;

extern SystemReader *system_reader_open(LakeTable *table, const Split *split, const int *fields, int nfields,
										FormatCounters *counters);
extern int	system_reader_next(SystemReader *reader);	/* rows of the next batch, 0 at the end */
extern void system_reader_read_field(SystemReader *reader, int field, const int32 *selection, int nselected,
									 Vector *out);

/* Producers' tools: texts and numbers of a row. */
extern void system_set_text(Scalar *value, const char *text);	/* NULL: null */
extern void system_set_int64(Scalar *value, int64 number);
extern void system_set_int32(Scalar *value, int32 number);
extern void system_set_texts(const DataType *type, Scalar *value, List *texts); /* char *: of an array */

/* Sums over the live files of a partition, or a bucket. */
typedef struct FileGroup
{
	BytesView	partition;
	int32		bucket;
	int64		record_count;
	int64		bytes;
	int64		files;
	bool		has_time;
	int64		time;			/* of the newest file that manifests name, a deleted one maybe */
} FileGroup;

extern List *system_file_groups(LakeTable *table, const LakeSnapshot *snapshot, bool by_bucket);

/* The producers: system_metadata.c, system_files.c, system_catalog.c */
extern const SystemTable system_snapshots;
extern const SystemTable system_schemas;
extern const SystemTable system_options;
extern const SystemTable system_tags;
extern const SystemTable system_branches;
extern const SystemTable system_consumers;
extern const SystemTable system_statistics;
extern const SystemTable system_aggregation_fields;
extern const SystemTable system_files;
extern const SystemTable system_file_key_ranges;
extern const SystemTable system_manifests;
extern const SystemTable system_partitions;
extern const SystemTable system_buckets;
extern const SystemTable system_table_indexes;
extern const SystemTable system_all_tables;
extern const SystemTable system_all_partitions;
extern const SystemTable system_all_table_options;
extern const SystemTable system_catalog_options;

#endif							/* STREAMHOUSE_SYSTEM_TABLE_H */
