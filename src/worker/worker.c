/*
 * worker.c
 *		What all background workers do alike, and requests to them at commit.
 */
#include "postgres.h"

#include "access/xact.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "sync/slot.h"
#include "worker/drop_database.h"
#include "worker/shared_state.h"
#include "worker/worker.h"

typedef enum RequestKind
{
	REQUEST_START_SYNC,
	REQUEST_STOP_SYNC,
	REQUEST_RESTART_SYNC,
	REQUEST_START_MAINTENANCE
} RequestKind;

typedef struct WorkerRequest
{
	RequestKind kind;
	char	   *slot;
	char	   *name;
} WorkerRequest;

static List *requests = NIL;	/* WorkerRequest *, in TopTransactionContext */
static bool callback_registered = false;

/* Must not raise: the transaction has been committed. */
static void
carry_out(const WorkerRequest *request)
{
	bool		room = true;

	switch (request->kind)
	{
		case REQUEST_START_SYNC:
			room = shared_sync_start(MyDatabaseId, request->slot, request->name, true);
			break;
		case REQUEST_STOP_SYNC:
			shared_sync_stop(MyDatabaseId, request->slot);
			break;
		case REQUEST_RESTART_SYNC:
			shared_sync_restart(MyDatabaseId, request->slot);
			break;
		case REQUEST_START_MAINTENANCE:
			room = shared_database_start(MyDatabaseId);
			break;
	}
	if (!room)
		ereport(WARNING,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("too many streamhouse workers in this server")));
}

static void
at_transaction_end(XactEvent event, void *arg)
{
	ListCell   *cell;

	switch (event)
	{
		case XACT_EVENT_COMMIT:
			foreach(cell, requests)
				carry_out(lfirst(cell));
			requests = NIL;
			break;
		case XACT_EVENT_PREPARE:
		case XACT_EVENT_ABORT:
			requests = NIL;
			break;
		default:
			break;
	}
}

/*
 * A request of a subtransaction that is rolled back is carried out all the
 * same: the workers read the catalog tables and find nothing to do.
 */
static void
request_at_commit(RequestKind kind, const char *slot, const char *name)
{
	MemoryContext old;
	WorkerRequest *request;

	if (shared_state == NULL)
		return;
	if (!callback_registered)
	{
		RegisterXactCallback(at_transaction_end, NULL);
		callback_registered = true;
	}
	old = MemoryContextSwitchTo(TopTransactionContext);
	request = palloc0(sizeof(WorkerRequest));
	request->kind = kind;
	request->slot = slot ? pstrdup(slot) : NULL;
	request->name = name ? pstrdup(name) : NULL;
	requests = lappend(requests, request);
	MemoryContextSwitchTo(old);
}

void
worker_start_sync_at_commit(const char *slot, const char *name)
{
	request_at_commit(REQUEST_START_SYNC, slot, name);
}

void
worker_stop_sync_at_commit(const char *slot)
{
	request_at_commit(REQUEST_STOP_SYNC, slot, NULL);
}

void
worker_restart_sync_at_commit(const char *slot)
{
	request_at_commit(REQUEST_RESTART_SYNC, slot, NULL);
}

void
worker_start_maintenance_at_commit(void)
{
	request_at_commit(REQUEST_START_MAINTENANCE, NULL, NULL);
}

void
worker_handle_signals(void)
{
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
}

void
worker_handle_reload(void)
{
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
}

static ResourceOwner outer_owner = NULL;

void
worker_begin_transaction(void)
{
	outer_owner = CurrentResourceOwner;
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
}

void
worker_end_transaction(MemoryContext context)
{
	PopActiveSnapshot();
	CommitTransactionCommand();
	pgstat_report_stat(true);
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = outer_owner;
}

void
worker_abort_transaction(MemoryContext context)
{
	AbortCurrentTransaction();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = outer_owner;
}

ErrorData *
worker_attempt(void (*function) (void *arg), void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ErrorData  *error = NULL;

	worker_begin_transaction();
	PG_TRY();
	{
		MemoryContextSwitchTo(context);
		function(arg);
		worker_end_transaction(context);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		worker_abort_transaction(context);
	}
	PG_END_TRY();
	return error;
}

void
worker_fix_settings(void)
{
	SetConfigOption("lock_timeout", "0", PGC_SUSET, PGC_S_SESSION);
	SetConfigOption("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION);

	/* Values that the lake keeps as text are the same whatever the server is set to. */
	SetConfigOption("datestyle", "ISO, YMD", PGC_USERSET, PGC_S_SESSION);
	SetConfigOption("intervalstyle", "postgres", PGC_USERSET, PGC_S_SESSION);
	SetConfigOption("timezone", "UTC", PGC_USERSET, PGC_S_SESSION);
	SetConfigOption("extra_float_digits", "1", PGC_USERSET, PGC_S_SESSION);
	SetConfigOption("bytea_output", "hex", PGC_USERSET, PGC_S_SESSION);
	sync_slot_permit_plugin();
}

static void
delete_context(int code, Datum arg)
{
	MemoryContext *context = (MemoryContext *) DatumGetPointer(arg);

	if (*context)
		MemoryContextDelete(*context);
	*context = NULL;
}

void
worker_delete_at_exit(MemoryContext *context)
{
	before_shmem_exit(delete_context, PointerGetDatum(context));
}

bool
worker_extension_exists(void)
{
	return OidIsValid(get_extension_oid("streamhouse", true));
}

void
worker_init(void)
{
	BackgroundWorker launcher = {0};

	shared_state_init();
	drop_database_init();

	strlcpy(launcher.bgw_name, LAUNCHER_TYPE, BGW_MAXLEN);
	strlcpy(launcher.bgw_type, LAUNCHER_TYPE, BGW_MAXLEN);
	strlcpy(launcher.bgw_library_name, "streamhouse", BGW_MAXLEN);
	strlcpy(launcher.bgw_function_name, "streamhouse_launcher_main", BGW_MAXLEN);
	launcher.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	launcher.bgw_start_time = BgWorkerStart_RecoveryFinished;
	launcher.bgw_restart_time = 5;
	RegisterBackgroundWorker(&launcher);
}
