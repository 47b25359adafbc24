/*
 * copy_board.c
 *		The chunks of a round of copying, and who is at work on them.
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "worker/copy_board.h"

static Size
board_size(int ntables)
{
	return MAXALIGN(offsetof(CopyBoard, tables) + sizeof(BoardTable) * (Size) ntables);
}

CopyChunk *
board_chunks(CopyBoard *board)
{
	return (CopyChunk *) ((char *) board + board_size(board->ntables));
}

CopyBoard *
board_create(int ntables, int nchunks, dsm_handle *handle)
{
	Size		size = board_size(ntables) + sizeof(CopyChunk) * (Size) nchunks;
	dsm_segment *segment = dsm_create(size, 0);
	CopyBoard  *board = dsm_segment_address(segment);

	dsm_pin_mapping(segment);
	memset(board, 0, size);
	board->ntables = ntables;
	board->nchunks = nchunks;
	*handle = dsm_segment_handle(segment);
	return board;
}

CopyBoard *
board_attach(dsm_handle handle, dsm_segment **segment)
{
	*segment = handle == DSM_HANDLE_INVALID ? NULL : dsm_attach(handle);
	if (*segment == NULL)
		return NULL;
	dsm_pin_mapping(*segment);
	return dsm_segment_address(*segment);
}

void
board_detach(dsm_segment *segment)
{
	dsm_detach(segment);
}

BoardTable *
board_find(CopyBoard *board, const char *copy_id)
{
	int			i;

	for (i = 0; i < board->ntables; i++)
	{
		if (strcmp(board->tables[i].copy_id, copy_id) == 0)
			return &board->tables[i];
	}
	return NULL;
}

bool
board_take(CopyBoard *board, int *table, int *chunk)
{
	int			i;

	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	for (i = 0; i < board->ntables; i++)
	{
		BoardTable *candidate = &board->tables[i];

		if (candidate->state != BOARD_COPYING || !candidate->begun || candidate->ntaken == candidate->nchunks)
			continue;
		if (candidate->started == 0)
			candidate->started = GetCurrentTimestamp();
		*table = i;
		*chunk = candidate->first + candidate->ntaken++;
		break;
	}
	LWLockRelease(shared_state->lock);
	return i < board->ntables;
}

void
board_chunk_done(BoardTable *table)
{
	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	table->ndone++;
	table->bytes_done = (int64) ((double) (table->bytes - table->bytes_before) * table->ndone / table->nchunks);
	if (table->state == BOARD_COPYING && table->ndone == table->nchunks)
		table->state = BOARD_DONE;
	LWLockRelease(shared_state->lock);
}

void
board_fail(CopyBoard *board, BoardTable *table, const char *error)
{
	shared_error_set(table->error, error, NULL);
	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	if (table->state != BOARD_LEFT)
		table->state = BOARD_FAILED;
	LWLockRelease(shared_state->lock);
}

void
board_leave(BoardTable *table)
{
	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	table->state = BOARD_LEFT;
	LWLockRelease(shared_state->lock);
}

void
board_count_written(BoardTable *table, const TableCounts *counts)
{
	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	table->written.copied += counts->copied;
	table->written.bytes += counts->bytes;
	LWLockRelease(shared_state->lock);
}

void
board_count_rows(BoardTable *table, int64 rows)
{
	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	table->rows_done += rows;
	LWLockRelease(shared_state->lock);
}
