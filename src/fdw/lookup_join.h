/*
 * lookup_join.h
 *		A join that looks rows of a lake table up by the keys of many rows.
 *
 * lookup_join_plan.c offers it to the planner, lookup_join.c runs it.
 */
#ifndef STREAMHOUSE_FDW_LOOKUP_JOIN_H
#define STREAMHOUSE_FDW_LOOKUP_JOIN_H

#include "nodes/extensible.h"

#define LOOKUP_JOIN_NAME "streamhouse lookup join"

/* Rows that one batch may have, however much memory there is. */
#define LOOKUP_BATCH_MAX_ROWS (4 * 1024 * 1024)

/* What an outer row takes in memory beside itself, about: its place in the batch, and for each key its values. */
#define LOOKUP_ROW_BYTES 48
#define LOOKUP_KEY_BYTES 160

/* The members of the plan's custom_private. */
typedef enum LookupJoinPrivate
{
	LOOKUP_JOIN_TYPE = 0,		/* an integer: JoinType */
	LOOKUP_JOIN_COLUMNS = 1,	/* integers: attribute numbers of the lake's key columns */
	LOOKUP_JOIN_TYPES = 2		/* OIDs: types of the values that they are compared with */
} LookupJoinPrivate;

/*
 * The members of the plan's custom_exprs, which are about the rows of
 * custom_scan_tlist: the columns of the outer plan, and then those of the lake
 * scan.
 */
typedef enum LookupJoinExprs
{
	LOOKUP_JOIN_VALUES = 0,		/* expressions on the outer row: what key columns are compared with */
	LOOKUP_JOIN_CLAUSES = 1,	/* those comparisons, whole */
	LOOKUP_JOIN_QUALS = 2		/* what else rows must fulfil to be joined */
} LookupJoinExprs;

/* The plan's methods. */
extern const CustomScanMethods lookup_join_scan_methods;

/* Offer it to the planner; called once from _PG_init. */
extern void lookup_join_init(void);

#endif							/* STREAMHOUSE_FDW_LOOKUP_JOIN_H */
