/*
 * cast_time.c
 *		Casts between dates, times, timestamps and numbers of seconds.
 *
 * Java's timestamps count milliseconds and, beyond them, nanoseconds; its
 * rules are about these.  With the time zone UTC a timestamp with local time
 * zone is the same count.
 */
#include "postgres.h"

#include "columnar/cast_value.h"

#define NANOS_PER_MILLI 1000000

/* Quotient and remainder, which is not negative. */
static inline int64
divide_down(int64 value, int64 divisor, int64 *rest)
{
	int64		quotient = value / divisor;

	*rest = value % divisor;
	if (*rest < 0)
	{
		*rest += divisor;
		quotient--;
	}
	return quotient;
}

/* False when the milliseconds do not fit, as only damaged files can have it. */
static bool
get_timestamp(const DataType *type, const Scalar *value, int64 *millis, int32 *nanos)
{
	int64		rest;
	int128		quotient;

	if (type->physical == PHYSICAL_INT128)
	{
		quotient = value->v.i128 / NANOS_PER_MILLI;
		*nanos = (int32) (value->v.i128 % NANOS_PER_MILLI);
		if (*nanos < 0)
		{
			*nanos += NANOS_PER_MILLI;
			quotient--;
		}
		*millis = (int64) quotient;
		return quotient == *millis;
	}
	if (type->precision <= MILLIS_PRECISION)
	{
		*millis = value->v.i64;
		*nanos = 0;
		return true;
	}
	*millis = divide_down(value->v.i64, 1000, &rest);
	*nanos = (int32) rest * 1000;
	return true;
}

/* Finer parts than the type holds are lost; false when it is too far away for the type. */
bool
cast_set_timestamp(const DataType *type, Scalar *value, int64 millis, int32 nanos)
{
	if (type->physical == PHYSICAL_INT128)
	{
		value->v.i128 = (int128) millis * NANOS_PER_MILLI + nanos;
		return true;
	}
	if (type->precision <= MILLIS_PRECISION)
	{
		value->v.i64 = millis;
		return true;
	}
	return !__builtin_mul_overflow(millis, 1000, &value->v.i64) &&
		!__builtin_add_overflow(value->v.i64, nanos / 1000, &value->v.i64);
}

static CastResult
set_timestamp(CastState *state, Scalar *out, int64 millis, int32 nanos)
{
	return cast_set_timestamp(state->to, out, millis, nanos) ? CAST_DONE : CAST_FAILED;
}

/* The number is of seconds; those beyond Java's range wrap around. */
CastResult
cast_integer_to_timestamp(CastState *state, const Scalar *in, Scalar *out)
{
	uint64		seconds = (uint64) scalar_integer(state->from->physical, in);

	return set_timestamp(state, out, (int64) (seconds * 1000), 0);
}

CastResult
cast_date_to_timestamp(CastState *state, const Scalar *in, Scalar *out)
{
	return set_timestamp(state, out, in->v.i32 * MILLIS_PER_DAY, 0);
}

CastResult
cast_time_to_timestamp(CastState *state, const Scalar *in, Scalar *out)
{
	return set_timestamp(state, out, in->v.i32, 0);
}

static int32
power_of_ten(int exponent)
{
	int32		power = 1;

	while (exponent-- > 0)
		power *= 10;
	return power;
}

/*
 * Cut to the digits of a precision.  Java leaves alone what it takes for short
 * enough: nanoseconds of the second that have not more digits, written without
 * zeros in front.  Of milliseconds the digits are cut towards 1970.
 */
static void
truncate_timestamp(int precision, int64 *millis, int32 *nanos)
{
	int64		millis_of_second;
	int32		unit;

	(void) divide_down(*millis, 1000, &millis_of_second);
	if (precision > 0 && millis_of_second * NANOS_PER_MILLI + *nanos < power_of_ten(precision))
		return;
	if (precision <= MILLIS_PRECISION)
	{
		unit = power_of_ten(MILLIS_PRECISION - precision);
		*millis = *millis / unit * unit;
		*nanos = 0;
	}
	else
	{
		unit = power_of_ten(9 - precision);
		*nanos = *nanos / unit * unit;
	}
}

CastResult
cast_timestamp_to_timestamp(CastState *state, const Scalar *in, Scalar *out)
{
	int64		millis;
	int32		nanos;

	if (!get_timestamp(state->from, in, &millis, &nanos))
		return CAST_FAILED;
	if (state->to->precision < state->from->precision)
		truncate_timestamp(state->to->precision, &millis, &nanos);
	return set_timestamp(state, out, millis, nanos);
}

/* Seconds, cut towards 1970. */
CastResult
cast_timestamp_to_integer(CastState *state, const Scalar *in, Scalar *out)
{
	int64		millis;
	int32		nanos;

	if (!get_timestamp(state->from, in, &millis, &nanos))
		return CAST_FAILED;
	cast_set_integer(state->to, out, millis / 1000);
	return CAST_DONE;
}

/* Without a time zone, Java cuts towards 1970: before, a day is one too late. */
CastResult
cast_timestamp_to_date(CastState *state, const Scalar *in, Scalar *out)
{
	int64		millis;
	int64		rest;
	int32		nanos;

	if (!get_timestamp(state->from, in, &millis, &nanos))
		return CAST_FAILED;
	if (state->from->root == TYPE_TIMESTAMP)
		out->v.i32 = (int32) (millis / MILLIS_PER_DAY);
	else
		out->v.i32 = (int32) divide_down(millis, MILLIS_PER_DAY, &rest);
	return CAST_DONE;
}

/* Java 1.4 makes times before midnight of those before 1970, which are none; later releases do this. */
CastResult
cast_timestamp_to_time(CastState *state, const Scalar *in, Scalar *out)
{
	int64		millis;
	int64		rest;
	int32		nanos;

	if (!get_timestamp(state->from, in, &millis, &nanos))
		return CAST_FAILED;
	(void) divide_down(millis, MILLIS_PER_DAY, &rest);
	out->v.i32 = (int32) rest;
	return CAST_DONE;
}
