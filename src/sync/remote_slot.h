/*
 * remote_slot.h
 *		The replication slot of a sync on another server, and positions there.
 */
#ifndef STREAMHOUSE_SYNC_REMOTE_SLOT_H
#define STREAMHOUSE_SYNC_REMOTE_SLOT_H

#include "sync/lake_position.h"
#include "sync/remote.h"
#include "sync/slot.h"

/* As the source has the slot. */
typedef struct RemoteSlot
{
	SlotPresence presence;
	bool		active;
	XLogRecPtr	restart_lsn;	/* invalid: it has none */
	XLogRecPtr	confirmed_lsn;
	XLogRecPtr	source_end;		/* of the source's WAL, on disk */
} RemoteSlot;

extern RemoteSlot remote_slot_look(RemoteConnection *remote, const char *slot);

/* The oldest transaction that writes there and runs, or the next one. */
extern TransactionId remote_oldest_transaction(RemoteConnection *remote);

/* Create it.  Waits for transactions that are running there. */
extern void remote_slot_create(const SyncRecord *sync);

/* Drop the sync's slot, there or on this server, if it is there; what still receives from it is waited for. */
extern void sync_drop_slot(const SyncRecord *sync);

/*
 * Begin a transaction on *holder with a snapshot that sees all transactions
 * that end at the position returned or before, and no others; *snapshot is its name for
 * other sessions, as long as the holder's transaction lasts.
 */
extern XLogRecPtr remote_slot_snapshot(const SyncRecord *sync, RemoteConnection *holder, char **snapshot);

/* Ask the source for its history. */
extern SourceHistory *remote_history(const SyncRecord *sync);

#endif							/* STREAMHOUSE_SYNC_REMOTE_SLOT_H */
