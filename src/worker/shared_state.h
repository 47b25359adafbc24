/*
 * shared_state.h
 *		What the background workers and the sessions know of each other.
 *
 * A fixed array of syncs and one of databases lie in shared memory, guarded
 * by one lightweight lock.  Sessions create entries (at commit) and ask for
 * stops; only the launcher removes entries, when no worker is left for them.
 * Nothing here is durable: what is wanted stands in the catalog tables, and
 * how far a sync has come stands in the lake.
 */
#ifndef STREAMHOUSE_SHARED_STATE_H
#define STREAMHOUSE_SHARED_STATE_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "datatype/timestamp.h"
#include "nodes/pg_list.h"
#include "storage/dsm.h"
#include "storage/condition_variable.h"
#include "storage/latch.h"
#include "storage/lwlock.h"

#define MAX_SYNCS 64			/* in the whole server */
#define MAX_DATABASES 64		/* with the extension */
#define SYNC_ERROR_LENGTH 1024

typedef enum SyncPhase
{
	SYNC_STARTING,
	SYNC_COPYING,
	SYNC_STREAMING,
	SYNC_FAILING
} SyncPhase;

/* The part of an entry that the launcher works with, for either kind of worker. */
typedef struct WorkerState
{
	bool		in_use;
	Oid			database;
	bool		wanted;			/* keep a worker running; false asks it to stop */
	TimestampTz unwanted_since; /* when it was asked to */
	bool		restart;		/* end, and be started again at once */
	pid_t		pid;			/* 0: none */
	Latch	   *latch;			/* of the worker; may be stale, which is harmless */
	int			failures;		/* in a row; the worker resets it */
	TimestampTz next_start;
} WorkerState;

/*
 * A round of copying tables of a sync: a leader that has the snapshot, and
 * helpers.  Rounds have numbers, so that helpers of one that was given up
 * know it.
 */
typedef struct CopyRound
{
	WorkerState leader;
	int			number;
	dsm_handle	board;			/* see copy_board.h; DSM_HANDLE_INVALID before there is a snapshot */
	bool		needs_base;		/* the stream must be started again to begin tables at the snapshot's position */
	bool		go;				/* and it has */
	int			failures;		/* rounds in a row that brought nothing */
	TimestampTz next_start;		/* not before */
	char		error[SYNC_ERROR_LENGTH];	/* of the last failure; empty when it has recovered */
} CopyRound;

typedef struct SyncState
{
	WorkerState worker;
	CopyRound	copy;
	bool		copying;		/* some tables are not copied */
	bool		deferred;		/* the stream leaves out some table until its copy is made */
	NameData	slot;			/* replication slot and commit user: the key, with the database */
	NameData	name;
	SyncPhase	phase;
	XLogRecPtr	visible;		/* all that was committed up to here is in the lake */
	XLogRecPtr	flush_request;	/* a session waits for this position: do not wait for the interval */
	TimestampTz commit_time;	/* of the newest source transaction in the lake */
	TimestampTz caught_up;		/* when all of the source's WAL was in the lake last; 0: not since the server's start */
	bool		source_lost;	/* the error is one of the connection to the source: no transaction is at fault */
	bool		careful;		/* commit each transaction by itself after the next start */
	bool		awaits_standbys;	/* it gets no further before they do, see synchronized_standby_slots */
	TransactionId whole;		/* to be decoded when it has committed, not while it runs; may have ended */
	int64		rows;			/* written to the lake since the worker started */

	/* of a source that is another server */
	XLogRecPtr	source_end;		/* of its WAL */
	XLogRecPtr	source_restart;	/* where the WAL begins that is kept for the slot */
	TimestampTz source_looked;	/* when that was so */
	bool		source_wanted;	/* a session waits to know */

	char		error[SYNC_ERROR_LENGTH];	/* of the last failure; empty when it has recovered */
	ConditionVariable progress; /* broadcast when visible or phase change */
} SyncState;

typedef enum MaintenancePhase
{
	MAINTENANCE_IDLE,
	MAINTENANCE_COMPACTING,
	MAINTENANCE_EXPIRING,
	MAINTENANCE_CLEANING
} MaintenancePhase;

typedef struct DatabaseState
{
	WorkerState worker;
	MaintenancePhase phase;
	char		table[2 * NAMEDATALEN]; /* lake table at work on */
	TimestampTz started;		/* the work on that table */
	int64		buckets_done;
	int64		buckets_total;
	int64		rows_written;
	int64		bytes_written;
	int64		compactions;	/* since the worker started */
	int64		expired_snapshots;
	char		error[SYNC_ERROR_LENGTH];	/* of the last table that failed */
} DatabaseState;

typedef struct SharedState
{
	LWLock	   *lock;
	pid_t		launcher_pid;
	Latch	   *launcher_latch;
	SyncState	syncs[MAX_SYNCS];
	DatabaseState databases[MAX_DATABASES];
} SharedState;

/* NULL when the library is not in shared_preload_libraries. */
extern SharedState *shared_state;

/* Register the hooks that reserve and set up the shared memory; while preloading. */
extern void shared_state_init(void);

/* ERROR, with what to do, when the library is not preloaded. */
extern void shared_state_require(void);

/*
 * Ask for a worker, creating the entry when there is none.  False when the
 * array is full.  Wakes the launcher.  afresh: at once, whatever failures
 * there were; otherwise an entry that is there is left as it is.
 */
extern bool shared_sync_start(Oid database, const char *slot, const char *name, bool afresh);
extern bool shared_database_start(Oid database);

/* Let a sync's worker start again, at once: its definition has changed. */
extern void shared_sync_restart(Oid database, const char *slot);

/* Ask for a stop; the launcher removes the entry. */
extern void shared_sync_stop(Oid database, const char *slot);
extern void shared_database_stop(Oid database);

/* The entry of a sync, or NULL; the lock must be held. */
extern SyncState *shared_sync_find(Oid database, const char *slot);

/* Slots (char *) of the syncs of a database that are wanted. */
extern List *shared_sync_list(Oid database);

/*
 * Called by a worker at its start: takes the entry over until the process
 * ends.  False when the worker is no longer wanted.
 */
extern bool shared_worker_attach(WorkerState *worker);
extern bool shared_worker_wanted(WorkerState *worker);

/*
 * Begin a round of copying: false if one is under way.  Its number becomes
 * that of the round.
 */
extern bool shared_copy_start(SyncState *sync);

/* Is this round still wanted? */
extern bool shared_copy_wanted(SyncState *sync, int number);

/* The round is at its end: the stream is started again. */
extern void shared_copy_end(SyncState *sync);

/*
 * Let the stream be started again.  anew: positions that it has reached count no
 * more, since it takes up changes that it left out.
 */
extern void shared_stream_restart(SyncState *sync, bool anew);

/* Remember the text of the current failure, cut to fit. */
extern void shared_error_set(char *target, const char *message, const char *detail);

extern void shared_launcher_wake(void);

#endif							/* STREAMHOUSE_SHARED_STATE_H */
