/*
 * rule_expression.h
 *		SQL expressions of rules: computed columns and conditions of rows.
 *
 * They are kept as text, with the columns that the names in it meant when the
 * table joined: so columns may be renamed.  Values must depend on nothing but the row, and
 * be the same whenever and wherever they are computed: the functions must be
 * immutable ones of the server's own, as in row filters of publications.
 */
#ifndef STREAMHOUSE_SYNC_RULE_EXPRESSION_H
#define STREAMHOUSE_SYNC_RULE_EXPRESSION_H

#include "postgres.h"

#include "nodes/bitmapset.h"
#include "nodes/primnodes.h"
#include "utils/rel.h"

#include "sync/sync_catalog.h"

typedef struct RuleExpression
{
	Expr	   *expression;		/* of the source's columns, as variables of relation 1 */
	Oid			type;
	int32		typmod;
	Bitmapset  *columns;		/* attribute numbers that it uses */
} RuleExpression;

/*
 * Find out what the names in the expressions of a table's rule mean, and in
 * its partition: record->used.  What is known already stays, unless the column
 * is gone.  ERROR when anything of the rule does not fit the source.
 */
extern void rule_resolve_columns(const SyncRecord *sync, SyncTableRecord *record, Relation source);

/* A computed column by its number, or the condition of the rule (NULL if it has none).  Allocates in CurrentMemoryContext. */
extern RuleExpression *rule_column_expression(const SyncTableRecord *record, Relation source, int column);
extern RuleExpression *rule_condition(const SyncTableRecord *record, Relation source);

/* The field that a computed column is in the lake, nullable. */
extern DataField rule_column_field(const SyncTableRecord *record, Relation source, int column);

/*
 * Why updates and deletes must tell of all of the old row (REPLICA IDENTITY FULL),
 * as a clause, or NULL when they need not.
 */
extern char *rule_needs_old_rows(const SyncTableRecord *record, Relation source);

#endif							/* STREAMHOUSE_SYNC_RULE_EXPRESSION_H */
