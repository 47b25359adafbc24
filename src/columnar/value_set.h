/*
 * value_set.h
 *		Sets of many values: which rows of a vector have one of them?
 *
 * Integers and strings are hashed; for other values, and for few, there is no
 * set, and whoever asks searches a sorted array.
 */
#ifndef STREAMHOUSE_VALUE_SET_H
#define STREAMHOUSE_VALUE_SET_H

#include "columnar/vector.h"

typedef struct ValueSet ValueSet;

/*
 * A set of values that are not null and distinct, in CurrentMemoryContext;
 * what strings point to is not copied.  NULL: a set would not pay.
 */
extern ValueSet *value_set_create(PhysicalType physical, const Scalar *values, int nvalues);

/*
 * Keep of the rows, in place, those whose value is in the set (wanted), or
 * those whose value is not; null rows never stay.  The vector is plain.
 */
extern int	value_set_filter(const ValueSet *set, bool wanted, const Vector *vector, int32 *rows, int nrows);

#endif							/* STREAMHOUSE_VALUE_SET_H */
