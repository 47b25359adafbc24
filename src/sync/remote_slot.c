/*
 * remote_slot.c
 *		The replication slot of a sync on another server, and positions there.
 */
#include "postgres.h"

#include "access/timeline.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "sync/remote_slot.h"

#define DROP_POLL_MS 100
#define DROP_TIMEOUT_MS 60000

#define END_OF_WAL \
	"CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn() ELSE pg_catalog.pg_current_wal_flush_lsn() END"

RemoteSlot
remote_slot_look(RemoteConnection *remote, const char *slot)
{
	RemoteSlot	result = {.presence = SLOT_MISSING};
	const char *lost = remote_version(remote) >= 130000 ? "r.wal_status = 'lost'" : "r.restart_lsn IS NULL";
	RemoteRows *rows;

	rows = remote_query(remote,
						psprintf("SELECT " END_OF_WAL ", r.active, coalesce(r.restart_lsn, '0/0'), coalesce(r.confirmed_flush_lsn, '0/0'),"
								 " r.database IS NOT DISTINCT FROM pg_catalog.current_database() AND r.plugin = 'pgoutput', coalesce(%s, false)"
								 " FROM (SELECT) one LEFT JOIN pg_catalog.pg_replication_slots r ON r.slot_name = %s",
								 lost, quote_literal_cstr(slot)));
	result.source_end = remote_lsn(rows, 0, 0);
	if (remote_value(rows, 0, 1) == NULL)
		return result;
	result.active = remote_bool(rows, 0, 1);
	result.restart_lsn = remote_lsn(rows, 0, 2);
	result.confirmed_lsn = remote_lsn(rows, 0, 3);
	result.presence = !remote_bool(rows, 0, 4) ? SLOT_FOREIGN : remote_bool(rows, 0, 5) ? SLOT_INVALIDATED : SLOT_PRESENT;
	return result;
}

TransactionId
remote_oldest_transaction(RemoteConnection *remote)
{
	RemoteRows *rows = remote_query(remote, "SELECT pg_catalog.txid_snapshot_xmin(pg_catalog.txid_current_snapshot())");

	return (TransactionId) remote_int(rows, 0, 0);
}

/* Servers that can will bring it to their standbys. */
void
remote_slot_create(const SyncRecord *sync)
{
	RemoteConnection *remote = remote_connect(sync, true);
	const char *options = remote_version(remote) >= 170000 ? "(SNAPSHOT 'nothing', FAILOVER true)" : "NOEXPORT_SNAPSHOT";

	(void) remote_query_patiently(remote, psprintf("CREATE_REPLICATION_SLOT %s LOGICAL pgoutput %s", quote_identifier(sync->slot), options));
	remote_close(remote);
}

static void
drop_remote(const SyncRecord *sync)
{
	RemoteConnection *remote = remote_connect(sync, false);
	TimestampTz start = GetCurrentTimestamp();
	RemoteSlot	slot = remote_slot_look(remote, sync->slot);

	while (slot.presence != SLOT_MISSING && slot.presence != SLOT_FOREIGN)
	{
		if (!slot.active)
		{
			(void) remote_query(remote, psprintf("SELECT pg_catalog.pg_drop_replication_slot(%s)", quote_literal_cstr(sync->slot)));
			break;
		}
		if (TimestampDifferenceExceeds(start, GetCurrentTimestamp(), DROP_TIMEOUT_MS))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_IN_USE),
					 errmsg("replication slot \"%s\" of the source %s is still in use", sync->slot, sync->remote)));
		remote_wait(remote, DROP_POLL_MS);
		slot = remote_slot_look(remote, sync->slot);
	}
	remote_close(remote);
}

void
sync_drop_slot(const SyncRecord *sync)
{
	if (sync->connection)
		drop_remote(sync);
	else
		sync_slot_drop(sync->slot);
}

/* The temporary slot goes with its connection. */
XLogRecPtr
remote_slot_snapshot(const SyncRecord *sync, RemoteConnection *holder, char **snapshot)
{
	RemoteConnection *replication = remote_connect(sync, true);
	RemoteRows *rows;
	XLogRecPtr	position;

	rows = remote_query_patiently(replication, psprintf("CREATE_REPLICATION_SLOT %s TEMPORARY LOGICAL pgoutput EXPORT_SNAPSHOT",
														quote_identifier(psprintf("%s_copy%d", sync->slot, MyProcPid))));
	position = remote_lsn(rows, 0, 1);
	(void) remote_query(holder, "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
	(void) remote_query(holder, psprintf("SET TRANSACTION SNAPSHOT %s", quote_literal_cstr(remote_text(rows, 0, 2))));
	*snapshot = pstrdup(remote_text(remote_query(holder, "SELECT pg_catalog.pg_export_snapshot()"), 0, 0));
	remote_close(replication);
	return position;
}

/* The lines of a timeline's history file: number, where it was left, and a reason. */
static List *
parse_timelines(const char *text, TimeLineID timeline)
{
	TimeLineHistoryEntry *newest = palloc0(sizeof(TimeLineHistoryEntry));
	XLogRecPtr	begin = InvalidXLogRecPtr;
	List	   *timelines = NIL;
	const char *line;

	for (line = text; *line; line += strcspn(line, "\n"), line += strspn(line, "\n"))
	{
		TimeLineHistoryEntry *entry;
		uint32		number;
		uint32		high;
		uint32		low;

		if (sscanf(line, " %u %X/%X", &number, &high, &low) != 3)
			continue;
		entry = palloc(sizeof(TimeLineHistoryEntry));
		entry->tli = number;
		entry->begin = begin;
		entry->end = begin = (uint64) high << 32 | low;
		timelines = lcons(entry, timelines);
	}
	newest->tli = timeline;
	newest->begin = begin;
	return lcons(newest, timelines);
}

SourceHistory *
remote_history(const SyncRecord *sync)
{
	RemoteConnection *remote = remote_connect(sync, true);
	SourceHistory *history = palloc0(sizeof(SourceHistory));
	RemoteRows *rows = remote_query(remote, "IDENTIFY_SYSTEM");
	const char *text = "";

	history->system_identifier = strtou64(remote_text(rows, 0, 0), NULL, 10);
	history->timeline = (TimeLineID) remote_int(rows, 0, 1);
	history->end = remote_lsn(rows, 0, 2);
	history->standby = remote_bool(remote_query(remote, "SELECT pg_catalog.pg_is_in_recovery()"), 0, 0);
	if (history->timeline > 1)
		text = remote_text(remote_query(remote, psprintf("TIMELINE_HISTORY %u", history->timeline)), 0, 1);
	history->timelines = parse_timelines(text, history->timeline);
	remote_close(remote);
	return history;
}
