/*
 * prefix.h
 *		Numbers that stand for values in their order.
 *
 * Of two values, the one with the smaller prefix comes first.  Where prefixes
 * are equal the values must be looked at, unless prefixes are exact.
 */
#ifndef STREAMHOUSE_PREFIX_H
#define STREAMHOUSE_PREFIX_H

#include "columnar/vector.h"

/* Does the prefix of a value say all of it? */
static inline bool
prefix_is_exact(PhysicalType physical)
{
	return physical != PHYSICAL_INT128 && physical != PHYSICAL_BYTES;
}

/* Prefixes of the values of rows, which are not null, of a flat vector.  ERROR for types without an order. */
extern void vector_prefixes(const Vector *vector, const int32 *rows, int nrows, uint64 *prefixes);

#endif							/* STREAMHOUSE_PREFIX_H */
