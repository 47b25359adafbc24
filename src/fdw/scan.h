/*
 * scan.h
 *		The state of a foreign scan, which EXPLAIN looks into.
 */
#ifndef STREAMHOUSE_FDW_SCAN_H
#define STREAMHOUSE_FDW_SCAN_H

#include "nodes/execnodes.h"

#include "fdw/fdw.h"
#include "fdw/quals.h"
#include "fdw/types.h"
#include "lake/read.h"

/* A column that the query uses. */
typedef struct ScanColumn
{
	int			attribute;		/* attribute number - 1 */
	ColumnDecoder decoder;
	Datum	   *values;			/* of the slice, BATCH_ROWS of room */
	bool	   *isnull;
} ScanColumn;

typedef struct ForeignTableScan
{
	ForeignRelation *foreign;
	QualTarget	target;
	List	   *quals;			/* Qual *: pushed down, all must hold */
	bool		has_parameters; /* have they comparands that are not constant? */
	int			ncolumns;
	ScanColumn *columns;
	int		   *projection;		/* table fields of the columns */

	/* what this transaction has written, when the scan began */
	List	   *pending;		/* ManifestEntry * */
	bool		truncated;

	/* from the first row on, until comparands change */
	MemoryContext context;		/* plan, predicate and reader */
	bool		started;
	bool		finished;
	TableReader *reader;
	Batch	   *batch;
	int			next_row;		/* of the batch's selected rows, the first after the slice */

	/* a slice of the batch, as Datums */
	MemoryContext slice_context;
	int			slice_rows;
	int			slice_next;
	int			slice_limit;	/* rows that the next slice may have */

	/* what it cost: the files of the last start, and all that was read */
	bool		executed;
	ScanCounters planned;
	FormatCounters read;
} ForeignTableScan;

/* Plan the files to read; econtext NULL: only constants are known. */
extern ScanPlan *foreign_scan_plan(ForeignTableScan *scan, ExprContext *econtext, Predicate **predicate);

#endif							/* STREAMHOUSE_FDW_SCAN_H */
