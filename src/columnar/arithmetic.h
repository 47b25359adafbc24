/*
 * arithmetic.h
 *		Numbers of two vectors combined, as the server's operators do.
 */
#ifndef STREAMHOUSE_ARITHMETIC_H
#define STREAMHOUSE_ARITHMETIC_H

#include "columnar/vector.h"

typedef enum ArithmeticOperator
{
	ARITHMETIC_ADD,
	ARITHMETIC_SUBTRACT,
	ARITHMETIC_MULTIPLY,
	ARITHMETIC_DIVIDE,			/* not decimals */
	ARITHMETIC_REMAINDER		/* integers */
} ArithmeticOperator;

/*
 * For the selected rows (NULL: the first nrows), all three of one physical
 * type.  ERROR, the server's own, for what is out of range and divisions by
 * zero in rows that are not null.
 */
extern void arithmetic_compute(ArithmeticOperator op, const Vector *a, const Vector *b, const int32 *rows, int nrows,
							   Vector *result);

/* An integer, decimal or float as a wider one, or as one of a finer scale. */
extern void arithmetic_widen(const Vector *argument, const int32 *rows, int nrows, Vector *result);

#endif							/* STREAMHOUSE_ARITHMETIC_H */
