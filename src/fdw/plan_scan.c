/*
 * plan_scan.c
 *		Planning a scan: what is pushed down, how much there is to read.
 *
 * Files are chosen twice: here, for the costs, and again when the scan runs,
 * since the table may have a newer snapshot then, and parameters are known.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"
#include "utils/memutils.h"

#include "fdw/fdw.h"
#include "fdw/metadata.h"
#include "fdw/nested_fields.h"
#include "fdw/plan.h"
#include "lake/share.h"
#include "settings.h"

/* Sort the relation's clauses; the predicate that constants give, NULL if none. */
static Predicate *
classify_clauses(RelOptInfo *baserel, const ForeignRelation *foreign, RelationPlan *plan, MemoryContext keep)
{
	QualTarget	target = {.varno = baserel->relid, .fields = foreign->fields, .schema = foreign->table->schema};
	List	   *parts = NIL;
	ListCell   *lc;

	if (!setting_pushdown)
		return NULL;
	foreach(lc, baserel->baserestrictinfo)
	{
		RestrictInfo *clause = lfirst_node(RestrictInfo, lc);
		bool		exact;
		Qual	   *qual = qual_analyze(clause->clause, &target, &exact);
		Predicate  *part;
		MemoryContext old_context;

		if (qual == NULL)
			continue;
		part = qual_bind(qual, NULL);
		if (part != NULL)
			parts = lappend(parts, part);
		else
			plan->partitions_only = false;

		old_context = MemoryContextSwitchTo(keep);
		plan->pushed = lappend(plan->pushed, clause);
		if (exact)
			plan->exact = lappend(plan->exact, clause);
		MemoryContextSwitchTo(old_context);
	}
	return predicate_combine(PREDICATE_AND, parts);
}

static int
count_merged_files(const List *splits)
{
	int			most = 0;
	ListCell   *lc;

	foreach(lc, splits)
	{
		const Split *split = lfirst(lc);

		if (!split->raw)
			most = Max(most, list_length(split->files));
	}
	return most;
}

static void
measure_files(const ForeignRelation *foreign, const Predicate *predicate, RelationPlan *plan)
{
	ScanRequest request = {.snapshot = foreign->snapshot, .predicate = predicate};
	ScanPlan   *files;

	if (foreign->snapshot == NULL)
		return;
	files = scan_plan(foreign->table, &request);
	plan->total_rows = foreign->snapshot->total_record_count;
	plan->rows = files->row_count;
	plan->bytes = files->bytes;
	if (lake_table_shows_state(foreign->table))
		plan->units = list_length(share_splits(foreign->table, files->splits, max_parallel_workers_per_gather + 1));
	plan->merged_files = count_merged_files(files->splits);
}

/* Later callbacks look at expressions, too. */
static void
keep_target(const RelOptInfo *baserel, const ForeignRelation *foreign, RelationPlan *plan)
{
	int			natts = RelationGetNumberOfAttributes(foreign->relation);
	int		   *fields = palloc(Max(natts, 1) * sizeof(int));

	memcpy(fields, foreign->fields, natts * sizeof(int));
	plan->target.varno = baserel->relid;
	plan->target.natts = natts;
	plan->target.fields = fields;
	plan->target.schema = schema_copy(foreign->table->schema);
}

void
streamhouseGetForeignRelSize(PlannerInfo *root, RelOptInfo *baserel, Oid relid)
{
	RelationPlan *plan = palloc0(sizeof(RelationPlan));
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse planning",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(context);
	Relation	relation = table_open(relid, NoLock);
	ForeignRelation *foreign = foreign_relation_open(relation, RELATION_READ, NULL);
	Predicate  *predicate;
	double		selectivity;

	plan->partitions_only = true;
	plan->can_push = setting_pushdown;
	predicate = classify_clauses(baserel, foreign, plan, old_context);
	plan->partitions_only &= metadata_is_of_partitions(foreign->table->schema, predicate);
	measure_files(foreign, predicate, plan);
	MemoryContextSwitchTo(old_context);
	keep_target(baserel, foreign, plan);
	plan->columns = list_length(baserel->reltarget->exprs);
	lookup_add_clauses(&plan->lookup, plan->exact, &plan->target);
	foreign_relation_close(foreign);
	table_close(relation, NoLock);
	MemoryContextDelete(context);

	baserel->fdw_private = plan;
	baserel->tuples = Max(plan->total_rows, plan->rows);
	selectivity = clauselist_selectivity(root, baserel->baserestrictinfo, 0, JOIN_INNER, NULL);
	baserel->rows = plan->lookup.is_unique ? 1 : clamp_row_est(Min(baserel->tuples * selectivity, plan->rows));
	if (plan->lookup.by_key)
		plan->rows = baserel->rows;
}

double
relation_read_cost(const RelationPlan *plan)
{
	double		share = (double) Max(plan->columns, 1) / Max(plan->target.schema->nfields, 1);

	if (plan->lookup.by_key)
		return lookup_read_cost(plan);
	/* as if all columns were equally wide */
	return seq_page_cost * ceil(Min(share, 1) * plan->bytes / BLCKSZ);
}

/*
 * A path of the relation's rows, read by so many parallel workers (0: none)
 * with the leader's help.
 */
static ForeignPath *
make_scan_path(PlannerInfo *root, RelOptInfo *baserel, int workers)
{
	const RelationPlan *plan = baserel->fdw_private;
	Cost		startup_cost = baserel->baserestrictcost.startup;
	Cost		run_cost;
	double		divisor = parallel_divisor(workers);
	ForeignPath *path;

	run_cost = (cpu_tuple_cost + baserel->baserestrictcost.per_tuple) * plan->rows / divisor;
	path = create_foreignscan_path(root, baserel,
								   NULL,	/* default pathtarget */
								   clamp_row_est(baserel->rows / divisor),
								   0,	/* disabled_nodes */
								   startup_cost,
								   startup_cost + relation_read_cost(plan) / divisor + run_cost,
								   NIL, /* no pathkeys */
								   baserel->lateral_relids,
								   NULL,	/* no outer path */
								   NIL, /* no join clauses */
								   NIL);	/* nothing private */
	path->path.parallel_aware = workers > 0;
	path->path.parallel_workers = workers;

	/* a worker that scans for itself would not see its leader's snapshot */
	path->path.parallel_safe = workers > 0;
	return path;
}

double
parallel_divisor(int workers)
{
	double		leader = parallel_leader_participation ? 1.0 - 0.3 * workers : 0;

	/* as the server reckons: the leader helps less, the more there are to be served */
	return workers > 0 ? workers + Max(leader, 0) : 1;
}

static double
estimated_pages(const RelOptInfo *rel)
{
	return rel->pages > 0 ? rel->pages :
		rel->tuples * (rel->reltarget->width + SizeofHeapTupleHeader) / BLCKSZ;
}

/* Is there another relation in the query that parallel workers would scan? */
static bool
joins_large_relation(const PlannerInfo *root, const RelOptInfo *baserel)
{
	int			i;

	for (i = 1; i < root->simple_rel_array_size; i++)
	{
		const RelOptInfo *rel = root->simple_rel_array[i];

		if (rel != NULL && rel != baserel && rel->reloptkind == RELOPT_BASEREL && rel->rtekind == RTE_RELATION &&
			rel->consider_parallel && estimated_pages(rel) >= min_parallel_table_scan_size)
			return true;
	}
	return false;
}

int
relation_workers(const PlannerInfo *root, const RelOptInfo *baserel)
{
	const RelationPlan *plan = baserel->fdw_private;
	double		pages = plan->rows * (baserel->reltarget->width + SizeofHeapTupleHeader) / BLCKSZ;
	int			workers;

	if (plan->lookup.by_key || plan->units == 0 ||
		!baserel->consider_parallel || !bms_is_empty(baserel->lateral_relids))
		return 0;
	workers = compute_parallel_worker(unconstify(RelOptInfo *, baserel), Max(pages, plan->bytes / BLCKSZ), -1,
									  max_parallel_workers_per_gather);

	/*
	 * To join a small table to a large one that they share, workers must share
	 * it, too: if each scanned it for itself, they would not see their leader's snapshot.
	 */
	if (workers == 0 && max_parallel_workers_per_gather > 0 && joins_large_relation(root, baserel))
		return 1;
	return Min(workers, plan->units - (parallel_leader_participation ? 1 : 0));
}

void
streamhouseGetForeignPaths(PlannerInfo *root, RelOptInfo *baserel, Oid relid)
{
	int			workers = relation_workers(root, baserel);

	add_path(baserel, (Path *) make_scan_path(root, baserel, 0));
	if (workers > 0)
		add_partial_path(baserel, (Path *) make_scan_path(root, baserel, workers));
	add_lookup_paths(root, baserel);
}

/* Mark the columns that rows are sorted by. */
static Bitmapset *
add_sort_attributes(Bitmapset *used, List *path_private)
{
	ListCell   *lc;

	if (path_private == NIL)
		return used;
	foreach(lc, lsecond_node(List, path_private))
		used = bms_add_member(used, linitial_int(lfirst(lc)) - FirstLowInvalidHeapAttributeNumber);
	return used;
}

/* The attribute numbers that rows must have: those of the output, of the order, and of the executor's filters. */
static List *
used_attributes(RelOptInfo *baserel, List *path_private, List *local_exprs)
{
	Bitmapset  *used = NULL;
	List	   *attributes = NIL;
	int			whole_row = InvalidAttrNumber - FirstLowInvalidHeapAttributeNumber;
	AttrNumber	attno;

	pull_varattnos((Node *) baserel->reltarget->exprs, baserel->relid, &used);
	pull_varattnos((Node *) local_exprs, baserel->relid, &used);
	used = add_sort_attributes(used, path_private);
	for (attno = 1; attno <= baserel->max_attr; attno++)
	{
		if (bms_is_member(whole_row, used) ||
			bms_is_member(attno - FirstLowInvalidHeapAttributeNumber, used))
			attributes = lappend_int(attributes, attno);
	}
	return attributes;
}

/*
 * The plan: fdw_exprs holds the clauses pushed down, fdw_recheck_quals those
 * that are nowhere else, and fdw_private lists of the attributes and of the
 * nested fields used, after which what plan_order.c wants may come.
 */
ForeignScan *
streamhouseGetForeignPlan(PlannerInfo *root, RelOptInfo *baserel, Oid relid, ForeignPath *best_path, List *tlist,
						  List *scan_clauses, Plan *outer_plan)
{
	RelationPlan *plan = baserel->fdw_private;
	QualTarget	target = plan->target;
	List	   *local = NIL;
	List	   *exact = NIL;
	List	   *pushed = NIL;
	List	   *private;
	ListCell   *lc;

	if (IS_UPPER_REL(baserel))
		return make_upper_plan(best_path, tlist);
	target.is_inner = best_path->path.param_info != NULL;
	foreach(lc, scan_clauses)
	{
		RestrictInfo *clause = lfirst_node(RestrictInfo, lc);
		bool		is_exact = list_member_ptr(plan->exact, clause);
		bool		is_pushed = list_member_ptr(plan->pushed, clause);

		if (clause->pseudoconstant)
			continue;
		if (target.is_inner && bms_overlap(clause->clause_relids, PATH_REQ_OUTER(&best_path->path)))
			is_pushed = qual_analyze(clause->clause, &target, &is_exact) != NULL;
		if (is_pushed)
			pushed = lappend(pushed, clause->clause);
		if (is_pushed && is_exact)
			exact = lappend(exact, clause->clause);
		else
			local = lappend(local, clause->clause);
	}
	private = list_make2(used_attributes(baserel, best_path->fdw_private, local), nested_fields_used(root, baserel));
	private = list_concat(private, best_path->fdw_private);
	return make_foreignscan(tlist, local, baserel->relid, pushed, private, NIL, exact, outer_plan);
}
