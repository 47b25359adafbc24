/*
 * streamed.h
 *		Large transactions that are decoded while they run.
 *
 * When decoding needs more memory than it may use, the rows of the largest
 * transaction so far are handed out, although it may still be aborted.  They
 * go to table writers of the transaction's own, whose files stay unpublished
 * until it commits: then the tables' writers adopt them.  Sequence numbers
 * follow the order of commits without files being written again, because the
 * rows are numbered far ahead of those of transactions that commit meanwhile.
 *
 * Subtransactions end like a stack, so all rows since the first row of one
 * belong to it, and an abort cuts them off.
 *
 * What needs more than rows makes the stream give up: the worker is started
 * again, and decodes the transaction as a whole when it has committed.
 */
#ifndef STREAMHOUSE_SYNC_STREAMED_H
#define STREAMHOUSE_SYNC_STREAMED_H

#include "postgres.h"

#include "sync/stream.h"

/* Rows of the transaction follow, until streamed_stop. */
extern void streamed_start(SyncStream *stream, const ReorderBufferTXN *transaction);
extern void streamed_stop(SyncStream *stream);

/* The rows that follow belong to this subtransaction, or to the transaction itself. */
extern void streamed_enter(SyncStream *stream, TransactionId xid);

/* Of the one being streamed. */
extern TransactionId streamed_transaction_id(const SyncStream *stream);

/* Its writer for a table. */
extern TableWriter *streamed_writer(SyncStream *stream, SyncTable *table);

/* Count a row that goes there. */
extern void streamed_count(SyncStream *stream, const SyncTable *table, RowKind kind);

/* A transaction or subtransaction was aborted. */
extern void streamed_abort(SyncStream *stream, TransactionId xid);

/* The transaction has committed: its rows go to the tables' writers. */
extern void streamed_commit(SyncStream *stream, const ReorderBufferTXN *transaction);

/* Decode the transaction being streamed as a whole instead; reason: "it ..." */
pg_noreturn extern void streamed_give_up(SyncStream *stream, const char *reason);

/* Memory of all writers of transactions in progress; *largest is set if one has more than it. */
extern Size streamed_memory(const SyncStream *stream, TableWriter **largest);

/* Find out whether transactions may be streamed at all. */
extern void streamed_prepare(SyncStream *stream);

/* May transactions be streamed now, as of a position of decoding? */
extern bool streamed_is_allowed(SyncStream *stream, XLogRecPtr position);

#endif							/* STREAMHOUSE_SYNC_STREAMED_H */
