/*
 * scan.h
 *		The state of a foreign scan, which EXPLAIN looks into.
 */
#ifndef STREAMHOUSE_FDW_SCAN_H
#define STREAMHOUSE_FDW_SCAN_H

#include "nodes/execnodes.h"

#include "columnar/join.h"
#include "fdw/fdw.h"
#include "fdw/lookup_keys.h"
#include "fdw/quals.h"
#include "fdw/top_rows.h"
#include "fdw/types.h"
#include "lake/read.h"

/* A column that the query uses. */
typedef struct ScanColumn
{
	int			attribute;		/* attribute number - 1 */
	ColumnDecoder *decoder;
} ScanColumn;

typedef struct AggregateScan AggregateScan;
typedef struct JoinScan JoinScan;
typedef struct SharedScan SharedScan;
typedef struct ScanLookup ScanLookup;

typedef struct ForeignTableScan
{
	ForeignRelation *foreign;	/* NULL in a parallel worker that has not heard of its leader yet */
	SharedScan *shared;			/* NULL: it is nobody else's */
	QualTarget	target;
	List	   *clauses;		/* Expr *: pushed down, all must hold */
	List	   *quals;			/* Qual *: the same */
	bool		has_parameters; /* have they comparands that are not constant? */
	int			ncolumns;
	ScanColumn *columns;		/* NULL when the scan aggregates */
	int		   *projection;		/* table fields of the columns */
	ScanLookup *lookup;			/* NULL: it is not for a join that looks rows up */
	AggregateScan *aggregates;	/* NULL: its rows are the table's */
	JoinScan   *join;			/* of aggregates over a join, whose first relation this is; NULL: there is no other */
	int			limit;			/* only so many rows, the first in an order; 0: all, in any */
	int			nsort_keys;
	TopKey	   *sort_keys;
	TopRows    *top;

	/* what this transaction has written, when the scan began */
	List	   *pending;		/* ManifestEntry * */
	bool		truncated;

	/* once comparands have changed */
	bool		sought_candidates;
	const ScanCandidates *candidates;	/* files to choose from; NULL: those of the manifests */

	/* from the first row on, until comparands change */
	MemoryContext context;		/* plan, predicate and reader */
	bool		started;
	bool		finished;
	List	   *splits;			/* what the reader reads */
	Predicate  *predicate;
	TableReader *reader;
	Batch	   *batch;
	int			next_row;		/* of the batch's selected rows, the first after the slice */

	/* a slice of the batch, as Datums, with room for the largest */
	MemoryContext slice_context;
	Datum	   *values;			/* row after row, each of row_width */
	bool	   *isnull;			/* the same, of columns that have nulls in the slice */
	int			row_width;
	bool		is_prefix;		/* columns are the first attributes, in their order */
	Datum	   *column_values;	/* of the column that is decoded */
	bool	   *column_isnull;
	const int32 *slice_places;	/* of its rows in the batch; NULL: from slice_first on */
	int			slice_first;	/* its first row, by number among those selected */
	int			slice_rows;
	int			slice_next;
	int			slice_limit;	/* rows that the next slice may have */
	int			nnullable;		/* columns that have nulls in it */
	int		   *nullable;		/* their numbers */

	/* what it cost: the files of the last start, and all that was read */
	bool		executed;
	ScanCounters planned;
	FormatCounters read;
} ForeignTableScan;

/* The table that is read. */
extern Relation foreign_scan_relation(ForeignScanState *node);

/* Prepare all that depends on the table. */
extern void foreign_scan_open(ForeignScanState *node, ForeignRelation *foreign);

/* Settle the files and open them, once parameters are known. */
extern void foreign_scan_start(ForeignTableScan *scan, ExprContext *econtext);

/* aggregate_scan.c: the scan's rows are groups. */
extern void aggregate_scan_begin(ForeignTableScan *scan, ForeignScanState *node);

/* The splits that have to be read; what is known of the others is taken. */
extern List *aggregate_scan_start(ForeignTableScan *scan, List *splits, const Predicate *predicate);
extern bool aggregate_scan_next(ForeignTableScan *scan, TupleTableSlot *slot);
extern void aggregate_scan_rescan(ForeignTableScan *scan);
extern void aggregate_scan_end(ForeignTableScan *scan);

/* For EXPLAIN: files that were not read, as manifests say enough, and rows that went to temporary files. */
extern int64 aggregate_scan_count_known(const ForeignTableScan *scan, const List *splits, const Predicate *predicate);
extern int64 aggregate_scan_known_files(const ForeignTableScan *scan);
extern int64 aggregate_scan_spilled_rows(const ForeignTableScan *scan);

/*
 * scan_lookup.c: start again, for the rows that have one of the keys; predicate
 * is what they say of each field.  Both must live until the next call, or the
 * end.
 */
extern void foreign_scan_seek(ForeignScanState *node, LookupKeys *keys, Predicate *predicate);

/* The number of the key that the row given last has. */
extern int32 foreign_scan_found(const ForeignScanState *node);

/* For scan.c: conditions (Predicate *) that the keys make, and the next batch of rows that have one. */
extern List *scan_lookup_predicates(const ForeignTableScan *scan);
extern Batch *scan_lookup_next(ForeignTableScan *scan);

/* A relation that is joined to the scan's own, with the clauses pushed down. */
extern ForeignTableScan *foreign_scan_join(ForeignScanState *node, Index varno, List *clauses);

/*
 * Plan the files to read; econtext NULL: only constants are known.  more:
 * conditions (Predicate *) beside the clauses.
 */
extern ScanPlan *foreign_scan_plan(ForeignTableScan *scan, ExprContext *econtext, List *more, Predicate **predicate);

/* join_scan.c: other relations are joined to the scan's own. */
extern void join_scan_begin(ForeignTableScan *scan, ForeignScanState *node, int varno_offset);

/* What expressions over the joined rows speak of. */
extern const QualTarget *join_scan_target(const ForeignTableScan *scan);

/* The joined fields that are wanted. */
extern void join_scan_use(ForeignTableScan *scan, const int *fields, int nfields);

/* Begin to read; hand out all joined rows, whose columns are the fields wanted. */
extern void join_scan_start(ForeignTableScan *scan, ExprContext *econtext);
extern void join_scan_read(ForeignTableScan *scan, JoinReceiver receiver, void *arg);
extern void join_scan_end(ForeignTableScan *scan);

/* For EXPLAIN: the relations joined to the scan's own, NULL after the last; how; and what it cost. */
typedef struct JoinCounters
{
	int64		built_rows;
	Size		memory;			/* at most at once */
	int64		passes;			/* how often the scan's own relation was read */
} JoinCounters;

extern const ForeignTableScan *join_scan_relation(const ForeignTableScan *scan, int number);
extern bool join_scan_is_left(const ForeignTableScan *scan, int number);
extern Expr *join_scan_condition(const ForeignTableScan *scan, int number);
extern JoinCounters join_scan_counters(const ForeignTableScan *scan);

#endif							/* STREAMHOUSE_FDW_SCAN_H */
