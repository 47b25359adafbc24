/*
 * cast_parse_time.c
 *		Dates, times and timestamps from strings, as Java reads them.
 *
 * A string of nothing but digits is the number that stands for the value in
 * Java's memory.  Dates and times are read generously, timestamps by a pattern.
 */
#include "postgres.h"

#include "columnar/cast_value.h"

#define NANOS_PER_MILLI 1000000
#define MAX_YEAR 999999999
#define MAX_NUMBER_DIGITS 19

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits only, a minus before them allowed? */
static bool
is_numeric(BytesView text)
{
	uint32		at = text.length > 0 && text.data[0] == '-' ? 1 : 0;

	if (at == text.length)
		return false;
	while (at < text.length && is_digit(text.data[at]))
		at++;
	return at == text.length;
}

/* Days since 1970-01-01 of a date of the proleptic Gregorian calendar; years are counted from March. */
static int64
date_to_days(int64 year, int month, int day)
{
	int64		march_year = month > 2 ? year : year - 1;
	int64		era = (march_year >= 0 ? march_year : march_year - 399) / 400;
	int			year_of_era = (int) (march_year - era * 400);
	int			day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

	return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

static int
days_of_month(int64 year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool		leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return month == 2 && leap ? 29 : days[month - 1];
}

/* ---- dates and times ---- */

/* Where a character is, from a position on; -1 if nowhere. */
static int
find(BytesView text, char wanted, int from)
{
	for (int at = from; at < (int) text.length; at++)
	{
		if (text.data[at] == wanted)
			return at;
	}
	return -1;
}

/* A number between blanks from start to end. */
static bool
parse_part(BytesView text, int start, int end, int32 *value)
{
	int64		result = 0;

	while (start < end && (unsigned char) text.data[start] <= ' ')
		start++;
	while (start < end && (unsigned char) text.data[end - 1] <= ' ')
		end--;
	if (start >= end)
		return false;
	for (; start < end; start++)
	{
		if (!is_digit(text.data[start]))
			return false;
		result = result * 10 + (text.data[start] - '0');
		if (result > PG_INT32_MAX)
			return false;
	}
	*value = (int32) result;
	return true;
}

/* Year, year and month or a whole date; a time behind it does not count. */
static bool
parse_date(BytesView text, int32 *days)
{
	int			blank = find(text, ' ', 0);
	int			first;
	int			second;
	int32		year;
	int32		month = 1;
	int32		day = 1;
	int			end = (int) text.length;

	if (blank > 0)
		end = text.length = blank;
	first = find(text, '-', 0);
	second = first < 0 ? -1 : find(text, '-', first + 1);
	if (!parse_part(text, 0, first < 0 ? end : first, &year) ||
		(first >= 0 && !parse_part(text, first + 1, second < 0 ? end : second, &month)) ||
		(second >= 0 && !parse_part(text, second + 1, end, &day)))
		return false;
	if (year > 9999 || month < 1 || month > 12 || day < 1 || day > days_of_month(year, month))
		return false;
	*days = (int32) date_to_days(year, month, day);
	return true;
}

CastResult
cast_parse_date(CastState *state, const Scalar *in, Scalar *out)
{
	int64		number;

	if (!is_numeric(in->v.bytes))
		return parse_date(in->v.bytes, &out->v.i32) ? CAST_DONE : CAST_FAILED;
	if (!cast_integer_from_text(in->v.bytes, PG_INT32_MIN, PG_INT32_MAX, &number))
		return CAST_FAILED;
	out->v.i32 = (int32) number;
	return CAST_DONE;
}

/* Three digits, rounded by the fourth; other characters are zeros.  Beyond ASCII we do not follow. */
static bool
parse_milliseconds(BytesView text, int start, int end, int32 *millis)
{
	int32		weight = 100;

	*millis = 0;
	while (start < end && (unsigned char) text.data[start] <= ' ')
		start++;
	while (start < end && (unsigned char) text.data[end - 1] <= ' ')
		end--;
	for (int at = start; at < end; at++)
	{
		if ((unsigned char) text.data[at] > 0x7f)
			return false;
		if (weight > 0 && is_digit(text.data[at]))
			*millis += weight * (text.data[at] - '0');
		if (at == start + 3 && text.data[at] >= '5')
			(*millis)++;
		weight /= 10;
	}
	return true;
}

/* "[+|-]hours[:minutes]" from the sign on, which is taken to be of a time zone. */
static bool
parse_zone(BytesView text, int sign, int32 *hours, int32 *minutes)
{
	int			colon = find(text, ':', sign);
	int			end = (int) text.length;

	*minutes = 0;
	return parse_part(text, sign + 1, colon < 0 ? end : colon, hours) &&
		(colon < 0 || parse_part(text, colon + 1, end, minutes));
}

/* "hours[:minutes[:seconds[.fraction]]]" up to end */
static bool
parse_clock(BytesView text, int end, int32 *hours, int32 *minutes, int32 *seconds, int32 *millis)
{
	int			first = find(text, ':', 0);
	int			second = first < 0 ? -1 : find(text, ':', first + 1);
	int			point = second < 0 ? -1 : find(text, '.', second);

	*minutes = *seconds = *millis = 0;
	if (point >= end)
		return false;
	return parse_part(text, 0, first < 0 ? end : first, hours) &&
		(first < 0 || parse_part(text, first + 1, second < 0 ? end : second, minutes)) &&
		(second < 0 || parse_part(text, second + 1, point < 0 ? end : point, seconds)) &&
		(point < 0 || parse_milliseconds(text, point + 1, end, millis));
}

/* A time with a zone is moved by it, hours and minutes may be any, and overflow as in Java. */
static bool
parse_time(BytesView text, int32 *time)
{
	int			minus = find(text, '-', 0);
	int			sign = minus >= 0 ? minus : find(text, '+', 0);
	int32		hours;
	int32		minutes;
	int32		seconds;
	int32		millis;
	int32		zone_hours = 0;
	int32		zone_minutes = 0;
	uint32		direction = minus >= 0 ? (uint32) -1 : 1;

	if (!parse_clock(text, sign >= 0 ? sign : (int) text.length, &hours, &minutes, &seconds, &millis) ||
		(sign >= 0 && !parse_zone(text, sign, &zone_hours, &zone_minutes)))
		return false;
	*time = (int32) (((uint32) hours + direction * zone_hours) * 3600000u +
					 ((uint32) minutes + direction * zone_minutes) * 60000u +
					 (uint32) seconds * 1000u + (uint32) millis);
	return true;
}

/* What is no time of a day Java keeps for one, until somebody looks: here it is an error. */
CastResult
cast_parse_time(CastState *state, const Scalar *in, Scalar *out)
{
	int64		number;

	if (is_numeric(in->v.bytes))
	{
		if (!cast_integer_from_text(in->v.bytes, 0, MILLIS_PER_DAY - 1, &number))
			return CAST_FAILED;
		out->v.i32 = (int32) number;
		return CAST_DONE;
	}
	if (!parse_time(in->v.bytes, &out->v.i32) || out->v.i32 < 0 || out->v.i32 >= MILLIS_PER_DAY)
		return CAST_FAILED;
	return CAST_DONE;
}

/* ---- timestamps ---- */

/* A field of the pattern: two digits or as many as there are, or nothing. */
typedef struct PatternField
{
	bool		present;
	int64		value;
} PatternField;

typedef struct TimestampText
{
	const char *at;
	const char *end;
	int64		year;
	PatternField month;
	PatternField day;
	PatternField hour;
	PatternField minute;
	PatternField second;
	PatternField nanos;
} TimestampText;

static bool
take_character(TimestampText *text, char wanted)
{
	if (text->at == text->end || *text->at != wanted)
		return false;
	text->at++;
	return true;
}

/* Up to max digits; how many there were. */
static int
take_digits(TimestampText *text, int max, int64 *value)
{
	int			ndigits = 0;

	*value = 0;
	while (text->at < text->end && ndigits < max && is_digit(*text->at))
	{
		if (__builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, *text->at - '0', value))
			*value = PG_INT64_MAX;
		text->at++;
		ndigits++;
	}
	return ndigits;
}

/* Four digits, or more after a plus. */
static bool
take_year(TimestampText *text)
{
	bool		plus = take_character(text, '+');
	int			ndigits = take_digits(text, MAX_NUMBER_DIGITS, &text->year);

	return (plus ? ndigits > 4 : ndigits == 4) && text->year >= 1 && text->year <= MAX_YEAR;
}

/*
 * Java's pattern "[XX][X]": two digits, then a number that may be negative,
 * both optional; a number after the digits that is another one is not taken.
 */
static void
take_field(TimestampText *text, PatternField *field)
{
	const char *start = text->at;
	bool		negative;
	int64		number;

	field->present = take_digits(text, 2, &field->value) == 2;
	if (!field->present)
		text->at = start;
	start = text->at;
	negative = take_character(text, '-');
	if (take_digits(text, MAX_NUMBER_DIGITS, &number) == 0 || (negative && number == 0) ||
		(field->present && field->value != (negative ? -number : number)))
		text->at = start;
	else
	{
		field->present = true;
		field->value = negative ? -number : number;
	}
}

static void
take_fraction(TimestampText *text)
{
	int			ndigits;

	text->nanos.present = take_character(text, '.');
	if (!text->nanos.present)
		return;
	ndigits = take_digits(text, 9, &text->nanos.value);
	for (; ndigits < 9; ndigits++)
		text->nanos.value *= 10;
}

/* "yyyy-[MM][M]-[dd][d]", and " [HH][H]:[mm][m]:[ss][s]" with a fraction or not */
static bool
take_timestamp(TimestampText *text)
{
	if (!take_year(text) || !take_character(text, '-'))
		return false;
	take_field(text, &text->month);
	if (!take_character(text, '-'))
		return false;
	take_field(text, &text->day);
	if (text->at == text->end)
		return true;
	if (!take_character(text, ' '))
		return false;
	take_field(text, &text->hour);
	if (!take_character(text, ':'))
		return false;
	take_field(text, &text->minute);
	if (!take_character(text, ':'))
		return false;
	take_field(text, &text->second);
	take_fraction(text);
	return text->at == text->end;
}

/* The value of a field, or what it is if it is not there; -1 when it is out of range. */
static int
field_value(const PatternField *field, int missing, int min, int max)
{
	if (!field->present)
		return missing;
	return field->value >= min && field->value <= max ? (int) field->value : -1;
}

/* A day too late for the month is the month's last one, and 24:00 is the next day's begin. */
static bool
resolve_timestamp(const TimestampText *text, int64 *millis)
{
	int			month = field_value(&text->month, 1, 1, 12);
	int			day = field_value(&text->day, 1, 1, 31);
	int			hour = field_value(&text->hour, 0, 0, 24);
	int			minute = field_value(&text->minute, 0, 0, 59);
	int			second = field_value(&text->second, 0, 0, 59);
	bool		whole_date = text->month.present && text->day.present;
	bool		whole_time = text->minute.present && text->second.present;
	int64		seconds;

	if (month < 0 || day < 0 || hour < 0 || minute < 0 || second < 0)
		return false;
	if (hour == 24 && (minute > 0 || second > 0 || text->nanos.value > 0 || !whole_date || !whole_time))
		return false;
	if (day > days_of_month(text->year, month))
	{
		if (!whole_date)
			return false;
		day = days_of_month(text->year, month);
	}
	seconds = date_to_days(text->year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
	return !__builtin_mul_overflow(seconds, 1000, millis);
}

/* A number counts the type's units, which only those of whole thousands have. */
static CastResult
number_to_timestamp(const DataType *type, BytesView text, Scalar *out)
{
	int64		number;

	if (type->precision % 3 != 0 || !cast_integer_from_text(text, PG_INT64_MIN, PG_INT64_MAX, &number))
		return CAST_FAILED;
	if (type->physical == PHYSICAL_INT128)
		out->v.i128 = number;
	else
		out->v.i64 = type->precision == 0 ? (int64) ((uint64) number * 1000) : number;
	return CAST_DONE;
}

CastResult
cast_parse_timestamp(CastState *state, const Scalar *in, Scalar *out)
{
	const DataType *type = state->to;
	TimestampText text = {.at = in->v.bytes.data, .end = in->v.bytes.data + in->v.bytes.length};
	int64		millis;
	int32		nanos;
	int32		unit = 1;

	if (type->root == TYPE_TIMESTAMP && is_numeric(in->v.bytes))
		return number_to_timestamp(type, in->v.bytes, out);
	if (!take_timestamp(&text) || !resolve_timestamp(&text, &millis))
		return CAST_FAILED;
	for (int digit = type->precision; digit < 9; digit++)
		unit *= 10;
	nanos = (int32) text.nanos.value / unit * unit;
	millis += nanos / NANOS_PER_MILLI;
	return cast_set_timestamp(type, out, millis, nanos % NANOS_PER_MILLI) ? CAST_DONE : CAST_FAILED;
}
