/*
 * expression.c
 *		Values computed from the columns of a batch.
 */
#include "postgres.h"

#include "columnar/expression.h"
#include "common/int.h"

void
expression_prepare(Expression *expression)
{
	for (int i = 0; i < expression->narguments; i++)
		expression_prepare(expression->arguments[i]);
	if (expression->kind == EXPRESSION_COLUMN)
		return;
	expression->result = vector_create(expression->type, BATCH_ROWS);
	if (expression->kind == EXPRESSION_CONSTANT)
		vector_set_constant(expression->result, &expression->constant, BATCH_ROWS);
	if (expression->kind == EXPRESSION_CASE)
	{
		expression->open = (int32 *) palloc(BATCH_ROWS * sizeof(int32));
		expression->matching = (int32 *) palloc(BATCH_ROWS * sizeof(int32));
	}
}

/* The loop over rows that are selected. */
#define FOR_EACH_ROW(row) \
	for (int32 i_ = 0, row; i_ < nrows && ((row = rows != NULL ? rows[i_] : i_), true); i_++)

/* A row is null where an argument is. */
static void
unite_nulls(Vector *result, const Vector *a, const Vector *b, const int32 *rows, int nrows)
{
	vector_reset(result);
	result->has_nulls = a->has_nulls || b->has_nulls;
	if (!result->has_nulls)
		return;
	FOR_EACH_ROW(row)
		result->nulls[row] = (a->has_nulls && a->nulls[row]) || (b->has_nulls && b->nulls[row]);
}

/* ---- arithmetic ---- */

static pg_noinline void
out_of_range(const DataType *type)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 type->physical == PHYSICAL_INT64 ? errmsg("bigint out of range") : errmsg("integer out of range")));
}

/* What overflows in a null row does not count: its values are undefined. */
#define COMPUTE(member, operation) \
	FOR_EACH_ROW(row) \
	{ \
		if (operation(a->values.member[row], b->values.member[row], &result->values.member[row]) && \
			(!result->has_nulls || !result->nulls[row])) \
			out_of_range(result->type); \
	}

static void
compute_integers(ExpressionKind kind, const Vector *a, const Vector *b, const int32 *rows, int nrows,
				 Vector *result)
{
	unite_nulls(result, a, b, rows, nrows);
	if (result->type->physical == PHYSICAL_INT64)
	{
		if (kind == EXPRESSION_ADD)
			COMPUTE(i64, pg_add_s64_overflow)
		else if (kind == EXPRESSION_SUBTRACT)
			COMPUTE(i64, pg_sub_s64_overflow)
		else
			COMPUTE(i64, pg_mul_s64_overflow)
	}
	else
	{
		Assert(result->type->physical == PHYSICAL_INT32);
		if (kind == EXPRESSION_ADD)
			COMPUTE(i32, pg_add_s32_overflow)
		else if (kind == EXPRESSION_SUBTRACT)
			COMPUTE(i32, pg_sub_s32_overflow)
		else
			COMPUTE(i32, pg_mul_s32_overflow)
	}
}

#define WIDEN_TO(target, source) \
	FOR_EACH_ROW(row) \
		result->values.target[row] = argument->values.source[row]

#define WIDEN_FROM(source) \
	if (result->type->physical == PHYSICAL_INT64) \
		WIDEN_TO(i64, source); \
	else if (result->type->physical == PHYSICAL_INT32) \
		WIDEN_TO(i32, source); \
	else \
		WIDEN_TO(i16, source)

static void
widen(const Vector *argument, const int32 *rows, int nrows, Vector *result)
{
	unite_nulls(result, argument, argument, rows, nrows);
	switch (argument->type->physical)
	{
		case PHYSICAL_INT8:
			WIDEN_FROM(i8);
			break;
		case PHYSICAL_INT16:
			WIDEN_FROM(i16);
			break;
		case PHYSICAL_INT32:
			WIDEN_TO(i64, i32);
			break;
		default:
			elog(ERROR, "values of physical type %d cannot be widened", (int) argument->type->physical);
	}
}

/* ---- CASE ---- */

#define COPY(member) \
	FOR_EACH_ROW(row) \
		result->values.member[row] = source->values.member[row]; \
	break

/* Some rows of another vector, to the same places. */
static void
copy_rows(Vector *result, const Vector *source, const int32 *rows, int nrows)
{
	FOR_EACH_ROW(row)
		result->nulls[row] = source->has_nulls && source->nulls[row];
	switch (result->type->physical)
	{
		case PHYSICAL_INT8:
			COPY(i8);
		case PHYSICAL_INT16:
			COPY(i16);
		case PHYSICAL_INT32:
			COPY(i32);
		case PHYSICAL_INT64:
			COPY(i64);
		case PHYSICAL_INT128:
			COPY(i128);
		case PHYSICAL_FLOAT:
			COPY(f32);
		case PHYSICAL_DOUBLE:
			COPY(f64);
		case PHYSICAL_BYTES:
			if (source->codes == NULL)
				COPY(bytes);
			FOR_EACH_ROW(row)
			{
				if (!result->nulls[row])
					result->values.bytes[row] = source->dictionary[source->codes[row]];
			}
			break;
		default:
			elog(ERROR, "values of physical type %d cannot be chosen", (int) result->type->physical);
	}
}

/* Take the matching rows, which are among the open ones in the same order, out of those; how many are left. */
static int
remove_matching(int32 *open, int nopen, const int32 *matching, int nmatching)
{
	int			kept = 0;
	int			next = 0;

	for (int i = 0; i < nopen; i++)
	{
		if (next < nmatching && open[i] == matching[next])
			next++;
		else
			open[kept++] = open[i];
	}
	return kept;
}

static void
choose(const Expression *expression, Vector *const *columns, const int32 *rows, int nrows)
{
	Vector	   *result = expression->result;
	int			nopen = nrows;
	int			last = expression->narguments - 1;
	int			next = 0;

	vector_reset(result);
	result->has_nulls = true;
	FOR_EACH_ROW(row)
		expression->open[next++] = row;
	for (int i = 0; i <= last && nopen > 0; i++)
	{
		const int32 *chosen = expression->open;
		int			nchosen = nopen;

		if (i < last)
		{
			memcpy(expression->matching, expression->open, nopen * sizeof(int32));
			nchosen = predicate_filter(expression->conditions[i], columns, expression->matching, nopen);
			chosen = expression->matching;
			nopen = remove_matching(expression->open, nopen, chosen, nchosen);
		}
		if (nchosen > 0)
			copy_rows(result, expression_evaluate(expression->arguments[i], columns, chosen, nchosen),
					  chosen, nchosen);
	}
}

const Vector *
expression_evaluate(const Expression *expression, Vector *const *columns, const int32 *rows, int nrows)
{
	switch (expression->kind)
	{
		case EXPRESSION_COLUMN:
			return columns[expression->column];
		case EXPRESSION_CONSTANT:
			break;
		case EXPRESSION_ADD:
		case EXPRESSION_SUBTRACT:
		case EXPRESSION_MULTIPLY:
			compute_integers(expression->kind,
							 expression_evaluate(expression->arguments[0], columns, rows, nrows),
							 expression_evaluate(expression->arguments[1], columns, rows, nrows),
							 rows, nrows, expression->result);
			break;
		case EXPRESSION_WIDEN:
			widen(expression_evaluate(expression->arguments[0], columns, rows, nrows), rows, nrows,
				  expression->result);
			break;
		case EXPRESSION_CASE:
			choose(expression, columns, rows, nrows);
			break;
	}
	return expression->result;
}
