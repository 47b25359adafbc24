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

#include "sync/message_table.h"
#include "sync/output.h"
#include "sync/plugin.h"
#include "sync/stream.h"
#include "sync/streamed.h"
#include "sync/table_message.h"
#include "sync/transaction.h"

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
	transaction_begin(stream_of(context), transaction);
}

static void
plugin_change(LogicalDecodingContext *context, ReorderBufferTXN *transaction, Relation relation,
			  ReorderBufferChange *change)
{
	transaction_change(stream_of(context), relation, change);
}

static void
plugin_truncate(LogicalDecodingContext *context, ReorderBufferTXN *transaction, int nrelations,
				Relation relations[], ReorderBufferChange *change)
{
	transaction_truncate(stream_of(context), nrelations, relations, change);
}

static void
plugin_commit(LogicalDecodingContext *context, ReorderBufferTXN *transaction, XLogRecPtr commit_lsn)
{
	transaction_commit(stream_of(context), transaction);
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
	transaction_change(stream, relation, change);
}

static void
plugin_stream_truncate(LogicalDecodingContext *context, ReorderBufferTXN *transaction, int nrelations,
					   Relation relations[], ReorderBufferChange *change)
{
	SyncStream *stream = stream_of(context);
	MemoryContext old = transaction_enter_change(stream);
	int			i;

	for (i = 0; i < nrelations; i++)
	{
		if (sync_table_is_wanted(relation_map_find(stream->map, relations[i])->table, transaction))
			streamed_give_up(stream, "truncates a table");
	}
	transaction_leave_change(stream, old);
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
	MemoryContext old = transaction_enter_change(stream);

	streamed_commit(stream, transaction);
	transaction_leave_change(stream, old);
	transaction_commit(stream, transaction);
}

static void
plugin_message(LogicalDecodingContext *context, ReorderBufferTXN *transaction, XLogRecPtr lsn, bool transactional,
			   const char *prefix, Size size, const char *text)
{
	SyncStream *stream = stream_of(context);
	MemoryContext old = transaction_enter_change(stream);
	BytesView	content = {text, size};

	if (transactional && strcmp(prefix, TABLE_MESSAGE_PREFIX) == 0)
		table_message_apply(stream, transaction, lsn, table_message_parse(text, size));
	else
		message_table_take(stream, transactional ? transaction : NULL, lsn, context->reader->EndRecPtr, prefix, content);
	transaction_leave_change(stream, old);
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
