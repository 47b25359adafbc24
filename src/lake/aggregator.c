/*
 * aggregator.c
 *		Aggregate functions over the rows of a key: which there are.
 */
#include "postgres.h"

#include "lake/aggregator.h"
#include "lake/options.h"

static const AggregateFunction *const functions[] = {
	&aggregate_primary_key,
	&aggregate_last_value,
	&aggregate_last_non_null_value,
	&aggregate_first_value,
	&aggregate_first_non_null_value,
	&aggregate_first_not_null_value,
	&aggregate_max,
	&aggregate_min,
	&aggregate_bool_and,
	&aggregate_bool_or,
	&aggregate_sum,
	&aggregate_product,
	&aggregate_listagg,
	&aggregate_rbm32,
	&aggregate_rbm64,
	&aggregate_theta_sketch,
	&aggregate_hll_sketch,
	&aggregate_collect,
	&aggregate_merge_map,
	&aggregate_nested_update,
	&aggregate_nested_partial_update,
};

static char *
field_option_key(const DataField *field, const char *suffix)
{
	return psprintf("fields.%s.%s", field->name, suffix);
}

const char *
aggregator_option(const Aggregator *aggregator, const char *suffix)
{
	return schema_option(aggregator->schema, field_option_key(aggregator->field, suffix));
}

const char *
aggregate_function_name(const TableSchema *schema, int field)
{
	const char *name = schema_option(schema, field_option_key(&schema->fields[field], "aggregate-function"));

	return name != NULL ? name : schema_option(schema, "fields.default-aggregate-function");
}

static const AggregateFunction *
find_function(const DataField *field, const char *name, const char *table_name)
{
	for (int i = 0; i < lengthof(functions); i++)
		if (strcmp(functions[i]->name, name) == 0)
			return functions[i];
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("aggregate function \"%s\" of column \"%s\" of lake table \"%s\" is not supported",
					name, field->name, table_name)));
	return NULL;				/* keep compiler quiet */
}

Aggregator *
aggregator_create(const TableSchema *schema, int field, const char *function_name,
				  const char *table_name, MemoryContext context)
{
	Aggregator *aggregator = palloc0(sizeof(Aggregator));
	const char *delimiter;

	aggregator->schema = schema;
	aggregator->field = &schema->fields[field];
	aggregator->table_name = table_name;
	aggregator->context = context;
	aggregator->function = find_function(aggregator->field, function_name, table_name);
	if (aggregator->function->accepts != NULL && !aggregator->function->accepts(aggregator->field->type))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("aggregate function \"%s\" of column \"%s\" of lake table \"%s\" does not take type %s",
						function_name, aggregator->field->name, table_name,
						type_to_text(aggregator->field->type))));
	aggregator->ignore_retract = option_is_true(schema, field_option_key(aggregator->field, "ignore-retract"));
	aggregator->distinct = option_is_true(schema, field_option_key(aggregator->field, "distinct"));
	delimiter = aggregator_option(aggregator, "list-agg-delimiter");
	aggregator->delimiter.data = delimiter != NULL ? delimiter : ",";
	aggregator->delimiter.length = strlen(aggregator->delimiter.data);
	aggregator->count_limit = option_int(schema, field_option_key(aggregator->field, "count-limit"), PG_INT32_MAX, 0);
	if (aggregator->function->prepare != NULL)
		aggregator->function->prepare(aggregator);
	return aggregator;
}

void
aggregator_reset(Aggregator *aggregator)
{
	aggregator->initialized = false;
	aggregator->text = NULL;
}

void
aggregator_add(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	aggregator->function->aggregate(aggregator, accumulator, input);
}

void
aggregator_add_older(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	Scalar		reversed = *input;

	/* Java forgets that a function has no order when it ignores retractions */
	if (aggregator->function->unordered && !aggregator->ignore_retract)
	{
		aggregator->function->aggregate(aggregator, accumulator, input);
		return;
	}
	aggregator->function->aggregate(aggregator, &reversed, accumulator);
	*accumulator = reversed;
}

void
aggregator_retract(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	if (aggregator->ignore_retract)
		return;
	if (aggregator->function->retract == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("lake table \"%s\" has rows that delete, which aggregate function \"%s\" of column \"%s\" cannot take back",
						aggregator->table_name, aggregator->function->name, aggregator->field->name),
				 errhint("With option \"fields.%s.ignore-retract\" they are ignored.", aggregator->field->name)));
	aggregator->function->retract(aggregator, accumulator, input);
}
