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

#include "fdw/nested_fields.h"
#include "fdw/plan.h"
#include "fdw/scan.h"
#include "settings.h"

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

/* The callback is not told of the nodes above, which would give parameters names. */
static char *
expression_text(ForeignScanState *node, const void *expression, ExplainState *es)
{
	List	   *context = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, NIL);
	const ForeignTableScan *scan = node->fdw_state;

	return deparse_expression(unconstify(void *, expression), context, es->verbose || scan->join != NULL, false);
}

static const char *
order_suffix(bool descending, bool nulls_first)
{
	return psprintf("%s%s", descending ? " DESC" : "",
					nulls_first == descending ? "" : nulls_first ? " NULLS FIRST" : " NULLS LAST");
}

static void
explain_order(const ForeignTableScan *scan, ExplainState *es)
{
	List	   *keys = NIL;
	int			i;

	for (i = 0; i < scan->nsort_keys; i++)
	{
		const TopKey *key = &scan->sort_keys[i];
		const char *name = scan->target.schema->fields[key->field].name;

		keys = lappend(keys, psprintf("%s%s", quote_identifier(name),
									  order_suffix(key->descending, key->nulls_first)));
	}
	ExplainPropertyList("Lake Sort Key", keys, es);
	ExplainPropertyInteger("Lake Limit", NULL, scan->limit, es);
}

/* Those of ROW columns of which not everything is read. */
static void
explain_nested_fields(ForeignScanState *node, const ForeignTableScan *scan, ExplainState *es)
{
	List	   *paths = list_nth(((ForeignScan *) node->ss.ps.plan)->fdw_private, SCAN_FIELDS);
	List	   *unique = NIL;
	List	   *names = NIL;
	ListCell   *lc;

	/* the same field may be used more than once */
	foreach(lc, paths)
		unique = list_append_unique(unique, lfirst(lc));
	foreach(lc, unique)
		names = lappend(names, nested_field_name(scan->foreign, lfirst(lc)));
	if (names != NIL)
		ExplainPropertyList("Lake Nested Fields", names, es);
}

static void
explain_filter(ForeignScanState *node, ExplainState *es)
{
	ForeignTableScan *scan = node->fdw_state;
	List	   *clauses = list_copy(scan->clauses);
	const ForeignTableScan *joined;
	int			i;

	for (i = 0; (joined = join_scan_relation(scan, i)) != NULL; i++)
		clauses = list_concat(clauses, joined->clauses);
	if (clauses != NIL)
		ExplainPropertyText("Lake Filter", expression_text(node, make_ands_explicit(clauses), es), es);
}

/* The executor's own filter, clause by clause. */
static void
explain_not_pushed(ForeignScanState *node, ExplainState *es)
{
	const ForeignTableScan *scan = node->fdw_state;
	List	   *texts = NIL;
	ListCell   *lc;

	foreach(lc, node->ss.ps.plan->qual)
	{
		const char *reason = setting_pushdown ? qual_reason(lfirst(lc), &scan->target) : "streamhouse.pushdown is off";

		if (reason)
			texts = lappend(texts, psprintf("%s: %s", expression_text(node, lfirst(lc), es), reason));
	}
	if (texts != NIL)
		ExplainPropertyList("Not Pushed Down", texts, es);
}

static char *
relation_name(Index varno, ExplainState *es)
{
	return pstrdup(quote_identifier(list_nth(es->rtable_names, varno - 1)));
}

/* The relation whose rows pass by, and those that are held in memory. */
static void
explain_join(ForeignScanState *node, ExplainState *es)
{
	ForeignTableScan *scan = node->fdw_state;
	List	   *texts = list_make1(psprintf("probe %s", relation_name(scan->target.varno, es)));
	const ForeignTableScan *joined;
	int			i;

	for (i = 0; (joined = join_scan_relation(scan, i)) != NULL; i++)
	{
		const char *snapshot = joined->foreign->snapshot == NULL ? "no snapshot" :
			psprintf("snapshot " INT64_FORMAT, joined->foreign->snapshot->id);

		texts = lappend(texts, psprintf("%s %s (%s) on %s",
										join_scan_is_left(scan, i) ? "left build" : "build",
										relation_name(joined->target.varno, es), snapshot,
										expression_text(node, join_scan_condition(scan, i), es)));
	}
	ExplainPropertyList("Lake Join", texts, es);
}

static void
explain_top_groups(ForeignScanState *node, ExplainState *es)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	List	   *top = list_nth(plan->fdw_private, SCAN_TOP_GROUPS);

	if (top != NIL)
		ExplainPropertyText("Lake Top Groups",
							psprintf("%d by %s%s", linitial_int(top),
									 expression_text(node, list_nth_node(TargetEntry, plan->fdw_scan_tlist,
																		 lsecond_int(top))->expr, es),
									 order_suffix(lthird_int(top), lfourth_int(top))), es);
}

/* The keys, and then the aggregates, are the columns of the scan's rows. */
static void
explain_aggregates(ForeignScanState *node, ExplainState *es)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	int			nkeys = intVal(list_nth(plan->fdw_private, SCAN_KEYS));
	List	   *keys = NIL;
	List	   *aggregates = NIL;
	ListCell   *lc;

	foreach(lc, plan->fdw_scan_tlist)
	{
		char	   *text = expression_text(node, lfirst_node(TargetEntry, lc)->expr, es);

		if (list_length(keys) < nkeys)
			keys = lappend(keys, text);
		else
			aggregates = lappend(aggregates, text);
	}
	if (aggregates != NIL)
		ExplainPropertyList("Lake Aggregate", aggregates, es);
	if (keys != NIL)
		ExplainPropertyList("Lake Group Key", keys, es);
	explain_top_groups(node, es);
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
explain_splits(const ScanCounters *counters, ExplainState *es)
{
	int64		raw = counters->splits - counters->merged_splits;

	if (es->format != EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyInteger("Raw Splits", NULL, raw, es);
		ExplainPropertyInteger("Merged Splits", NULL, counters->merged_splits, es);
	}
	else if (counters->splits > 0)
		ExplainPropertyText("Lake Splits", psprintf(INT64_FORMAT " raw, " INT64_FORMAT " merged", raw,
													counters->merged_splits), es);
}

/* A counter of what happens rarely. */
static void
explain_if_any(const char *what, int64 count, ExplainState *es)
{
	if (count > 0 || es->format != EXPLAIN_FORMAT_TEXT)
		ExplainPropertyInteger(what, NULL, count, es);
}

static void
explain_cache(const ScanCounters *planned, const FormatCounters *read, ExplainState *es)
{
	if (es->format != EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyInteger("Manifest Cache Hits", NULL, planned->manifests_cached, es);
		ExplainPropertyInteger("Footer Cache Hits", NULL, read->footers_cached, es);
		ExplainPropertyInteger("Page Cache Hits", NULL, read->pages_cached, es);
	}
	else if (planned->manifests_cached + read->footers_cached + read->pages_cached > 0)
		ExplainPropertyText("Cache Hits", psprintf(INT64_FORMAT " manifests, " INT64_FORMAT " footers, "
												   INT64_FORMAT " pages", planned->manifests_cached,
												   read->footers_cached, read->pages_cached), es);
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
	explain_if_any("Row Groups Excluded by Bloom Filter", counters->bloom_excluded, es);
	explain_if_any("Files Excluded by Index", counters->index_excluded, es);
	ExplainPropertyInteger("Bytes Read", "bytes", counters->bytes_read, es);
}

static void
explain_known_files(int64 files, ExplainState *es)
{
	if (files > 0)
		ExplainPropertyInteger("Files Answered From Metadata", NULL, files, es);
}

/* What a scan would read with what is known now. */
static void
explain_ahead(ForeignTableScan *scan, ExplainState *es)
{
	MemoryContext old_context = MemoryContextSwitchTo(scan->context);
	Predicate  *predicate;
	ScanPlan   *plan = foreign_scan_plan(scan, NULL, NIL, &predicate);
	int64		known_files = 0;

	if (scan->aggregates != NULL && !scan->has_parameters)
		known_files = aggregate_scan_count_known(scan, plan->splits, predicate);
	MemoryContextSwitchTo(old_context);
	explain_counters(&plan->counters, es);
	explain_known_files(known_files, es);
}

static void
explain_executed(const ForeignTableScan *scan, ExplainState *es)
{
	explain_splits(&scan->planned, es);
	explain_counters(&scan->planned, es);
	if (scan->aggregates != NULL)
		explain_known_files(aggregate_scan_known_files(scan), es);
	explain_reading(&scan->read, es);
	explain_cache(&scan->planned, &scan->read, es);
	if (scan->aggregates != NULL && aggregate_scan_spilled_rows(scan) > 0)
		ExplainPropertyInteger("Rows Spilled", NULL, aggregate_scan_spilled_rows(scan), es);
}

static void
explain_built(const ForeignTableScan *scan, ExplainState *es)
{
	JoinCounters counters = join_scan_counters(scan);

	ExplainPropertyInteger("Rows Built", NULL, counters.built_rows, es);
	ExplainPropertyInteger("Build Memory", "kB", (counters.memory + 1023) / 1024, es);
	ExplainPropertyInteger("Probe Passes", NULL, counters.passes, es);
}

void
streamhouseExplainForeignScan(ForeignScanState *node, ExplainState *es)
{
	ForeignTableScan *scan = node->fdw_state;

	explain_snapshot(scan->foreign, es);
	if (scan->join != NULL)
		explain_join(node, es);
	if (scan->aggregates != NULL)
		explain_aggregates(node, es);
	else
		explain_nested_fields(node, scan, es);
	if (scan->limit > 0)
		explain_order(scan, es);
	explain_filter(node, es);
	if (es->verbose && scan->aggregates == NULL)
		explain_not_pushed(node, es);
	if (!es->analyze)
		explain_ahead(scan, es);
	else if (scan->executed)
		explain_executed(scan, es);
	if (scan->join != NULL && es->analyze && scan->executed)
		explain_built(scan, es);
}
