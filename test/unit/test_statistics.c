#include "postgres.h"

#include "lake/binary_row.h"
#include "lake/statistics.h"
#include "unit.h"

static const StatsMode truncate3 = {STATS_TRUNCATE, 3};

static ColumnStatistics
string_bounds(const char *min, const char *max)
{
	ColumnStatistics bounds = {true, true, true};

	bounds.min.v.bytes = unit_bytes(min);
	bounds.max.v.bytes = unit_bytes(max);
	return bounds;
}

static void
check_truncated(const char *min, const char *max, const char *expected_min, const char *expected_max)
{
	ColumnStatistics bounds = string_bounds(min, max);

	column_statistics_truncate(&bounds, type_make(TYPE_VARCHAR, 100, 0, true), truncate3);
	CHECK_INT(bounds.has_min, expected_max != NULL);
	CHECK_INT(bounds.has_max, expected_max != NULL);
	CHECK(bounds.has_null_count);
	if (expected_max == NULL)
		return;
	CHECK_BYTES(bounds.min.v.bytes, unit_bytes(expected_min));
	CHECK_BYTES(bounds.max.v.bytes, unit_bytes(expected_max));
}

static void
test_truncation(void)
{
	check_truncated("", "", "", "");
	check_truncated("abc", "xyz", "abc", "xyz");
	check_truncated("abcd", "xyzw", "abc", "xy{");
	/* characters, not bytes */
	check_truncated("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f", "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80!",
					"\xc3\xa4\xc3\xb6\xc3\xbc", "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x81");
	/* from one byte to two, from two to three, over the surrogates */
	check_truncated("a", "aa\x7fz", "a", "aa\xc2\x80");
	check_truncated("a", "aa\xdf\xbfz", "a", "aa\xe0\xa0\x80");
	check_truncated("a", "aa\xed\x9f\xbfz", "a", "aa\xee\x80\x80");
	check_truncated("a", "aa\xef\xbf\xbfz", "a", "aa\xf0\x90\x80\x80");
	/* the greatest character cannot be raised: the one before it is */
	check_truncated("a", "ab\xf4\x8f\xbf\xbfz", "a", "ac");
	check_truncated("a", "\xf4\x8f\xbf\xbf\xf4\x8f\xbf\xbf\xf4\x8f\xbf\xbfz", "a", NULL);
}

static void
test_modes(void)
{
	DataType   *type = type_make(TYPE_VARCHAR, 100, 0, true);
	ColumnStatistics bounds = string_bounds("abcdef", "abcdef");

	column_statistics_truncate(&bounds, type, (StatsMode) {STATS_FULL, 0});
	CHECK_INT(bounds.max.v.bytes.length, 6);
	column_statistics_truncate(&bounds, type_make(TYPE_VARBINARY, 100, 0, true), truncate3);
	CHECK_INT(bounds.max.v.bytes.length, 6);
	column_statistics_truncate(&bounds, type, (StatsMode) {STATS_COUNTS, 0});
	CHECK(!bounds.has_min && !bounds.has_max && bounds.has_null_count);
	column_statistics_truncate(&bounds, type, (StatsMode) {STATS_NONE, 0});
	CHECK(!bounds.has_null_count);

	CHECK_INT(stats_mode_parse("o", "truncate(40)").length, 40);
	CHECK_INT(stats_mode_parse("o", "Counts").kind, STATS_COUNTS);
	CHECK_ERROR(ERRCODE_INVALID_PARAMETER_VALUE, "\"o\"", stats_mode_parse("o", "truncate(0)"));
	CHECK_ERROR(ERRCODE_INVALID_PARAMETER_VALUE, "\"o\"", stats_mode_parse("o", "truncate(4) "));
	CHECK_ERROR(ERRCODE_INVALID_PARAMETER_VALUE, "\"o\"", stats_mode_parse("o", "most"));
}

static OptionPair *
option(const char *key, const char *value)
{
	OptionPair *pair = palloc(sizeof(OptionPair));

	pair->key = pstrdup(key);
	pair->value = pstrdup(value);
	return pair;
}

static void
test_modes_of_table(void)
{
	static int	key = 0;
	DataField	fields[4] = {{.name = "k"}, {.name = "a"}, {.name = "b"}, {.name = "c"}};
	TableSchema schema = {.nfields = 4,.fields = fields,.ntrimmed_keys = 1,.trimmed_keys = &key};
	StatsMode	modes[4];

	stats_modes_of_table(&schema, false, 0, modes);
	CHECK(modes[0].kind == STATS_TRUNCATE && modes[0].length == 16);

	schema.options = list_make4(option("metadata.stats-mode", "counts"),
								option("metadata.stats-mode.per.level", "0:full,12:none"),
								option("fields.c.stats-mode", "truncate(2)"),
								option("metadata.stats-keep-first-n-columns", "2"));
	stats_modes_of_table(&schema, false, 0, modes);
	CHECK_INT(modes[0].kind, STATS_FULL);
	CHECK_INT(modes[1].kind, STATS_FULL);
	CHECK_INT(modes[2].kind, STATS_NONE);
	CHECK_INT(modes[3].length, 2);
	/* a key counts as a system column when the file has no other */
	stats_modes_of_table(&schema, true, 1, modes);
	CHECK_INT(modes[0].length, 128);
	CHECK_INT(modes[1].kind, STATS_COUNTS);
	CHECK_INT(modes[2].kind, STATS_COUNTS);
	stats_modes_of_table(&schema, false, 12, modes);
	CHECK_INT(modes[0].kind, STATS_NONE);
}

static void
test_dense_rows(void)
{
	DataField	fields[2] = {
		{.name = "a",.type = type_make(TYPE_INT, 0, 0, true)},
		{.name = "b",.type = type_make(TYPE_INT, 0, 0, true)}
	};
	TableSchema schema = {.nfields = 2,.fields = fields};
	ColumnStatistics statistics[2] = {{true, true, true}};
	bool		has_columns;
	List	   *columns;
	SimpleStats stats;

	statistics[0].min.v.i32 = 1;
	statistics[0].max.v.i32 = 2;
	statistics[0].null_count = 7;
	stats = simple_stats_build_dense(&schema, statistics, &has_columns, &columns);
	CHECK(has_columns);
	CHECK_INT(list_length(columns), 1);
	CHECK_STRING(linitial(columns), "a");
	CHECK_BYTES(stats.min_values, unit_hex("00000001 0000000000000000 0100000000000000"));
	CHECK_BYTES(stats.max_values, unit_hex("00000001 0000000000000000 0200000000000000"));
	CHECK_INT(stats.nnull_counts, 1);
	CHECK_INT(stats.null_counts[0], 7);

	/* a count is worth keeping */
	statistics[1].has_null_count = true;
	stats = simple_stats_build_dense(&schema, statistics, &has_columns, &columns);
	CHECK(!has_columns && columns == NIL);
	CHECK_BYTES(stats.min_values, unit_hex("00000002 0002000000000000 0100000000000000 0000000000000000"));
	CHECK_BYTES(simple_stats_empty().max_values, unit_hex("00000000 0000000000000000"));
}

int
main(void)
{
	unit_begin();
	RUN(test_truncation);
	RUN(test_modes);
	RUN(test_modes_of_table);
	RUN(test_dense_rows);
	return unit_end();
}
