/*
 * compare.c
 *		The order of values.
 */
#include "postgres.h"

#include "columnar/compare.h"

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* Both not null. */
int
scalar_compare_values(PhysicalType physical, const Scalar *a, const Scalar *b)
{
	switch (physical)
	{
		case PHYSICAL_INT8:
			return COMPARE(a->v.i8, b->v.i8);
		case PHYSICAL_INT16:
			return COMPARE(a->v.i16, b->v.i16);
		case PHYSICAL_INT32:
			return COMPARE(a->v.i32, b->v.i32);
		case PHYSICAL_INT64:
			return COMPARE(a->v.i64, b->v.i64);
		case PHYSICAL_INT128:
			return COMPARE(a->v.i128, b->v.i128);
		case PHYSICAL_FLOAT:
			return double_compare(a->v.f32, b->v.f32);
		case PHYSICAL_DOUBLE:
			return double_compare(a->v.f64, b->v.f64);
		case PHYSICAL_BYTES:
			return bytes_compare(a->v.bytes, b->v.bytes);
		case PHYSICAL_LIST:
		case PHYSICAL_ROW:
			break;
	}
	elog(ERROR, "values of physical type %d have no order", (int) physical);
}

/* NULL below everything. */
int
scalar_compare(PhysicalType physical, const Scalar *a, const Scalar *b)
{
	if (a->isnull || b->isnull)
		return (int) b->isnull - (int) a->isnull;
	return scalar_compare_values(physical, a, b);
}

/* Row i of a with row j of b; both flat and of one physical type. */
int
vector_compare(const Vector *a, int i, const Vector *b, int j)
{
	bool		null_a = a->has_nulls && a->nulls[i];
	bool		null_b = b->has_nulls && b->nulls[j];

	Assert(a->codes == NULL && b->codes == NULL);
	Assert(a->type->physical == b->type->physical);

	if (null_a || null_b)
		return (int) null_b - (int) null_a;
	switch (a->type->physical)
	{
		case PHYSICAL_INT8:
			return COMPARE(a->values.i8[i], b->values.i8[j]);
		case PHYSICAL_INT16:
			return COMPARE(a->values.i16[i], b->values.i16[j]);
		case PHYSICAL_INT32:
			return COMPARE(a->values.i32[i], b->values.i32[j]);
		case PHYSICAL_INT64:
			return COMPARE(a->values.i64[i], b->values.i64[j]);
		case PHYSICAL_INT128:
			return COMPARE(a->values.i128[i], b->values.i128[j]);
		case PHYSICAL_FLOAT:
			return double_compare(a->values.f32[i], b->values.f32[j]);
		case PHYSICAL_DOUBLE:
			return double_compare(a->values.f64[i], b->values.f64[j]);
		case PHYSICAL_BYTES:
			return bytes_compare(a->values.bytes[i], b->values.bytes[j]);
		case PHYSICAL_LIST:
		case PHYSICAL_ROW:
			break;
	}
	elog(ERROR, "values of physical type %d have no order", (int) a->type->physical);
}

bool
scalar_is_nan(PhysicalType physical, const Scalar *value)
{
	if (value->isnull)
		return false;
	return (physical == PHYSICAL_FLOAT && isnan(value->v.f32)) ||
		(physical == PHYSICAL_DOUBLE && isnan(value->v.f64));
}
