/*
 * wal_limit.c
 *		The limit of the WAL that the slot of a sync may retain.
 *
 * What a slot of this server retains is in its catalogs.  Of one elsewhere the
 * sync's worker knows it as long as it streams; otherwise the source is asked, now and then.
 */
#include "postgres.h"

#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "sync/remote_slot.h"
#include "sync/slot.h"
#include "sync/sync_catalog.h"
#include "worker/wal_limit.h"
#include "worker/worker.h"

#define ASK_INTERVAL_MS 60000

/* A sync whose slot retains too much, or may. */
typedef struct Suspect
{
	char	   *sync;
	int64		retained;		/* as far as it is known */
} Suspect;

static char *
pretty(int64 bytes)
{
	return TextDatumGetCString(DirectFunctionCall1(pg_size_pretty, Int64GetDatum(bytes)));
}

static int64
ask_source(const SyncRecord *sync)
{
	RemoteConnection *remote = remote_connect(sync, false);
	RemoteSlot	slot = remote_slot_look(remote, sync->slot);

	remote_close(remote);
	return slot.presence == SLOT_PRESENT ? (int64) (slot.source_end - slot.restart_lsn) : 0;
}

/*
 * A worker that runs lets go of the slot and drops it, which is how it goes on when it may
 * copy all tables again (sync_worker.c); the row's lock keeps one from starting meanwhile.
 */
static void
give_up(const SyncRecord *sync, int64 retained)
{
	char	   *reason = psprintf("its replication slot retained %s of WAL, and wal_limit is %s", pretty(retained),
								  pretty(sync->wal_limit));

	sync_catalog_set_slot_dropped(sync->name, reason);
	if (sync->enabled)
		worker_restart_sync_at_commit(sync->slot);
	else
		sync_drop_slot(sync);
	ereport(WARNING,
			(errmsg("gave up replication slot \"%s\" of sync \"%s\"", sync->slot, sync->name),
			 errdetail_internal("%s", reason)));
}

static void
check_suspect(void *arg)
{
	const Suspect *suspect = arg;
	SyncRecord *sync = sync_catalog_find(suspect->sync);
	int64		retained = suspect->retained;

	if (sync == NULL)
		return;
	if (retained <= sync->wal_limit)
		retained = ask_source(sync);
	if (retained > sync->wal_limit)
		give_up(sync, retained);
}

/* ask: also those whose source is to be asked. */
static List *
find_suspects(bool ask)
{
	MemoryContext context = CurrentMemoryContext;
	List	   *suspects = NIL;
	Oid			types[1] = {BOOLOID};
	Datum		values[1] = {BoolGetDatum(ask)};
	uint64		i;

	worker_begin_transaction();
	SPI_connect();
	if (SPI_execute_with_args("SELECT s.name, coalesce(t.retained_bytes, 0) FROM streamhouse.sync s JOIN streamhouse.sync_status t USING (name)"
							  " WHERE s.wal_limit > 0 AND s.slot_made AND s.slot_dropped IS NULL AND (t.retained_bytes > s.wal_limit"
							  " OR ($1 AND s.connection IS NOT NULL AND t.state IN ('paused', 'failing')))",
							  1, types, values, NULL, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read the limits of syncs");
	for (i = 0; i < SPI_processed; i++)
	{
		HeapTuple	row = SPI_tuptable->vals[i];
		TupleDesc	desc = SPI_tuptable->tupdesc;
		Suspect    *suspect = MemoryContextAlloc(context, sizeof(Suspect));
		MemoryContext old = MemoryContextSwitchTo(context);
		bool		isnull;

		suspect->sync = pstrdup(SPI_getvalue(row, desc, 1));
		suspect->retained = DatumGetInt64(SPI_getbinval(row, desc, 2, &isnull));
		suspects = lappend(suspects, suspect);
		MemoryContextSwitchTo(old);
	}
	SPI_finish();
	worker_end_transaction(context);
	return suspects;
}

void
wal_limits_enforce(void)
{
	static TimestampTz asked_at = 0;
	TimestampTz now = GetCurrentTimestamp();
	bool		ask = TimestampDifferenceExceeds(asked_at, now, ASK_INTERVAL_MS);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse WAL limits", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	ListCell   *cell;

	if (ask)
		asked_at = now;
	foreach(cell, find_suspects(ask))
	{
		Suspect    *suspect = lfirst(cell);
		ErrorData  *error = worker_attempt(check_suspect, suspect);

		if (error)
			ereport(LOG,
					(errmsg("could not enforce \"wal_limit\" of sync \"%s\": %s", suspect->sync, error->message)));
		CHECK_FOR_INTERRUPTS();
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}
