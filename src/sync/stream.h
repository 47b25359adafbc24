/*
 * stream.h
 *		One sync at work: from decoded transactions to lake snapshots.
 *
 * The plugin's callbacks run inside a transaction that is always aborted, so
 * what they keep lies in the stream's own contexts.  Rows go to the tables'
 * writers (change.c, toast.c); between transactions, when it is time, all
 * tables commit to the lake with the end of the newest transaction as
 * position, and the slot is confirmed (apply.c).  Hence a snapshot never
 * shows half a transaction, and after a crash the lake itself says what it has.
 */
#ifndef STREAMHOUSE_SYNC_STREAM_H
#define STREAMHOUSE_SYNC_STREAM_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "datatype/timestamp.h"
#include "replication/reorderbuffer.h"

#include "sync/monitor.h"
#include "sync/relation_map.h"
#include "sync/sync_catalog.h"

struct RemoteStream;
struct StreamedTransaction;

typedef struct SyncStream
{
	MemoryContext context;		/* all of this, the tables and their writers */
	MemoryContext change_context;	/* reset for each change */
	MemoryContext flush_context;	/* reset for each flush */
	const SyncRecord *sync;
	const SyncMonitor *monitor;
	RelationMap *map;
	XLogRecPtr	visible;		/* all that was committed up to here is in the lake */

	/* Tell the slot that all up to lsn is in the lake; durable: at once. */
	void		(*confirm) (struct SyncStream *stream, XLogRecPtr lsn, bool durable);
	struct RemoteStream *remote;	/* see remote_stream.c; NULL: the source is this server */

	/*
	 * Changes of some table are left out for now: the slot keeps its place, so
	 * that a later start of the stream meets them again.
	 */
	bool		frozen;

	Size		memory_limit;	/* of all writers */
	Size		memory;			/* that they use */

	/* what the next flush will commit */
	bool		pending;		/* some table has rows */
	XLogRecPtr	boundary;		/* end of the newest transaction with rows */
	TimestampTz commit_time;	/* its commit time */
	TimestampTz pending_since;	/* when the oldest one was decoded */
	bool		full;			/* rows should be committed for their number */
	int64		rows_written;	/* committed so far */
	int64		rows_recorded;	/* of these, known to the catalog */
	TimestampTz counts_recorded;	/* when it was told */

	/*
	 * The sync failed before: commit each transaction by itself, so that all
	 * that comes before the one at fault gets into the lake.
	 */
	bool		careful;

	/* being decoded */
	const ReorderBufferTXN *transaction;
	bool		transaction_used;	/* it has rows for us */
	XLogRecPtr	change_lsn;		/* of the change at work on */
	bool		changing;		/* a change is at work, or was when an error that core took care of ended it */

	/* see streamed.h */
	List	   *streamed;		/* StreamedTransaction *: have rows in writers of their own */
	struct StreamedTransaction *in_progress;	/* the one being decoded, or NULL: it has committed */
	bool		never_streamed; /* transactions are decoded as a whole */
	TransactionId whole;		/* none is streamed before this one has ended */
	XLogRecPtr	whole_until;	/* nor before this position */
} SyncStream;

/* Decode this server's WAL and commit until the worker is asked to stop. */
extern void stream_run(SyncStream *stream);

/* The same of another server. */
extern void remote_stream_run(SyncStream *stream);

/* Between transactions: commit to the lake if it is time. */
extern void stream_flush_if_due(SyncStream *stream);

/* How long one may sleep before that, at most so many milliseconds. */
extern long stream_rest(const SyncStream *stream, long milliseconds);

/*
 * Does the lake lack the transaction's changes of a table of the sync?  NULL:
 * it is of no concern.  While a transaction runs its end is not known.
 */
static inline bool
sync_table_is_wanted(const SyncTable *table, const ReorderBufferTXN *transaction)
{
	return table && !table->target->deferred &&
		(XLogRecPtrIsInvalid(transaction->end_lsn) ||
		 (transaction->end_lsn > table->target->applied && transaction->end_lsn > table->record->base));
}

/* apply.c */

/* Append a row to the lake table's writer, or to that of the transaction in progress. */
extern void apply_row(SyncStream *stream, SyncTable *table, RowKind kind, const Scalar *row);

/*
 * Append a row, after the delete of a row whose key it had before (or
 * NULL).  Where deleted rows stay, a row that is deleted is written as it is
 * then, and the one before has been already.
 */
extern void apply_change(SyncStream *stream, SyncTable *table, RowKind kind, const Scalar *old_row, const Scalar *row);

/* Fill in the metadata of a row of the change at work on. */
extern void apply_metadata(const SyncStream *stream, const SyncTable *table, Scalar *row, const char *kind);
/* ERROR, to be followed as a change of columns, when the table is to be copied again instead. */
extern void apply_truncate(SyncStream *stream, SyncTable *table);
extern TableWriter *apply_writer(SyncStream *stream, SyncTarget *target);

/*
 * Leave out the changes of a table and of all others of its lake table, since the last
 * commit, and those to come, until the stream is started again.
 */
extern void apply_defer(SyncStream *stream, SyncTable *table);

/* Add rows that were written to counts; kind: of the change, whatever it is written as. */
extern void apply_count(TableCounts *counts, RowKind kind);
extern void apply_add_counts(TableCounts *counts, const TableCounts *more);

/* Tell the catalog what was written, from time to time, or all of it; outside decoding. */
extern void apply_record_counts(SyncStream *stream, bool all);

/* Commit all pending lake tables at the boundary; outside decoding. */
extern void apply_flush(SyncStream *stream);

/*
 * Sources are about to begin, at a position that is not known yet: a lake table that they share with
 * others must not get past it before, so changes of these are left out.  Before the stream begins.
 */
extern void apply_hold(SyncStream *stream);

/*
 * The newest snapshots of tables whose copy has been finished since show all
 * rows, those of tables that lack rows since do not; before the stream begins.
 */
extern void apply_note_copied(SyncStream *stream);

/* Enough for a writer that commits no rows, bytes. */
#define EMPTY_WRITER_MEMORY (64 * 1024)

/*
 * What a snapshot of the sync carries.  partial: while the table is being copied;
 * shared: it may show rows of several syncs, each as of a position of its own.
 */
extern void apply_commit_info(CommitInfo *info, const SyncRecord *sync, XLogRecPtr lsn, bool partial, bool shared);

/* change.c */
/* Is an update's row replicated before it, and after? */
typedef struct UpdatePassage
{
	bool		before;
	bool		after;
} UpdatePassage;

/* Fill a slot of the relation; true if the filter lets the row pass. */
extern bool change_load(const SyncRelation *source, TupleTableSlot *slot, HeapTuple tuple);

/* Fill both slots; old_tuple is NULL when the WAL has nothing of the old row. */
extern UpdatePassage change_load_update(const SyncRelation *source, HeapTuple old_tuple, HeapTuple new_tuple);

/* ERROR when a delete does not say which row. */
extern void change_require_old_tuple(const SyncTable *table, HeapTuple tuple);

extern void change_apply(SyncStream *stream, SyncRelation *source, Relation relation, const ReorderBufferChange *change);

#endif							/* STREAMHOUSE_SYNC_STREAM_H */
