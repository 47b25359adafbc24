/*
 * table_message.c
 *		What an event trigger writes into the WAL about changes of tables.
 *
 * Without the messages a change is met at the next row of the table, and what
 * happens to the rows that exist is not seen at all.
 */
#include "postgres.h"

#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "compat.h"
#include "sync/table_message.h"

static const char *const kind_names[] = {
	[TABLE_CHANGED] = "changed",
	[TABLE_REWRITTEN] = "rewritten",
	[TABLE_DROPPED] = "dropped"
};

void
table_message_log(const TableMessage *message)
{
	StringInfoData text;
	ListCell   *cell;

	initStringInfo(&text);
	appendStringInfo(&text, "%s %u", kind_names[message->kind], message->relid);
	foreach(cell, message->columns)
		appendStringInfo(&text, " %d", lfirst_int(cell));
	compat_log_transactional_message(TABLE_MESSAGE_PREFIX, text.data, text.len);
}

TableMessage *
table_message_parse(const char *text, Size size)
{
	TableMessage *message = palloc0(sizeof(TableMessage));
	char	   *copy = pnstrdup(text, size);
	char	   *kind = strtok(copy, " ");
	char	   *relid = strtok(NULL, " ");
	char	   *column;
	int			i;

	if (kind == NULL || relid == NULL)
		return NULL;
	message->relid = (Oid) strtoul(relid, NULL, 10);
	while ((column = strtok(NULL, " ")) != NULL)
		message->columns = lappend_int(message->columns, atoi(column));
	for (i = 0; i < lengthof(kind_names); i++)
	{
		if (strcmp(kind, kind_names[i]) == 0)
		{
			message->kind = (TableMessageKind) i;
			return message;
		}
	}
	return NULL;
}

/* The numbers in the source of columns of a partition. */
static List *
columns_of_source(Oid source, TupleDesc partition, List *numbers)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, numbers)
	{
		int			number = lfirst_int(cell);

		if (number >= 1 && number <= partition->natts)
			result = lappend_int(result, get_attnum(source, NameStr(TupleDescAttr(partition, number - 1)->attname)));
	}
	return result;
}

static void
meet_rewrite(SyncStream *stream, const SyncTable *table, Relation relation, List *numbers, XLogRecPtr lsn)
{
	Relation	source = RelationIdGetRelation(table->record->source);
	MemoryContext old;
	ColumnChange *change;

	if (!RelationIsValid(source))
		return;
	if (RelationGetRelid(relation) != table->record->source)
		numbers = columns_of_source(table->record->source, RelationGetDescr(relation), numbers);
	old = MemoryContextSwitchTo(stream->context);
	change = column_change_of_values(stream->sync, table->record, RelationGetDescr(source), numbers);
	MemoryContextSwitchTo(old);
	RelationClose(source);
	if (change)
		relation_map_raise(stream->map, change, lsn);
}

static void
meet_change(SyncStream *stream, const ReorderBufferTXN *transaction, XLogRecPtr lsn, const TableMessage *message)
{
	Relation	relation = RelationIdGetRelation(message->relid);
	SyncRelation *source;

	if (!RelationIsValid(relation))
		return;
	source = relation_map_find(stream->map, relation);
	if (sync_table_is_wanted(source->table, transaction))
	{
		if (message->kind == TABLE_REWRITTEN && lsn >= source->table->record->schema_lsn)
			meet_rewrite(stream, source->table, relation, message->columns, lsn);
		relation_map_check(stream->map, source->table, relation, lsn, false);
	}
	RelationClose(relation);
}

/* The record of a table that is paused, or NULL. */
static const SyncTableRecord *
paused_table(const SyncRecord *sync, Oid relid)
{
	ListCell   *cell;

	foreach(cell, sync->tables)
	{
		const SyncTableRecord *record = lfirst(cell);

		if (record->paused && record->source == relid)
			return record;
	}
	return NULL;
}

static void
meet_drop(SyncStream *stream, const ReorderBufferTXN *transaction, XLogRecPtr lsn, Oid relid)
{
	SyncTable  *table = hash_search(stream->map->tables, &relid, HASH_FIND, NULL);
	const SyncTableRecord *record = sync_table_is_wanted(table, transaction) ? table->record : paused_table(stream->sync, relid);
	MemoryContext old;
	ColumnChange *change;

	if (record == NULL)
		return;
	old = MemoryContextSwitchTo(stream->context);
	change = column_change_make(record, CHANGE_DROPPED, "The table was dropped.");
	MemoryContextSwitchTo(old);
	relation_map_raise(stream->map, change, lsn);
}

void
table_message_apply(SyncStream *stream, const ReorderBufferTXN *transaction, XLogRecPtr lsn,
					const TableMessage *message)
{
	if (message == NULL)
		return;
	if (message->kind == TABLE_DROPPED)
		meet_drop(stream, transaction, lsn, message->relid);
	else
		meet_change(stream, transaction, lsn, message);
}
