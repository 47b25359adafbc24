/*
 * decode.c
 *		Columns of a batch become Datums.
 *
 * A column at a time: what depends on its type is decided once, the loops
 * below are over values.  Values passed by reference are laid one behind the
 * other into one piece of memory for all rows asked for.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "mb/pg_wchar.h"
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

static pg_noinline void
string_invalid(const ColumnDecoder *decoder, BytesView bytes)
{
	if (memchr(bytes.data, 0, bytes.length) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNTRANSLATABLE_CHARACTER),
				 errmsg("value of column \"%s\" of table \"%s\" contains the character U+0000, which SQL cannot hold",
						decoder->column, decoder->table)));
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("value of column \"%s\" of table \"%s\" is not valid UTF-8", decoder->column, decoder->table)));
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

/* Fixed width, nothing to check: null rows are converted too, it does no harm. */
#define DECODE_PLAIN(name, member, to_datum) \
static void \
name(const ColumnDecoder *decoder, const Vector *vector, const int32 *rows, int nrows, Datum *values) \
{ \
	int			i; \
	int			r; \
\
	FOR_EACH_ROW(i, r) \
		values[i] = to_datum(vector->values.member[r]); \
}

#define INT8_TO_BOOL(value) BoolGetDatum((value) != 0)
#define INT8_TO_INT16(value) Int16GetDatum((int16) (value))

DECODE_PLAIN(decode_boolean, i8, INT8_TO_BOOL)
DECODE_PLAIN(decode_tinyint, i8, INT8_TO_INT16)
DECODE_PLAIN(decode_smallint, i16, Int16GetDatum)
DECODE_PLAIN(decode_int, i32, Int32GetDatum)
DECODE_PLAIN(decode_bigint, i64, Int64GetDatum)
DECODE_PLAIN(decode_float, f32, Float4GetDatum)
DECODE_PLAIN(decode_double, f64, Float8GetDatum)

static void
decode_date(const ColumnDecoder *decoder, const Vector *vector, const int32 *rows, int nrows, Datum *values)
{
	int			i;
	int			r;

	FOR_EACH_VALUE(i, r)
	{
		int64		date = (int64) vector->values.i32[r] - EPOCH_DAYS;

		if (!IS_VALID_DATE(date))
			decode_out_of_range(decoder);
		values[i] = DateADTGetDatum((DateADT) date);
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

static void
decode_timestamp_micros(const ColumnDecoder *decoder, const Vector *vector, const int32 *rows, int nrows,
						Datum *values)
{
	int			i;
	int			r;

	FOR_EACH_VALUE(i, r)
		values[i] = timestamp_datum(decoder, vector->values.i64[r]);
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
	char	   *place = palloc((Size) nrows * DECIMAL_NUMERIC_SIZE);
	int			i;
	int			r;

	/* sums that the lake made may have more digits than the type, and are shown as they are there */
	FOR_EACH_VALUE(i, r)
	{
		decimal_to_numeric(vector->values.i64[r], decoder->type->scale, place);
		values[i] = PointerGetDatum(place);
		place += DECIMAL_NUMERIC_SIZE;
	}
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

/* Bytes of the varlena that holds a value, up to where the next may begin. */
static inline Size
varlena_room(const ColumnDecoder *decoder, uint32 length)
{
	if (length > MaxAllocSize - VARHDRSZ)
		decode_too_long(decoder);
	return INTALIGN(VARHDRSZ + (Size) length);
}

static inline char *
put_varlena(char *place, BytesView bytes, Datum *value)
{
	SET_VARSIZE(place, VARHDRSZ + bytes.length);
	memcpy(VARDATA(place), bytes.data, bytes.length);
	*value = PointerGetDatum(place);
	return place + INTALIGN(VARHDRSZ + (Size) bytes.length);
}

static void
decode_views(const ColumnDecoder *decoder, const Vector *vector, const int32 *rows, int nrows, Datum *values)
{
	const BytesView *views = vector->values.bytes;
	Size		total = 0;
	char	   *place;
	int			i;
	int			r;

	FOR_EACH_VALUE(i, r)
		total += varlena_room(decoder, views[r].length);

	place = MemoryContextAllocHuge(CurrentMemoryContext, total);
	FOR_EACH_VALUE(i, r)
		place = put_varlena(place, views[r], &values[i]);
}

Datum *
decode_dictionary_entries(const ColumnDecoder *decoder, const Vector *vector)
{
	Datum	   *entries = palloc((Size) vector->dictionary_size * sizeof(Datum));
	Size		total = 0;
	char	   *place;
	int			i;

	for (i = 0; i < vector->dictionary_size; i++)
		total += varlena_room(decoder, vector->dictionary[i].length);

	place = MemoryContextAllocHuge(CurrentMemoryContext, total);
	for (i = 0; i < vector->dictionary_size; i++)
		place = put_varlena(place, vector->dictionary[i], &entries[i]);
	return entries;
}

/* The dictionary's entries are made once; rows share them. */
static void
decode_codes(const Vector *vector, const Datum *entries, const int32 *rows, int nrows, Datum *values)
{
	int			i;
	int			r;

	FOR_EACH_VALUE(i, r)
		values[i] = entries[vector->codes[r]];
}

/* Rows with codes, where the dictionary is larger than what is wanted of it. */
static void
decode_few_codes(const ColumnDecoder *decoder, const Vector *vector, const int32 *rows, int nrows, Datum *values)
{
	Size		total = 0;
	char	   *place;
	int			i;
	int			r;

	FOR_EACH_VALUE(i, r)
		total += varlena_room(decoder, vector->dictionary[vector->codes[r]].length);

	place = MemoryContextAllocHuge(CurrentMemoryContext, total);
	FOR_EACH_VALUE(i, r)
		place = put_varlena(place, vector->dictionary[vector->codes[r]], &values[i]);
}

static void
copy_strings(const ColumnDecoder *decoder, const Vector *vector, const int32 *rows, int nrows, Datum *values)
{
	if (vector->codes == NULL)
		decode_views(decoder, vector, rows, nrows, values);
	else if (vector->dictionary_size <= nrows)
		decode_codes(vector, decode_dictionary_entries(decoder, vector), rows, nrows, values);
	else
		decode_few_codes(decoder, vector, rows, nrows, values);
}

static void
decode_bytes(const ColumnDecoder *decoder, const Vector *vector, const int32 *rows, int nrows, Datum *values)
{
	const Datum *kept = decode_kept_entries(decoder, vector, nrows, false);

	if (kept != NULL)
		decode_codes(vector, kept, rows, nrows, values);
	else
		copy_strings(decoder, vector, rows, nrows, values);
}

static inline bool
is_valid_string(BytesView bytes)
{
	return pg_verify_mbstr(PG_UTF8, bytes.data, (int) Min(bytes.length, PG_INT32_MAX), true);
}

/* Files may hold anything: what reaches SQL functions must be valid text. */
void
decode_check_string(const ColumnDecoder *decoder, BytesView bytes)
{
	if (!is_valid_string(bytes))
		string_invalid(decoder, bytes);
}

/* Are all values of a dictionary valid, also those that no row has? */
bool
decode_dictionary_is_valid(const Vector *vector)
{
	int			i;

	for (i = 0; i < vector->dictionary_size; i++)
	{
		if (!is_valid_string(vector->dictionary[i]))
			return false;
	}
	return true;
}

static void
check_strings(const ColumnDecoder *decoder, const Vector *vector, const int32 *rows, int nrows)
{
	int			i;
	int			r;

	if (vector->codes != NULL && vector->dictionary_size <= nrows && decode_dictionary_is_valid(vector))
		return;
	FOR_EACH_VALUE(i, r)
		decode_check_string(decoder, vector_bytes(vector, r));
}

static void
decode_text(const ColumnDecoder *decoder, const Vector *vector, const int32 *rows, int nrows, Datum *values)
{
	const Datum *kept = decode_kept_entries(decoder, vector, nrows, true);

	if (kept != NULL)
	{
		decode_codes(vector, kept, rows, nrows, values);
		return;
	}
	check_strings(decoder, vector, rows, nrows);
	copy_strings(decoder, vector, rows, nrows, values);
}

/* character(n): the lake's value has no blanks at the end, SQL's is full of them. */
static void
decode_character(const ColumnDecoder *decoder, const Vector *vector, const int32 *rows, int nrows, Datum *values)
{
	int			characters = decoder->typmod - VARHDRSZ;
	int			i;
	int			r;

	check_strings(decoder, vector, rows, nrows);
	FOR_EACH_VALUE(i, r)
	{
		BytesView	bytes = vector_bytes(vector, r);
		int			blanks = Max(characters - pg_mbstrlen_with_len(bytes.data, bytes.length), 0);
		Size		room = varlena_room(decoder, bytes.length) + blanks;
		char	   *place;

		if (decoder->strict && bytes.length > 0 && bytes.data[bytes.length - 1] == ' ')
			decode_would_change(decoder, "blanks at the end");
		place = palloc(room);
		put_varlena(place, bytes, &values[i]);
		SET_VARSIZE(place, VARHDRSZ + bytes.length + blanks);
		memset(VARDATA(place) + bytes.length, ' ', blanks);
	}
}

void
decode_require_encoding(const ColumnDecoder *decoder)
{
	if (GetDatabaseEncoding() != PG_UTF8)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot read column \"%s\" of table \"%s\" in a database with encoding \"%s\"",
						decoder->column, decoder->table, GetDatabaseEncodingName()),
				 errhint("Use a database with encoding UTF8.")));
}

static DecodeFunction
string_decoder(const ColumnDecoder *decoder, Oid typid)
{
	decode_require_encoding(decoder);
	return typid == BPCHAROID && decoder->typmod >= (int32) VARHDRSZ ? decode_character : decode_text;
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
			return string_decoder(decoder, typid);
		case TYPE_BINARY:
		case TYPE_VARBINARY:
		case TYPE_BLOB:
			return decode_bytes;
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
