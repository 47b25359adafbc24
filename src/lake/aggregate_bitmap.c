/*
 * aggregate_bitmap.c
 *		Aggregate functions that unite serialised bitmaps and sketches.
 */
#include "postgres.h"

#include "lake/aggregator.h"
#include "lake/roaring.h"
#include "lake/sketch.h"
#include "utils/memutils.h"

static bool
accepts_bytes(const DataType *type)
{
	return type->root == TYPE_VARBINARY;
}

typedef bool (*UniteBytes) (BytesView a, BytesView b, StringInfo out);

/* NULL counts for nothing.  What a union leaves behind goes with its own context. */
static void
unite(Aggregator *aggregator, UniteBytes unite_bytes, const char *what, Scalar *accumulator, const Scalar *input)
{
	MemoryContext context;
	MemoryContext old;
	StringInfoData result;

	if (accumulator->isnull || input->isnull)
	{
		if (accumulator->isnull)
			*accumulator = *input;
		return;
	}
	old = MemoryContextSwitchTo(aggregator->context);
	initStringInfo(&result);
	context = AllocSetContextCreate(aggregator->context, "streamhouse union", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(context);
	if (!unite_bytes(accumulator->v.bytes, input->v.bytes, &result))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("column \"%s\" of lake table \"%s\" has a value that is no %s",
						aggregator->field->name, aggregator->table_name, what)));
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	accumulator->v.bytes.data = result.data;
	accumulator->v.bytes.length = result.len;
}

static void
unite_rbm32(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	unite(aggregator, roaring32_unite, "32-bit roaring bitmap", accumulator, input);
}

static void
unite_rbm64(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	unite(aggregator, roaring64_unite, "64-bit roaring bitmap", accumulator, input);
}

static void
unite_theta(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	unite(aggregator, theta_sketch_unite, "compact theta sketch", accumulator, input);
}

static void
unite_hll(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	unite(aggregator, hll_sketch_unite, "HLL sketch", accumulator, input);
}

const AggregateFunction aggregate_rbm32 = {
	.name = "rbm32",
	.accepts = accepts_bytes,
	.aggregate = unite_rbm32
};

const AggregateFunction aggregate_rbm64 = {
	.name = "rbm64",
	.accepts = accepts_bytes,
	.aggregate = unite_rbm64
};

const AggregateFunction aggregate_theta_sketch = {
	.name = "theta_sketch",
	.accepts = accepts_bytes,
	.aggregate = unite_theta
};

const AggregateFunction aggregate_hll_sketch = {
	.name = "hll_sketch",
	.accepts = accepts_bytes,
	.aggregate = unite_hll
};
