/*
 * plan_upper.c
 *		Planning what is done above a scan: GROUP BY, DISTINCT and aggregates.
 *
 * (ORDER BY ... LIMIT is in plan_order.c.)  They are pushed down when all of it can be: each key, each aggregate, and
 * every filter of the relation exactly.  HAVING, and what is computed from
 * aggregates, is left to the executor.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "utils/selfuncs.h"

#include "fdw/compute.h"
#include "fdw/fdw.h"
#include "fdw/metadata.h"
#include "fdw/plan.h"
#include "settings.h"

/* Of an upper relation, in fdw_private. */
typedef struct UpperPlan
{
	const RelationPlan *base;	/* of a join: of its first relation */
	const JoinPlan *join;		/* NULL: there is one relation */
	const QualTarget *target;
	Index		relid;
	List	   *clauses;		/* Expr *: the WHERE clauses */
	List	   *keys;			/* Expr * */
	List	   *tlist;			/* TargetEntry *: the keys, then aggregates */
	List	   *having;			/* Expr *: for the executor */
	bool		from_metadata;	/* manifests may know all aggregates */
} UpperPlan;

/* ---- what can be pushed down ---- */

/* Are all filters of the relation evaluated by the reader, exactly, in any order? */
bool
filters_are_exact(const RelOptInfo *input_rel, const RelationPlan *base)
{
	ListCell   *lc;

	foreach(lc, input_rel->baserestrictinfo)
	{
		const RestrictInfo *clause = lfirst_node(RestrictInfo, lc);

		if (clause->security_level > 0 || !list_member_ptr(base->exact, clause))
			return false;
	}
	return true;
}

static bool
input_is_simple(const RelOptInfo *input_rel)
{
	return input_rel->reloptkind == RELOPT_BASEREL && input_rel->fdw_private != NULL &&
		bms_is_empty(input_rel->lateral_relids);
}

/* clauses: SortGroupClause *, of GROUP BY or DISTINCT. */
static bool
take_keys(PlannerInfo *root, UpperPlan *upper, const List *clauses)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		Expr	   *key = (Expr *) get_sortgroupclause_expr(lfirst(lc), root->processed_tlist);

		if (compute_analyze_key(key, upper->target) == NULL)
			return false;
		if (!list_member(upper->keys, key))
			upper->keys = lappend(upper->keys, key);
	}
	upper->tlist = add_to_flat_tlist(NIL, upper->keys);
	return list_length(upper->keys) <= GROUPING_MAX_KEYS;
}

/*
 * Take the aggregates of an expression.  True, to stop, when it depends on
 * anything but keys and aggregates that can be computed.
 */
static bool
take_aggregates_walker(Node *node, void *context)
{
	UpperPlan  *upper = context;
	ComputedAggregate computed;

	if (node == NULL || list_member(upper->keys, node))
		return false;
	if (IsA(node, Aggref))
	{
		if (!compute_analyze_aggregate((Aggref *) node, upper->target, &computed))
			return true;
		upper->from_metadata &= metadata_may_know(&computed.item);
		upper->tlist = add_to_flat_tlist(upper->tlist, list_make1(node));
		return false;
	}
	if (IsA(node, Var) || IsA(node, PlaceHolderVar) || IsA(node, GroupingFunc) || IsA(node, SubPlan) ||
		IsA(node, AlternativeSubPlan))
		return true;
	return expression_tree_walker(node, take_aggregates_walker, context);
}

static bool
take_aggregates(UpperPlan *upper, List *exprs)
{
	return !take_aggregates_walker((Node *) exprs, upper);
}

static void
take_input(UpperPlan *upper, const RelOptInfo *input_rel)
{
	const RelOptInfo *first = input_rel;

	if (input_rel->reloptkind == RELOPT_JOINREL)
	{
		upper->join = input_rel->fdw_private;
		first = ((JoinMember *) linitial(upper->join->members))->rel;
	}
	upper->base = first->fdw_private;
	upper->target = upper->join != NULL ? upper->join->target : &upper->base->target;
	upper->relid = first->relid;
	upper->clauses = extract_actual_clauses(first->baserestrictinfo, false);
	upper->from_metadata = upper->join == NULL && upper->base->partitions_only;
}

/* clauses give the keys; target is what comes out of the groups. */
static UpperPlan *
analyze_grouping(PlannerInfo *root, const RelOptInfo *input_rel, const List *clauses, const PathTarget *target,
				 List *having)
{
	UpperPlan  *upper = palloc0(sizeof(UpperPlan));

	if (root->parse->groupingSets != NIL)
		return NULL;
	take_input(upper, input_rel);
	if (upper->join == NULL && !filters_are_exact(input_rel, upper->base))
		return NULL;
	upper->having = having;
	if (!take_keys(root, upper, clauses) ||
		!take_aggregates(upper, target->exprs) ||
		!take_aggregates(upper, upper->having))
		return NULL;
	return upper;
}

/* ---- paths ---- */

/*
 * A path that groups the rows of a relation, or the share of them that one of
 * so many parallel workers reads (0: all).  top_groups: as find_top_groups
 * gives it.
 */
static ForeignPath *
make_grouping_path(PlannerInfo *root, const RelOptInfo *input_rel, RelOptInfo *output_rel, PathTarget *target,
				   const UpperPlan *upper, List *top_groups, int workers)
{
	double		divisor = parallel_divisor(workers);
	double		input_rows = clamp_row_est(input_rel->rows / divisor);
	double		groups = 1;
	double		rows;
	Cost		startup_cost = 0;
	Cost		total_cost;
	QualCost	having_cost;
	ForeignPath *path;

	if (upper->keys != NIL)
		groups = estimate_num_groups(root, upper->keys, input_rows, NULL, NULL);
	if (top_groups != NIL)
		groups = Min(groups, linitial_int(top_groups));
	rows = clamp_row_est(groups * clauselist_selectivity(root, upper->having, 0, JOIN_INNER, NULL));
	cost_qual_eval(&having_cost, upper->having, root);

	if (upper->join != NULL)
	{
		startup_cost += upper->join->cost;
		startup_cost += BATCH_ROW_COST_FACTOR * cpu_operator_cost * list_length(upper->tlist) * input_rows;
	}
	else if (upper->keys != NIL || !upper->from_metadata || workers > 0)
	{
		startup_cost += relation_read_cost(upper->base) / divisor;
		startup_cost += BATCH_ROW_COST_FACTOR * cpu_tuple_cost * upper->base->rows / divisor;
		startup_cost += BATCH_ROW_COST_FACTOR * cpu_operator_cost * list_length(upper->tlist) * input_rows;
	}
	startup_cost += having_cost.startup + target->cost.startup;
	total_cost = startup_cost + (cpu_tuple_cost + having_cost.per_tuple) * groups;
	total_cost += target->cost.per_tuple * rows;

	path = create_foreign_upper_path(root, output_rel, target,
									 rows,
									 0, /* disabled_nodes */
									 startup_cost,
									 total_cost,
									 NIL,	/* no pathkeys */
									 NULL,	/* no outer path */
									 NIL,	/* no join clauses */
									 top_groups);
	path->path.parallel_aware = workers > 0;
	path->path.parallel_safe = workers > 0;
	path->path.parallel_workers = workers;
	return path;
}

static void
add_grouping_path(PlannerInfo *root, const RelOptInfo *input_rel, RelOptInfo *output_rel,
				  const GroupPathExtraData *extra)
{
	PathTarget *target = output_rel->reltarget;
	UpperPlan  *upper = analyze_grouping(root, input_rel, root->parse->groupClause, target,
										 (List *) extra->havingQual);

	if (upper == NULL)
		return;
	output_rel->fdw_private = upper;
	add_path(output_rel, (Path *) make_grouping_path(root, input_rel, output_rel, target, upper,
													 find_top_groups(root, upper->tlist, upper->target), 0));
}

/* SELECT DISTINCT groups by all of its columns. */
static void
add_distinct_path(PlannerInfo *root, const RelOptInfo *input_rel, RelOptInfo *output_rel)
{
	const Query *query = root->parse;
	PathTarget *target = root->upper_targets[UPPERREL_DISTINCT];
	UpperPlan  *upper;

	if (query->hasDistinctOn || query->hasTargetSRFs || query->hasWindowFuncs)
		return;
	upper = analyze_grouping(root, input_rel, query->distinctClause, target, NIL);
	if (upper == NULL || upper->keys == NIL)
		return;
	output_rel->fdw_private = upper;
	add_path(output_rel, (Path *) make_grouping_path(root, input_rel, output_rel, target, upper, NIL, 0));
}

/* Each worker groups what it reads; core combines the states. */
static void
add_partial_grouping_path(PlannerInfo *root, const RelOptInfo *input_rel, RelOptInfo *output_rel)
{
	int			workers = relation_workers(root, input_rel);
	UpperPlan  *upper;

	if (workers == 0 || !output_rel->consider_parallel)
		return;
	upper = analyze_grouping(root, input_rel, root->parse->groupClause, output_rel->reltarget, NIL);
	if (upper == NULL)
		return;
	output_rel->fdw_private = upper;
	add_partial_path(output_rel, (Path *) make_grouping_path(root, input_rel, output_rel, output_rel->reltarget, upper,
															 NIL, workers));
}

void
streamhouseGetForeignUpperPaths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel,
								RelOptInfo *output_rel, void *extra)
{
	if (!setting_pushdown || output_rel->fdw_private != NULL)
		return;
	if (stage == UPPERREL_GROUP_AGG && input_rel->reloptkind == RELOPT_JOINREL && input_rel->fdw_private != NULL)
		add_grouping_path(root, input_rel, output_rel, extra);
	if (!input_is_simple(input_rel))
		return;
	if (stage == UPPERREL_GROUP_AGG)
		add_grouping_path(root, input_rel, output_rel, extra);
	else if (stage == UPPERREL_PARTIAL_GROUP_AGG)
		add_partial_grouping_path(root, input_rel, output_rel);
	else if (stage == UPPERREL_DISTINCT)
		add_distinct_path(root, input_rel, output_rel);
	else if (stage == UPPERREL_ORDERED)
		add_top_path(root, input_rel, output_rel);
}

/* ---- plans ---- */

/* The parameters of clauses and expressions, so that the executor knows the scan depends on them. */
static bool
parameters_walker(Node *node, void *context)
{
	List	  **parameters = context;

	if (node == NULL)
		return false;
	if (IsA(node, Param))
	{
		*parameters = list_append_unique(*parameters, node);
		return false;
	}
	return expression_tree_walker(node, parameters_walker, context);
}

ForeignScan *
make_upper_plan(ForeignPath *best_path, List *tlist)
{
	const UpperPlan *upper = best_path->path.parent->fdw_private;
	List	   *parameters = NIL;
	List	   *joined = upper->join != NULL ? join_private(upper->join) : NIL;
	List	   *private;
	ListCell   *lc;

	parameters_walker((Node *) upper->clauses, &parameters);
	parameters_walker((Node *) upper->tlist, &parameters);
	foreach(lc, joined)
		parameters_walker(list_nth(lfirst_node(List, lc), JOIN_CLAUSES), &parameters);
	private = list_make5(NIL, makeInteger(upper->relid), upper->clauses,
						 makeInteger(list_length(upper->keys)), joined);
	private = lappend(private, best_path->fdw_private);
	return make_foreignscan(tlist, upper->having, 0, parameters, private, upper->tlist, NIL, NULL);
}
