/*
 * statistics.c
 *		From a file's column statistics to what its metadata keeps of them.
 *
 * Statistics only ever exclude files, so bounds may be wide, or missing, but
 * never too tight.
 */
#include "postgres.h"

#include <limits.h>

#include "lake/binary_row.h"
#include "lake/statistics.h"

#define DEFAULT_STATS_MODE "truncate(16)"
#define MAX_CODE_POINT 0x10FFFF
#define FIRST_SURROGATE 0xD800
#define LAST_SURROGATE 0xDFFF

const StatsMode stats_mode_of_keys = {STATS_TRUNCATE, 128};

StatsMode
stats_mode_parse(const char *key, const char *value)
{
	StatsMode	mode = {STATS_NONE, 0};
	int			consumed = 0;

	if (pg_strcasecmp(value, "none") == 0)
		return mode;
	if (pg_strcasecmp(value, "counts") == 0)
		mode.kind = STATS_COUNTS;
	else if (pg_strcasecmp(value, "full") == 0)
		mode.kind = STATS_FULL;
	else if (pg_strncasecmp(value, "truncate(", 9) == 0 &&
			 sscanf(value + 9, "%9d)%n", &mode.length, &consumed) == 1 &&
			 consumed > 0 && value[9 + consumed] == '\0' && mode.length > 0)
		mode.kind = STATS_TRUNCATE;
	else
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for option \"%s\": \"%s\"", key, value),
				 errdetail("Statistics modes are none, counts, full and truncate(n).")));
	return mode;
}

/* The entry for a level of "0:none,5:full"; NULL if there is none. */
static const char *
find_level_mode(const char *text, int32 level)
{
	char	   *copy = pstrdup(text);
	char	   *rest = NULL;

	for (char *item = strtok_r(copy, ",", &rest); item != NULL; item = strtok_r(NULL, ",", &rest))
	{
		char	   *colon = strchr(item, ':');

		if (colon != NULL && atoi(item) == level)
			return colon + 1;
	}
	return NULL;
}

/* The mode of columns that have none of their own. */
static StatsMode
table_stats_mode(const TableSchema *schema, int32 level)
{
	const char *per_level = schema_option(schema, "metadata.stats-mode.per.level");
	const char *value = NULL;

	if (per_level != NULL)
	{
		value = find_level_mode(per_level, level);
		if (value != NULL)
			return stats_mode_parse("metadata.stats-mode.per.level", value);
	}
	value = schema_option(schema, "metadata.stats-mode");
	return stats_mode_parse("metadata.stats-mode", value != NULL ? value : DEFAULT_STATS_MODE);
}

static bool
is_trimmed_key(const TableSchema *schema, int field)
{
	for (int i = 0; i < schema->ntrimmed_keys; i++)
	{
		if (schema->trimmed_keys[i] == field)
			return true;
	}
	return false;
}

void
stats_modes_of_table(const TableSchema *schema, bool thin_mode, int32 level, StatsMode *out)
{
	StatsMode	common = table_stats_mode(schema, level);
	const char *keep_text = schema_option(schema, "metadata.stats-keep-first-n-columns");
	int			keep = keep_text != NULL ? atoi(keep_text) : -1;
	int			kept = 0;

	for (int i = 0; i < schema->nfields; i++)
	{
		char	   *key = psprintf("fields.%s.stats-mode", schema->fields[i].name);
		const char *own = schema_option(schema, key);

		if (own != NULL)
			out[i] = stats_mode_parse(key, own);
		else if (thin_mode && is_trimmed_key(schema, i))
			out[i] = stats_mode_of_keys;
		else if (keep >= 0 && kept++ >= keep)
			out[i] = (StatsMode) {STATS_NONE, 0};
		else
			out[i] = common;
	}
}

/* Bytes of the first count characters of UTF-8 text. */
static uint32
prefix_length(BytesView text, int32 count)
{
	uint32		position = 0;

	while (position < text.length && count > 0)
	{
		position++;
		while (position < text.length && ((uint8) text.data[position] & 0xC0) == 0x80)
			position++;
		count--;
	}
	return position;
}

/* Decode the character that is all of text; its length must fit its first byte. */
static bool
decode_character(BytesView text, uint32 *code_point)
{
	static const uint8 masks[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
	uint8		first = (uint8) text.data[0];
	uint32		expected = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;

	if (text.length != expected || (first >= 0x80 && first < 0xC0))
		return false;
	*code_point = first & masks[expected];
	for (uint32 i = 1; i < expected; i++)
		*code_point = (*code_point << 6) | ((uint8) text.data[i] & 0x3F);
	return true;
}

static uint32
encode_character(uint32 code_point, char *out)
{
	if (code_point < 0x80)
	{
		out[0] = (char) code_point;
		return 1;
	}
	if (code_point < 0x800)
	{
		out[0] = (char) (0xC0 | (code_point >> 6));
		out[1] = (char) (0x80 | (code_point & 0x3F));
		return 2;
	}
	if (code_point < 0x10000)
	{
		out[0] = (char) (0xE0 | (code_point >> 12));
		out[1] = (char) (0x80 | ((code_point >> 6) & 0x3F));
		out[2] = (char) (0x80 | (code_point & 0x3F));
		return 3;
	}
	out[0] = (char) (0xF0 | (code_point >> 18));
	out[1] = (char) (0x80 | ((code_point >> 12) & 0x3F));
	out[2] = (char) (0x80 | ((code_point >> 6) & 0x3F));
	out[3] = (char) (0x80 | (code_point & 0x3F));
	return 4;
}

/*
 * The smallest text above all that begin with prefix, of those that differ
 * from it in one character: the last that can be incremented is, and what
 * follows is dropped.  False when no character can.
 */
static bool
increment_prefix(BytesView prefix, BytesView *out)
{
	uint32		end = prefix.length;

	while (end > 0)
	{
		uint32		start = end - 1;
		uint32		code_point;

		while (start > 0 && ((uint8) prefix.data[start] & 0xC0) == 0x80)
			start--;
		if (decode_character((BytesView) {prefix.data + start, end - start}, &code_point) &&
			code_point < MAX_CODE_POINT)
		{
			char	   *bound = (char *) palloc(start + 4);

			code_point++;
			if (code_point == FIRST_SURROGATE)
				code_point = LAST_SURROGATE + 1;
			memcpy(bound, prefix.data, start);
			out->data = bound;
			out->length = start + encode_character(code_point, bound + start);
			return true;
		}
		end = start;
	}
	return false;
}

/* Cut string bounds to length characters. */
static void
truncate_bounds(ColumnStatistics *statistics, int32 length)
{
	if (statistics->has_min)
		statistics->min.v.bytes.length = prefix_length(statistics->min.v.bytes, length);
	if (statistics->has_max)
	{
		BytesView  *max = &statistics->max.v.bytes;
		BytesView	prefix = {max->data, prefix_length(*max, length)};

		if (prefix.length < max->length && !increment_prefix(prefix, max))
		{
			statistics->has_min = false;
			statistics->has_max = false;
		}
	}
}

void
column_statistics_truncate(ColumnStatistics *statistics, const DataType *type, StatsMode mode)
{
	switch (mode.kind)
	{
		case STATS_NONE:
			memset(statistics, 0, sizeof(ColumnStatistics));
			break;
		case STATS_COUNTS:
			statistics->has_min = false;
			statistics->has_max = false;
			break;
		case STATS_FULL:
			break;
		case STATS_TRUNCATE:
			if (type_is_string(type))
				truncate_bounds(statistics, mode.length);
			break;
	}
}

/* Rows of minima and maxima, and the null counts. */
SimpleStats
simple_stats_build(const DataType *const *types, const ColumnStatistics *statistics, int ncolumns)
{
	SimpleStats stats;
	Scalar	   *bounds = (Scalar *) palloc0(Max(ncolumns, 1) * sizeof(Scalar));

	for (int i = 0; i < ncolumns; i++)
	{
		bounds[i] = statistics[i].min;
		bounds[i].isnull = !statistics[i].has_min;
	}
	stats.min_values = binary_row_serialize(types, bounds, ncolumns);
	for (int i = 0; i < ncolumns; i++)
	{
		bounds[i] = statistics[i].max;
		bounds[i].isnull = !statistics[i].has_max;
	}
	stats.max_values = binary_row_serialize(types, bounds, ncolumns);

	stats.has_null_counts = true;
	stats.nnull_counts = ncolumns;
	stats.null_counts = (int64 *) palloc(Max(ncolumns, 1) * sizeof(int64));
	for (int i = 0; i < ncolumns; i++)
		stats.null_counts[i] = statistics[i].has_null_count ? statistics[i].null_count : -1;
	pfree(bounds);
	return stats;
}

/* The same without the columns of which nothing is known. */
SimpleStats
simple_stats_build_dense(const TableSchema *schema, const ColumnStatistics *statistics,
						 bool *has_columns, List **columns)
{
	const DataType **types = (const DataType **) palloc(schema->nfields * sizeof(DataType *));
	ColumnStatistics *known = (ColumnStatistics *) palloc(schema->nfields * sizeof(ColumnStatistics));
	int			nknown = 0;
	List	   *names = NIL;
	SimpleStats stats;

	for (int i = 0; i < schema->nfields; i++)
	{
		const ColumnStatistics *column = &statistics[i];

		if (!column->has_min && !column->has_max && !column->has_null_count)
			continue;
		types[nknown] = schema->fields[i].type;
		known[nknown++] = *column;
		names = lappend(names, pstrdup(schema->fields[i].name));
	}
	stats = simple_stats_build(types, known, nknown);
	*has_columns = nknown < schema->nfields;
	*columns = *has_columns ? names : NIL;
	pfree(types);
	pfree(known);
	return stats;
}

SimpleStats
simple_stats_empty(void)
{
	return simple_stats_build(NULL, NULL, 0);
}
