/*
 * scan.c
 *		Executing a scan: batches of the lake become rows in a slot.
 *
 * What is seen is settled when the scan begins: the snapshot, and the files
 * that this transaction has written so far (a cursor must not see what comes
 * later).  Files are planned and opened at the first row, when parameters have
 * values.
 *
 * Batches are turned into Datums by slices of growing size: little is done in
 * vain for LIMIT 1, and large values do not fill the memory.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "rewrite/rewriteManip.h"
#include "utils/memutils.h"

#include "fdw/nested_fields.h"
#include "fdw/parallel.h"
#include "fdw/plan.h"
#include "fdw/scan.h"

#define FIRST_SLICE_ROWS 64

/* Enough to pay for the calls; Datums of a dozen columns still fit into a core's first cache. */
#define LARGEST_SLICE_ROWS 256

/* A slice that takes more memory makes the next one smaller. */
#define SLICE_MEMORY (8 * 1024 * 1024)

/* The context whose scans must all see one snapshot: EvalPlanQual's belong to the statement they serve. */
static MemoryContext
statement_context(EState *estate)
{
	if (estate->es_epq_active != NULL)
		estate = estate->es_epq_active->parentestate;
	return estate->es_query_cxt;
}

/*
 * Rows that are to be updated or deleted come back as they are shown in SQL: a
 * key must be the same then, and all of a row that is updated.
 */
static bool
must_come_back(ForeignScanState *node, const LakeTable *table, int field)
{
	const TableSchema *schema = table->schema;
	const PlannedStmt *statement = node->ss.ps.state->es_plannedstmt;

	if (!list_member_int(statement->resultRelations, ((Scan *) node->ss.ps.plan)->scanrelid))
		return false;
	return schema_field_is_key(schema, field) ||
		(statement->commandType != CMD_DELETE && schema->fields[field].type->root != TYPE_CHAR);
}

static void
prepare_slices(ForeignTableScan *scan)
{
	/* odd: the values of a column do not compete for a few places in the cache */
	scan->row_width = scan->ncolumns | 1;
	scan->values = palloc(LARGEST_SLICE_ROWS * scan->row_width * sizeof(Datum));
	scan->isnull = palloc(LARGEST_SLICE_ROWS * scan->row_width * sizeof(bool));
	scan->column_values = palloc(LARGEST_SLICE_ROWS * sizeof(Datum));
	scan->column_isnull = palloc(LARGEST_SLICE_ROWS * sizeof(bool));
	scan->is_prefix = true;
	for (int i = 0; i < scan->ncolumns; i++)
		scan->is_prefix &= scan->columns[i].attribute == i;
}

static void
prepare_columns(ForeignTableScan *scan, ForeignScanState *node)
{
	List	   *attributes = list_nth(((ForeignScan *) node->ss.ps.plan)->fdw_private, SCAN_ATTRIBUTES);
	ForeignRelation *foreign = scan->foreign;
	TupleDesc	desc = RelationGetDescr(foreign->relation);
	ListCell   *lc;

	scan->columns = palloc0(list_length(attributes) * sizeof(ScanColumn));
	scan->projection = palloc(list_length(attributes) * sizeof(int));
	scan->nullable = palloc(list_length(attributes) * sizeof(int));
	foreach(lc, attributes)
	{
		int			i = lfirst_int(lc) - 1;
		int			field = foreign->fields[i];
		Form_pg_attribute attribute = TupleDescAttr(desc, i);
		ScanColumn *column;

		if (field < 0)
			continue;
		scan->projection[scan->ncolumns] = field;
		column = &scan->columns[scan->ncolumns++];
		column->attribute = i;
		column->decoder = palloc(sizeof(ColumnDecoder));
		column_decoder_init(column->decoder, RelationGetRelationName(foreign->relation),
							NameStr(attribute->attname), foreign->table->schema->fields[field].type,
							attribute->atttypid, attribute->atttypmod);
		if (must_come_back(node, foreign->table, field))
			column_decoder_set_strict(column->decoder);
		column_decoder_keep_dictionaries(column->decoder);
	}
	prepare_slices(scan);
}

static int
column_of_attribute(const ForeignTableScan *scan, int attribute)
{
	int			i;

	for (i = 0; i < scan->ncolumns; i++)
	{
		if (scan->columns[i].attribute == attribute)
			return i;
	}
	elog(ERROR, "sort key %d of foreign table \"%s\" is not read", attribute + 1,
		 RelationGetRelationName(scan->foreign->relation));
}

static void
prepare_order(ForeignTableScan *scan, ForeignScan *plan)
{
	List	   *keys;
	ListCell   *lc;

	if (list_length(plan->fdw_private) <= SCAN_SORT_KEYS)
		return;
	keys = list_nth(plan->fdw_private, SCAN_SORT_KEYS);
	scan->limit = intVal(list_nth(plan->fdw_private, SCAN_LIMIT));
	scan->sort_keys = palloc(list_length(keys) * sizeof(TopKey));
	foreach(lc, keys)
	{
		TopKey	   *key = &scan->sort_keys[scan->nsort_keys++];

		key->column = column_of_attribute(scan, linitial_int(lfirst(lc)) - 1);
		key->field = scan->projection[key->column];
		key->descending = lsecond_int(lfirst(lc)) != 0;
		key->nulls_first = lthird_int(lfirst(lc)) != 0;
	}
}

/*
 * What was added to the relations' numbers that the planner used: of a scan
 * that aggregates, the clauses in fdw_private still have those.
 */
static int
varno_offset(const ForeignScan *plan)
{
	List	   *joined = list_nth(plan->fdw_private, SCAN_JOIN);
	int			first = intVal(list_nth(plan->fdw_private, SCAN_VARNO));
	ListCell   *lc;

	foreach(lc, joined)
		first = Min(first, intVal(list_nth(lfirst_node(List, lc), JOIN_VARNO)));
	return bms_next_member(compat_scan_relids(plan), -1) - first;
}

/* The relation's number; of a join that of its first relation. */
static Index
scan_varno(const ForeignScan *plan)
{
	if (plan->scan.scanrelid > 0)
		return plan->scan.scanrelid;
	return intVal(list_nth(plan->fdw_private, SCAN_VARNO)) + varno_offset(plan);
}

/* The clauses pushed down, with the relation's number in the finished plan. */
static List *
scan_clauses(const ForeignScan *plan)
{
	List	   *clauses;

	if (plan->scan.scanrelid > 0)
		return plan->fdw_exprs;
	clauses = copyObject(list_nth(plan->fdw_private, SCAN_CLAUSES));
	OffsetVarNodes((Node *) clauses, varno_offset(plan), 0);
	return clauses;
}

/* must_be_exact: those of the clauses that nobody else looks at. */
static void
prepare_quals(ForeignTableScan *scan, Index varno, List *clauses, List *must_be_exact, PlanState *parent)
{
	ListCell   *lc;

	scan->target.varno = varno;
	scan->target.natts = RelationGetNumberOfAttributes(scan->foreign->relation);
	scan->target.fields = scan->foreign->fields;
	scan->target.schema = scan->foreign->table->schema;
	scan->clauses = clauses;
	foreach(lc, clauses)
	{
		bool		exact;
		Qual	   *qual = qual_analyze(lfirst(lc), &scan->target, &exact);

		/* the lake's column types were the same, or near enough, when this was planned */
		if (qual == NULL || (!exact && list_member(must_be_exact, lfirst(lc))))
			elog(ERROR, "a filter of foreign table \"%s\" can no longer be pushed down",
				 RelationGetRelationName(scan->foreign->relation));
		scan->has_parameters |= qual_prepare(qual, parent);
		scan->quals = lappend(scan->quals, qual);
	}
}

/* What this transaction has written when the scan begins. */
static void
take_pending(ForeignTableScan *scan, const EState *estate)
{
	if (!(estate->es_top_eflags & EXEC_FLAG_EXPLAIN_ONLY))
		scan->pending = transaction_pending_entries(scan->foreign->address->location, &scan->truncated);
}

ForeignTableScan *
foreign_scan_join(ForeignScanState *node, Index varno, List *clauses)
{
	ForeignTableScan *scan = palloc0(sizeof(ForeignTableScan));
	EState	   *estate = node->ss.ps.state;

	scan->foreign = foreign_relation_open(ExecGetRangeTableRelation(estate, varno, false), RELATION_READ,
										  statement_context(estate));
	prepare_quals(scan, varno, clauses, clauses, &node->ss.ps);
	take_pending(scan, estate);
	return scan;
}

Relation
foreign_scan_relation(ForeignScanState *node)
{
	if (node->ss.ss_currentRelation != NULL)
		return node->ss.ss_currentRelation;
	return ExecGetRangeTableRelation(node->ss.ps.state, scan_varno((ForeignScan *) node->ss.ps.plan), false);
}

void
foreign_scan_open(ForeignScanState *node, ForeignRelation *foreign)
{
	ForeignTableScan *scan = node->fdw_state;
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	List	   *clauses = scan_clauses(plan);

	scan->foreign = foreign;
	if (node->ss.ss_currentRelation != NULL)
		nested_fields_apply(foreign, list_nth(plan->fdw_private, SCAN_FIELDS));
	prepare_quals(scan, scan_varno(plan), clauses, plan->scan.scanrelid > 0 ? plan->fdw_recheck_quals : clauses,
				  &node->ss.ps);
	if (node->ss.ss_currentRelation != NULL)
	{
		prepare_columns(scan, node);
		prepare_order(scan, plan);
		return;
	}
	if (list_nth(plan->fdw_private, SCAN_JOIN) != NIL)
		join_scan_begin(scan, node, varno_offset(plan));
	aggregate_scan_begin(scan, node);
}

void
streamhouseBeginForeignScan(ForeignScanState *node, int eflags)
{
	ForeignTableScan *scan = palloc0(sizeof(ForeignTableScan));
	EState	   *estate = node->ss.ps.state;

	node->fdw_state = scan;
	scan->context = AllocSetContextCreate(estate->es_query_cxt, "streamhouse scan", ALLOCSET_DEFAULT_SIZES);
	scan->slice_context = AllocSetContextCreate(estate->es_query_cxt, "streamhouse scan slice",
												ALLOCSET_DEFAULT_SIZES);
	scan->slice_limit = FIRST_SLICE_ROWS;

	/* the leader says what a worker is to see */
	if (IsParallelWorker() && node->ss.ps.plan->parallel_aware)
		return;
	foreign_scan_open(node, foreign_relation_open(foreign_scan_relation(node), RELATION_READ,
												  statement_context(estate)));
	take_pending(scan, estate);
}

/* more: conditions beside the clauses. */
static Predicate *
bind_quals(ForeignTableScan *scan, ExprContext *econtext, List *more)
{
	List	   *parts = list_copy(more);
	ListCell   *lc;

	foreach(lc, scan->quals)
	{
		Predicate  *part = qual_bind(lfirst(lc), econtext);

		if (part != NULL)
			parts = lappend(parts, part);
	}
	return predicate_combine(PREDICATE_AND, parts);
}

/* Comparands change: what constants leave of the files is wanted again and again. */
static void
seek_candidates(ForeignTableScan *scan, MemoryContext context)
{
	ScanRequest request = {.snapshot = scan->foreign->snapshot, .truncated = scan->truncated};
	MemoryContext old_context = MemoryContextSwitchTo(context);

	request.predicate = bind_quals(scan, NULL, NIL);
	scan->candidates = scan_candidates(scan->foreign->table, &request);
	scan->sought_candidates = true;
	MemoryContextSwitchTo(old_context);
}

ScanPlan *
foreign_scan_plan(ForeignTableScan *scan, ExprContext *econtext, List *more, Predicate **predicate)
{
	ScanRequest request = {.snapshot = scan->foreign->snapshot};

	*predicate = bind_quals(scan, econtext, more);
	request.predicate = *predicate;
	request.extra_entries = scan->pending;
	request.truncated = scan->truncated;
	request.candidates = scan->candidates;
	return scan_plan(scan->foreign->table, &request);
}

/* Settle the files and open them. */
static void
open_reader(ForeignTableScan *scan, ExprContext *econtext)
{
	Predicate  *predicate;
	List	   *keys = scan->lookup != NULL ? scan_lookup_predicates(scan) : NIL;
	ScanPlan   *plan = foreign_scan_plan(scan, econtext, keys, &predicate);
	List	   *splits = plan->splits;

	scan->planned = plan->counters;
	if (scan->shared != NULL)
		splits = shared_scan_units(scan, plan);
	if (scan->aggregates != NULL)
		splits = aggregate_scan_start(scan, splits, predicate);
	scan->reader = table_reader_open(scan->foreign->table, splits, scan->projection, scan->ncolumns,
									 predicate, &scan->read);
	if (scan->shared != NULL)
		shared_scan_start(scan, plan, splits);
	scan->splits = splits;
	scan->predicate = predicate;
}

void
foreign_scan_start(ForeignTableScan *scan, ExprContext *econtext)
{
	MemoryContext old_context = MemoryContextSwitchTo(scan->context);

	if (scan->join != NULL)
	{
		aggregate_scan_start(scan, NIL, NULL);
		join_scan_start(scan, econtext);
	}
	else
		open_reader(scan, econtext);
	scan->started = true;
	scan->executed = true;
	MemoryContextSwitchTo(old_context);
}

/* Grow slices, unless their values are large. */
static void
adjust_slice_limit(ForeignTableScan *scan)
{
	if (MemoryContextMemAllocated(scan->slice_context, true) > SLICE_MEMORY)
		scan->slice_limit = Max(scan->slice_limit / 2, 1);
	else
		scan->slice_limit = Min(scan->slice_limit * 2, LARGEST_SLICE_ROWS);
}

/* Nulls of columns that have none in the slice are settled for all of its rows. */
static void
settle_nulls(ForeignTableScan *scan, TupleTableSlot *slot)
{
	int			i;

	scan->nnullable = 0;
	for (i = 0; i < scan->ncolumns; i++)
	{
		slot->tts_isnull[scan->columns[i].attribute] = false;
		if (scan->batch->columns[i]->has_nulls)
			scan->nullable[scan->nnullable++] = i;
	}
}

static void
decode_column(ForeignTableScan *scan, int number, int nrows)
{
	const Vector *vector = scan->batch->columns[number];
	Datum	   *values = scan->values + number;
	bool	   *isnull = scan->isnull + number;
	int			width = scan->row_width;
	int			i;

	if (scan->slice_places != NULL)
		column_decode(scan->columns[number].decoder, vector, scan->slice_places, nrows,
					  scan->column_values, scan->column_isnull);
	else
		column_decode_range(scan->columns[number].decoder, vector, scan->next_row, nrows,
							scan->column_values, scan->column_isnull);
	for (i = 0; i < nrows; i++)
		values[i * width] = scan->column_values[i];
	if (vector->has_nulls)
	{
		for (i = 0; i < nrows; i++)
			isnull[i * width] = scan->column_isnull[i];
	}
}

static void
load_slice(ForeignTableScan *scan)
{
	const Batch *batch = scan->batch;
	int			nrows = Min(batch->nselected - scan->next_row, scan->slice_limit);
	MemoryContext old_context;
	int			i;

	MemoryContextReset(scan->slice_context);
	old_context = MemoryContextSwitchTo(scan->slice_context);
	scan->slice_places = batch->selection != NULL ? batch->selection + scan->next_row : NULL;
	for (i = 0; i < scan->ncolumns; i++)
		decode_column(scan, i, nrows);
	MemoryContextSwitchTo(old_context);

	adjust_slice_limit(scan);
	scan->slice_first = scan->next_row;
	scan->next_row += nrows;
	scan->slice_rows = nrows;
	scan->slice_next = 0;
}

/* The first rows in an order are one batch. */
static Batch *
next_batch(ForeignTableScan *scan)
{
	if (scan->lookup != NULL)
		return scan_lookup_next(scan);
	if (scan->limit == 0)
		return table_reader_next(scan->reader);
	if (scan->batch != NULL)
		return NULL;
	scan->top = top_rows_create(scan->foreign->table, scan->projection, scan->ncolumns, scan->limit,
								scan->nsort_keys, scan->sort_keys);
	return top_rows_read(scan->top, scan->splits, scan->predicate, &scan->read);
}

/* False at the end of the scan. */
static bool
next_slice(ForeignTableScan *scan, TupleTableSlot *slot)
{
	while (scan->batch == NULL || scan->next_row >= scan->batch->nselected)
	{
		MemoryContext old_context = MemoryContextSwitchTo(scan->context);

		CHECK_FOR_INTERRUPTS();
		scan->batch = next_batch(scan);
		MemoryContextSwitchTo(old_context);
		scan->next_row = 0;
		scan->finished = scan->batch == NULL;
		if (scan->finished)
			return false;
	}
	load_slice(scan);
	settle_nulls(scan, slot);
	return true;
}

/* This is done for every row, so it does nothing else. */
static void
store_row(ForeignTableScan *scan, TupleTableSlot *slot, int row)
{
	const ScanColumn *columns = scan->columns;
	const Datum *values = scan->values + row * scan->row_width;
	const bool *isnull = scan->isnull + row * scan->row_width;
	int			ncolumns = scan->ncolumns;
	int			i;

	if (scan->is_prefix)
		memcpy(slot->tts_values, values, ncolumns * sizeof(Datum));
	else
	{
		for (i = 0; i < ncolumns; i++)
			slot->tts_values[columns[i].attribute] = values[i];
	}
	for (i = 0; i < scan->nnullable; i++)
		slot->tts_isnull[columns[scan->nullable[i]].attribute] = isnull[scan->nullable[i]];
	ExecStoreVirtualTuple(slot);
}

TupleTableSlot *
streamhouseIterateForeignScan(ForeignScanState *node)
{
	ForeignTableScan *scan = node->fdw_state;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;

	ExecClearTuple(slot);
	if (!scan->started)
	{
		foreign_scan_start(scan, node->ss.ps.ps_ExprContext);

		/* columns that are not used are never touched again */
		memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
	}
	if (scan->aggregates != NULL)
	{
		if (aggregate_scan_next(scan, slot))
			ExecStoreVirtualTuple(slot);
		return slot;
	}
	if (scan->slice_next >= scan->slice_rows && (scan->finished || !next_slice(scan, slot)))
		return slot;
	store_row(scan, slot, scan->slice_next++);
	return slot;
}

static void
forget_rows(ForeignTableScan *scan)
{
	if (scan->top != NULL)
		top_rows_free(scan->top);
	scan->top = NULL;
	scan->batch = NULL;
	scan->next_row = 0;
	scan->slice_rows = 0;
	scan->slice_next = 0;
	scan->finished = false;
}

static void
close_reader(ForeignTableScan *scan)
{
	if (scan->reader != NULL)
		table_reader_close(scan->reader);
	scan->reader = NULL;
}

void
streamhouseReScanForeignScan(ForeignScanState *node)
{
	ForeignTableScan *scan = node->fdw_state;

	if (!scan->started)
		return;
	forget_rows(scan);
	if (scan->aggregates != NULL)
		aggregate_scan_rescan(scan);
	if (scan->aggregates != NULL || scan->lookup != NULL ||
		(scan->has_parameters && node->ss.ps.chgParam != NULL))
	{
		close_reader(scan);
		MemoryContextReset(scan->context);
		scan->started = false;
		if (!scan->sought_candidates)
			seek_candidates(scan, node->ss.ps.state->es_query_cxt);
	}
	else
	{
		MemoryContext old_context = MemoryContextSwitchTo(scan->context);

		table_reader_rescan(scan->reader);
		MemoryContextSwitchTo(old_context);
	}
}

void
streamhouseEndForeignScan(ForeignScanState *node)
{
	ForeignTableScan *scan = node->fdw_state;

	if (scan == NULL)
		return;
	if (scan->aggregates != NULL)
		aggregate_scan_end(scan);
	close_reader(scan);
	if (scan->join != NULL)
		join_scan_end(scan);
	MemoryContextDelete(scan->slice_context);
	MemoryContextDelete(scan->context);
	if (scan->foreign != NULL)
		foreign_relation_close(scan->foreign);
}
