/*
 * numeric.c
 *		The lake's decimals (scaled integers) and the server's numeric.
 *
 * A numeric on disk is a header and base-10000 digits, the most significant
 * first, without zeros at either end.  The header is of two bytes (sign,
 * display scale, weight of the first digit) where these are small, else of
 * four.  A decimal of 38 digits needs 11 digits at most, and always the short
 * header.
 */
#include "postgres.h"

#include "columnar/decimal.h"
#include "compat.h"
#include "fdw/numeric.h"

/* numeric's header, as numeric.c has it */
#define NUMERIC_SIGN_MASK			0xC000
#define NUMERIC_NEGATIVE			0x4000
#define NUMERIC_SHORT				0x8000
#define NUMERIC_SPECIAL				0xC000
#define NUMERIC_SPECIAL_MASK		0xF000
#define NUMERIC_PLUS_INFINITY		0xD000
#define NUMERIC_MINUS_INFINITY		0xF000
#define NUMERIC_SHORT_NEGATIVE		0x2000
#define NUMERIC_SHORT_SCALE_SHIFT	7
#define NUMERIC_SHORT_WEIGHT_SIGN	0x0040
#define NUMERIC_SHORT_WEIGHT_MASK	0x003F

#define DIGIT_BASE 10000
#define DIGIT_POWER 4			/* decimal digits of one */
#define MAX_POWER 38
#define MAX_DIGITS 12

#define TEN_TO_16 UINT64CONST(10000000000000000)

static const int16 powers[] = {1, 10, 100, 1000, 10000};

/* Digits from the least significant on, the last first, at the end of an array with room for all. */
typedef struct DigitStack
{
	int16		digits[MAX_DIGITS];
	int			first;			/* of those in use */
} DigitStack;

static inline void
push_digit(DigitStack *stack, int16 digit)
{
	stack->digits[--stack->first] = digit;
}

/* Divisions by constants are multiplications. */
static inline uint64
push_last_digit(DigitStack *stack, uint64 value, int pad)
{
#define PUSH_LAST(unused) \
	do { \
		push_digit(stack, (int16) (value % (DIGIT_BASE / (unused)) * (unused))); \
		return value / (DIGIT_BASE / (unused)); \
	} while (0)
	switch (pad)
	{
		case 0:
			PUSH_LAST(1);
		case 1:
			PUSH_LAST(10);
		case 2:
			PUSH_LAST(100);
		default:
			PUSH_LAST(1000);
	}
#undef PUSH_LAST
}

static inline void
push_all(DigitStack *stack, uint64 value)
{
	for (; value > 0; value /= DIGIT_BASE)
		push_digit(stack, (int16) (value % DIGIT_BASE));
}

/* Values of more than 64 bits: divisions of 128 bits are slow, so there is one for each four digits. */
static uint64
push_wide(DigitStack *stack, uint128 value)
{
	while (value > PG_UINT64_MAX)
	{
		uint64		part = (uint64) (value % TEN_TO_16);
		int			i;

		value /= TEN_TO_16;
		for (i = 0; i < 4; i++)
		{
			push_digit(stack, (int16) (part % DIGIT_BASE));
			part /= DIGIT_BASE;
		}
	}
	return (uint64) value;
}

/* Decimal digits of the last one that lie beyond the scale. */
static inline int
unused_digits(int scale)
{
	return -scale & (DIGIT_POWER - 1);
}

static inline void
write_numeric(const DigitStack *stack, bool negative, int scale, char *out)
{
	int			ndigits = MAX_DIGITS - stack->first;
	int			weight = ndigits - 1 - (scale + DIGIT_POWER - 1) / DIGIT_POWER;
	uint16		header = NUMERIC_SHORT | (scale << NUMERIC_SHORT_SCALE_SHIFT);

	while (ndigits > 0 && stack->digits[stack->first + ndigits - 1] == 0)
		ndigits--;
	if (ndigits > 0)
	{
		if (negative)
			header |= NUMERIC_SHORT_NEGATIVE;
		if (weight < 0)
			header |= NUMERIC_SHORT_WEIGHT_SIGN;
		header |= weight & NUMERIC_SHORT_WEIGHT_MASK;
	}
	SET_VARSIZE(out, VARHDRSZ + sizeof(uint16) + ndigits * sizeof(int16));
	out += VARHDRSZ;
	memcpy(out, &header, sizeof(header));
	out += sizeof(header);
	for (int i = 0; i < ndigits; i++)
		memcpy(out + i * sizeof(int16), &stack->digits[stack->first + i], sizeof(int16));
}

void
decimal64_to_numeric(int64 unscaled, int scale, char *out)
{
	DigitStack	stack;

	stack.first = MAX_DIGITS;
	push_all(&stack, push_last_digit(&stack, unscaled < 0 ? -(uint64) unscaled : (uint64) unscaled,
									 unused_digits(scale)));
	write_numeric(&stack, unscaled < 0, scale, out);
}

void
decimal_to_numeric(int128 unscaled, int scale, char *out)
{
	bool		negative = unscaled < 0;
	uint128		value = negative ? -(uint128) unscaled : (uint128) unscaled;
	int			pad = unused_digits(scale);
	DigitStack	stack;

	if (value <= PG_INT64_MAX)
	{
		decimal64_to_numeric((int64) unscaled, scale, out);
		return;
	}
	stack.first = MAX_DIGITS;
	if (pad > 0)
	{
		int			used = powers[DIGIT_POWER - pad];

		push_digit(&stack, (int16) (value % used) * powers[pad]);
		value /= used;
	}
	push_all(&stack, push_wide(&stack, value));
	write_numeric(&stack, negative, scale, out);
}

/* What a numeric's bytes say, before any arithmetic. */
typedef struct NumericParts
{
	DecimalPlace place;			/* DECIMAL_FINITE, or what it is instead */
	bool		negative;
	int			weight;
	int			ndigits;
	const char *digits;			/* int16, maybe unaligned */
} NumericParts;

static NumericParts
numeric_parts(const struct varlena *numeric)
{
	const char *data = VARDATA_ANY(numeric);
	Size		length = VARSIZE_ANY_EXHDR(numeric);
	Size		header_size = sizeof(uint16);
	NumericParts parts = {.place = DECIMAL_FINITE};
	uint16		header;

	memcpy(&header, data, sizeof(header));
	if ((header & NUMERIC_SIGN_MASK) == NUMERIC_SPECIAL)
	{
		header &= NUMERIC_SPECIAL_MASK;
		parts.place = header == NUMERIC_PLUS_INFINITY ? DECIMAL_PLUS_INFINITY :
			header == NUMERIC_MINUS_INFINITY ? DECIMAL_MINUS_INFINITY : DECIMAL_NAN;
		return parts;
	}
	if (header & NUMERIC_SHORT)
	{
		parts.negative = (header & NUMERIC_SHORT_NEGATIVE) != 0;
		parts.weight = header & NUMERIC_SHORT_WEIGHT_MASK;
		if (header & NUMERIC_SHORT_WEIGHT_SIGN)
			parts.weight |= ~NUMERIC_SHORT_WEIGHT_MASK;
	}
	else
	{
		int16		weight;

		memcpy(&weight, data + sizeof(header), sizeof(weight));
		header_size += sizeof(weight);
		parts.negative = (header & NUMERIC_SIGN_MASK) == NUMERIC_NEGATIVE;
		parts.weight = weight;
	}
	parts.ndigits = (length - header_size) / sizeof(int16);
	parts.digits = data + header_size;
	return parts;
}

/* A magnitude that is being put together. */
typedef struct Accumulator
{
	uint128		value;
	bool		overflow;
	bool		inexact;
	bool		half;			/* what was cut off is a half or more */
} Accumulator;

/* value * 10^power + add, where 10^38 is too much. */
static inline void
accumulate(Accumulator *acc, int power, int add)
{
	if (acc->value == 0)
		acc->value = add;
	else if (power > MAX_POWER || acc->value >= (uint128) decimal_power_of_ten(MAX_POWER - power))
		acc->overflow = true;
	else
		acc->value = acc->value * (uint128) decimal_power_of_ten(power) + add;
}

/* Take a digit that stands for digit * 10^exponent. */
static inline void
accumulate_digit(Accumulator *acc, int digit, int exponent)
{
	if (exponent >= 0)
		accumulate(acc, DIGIT_POWER, digit);
	else if (exponent > -DIGIT_POWER)
	{
		int			unit = powers[-exponent];
		int			cut = digit % unit;

		accumulate(acc, DIGIT_POWER + exponent, digit / unit);
		acc->inexact |= cut != 0;
		acc->half = cut * 2 >= unit;
	}
	else
	{
		acc->inexact |= digit != 0;
		if (exponent == -DIGIT_POWER)
			acc->half = digit * 2 >= DIGIT_BASE;
	}
}

static Accumulator
accumulate_parts(const NumericParts *parts, int scale)
{
	Accumulator acc = {0};
	int			exponent = 0;
	int			i;

	for (i = 0; i < parts->ndigits && !acc.overflow; i++)
	{
		int16		digit;

		memcpy(&digit, parts->digits + i * sizeof(digit), sizeof(digit));
		exponent = (parts->weight - i) * DIGIT_POWER + scale;
		accumulate_digit(&acc, digit, exponent);
	}
	/* zeros at the end are not stored */
	if (exponent > 0 && acc.value != 0 && !acc.overflow)
		accumulate(&acc, exponent, 0);
	return acc;
}

DecimalValue
decimal_from_numeric(const struct varlena *numeric, int scale)
{
	NumericParts parts = numeric_parts(numeric);
	DecimalValue result = {.place = parts.place};
	Accumulator acc;

	if (parts.place != DECIMAL_FINITE)
		return result;

	acc = accumulate_parts(&parts, scale);
	if (acc.overflow)
	{
		result.place = parts.negative ? DECIMAL_BELOW : DECIMAL_ABOVE;
		return result;
	}
	result.exact = !acc.inexact;
	result.floor = (int128) acc.value;
	result.rounded = (int128) acc.value + (acc.half ? 1 : 0);
	if (parts.negative)
	{
		result.floor = -result.floor - (acc.inexact ? 1 : 0);
		result.rounded = -result.rounded;
	}
	return result;
}
