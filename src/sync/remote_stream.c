/*
 * remote_stream.c
 *		The loop of a sync worker whose source is another server: receive, apply,
 *		commit to the lake in time.
 *
 * That server decodes its WAL itself (pgoutput) and sends transactions when
 * they have committed, large ones in blocks while they run (streamed.h).  Their rows become tuples of the mirrors, and go the
 * way of decoded ones (transaction.h).  What the lake has is told to the
 * server, so that it moves the slot; it may send transactions again, which the
 * tables know by their end.  Where a transaction ends is known at its end only: until then
 * its end counts as right behind the start of its commit record, which is not before
 * the end of any earlier one.
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "replication/logicalproto.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "sync/message_table.h"
#include "sync/remote_relation.h"
#include "sync/remote_slot.h"
#include "sync/streamed.h"
#include "sync/table_message.h"
#include "sync/transaction.h"

#define FIRST_WITH_STREAMING 140000

#define LONGEST_SLEEP_MS 100
#define TELL_INTERVAL_MS 1000	/* how far we are */
#define SILENCE_LIMIT_MS 600000	/* a server that decodes may be silent; one that does not answer at all is noticed by its session */
#define SLOT_IN_USE_LIMIT_MS 30000
#define MESSAGES_BETWEEN_LOOKS 1024
#define WAL_HEADER_LENGTH 25	/* kind, start, end, time */
#define MESSAGE_TRANSACTIONAL 1 /* flag of a logical message */

typedef struct RemoteStream
{
	RemoteConnection *connection;
	bool		streams;		/* large transactions while they run */
	RemoteRelations *relations;
	XLogRecPtr	received;		/* all that was committed up to here has come */
	XLogRecPtr	confirmed;		/* and is in the lake, for the server to know */
	XLogRecPtr	source_end;		/* of the source's WAL, when it was looked at last */
	TimestampTz heard_at;		/* of the server */
	TimestampTz told_at;
	TimestampTz looked_at;
	bool		asked;			/* for an answer that has not come */
	bool		in_transaction; /* of the source, or in a block of one that runs */
	TransactionId block;		/* of which that is; invalid: it has committed */
	ReorderBufferTXN *transaction;
	bool		in_local_transaction;
	ResourceOwner owner;
} RemoteStream;

/* ---- a transaction here, while one of the source needs the catalogs ---- */

static void
begin_local(SyncStream *stream)
{
	RemoteStream *remote = stream->remote;

	if (remote->in_local_transaction)
		return;
	remote->owner = CurrentResourceOwner;
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	MemoryContextSwitchTo(stream->context);
	remote->in_local_transaction = true;
}

static void
end_local(SyncStream *stream)
{
	RemoteStream *remote = stream->remote;

	if (!remote->in_local_transaction)
		return;
	PopActiveSnapshot();
	CommitTransactionCommand();
	MemoryContextSwitchTo(stream->context);
	CurrentResourceOwner = remote->owner;
	remote->in_local_transaction = false;
}

/* ---- changes ---- */

/* Does the lake lack changes of it that this transaction makes? */
static bool
relation_is_wanted(SyncStream *stream, const RemoteRelation *relation)
{
	return relation->record &&
		sync_table_is_wanted(hash_search(stream->map->tables, &relation->record->source, HASH_FIND, NULL), stream->transaction);
}

/* The tuples of a change. */
static void
read_change(char kind, StringInfo in, const RemoteRelation *relation, Relation mirror, ReorderBufferChange *change)
{
	LogicalRepTupleData old_row;
	LogicalRepTupleData new_row;
	bool		has_old = kind == LOGICAL_REP_MSG_DELETE;

	if (kind == LOGICAL_REP_MSG_INSERT)
	{
		change->action = REORDER_BUFFER_CHANGE_INSERT;
		(void) logicalrep_read_insert(in, &new_row);
	}
	else if (kind == LOGICAL_REP_MSG_UPDATE)
	{
		change->action = REORDER_BUFFER_CHANGE_UPDATE;
		(void) logicalrep_read_update(in, &has_old, &old_row, &new_row);
	}
	else
	{
		change->action = REORDER_BUFFER_CHANGE_DELETE;
		(void) logicalrep_read_delete(in, &old_row);
	}
	compat_set_tuples(change, has_old ? remote_relation_row(relation, mirror, &old_row) : NULL,
					  kind != LOGICAL_REP_MSG_DELETE ? remote_relation_row(relation, mirror, &new_row) : NULL);
}

/*
 * Changes in a block begin with the number of their subtransaction, or of the transaction itself.  An error
 * until streamed_stop is met again when the transaction has committed (sync_worker.c).
 */
static void
enter_block(SyncStream *stream, StringInfo in)
{
	RemoteStream *remote = stream->remote;

	if (!TransactionIdIsValid(remote->block))
		return;
	streamed_start(stream, remote->transaction);
	streamed_enter(stream, pq_getmsgint(in, 4));
}

/* The number of the relation comes first; what is not wanted is not read further. */
static void
receive_change(SyncStream *stream, char kind, StringInfo in, XLogRecPtr lsn)
{
	RemoteStream *remote = stream->remote;
	StringInfoData prefix = *in;
	RemoteRelation *relation = remote_relation_find(remote->relations, remote->block, pq_getmsgint(&prefix, 4));
	Relation	mirror;
	MemoryContext old;
	ReorderBufferChange change = {.lsn = lsn};

	if (!relation_is_wanted(stream, relation))
		return;
	begin_local(stream);
	old = MemoryContextSwitchTo(stream->change_context);
	mirror = remote_relation_open(stream, relation, lsn);
	read_change(kind, in, relation, mirror, &change);
	transaction_change(stream, mirror, &change);
	RelationClose(mirror);
	MemoryContextSwitchTo(old);
}

static void
receive_truncate(SyncStream *stream, StringInfo in, XLogRecPtr lsn)
{
	RemoteStream *remote = stream->remote;
	MemoryContext old = MemoryContextSwitchTo(stream->flush_context);
	ReorderBufferChange change = {.action = REORDER_BUFFER_CHANGE_TRUNCATE, .lsn = lsn};
	bool		cascade;
	bool		restart;
	List	   *relids = logicalrep_read_truncate(in, &cascade, &restart);
	Relation   *mirrors = palloc(sizeof(Relation) * Max(list_length(relids), 1));
	int			nmirrors = 0;
	ListCell   *cell;
	int			i;

	begin_local(stream);
	foreach(cell, relids)
	{
		RemoteRelation *relation = remote_relation_find(remote->relations, remote->block, lfirst_oid(cell));

		if (!relation_is_wanted(stream, relation))
			continue;
		if (stream->in_progress)
			streamed_give_up(stream, "truncates a table");
		mirrors[nmirrors++] = remote_relation_open(stream, relation, lsn);
	}
	transaction_truncate(stream, nmirrors, mirrors, &change);
	for (i = 0; i < nmirrors; i++)
		RelationClose(mirrors[i]);
	MemoryContextSwitchTo(old);
	MemoryContextReset(stream->flush_context);
}

/*
 * A logical message, of the transaction or of none.  Its position is the end of its record, where that of a
 * commit may begin.  What a source with the extension says of its tables is for itself.
 */
static void
receive_logical_message(SyncStream *stream, StringInfo in)
{
	bool		transactional = (pq_getmsgbyte(in) & MESSAGE_TRANSACTIONAL) != 0;
	XLogRecPtr	lsn = pq_getmsgint64(in);
	const char *prefix = pq_getmsgstring(in);
	int			length = pq_getmsgint(in, 4);
	BytesView	content = {pq_getmsgbytes(in, length), length};
	MemoryContext old;

	if (strcmp(prefix, TABLE_MESSAGE_PREFIX) == 0)
		return;
	begin_local(stream);
	old = transaction_enter_change(stream);
	message_table_take(stream, transactional ? stream->remote->transaction : NULL, lsn, lsn, prefix, content);
	transaction_leave_change(stream, old);
	if (transactional)
		return;
	end_local(stream);
	stream->remote->received = Max(stream->remote->received, lsn);
}

/* What is done within a transaction. */
static void
receive_within(SyncStream *stream, char kind, StringInfo in, XLogRecPtr lsn)
{
	RemoteStream *remote = stream->remote;

	enter_block(stream, in);
	switch (kind)
	{
		case LOGICAL_REP_MSG_RELATION:
			remote_relation_describe(remote->relations, stream->sync, remote->block, in);
			break;
		case LOGICAL_REP_MSG_INSERT:
		case LOGICAL_REP_MSG_UPDATE:
		case LOGICAL_REP_MSG_DELETE:
			receive_change(stream, kind, in, lsn);
			break;
		case LOGICAL_REP_MSG_TRUNCATE:
			receive_truncate(stream, in, lsn);
			break;
		case LOGICAL_REP_MSG_MESSAGE:
			receive_logical_message(stream, in);
			break;
		case LOGICAL_REP_MSG_TYPE:
		case LOGICAL_REP_MSG_ORIGIN:
			break;
		default:
			remote_raise_damaged(psprintf("a message of kind \"%c\"", kind));
	}
	streamed_stop(stream);
}

/* ---- transactions ---- */

static void
set_transaction(RemoteStream *remote, TransactionId xid, XLogRecPtr final_lsn, XLogRecPtr end_lsn, TimestampTz commit_time)
{
	remote->transaction->xid = xid;
	remote->transaction->final_lsn = final_lsn;
	remote->transaction->end_lsn = end_lsn;
	remote->transaction->xact_time.commit_time = commit_time;
}

static void
receive_begin(SyncStream *stream, StringInfo in)
{
	RemoteStream *remote = stream->remote;
	LogicalRepBeginData begin;

	logicalrep_read_begin(in, &begin);
	remote->in_transaction = true;
	set_transaction(remote, begin.xid, begin.final_lsn, begin.final_lsn + 1, begin.committime);
	transaction_begin(stream, remote->transaction);
}

/* All that has been committed up to here has come. */
static void
end_transaction(SyncStream *stream, XLogRecPtr end)
{
	RemoteStream *remote = stream->remote;

	transaction_commit(stream, remote->transaction);
	end_local(stream);
	remote->in_transaction = false;
	remote->received = Max(remote->received, end);
}

static void
receive_commit(SyncStream *stream, StringInfo in)
{
	LogicalRepCommitData commit;

	logicalrep_read_commit(in, &commit);
	stream->remote->transaction->end_lsn = commit.end_lsn;
	end_transaction(stream, commit.end_lsn);
}

/* A block of a transaction that runs: its end is not known. */
static void
receive_stream_start(SyncStream *stream, StringInfo in)
{
	RemoteStream *remote = stream->remote;
	bool		is_first;

	remote->block = logicalrep_read_stream_start(in, &is_first);
	if (!TransactionIdIsValid(remote->block))
		remote_raise_damaged("a block of no transaction");
	remote->in_transaction = true;
	set_transaction(remote, remote->block, InvalidXLogRecPtr, InvalidXLogRecPtr, 0);
	stream->transaction = remote->transaction;
}

static void
receive_stream_stop(SyncStream *stream)
{
	end_local(stream);
	stream->remote->block = InvalidTransactionId;
	stream->remote->in_transaction = false;
}

static void
receive_stream_commit(SyncStream *stream, StringInfo in)
{
	RemoteStream *remote = stream->remote;
	LogicalRepCommitData commit;
	TransactionId xid = logicalrep_read_stream_commit(in, &commit);
	MemoryContext old;

	set_transaction(remote, xid, commit.commit_lsn, commit.end_lsn, commit.committime);
	begin_local(stream);
	transaction_begin(stream, remote->transaction);
	old = transaction_enter_change(stream);
	streamed_commit(stream, remote->transaction);
	transaction_leave_change(stream, old);
	end_transaction(stream, commit.end_lsn);
	remote_relations_end(remote->relations, xid, true);
}

static void
receive_stream_abort(SyncStream *stream, StringInfo in)
{
	TransactionId xid = pq_getmsgint(in, 4);
	TransactionId subxid = pq_getmsgint(in, 4);

	streamed_abort(stream, subxid);
	if (subxid == xid)
		remote_relations_end(stream->remote->relations, xid, false);
}

/* Messages that stand between transactions; others are of one. */
static bool
stands_between(char kind, const StringInfo in)
{
	if (kind == LOGICAL_REP_MSG_MESSAGE)
		return in->cursor < in->len && (in->data[in->cursor] & MESSAGE_TRANSACTIONAL) == 0;
	return kind == LOGICAL_REP_MSG_BEGIN || kind == LOGICAL_REP_MSG_STREAM_START ||
		kind == LOGICAL_REP_MSG_STREAM_COMMIT || kind == LOGICAL_REP_MSG_STREAM_ABORT;
}

/* A message of pgoutput. */
static void
receive_message(SyncStream *stream, StringInfo in, XLogRecPtr lsn)
{
	char		kind = pq_getmsgbyte(in);

	if (stands_between(kind, in) == stream->remote->in_transaction)
		remote_raise_damaged(stream->remote->in_transaction ? "a transaction within another" : "a change outside of a transaction");
	switch (kind)
	{
		case LOGICAL_REP_MSG_BEGIN:
			receive_begin(stream, in);
			break;
		case LOGICAL_REP_MSG_COMMIT:
			receive_commit(stream, in);
			break;
		case LOGICAL_REP_MSG_STREAM_START:
			receive_stream_start(stream, in);
			break;
		case LOGICAL_REP_MSG_STREAM_STOP:
			receive_stream_stop(stream);
			break;
		case LOGICAL_REP_MSG_STREAM_COMMIT:
			receive_stream_commit(stream, in);
			break;
		case LOGICAL_REP_MSG_STREAM_ABORT:
			receive_stream_abort(stream, in);
			break;
		default:
			receive_within(stream, kind, in, lsn);
	}
}

/* ---- talking with the server ---- */

/* How far we are: what has come, and what is in the lake. */
static void
tell(SyncStream *stream, bool ask)
{
	RemoteStream *remote = stream->remote;
	StringInfoData message;
	MemoryContext old = MemoryContextSwitchTo(stream->flush_context);

	remote->told_at = GetCurrentTimestamp();
	remote->asked |= ask;
	initStringInfo(&message);
	pq_sendbyte(&message, 'r');
	pq_sendint64(&message, Max(remote->received, remote->confirmed));
	pq_sendint64(&message, remote->confirmed);
	pq_sendint64(&message, remote->confirmed);
	pq_sendint64(&message, remote->told_at);
	pq_sendbyte(&message, ask);
	remote_copy_send(remote->connection, message.data, message.len);
	pfree(message.data);
	MemoryContextSwitchTo(old);
}

static void
confirm(SyncStream *stream, XLogRecPtr lsn, bool durable)
{
	stream->remote->confirmed = Max(stream->remote->confirmed, lsn);
	tell(stream, false);
}

/* Between transactions all that was committed up to the position of a sign of life has come. */
static void
receive_sign_of_life(SyncStream *stream, StringInfo in)
{
	RemoteStream *remote = stream->remote;
	XLogRecPtr	position = pq_getmsgint64(in);

	(void) pq_getmsgint64(in);
	remote->asked = false;
	if (!remote->in_transaction)
		remote->received = Max(remote->received, position);
	if (pq_getmsgbyte(in))
		tell(stream, false);
}

static void
receive(SyncStream *stream, char *data, int length)
{
	StringInfoData in = {.data = data, .len = length, .maxlen = length};
	XLogRecPtr	lsn;

	switch (pq_getmsgbyte(&in))
	{
		case 'w':
			lsn = pq_getmsgint64(&in);
			if (length <= WAL_HEADER_LENGTH)
				remote_raise_damaged("a message without content");
			in = (StringInfoData) {.data = data + WAL_HEADER_LENGTH, .len = length - WAL_HEADER_LENGTH,
				.maxlen = length - WAL_HEADER_LENGTH};
			receive_message(stream, &in, lsn);
			break;
		case 'k':
			receive_sign_of_life(stream, &in);
			break;
		default:
			remote_raise_damaged("a message of an unknown kind");
	}
}

/* Take what has come, for a while; true if there was anything. */
static bool
receive_available(SyncStream *stream)
{
	RemoteStream *remote = stream->remote;
	int			messages = 0;
	char	   *data;
	int			length;

	while (messages < MESSAGES_BETWEEN_LOOKS && (length = remote_copy_next(remote->connection, false, &data)) != 0)
	{
		if (length < 0)
			ereport(ERROR,
					(errcode(ERRCODE_CONNECTION_FAILURE),
					 errmsg("the source %s has ended the replication", stream->sync->remote)));
		receive(stream, data, length);
		messages++;
		if (!remote->in_transaction)
			stream_flush_if_due(stream);
		CHECK_FOR_INTERRUPTS();
	}
	if (messages > 0)
		remote->heard_at = GetCurrentTimestamp();
	else if (TimestampDifferenceExceeds(remote->heard_at, GetCurrentTimestamp(), SILENCE_LIMIT_MS))
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("the source %s does not answer any more", stream->sync->remote)));
	return messages > 0;
}

/*
 * A transaction that could not be streamed: has it ended, and come whole?  Those that run are
 * not before the oldest one that does.
 */
static void
look_for_whole(SyncStream *stream, RemoteConnection *session)
{
	if (!TransactionIdIsValid(stream->whole))
		return;
	if (XLogRecPtrIsInvalid(stream->whole_until) && TransactionIdPrecedes(stream->whole, remote_oldest_transaction(session)))
		stream->whole_until = remote_slot_look(session, stream->sync->slot).source_end;
	if (!XLogRecPtrIsInvalid(stream->whole_until) && stream->remote->confirmed >= stream->whole_until)
		stream->whole = InvalidTransactionId;
}

/* What is known of the source by looking: how far it is, and what it keeps for the slot. */
static void
look(SyncStream *stream)
{
	RemoteStream *remote = stream->remote;
	TimestampTz now = GetCurrentTimestamp();
	RemoteConnection *session;
	MemoryContext old;
	RemoteSlot	slot;

	if (!stream->monitor->position_wanted() &&
		!TimestampDifferenceExceeds(remote->looked_at, now, TELL_INTERVAL_MS))
		return;
	old = MemoryContextSwitchTo(stream->flush_context);
	session = remote_session(stream->sync);
	slot = remote_slot_look(session, stream->sync->slot);
	look_for_whole(stream, session);
	MemoryContextSwitchTo(old);
	MemoryContextReset(stream->flush_context);
	remote->looked_at = now;
	remote->source_end = slot.source_end;
	stream->monitor->source_position(now, slot.source_end, slot.restart_lsn);
}

/* ---- beginning ---- */

/* Who received from the slot before may not have noticed yet that nobody is there any more. */
static RemoteSlot
wait_for_slot(SyncStream *stream, RemoteConnection *session)
{
	TimestampTz start = GetCurrentTimestamp();
	RemoteSlot	slot = remote_slot_look(session, stream->sync->slot);

	while (slot.active && stream->monitor->wanted())
	{
		if (TimestampDifferenceExceeds(start, GetCurrentTimestamp(), SLOT_IN_USE_LIMIT_MS))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_IN_USE),
					 errmsg("replication slot \"%s\" of the source %s is in use", stream->sync->slot, stream->sync->remote)));
		remote_wait(session, LONGEST_SLEEP_MS);
		slot = remote_slot_look(session, stream->sync->slot);
	}
	return slot;
}

static bool
may_stream(const SyncStream *stream)
{
	return remote_version(stream->remote->connection) >= FIRST_WITH_STREAMING &&
		!stream->careful && !stream->never_streamed && !TransactionIdIsValid(stream->whole);
}

/* A name within a string, as commands of replication have strings. */
static char *
publication_literal(const char *publication)
{
	StringInfoData literal;
	const char *c;

	initStringInfo(&literal);
	appendStringInfoChar(&literal, '\'');
	for (c = quote_identifier(publication); *c; c++)
		appendStringInfo(&literal, *c == '\'' ? "''" : "%c", *c);
	appendStringInfoChar(&literal, '\'');
	return literal.data;
}

/* False when the sync is to stop meanwhile. */
static bool
begin_replication(SyncStream *stream)
{
	RemoteStream *remote = stream->remote;
	RemoteSlot	slot = wait_for_slot(stream, remote_session(stream->sync));

	if (!stream->monitor->wanted())
		return false;
	remote->source_end = slot.source_end;
	remote->received = Max(remote->received, slot.confirmed_lsn);
	remote->confirmed = Max(remote->confirmed, slot.confirmed_lsn);
	stream->visible = Max(stream->visible, slot.confirmed_lsn);
	stream->monitor->reached(stream->visible, 0);
	remote->connection = remote_connect(stream->sync, true);
	remote->streams = may_stream(stream);
	remote_copy_begin(remote->connection,
					  psprintf("START_REPLICATION SLOT %s LOGICAL 0/0 (proto_version '%d', publication_names %s%s%s)",
							   quote_identifier(stream->sync->slot), remote->streams ? 2 : 1,
							   publication_literal(stream->sync->publication), remote->streams ? ", streaming 'on'" : "",
							   stream->sync->message_tables != NIL ? ", messages 'true'" : ""));
	remote->asked = false;
	remote->heard_at = GetCurrentTimestamp();
	return true;
}

static void
end_replication(SyncStream *stream)
{
	if (stream->remote->connection)
		remote_close(stream->remote->connection);
	stream->remote->connection = NULL;
}

/* ---- the loop ---- */

/* Nothing waits to be committed: all that has come is in the lake. */
static void
confirm_received(SyncStream *stream)
{
	RemoteStream *remote = stream->remote;

	if (remote->received > stream->visible)
	{
		stream->visible = remote->received;
		stream->monitor->reached(stream->visible, 0);
	}
	if (stream->visible >= remote->source_end)
	{
		stream->monitor->healthy();
		stream->careful = false;
	}
	if (!stream->frozen)
		remote->confirmed = Max(remote->confirmed, remote->received);
}

static void
work(SyncStream *stream)
{
	bool		awaited = stream->monitor->flush_request() > stream->visible;

	if (!stream->remote->in_transaction)
	{
		if (stream->pending && awaited)
			apply_flush(stream);
		stream_flush_if_due(stream);
		if (!stream->pending)
		{
			confirm_received(stream);
			apply_record_counts(stream, false);
		}
	}
	look(stream);
	if ((awaited && !stream->remote->asked) ||
		TimestampDifferenceExceeds(stream->remote->told_at, GetCurrentTimestamp(), TELL_INTERVAL_MS))
		tell(stream, true);
}

/* Transactions may be streamed that could not be before: the source is to begin anew where the lake is. */
static bool
is_to_begin_anew(const SyncStream *stream)
{
	const RemoteStream *remote = stream->remote;

	return !remote->streams && !remote->in_transaction && !stream->pending && may_stream(stream);
}

static void
start(SyncStream *stream)
{
	RemoteStream *remote = palloc0(sizeof(RemoteStream));

	stream->remote = remote;
	stream->confirm = confirm;
	streamed_prepare(stream);
	remote->relations = remote_relations_create(stream->context);
	remote->transaction = palloc0(sizeof(ReorderBufferTXN));
}

void
remote_stream_run(SyncStream *stream)
{
	RemoteStream *remote;

	start(stream);
	remote = stream->remote;
	while (stream->monitor->wanted())
	{
		bool		active;

		if (remote->connection == NULL && !begin_replication(stream))
			break;
		active = receive_available(stream);
		work(stream);
		if (is_to_begin_anew(stream))
			end_replication(stream);
		else if (!active)
			remote_wait(remote->connection, Max(stream_rest(stream, LONGEST_SLEEP_MS), 1));
		CHECK_FOR_INTERRUPTS();
	}

	/* rows of a transaction that has not come whole go with the writers */
	if (stream->pending && !remote->in_transaction)
		apply_flush(stream);
	end_local(stream);
	end_replication(stream);
	apply_record_counts(stream, true);
}
