/*
 * refresh.c
 *		Tables that are added to a publication join its syncs by themselves.
 *
 * The maintenance worker looks in each of its rounds.  It has the rights of
 * the role that created the sync.  A table that cannot join is noted as
 * refused, with the reason, and tried again from time to time; the sync goes on.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "sync/mirror.h"
#include "sync/preflight.h"
#include "sync/sync_catalog.h"
#include "worker/refresh.h"
#include "worker/worker.h"

#define RETRY_MS (60 * 1000)

/* The record of the same table with the same refusal, or NULL. */
static SyncTableRecord *
find_same(List *records, const SyncTableRecord *record)
{
	ListCell   *cell;

	foreach(cell, records)
	{
		SyncTableRecord *other = lfirst(cell);

		if (other->source == record->source && other->refused && record->refused && strcmp(other->refused, record->refused) == 0)
			return other;
	}
	return NULL;
}

static void
log_joined(const SyncRecord *sync, const SyncTableRecord *record)
{
	if (record->refused)
		ereport(LOG,
				(errmsg("table \"%s\" cannot join sync \"%s\"", record->source_name, sync->name),
				 errdetail_internal("%s", record->refused)));
	else
		ereport(LOG,
				(errmsg("table \"%s\" joins sync \"%s\"", record->source_name, sync->name)));
}

/* What is new goes into the catalog; the sync's worker copies the tables when it starts again. */
static void
take_up(const SyncRecord *sync, List *left, List *joined)
{
	bool		copies = false;
	ListCell   *cell;

	foreach(cell, left)
	{
		if (find_same(joined, lfirst(cell)) == NULL)
			sync_catalog_remove_table(sync->name, lfirst(cell));
	}
	foreach(cell, joined)
	{
		const SyncTableRecord *record = lfirst(cell);

		if (find_same(left, record) != NULL)
			continue;
		sync_catalog_add_table(sync->name, record);
		log_joined(sync, record);
		copies |= record->refused == NULL;
	}
	mirror_drop_left(left, joined);
	if (copies)
		worker_restart_sync_at_commit(sync->slot);
}

/* With the rights of the sync's owner; false when there is nothing new. */
static bool
find_news(const char *name, bool again, SyncRecord **sync, List **left, List **joined)
{
	Oid			user;
	int			security;

	*sync = sync_catalog_find(name);
	if (*sync == NULL)
		return false;
	GetUserIdAndSecContext(&user, &security);
	SetUserIdAndSecContext((*sync)->owner, security | SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION);
	*joined = preflight_joining(*sync, true, again, left);
	SetUserIdAndSecContext(user, security);
	return *left != NIL || *joined != NIL;
}

typedef struct Refresh
{
	const char *sync;
	bool		again;
} Refresh;

static void
refresh_sync(void *arg)
{
	const Refresh *refresh = arg;
	SyncRecord *sync;
	List	   *left;
	List	   *joined;

	if (!find_news(refresh->sync, refresh->again, &sync, &left, &joined))
		return;

	/* somebody may be taking them up, too */
	sync_catalog_lock(refresh->sync);
	if (find_news(refresh->sync, refresh->again, &sync, &left, &joined))
		take_up(sync, left, joined);
}

/* One sync's trouble is its own, and tried again in the next round. */
static void
try_refresh(const char *name, bool again)
{
	Refresh		refresh = {.sync = name, .again = again};
	ErrorData  *error = worker_attempt(refresh_sync, &refresh);

	if (error)
		ereport(LOG,
				(errmsg("could not look for new tables of sync \"%s\": %s", name, error->message)));
}

static List *
list_syncs(void)
{
	MemoryContext context = CurrentMemoryContext;
	List	   *syncs;

	worker_begin_transaction();
	MemoryContextSwitchTo(context);
	syncs = sync_catalog_list();
	worker_end_transaction(context);
	return syncs;
}

void
refresh_syncs(void)
{
	static TimestampTz retried_at = 0;
	TimestampTz now = GetCurrentTimestamp();
	bool		again = TimestampDifferenceExceeds(retried_at, now, RETRY_MS);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse refresh", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	ListCell   *cell;

	if (again)
		retried_at = now;
	foreach(cell, list_syncs())
	{
		const SyncRecord *sync = lfirst(cell);

		/* another server is not asked in every round */
		if (sync->enabled && sync->auto_refresh && (again || sync->connection == NULL))
			try_refresh(sync->name, again);
		CHECK_FOR_INTERRUPTS();
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}
