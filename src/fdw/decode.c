/*
 * decode.c
 *		Columns of a batch become Datums.
 *
 * A column at a time: what depends on its type is decided once, the loops
 * below are over values.  Values passed by reference are laid one behind the
 * other into one piece of memory for all rows asked for.  Strings are in
 * decode_string.c.
 */
#include "postgres.h"

#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "columnar/decimal.h"
#include "compat.h"
#include "fdw/decode.h"
#include "fdw/epoch.h"
#include "fdw/numeric.h"

pg_noinline void
decode_out_of_range(const ColumnDecoder *decoder)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("value of column \"%s\" of table \"%s\" is out of range", decoder->column, decoder->table),
			 errdetail("The lake has a value of type %s that SQL cannot show.", type_describe(decoder->type))));
}

pg_noinline void
decode_too_long(const ColumnDecoder *decoder)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("value of column \"%s\" of table \"%s\" is too long for SQL", decoder->column, decoder->table)));
}

pg_noinline void
decode_would_change(const ColumnDecoder *decoder, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot update or delete a row of table \"%s\" where column \"%s\" has %s",
					decoder->table, decoder->column, what),
			 errdetail("The column's type in the lake is %s; SQL could not write the same value again.",
					   type_describe(decoder->type))));
}

/* Fixed width, nothing to check. */
#define DECODE_PLAIN(name, type, member, to_datum) \
static void \
name(const ColumnDecoder *decoder, const Vector *vector, const int32 *rows, int nrows, Datum *values) \
{ \
	const type *from = vector->values.member; \
\
	CONVERT_ROWS(from, to_datum); \
}

#define INT8_TO_BOOL(value) BoolGetDatum((value) != 0)
#define INT8_TO_INT16(value) Int16GetDatum((int16) (value))

DECODE_PLAIN(decode_boolean, int8, i8, INT8_TO_BOOL)
DECODE_PLAIN(decode_tinyint, int8, i8, INT8_TO_INT16)
DECODE_PLAIN(decode_smallint, int16, i16, Int16GetDatum)
DECODE_PLAIN(decode_int, int32, i32, Int32GetDatum)
DECODE_PLAIN(decode_bigint, int64, i64, Int64GetDatum)
DECODE_PLAIN(decode_float, float, f32, Float4GetDatum)
DECODE_PLAIN(decode_double, double, f64, Float8GetDatum)

static inline bool
date_is_valid(int32 days)
{
	int64		date = (int64) days - EPOCH_DAYS;

	return IS_VALID_DATE(date);
}

/* Rows are looked at one by one when one of them is not valid: it may be null. */
static void
decode_date(const ColumnDecoder *decoder, const Vector *vector, const int32 *rows, int nrows, Datum *values)
{
	const int32 *dates = vector->values.i32;
	bool		valid = true;

#define CONVERT_DATE(days) (valid &= date_is_valid(days), DateADTGetDatum((DateADT) ((uint32) (days) - EPOCH_DAYS)))
	CONVERT_ROWS(dates, CONVERT_DATE);
#undef CONVERT_DATE
	if (!valid)
	{
		int			i;
		int			r;

		FOR_EACH_VALUE(i, r)
		{
			if (!date_is_valid(dates[r]))
				decode_out_of_range(decoder);
		}
	}
}

static void
decode_time(const ColumnDecoder *decoder, const Vector *vector, const int32 *rows, int nrows, Datum *values)
{
	int			i;
	int			r;

	FOR_EACH_VALUE(i, r)
	{
		int32		millis = vector->values.i32[r];

		if (millis < 0 || millis >= MILLIS_PER_DAY)
			decode_out_of_range(decoder);
		values[i] = TimeADTGetDatum((TimeADT) millis * MICROS_PER_MILLI);
	}
}

/* Micros since 1970; both timestamp types have the same Datum. */
static inline Datum
timestamp_datum(const ColumnDecoder *decoder, int128 micros)
{
	micros -= EPOCH_MICROS;
	if (micros < MIN_TIMESTAMP || micros >= END_TIMESTAMP)
		decode_out_of_range(decoder);
	return TimestampGetDatum((Timestamp) micros);
}

static void
decode_timestamp_millis(const ColumnDecoder *decoder, const Vector *vector, const int32 *rows, int nrows,
						Datum *values)
{
	int			i;
	int			r;

	FOR_EACH_VALUE(i, r)
		values[i] = timestamp_datum(decoder, (int128) vector->values.i64[r] * MICROS_PER_MILLI);
}

/* No 64 bits are too late for the server: it is behind the lake by EPOCH_MICROS. */
static inline bool
micros_are_valid(int64 micros)
{
	StaticAssertStmt(PG_INT64_MAX - EPOCH_MICROS < END_TIMESTAMP, "a timestamp may be too late");
	return micros >= MIN_TIMESTAMP + EPOCH_MICROS;
}

/* As decode_date. */
static void
decode_timestamp_micros(const ColumnDecoder *decoder, const Vector *vector, const int32 *rows, int nrows,
						Datum *values)
{
	const int64 *timestamps = vector->values.i64;
	bool		valid = true;

#define CONVERT_MICROS(micros) \
	(valid &= micros_are_valid(micros), TimestampGetDatum((Timestamp) ((uint64) (micros) - EPOCH_MICROS)))
	CONVERT_ROWS(timestamps, CONVERT_MICROS);
#undef CONVERT_MICROS
	if (!valid)
	{
		int			i;
		int			r;

		FOR_EACH_VALUE(i, r)
		{
			if (!micros_are_valid(timestamps[r]))
				decode_out_of_range(decoder);
		}
	}
}

static void
decode_timestamp_nanos(const ColumnDecoder *decoder, const Vector *vector, const int32 *rows, int nrows,
					   Datum *values)
{
	int			i;
	int			r;

	FOR_EACH_VALUE(i, r)
	{
		int128		nanos = vector->values.i128[r];
		int128		micros = nanos_to_micros(nanos);

		if (decoder->strict && micros * NANOS_PER_MICRO != nanos)
			decode_would_change(decoder, "digits finer than microseconds");
		values[i] = timestamp_datum(decoder, micros);
	}
}

static void
decode_decimal64(const ColumnDecoder *decoder, const Vector *vector, const int32 *rows, int nrows, Datum *values)
{
	const int64 *decimals = vector->values.i64;
	int			scale = decoder->type->scale;
	char	   *place = palloc((Size) nrows * DECIMAL64_NUMERIC_SIZE);

	/* sums that the lake made may have more digits than the type, and are shown as they are there */
#define CONVERT_DECIMAL(unscaled) \
	(decimal64_to_numeric(unscaled, scale, place), place += DECIMAL64_NUMERIC_SIZE, \
	 PointerGetDatum(place - DECIMAL64_NUMERIC_SIZE))
	CONVERT_ROWS(decimals, CONVERT_DECIMAL);
#undef CONVERT_DECIMAL
}

static void
decode_decimal128(const ColumnDecoder *decoder, const Vector *vector, const int32 *rows, int nrows, Datum *values)
{
	char	   *place = palloc((Size) nrows * DECIMAL_NUMERIC_SIZE);
	int128		limit = decimal_power_of_ten(decoder->type->precision);
	int			i;
	int			r;

	FOR_EACH_VALUE(i, r)
	{
		int128		unscaled = vector->values.i128[r];

		if (unscaled >= limit || unscaled <= -limit)
			decode_out_of_range(decoder);
		decimal_to_numeric(unscaled, decoder->type->scale, place);
		values[i] = PointerGetDatum(place);
		place += DECIMAL_NUMERIC_SIZE;
	}
}

static DecodeFunction
decode_function(const ColumnDecoder *decoder, Oid typid)
{
	bool		wide = decoder->type->physical == PHYSICAL_INT128;

	switch (decoder->type->root)
	{
		case TYPE_BOOLEAN:
			return decode_boolean;
		case TYPE_TINYINT:
			return decode_tinyint;
		case TYPE_SMALLINT:
			return decode_smallint;
		case TYPE_INT:
			return decode_int;
		case TYPE_BIGINT:
			return decode_bigint;
		case TYPE_FLOAT:
			return decode_float;
		case TYPE_DOUBLE:
			return decode_double;
		case TYPE_DECIMAL:
			return wide ? decode_decimal128 : decode_decimal64;
		case TYPE_CHAR:
		case TYPE_VARCHAR:
		case TYPE_BINARY:
		case TYPE_VARBINARY:
		case TYPE_BLOB:
			return decoder_of_string(decoder, typid);
		case TYPE_DATE:
			return decode_date;
		case TYPE_TIME:
			return decode_time;
		case TYPE_TIMESTAMP:
		case TYPE_TIMESTAMP_LTZ:
			return wide ? decode_timestamp_nanos :
				decoder->type->precision <= MILLIS_PRECISION ? decode_timestamp_millis : decode_timestamp_micros;
		default:
			elog(ERROR, "lake type %s cannot be decoded", type_to_text(decoder->type));
	}
}

void
column_decoder_init(ColumnDecoder *decoder, const char *table, const char *column, const DataType *type,
					Oid typid, int32 typmod)
{
	Oid			base = getBaseTypeAndTypmod(typid, &typmod);

	memset(decoder, 0, sizeof(ColumnDecoder));
	decoder->table = table;
	decoder->column = column;
	decoder->type = type;
	decoder->typmod = typmod;
	decoder->typid = base;
	get_typlenbyvalalign(base, &decoder->typlen, &decoder->typbyval, &decoder->typalign);
	if (!type_is_nested(type))
		decoder->decode = decode_function(decoder, base);
	else if (base == JSONBOID)
		decoder_init_json(decoder);
	else
		decoder_init_nested(decoder);
}

void
column_decoder_set_strict(ColumnDecoder *decoder)
{
	int			i;

	decoder->strict = true;
	for (i = 0; i < decoder->nparts; i++)
		column_decoder_set_strict(&decoder->parts[i]);
}

void
column_decode(const ColumnDecoder *decoder, const Vector *vector, const int32 *rows, int nrows, Datum *values,
			  bool *isnull)
{
	int			i;
	int			r;

	if (!vector->has_nulls)
		memset(isnull, 0, nrows * sizeof(bool));
	else
		FOR_EACH_ROW(i, r)
			isnull[i] = vector->nulls[r];
	decoder->decode(decoder, vector, rows, nrows, values);
}

void
column_decode_range(const ColumnDecoder *decoder, const Vector *vector, int first, int nrows, Datum *values,
					bool *isnull)
{
	if (type_is_nested(vector->type))
	{
		int32	   *rows = palloc(nrows * sizeof(int32));
		int			i;

		for (i = 0; i < nrows; i++)
			rows[i] = first + i;
		column_decode(decoder, vector, rows, nrows, values, isnull);
	}
	else
	{
		Vector		rest = vector_rest(vector, first);

		column_decode(decoder, &rest, NULL, nrows, values, isnull);
	}
}
