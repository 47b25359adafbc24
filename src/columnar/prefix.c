/*
 * prefix.c
 *		Numbers that stand for values in their order.
 *
 * For integers it is the value, for strings their first eight bytes.
 */
#include "postgres.h"

#include <math.h>

#include "columnar/prefix.h"
#include "port/pg_bswap.h"

#define SIGN_BIT UINT64CONST(0x8000000000000000)

/* NaN above all, the zeros equal. */
static uint64
double_prefix(double value)
{
	uint64		bits;

	if (isnan(value))
		return PG_UINT64_MAX;
	if (value == 0)
		value = 0;				/* -0 */
	memcpy(&bits, &value, sizeof(bits));
	return (bits & SIGN_BIT) ? ~bits : bits | SIGN_BIT;
}

/* The first eight bytes; a shorter value orders before those that it begins, or ties. */
static uint64
bytes_prefix(BytesView value)
{
	uint64		bits = 0;

	if (value.length >= sizeof(bits))
	{
		memcpy(&bits, value.data, sizeof(bits));
		return pg_ntoh64(bits);
	}
	/* a call to copy so few bytes takes longer */
	for (uint32 i = 0; i < value.length; i++)
		bits |= (uint64) (uint8) value.data[i] << (56 - 8 * i);
	return bits;
}

void
vector_prefixes(const Vector *vector, const int32 *rows, int nrows, uint64 *prefixes)
{
#define PREFIXES(expression) \
	for (int i = 0; i < nrows; i++) \
		prefixes[i] = (expression)
	switch (vector->type->physical)
	{
		case PHYSICAL_INT8:
			PREFIXES((uint64) (int64) vector->values.i8[rows[i]] ^ SIGN_BIT);
			break;
		case PHYSICAL_INT16:
			PREFIXES((uint64) (int64) vector->values.i16[rows[i]] ^ SIGN_BIT);
			break;
		case PHYSICAL_INT32:
			PREFIXES((uint64) (int64) vector->values.i32[rows[i]] ^ SIGN_BIT);
			break;
		case PHYSICAL_INT64:
			PREFIXES((uint64) vector->values.i64[rows[i]] ^ SIGN_BIT);
			break;
		case PHYSICAL_INT128:
			PREFIXES((uint64) (int64) (vector->values.i128[rows[i]] >> 64) ^ SIGN_BIT);
			break;
		case PHYSICAL_FLOAT:
			PREFIXES(double_prefix(vector->values.f32[rows[i]]));
			break;
		case PHYSICAL_DOUBLE:
			PREFIXES(double_prefix(vector->values.f64[rows[i]]));
			break;
		case PHYSICAL_BYTES:
			PREFIXES(bytes_prefix(vector->values.bytes[rows[i]]));
			break;
		case PHYSICAL_LIST:
		case PHYSICAL_ROW:
			elog(ERROR, "values of type %s have no order", type_to_text(vector->type));
	}
#undef PREFIXES
}
