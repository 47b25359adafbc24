/*
 * encode.c
 *		A Datum becomes a Scalar of a lake column.
 *
 * What the lake type cannot hold is an error, never a changed value; only
 * fractions that are too fine are rounded, as an SQL assignment does.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "common/int.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "columnar/decimal.h"
#include "compat.h"
#include "fdw/encode.h"
#include "fdw/epoch.h"
#include "fdw/numeric.h"

/* The years 1 to 9999, which every engine knows, on the server's calendar. */
#define FIRST_DAY (-730119)
#define LAST_DAY 2921939
#define FIRST_MICROSECOND (FIRST_DAY * USECS_PER_DAY)
#define LAST_MICROSECOND ((LAST_DAY + 1) * USECS_PER_DAY - 1)

pg_noinline void
encode_out_of_range(const ColumnEncoder *encoder)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("value for column \"%s\" of table \"%s\" is out of range", encoder->column, encoder->table),
			 errdetail("The column's type in the lake is %s.", type_describe(encoder->type))));
}

pg_noinline void
encode_too_long(const ColumnEncoder *encoder)
{
	ereport(ERROR,
			(errcode(ERRCODE_STRING_DATA_RIGHT_TRUNCATION),
			 errmsg("value for column \"%s\" of table \"%s\" is too long", encoder->column, encoder->table),
			 errdetail("The column's type in the lake is %s.", type_describe(encoder->type))));
}

/* Infinity and the like; NULL if the policy says so and the column may be. */
static pg_noinline void
value_special(const ColumnEncoder *encoder, const char *what, Scalar *out)
{
	out->isnull = encoder->policy != UNREPRESENTABLE_ERROR && encoder->type->nullable;
	if (out->isnull)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("column \"%s\" of table \"%s\" cannot hold %s", encoder->column, encoder->table, what),
			 errdetail("The column's type in the lake is %s.", type_describe(encoder->type)),
			 errhint("%s", encoder->hint)));
}

static void
encode_boolean(const ColumnEncoder *encoder, Datum value, Scalar *out)
{
	out->v.i8 = DatumGetBool(value) ? 1 : 0;
}

static void
encode_tinyint(const ColumnEncoder *encoder, Datum value, Scalar *out)
{
	int16		number = DatumGetInt16(value);

	if (number < PG_INT8_MIN || number > PG_INT8_MAX)
		encode_out_of_range(encoder);
	out->v.i8 = (int8) number;
}

static void
encode_smallint(const ColumnEncoder *encoder, Datum value, Scalar *out)
{
	out->v.i16 = DatumGetInt16(value);
}

static void
encode_int(const ColumnEncoder *encoder, Datum value, Scalar *out)
{
	out->v.i32 = DatumGetInt32(value);
}

static void
encode_bigint(const ColumnEncoder *encoder, Datum value, Scalar *out)
{
	out->v.i64 = DatumGetInt64(value);
}

static void
encode_oid(const ColumnEncoder *encoder, Datum value, Scalar *out)
{
	out->v.i64 = DatumGetObjectId(value);
}

static void
encode_float(const ColumnEncoder *encoder, Datum value, Scalar *out)
{
	out->v.f32 = DatumGetFloat4(value);
}

static void
encode_double(const ColumnEncoder *encoder, Datum value, Scalar *out)
{
	out->v.f64 = DatumGetFloat8(value);
}

static void
encode_decimal(const ColumnEncoder *encoder, Datum value, Scalar *out)
{
	const DataType *type = encoder->type;
	DecimalValue decimal = decimal_from_numeric(PG_DETOAST_DATUM_PACKED(value), type->scale);

	switch (decimal.place)
	{
		case DECIMAL_NAN:
			value_special(encoder, "NaN", out);
			return;
		case DECIMAL_PLUS_INFINITY:
		case DECIMAL_MINUS_INFINITY:
			value_special(encoder, "infinity", out);
			return;
		case DECIMAL_BELOW:
		case DECIMAL_ABOVE:
			encode_out_of_range(encoder);
			break;
		case DECIMAL_FINITE:
			if (!decimal_fits(decimal.rounded, type->precision))
				encode_out_of_range(encoder);
			break;
	}
	if (type->physical == PHYSICAL_INT64)
		out->v.i64 = (int64) decimal.rounded;
	else
		out->v.i128 = decimal.rounded;
}

static void
encode_date(const ColumnEncoder *encoder, Datum value, Scalar *out)
{
	DateADT		date = DatumGetDateADT(value);

	if (encoder->policy == UNREPRESENTABLE_CLAMP)
		date = Min(Max(date, FIRST_DAY), LAST_DAY);
	if (DATE_NOT_FINITE(date))
		value_special(encoder, "infinity", out);
	else
		out->v.i32 = date + EPOCH_DAYS;
}

/* Microseconds of the last digit. */
static const int64 units_of_precision[] = {1000000, 100000, 10000, 1000, 100, 10, 1};

/* Round micros to a type's precision, halves away from zero as the server does. */
static int64
round_micros(int64 micros, int precision)
{
	int64		unit = units_of_precision[Min(precision, MAX_TIMESTAMP_PRECISION)];

	if (unit == 1)
		return micros;
	return micros < 0 ? -((-micros + unit / 2) / unit * unit) : (micros + unit / 2) / unit * unit;
}

static void
encode_time(const ColumnEncoder *encoder, Datum value, Scalar *out)
{
	int			precision = Min(encoder->type->precision, MILLIS_PRECISION);
	int64		millis = round_micros(DatumGetTimeADT(value), precision) / MICROS_PER_MILLI;

	/* SQL has 24:00:00, the lake does not */
	if (millis >= MILLIS_PER_DAY && encoder->policy == UNREPRESENTABLE_CLAMP)
		millis = (USECS_PER_DAY - units_of_precision[precision]) / MICROS_PER_MILLI;
	if (millis >= MILLIS_PER_DAY)
	{
		value_special(encoder, "24:00:00", out);
		return;
	}
	out->v.i32 = (int32) millis;
}

static void
encode_timestamp(const ColumnEncoder *encoder, Datum value, Scalar *out)
{
	Timestamp	timestamp = DatumGetTimestamp(value);
	int			precision = encoder->type->precision;
	int64		micros;

	if (encoder->policy == UNREPRESENTABLE_CLAMP)
		timestamp = Min(Max(timestamp, FIRST_MICROSECOND),
						LAST_MICROSECOND + 1 - units_of_precision[Min(precision, MAX_TIMESTAMP_PRECISION)]);
	if (TIMESTAMP_NOT_FINITE(timestamp))
	{
		value_special(encoder, "infinity", out);
		return;
	}

	/* counted from 1970, the last year that the server knows overflows */
	if (pg_add_s64_overflow(round_micros(timestamp, precision), EPOCH_MICROS, &micros))
		encode_out_of_range(encoder);
	if (encoder->type->physical == PHYSICAL_INT128)
		out->v.i128 = (int128) micros * NANOS_PER_MICRO;
	else if (precision <= MILLIS_PRECISION)
		out->v.i64 = micros / MICROS_PER_MILLI;
	else
		out->v.i64 = micros;
}

static void
encode_bytes(const ColumnEncoder *encoder, Datum value, Scalar *out)
{
	struct varlena *bytes = PG_DETOAST_DATUM_PACKED(value);

	out->v.bytes.data = VARDATA_ANY(bytes);
	out->v.bytes.length = VARSIZE_ANY_EXHDR(bytes);
	if (out->v.bytes.length > (uint32) encoder->type->length)
		encode_too_long(encoder);
}

static void
encode_string(const ColumnEncoder *encoder, Datum value, Scalar *out)
{
	struct varlena *text = PG_DETOAST_DATUM_PACKED(value);
	BytesView  *view = &out->v.bytes;

	view->data = VARDATA_ANY(text);
	view->length = VARSIZE_ANY_EXHDR(text);
	if (encoder->typid == BPCHAROID)
		view->length = bpchartruelen(VARDATA_ANY(text), view->length);

	/* lengths of strings are in characters */
	if (view->length > (uint32) encoder->type->length &&
		pg_mbstrlen_with_len(view->data, view->length) > encoder->type->length)
		encode_too_long(encoder);
}

/* Any type as text; the function's result is ours. */
static void
encode_output(const ColumnEncoder *encoder, Datum value, Scalar *out)
{
	char	   *text = OutputFunctionCall(encoder->output, value);

	out->v.bytes.data = text;
	out->v.bytes.length = strlen(text);
}

/* The type whose Datums a function takes, and the function. */
typedef struct EncoderEntry
{
	TypeRoot	root;
	Oid			typid;
	EncodeFunction encode;
} EncoderEntry;

static const EncoderEntry encoders[] = {
	{TYPE_BOOLEAN, BOOLOID, encode_boolean},
	{TYPE_TINYINT, INT2OID, encode_tinyint},
	{TYPE_SMALLINT, INT2OID, encode_smallint},
	{TYPE_INT, INT4OID, encode_int},
	{TYPE_BIGINT, INT8OID, encode_bigint},
	{TYPE_BIGINT, OIDOID, encode_oid},
	{TYPE_FLOAT, FLOAT4OID, encode_float},
	{TYPE_DOUBLE, FLOAT8OID, encode_double},
	{TYPE_DECIMAL, NUMERICOID, encode_decimal},
	{TYPE_CHAR, BPCHAROID, encode_string},
	{TYPE_CHAR, VARCHAROID, encode_string},
	{TYPE_CHAR, TEXTOID, encode_string},
	{TYPE_VARCHAR, BPCHAROID, encode_string},
	{TYPE_VARCHAR, VARCHAROID, encode_string},
	{TYPE_VARCHAR, TEXTOID, encode_string},
	{TYPE_BINARY, BYTEAOID, encode_bytes},
	{TYPE_VARBINARY, BYTEAOID, encode_bytes},
	{TYPE_DATE, DATEOID, encode_date},
	{TYPE_TIME, TIMEOID, encode_time},
	{TYPE_TIMESTAMP, TIMESTAMPOID, encode_timestamp},
	{TYPE_TIMESTAMP_LTZ, TIMESTAMPTZOID, encode_timestamp},
};

void
encode_require_encoding(const ColumnEncoder *encoder)
{
	if (GetDatabaseEncoding() != PG_UTF8)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot write column \"%s\" of table \"%s\" from a database with encoding \"%s\"",
						encoder->column, encoder->table, GetDatabaseEncodingName()),
				 errhint("Use a database with encoding UTF8.")));
}

void
encode_mismatch(const ColumnEncoder *encoder, Oid typid)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("column \"%s\" of table \"%s\" cannot take values of type %s",
					encoder->column, encoder->table, format_type_be(typid)),
			 errdetail("The column's type in the lake is %s.", type_describe(encoder->type))));
}

/* The scalar's vector lives as long as the datum. */
static void
encode_nested(const ColumnEncoder *encoder, Datum value, Scalar *out)
{
	Vector	   *vector = vector_create(encoder->type, 1);

	encoder->fill(encoder, value, vector, 0);
	*out = vector_get(vector, 0);
}

static EncodeFunction
atom_function(const ColumnEncoder *encoder, Oid typid)
{
	int			i;

	for (i = 0; i < lengthof(encoders); i++)
	{
		if (encoders[i].root == encoder->type->root && encoders[i].typid == encoder->typid)
			return encoders[i].encode;
	}
	encode_mismatch(encoder, typid);
	return NULL;				/* keep compiler quiet */
}

static void
init_common(ColumnEncoder *encoder, const char *table, const char *column, const DataType *type, Oid typid)
{
	memset(encoder, 0, sizeof(ColumnEncoder));
	encoder->table = table;
	encoder->column = column;
	encoder->type = type;
	encoder->typid = getBaseType(typid);
	encoder->policy = UNREPRESENTABLE_ERROR;
	encoder->hint = "Write NULL or another value instead.";
	get_typlenbyvalalign(encoder->typid, &encoder->typlen, &encoder->typbyval, &encoder->typalign);
	if (type_is_string(type))
		encode_require_encoding(encoder);
}

void
column_encoder_init_text(ColumnEncoder *encoder, const char *table, const char *column, const DataType *type,
						 Oid typid)
{
	Oid			output;
	bool		is_varlena;

	init_common(encoder, table, column, type, typid);
	if (type->root == TYPE_ARRAY)
	{
		encoder->encode = encode_nested;
		encoder_init_array(encoder, column_encoder_init_text);
		return;
	}
	getTypeOutputInfo(encoder->typid, &output, &is_varlena);
	encoder->output = palloc(sizeof(FmgrInfo));
	fmgr_info(output, encoder->output);
	encoder->encode = encode_output;
}

void
column_encoder_init(ColumnEncoder *encoder, const char *table, const char *column, const DataType *type,
					Oid typid)
{
	init_common(encoder, table, column, type, typid);
	if (!type_is_nested(type))
	{
		encoder->encode = atom_function(encoder, typid);
		return;
	}
	encoder->encode = encode_nested;
	if (encoder->typid == JSONBOID)
		encoder_init_json(encoder);
	else if (type->root == TYPE_ROW)
		encoder_init_row(encoder);
	else
		encoder_init_array(encoder, column_encoder_init);
}

void
column_encoder_set_policy(ColumnEncoder *encoder, UnrepresentablePolicy policy, const char *hint)
{
	int			i;

	encoder->policy = policy;
	encoder->hint = hint;
	for (i = 0; i < encoder->nparts; i++)
		column_encoder_set_policy(&encoder->parts[i], policy, hint);
}

void
column_encode(const ColumnEncoder *encoder, Datum value, bool isnull, Scalar *out)
{
	out->isnull = isnull;
	if (!isnull)
		encoder->encode(encoder, value, out);
	else if (!encoder->type->nullable)
		ereport(ERROR,
				(errcode(ERRCODE_NOT_NULL_VIOLATION),
				 errmsg("null value for column \"%s\" of table \"%s\", which is NOT NULL in the lake",
						encoder->column, encoder->table)));
}

void
encode_into(const ColumnEncoder *encoder, Datum value, bool isnull, Vector *target, int row)
{
	Scalar		scalar;

	if (encoder->fill != NULL && !isnull)
	{
		encoder->fill(encoder, value, target, row);
		return;
	}
	column_encode(encoder, value, isnull, &scalar);
	vector_set(target, row, &scalar);
}
