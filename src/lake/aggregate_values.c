/*
 * aggregate_values.c
 *		Aggregate functions whose result is one of the values.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "lake/aggregator.h"

static void
take_input(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	*accumulator = *input;
}

static void
take_null(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	accumulator->isnull = true;
}

static void
take_non_null(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	if (!input->isnull)
		*accumulator = *input;
}

static void
take_null_for_non_null(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	if (!input->isnull)
		accumulator->isnull = true;
}

static void
take_first(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	if (aggregator->initialized)
		return;
	aggregator->initialized = true;
	*accumulator = *input;
}

static void
take_first_non_null(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	if (!input->isnull)
		take_first(aggregator, accumulator, input);
}

static bool
accepts_ordered(const DataType *type)
{
	return type_is_primitive(type) && type->root != TYPE_BOOLEAN;
}

/* As Java orders floats: -0 is below 0. */
static int
compare_values(const Aggregator *aggregator, const Scalar *a, const Scalar *b)
{
	PhysicalType physical = aggregator->field->type->physical;
	int			order = scalar_compare_values(physical, a, b);

	if (order == 0 && physical == PHYSICAL_FLOAT && a->v.f32 == 0)
		order = (signbit(b->v.f32) != 0) - (signbit(a->v.f32) != 0);
	else if (order == 0 && physical == PHYSICAL_DOUBLE && a->v.f64 == 0)
		order = (signbit(b->v.f64) != 0) - (signbit(a->v.f64) != 0);
	return order;
}

static void
take_max(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	if (accumulator->isnull || (!input->isnull && compare_values(aggregator, accumulator, input) < 0))
		*accumulator = *input;
}

static void
take_min(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	if (accumulator->isnull || (!input->isnull && compare_values(aggregator, accumulator, input) >= 0))
		*accumulator = *input;
}

static bool
accepts_boolean(const DataType *type)
{
	return type->root == TYPE_BOOLEAN;
}

static void
take_and(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	if (accumulator->isnull)
		*accumulator = *input;
	else if (!input->isnull)
		accumulator->v.i8 = accumulator->v.i8 && input->v.i8;
}

static void
take_or(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	if (accumulator->isnull)
		*accumulator = *input;
	else if (!input->isnull)
		accumulator->v.i8 = accumulator->v.i8 || input->v.i8;
}

const AggregateFunction aggregate_primary_key = {
	.name = "primary-key",
	.aggregate = take_input,
	.retract = take_input
};

const AggregateFunction aggregate_last_value = {
	.name = "last_value",
	.aggregate = take_input,
	.retract = take_null
};

const AggregateFunction aggregate_last_non_null_value = {
	.name = "last_non_null_value",
	.aggregate = take_non_null,
	.retract = take_null_for_non_null
};

const AggregateFunction aggregate_first_value = {
	.name = "first_value",
	.aggregate = take_first
};

const AggregateFunction aggregate_first_non_null_value = {
	.name = "first_non_null_value",
	.aggregate = take_first_non_null
};

const AggregateFunction aggregate_first_not_null_value = {
	.name = "first_not_null_value",
	.aggregate = take_first_non_null
};

const AggregateFunction aggregate_max = {
	.name = "max",
	.accepts = accepts_ordered,
	.aggregate = take_max
};

const AggregateFunction aggregate_min = {
	.name = "min",
	.accepts = accepts_ordered,
	.aggregate = take_min
};

const AggregateFunction aggregate_bool_and = {
	.name = "bool_and",
	.accepts = accepts_boolean,
	.aggregate = take_and
};

const AggregateFunction aggregate_bool_or = {
	.name = "bool_or",
	.accepts = accepts_boolean,
	.aggregate = take_or
};
