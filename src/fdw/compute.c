/*
 * compute.c
 *		SQL expressions and aggregates that can be computed on batches.
 *
 * Only what has the same meaning on the lake's values is taken: integer
 * arithmetic, CASE and COALESCE over conditions that are exact and constant.
 * Of types whose values differ between lake and SQL (character(n), timestamps
 * finer than microseconds) only the null flags are used.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "fdw/compute.h"

static Expression *analyze(Expr *node, const QualTarget *target);

static Expression *
make_expression(ExpressionKind kind, const DataType *type, int narguments)
{
	Expression *expression = palloc0(sizeof(Expression));

	expression->kind = kind;
	expression->type = type;
	expression->narguments = narguments;
	expression->arguments = palloc(Max(narguments, 1) * sizeof(Expression *));
	return expression;
}

/* The lake type of SQL's integers, NULL for other types. */
static const DataType *
integer_type(Oid typid)
{
	switch (getBaseType(typid))
	{
		case INT2OID:
			return type_make(TYPE_SMALLINT, 0, 0, true);
		case INT4OID:
			return type_make(TYPE_INT, 0, 0, true);
		case INT8OID:
			return type_make(TYPE_BIGINT, 0, 0, true);
		default:
			return NULL;
	}
}

/* Is a value of the type in SQL what it is in the lake? */
static bool
is_same_in_sql(const DataType *type)
{
	if (type_is_nested(type))
		return false;
	switch (type->root)
	{
		case TYPE_CHAR:
		case TYPE_BLOB:
			return false;
		case TYPE_TIMESTAMP:
		case TYPE_TIMESTAMP_LTZ:
			return type->physical == PHYSICAL_INT64;
		default:
			return true;
	}
}

static Expression *
analyze_column(const Var *var, const QualTarget *target)
{
	Expression *expression;
	int			field;

	field = qual_field_of_var(var, target);
	if (field < 0)
		return NULL;
	expression = make_expression(EXPRESSION_COLUMN, target->schema->fields[field].type, 0);
	expression->column = field;
	return expression;
}

static Expression *
analyze_constant(const Const *value)
{
	const DataType *type = integer_type(value->consttype);
	Expression *expression;

	if (type == NULL)
		return NULL;
	expression = make_expression(EXPRESSION_CONSTANT, type, 0);
	expression->constant.isnull = value->constisnull;
	if (value->constisnull)
		return expression;
	if (type->root == TYPE_SMALLINT)
		expression->constant.v.i16 = DatumGetInt16(value->constvalue);
	else if (type->root == TYPE_INT)
		expression->constant.v.i32 = DatumGetInt32(value->constvalue);
	else
		expression->constant.v.i64 = DatumGetInt64(value->constvalue);
	return expression;
}

/* An integer expression as one of another type, at least as wide. */
static Expression *
widen(Expression *expression, const DataType *type)
{
	Expression *wide;

	if (expression == NULL || expression->type->physical > PHYSICAL_INT64)
		return NULL;
	if (expression->type->physical == type->physical)
		return expression;
	wide = make_expression(EXPRESSION_WIDEN, type, 1);
	wide->arguments[0] = expression;
	return wide;
}

static Expression *
analyze_widening(Expr *argument, Oid typid, const QualTarget *target)
{
	const DataType *type = integer_type(typid);

	return type != NULL && integer_type(exprType((Node *) argument)) != NULL ?
		widen(analyze(argument, target), type) : NULL;
}

static Expression *
analyze_arithmetic(const OpExpr *expr, const QualTarget *target)
{
	const DataType *type = integer_type(expr->opresulttype);
	ExpressionKind kind;
	Expression *expression;

	switch (expr->opfuncid)
	{
		case F_INT4PL:
		case F_INT8PL:
		case F_INT24PL:
		case F_INT42PL:
		case F_INT28PL:
		case F_INT82PL:
		case F_INT48PL:
		case F_INT84PL:
			kind = EXPRESSION_ADD;
			break;
		case F_INT4MI:
		case F_INT8MI:
		case F_INT24MI:
		case F_INT42MI:
		case F_INT28MI:
		case F_INT82MI:
		case F_INT48MI:
		case F_INT84MI:
			kind = EXPRESSION_SUBTRACT;
			break;
		case F_INT4MUL:
		case F_INT8MUL:
		case F_INT24MUL:
		case F_INT42MUL:
		case F_INT28MUL:
		case F_INT82MUL:
		case F_INT48MUL:
		case F_INT84MUL:
			kind = EXPRESSION_MULTIPLY;
			break;
		default:
			return NULL;
	}
	expression = make_expression(kind, type, 2);
	expression->arguments[0] = widen(analyze(linitial(expr->args), target), type);
	expression->arguments[1] = widen(analyze(lsecond(expr->args), target), type);
	return expression->arguments[0] != NULL && expression->arguments[1] != NULL ? expression : NULL;
}

/* A condition that means the same as the clause; false if there is none such.  *out may be NULL: always true. */
static bool
analyze_condition(Expr *clause, const QualTarget *target, Predicate **out)
{
	bool		exact;
	Qual	   *qual = qual_analyze(clause, target, &exact);

	if (qual == NULL || !exact || !qual_is_constant(qual))
		return false;
	*out = qual_bind(qual, NULL);
	return true;
}

/*
 * Bring the arguments of CASE or COALESCE to one type: that of integers, or
 * one that all columns have.
 */
static bool
unite_arguments(Expression *expression, Oid typid)
{
	const DataType *type = integer_type(typid);
	int			i;

	for (i = 0; i < expression->narguments; i++)
	{
		if (expression->arguments[i] == NULL)
			return false;
		if (type != NULL)
			expression->arguments[i] = widen(expression->arguments[i], type);
		if (expression->arguments[i] == NULL ||
			!is_same_in_sql(expression->arguments[i]->type) ||
			(type == NULL && !type_equal(expression->arguments[i]->type, expression->arguments[0]->type)))
			return false;
	}
	expression->type = type != NULL ? type : expression->arguments[0]->type;
	return true;
}

static Expression *
analyze_case(const CaseExpr *expr, const QualTarget *target)
{
	int			nconditions = list_length(expr->args);
	Expression *expression = make_expression(EXPRESSION_CASE, NULL, nconditions + 1);
	int			i;

	if (expr->arg != NULL || expr->defresult == NULL)
		return NULL;
	expression->conditions = palloc0(nconditions * sizeof(Predicate *));
	for (i = 0; i < nconditions; i++)
	{
		const CaseWhen *when = list_nth_node(CaseWhen, expr->args, i);

		if (!analyze_condition(when->expr, target, &expression->conditions[i]))
			return NULL;
		expression->arguments[i] = analyze(when->result, target);
	}
	expression->arguments[nconditions] = analyze(expr->defresult, target);
	return unite_arguments(expression, expr->casetype) ? expression : NULL;
}

/* COALESCE of columns is a CASE; a constant ends it. */
static Expression *
analyze_coalesce(const CoalesceExpr *expr, const QualTarget *target)
{
	int			nconditions = list_length(expr->args) - 1;
	Expression *expression = make_expression(EXPRESSION_CASE, NULL, nconditions + 1);
	int			i;

	expression->conditions = palloc0(Max(nconditions, 1) * sizeof(Predicate *));
	for (i = 0; i <= nconditions; i++)
	{
		Expression *argument = analyze(list_nth(expr->args, i), target);

		expression->arguments[i] = argument;
		if (argument == NULL || (i < nconditions && argument->kind != EXPRESSION_COLUMN))
			return NULL;
		if (i < nconditions)
			expression->conditions[i] = predicate_leaf(PREDICATE_IS_NOT_NULL, argument->column, argument->type,
													   NULL, 0);
	}
	return unite_arguments(expression, expr->coalescetype) ? expression : NULL;
}

static Expression *
analyze_function(const FuncExpr *expr, const QualTarget *target)
{
	switch (expr->funcid)
	{
		case F_INT4_INT2:
		case F_INT8_INT2:
		case F_INT8_INT4:
			return analyze_widening(linitial(expr->args), expr->funcresulttype, target);
		default:
			return NULL;
	}
}

static Expression *
analyze(Expr *node, const QualTarget *target)
{
	check_stack_depth();
	switch (nodeTag(node))
	{
		case T_Var:
			return analyze_column((Var *) node, target);
		case T_Const:
			return analyze_constant((Const *) node);
		case T_RelabelType:
			return analyze(((RelabelType *) node)->arg, target);
		case T_OpExpr:
			return analyze_arithmetic((OpExpr *) node, target);
		case T_FuncExpr:
			return analyze_function((FuncExpr *) node, target);
		case T_CaseExpr:
			return analyze_case((CaseExpr *) node, target);
		case T_CoalesceExpr:
			return analyze_coalesce((CoalesceExpr *) node, target);
		default:
			return NULL;
	}
}

/* Do equal values have equal bytes? */
static bool
is_equal_by_bytes(Expr *node)
{
	Oid			collation = exprCollation((Node *) node);

	return !OidIsValid(collation) || get_collation_isdeterministic(collation);
}

Expression *
compute_analyze_key(Expr *node, const QualTarget *target)
{
	Expression *expression = analyze(node, target);

	if (expression == NULL || !is_same_in_sql(expression->type) || !is_equal_by_bytes(node))
		return NULL;
	return expression;
}

static bool
is_integer(const DataType *type)
{
	return type->root >= TYPE_TINYINT && type->root <= TYPE_BIGINT;
}

/* Do values of both types lie in memory in the same units? */
static bool
has_same_units(const DataType *a, const DataType *b)
{
	if (a->physical != b->physical)
		return false;
	switch (a->root)
	{
		case TYPE_BINARY:
		case TYPE_VARBINARY:
			return b->root == TYPE_BINARY || b->root == TYPE_VARBINARY;
		case TYPE_DECIMAL:
			return b->root == a->root && b->scale == a->scale;
		case TYPE_TIMESTAMP:
		case TYPE_TIMESTAMP_LTZ:
			return b->root == a->root && (b->precision <= 3) == (a->precision <= 3);
		default:
			return b->root == a->root;
	}
}

bool
compute_unite_keys(Expression **left, Expression **right)
{
	if (is_integer((*left)->type) && is_integer((*right)->type))
	{
		const DataType *wide = (*left)->type->physical > (*right)->type->physical ? (*left)->type : (*right)->type;

		*left = widen(*left, wide);
		*right = widen(*right, wide);
		return true;
	}
	return has_same_units((*left)->type, (*right)->type);
}

/* ---- aggregates ---- */

static bool
set_kind(ComputedAggregate *out, AggregateKind kind, AggregateResult result)
{
	out->item.kind = kind;
	out->result = result;
	return true;
}

static bool
is_numeric_cast(Oid function)
{
	return function == F_NUMERIC_INT2 || function == F_NUMERIC_INT4 || function == F_NUMERIC_INT8;
}

/* Sums of numeric are exact, so integers can be added before they are numeric. */
static Expr *
strip_numeric_cast(Expr *node)
{
	if (IsA(node, FuncExpr) && is_numeric_cast(((FuncExpr *) node)->funcid))
		return linitial(((FuncExpr *) node)->args);
	return node;
}

static bool
analyze_number_aggregate(const Aggref *aggref, ComputedAggregate *out)
{
	bool		partial = DO_AGGSPLIT_SKIPFINAL(aggref->aggsplit);

	switch (aggref->aggfnoid)
	{
		case F_SUM_INT2:
		case F_SUM_INT4:
			return set_kind(out, AGGREGATE_SUM, RESULT_SUM);
		case F_SUM_INT8:
			return set_kind(out, AGGREGATE_SUM, partial ? RESULT_INT8_STATE : RESULT_NUMERIC_SUM);
		case F_SUM_NUMERIC:
			return set_kind(out, AGGREGATE_SUM, partial ? RESULT_NUMERIC_STATE : RESULT_NUMERIC_SUM);
		case F_AVG_INT2:
		case F_AVG_INT4:
			return set_kind(out, AGGREGATE_SUM, partial ? RESULT_INT_STATE : RESULT_NUMERIC_AVERAGE);
		case F_AVG_INT8:
			return set_kind(out, AGGREGATE_SUM, partial ? RESULT_INT8_STATE : RESULT_NUMERIC_AVERAGE);
		case F_AVG_NUMERIC:
			return set_kind(out, AGGREGATE_SUM, partial ? RESULT_NUMERIC_STATE : RESULT_NUMERIC_AVERAGE);
		case F_SUM_FLOAT4:
		case F_SUM_FLOAT8:
			return set_kind(out, AGGREGATE_SUM, RESULT_FLOAT_SUM);
		case F_AVG_FLOAT4:
		case F_AVG_FLOAT8:
			return set_kind(out, AGGREGATE_MOMENTS, partial ? RESULT_FLOAT_STATE : RESULT_FLOAT_AVERAGE);
		default:
			return false;
	}
}

static bool
analyze_extreme_aggregate(const Aggref *aggref, ComputedAggregate *out)
{
	switch (aggref->aggfnoid)
	{
		case F_MIN_TEXT:
		case F_MAX_TEXT:
			if (!OidIsValid(aggref->inputcollid) || !compat_collation_is_c(aggref->inputcollid))
				return false;
			return set_kind(out, aggref->aggfnoid == F_MIN_TEXT ? AGGREGATE_MIN : AGGREGATE_MAX, RESULT_EXTREME);
		case F_MIN_INT2:
		case F_MIN_INT4:
		case F_MIN_INT8:
		case F_MIN_FLOAT4:
		case F_MIN_FLOAT8:
		case F_MIN_NUMERIC:
		case F_MIN_DATE:
		case F_MIN_TIME:
		case F_MIN_TIMESTAMP:
		case F_MIN_TIMESTAMPTZ:
		case F_BOOL_AND:
		case F_EVERY:
			return set_kind(out, AGGREGATE_MIN, RESULT_EXTREME);
		case F_MAX_INT2:
		case F_MAX_INT4:
		case F_MAX_INT8:
		case F_MAX_FLOAT4:
		case F_MAX_FLOAT8:
		case F_MAX_NUMERIC:
		case F_MAX_DATE:
		case F_MAX_TIME:
		case F_MAX_TIMESTAMP:
		case F_MAX_TIMESTAMPTZ:
		case F_BOOL_OR:
			return set_kind(out, AGGREGATE_MAX, RESULT_EXTREME);
		default:
			return false;
	}
}

/* count(x) looks at null flags only, whatever the type; count(DISTINCT x) at values. */
static bool
analyze_count(const Aggref *aggref, Expr *argument, ComputedAggregate *out)
{
	if (aggref->aggdistinct == NIL)
		return set_kind(out, AGGREGATE_COUNT, RESULT_COUNT);
	if (!is_same_in_sql(out->item.argument->type) || !is_equal_by_bytes(argument))
		return false;
	return set_kind(out, AGGREGATE_COUNT_DISTINCT, RESULT_COUNT);
}

static bool
analyze_argument_aggregate(const Aggref *aggref, const QualTarget *target, ComputedAggregate *out)
{
	Expr	   *argument = linitial_node(TargetEntry, aggref->args)->expr;
	bool		number = analyze_number_aggregate(aggref, out);

	if (number && aggref->aggdistinct != NIL)
		return false;
	out->item.argument = analyze(number ? strip_numeric_cast(argument) : argument, target);
	if (out->item.argument == NULL)
		return false;
	if (aggref->aggfnoid == F_COUNT_ANY)
		return analyze_count(aggref, argument, out);
	return is_same_in_sql(out->item.argument->type) && (number || analyze_extreme_aggregate(aggref, out));
}

bool
compute_analyze_aggregate(const Aggref *aggref, const QualTarget *target, ComputedAggregate *out)
{
	Predicate  *filter = NULL;

	memset(out, 0, sizeof(ComputedAggregate));
	out->typid = aggref->aggtype;
	if ((aggref->aggsplit != AGGSPLIT_SIMPLE && aggref->aggsplit != AGGSPLIT_INITIAL_SERIAL) ||
		aggref->agglevelsup != 0 || aggref->aggorder != NIL || aggref->aggdirectargs != NIL ||
		aggref->aggvariadic || list_length(aggref->args) > 1)
		return false;
	if (aggref->aggfilter != NULL && !analyze_condition(aggref->aggfilter, target, &filter))
		return false;
	out->item.filter = filter;
	if (aggref->args == NIL)
		return aggref->aggfnoid == F_COUNT_ && set_kind(out, AGGREGATE_COUNT_ROWS, RESULT_COUNT);
	return analyze_argument_aggregate(aggref, target, out);
}

void
compute_fields(const Expression *expression, bool *used)
{
	int			i;

	if (expression->kind == EXPRESSION_COLUMN)
		used[expression->column] = true;
	for (i = 0; i < expression->narguments; i++)
		compute_fields(expression->arguments[i], used);
	for (i = 0; expression->kind == EXPRESSION_CASE && i < expression->narguments - 1; i++)
		predicate_columns(expression->conditions[i], used);
}
