/*
 * remote_check.c
 *		What can be known to be wrong with a source elsewhere before a sync is made.
 */
#include "postgres.h"

#include "sync/mirror.h"
#include "sync/remote_check.h"

#define OLDEST_VERSION 110000
#define FIRST_WITH_MESSAGES 140000

/* The server as a whole; the connection shows that replication is allowed. */
static void
check_settings(RemoteConnection *remote, RemoteProblemFunction report, void *arg)
{
	RemoteRows *rows;

	rows = remote_query(remote,
						"SELECT pg_catalog.current_setting('wal_level') = 'logical',"
						" (SELECT count(*) FROM pg_catalog.pg_replication_slots) < pg_catalog.current_setting('max_replication_slots')::int,"
						" pg_catalog.current_setting('max_wal_senders')::int > 1,"
						" pg_catalog.current_setting('max_slot_wal_keep_size', true) IS DISTINCT FROM '-1'");
	if (!remote_bool(rows, 0, 0))
		report(arg, false, NULL, "wal_level of the source is not \"logical\"",
			   "set it there (managed services have a setting of their own for it) and restart that server");
	if (!remote_bool(rows, 0, 1))
		report(arg, false, NULL, "no replication slot is free at the source", "raise max_replication_slots there and restart that server");
	if (!remote_bool(rows, 0, 2))
		report(arg, false, NULL, "max_wal_senders of the source leaves no process for a copy beside the stream",
			   "raise it there and restart that server");
	if (!remote_bool(rows, 0, 3))
		report(arg, true, NULL, "max_slot_wal_keep_size is not set at the source, so a sync that is paused or fails keeps WAL there until the disk is full",
			   "set it there");
}

static void
check_messages(const RemoteConnection *remote, const SyncRecord *sync, RemoteProblemFunction report, void *arg)
{
	int			version = remote_version(remote);
	ListCell   *cell;

	foreach(cell, sync->rules)
	{
		if (((const TableRule *) lfirst(cell))->messages && version < FIRST_WITH_MESSAGES)
		{
			report(arg, false, NULL, psprintf("the source has version %d of PostgreSQL, which does not send logical messages", version / 10000),
				   "leave out the rules with \"messages\", or replicate from version 14 or later");
			return;
		}
	}
}

void
remote_check_messages(const SyncRecord *sync, RemoteProblemFunction report, void *arg)
{
	RemoteConnection *remote = remote_connect(sync, false);

	check_messages(remote, sync, report, arg);
	remote_close(remote);
}

static void
check_table(const RemoteTable *table, RemoteProblemFunction report, void *arg)
{
	if (!table->readable)
		report(arg, false, table->name, psprintf("not all rows of table \"%s\" can be read at the source", table->name),
			   "grant SELECT on it to the role of the connection, and BYPASSRLS if it has row security");
	if (table->bad_partition)
		report(arg, false, table->name,
			   psprintf("partition \"%s\" of table \"%s\" cannot be read, is a foreign table, or has another replica identity than the table",
						table->bad_partition, table->name),
			   "grant SELECT on it, set REPLICA IDENTITY DEFAULT or FULL for it, or leave the table out of the publication");
}

/* One that is known has a mirror, which is the worker's unless the table was refused. */
static const SyncTableRecord *
mirror_of_table(const SyncRecord *sync, const RemoteTable *table)
{
	SyncTableRecord *mirror = palloc0(sizeof(SyncTableRecord));
	ListCell   *cell;

	foreach(cell, sync->tables)
	{
		const SyncTableRecord *known = lfirst(cell);

		if (known->remote_table != table->oid)
			continue;
		*mirror = *known;
		if (known->refused)
			(void) mirror_follow(sync, mirror, table);
		return mirror;
	}
	mirror_make(sync, table, mirror);
	return mirror;
}

static List *
check_tables(RemoteConnection *remote, const SyncRecord *sync, RemoteProblemFunction report, void *arg)
{
	List	   *tables = NIL;
	ListCell   *cell;

	foreach(cell, remote_published_tables(remote, sync->publication))
	{
		RemoteTable *table = remote_table(remote, sync->publication, lfirst_oid(cell));
		RemotePublished *published = palloc(sizeof(RemotePublished));

		/* it may just have been dropped */
		if (table == NULL)
			continue;
		check_table(table, report, arg);
		published->table = table;
		published->mirror = mirror_of_table(sync, table);
		tables = lappend(tables, published);
	}
	return tables;
}

List *
remote_check(SyncRecord *sync, RemoteProblemFunction report, void *arg)
{
	RemoteConnection *remote = remote_connect(sync, true);
	List	   *tables = NIL;

	if (remote_version(remote) < OLDEST_VERSION)
	{
		report(arg, false, NULL, psprintf("the source has version %d of PostgreSQL, which is not supported", remote_version(remote) / 10000),
			   "replicate from version 11 or later");
		return NIL;
	}
	check_settings(remote, report, arg);
	check_messages(remote, sync, report, arg);
	sync->remote_publish = remote_publication(remote, sync->publication);
	if (sync->remote_publish == NULL)
		report(arg, false, NULL, psprintf("publication \"%s\" does not exist at the source", sync->publication),
			   "create it there with CREATE PUBLICATION");
	else
		tables = check_tables(remote, sync, report, arg);
	remote_close(remote);
	return tables;
}
