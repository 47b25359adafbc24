/*
 * qual_reason.c
 *		Why a WHERE clause is left to the executor, for EXPLAIN.
 */
#include "postgres.h"

#include "catalog/pg_operator_d.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "fdw/qual_tree.h"

static bool
is_column(Expr *node, const QualTarget *target)
{
	return qual_column_of(node, target) >= 0;
}

static const char *
operand_reason(Expr *operand)
{
	Node	   *node = (Node *) operand;

	if (IsA(node, FieldSelect) || IsA(node, SubscriptingRef))
		return "part of a nested value is compared";
	return "no column is compared, but an expression";
}

/* Of "column operator values", or of "value operator column". */
static const char *
comparison_reason(Oid opno, List *args, const QualTarget *target)
{
	Expr	   *column = linitial(args);
	Expr	   *other = llast(args);

	if (list_length(args) != 2)
		return "it is no comparison";
	if (!is_column(column, target))
	{
		column = other;
		other = linitial(args);
	}
	if (!is_column(column, target))
		return operand_reason(contain_var_clause((Node *) other) ? other : column);
	if (contain_var_clause((Node *) other))
		return "columns are compared with each other";
	if (opno == OID_TEXT_LIKE_OP)
		return "of a pattern only what comes before its first wildcard is compared";
	if (!qual_is_comparison(opno))
		return psprintf("operator %s is none of <, <=, =, >=, > and <>", get_opname(opno));
	return NULL;
}

static const char *
members_reason(List *args, const QualTarget *target)
{
	ListCell   *lc;

	foreach(lc, args)
	{
		const char *reason = qual_reason(lfirst(lc), target);

		if (reason)
			return reason;
	}
	return "NOT of a condition that is known in part";
}

/* What is at the bottom of it, once the shape is that of a comparison. */
static const char *
values_reason(Expr *clause, const QualTarget *target)
{
	Oid			collation = exprInputCollation((Node *) clause);

	if (OidIsValid(collation) && !qual_collation_allows(collation, false))
		return psprintf("collation \"%s\" has another order than the lake", get_collation_name(collation));
	return "values of its type are not compared in the lake";
}

const char *
qual_reason(Expr *clause, const QualTarget *target)
{
	const char *reason = NULL;
	bool		exact;

	if (qual_analyze(clause, target, &exact) != NULL && exact)
		return NULL;
	if (contain_volatile_functions((Node *) clause))
		return "it has a volatile function";
	if (contain_subplans((Node *) clause))
		return "it has a subquery";
	switch (nodeTag(clause))
	{
		case T_BoolExpr:
			return members_reason(((BoolExpr *) clause)->args, target);
		case T_OpExpr:
		case T_DistinctExpr:
			reason = comparison_reason(((OpExpr *) clause)->opno, ((OpExpr *) clause)->args, target);
			break;
		case T_ScalarArrayOpExpr:
			reason = comparison_reason(((ScalarArrayOpExpr *) clause)->opno, ((ScalarArrayOpExpr *) clause)->args, target);
			break;
		case T_NullTest:
			return operand_reason(((NullTest *) clause)->arg);
		default:
			return "it is no comparison of a column";
	}
	return reason ? reason : values_reason(clause, target);
}
