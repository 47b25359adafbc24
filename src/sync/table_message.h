/*
 * table_message.h
 *		What an event trigger writes into the WAL about changes of tables.
 *
 * A logical message of the transaction, so that its order with the rows is
 * exact: "changed OID" when the definition is another one, "rewritten OID
 * COLUMN..." when values of columns (attribute numbers) in rows that exist have
 * changed, "dropped OID".
 */
#ifndef STREAMHOUSE_SYNC_TABLE_MESSAGE_H
#define STREAMHOUSE_SYNC_TABLE_MESSAGE_H

#include "sync/stream.h"

#define TABLE_MESSAGE_PREFIX "streamhouse.table"

typedef enum TableMessageKind
{
	TABLE_CHANGED,
	TABLE_REWRITTEN,
	TABLE_DROPPED
} TableMessageKind;

typedef struct TableMessage
{
	TableMessageKind kind;
	Oid			relid;
	List	   *columns;		/* attribute numbers */
} TableMessage;

/* Write one in the current transaction. */
extern void table_message_log(const TableMessage *message);

/* NULL when it is not one of ours.  Allocates in CurrentMemoryContext. */
extern TableMessage *table_message_parse(const char *text, Size size);

/* Meet the change of a table, if it is one that the lake has to know.  While decoding; message may be NULL. */
extern void table_message_apply(SyncStream *stream, const ReorderBufferTXN *transaction, XLogRecPtr lsn,
								const TableMessage *message);

#endif							/* STREAMHOUSE_SYNC_TABLE_MESSAGE_H */
