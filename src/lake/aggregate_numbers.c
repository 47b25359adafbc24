/*
 * aggregate_numbers.c
 *		Aggregate functions that calculate: sum and product.
 *
 * Integers wrap around, as in Java.  Decimals keep their precision and scale,
 * rounded half away from zero, and become NULL where they do not fit; only a
 * sum of those that are 64-bit integers in memory may have too many digits.
 */
#include "postgres.h"

#include "common/int.h"
#include "columnar/decimal.h"
#include "lake/aggregator.h"

static bool
accepts_numbers(const DataType *type)
{
	switch (type->root)
	{
		case TYPE_TINYINT:
		case TYPE_SMALLINT:
		case TYPE_INT:
		case TYPE_BIGINT:
		case TYPE_FLOAT:
		case TYPE_DOUBLE:
		case TYPE_DECIMAL:
			return true;
		default:
			return false;
	}
}

static int128
get_decimal(const DataType *type, const Scalar *value)
{
	return type->physical == PHYSICAL_INT64 ? value->v.i64 : value->v.i128;
}

/* NULL if it does not fit. */
static void
set_decimal(const DataType *type, Scalar *value, int128 unscaled)
{
	value->isnull = !decimal_fits(unscaled, type->precision);
	if (type->physical == PHYSICAL_INT64)
		value->v.i64 = (int64) unscaled;
	else
		value->v.i128 = unscaled;
}

static void
add_decimal(const DataType *type, Scalar *accumulator, int128 input)
{
	int128		sum = get_decimal(type, accumulator) + input;

	if (type->physical == PHYSICAL_INT64 && sum >= PG_INT64_MIN && sum <= PG_INT64_MAX)
		accumulator->v.i64 = (int64) sum;
	else
		set_decimal(type, accumulator, sum);
}

/* accumulator = accumulator operator input, of types that calculate in C as in Java */
#define CALCULATE(physical, accumulator, operator, input) \
	switch (physical) \
	{ \
		case PHYSICAL_INT8: \
			(accumulator)->v.i8 = (int8) ((accumulator)->v.i8 operator (input)->v.i8); \
			break; \
		case PHYSICAL_INT16: \
			(accumulator)->v.i16 = (int16) ((accumulator)->v.i16 operator (input)->v.i16); \
			break; \
		case PHYSICAL_INT32: \
			(accumulator)->v.i32 = (int32) ((uint32) (accumulator)->v.i32 operator (uint32) (input)->v.i32); \
			break; \
		case PHYSICAL_INT64: \
			(accumulator)->v.i64 = (int64) ((uint64) (accumulator)->v.i64 operator (uint64) (input)->v.i64); \
			break; \
		case PHYSICAL_FLOAT: \
			(accumulator)->v.f32 = (accumulator)->v.f32 operator (input)->v.f32; \
			break; \
		case PHYSICAL_DOUBLE: \
			(accumulator)->v.f64 = (accumulator)->v.f64 operator (input)->v.f64; \
			break; \
		default: \
			elog(ERROR, "physical type %d is no number", (int) (physical)); \
	}

static void
add_sum(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	const DataType *type = aggregator->field->type;

	if (accumulator->isnull)
		*accumulator = *input;
	else if (input->isnull)
		return;
	else if (type->root == TYPE_DECIMAL)
		add_decimal(type, accumulator, get_decimal(type, input));
	else
		CALCULATE(type->physical, accumulator, +, input);
}

static void
retract_sum(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	const DataType *type = aggregator->field->type;

	if (input->isnull)
		return;
	if (accumulator->isnull)
	{
		memset(accumulator, 0, sizeof(*accumulator));
		/* -x, also of 0.0 */
		if (type->physical == PHYSICAL_FLOAT)
			accumulator->v.f32 = -0.0f;
		else if (type->physical == PHYSICAL_DOUBLE)
			accumulator->v.f64 = -0.0;
	}
	if (type->root == TYPE_DECIMAL)
		add_decimal(type, accumulator, -get_decimal(type, input));
	else
		CALCULATE(type->physical, accumulator, -, input);
}

/* A number without sign of 256 bits: digits to the base 2^64, lowest first */
typedef struct Wide
{
	uint64		digits[4];
} Wide;

static Wide
wide_multiply(uint128 a, uint128 b)
{
	const uint64 x[2] = {(uint64) a, (uint64) (a >> 64)};
	const uint64 y[2] = {(uint64) b, (uint64) (b >> 64)};
	Wide		product = {{0}};

	for (int i = 0; i < 2; i++)
	{
		uint64		carry = 0;

		for (int j = 0; j < 2; j++)
		{
			uint128		part = (uint128) x[i] * y[j] + product.digits[i + j] + carry;

			product.digits[i + j] = (uint64) part;
			carry = (uint64) (part >> 64);
		}
		product.digits[i + 2] = carry;
	}
	return product;
}

/* Divide, bit by bit; the rest is returned.  The divisor must be below 2^127. */
static uint128
wide_divide(Wide *number, uint128 divisor)
{
	uint128		rest = 0;

	for (int i = 3; i >= 0; i--)
	{
		uint64		quotient = 0;

		for (int bit = 63; bit >= 0; bit--)
		{
			rest = (rest << 1) | ((number->digits[i] >> bit) & 1);
			quotient <<= 1;
			if (rest >= divisor)
			{
				rest -= divisor;
				quotient |= 1;
			}
		}
		number->digits[i] = quotient;
	}
	return rest;
}

static uint128
magnitude(int128 value)
{
	return value < 0 ? -(uint128) value : (uint128) value;
}

/* a * b / divisor, rounded half away from zero, as a decimal of the type. */
static void
set_multiplied(const DataType *type, Scalar *result, int128 a, int128 b, int128 divisor)
{
	Wide		number = wide_multiply(magnitude(a), magnitude(b));
	uint128		rest = wide_divide(&number, magnitude(divisor));
	bool		negative = ((a < 0) != (b < 0)) != (divisor < 0);
	uint128		value = (uint128) number.digits[1] << 64 | number.digits[0];

	if (number.digits[3] != 0 || number.digits[2] != 0 || value >= (uint128) decimal_power_of_ten(38))
	{
		result->isnull = true;
		return;
	}
	if (rest >= magnitude(divisor) - rest)
		value++;
	set_decimal(type, result, negative ? -(int128) value : (int128) value);
}

static void
multiply(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	const DataType *type = aggregator->field->type;

	if (accumulator->isnull)
		*accumulator = *input;
	else if (input->isnull)
		return;
	else if (type->root == TYPE_DECIMAL)
		set_multiplied(type, accumulator, get_decimal(type, accumulator), get_decimal(type, input),
					   decimal_power_of_ten(type->scale));
	else
		CALCULATE(type->physical, accumulator, *, input);
}

static void
refuse_division(const Aggregator *aggregator, const char *reason)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_EXCEPTION),
			 errmsg("product of column \"%s\" of lake table \"%s\" cannot be taken back: %s",
					aggregator->field->name, aggregator->table_name, reason),
			 errhint("With option \"fields.%s.ignore-retract\" rows that delete are ignored.",
					 aggregator->field->name)));
}

/* Is a / b a decimal with an end? */
static bool
division_ends(uint128 a, uint128 b)
{
	uint128		x = a;
	uint128		y = b;

	while (y != 0)
	{
		uint128		rest = x % y;

		x = y;
		y = rest;
	}
	b /= x;
	while (b % 2 == 0)
		b /= 2;
	while (b % 5 == 0)
		b /= 5;
	return b == 1;
}

static void
divide_decimal(const Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	const DataType *type = aggregator->field->type;
	int128		dividend = get_decimal(type, accumulator);
	int128		divisor = get_decimal(type, input);

	if (divisor == 0)
		refuse_division(aggregator, "division by zero");
	if (!division_ends(magnitude(dividend), magnitude(divisor)))
		refuse_division(aggregator, "the quotient has no end");
	set_multiplied(type, accumulator, dividend, decimal_power_of_ten(type->scale), divisor);
}

static void
divide(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	const DataType *type = aggregator->field->type;
	PhysicalType physical = type->physical;
	int64		divisor;
	int64		quotient;

	if (accumulator->isnull || input->isnull)
		return;
	if (type->root == TYPE_DECIMAL)
	{
		divide_decimal(aggregator, accumulator, input);
		return;
	}
	if (physical == PHYSICAL_FLOAT || physical == PHYSICAL_DOUBLE)
	{
		if (physical == PHYSICAL_FLOAT)
			accumulator->v.f32 /= input->v.f32;
		else
			accumulator->v.f64 /= input->v.f64;
		return;
	}
	divisor = scalar_integer(physical, input);
	if (divisor == 0)
		refuse_division(aggregator, "division by zero");
	quotient = scalar_integer(physical, accumulator);
	/* the smallest integer by -1 is itself */
	quotient = divisor == -1 ? (int64) -(uint64) quotient : quotient / divisor;
	if (physical == PHYSICAL_INT8)
		accumulator->v.i8 = (int8) quotient;
	else if (physical == PHYSICAL_INT16)
		accumulator->v.i16 = (int16) quotient;
	else if (physical == PHYSICAL_INT32)
		accumulator->v.i32 = (int32) quotient;
	else
		accumulator->v.i64 = quotient;
}

const AggregateFunction aggregate_sum = {
	.name = "sum",
	.accepts = accepts_numbers,
	.aggregate = add_sum,
	.retract = retract_sum
};

const AggregateFunction aggregate_product = {
	.name = "product",
	.accepts = accepts_numbers,
	.aggregate = multiply,
	.retract = divide
};
