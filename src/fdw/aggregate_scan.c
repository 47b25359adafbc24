/*
 * aggregate_scan.c
 *		A scan whose rows are groups.
 *
 * All batches are aggregated when the first row is asked for.  Then groups
 * become rows, as many at a time as a batch has, and only those that may be
 * among the first if no others are wanted.  Where the manifests tell
 * what a file adds to the result, it is not read.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "executor/nodeHash.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/memutils.h"

#include "fdw/aggregate_result.h"
#include "fdw/metadata.h"
#include "fdw/plan.h"
#include "fdw/scan.h"
#include "fdw/top_groups.h"

/* A column of the scan's rows: a key, or made of an item of the aggregation. */
typedef struct OutputColumn
{
	int			item;			/* -1: a key */
	ResultColumn result;
	Datum	   *values;			/* of the slice */
	bool	   *isnull;
} OutputColumn;

struct AggregateScan
{
	AggregationSpec spec;
	int			ncolumns;		/* the keys come first */
	OutputColumn *columns;
	MemoryContext context;		/* of the groups */
	Aggregation *aggregation;	/* NULL: nothing has been read */
	TopGroups	top;
	int64		known_files;
	int64		spilled_rows;
	/* the groups that become rows */
	int32	   *chosen;			/* their numbers; NULL: all */
	int			ngroups;
	/* a slice of these, as Datums */
	MemoryContext slice_context;
	int			slice_end;		/* how many are in slices so far */
	int			slice_rows;
	int			slice_next;
};

/* ---- preparation ---- */

static pg_noinline void
expression_changed(const ForeignTableScan *scan)
{
	/* the lake's column types were the same, or near enough, when this was planned */
	elog(ERROR, "an aggregate over foreign table \"%s\" can no longer be pushed down",
		 RelationGetRelationName(scan->foreign->relation));
}

/* What keys and aggregates speak of. */
static const QualTarget *
target_of(const ForeignTableScan *scan)
{
	return scan->join != NULL ? join_scan_target(scan) : &scan->target;
}

static void
prepare_key(ForeignTableScan *scan, Expr *expr, int number)
{
	AggregateScan *aggregates = scan->aggregates;
	Expression *key = compute_analyze_key(expr, target_of(scan));

	if (key == NULL)
		expression_changed(scan);
	aggregates->spec.keys[number] = key;
	aggregates->columns[number].item = -1;
	result_column_init(&aggregates->columns[number].result, RESULT_EXTREME,
					   RelationGetRelationName(scan->foreign->relation), key->type,
					   exprType((Node *) expr), exprTypmod((Node *) expr));
}

/* The items that aggregates before this one have, if one of them serves. */
static int
find_item(const AggregateScan *aggregates, const List *aggrefs, const Aggref *aggref, AggregateKind kind)
{
	int			i;

	for (i = 0; i < list_length(aggrefs); i++)
	{
		const Aggref *other = list_nth(aggrefs, i);
		int			item = aggregates->columns[aggregates->spec.nkeys + i].item;

		if (aggregates->spec.items[item].kind == kind && equal(other->args, aggref->args) &&
			equal(other->aggfilter, aggref->aggfilter))
			return item;
	}
	return -1;
}

static void
prepare_aggregate(ForeignTableScan *scan, Aggref *aggref, const List *before)
{
	AggregateScan *aggregates = scan->aggregates;
	OutputColumn *column = &aggregates->columns[aggregates->spec.nkeys + list_length(before)];
	ComputedAggregate computed;

	if (!IsA(aggref, Aggref) || !compute_analyze_aggregate(aggref, target_of(scan), &computed))
		expression_changed(scan);
	if (aggregates->top.limit > 0 && column == &aggregates->columns[aggregates->top.column] &&
		!top_groups_can_compare(&computed))
		expression_changed(scan);
	column->item = find_item(aggregates, before, aggref, computed.item.kind);
	if (column->item < 0)
	{
		column->item = aggregates->spec.nitems++;
		aggregates->spec.items[column->item] = computed.item;
	}
	result_column_init(&column->result, computed.result, RelationGetRelationName(scan->foreign->relation),
					   computed.item.argument != NULL ? computed.item.argument->type : NULL, computed.typid, -1);
}

static void
prepare_top(AggregateScan *aggregates, const List *top)
{
	if (top == NIL)
		return;
	aggregates->top.limit = linitial_int(top);
	aggregates->top.column = lsecond_int(top);
	aggregates->top.descending = lthird_int(top);
	aggregates->top.nulls_first = lfourth_int(top);
}

static void
prepare_outputs(ForeignTableScan *scan, const ForeignScan *plan)
{
	AggregateScan *aggregates = scan->aggregates;
	List	   *aggrefs = NIL;
	int			i;

	aggregates->spec.nkeys = intVal(list_nth(plan->fdw_private, SCAN_KEYS));
	aggregates->ncolumns = list_length(plan->fdw_scan_tlist);
	prepare_top(aggregates, list_nth(plan->fdw_private, SCAN_TOP_GROUPS));
	aggregates->columns = palloc0(Max(aggregates->ncolumns, 1) * sizeof(OutputColumn));
	aggregates->spec.keys = palloc(Max(aggregates->spec.nkeys, 1) * sizeof(Expression *));
	aggregates->spec.items = palloc(Max(aggregates->ncolumns, 1) * sizeof(AggregationItem));
	for (i = 0; i < aggregates->ncolumns; i++)
	{
		Expr	   *expr = list_nth_node(TargetEntry, plan->fdw_scan_tlist, i)->expr;

		aggregates->columns[i].values = palloc(BATCH_ROWS * sizeof(Datum));
		aggregates->columns[i].isnull = palloc(BATCH_ROWS * sizeof(bool));
		if (i < aggregates->spec.nkeys)
			prepare_key(scan, expr, i);
		else
		{
			prepare_aggregate(scan, (Aggref *) expr, aggrefs);
			aggrefs = lappend(aggrefs, expr);
		}
	}
}

/* The fields that keys, arguments and filters read. */
static void
prepare_fields(ForeignTableScan *scan)
{
	AggregationSpec *spec = &scan->aggregates->spec;
	const TableSchema *schema = target_of(scan)->schema;
	int		   *fields = palloc(schema->nfields * sizeof(int));
	bool	   *used = palloc0(schema->nfields * sizeof(bool));
	int			i;

	for (i = 0; i < spec->nkeys; i++)
		compute_fields(spec->keys[i], used);
	for (i = 0; i < spec->nitems; i++)
	{
		if (spec->items[i].argument != NULL)
			compute_fields(spec->items[i].argument, used);
		if (spec->items[i].condition != NULL)
			compute_fields(spec->items[i].condition, used);
		predicate_columns(spec->items[i].filter, used);
	}
	spec->types = palloc(schema->nfields * sizeof(DataType *));
	for (i = 0; i < schema->nfields; i++)
	{
		if (!used[i])
			continue;
		spec->types[spec->ncolumns] = schema->fields[i].type;
		fields[spec->ncolumns++] = i;
	}
	spec->ntable_columns = schema->nfields;
	spec->columns = fields;
	if (scan->join != NULL)
		join_scan_use(scan, fields, spec->ncolumns);
	else
	{
		scan->projection = fields;
		scan->ncolumns = spec->ncolumns;
	}
}

static void
prepare_expressions(ForeignTableScan *scan, EState *estate)
{
	AggregationSpec *spec = &scan->aggregates->spec;
	const char *table = RelationGetRelationName(scan->foreign->relation);
	int			i;

	for (i = 0; i < spec->nkeys; i++)
		compute_prepare(spec->keys[i], table, estate);
	for (i = 0; i < spec->nitems; i++)
	{
		if (spec->items[i].argument != NULL)
			compute_prepare(spec->items[i].argument, table, estate);
		if (spec->items[i].condition != NULL)
			compute_prepare(spec->items[i].condition, table, estate);
	}
}

void
aggregate_scan_begin(ForeignTableScan *scan, ForeignScanState *node)
{
	AggregateScan *aggregates = palloc0(sizeof(AggregateScan));
	MemoryContext query_context = node->ss.ps.state->es_query_cxt;

	scan->aggregates = aggregates;
	aggregates->context = AllocSetContextCreate(query_context, "streamhouse aggregation", ALLOCSET_DEFAULT_SIZES);
	aggregates->slice_context = AllocSetContextCreate(query_context, "streamhouse aggregation slice",
													  ALLOCSET_DEFAULT_SIZES);
	aggregates->spec.memory_limit = get_hash_memory_limit();
	prepare_outputs(scan, (ForeignScan *) node->ss.ps.plan);
	prepare_fields(scan);
	prepare_expressions(scan, node->ss.ps.state);
}

/* ---- reading ---- */

static void
read_batches(ForeignTableScan *scan)
{
	AggregateScan *aggregates = scan->aggregates;
	Batch	   *batch;

	for (;;)
	{
		MemoryContext old_context = MemoryContextSwitchTo(scan->context);

		CHECK_FOR_INTERRUPTS();
		batch = table_reader_next(scan->reader);
		MemoryContextSwitchTo(old_context);
		if (batch == NULL)
			break;
		aggregation_add(aggregates->aggregation, batch->columns, batch->selection, batch->nselected);
	}
}

static void
add_joined_rows(void *arg, Vector *const *columns, const int32 *rows, int nrows)
{
	aggregation_add(arg, columns, rows, nrows);
}

static void
read_all(ForeignTableScan *scan)
{
	AggregateScan *aggregates = scan->aggregates;

	if (scan->join != NULL)
		join_scan_read(scan, add_joined_rows, aggregates->aggregation);
	else
		read_batches(scan);
	aggregation_finish(aggregates->aggregation);
	aggregates->spilled_rows = aggregation_spilled_rows(aggregates->aggregation);
	scan->finished = true;
}

/* ---- rows ---- */

/* At a place of the slice and those behind it. */
static void
decode_column(AggregateScan *aggregates, int number, int first, int count, int place)
{
	OutputColumn *column = &aggregates->columns[number];
	Datum	   *values = column->values + place;
	bool	   *isnull = column->isnull + place;

	if (column->item < 0)
	{
		aggregation_key(aggregates->aggregation, number, first, count, column->result.vector);
		column_decode(&column->result.decoder, column->result.vector, NULL, count, values, isnull);
	}
	else
		result_column_decode(&column->result, aggregation_item(aggregates->aggregation, column->item), first, count,
							 values, isnull);
}

/* Of the groups at hand. */
static void
choose_groups(AggregateScan *aggregates)
{
	const OutputColumn *column = &aggregates->columns[aggregates->top.column];
	MemoryContext old_context = MemoryContextSwitchTo(aggregates->context);

	if (aggregates->chosen != NULL)
		pfree(aggregates->chosen);
	aggregates->chosen = NULL;
	aggregates->ngroups = aggregation_group_count(aggregates->aggregation);
	if (aggregates->top.limit > 0)
		aggregates->chosen = top_groups_choose(&aggregates->top, &column->result,
											   aggregation_item(aggregates->aggregation, column->item),
											   aggregates->ngroups, &aggregates->ngroups);
	aggregates->slice_end = 0;
	MemoryContextSwitchTo(old_context);
}

/* Turn to groups that have not become rows yet; false when there are none. */
static bool
seek_groups(AggregateScan *aggregates)
{
	MemoryContext old_context = MemoryContextSwitchTo(aggregates->context);
	bool		found = true;

	while (found && aggregates->slice_end >= aggregates->ngroups)
	{
		found = aggregation_next(aggregates->aggregation);
		if (found)
			choose_groups(aggregates);
	}
	MemoryContextSwitchTo(old_context);
	return found;
}

/* False when there are no more groups. */
static bool
next_slice(AggregateScan *aggregates)
{
	MemoryContext old_context;
	int			count;

	if (!seek_groups(aggregates))
		return false;
	count = Min(aggregates->ngroups - aggregates->slice_end, BATCH_ROWS);
	MemoryContextReset(aggregates->slice_context);
	old_context = MemoryContextSwitchTo(aggregates->slice_context);
	for (int i = 0; i < aggregates->ncolumns; i++)
	{
		if (aggregates->chosen == NULL)
			decode_column(aggregates, i, aggregates->slice_end, count, 0);
		else
		{
			for (int k = 0; k < count; k++)
				decode_column(aggregates, i, aggregates->chosen[aggregates->slice_end + k], 1, k);
		}
	}
	MemoryContextSwitchTo(old_context);
	aggregates->slice_end += count;
	aggregates->slice_rows = count;
	aggregates->slice_next = 0;
	return true;
}

bool
aggregate_scan_next(ForeignTableScan *scan, TupleTableSlot *slot)
{
	AggregateScan *aggregates = scan->aggregates;
	int			i;

	if (!scan->finished)
	{
		read_all(scan);
		choose_groups(aggregates);
	}
	if (aggregates->slice_next >= aggregates->slice_rows && !next_slice(aggregates))
		return false;
	for (i = 0; i < aggregates->ncolumns; i++)
	{
		slot->tts_values[i] = aggregates->columns[i].values[aggregates->slice_next];
		slot->tts_isnull[i] = aggregates->columns[i].isnull[aggregates->slice_next];
	}
	aggregates->slice_next++;
	return true;
}

void
aggregate_scan_rescan(ForeignTableScan *scan)
{
	AggregateScan *aggregates = scan->aggregates;

	MemoryContextReset(aggregates->slice_context);
	MemoryContextReset(aggregates->context);
	aggregates->aggregation = NULL;
	aggregates->chosen = NULL;
	aggregates->ngroups = 0;
	aggregates->slice_end = 0;
	aggregates->slice_rows = 0;
	aggregates->slice_next = 0;
}

void
aggregate_scan_end(ForeignTableScan *scan)
{
	MemoryContextDelete(scan->aggregates->slice_context);
	MemoryContextDelete(scan->aggregates->context);
}

List *
aggregate_scan_start(ForeignTableScan *scan, List *splits, const Predicate *predicate)
{
	AggregateScan *aggregates = scan->aggregates;
	MemoryContext old_context = MemoryContextSwitchTo(aggregates->context);
	List	   *unknown = NIL;
	ListCell   *lc;

	aggregates->aggregation = aggregation_create(&aggregates->spec);
	aggregates->known_files = 0;
	MemoryContextSwitchTo(old_context);

	/* of a shared scan each split belongs to one process */
	if (scan->shared != NULL || scan->join != NULL ||
		!metadata_may_answer(&aggregates->spec, scan->target.schema, predicate))
		return splits;
	foreach(lc, splits)
	{
		const Split *split = lfirst(lc);

		CHECK_FOR_INTERRUPTS();
		if (metadata_add_split(scan->foreign->table, split, &aggregates->spec, aggregates->aggregation))
			aggregates->known_files += list_length(split->files);
		else
			unknown = lappend(unknown, lfirst(lc));
	}
	return unknown;
}

int64
aggregate_scan_count_known(const ForeignTableScan *scan, const List *splits, const Predicate *predicate)
{
	const AggregationSpec *spec = &scan->aggregates->spec;
	int64		files = 0;
	ListCell   *lc;

	if (scan->join != NULL || !metadata_may_answer(spec, scan->target.schema, predicate))
		return 0;
	foreach(lc, splits)
	{
		const Split *split = lfirst(lc);

		if (metadata_add_split(scan->foreign->table, split, spec, NULL))
			files += list_length(split->files);
	}
	return files;
}

int64
aggregate_scan_known_files(const ForeignTableScan *scan)
{
	return scan->aggregates->known_files;
}

int64
aggregate_scan_spilled_rows(const ForeignTableScan *scan)
{
	return scan->aggregates->spilled_rows;
}
