/*
 * remote_stream.c
 *		The loop of a sync worker whose source is another server: receive, apply,
 *		commit to the lake in time.
 *
 * That server decodes its WAL itself (pgoutput) and sends transactions when
 * they have committed.  Their rows become tuples of the mirrors, and go the
 * way of decoded ones (transaction.h).  What the lake has is told to the
 * server, so that it moves the slot; it may send transactions again, which the
 * tables know by their end.  Where a transaction ends is known at its end only: until then
 * its end counts as right behind the start of its commit record, which is not before
 * the end of any earlier one.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "replication/logicalproto.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "sync/mirror.h"
#include "sync/remote_slot.h"
#include "sync/transaction.h"

#define LONGEST_SLEEP_MS 100
#define TELL_INTERVAL_MS 1000	/* how far we are */
#define SILENCE_LIMIT_MS 600000	/* a server that is busy may be silent; one that is gone is noticed by TCP */
#define SLOT_IN_USE_LIMIT_MS 30000
#define MESSAGES_BETWEEN_LOOKS 1024
#define WAL_HEADER_LENGTH 25	/* kind, start, end, time */

/* Of a column of the mirror. */
typedef struct ColumnInput
{
	AttrNumber	number;
	MirrorInput input;
	bool		varlena;
} ColumnInput;

/* A relation of the source, as it was described last. */
typedef struct RemoteRelation
{
	Oid			relid;			/* hash key: its number there */
	MemoryContext context;		/* of the rest */
	const SyncTableRecord *record;	/* NULL: of no concern */
	RemoteLayout layout;
	bool		matched;		/* with the mirror as it is now */
	ColumnInput *inputs;		/* by column of the layout */
} RemoteRelation;

typedef struct RemoteStream
{
	RemoteConnection *connection;
	HTAB	   *relations;
	XLogRecPtr	received;		/* all that was committed up to here has come */
	XLogRecPtr	confirmed;		/* and is in the lake, for the server to know */
	XLogRecPtr	source_end;		/* of the source's WAL, when it was looked at last */
	TimestampTz heard_at;		/* of the server */
	TimestampTz told_at;
	TimestampTz looked_at;
	bool		asked;			/* for an answer that has not come */
	bool		in_transaction; /* of the source */
	ReorderBufferTXN *transaction;
	bool		in_local_transaction;
	ResourceOwner owner;
} RemoteStream;

static RemoteStream *current = NULL;	/* the one of this process, for invalidations */

pg_noreturn static void
raise_damaged(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROTOCOL_VIOLATION),
			 errmsg("the source does not send what it should: %s", what)));
}

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

/* ---- relations ---- */

static void
invalidate_relation(Datum arg, Oid relid)
{
	HASH_SEQ_STATUS status;
	RemoteRelation *relation;

	if (current == NULL)
		return;
	hash_seq_init(&status, current->relations);
	while ((relation = hash_seq_search(&status)) != NULL)
	{
		if (!OidIsValid(relid) || (relation->record && relation->record->source == relid))
			relation->matched = false;
	}
}

static HTAB *
create_relations(MemoryContext context)
{
	HASHCTL		control = {.keysize = sizeof(Oid), .entrysize = sizeof(RemoteRelation), .hcxt = context};

	return hash_create("streamhouse source relations", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

static const SyncTableRecord *
record_of_relation(const SyncRecord *sync, Oid relid)
{
	ListCell   *cell;

	foreach(cell, sync->tables)
	{
		const SyncTableRecord *record = lfirst(cell);

		if (record->remote_table == relid)
			return record;
	}
	return NULL;
}

static void
read_columns(StringInfo in, RemoteLayout *layout)
{
	int			i;

	layout->ncolumns = pq_getmsgint(in, 2);
	layout->names = palloc0(sizeof(char *) * Max(layout->ncolumns, 1));
	layout->types = palloc0(sizeof(Oid) * Max(layout->ncolumns, 1));
	layout->typmods = palloc0(sizeof(int32) * Max(layout->ncolumns, 1));
	layout->is_key = palloc0(sizeof(bool) * Max(layout->ncolumns, 1));
	for (i = 0; i < layout->ncolumns; i++)
	{
		layout->is_key[i] = (pq_getmsgbyte(in) & 1) != 0;
		layout->names[i] = pstrdup(pq_getmsgstring(in));
		layout->types[i] = pq_getmsgint(in, 4);
		layout->typmods[i] = (int32) pq_getmsgint(in, 4);
	}
}

/* What is described here holds for the rows that follow. */
static void
receive_relation(SyncStream *stream, StringInfo in)
{
	Oid			relid = pq_getmsgint(in, 4);
	bool		found;
	RemoteRelation *relation = hash_search(stream->remote->relations, &relid, HASH_ENTER, &found);
	MemoryContext old;

	if (found)
		MemoryContextReset(relation->context);
	else
		relation->context = AllocSetContextCreate(stream->context, "streamhouse source relation", ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(relation->context);
	relation->record = record_of_relation(stream->sync, relid);
	relation->matched = false;
	(void) pq_getmsgstring(in);	/* its schema and its name */
	(void) pq_getmsgstring(in);
	relation->layout.identity = pq_getmsgbyte(in);
	read_columns(in, &relation->layout);
	MemoryContextSwitchTo(old);
}

static RemoteRelation *
find_relation(SyncStream *stream, Oid relid)
{
	RemoteRelation *relation = hash_search(stream->remote->relations, &relid, HASH_FIND, NULL);

	if (relation == NULL)
		raise_damaged("a change of a table that it has not described");
	return relation;
}

/* Does the lake lack changes of it that this transaction makes? */
static bool
relation_is_wanted(SyncStream *stream, const RemoteRelation *relation)
{
	return relation->record &&
		sync_table_is_wanted(hash_search(stream->map->tables, &relation->record->source, HASH_FIND, NULL), stream->transaction);
}

static Relation
open_mirror(const RemoteRelation *relation)
{
	Relation	mirror = RelationIdGetRelation(relation->record->source);

	if (!RelationIsValid(mirror))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("the mirror of table \"%s\" does not exist any more", relation->record->source_name),
				 errhint("Drop the sync and its lake tables, and create the sync again.")));
	return mirror;
}

/* ---- rows ---- */

pg_noreturn static void
raise_mirror_change(SyncStream *stream, const RemoteRelation *relation, XLogRecPtr lsn)
{
	MemoryContext old = MemoryContextSwitchTo(stream->context);
	ColumnChange *change = column_change_make(relation->record, CHANGE_MIRROR, "Columns have changed at the source.");

	MemoryContextSwitchTo(old);
	change->layout = &relation->layout;
	relation_map_raise(stream->map, change, lsn);
}

/* Before its first row as it is described, and whenever the mirror may be another one. */
static void
match_relation(SyncStream *stream, RemoteRelation *relation, Relation mirror, XLogRecPtr lsn)
{
	int			ncolumns = relation->layout.ncolumns;
	AttrNumber *numbers = palloc(sizeof(AttrNumber) * Max(ncolumns, 1));
	MemoryContext old;
	int			i;

	if (relation->matched)
		return;
	relation->matched = true;	/* first, for it may become invalid meanwhile */
	if (!mirror_match(relation->record, mirror, &relation->layout, numbers))
		raise_mirror_change(stream, relation, lsn);
	old = MemoryContextSwitchTo(relation->context);
	relation->inputs = palloc0(sizeof(ColumnInput) * Max(ncolumns, 1));
	for (i = 0; i < ncolumns; i++)
	{
		ColumnInput *input = &relation->inputs[i];
		Form_pg_attribute column = TupleDescAttr(RelationGetDescr(mirror), numbers[i] - 1);

		mirror_input_prepare(&input->input, column, relation->context);
		input->number = numbers[i];
		input->varlena = column->attlen == -1;
	}
	MemoryContextSwitchTo(old);
}

/*
 * A large value that was left unchanged is not sent; decoded rows have a
 * pointer in its place, which is never followed (decoded_row.h).
 */
static Datum
unchanged_value(void)
{
	char	   *pointer = palloc0(TOAST_POINTER_SIZE);

	SET_VARTAG_EXTERNAL(pointer, VARTAG_ONDISK);
	return PointerGetDatum(pointer);
}

static Datum
read_value(ColumnInput *input, char status, const StringInfo value)
{
	if (status == LOGICALREP_COLUMN_TEXT)
		return mirror_input_value(&input->input, value->data);
	if (status != LOGICALREP_COLUMN_UNCHANGED || !input->varlena)
		raise_damaged("a value of an unknown kind");
	return unchanged_value();
}

typedef struct ColumnContext
{
	const RemoteRelation *relation;
	int			column;
} ColumnContext;

static void
value_error_context(void *arg)
{
	const ColumnContext *context = arg;

	errcontext("value of column \"%s\" of table \"%s\" from the source",
			   context->relation->layout.names[context->column], context->relation->record->source_name);
}

static HeapTuple
form_tuple(const RemoteRelation *relation, Relation mirror, const LogicalRepTupleData *data)
{
	TupleDesc	desc = RelationGetDescr(mirror);
	Datum	   *values = palloc0(sizeof(Datum) * desc->natts);
	bool	   *nulls = palloc(sizeof(bool) * desc->natts);
	ColumnContext context = {.relation = relation};
	ErrorContextCallback callback = {.previous = error_context_stack, .callback = value_error_context, .arg = &context};

	if (data->ncols != relation->layout.ncolumns)
		raise_damaged("a row of other columns than its table");
	memset(nulls, true, sizeof(bool) * desc->natts);
	error_context_stack = &callback;
	for (context.column = 0; context.column < data->ncols; context.column++)
	{
		ColumnInput *input = &relation->inputs[context.column];
		char		status = data->colstatus[context.column];

		if (status == LOGICALREP_COLUMN_NULL)
			continue;
		nulls[input->number - 1] = false;
		values[input->number - 1] = read_value(input, status, &data->colvalues[context.column]);
	}
	error_context_stack = callback.previous;
	return heap_form_tuple(desc, values, nulls);
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
	compat_set_tuples(change, has_old ? form_tuple(relation, mirror, &old_row) : NULL,
					  kind != LOGICAL_REP_MSG_DELETE ? form_tuple(relation, mirror, &new_row) : NULL);
}

/* The number of the relation comes first; what is not wanted is not read further. */
static void
receive_change(SyncStream *stream, char kind, StringInfo in, XLogRecPtr lsn)
{
	StringInfoData prefix = *in;
	RemoteRelation *relation = find_relation(stream, pq_getmsgint(&prefix, 4));
	Relation	mirror;
	MemoryContext old;
	ReorderBufferChange change = {.lsn = lsn};

	if (!relation_is_wanted(stream, relation))
		return;
	begin_local(stream);
	old = MemoryContextSwitchTo(stream->change_context);
	mirror = open_mirror(relation);
	match_relation(stream, relation, mirror, lsn);
	read_change(kind, in, relation, mirror, &change);
	transaction_change(stream, mirror, &change);
	RelationClose(mirror);
	MemoryContextSwitchTo(old);
}

static void
receive_truncate(SyncStream *stream, StringInfo in, XLogRecPtr lsn)
{
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
		RemoteRelation *relation = find_relation(stream, lfirst_oid(cell));

		if (!relation_is_wanted(stream, relation))
			continue;
		mirrors[nmirrors] = open_mirror(relation);
		match_relation(stream, relation, mirrors[nmirrors++], lsn);
	}
	transaction_truncate(stream, nmirrors, mirrors, &change);
	for (i = 0; i < nmirrors; i++)
		RelationClose(mirrors[i]);
	MemoryContextSwitchTo(old);
	MemoryContextReset(stream->flush_context);
}

/* ---- transactions ---- */

static void
receive_begin(SyncStream *stream, StringInfo in)
{
	RemoteStream *remote = stream->remote;
	LogicalRepBeginData begin;

	if (remote->in_transaction)
		raise_damaged("a transaction within another");
	logicalrep_read_begin(in, &begin);
	remote->in_transaction = true;
	remote->transaction->xid = begin.xid;
	remote->transaction->final_lsn = begin.final_lsn;
	remote->transaction->end_lsn = begin.final_lsn + 1;
	remote->transaction->xact_time.commit_time = begin.committime;
	transaction_begin(stream, remote->transaction);
}

static void
receive_commit(SyncStream *stream, StringInfo in)
{
	RemoteStream *remote = stream->remote;
	LogicalRepCommitData commit;

	logicalrep_read_commit(in, &commit);
	remote->transaction->end_lsn = commit.end_lsn;
	transaction_commit(stream, remote->transaction);
	end_local(stream);
	remote->in_transaction = false;
	remote->received = Max(remote->received, commit.end_lsn);
}

/* A message of pgoutput. */
static void
receive_message(SyncStream *stream, StringInfo in, XLogRecPtr lsn)
{
	char		kind = pq_getmsgbyte(in);

	if (kind != LOGICAL_REP_MSG_BEGIN && !stream->remote->in_transaction)
		raise_damaged("a change outside of a transaction");
	switch (kind)
	{
		case LOGICAL_REP_MSG_BEGIN:
			receive_begin(stream, in);
			break;
		case LOGICAL_REP_MSG_COMMIT:
			receive_commit(stream, in);
			break;
		case LOGICAL_REP_MSG_RELATION:
			receive_relation(stream, in);
			break;
		case LOGICAL_REP_MSG_INSERT:
		case LOGICAL_REP_MSG_UPDATE:
		case LOGICAL_REP_MSG_DELETE:
			receive_change(stream, kind, in, lsn);
			break;
		case LOGICAL_REP_MSG_TRUNCATE:
			receive_truncate(stream, in, lsn);
			break;
		case LOGICAL_REP_MSG_TYPE:
		case LOGICAL_REP_MSG_ORIGIN:
			break;
		default:
			raise_damaged(psprintf("a message of kind \"%c\"", kind));
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
				raise_damaged("a message without content");
			in = (StringInfoData) {.data = data + WAL_HEADER_LENGTH, .len = length - WAL_HEADER_LENGTH,
				.maxlen = length - WAL_HEADER_LENGTH};
			receive_message(stream, &in, lsn);
			break;
		case 'k':
			receive_sign_of_life(stream, &in);
			break;
		default:
			raise_damaged("a message of an unknown kind");
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

/* What is known of the source by looking: how far it is, and what it keeps for the slot. */
static void
look(SyncStream *stream)
{
	RemoteStream *remote = stream->remote;
	TimestampTz now = GetCurrentTimestamp();
	MemoryContext old;
	RemoteSlot	slot;

	if (!stream->monitor->position_wanted() &&
		!TimestampDifferenceExceeds(remote->looked_at, now, TELL_INTERVAL_MS))
		return;
	old = MemoryContextSwitchTo(stream->flush_context);
	slot = remote_slot_look(remote_session(stream->sync), stream->sync->slot);
	MemoryContextSwitchTo(old);
	MemoryContextReset(stream->flush_context);
	remote->looked_at = now;
	remote->source_end = slot.source_end;
	stream->monitor->source_position(now, slot.source_end, slot.restart_lsn);
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
		stream->monitor->healthy();
	if (!stream->frozen && TimestampDifferenceExceeds(remote->told_at, GetCurrentTimestamp(), TELL_INTERVAL_MS))
		remote->confirmed = Max(remote->confirmed, remote->received);
}

static void
work(SyncStream *stream, bool active)
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
			stream->careful &= active;
		}
	}
	look(stream);
	if ((awaited && !stream->remote->asked) ||
		TimestampDifferenceExceeds(stream->remote->told_at, GetCurrentTimestamp(), TELL_INTERVAL_MS))
		tell(stream, true);
}

/* Who received from the slot before may not have noticed yet that nobody is there any more. */
static void
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
	stream->visible = slot.confirmed_lsn;
	stream->remote->source_end = slot.source_end;
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

static void
start(SyncStream *stream)
{
	RemoteStream *remote = palloc0(sizeof(RemoteStream));

	stream->remote = current = remote;
	stream->confirm = confirm;
	remote->relations = create_relations(stream->context);
	remote->transaction = palloc0(sizeof(ReorderBufferTXN));
	CacheRegisterRelcacheCallback(invalidate_relation, (Datum) 0);
	wait_for_slot(stream, remote_session(stream->sync));
	remote->received = remote->confirmed = stream->visible;
	stream->monitor->reached(stream->visible, 0);
	remote->connection = remote_connect(stream->sync, true);
	remote_copy_begin(remote->connection,
					  psprintf("START_REPLICATION SLOT %s LOGICAL 0/0 (proto_version '1', publication_names %s)",
							   quote_identifier(stream->sync->slot), publication_literal(stream->sync->publication)));
	remote->heard_at = GetCurrentTimestamp();
}

void
remote_stream_run(SyncStream *stream)
{
	RemoteStream *remote;

	start(stream);
	remote = stream->remote;
	while (stream->monitor->wanted())
	{
		bool		active = receive_available(stream);

		work(stream, active);
		if (!active)
			remote_wait(remote->connection, Max(stream_rest(stream, LONGEST_SLEEP_MS), 1));
		CHECK_FOR_INTERRUPTS();
	}

	/* rows of a transaction that has not come whole go with the writers */
	if (stream->pending && !remote->in_transaction)
		apply_flush(stream);
	end_local(stream);
	remote_close(remote->connection);
	apply_record_counts(stream, true);
}
