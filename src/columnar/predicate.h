/*
 * predicate.h
 *		Filters on columns: exact on batches, conservative on statistics.
 *
 * A predicate is a tree of AND and OR over leaves that compare one column
 * with constants.  There is no NOT: whoever builds the tree pushes negation
 * into the leaves, where SQL's three-valued logic allows it (a leaf is never
 * true for NULL, PREDICATE_IS_NULL aside).  So "true" is all that is tracked.
 *
 * Columns are numbers; what they index (table fields, file columns) is the
 * owner's business, and predicate_remap moves a tree from one to another.
 */
#ifndef STREAMHOUSE_PREDICATE_H
#define STREAMHOUSE_PREDICATE_H

#include "nodes/pg_list.h"

#include "columnar/value_set.h"
#include "columnar/vector.h"

typedef enum PredicateOp
{
	PREDICATE_AND,				/* children */
	PREDICATE_OR,				/* children */
	PREDICATE_EQ,
	PREDICATE_NE,
	PREDICATE_LT,
	PREDICATE_LE,
	PREDICATE_GT,
	PREDICATE_GE,
	PREDICATE_IN,				/* values: sorted, distinct, not null, two at least */
	PREDICATE_NOT_IN,			/* the same */
	PREDICATE_IS_NULL,
	PREDICATE_IS_NOT_NULL,
	PREDICATE_STARTS_WITH,		/* string columns */
	PREDICATE_FALSE				/* no row */
} PredicateOp;

typedef struct Predicate
{
	PredicateOp op;
	List	   *children;		/* of AND, OR: Predicate * */
	int			column;			/* of leaves */
	const DataType *type;		/* of the column */
	Scalar	   *values;			/* in the column's type and physical form */
	int			nvalues;
	const ValueSet *set;		/* of IN and NOT IN: the values as a set; NULL: there are few */
} Predicate;

/* What is known of one column over a set of rows. */
typedef struct ColumnStatistics
{
	bool		has_min;
	bool		has_max;
	bool		has_null_count;
	Scalar		min;			/* a lower bound, not always a value that occurs */
	Scalar		max;			/* an upper bound */
	int64		null_count;
} ColumnStatistics;

/* Looks up a column's statistics; NULL when nothing is known. */
typedef const ColumnStatistics *(*StatisticsLookup) (void *arg, int column);

/*
 * A leaf on copies of values (not of the bytes they point to).  IN and NOT IN
 * are sorted here; comparison with NULL becomes PREDICATE_FALSE.
 */
extern Predicate *predicate_leaf(PredicateOp op, int column, const DataType *type, Scalar *values, int nvalues);

/* AND/OR of a list; NIL gives NULL ("no predicate"), one child is returned itself. */
extern Predicate *predicate_combine(PredicateOp op, List *children);

/*
 * Keep of selection (ascending rows, in and out in place) those for which the
 * predicate is true; returns how many.  columns is indexed by
 * Predicate.column; dictionary-encoded vectors are evaluated on their
 * dictionary.
 */
extern int	predicate_filter(const Predicate *predicate, Vector *const *columns, int32 *selection, int nselected);

/* May any of row_count rows (0: unknown how many) match?  False only if surely none does. */
extern bool predicate_may_match(const Predicate *predicate, int64 row_count, StatisticsLookup lookup, void *arg);

/* The same of one leaf, by its column's statistics (NULL: nothing is known). */
extern bool predicate_leaf_may_match(const Predicate *leaf, int64 row_count, const ColumnStatistics *statistics);

/* May any row match, when this is known of each leaf? */
typedef bool (*PredicateTest) (const Predicate *leaf, void *arg);
extern bool predicate_may_hold(const Predicate *predicate, PredicateTest test, void *arg);

/*
 * The tree with other leaves.  A leaf for which rewrite returns NULL is taken
 * as "may be true": an AND loses that child, an OR vanishes as a whole.  NULL
 * when nothing is left.  The result is a weaker predicate if rewrite's are.
 */
typedef Predicate *(*PredicateRewrite) (const Predicate *leaf, void *arg);
extern Predicate *predicate_rewrite(const Predicate *predicate, PredicateRewrite rewrite, void *arg);

/* The same leaf on another column of the type; the values are shared. */
extern Predicate *predicate_move_leaf(const Predicate *leaf, int column);

/* Columns renumbered by map[old] = new; leaves of columns that map to -1 may be true, as above. */
extern Predicate *predicate_remap(const Predicate *predicate, const int *map);

/* Mark used[column] for every column of the tree. */
extern void predicate_columns(const Predicate *predicate, bool *used);

/* The conjuncts as a list: the children of an AND, or the predicate alone; NIL for NULL. */
extern List *predicate_conjuncts(const Predicate *predicate);

#endif							/* STREAMHOUSE_PREDICATE_H */
