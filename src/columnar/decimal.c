/*
 * decimal.c
 *		Decimals as scaled 128-bit integers.
 */
#include "postgres.h"

#include "columnar/decimal.h"
#include "columnar/type.h"

#define POWERS_IN_INT64 19

/* 10 to the exponent, 0 .. 38, which just fits. */
int128
decimal_power_of_ten(int exponent)
{
	static const int64 powers[POWERS_IN_INT64] = {
		1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000,
		INT64CONST(10000000000), INT64CONST(100000000000), INT64CONST(1000000000000),
		INT64CONST(10000000000000), INT64CONST(100000000000000), INT64CONST(1000000000000000),
		INT64CONST(10000000000000000), INT64CONST(100000000000000000), INT64CONST(1000000000000000000)
	};
	int128		power = 1;

	Assert(exponent >= 0 && exponent <= TYPE_MAX_DECIMAL_PRECISION);
	while (exponent >= POWERS_IN_INT64)
	{
		power *= powers[POWERS_IN_INT64 - 1];
		exponent -= POWERS_IN_INT64 - 1;
	}
	return power * powers[exponent];
}

/* Has the unscaled value at most that many digits? */
bool
decimal_fits(int128 unscaled, int precision)
{
	int128		limit = decimal_power_of_ten(precision);

	return unscaled < limit && unscaled > -limit;
}

/* All digits of the scale, never an exponent. */
void
decimal_to_text(StringInfo out, int128 unscaled, int scale)
{
	char		digits[48];
	char	   *end = digits + sizeof(digits);
	char	   *start = end;
	uint128		rest = unscaled < 0 ? -(uint128) unscaled : (uint128) unscaled;
	int			written = 0;

	/* from the last digit, at least one before the point */
	while (rest != 0 || written <= scale)
	{
		if (written == scale && scale > 0)
			*--start = '.';
		*--start = '0' + (char) (rest % 10);
		rest /= 10;
		written++;
	}
	if (unscaled < 0)
		*--start = '-';
	appendBinaryStringInfo(out, start, end - start);
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * Take digits up to the end or the first other character.  Of those beyond
 * limit (when it is not negative) only the first counts: it is left in *next.
 * A value of too many digits becomes one that fits no precision.
 */
static const char *
take_digits(const char *at, const char *end, int limit, int128 *value, int *taken, int *next)
{
	*next = 0;
	for (*taken = 0; at < end && is_digit(*at); at++, (*taken)++)
	{
		if (limit >= 0 && *taken >= limit)
		{
			if (*taken == limit)
				*next = *at - '0';
		}
		else if (*value < decimal_power_of_ten(TYPE_MAX_DECIMAL_PRECISION - 1))
			*value = *value * 10 + (*at - '0');
		else
			*value = decimal_power_of_ten(TYPE_MAX_DECIMAL_PRECISION);
	}
	return at;
}

/* Parse "[+-]digits[.digits]". */
bool
decimal_from_text(const char *text, size_t length, int precision, int scale, int128 *unscaled)
{
	const char *at = text;
	const char *end = text + length;
	bool		negative;
	int128		value = 0;
	int			whole;
	int			fraction = 0;
	int			next = 0;

	negative = at < end && *at == '-';
	if (at < end && (*at == '-' || *at == '+'))
		at++;
	at = take_digits(at, end, -1, &value, &whole, &next);
	if (at < end && *at == '.')
		at = take_digits(at + 1, end, scale, &value, &fraction, &next);
	if (at < end || whole + fraction == 0)
		return false;

	if (!decimal_fits(value, TYPE_MAX_DECIMAL_PRECISION))
		return false;
	if (fraction < scale &&
		!decimal_rescale(value, fraction, scale, TYPE_MAX_DECIMAL_PRECISION, &value))
		return false;
	if (next >= 5)
		value++;
	*unscaled = negative ? -value : value;
	return decimal_fits(value, precision);
}

/* Change the scale, rounding half away from zero. */
bool
decimal_rescale(int128 unscaled, int from_scale, int to_scale, int precision, int128 *result)
{
	if (to_scale >= from_scale)
	{
		if (__builtin_mul_overflow(unscaled, decimal_power_of_ten(to_scale - from_scale), result))
			return false;
	}
	else
	{
		int128		divisor = decimal_power_of_ten(from_scale - to_scale);
		int128		rest = unscaled % divisor;

		*result = unscaled / divisor;
		if (rest > 0 && rest >= divisor - rest)
			(*result)++;
		else if (rest < 0 && -rest >= divisor + rest)
			(*result)--;
	}
	return decimal_fits(*result, precision);
}
