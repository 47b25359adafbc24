/*
 * message_table.h
 *		Lake tables of the source's logical messages (pg_logical_emit_message).
 *
 * A rule for messages names an append table and says which prefixes go there.
 * Such a table has a record like those of the sync's tables, but no source:
 * in its place stands the rule's number, which no table has as its oid.
 */
#ifndef STREAMHOUSE_SYNC_MESSAGE_TABLE_H
#define STREAMHOUSE_SYNC_MESSAGE_TABLE_H

#include "postgres.h"

#include "sync/stream.h"

/* The records (SyncTableRecord *) of the sync's rules, in CurrentMemoryContext. */
extern List *message_table_records(const SyncRecord *sync);

/* ERROR unless the sync may fill the lake table: it is not there, or has the columns and no rows of others. */
extern void message_table_check(const SyncRecord *sync, const SyncTableRecord *record, const char *warehouse);

/* Make the tables that are not there, each with a snapshot of the sync's.  In a transaction. */
extern void message_tables_begin(const SyncRecord *sync, const char *warehouse);

/* One message, at lsn; end: where its record ends.  transaction: NULL when it is of none, and counts at once. */
extern void message_table_take(SyncStream *stream, const ReorderBufferTXN *transaction, XLogRecPtr lsn, XLogRecPtr end,
							   const char *prefix, BytesView content);

#endif							/* STREAMHOUSE_SYNC_MESSAGE_TABLE_H */
