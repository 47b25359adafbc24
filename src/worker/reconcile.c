/*
 * reconcile.c
 *		Make the workers and slots of a database agree with its catalog.
 *
 * Sessions tell the workers of changes when they commit; this catches what
 * they could not: a server start, DROP EXTENSION, a crash between a commit
 * and what should have followed.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "sync/slot.h"
#include "sync/sync_catalog.h"
#include "worker/reconcile.h"
#include "worker/shared_state.h"
#include "worker/worker.h"

/* The catalog's syncs; *exists tells whether there is a catalog. */
static List *
read_catalog(bool *exists)
{
	MemoryContext context = CurrentMemoryContext;
	List	   *syncs = NIL;

	worker_begin_transaction();
	MemoryContextSwitchTo(context);
	*exists = worker_extension_exists();
	if (*exists)
		syncs = sync_catalog_list();
	worker_end_transaction(context);
	return syncs;
}

static const SyncRecord *
find_sync(List *syncs, const char *slot)
{
	ListCell   *cell;

	foreach(cell, syncs)
	{
		const SyncRecord *sync = lfirst(cell);

		if (strcmp(sync->slot, slot) == 0)
			return sync;
	}
	return NULL;
}

static void
start_missing(List *syncs)
{
	ListCell   *cell;

	foreach(cell, syncs)
	{
		const SyncRecord *sync = lfirst(cell);

		if (sync->enabled)
			(void) shared_sync_start(MyDatabaseId, sync->slot, sync->name, false);
	}
}

bool
reconcile_syncs(void)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse reconcile",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	/* Whatever is found here is younger than its row, so the catalog is read afterwards. */
	List	   *running = shared_sync_list(MyDatabaseId);
	List	   *slots = sync_slot_list();
	bool		exists;
	List	   *syncs = read_catalog(&exists);
	ListCell   *cell;

	foreach(cell, running)
	{
		const SyncRecord *sync = find_sync(syncs, lfirst(cell));

		if (sync == NULL || !sync->enabled)
			shared_sync_stop(MyDatabaseId, lfirst(cell));
	}
	foreach(cell, slots)
	{
		if (find_sync(syncs, lfirst(cell)) == NULL)
		{
			shared_sync_stop(MyDatabaseId, lfirst(cell));
			sync_slot_drop(lfirst(cell));
			ereport(LOG,
					(errmsg("dropped replication slot \"%s\", which belongs to no sync any more",
							(char *) lfirst(cell))));
		}
	}
	start_missing(syncs);

	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return exists;
}
