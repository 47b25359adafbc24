/*
 * compute_aggregate.c
 *		Aggregates that can be computed on batches.
 *
 * Those whose results come out exactly as the server's: sums of integers and
 * decimals are exact in any order, those of floats are made step by step in
 * the order of rows.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"

#include "compat.h"
#include "fdw/compute.h"

static bool
set_kind(ComputedAggregate *out, AggregateKind kind, AggregateResult result)
{
	out->item.kind = kind;
	out->result = result;
	return true;
}

static bool
is_numeric_cast(Oid function)
{
	return function == F_NUMERIC_INT2 || function == F_NUMERIC_INT4 || function == F_NUMERIC_INT8;
}

/* Sums of numeric are exact, so integers can be added before they are numeric. */
static Expr *
strip_numeric_cast(Expr *node)
{
	if (IsA(node, FuncExpr) && is_numeric_cast(((FuncExpr *) node)->funcid))
		return linitial(((FuncExpr *) node)->args);
	return node;
}

static bool
analyze_number_aggregate(const Aggref *aggref, ComputedAggregate *out)
{
	bool		partial = DO_AGGSPLIT_SKIPFINAL(aggref->aggsplit);

	switch (aggref->aggfnoid)
	{
		case F_SUM_INT2:
		case F_SUM_INT4:
			return set_kind(out, AGGREGATE_SUM, RESULT_SUM);
		case F_SUM_INT8:
			return set_kind(out, AGGREGATE_SUM, partial ? RESULT_INT8_STATE : RESULT_NUMERIC_SUM);
		case F_SUM_NUMERIC:
			return set_kind(out, AGGREGATE_SUM, partial ? RESULT_NUMERIC_STATE : RESULT_NUMERIC_SUM);
		case F_AVG_INT2:
		case F_AVG_INT4:
			return set_kind(out, AGGREGATE_SUM, partial ? RESULT_INT_STATE : RESULT_NUMERIC_AVERAGE);
		case F_AVG_INT8:
			return set_kind(out, AGGREGATE_SUM, partial ? RESULT_INT8_STATE : RESULT_NUMERIC_AVERAGE);
		case F_AVG_NUMERIC:
			return set_kind(out, AGGREGATE_SUM, partial ? RESULT_NUMERIC_STATE : RESULT_NUMERIC_AVERAGE);
		case F_SUM_FLOAT4:
		case F_SUM_FLOAT8:
			return set_kind(out, AGGREGATE_SUM, RESULT_FLOAT_SUM);
		case F_AVG_FLOAT4:
		case F_AVG_FLOAT8:
			return set_kind(out, AGGREGATE_MOMENTS, partial ? RESULT_FLOAT_STATE : RESULT_FLOAT_AVERAGE);
		case F_VAR_POP_FLOAT4:
		case F_VAR_POP_FLOAT8:
			return set_kind(out, AGGREGATE_MOMENTS, partial ? RESULT_FLOAT_STATE : RESULT_FLOAT_VAR_POP);
		case F_VAR_SAMP_FLOAT4:
		case F_VAR_SAMP_FLOAT8:
		case F_VARIANCE_FLOAT4:
		case F_VARIANCE_FLOAT8:
			return set_kind(out, AGGREGATE_MOMENTS, partial ? RESULT_FLOAT_STATE : RESULT_FLOAT_VAR_SAMP);
		case F_STDDEV_POP_FLOAT4:
		case F_STDDEV_POP_FLOAT8:
			return set_kind(out, AGGREGATE_MOMENTS, partial ? RESULT_FLOAT_STATE : RESULT_FLOAT_STDDEV_POP);
		case F_STDDEV_SAMP_FLOAT4:
		case F_STDDEV_SAMP_FLOAT8:
		case F_STDDEV_FLOAT4:
		case F_STDDEV_FLOAT8:
			return set_kind(out, AGGREGATE_MOMENTS, partial ? RESULT_FLOAT_STATE : RESULT_FLOAT_STDDEV_SAMP);
		default:
			return false;
	}
}

static bool
analyze_extreme_aggregate(const Aggref *aggref, ComputedAggregate *out)
{
	switch (aggref->aggfnoid)
	{
		case F_MIN_TEXT:
		case F_MAX_TEXT:
			if (!OidIsValid(aggref->inputcollid) || !compat_collation_is_c(aggref->inputcollid))
				return false;
			return set_kind(out, aggref->aggfnoid == F_MIN_TEXT ? AGGREGATE_MIN : AGGREGATE_MAX, RESULT_EXTREME);
		case F_MIN_INT2:
		case F_MIN_INT4:
		case F_MIN_INT8:
		case F_MIN_FLOAT4:
		case F_MIN_FLOAT8:
		case F_MIN_NUMERIC:
		case F_MIN_DATE:
		case F_MIN_TIME:
		case F_MIN_TIMESTAMP:
		case F_MIN_TIMESTAMPTZ:
		case F_BOOL_AND:
		case F_EVERY:
			return set_kind(out, AGGREGATE_MIN, RESULT_EXTREME);
		case F_MAX_INT2:
		case F_MAX_INT4:
		case F_MAX_INT8:
		case F_MAX_FLOAT4:
		case F_MAX_FLOAT8:
		case F_MAX_NUMERIC:
		case F_MAX_DATE:
		case F_MAX_TIME:
		case F_MAX_TIMESTAMP:
		case F_MAX_TIMESTAMPTZ:
		case F_BOOL_OR:
			return set_kind(out, AGGREGATE_MAX, RESULT_EXTREME);
		default:
			return false;
	}
}

/* count(x) looks at null flags only, whatever the type; count(DISTINCT x) at values. */
static bool
analyze_count(const Aggref *aggref, Expr *argument, ComputedAggregate *out)
{
	if (aggref->aggdistinct == NIL)
		return set_kind(out, AGGREGATE_COUNT, RESULT_COUNT);
	if (!compute_is_same_in_sql(out->item.argument->type) || !compute_is_equal_by_bytes(argument))
		return false;
	return set_kind(out, AGGREGATE_COUNT_DISTINCT, RESULT_COUNT);
}

static bool
analyze_argument_aggregate(const Aggref *aggref, const QualTarget *target, ComputedAggregate *out)
{
	Expr	   *argument = linitial_node(TargetEntry, aggref->args)->expr;
	bool		number = analyze_number_aggregate(aggref, out);

	if (number && aggref->aggdistinct != NIL)
		return false;
	out->item.argument = compute_analyze(number ? strip_numeric_cast(argument) : argument, target);
	if (out->item.argument == NULL)
		return false;
	if (aggref->aggfnoid == F_COUNT_ANY)
		return analyze_count(aggref, argument, out);
	return compute_is_same_in_sql(out->item.argument->type) && (number || analyze_extreme_aggregate(aggref, out));
}

/* A filter is a predicate, else a boolean that is computed. */
static bool
analyze_filter(Expr *clause, const QualTarget *target, AggregationItem *item)
{
	Predicate  *filter = NULL;

	if (compute_analyze_condition(clause, target, &filter))
	{
		item->filter = filter;
		return true;
	}
	item->condition = compute_analyze(clause, target);
	return item->condition != NULL;
}

bool
compute_analyze_aggregate(const Aggref *aggref, const QualTarget *target, ComputedAggregate *out)
{
	memset(out, 0, sizeof(ComputedAggregate));
	out->typid = aggref->aggtype;
	if ((aggref->aggsplit != AGGSPLIT_SIMPLE && aggref->aggsplit != AGGSPLIT_INITIAL_SERIAL) ||
		aggref->agglevelsup != 0 || aggref->aggorder != NIL || aggref->aggdirectargs != NIL ||
		aggref->aggvariadic || list_length(aggref->args) > 1)
		return false;
	if (aggref->aggfilter != NULL && !analyze_filter(aggref->aggfilter, target, &out->item))
		return false;
	if (aggref->args == NIL)
		return aggref->aggfnoid == F_COUNT_ && set_kind(out, AGGREGATE_COUNT_ROWS, RESULT_COUNT);
	return analyze_argument_aggregate(aggref, target, out);
}
