/*
 * scan_lookup.c
 *		A scan that gives the rows of keys, for a join that looks them up.
 *
 * The scan starts again for each batch of keys.  Rows are matched with keys
 * before any other column is decoded.
 */
#include "postgres.h"

#include "executor/executor.h"

#include "fdw/scan.h"

struct ScanLookup
{
	LookupKeys *keys;
	Predicate  *predicate;		/* what they say of each field */
	int		   *columns;		/* of the scan: the keys' fields */
	const Vector **vectors;		/* the same, of a batch */
	int32	   *numbers;		/* by place in the batch: of keys */
	int32	   *kept;			/* places of rows that have one */
};

static int
column_of_field(const ForeignTableScan *scan, int field)
{
	int			i;

	for (i = 0; i < scan->ncolumns; i++)
	{
		if (scan->projection[i] == field)
			return i;
	}
	elog(ERROR, "column \"%s\" of foreign table \"%s\" is not read", scan->target.schema->fields[field].name,
		 RelationGetRelationName(scan->foreign->relation));
}

static ScanLookup *
create_lookup(const ForeignTableScan *scan, const LookupKeys *keys, MemoryContext context)
{
	MemoryContext old_context = MemoryContextSwitchTo(context);
	ScanLookup *lookup = palloc0(sizeof(ScanLookup));
	int			nfields = lookup_keys_nfields(keys);
	int			i;

	lookup->columns = palloc(nfields * sizeof(int));
	for (i = 0; i < nfields; i++)
		lookup->columns[i] = column_of_field(scan, lookup_keys_fields(keys)[i]);
	lookup->vectors = palloc(nfields * sizeof(Vector *));
	lookup->numbers = palloc(BATCH_ROWS * sizeof(int32));
	lookup->kept = palloc(BATCH_ROWS * sizeof(int32));
	MemoryContextSwitchTo(old_context);
	return lookup;
}

void
foreign_scan_seek(ForeignScanState *node, LookupKeys *keys, Predicate *predicate)
{
	ForeignTableScan *scan = node->fdw_state;

	if (scan->lookup == NULL)
		scan->lookup = create_lookup(scan, keys, node->ss.ps.state->es_query_cxt);
	scan->lookup->keys = keys;
	scan->lookup->predicate = predicate;
	ExecReScan(&node->ss.ps);
}

int32
foreign_scan_found(const ForeignScanState *node)
{
	const ForeignTableScan *scan = node->fdw_state;
	int			given = scan->slice_next - 1;

	return scan->lookup->numbers[scan->slice_places != NULL ? scan->slice_places[given] : scan->slice_first + given];
}

List *
scan_lookup_predicates(const ForeignTableScan *scan)
{
	return list_make1(scan->lookup->predicate);
}

/* Leave of the batch the rows that have a key. */
static void
keep_found_rows(ForeignTableScan *scan, Batch *batch)
{
	ScanLookup *lookup = scan->lookup;
	int			nfields = lookup_keys_nfields(lookup->keys);
	int			nkept = 0;
	int			i;

	for (i = 0; i < nfields; i++)
	{
		table_reader_decode(scan->reader, lookup->columns[i]);
		lookup->vectors[i] = batch->columns[lookup->columns[i]];
	}
	lookup_keys_find(lookup->keys, lookup->vectors, batch->selection, batch->nselected, lookup->numbers);
	for (i = 0; i < batch->nselected; i++)
	{
		int32		place = batch->selection != NULL ? batch->selection[i] : i;

		lookup->kept[nkept] = place;
		nkept += lookup->numbers[place] != GROUP_NONE;
	}
	if (nkept < batch->nselected)
		table_reader_select(scan->reader, lookup->kept, nkept);
}

Batch *
scan_lookup_next(ForeignTableScan *scan)
{
	Batch	   *batch;
	int			i;

	do
	{
		batch = table_reader_next_rows(scan->reader);
		if (batch == NULL)
			return NULL;
		keep_found_rows(scan, batch);
	} while (batch->nselected == 0);
	for (i = 0; i < scan->ncolumns; i++)
		table_reader_decode(scan->reader, i);
	return batch;
}
