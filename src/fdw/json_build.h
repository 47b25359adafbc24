/*
 * json_build.h
 *		Building a jsonb value from the lake's values.
 *
 * Containers are begun and ended with the server's tokens; place says what a
 * value is within its container: WJB_ELEM or WJB_VALUE.
 */
#ifndef STREAMHOUSE_FDW_JSON_BUILD_H
#define STREAMHOUSE_FDW_JSON_BUILD_H

#include "utils/jsonb.h"
#include "utils/numeric.h"

#include "columnar/vector.h"

typedef struct JsonBuild
{
	JsonbParseState *state;
	JsonbValue *root;
} JsonBuild;

/* WJB_BEGIN_ARRAY, WJB_END_ARRAY, WJB_BEGIN_OBJECT, WJB_END_OBJECT. */
extern void json_bracket(JsonBuild *build, JsonbIteratorToken token);

/* An object's key; the caller has checked that it is valid text. */
extern void json_key(JsonBuild *build, BytesView name);

extern void json_null(JsonBuild *build, JsonbIteratorToken place);
extern void json_boolean(JsonBuild *build, JsonbIteratorToken place, bool value);
extern void json_integer(JsonBuild *build, JsonbIteratorToken place, int64 value);
extern void json_numeric(JsonBuild *build, JsonbIteratorToken place, Numeric value);
extern void json_string(JsonBuild *build, JsonbIteratorToken place, BytesView value);

/* Strings for what is no number to JSON. */
extern void json_float(JsonBuild *build, JsonbIteratorToken place, float value);
extern void json_double(JsonBuild *build, JsonbIteratorToken place, double value);

/* Strings as to_jsonb makes them: of date, time, timestamp, timestamptz; of bytea. */
extern void json_datetime(JsonBuild *build, JsonbIteratorToken place, Datum value, Oid typid);
extern void json_bytea(JsonBuild *build, JsonbIteratorToken place, BytesView value);

/* Once the value is complete: a copy that takes no more than it needs, in context. */
extern Datum json_result(const JsonBuild *build, MemoryContext context);

#endif							/* STREAMHOUSE_FDW_JSON_BUILD_H */
