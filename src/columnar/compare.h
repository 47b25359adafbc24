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
#include "port/pg_bswap.h"

/* PostgreSQL's order of floats; a float widens exactly. */
static inline int
double_compare(double a, double b)
{
	if (unlikely(isnan(a) || isnan(b)))
		return (int) (isnan(a) != 0) - (int) (isnan(b) != 0);
	return (a > b) - (a < b);
}

/*
 * Unsigned bytes, a prefix below what it begins.  Most strings differ early:
 * eight bytes at once, as a big-endian number, decide without a call.
 */
static inline int
bytes_compare(BytesView a, BytesView b)
{
	uint32		common = Min(a.length, b.length);
	int			result;

	if (common >= sizeof(uint64))
	{
		uint64		head_a;
		uint64		head_b;

		memcpy(&head_a, a.data, sizeof(uint64));
		memcpy(&head_b, b.data, sizeof(uint64));
		if (head_a != head_b)
			return pg_ntoh64(head_a) < pg_ntoh64(head_b) ? -1 : 1;
	}
	result = common > 0 ? memcmp(a.data, b.data, common) : 0;
	return result != 0 ? result : (a.length > b.length) - (a.length < b.length);
}

static inline bool
bytes_equal(BytesView a, BytesView b)
{
	return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

/* <0, 0, >0; both not null. */
extern int	scalar_compare_values(PhysicalType physical, const Scalar *a, const Scalar *b);

/* The same with NULL below everything. */
extern int	scalar_compare(PhysicalType physical, const Scalar *a, const Scalar *b);

/* Compare row i of a with row j of b; both vectors flat and of one physical type. */
extern int	vector_compare(const Vector *a, int i, const Vector *b, int j);

extern bool scalar_is_nan(PhysicalType physical, const Scalar *value);

#endif							/* STREAMHOUSE_COMPARE_H */
