/*
 * lookup_join_plan.c
 *		Planning joins that look rows of a lake table up by many keys.
 *
 * The outer side is anything, the inner one a lake table, and some clauses
 * equate its columns with values of the outer side.  What is read of the lake
 * depends on the columns: by the key that files are sorted by, only pages that
 * have one of the keys; by others, whole columns, but the rows that match no
 * key are gone before they become tuples.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"
#include "utils/selfuncs.h"

#include "columnar/grouping.h"
#include "fdw/fdw.h"
#include "fdw/lookup_join.h"
#include "fdw/plan.h"
#include "fdw/qual_tree.h"
#include "settings.h"

/* Rows of a page, about: writers end a page at so many rows, or earlier at so many bytes. */
#define PAGE_ROWS 20000

/* The clauses of a join, sorted. */
typedef struct JoinClauses
{
	List	   *columns;		/* integers: the lake table's attribute numbers */
	List	   *types;			/* OIDs: of the values they are compared with */
	List	   *values;			/* Expr *: those */
	List	   *variables;		/* Expr *: the columns as the clauses have them */
	List	   *keys;			/* Expr *: the clauses about these, with the column on the left */
	List	   *quals;			/* Expr *: what else decides whether rows join */
	List	   *filter;			/* Expr *: what joined rows must fulfil */
} JoinClauses;

/* What is known of the join when its costs are reckoned. */
typedef struct JoinSize
{
	double		outer_rows;
	double		batches;
	double		keys;			/* that differ, in all batches */
	double		found_rows;		/* of the lake, in all batches */
	double		read_part;		/* of the lake's data that a batch reads */
	bool		is_unique;		/* a key has one row of the lake at most */
} JoinSize;

static set_join_pathlist_hook_type previous_hook = NULL;

/* ---- clauses ---- */

/* The column's attribute number; 0: no one column has the field. */
static AttrNumber
attribute_of_field(const QualTarget *target, const RelOptInfo *rel, int field)
{
	AttrNumber	attno;

	for (attno = 1; attno <= rel->max_attr; attno++)
	{
		if (target->fields[attno - 1] == field)
			return attno;
	}
	return InvalidAttrNumber;
}

/* Does the clause equate a column of the lake with a value of the outer side? */
static bool
take_key(PlannerInfo *root, RestrictInfo *clause, const RelOptInfo *outerrel, const RelOptInfo *innerrel, const QualTarget *target,
		 JoinClauses *clauses)
{
	bool		exact;
	Qual	   *qual = qual_analyze(clause->clause, target, &exact);
	OpExpr	   *comparison;
	AttrNumber	attno;

	if (qual == NULL || !exact || qual_equated_column(qual) < 0 || !IsA(clause->clause, OpExpr) ||
		list_length(clauses->keys) == GROUPING_MAX_KEYS)
		return false;

	/* of nanoseconds SQL sees micros, so that a value is many keys */
	if (qual->type->physical == PHYSICAL_INT128 && qual->type->root != TYPE_DECIMAL)
		return false;
	attno = attribute_of_field(target, innerrel, qual->column);
	if (attno == InvalidAttrNumber || list_member_int(clauses->columns, attno) ||
		!bms_is_subset(pull_varnos(root, (Node *) qual->comparand), outerrel->relids))
		return false;

	comparison = copyObject((OpExpr *) clause->clause);
	if (qual_column_of(linitial(comparison->args), target) < 0)
		CommuteOpExpr(comparison);
	clauses->columns = lappend_int(clauses->columns, attno);
	clauses->types = lappend_oid(clauses->types, qual->comparand_type);
	clauses->values = lappend(clauses->values, qual->comparand);
	clauses->variables = lappend(clauses->variables, linitial(comparison->args));
	clauses->keys = lappend(clauses->keys, comparison);
	return true;
}

/* False if the join cannot be done so. */
static bool
sort_clauses(PlannerInfo *root, const RelOptInfo *joinrel, const RelOptInfo *outerrel, const RelOptInfo *innerrel,
			 JoinType type, List *restrictlist, JoinClauses *clauses)
{
	QualTarget	target = ((RelationPlan *) innerrel->fdw_private)->target;
	ListCell   *lc;

	target.is_inner = true;
	foreach(lc, restrictlist)
	{
		RestrictInfo *clause = lfirst_node(RestrictInfo, lc);

		if (clause->pseudoconstant)
			return false;
		if (IS_OUTER_JOIN(type) && RINFO_IS_PUSHED_DOWN(clause, joinrel->relids))
			clauses->filter = lappend(clauses->filter, clause->clause);
		else if (!take_key(root, clause, outerrel, innerrel, &target, clauses))
			clauses->quals = lappend(clauses->quals, clause->clause);
	}
	return clauses->keys != NIL;
}

/* ---- costs ---- */

/* The part of the lake's rows that have a key, out of so many. */
static double
found_part(PlannerInfo *root, const RelOptInfo *innerrel, const JoinClauses *clauses, double keys)
{
	double		values = estimate_num_groups(root, clauses->variables, Max(innerrel->rows, 1), NULL, NULL);

	return Min(1.0, keys / Max(values, 1.0));
}

/* The part of the lake's data that so many keys touch: of sorted files the pages they lie in. */
static double
touched_part(const RelationPlan *plan, const Lookup *lookup, double keys)
{
	double		pages = Max(1.0, plan->rows / PAGE_ROWS);

	if (!lookup->by_key)
		return 1.0;
	return 1.0 - pow(1.0 - 1.0 / pages, keys);
}

/* What the clauses say of the table's key, beside its own ones. */
static Lookup
join_lookup(const RelationPlan *plan, const JoinClauses *clauses)
{
	Lookup		lookup = plan->lookup;
	ListCell   *lc;

	foreach(lc, clauses->columns)
		lookup_add_field(&lookup, plan->target.schema, plan->target.fields[lfirst_int(lc) - 1]);
	return lookup;
}

static JoinSize
measure_join(PlannerInfo *root, const Path *outer_path, const RelOptInfo *innerrel, const JoinClauses *clauses)
{
	const RelationPlan *plan = innerrel->fdw_private;
	Lookup		lookup = join_lookup(plan, clauses);
	double		row_bytes = MAXALIGN(SizeofMinimalTupleHeader) + outer_path->pathtarget->width +
		LOOKUP_ROW_BYTES + list_length(clauses->keys) * LOOKUP_KEY_BYTES;
	JoinSize	size;

	size.outer_rows = outer_path->rows;
	size.batches = Max(1.0, ceil(outer_path->rows * row_bytes / get_hash_memory_limit()));
	size.batches = Max(size.batches, ceil(outer_path->rows / LOOKUP_BATCH_MAX_ROWS));
	size.keys = estimate_num_groups(root, clauses->values, outer_path->rows, NULL, NULL);
	size.is_unique = lookup.is_unique;
	if (size.is_unique)
		size.found_rows = Min(size.keys, innerrel->rows);
	else
		size.found_rows = innerrel->rows * found_part(root, innerrel, clauses, size.keys);
	size.read_part = touched_part(plan, &lookup, size.keys / size.batches);
	return size;
}

/* The scan of the lake for one batch. */
static Path *
make_inner_path(PlannerInfo *root, RelOptInfo *innerrel, const JoinSize *size)
{
	const RelationPlan *plan = innerrel->fdw_private;
	Cost		startup_cost = innerrel->baserestrictcost.startup;
	Cost		whole = relation_read_cost(plan);
	Cost		read_cost = Max(whole * size->read_part, Min(whole, lookup_read_cost(plan)));
	double		rows = clamp_row_est(size->found_rows / size->batches);
	Cost		run_cost = cpu_tuple_cost * BATCH_ROW_COST_FACTOR * plan->rows * size->read_part +
		(cpu_tuple_cost + innerrel->baserestrictcost.per_tuple) * rows;

	return (Path *) create_foreignscan_path(root, innerrel,
											NULL,	/* default pathtarget */
											rows,
											0,	/* disabled_nodes */
											startup_cost,
											startup_cost + read_cost + run_cost,
											NIL,	/* no pathkeys */
											NULL,	/* no parameters */
											NULL,	/* no outer path */
											NIL,	/* no restrictions of a join */
											NIL);	/* nothing private */
}

static void
cost_join(PlannerInfo *root, Path *path, const Path *outer_path, const Path *inner_path, const JoinClauses *clauses,
		  const JoinSize *size)
{
	QualCost	quals;
	QualCost	filter;
	double		pairs = Max(path->rows, size->found_rows * size->outer_rows / Max(size->keys, 1.0));
	Cost		collect_cost;

	cost_qual_eval(&quals, clauses->quals, root);
	cost_qual_eval(&filter, clauses->filter, root);
	collect_cost = outer_path->total_cost - outer_path->startup_cost +
		(cpu_tuple_cost + cpu_operator_cost * list_length(clauses->keys)) * size->outer_rows;
	path->startup_cost = outer_path->startup_cost + collect_cost / size->batches +
		inner_path->startup_cost + quals.startup + filter.startup + path->pathtarget->cost.startup;
	path->total_cost = path->startup_cost + collect_cost * (1.0 - 1.0 / size->batches) +
		inner_path->total_cost * size->batches +
		(cpu_tuple_cost + quals.per_tuple) * pairs +
		(filter.per_tuple + path->pathtarget->cost.per_tuple) * path->rows;
}

/* ---- paths ---- */

static Plan *plan_lookup_join(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist, List *clauses,
							  List *custom_plans);

static const CustomPathMethods lookup_join_path_methods = {
	.CustomName = LOOKUP_JOIN_NAME,
	.PlanCustomPath = plan_lookup_join,
};

/* Members of the path's custom_private. */
typedef enum PathPrivate
{
	PATH_TYPE = 0,
	PATH_COLUMNS,
	PATH_TYPES,
	PATH_VALUES,
	PATH_KEYS,
	PATH_QUALS,
	PATH_FILTER
} PathPrivate;

static void
add_lookup_join(PlannerInfo *root, RelOptInfo *joinrel, Path *outer_path, RelOptInfo *innerrel, JoinType type,
				const JoinClauses *clauses)
{
	JoinSize	size = measure_join(root, outer_path, innerrel, clauses);
	Path	   *inner_path = make_inner_path(root, innerrel, &size);
	CustomPath *path = makeNode(CustomPath);

	path->path.pathtype = T_CustomScan;
	path->path.parent = joinrel;
	path->path.pathtarget = joinrel->reltarget;
	path->path.rows = size.is_unique ? Min(joinrel->rows, outer_path->rows) : joinrel->rows;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = list_make2(outer_path, inner_path);
	path->custom_private = list_make5(makeInteger(type), clauses->columns, clauses->types, clauses->values,
									  clauses->keys);
	path->custom_private = lappend(lappend(path->custom_private, clauses->quals), clauses->filter);
	path->methods = &lookup_join_path_methods;
	cost_join(root, &path->path, outer_path, inner_path, clauses, &size);
	add_path(joinrel, &path->path);
}

/* Is it a lake table that a scan can read by itself? */
static bool
is_lake_table(const RelOptInfo *rel)
{
	const RelationPlan *plan = rel->fdw_private;
	ListCell   *lc;

	if (!IS_SIMPLE_REL(rel) || rel->fdwroutine == NULL ||
		rel->fdwroutine->GetForeignRelSize != streamhouseGetForeignRelSize ||
		plan == NULL || !plan->can_push || !bms_is_empty(rel->lateral_relids))
		return false;
	foreach(lc, rel->baserestrictinfo)
	{
		/* what is decided once would stand between the join and the scan */
		if (lfirst_node(RestrictInfo, lc)->pseudoconstant)
			return false;
	}
	return true;
}

static void
consider_lookup_join(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel, RelOptInfo *innerrel,
					 JoinType type, JoinPathExtraData *extra)
{
	Path	   *outer_path = outerrel->cheapest_total_path;
	JoinClauses clauses = {0};

	if (!setting_enable_lookup_join || !setting_pushdown || !is_lake_table(innerrel) ||
		!bms_is_empty(joinrel->lateral_relids) || outer_path == NULL || outer_path->param_info != NULL)
		return;
	if (type != JOIN_INNER && type != JOIN_LEFT && type != JOIN_SEMI && type != JOIN_ANTI &&
		type != JOIN_UNIQUE_OUTER)
		return;
	if (!sort_clauses(root, joinrel, outerrel, innerrel, type, extra->restrictlist, &clauses))
		return;
	if (type == JOIN_UNIQUE_OUTER)
	{
		outer_path = (Path *) create_unique_path(root, outerrel, outer_path, extra->sjinfo);
		type = JOIN_INNER;
	}
	if (outer_path != NULL)
		add_lookup_join(root, joinrel, outer_path, innerrel, type, &clauses);
}

static void
lookup_join_hook(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel, RelOptInfo *innerrel,
				 JoinType jointype, JoinPathExtraData *extra)
{
	if (previous_hook != NULL)
		previous_hook(root, joinrel, outerrel, innerrel, jointype, extra);
	consider_lookup_join(root, joinrel, outerrel, innerrel, jointype, extra);
}

/* ---- the plan ---- */

/* The columns of a plan, as columns of joined rows. */
static List *
add_columns(List *tlist, const Plan *plan)
{
	ListCell   *lc;

	foreach(lc, plan->targetlist)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, lc);

		tlist = lappend(tlist, makeTargetEntry(copyObject(entry->expr), list_length(tlist) + 1, NULL, false));
	}
	return tlist;
}

/* Let the column or placeholder be as it is in a list of others, if it is there; what else makes it null aside. */
static bool
settle_column(Node *node, List *others)
{
	ListCell   *lc;

	foreach(lc, others)
	{
		Node	   *other = lfirst(lc);

		if (nodeTag(node) != nodeTag(other))
			continue;
		if (IsA(node, Var) && ((Var *) node)->varno == ((Var *) other)->varno &&
			((Var *) node)->varattno == ((Var *) other)->varattno)
		{
			compat_copy_nulling_joins((Var *) node, (Var *) other);
			return true;
		}
		if (IsA(node, PlaceHolderVar) &&
			compat_match_placeholder((PlaceHolderVar *) node, (PlaceHolderVar *) other))
			return true;
	}
	return false;
}

static bool
settle_clauses(Node *node, List *others)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var) || IsA(node, PlaceHolderVar))
	{
		if (settle_column(node, others) || IsA(node, Var))
			return false;
	}
	return expression_tree_walker(node, settle_clauses, others);
}

/*
 * Columns of joined rows are those of the output, which an outer join may make
 * null, and of clauses below it, to which it has not happened: as there is one
 * row for both, all take the first form.
 */
static void
settle_columns(CustomScan *plan)
{
	int			flags = PVC_RECURSE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS | PVC_INCLUDE_PLACEHOLDERS;
	List	   *output = list_concat(pull_var_clause((Node *) plan->scan.plan.targetlist, flags),
									 pull_var_clause((Node *) plan->scan.plan.qual, flags));
	ListCell   *lc;

	foreach(lc, plan->custom_scan_tlist)
		settle_column((Node *) lfirst_node(TargetEntry, lc)->expr, output);
	plan->custom_exprs = copyObject(plan->custom_exprs);
	settle_clauses((Node *) plan->custom_exprs, pull_var_clause((Node *) plan->custom_scan_tlist, flags));
}

static Plan *
plan_lookup_join(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist, List *clauses,
				 List *custom_plans)
{
	CustomScan *plan = makeNode(CustomScan);
	List	   *private = best_path->custom_private;

	plan->scan.plan.targetlist = tlist;
	plan->scan.plan.qual = list_nth(private, PATH_FILTER);
	plan->scan.scanrelid = 0;
	plan->flags = best_path->flags;
	plan->custom_plans = custom_plans;
	plan->custom_scan_tlist = add_columns(add_columns(NIL, linitial(custom_plans)), lsecond(custom_plans));
	plan->custom_exprs = list_make3(list_nth(private, PATH_VALUES), list_nth(private, PATH_KEYS),
									list_nth(private, PATH_QUALS));
	plan->custom_private = list_make3(list_nth(private, PATH_TYPE), list_nth(private, PATH_COLUMNS),
									  list_nth(private, PATH_TYPES));
	plan->custom_relids = rel->relids;
	settle_columns(plan);
	plan->methods = &lookup_join_scan_methods;
	return &plan->scan.plan;
}

void
lookup_join_init(void)
{
	RegisterCustomScanMethods(&lookup_join_scan_methods);
	previous_hook = set_join_pathlist_hook;
	set_join_pathlist_hook = lookup_join_hook;
}
