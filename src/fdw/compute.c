/*
 * compute.c
 *		SQL expressions that can be computed on batches.
 *
 * There are loops over vectors for what has the same meaning on the lake's
 * values: arithmetic, CASE and COALESCE over conditions that are exact and
 * constant.  All else that is not volatile is computed by the server, from the
 * columns as SQL shows them (server_call.c).  Of columns whose values differ
 * between lake and SQL (character(n), timestamps finer than microseconds) only
 * the null flags are used otherwise.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "fdw/compute.h"
#include "fdw/numeric.h"
#include "fdw/server_call.h"
#include "fdw/time_key.h"


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

/* The lake type of SQL's integers and floats, NULL for other types. */
static const DataType *
number_type(Oid typid)
{
	switch (getBaseType(typid))
	{
		case INT2OID:
			return type_make(TYPE_SMALLINT, 0, 0, true);
		case INT4OID:
			return type_make(TYPE_INT, 0, 0, true);
		case INT8OID:
			return type_make(TYPE_BIGINT, 0, 0, true);
		case FLOAT4OID:
			return type_make(TYPE_FLOAT, 0, 0, true);
		case FLOAT8OID:
			return type_make(TYPE_DOUBLE, 0, 0, true);
		default:
			return NULL;
	}
}

bool
compute_is_same_in_sql(const DataType *type)
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

/* A numeric constant with all its digits. */
static Expression *
analyze_numeric_constant(const Const *value)
{
	const char *text = DatumGetCString(DirectFunctionCall1(numeric_out, value->constvalue));
	const char *point = strchr(text, '.');
	int			scale = point != NULL ? strlen(point + 1) : 0;
	Expression *expression;
	DecimalValue decimal;

	if (scale > TYPE_MAX_DECIMAL_PRECISION)
		return NULL;
	decimal = decimal_from_numeric((struct varlena *) PG_DETOAST_DATUM_PACKED(value->constvalue), scale);
	if (decimal.place != DECIMAL_FINITE)
		return NULL;
	expression = make_expression(EXPRESSION_CONSTANT,
								 type_make(TYPE_DECIMAL, Max(Min(strspn(text, "-.0123456789"),
																 TYPE_MAX_DECIMAL_PRECISION), scale), scale, true), 0);
	if (expression->type->physical == PHYSICAL_INT64)
		expression->constant.v.i64 = (int64) decimal.floor;
	else
		expression->constant.v.i128 = decimal.floor;
	return expression;
}

static Expression *
analyze_constant(const Const *value)
{
	const DataType *type = number_type(value->consttype);
	Expression *expression;

	if (type == NULL)
		return value->consttype == NUMERICOID && !value->constisnull ? analyze_numeric_constant(value) : NULL;
	expression = make_expression(EXPRESSION_CONSTANT, type, 0);
	expression->constant.isnull = value->constisnull;
	if (value->constisnull)
		return expression;
	switch (type->root)
	{
		case TYPE_SMALLINT:
			expression->constant.v.i16 = DatumGetInt16(value->constvalue);
			break;
		case TYPE_INT:
			expression->constant.v.i32 = DatumGetInt32(value->constvalue);
			break;
		case TYPE_BIGINT:
			expression->constant.v.i64 = DatumGetInt64(value->constvalue);
			break;
		case TYPE_FLOAT:
			expression->constant.v.f32 = DatumGetFloat4(value->constvalue);
			break;
		default:
			expression->constant.v.f64 = DatumGetFloat8(value->constvalue);
			break;
	}
	return expression;
}

/* Can values become ones of another type, none of them changed? */
static bool
can_widen(const DataType *from, const DataType *to)
{
	if (to->root == TYPE_DECIMAL)
		return type_is_integer(from) || (from->root == TYPE_DECIMAL && from->scale <= to->scale);
	if (to->root == TYPE_DOUBLE || to->root == TYPE_FLOAT)
		return type_is_integer(from) || from->root == TYPE_FLOAT || from->root == to->root;
	return type_is_integer(from) && type_is_integer(to) && from->physical <= to->physical;
}

/* A number as one of another type, at least as wide. */
static Expression *
widen(Expression *expression, const DataType *type)
{
	Expression *wide;

	if (expression == NULL || !can_widen(expression->type, type))
		return NULL;
	if (expression->type->physical == type->physical &&
		(type->root != TYPE_DECIMAL || (expression->type->root == TYPE_DECIMAL && expression->type->scale == type->scale)))
		return expression;
	wide = make_expression(EXPRESSION_WIDEN, type, 1);
	wide->arguments[0] = expression;
	return wide;
}

/* ---- arithmetic ---- */

typedef struct KnownOperator
{
	Oid			function;
	ArithmeticOperator op;
} KnownOperator;

#define FOUR_OPERATORS(types) \
	{F_##types##PL, ARITHMETIC_ADD}, \
	{F_##types##MI, ARITHMETIC_SUBTRACT}, \
	{F_##types##MUL, ARITHMETIC_MULTIPLY}, \
	{F_##types##DIV, ARITHMETIC_DIVIDE}

static const KnownOperator known_operators[] = {
	FOUR_OPERATORS(INT2), FOUR_OPERATORS(INT4), FOUR_OPERATORS(INT8),
	FOUR_OPERATORS(INT24), FOUR_OPERATORS(INT42), FOUR_OPERATORS(INT28),
	FOUR_OPERATORS(INT82), FOUR_OPERATORS(INT48), FOUR_OPERATORS(INT84),
	FOUR_OPERATORS(FLOAT4), FOUR_OPERATORS(FLOAT8), FOUR_OPERATORS(FLOAT48), FOUR_OPERATORS(FLOAT84),
	{F_INT2MOD, ARITHMETIC_REMAINDER}, {F_INT4MOD, ARITHMETIC_REMAINDER}, {F_INT8MOD, ARITHMETIC_REMAINDER},
	{F_NUMERIC_ADD, ARITHMETIC_ADD}, {F_NUMERIC_SUB, ARITHMETIC_SUBTRACT}, {F_NUMERIC_MUL, ARITHMETIC_MULTIPLY}
};

static bool
find_operator(Oid function, ArithmeticOperator *op)
{
	int			i;

	for (i = 0; i < lengthof(known_operators); i++)
	{
		if (known_operators[i].function == function)
		{
			*op = known_operators[i].op;
			return true;
		}
	}
	return false;
}

/*
 * Arithmetic on decimals is that on integers when no result can have too many
 * digits; the scale is the one that numeric shows.
 */
static Expression *
decimal_arithmetic(ArithmeticOperator op, Expression *left, Expression *right)
{
	const DataType *a = left->type;
	const DataType *b = right->type;
	bool		product = op == ARITHMETIC_MULTIPLY;
	int			scale = product ? a->scale + b->scale : Max(a->scale, b->scale);
	int			precision = product ? a->precision + b->precision :
		Max(a->precision - a->scale, b->precision - b->scale) + scale + 1;
	Expression *expression;

	if (a->root != TYPE_DECIMAL || b->root != TYPE_DECIMAL || precision > TYPE_MAX_DECIMAL_PRECISION)
		return NULL;
	expression = make_expression(EXPRESSION_ARITHMETIC, type_make(TYPE_DECIMAL, precision, scale, true), 2);
	expression->op = op;
	expression->arguments[0] = widen(left, type_make(TYPE_DECIMAL, precision, product ? a->scale : scale, true));
	expression->arguments[1] = widen(right, type_make(TYPE_DECIMAL, precision, product ? b->scale : scale, true));
	return expression;
}

static Expression *
analyze_arithmetic(const OpExpr *expr, const QualTarget *target)
{
	const DataType *type = number_type(expr->opresulttype);
	ArithmeticOperator op;
	Expression *left;
	Expression *right;
	Expression *expression;

	if (!find_operator(expr->opfuncid, &op))
		return NULL;
	left = compute_analyze(linitial(expr->args), target);
	right = compute_analyze(lsecond(expr->args), target);
	if (left == NULL || right == NULL)
		return NULL;
	if (type == NULL)
		return decimal_arithmetic(op, left, right);
	expression = make_expression(EXPRESSION_ARITHMETIC, type, 2);
	expression->op = op;
	expression->arguments[0] = widen(left, type);
	expression->arguments[1] = widen(right, type);
	return expression->arguments[0] != NULL && expression->arguments[1] != NULL ? expression : NULL;
}

bool
compute_analyze_condition(Expr *clause, const QualTarget *target, Predicate **out)
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
	const DataType *type = number_type(typid);
	int			i;

	for (i = 0; i < expression->narguments; i++)
	{
		if (expression->arguments[i] == NULL)
			return false;
		if (type != NULL)
			expression->arguments[i] = widen(expression->arguments[i], type);
		if (expression->arguments[i] == NULL ||
			!compute_is_same_in_sql(expression->arguments[i]->type) ||
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

		if (!compute_analyze_condition(when->expr, target, &expression->conditions[i]))
			return NULL;
		expression->arguments[i] = compute_analyze(when->result, target);
	}
	expression->arguments[nconditions] = compute_analyze(expr->defresult, target);
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
		Expression *argument = compute_analyze(list_nth(expr->args, i), target);

		expression->arguments[i] = argument;
		if (argument == NULL || (i < nconditions && argument->kind != EXPRESSION_COLUMN))
			return NULL;
		if (i < nconditions)
			expression->conditions[i] = predicate_leaf(PREDICATE_IS_NOT_NULL, argument->column, argument->type,
													   NULL, 0);
	}
	return unite_arguments(expression, expr->coalescetype) ? expression : NULL;
}

/* Numeric of an integer has the digits that the integer's type may have. */
static const DataType *
cast_type(const FuncExpr *expr)
{
	switch (expr->funcid)
	{
		case F_NUMERIC_INT2:
			return type_make(TYPE_DECIMAL, 5, 0, true);
		case F_NUMERIC_INT4:
			return type_make(TYPE_DECIMAL, 10, 0, true);
		case F_NUMERIC_INT8:
			return type_make(TYPE_DECIMAL, 19, 0, true);
		case F_INT4_INT2:
		case F_INT8_INT2:
		case F_INT8_INT4:
		case F_FLOAT4_INT2:
		case F_FLOAT4_INT4:
		case F_FLOAT4_INT8:
		case F_FLOAT8_INT2:
		case F_FLOAT8_INT4:
		case F_FLOAT8_INT8:
		case F_FLOAT8_FLOAT4:
			return number_type(expr->funcresulttype);
		default:
			return NULL;
	}
}

static Expression *
analyze_cast(const FuncExpr *expr, const QualTarget *target)
{
	const DataType *type = cast_type(expr);

	return type != NULL ? widen(compute_analyze(linitial(expr->args), target), type) : NULL;
}

/* What is computed by loops over vectors; NULL: something else has to do it. */
static Expression *
analyze_vectors(Expr *node, const QualTarget *target)
{
	switch (nodeTag(node))
	{
		case T_Var:
			return analyze_column((Var *) node, target);
		case T_Const:
			return analyze_constant((Const *) node);
		case T_RelabelType:
			return compute_analyze(((RelabelType *) node)->arg, target);
		case T_OpExpr:
			return analyze_arithmetic((OpExpr *) node, target);
		case T_FuncExpr:
			return analyze_cast((FuncExpr *) node, target);
		case T_CaseExpr:
			return analyze_case((CaseExpr *) node, target);
		case T_CoalesceExpr:
			return analyze_coalesce((CoalesceExpr *) node, target);
		default:
			return NULL;
	}
}

/* ---- what the server computes ---- */

/* Are all timestamps that come out finite, as those of columns are? */
static bool
is_finite_time(const Expr *node)
{
	const FuncExpr *call = (const FuncExpr *) node;

	if (IsA(node, Var))
		return true;
	if (!IsA(call, FuncExpr))
		return false;
	switch (call->funcid)
	{
		case F_DATE_TRUNC_TEXT_TIMESTAMP:
		case F_DATE_TRUNC_TEXT_TIMESTAMPTZ:
			return is_finite_time(lsecond(call->args));
		case F_DATE_TIMESTAMP:
		case F_DATE_TIMESTAMPTZ:
		case F_TIMESTAMP_DATE:
		case F_TIMESTAMPTZ_DATE:
		case F_TIMESTAMP_TIMESTAMPTZ:
		case F_TIMESTAMPTZ_TIMESTAMP:
			return is_finite_time(linitial(call->args));
		default:
			return false;
	}
}

/* Of numeric results, one whose scale is always the same. */
static const DataType *
numeric_call_type(const FuncExpr *call)
{
	int			scale;

	if (!IsA(call, FuncExpr))
		return NULL;
	switch (call->funcid)
	{
		case F_EXTRACT_TEXT_DATE:
		case F_EXTRACT_TEXT_TIME:
		case F_EXTRACT_TEXT_TIMESTAMP:
		case F_EXTRACT_TEXT_TIMESTAMPTZ:
			scale = time_extract_scale(linitial(call->args), call->funcid == F_EXTRACT_TEXT_DATE);
			return scale >= 0 && is_finite_time(lsecond(call->args)) ?
				type_make(TYPE_DECIMAL, EXTRACT_PRECISION, scale, true) : NULL;
		default:
			return NULL;
	}
}

/* What an expression reads; no_call: it does what cannot be done inside the scan. */
typedef struct CallColumns
{
	const QualTarget *target;
	List	   *columns;		/* Var * */
	bool		no_call;
} CallColumns;

static bool
columns_walker(Node *node, void *context)
{
	CallColumns *found = context;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Var:
			found->no_call |= analyze_column((Var *) node, found->target) == NULL;
			found->columns = list_append_unique(found->columns, node);
			return found->no_call;
		case T_Aggref:
		case T_GroupingFunc:
		case T_WindowFunc:
		case T_PlaceHolderVar:
		case T_SubLink:
		case T_SubPlan:
		case T_AlternativeSubPlan:
		case T_CurrentOfExpr:
			found->no_call = true;
			return true;
		default:
			return expression_tree_walker(node, columns_walker, context);
	}
}

/* An expression for the server; one without columns is left to others. */
static Expression *
analyze_call(Expr *node, const QualTarget *target)
{
	const DataType *type = exprType((Node *) node) == NUMERICOID ? numeric_call_type((FuncExpr *) node) :
		server_call_type(node);
	CallColumns found = {.target = target};
	const DataType **types;
	int		   *inputs;
	int			i;

	if (type == NULL || expression_returns_set((Node *) node) || contain_volatile_functions((Node *) node) ||
		columns_walker((Node *) node, &found) || found.columns == NIL)
		return NULL;
	inputs = palloc(list_length(found.columns) * sizeof(int));
	types = palloc(list_length(found.columns) * sizeof(DataType *));
	for (i = 0; i < list_length(found.columns); i++)
	{
		Expression *column = analyze_column(list_nth(found.columns, i), target);

		inputs[i] = column->column;
		types[i] = column->type;
	}
	return server_call_make(node, type, found.columns, inputs, types);
}

Expression *
compute_analyze(Expr *node, const QualTarget *target)
{
	Expression *expression;

	check_stack_depth();
	expression = analyze_vectors(node, target);
	return expression != NULL ? expression : analyze_call(node, target);
}

bool
compute_is_equal_by_bytes(Expr *node)
{
	Oid			collation = exprCollation((Node *) node);

	return !OidIsValid(collation) || get_collation_isdeterministic(collation);
}

Expression *
compute_analyze_key(Expr *node, const QualTarget *target)
{
	Expression *expression = compute_analyze(node, target);

	if (expression == NULL || !compute_is_same_in_sql(expression->type) || !compute_is_equal_by_bytes(node))
		return NULL;
	return expression;
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

/* Whether the server has to compute a part of it. */
static bool
has_call(const Expression *expression)
{
	int			i;

	for (i = 0; i < expression->narguments; i++)
	{
		if (has_call(expression->arguments[i]))
			return true;
	}
	return expression->kind == EXPRESSION_CALL;
}

/* Dates and times that the server computes look like integers, and in no units that others have. */
bool
compute_unite_keys(Expression **left, Expression **right)
{
	if (has_call(*left) || has_call(*right))
		return false;
	if (type_is_integer((*left)->type) && type_is_integer((*right)->type))
	{
		const DataType *wide = (*left)->type->physical > (*right)->type->physical ? (*left)->type : (*right)->type;

		*left = widen(*left, wide);
		*right = widen(*right, wide);
		return true;
	}
	return has_same_units((*left)->type, (*right)->type);
}

void
compute_fields(const Expression *expression, bool *used)
{
	int			i;

	if (expression->kind == EXPRESSION_COLUMN)
		used[expression->column] = true;
	for (i = 0; expression->kind == EXPRESSION_CALL && i < expression->ninputs; i++)
		used[expression->inputs[i]] = true;
	for (i = 0; i < expression->narguments; i++)
		compute_fields(expression->arguments[i], used);
	for (i = 0; expression->kind == EXPRESSION_CASE && i < expression->narguments - 1; i++)
		predicate_columns(expression->conditions[i], used);
}

void
compute_prepare(Expression *expression, const char *table, EState *estate)
{
	int			i;

	if (expression->kind == EXPRESSION_CALL)
		server_call_prepare(expression, table, estate);
	for (i = 0; i < expression->narguments; i++)
		compute_prepare(expression->arguments[i], table, estate);
}
