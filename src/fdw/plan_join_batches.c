/*
 * plan_join_batches.c
 *		Finds joins of lake tables that can be done on batches.
 *
 * Of each join that the planner considers it is noted here, whether and how
 * its rows can be joined inside a scan: the rows of one relation, the first,
 * pass by the other ones, which are held in memory and found by equal keys.
 * That alone is no path; plan_upper.c makes one for aggregates over the join.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "utils/lsyscache.h"

#include "fdw/compute.h"
#include "fdw/fdw.h"
#include "fdw/plan.h"
#include "fdw/point.h"
#include "settings.h"

/* Bytes of a row in memory, beside its values. */
#define BUILT_ROW_BYTES 48

/* When a relation does not fit into memory, the first one is read several times: at most so many. */
#define MAX_PASSES 8

/* ---- members ---- */

static bool
is_ours(const RelOptInfo *rel)
{
	return rel->fdwroutine != NULL && rel->fdwroutine->GetForeignJoinPaths == streamhouseGetForeignJoinPaths;
}

/* Is it a lake table whose filters the reader applies, all of them? */
static bool
can_be_member(const RelOptInfo *rel)
{
	return rel->reloptkind == RELOPT_BASEREL && is_ours(rel) && rel->fdw_private != NULL && bms_is_empty(rel->lateral_relids) &&
		filters_are_exact(rel, rel->fdw_private);
}

static const RelationPlan *
member_plan(const JoinMember *member)
{
	return member->rel->fdw_private;
}

static const QualTarget *
make_target(List *members)
{
	const QualTarget **targets = palloc(list_length(members) * sizeof(QualTarget *));
	int			i;

	for (i = 0; i < list_length(members); i++)
		targets[i] = &member_plan(list_nth(members, i))->target;
	return qual_join_targets(targets, list_length(members));
}

/* A side of an equation, as an expression on batches; typid: what the operator takes. */
static Expression *
analyze_side(Expr *side, Oid typid, const QualTarget *target)
{
	Expression *expression = compute_analyze_key(side, target);

	return expression != NULL && point_is_defined(expression->type, getBaseType(typid)) ? expression : NULL;
}

static bool
has_bytes_equality(Oid collation)
{
	return !OidIsValid(collation) || get_collation_isdeterministic(collation);
}

/* Take an equation of the member's rows with those before; false if the clause is none, or cannot be computed. */
static bool
take_clause(JoinMember *member, const RestrictInfo *clause, const RelOptInfo *outerrel, const QualTarget *target)
{
	const OpExpr *equation = (const OpExpr *) clause->clause;
	Expression *left;
	Expression *right;
	Oid			left_type;
	Oid			right_type;
	bool		outer_is_left;

	if (!IsA(equation, OpExpr) || list_length(equation->args) != 2 || clause->pseudoconstant ||
		clause->security_level > 0 || !clause->can_join || !qual_is_equality(equation->opno) ||
		!has_bytes_equality(equation->inputcollid))
		return false;
	outer_is_left = bms_is_subset(clause->left_relids, outerrel->relids);
	if (!bms_is_subset(outer_is_left ? clause->left_relids : clause->right_relids, outerrel->relids) ||
		!bms_is_subset(outer_is_left ? clause->right_relids : clause->left_relids, member->rel->relids))
		return false;
	op_input_types(equation->opno, &left_type, &right_type);
	left = analyze_side(linitial(equation->args), left_type, target);
	right = analyze_side(lsecond(equation->args), right_type, target);
	if (left == NULL || right == NULL || !compute_unite_keys(&left, &right))
		return false;
	member->equations = lappend(member->equations, unconstify(OpExpr *, equation));
	member->outer_keys = lappend(member->outer_keys, list_nth(equation->args, outer_is_left ? 0 : 1));
	member->inner_keys = lappend(member->inner_keys, list_nth(equation->args, outer_is_left ? 1 : 0));
	return true;
}

/* All conditions of the join must be such equations. */
static bool
take_clauses(JoinMember *member, const RelOptInfo *joinrel, const RelOptInfo *outerrel, List *clauses,
			 const QualTarget *target)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		const RestrictInfo *clause = lfirst_node(RestrictInfo, lc);

		/* a filter of the joined rows */
		if (member->is_left && RINFO_IS_PUSHED_DOWN(clause, joinrel->relids))
			return false;
		if (!take_clause(member, clause, outerrel, target))
			return false;
	}
	return member->outer_keys != NIL && list_length(member->outer_keys) <= GROUPING_MAX_KEYS;
}

/* ---- costs ---- */

/* How often the first relation is read so that this one's rows fit into memory. */
static double
member_passes(const JoinMember *member)
{
	double		bytes = member->rel->rows * (member->rel->reltarget->width + BUILT_ROW_BYTES);

	return ceil(Max(bytes, 1) / get_hash_memory_limit());
}

static void
set_cost(JoinPlan *plan)
{
	double		passes = 1;
	ListCell   *lc;

	plan->cost = 0;
	for_each_from(lc, plan->members, 1)
	{
		const JoinMember *member = lfirst(lc);

		plan->cost += passes * (relation_read_cost(member_plan(member)) +
								BATCH_ROW_COST_FACTOR * cpu_tuple_cost * member_plan(member)->rows +
								cpu_tuple_cost * member->rel->rows);
		passes *= member_passes(member);
	}
	if (passes > MAX_PASSES)
		plan->cost = INFINITY;
	else
	{
		const JoinMember *first = linitial(plan->members);

		plan->cost += passes * (relation_read_cost(member_plan(first)) +
								BATCH_ROW_COST_FACTOR * cpu_tuple_cost * member_plan(first)->rows +
								BATCH_ROW_COST_FACTOR * cpu_operator_cost * first->rel->rows *
								list_length(plan->members));
	}
}

/* ---- joins ---- */

/* The plan of the rows that come first: of a join, or of one relation. */
static const JoinPlan *
outer_plan_of(RelOptInfo *outerrel)
{
	JoinPlan   *plan;
	JoinMember *first;

	if (outerrel->reloptkind == RELOPT_JOINREL)
		return outerrel->fdwroutine == NULL || is_ours(outerrel) ? outerrel->fdw_private : NULL;
	if (!can_be_member(outerrel))
		return NULL;
	plan = palloc0(sizeof(JoinPlan));
	first = palloc0(sizeof(JoinMember));
	first->rel = outerrel;
	plan->members = list_make1(first);
	return plan;
}

static bool
is_of_use(const PlannerInfo *root, const RelOptInfo *joinrel)
{
	return setting_pushdown && (root->parse->hasAggs || root->parse->groupClause != NIL) &&
		bms_is_empty(joinrel->lateral_relids);
}

void
streamhouseGetForeignJoinPaths(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel, RelOptInfo *innerrel,
							   JoinType jointype, JoinPathExtraData *extra)
{
	const JoinPlan *outer;
	const JoinPlan *before = joinrel->fdw_private;
	JoinPlan   *plan;
	JoinMember *member;

	if (!is_of_use(root, joinrel) || (jointype != JOIN_INNER && jointype != JOIN_LEFT) ||
		!can_be_member(innerrel))
		return;
	outer = outer_plan_of(outerrel);
	if (outer == NULL)
		return;
	member = palloc0(sizeof(JoinMember));
	member->rel = innerrel;
	member->is_left = jointype == JOIN_LEFT;
	plan = palloc0(sizeof(JoinPlan));
	plan->members = lappend(list_copy(outer->members), member);
	plan->target = make_target(plan->members);
	if (!take_clauses(member, joinrel, outerrel, extra->restrictlist, plan->target))
		return;
	set_cost(plan);
	if (!isinf(plan->cost) && (before == NULL || plan->cost < before->cost))
		joinrel->fdw_private = plan;
}

List *
join_private(const JoinPlan *join)
{
	List	   *private = NIL;
	ListCell   *lc;

	for_each_from(lc, join->members, 1)
	{
		const JoinMember *member = lfirst(lc);

		List	   *entry = list_make5(makeInteger(member->rel->relid),
									   extract_actual_clauses(member->rel->baserestrictinfo, false),
									   makeInteger(member->is_left), member->equations, member->outer_keys);

		private = lappend(private, lappend(entry, member->inner_keys));
	}
	return private;
}
