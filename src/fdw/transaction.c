/*
 * transaction.c
 *		What a Postgres transaction has written to the lake and not yet published.
 *
 * Each table written to has one writer, and each table created one schema,
 * kept here until the transaction ends.  A transaction becomes one snapshot a
 * table: at pre-commit every writer is prepared (all rows are in durable files)
 * before the first snapshot is published, so that what can fail fails before
 * anything is visible.  If publishing fails half way, the Postgres transaction
 * aborts and a warning names the tables that were already published.
 *
 * Subtransactions are savepoints of the writers.  They are set when a
 * subtransaction first writes, for all levels up to its own: one that writes
 * nothing costs nothing.
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/memutils.h"

#include "fdw/transaction.h"
#include "lake/commit.h"
#include "settings.h"

/* Distinguishes our advisory locks from those of SQL users (1 and 2). */
#define COMMIT_LOCK_FIELD4 0x5348

typedef struct PendingTable
{
	TableAddress address;
	const TableSchema *created; /* the schema to publish, or NULL */
	int			created_level;	/* nest level of the transaction that creates it */
	TableWriter *writer;		/* or NULL */
	int			savepoint_level;	/* of the writer's innermost savepoint; 1: none */
	int64		published;		/* snapshot published at pre-commit, or 0 */
} PendingTable;

static MemoryContext pending_context = NULL;	/* child of TopTransactionContext; NULL: nothing pending */
static List *pending_tables = NIL;	/* PendingTable * */

static void transaction_callback(XactEvent event, void *arg);
static void subtransaction_callback(SubXactEvent event, SubTransactionId subid, SubTransactionId parent, void *arg);

static PendingTable *
find_pending(const char *location)
{
	ListCell   *lc;

	foreach(lc, pending_tables)
	{
		PendingTable *pending = lfirst(lc);

		if (strcmp(pending->address.location, location) == 0)
			return pending;
	}
	return NULL;
}

/* Make the transaction's state at its first use; the callbacks are registered once a session. */
static void
begin_pending(void)
{
	static bool registered = false;

	if (!registered)
	{
		RegisterXactCallback(transaction_callback, NULL);
		RegisterSubXactCallback(subtransaction_callback, NULL);
		registered = true;
	}
	if (pending_context == NULL)
		pending_context = AllocSetContextCreate(TopTransactionContext, "streamhouse transaction", ALLOCSET_DEFAULT_SIZES);
}

static PendingTable *
add_pending(const TableAddress *address)
{
	MemoryContext old;
	PendingTable *pending;

	begin_pending();
	old = MemoryContextSwitchTo(pending_context);
	pending = palloc0(sizeof(PendingTable));
	pending->address.warehouse = pstrdup(address->warehouse);
	pending->address.database = pstrdup(address->database);
	pending->address.table = pstrdup(address->table);
	pending->address.location = pstrdup(address->location);
	pending->savepoint_level = 1;
	pending_tables = lappend(pending_tables, pending);
	MemoryContextSwitchTo(old);
	return pending;
}

TableWriter *
transaction_writer(const TableAddress *address, LakeTable *table)
{
	PendingTable *pending = find_pending(address->location);
	int			level = GetCurrentTransactionNestLevel();

	if (pending == NULL)
		pending = add_pending(address);
	if (pending->writer == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(pending_context);

		pending->writer = table_writer_open(table, (Size) setting_write_buffer_size * 1024);
		MemoryContextSwitchTo(old);
	}
	while (pending->savepoint_level < level)
		table_writer_savepoint(pending->writer, ++pending->savepoint_level);
	return pending->writer;
}

List *
transaction_pending_entries(const char *location, bool *truncated)
{
	PendingTable *pending = find_pending(location);
	List	   *entries = NIL;
	ListCell   *lc;

	*truncated = false;
	if (pending == NULL || pending->writer == NULL)
		return NIL;
	*truncated = table_writer_truncated(pending->writer);
	foreach(lc, table_writer_flush(pending->writer))
		entries = lappend(entries, manifest_entry_copy(lfirst(lc)));
	return entries;
}

bool
transaction_has_changed(const char *location)
{
	const PendingTable *pending = find_pending(location);

	return pending != NULL && (pending->writer != NULL || pending->created != NULL);
}

void
transaction_create_table(const TableAddress *address, const TableSchema *schema)
{
	PendingTable *pending = find_pending(address->location);
	MemoryContext old;
	char	   *json;

	if (pending != NULL && pending->created != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_TABLE),
				 errmsg("lake table \"%s.%s\" is already being created in this transaction",
						address->database, address->table)));
	if (pending == NULL)
		pending = add_pending(address);
	/* the schema's own text is its copy */
	json = schema_to_json(schema);
	old = MemoryContextSwitchTo(pending_context);
	pending->created = schema_parse(json, strlen(json), address->location);
	pending->created_level = GetCurrentTransactionNestLevel();
	MemoryContextSwitchTo(old);
	pfree(json);
}

const TableSchema *
transaction_created_table(const char *location)
{
	PendingTable *pending = find_pending(location);

	return pending != NULL ? pending->created : NULL;
}

/* Publish the schemas of tables this transaction creates. */
static void
publish_created(void)
{
	ListCell   *lc;

	foreach(lc, pending_tables)
	{
		PendingTable *pending = lfirst(lc);

		if (pending->created != NULL &&
			!schema_publish(pending->address.location, pending->created))
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_TABLE),
					 errmsg("lake table \"%s.%s\" was created by somebody else meanwhile",
							pending->address.database, pending->address.table)));
	}
}

static void
publish_snapshot(PendingTable *pending)
{
	CommitInfo	info = {0};
	char		user[37];

	lake_uuid(user);
	info.commit_user = user;
	info.commit_identifier = BATCH_COMMIT_IDENTIFIER;
	pending->published = table_writer_commit(pending->writer, &info);
}

static void
publish_pending(void)
{
	ListCell   *lc;

	foreach(lc, pending_tables)
	{
		PendingTable *pending = lfirst(lc);

		if (pending->writer != NULL)
			table_writer_prepare(pending->writer);
	}
	publish_created();
	foreach(lc, pending_tables)
	{
		PendingTable *pending = lfirst(lc);

		if (pending->writer != NULL)
			publish_snapshot(pending);
	}
}

/* Forget everything; unpublished files go with the context. */
static void
end_pending(void)
{
	MemoryContext context = pending_context;

	pending_context = NULL;
	pending_tables = NIL;
	if (context != NULL)
		MemoryContextDelete(context);
}

/* The lake cannot take back what others may have read already: say so. */
static void
warn_of_published(void)
{
	ListCell   *lc;

	foreach(lc, pending_tables)
	{
		PendingTable *pending = lfirst(lc);

		if (pending->published != 0)
			ereport(WARNING,
					(errmsg("snapshot " INT64_FORMAT " of lake table \"%s.%s\" was published although the transaction fails",
							pending->published, pending->address.database, pending->address.table)));
	}
}

static void
transaction_callback(XactEvent event, void *arg)
{
	if (pending_context == NULL)
		return;
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
			publish_pending();
			break;
		case XACT_EVENT_PRE_PREPARE:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot PREPARE a transaction that has written to lake tables")));
			break;
		case XACT_EVENT_ABORT:
			warn_of_published();
			end_pending();
			break;
		case XACT_EVENT_COMMIT:
			end_pending();
			break;
		default:
			break;
	}
}

/* Rows and tables of a subtransaction become its parent's. */
static void
release_subtransaction(PendingTable *pending, int level)
{
	if (pending->created != NULL && pending->created_level == level)
		pending->created_level--;
	if (pending->savepoint_level == level)
	{
		table_writer_release(pending->writer, level);
		pending->savepoint_level--;
	}
}

/* Returns false when nothing is left of the table's state. */
static bool
rollback_subtransaction(PendingTable *pending, int level)
{
	if (pending->savepoint_level == level)
	{
		table_writer_rollback(pending->writer, level);
		pending->savepoint_level--;
	}
	if (pending->created == NULL || pending->created_level < level)
		return true;
	/* the table itself is gone, and its writer has nothing to write to */
	if (pending->writer != NULL)
		table_writer_close(pending->writer);
	return false;
}

static void
subtransaction_callback(SubXactEvent event, SubTransactionId subid, SubTransactionId parent, void *arg)
{
	int			level = GetCurrentTransactionNestLevel();
	ListCell   *lc;

	if (pending_context == NULL)
		return;
	if (event == SUBXACT_EVENT_COMMIT_SUB)
	{
		foreach(lc, pending_tables)
			release_subtransaction(lfirst(lc), level);
	}
	else if (event == SUBXACT_EVENT_ABORT_SUB)
	{
		foreach(lc, pending_tables)
		{
			if (!rollback_subtransaction(lfirst(lc), level))
				pending_tables = foreach_delete_current(pending_tables, lc);
		}
	}
}

/* One commit at a time on a table by the sessions of this server; other writers are met by retrying. */
static void
commit_lock(const char *location, bool acquire)
{
	uint64		hash = hash_bytes_extended((const unsigned char *) location, strlen(location), 0);
	LOCKTAG		tag;

	/* workers commit outside transactions, where no lock would be cleaned up after an error */
	if (!IsTransactionState())
		return;
	SET_LOCKTAG_ADVISORY(tag, InvalidOid, (uint32) (hash >> 32), (uint32) hash, COMMIT_LOCK_FIELD4);
	if (acquire)
		(void) LockAcquire(&tag, ExclusiveLock, false, false);
	else
		(void) LockRelease(&tag, ExclusiveLock, false);
}

void
transaction_init(void)
{
	lake_commit_lock_hook = commit_lock;
}
