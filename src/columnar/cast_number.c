/*
 * cast_number.c
 *		Casts between numbers, as Java's.
 *
 * Integers that do not fit lose their upper bits.  Floats lose their
 * fraction, and become the nearest number of an int or long if they do not
 * fit; to a byte or short they go by way of an int.  Decimals are rounded half
 * away from zero, and NULL if they have too many digits.
 */
#include "postgres.h"

#include <math.h>

#include "columnar/cast_value.h"
#include "columnar/decimal.h"
#include "columnar/value_text.h"

/* ---- integers and floats ---- */

static inline int32
real_to_int32(double value)
{
	if (isnan(value))
		return 0;
	if (value >= 2147483648.0)
		return PG_INT32_MAX;
	if (value <= -2147483648.0)
		return PG_INT32_MIN;
	return (int32) value;
}

static inline int64
real_to_int64(double value)
{
	if (isnan(value))
		return 0;
	if (value >= 9223372036854775808.0)
		return PG_INT64_MAX;
	if (value <= -9223372036854775808.0)
		return PG_INT64_MIN;
	return (int64) value;
}

#define KEEP_I8(value) ((int8) (value))
#define KEEP_I16(value) ((int16) (value))
#define KEEP_I32(value) ((int32) (value))
#define KEEP_I64(value) ((int64) (value))
#define TO_F32(value) ((float) (value))
#define TO_F64(value) ((double) (value))
#define REAL_TO_I8(value) ((int8) real_to_int32(value))
#define REAL_TO_I16(value) ((int16) real_to_int32(value))

/* Null rows are cast as well: whatever their value is, the result is only another. */
#define DEFINE_LOOP(from, to, convert) \
static void \
loop_##from##_##to(const Vector *source, const int32 *selection, int nselected, Vector *target) \
{ \
	if (selection == NULL) \
	{ \
		for (int i = 0; i < nselected; i++) \
			target->values.to[i] = convert(source->values.from[i]); \
	} \
	else \
	{ \
		for (int i = 0; i < nselected; i++) \
			target->values.to[selection[i]] = convert(source->values.from[selection[i]]); \
	} \
}

#define DEFINE_INTEGER_LOOPS(from) \
DEFINE_LOOP(from, i8, KEEP_I8) \
DEFINE_LOOP(from, i16, KEEP_I16) \
DEFINE_LOOP(from, i32, KEEP_I32) \
DEFINE_LOOP(from, i64, KEEP_I64) \
DEFINE_LOOP(from, f32, TO_F32) \
DEFINE_LOOP(from, f64, TO_F64)

#define DEFINE_REAL_LOOPS(from) \
DEFINE_LOOP(from, i8, REAL_TO_I8) \
DEFINE_LOOP(from, i16, REAL_TO_I16) \
DEFINE_LOOP(from, i32, real_to_int32) \
DEFINE_LOOP(from, i64, real_to_int64) \
DEFINE_LOOP(from, f32, TO_F32) \
DEFINE_LOOP(from, f64, TO_F64)

DEFINE_INTEGER_LOOPS(i8)
DEFINE_INTEGER_LOOPS(i16)
DEFINE_INTEGER_LOOPS(i32)
DEFINE_INTEGER_LOOPS(i64)
DEFINE_REAL_LOOPS(f32)
DEFINE_REAL_LOOPS(f64)

#define LOOPS_FROM(from) \
	{ \
		[PHYSICAL_INT8] = loop_##from##_i8, \
		[PHYSICAL_INT16] = loop_##from##_i16, \
		[PHYSICAL_INT32] = loop_##from##_i32, \
		[PHYSICAL_INT64] = loop_##from##_i64, \
		[PHYSICAL_FLOAT] = loop_##from##_f32, \
		[PHYSICAL_DOUBLE] = loop_##from##_f64 \
	}

static const CastLoop loops[PHYSICAL_DOUBLE + 1][PHYSICAL_DOUBLE + 1] = {
	[PHYSICAL_INT8] = LOOPS_FROM(i8),
	[PHYSICAL_INT16] = LOOPS_FROM(i16),
	[PHYSICAL_INT32] = LOOPS_FROM(i32),
	[PHYSICAL_INT64] = LOOPS_FROM(i64),
	[PHYSICAL_FLOAT] = LOOPS_FROM(f32),
	[PHYSICAL_DOUBLE] = LOOPS_FROM(f64),
};

CastLoop
cast_number_loop(PhysicalType from, PhysicalType to)
{
	return from <= PHYSICAL_DOUBLE && to <= PHYSICAL_DOUBLE ? loops[from][to] : NULL;
}

/* ---- single integers ---- */

void
cast_set_integer(const DataType *type, Scalar *value, int64 integer)
{
	switch (type->physical)
	{
		case PHYSICAL_INT8:
			value->v.i8 = (int8) integer;
			break;
		case PHYSICAL_INT16:
			value->v.i16 = (int16) integer;
			break;
		case PHYSICAL_INT32:
			value->v.i32 = (int32) integer;
			break;
		default:
			value->v.i64 = integer;
			break;
	}
}

CastResult
cast_integer_to_boolean(CastState *state, const Scalar *in, Scalar *out)
{
	out->v.i8 = scalar_integer(state->from->physical, in) != 0;
	return CAST_DONE;
}

/* ---- decimals ---- */

int128
cast_get_decimal(const DataType *type, const Scalar *value)
{
	return type->physical == PHYSICAL_INT128 ? value->v.i128 : value->v.i64;
}

/* A value of another scale. */
CastResult
cast_set_decimal(const DataType *type, Scalar *value, int128 unscaled, int scale)
{
	if (!decimal_rescale(unscaled, scale, type->scale, type->precision, &unscaled))
		return CAST_NULL;
	if (type->physical == PHYSICAL_INT128)
		value->v.i128 = unscaled;
	else
		value->v.i64 = (int64) unscaled;
	return CAST_DONE;
}

CastResult
cast_integer_to_decimal(CastState *state, const Scalar *in, Scalar *out)
{
	return cast_set_decimal(state->to, out, scalar_integer(state->from->physical, in), 0);
}

/* By way of the text: the number that is printed is the one that is rounded. */
CastResult
cast_real_to_decimal(CastState *state, const Scalar *in, Scalar *out)
{
	double		value = state->from->physical == PHYSICAL_FLOAT ? in->v.f32 : in->v.f64;

	resetStringInfo(&state->text);
	double_to_text(&state->text, value);
	return cast_decimal_from_text(state->to, state->text.data, state->text.len, out);
}

CastResult
cast_decimal_to_decimal(CastState *state, const Scalar *in, Scalar *out)
{
	return cast_set_decimal(state->to, out, cast_get_decimal(state->from, in), state->from->scale);
}

/* Of more than 64 bits the lower ones. */
CastResult
cast_decimal_to_integer(CastState *state, const Scalar *in, Scalar *out)
{
	int128		whole = cast_get_decimal(state->from, in) / decimal_power_of_ten(state->from->scale);

	cast_set_integer(state->to, out, (int64) whole);
	return CAST_DONE;
}

/* Small decimals by division, others to the nearest double; floats are rounded from that. */
CastResult
cast_decimal_to_real(CastState *state, const Scalar *in, Scalar *out)
{
	double		value;

	if (state->from->physical == PHYSICAL_INT64)
		value = (double) in->v.i64 / (double) decimal_power_of_ten(state->from->scale);
	else
	{
		resetStringInfo(&state->text);
		decimal_to_text(&state->text, in->v.i128, state->from->scale);
		value = strtod(state->text.data, NULL);
	}
	if (state->to->physical == PHYSICAL_FLOAT)
		out->v.f32 = (float) value;
	else
		out->v.f64 = value;
	return CAST_DONE;
}
