/*
 * explain.c
 *		What EXPLAIN says of a scan: snapshot, filters pushed, files to read.
 *
 * Without ANALYZE the files are those that constants leave; with it those
 * that were read, and how much of them.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/ruleutils.h"

#include "fdw/scan.h"

static void
explain_snapshot(const ForeignRelation *foreign, ExplainState *es)
{
	if (foreign->snapshot != NULL)
		ExplainPropertyInteger("Lake Snapshot", NULL, foreign->snapshot->id, es);
	else
		ExplainPropertyText("Lake Snapshot", "none", es);
	if (es->verbose)
		ExplainPropertyText("Lake Table", foreign->table->location, es);
}

static void
explain_filter(ForeignScanState *node, ExplainState *es)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	Node	   *filter = (Node *) make_ands_explicit(plan->fdw_exprs);
	List	   *context;

	if (plan->fdw_exprs == NIL)
		return;

	/* the callback is not told of the nodes above, which would give parameters names */
	context = set_deparse_context_plan(es->deparse_cxt, (Plan *) plan, NIL);
	ExplainPropertyText("Lake Filter", deparse_expression(filter, context, es->verbose, false), es);
}

/* "3 of 10" for people, two numbers for programs. */
static void
explain_part(const char *what, int64 part, int64 whole, ExplainState *es)
{
	if (es->format == EXPLAIN_FORMAT_TEXT)
		ExplainPropertyText(what, psprintf(INT64_FORMAT " of " INT64_FORMAT, part, whole), es);
	else
	{
		ExplainPropertyInteger(psprintf("%s Read", what), NULL, part, es);
		ExplainPropertyInteger(what, NULL, whole, es);
	}
}

static void
explain_counters(const ScanCounters *counters, ExplainState *es)
{
	explain_part("Partitions", counters->partitions_read, counters->partitions, es);
	explain_part("Manifests", counters->manifests_read, counters->manifests, es);
	explain_part("Files", counters->files_read, counters->files, es);
}

static void
explain_reading(const FormatCounters *counters, ExplainState *es)
{
	explain_part("Row Groups", counters->row_groups_read, counters->row_groups, es);
	ExplainPropertyInteger("Pages Skipped", NULL, counters->pages_skipped, es);
	ExplainPropertyInteger("Bytes Read", "bytes", counters->bytes_read, es);
}

/* The counters that a scan would have with what is known now. */
static ScanCounters
counters_ahead(ForeignTableScan *scan)
{
	MemoryContext old_context = MemoryContextSwitchTo(scan->context);
	Predicate  *predicate;
	ScanCounters counters = foreign_scan_plan(scan, NULL, &predicate)->counters;

	MemoryContextSwitchTo(old_context);
	return counters;
}

void
streamhouseExplainForeignScan(ForeignScanState *node, ExplainState *es)
{
	ForeignTableScan *scan = node->fdw_state;
	ScanCounters ahead;

	explain_snapshot(scan->foreign, es);
	explain_filter(node, es);
	if (!es->analyze)
	{
		ahead = counters_ahead(scan);
		explain_counters(&ahead, es);
	}
	else if (scan->executed)
	{
		explain_counters(&scan->planned, es);
		explain_reading(&scan->read, es);
	}
}
