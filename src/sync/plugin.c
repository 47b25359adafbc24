/*
 * plugin.c
 *		The output plugin inside a sync worker: decoded transactions go to the
 *		sync's stream.
 *
 * Nothing is written through the decoding context.  In every other process the
 * plugin serves clients of logical decoding (output.c).
 */
#include "postgres.h"

#include "replication/logical.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "sync/history.h"
#include "sync/output.h"
#include "sync/plugin.h"
#include "sync/stream.h"
#include "sync/streamed.h"
#include "sync/table_message.h"

static bool serves_sync = false;

void
plugin_serve_sync(void)
{
	serves_sync = true;
}

static SyncStream *
stream_of(LogicalDecodingContext *context)
{
	return context->output_writer_private;
}

static void
plugin_startup(LogicalDecodingContext *context, OutputPluginOptions *options, bool is_init)
{
	options->output_type = OUTPUT_PLUGIN_BINARY_OUTPUT;
}

static void
plugin_begin(LogicalDecodingContext *context, ReorderBufferTXN *transaction)
{
	stream_of(context)->transaction = transaction;
	stream_of(context)->transaction_used = false;
	stream_of(context)->map->commit_lsn = transaction->final_lsn;
}

static bool
is_published(const PublicationActions *actions, const ReorderBufferChange *change)
{
	switch (change->action)
	{
		case REORDER_BUFFER_CHANGE_INSERT:
			return actions->pubinsert;
		case REORDER_BUFFER_CHANGE_UPDATE:
			return actions->pubupdate;
		case REORDER_BUFFER_CHANGE_DELETE:
			return actions->pubdelete;
		case REORDER_BUFFER_CHANGE_TRUNCATE:
			return actions->pubtruncate;
		default:
			return true;
	}
}

/*
 * Before and after what is done for a change.  While a transaction runs it may
 * turn out that it was aborted meanwhile: core takes care of that error, which
 * does not get here, and decodes on.  What was being looked up in the catalogs
 * is not known then.
 */
static MemoryContext
enter_change(SyncStream *stream)
{
	if (stream->changing)
		relation_map_invalidate(stream->map);
	stream->changing = true;
	return MemoryContextSwitchTo(stream->change_context);
}

static void
leave_change(SyncStream *stream, MemoryContext old)
{
	MemoryContextSwitchTo(old);
	MemoryContextReset(stream->change_context);
	stream->changing = false;
}

static void
plugin_change(LogicalDecodingContext *context, ReorderBufferTXN *transaction, Relation relation,
			  ReorderBufferChange *change)
{
	SyncStream *stream = stream_of(context);
	MemoryContext old = enter_change(stream);
	SyncRelation *source = relation_map_find(stream->map, relation);

	if (sync_table_is_wanted(source->table, transaction) && is_published(relation_map_actions(stream->map), change))
		change_apply(stream, source, relation, change);
	leave_change(stream, old);
}

static bool
is_among(const Relation relations[], int nrelations, Oid relid)
{
	int			i;

	for (i = 0; i < nrelations; i++)
	{
		if (RelationGetRelid(relations[i]) == relid)
			return true;
	}
	return false;
}

/* A partition that is published as its root was truncated: nothing to do if the root was. */
static void
note_partition(const SyncTable *table, Relation partition, const Relation relations[], int nrelations)
{
	if (!is_among(relations, nrelations, table->record->source))
		ereport(LOG,
				(errmsg("rows of partition \"%s\" stay in lake table \"%s\"",
						RelationGetRelationName(partition), table->lake->name),
				 errdetail("TRUNCATE of a partition that is published as its root is not replicated.")));
}

static void
truncate_table(SyncStream *stream, SyncRelation *source, const ReorderBufferChange *change)
{
	stream->change_lsn = change->lsn;
	if (source->table->record->history)
		history_truncate(stream, source);
	else
		apply_truncate(stream, source->table);
	stream->transaction_used = true;
}

static void
plugin_truncate(LogicalDecodingContext *context, ReorderBufferTXN *transaction, int nrelations,
				Relation relations[], ReorderBufferChange *change)
{
	SyncStream *stream = stream_of(context);
	MemoryContext old = enter_change(stream);
	int			i;

	for (i = 0; i < nrelations; i++)
	{
		SyncRelation *source = relation_map_find(stream->map, relations[i]);

		if (sync_table_is_wanted(source->table, transaction) && is_published(relation_map_actions(stream->map), change))
		{
			if (source->table->record->source == RelationGetRelid(relations[i]))
				truncate_table(stream, source, change);
			else
				note_partition(source->table, relations[i], relations, nrelations);
		}
	}
	leave_change(stream, old);
}

static void
plugin_commit(LogicalDecodingContext *context, ReorderBufferTXN *transaction, XLogRecPtr commit_lsn)
{
	SyncStream *stream = stream_of(context);

	if (!stream->transaction_used)
		return;
	stream->boundary = transaction->end_lsn;
	stream->commit_time = transaction->xact_time.commit_time;
	if (!stream->pending)
	{
		stream->pending = true;
		stream->pending_since = GetCurrentTimestamp();
	}
}

static void
plugin_stream_start(LogicalDecodingContext *context, ReorderBufferTXN *transaction)
{
	streamed_start(stream_of(context), transaction);
}

static void
plugin_stream_stop(LogicalDecodingContext *context, ReorderBufferTXN *transaction)
{
	streamed_stop(stream_of(context));
}

static void
plugin_stream_change(LogicalDecodingContext *context, ReorderBufferTXN *transaction, Relation relation,
					 ReorderBufferChange *change)
{
	SyncStream *stream = stream_of(context);

	streamed_enter(stream, change->txn->xid);
	plugin_change(context, transaction, relation, change);
}

static void
plugin_stream_truncate(LogicalDecodingContext *context, ReorderBufferTXN *transaction, int nrelations,
					   Relation relations[], ReorderBufferChange *change)
{
	SyncStream *stream = stream_of(context);
	MemoryContext old = enter_change(stream);
	int			i;

	for (i = 0; i < nrelations; i++)
	{
		if (sync_table_is_wanted(relation_map_find(stream->map, relations[i])->table, transaction))
			streamed_give_up(stream, "truncates a table");
	}
	leave_change(stream, old);
}

static void
plugin_stream_abort(LogicalDecodingContext *context, ReorderBufferTXN *transaction, XLogRecPtr abort_lsn)
{
	streamed_abort(stream_of(context), transaction->xid);
}

static void
plugin_stream_commit(LogicalDecodingContext *context, ReorderBufferTXN *transaction, XLogRecPtr commit_lsn)
{
	SyncStream *stream = stream_of(context);
	MemoryContext old = enter_change(stream);

	streamed_commit(stream, transaction);
	leave_change(stream, old);
	plugin_commit(context, transaction, commit_lsn);
}

static void
plugin_message(LogicalDecodingContext *context, ReorderBufferTXN *transaction, XLogRecPtr lsn, bool transactional,
			   const char *prefix, Size size, const char *text)
{
	SyncStream *stream = stream_of(context);
	MemoryContext old;

	if (!transactional || strcmp(prefix, TABLE_MESSAGE_PREFIX) != 0)
		return;
	old = enter_change(stream);
	table_message_apply(stream, transaction, lsn, table_message_parse(text, size));
	leave_change(stream, old);
}

void
_PG_output_plugin_init(OutputPluginCallbacks *callbacks)
{
	if (!serves_sync)
	{
		output_callbacks(callbacks);
		return;
	}
	callbacks->startup_cb = plugin_startup;
	callbacks->begin_cb = plugin_begin;
	callbacks->change_cb = plugin_change;
	callbacks->truncate_cb = plugin_truncate;
	callbacks->message_cb = plugin_message;
	callbacks->commit_cb = plugin_commit;
	callbacks->stream_start_cb = plugin_stream_start;
	callbacks->stream_stop_cb = plugin_stream_stop;
	callbacks->stream_change_cb = plugin_stream_change;
	callbacks->stream_truncate_cb = plugin_stream_truncate;
	callbacks->stream_message_cb = plugin_message;
	callbacks->stream_abort_cb = plugin_stream_abort;
	callbacks->stream_commit_cb = plugin_stream_commit;
}
