/*
 * plugin.c
 *		The output plugin: decoded transactions go to the sync's stream.
 *
 * The library is its own plugin, and works only in the process that consumes
 * its output: nothing is written through the decoding context.
 */
#include "postgres.h"

#include "replication/logical.h"
#include "utils/timestamp.h"

#include "sync/plugin.h"
#include "sync/stream.h"

static bool plugin_permitted = false;

void
plugin_permit(void)
{
	plugin_permitted = true;
}

static SyncStream *
stream_of(LogicalDecodingContext *context)
{
	return context->output_writer_private;
}

static void
plugin_startup(LogicalDecodingContext *context, OutputPluginOptions *options, bool is_init)
{
	if (!plugin_permitted)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("output plugin \"streamhouse\" works only inside streamhouse's sync worker"),
				 errhint("Use streamhouse.create_sync to stream tables into the lake.")));
	options->output_type = OUTPUT_PLUGIN_BINARY_OUTPUT;
}

static void
plugin_begin(LogicalDecodingContext *context, ReorderBufferTXN *transaction)
{
	stream_of(context)->transaction_used = false;
}

/* The table of the sync that a change is for; NULL when the lake has it, or does not want it. */
static SyncTable *
changed_table(SyncStream *stream, ReorderBufferTXN *transaction, Relation relation)
{
	Oid			relid = RelationGetRelid(relation);
	SyncTable  *table = hash_search(stream->tables, &relid, HASH_FIND, NULL);

	if (table == NULL || transaction->end_lsn <= table->applied)
		return NULL;
	return table;
}

static bool
is_published(const PublishedActions *actions, const ReorderBufferChange *change)
{
	switch (change->action)
	{
		case REORDER_BUFFER_CHANGE_INSERT:
			return actions->insert;
		case REORDER_BUFFER_CHANGE_UPDATE:
			return actions->update;
		case REORDER_BUFFER_CHANGE_DELETE:
			return actions->delete;
		case REORDER_BUFFER_CHANGE_TRUNCATE:
			return actions->truncate;
		default:
			return true;
	}
}

static void
plugin_change(LogicalDecodingContext *context, ReorderBufferTXN *transaction, Relation relation,
			  ReorderBufferChange *change)
{
	SyncStream *stream = stream_of(context);
	SyncTable  *table = changed_table(stream, transaction, relation);

	if (table && is_published(&stream->actions, change))
	{
		change_apply(stream, table, relation, change);
		stream->transaction_used = true;
	}
}

static void
plugin_truncate(LogicalDecodingContext *context, ReorderBufferTXN *transaction, int nrelations,
				Relation relations[], ReorderBufferChange *change)
{
	SyncStream *stream = stream_of(context);
	int			i;

	if (!is_published(&stream->actions, change))
		return;
	for (i = 0; i < nrelations; i++)
	{
		SyncTable  *table = changed_table(stream, transaction, relations[i]);

		if (table)
		{
			apply_truncate(stream, table);
			stream->transaction_used = true;
		}
	}
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

void
_PG_output_plugin_init(OutputPluginCallbacks *callbacks)
{
	callbacks->startup_cb = plugin_startup;
	callbacks->begin_cb = plugin_begin;
	callbacks->change_cb = plugin_change;
	callbacks->truncate_cb = plugin_truncate;
	callbacks->commit_cb = plugin_commit;
}
