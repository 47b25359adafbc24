/*
 * table.h
 *		A lake table as everything above the lake layer sees it.
 */
#ifndef STREAMHOUSE_LAKE_TABLE_H
#define STREAMHOUSE_LAKE_TABLE_H

#include "columnar/predicate.h"
#include "lake/manifest.h"
#include "lake/options.h"
#include "lake/schema.h"
#include "lake/snapshot.h"

/* What of a table is shown */
typedef enum TableView
{
	VIEW_ROWS,					/* its rows */
	VIEW_READ_OPTIMIZED,		/* those of the highest level, which need no merge */
	VIEW_AUDIT_LOG,				/* deleted ones, too, with their kinds */
	VIEW_BINLOG,				/* the same, each value in an array */
	VIEW_ROW_TRACKING,			/* with row ids and sequence numbers */
	VIEW_SYSTEM					/* metadata, see system_table.h */
} TableView;

/* Ids of fields that views add to the table's own, at the end; those of others are less */
#define FIELD_ID_ROW_ID 2147483642
#define FIELD_ID_ROW_KIND 2147483643
#define FIELD_ID_SEQUENCE_NUMBER 2147483646
#define FIELD_ID_IS_OF_VIEW(id) ((id) >= FIELD_ID_ROW_ID)

typedef struct LakeTable
{
	MemoryContext context;		/* holds all of this */
	char	   *location;		/* <warehouse>/<db>.db/<table> */
	char	   *branch_location;	/* of schemas, snapshots and tags: the same, or the branch's folder */
	char	   *name;			/* "db.table", for messages */
	const TableSchema *schema;	/* newest */
	TableOptions *options;
	const DataType **partition_types;	/* npartition_keys */
	const DataType **key_types; /* ntrimmed_keys, NOT NULL */
	bool		has_primary_key;
	bool		allow_external_paths;	/* files may lie outside of the warehouse */
	TableView	view;
	const struct SystemTable *system;	/* of VIEW_SYSTEM */
	char	   *warehouse;		/* of those of the whole warehouse */
	const struct Incremental *incremental;	/* changes are shown, not a state, see incremental.h; NULL: a state */
	struct LakeTable *base;		/* that a view is of; NULL of VIEW_ROWS and of the whole warehouse */
	List	   *old_schemas;	/* TableSchema *, loaded on demand by table_schema */
} LakeTable;

/* Are its rows those of a snapshot, as they are?  (Not changes, nor another view of them.) */
static inline bool
lake_table_shows_state(const LakeTable *table)
{
	return table->view == VIEW_ROWS && table->incremental == NULL;
}

/*
 * Names of tables in all that follows may be those of branches: "t$branch_b".
 * Branches share the data of their table, and can only be read.
 */

/*
 * <warehouse>/<database>.db/<table>, after checking the names; of a branch its
 * folder in there.
 */
extern char *lake_table_location(const char *warehouse, const char *database, const char *table);

/*
 * Open in a new child of CurrentMemoryContext.  NULL when missing_ok and there
 * is no such table.  Does not check what is supported.
 */
extern LakeTable *lake_table_open(const char *warehouse, const char *database, const char *table, bool missing_ok);

/*
 * The table as it looks with a given schema (copied): one that is to be made
 * when a transaction commits, or time travel to an older schema.  Reads no file.
 */
extern LakeTable *lake_table_with_schema(const char *warehouse, const char *database, const char *table,
										 const TableSchema *schema);

/* Publish schema-0 of a new table; ERRCODE_DUPLICATE_TABLE if it exists. */
extern LakeTable *lake_table_create(const char *warehouse, const char *database, const char *table,
									const TableSchema *schema);
extern void lake_table_close(LakeTable *table);

/* The same table, with its schema as it is now, in a new child of CurrentMemoryContext.  Reads no file. */
extern LakeTable *lake_table_copy(const LakeTable *table);

/*
 * A view of a table, with a schema of its own (copied), in a new child of
 * CurrentMemoryContext.  It takes the table over: closing the one closes the
 * other.
 */
extern LakeTable *lake_table_view(LakeTable *base, TableView view, const TableSchema *schema);

/* A schema of the table by id, cached. */
extern const TableSchema *lake_table_schema(LakeTable *table, int64 id);

/* Names (char *) of a warehouse's databases and a database's tables, sorted. */
extern List *lake_list_databases(const char *warehouse);
extern List *lake_list_tables(const char *warehouse, const char *database);

/* Bucket of each row (5.7), BUCKET_FIXED and BUCKET_UNAWARE; columns indexed by table field, flat. */
extern void lake_assign_buckets(const LakeTable *table, Vector *const *columns, const int32 *rows, int nrows, int32 *out);

/* Directory of a partition and bucket, without the table's location: "dt=1/bucket-0". */
extern char *lake_bucket_directory(const LakeTable *table, BytesView partition, int32 bucket);

/* Full path of a data file. */
extern char *lake_data_file_path(const LakeTable *table, BytesView partition, int32 bucket, const DataFileMeta *file);

/*
 * The path of a file that metadata says to be elsewhere.  ERROR when it is
 * outside of the warehouse, unless the table allows that.
 */
extern char *lake_external_path(const LakeTable *table, const char *path);

/* "k=v/k=v" for messages and views (unescaped values). */
extern char *lake_partition_text(const LakeTable *table, BytesView partition);

/* The same with values as the partition's folder has them, but not escaped; ERROR when it could not be named. */
extern char *lake_partition_spec(const LakeTable *table, BytesView partition);

#endif							/* STREAMHOUSE_LAKE_TABLE_H */
