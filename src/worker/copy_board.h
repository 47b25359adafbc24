/*
 * copy_board.h
 *		The chunks of a round of copying, and who is at work on them.
 *
 * A board lies in dynamic shared memory that the round's leader makes; helpers,
 * the sync's worker and sessions attach to it.  Once it is made only counters and states
 * change, guarded by the lock of shared_state.h.
 */
#ifndef STREAMHOUSE_COPY_BOARD_H
#define STREAMHOUSE_COPY_BOARD_H

#include "access/xlogdefs.h"
#include "datatype/timestamp.h"

#include "sync/copy_plan.h"
#include "worker/shared_state.h"

#define COPY_ID_LENGTH 36		/* of a uuid as text */
#define SNAPSHOT_NAME_LENGTH 64

typedef enum BoardState
{
	BOARD_COPYING,
	BOARD_DONE,
	BOARD_FAILED,				/* in this round; error says why */
	BOARD_LEFT					/* not to be copied in this round (any more) */
} BoardState;

typedef struct BoardTable
{
	char		copy_id[COPY_ID_LENGTH + 1];
	bool		begun;			/* it has a base, see sync_catalog.h */
	bool		deferred;		/* the stream leaves it out */
	BoardState	state;
	int			first;			/* of its chunks on the board */
	int			nchunks;
	int			ntaken;
	int			ndone;
	int			nbefore;		/* chunks of earlier rounds, in the lake */
	int64		bytes;
	int64		bytes_before;
	int64		bytes_done;		/* without those before */
	int64		rows_done;
	int64		rows_expected;	/* of the source; -1 unknown */
	TableCounts written;
	TimestampTz started;		/* 0: not yet */
	char		error[SYNC_ERROR_LENGTH];
} BoardTable;

typedef struct CopyBoard
{
	int			round;
	XLogRecPtr	position;		/* of the snapshot */
	char		snapshot[SNAPSHOT_NAME_LENGTH]; /* exported by the leader */
	int			ntables;
	int			nchunks;
	BoardTable	tables[FLEXIBLE_ARRAY_MEMBER];
} CopyBoard;

/* The chunks of all tables. */
extern CopyChunk *board_chunks(CopyBoard *board);

/*
 * Make a board of ntables tables and their chunks, and keep it until the process ends.
 * *handle is for those who attach.
 */
extern CopyBoard *board_create(int ntables, int nchunks, dsm_handle *handle);

/*
 * Attach for the rest of the process, or until board_detach; NULL when the
 * board is gone.
 */
extern CopyBoard *board_attach(dsm_handle handle, dsm_segment **segment);
extern void board_detach(dsm_segment *segment);

/* The table of a copy, or NULL. */
extern BoardTable *board_find(CopyBoard *board, const char *copy_id);

/* Take a chunk to copy; false when none is left.  The same table as before if possible. */
extern bool board_take(CopyBoard *board, int *table, int *chunk);

/* A chunk of the table is in the lake; or its copy has failed. */
extern void board_chunk_done(BoardTable *table);
extern void board_fail(CopyBoard *board, BoardTable *table, const char *error);

/* The table is not to be copied any more; copies of chunks that were taken may still arrive. */
extern void board_leave(BoardTable *table);

extern void board_count_rows(BoardTable *table, int64 rows);

/* What a chunk has brought into the lake. */
extern void board_count_written(BoardTable *table, const TableCounts *counts);

#endif							/* STREAMHOUSE_COPY_BOARD_H */
