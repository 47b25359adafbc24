/*
 * arithmetic.c
 *		Numbers of two vectors combined, as the server's operators do.
 */
#include "postgres.h"

#include <math.h>

#include "columnar/arithmetic.h"
#include "columnar/decimal.h"
#include "common/int.h"

/* Why a row has no result. */
typedef enum Outcome
{
	FINE,
	OUT_OF_RANGE,
	UNDERFLOW,
	ZERO_DIVISOR
} Outcome;

/* The loop over rows that are selected. */
#define FOR_EACH_ROW(row) \
	for (int32 i_ = 0, row; i_ < nrows && ((row = rows != NULL ? rows[i_] : i_), true); i_++)

/* A row is null where an argument is. */
static void
unite_nulls(Vector *result, const Vector *a, const Vector *b, const int32 *rows, int nrows)
{
	vector_reset(result);
	result->has_nulls = a->has_nulls || b->has_nulls;
	if (!result->has_nulls)
		return;
	FOR_EACH_ROW(row)
		result->nulls[row] = (a->has_nulls && a->nulls[row]) || (b->has_nulls && b->nulls[row]);
}

static const char *
type_name(const DataType *type)
{
	switch (type->root)
	{
		case TYPE_SMALLINT:
			return "smallint";
		case TYPE_INT:
			return "integer";
		case TYPE_BIGINT:
			return "bigint";
		default:
			return "value";
	}
}

static pg_noinline void
fail(Outcome outcome, const DataType *type)
{
	if (outcome == ZERO_DIVISOR)
		ereport(ERROR,
				(errcode(ERRCODE_DIVISION_BY_ZERO),
				 errmsg("division by zero")));
	if (type->physical == PHYSICAL_FLOAT || type->physical == PHYSICAL_DOUBLE)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("value out of range: %s", outcome == UNDERFLOW ? "underflow" : "overflow")));
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("%s out of range", type_name(type))));
}

/* ---- integers ---- */

#define DEFINE_INTEGER(name, c_type, suffix, minimum) \
static inline Outcome \
add_##name(c_type a, c_type b, c_type *result) \
{ \
	return pg_add_##suffix##_overflow(a, b, result) ? OUT_OF_RANGE : FINE; \
} \
static inline Outcome \
subtract_##name(c_type a, c_type b, c_type *result) \
{ \
	return pg_sub_##suffix##_overflow(a, b, result) ? OUT_OF_RANGE : FINE; \
} \
static inline Outcome \
multiply_##name(c_type a, c_type b, c_type *result) \
{ \
	return pg_mul_##suffix##_overflow(a, b, result) ? OUT_OF_RANGE : FINE; \
} \
static inline Outcome \
divide_##name(c_type a, c_type b, c_type *result) \
{ \
	if (b == 0) \
		return ZERO_DIVISOR; \
	if (b == -1 && a == minimum) \
		return OUT_OF_RANGE; \
	*result = a / b; \
	return FINE; \
} \
static inline Outcome \
remainder_##name(c_type a, c_type b, c_type *result) \
{ \
	if (b == 0) \
		return ZERO_DIVISOR; \
	*result = b == -1 ? 0 : a % b; \
	return FINE; \
}

DEFINE_INTEGER(i16, int16, s16, PG_INT16_MIN)
DEFINE_INTEGER(i32, int32, s32, PG_INT32_MIN)
DEFINE_INTEGER(i64, int64, s64, PG_INT64_MIN)

/* ---- decimals of 128 bits ---- */

static inline Outcome
add_i128(int128 a, int128 b, int128 *result)
{
	return __builtin_add_overflow(a, b, result) ? OUT_OF_RANGE : FINE;
}

static inline Outcome
subtract_i128(int128 a, int128 b, int128 *result)
{
	return __builtin_sub_overflow(a, b, result) ? OUT_OF_RANGE : FINE;
}

static inline Outcome
multiply_i128(int128 a, int128 b, int128 *result)
{
	return __builtin_mul_overflow(a, b, result) ? OUT_OF_RANGE : FINE;
}

/* ---- floats ---- */

#define DEFINE_FLOAT(name, c_type) \
static inline Outcome \
add_##name(c_type a, c_type b, c_type *result) \
{ \
	*result = a + b; \
	return unlikely(isinf(*result)) && !isinf(a) && !isinf(b) ? OUT_OF_RANGE : FINE; \
} \
static inline Outcome \
subtract_##name(c_type a, c_type b, c_type *result) \
{ \
	*result = a - b; \
	return unlikely(isinf(*result)) && !isinf(a) && !isinf(b) ? OUT_OF_RANGE : FINE; \
} \
static inline Outcome \
multiply_##name(c_type a, c_type b, c_type *result) \
{ \
	*result = a * b; \
	if (unlikely(isinf(*result)) && !isinf(a) && !isinf(b)) \
		return OUT_OF_RANGE; \
	return unlikely(*result == 0) && a != 0 && b != 0 ? UNDERFLOW : FINE; \
} \
static inline Outcome \
divide_##name(c_type a, c_type b, c_type *result) \
{ \
	if (unlikely(b == 0) && !isnan(a)) \
		return ZERO_DIVISOR; \
	*result = a / b; \
	if (unlikely(isinf(*result)) && !isinf(a)) \
		return OUT_OF_RANGE; \
	return unlikely(*result == 0) && a != 0 && !isinf(b) ? UNDERFLOW : FINE; \
}

DEFINE_FLOAT(f32, float)
DEFINE_FLOAT(f64, double)

/* ---- loops ---- */

/* What fails in a null row does not count: its values are undefined. */
#define COMPUTE(operation, member) \
	FOR_EACH_ROW(row) \
	{ \
		Outcome		outcome = operation##_##member(a->values.member[row], b->values.member[row], \
												   &result->values.member[row]); \
		if (unlikely(outcome != FINE) && (!result->has_nulls || !result->nulls[row])) \
			fail(outcome, result->type); \
	} \
	break

#define COMPUTE_MEMBER(member) \
	switch (op) \
	{ \
		case ARITHMETIC_ADD: \
			COMPUTE(add, member); \
		case ARITHMETIC_SUBTRACT: \
			COMPUTE(subtract, member); \
		case ARITHMETIC_MULTIPLY: \
			COMPUTE(multiply, member); \
		MORE_OPERATIONS(member) \
	}

static pg_noinline void
cannot_compute(ArithmeticOperator op, const DataType *type)
{
	elog(ERROR, "operator %d cannot be computed of physical type %d", (int) op, (int) type->physical);
}

#define MORE_OPERATIONS(member) \
		case ARITHMETIC_DIVIDE: \
			COMPUTE(divide, member); \
		case ARITHMETIC_REMAINDER: \
			COMPUTE(remainder, member);

static void
compute_integers(ArithmeticOperator op, const Vector *a, const Vector *b, const int32 *rows, int nrows,
				 Vector *result)
{
	if (result->type->physical == PHYSICAL_INT16)
		COMPUTE_MEMBER(i16)
	else if (result->type->physical == PHYSICAL_INT32)
		COMPUTE_MEMBER(i32)
	else
		COMPUTE_MEMBER(i64)
}

#undef MORE_OPERATIONS
#define MORE_OPERATIONS(member) \
		case ARITHMETIC_DIVIDE: \
			COMPUTE(divide, member); \
		default: \
			cannot_compute(op, result->type);

static void
compute_floats(ArithmeticOperator op, const Vector *a, const Vector *b, const int32 *rows, int nrows, Vector *result)
{
	if (result->type->physical == PHYSICAL_FLOAT)
		COMPUTE_MEMBER(f32)
	else
		COMPUTE_MEMBER(f64)
}

#undef MORE_OPERATIONS
#define MORE_OPERATIONS(member) \
		default: \
			cannot_compute(op, result->type);

static void
compute_decimals(ArithmeticOperator op, const Vector *a, const Vector *b, const int32 *rows, int nrows,
				 Vector *result)
{
	COMPUTE_MEMBER(i128)
}

void
arithmetic_compute(ArithmeticOperator op, const Vector *a, const Vector *b, const int32 *rows, int nrows,
				   Vector *result)
{
	unite_nulls(result, a, b, rows, nrows);
	switch (result->type->physical)
	{
		case PHYSICAL_INT16:
		case PHYSICAL_INT32:
		case PHYSICAL_INT64:
			compute_integers(op, a, b, rows, nrows, result);
			break;
		case PHYSICAL_INT128:
			compute_decimals(op, a, b, rows, nrows, result);
			break;
		case PHYSICAL_FLOAT:
		case PHYSICAL_DOUBLE:
			compute_floats(op, a, b, rows, nrows, result);
			break;
		default:
			cannot_compute(op, result->type);
	}
}

/* ---- wider numbers ---- */

#define WIDEN_TO(target, source, factor) \
	FOR_EACH_ROW(row) \
		result->values.target[row] = argument->values.source[row] * (factor)

/* Undefined values of null rows may overflow; nothing comes of it (the build has -fwrapv). */
#define WIDEN_FROM(source) \
	switch (result->type->physical) \
	{ \
		case PHYSICAL_INT16: \
			WIDEN_TO(i16, source, 1); \
			break; \
		case PHYSICAL_INT32: \
			WIDEN_TO(i32, source, 1); \
			break; \
		case PHYSICAL_INT64: \
			WIDEN_TO(i64, source, (int64) factor); \
			break; \
		case PHYSICAL_INT128: \
			WIDEN_TO(i128, source, factor); \
			break; \
		case PHYSICAL_FLOAT: \
			WIDEN_TO(f32, source, 1); \
			break; \
		default: \
			WIDEN_TO(f64, source, 1); \
			break; \
	} \
	break

void
arithmetic_widen(const Vector *argument, const int32 *rows, int nrows, Vector *result)
{
	int			scale = argument->type->root == TYPE_DECIMAL ? argument->type->scale : 0;
	int128		factor = result->type->root == TYPE_DECIMAL ? decimal_power_of_ten(result->type->scale - scale) : 1;

	unite_nulls(result, argument, argument, rows, nrows);
	switch (argument->type->physical)
	{
		case PHYSICAL_INT8:
			WIDEN_FROM(i8);
		case PHYSICAL_INT16:
			WIDEN_FROM(i16);
		case PHYSICAL_INT32:
			WIDEN_FROM(i32);
		case PHYSICAL_INT64:
			WIDEN_FROM(i64);
		case PHYSICAL_INT128:
			WIDEN_FROM(i128);
		case PHYSICAL_FLOAT:
			WIDEN_TO(f64, f32, 1);
			break;
		default:
			elog(ERROR, "values of physical type %d cannot be widened", (int) argument->type->physical);
	}
}
