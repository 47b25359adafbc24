/*
 * json_build.c
 *		Building a jsonb value from the lake's values.
 */
#include "postgres.h"

#include <math.h>

#include "common/shortest_dec.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"

#include "compat.h"
#include "fdw/json_build.h"

void
json_bracket(JsonBuild *build, JsonbIteratorToken token)
{
	build->root = pushJsonbValue(&build->state, token, NULL);
}

static void
put(JsonBuild *build, JsonbIteratorToken place, JsonbValue *value)
{
	if (build->state != NULL)
	{
		(void) pushJsonbValue(&build->state, place, value);
		return;
	}
	build->root = palloc(sizeof(JsonbValue));
	*build->root = *value;
}

static JsonbValue
string_value(BytesView bytes)
{
	JsonbValue	value = {.type = jbvString};

	if (bytes.length > JENTRY_OFFLENMASK)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("string too long to represent as jsonb string")));
	value.val.string.val = unconstify(char *, bytes.data);
	value.val.string.len = (int) bytes.length;
	return value;
}

void
json_key(JsonBuild *build, BytesView name)
{
	JsonbValue	value = string_value(name);

	(void) pushJsonbValue(&build->state, WJB_KEY, &value);
}

void
json_null(JsonBuild *build, JsonbIteratorToken place)
{
	JsonbValue	value = {.type = jbvNull};

	put(build, place, &value);
}

void
json_boolean(JsonBuild *build, JsonbIteratorToken place, bool value)
{
	JsonbValue	json = {.type = jbvBool};

	json.val.boolean = value;
	put(build, place, &json);
}

void
json_numeric(JsonBuild *build, JsonbIteratorToken place, Numeric value)
{
	JsonbValue	json = {.type = jbvNumeric};

	json.val.numeric = value;
	put(build, place, &json);
}

void
json_integer(JsonBuild *build, JsonbIteratorToken place, int64 value)
{
	json_numeric(build, place, int64_to_numeric(value));
}

void
json_string(JsonBuild *build, JsonbIteratorToken place, BytesView value)
{
	JsonbValue	json = string_value(value);

	put(build, place, &json);
}

static void
json_text(JsonBuild *build, JsonbIteratorToken place, const char *text)
{
	BytesView	bytes = {text, strlen(text)};

	json_string(build, place, bytes);
}

/* A number by its shortest text. */
static void
put_float(JsonBuild *build, JsonbIteratorToken place, double value, char *shortest)
{
	if (isnan(value))
		json_text(build, place, "NaN");
	else if (isinf(value))
		json_text(build, place, value > 0 ? "Infinity" : "-Infinity");
	else
		json_numeric(build, place, DatumGetNumeric(DirectFunctionCall3(numeric_in, CStringGetDatum(shortest),
																	   ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1))));
}

void
json_float(JsonBuild *build, JsonbIteratorToken place, float value)
{
	char		shortest[FLOAT_SHORTEST_DECIMAL_LEN];

	float_to_shortest_decimal_buf(value, shortest);
	put_float(build, place, value, shortest);
}

void
json_double(JsonBuild *build, JsonbIteratorToken place, double value)
{
	char		shortest[DOUBLE_SHORTEST_DECIMAL_LEN];

	double_to_shortest_decimal_buf(value, shortest);
	put_float(build, place, value, shortest);
}

void
json_datetime(JsonBuild *build, JsonbIteratorToken place, Datum value, Oid typid)
{
	json_text(build, place, JsonEncodeDateTime(NULL, value, typid, NULL));
}

void
json_bytea(JsonBuild *build, JsonbIteratorToken place, BytesView value)
{
	Size		length = 2 + (Size) value.length * 2;
	BytesView	text;
	char	   *hex = MemoryContextAllocHuge(CurrentMemoryContext, length);

	memcpy(hex, "\\x", 2);
	(void) hex_encode(value.data, value.length, hex + 2);
	text.data = hex;
	text.length = (uint32) Min(length, PG_UINT32_MAX);
	json_string(build, place, text);
}

Datum
json_result(const JsonBuild *build, MemoryContext context)
{
	Jsonb	   *json = JsonbValueToJsonb(build->root);
	Jsonb	   *copy = MemoryContextAlloc(context, VARSIZE(json));

	memcpy(copy, json, VARSIZE(json));
	return JsonbPGetDatum(copy);
}
