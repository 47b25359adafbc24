/*
 * message_table.c
 *		Lake tables of the source's logical messages.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "utils/timestamp.h"

#include "lake/options.h"
#include "lake/writer.h"
#include "sync/message_table.h"
#include "sync/source.h"
#include "sync/transaction.h"

/* Fields before those of metadata. */
enum
{
	MESSAGE_PREFIX,
	MESSAGE_CONTENT,
	MESSAGE_TRANSACTIONAL,
	MESSAGE_FIELDS
};

static const MetadataField message_metadata[] = {METADATA_LSN, METADATA_COMMIT_TIME, METADATA_XID};

List *
message_table_records(const SyncRecord *sync)
{
	List	   *records = NIL;
	int			i;

	for (i = 0; i < list_length(sync->rules); i++)
	{
		const TableRule *rule = list_nth(sync->rules, i);
		SyncTableRecord *record;

		if (!rule->messages)
			continue;
		record = palloc0(sizeof(SyncTableRecord));
		record->source = i + 1;
		record->source_name = psprintf("messages %s", rule->source);
		record->lake_table = rule->table;
		record->rule_number = i + 1;
		record->rule = rule;
		record->nmetadata = lengthof(message_metadata);
		memcpy(record->metadata, message_metadata, sizeof(message_metadata));
		record->ncolumns = MESSAGE_FIELDS;
		record->columns = palloc0(sizeof(AttrNumber) * MESSAGE_FIELDS);
		record->copied = true;
		records = lappend(records, record);
	}
	return records;
}

static TableSchema *
lake_schema(const SyncRecord *sync, const SyncTableRecord *record)
{
	DataField	fields[MESSAGE_FIELDS + lengthof(message_metadata)] = {
		[MESSAGE_PREFIX] = {.name = "prefix", .type = type_make(TYPE_VARCHAR, TYPE_MAX_LENGTH, 0, true)},
		[MESSAGE_CONTENT] = {.name = "content", .type = type_make(TYPE_VARBINARY, TYPE_MAX_LENGTH, 0, true)},
		[MESSAGE_TRANSACTIONAL] = {.name = "transactional", .type = type_make(TYPE_BOOLEAN, 0, 0, true)}
	};
	int			i;

	for (i = 0; i < lengthof(message_metadata); i++)
		fields[MESSAGE_FIELDS + i] = sync_table_metadata_field(record, i);
	return schema_build(lengthof(fields), fields, NIL, NIL, sync_table_options(sync, record), NULL);
}

void
message_table_check(const SyncRecord *sync, const SyncTableRecord *record, const char *warehouse)
{
	LakeTable  *lake = lake_table_open(warehouse, sync->database, record->lake_table, true);
	TableSchema *wanted = lake_schema(sync, record);

	options_check_replicable(wanted, options_parse(wanted), record->lake_table);
	if (lake)
		source_require_fit("logical messages", wanted, lake);
}

/* Before all positions: whatever the slot has is new to the table. */
static void
commit_first(const SyncRecord *sync, LakeTable *lake)
{
	TableWriter *writer = table_writer_open(lake, EMPTY_WRITER_MEMORY);
	CommitInfo	info;

	apply_commit_info(&info, sync, InvalidXLogRecPtr, false, false);
	(void) table_writer_commit(writer, &info);
	table_writer_close(writer);
}

void
message_tables_begin(const SyncRecord *sync, const char *warehouse)
{
	ListCell   *cell;

	foreach(cell, sync->message_tables)
	{
		const SyncTableRecord *record = lfirst(cell);
		LakeTable  *lake = lake_table_open(warehouse, sync->database, record->lake_table, true);

		if (lake && snapshot_latest_of_user(lake->location, sync->slot, 0) != NULL)
			continue;
		message_table_check(sync, record, warehouse);
		if (lake == NULL)
			lake = lake_table_create(warehouse, sync->database, record->lake_table, lake_schema(sync, record));
		commit_first(sync, lake);
	}
}

/* The table of the first rule for the prefix, or NULL. */
static SyncTable *
find_table(const SyncStream *stream, const char *prefix)
{
	Oid			number = table_rules_match(stream->sync->rules, prefix, true);

	return number > 0 ? hash_search(stream->map->tables, &number, HASH_FIND, NULL) : NULL;
}

static void
fill_row(Scalar *row, bool transactional, const char *prefix, BytesView content)
{
	int			length = strlen(prefix);
	char	   *utf8 = pg_server_to_any(prefix, length, PG_UTF8);

	memset(row, 0, sizeof(Scalar) * MESSAGE_FIELDS);
	row[MESSAGE_PREFIX].v.bytes.data = utf8;
	row[MESSAGE_PREFIX].v.bytes.length = utf8 == prefix ? length : strlen(utf8);
	row[MESSAGE_CONTENT].v.bytes = content;
	row[MESSAGE_TRANSACTIONAL].v.i8 = transactional;
}

static void
append_message(SyncStream *stream, SyncTable *table, XLogRecPtr lsn, bool transactional, const char *prefix,
			   BytesView content)
{
	stream->change_lsn = lsn;
	fill_row(table->row, transactional, prefix, content);
	apply_metadata(stream, table, table->row, "+I");
	apply_row(stream, table, ROW_INSERT, table->row);
	stream->transaction_used = true;
}

void
message_table_take(SyncStream *stream, const ReorderBufferTXN *transaction, XLogRecPtr lsn, XLogRecPtr end,
				   const char *prefix, BytesView content)
{
	SyncTable  *table = find_table(stream, prefix);
	ReorderBufferTXN alone = {.final_lsn = lsn, .end_lsn = end};

	if (!sync_table_is_wanted(table, transaction ? transaction : &alone))
		return;
	if (transaction == NULL)
		transaction_begin(stream, &alone);
	append_message(stream, table, lsn, transaction != NULL, prefix, content);
	if (transaction == NULL)
	{
		alone.xact_time.commit_time = GetCurrentTimestamp();
		transaction_commit(stream, &alone);
	}
}
