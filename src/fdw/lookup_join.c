/*
 * lookup_join.c
 *		Executing a join that looks rows of a lake table up.
 *
 * Outer rows are collected as memory allows, and their keys numbered.  One scan
 * of the lake table, for those keys alone, gives rows with the number of the
 * key they have; each is joined with the outer rows of that key.  Then comes
 * the next batch of outer rows.
 *
 * When a row that was locked is checked again (EvalPlanQual), the scan below
 * gives the one row it is to give, and knows of no keys: then all of its rows
 * are compared with all of the outer ones.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"

#include "fdw/lookup_join.h"
#include "fdw/point.h"
#include "fdw/scan.h"

#define NO_ROW (-1)

/* An outer row of the batch. */
typedef struct OuterRow
{
	MinimalTuple tuple;
	int32		next;			/* of the same key, or NO_ROW */
	bool		matched;
} OuterRow;

typedef enum JoinPhase
{
	JOIN_COLLECT,				/* collect a batch of outer rows */
	JOIN_MATCH,					/* give its rows that are joined */
	JOIN_REST					/* give its rows that found none, if they count */
} JoinPhase;

typedef struct LookupJoin
{
	CustomScanState css;
	JoinType	type;
	PlanState  *outer;
	ForeignScanState *inner;
	int			nouter;			/* columns of outer rows */
	int			nkeys;
	int		   *fields;			/* table fields of the keys */
	const DataType **types;
	Oid		   *value_types;
	ExprState **values;
	ExprState  *clauses;		/* the keys are equal: where rows are checked again */
	ExprState  *quals;
	TupleTableSlot *outer_slot; /* a row of the batch */

	/* the batch */
	MemoryContext context;
	OuterRow   *rows;
	int			nrows;
	int			capacity;
	int			nopen;			/* rows that have not been matched */
	LookupKeys *keys;
	int32	   *pending;		/* rows whose keys have no number yet */
	int			npending;
	int32	   *first;			/* by key: a row that has it */
	int			first_capacity;
	JoinPhase	phase;
	bool		exhausted;		/* there are no more outer rows */
	bool		all_pairs;		/* rows are checked again: keys are not numbered */
	int32		next;			/* the next row to join with it, or NO_ROW */

	/* for EXPLAIN */
	int64		batches;
	int64		keys_sought;
} LookupJoin;

static const CustomExecMethods lookup_join_methods;

/* ---- beginning ---- */

static Node *
create_state(CustomScan *plan)
{
	LookupJoin *join = palloc0(sizeof(LookupJoin));

	NodeSetTag(join, T_CustomScanState);
	join->css.methods = &lookup_join_methods;
	return (Node *) join;
}

const CustomScanMethods lookup_join_scan_methods = {
	.CustomName = LOOKUP_JOIN_NAME,
	.CreateCustomScanState = create_state,
};

static void
prepare_keys(LookupJoin *join, CustomScan *plan)
{
	List	   *columns = list_nth(plan->custom_private, LOOKUP_JOIN_COLUMNS);
	List	   *types = list_nth(plan->custom_private, LOOKUP_JOIN_TYPES);
	List	   *values = list_nth(plan->custom_exprs, LOOKUP_JOIN_VALUES);
	const ForeignTableScan *scan = join->inner->fdw_state;
	int			i;

	join->nkeys = list_length(columns);
	join->fields = palloc(join->nkeys * sizeof(int));
	join->types = palloc(join->nkeys * sizeof(DataType *));
	join->value_types = palloc(join->nkeys * sizeof(Oid));
	join->values = palloc(join->nkeys * sizeof(ExprState *));
	for (i = 0; i < join->nkeys; i++)
	{
		int			field = scan->target.fields[list_nth_int(columns, i) - 1];

		join->value_types[i] = list_nth_oid(types, i);
		join->values[i] = ExecInitExpr(list_nth(values, i), &join->css.ss.ps);

		/* the lake's column types were the same, or near enough, when this was planned */
		if (field < 0 || !point_is_defined(scan->target.schema->fields[field].type, join->value_types[i]))
			elog(ERROR, "rows of foreign table \"%s\" can no longer be looked up",
				 RelationGetRelationName(scan->foreign->relation));
		join->fields[i] = field;
		join->types[i] = scan->target.schema->fields[field].type;
	}
}

/* Is the lake table's row given, as rows that were locked are checked again? */
static bool
is_recheck(const LookupJoin *join)
{
	const EPQState *recheck = join->css.ss.ps.state->es_epq_active;
	Index		relid = ((Scan *) join->inner->ss.ps.plan)->scanrelid;

	return recheck != NULL &&
		(recheck->relsubs_slot[relid - 1] != NULL || recheck->relsubs_rowmark[relid - 1] != NULL);
}

static void
lookup_join_begin(CustomScanState *node, EState *estate, int eflags)
{
	LookupJoin *join = (LookupJoin *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	TupleDesc	desc;

	join->type = (JoinType) intVal(list_nth(plan->custom_private, LOOKUP_JOIN_TYPE));
	join->outer = ExecInitNode(linitial(plan->custom_plans), estate, eflags);
	join->inner = castNode(ForeignScanState, ExecInitNode(lsecond(plan->custom_plans), estate, eflags));
	node->custom_ps = list_make2(join->outer, join->inner);
	desc = ExecGetResultType(join->outer);
	join->nouter = desc->natts;
	join->outer_slot = ExecInitExtraTupleSlot(estate, desc, &TTSOpsMinimalTuple);
	join->clauses = ExecInitQual(list_nth(plan->custom_exprs, LOOKUP_JOIN_CLAUSES), &node->ss.ps);
	join->quals = ExecInitQual(list_nth(plan->custom_exprs, LOOKUP_JOIN_QUALS), &node->ss.ps);
	prepare_keys(join, plan);
	join->pending = palloc(BATCH_ROWS * sizeof(int32));
	join->context = AllocSetContextCreate(estate->es_query_cxt, "streamhouse lookup join",
										  ALLOCSET_DEFAULT_SIZES);
}

/* ---- rows of the join ---- */

/* Outer values of the joined row, from a slot that must keep them. */
static void
show_outer(LookupJoin *join, TupleTableSlot *outer)
{
	TupleTableSlot *slot = join->css.ss.ss_ScanTupleSlot;

	slot_getallattrs(outer);
	memcpy(slot->tts_values, outer->tts_values, join->nouter * sizeof(Datum));
	memcpy(slot->tts_isnull, outer->tts_isnull, join->nouter * sizeof(bool));
	ExecStoreVirtualTuple(ExecClearTuple(slot));
}

/* Inner values of the joined row; NULL: there is none. */
static void
show_inner(LookupJoin *join, TupleTableSlot *inner)
{
	TupleTableSlot *slot = join->css.ss.ss_ScanTupleSlot;
	int			ninner = slot->tts_tupleDescriptor->natts - join->nouter;

	if (inner == NULL)
	{
		memset(slot->tts_isnull + join->nouter, true, ninner * sizeof(bool));
		return;
	}
	slot_getallattrs(inner);
	memcpy(slot->tts_values + join->nouter, inner->tts_values, ninner * sizeof(Datum));
	memcpy(slot->tts_isnull + join->nouter, inner->tts_isnull, ninner * sizeof(bool));
}

static void
show_outer_row(LookupJoin *join, const OuterRow *row)
{
	ExecStoreMinimalTuple(row->tuple, join->outer_slot, false);
	show_outer(join, join->outer_slot);
}

static bool
keeps_unmatched(const LookupJoin *join)
{
	return join->type == JOIN_LEFT || join->type == JOIN_ANTI;
}

/* ---- collecting ---- */

/* The key of the outer row shown; false: no row of the lake has it. */
static bool
evaluate_key(LookupJoin *join, Scalar *key)
{
	ExprContext *econtext = join->css.ss.ps.ps_ExprContext;
	MemoryContext old_context = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	bool		exists = true;
	int			i;

	econtext->ecxt_scantuple = join->css.ss.ss_ScanTupleSlot;
	for (i = 0; i < join->nkeys && exists; i++)
	{
		bool		isnull;
		Datum		value = ExecEvalExpr(join->values[i], econtext, &isnull);
		Point		point = {.kind = POINT_BELOW};

		if (!isnull)
			point = point_of_datum(join->types[i], join->value_types[i], value);
		exists = point.kind == POINT_VALUE;
		key[i] = point.value;
	}
	MemoryContextSwitchTo(old_context);
	return exists;
}

/* Give the keys added numbers, and put their rows in the lists of those. */
static void
number_keys(LookupJoin *join)
{
	const int32 *numbers;
	int			count = lookup_keys_number(join->keys, &numbers);
	int			nkeys = lookup_keys_count(join->keys);
	int			i;

	if (nkeys > join->first_capacity)
	{
		int			capacity = Max(nkeys, join->first_capacity * 2);

		join->first = join->first == NULL ?
			MemoryContextAllocHuge(join->context, capacity * sizeof(int32)) :
			repalloc_huge(join->first, capacity * sizeof(int32));
		for (i = join->first_capacity; i < capacity; i++)
			join->first[i] = NO_ROW;
		join->first_capacity = capacity;
	}
	for (i = 0; i < count; i++)
	{
		join->rows[join->pending[i]].next = join->first[numbers[i]];
		join->first[numbers[i]] = join->pending[i];
	}
	join->npending = 0;
}

/* Keep an outer row; the bytes that it takes. */
static Size
add_row(LookupJoin *join, TupleTableSlot *slot)
{
	OuterRow   *row;

	if (join->nrows == join->capacity)
	{
		join->capacity = Max(join->capacity * 2, BATCH_ROWS);
		join->rows = join->rows == NULL ?
			MemoryContextAllocHuge(join->context, join->capacity * sizeof(OuterRow)) :
			repalloc_huge(join->rows, join->capacity * sizeof(OuterRow));
	}
	row = &join->rows[join->nrows++];
	row->tuple = ExecCopySlotMinimalTuple(slot);
	row->next = NO_ROW;
	row->matched = false;
	return row->tuple->t_len;
}

/* Take the next outer row into the batch, or leave it out if it can join with nothing; false at the end. */
static bool
collect_row(LookupJoin *join, Size *bytes)
{
	Scalar		key[GROUPING_MAX_KEYS];
	TupleTableSlot *slot = ExecProcNode(join->outer);
	MemoryContext old_context;
	bool		has_key;
	int			i;

	if (TupIsNull(slot))
		return false;
	ResetExprContext(join->css.ss.ps.ps_ExprContext);
	show_outer(join, slot);
	has_key = evaluate_key(join, key);
	if (!has_key && !keeps_unmatched(join))
		return true;

	old_context = MemoryContextSwitchTo(join->context);
	*bytes += add_row(join, slot) + LOOKUP_ROW_BYTES;
	if (has_key && !join->all_pairs)
	{
		for (i = 0; i < join->nkeys; i++)
		{
			*bytes += LOOKUP_KEY_BYTES;
			if (join->types[i]->physical == PHYSICAL_BYTES)
				*bytes += key[i].v.bytes.length;
		}
		join->pending[join->npending++] = join->nrows - 1;
		if (lookup_keys_add(join->keys, key))
			number_keys(join);
	}
	MemoryContextSwitchTo(old_context);
	return true;
}

static void
forget_batch(LookupJoin *join)
{
	ExecClearTuple(join->outer_slot);
	MemoryContextReset(join->context);
	join->keys = NULL;
	join->rows = NULL;
	join->first = NULL;
	join->nrows = 0;
	join->capacity = 0;
	join->npending = 0;
	join->first_capacity = 0;
	join->next = NO_ROW;
}

static void
collect_batch(LookupJoin *join)
{
	MemoryContext old_context;
	Size		limit = get_hash_memory_limit();
	Size		bytes = 0;

	forget_batch(join);
	join->all_pairs = is_recheck(join);
	old_context = MemoryContextSwitchTo(join->context);
	join->keys = lookup_keys_create(((ForeignTableScan *) join->inner->fdw_state)->target.schema,
									join->fields, join->nkeys);
	MemoryContextSwitchTo(old_context);
	show_inner(join, NULL);
	while (bytes < limit && join->nrows < LOOKUP_BATCH_MAX_ROWS && !join->exhausted)
	{
		CHECK_FOR_INTERRUPTS();
		join->exhausted = !collect_row(join, &bytes);
	}
	number_keys(join);
	join->nopen = join->nrows;
}

/* Begin to read the lake's rows of the batch's keys; false if there are none. */
static bool
seek_keys(LookupJoin *join)
{
	MemoryContext old_context;
	Predicate  *predicate;
	int			nkeys = lookup_keys_count(join->keys);

	if (join->all_pairs)
	{
		ExecReScan(&join->inner->ss.ps);
		return join->nrows > 0;
	}
	if (nkeys == 0)
		return false;
	old_context = MemoryContextSwitchTo(join->context);
	predicate = lookup_keys_predicate(join->keys);
	MemoryContextSwitchTo(old_context);
	foreign_scan_seek(join->inner, join->keys, predicate);
	join->batches++;
	join->keys_sought += nkeys;
	return true;
}

/* ---- joining ---- */

/* Read a row of the lake, and find the first outer row of its key; false at the end. */
static bool
read_inner(LookupJoin *join)
{
	TupleTableSlot *slot;

	/* where an outer row needs one match, and all have theirs, nothing is left to find */
	if (join->nopen == 0 && (join->type == JOIN_SEMI || join->type == JOIN_ANTI))
		return false;
	slot = ExecProcNode(&join->inner->ss.ps);
	if (TupIsNull(slot))
		return false;
	show_inner(join, slot);
	join->next = join->all_pairs ? 0 : join->first[foreign_scan_found(join->inner)];
	return true;
}

static int32
next_outer(const LookupJoin *join, int32 row)
{
	if (!join->all_pairs)
		return join->rows[row].next;
	return row + 1 < join->nrows ? row + 1 : NO_ROW;
}

/* Does the outer row join with the inner one that is shown? */
static bool
is_match(LookupJoin *join, const OuterRow *row)
{
	ExprContext *econtext = join->css.ss.ps.ps_ExprContext;

	show_outer_row(join, row);
	if (!join->all_pairs && join->quals == NULL)
		return true;
	ResetExprContext(econtext);
	econtext->ecxt_scantuple = join->css.ss.ss_ScanTupleSlot;
	return (!join->all_pairs || ExecQual(join->clauses, econtext)) && ExecQual(join->quals, econtext);
}

/* Show the next joined row of the batch; false: there are no more. */
static bool
next_match(LookupJoin *join)
{
	bool		once = join->type == JOIN_SEMI || join->type == JOIN_ANTI;

	for (;;)
	{
		OuterRow   *row;

		CHECK_FOR_INTERRUPTS();
		if (join->next == NO_ROW)
		{
			if (!read_inner(join))
				return false;
			continue;
		}
		row = &join->rows[join->next];
		join->next = next_outer(join, join->next);
		if ((once && row->matched) || !is_match(join, row))
			continue;
		join->nopen -= !row->matched;
		row->matched = true;
		if (join->type != JOIN_ANTI)
			return true;
	}
}

/* Show the next row of the batch that found no match; false: there are no more. */
static bool
next_unmatched(LookupJoin *join)
{
	if (!keeps_unmatched(join))
		return false;
	while (join->next < join->nrows)
	{
		const OuterRow *row = &join->rows[join->next++];

		if (row->matched)
			continue;
		show_outer_row(join, row);
		return true;
	}
	return false;
}

static void
begin_rest(LookupJoin *join)
{
	join->phase = JOIN_REST;
	join->next = 0;
	show_inner(join, NULL);
}

/* Show the next row of the join; false at the end. */
static bool
next_row(LookupJoin *join)
{
	for (;;)
	{
		switch (join->phase)
		{
			case JOIN_COLLECT:
				if (join->exhausted)
					return false;
				collect_batch(join);
				join->phase = JOIN_MATCH;
				if (!seek_keys(join))
					begin_rest(join);
				break;
			case JOIN_MATCH:
				if (next_match(join))
					return true;
				begin_rest(join);
				break;
			case JOIN_REST:
				if (next_unmatched(join))
					return true;
				join->phase = JOIN_COLLECT;
				break;
		}
	}
}

static TupleTableSlot *
lookup_join_next(CustomScanState *node)
{
	LookupJoin *join = (LookupJoin *) node;
	ExprContext *econtext = node->ss.ps.ps_ExprContext;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;

	for (;;)
	{
		if (!next_row(join))
			return ExecClearTuple(node->ss.ps.ps_ProjInfo != NULL ? node->ss.ps.ps_ResultTupleSlot : slot);
		ResetExprContext(econtext);
		econtext->ecxt_scantuple = slot;
		if (node->ss.ps.qual != NULL && !ExecQual(node->ss.ps.qual, econtext))
		{
			InstrCountFiltered1(node, 1);
			continue;
		}
		return node->ss.ps.ps_ProjInfo != NULL ? ExecProject(node->ss.ps.ps_ProjInfo) : slot;
	}
}

/* ---- starting over, and ending ---- */

static void
lookup_join_rescan(CustomScanState *node)
{
	LookupJoin *join = (LookupJoin *) node;
	ListCell   *lc;

	foreach(lc, node->custom_ps)
	{
		PlanState  *child = lfirst(lc);

		if (node->ss.ps.chgParam != NULL)
			UpdateChangedParamSet(child, node->ss.ps.chgParam);
	}
	if (join->outer->chgParam == NULL)
		ExecReScan(join->outer);

	/* the inner scan starts again with the next keys */
	forget_batch(join);
	join->phase = JOIN_COLLECT;
	join->exhausted = false;
}

static void
lookup_join_end(CustomScanState *node)
{
	LookupJoin *join = (LookupJoin *) node;

	ExecEndNode(join->outer);
	ExecEndNode(&join->inner->ss.ps);
	MemoryContextDelete(join->context);
}

/* ---- EXPLAIN ---- */

static void
explain_clauses(LookupJoin *join, const char *label, LookupJoinExprs which, List *ancestors, ExplainState *es)
{
	CustomScan *plan = (CustomScan *) join->css.ss.ps.plan;
	List	   *clauses = list_nth(plan->custom_exprs, which);
	List	   *context;

	if (clauses == NIL)
		return;
	context = set_deparse_context_plan(es->deparse_cxt, (Plan *) plan, ancestors);
	ExplainPropertyText(label, deparse_expression((Node *) make_ands_explicit(clauses), context, true, false), es);
}

static void
lookup_join_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	static const char *const names[] = {
		[JOIN_INNER] = "Inner",[JOIN_LEFT] = "Left",[JOIN_SEMI] = "Semi",[JOIN_ANTI] = "Anti"
	};
	LookupJoin *join = (LookupJoin *) node;

	ExplainPropertyText("Join Type", names[join->type], es);
	explain_clauses(join, "Lookup Key", LOOKUP_JOIN_CLAUSES, ancestors, es);
	explain_clauses(join, "Join Filter", LOOKUP_JOIN_QUALS, ancestors, es);
	if (es->analyze)
	{
		ExplainPropertyInteger("Lookup Batches", NULL, join->batches, es);
		ExplainPropertyInteger("Keys Looked Up", NULL, join->keys_sought, es);
	}
}

static const CustomExecMethods lookup_join_methods = {
	.CustomName = LOOKUP_JOIN_NAME,
	.BeginCustomScan = lookup_join_begin,
	.ExecCustomScan = lookup_join_next,
	.EndCustomScan = lookup_join_end,
	.ReScanCustomScan = lookup_join_rescan,
	.ExplainCustomScan = lookup_join_explain,
};
