/*
 * plan_order.c
 *		Planning ORDER BY ... LIMIT inside a scan.
 *
 * A path of the relation that gives its first so many rows in order stands
 * beside the paths that are sorted.  The executor's own Limit stays above it.
 * A path that groups leaves out groups that cannot be among the first; the
 * executor's sort stays above that one, too.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "fdw/compute.h"
#include "fdw/fdw.h"
#include "fdw/plan.h"
#include "fdw/top_groups.h"

/* More rows are left to the server's sort, which can use the disk. */
#define MAX_ROWS 10000

/* LIMIT and OFFSET together, where both are constants; 0: no limit, or none known. */
static int64
constant_limit(const Query *parse)
{
	const Const *count = (Const *) parse->limitCount;
	const Const *offset = (Const *) parse->limitOffset;
	int64		rows;

	if (count == NULL || !IsA(count, Const) || count->constisnull || parse->limitOption != LIMIT_OPTION_COUNT)
		return 0;
	rows = DatumGetInt64(count->constvalue);
	if (rows <= 0 || rows > MAX_ROWS)
		return 0;
	if (offset == NULL || (IsA(offset, Const) && offset->constisnull))
		return rows;
	if (!IsA(offset, Const) || DatumGetInt64(offset->constvalue) < 0 ||
		DatumGetInt64(offset->constvalue) > MAX_ROWS)
		return 0;
	return rows + DatumGetInt64(offset->constvalue);
}

/* Do rows that are sorted for the limit stand for themselves, and come from grouping, or from the scan, as they are? */
static bool
query_is_simple(const PlannerInfo *root)
{
	const Query *parse = root->parse;

	return parse->commandType == CMD_SELECT && parse->rowMarks == NIL && root->rowMarks == NIL &&
		parse->sortClause != NIL && parse->groupingSets == NIL && parse->distinctClause == NIL &&
		!parse->hasWindowFuncs && !parse->hasTargetSRFs && parse->havingQual == NULL && parse->setOperations == NULL;
}

static bool
query_groups(const PlannerInfo *root)
{
	return root->parse->groupClause != NIL || root->parse->hasAggs;
}

/* Of a sort clause's operator for the type: BTLessStrategyNumber, BTGreaterStrategyNumber, or another. */
static int
sort_strategy(const SortGroupClause *clause, const Expr *expr)
{
	return get_op_opfamily_strategy(clause->sortop,
									lookup_type_cache(exprType((const Node *) expr), TYPECACHE_BTREE_OPFAMILY)->btree_opf);
}

/* A sort key as a list of attribute number, whether it descends, whether nulls come first; NIL: no column. */
static List *
analyze_sort_key(const PlannerInfo *root, const SortGroupClause *clause, const RelationPlan *plan)
{
	Expr	   *expr = (Expr *) get_sortgroupclause_expr(unconstify(SortGroupClause *, clause), root->processed_tlist);
	Oid			collation = exprCollation((Node *) expr);
	int			strategy = sort_strategy(clause, expr);

	while (IsA(expr, RelabelType))
		expr = ((RelabelType *) expr)->arg;
	if (!IsA(expr, Var) || compute_analyze_key(expr, &plan->target) == NULL ||
		(strategy != BTLessStrategyNumber && strategy != BTGreaterStrategyNumber))
		return NIL;
	if (OidIsValid(collation) && !compat_collation_is_c(collation))
		return NIL;
	return list_make3_int(((Var *) expr)->varattno, strategy == BTGreaterStrategyNumber, clause->nulls_first);
}

static List *
analyze_sort_keys(const PlannerInfo *root, const RelationPlan *plan)
{
	List	   *keys = NIL;
	ListCell   *lc;

	foreach(lc, root->parse->sortClause)
	{
		List	   *key = analyze_sort_key(root, lfirst_node(SortGroupClause, lc), plan);

		if (key == NIL)
			return NIL;
		keys = lappend(keys, key);
	}
	return keys;
}

void
add_top_path(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *output_rel)
{
	const RelationPlan *plan = input_rel->fdw_private;
	int64		limit = constant_limit(root->parse);
	PathTarget *target = root->upper_targets[UPPERREL_ORDERED];
	Cost		cost;
	Path	   *path;
	List	   *keys;

	/* rows kept, three times as many as wanted, must fit */
	if (limit == 0 || !query_is_simple(root) || query_groups(root) || !filters_are_exact(input_rel, plan) ||
		3.0 * limit * (input_rel->reltarget->width + 24) > work_mem * 1024.0)
		return;
	keys = analyze_sort_keys(root, plan);
	if (keys == NIL)
		return;

	cost = relation_read_cost(plan) + BATCH_ROW_COST_FACTOR * cpu_tuple_cost * plan->rows +
		cpu_tuple_cost * limit;
	path = (Path *)
		create_foreignscan_path(root, input_rel,
								NULL,	/* default pathtarget */
								Min(limit, input_rel->rows),
								0,	/* disabled_nodes */
								cost,
								cost,
								root->sort_pathkeys,
								NULL,	/* no outer relations */
								NULL,	/* no outer path */
								NIL,	/* no join clauses */
								list_make2(makeInteger((int) limit), keys));
	path->parallel_safe = false;
	if (path->pathtarget != target)
		path = apply_projection_to_path(root, output_rel, path, target);
	add_path(output_rel, path);
}

List *
find_top_groups(const PlannerInfo *root, const List *tlist, const QualTarget *target)
{
	int64		limit = constant_limit(root->parse);
	const SortGroupClause *clause;
	const TargetEntry *entry;
	Expr	   *expr;
	int			strategy;
	ComputedAggregate computed;

	if (limit == 0 || !query_is_simple(root) || root->parse->groupClause == NIL)
		return NIL;
	clause = linitial_node(SortGroupClause, root->parse->sortClause);
	expr = (Expr *) get_sortgroupclause_expr(unconstify(SortGroupClause *, clause), root->processed_tlist);
	entry = tlist_member(expr, unconstify(List *, tlist));
	strategy = sort_strategy(clause, expr);
	if (!IsA(expr, Aggref) || entry == NULL ||
		(strategy != BTLessStrategyNumber && strategy != BTGreaterStrategyNumber) ||
		!compute_analyze_aggregate((Aggref *) expr, target, &computed) || !top_groups_can_compare(&computed))
		return NIL;
	return list_make4_int((int) limit, entry->resno - 1, strategy == BTGreaterStrategyNumber,
						  clause->nulls_first);
}
