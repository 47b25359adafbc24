/*
 * maintenance.c
 *		The maintenance worker of a database: compaction, expiration, clean-up.
 *
 * Each round looks at every lake table that the database knows of, by a
 * foreign table or by a sync.  A table's error costs that table one round.
 * Lake work holds no snapshot of the database, so vacuum is not held back.
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "fdw/fdw.h"
#include "lake/clock.h"
#include "lake/maintain.h"
#include "settings.h"
#include "sync/sync_catalog.h"
#include "worker/health.h"
#include "worker/reconcile.h"
#include "worker/refresh.h"
#include "worker/shared_state.h"
#include "worker/worker.h"

#define MAINTENANCE_USER "streamhouse_maintenance"
#define LABEL_LENGTH 256

/* A lake table that the database knows of: by a foreign table, or by a sync. */
typedef struct MaintenanceItem
{
	char	   *label;			/* for messages */
	Oid			foreign_table;	/* or 0, and the next three */
	char	   *server;
	char	   *database;
	char	   *table;
} MaintenanceItem;

/* What is remembered of it from round to round. */
typedef struct TableMemory
{
	char		label[LABEL_LENGTH];	/* hash key */
	int64		settled;		/* newest snapshot for which no compaction was due */
	TimestampTz cleaned;		/* when orphan files were removed last, or would have been */
	uint32		error_hash;		/* of the last error logged; 0: none */
} TableMemory;

static DatabaseState *shared;
static HTAB *memories;

static void
set_work(MaintenancePhase phase, const char *table)
{
	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	shared->phase = phase;
	strlcpy(shared->table, table, sizeof(shared->table));
	shared->started = GetCurrentTimestamp();
	shared->buckets_done = 0;
	shared->buckets_total = 0;
	shared->rows_written = 0;
	shared->bytes_written = 0;
	LWLockRelease(shared_state->lock);
	pgstat_report_activity(phase == MAINTENANCE_IDLE ? STATE_IDLE : STATE_RUNNING,
						   phase == MAINTENANCE_IDLE ? NULL : psprintf("maintenance of lake table %s", table));
}

static void
report_progress(void *arg, int64 buckets_done, int64 buckets_total, int64 rows_written, int64 bytes_written)
{
	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	shared->buckets_done = buckets_done;
	shared->buckets_total = buckets_total;
	shared->rows_written = rows_written;
	shared->bytes_written = bytes_written;
	LWLockRelease(shared_state->lock);
}

static void
count_work(int64 compactions, int64 snapshots)
{
	LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
	shared->compactions += compactions;
	shared->expired_snapshots += snapshots;
	LWLockRelease(shared_state->lock);
}

static bool
is_being_copied(const LakeTable *table)
{
	bool		result;

	PushActiveSnapshot(GetTransactionSnapshot());
	result = sync_catalog_is_copied_to(table);
	PopActiveSnapshot();
	InvalidateCatalogSnapshot();
	return result;
}

static void
compact_if_due(LakeTable *table, TableMemory *memory)
{
	MaintenanceProgress progress = {.report = report_progress};
	int64		newest = snapshot_latest_id(table->location);
	CompactResult result;

	if (newest == memory->settled || is_being_copied(table))
		return;
	if (lake_compaction_due(table))
	{
		set_work(MAINTENANCE_COMPACTING, table->name);
		result = lake_compact(table, false, newest, MAINTENANCE_USER, &progress);
		if (result.snapshot_id != 0)
			count_work(1, 0);
	}
	else
		memory->settled = newest;
}

static void
expire_snapshots(LakeTable *table)
{
	set_work(MAINTENANCE_EXPIRING, table->name);
	count_work(0, lake_expire_snapshots(table, -1, -1, -1).snapshots);
}

static void
log_orphan(const char *path, void *arg)
{
	ereport(LOG,
			(errmsg("removing orphan file \"%s\"", path)));
}

static void
remove_orphans_if_due(LakeTable *table, TableMemory *memory)
{
	TimestampTz now = GetCurrentTimestamp();

	if (setting_orphan_file_interval == 0 ||
		now < memory->cleaned + setting_orphan_file_interval * USECS_PER_SEC)
		return;
	memory->cleaned = now;
	set_work(MAINTENANCE_CLEANING, table->name);
	(void) lake_remove_orphan_files(table, clock_millis() - ORPHAN_AGE_MS, false, log_orphan, NULL);
}

static void
maintain_table(const TableAddress *address, TableMemory *memory)
{
	LakeTable  *table = lake_table_open(address->warehouse, address->database, address->table, true);

	if (table == NULL || table->options->write_only || table->options->is_branch || address->system != NULL)
		return;
	options_check_writable(table->schema, table->options, table->name);
	compact_if_due(table, memory);
	options_check_expirable(table->schema, table->options, table->name);
	expire_snapshots(table);
	remove_orphans_if_due(table, memory);
}

/*
 * Log an error once, until it changes or the table works again.  True when it
 * is none: a table that is beyond us is simply left alone.
 */
static bool
note_error(const MaintenanceItem *item, TableMemory *memory, const ErrorData *error)
{
	uint32		hash = hash_bytes((const unsigned char *) error->message, strlen(error->message)) | 1;

	if (error->sqlerrcode == ERRCODE_FEATURE_NOT_SUPPORTED)
		return true;
	if (hash == memory->error_hash)
		return false;
	memory->error_hash = hash;
	shared_error_set(shared->error, error->message, error->detail);
	ereport(LOG,
			(errmsg("maintenance of lake table \"%s\" failed: %s", item->label, error->message),
			 error->detail ? errdetail_internal("%s", error->detail) : 0));
	return false;
}

static TableMemory *
remember_table(const char *label)
{
	bool		found;
	TableMemory *memory = hash_search(memories, label, HASH_ENTER, &found);

	if (!found)
	{
		memory->settled = -1;
		/* not all tables at the same time */
		memory->cleaned = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
													  -(int64) (hash_bytes((const unsigned char *) label, strlen(label)) %
																Max(setting_orphan_file_interval, 1)) * 1000);
		memory->error_hash = 0;
	}
	return memory;
}

/* Where the item's lake table is, without holding a snapshot afterwards. */
static TableAddress *
item_address(const MaintenanceItem *item)
{
	TableAddress *address;

	if (OidIsValid(item->foreign_table))
		address = table_address(item->foreign_table, true);
	else
	{
		address = palloc0(sizeof(TableAddress));
		address->warehouse = server_warehouse(GetForeignServerByName(item->server, false), true);
		address->database = item->database;
		address->table = item->table;
	}
	InvalidateCatalogSnapshot();
	return address;
}

/* One table in a transaction of its own; false when it failed. */
static bool
try_item(const MaintenanceItem *item)
{
	MemoryContext context = CurrentMemoryContext;
	TableMemory *memory = remember_table(item->label);
	volatile bool good = false;

	StartTransactionCommand();
	PG_TRY();
	{
		maintain_table(item_address(item), memory);
		CommitTransactionCommand();
		memory->error_hash = 0;
		good = true;
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		AbortCurrentTransaction();
		good = note_error(item, memory, error);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	return good;
}

static char *
column_text(uint64 row, int column)
{
	return SPI_getvalue(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column);
}

static MaintenanceItem *
item_of_row(uint64 row)
{
	MaintenanceItem *item = palloc0(sizeof(MaintenanceItem));
	bool		isnull;

	item->foreign_table = DatumGetObjectId(SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, 1, &isnull));
	item->label = column_text(row, 2);
	item->server = column_text(row, 3);
	item->database = column_text(row, 4);
	item->table = column_text(row, 5);
	return item;
}

/* The lake tables this database knows of; one that it knows in two ways comes twice. */
static List *
list_items(void)
{
	MemoryContext context = CurrentMemoryContext;
	List	   *items = NIL;
	uint64		i;

	worker_begin_transaction();
	SPI_connect();
	if (SPI_execute("SELECT t.ftrelid, n.nspname || '.' || c.relname, NULL, NULL, NULL"
					" FROM pg_catalog.pg_foreign_table t"
					" JOIN pg_catalog.pg_class c ON c.oid = t.ftrelid"
					" JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
					" JOIN pg_catalog.pg_foreign_server s ON s.oid = t.ftserver"
					" JOIN pg_catalog.pg_foreign_data_wrapper w ON w.oid = s.srvfdw"
					" WHERE w.fdwname = 'streamhouse'"
					" UNION ALL"
					" SELECT 0, s.database || '.' || t.lake_table, s.server, s.database, t.lake_table"
					" FROM streamhouse.sync s JOIN streamhouse.sync_table t ON t.sync = s.name WHERE t.copied",
					true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not list lake tables");
	for (i = 0; i < SPI_processed; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		items = lappend(items, item_of_row(i));
		MemoryContextSwitchTo(old);
	}
	SPI_finish();
	worker_end_transaction(context);
	return items;
}

static void
maintain_tables(void)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse maintenance round",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	bool		good = true;
	ListCell   *cell;

	foreach(cell, list_items())
	{
		if (!setting_maintenance || !shared_worker_wanted(&shared->worker))
			break;
		good &= try_item(lfirst(cell));
		health_check();
		CHECK_FOR_INTERRUPTS();
		worker_handle_reload();
	}
	set_work(MAINTENANCE_IDLE, "");
	if (good)
		shared_error_set(shared->error, "", NULL);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

static void
run_rounds(void)
{
	while (shared_worker_wanted(&shared->worker))
	{
		if (!reconcile_syncs())
		{
			shared_database_stop(MyDatabaseId);
			break;
		}
		refresh_syncs();
		health_check();
		if (setting_maintenance)
			maintain_tables();
		LWLockAcquire(shared_state->lock, LW_EXCLUSIVE);
		shared->worker.failures = 0;
		LWLockRelease(shared_state->lock);

		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 setting_maintenance_interval * 1000L, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		worker_handle_reload();
	}
}

void
streamhouse_maintenance_main(Datum argument)
{
	HASHCTL		control = {0};
	MemoryContext context;

	shared = &shared_state->databases[DatumGetInt32(argument)];
	worker_handle_signals();
	if (!shared_worker_attach(&shared->worker))
		proc_exit(0);

	BackgroundWorkerInitializeConnectionByOid(shared->worker.database, InvalidOid, 0);
	context = AllocSetContextCreate(TopMemoryContext, "streamhouse maintenance", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = ResourceOwnerCreate(NULL, "streamhouse maintenance");
	SetConfigOption("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION);
	SetConfigOption("lock_timeout", "0", PGC_SUSET, PGC_S_SESSION);
	pgstat_report_appname(MAINTENANCE_TYPE);

	control.keysize = LABEL_LENGTH;
	control.entrysize = sizeof(TableMemory);
	control.hcxt = context;
	memories = hash_create("streamhouse maintained tables", 64, &control, HASH_ELEM | HASH_STRINGS | HASH_CONTEXT);

	run_rounds();
	proc_exit(0);
}
