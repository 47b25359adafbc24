/*
 * quals.h
 *		WHERE clauses that the lake's reader can apply.
 *
 * First a clause is analysed: is it a tree of AND, OR and NOT over comparisons
 * of a column with something that is known once the scan begins?  Then, at
 * each (re)start of a scan, the comparands are evaluated and bound, which
 * makes the predicate.
 *
 * Predicates are applied exactly by the reader.  So a clause that a predicate
 * means wholly need not be looked at by the executor; one that it means in
 * part only (LIKE 'a%b', an AND with one strange member) is kept there, too.
 */
#ifndef STREAMHOUSE_FDW_QUALS_H
#define STREAMHOUSE_FDW_QUALS_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/primnodes.h"

#include "columnar/predicate.h"
#include "lake/schema.h"

/* The relation whose columns clauses speak of. */
typedef struct QualTarget
{
	Index		varno;
	int			natts;
	const int  *fields;			/* by attribute number - 1, as in ForeignRelation */
	const TableSchema *schema;
	bool		is_inner;		/* when planning: values of other relations will be known */
	const struct QualTarget *next;	/* of a join: the relation after this one; they share the schema */
} QualTarget;

/*
 * The target of a join, in CurrentMemoryContext: a relation's fields follow
 * those of the relations before it.
 */
extern QualTarget *qual_join_targets(const QualTarget *const *targets, int ntargets);

/* The field that a variable is; -1: none of the target's. */
extern int	qual_field_of_var(const Var *var, const QualTarget *target);

typedef struct Qual Qual;

/*
 * What of a clause can be pushed down, in CurrentMemoryContext; NULL: nothing.
 * *exact: the predicate will mean the same as the clause.
 */
extern Qual *qual_analyze(Expr *clause, const QualTarget *target, bool *exact);

/* Are all its comparands constants? */
extern bool qual_is_constant(const Qual *qual);

/* The table field that an expression is, casts that lose nothing aside; -1: it is none. */
extern int	qual_column_of(Expr *node, const QualTarget *target);

/* Is it the "=" of the default order of its type? */
extern bool qual_is_equality(Oid opno);

/* The column that the clause equates with one value; -1: it does not. */
extern int	qual_equated_column(const Qual *qual);

/* qual_reason.c: why a clause is not, or only in part, pushed down; NULL when it is wholly. */
extern const char *qual_reason(Expr *clause, const QualTarget *target);

/* Make ready to evaluate comparands that are not constants; true if there are any. */
extern bool qual_prepare(Qual *qual, PlanState *parent);

/*
 * The predicate over table fields, in CurrentMemoryContext.  econtext NULL
 * (when planning): only constants are known.  NULL when any row may match.
 */
extern Predicate *qual_bind(const Qual *qual, ExprContext *econtext);

#endif							/* STREAMHOUSE_FDW_QUALS_H */
