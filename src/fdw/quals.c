/*
 * quals.c
 *		Analyses WHERE clauses for pushdown.
 *
 * Operators are known by their place in the default btree operator family of
 * their type: so it is surely the order that the lake's values have, too.
 * Strings have that order only where the collation is C; that equal strings
 * have equal bytes holds for every deterministic collation.
 *
 * A predicate has no NOT: negation moves into the leaves.  That keeps the
 * meaning in a WHERE clause, where NULL counts as false; but the part of a
 * clause that is weaker than the whole must never be negated.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "compat.h"
#include "fdw/point.h"
#include "fdw/qual_tree.h"

/* Of character(n) columns that are compared: each length is a value more. */
#define MAX_CHAR_LENGTH 64

static Qual *analyze(Expr *node, const QualTarget *target, bool negated, bool *exact);

static Qual *
make_leaf(QualKind kind, PredicateOp op, int column, const QualTarget *target)
{
	Qual	   *qual = palloc0(sizeof(Qual));

	qual->kind = kind;
	qual->op = op;
	qual->column = column;
	qual->type = target->schema->fields[column].type;
	return qual;
}

/* Casts that change no value and keep the order: looked through on the column's side. */
static bool
is_lossless_cast(Oid function)
{
	switch (function)
	{
		case F_INT4_INT2:
		case F_INT8_INT2:
		case F_INT8_INT4:
		case F_NUMERIC_INT2:
		case F_NUMERIC_INT4:
		case F_NUMERIC_INT8:
		case F_FLOAT8_FLOAT4:
		case F_TIMESTAMP_DATE:
			return true;
		default:
			return false;
	}
}

static Expr *
strip_casts(Expr *node)
{
	for (;;)
	{
		if (IsA(node, RelabelType))
			node = ((RelabelType *) node)->arg;
		else if (IsA(node, FuncExpr) && is_lossless_cast(((FuncExpr *) node)->funcid))
			node = linitial(((FuncExpr *) node)->args);
		else
			return node;
	}
}

int
qual_field_of_var(const Var *var, const QualTarget *target)
{
	if (var->varlevelsup != 0 || var->varattno <= 0)
		return -1;
	for (; target != NULL; target = target->next)
	{
		if (var->varno == target->varno)
			return target->fields[var->varattno - 1];
	}
	return -1;
}

int
qual_column_of(Expr *node, const QualTarget *target)
{
	Var		   *var = (Var *) strip_casts(node);

	return IsA(var, Var) ? qual_field_of_var(var, target) : -1;
}

/* Nested values stay where they are. */
static bool
can_be_joined(const QualTarget *target, int attribute)
{
	int			field = target->fields[attribute];

	return field >= 0 && !type_is_nested(target->schema->fields[field].type);
}

QualTarget *
qual_join_targets(const QualTarget *const *targets, int ntargets)
{
	QualTarget *joined = palloc0(ntargets * sizeof(QualTarget));
	TableSchema *schema = palloc0(sizeof(TableSchema));
	int			total = 0;
	int			i;
	int			k;

	for (i = 0; i < ntargets; i++)
		total += targets[i]->schema->nfields;
	schema->fields = palloc(Max(total, 1) * sizeof(DataField));
	for (i = 0; i < ntargets; i++)
	{
		int		   *fields = palloc(Max(targets[i]->natts, 1) * sizeof(int));

		for (k = 0; k < targets[i]->natts; k++)
			fields[k] = can_be_joined(targets[i], k) ? targets[i]->fields[k] + schema->nfields : -1;
		memcpy(schema->fields + schema->nfields, targets[i]->schema->fields,
			   targets[i]->schema->nfields * sizeof(DataField));
		schema->nfields += targets[i]->schema->nfields;
		joined[i].varno = targets[i]->varno;
		joined[i].fields = fields;
		joined[i].natts = targets[i]->natts;
		joined[i].schema = schema;
		joined[i].next = i + 1 < ntargets ? &joined[i + 1] : NULL;
	}
	return joined;
}

static bool
contains_column(Node *node, void *varno)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varno == *(const Index *) varno;
	return expression_tree_walker(node, contains_column, varno);
}

/* Will it be known when the scan begins, and be the same for all rows? */
static bool
is_comparand(Expr *node, const QualTarget *target)
{
	Index		varno = target->varno;
	bool		has_variables = target->is_inner ? contains_column((Node *) node, &varno) :
		contain_var_clause((Node *) node);

	return !has_variables && !contain_volatile_functions((Node *) node) &&
		!contain_subplans((Node *) node);
}

/* The btree strategy of an operator in its left type's default order; 0: none, -1: <>. */
static int
operator_strategy(Oid opno)
{
	Oid			left;
	Oid			right;
	Oid			family;
	Oid			negator;
	int			strategy;

	op_input_types(opno, &left, &right);
	if (!OidIsValid(left) || !OidIsValid(right))
		return 0;
	family = lookup_type_cache(left, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	if (!OidIsValid(family))
		return 0;
	strategy = get_op_opfamily_strategy(opno, family);
	if (strategy != 0)
		return strategy;

	negator = get_negator(opno);
	if (OidIsValid(negator) && get_op_opfamily_strategy(negator, family) == BTEqualStrategyNumber)
		return -1;
	return 0;
}

bool
qual_is_equality(Oid opno)
{
	return operator_strategy(opno) == BTEqualStrategyNumber;
}

static bool
operator_predicate(Oid opno, bool negated, PredicateOp *op)
{
	switch (operator_strategy(opno))
	{
		case BTLessStrategyNumber:
			*op = negated ? PREDICATE_GE : PREDICATE_LT;
			return true;
		case BTLessEqualStrategyNumber:
			*op = negated ? PREDICATE_GT : PREDICATE_LE;
			return true;
		case BTEqualStrategyNumber:
			*op = negated ? PREDICATE_NE : PREDICATE_EQ;
			return true;
		case BTGreaterEqualStrategyNumber:
			*op = negated ? PREDICATE_LT : PREDICATE_GE;
			return true;
		case BTGreaterStrategyNumber:
			*op = negated ? PREDICATE_LE : PREDICATE_GT;
			return true;
		case -1:
			*op = negated ? PREDICATE_EQ : PREDICATE_NE;
			return true;
		default:
			return false;
	}
}

bool
qual_is_comparison(Oid opno)
{
	return operator_strategy(opno) != 0;
}

bool
qual_collation_allows(Oid collation, bool only_equality)
{
	return OidIsValid(collation) &&
		(only_equality ? get_collation_isdeterministic(collation) : compat_collation_is_c(collation));
}

/* A comparison's operands, with the column on the left. */
typedef struct Comparison
{
	int			column;
	Oid			opno;
	Expr	   *comparand;
} Comparison;

static bool
take_comparison(Oid opno, List *args, const QualTarget *target, Comparison *out)
{
	Expr	   *left = linitial(args);
	Expr	   *right = lsecond(args);

	out->opno = opno;
	out->column = qual_column_of(left, target);
	out->comparand = right;
	if (out->column < 0)
	{
		out->opno = get_commutator(opno);
		out->column = qual_column_of(right, target);
		out->comparand = left;
	}
	return out->column >= 0 && OidIsValid(out->opno) && is_comparand(out->comparand, target);
}

/* character(n) equals a value with any number of blanks behind it: so many values at most. */
static bool
is_equated_char(const DataType *type, Oid comparand_type, bool only_equality)
{
	return type->root == TYPE_CHAR && comparand_type == BPCHAROID && only_equality &&
		type->length <= MAX_CHAR_LENGTH;
}

static Qual *
compare_leaf(QualKind kind, PredicateOp op, const Comparison *comparison, Oid comparand_type, Oid collation,
			 const QualTarget *target)
{
	bool		only_equality = op == PREDICATE_EQ || op == PREDICATE_NE ||
		op == PREDICATE_IN || op == PREDICATE_NOT_IN;
	const DataType *type = target->schema->fields[comparison->column].type;
	Qual	   *qual;

	comparand_type = getBaseType(comparand_type);
	if ((!point_is_defined(type, comparand_type) && !is_equated_char(type, comparand_type, only_equality)) ||
		(OidIsValid(get_typcollation(comparand_type)) && !qual_collation_allows(collation, only_equality)))
		return NULL;

	qual = make_leaf(kind, op, comparison->column, target);
	qual->comparand = comparison->comparand;
	qual->comparand_type = comparand_type;
	return qual;
}

/* column LIKE pattern; only what the pattern's beginning says is pushed. */
static Qual *
analyze_like(OpExpr *expr, const QualTarget *target, bool negated, bool *exact)
{
	Comparison	comparison;
	Const	   *pattern;
	BytesView	prefix;
	LikeKind	like = LIKE_OTHER;

	if (negated || qual_column_of(linitial(expr->args), target) < 0 ||
		!take_comparison(expr->opno, expr->args, target, &comparison))
		return NULL;

	pattern = (Const *) comparison.comparand;
	if (IsA(pattern, Const) && !pattern->constisnull)
		like = like_prefix(pattern->constvalue, &prefix);
	if (like == LIKE_UNKNOWN)
		return NULL;
	*exact = like != LIKE_OTHER;
	return compare_leaf(QUAL_LIKE, PREDICATE_EQ, &comparison, exprType((Node *) pattern), expr->inputcollid,
						target);
}

static Qual *
analyze_operator(OpExpr *expr, const QualTarget *target, bool negated, bool *exact)
{
	Comparison	comparison;
	PredicateOp op;

	if (expr->opno == OID_TEXT_LIKE_OP)
		return analyze_like(expr, target, negated, exact);
	if (list_length(expr->args) != 2 ||
		!take_comparison(expr->opno, expr->args, target, &comparison) ||
		!operator_predicate(comparison.opno, negated, &op))
		return NULL;
	*exact = true;
	return compare_leaf(QUAL_COMPARE, op, &comparison, exprType((Node *) comparison.comparand),
						expr->inputcollid, target);
}

/* IS DISTINCT FROM, which is an operator expression of "=". */
static Qual *
analyze_distinct(DistinctExpr *expr, const QualTarget *target, bool negated, bool *exact)
{
	Comparison	comparison;
	PredicateOp op;

	if (!take_comparison(expr->opno, expr->args, target, &comparison) ||
		!operator_predicate(comparison.opno, !negated, &op) ||
		(op != PREDICATE_EQ && op != PREDICATE_NE))
		return NULL;
	*exact = true;
	return compare_leaf(QUAL_DISTINCT, op, &comparison, exprType((Node *) comparison.comparand),
						expr->inputcollid, target);
}

/* column = ANY (array), column <> ALL (array). */
static Qual *
analyze_any(ScalarArrayOpExpr *expr, const QualTarget *target, bool negated, bool *exact)
{
	Comparison	comparison = {.opno = expr->opno, .comparand = lsecond(expr->args)};
	PredicateOp op;
	Oid			element_type = get_element_type(exprType((Node *) comparison.comparand));

	comparison.column = qual_column_of(linitial(expr->args), target);
	if (comparison.column < 0 || !OidIsValid(element_type) || !is_comparand(comparison.comparand, target) ||
		!operator_predicate(comparison.opno, false, &op) ||
		op != (expr->useOr ? PREDICATE_EQ : PREDICATE_NE))
		return NULL;
	*exact = true;
	return compare_leaf(QUAL_ANY, expr->useOr != negated ? PREDICATE_IN : PREDICATE_NOT_IN, &comparison,
						element_type, expr->inputcollid, target);
}

static Qual *
analyze_null_test(NullTest *test, const QualTarget *target, bool negated, bool *exact)
{
	int			column = qual_column_of(test->arg, target);
	bool		is_null = (test->nulltesttype == IS_NULL) != negated;

	if (column < 0 || test->argisrow)
		return NULL;
	*exact = true;
	return make_leaf(QUAL_NULL_TEST, is_null ? PREDICATE_IS_NULL : PREDICATE_IS_NOT_NULL, column, target);
}

/* column = value, for a boolean column. */
static Qual *
boolean_leaf(QualKind kind, PredicateOp op, int column, bool value, const QualTarget *target)
{
	Qual	   *qual = make_leaf(kind, op, column, target);

	qual->comparand = (Expr *) makeBoolConst(value, false);
	qual->comparand_type = BOOLOID;
	return qual;
}

static Qual *
analyze_boolean_test(BooleanTest *test, const QualTarget *target, bool negated, bool *exact)
{
	int			column = qual_column_of(test->arg, target);
	PredicateOp op = negated ? PREDICATE_NE : PREDICATE_EQ;
	PredicateOp not_op = negated ? PREDICATE_EQ : PREDICATE_NE;

	/* where a condition is wanted, its being true is the same */
	if (column < 0 && test->booltesttype == IS_TRUE && !negated)
		return analyze(test->arg, target, false, exact);
	if (column < 0)
		return NULL;
	*exact = true;
	switch (test->booltesttype)
	{
		case IS_TRUE:
			return boolean_leaf(QUAL_DISTINCT, op, column, true, target);
		case IS_FALSE:
			return boolean_leaf(QUAL_DISTINCT, op, column, false, target);
		case IS_NOT_TRUE:
			return boolean_leaf(QUAL_DISTINCT, not_op, column, true, target);
		case IS_NOT_FALSE:
			return boolean_leaf(QUAL_DISTINCT, not_op, column, false, target);
		case IS_UNKNOWN:
		case IS_NOT_UNKNOWN:
			return make_leaf(QUAL_NULL_TEST,
							 (test->booltesttype == IS_UNKNOWN) != negated ? PREDICATE_IS_NULL : PREDICATE_IS_NOT_NULL,
							 column, target);
	}
	return NULL;
}

static Qual *
analyze_boolean_column(Var *var, const QualTarget *target, bool negated, bool *exact)
{
	int			column = qual_column_of((Expr *) var, target);

	if (column < 0 || target->schema->fields[column].type->root != TYPE_BOOLEAN)
		return NULL;
	*exact = true;
	return boolean_leaf(QUAL_COMPARE, PREDICATE_EQ, column, !negated, target);
}

/* An AND may lose members and is then weaker; an OR is pushed as a whole or not at all. */
static Qual *
analyze_members(List *args, bool is_and, const QualTarget *target, bool negated, bool *exact)
{
	Qual	   *qual = palloc0(sizeof(Qual));
	ListCell   *lc;

	qual->kind = is_and ? QUAL_AND : QUAL_OR;
	*exact = true;
	foreach(lc, args)
	{
		bool		member_exact = false;
		Qual	   *member = analyze(lfirst(lc), target, negated, &member_exact);

		if (member != NULL)
			qual->children = lappend(qual->children, member);
		else if (!is_and)
			return NULL;
		if (member == NULL || !member_exact)
			*exact = false;
	}
	return qual->children != NIL ? qual : NULL;
}

static Qual *
analyze_bool_expr(BoolExpr *expr, const QualTarget *target, bool negated, bool *exact)
{
	if (expr->boolop == NOT_EXPR)
		return analyze(linitial(expr->args), target, !negated, exact);
	return analyze_members(expr->args, (expr->boolop == AND_EXPR) != negated, target, negated, exact);
}

static Qual *
analyze(Expr *node, const QualTarget *target, bool negated, bool *exact)
{
	check_stack_depth();
	switch (nodeTag(node))
	{
		case T_BoolExpr:
			return analyze_bool_expr((BoolExpr *) node, target, negated, exact);
		case T_OpExpr:
			return analyze_operator((OpExpr *) node, target, negated, exact);
		case T_DistinctExpr:
			return analyze_distinct((DistinctExpr *) node, target, negated, exact);
		case T_ScalarArrayOpExpr:
			return analyze_any((ScalarArrayOpExpr *) node, target, negated, exact);
		case T_NullTest:
			return analyze_null_test((NullTest *) node, target, negated, exact);
		case T_BooleanTest:
			return analyze_boolean_test((BooleanTest *) node, target, negated, exact);
		case T_Var:
			return analyze_boolean_column((Var *) node, target, negated, exact);
		default:
			return NULL;
	}
}

Qual *
qual_analyze(Expr *clause, const QualTarget *target, bool *exact)
{
	*exact = false;
	return analyze(clause, target, false, exact);
}
