/*
 * compat.h
 *		The differences between the supported servers, PostgreSQL 15 to 18.
 *
 * Call sites are written for the newest server; what an older one lacks is
 * made up for here.  No other file tests PG_VERSION_NUM.
 */
#ifndef STREAMHOUSE_COMPAT_H
#define STREAMHOUSE_COMPAT_H

#include "postgres.h"

#include "common/jsonapi.h"
#include "mb/pg_wchar.h"

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 190000
#error "streamhouse supports PostgreSQL 15 to 18"
#endif

/*
 * The actions of the JSON parser return a result since 16:
 *
 *		static JsonActionResult
 *		on_scalar(void *state, ...)
 *		{
 *			...
 *			JSON_ACTION_RETURN;
 *		}
 */
#if PG_VERSION_NUM >= 160000
typedef JsonParseErrorType JsonActionResult;
#define JSON_ACTION_RETURN return JSON_SUCCESS
#else
typedef void JsonActionResult;
#define JSON_ACTION_RETURN return
#endif

/* A lexer for UTF-8 text, with escapes resolved. */
static inline JsonLexContext *
compat_json_lexer(const char *text, size_t length)
{
#if PG_VERSION_NUM >= 170000
	return makeJsonLexContextCstringLen(NULL, text, length, PG_UTF8, true);
#else
	return makeJsonLexContextCstringLen(unconstify(char *, text), (int) length, PG_UTF8, true);
#endif
}

#endif							/* STREAMHOUSE_COMPAT_H */
