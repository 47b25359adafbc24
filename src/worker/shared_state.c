/*
 * shared_state.c
 *		What the background workers and the sessions know of each other.
 */
#include "postgres.h"

#include "access/transam.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "worker/shared_state.h"

#define TRANCHE_NAME "streamhouse"

SharedState *shared_state = NULL;

static shmem_request_hook_type previous_request_hook = NULL;
static shmem_startup_hook_type previous_startup_hook = NULL;

static void
request_shared_memory(void)
{
	if (previous_request_hook)
		previous_request_hook();
	RequestAddinShmemSpace(MAXALIGN(sizeof(SharedState)));
	RequestNamedLWLockTranche(TRANCHE_NAME, 1);
}

static void
start_shared_memory(void)
{
	bool		found;
	SharedState *state;
	int			i;

	if (previous_startup_hook)
		previous_startup_hook();

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	state = ShmemInitStruct("streamhouse", sizeof(SharedState), &found);
	if (!found)
	{
		memset(state, 0, sizeof(SharedState));
		state->lock = &GetNamedLWLockTranche(TRANCHE_NAME)->lock;
		for (i = 0; i < MAX_SYNCS; i++)
			ConditionVariableInit(&state->syncs[i].progress);
	}
	LWLockRelease(AddinShmemInitLock);
	shared_state = state;
}

void
shared_state_init(void)
{
	previous_request_hook = shmem_request_hook;
	shmem_request_hook = request_shared_memory;
	previous_startup_hook = shmem_startup_hook;
	shmem_startup_hook = start_shared_memory;
}

void
shared_state_require(void)
{
	if (shared_state == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("streamhouse must be loaded at server start"),
				 errhint("Add \"streamhouse\" to shared_preload_libraries and restart the server.")));
}

void
shared_launcher_wake(void)
{
	Latch	   *latch;

	LWLockAcquire(shared_state->lock, LW_SHARED);
	latch = shared_state->launcher_latch;
	LWLockRelease(shared_state->lock);
	if (latch)
		SetLatch(latch);
}

/* Make an entry wanted, at once even after failures. */
static void
worker_want(WorkerState *worker, Oid database)
{
	worker->in_use = true;
	worker->database = database;
	worker->wanted = true;
	worker->failures = 0;
	worker->next_start = 0;
}

SyncState *
shared_sync_find(Oid database, const char *slot)
{
	int			i;

	for (i = 0; i < MAX_SYNCS; i++)
	{
		SyncState  *sync = &shared_state->syncs[i];

		if (sync->worker.in_use && sync->worker.database == database &&
			strcmp(NameStr(sync->slot), slot) == 0)
			return sync;
	}
	return NULL;
}

/* Reset an unused entry for a sync; the condition variable lives on. */
static void
sync_entry_init(SyncState *sync, const char *slot, const char *name)
{
	memset(&sync->worker, 0, sizeof(WorkerState));
	memset(&sync->copy, 0, sizeof(CopyRound));
	sync->copy.board = DSM_HANDLE_INVALID;
	sync->copying = false;
	sync->deferred = false;
	namestrcpy(&sync->slot, slot);
	namestrcpy(&sync->name, name);
	sync->phase = SYNC_STARTING;
	sync->visible = InvalidXLogRecPtr;
	sync->flush_request = InvalidXLogRecPtr;
	sync->commit_time = 0;
	sync->caught_up = 0;
	sync->careful = false;
	sync->whole = InvalidTransactionId;
	sync->rows = 0;
	sync->source_end = InvalidXLogRecPtr;
	sync->source_restart = InvalidXLogRecPtr;
	sync->source_looked = 0;
	sync->source_wanted = false;
	sync->error[0] = '\0';
}

bool
shared_sync_start(Oid database, const char *slot, const char *name, bool afresh)
{
	SyncState  *sync;
	bool		create;
	int			i;

	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	sync = shared_sync_find(database, slot);
	create = sync == NULL;
	for (i = 0; i < MAX_SYNCS && sync == NULL; i++)
	{
		if (!shared_state->syncs[i].worker.in_use && !shared_state->syncs[i].copy.leader.in_use)
		{
			sync = &shared_state->syncs[i];
			sync_entry_init(sync, slot, name);
		}
	}
	if (sync && (create || afresh))
	{
		worker_want(&sync->worker, database);
		sync->copy.next_start = 0;
	}
	LWLockRelease(shared_state->lock);

	shared_launcher_wake();
	return sync != NULL;
}

void
shared_sync_restart(Oid database, const char *slot)
{
	SyncState  *sync;

	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	sync = shared_sync_find(database, slot);
	if (sync && sync->worker.wanted)
	{
		worker_want(&sync->worker, database);
		sync->copy.next_start = 0;
		sync->worker.restart = true;
		sync->visible = InvalidXLogRecPtr;	/* who waits, waits for the new definition */
		if (sync->worker.latch)
			SetLatch(sync->worker.latch);
	}
	LWLockRelease(shared_state->lock);
	shared_launcher_wake();
}

List *
shared_sync_list(Oid database)
{
	List	   *slots = NIL;
	int			i;

	LWLockAcquire(shared_state->lock, LW_SHARED);
	for (i = 0; i < MAX_SYNCS; i++)
	{
		SyncState  *sync = &shared_state->syncs[i];

		if (sync->worker.in_use && sync->worker.wanted && sync->worker.database == database)
			slots = lappend(slots, pstrdup(NameStr(sync->slot)));
	}
	LWLockRelease(shared_state->lock);
	return slots;
}

static DatabaseState *
database_find(Oid database)
{
	int			i;

	for (i = 0; i < MAX_DATABASES; i++)
	{
		DatabaseState *entry = &shared_state->databases[i];

		if (entry->worker.in_use && entry->worker.database == database)
			return entry;
	}
	return NULL;
}

bool
shared_database_start(Oid database)
{
	DatabaseState *entry;
	int			i;

	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	entry = database_find(database);
	for (i = 0; i < MAX_DATABASES && entry == NULL; i++)
	{
		if (!shared_state->databases[i].worker.in_use)
		{
			entry = &shared_state->databases[i];
			memset(entry, 0, sizeof(DatabaseState));
		}
	}
	if (entry)
		worker_want(&entry->worker, database);
	LWLockRelease(shared_state->lock);

	shared_launcher_wake();
	return entry != NULL;
}

/* Ask the entry's worker to stop; the lock must be held. */
static void
worker_unwant(WorkerState *worker)
{
	if (worker->wanted)
		worker->unwanted_since = GetCurrentTimestamp();
	worker->wanted = false;
	if (worker->latch)
		SetLatch(worker->latch);
}

void
shared_sync_stop(Oid database, const char *slot)
{
	SyncState  *sync;

	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	sync = shared_sync_find(database, slot);
	if (sync)
	{
		worker_unwant(&sync->worker);
		worker_unwant(&sync->copy.leader);
		ConditionVariableBroadcast(&sync->progress);
	}
	LWLockRelease(shared_state->lock);
	shared_launcher_wake();
}

void
shared_database_stop(Oid database)
{
	DatabaseState *entry;

	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	entry = database_find(database);
	if (entry)
		worker_unwant(&entry->worker);
	LWLockRelease(shared_state->lock);
	shared_launcher_wake();
}

bool
shared_copy_start(SyncState *sync)
{
	CopyRound  *copy = &sync->copy;
	bool		free;

	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	free = !copy->leader.wanted && copy->leader.pid == 0;
	if (free)
	{
		worker_want(&copy->leader, sync->worker.database);
		copy->leader.restart = true;	/* its end before this was not a failure */
		copy->number++;
		copy->board = DSM_HANDLE_INVALID;
		copy->go = copy->needs_base = false;
	}
	LWLockRelease(shared_state->lock);
	shared_launcher_wake();
	return free;
}

bool
shared_copy_wanted(SyncState *sync, int number)
{
	bool		wanted;

	LWLockAcquire(shared_state->lock, LW_SHARED);
	wanted = sync->copy.leader.wanted && sync->copy.number == number && sync->worker.wanted;
	LWLockRelease(shared_state->lock);
	return wanted;
}

/* The lock must be held. */
static void
stream_restart(SyncState *sync, bool anew)
{
	sync->worker.restart = true;
	sync->worker.next_start = 0;
	if (anew)
		sync->visible = InvalidXLogRecPtr;
	if (sync->worker.latch)
		SetLatch(sync->worker.latch);
}

void
shared_copy_end(SyncState *sync)
{
	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	worker_unwant(&sync->copy.leader);
	sync->copy.board = DSM_HANDLE_INVALID;
	stream_restart(sync, false);
	LWLockRelease(shared_state->lock);
}

void
shared_stream_restart(SyncState *sync, bool anew)
{
	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	stream_restart(sync, anew);
	LWLockRelease(shared_state->lock);
}

static void
worker_detach(int code, Datum arg)
{
	WorkerState *worker = (WorkerState *) DatumGetPointer(arg);

	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	worker->pid = 0;
	worker->latch = NULL;
	LWLockRelease(shared_state->lock);
	shared_launcher_wake();
}

bool
shared_worker_attach(WorkerState *worker)
{
	bool		wanted;

	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	wanted = worker->in_use && worker->wanted && worker->pid == 0;
	if (wanted)
	{
		worker->pid = MyProcPid;
		worker->latch = MyLatch;
		worker->restart = false;
	}
	LWLockRelease(shared_state->lock);
	if (wanted)
		before_shmem_exit(worker_detach, PointerGetDatum(worker));
	return wanted;
}

bool
shared_worker_wanted(WorkerState *worker)
{
	bool		wanted;

	LWLockAcquire(shared_state->lock, LW_SHARED);
	wanted = worker->wanted && !worker->restart;
	LWLockRelease(shared_state->lock);
	return wanted;
}

void
shared_error_set(char *target, const char *message, const char *detail)
{
	char	   *text = detail ? psprintf("%s (%s)", message, detail) : pstrdup(message);
	int			length = pg_mbcliplen(text, strlen(text), SYNC_ERROR_LENGTH - 1);

	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	memcpy(target, text, length);
	target[length] = '\0';
	LWLockRelease(shared_state->lock);
	pfree(text);
}
