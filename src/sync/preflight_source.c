/*
 * preflight_source.c
 *		The preflight's part about the source: its server, the publication, and the tables of that.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "replication/slot.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "compat.h"
#include "fdw/fdw.h"
#include "sync/preflight_check.h"
#include "sync/published.h"

static int
free_slots(void)
{
	int			used = 0;
	int			i;

	LWLockAcquire(ReplicationSlotControlLock, LW_SHARED);
	for (i = 0; i < max_replication_slots; i++)
	{
		if (ReplicationSlotCtl->replication_slots[i].in_use)
			used++;
	}
	LWLockRelease(ReplicationSlotControlLock);
	return max_replication_slots - used;
}

void
preflight_warn_of_settings(Preflight *check)
{
	const char *timeout = GetConfigOption("idle_replication_slot_timeout", true, false);

	if (max_slot_wal_keep_size_mb < 0)
		preflight_remark(check, true, "max_slot_wal_keep_size is not set, so a sync that is paused or fails keeps WAL until the disk is full",
				   "set it, and streamhouse.sync_wal_limit to be told before");
	if (timeout != NULL && strcmp(timeout, "0") != 0)
		preflight_remark(check, true, "idle_replication_slot_timeout is set, so the slot of a sync that is paused for longer is lost",
				   "set it to 0, or do not pause syncs for longer");
}

static void
check_preloaded(Preflight *check)
{
	if (!check->preloaded)
		preflight_problem(check, "streamhouse is not loaded at server start",
					"add it to shared_preload_libraries and restart the server");
}

static void
check_instance(Preflight *check)
{
	if (wal_level < WAL_LEVEL_LOGICAL)
		preflight_problem(check, "wal_level is not \"logical\"", "set it and restart the server");
	if (free_slots() < 1)
		preflight_problem(check, "no replication slot is free", "raise max_replication_slots and restart the server");
}

static void
check_server(Preflight *check, void *arg)
{
	ForeignServer *server = GetForeignServerByName(check->sync->server, false);
	AclResult	access;

	if (strcmp(GetForeignDataWrapper(server->fdwid)->fdwname, "streamhouse") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("server \"%s\" is not of the foreign data wrapper streamhouse", server->servername)));
	access = compat_server_aclcheck(server->serverid, GetUserId(), ACL_USAGE);
	if (access != ACLCHECK_OK)
		aclcheck_error(access, OBJECT_FOREIGN_SERVER, server->servername);
	check->warehouse = server_warehouse(server, true);
}

static PublishedTable *
published_of_row(uint64 row)
{
	TupleDesc	desc = SPI_tuptable->tupdesc;
	HeapTuple	tuple = SPI_tuptable->vals[row];
	PublishedTable *table = palloc0(sizeof(PublishedTable));
	bool		isnull;

	table->relid = DatumGetObjectId(SPI_getbinval(tuple, desc, 1, &isnull));
	table->name = SPI_getvalue(tuple, desc, 2);
	table->deferrable_key = DatumGetBool(SPI_getbinval(tuple, desc, 3, &isnull));
	table->table = SPI_getvalue(tuple, desc, 4);
	return table;
}

/* The tables of the publication, without the extension's own. */
static void
list_tables(Preflight *check)
{
	MemoryContext context = CurrentMemoryContext;
	Oid			types[1] = {TEXTOID};
	Datum		values[1];
	uint64		i;

	SPI_connect();
	values[0] = CStringGetTextDatum(check->sync->publication);
	if (SPI_execute_with_args("SELECT c.oid, n.nspname || '.' || c.relname,"
							  " EXISTS (SELECT FROM pg_catalog.pg_constraint k"
							  " WHERE k.conrelid = c.oid AND k.contype = 'p' AND k.condeferrable), c.relname"
							  " FROM pg_catalog.pg_publication_tables p"
							  " JOIN pg_catalog.pg_namespace n ON n.nspname = p.schemaname"
							  " JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = p.tablename"
							  " WHERE p.pubname = $1 AND n.nspname <> 'streamhouse' ORDER BY c.oid",
							  1, types, values, NULL, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not list published tables");
	for (i = 0; i < SPI_processed; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		check->published = lappend(check->published, published_of_row(i));
		MemoryContextSwitchTo(old);
	}
	SPI_finish();
}

/* ---- a source elsewhere ---- */

static void
report_remote_problem(void *arg, bool is_warning, const char *table, const char *text, const char *cure)
{
	Preflight  *check = arg;

	check->table = table;
	if (!is_warning || check->with_warnings)
		preflight_remark(check, is_warning, text, cure);
	check->table = NULL;
}

static void
check_remote(Preflight *check, void *arg)
{
	ListCell   *cell;

	foreach(cell, remote_check(check->sync, report_remote_problem, check))
	{
		const RemotePublished *published = lfirst(cell);
		PublishedTable *table = palloc0(sizeof(PublishedTable));

		table->remote = published;
		table->relid = published->mirror->source;
		table->name = published->table->name;
		table->table = published->table->table;
		table->deferrable_key = published->table->deferrable_key;
		check->published = lappend(check->published, table);
	}
	if (check->sync->remote_publish)
		check->publication = published_find(check->sync);
}

static void
check_remote_messages(Preflight *check, void *arg)
{
	remote_check_messages(check->sync, report_remote_problem, check);
}

void
preflight_source_messages(Preflight *check)
{
	if (check->sync->connection)
		preflight_attempt(check, check_remote_messages, NULL);
}

static void
check_publication(Preflight *check)
{
	check->publication = GetPublicationByName(check->sync->publication, true);
	if (check->publication == NULL)
	{
		preflight_problem(check, psprintf("publication \"%s\" does not exist", check->sync->publication),
					"create it with CREATE PUBLICATION");
		return;
	}
	list_tables(check);
}

void
preflight_source(Preflight *check)
{
	check_preloaded(check);
	preflight_attempt(check, check_server, NULL);
	if (check->sync->connection)
		preflight_attempt(check, check_remote, NULL);
	else
	{
		check_instance(check);
		check_publication(check);
	}
	if (check->publication && check->published == NIL)
		preflight_problem(check, psprintf("publication \"%s\" has no tables", check->sync->publication), NULL);
}
