/*
 * schema.h
 *		Table schemas: JSON files schema/schema-<id> (format digest section 2).
 */
#ifndef STREAMHOUSE_SCHEMA_H
#define STREAMHOUSE_SCHEMA_H

#include "nodes/pg_list.h"

#include "columnar/type.h"

typedef struct OptionPair
{
	char	   *key;
	char	   *value;
} OptionPair;

typedef struct TableSchema
{
	int64		id;
	int			nfields;
	DataField  *fields;
	int32		highest_field_id;
	int			npartition_keys;
	int		   *partition_keys; /* positions in fields */
	int			nprimary_keys;
	int		   *primary_keys;	/* positions in fields, as listed */
	int			ntrimmed_keys;
	int		   *trimmed_keys;	/* primary keys without partition keys */
	List	   *options;		/* OptionPair * */
	char	   *comment;		/* or NULL */
	int64		time_millis;
	struct JsonNode *unknown;	/* object of the file's members that we do not know, or NULL */
} TableSchema;

extern OptionPair *option_pair_make(const char *key, const char *value);

/* The value of an option among others (OptionPair *), NULL when it is not there. */
extern const char *option_pair_value(const List *options, const char *key);

/* Parse a schema file's text; path names it in errors. */
extern TableSchema *schema_parse(const char *json, size_t length, const char *path);

/* The JSON text as Java writes it. */
extern char *schema_to_json(const TableSchema *schema);

/*
 * NULL when missing_ok and there is none.  It may come from the cache, and
 * stays as it is until CurrentMemoryContext is reset or deleted.
 */
extern const TableSchema *schema_load(const char *table_location, int64 id);
extern const TableSchema *schema_load_latest(const char *table_location, bool missing_ok);

/* Create-if-absent of schema-<id>; false if it exists. */
extern bool schema_publish(const char *table_location, const TableSchema *schema);

/* Deep copy into CurrentMemoryContext. */
extern TableSchema *schema_copy(const TableSchema *schema);

/* Position of a field by name, -1 if none. */
extern int	schema_field(const TableSchema *schema, const char *name);

/* Is a field part of the primary key, or of the partition? */
extern bool schema_field_is_key(const TableSchema *schema, int field);
extern bool schema_field_is_partition(const TableSchema *schema, int field);

/* The option's text, or NULL. */
extern const char *schema_option(const TableSchema *schema, const char *key);

/*
 * options (OptionPair *) of a new table with a primary key: one bucket, unless
 * they say otherwise, since Paimon's own default (dynamic buckets) cannot be
 * written.
 */
extern List *schema_with_default_bucket(List *options);

/* Derive trimmed_keys from the primary and partition keys. */
extern void schema_set_trimmed_keys(TableSchema *schema);

/* The names of a comma separated list, without blanks around them. */
extern List *schema_split_names(const char *text);

/*
 * Build a schema for a new table from fields (ids are assigned here), key
 * and partition names and options; applies the validity rules of 2.5 with an
 * ERROR that names column or option.  Primary key columns become NOT NULL.
 */
extern TableSchema *schema_build(int nfields, DataField *fields, List *partition_keys, List *primary_keys,
								 List *options, const char *comment);

/* Is a column of this name for the format itself? */
extern bool schema_name_is_reserved(const char *name);

/*
 * The schema that comes after one, the same for now, in CurrentMemoryContext;
 * and what may be done to it before it is published.  Names must be free and
 * not reserved when all is done.
 */
extern TableSchema *schema_next(const TableSchema *schema);

/* A nullable column more at a position. */
extern void schema_add_field(TableSchema *schema, int position, const DataField *field);

/* Another column at the position of one that is dropped: not of a key, and nullable. */
extern void schema_replace_field(TableSchema *schema, int position, const DataField *field);

/* Nullability stays as it is. */
extern void schema_retype_field(TableSchema *schema, int position, const DataType *type);

/* value NULL: it is not set any more. */
extern void schema_set_option(TableSchema *schema, const char *key, const char *value);

/* Options that name the column follow. */
extern void schema_rename_field(TableSchema *schema, int position, const char *name);

#endif							/* STREAMHOUSE_SCHEMA_H */
