/*
 * table_rule.h
 *		What a user wants of the lake tables of some sources: their names, options
 *		and columns.
 *
 * A sync has a list of rules; for each source the first one counts whose
 * pattern is all of "schema.table", and for each logical message the first one for
 * messages whose pattern is all of its prefix.  That is decided when the source joins the
 * sync, whatever it is called later.
 */
#ifndef STREAMHOUSE_SYNC_TABLE_RULE_H
#define STREAMHOUSE_SYNC_TABLE_RULE_H

#include "postgres.h"

#include "nodes/pg_list.h"

#include "sync/metadata.h"

typedef struct ComputedColumn
{
	char	   *name;
	char	   *expression;		/* SQL; NULL: it is the shard */
} ComputedColumn;

typedef struct TableRule
{
	char	   *source;			/* regular expression */
	bool		messages;		/* it is for logical messages, whose prefixes the expression speaks of */
	char	   *table;			/* name of the lake table, with \1 for what matched; NULL: the source's */
	List	   *options;		/* OptionPair *: before those of the sync */
	List	   *columns;		/* ComputedColumn *: behind the source's, the shard first */
	List	   *partition;		/* char *: columns by which the lake table is partitioned, the shard first */
	char	   *shard;			/* what tells several sources of one lake table apart, with \1 for what matched; or NULL */
	char	   *where;			/* SQL condition of rows; NULL: all */
	bool		history;
	char	   *soft_delete;	/* column that says of a row that it was deleted; NULL: deleted rows go */
	int			nmetadata;
	MetadataField metadata[METADATA_FIELDS];
} TableRule;

/* A JSON array of rules (TableRule *); ERROR for anything that is not known. */
extern List *table_rules_parse(Datum jsonb);

/* The number of the first rule for a source, or for a prefix of messages, from 1; 0: there is none. */
extern int	table_rules_match(List *rules, const char *name, bool messages);

/* Name of the lake table for a source that matches. */
extern char *table_rule_lake_table(const TableRule *rule, const char *source, const char *otherwise);

/* Its shard, NULL when there is none. */
extern char *table_rule_shard(const TableRule *rule, const char *source);

/* Name of the column that has the shard. */
static inline const char *
table_rule_shard_column(const TableRule *rule)
{
	return ((const ComputedColumn *) linitial(rule->columns))->name;
}

/* {"key": "value"} as OptionPair *; ERROR unless all values are strings, numbers or booleans. */
extern List *sync_options_parse(Datum jsonb);

#endif							/* STREAMHOUSE_SYNC_TABLE_RULE_H */
