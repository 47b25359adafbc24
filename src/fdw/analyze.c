/*
 * analyze.c
 *		ANALYZE: a sample of a table's rows.
 *
 * Of large tables only a part of the batches is decoded, chosen at random; of
 * the rows of those, each is equally likely to be in the sample.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/sampling.h"

#include "fdw/fdw.h"
#include "fdw/types.h"
#include "lake/read.h"

/* Rows to decode, as a multiple of those wanted, and at least. */
#define READ_FACTOR 20
#define MIN_READ_ROWS (100 * BATCH_ROWS)

typedef struct SampleState
{
	Relation	relation;
	ForeignRelation *foreign;
	int			ncolumns;
	int		   *attributes;		/* by column: attribute number - 1 */
	int		   *projection;		/* by column: table field */
	ColumnDecoder *decoders;
	/* the sample */
	HeapTuple  *rows;
	int			target;
	int			nrows;
	double		seen;			/* rows read */
	double		skip;			/* rows to pass by before the next that is taken; -1: to be chosen */
	ReservoirStateData reservoir;
	MemoryContext scratch;		/* of a batch */
} SampleState;

static void
prepare_columns(SampleState *state)
{
	TupleDesc	desc = RelationGetDescr(state->relation);
	const ForeignRelation *foreign = state->foreign;
	int			i;

	state->attributes = palloc(desc->natts * sizeof(int));
	state->projection = palloc(desc->natts * sizeof(int));
	state->decoders = palloc0(desc->natts * sizeof(ColumnDecoder));
	for (i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		if (foreign->fields[i] < 0)
			continue;
		state->attributes[state->ncolumns] = i;
		state->projection[state->ncolumns] = foreign->fields[i];
		column_decoder_init(&state->decoders[state->ncolumns], RelationGetRelationName(state->relation),
							NameStr(attribute->attname), foreign->table->schema->fields[foreign->fields[i]].type,
							attribute->atttypid, attribute->atttypmod);
		state->ncolumns++;
	}
}

/* Where the next row goes in the sample; -1: not into it. */
static int
place_of_row(SampleState *state)
{
	if (state->nrows < state->target)
		return state->nrows++;
	if (state->skip < 0)
		state->skip = reservoir_get_next_S(&state->reservoir, state->seen, state->target);
	if (state->skip > 0)
	{
		state->skip -= 1;
		return -1;
	}
	state->skip = -1;
	return (int) (state->target * sampler_random_fract(&state->reservoir.randstate));
}

/* Make tuples of the rows chosen: rows are places in the batch, places those in the sample. */
static void
take_rows(SampleState *state, const Batch *batch, const int32 *rows, const int *places, int nrows)
{
	TupleDesc	desc = RelationGetDescr(state->relation);
	MemoryContext old_context = MemoryContextSwitchTo(state->scratch);
	Datum	  **columns = palloc(state->ncolumns * sizeof(Datum *));
	bool	  **nulls = palloc(state->ncolumns * sizeof(bool *));
	Datum	   *values = palloc0(desc->natts * sizeof(Datum));
	bool	   *isnull = palloc(desc->natts * sizeof(bool));
	int			i;
	int			k;

	memset(isnull, true, desc->natts * sizeof(bool));
	for (k = 0; k < state->ncolumns; k++)
	{
		columns[k] = palloc(nrows * sizeof(Datum));
		nulls[k] = palloc(nrows * sizeof(bool));
		column_decode(&state->decoders[k], batch->columns[k], rows, nrows, columns[k], nulls[k]);
	}
	MemoryContextSwitchTo(old_context);
	for (i = 0; i < nrows; i++)
	{
		for (k = 0; k < state->ncolumns; k++)
		{
			values[state->attributes[k]] = columns[k][i];
			isnull[state->attributes[k]] = nulls[k][i];
		}
		if (state->rows[places[i]] != NULL)
			heap_freetuple(state->rows[places[i]]);
		state->rows[places[i]] = heap_form_tuple(desc, values, isnull);
	}
	MemoryContextReset(state->scratch);
}

static void
sample_batch(SampleState *state, const Batch *batch)
{
	int32		rows[BATCH_ROWS];
	int			places[BATCH_ROWS];
	int			nrows = 0;
	int			i;

	for (i = 0; i < batch->nselected; i++)
	{
		int			place = place_of_row(state);

		state->seen += 1;
		if (place < 0)
			continue;
		rows[nrows] = batch->selection != NULL ? batch->selection[i] : i;
		places[nrows++] = place;
	}
	if (nrows > 0)
		take_rows(state, batch, rows, places, nrows);
}

/* Returns how many rows there are in all. */
static double
sample_splits(SampleState *state, const ScanPlan *plan)
{
	double		wanted = Max(READ_FACTOR * (double) state->target, MIN_READ_ROWS);
	double		share = wanted / Max(plan->row_count, 1);
	double		rows = 0;
	TableReader *reader = table_reader_open(state->foreign->table, plan->splits, state->projection,
											state->ncolumns, NULL, NULL);
	Batch	   *batch;
	int			i;

	while ((batch = table_reader_next_rows(reader)) != NULL)
	{
		vacuum_delay_point(true);
		rows += batch->nselected;
		if (sampler_random_fract(&state->reservoir.randstate) > share)
			continue;
		for (i = 0; i < state->ncolumns; i++)
			table_reader_decode(reader, i);
		sample_batch(state, batch);
	}
	table_reader_close(reader);
	return rows;
}

static ScanPlan *
plan_all_files(const ForeignRelation *foreign)
{
	ScanRequest request = {.snapshot = foreign->snapshot};

	request.extra_entries = transaction_pending_entries(foreign->address->location, &request.truncated);
	return scan_plan(foreign->table, &request);
}

static int
acquire_sample_rows(Relation relation, int elevel, HeapTuple *rows, int targrows, double *totalrows,
					double *totaldeadrows)
{
	SampleState state = {.relation = relation, .rows = rows, .target = targrows, .skip = -1};
	ScanPlan   *plan;

	state.foreign = foreign_relation_open(relation, RELATION_READ, NULL);
	state.scratch = AllocSetContextCreate(CurrentMemoryContext, "streamhouse sample", ALLOCSET_DEFAULT_SIZES);
	reservoir_init_selection_state(&state.reservoir, targrows);
	memset(rows, 0, targrows * sizeof(HeapTuple));
	prepare_columns(&state);
	plan = plan_all_files(state.foreign);
	*totalrows = sample_splits(&state, plan);
	*totaldeadrows = 0;
	ereport(elevel,
			(errmsg("\"%s\": decoded %.0f of %.0f rows; %d rows in sample",
					RelationGetRelationName(relation), state.seen, *totalrows, state.nrows)));
	MemoryContextDelete(state.scratch);
	foreign_relation_close(state.foreign);
	return state.nrows;
}

bool
streamhouseAnalyzeForeignTable(Relation relation, AcquireSampleRowsFunc *func, BlockNumber *totalpages)
{
	ForeignRelation *foreign = foreign_relation_open(relation, RELATION_READ, NULL);

	*func = acquire_sample_rows;
	*totalpages = (BlockNumber) Min(plan_all_files(foreign)->bytes / BLCKSZ + 1, MaxBlockNumber);
	foreign_relation_close(foreign);
	return true;
}
