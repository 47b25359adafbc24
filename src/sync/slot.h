/*
 * slot.h
 *		The replication slot of a sync: made with a snapshot, found again, dropped.
 */
#ifndef STREAMHOUSE_SYNC_SLOT_H
#define STREAMHOUSE_SYNC_SLOT_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "nodes/pg_list.h"
#include "replication/logical.h"

/* Slots, and commit users in the lake, are named by this and 32 hexadecimal digits. */
#define SYNC_SLOT_PREFIX "streamhouse_"
#define SYNC_SLOT_LENGTH (sizeof(SYNC_SLOT_PREFIX) - 1 + 32)

typedef enum SlotPresence
{
	SLOT_MISSING,
	SLOT_PRESENT,
	SLOT_INVALIDATED,			/* it has lost the WAL it needs */
	SLOT_FOREIGN				/* of that name, but of another database or plugin */
} SlotPresence;

/* Let this process load our output plugin, whatever output_plugin_libraries says. */
extern void sync_slot_permit_plugin(void);

extern SlotPresence sync_slot_presence(const char *slot);

/* Create the slot.  Waits for transactions that are running. */
extern void sync_slot_create(const char *slot);

/*
 * Give the current transaction a snapshot that sees all transactions that end
 * at the position returned or before, and no others.  The transaction must be
 * new, without any snapshot; it is made REPEATABLE READ.  A slot of the given
 * name is needed for a moment.  Waits for transactions that are running.
 */
extern XLogRecPtr sync_slot_snapshot(const char *temporary_slot);

/* Acquire it and begin to decode where it stands. */
extern LogicalDecodingContext *sync_slot_open(const char *slot, void *private_data);

/*
 * Is this process known as one that decodes?  Then the snapshots of others leave
 * it out, so it must not write anything.  Between transactions that can be
 * changed; returns what it was.
 */
extern bool sync_slot_set_decoding(bool decoding);

/* Confirm that all up to lsn is in the lake; durable: at once, not at the next checkpoint. */
extern void sync_slot_confirm(XLogRecPtr lsn, bool durable);

/*
 * Do the standbys that must not fall behind a sync's slot, those that
 * synchronized_standby_slots names, have this position?  tell: if not, a
 * warning says which has not and is not connected.
 */
extern bool sync_slot_standbys_have(const char *slot, XLogRecPtr lsn, bool tell);

/* Drop the slot if it is there; its worker, which was asked to stop, is waited for. */
extern void sync_slot_drop(const char *slot);

/* Names (char *) of this database's slots that a sync made; its row in the catalog is older than the slot. */
extern List *sync_slot_list(void);

#endif							/* STREAMHOUSE_SYNC_SLOT_H */
