/*
 * simple_stats.c
 *		Avro form of the statistics in manifests and their lists.
 *
 * Source: format digest section 4.5.
 */
#include "postgres.h"

#include "lake/simple_stats.h"

static const AvroField simple_stats_fields[] = {
	{"_MIN_VALUES", AVRO_TO_BYTES, offsetof(SimpleStats, min_values), AVRO_NO_OFFSET},
	{"_MAX_VALUES", AVRO_TO_BYTES, offsetof(SimpleStats, max_values), AVRO_NO_OFFSET},
	{
		"_NULL_COUNTS", AVRO_TO_INT64_ARRAY, offsetof(SimpleStats, null_counts),
		offsetof(SimpleStats, has_null_counts), offsetof(SimpleStats, nnull_counts), .optional = true
	},
};

const AvroLayout simple_stats_layout = {
	sizeof(SimpleStats), lengthof(simple_stats_fields), simple_stats_fields
};

void
avro_write_nullable_long(StringInfo out, bool present, int64 value)
{
	avro_write_long(out, present ? 1 : 0);
	if (present)
		avro_write_long(out, value);
}

void
simple_stats_write(StringInfo out, const SimpleStats *stats)
{
	avro_write_bytes(out, stats->min_values.data, stats->min_values.length);
	avro_write_bytes(out, stats->max_values.data, stats->max_values.length);
	if (!stats->has_null_counts)
	{
		avro_write_long(out, 0);
		return;
	}

	avro_write_long(out, 1);
	if (stats->nnull_counts > 0)
		avro_write_long(out, stats->nnull_counts);
	for (int i = 0; i < stats->nnull_counts; i++)
		avro_write_nullable_long(out, stats->null_counts[i] >= 0, stats->null_counts[i]);
	avro_write_long(out, 0);
}

BytesView
bytes_copy(BytesView view)
{
	BytesView	copy = {NULL, view.length};

	if (view.length > 0)
		copy.data = memcpy(palloc(view.length), view.data, view.length);
	return copy;
}

List *
string_list_copy(const List *list)
{
	List	   *copy = NIL;
	ListCell   *lc;

	foreach(lc, list)
		copy = lappend(copy, pstrdup(lfirst(lc)));
	return copy;
}

SimpleStats
simple_stats_copy(const SimpleStats *stats)
{
	SimpleStats copy = *stats;

	copy.min_values = bytes_copy(stats->min_values);
	copy.max_values = bytes_copy(stats->max_values);
	if (stats->nnull_counts > 0)
		copy.null_counts = memcpy(palloc(stats->nnull_counts * sizeof(int64)), stats->null_counts,
								  stats->nnull_counts * sizeof(int64));
	return copy;
}
