/*
 * sync_catalog.c
 *		The tables streamhouse.sync and streamhouse.sync_table.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "foreign/foreign.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/pg_lsn.h"
#include "utils/timestamp.h"

#include "fdw/fdw.h"
#include "lake/schema.h"
#include "sync/catalog_access.h"
#include "sync/message_table.h"
#include "sync/sync_catalog.h"

#define SYNC_COLUMNS "name, slot::text, publication, server, database, " \
	"(extract(epoch FROM flush_interval) * 1000000)::bigint, options, enabled, slot_made, on_unrepresentable, history, on_schema_change," \
	" auto_refresh, owner::oid, tables, on_slot_loss, wal_limit, diverged, slot_dropped, connection, remote, remote_publish"

#define COPY_AGAIN "copy_id = pg_catalog.gen_random_uuid(), base = NULL, copied = false," \
	" copy_error = NULL, paused_at = NULL, error = NULL"

static Datum
tuple_value(uint64 row, int column, bool *isnull)
{
	return SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column, isnull);
}

/* A column that is never null. */
static Datum
tuple_datum(uint64 row, int column)
{
	bool		isnull;

	return tuple_value(row, column, &isnull);
}

/* A text, or NULL. */
static char *
tuple_text(uint64 row, int column)
{
	bool		isnull;
	Datum		value = tuple_value(row, column, &isnull);

	return isnull ? NULL : TextDatumGetCString(value);
}

static void
execute(const char *query, int expected, int nargs, Oid *types, Datum *values)
{
	int			result = SPI_execute_with_args(query, nargs, types, values, NULL, false, 0);

	if (result != expected)
		elog(ERROR, "could not execute \"%s\": %s", query, SPI_result_code_string(result));
}

static const char *const policy_names[] = {
	[UNREPRESENTABLE_ERROR] = "error",
	[UNREPRESENTABLE_NULL] = "null",
	[UNREPRESENTABLE_CLAMP] = "clamp"
};

static const char *const schema_policy_names[] = {
	[SCHEMA_CHANGE_EVOLVE] = "evolve",
	[SCHEMA_CHANGE_IGNORE] = "ignore",
	[SCHEMA_CHANGE_PAUSE] = "pause",
	[SCHEMA_CHANGE_STOP] = "stop"
};

static const char *const slot_loss_policy_names[] = {
	[SLOT_LOSS_ERROR] = "error",
	[SLOT_LOSS_RESYNC] = "resync"
};

/* The place of a policy's name among those that an option may have; ERROR if it has none. */
static int
policy_parse(const char *option, const char *const *names, int nnames, const char *text)
{
	StringInfoData possible;
	int			i;

	for (i = 0; i < nnames; i++)
	{
		if (strcmp(text, names[i]) == 0)
			return i;
	}
	initStringInfo(&possible);
	for (i = 0; i < nnames; i++)
		appendStringInfo(&possible, "%s\"%s\"", i == 0 ? "" : i == nnames - 1 ? " or " : ", ", names[i]);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("\"%s\" must be %s, not \"%s\"", option, possible.data, text)));
	return 0;					/* keep compiler quiet */
}

UnrepresentablePolicy
unrepresentable_policy_parse(const char *text)
{
	return (UnrepresentablePolicy) policy_parse("on_unrepresentable", policy_names, lengthof(policy_names), text);
}

SchemaChangePolicy
schema_change_policy_parse(const char *text)
{
	return (SchemaChangePolicy) policy_parse("on_schema_change", schema_policy_names, lengthof(schema_policy_names), text);
}

SlotLossPolicy
slot_loss_policy_parse(const char *text)
{
	return (SlotLossPolicy) policy_parse("on_slot_loss", slot_loss_policy_names, lengthof(slot_loss_policy_names), text);
}

/* The rule that a table joined by, 0 for none, and what follows from it. */
void
sync_table_set_rule(const SyncRecord *sync, SyncTableRecord *table, int number)
{
	int			i;

	table->rule_number = number;
	table->rule = number > 0 && number <= list_length(sync->rules) ? list_nth(sync->rules, number - 1) : NULL;
	table->history = sync->history || (table->rule && table->rule->history);
	table->nmetadata = 0;
	for (i = 0; table->history && i < HISTORY_FIELDS; i++)
		table->metadata[table->nmetadata++] = i;
	for (i = 0; table->rule && i < table->rule->nmetadata; i++)
	{
		if (!table->history || table->rule->metadata[i] >= HISTORY_FIELDS)
			table->metadata[table->nmetadata++] = table->rule->metadata[i];
	}
	if (sync_table_keeps_deleted(table))
		table->metadata[table->nmetadata++] = METADATA_DELETED;
}

DataField
sync_table_metadata_field(const SyncTableRecord *table, int number)
{
	return metadata_column(table->metadata[number], table->rule ? table->rule->soft_delete : NULL);
}

List *
sync_table_options(const SyncRecord *sync, const SyncTableRecord *table)
{
	List	   *options = table->rule ? list_copy(table->rule->options) : NIL;
	ListCell   *cell;

	foreach(cell, sync->options)
	{
		if (option_pair_value(options, ((OptionPair *) lfirst(cell))->key) == NULL)
			options = lappend(options, lfirst(cell));
	}
	return options;
}

static SyncRecord *
sync_of_row(uint64 row)
{
	SyncRecord *sync = palloc0(sizeof(SyncRecord));

	sync->name = TextDatumGetCString(tuple_datum(row, 1));
	sync->slot = TextDatumGetCString(tuple_datum(row, 2));
	sync->publication = TextDatumGetCString(tuple_datum(row, 3));
	sync->server = TextDatumGetCString(tuple_datum(row, 4));
	sync->database = TextDatumGetCString(tuple_datum(row, 5));
	sync->flush_interval = DatumGetInt64(tuple_datum(row, 6));
	sync->options = sync_options_parse(tuple_datum(row, 7));
	sync->enabled = DatumGetBool(tuple_datum(row, 8));
	sync->slot_made = DatumGetBool(tuple_datum(row, 9));
	sync->on_unrepresentable = unrepresentable_policy_parse(TextDatumGetCString(tuple_datum(row, 10)));
	sync->history = DatumGetBool(tuple_datum(row, 11));
	sync->on_schema_change = schema_change_policy_parse(TextDatumGetCString(tuple_datum(row, 12)));
	sync->auto_refresh = DatumGetBool(tuple_datum(row, 13));
	sync->owner = DatumGetObjectId(tuple_datum(row, 14));
	sync->rules = table_rules_parse(tuple_datum(row, 15));
	sync->on_slot_loss = slot_loss_policy_parse(TextDatumGetCString(tuple_datum(row, 16)));
	sync->wal_limit = DatumGetInt64(tuple_datum(row, 17));
	sync->diverged = tuple_text(row, 18);
	sync->slot_dropped = tuple_text(row, 19);
	sync->connection = tuple_text(row, 20);
	sync->remote = tuple_text(row, 21);
	sync->remote_publish = tuple_text(row, 22);
	sync->message_tables = message_table_records(sync);
	return sync;
}

/* The columns that the rule of a table uses: three arrays from a column of the row on. */
static void
take_used(SyncTableRecord *table, uint64 row, int column)
{
	Datum	   *names;
	Datum	   *columns;
	Datum	   *types;
	int			i;

	deconstruct_array(DatumGetArrayTypePCopy(tuple_datum(row, column)), TEXTOID, -1, false, TYPALIGN_INT, &names, NULL, &table->nused);
	deconstruct_array(DatumGetArrayTypePCopy(tuple_datum(row, column + 1)), INT2OID, 2, true, TYPALIGN_SHORT, &columns, NULL, &i);
	deconstruct_array(DatumGetArrayTypePCopy(tuple_datum(row, column + 2)), OIDOID, 4, true, TYPALIGN_INT, &types, NULL, &i);
	table->used_names = palloc(sizeof(char *) * table->nused);
	table->used_columns = palloc(sizeof(AttrNumber) * table->nused);
	table->used_types = palloc(sizeof(Oid) * table->nused);
	for (i = 0; i < table->nused; i++)
	{
		table->used_names[i] = TextDatumGetCString(names[i]);
		table->used_columns[i] = DatumGetInt16(columns[i]);
		table->used_types[i] = DatumGetObjectId(types[i]);
	}
}

/* The columns of a table elsewhere: three arrays from a column of the row on. */
static void
take_mirrored(SyncTableRecord *table, uint64 row, int column)
{
	Datum	   *numbers;
	Datum	   *types;
	Datum	   *typmods;
	int			i;

	deconstruct_array(DatumGetArrayTypePCopy(tuple_datum(row, column)), INT2OID, 2, true, TYPALIGN_SHORT, &numbers, NULL, &table->nmirrored);
	deconstruct_array(DatumGetArrayTypePCopy(tuple_datum(row, column + 1)), OIDOID, 4, true, TYPALIGN_INT, &types, NULL, &i);
	deconstruct_array(DatumGetArrayTypePCopy(tuple_datum(row, column + 2)), INT4OID, 4, true, TYPALIGN_INT, &typmods, NULL, &i);
	table->mirrored = palloc(sizeof(RemoteColumn) * table->nmirrored);
	for (i = 0; i < table->nmirrored; i++)
	{
		table->mirrored[i].number = DatumGetInt16(numbers[i]);
		table->mirrored[i].type = DatumGetObjectId(types[i]);
		table->mirrored[i].typmod = DatumGetInt32(typmods[i]);
	}
}

static SyncTableRecord *
table_of_row(const SyncRecord *sync, uint64 row)
{
	SyncTableRecord *table = palloc0(sizeof(SyncTableRecord));
	ArrayType  *columns;
	int			i;

	table->source = DatumGetObjectId(tuple_datum(row, 1));
	table->source_name = TextDatumGetCString(tuple_datum(row, 2));
	table->lake_table = TextDatumGetCString(tuple_datum(row, 3));
	columns = DatumGetArrayTypePCopy(tuple_datum(row, 4));
	table->ncolumns = ArrayGetNItems(ARR_NDIM(columns), ARR_DIMS(columns));
	table->columns = palloc(sizeof(AttrNumber) * table->ncolumns);
	for (i = 0; i < table->ncolumns; i++)
		table->columns[i] = ((int16 *) ARR_DATA_PTR(columns))[i];
	table->copied = DatumGetBool(tuple_datum(row, 5));
	table->column_list = DatumGetBool(tuple_datum(row, 6));
	table->paused = DatumGetBool(tuple_datum(row, 7));
	table->schema_lsn = DatumGetLSN(tuple_datum(row, 8));
	table->copy_id = TextDatumGetCString(tuple_datum(row, 9));
	table->base = DatumGetLSN(tuple_datum(row, 10));
	table->copy_failed = DatumGetBool(tuple_datum(row, 11));
	if (DatumGetBool(tuple_datum(row, 12)))
		table->refused = TextDatumGetCString(tuple_datum(row, 13));
	sync_table_set_rule(sync, table, DatumGetInt32(tuple_datum(row, 14)));
	take_used(table, row, 15);
	table->shard = tuple_text(row, 18);
	table->remote_table = DatumGetObjectId(tuple_datum(row, 19));
	take_mirrored(table, row, 20);
	return table;
}

/* The table of messages that a sync fills, as the only one of the sync. */
static void
take_message_table(SyncRecord *sync, const char *lake_table)
{
	ListCell   *cell;

	foreach(cell, sync->message_tables)
	{
		SyncTableRecord *record = lfirst(cell);

		if (strcmp(record->lake_table, lake_table) == 0)
			sync->tables = list_make1(record);
	}
}

/*
 * All tables, or the one that fills a lake table.  The name of a source comes
 * as text even when the table is gone: then it is the number.
 */
static void
load_tables(SyncRecord *sync, const char *lake_table, MemoryContext context)
{
	Oid			types[2] = {TEXTOID, TEXTOID};
	Datum		values[2];
	uint64		i;

	values[0] = CStringGetTextDatum(sync->name);
	values[1] = CStringGetTextDatum(lake_table ? lake_table : "");
	execute("SELECT t.source::oid, coalesce(t.remote_name, n.nspname || '.' || c.relname, t.source::oid::text), t.lake_table, t.columns, t.copied,"
			" t.column_list, t.error IS NOT NULL, coalesce(t.schema_lsn, '0/0'), t.copy_id::text, coalesce(t.base, '0/0'), t.copy_error IS NOT NULL, t.refused, t.error, coalesce(t.rule, 0),"
			" t.used_names, t.used_columns, t.used_types::oid[], t.shard, coalesce(t.remote_table, 0::oid), t.remote_columns, t.remote_types, t.remote_typmods"
			" FROM streamhouse.sync_table t LEFT JOIN pg_catalog.pg_class c ON c.oid = t.source"
			" LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
			" WHERE t.sync = $1 AND ($2 = '' OR (t.lake_table = $2 AND NOT t.refused)) ORDER BY t.source::oid",
			SPI_OK_SELECT, 2, types, values);
	for (i = 0; i < SPI_processed; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		sync->tables = lappend(sync->tables, table_of_row(sync, i));
		MemoryContextSwitchTo(old);
	}
}

static SyncRecord *
find_by(const char *query, const char *value)
{
	CatalogAccess access;
	MemoryContext context = CurrentMemoryContext;
	SyncRecord *sync = NULL;
	Oid			types[1] = {TEXTOID};
	Datum		values[1];

	catalog_enter(&access);
	values[0] = CStringGetTextDatum(value);
	execute(query, SPI_OK_SELECT, 1, types, values);
	if (SPI_processed > 0)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		sync = sync_of_row(0);
		MemoryContextSwitchTo(old);
		load_tables(sync, NULL, context);
	}
	catalog_leave(&access);
	return sync;
}

SyncRecord *
sync_catalog_find(const char *name)
{
	return find_by("SELECT " SYNC_COLUMNS " FROM streamhouse.sync WHERE name = $1", name);
}

SyncRecord *
sync_catalog_find_by_slot(const char *slot)
{
	return find_by("SELECT " SYNC_COLUMNS " FROM streamhouse.sync WHERE slot = $1::name", slot);
}

List *
sync_catalog_find_by_lake_table(const char *name)
{
	CatalogAccess access;
	MemoryContext context = CurrentMemoryContext;
	List	   *result = NIL;
	Oid			types[1] = {TEXTOID};
	Datum		values[1];
	uint64		i;
	ListCell   *cell;

	catalog_enter(&access);
	values[0] = CStringGetTextDatum(name);
	execute("SELECT " SYNC_COLUMNS " FROM streamhouse.sync s WHERE EXISTS (SELECT FROM streamhouse.sync_table t"
			" WHERE t.sync = s.name AND NOT t.refused AND s.database || '.' || t.lake_table = $1)"
			" OR EXISTS (SELECT FROM jsonb_array_elements(s.tables) r WHERE r ? 'messages' AND s.database || '.' || (r ->> 'table') = $1)",
			SPI_OK_SELECT, 1, types, values);
	for (i = 0; i < SPI_processed; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		result = lappend(result, sync_of_row(i));
		MemoryContextSwitchTo(old);
	}
	foreach(cell, result)
	{
		SyncRecord *sync = lfirst(cell);

		load_tables(sync, name + strlen(sync->database) + 1, context);
		if (sync->tables == NIL)
		{
			MemoryContext old = MemoryContextSwitchTo(context);

			take_message_table(sync, name + strlen(sync->database) + 1);
			MemoryContextSwitchTo(old);
		}
	}
	catalog_leave(&access);
	return result;
}

List *
sync_catalog_list(void)
{
	CatalogAccess access;
	MemoryContext context = CurrentMemoryContext;
	List	   *result = NIL;
	uint64		i;

	catalog_enter(&access);
	execute("SELECT " SYNC_COLUMNS " FROM streamhouse.sync ORDER BY name", SPI_OK_SELECT, 0, NULL, NULL);
	for (i = 0; i < SPI_processed; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		result = lappend(result, sync_of_row(i));
		MemoryContextSwitchTo(old);
	}
	catalog_leave(&access);
	return result;
}

static Datum
columns_array(const AttrNumber *columns, int ncolumns)
{
	Datum	   *elements = palloc(sizeof(Datum) * ncolumns);
	int			i;

	for (i = 0; i < ncolumns; i++)
		elements[i] = Int16GetDatum(columns[i]);
	return PointerGetDatum(construct_array(elements, ncolumns, INT2OID, sizeof(int16), true, TYPALIGN_SHORT));
}

/* The arrays that take_used reads. */
static void
used_arrays(const SyncTableRecord *table, Datum *arrays)
{
	Datum	   *names = palloc(sizeof(Datum) * table->nused);
	Datum	   *types = palloc(sizeof(Datum) * table->nused);
	int			i;

	for (i = 0; i < table->nused; i++)
	{
		names[i] = CStringGetTextDatum(table->used_names[i]);
		types[i] = ObjectIdGetDatum(table->used_types[i]);
	}
	arrays[0] = PointerGetDatum(construct_array(names, table->nused, TEXTOID, -1, false, TYPALIGN_INT));
	arrays[1] = columns_array(table->used_columns, table->nused);
	arrays[2] = PointerGetDatum(construct_array(types, table->nused, OIDOID, sizeof(Oid), true, TYPALIGN_INT));
}

/* The arrays that take_mirrored reads. */
static void
mirrored_arrays(const SyncTableRecord *table, Datum *arrays)
{
	Datum	   *numbers = palloc(sizeof(Datum) * table->nmirrored);
	Datum	   *types = palloc(sizeof(Datum) * table->nmirrored);
	Datum	   *typmods = palloc(sizeof(Datum) * table->nmirrored);
	int			i;

	for (i = 0; i < table->nmirrored; i++)
	{
		numbers[i] = Int16GetDatum(table->mirrored[i].number);
		types[i] = ObjectIdGetDatum(table->mirrored[i].type);
		typmods[i] = Int32GetDatum(table->mirrored[i].typmod);
	}
	arrays[0] = PointerGetDatum(construct_array(numbers, table->nmirrored, INT2OID, sizeof(int16), true, TYPALIGN_SHORT));
	arrays[1] = PointerGetDatum(construct_array(types, table->nmirrored, OIDOID, sizeof(Oid), true, TYPALIGN_INT));
	arrays[2] = PointerGetDatum(construct_array(typmods, table->nmirrored, INT4OID, sizeof(int32), true, TYPALIGN_INT));
}

static void
insert_table(const char *sync, const SyncTableRecord *table)
{
	Oid			types[17] = {TEXTOID, REGCLASSOID, TEXTOID, INT2ARRAYOID, BOOLOID, BOOLOID, TEXTOID, INT4OID,
	TEXTARRAYOID, INT2ARRAYOID, OIDARRAYOID, TEXTOID, OIDOID, TEXTOID, INT2ARRAYOID, OIDARRAYOID, INT4ARRAYOID};
	Datum		values[17];

	values[0] = CStringGetTextDatum(sync);
	values[1] = ObjectIdGetDatum(table->source);
	values[2] = CStringGetTextDatum(table->lake_table);
	/* those of a shared lake table are matched with its fields when they are copied */
	values[3] = columns_array(table->columns, table->shard ? 0 : table->ncolumns);
	values[4] = BoolGetDatum(table->column_list);
	values[5] = BoolGetDatum(table->refused != NULL);
	values[6] = CStringGetTextDatum(table->refused ? table->refused : "");
	values[7] = Int32GetDatum(table->rule_number);
	used_arrays(table, &values[8]);
	values[11] = CStringGetTextDatum(table->shard ? table->shard : "");
	values[12] = ObjectIdGetDatum(table->remote_table);
	values[13] = CStringGetTextDatum(table->source_name);
	mirrored_arrays(table, &values[14]);
	execute("INSERT INTO streamhouse.sync_table (sync, source, lake_table, columns, column_list, refused, error, rule,"
			" used_names, used_columns, used_types, shard, remote_table, remote_name, remote_columns, remote_types, remote_typmods)"
			" VALUES ($1, $2, $3, $4, $5, $6, CASE WHEN $6 THEN $7 END, nullif($8, 0), $9, $10, $11::regtype[], nullif($12, ''),"
			" nullif($13, 0::oid), CASE WHEN $13 <> 0 THEN $14 END, $15, $16, $17)",
			SPI_OK_INSERT, 17, types, values);
}

void
sync_catalog_insert(const SyncRecord *sync, Datum flush_interval, Datum options, Datum rules)
{
	CatalogAccess access;
	Oid			types[15] = {TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, INTERVALOID, JSONBOID, TEXTOID, BOOLOID, TEXTOID,
	BOOLOID, OIDOID, JSONBOID, TEXTOID, INT8OID};
	Datum		values[15];
	ListCell   *cell;

	catalog_enter(&access);
	values[0] = CStringGetTextDatum(sync->name);
	values[1] = CStringGetTextDatum(sync->slot);
	values[2] = CStringGetTextDatum(sync->publication);
	values[3] = CStringGetTextDatum(sync->server);
	values[4] = CStringGetTextDatum(sync->database);
	values[5] = flush_interval;
	values[6] = options;
	values[7] = CStringGetTextDatum(policy_names[sync->on_unrepresentable]);
	values[8] = BoolGetDatum(sync->history);
	values[9] = CStringGetTextDatum(schema_policy_names[sync->on_schema_change]);
	values[10] = BoolGetDatum(sync->auto_refresh);
	values[11] = ObjectIdGetDatum(sync->owner);
	values[12] = rules;
	values[13] = CStringGetTextDatum(slot_loss_policy_names[sync->on_slot_loss]);
	values[14] = Int64GetDatum(sync->wal_limit);
	execute("INSERT INTO streamhouse.sync (name, slot, publication, server, database, flush_interval, options,"
			" on_unrepresentable, history, on_schema_change, auto_refresh, owner, tables, on_slot_loss, wal_limit)"
			" VALUES ($1, $2::name, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
			SPI_OK_INSERT, 15, types, values);
	foreach(cell, sync->tables)
		insert_table(sync->name, lfirst(cell));
	catalog_leave(&access);
	if (sync->connection)
		sync_catalog_set_remote(sync);
}

/* Run a statement about one sync. */
static void
execute_about(const char *query, int expected, const char *sync)
{
	CatalogAccess access;
	Oid			types[1] = {TEXTOID};
	Datum		values[1];

	catalog_enter(&access);
	values[0] = CStringGetTextDatum(sync);
	execute(query, expected, 1, types, values);
	catalog_leave(&access);
}

void
sync_catalog_alter(const char *name, const Datum *flush_interval, const UnrepresentablePolicy *policy,
				   const SchemaChangePolicy *on_schema_change, const bool *auto_refresh,
				   const SlotLossPolicy *on_slot_loss, const int64 *wal_limit)
{
	CatalogAccess access;
	Oid			types[7] = {TEXTOID, INTERVALOID, TEXTOID, TEXTOID, BOOLOID, TEXTOID, INT8OID};
	Datum		values[7] = {0};
	char		nulls[] = "       ";

	catalog_enter(&access);
	values[0] = CStringGetTextDatum(name);
	if (flush_interval)
		values[1] = *flush_interval;
	else
		nulls[1] = 'n';
	if (policy)
		values[2] = CStringGetTextDatum(policy_names[*policy]);
	else
		nulls[2] = 'n';
	if (on_schema_change)
		values[3] = CStringGetTextDatum(schema_policy_names[*on_schema_change]);
	else
		nulls[3] = 'n';
	if (auto_refresh)
		values[4] = BoolGetDatum(*auto_refresh);
	else
		nulls[4] = 'n';
	if (on_slot_loss)
		values[5] = CStringGetTextDatum(slot_loss_policy_names[*on_slot_loss]);
	else
		nulls[5] = 'n';
	if (wal_limit)
		values[6] = Int64GetDatum(*wal_limit);
	else
		nulls[6] = 'n';
	if (SPI_execute_with_args("UPDATE streamhouse.sync SET flush_interval = coalesce($2, flush_interval),"
							  " on_unrepresentable = coalesce($3, on_unrepresentable),"
							  " on_schema_change = coalesce($4, on_schema_change),"
							  " auto_refresh = coalesce($5, auto_refresh),"
							  " on_slot_loss = coalesce($6, on_slot_loss), wal_limit = coalesce($7, wal_limit) WHERE name = $1",
							  7, types, values, nulls, false, 0) != SPI_OK_UPDATE)
		elog(ERROR, "could not alter sync \"%s\"", name);
	catalog_leave(&access);
}

void
sync_catalog_set_remote(const SyncRecord *sync)
{
	CatalogAccess access;
	Oid			types[4] = {TEXTOID, TEXTOID, TEXTOID, TEXTOID};
	Datum		values[4];

	catalog_enter(&access);
	values[0] = CStringGetTextDatum(sync->name);
	values[1] = CStringGetTextDatum(sync->connection);
	values[2] = CStringGetTextDatum(sync->remote);
	values[3] = CStringGetTextDatum(sync->remote_publish);
	execute("UPDATE streamhouse.sync SET connection = $2, remote = $3, remote_publish = $4 WHERE name = $1",
			SPI_OK_UPDATE, 4, types, values);
	catalog_leave(&access);
}

void
sync_catalog_set_rules(const char *name, Datum rules)
{
	CatalogAccess access;
	Oid			types[2] = {TEXTOID, JSONBOID};
	Datum		values[2] = {CStringGetTextDatum(name), rules};

	catalog_enter(&access);
	execute("UPDATE streamhouse.sync SET tables = $2 WHERE name = $1", SPI_OK_UPDATE, 2, types, values);
	catalog_leave(&access);
}

void
sync_catalog_delete(const char *name)
{
	execute_about("DELETE FROM streamhouse.sync WHERE name = $1", SPI_OK_DELETE, name);
}

void
sync_catalog_lock(const char *name)
{
	execute_about("SELECT FROM streamhouse.sync WHERE name = $1 FOR UPDATE", SPI_OK_SELECT, name);
}

void
sync_catalog_set_enabled(const char *name, bool enabled)
{
	execute_about(enabled ? "UPDATE streamhouse.sync SET enabled = true WHERE name = $1"
				  : "UPDATE streamhouse.sync SET enabled = false WHERE name = $1",
				  SPI_OK_UPDATE, name);
}

/* A statement about one sync, $1, and a text. */
static void
set_text(const char *query, const char *name, const char *text)
{
	CatalogAccess access;
	Oid			types[2] = {TEXTOID, TEXTOID};
	Datum		values[2];

	catalog_enter(&access);
	values[0] = CStringGetTextDatum(name);
	values[1] = CStringGetTextDatum(text);
	execute(query, SPI_OK_UPDATE, 2, types, values);
	catalog_leave(&access);
}

void
sync_catalog_set_diverged(const char *name, const char *reason)
{
	set_text("UPDATE streamhouse.sync SET diverged = $2 WHERE name = $1", name, reason);
}

void
sync_catalog_set_slot_dropped(const char *name, const char *reason)
{
	set_text("UPDATE streamhouse.sync SET slot_dropped = $2 WHERE name = $1", name, reason);
}

void
sync_catalog_forget_loss(const char *name)
{
	execute_about("UPDATE streamhouse.sync SET diverged = NULL, slot_dropped = NULL WHERE name = $1", SPI_OK_UPDATE, name);
}

void
sync_catalog_resync(const char *name)
{
	execute_about("UPDATE streamhouse.sync SET slot_made = false, diverged = NULL, slot_dropped = NULL WHERE name = $1", SPI_OK_UPDATE, name);
	execute_about("UPDATE streamhouse.sync_table SET " COPY_AGAIN " WHERE sync = $1 AND NOT refused", SPI_OK_UPDATE, name);
}

void
sync_catalog_set_slot_made(const char *name)
{
	execute_about("UPDATE streamhouse.sync SET slot_made = true WHERE name = $1", SPI_OK_UPDATE, name);
}

/* A statement about one copy of a table: $1 is its id, $2 a text or null. */
static void
update_copy(const char *query, const char *copy_id, const char *value)
{
	CatalogAccess access;
	Oid			types[2] = {TEXTOID, TEXTOID};
	Datum		values[2] = {0};

	catalog_enter(&access);
	values[0] = CStringGetTextDatum(copy_id);
	if (value)
		values[1] = CStringGetTextDatum(value);
	if (SPI_execute_with_args(query, 2, types, values, value ? NULL : " n", false, 0) != SPI_OK_UPDATE)
		elog(ERROR, "could not execute \"%s\"", query);
	catalog_leave(&access);
}

void
sync_catalog_set_base(const SyncTableRecord *table, XLogRecPtr base)
{
	update_copy("UPDATE streamhouse.sync_table SET base = $2::pg_lsn, copied = false WHERE copy_id = $1::uuid",
				table->copy_id, XLogRecPtrIsInvalid(base) ? NULL : psprintf("%X/%X", LSN_FORMAT_ARGS(base)));
}

void
sync_catalog_set_copy_error(const char *copy_id, const char *error)
{
	update_copy("UPDATE streamhouse.sync_table SET copy_error = $2 WHERE copy_id = $1::uuid", copy_id, error);
}

void
sync_catalog_set_copied(const char *copy_id)
{
	update_copy("UPDATE streamhouse.sync_table SET copied = true, copy_error = $2 WHERE copy_id = $1::uuid AND base IS NOT NULL",
				copy_id, NULL);
}

bool
sync_catalog_is_copied_to(const LakeTable *lake)
{
	CatalogAccess access;
	Oid			types[1] = {TEXTOID};
	Datum		values[1];
	bool		found = false;
	uint64		i;

	catalog_enter(&access);
	values[0] = CStringGetTextDatum(lake->name);
	execute("SELECT s.server, s.database, t.lake_table FROM streamhouse.sync s JOIN streamhouse.sync_table t ON t.sync = s.name"
			" WHERE NOT t.copied AND NOT t.refused AND s.database || '.' || t.lake_table = $1", SPI_OK_SELECT, 1, types, values);
	for (i = 0; i < SPI_processed; i++)
	{
		ForeignServer *server = GetForeignServerByName(TextDatumGetCString(tuple_datum(i, 1)), true);

		found |= server && strcmp(lake->location, lake_table_location(server_warehouse(server, false),
																	  TextDatumGetCString(tuple_datum(i, 2)),
																	  TextDatumGetCString(tuple_datum(i, 3)))) == 0;
	}
	catalog_leave(&access);
	return found;
}

void
sync_catalog_add_table(const char *sync, const SyncTableRecord *table)
{
	CatalogAccess access;

	catalog_enter(&access);
	insert_table(sync, table);
	catalog_leave(&access);
}

void
sync_catalog_remove_table(const char *sync, const SyncTableRecord *table)
{
	CatalogAccess access;
	Oid			types[2] = {TEXTOID, TEXTOID};
	Datum		values[2];

	catalog_enter(&access);
	values[0] = CStringGetTextDatum(sync);
	values[1] = CStringGetTextDatum(table->copy_id);
	execute("DELETE FROM streamhouse.sync_table WHERE sync = $1 AND copy_id = $2::uuid", SPI_OK_DELETE, 2, types, values);
	catalog_leave(&access);
}

/* Change the row of a table, if it is still the one that is known: $1 and $2 say which. */
static void
update_table(const char *query, const char *sync, const SyncTableRecord *table, int nvalues, const Oid *more_types,
			 const Datum *more_values)
{
	CatalogAccess access;
	Oid			types[5] = {TEXTOID, TEXTOID};
	Datum		values[5];

	catalog_enter(&access);
	values[0] = CStringGetTextDatum(sync);
	values[1] = CStringGetTextDatum(table->copy_id);
	memcpy(types + 2, more_types, sizeof(Oid) * nvalues);
	memcpy(values + 2, more_values, sizeof(Datum) * nvalues);
	execute(query, SPI_OK_UPDATE, 2 + nvalues, types, values);
	catalog_leave(&access);
}

bool
sync_catalog_add_counts(const char *sync, const SyncTableRecord *table, const TableCounts *counts)
{
	CatalogAccess access;
	Oid			types[8] = {TEXTOID, REGCLASSOID, TEXTOID, INT8OID, INT8OID, INT8OID, INT8OID, INT8OID};
	Datum		values[8] = {CStringGetTextDatum(sync), ObjectIdGetDatum(table->source), CStringGetTextDatum(table->copy_id),
		Int64GetDatum(counts->inserted), Int64GetDatum(counts->updated), Int64GetDatum(counts->deleted),
	Int64GetDatum(counts->copied), Int64GetDatum(counts->bytes)};
	bool		locked;

	catalog_enter(&access);
	execute("SELECT FROM streamhouse.sync_table WHERE sync = $1 AND source = $2 FOR NO KEY UPDATE SKIP LOCKED", SPI_OK_SELECT, 2, types, values);
	locked = SPI_processed > 0;
	if (locked)
		execute("UPDATE streamhouse.sync_table SET rows_inserted = rows_inserted + $4, rows_updated = rows_updated + $5,"
				" rows_deleted = rows_deleted + $6, rows_copied = rows_copied + $7, bytes_written = bytes_written + $8"
				" WHERE sync = $1 AND source = $2 AND copy_id = $3::uuid", SPI_OK_UPDATE, 8, types, values);
	catalog_leave(&access);
	return locked;
}

void
sync_catalog_set_columns(const char *sync, const SyncTableRecord *table, const AttrNumber *columns, int ncolumns,
						 bool column_list, XLogRecPtr lsn)
{
	Oid			types[3] = {INT2ARRAYOID, BOOLOID, PG_LSNOID};
	Datum		values[3] = {columns_array(columns, ncolumns), BoolGetDatum(column_list), LSNGetDatum(lsn)};

	update_table("UPDATE streamhouse.sync_table SET columns = $3, column_list = $4, schema_lsn = $5"
				 " WHERE sync = $1 AND copy_id = $2::uuid",
				 sync, table, 3, types, values);
}

void
sync_catalog_set_mirrored(const char *sync, const SyncTableRecord *table)
{
	Oid			types[3] = {INT2ARRAYOID, OIDARRAYOID, INT4ARRAYOID};
	Datum		values[3];

	mirrored_arrays(table, values);
	update_table("UPDATE streamhouse.sync_table SET remote_columns = $3, remote_types = $4, remote_typmods = $5"
				 " WHERE sync = $1 AND copy_id = $2::uuid",
				 sync, table, 3, types, values);
}

void
sync_catalog_set_rule_number(const char *sync, const SyncTableRecord *table)
{
	Oid			types[1] = {INT4OID};
	Datum		values[1] = {Int32GetDatum(table->rule_number)};

	update_table("UPDATE streamhouse.sync_table SET rule = nullif($3, 0) WHERE sync = $1 AND copy_id = $2::uuid",
				 sync, table, 1, types, values);
}

void
sync_catalog_set_used(const char *sync, const SyncTableRecord *table, const SyncTableRecord *used)
{
	Oid			types[3] = {TEXTARRAYOID, INT2ARRAYOID, OIDARRAYOID};
	Datum		values[3];

	used_arrays(used, values);
	update_table("UPDATE streamhouse.sync_table SET used_names = $3, used_columns = $4, used_types = $5::regtype[]"
				 " WHERE sync = $1 AND copy_id = $2::uuid",
				 sync, table, 3, types, values);
}

void
sync_catalog_copy_again(const char *sync, const SyncTableRecord *table)
{
	update_table("UPDATE streamhouse.sync_table SET " COPY_AGAIN " WHERE sync = $1 AND copy_id = $2::uuid",
				 sync, table, 0, NULL, NULL);
}

void
sync_catalog_pause_table(const char *sync, const SyncTableRecord *table, XLogRecPtr lsn, const char *error)
{
	Oid			types[2] = {PG_LSNOID, TEXTOID};
	Datum		values[2] = {LSNGetDatum(lsn), CStringGetTextDatum(error)};

	update_table("UPDATE streamhouse.sync_table SET paused_at = nullif($3, '0/0'), error = $4"
				 " WHERE sync = $1 AND copy_id = $2::uuid",
				 sync, table, 2, types, values);
}
