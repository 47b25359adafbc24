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

/* An expression over the relation's columns; NULL: it cannot be computed. */
extern Expression *compute_analyze(Expr *node, const QualTarget *target);

/* A condition that means the same as the clause; false if there is none such.  *out may be NULL: always true. */
extern bool compute_analyze_condition(Expr *clause, const QualTarget *target, Predicate **out);

/* Is a value of the type in SQL what it is in the lake? */
extern bool compute_is_same_in_sql(const DataType *type);

/* Do equal values have equal bytes? */
extern bool compute_is_equal_by_bytes(Expr *node);

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
	RESULT_FLOAT_VAR_POP,
	RESULT_FLOAT_VAR_SAMP,
	RESULT_FLOAT_STDDEV_POP,
	RESULT_FLOAT_STDDEV_SAMP,
	RESULT_EXTREME,
	/* states as parallel workers hand them to their leader */
	RESULT_INT8_STATE,			/* of sum and avg of bigint: int8_avg_serialize */
	RESULT_INT_STATE,			/* of avg of integer and smallint: bigint[2] */
	RESULT_NUMERIC_STATE,		/* numeric_avg_serialize */
	RESULT_FLOAT_STATE			/* of avg and variances of floats: double precision[3] */
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

/* Make an expression ready to be computed; table is a name for messages. */
extern void compute_prepare(Expression *expression, const char *table, EState *estate);

#endif							/* STREAMHOUSE_FDW_COMPUTE_H */
