/*
 * predicate.c
 *		Building, renumbering and taking apart predicates.
 *
 * predicate_eval.c applies them to batches, predicate_stats.c to statistics.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "columnar/predicate.h"

static Predicate *
make_predicate(PredicateOp op)
{
	Predicate  *predicate = (Predicate *) palloc0(sizeof(Predicate));

	predicate->op = op;
	return predicate;
}

static int
compare_values(const void *a, const void *b, void *physical)
{
	return scalar_compare_values(*(const PhysicalType *) physical, (const Scalar *) a, (const Scalar *) b);
}

/* Sort values, drop those that are equal; how many are left. */
static int
sort_distinct(PhysicalType physical, Scalar *values, int nvalues)
{
	int			kept = 0;

	qsort_arg(values, nvalues, sizeof(Scalar), compare_values, &physical);
	for (int i = 0; i < nvalues; i++)
	{
		if (kept == 0 || scalar_compare_values(physical, &values[kept - 1], &values[i]) != 0)
			values[kept++] = values[i];
	}
	return kept;
}

/*
 * A value that is NULL is equal to nothing: it drops out of IN.  Of all other
 * comparisons, NOT IN included, it makes one that is never true.
 */
static bool
drop_nulls(PredicateOp op, Scalar *values, int *nvalues)
{
	int			kept = 0;

	for (int i = 0; i < *nvalues; i++)
	{
		if (!values[i].isnull)
			values[kept++] = values[i];
	}
	if (kept < *nvalues && op != PREDICATE_IN)
		return false;
	*nvalues = kept;
	return true;
}

/* IN and NOT IN of one value or none have simpler names. */
static PredicateOp
simplify_list(PredicateOp op, int nvalues)
{
	if (nvalues > 1)
		return op;
	if (op == PREDICATE_IN)
		return nvalues == 0 ? PREDICATE_FALSE : PREDICATE_EQ;
	return nvalues == 0 ? PREDICATE_IS_NOT_NULL : PREDICATE_NE;
}

/* The values are copied, what bytes point to is not. */
Predicate *
predicate_leaf(PredicateOp op, int column, const DataType *type, Scalar *values, int nvalues)
{
	Predicate  *predicate;
	Scalar	   *copy = NULL;

	Assert(op != PREDICATE_AND && op != PREDICATE_OR);
	if (nvalues > 0)
	{
		copy = (Scalar *) palloc(nvalues * sizeof(Scalar));
		memcpy(copy, values, nvalues * sizeof(Scalar));
		if (!drop_nulls(op, copy, &nvalues))
			return make_predicate(PREDICATE_FALSE);
	}
	if (op == PREDICATE_IN || op == PREDICATE_NOT_IN)
	{
		nvalues = sort_distinct(type->physical, copy, nvalues);
		op = simplify_list(op, nvalues);
	}

	predicate = make_predicate(op);
	if (op == PREDICATE_FALSE)
		return predicate;
	predicate->column = column;
	predicate->type = type;
	predicate->values = copy;
	predicate->nvalues = nvalues;
	if (op == PREDICATE_IN || op == PREDICATE_NOT_IN)
		predicate->set = value_set_create(type->physical, copy, nvalues);
	return predicate;
}

/*
 * AND or OR of a list; children of the same kind are taken in, and FALSE,
 * which decides an AND and adds nothing to an OR, is taken out.
 */
Predicate *
predicate_combine(PredicateOp op, List *children)
{
	Predicate  *predicate;
	List	   *flat = NIL;
	ListCell   *cell;

	Assert(op == PREDICATE_AND || op == PREDICATE_OR);
	if (children == NIL)
		return NULL;
	foreach(cell, children)
	{
		Predicate  *child = (Predicate *) lfirst(cell);

		if (child->op == op)
			flat = list_concat(flat, child->children);
		else if (child->op != PREDICATE_FALSE)
			flat = lappend(flat, child);
		else if (op == PREDICATE_AND)
			return child;
	}
	if (flat == NIL)
		return make_predicate(PREDICATE_FALSE);
	if (list_length(flat) == 1)
		return (Predicate *) linitial(flat);
	predicate = make_predicate(op);
	predicate->children = flat;
	return predicate;
}

/* The tree with other leaves. */
Predicate *
predicate_rewrite(const Predicate *predicate, PredicateRewrite rewrite, void *arg)
{
	List	   *children = NIL;
	ListCell   *cell;

	if (predicate == NULL)
		return NULL;
	if (predicate->op == PREDICATE_FALSE)
		return make_predicate(PREDICATE_FALSE);
	if (predicate->op != PREDICATE_AND && predicate->op != PREDICATE_OR)
		return rewrite(predicate, arg);
	foreach(cell, predicate->children)
	{
		Predicate  *child = predicate_rewrite((const Predicate *) lfirst(cell), rewrite, arg);

		if (child != NULL)
			children = lappend(children, child);
		else if (predicate->op == PREDICATE_OR)
			return NULL;
	}
	return predicate_combine(predicate->op, children);
}

/* The same leaf on another column of the type. */
Predicate *
predicate_move_leaf(const Predicate *leaf, int column)
{
	Predicate  *copy = make_predicate(leaf->op);

	*copy = *leaf;
	copy->column = column;
	return copy;
}

static Predicate *
remap_leaf(const Predicate *leaf, void *arg)
{
	const int  *map = (const int *) arg;

	return map[leaf->column] >= 0 ? predicate_move_leaf(leaf, map[leaf->column]) : NULL;
}

/* Columns renumbered; what has no number there is taken as true. */
Predicate *
predicate_remap(const Predicate *predicate, const int *map)
{
	return predicate_rewrite(predicate, remap_leaf, unconstify(int *, map));
}

/* Mark used[column] for every column of the tree. */
void
predicate_columns(const Predicate *predicate, bool *used)
{
	ListCell   *cell;

	if (predicate == NULL || predicate->op == PREDICATE_FALSE)
		return;
	if (predicate->op != PREDICATE_AND && predicate->op != PREDICATE_OR)
	{
		used[predicate->column] = true;
		return;
	}
	foreach(cell, predicate->children)
		predicate_columns((const Predicate *) lfirst(cell), used);
}

/* The conjuncts as a new list. */
List *
predicate_conjuncts(const Predicate *predicate)
{
	if (predicate == NULL)
		return NIL;
	if (predicate->op == PREDICATE_AND)
		return list_copy(predicate->children);
	return list_make1(unconstify(Predicate *, predicate));
}
