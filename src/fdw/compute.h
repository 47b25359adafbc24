/*
 * compute.h
 *		SQL expressions and aggregates that can be computed on batches.
 *
 * What is returned means exactly the same as in the executor, results,
 * types and errors included.  All is in CurrentMemoryContext.
 */
#ifndef STREAMHOUSE_FDW_COMPUTE_H
#define STREAMHOUSE_FDW_COMPUTE_H

#include "columnar/aggregation.h"
#include "columnar/grouping.h"
#include "fdw/quals.h"

/* The same for an expression that rows are grouped by. */
extern Expression *compute_analyze_key(Expr *node, const QualTarget *target);

/*
 * Bring both sides of an equation to types whose equal values are equal in
 * memory; false if that cannot be.
 */
extern bool compute_unite_keys(Expression **left, Expression **right);

/* How an aggregate's result is made of what is kept for it. */
typedef enum AggregateResult
{
	RESULT_COUNT,
	RESULT_SUM,					/* of numbers whose sum is a bigint */
	RESULT_NUMERIC_SUM,
	RESULT_NUMERIC_AVERAGE,
	RESULT_FLOAT_SUM,			/* as it is, real or double precision */
	RESULT_FLOAT_AVERAGE,
	RESULT_EXTREME,
	/* states as parallel workers hand them to their leader */
	RESULT_INT8_STATE,			/* of sum and avg of bigint: int8_avg_serialize */
	RESULT_INT_STATE,			/* of avg of integer and smallint: bigint[2] */
	RESULT_NUMERIC_STATE,		/* numeric_avg_serialize */
	RESULT_FLOAT_STATE			/* of avg of floats: double precision[3] */
} AggregateResult;

typedef struct ComputedAggregate
{
	AggregationItem item;
	AggregateResult result;
	Oid			typid;			/* of the result */
} ComputedAggregate;

/* False: it cannot be computed.  Of partial aggregates the result is the state. */
extern bool compute_analyze_aggregate(const Aggref *aggref, const QualTarget *target, ComputedAggregate *out);

/* Mark used[field] for every field that an expression reads. */
extern void compute_fields(const Expression *expression, bool *used);

#endif							/* STREAMHOUSE_FDW_COMPUTE_H */
