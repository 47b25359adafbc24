/*
 * transaction.c
 *		A committed transaction of the source, change by change.
 */
#include "postgres.h"

#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "sync/history.h"
#include "sync/transaction.h"

void
transaction_begin(SyncStream *stream, const ReorderBufferTXN *transaction)
{
	stream->transaction = transaction;
	stream->transaction_used = false;
	stream->map->commit_lsn = transaction->final_lsn;
}

MemoryContext
transaction_enter_change(SyncStream *stream)
{
	if (stream->changing)
		relation_map_invalidate(stream->map);
	stream->changing = true;
	return MemoryContextSwitchTo(stream->change_context);
}

void
transaction_leave_change(SyncStream *stream, MemoryContext old)
{
	MemoryContextSwitchTo(old);
	MemoryContextReset(stream->change_context);
	stream->changing = false;
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

/* Does the lake lack it, and is it published?  Another server sends nothing else. */
static bool
is_wanted(SyncStream *stream, const SyncTable *table, const ReorderBufferChange *change)
{
	return sync_table_is_wanted(table, stream->transaction) &&
		(stream->sync->connection || is_published(relation_map_actions(stream->map), change));
}

void
transaction_change(SyncStream *stream, Relation relation, const ReorderBufferChange *change)
{
	MemoryContext old = transaction_enter_change(stream);
	SyncRelation *source = relation_map_find(stream->map, relation);

	if (is_wanted(stream, source->table, change))
		change_apply(stream, source, relation, change);
	transaction_leave_change(stream, old);
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

void
transaction_truncate(SyncStream *stream, int nrelations, Relation relations[], const ReorderBufferChange *change)
{
	MemoryContext old = transaction_enter_change(stream);
	int			i;

	for (i = 0; i < nrelations; i++)
	{
		SyncRelation *source = relation_map_find(stream->map, relations[i]);

		if (is_wanted(stream, source->table, change))
		{
			if (source->table->record->source == RelationGetRelid(relations[i]))
				truncate_table(stream, source, change);
			else
				note_partition(source->table, relations[i], relations, nrelations);
		}
	}
	transaction_leave_change(stream, old);
}

void
transaction_commit(SyncStream *stream, const ReorderBufferTXN *transaction)
{
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
