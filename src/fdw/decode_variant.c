/*
 * decode_variant.c
 *		VARIANT becomes jsonb.
 *
 * What JSON has no type for becomes a string, as in Paimon: of binary values
 * in base64.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type_d.h"
#include "common/base64.h"
#include "miscadmin.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "columnar/decimal.h"
#include "columnar/variant.h"
#include "fdw/decode.h"
#include "fdw/decode_variant.h"
#include "fdw/epoch.h"
#include "fdw/numeric.h"

/* What all of one value needs. */
typedef struct VariantDecoding
{
	JsonBuild  *build;
	const ColumnDecoder *decoder;
	VariantMetadata metadata;
} VariantDecoding;

static void put_variant(VariantDecoding *decoding, JsonbIteratorToken place, VariantValue *value);

static pg_noinline void
variant_damaged(const ColumnDecoder *decoder)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("value of column \"%s\" of table \"%s\" is no valid VARIANT", decoder->column, decoder->table)));
}

static void
put_array(VariantDecoding *decoding, VariantValue *value)
{
	VariantValue member;
	uint32		i;

	json_bracket(decoding->build, WJB_BEGIN_ARRAY);
	for (i = 0; i < value->count; i++)
	{
		if (!variant_member(value, &decoding->metadata, i, NULL, &member))
			variant_damaged(decoding->decoder);
		put_variant(decoding, WJB_ELEM, &member);
	}
	json_bracket(decoding->build, WJB_END_ARRAY);
}

static void
put_object(VariantDecoding *decoding, VariantValue *value)
{
	VariantValue member;
	BytesView	name;
	uint32		i;

	json_bracket(decoding->build, WJB_BEGIN_OBJECT);
	for (i = 0; i < value->count; i++)
	{
		if (!variant_member(value, &decoding->metadata, i, &name, &member))
			variant_damaged(decoding->decoder);
		decode_check_string(decoding->decoder, name);
		json_key(decoding->build, name);
		put_variant(decoding, WJB_VALUE, &member);
	}
	json_bracket(decoding->build, WJB_END_OBJECT);
}

static void
put_decimal(VariantDecoding *decoding, JsonbIteratorToken place, const VariantValue *value)
{
	char	   *numeric = palloc(DECIMAL_NUMERIC_SIZE);

	if (!decimal_fits(value->unscaled, TYPE_MAX_DECIMAL_PRECISION))
		variant_damaged(decoding->decoder);
	decimal_to_numeric(value->unscaled, value->scale, numeric);
	json_numeric(decoding->build, place, (Numeric) numeric);
}

static void
put_date(VariantDecoding *decoding, JsonbIteratorToken place, const VariantValue *value)
{
	int64		date = value->integer - EPOCH_DAYS;

	if (!IS_VALID_DATE(date))
		decode_out_of_range(decoding->decoder);
	json_datetime(decoding->build, place, DateADTGetDatum((DateADT) date), DATEOID);
}

static void
put_time(VariantDecoding *decoding, JsonbIteratorToken place, const VariantValue *value)
{
	if (value->integer < 0 || value->integer >= USECS_PER_DAY)
		decode_out_of_range(decoding->decoder);
	json_datetime(decoding->build, place, TimeADTGetDatum(value->integer), TIMEOID);
}

static void
put_timestamp(VariantDecoding *decoding, JsonbIteratorToken place, const VariantValue *value, Oid typid)
{
	int128		micros = (value->is_nanos ? nanos_to_micros(value->integer) : value->integer) - (int128) EPOCH_MICROS;

	if (micros < MIN_TIMESTAMP || micros >= END_TIMESTAMP)
		decode_out_of_range(decoding->decoder);
	json_datetime(decoding->build, place, TimestampGetDatum((Timestamp) micros), typid);
}

static void
put_binary(VariantDecoding *decoding, JsonbIteratorToken place, const VariantValue *value)
{
	const void *data = value->bytes.data;
	int			room;
	char	   *base64;
	BytesView	text;

	if (value->bytes.length > MaxAllocSize / 2)
		decode_too_long(decoding->decoder);
	room = pg_b64_enc_len(value->bytes.length);
	text.data = base64 = palloc(room);
	text.length = pg_b64_encode(data, value->bytes.length, base64, room);
	json_string(decoding->build, place, text);
}

static void
put_uuid(VariantDecoding *decoding, JsonbIteratorToken place, const VariantValue *value)
{
	BytesView	text;
	pg_uuid_t	uuid;

	memcpy(uuid.data, value->bytes.data, UUID_LEN);
	text.data = DatumGetCString(DirectFunctionCall1(uuid_out, UUIDPGetDatum(&uuid)));
	text.length = strlen(text.data);
	json_string(decoding->build, place, text);
}

static void
put_float(VariantDecoding *decoding, JsonbIteratorToken place, const VariantValue *value)
{
	if (decoding->decoder->strict && (isnan(value->number) || isinf(value->number)))
		decode_would_change(decoding->decoder, "a number that JSON lacks");
	if (value->kind == VARIANT_FLOAT)
		json_float(decoding->build, place, (float) value->number);
	else
		json_double(decoding->build, place, value->number);
}

/* What becomes a string, and would stay one. */
static void
put_special(VariantDecoding *decoding, JsonbIteratorToken place, const VariantValue *value)
{
	if (decoding->decoder->strict)
		decode_would_change(decoding->decoder, "a value of a type that JSON lacks");
	switch (value->kind)
	{
		case VARIANT_DATE:
			put_date(decoding, place, value);
			break;
		case VARIANT_TIME:
			put_time(decoding, place, value);
			break;
		case VARIANT_TIMESTAMP:
			put_timestamp(decoding, place, value, TIMESTAMPOID);
			break;
		case VARIANT_TIMESTAMP_LTZ:
			put_timestamp(decoding, place, value, TIMESTAMPTZOID);
			break;
		case VARIANT_BINARY:
			put_binary(decoding, place, value);
			break;
		default:
			Assert(value->kind == VARIANT_UUID);
			put_uuid(decoding, place, value);
			break;
	}
}

static void
put_variant(VariantDecoding *decoding, JsonbIteratorToken place, VariantValue *value)
{
	check_stack_depth();
	switch (value->kind)
	{
		case VARIANT_NULL:
			json_null(decoding->build, place);
			break;
		case VARIANT_BOOLEAN:
			json_boolean(decoding->build, place, value->integer != 0);
			break;
		case VARIANT_INTEGER:
			json_integer(decoding->build, place, value->integer);
			break;
		case VARIANT_FLOAT:
		case VARIANT_DOUBLE:
			put_float(decoding, place, value);
			break;
		case VARIANT_DECIMAL:
			put_decimal(decoding, place, value);
			break;
		case VARIANT_STRING:
			decode_check_string(decoding->decoder, value->bytes);
			json_string(decoding->build, place, value->bytes);
			break;
		case VARIANT_ARRAY:
			put_array(decoding, value);
			break;
		case VARIANT_OBJECT:
			put_object(decoding, value);
			break;
		default:
			put_special(decoding, place, value);
			break;
	}
}

void
decode_variant(JsonBuild *build, JsonbIteratorToken place, const ColumnDecoder *decoder, BytesView metadata,
			   BytesView value)
{
	VariantDecoding decoding = {.build = build, .decoder = decoder};
	VariantValue root;

	if (!variant_read_metadata(metadata, &decoding.metadata) || !variant_read(value, &root))
		variant_damaged(decoder);
	put_variant(&decoding, place, &root);
}
