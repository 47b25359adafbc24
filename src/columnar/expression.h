/*
 * expression.h
 *		Values computed from the columns of a batch.
 *
 * An expression is evaluated for some rows only, and so are its parts: what
 * CASE excludes is not computed, and cannot fail.
 */
#ifndef STREAMHOUSE_EXPRESSION_H
#define STREAMHOUSE_EXPRESSION_H

#include "columnar/predicate.h"

typedef enum ExpressionKind
{
	EXPRESSION_COLUMN,
	EXPRESSION_CONSTANT,
	EXPRESSION_ADD,				/* of two of the expression's own type: INT, BIGINT */
	EXPRESSION_SUBTRACT,
	EXPRESSION_MULTIPLY,
	EXPRESSION_WIDEN,			/* an integer as a wider one */
	EXPRESSION_CASE				/* the argument of the first condition that is true, else the last one */
} ExpressionKind;

typedef struct Expression
{
	ExpressionKind kind;
	const DataType *type;		/* of the result */
	int			column;			/* of EXPRESSION_COLUMN */
	Scalar		constant;
	int			narguments;
	struct Expression **arguments;
	Predicate **conditions;		/* of EXPRESSION_CASE: one less than arguments */
	/* made by expression_prepare */
	Vector	   *result;
	int32	   *open;			/* of EXPRESSION_CASE: rows */
	int32	   *matching;
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
