/*
 * value_text.c
 *		Values as Java prints them.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "columnar/decimal.h"
#include "common/shortest_dec.h"
#include "columnar/value_text.h"
#include "mb/pg_wchar.h"

#define SECONDS_PER_DAY 86400
#define NANOS_PER_SECOND INT64CONST(1000000000)

/* ---- dates and times ---- */

/*
 * The date of a day since 1970-01-01 in the proleptic Gregorian calendar.
 * Years are counted from March, so that the leap day ends them; 400 years are
 * 146097 days.
 */
static void
split_date(int64 days, int64 *year, int *month, int *day)
{
	int64		shifted = days + 719468;	/* since 0000-03-01 */
	int64		era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
	int			day_of_era = (int) (shifted - era * 146097);
	int			year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	int			day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	int			month_index = (5 * day_of_year + 2) / 153;	/* 0: March */

	*day = day_of_year - (153 * month_index + 2) / 5 + 1;
	*month = month_index < 10 ? month_index + 3 : month_index - 9;
	*year = era * 400 + year_of_era + (*month <= 2 ? 1 : 0);
}

/* ISO: years that are not of four digits have a sign. */
static void
append_iso_date(StringInfo out, int64 days)
{
	int64		year;
	int			month;
	int			day;

	split_date(days, &year, &month, &day);
	if (year < 0 || year > 9999)
		appendStringInfoChar(out, year < 0 ? '-' : '+');
	appendStringInfo(out, "%04lld-%02d-%02d", (long long) (year < 0 ? -year : year), month, day);
}

/* SQL: the last four digits of the year, which before the year 0 are no digits. */
static void
append_sql_date(StringInfo out, int64 days)
{
	int64		year;
	int			month;
	int			day;

	split_date(days, &year, &month, &day);
	for (int divisor = 1000; divisor > 0; divisor /= 10)
		appendStringInfoChar(out, (char) ('0' + year / divisor % 10));
	appendStringInfo(out, "-%02d-%02d", month, day);
}

/* Split a timestamp into day, second of the day and nanosecond. */
static void
split_timestamp(const DataType *type, const Scalar *value, int64 *days, int *second, int *nanos)
{
	int128		time;
	int128		seconds;
	int64		per_second;

	if (type->physical == PHYSICAL_INT128)
	{
		time = value->v.i128;
		per_second = NANOS_PER_SECOND;
	}
	else
	{
		time = value->v.i64;
		per_second = type->precision <= 3 ? 1000 : 1000000;
	}
	seconds = time / per_second - (time % per_second < 0 ? 1 : 0);
	*nanos = (int) ((time - seconds * per_second) * (NANOS_PER_SECOND / per_second));
	*days = (int64) (seconds / SECONDS_PER_DAY - (seconds % SECONDS_PER_DAY < 0 ? 1 : 0));
	*second = (int) (seconds - (int128) *days * SECONDS_PER_DAY);
}

/* ISO: seconds only when they or the fraction are not zero, the fraction in groups of three. */
static void
append_iso_timestamp(StringInfo out, int64 days, int second, int nanos)
{
	append_iso_date(out, days);
	appendStringInfo(out, "T%02d:%02d", second / 3600, second / 60 % 60);
	if (second % 60 == 0 && nanos == 0)
		return;
	appendStringInfo(out, ":%02d", second % 60);
	if (nanos == 0)
		return;
	if (nanos % 1000000 == 0)
		appendStringInfo(out, ".%03d", nanos / 1000000);
	else if (nanos % 1000 == 0)
		appendStringInfo(out, ".%06d", nanos / 1000);
	else
		appendStringInfo(out, ".%09d", nanos);
}

/* SQL: always seconds, and just the digits of the precision. */
static void
append_sql_timestamp(StringInfo out, int64 days, int second, int nanos, int precision)
{
	char		fraction[16];

	append_sql_date(out, days);
	appendStringInfo(out, " %02d:%02d:%02d", second / 3600, second / 60 % 60, second % 60);
	if (precision > 0)
	{
		snprintf(fraction, sizeof(fraction), "%09d", nanos);
		appendStringInfo(out, ".%.*s", precision, fraction);
	}
}

/* At least one digit of the fraction when the precision allows any, but no zeros at the end. */
static void
append_time(StringInfo out, int millis, int precision)
{
	int			second = millis / 1000;
	int			rest = millis % 1000;

	appendStringInfo(out, "%02d:%02d:%02d", second / 3600, second / 60 % 60, second % 60);
	if (precision <= 0)
		return;
	appendStringInfoChar(out, '.');
	for (int i = 0; i < precision && (i == 0 || rest > 0); i++)
	{
		appendStringInfoChar(out, '0' + (char) (rest / 100));
		rest = rest % 100 * 10;
	}
}

static bool
append_timestamp(StringInfo out, const DataType *type, const Scalar *value, ValueTextStyle style)
{
	int64		days;
	int			second;
	int			nanos;

	split_timestamp(type, value, &days, &second, &nanos);
	if (style == VALUE_TEXT_LEGACY)
		append_iso_timestamp(out, days, second, nanos);
	else if (type->root == TYPE_TIMESTAMP_LTZ && style == VALUE_TEXT_CAST)
		return false;			/* in the time zone of whoever wrote it */
	else
		append_sql_timestamp(out, days, second, nanos, type->precision);
	return true;
}

/* ---- floats ---- */

/* Significant digits and the decimal point's place among them: 0.00123 is "123", -2. */
static void
split_shortest(const char *shortest, char *digits, int *point)
{
	int			ndigits = 0;
	bool		after_point = false;

	*point = 0;
	for (; *shortest != '\0' && *shortest != 'e'; shortest++)
	{
		if (*shortest == '.')
			after_point = true;
		else if (*shortest != '-')
		{
			if (ndigits == 0 && *shortest == '0')
			{
				if (after_point)
					(*point)--;
				continue;
			}
			digits[ndigits++] = *shortest;
			if (!after_point)
				(*point)++;
		}
	}
	if (*shortest == 'e')
		*point += atoi(shortest + 1);
	while (ndigits > 1 && digits[ndigits - 1] == '0')
		ndigits--;
	digits[ndigits] = '\0';
}

/*
 * As Double.toString: plain from 0.001 up to ten millions, else with an
 * exponent; always a digit after the point.  (Java before 19 gives more digits
 * than needed for a few numbers; that is not copied.)
 */
static void
append_java_float(StringInfo out, double value, const char *shortest)
{
	char		digits[DOUBLE_SHORTEST_DECIMAL_LEN];
	char		denormal[DOUBLE_SHORTEST_DECIMAL_LEN];
	int			ndigits;
	int			point;

	if (isnan(value))
	{
		appendStringInfoString(out, "NaN");
		return;
	}
	if (signbit(value))
		appendStringInfoChar(out, '-');
	if (isinf(value) || value == 0)
	{
		appendStringInfoString(out, value == 0 ? "0.0" : "Infinity");
		return;
	}

	/* the two digits that are nearest, not the shortest single one that reads back */
	if (fabs(value) < FLT_MIN && (shortest[0] == '-' ? shortest[2] : shortest[1]) == 'e')
	{
		snprintf(denormal, sizeof(denormal), "%.1e", value);
		shortest = denormal;
	}
	split_shortest(shortest, digits, &point);
	ndigits = (int) strlen(digits);
	if (point < -2 || point > 7)
		appendStringInfo(out, "%c.%sE%d", digits[0], ndigits > 1 ? digits + 1 : "0", point - 1);
	else if (point <= 0)
		appendStringInfo(out, "0.%.*s%s", -point, "00", digits);
	else if (point >= ndigits)
		appendStringInfo(out, "%s%.*s.0", digits, point - ndigits, "0000000");
	else
		appendStringInfo(out, "%.*s.%s", point, digits, digits + point);
}

static void
append_float(StringInfo out, float value)
{
	char		shortest[FLOAT_SHORTEST_DECIMAL_LEN];

	float_to_shortest_decimal_buf(value, shortest);
	append_java_float(out, value, shortest);
}

void
double_to_text(StringInfo out, double value)
{
	char		shortest[DOUBLE_SHORTEST_DECIMAL_LEN];

	double_to_shortest_decimal_buf(value, shortest);
	append_java_float(out, value, shortest);
}

/* ---- all types ---- */

/* Zero bytes, which the server's check takes for the end, are characters to Java. */
static bool
is_utf8(BytesView bytes)
{
	uint32		at = 0;

	while (at < bytes.length)
	{
		int			length = bytes.data[at] == '\0' ? 1 :
			pg_encoding_verifymbchar(PG_UTF8, bytes.data + at, bytes.length - at);

		if (length < 1)
			return false;
		at += length;
	}
	return true;
}

static bool
append_bytes(StringInfo out, BytesView bytes)
{
	if (!is_utf8(bytes))
		return false;
	appendBinaryStringInfo(out, bytes.data, bytes.length);
	return true;
}

bool
value_to_text(StringInfo out, const DataType *type, const Scalar *value, ValueTextStyle style)
{
	switch (type->root)
	{
		case TYPE_BOOLEAN:
			appendStringInfoString(out, value->v.i8 ? "true" : "false");
			return true;
		case TYPE_TINYINT:
		case TYPE_SMALLINT:
		case TYPE_INT:
		case TYPE_BIGINT:
			appendStringInfo(out, INT64_FORMAT, scalar_integer(type->physical, value));
			return true;
		case TYPE_FLOAT:
			append_float(out, value->v.f32);
			return true;
		case TYPE_DOUBLE:
			double_to_text(out, value->v.f64);
			return true;
		case TYPE_DECIMAL:
			decimal_to_text(out, type->physical == PHYSICAL_INT128 ? value->v.i128 : value->v.i64, type->scale);
			return true;
		case TYPE_CHAR:
		case TYPE_VARCHAR:
			return append_bytes(out, value->v.bytes);
		case TYPE_BINARY:
		case TYPE_VARBINARY:
			/* the legacy text is the address of a Java object */
			return style != VALUE_TEXT_LEGACY && append_bytes(out, value->v.bytes);
		case TYPE_DATE:
			if (style == VALUE_TEXT_LEGACY)
				appendStringInfo(out, "%d", value->v.i32);
			else
				append_sql_date(out, value->v.i32);
			return true;
		case TYPE_TIME:
			if (style == VALUE_TEXT_LEGACY)
				appendStringInfo(out, "%d", value->v.i32);
			else
				append_time(out, value->v.i32, type->precision);
			return true;
		case TYPE_TIMESTAMP:
		case TYPE_TIMESTAMP_LTZ:
			return append_timestamp(out, type, value, style);
		default:
			return false;
	}
}
