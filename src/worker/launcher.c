/*
 * launcher.c
 *		The process that starts the others, and starts them again when they fail.
 *
 * It is connected to no database, so it cannot see who wants a sync.  At the
 * start it sends a maintenance worker into every database once; one that does
 * not find the extension goes away, one that does asks for the database's
 * syncs.  Afterwards sessions ask for workers when they commit.
 *
 * The launcher never waits for anything but its latch.
 */
#include "postgres.h"

#include <signal.h>

#include "access/genam.h"
#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "worker/shared_state.h"
#include "worker/worker.h"

#define MAX_BACKOFF_SECONDS 60
#define DATABASE_SCAN_MS (60 * 1000)
#define POLL_MS 1000			/* a worker's end also wakes the launcher */
#define STOP_GRACE_MS 3000
#define MAX_PROBES 2			/* databases looked into at once */

/* Workers started by this launcher, beside the entries in shared memory. */
static BackgroundWorkerHandle *sync_handles[MAX_SYNCS];
static BackgroundWorkerHandle *copy_handles[MAX_SYNCS];
static BackgroundWorkerHandle *database_handles[MAX_DATABASES];

/* Databases already looked into, and those still to be. */
static List *known_databases = NIL;
static List *unknown_databases = NIL;

static void
forget_launcher(int code, Datum arg)
{
	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	shared_state->launcher_pid = 0;
	shared_state->launcher_latch = NULL;
	LWLockRelease(shared_state->lock);
}

/* No more workers for databases that are not there. */
static void
give_up_databases(List *existing)
{
	int			i;

	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	for (i = 0; i < MAX_DATABASES; i++)
	{
		if (!list_member_oid(existing, shared_state->databases[i].worker.database))
			shared_state->databases[i].worker.wanted = false;
	}
	for (i = 0; i < MAX_SYNCS; i++)
	{
		if (!list_member_oid(existing, shared_state->syncs[i].worker.database))
			shared_state->syncs[i].worker.wanted = false;
	}
	LWLockRelease(shared_state->lock);
}

/* All databases that one can connect to; templates are left alone, so that they can be copied. */
static void
find_new_databases(MemoryContext context)
{
	List	   *existing = NIL;
	Relation	relation;
	TableScanDesc scan;
	HeapTuple	tuple;

	worker_begin_transaction();
	relation = table_open(DatabaseRelationId, AccessShareLock);
	scan = table_beginscan_catalog(relation, 0, NULL);
	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Form_pg_database database = (Form_pg_database) GETSTRUCT(tuple);
		MemoryContext old;

		existing = lappend_oid(existing, database->oid);
		if (!database->datallowconn || database->datistemplate ||
			list_member_oid(known_databases, database->oid))
			continue;
		old = MemoryContextSwitchTo(context);
		known_databases = lappend_oid(known_databases, database->oid);
		unknown_databases = lappend_oid(unknown_databases, database->oid);
		MemoryContextSwitchTo(old);
	}
	table_endscan(scan);
	table_close(relation, AccessShareLock);
	give_up_databases(existing);
	worker_end_transaction(context);
}

/* Let maintenance workers look into new databases, a few at a time. */
static void
probe_databases(void)
{
	while (unknown_databases != NIL)
	{
		int			probing = 0;
		int			i;

		LWLockAcquire(shared_state->lock, LW_SHARED);
		for (i = 0; i < MAX_DATABASES; i++)
		{
			WorkerState *worker = &shared_state->databases[i].worker;

			if (worker->in_use && worker->pid == 0 && worker->failures == 0)
				probing++;
		}
		LWLockRelease(shared_state->lock);

		if (probing >= MAX_PROBES || !shared_database_start(linitial_oid(unknown_databases)))
			return;
		unknown_databases = list_delete_first(unknown_databases);
	}
}

static BackgroundWorkerHandle *
start_worker(const char *type, const char *function, const char *name, int index)
{
	BackgroundWorker worker = {0};
	BackgroundWorkerHandle *handle;

	if (name)
		snprintf(worker.bgw_name, BGW_MAXLEN, "%s %s", type, name);
	else
		strlcpy(worker.bgw_name, type, BGW_MAXLEN);
	strlcpy(worker.bgw_type, type, BGW_MAXLEN);
	strlcpy(worker.bgw_library_name, "streamhouse", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, function, BGW_MAXLEN);
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	worker.bgw_main_arg = Int32GetDatum(index);
	worker.bgw_notify_pid = MyProcPid;
	return RegisterDynamicBackgroundWorker(&worker, &handle) ? handle : NULL;
}

/* The worker of an entry has ended: when to start it again, if at all. */
static void
note_worker_end(WorkerState *worker, BackgroundWorkerHandle **handle)
{
	pfree(*handle);
	*handle = NULL;
	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	if (worker->wanted && !worker->restart)
	{
		int			seconds = Min(1 << Min(worker->failures, 16), MAX_BACKOFF_SECONDS);

		worker->failures++;
		worker->next_start = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), seconds * 1000);
	}
	LWLockRelease(shared_state->lock);
}

/*
 * A worker that was asked to stop and is still there does not look at its
 * state: it waits for old transactions, or is in the middle of a long one.
 */
static void
insist_on_stop(const WorkerState *worker)
{
	if (worker->pid != 0 && !worker->wanted &&
		TimestampDifferenceExceeds(worker->unwanted_since, GetCurrentTimestamp(), STOP_GRACE_MS))
		kill(worker->pid, SIGTERM);
}

/* True when a worker is to be started for the entry now. */
static bool
worker_is_due(WorkerState *worker, BackgroundWorkerHandle **handle)
{
	bool		due = false;
	pid_t		pid;

	if (*handle && GetBackgroundWorkerPid(*handle, &pid) == BGWH_STOPPED)
		note_worker_end(worker, handle);
	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	insist_on_stop(worker);
	if (worker->in_use && worker->pid == 0 && *handle == NULL)
	{
		if (!worker->wanted)
			worker->in_use = false;
		else
			due = worker->next_start <= GetCurrentTimestamp();
	}
	LWLockRelease(shared_state->lock);
	return due;
}

/* Without a process for it the copy waits, and says so. */
static void
start_copy(int index)
{
	SyncState  *sync = &shared_state->syncs[index];

	copy_handles[index] = start_worker(COPY_TYPE, "streamhouse_copy_main", NameStr(sync->name), index);
	if (copy_handles[index] == NULL)
		shared_error_set(sync->copy.error, "no background process is free to copy tables", "Raise max_worker_processes.");
}

static void
look_after_workers(void)
{
	int			i;

	for (i = 0; i < MAX_DATABASES; i++)
	{
		if (worker_is_due(&shared_state->databases[i].worker, &database_handles[i]))
			database_handles[i] = start_worker(MAINTENANCE_TYPE, "streamhouse_maintenance_main", NULL, i);
	}
	for (i = 0; i < MAX_SYNCS; i++)
	{
		SyncState  *sync = &shared_state->syncs[i];

		if (worker_is_due(&sync->worker, &sync_handles[i]))
			sync_handles[i] = start_worker(SYNC_TYPE, "streamhouse_sync_main", NameStr(sync->name), i);
		if (worker_is_due(&sync->copy.leader, &copy_handles[i]))
			start_copy(i);
	}
}

void
streamhouse_launcher_main(Datum argument)
{
	TimestampTz next_scan = 0;
	MemoryContext context;

	worker_handle_signals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	context = AllocSetContextCreate(TopMemoryContext, "streamhouse launcher", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(context);

	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	shared_state->launcher_pid = MyProcPid;
	shared_state->launcher_latch = MyLatch;
	LWLockRelease(shared_state->lock);
	before_shmem_exit(forget_launcher, (Datum) 0);

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		worker_handle_reload();
		if (GetCurrentTimestamp() >= next_scan)
		{
			find_new_databases(context);
			next_scan = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), DATABASE_SCAN_MS);
		}
		probe_databases();
		look_after_workers();
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, POLL_MS, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
}
