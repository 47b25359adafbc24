/*
 * zone.c
 *		Time zones: fixed offsets, and files of the system's database (RFC 8536).
 */
#include "postgres.h"

#include <ctype.h>

#include "format/orc/zone.h"
#include "port/pg_bswap.h"

#define ZONE_DIRECTORY "/usr/share/zoneinfo/"
#define MAX_ZONE_FILE_BYTES (1024 * 1024)
#define MAX_ZONE_NAME 64

#define HEADER_BYTES 44
#define TYPE_BYTES 6
#define SECONDS_PER_HOUR 3600
#define SECONDS_PER_DAY 86400
#define MAX_OFFSET (26 * SECONDS_PER_HOUR)

/* When daylight saving begins or ends, by rule. */
typedef struct ZoneRule
{
	char		kind;			/* M: month, week, day of it; J: day without leap days; D: day of the year */
	int			month;
	int			week;
	int			day;
	int			seconds;		/* of the day, on the wall clock before the change */
} ZoneRule;

struct Zone
{
	int			ntransitions;
	int64	   *transitions;	/* instants, ascending */
	int32	   *offsets;		/* ntransitions + 1: before the first, after each */
	/* after the last */
	bool		has_rule;
	bool		has_daylight;
	int32		standard_offset;
	int32		daylight_offset;
	ZoneRule	begin;
	ZoneRule	end;
	/* the last answer holds from known_from to before known_to */
	int64		known_from;
	int64		known_to;
	int32		known_offset;
};

/* ---- names ---- */

static void
unknown(const OrcPlace *place, const char *name, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("file \"%s\" has timestamps of the unknown time zone \"%s\"", place->path, name),
			 errdetail_internal("%s", detail)));
}

static bool
is_utc(const char *name)
{
	static const char *const names[] = {
		"", "UTC", "GMT", "Z", "Zulu", "UCT", "Universal", "Greenwich", "GMT0", "Etc/UTC", "Etc/GMT", "Etc/UCT",
		"Etc/Zulu", "Etc/Universal", "Etc/Greenwich", "Etc/GMT0"
	};

	for (int i = 0; i < lengthof(names); i++)
	{
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

/* "GMT+08:00", "UTC-3", "+0530": Java's names of fixed offsets, east positive. */
static bool
fixed_offset(const char *name, int32 *offset)
{
	const char *at = name;
	int			digits = 0;
	int			number = 0;
	bool		colon = false;
	bool		negative;

	if (strncmp(at, "GMT", 3) == 0 || strncmp(at, "UTC", 3) == 0)
		at += 3;
	if (*at != '+' && *at != '-')
		return false;
	negative = *at++ == '-';
	for (; *at != '\0' && digits <= 4; at++)
	{
		if (*at == ':' && !colon && (digits == 1 || digits == 2))
			colon = true;
		else if (isdigit((unsigned char) *at))
		{
			number = number * 10 + (*at - '0');
			digits++;
		}
		else
			return false;
	}
	if (*at != '\0' || digits == 0 || digits > 4)
		return false;
	if (digits <= 2 && !colon)
		number *= 100;
	*offset = (number / 100) * SECONDS_PER_HOUR + (number % 100) * 60;
	if (negative)
		*offset = -*offset;
	return number / 100 < 24 && number % 100 < 60;
}

/* Nothing that leads out of the database's folder. */
static bool
is_safe_name(const char *name)
{
	if (strlen(name) > MAX_ZONE_NAME || name[0] == '/' || strstr(name, "..") != NULL)
		return false;
	for (const char *at = name; *at != '\0'; at++)
	{
		if (!isalnum((unsigned char) *at) && strchr("/_-+", *at) == NULL)
			return false;
	}
	return true;
}

/* ---- the rule for the time after the last transition: "CET-1CEST,M3.5.0,M10.5.0/3" ---- */

static bool
parse_number(const char **at, int limit, int *number)
{
	if (!isdigit((unsigned char) **at))
		return false;
	*number = 0;
	for (; isdigit((unsigned char) **at); (*at)++)
	{
		*number = *number * 10 + (**at - '0');
		if (*number > limit)
			return false;
	}
	return true;
}

/* "[+-]hours[:minutes[:seconds]]" */
static bool
parse_time(const char **at, int *seconds)
{
	bool		negative = **at == '-';
	int			part;

	if (**at == '-' || **at == '+')
		(*at)++;
	if (!parse_number(at, 167, &part))
		return false;
	*seconds = part * SECONDS_PER_HOUR;
	for (int unit = 60; unit > 0 && **at == ':'; unit /= 60)
	{
		(*at)++;
		if (!parse_number(at, 59, &part))
			return false;
		*seconds += part * unit;
	}
	if (negative)
		*seconds = -*seconds;
	return true;
}

/* An abbreviation, which may stand in angle brackets, and an offset west of UTC. */
static bool
parse_name(const char **at)
{
	const char *start;

	if (**at == '<')
	{
		*at = strchr(*at, '>');
		if (*at == NULL)
			return false;
		(*at)++;
		return true;
	}
	for (start = *at; isalpha((unsigned char) **at); (*at)++)
		;
	return *at > start;
}

static bool
parse_rule_date(const char **at, ZoneRule *rule)
{
	rule->kind = 'D';
	if (**at == 'M' || **at == 'J')
		rule->kind = *(*at)++;
	if (rule->kind != 'M')
		return parse_number(at, 365, &rule->day) && (rule->kind == 'D' || rule->day >= 1);
	return parse_number(at, 12, &rule->month) && rule->month >= 1 &&
		*(*at)++ == '.' && parse_number(at, 5, &rule->week) && rule->week >= 1 &&
		*(*at)++ == '.' && parse_number(at, 6, &rule->day);
}

static bool
parse_rule(const char **at, ZoneRule *rule)
{
	if (**at != ',')
		return false;
	(*at)++;
	if (!parse_rule_date(at, rule))
		return false;
	rule->seconds = 2 * SECONDS_PER_HOUR;
	if (**at != '/')
		return true;
	(*at)++;
	return parse_time(at, &rule->seconds);
}

/* False if it is none; an empty text is no rule, but no fault. */
static bool
parse_rules(Zone *zone, const char *text)
{
	int			west;

	if (*text == '\0')
		return true;
	if (!parse_name(&text) || !parse_time(&text, &west))
		return false;
	zone->standard_offset = -west;
	zone->daylight_offset = zone->standard_offset + SECONDS_PER_HOUR;
	zone->has_rule = true;
	if (*text == '\0')
		return true;
	if (!parse_name(&text))
		return false;
	if (*text != ',')
	{
		if (!parse_time(&text, &west))
			return false;
		zone->daylight_offset = -west;
	}
	zone->has_daylight = true;
	return parse_rule(&text, &zone->begin) && parse_rule(&text, &zone->end) && *text == '\0' &&
		abs(zone->standard_offset) <= MAX_OFFSET && abs(zone->daylight_offset) <= MAX_OFFSET;
}

/* ---- files ---- */

/* The counts in a header, in their order in the file. */
typedef struct ZoneHeader
{
	uint32		utc_flags;
	uint32		standard_flags;
	uint32		leap_seconds;
	uint32		transitions;
	uint32		types;
	uint32		name_bytes;
} ZoneHeader;

typedef struct ZoneBytes
{
	const uint8 *cursor;
	const uint8 *end;
} ZoneBytes;

/* The next bytes, or NULL: there are less. */
static const uint8 *
take(ZoneBytes *bytes, uint64 length)
{
	const uint8 *start = bytes->cursor;

	if (length > (uint64) (bytes->end - start))
		return NULL;
	bytes->cursor += length;
	return start;
}

static int32
load_int32(const uint8 *data)
{
	uint32		word;

	memcpy(&word, data, sizeof(word));
	return (int32) pg_ntoh32(word);
}

static int64
load_int64(const uint8 *data)
{
	uint64		word;

	memcpy(&word, data, sizeof(word));
	return (int64) pg_ntoh64(word);
}

static bool
take_header(ZoneBytes *bytes, ZoneHeader *header, uint8 *version)
{
	const uint8 *data = take(bytes, HEADER_BYTES);

	if (data == NULL || memcmp(data, "TZif", 4) != 0)
		return false;
	*version = data[4];
	data += HEADER_BYTES - sizeof(ZoneHeader);
	header->utc_flags = load_int32(data);
	header->standard_flags = load_int32(data + 4);
	header->leap_seconds = load_int32(data + 8);
	header->transitions = load_int32(data + 12);
	header->types = load_int32(data + 16);
	header->name_bytes = load_int32(data + 20);
	return true;
}

/* What stands behind the types; times have that many bytes. */
static bool
skip_rest(ZoneBytes *bytes, const ZoneHeader *header, int time_bytes)
{
	return take(bytes, (uint64) header->name_bytes + (uint64) header->leap_seconds * (time_bytes + 4) +
				header->standard_flags + header->utc_flags) != NULL;
}

static bool
read_transitions(Zone *zone, ZoneBytes *bytes, const ZoneHeader *header)
{
	uint32		n = header->transitions;
	const uint8 *times = take(bytes, (uint64) n * sizeof(int64));
	const uint8 *indexes = take(bytes, n);
	const uint8 *types = take(bytes, (uint64) header->types * TYPE_BYTES);

	if (times == NULL || indexes == NULL || types == NULL || header->types == 0)
		return false;
	zone->ntransitions = (int) n;
	zone->transitions = palloc(Max(n, 1) * sizeof(int64));
	zone->offsets = palloc((n + 1) * sizeof(int32));
	zone->offsets[0] = load_int32(types);
	for (uint32 i = 0; i < n; i++)
	{
		zone->transitions[i] = load_int64(times + i * sizeof(int64));
		if (indexes[i] >= header->types || (i > 0 && zone->transitions[i] <= zone->transitions[i - 1]))
			return false;
		zone->offsets[i + 1] = load_int32(types + indexes[i] * TYPE_BYTES);
	}
	for (uint32 i = 0; i <= n; i++)
	{
		if (zone->offsets[i] > MAX_OFFSET || zone->offsets[i] < -MAX_OFFSET)
			return false;
	}
	return true;
}

/* The text between two line feeds at the end. */
static bool
read_rules(Zone *zone, ZoneBytes *bytes)
{
	const uint8 *start = take(bytes, 1);
	const uint8 *end;

	if (start == NULL || *start != '\n')
		return false;
	start++;
	end = memchr(start, '\n', bytes->end - start);
	return end != NULL && parse_rules(zone, pnstrdup((const char *) start, end - start));
}

/* A first part with times of 32 bits, for old programs, then one with 64 bits. */
static bool
parse_file(Zone *zone, ZoneBytes *bytes)
{
	ZoneHeader	header;
	uint8		version;

	if (!take_header(bytes, &header, &version) || version < '2')
		return false;
	if (take(bytes, (uint64) header.transitions * (sizeof(int32) + 1) + (uint64) header.types * TYPE_BYTES) == NULL ||
		!skip_rest(bytes, &header, sizeof(int32)))
		return false;
	return take_header(bytes, &header, &version) &&
		read_transitions(zone, bytes, &header) &&
		skip_rest(bytes, &header, sizeof(int64)) &&
		read_rules(zone, bytes);
}

Zone *
zone_load(const OrcPlace *place, const char *name)
{
	Zone	   *zone;
	ZoneBytes	bytes;
	char	   *content;
	size_t		length;

	if (is_utc(name))
		return NULL;
	zone = palloc0(sizeof(Zone));
	zone->offsets = palloc0(sizeof(int32));
	if (fixed_offset(name, zone->offsets))
		return zone;
	if (!is_safe_name(name))
		unknown(place, name, "That is no name of a time zone.");
	content = storage_read_whole(psprintf(ZONE_DIRECTORY "%s", name), MAX_ZONE_FILE_BYTES, true, &length);
	if (content == NULL)
		unknown(place, name, "The time zone database in " ZONE_DIRECTORY " does not have it.");
	bytes.cursor = (const uint8 *) content;
	bytes.end = bytes.cursor + length;
	if (!parse_file(zone, &bytes))
		unknown(place, name, "Its file in " ZONE_DIRECTORY " cannot be read.");
	pfree(content);
	return zone;
}

/* ---- offsets ---- */

/* Days from 1970-01-01 to a day of the Gregorian calendar. */
static int64
days_from_date(int64 year, int month, int day)
{
	int64		era;
	int64		year_of_era;
	int64		day_of_year;

	/* years that begin in March have the leap day at their end */
	if (month <= 2)
		year--;
	era = (year >= 0 ? year : year - 399) / 400;
	year_of_era = year - era * 400;
	day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

static bool
is_leap_year(int64 year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* The same the other way, but only the year. */
static int64
year_of(int64 seconds)
{
	int64		days = seconds / SECONDS_PER_DAY - (seconds % SECONDS_PER_DAY < 0) + 719468;
	int64		era = (days >= 0 ? days : days - 146096) / 146097;
	int64		day_of_era = days - era * 146097;
	int64		year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	int64		day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);

	/* day 306 of a year that begins in March is the first of January */
	return era * 400 + year_of_era + (day_of_year >= 306);
}

/* The day of a year on which a rule falls, since 1970. */
static int64
rule_day(const ZoneRule *rule, int64 year)
{
	int64		first;
	int64		next_month;
	int64		day;

	if (rule->kind == 'D')
		return days_from_date(year, 1, 1) + rule->day;
	if (rule->kind == 'J')
		return days_from_date(year, 1, 1) + rule->day - 1 + (is_leap_year(year) && rule->day >= 60);
	first = days_from_date(year, rule->month, 1);
	next_month = rule->month == 12 ? days_from_date(year + 1, 1, 1) : days_from_date(year, rule->month + 1, 1);
	/* 1970-01-01 was a Thursday */
	day = first + (rule->day - (first + 4) % 7 + 7) % 7 + (rule->week - 1) * 7;
	while (day >= next_month)
		day -= 7;
	return day;
}

static int64
rule_instant(const ZoneRule *rule, int64 year, int32 offset_before)
{
	return rule_day(rule, year) * SECONDS_PER_DAY + rule->seconds - offset_before;
}

static int32
offset_by_rule(const Zone *zone, int64 instant)
{
	int64		year;
	int64		begin;
	int64		end;
	bool		daylight;

	if (!zone->has_daylight)
		return zone->standard_offset;
	year = year_of(instant + zone->standard_offset);
	begin = rule_instant(&zone->begin, year, zone->standard_offset);
	end = rule_instant(&zone->end, year, zone->daylight_offset);
	/* in the south it lasts over the turn of the year */
	daylight = begin < end ? instant >= begin && instant < end : instant >= begin || instant < end;
	return daylight ? zone->daylight_offset : zone->standard_offset;
}

/* Find the transition before the instant, and how long its offset holds. */
static void
look_up(Zone *zone, int64 instant)
{
	int			low = 0;
	int			high = zone->ntransitions;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (zone->transitions[middle] <= instant)
			low = middle + 1;
		else
			high = middle;
	}
	zone->known_from = low > 0 ? zone->transitions[low - 1] : PG_INT64_MIN;
	zone->known_to = low < zone->ntransitions ? zone->transitions[low] : PG_INT64_MAX;
	zone->known_offset = zone->offsets[low];
	if (low == zone->ntransitions && zone->has_rule)
	{
		zone->known_offset = offset_by_rule(zone, instant);
		zone->known_from = instant;
		zone->known_to = instant + 1;
	}
}

int64
zone_offset(Zone *zone, int64 instant)
{
	if (instant < zone->known_from || instant >= zone->known_to)
		look_up(zone, instant);
	return zone->known_offset;
}
