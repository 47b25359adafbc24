/*
 * drop_database.c
 *		DROP DATABASE with workers in the database.
 *
 * The server refuses to drop a database that somebody is connected to or
 * decodes from, so the database's workers leave first.  The server drops their
 * replication slots itself.
 */
#include "postgres.h"

#include "catalog/pg_database.h"
#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "worker/drop_database.h"
#include "worker/shared_state.h"

#define POLL_MS 50
#define MAX_POLLS 200

static ProcessUtility_hook_type previous_hook = NULL;

/* Workers of a database that have not left. */
static int
count_workers(Oid database)
{
	int			count = 0;
	int			i;

	LWLockAcquire(shared_state->lock, LW_SHARED);
	for (i = 0; i < MAX_DATABASES; i++)
		count += shared_state->databases[i].worker.database == database && shared_state->databases[i].worker.pid != 0;
	for (i = 0; i < MAX_SYNCS; i++)
	{
		const SyncState *sync = &shared_state->syncs[i];

		count += sync->worker.database == database && (sync->worker.pid != 0 || sync->copy.leader.pid != 0);
	}
	LWLockRelease(shared_state->lock);
	return count;
}

static void
send_workers_away(Oid database)
{
	ListCell   *cell;
	int			poll;

	foreach(cell, shared_sync_list(database))
		shared_sync_stop(database, lfirst(cell));
	shared_database_stop(database);
	for (poll = 0; poll < MAX_POLLS && count_workers(database) > 0; poll++)
	{
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, POLL_MS, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
}

static void
process_utility(PlannedStmt *statement, const char *query, bool read_only_tree, ProcessUtilityContext context,
				ParamListInfo params, QueryEnvironment *environment, DestReceiver *receiver, QueryCompletion *completion)
{
	ProcessUtility_hook_type next = previous_hook ? previous_hook : standard_ProcessUtility;
	Oid			database = InvalidOid;

	if (IsA(statement->utilityStmt, DropdbStmt))
		database = get_database_oid(castNode(DropdbStmt, statement->utilityStmt)->dbname, true);
	if (!OidIsValid(database) || database == MyDatabaseId || !compat_database_ownercheck(database, GetUserId()))
	{
		next(statement, query, read_only_tree, context, params, environment, receiver, completion);
		return;
	}

	send_workers_away(database);
	PG_TRY();
	{
		next(statement, query, read_only_tree, context, params, environment, receiver, completion);
	}
	PG_CATCH();
	{
		(void) shared_database_start(database);
		PG_RE_THROW();
	}
	PG_END_TRY();
}

void
drop_database_init(void)
{
	previous_hook = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
}
