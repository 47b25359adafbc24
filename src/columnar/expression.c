/*
 * expression.c
 *		Values computed from the columns of a batch.
 */
#include "postgres.h"

#include "columnar/arithmetic.h"
#include "columnar/expression.h"

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
	if (expression->kind == EXPRESSION_CALL)
		expression->memo = memo_create(expression->function, expression->type);
	if (expression->kind == EXPRESSION_CASE)
	{
		expression->open = (int32 *) palloc(BATCH_ROWS * sizeof(int32));
		expression->matching = (int32 *) palloc(BATCH_ROWS * sizeof(int32));
	}
}

/* The loop over rows that are selected. */
#define FOR_EACH_ROW(row) \
	for (int32 i_ = 0, row; i_ < nrows && ((row = rows != NULL ? rows[i_] : i_), true); i_++)

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
		case EXPRESSION_ARITHMETIC:
			arithmetic_compute(expression->op,
							   expression_evaluate(expression->arguments[0], columns, rows, nrows),
							   expression_evaluate(expression->arguments[1], columns, rows, nrows),
							   rows, nrows, expression->result);
			break;
		case EXPRESSION_WIDEN:
			arithmetic_widen(expression_evaluate(expression->arguments[0], columns, rows, nrows), rows, nrows,
							 expression->result);
			break;
		case EXPRESSION_CALL:
			memo_evaluate(expression->memo, columns, rows, nrows, expression->result);
			break;
		case EXPRESSION_CASE:
			choose(expression, columns, rows, nrows);
			break;
	}
	return expression->result;
}
