/*
 * aggregate_result.c
 *		What is kept for an aggregate becomes a Datum of its result.
 *
 * Sums of decimals have the scale of the column, averages are divided by the
 * server's own numeric division: so digits come out as the server's do.
 */
#include "postgres.h"

#include <math.h>

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "columnar/decimal.h"
#include "fdw/aggregate_result.h"
#include "fdw/aggregate_state.h"
#include "fdw/numeric.h"

void
result_column_init(ResultColumn *column, AggregateResult result, const char *table, const DataType *type, Oid typid,
				   int32 typmod)
{
	column->result = result;
	column->type = type;
	if (result != RESULT_EXTREME)
		return;
	column_decoder_init(&column->decoder, table, "?column?", type, typid, typmod);
	column->vector = vector_create(type, BATCH_ROWS);
}

static Numeric
numeric_of_int128(int128 unscaled, int scale)
{
	char	   *numeric = palloc(DECIMAL_NUMERIC_SIZE);

	decimal_to_numeric(unscaled, scale, numeric);
	return (Numeric) numeric;
}

/* high * 2^64 + low, scaled. */
static Numeric
numeric_of_wide_sum(WideSum sum, int scale)
{
	int128		high = sum.high + (sum.low >> 64);
	uint64		low = (uint64) sum.low;
	Datum		result;

	if (high >= PG_INT64_MIN && high <= PG_INT64_MAX)
		return numeric_of_int128((int128) ((uint128) high << 64 | low), scale);
	result = DirectFunctionCall2(numeric_mul, NumericGetDatum(numeric_of_int128(high, 0)),
								 NumericGetDatum(numeric_of_int128((int128) 1 << 64, 0)));
	result = DirectFunctionCall2(numeric_add, result, NumericGetDatum(numeric_of_int128(low, 0)));
	result = DirectFunctionCall2(numeric_mul, result, NumericGetDatum(numeric_of_int128(1, scale)));
	return DatumGetNumeric(result);
}

static int
sum_scale(const Aggregate *aggregate)
{
	return aggregate->type->root == TYPE_DECIMAL ? aggregate->type->scale : 0;
}

static Numeric
sum_as_numeric(const Aggregate *aggregate, int group)
{
	int			scale = sum_scale(aggregate);

	switch (aggregate->type->physical)
	{
		case PHYSICAL_INT64:
			return numeric_of_int128(aggregate->sums.i128[group], scale);
		case PHYSICAL_INT128:
			return numeric_of_wide_sum(aggregate->sums.wide[group], scale);
		default:
			return numeric_of_int128(aggregate->sums.i64[group], scale);
	}
}

static Datum
average_as_numeric(const Aggregate *aggregate, int group)
{
	return DirectFunctionCall2(numeric_div, NumericGetDatum(sum_as_numeric(aggregate, group)),
							   NumericGetDatum(int64_to_numeric(aggregate->counts[group])));
}

static Datum
float_sum(const Aggregate *aggregate, int group)
{
	return aggregate->type->physical == PHYSICAL_FLOAT ? Float4GetDatum(aggregate->sums.f32[group]) :
		Float8GetDatum(aggregate->sums.f64[group]);
}

static void
decode_extremes(const ResultColumn *column, const Aggregate *aggregate, int first, int count, Datum *values,
				bool *isnull)
{
	Vector	   *vector = column->vector;
	int			i;

	vector_reset(vector);
	for (i = 0; i < count; i++)
	{
		int32		group = first + i;
		Scalar		none = {.isnull = true};

		if (aggregate->counts[group] > 0)
			vector_gather(vector, i, aggregate->extremes, &group, 1);
		else
			vector_set(vector, i, &none);
	}
	column_decode(&column->decoder, vector, NULL, count, values, isnull);
}

/* As the server's final functions have it; NaN stays NaN. */
static double
float_variance(const ResultColumn *column, const FloatMoments *moments)
{
	bool		sample = column->result == RESULT_FLOAT_VAR_SAMP || column->result == RESULT_FLOAT_STDDEV_SAMP;
	double		variance = moments->squares / (sample ? moments->n - 1 : moments->n);

	return column->result == RESULT_FLOAT_STDDEV_POP || column->result == RESULT_FLOAT_STDDEV_SAMP ?
		sqrt(variance) : variance;
}

bool
result_column_is_null(const ResultColumn *column, const Aggregate *aggregate, int group)
{
	bool		needs_two = column->result == RESULT_FLOAT_VAR_SAMP || column->result == RESULT_FLOAT_STDDEV_SAMP;

	return column->result != RESULT_COUNT && aggregate->counts[group] < (needs_two ? 2 : 1);
}

Datum
result_column_datum(const ResultColumn *column, const Aggregate *aggregate, int group)
{
	switch (column->result)
	{
		case RESULT_COUNT:
			return Int64GetDatum(aggregate->counts[group]);
		case RESULT_SUM:
			return Int64GetDatum(aggregate->sums.i64[group]);
		case RESULT_NUMERIC_SUM:
			return NumericGetDatum(sum_as_numeric(aggregate, group));
		case RESULT_NUMERIC_AVERAGE:
			return average_as_numeric(aggregate, group);
		case RESULT_FLOAT_SUM:
			return float_sum(aggregate, group);
		case RESULT_FLOAT_AVERAGE:
			return Float8GetDatum(aggregate->sums.moments[group].sum / aggregate->sums.moments[group].n);
		case RESULT_FLOAT_VAR_POP:
		case RESULT_FLOAT_VAR_SAMP:
		case RESULT_FLOAT_STDDEV_POP:
		case RESULT_FLOAT_STDDEV_SAMP:
			return Float8GetDatum(float_variance(column, &aggregate->sums.moments[group]));
		case RESULT_INT8_STATE:
			return int8_state(aggregate->counts[group], sum_as_numeric(aggregate, group));
		case RESULT_NUMERIC_STATE:
			return numeric_state(aggregate->counts[group], sum_as_numeric(aggregate, group), sum_scale(aggregate));
		case RESULT_INT_STATE:
			return int_state(aggregate->counts[group], aggregate->sums.i64[group]);
		case RESULT_FLOAT_STATE:
			return float_state(aggregate->sums.moments[group].n, aggregate->sums.moments[group].sum,
							   aggregate->sums.moments[group].squares);
		default:
			elog(ERROR, "aggregate result %d is not made of one group", (int) column->result);
	}
}

void
result_column_decode(const ResultColumn *column, const Aggregate *aggregate, int first, int count, Datum *values,
					 bool *isnull)
{
	int			i;

	if (column->result == RESULT_EXTREME)
	{
		decode_extremes(column, aggregate, first, count, values, isnull);
		return;
	}
	for (i = 0; i < count; i++)
	{
		int			group = first + i;

		isnull[i] = result_column_is_null(column, aggregate, group);
		if (!isnull[i])
			values[i] = result_column_datum(column, aggregate, group);
	}
}
