/*
 * plan_join.c
 *		Paths that look rows up by values of other relations.
 *
 * As the inner side of a nested loop a scan gets a value for its key from each
 * outer row.  Files are sorted by key, so that such a scan reads a page or two
 * of each column: that is cheaper than to read everything for a hash join, as
 * long as there are not too many outer rows.
 */
#include "postgres.h"

#include <math.h>

#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"

#include "fdw/fdw.h"
#include "fdw/plan.h"

/* What a lookup reads of each column, about: pages with a key's rows, on both sides of a page's end. */
#define LOOKUP_COLUMN_BYTES (2 * 64 * 1024)

/* Finds members of equivalence classes that are columns to look rows up by. */
typedef struct ColumnSearch
{
	const RelationPlan *plan;
	Expr	   *current;		/* the one being worked on; NULL: none yet */
	List	   *done;			/* Expr * */
} ColumnSearch;

/* Are a file's rows in the order of this field? */
static bool
is_leading_key(const TableSchema *schema, int field)
{
	return schema->ntrimmed_keys > 0 && schema->trimmed_keys[0] == field;
}

static bool
contains_int(const int *numbers, int count, int number)
{
	int			i;

	for (i = 0; i < count; i++)
	{
		if (numbers[i] == number)
			return true;
	}
	return false;
}

/* The field that a clause equates with a value that the scan will know; -1: it is no such clause. */
static int
equated_field(const RestrictInfo *clause, const QualTarget *target)
{
	bool		exact;
	Qual	   *qual = qual_analyze(clause->clause, target, &exact);

	return qual != NULL && exact ? qual_equated_column(qual) : -1;
}

void
lookup_add_field(Lookup *lookup, const TableSchema *schema, int field)
{
	lookup->by_key |= is_leading_key(schema, field);
	if (contains_int(schema->primary_keys, schema->nprimary_keys, field))
		lookup->fields = bms_add_member(bms_copy(lookup->fields), field);
	lookup->is_unique = schema->nprimary_keys > 0 && bms_num_members(lookup->fields) == schema->nprimary_keys;
}

void
lookup_add_clauses(Lookup *lookup, List *clauses, const QualTarget *target)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		int			field = equated_field(lfirst_node(RestrictInfo, lc), target);

		if (field >= 0)
			lookup_add_field(lookup, target->schema, field);
	}
}

double
lookup_read_cost(const RelationPlan *plan)
{
	double		bytes = (plan->columns + 1.0) * LOOKUP_COLUMN_BYTES * Max(plan->merged_files, 1);

	return seq_page_cost * ceil(Min(bytes, plan->bytes) / BLCKSZ);
}

/* A callback: is the member a column to look rows up by, and the one being worked on? */
static bool
is_searched_column(PlannerInfo *root, RelOptInfo *baserel, EquivalenceClass *ec, EquivalenceMember *em, void *arg)
{
	ColumnSearch *search = arg;

	if (search->current != NULL)
		return equal(em->em_expr, search->current);
	if (list_member(search->done, em->em_expr) ||
		!is_leading_key(search->plan->target.schema, qual_column_of(em->em_expr, &search->plan->target)))
		return false;
	search->current = em->em_expr;
	return true;
}

/* Remember the relations whose values a clause needs. */
static List *
add_parameters(PlannerInfo *root, RelOptInfo *baserel, const RestrictInfo *clause, List *parameters)
{
	Relids		outer = bms_union(clause->clause_relids, baserel->lateral_relids);

	outer = bms_del_member(outer, baserel->relid);
	if (bms_is_empty(outer))
		return parameters;
	return list_append_unique_ptr(parameters, get_baserel_parampathinfo(root, baserel, outer));
}

/* What equivalence classes say, column by column. */
static List *
add_implied_parameters(PlannerInfo *root, RelOptInfo *baserel, List *parameters)
{
	ColumnSearch search = {.plan = baserel->fdw_private};

	if (!baserel->has_eclass_joins)
		return parameters;
	for (;;)
	{
		List	   *clauses;
		ListCell   *lc;

		search.current = NULL;
		clauses = generate_implied_equalities_for_column(root, baserel, is_searched_column, &search,
														 baserel->lateral_referencers);
		if (search.current == NULL)
			return parameters;
		foreach(lc, clauses)
			parameters = add_parameters(root, baserel, lfirst_node(RestrictInfo, lc), parameters);
		search.done = lappend(search.done, search.current);
	}
}

static List *
find_parameters(PlannerInfo *root, RelOptInfo *baserel)
{
	const RelationPlan *plan = baserel->fdw_private;
	QualTarget	target = plan->target;
	List	   *parameters = NIL;
	ListCell   *lc;

	target.is_inner = true;
	foreach(lc, baserel->joininfo)
	{
		RestrictInfo *clause = lfirst_node(RestrictInfo, lc);

		if (join_clause_is_movable_to(clause, baserel) &&
			is_leading_key(target.schema, equated_field(clause, &target)))
			parameters = add_parameters(root, baserel, clause, parameters);
	}
	return add_implied_parameters(root, baserel, parameters);
}

static void
add_lookup_path(PlannerInfo *root, RelOptInfo *baserel, ParamPathInfo *parameters)
{
	const RelationPlan *plan = baserel->fdw_private;
	QualTarget	target = plan->target;
	Lookup		lookup = plan->lookup;
	Cost		startup_cost = baserel->baserestrictcost.startup;
	Cost		read_cost = lookup_read_cost(plan);

	target.is_inner = true;
	lookup_add_clauses(&lookup, parameters->ppi_clauses, &target);
	if (!lookup.by_key)
		return;
	if (lookup.is_unique)
		parameters->ppi_rows = 1;
	add_path(baserel, (Path *) create_foreignscan_path(root, baserel,
													   NULL,	/* default pathtarget */
													   parameters->ppi_rows,
													   0,	/* disabled_nodes */
													   startup_cost,
													   startup_cost + read_cost + cpu_tuple_cost * parameters->ppi_rows,
													   NIL, /* no pathkeys */
													   parameters->ppi_req_outer,
													   NULL,	/* no outer path */
													   NIL, /* no restrictions of a join */
													   NIL));	/* nothing private */
}

void
add_lookup_paths(PlannerInfo *root, RelOptInfo *baserel)
{
	const RelationPlan *plan = baserel->fdw_private;
	ListCell   *lc;

	if (!plan->can_push)
		return;
	foreach(lc, find_parameters(root, baserel))
		add_lookup_path(root, baserel, lfirst(lc));
}
