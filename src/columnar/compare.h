/*
 * compare.h
 *		The order of values: keys, statistics and predicates use this one.
 *
 * Bytes and strings compare as unsigned bytes, booleans false < true,
 * numbers by value, floats as PostgreSQL does (NaN equal to itself and above
 * everything, -0 equal to 0).  NULL is the smallest (format digest 6.7).
 */
#ifndef STREAMHOUSE_COMPARE_H
#define STREAMHOUSE_COMPARE_H

#include <math.h>

#include "columnar/vector.h"

/* PostgreSQL's order of floats; a float widens exactly. */
static inline int
double_compare(double a, double b)
{
	if (unlikely(isnan(a) || isnan(b)))
		return (int) (isnan(a) != 0) - (int) (isnan(b) != 0);
	return (a > b) - (a < b);
}

/* <0, 0, >0; both not null. */
extern int	bytes_compare(BytesView a, BytesView b);
extern int	scalar_compare_values(PhysicalType physical, const Scalar *a, const Scalar *b);

/* The same with NULL below everything. */
extern int	scalar_compare(PhysicalType physical, const Scalar *a, const Scalar *b);

/* Compare row i of a with row j of b; both vectors flat and of one physical type. */
extern int	vector_compare(const Vector *a, int i, const Vector *b, int j);

extern bool scalar_is_nan(PhysicalType physical, const Scalar *value);

#endif							/* STREAMHOUSE_COMPARE_H */
