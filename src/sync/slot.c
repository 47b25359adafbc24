/*
 * slot.c
 *		The replication slot of a sync: made with a snapshot, found again, dropped.
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlogutils.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "replication/slot.h"
#include "replication/snapbuild.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "sync/plugin.h"
#include "sync/slot.h"

#define DROP_POLL_MS 50

void
sync_slot_permit_plugin(void)
{
	/* Servers since August 2026 name the plugins that may be loaded. */
	if (GetConfigOption("output_plugin_libraries", true, false) != NULL)
		SetConfigOption("output_plugin_libraries", "streamhouse", PGC_SUSET, PGC_S_SESSION);
	plugin_serve_sync();
}

/* A slot's state, copied under the locks; false when there is no slot of that name. */
static bool
read_slot(const char *name, ReplicationSlotPersistentData *data, pid_t *active_pid)
{
	ReplicationSlot *slot;

	LWLockAcquire(ReplicationSlotControlLock, LW_SHARED);
	slot = SearchNamedReplicationSlot(name, false);
	if (slot)
	{
		SpinLockAcquire(&slot->mutex);
		*data = slot->data;
		*active_pid = slot->active_pid;
		SpinLockRelease(&slot->mutex);
	}
	LWLockRelease(ReplicationSlotControlLock);
	return slot != NULL;
}

SlotPresence
sync_slot_presence(const char *slot)
{
	ReplicationSlotPersistentData data;
	pid_t		active_pid;

	if (!read_slot(slot, &data, &active_pid))
		return SLOT_MISSING;
	if (data.database != MyDatabaseId || strcmp(NameStr(data.plugin), "streamhouse") != 0)
		return SLOT_FOREIGN;
	return compat_slot_is_invalidated(&data) ? SLOT_INVALIDATED : SLOT_PRESENT;
}

/*
 * Create a slot, ephemeral for now, and read WAL until all that changes from
 * there on can be decoded.  failover: servers that can will bring it to their standbys.
 */
static LogicalDecodingContext *
create_slot(const char *slot, bool need_snapshot, bool failover)
{
	LogicalDecodingContext *context;

	CheckLogicalDecodingRequirements();
	ReplicationSlotCreate(slot, true, RS_EPHEMERAL, false, failover, false);
	context = CreateInitDecodingContext("streamhouse", NIL, need_snapshot, InvalidXLogRecPtr,
										XL_ROUTINE(.page_read = read_local_xlog_page,
												   .segment_open = wal_segment_open,
												   .segment_close = wal_segment_close),
										NULL, NULL, NULL);
	DecodingContextFindStartpoint(context);
	return context;
}

void
sync_slot_create(const char *slot)
{
	FreeDecodingContext(create_slot(slot, false, true));
	ReplicationSlotPersist();
	ReplicationSlotRelease();
}

/* The transaction itself keeps what the snapshot sees, once it has it. */
XLogRecPtr
sync_slot_snapshot(const char *temporary_slot)
{
	LogicalDecodingContext *context;
	XLogRecPtr	position;

	XactIsoLevel = XACT_REPEATABLE_READ;
	XactReadOnly = true;
	context = create_slot(temporary_slot, true, false);
	RestoreTransactionSnapshot(SnapBuildInitialSnapshot(context->snapshot_builder), MyProc);
	position = MyReplicationSlot->data.confirmed_flush;
	FreeDecodingContext(context);
	ReplicationSlotRelease();
	return position;
}

LogicalDecodingContext *
sync_slot_open(const char *slot, void *private_data)
{
	LogicalDecodingContext *context;

	/* what was looked up outside of decoding is of another time */
	InvalidateSystemCaches();
	ReplicationSlotAcquire(slot, true, false);
	/* found when the worker starts again */
	if (compat_slot_is_invalidated(&MyReplicationSlot->data))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("replication slot \"%s\" has lost the WAL it needs", slot)));
	context = CreateDecodingContext(InvalidXLogRecPtr, NIL, false,
									XL_ROUTINE(.page_read = read_local_xlog_page,
											   .segment_open = wal_segment_open,
											   .segment_close = wal_segment_close),
									NULL, NULL, NULL);
	context->output_writer_private = private_data;
	XLogBeginRead(context->reader, MyReplicationSlot->data.restart_lsn);
	return context;
}

bool
sync_slot_set_decoding(bool decoding)
{
	bool		before = (MyProc->statusFlags & PROC_IN_LOGICAL_DECODING) != 0;

	if (before == decoding)
		return before;
	LWLockAcquire(ProcArrayLock, LW_EXCLUSIVE);
	MyProc->statusFlags ^= PROC_IN_LOGICAL_DECODING;
	ProcGlobal->statusFlags[MyProc->pgxactoff] = MyProc->statusFlags;
	LWLockRelease(ProcArrayLock);
	return before;
}

void
sync_slot_confirm(XLogRecPtr lsn, bool durable)
{
	LogicalConfirmReceivedLocation(lsn);
	ReplicationSlotMarkDirty();
	if (durable)
		ReplicationSlotSave();
}

bool
sync_slot_standbys_have(const char *slot, XLogRecPtr lsn, bool tell)
{
	ReplicationSlotPersistentData data;
	pid_t		active_pid;

	return !read_slot(slot, &data, &active_pid) || !compat_slot_has_failover(&data) ||
		StandbySlotsHaveCaughtup(lsn, tell ? WARNING : DEBUG1);
}

static void
sleep_a_little(void)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, DROP_POLL_MS, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

void
sync_slot_drop(const char *slot)
{
	ReplicationSlotPersistentData data;
	pid_t		active_pid;

	while (read_slot(slot, &data, &active_pid) && active_pid != 0)
		sleep_a_little();
	switch (sync_slot_presence(slot))
	{
		case SLOT_PRESENT:
		case SLOT_INVALIDATED:
			ReplicationSlotDrop(slot, true);
			break;
		case SLOT_MISSING:
		case SLOT_FOREIGN:
			break;
	}
}

static bool
is_sync_slot_name(const char *name)
{
	size_t		prefix = strlen(SYNC_SLOT_PREFIX);

	return strlen(name) == SYNC_SLOT_LENGTH && strncmp(name, SYNC_SLOT_PREFIX, prefix) == 0 &&
		strspn(name + prefix, "0123456789abcdef") == SYNC_SLOT_LENGTH - prefix;
}

List *
sync_slot_list(void)
{
	List	   *names = NIL;
	int			i;

	LWLockAcquire(ReplicationSlotControlLock, LW_SHARED);
	for (i = 0; i < max_replication_slots; i++)
	{
		ReplicationSlot *slot = &ReplicationSlotCtl->replication_slots[i];

		if (slot->in_use && slot->data.database == MyDatabaseId &&
			slot->data.persistency == RS_PERSISTENT &&
			strcmp(NameStr(slot->data.plugin), "streamhouse") == 0 &&
			is_sync_slot_name(NameStr(slot->data.name)))
			names = lappend(names, pstrdup(NameStr(slot->data.name)));
	}
	LWLockRelease(ReplicationSlotControlLock);
	return names;
}
