/*
 * copy_api.c
 *		What copies of tables are doing, for SQL.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "worker/copy_board.h"

PG_FUNCTION_INFO_V1(streamhouse_sync_copies);
PGDLLEXPORT Datum streamhouse_sync_copies(PG_FUNCTION_ARGS);

#define COPY_COLUMNS 12

static const char *
phase_name(const BoardTable *table)
{
	switch (table->state)
	{
		case BOARD_COPYING:
			return table->started == 0 ? "waiting" : "copying";
		case BOARD_DONE:
			return "catching up";
		case BOARD_FAILED:
			return "failed";
		case BOARD_LEFT:
			return "left";
	}
	return NULL;				/* keep compiler quiet */
}

/* Processes that have a chunk of the table in hand. */
static int
count_workers(const BoardTable *table)
{
	return table->state == BOARD_COPYING ? table->ntaken - table->ndone : 0;
}

static void
report_table(ReturnSetInfo *result, const BoardTable *table)
{
	Datum		values[COPY_COLUMNS] = {0};
	bool		nulls[COPY_COLUMNS] = {0};

	values[0] = DirectFunctionCall1(uuid_in, CStringGetDatum(table->copy_id));
	values[1] = CStringGetTextDatum(phase_name(table));
	values[2] = Int32GetDatum(table->nchunks + table->nbefore);
	values[3] = Int32GetDatum(table->ndone + table->nbefore);
	values[4] = Int32GetDatum(table->nbefore);
	values[5] = Int64GetDatum(table->rows_done);
	values[6] = Int64GetDatum(table->rows_expected);
	values[7] = Int64GetDatum(table->bytes_before + table->bytes_done);
	values[8] = Int64GetDatum(table->bytes);
	values[9] = Int64GetDatum(table->bytes_before);
	values[10] = Int32GetDatum(count_workers(table));
	values[11] = TimestampTzGetDatum(table->started);
	nulls[11] = table->started == 0;
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* The tables of a round, as they were at one moment. */
static void
report_round(ReturnSetInfo *result, dsm_handle handle)
{
	dsm_segment *segment;
	CopyBoard  *board = board_attach(handle, &segment);
	BoardTable *copies;
	int			i;

	if (board == NULL)
		return;
	copies = palloc(sizeof(BoardTable) * Max(board->ntables, 1));
	LWLockAcquire(shared_state->lock, LW_SHARED);
	memcpy(copies, board->tables, sizeof(BoardTable) * board->ntables);
	LWLockRelease(shared_state->lock);
	for (i = 0; i < board->ntables; i++)
		report_table(result, &copies[i]);
	board_detach(segment);
}

Datum
streamhouse_sync_copies(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	dsm_handle	boards[MAX_SYNCS];
	int			nboards = 0;
	int			i;

	InitMaterializedSRF(fcinfo, 0);
	if (shared_state == NULL)
		PG_RETURN_VOID();
	LWLockAcquire(shared_state->lock, LW_SHARED);
	for (i = 0; i < MAX_SYNCS; i++)
	{
		const SyncState *sync = &shared_state->syncs[i];

		if (sync->worker.in_use && sync->worker.database == MyDatabaseId && sync->copy.board != DSM_HANDLE_INVALID)
			boards[nboards++] = sync->copy.board;
	}
	LWLockRelease(shared_state->lock);
	for (i = 0; i < nboards; i++)
		report_round(result, boards[i]);
	PG_RETURN_VOID();
}
