/*
 * inspect.c
 *		Set-returning functions over a lake table's metadata.
 *
 * They give the rows of Paimon's system tables, read as the foreign data
 * wrapper reads them.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "api/lake_relation.h"
#include "fdw/types.h"
#include "lake/read.h"
#include "lake/system_table.h"

PG_FUNCTION_INFO_V1(streamhouse_snapshots);
PGDLLEXPORT Datum streamhouse_snapshots(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(streamhouse_files);
PGDLLEXPORT Datum streamhouse_files(PG_FUNCTION_ARGS);

/* All columns of the newest state of a system table. */
static TableReader *
open_system_table(LakeTable *table)
{
	ScanRequest request = {.snapshot = snapshot_load_latest(table->branch_location)};
	int			nfields = table->schema->nfields;
	int		   *projection = palloc(nfields * sizeof(int));
	int			i;

	for (i = 0; i < nfields; i++)
		projection[i] = i;
	return table_reader_open(table, scan_plan(table, &request)->splits, projection, nfields, NULL, NULL);
}

/* Rows of a batch into the result, in CurrentMemoryContext. */
static void
report_batch(ReturnSetInfo *result, const ColumnDecoder *decoders, const Batch *batch)
{
	int			ncolumns = batch->ncolumns;
	Datum	  **values = palloc(ncolumns * sizeof(Datum *));
	bool	  **nulls = palloc(ncolumns * sizeof(bool *));
	Datum	   *row_values = palloc(ncolumns * sizeof(Datum));
	bool	   *row_nulls = palloc(ncolumns * sizeof(bool));
	int			i;
	int			row;

	for (i = 0; i < ncolumns; i++)
	{
		values[i] = palloc(batch->nselected * sizeof(Datum));
		nulls[i] = palloc(batch->nselected * sizeof(bool));
		column_decode(&decoders[i], batch->columns[i], batch->selection, batch->nselected, values[i], nulls[i]);
	}
	for (row = 0; row < batch->nselected; row++)
	{
		for (i = 0; i < ncolumns; i++)
		{
			row_values[i] = values[i][row];
			row_nulls[i] = nulls[i][row];
		}
		tuplestore_putvalues(result->setResult, result->setDesc, row_values, row_nulls);
	}
}

/* The function's columns are those of the system table. */
static Datum
report_system_table(FunctionCallInfo fcinfo, const char *name)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	LakeTable  *table = lake_relation_inspect(PG_GETARG_OID(0));
	ColumnDecoder *decoders;
	TableReader *reader;
	MemoryContext context;
	Batch	   *batch;
	int			i;

	InitMaterializedSRF(fcinfo, 0);
	if (table == NULL)
		PG_RETURN_VOID();

	table = system_table_open(table, name);
	Assert(table->schema->nfields == result->setDesc->natts);
	decoders = palloc(table->schema->nfields * sizeof(ColumnDecoder));
	for (i = 0; i < table->schema->nfields; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(result->setDesc, i);

		column_decoder_init(&decoders[i], name, NameStr(attribute->attname), table->schema->fields[i].type,
							attribute->atttypid, attribute->atttypmod);
	}
	reader = open_system_table(table);
	context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse system table", ALLOCSET_DEFAULT_SIZES);
	while ((batch = table_reader_next(reader)) != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		CHECK_FOR_INTERRUPTS();
		report_batch(result, decoders, batch);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	table_reader_close(reader);
	lake_table_close(table);
	PG_RETURN_VOID();
}

Datum
streamhouse_snapshots(PG_FUNCTION_ARGS)
{
	return report_system_table(fcinfo, "snapshots");
}

Datum
streamhouse_files(PG_FUNCTION_ARGS)
{
	return report_system_table(fcinfo, "files");
}
