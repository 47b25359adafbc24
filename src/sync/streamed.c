/*
 * streamed.c
 *		Large transactions that are decoded while they run.
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xlog.h"
#include "storage/procarray.h"
#include "utils/memutils.h"

#include "compat.h"
#include "sync/metadata.h"
#include "sync/streamed.h"
#include "sync/toast.h"

/*
 * Each subtransaction costs a file of its own when rows are written, so that
 * it can be cut off.
 */
#define MAX_SUBTRANSACTIONS 64

/* How far ahead rows are numbered: more rows than are committed meanwhile. */
#define SEQUENCE_LEAD (INT64CONST(1) << 36)

typedef struct StreamedTable
{
	Oid			source;			/* hash key */
	SyncTable  *table;
	TableWriter *writer;
	TableCounts counts;			/* of its rows */
	int			nmarks;
	TableCounts marks[MAX_SUBTRANSACTIONS]; /* counts at the writer's savepoints: the first one's is at 0 */
} StreamedTable;

typedef struct StreamedTransaction
{
	TransactionId xid;
	MemoryContext context;		/* all of it, and its writers */
	int			lane;			/* from 1: others that run have other ones, later ones higher ones */
	HTAB	   *tables;			/* StreamedTable by source */

	TransactionId current;		/* the rows being decoded are this one's, or of this subtransaction */

	/* with rows, in the order of the first one: the n-th one's savepoint is n */
	int			nsubtransactions;
	TransactionId subtransactions[MAX_SUBTRANSACTIONS];
} StreamedTransaction;

void
streamed_give_up(SyncStream *stream, const char *reason)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("transaction %u cannot be streamed while it runs: it %s", stream->in_progress->xid, reason)));
}

static StreamedTransaction *
find_transaction(const SyncStream *stream, TransactionId xid)
{
	ListCell   *cell;

	foreach(cell, stream->streamed)
	{
		StreamedTransaction *streamed = lfirst(cell);

		if (streamed->xid == xid)
			return streamed;
	}
	return NULL;
}

static StreamedTransaction *
add_transaction(SyncStream *stream, TransactionId xid)
{
	MemoryContext context = AllocSetContextCreate(stream->context, "streamhouse streamed transaction",
												  ALLOCSET_SMALL_SIZES);
	StreamedTransaction *streamed = MemoryContextAllocZero(context, sizeof(StreamedTransaction));
	const StreamedTransaction *last = stream->streamed == NIL ? NULL : llast(stream->streamed);
	HASHCTL		control = {0};
	MemoryContext old;

	streamed->xid = xid;
	streamed->context = context;
	streamed->lane = last ? last->lane + 1 : 1;
	control.keysize = sizeof(Oid);
	control.entrysize = sizeof(StreamedTable);
	control.hcxt = context;
	streamed->tables = hash_create("streamhouse streamed tables", 16, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	old = MemoryContextSwitchTo(stream->context);
	stream->streamed = lappend(stream->streamed, streamed);
	MemoryContextSwitchTo(old);
	return streamed;
}

static Size
transaction_memory(const StreamedTransaction *streamed, TableWriter **largest)
{
	HASH_SEQ_STATUS status;
	StreamedTable *entry;
	Size		memory = 0;

	hash_seq_init(&status, streamed->tables);
	while ((entry = hash_seq_search(&status)) != NULL)
	{
		Size		used = table_writer_memory(entry->writer);

		memory += used;
		if (largest && (*largest == NULL || used > table_writer_memory(*largest)))
			*largest = entry->writer;
	}
	return memory;
}

Size
streamed_memory(const SyncStream *stream, TableWriter **largest)
{
	ListCell   *cell;
	Size		memory = 0;

	foreach(cell, stream->streamed)
		memory += transaction_memory(lfirst(cell), largest);
	return memory;
}

/* Its files that no other writer has adopted go, too. */
static void
forget_transaction(SyncStream *stream, StreamedTransaction *streamed)
{
	stream->memory -= transaction_memory(streamed, NULL);
	stream->streamed = list_delete_ptr(stream->streamed, streamed);
	MemoryContextDelete(streamed->context);
}

void
streamed_start(SyncStream *stream, const ReorderBufferTXN *transaction)
{
	stream->transaction = transaction;
	stream->in_progress = find_transaction(stream, transaction->xid);
	if (stream->in_progress == NULL)
		stream->in_progress = add_transaction(stream, transaction->xid);
}

void
streamed_stop(SyncStream *stream)
{
	stream->in_progress = NULL;
}

void
streamed_enter(SyncStream *stream, TransactionId xid)
{
	stream->in_progress->current = xid;
}

TransactionId
streamed_transaction_id(const SyncStream *stream)
{
	return stream->in_progress->xid;
}

/* Have a savepoint before the first row of the current subtransaction. */
static void
note_subtransaction(SyncStream *stream)
{
	StreamedTransaction *streamed = stream->in_progress;
	int			i;

	if (streamed->current == streamed->xid)
		return;
	for (i = streamed->nsubtransactions - 1; i >= 0; i--)
	{
		if (streamed->subtransactions[i] == streamed->current)
			return;
	}
	if (streamed->nsubtransactions == MAX_SUBTRANSACTIONS)
		streamed_give_up(stream, "has many subtransactions");
	streamed->subtransactions[streamed->nsubtransactions++] = streamed->current;
}

static TableWriter *
open_writer(SyncStream *stream, const SyncTable *table)
{
	StreamedTransaction *streamed = stream->in_progress;
	MemoryContext old = MemoryContextSwitchTo(streamed->context);
	TableWriter *writer = table_writer_open(table->lake, stream->memory_limit);

	table_writer_set_sequence_rule(writer, SEQUENCE_ABOVE_BASE);
	table_writer_set_lead(writer, streamed->lane * SEQUENCE_LEAD);
	MemoryContextSwitchTo(old);
	stream->memory += table_writer_memory(writer);
	return writer;
}

TableWriter *
streamed_writer(SyncStream *stream, SyncTable *table)
{
	StreamedTransaction *streamed = stream->in_progress;
	StreamedTable *entry = hash_search(streamed->tables, &table->source, HASH_FIND, NULL);

	if (entry == NULL)
	{
		TableWriter *writer = open_writer(stream, table);

		entry = hash_search(streamed->tables, &table->source, HASH_ENTER, NULL);
		entry->table = table;
		entry->writer = writer;
		entry->nmarks = 0;
		memset(&entry->counts, 0, sizeof(TableCounts));
	}
	note_subtransaction(stream);
	if (streamed->nsubtransactions > 0)
		table_writer_savepoint(entry->writer, streamed->nsubtransactions);
	while (entry->nmarks < streamed->nsubtransactions)
		entry->marks[entry->nmarks++] = entry->counts;
	return entry->writer;
}

void
streamed_count(SyncStream *stream, const SyncTable *table, RowKind kind)
{
	StreamedTable *entry = hash_search(stream->in_progress->tables, &table->source, HASH_FIND, NULL);

	apply_count(&entry->counts, kind);
}

/* Cut off the rows of the n-th subtransaction, and of those after it, which were within it. */
static void
roll_back(SyncStream *stream, StreamedTransaction *streamed, int n)
{
	HASH_SEQ_STATUS status;
	StreamedTable *entry;

	stream->memory -= transaction_memory(streamed, NULL);
	hash_seq_init(&status, streamed->tables);
	while ((entry = hash_seq_search(&status)) != NULL)
	{
		table_writer_rollback(entry->writer, n + 1);
		if (entry->nmarks > n)
			entry->counts = entry->marks[n];
		entry->nmarks = Min(entry->nmarks, n);
	}
	streamed->nsubtransactions = n;
	stream->memory += transaction_memory(streamed, NULL);
}

static bool
roll_back_if_within(SyncStream *stream, StreamedTransaction *streamed, TransactionId xid)
{
	int			i;

	for (i = 0; i < streamed->nsubtransactions; i++)
	{
		if (streamed->subtransactions[i] == xid)
		{
			roll_back(stream, streamed, i);
			return true;
		}
	}
	return false;
}

void
streamed_abort(SyncStream *stream, TransactionId xid)
{
	StreamedTransaction *streamed = find_transaction(stream, xid);
	ListCell   *cell;

	if (streamed)
	{
		forget_transaction(stream, streamed);
		return;
	}
	foreach(cell, stream->streamed)
	{
		if (roll_back_if_within(stream, lfirst(cell), xid))
			break;
	}
}

/*
 * Rows of earlier transactions that wait for values go first.  The lake may
 * have the table's rows already, or the table may have been set aside meanwhile.
 */
static void
hand_over(SyncStream *stream, StreamedTable *entry, const ReorderBufferTXN *transaction)
{
	SyncTable  *table = entry->table;
	SyncTarget *target = table->target;
	int64		rows = table_writer_total_rows(entry->writer);
	TableWriter *writer;

	if (rows == 0 || !sync_table_is_wanted(table, transaction))
		return;
	toast_queue_resolve(stream, target);
	if (target->deferred)
		return;
	writer = apply_writer(stream, target);
	stream->memory -= table_writer_memory(writer);
	table_writer_adopt(writer, entry->writer);
	stream->memory += table_writer_memory(writer);
	target->pending = true;
	target->pending_rows += rows;
	apply_add_counts(&table->pending, &entry->counts);
	stream->transaction_used = true;
}

void
streamed_commit(SyncStream *stream, const ReorderBufferTXN *transaction)
{
	StreamedTransaction *streamed = find_transaction(stream, transaction->xid);
	HASH_SEQ_STATUS status;
	StreamedTable *entry;

	stream->transaction_used = false;
	if (streamed == NULL)
		return;
	stream->memory -= transaction_memory(streamed, NULL);
	hash_seq_init(&status, streamed->tables);
	while ((entry = hash_seq_search(&status)) != NULL)
		hand_over(stream, entry, transaction);
	stream->memory += transaction_memory(streamed, NULL);
	forget_transaction(stream, streamed);
}

/* What rows tell of their transaction may be known only at its end. */
static bool
tells_of_end(const SyncTableRecord *record)
{
	int			i;

	for (i = 0; i < record->nmetadata; i++)
	{
		if (record->metadata[i] == METADATA_COMMIT_LSN || record->metadata[i] == METADATA_COMMIT_TIME)
			return true;
	}
	return false;
}

void
streamed_prepare(SyncStream *stream)
{
	ListCell   *cell;

	foreach(cell, stream->sync->tables)
		stream->never_streamed |= tells_of_end(lfirst(cell));
	foreach(cell, stream->sync->message_tables)
		stream->never_streamed |= tells_of_end(lfirst(cell));
}

/*
 * Not the transaction that was given up, nor others beside it; and not while
 * each transaction is to be committed by itself.
 */
bool
streamed_is_allowed(SyncStream *stream, XLogRecPtr position)
{
	if (TransactionIdIsValid(stream->whole) && !TransactionIdIsInProgress(stream->whole))
	{
		stream->whole = InvalidTransactionId;
		stream->whole_until = GetXLogInsertRecPtr();
	}
	return !TransactionIdIsValid(stream->whole) && position >= stream->whole_until &&
		!stream->careful && !stream->never_streamed;
}
