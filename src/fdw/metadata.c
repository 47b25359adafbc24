/*
 * metadata.c
 *		What manifests alone know of aggregates.
 *
 * The manifest entry of a file has its number of rows and, of each column, its
 * extremes and how many rows are null.  That is exact where rows are neither
 * merged nor deleted, and extremes of whole numbers, dates and timestamps are
 * not cut.
 */
#include "postgres.h"

#include "fdw/metadata.h"
#include "lake/deletion_vector.h"

static bool
has_exact_extremes(const DataType *type)
{
	switch (type->root)
	{
		case TYPE_TINYINT:
		case TYPE_SMALLINT:
		case TYPE_INT:
		case TYPE_BIGINT:
		case TYPE_DATE:
			return true;
		case TYPE_TIMESTAMP:
		case TYPE_TIMESTAMP_LTZ:
			return type->physical == PHYSICAL_INT64;
		default:
			return false;
	}
}

bool
metadata_may_know(const AggregationItem *item)
{
	if (item->filter != NULL || item->condition != NULL)
		return false;
	if (item->kind == AGGREGATE_COUNT_ROWS)
		return true;
	if (item->argument->kind != EXPRESSION_COLUMN)
		return false;
	return item->kind == AGGREGATE_COUNT ||
		((item->kind == AGGREGATE_MIN || item->kind == AGGREGATE_MAX) && has_exact_extremes(item->argument->type));
}

bool
metadata_is_of_partitions(const TableSchema *schema, const Predicate *predicate)
{
	bool	   *used = palloc0(schema->nfields * sizeof(bool));
	int			i;

	predicate_columns(predicate, used);
	for (i = 0; i < schema->npartition_keys; i++)
		used[schema->partition_keys[i]] = false;
	for (i = 0; i < schema->nfields; i++)
	{
		if (used[i])
			return false;
	}
	return true;
}

bool
metadata_may_answer(const AggregationSpec *spec, const TableSchema *schema, const Predicate *predicate)
{
	int			i;

	if (spec->nkeys > 0 || !metadata_is_of_partitions(schema, predicate))
		return false;
	for (i = 0; i < spec->nitems; i++)
	{
		if (!metadata_may_know(&spec->items[i]))
			return false;
	}
	return true;
}

/* What a file adds to an item, if the manifest tells. */
static bool
known_of_file(LakeTable *table, const DataFileMeta *file, const AggregationItem *item, Scalar *value, int64 *count)
{
	ColumnStatistics statistics;
	int64		deleted = deletion_vector_cardinality(file);

	*count = file->row_count - deleted;
	if (item->kind == AGGREGATE_COUNT_ROWS)
		return deleted >= 0 && deleted <= file->row_count;
	if (deleted != 0 ||
		!file_column_statistics(table, file, item->argument->column, &statistics) ||
		!statistics.has_null_count || statistics.null_count > file->row_count)
		return false;
	*count -= statistics.null_count;
	if (item->kind == AGGREGATE_COUNT || *count == 0)
		return true;
	*value = item->kind == AGGREGATE_MIN ? statistics.min : statistics.max;
	return statistics.has_min && statistics.has_max;
}

static bool
split_is_known(LakeTable *table, const Split *split, const AggregationSpec *spec)
{
	ListCell   *lc;
	Scalar		value;
	int64		count;
	int			i;

	if (!split->raw || split->joined || split->is_diff || !lake_table_shows_state(table))
		return false;
	foreach(lc, split->files)
	{
		for (i = 0; i < spec->nitems; i++)
		{
			if (!known_of_file(table, lfirst(lc), &spec->items[i], &value, &count))
				return false;
		}
	}
	return true;
}

/* Rows that have a value in common, as far as the aggregate is concerned. */
static void
add_known(Aggregate *aggregate, const Scalar *value, int64 count)
{
	if (count > 0 && aggregate->extremes != NULL)
	{
		Vector	   *vector = vector_create(aggregate->type, 1);

		vector_set(vector, 0, value);
		aggregate_add(aggregate, vector, NULL, 1, NULL);
		vector_free(vector);
		count--;
	}
	aggregate->counts[0] += count;
}

bool
metadata_add_split(LakeTable *table, const Split *split, const AggregationSpec *spec, Aggregation *aggregation)
{
	ListCell   *lc;
	int			i;

	if (!split_is_known(table, split, spec))
		return false;
	if (aggregation == NULL)
		return true;
	foreach(lc, split->files)
	{
		for (i = 0; i < spec->nitems; i++)
		{
			Scalar		value;
			int64		count;

			(void) known_of_file(table, lfirst(lc), &spec->items[i], &value, &count);
			add_known(aggregation_item(aggregation, i), &value, count);
		}
	}
	return true;
}
