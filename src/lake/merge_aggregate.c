/*
 * merge_aggregate.c
 *		Merge engine aggregation: each column is folded by its function.
 *
 * Source: format digest section 7.2.
 */
#include "postgres.h"

#include "lake/aggregator.h"
#include "lake/merge_function.h"
#include "lake/read.h"
#include "miscadmin.h"

typedef struct AggregationFunction
{
	MergeFunction base;
	bool		remove_on_delete;
	Aggregator **aggregators;	/* by field */
} AggregationFunction;

static bool
contains(const int *fields, int nfields, int field)
{
	for (int i = 0; i < nfields; i++)
		if (fields[i] == field)
			return true;
	return false;
}

static const char *
function_name(const TableSchema *schema, const TableOptions *options, int field)
{
	const char *name;

	if (contains(options->sequence_fields, options->nsequence_fields, field))
		return aggregate_last_value.name;
	if (contains(schema->primary_keys, schema->nprimary_keys, field))
		return aggregate_primary_key.name;
	name = aggregate_function_name(schema, field);
	return name != NULL ? name : aggregate_last_non_null_value.name;
}

static MergeFunction *
aggregation_create(const TableSchema *schema, const TableOptions *options, const char *table_name)
{
	AggregationFunction *function = merge_function_allocate(&aggregation_engine, sizeof(AggregationFunction),
															schema, options, table_name);

	function->remove_on_delete = option_is_true(schema, "aggregation.remove-record-on-delete");
	function->aggregators = palloc(schema->nfields * sizeof(Aggregator *));
	for (int i = 0; i < schema->nfields; i++)
		function->aggregators[i] = aggregator_create(schema, i, function_name(schema, options, i), table_name,
													 function->base.context);
	return &function->base;
}

static bool
removes(const AggregationFunction *function, int8 kind)
{
	return function->remove_on_delete && kind == ROW_DELETE;
}

static void
aggregation_begin(MergeFunction *base, const MergeKeys *keys, Vector *const *const *deciding, MergeResults *results)
{
	const AggregationFunction *function = (AggregationFunction *) base;

	for (int i = 0; i < keys->nkeys; i++)
	{
		int			newest = keys->starts[i + 1] - 1;

		results->newest[i] = newest;
		results->kinds[i] = removes(function, keys->kinds[newest]) ? ROW_DELETE : ROW_INSERT;
	}
}

static Scalar
merge_key(const AggregationFunction *function, const MergeKeys *keys, int key, Aggregator *aggregator,
		  Vector *const *sources)
{
	Scalar		accumulator = {.isnull = true};

	aggregator_reset(aggregator);
	for (int member = keys->starts[key]; member < keys->starts[key + 1]; member++)
	{
		Scalar		input = merge_member_value(keys, sources, member);
		int8		kind = keys->kinds[member];

		if (removes(function, kind))
			accumulator = input;
		else if (ROW_KIND_IS_RETRACT(kind))
			aggregator_retract(aggregator, &accumulator, &input);
		else
			aggregator_add(aggregator, &accumulator, &input);
	}
	return accumulator;
}

static void
aggregation_merge(MergeFunction *base, const MergeKeys *keys, int field, Vector *const *sources,
				  const int32 *selection, int nselected, const int32 *places, Vector *out)
{
	AggregationFunction *function = (AggregationFunction *) base;

	for (int i = 0; i < nselected; i++)
	{
		Scalar		result = merge_key(function, keys, selection[i], function->aggregators[field], sources);

		CHECK_FOR_INTERRUPTS();
		vector_set(out, places[i], &result);
	}
}

const MergeEngine aggregation_engine = {
	.create = aggregation_create,
	.begin = aggregation_begin,
	.merge = aggregation_merge
};
