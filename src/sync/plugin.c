/*
 * plugin.c
 *		The output plugin: decoded transactions go to the sync's stream.
 *
 * The library is its own plugin, and works only in the process that consumes
 * its output: nothing is written through the decoding context.
 */
#include "postgres.h"

#include "replication/logical.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "sync/history.h"
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
	stream_of(context)->transaction = transaction;
	stream_of(context)->transaction_used = false;
}

/* Does the lake lack the transaction's changes of a table of the sync? */
static bool
is_wanted(const SyncRelation *source, const ReorderBufferTXN *transaction)
{
	return source->table && transaction->end_lsn > source->table->applied;
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

static void
plugin_change(LogicalDecodingContext *context, ReorderBufferTXN *transaction, Relation relation,
			  ReorderBufferChange *change)
{
	SyncStream *stream = stream_of(context);
	MemoryContext old = MemoryContextSwitchTo(stream->change_context);
	SyncRelation *source = relation_map_find(stream->map, relation);

	if (is_wanted(source, transaction) && is_published(relation_map_actions(stream->map), change))
		change_apply(stream, source, relation, change);
	MemoryContextSwitchTo(old);
	MemoryContextReset(stream->change_context);
}

/* The lake table of a root loses its rows with the root, and keeps those of single partitions. */
static void
truncate_relation(SyncStream *stream, SyncRelation *source, Relation relation, const ReorderBufferChange *change)
{
	SyncTable  *table = source->table;

	if (table->record->source != RelationGetRelid(relation))
	{
		ereport(DEBUG1,
				(errmsg_internal("TRUNCATE of partition \"%s\" alone is not replicated", RelationGetRelationName(relation))));
		return;
	}
	if (stream->sync->history)
		history_truncate(stream, source, change);
	else
		apply_truncate(stream, table);
	stream->transaction_used = true;
}

static void
plugin_truncate(LogicalDecodingContext *context, ReorderBufferTXN *transaction, int nrelations,
				Relation relations[], ReorderBufferChange *change)
{
	SyncStream *stream = stream_of(context);
	MemoryContext old = MemoryContextSwitchTo(stream->change_context);
	int			i;

	for (i = 0; i < nrelations; i++)
	{
		SyncRelation *source = relation_map_find(stream->map, relations[i]);

		if (is_wanted(source, transaction) && is_published(relation_map_actions(stream->map), change))
			truncate_relation(stream, source, relations[i], change);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(stream->change_context);
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
