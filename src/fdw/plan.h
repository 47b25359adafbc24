/*
 * plan.h
 *		What the planner's callbacks know of a base relation.
 */
#ifndef STREAMHOUSE_FDW_PLAN_H
#define STREAMHOUSE_FDW_PLAN_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "fdw/quals.h"

/* What a scan's clauses say of the key: they equate columns of it with values. */
typedef struct Lookup
{
	bool		by_key;			/* its first column: files are in its order */
	bool		is_unique;		/* all of it: one row at most */
	Bitmapset  *fields;
} Lookup;

/* Of a base relation, in fdw_private from GetForeignRelSize on. */
typedef struct RelationPlan
{
	List	   *pushed;			/* RestrictInfo *: (in part) for the reader */
	List	   *exact;			/* those of them that the executor need not look at */
	QualTarget	target;			/* of expressions on the relation's columns */
	double		total_rows;
	double		rows;			/* physical, in the files chosen; those to look at, by a key */
	double		bytes;
	int			units;			/* that parallel workers could share; 0: they could not */
	int			columns;		/* that are wanted of the relation */
	bool		partitions_only;	/* filters decide on partitions as a whole */
	bool		can_push;		/* filters may be pushed down */
	int			merged_files;	/* merged with each other, at most; 0: none are */
	Lookup		lookup;			/* by the relation's own clauses */
} RelationPlan;

/* A relation of a join. */
typedef struct JoinMember
{
	RelOptInfo *rel;
	/* not of the first one */
	bool		is_left;		/* rows before it stay when they match none of its own */
	List	   *equations;		/* Expr *: the join's condition; it equates ... */
	List	   *outer_keys;		/* Expr *: of relations before it */
	List	   *inner_keys;		/* Expr *: of its own */
} JoinMember;

/*
 * How relations are joined on batches, in fdw_private of a join's relation:
 * the rows of the first member pass by the others, which are held in memory.
 */
typedef struct JoinPlan
{
	List	   *members;		/* JoinMember * */
	const QualTarget *target;
	Cost		cost;			/* of reading all, and of holding the others */
} JoinPlan;

/* The members of a ForeignScan's fdw_private. */
typedef enum ScanPrivate
{
	SCAN_ATTRIBUTES = 0,		/* integers: attribute numbers that rows must have */
	SCAN_FIELDS = 1,			/* what of ROW columns is used, see nested_fields.h */
	/* of scans that give the first rows in order */
	SCAN_LIMIT = 2,				/* how many */
	SCAN_SORT_KEYS = 3,			/* lists: attribute number, descending, nulls first */
	/* of scans that aggregate; their keys come first in fdw_scan_tlist */
	SCAN_VARNO = 1,				/* the relation's number in the clauses */
	SCAN_CLAUSES = 2,			/* the WHERE clauses */
	SCAN_KEYS = 3,				/* how many keys */
	SCAN_JOIN = 4,				/* of a join: lists in the order of JoinPrivate, but of its first relation, which is above */
	SCAN_TOP_GROUPS = 5			/* NIL, or integers in the order of TopGroups */
} ScanPrivate;

typedef enum JoinPrivate
{
	JOIN_VARNO,
	JOIN_CLAUSES,
	JOIN_IS_LEFT,
	JOIN_EQUATIONS,
	JOIN_OUTER_KEYS,
	JOIN_INNER_KEYS
} JoinPrivate;

/* Of rows looked at in batches, what a tuple costs otherwise. */
#define BATCH_ROW_COST_FACTOR 0.05

/* plan_order.c: a path for ORDER BY ... LIMIT. */
extern void add_top_path(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *output_rel);

/*
 * plan_order.c: what is to be known of ORDER BY ... LIMIT above a grouping, whose rows are tlist: TopGroups as integers;
 * NIL if all groups are wanted.
 */
extern List *find_top_groups(const PlannerInfo *root, const List *tlist, const QualTarget *target);

/* plan_upper.c: are all filters of the relation evaluated by the reader, exactly, in any order? */
extern bool filters_are_exact(const RelOptInfo *input_rel, const RelationPlan *base);

/* plan_upper.c: the plan of a path that aggregates. */
extern ForeignScan *make_upper_plan(ForeignPath *best_path, List *tlist);

/* plan_join_batches.c: what finds and builds a join of a plan; its relations but the first, for fdw_private. */
extern List *join_private(const JoinPlan *join);

/* plan_join.c: paths that look rows up by values of other relations. */
extern void add_lookup_paths(PlannerInfo *root, RelOptInfo *baserel);

/* plan_join.c: take account of a field that is equated with a value. */
extern void lookup_add_field(Lookup *lookup, const TableSchema *schema, int field);

/* plan_join.c: take account of further clauses (RestrictInfo *). */
extern void lookup_add_clauses(Lookup *lookup, List *clauses, const QualTarget *target);

/* plan_join.c: what reading costs by a key. */
extern double lookup_read_cost(const RelationPlan *plan);

/* The cost of reading the files chosen, before anything is done with a row. */
extern double relation_read_cost(const RelationPlan *plan);

/* How many parallel workers may read the relation; 0: none. */
extern int	relation_workers(const PlannerInfo *root, const RelOptInfo *baserel);

/* How much less each of them has to do, their leader included. */
extern double parallel_divisor(int workers);

#endif							/* STREAMHOUSE_FDW_PLAN_H */
