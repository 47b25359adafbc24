/*
 * output.c
 *		The output plugin for clients of logical decoding: its callbacks.
 *
 * A transaction is begun for the client with its first change, so that those
 * without one need not be sent at all.  Blocks of transactions in progress and
 * prepared transactions are always told.
 */
#include "postgres.h"

#include "replication/origin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "compat.h"
#include "sync/decoded_row.h"
#include "sync/output.h"

#define OWN_PREFIX "streamhouse"

static OutputState *
state_of(LogicalDecodingContext *context)
{
	return context->output_plugin_private;
}

static void
startup(LogicalDecodingContext *context, OutputPluginOptions *options, bool is_init)
{
	OutputState *state = palloc0(sizeof(OutputState));

	state->context = context->context;
	state->change_context = AllocSetContextCreate(state->context, "streamhouse output change", ALLOCSET_DEFAULT_SIZES);
	output_options_parse(&state->options, context->output_plugin_options);
	state->relations = output_relations_create(state);
	context->output_plugin_private = state;
	context->streaming &= state->options.streaming;
	options->output_type = state->options.format->binary ? OUTPUT_PLUGIN_BINARY_OUTPUT : OUTPUT_PLUGIN_TEXTUAL_OUTPUT;
}

/* ---- transactions ---- */

static void
write_event(LogicalDecodingContext *context, const OutputEvent *event)
{
	OutputState *state = state_of(context);
	MemoryContext old = MemoryContextSwitchTo(state->change_context);

	OutputPluginPrepareWrite(context, true);
	state->options.format->event(state, context->out, event);
	OutputPluginWrite(context, true);
	MemoryContextSwitchTo(old);
	MemoryContextReset(state->change_context);
}

/* Of a whole transaction. */
static void
tell(LogicalDecodingContext *context, char action, ReorderBufferTXN *transaction, XLogRecPtr lsn, TimestampTz time)
{
	OutputEvent event = {.action = action, .transaction = transaction, .xid = transaction->xid, .lsn = lsn, .time = time};

	write_event(context, &event);
}

/* The same of one that is at its end, so that the client may confirm what was before. */
static void
tell_end(LogicalDecodingContext *context, char action, ReorderBufferTXN *transaction, XLogRecPtr lsn, TimestampTz time)
{
	OutputPluginUpdateProgress(context, false);
	tell(context, action, transaction, lsn, time);
}

static void
write_begin(LogicalDecodingContext *context, ReorderBufferTXN *transaction)
{
	state_of(context)->begun = true;
	if (state_of(context)->options.include_transactions)
		tell(context, 'B', transaction, transaction->final_lsn, transaction->xact_time.commit_time);
}

static void
begin_transaction(LogicalDecodingContext *context, ReorderBufferTXN *transaction)
{
	state_of(context)->begun = false;
	if (!state_of(context)->options.skip_empty)
		write_begin(context, transaction);
}

/* Before a change, or a message of the transaction. */
static void
ensure_begun(LogicalDecodingContext *context, ReorderBufferTXN *transaction)
{
	const OutputState *state = state_of(context);

	if (!state->begun && !state->in_stream)
		write_begin(context, transaction);
}

static void
commit_transaction(LogicalDecodingContext *context, ReorderBufferTXN *transaction, XLogRecPtr commit_lsn)
{
	OutputPluginUpdateProgress(context, !state_of(context)->begun);
	if (state_of(context)->begun && state_of(context)->options.include_transactions)
		tell(context, 'C', transaction, commit_lsn, transaction->xact_time.commit_time);
}

static void
begin_prepare(LogicalDecodingContext *context, ReorderBufferTXN *transaction)
{
	state_of(context)->begun = true;
	tell(context, 'b', transaction, transaction->final_lsn, transaction->xact_time.prepare_time);
}

static void
prepare_transaction(LogicalDecodingContext *context, ReorderBufferTXN *transaction, XLogRecPtr prepare_lsn)
{
	tell_end(context, 'P', transaction, prepare_lsn, transaction->xact_time.prepare_time);
}

static void
commit_prepared(LogicalDecodingContext *context, ReorderBufferTXN *transaction, XLogRecPtr commit_lsn)
{
	tell_end(context, 'K', transaction, commit_lsn, transaction->xact_time.commit_time);
}

static void
rollback_prepared(LogicalDecodingContext *context, ReorderBufferTXN *transaction, XLogRecPtr prepare_end_lsn,
				  TimestampTz prepare_time)
{
	tell_end(context, 'r', transaction, prepare_end_lsn, prepare_time);
}

/* ---- transactions in progress ---- */

static void
start_block(LogicalDecodingContext *context, ReorderBufferTXN *transaction)
{
	OutputEvent event = {.action = 'S', .transaction = transaction, .xid = transaction->xid};

	event.first = !rbtxn_is_streamed(transaction);
	state_of(context)->in_stream = true;
	write_event(context, &event);
}

static void
stop_block(LogicalDecodingContext *context, ReorderBufferTXN *transaction)
{
	tell(context, 'E', transaction, InvalidXLogRecPtr, 0);
	state_of(context)->in_stream = false;
}

static void
abort_streamed(LogicalDecodingContext *context, ReorderBufferTXN *transaction, XLogRecPtr abort_lsn)
{
	OutputEvent event = {.action = 'A', .transaction = transaction, .lsn = abort_lsn};

	event.xid = rbtxn_get_toptxn(transaction)->xid;
	event.subxid = transaction->xid;
	write_event(context, &event);
}

static void
commit_streamed(LogicalDecodingContext *context, ReorderBufferTXN *transaction, XLogRecPtr commit_lsn)
{
	tell_end(context, 'c', transaction, commit_lsn, transaction->xact_time.commit_time);
}

static void
prepare_streamed(LogicalDecodingContext *context, ReorderBufferTXN *transaction, XLogRecPtr prepare_lsn)
{
	tell_end(context, 'p', transaction, prepare_lsn, transaction->xact_time.prepare_time);
}

/* ---- changes ---- */

/* Of the subtransaction that made the change, which may be aborted alone. */
static TransactionId
xid_of_change(const OutputState *state, const ReorderBufferTXN *transaction, const ReorderBufferChange *change)
{
	return state->in_stream ? change->txn->xid : transaction->xid;
}

/* What an update is for the client: a filter makes an insert or a delete of those that cross it. */
static char
load_update(const OutputRelation *target, HeapTuple old_tuple, HeapTuple new_tuple)
{
	bool		before;
	bool		after;

	decoded_row_store_update(target->new_slot, target->old_slot, new_tuple, old_tuple);
	after = output_relation_passes(target, target->new_slot);
	before = old_tuple ? output_relation_passes(target, target->old_slot) : after;
	if (before && after)
		return 'U';
	return before ? 'D' : after ? 'I' : '\0';
}

/* Fill the slots of the relation; '\0' when the client does not get the change. */
static char
load_change(const OutputRelation *target, const ReorderBufferChange *change)
{
	HeapTuple	old_tuple = compat_old_tuple(change);

	switch (change->action)
	{
		case REORDER_BUFFER_CHANGE_INSERT:
			decoded_row_store(target->new_slot, compat_new_tuple(change));
			return output_relation_passes(target, target->new_slot) ? 'I' : '\0';
		case REORDER_BUFFER_CHANGE_UPDATE:
			return load_update(target, old_tuple, compat_new_tuple(change));
		case REORDER_BUFFER_CHANGE_DELETE:
			if (old_tuple == NULL)
				return 'D';
			decoded_row_store(target->old_slot, old_tuple);
			return output_relation_passes(target, target->old_slot) ? 'D' : '\0';
		default:
			elog(ERROR, "unexpected change of kind %d", (int) change->action);
	}
}

static void
write_row(LogicalDecodingContext *context, ReorderBufferTXN *transaction, OutputRelation *target, Relation relation,
		  char action, const ReorderBufferChange *change)
{
	OutputState *state = state_of(context);
	const OutputFormat *format = state->options.format;
	Relation	source = relation;
	OutputRow	row = {.action = action, .xid = xid_of_change(state, transaction, change), .lsn = change->lsn};

	if (action != 'I' && compat_old_tuple(change))
		row.old_row = output_relation_row(target, target->old_slot);
	if (action != 'D')
		row.new_row = output_relation_row(target, target->new_slot);
	if (target->published_as != RelationGetRelid(relation))
		source = RelationIdGetRelation(target->published_as);
	ensure_begun(context, transaction);
	if (format->describe)
		format->describe(state, context, target, source, row.xid);
	OutputPluginPrepareWrite(context, true);
	format->row(state, context->out, target, source, &row);
	OutputPluginWrite(context, true);
	if (source != relation)
		RelationClose(source);
}

static void
change_row(LogicalDecodingContext *context, ReorderBufferTXN *transaction, Relation relation, ReorderBufferChange *change)
{
	OutputState *state = state_of(context);
	MemoryContext old = MemoryContextSwitchTo(state->change_context);
	OutputRelation *target = output_relation_find(state, relation);
	char		action;

	if (target->wanted && target->actions[change->action])
	{
		action = load_change(target, change);
		if (action != '\0')
			write_row(context, transaction, target, relation, action, change);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(state->change_context);
}

/* Those of the relations that the client is to know of; those it meets for the first time are described. */
static OutputRelation **
truncated_targets(LogicalDecodingContext *context, ReorderBufferTXN *transaction, int nrelations, Relation relations[],
				  const ReorderBufferChange *change, int *ntargets)
{
	OutputState *state = state_of(context);
	OutputRelation **targets = palloc(sizeof(OutputRelation *) * nrelations);
	int			i;

	*ntargets = 0;
	for (i = 0; i < nrelations; i++)
	{
		OutputRelation *target = output_relation_find(state, relations[i]);

		/* a partition that is published as its root is told with the root, if that is truncated */
		if (!target->wanted || !target->actions[change->action] || target->published_as != target->relid)
			continue;
		ensure_begun(context, transaction);
		if (state->options.format->describe)
			state->options.format->describe(state, context, target, relations[i], xid_of_change(state, transaction, change));
		targets[(*ntargets)++] = target;
	}
	return targets;
}

static void
write_truncate(LogicalDecodingContext *context, const OutputTruncate *truncate)
{
	OutputPluginPrepareWrite(context, true);
	state_of(context)->options.format->truncate(state_of(context), context->out, truncate);
	OutputPluginWrite(context, true);
}

static void
change_truncate(LogicalDecodingContext *context, ReorderBufferTXN *transaction, int nrelations, Relation relations[],
				ReorderBufferChange *change)
{
	OutputState *state = state_of(context);
	MemoryContext old = MemoryContextSwitchTo(state->change_context);
	OutputTruncate truncate = {.xid = xid_of_change(state, transaction, change), .lsn = change->lsn};
	OutputRelation **targets;
	int			ntargets;
	int			i;

	truncate.cascade = change->data.truncate.cascade;
	truncate.restart_identity = change->data.truncate.restart_seqs;
	targets = truncated_targets(context, transaction, nrelations, relations, change, &ntargets);
	truncate.ntargets = state->options.format->one_by_one ? 1 : ntargets;
	for (i = 0; i < ntargets; i += truncate.ntargets)
	{
		truncate.targets = &targets[i];
		write_truncate(context, &truncate);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(state->change_context);
}

/* ---- logical messages, origins ---- */

static bool
wants_message(const OutputOptions *options, const char *prefix)
{
	ListCell   *lc;

	if (!options->messages)
		return false;
	foreach(lc, options->message_prefixes)
	{
		if (strcmp(lfirst(lc), prefix) == 0)
			return true;
	}
	/* the extension's own are for its syncs, unless somebody names them */
	return options->message_prefixes == NIL && strncmp(prefix, OWN_PREFIX, strlen(OWN_PREFIX)) != 0;
}

static void
logical_message(LogicalDecodingContext *context, ReorderBufferTXN *transaction, XLogRecPtr lsn, bool transactional,
				const char *prefix, Size size, const char *content)
{
	OutputState *state = state_of(context);
	OutputMessage message = {.lsn = lsn, .transactional = transactional, .prefix = prefix, .size = size, .content = content};
	MemoryContext old;

	if (!wants_message(&state->options, prefix))
		return;
	if (transactional)
	{
		message.xid = transaction->xid;
		ensure_begun(context, transaction);
	}
	old = MemoryContextSwitchTo(state->change_context);
	OutputPluginPrepareWrite(context, true);
	state->options.format->message(state, context->out, &message);
	OutputPluginWrite(context, true);
	MemoryContextSwitchTo(old);
	MemoryContextReset(state->change_context);
}

static bool
filter_by_origin(LogicalDecodingContext *context, RepOriginId origin)
{
	return state_of(context)->options.local_only && origin != InvalidRepOriginId;
}

void
output_callbacks(OutputPluginCallbacks *callbacks)
{
	callbacks->startup_cb = startup;
	callbacks->begin_cb = begin_transaction;
	callbacks->change_cb = change_row;
	callbacks->truncate_cb = change_truncate;
	callbacks->commit_cb = commit_transaction;
	callbacks->message_cb = logical_message;
	callbacks->filter_by_origin_cb = filter_by_origin;

	callbacks->begin_prepare_cb = begin_prepare;
	callbacks->prepare_cb = prepare_transaction;
	callbacks->commit_prepared_cb = commit_prepared;
	callbacks->rollback_prepared_cb = rollback_prepared;

	callbacks->stream_start_cb = start_block;
	callbacks->stream_stop_cb = stop_block;
	callbacks->stream_abort_cb = abort_streamed;
	callbacks->stream_prepare_cb = prepare_streamed;
	callbacks->stream_commit_cb = commit_streamed;
	callbacks->stream_change_cb = change_row;
	callbacks->stream_message_cb = logical_message;
	callbacks->stream_truncate_cb = change_truncate;
}
