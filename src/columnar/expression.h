/*
 * expression.h
 *		Values computed from the columns of a batch.
 *
 * An expression is evaluated for some rows only, and so are its parts: what
 * CASE excludes is not computed, and cannot fail.
 */
#ifndef STREAMHOUSE_EXPRESSION_H
#define STREAMHOUSE_EXPRESSION_H

#include "columnar/arithmetic.h"
#include "columnar/memo.h"
#include "columnar/predicate.h"

typedef enum ExpressionKind
{
	EXPRESSION_COLUMN,
	EXPRESSION_CONSTANT,
	EXPRESSION_ARITHMETIC,		/* of two of the result's physical type */
	EXPRESSION_WIDEN,			/* a number as one of a wider type, or finer scale */
	EXPRESSION_CASE,			/* the argument of the first condition that is true, else the last one */
	EXPRESSION_CALL				/* of a function that others compute */
} ExpressionKind;

typedef struct Expression
{
	ExpressionKind kind;
	const DataType *type;		/* of the result */
	int			column;			/* of EXPRESSION_COLUMN */
	Scalar		constant;
	ArithmeticOperator op;		/* of EXPRESSION_ARITHMETIC */
	MemoFunction *function;		/* of EXPRESSION_CALL, over ninputs columns */
	int			ninputs;
	const int  *inputs;
	int			narguments;
	struct Expression **arguments;
	Predicate **conditions;		/* of EXPRESSION_CASE: one less than arguments */
	/* made by expression_prepare */
	Vector	   *result;
	int32	   *open;			/* of EXPRESSION_CASE: rows */
	int32	   *matching;
	Memo	   *memo;			/* of EXPRESSION_CALL */
} Expression;

/* Make room for results, in CurrentMemoryContext. */
extern void expression_prepare(Expression *expression);

/*
 * Values for the selected rows (ascending; NULL: the first nrows), at their
 * places in a vector that is valid until the next call or the batch's end.
 * columns is indexed by Expression.column, and by the predicates' columns.
 * ERROR for results out of range.
 */
extern const Vector *expression_evaluate(const Expression *expression, Vector *const *columns, const int32 *rows,
										 int nrows);

#endif							/* STREAMHOUSE_EXPRESSION_H */
