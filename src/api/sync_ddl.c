/*
 * sync_ddl.c
 *		Event triggers: what happens to tables is written into the WAL.
 *
 * It cannot be known here which tables a sync will have when the transaction
 * commits, so it is written of all.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/pg_inherits.h"
#include "commands/event_trigger.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "sync/source.h"
#include "sync/table_message.h"

PG_FUNCTION_INFO_V1(streamhouse_sync_ddl_trigger);
PGDLLEXPORT Datum streamhouse_sync_ddl_trigger(PG_FUNCTION_ARGS);

/* Tables that the command has altered. */
#define ALTERED_TABLES \
	"SELECT DISTINCT objid, 0 FROM pg_event_trigger_ddl_commands()" \
	" WHERE classid = 'pg_class'::regclass AND object_type IN ('table', 'table column')"

#define DROPPED_TABLES \
	"SELECT objid, 0 FROM pg_event_trigger_dropped_objects() WHERE object_type = 'table' AND NOT is_temporary"

/* Columns of tables whose values are, or hold, values of a type that the command has altered. */
#define DEPENDENT_COLUMNS \
	"WITH RECURSIVE types(oid) AS (" \
	" SELECT coalesce(c.reltype, d.objid) FROM pg_event_trigger_ddl_commands() d" \
	" LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid" \
	" UNION" \
	" SELECT coalesce(c.reltype, d.objid) FROM types t" \
	" JOIN pg_depend d ON d.refclassid = 'pg_type'::regclass AND d.refobjid = t.oid" \
	"  AND d.classid IN ('pg_type'::regclass, 'pg_class'::regclass)" \
	" LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid)" \
	" SELECT d.objid, d.objsubid FROM types t" \
	" JOIN pg_depend d ON d.refclassid = 'pg_type'::regclass AND d.refobjid = t.oid" \
	" JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid AND c.relkind IN ('r', 'p')" \
	" WHERE t.oid <> 0 AND d.objsubid > 0"

/* A query's rows: a table, and a column of it or 0.  TableMessage *. */
static List *
query_tables(const char *query, TableMessageKind kind)
{
	MemoryContext context = CurrentMemoryContext;
	List	   *messages = NIL;
	uint64		i;

	SPI_connect();
	if (SPI_execute(query, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "cannot read the commands of an event trigger");
	for (i = 0; i < SPI_processed; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(context);
		TableMessage *message = palloc0(sizeof(TableMessage));
		bool		isnull;
		int			column = DatumGetInt32(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 2, &isnull));

		message->kind = kind;
		message->relid = DatumGetObjectId(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &isnull));
		if (column > 0)
			message->columns = list_make1_int(column);
		messages = lappend(messages, message);
		MemoryContextSwitchTo(old);
	}
	SPI_finish();
	return messages;
}

static void
log_messages(List *messages)
{
	ListCell   *cell;

	foreach(cell, messages)
		table_message_log(lfirst(cell));
}

/* A command may reach the tables that inherit from the one it names. */
static void
log_with_inheritors(const TableMessage *parent)
{
	ListCell   *cell;

	foreach(cell, find_all_inheritors(parent->relid, NoLock, NULL))
	{
		TableMessage message = {.kind = parent->kind, .relid = lfirst_oid(cell)};

		if (get_rel_persistence(message.relid) == RELPERSISTENCE_PERMANENT)
			table_message_log(&message);
	}
}

/* Does the command change how values of a type print? */
static bool
changes_values_of_type(const Node *command)
{
	const ListCell *cell;

	if (IsA(command, AlterEnumStmt))
		return castNode(AlterEnumStmt, command)->oldVal != NULL;
	if (!IsA(command, AlterTableStmt))
		return false;
	foreach(cell, castNode(AlterTableStmt, command)->cmds)
	{
		AlterTableType subtype = lfirst_node(AlterTableCmd, cell)->subtype;

		if (subtype == AT_AddColumn || subtype == AT_DropColumn || subtype == AT_AlterColumnType)
			return true;
	}
	return false;
}

static void
command_ended(const Node *command)
{
	ListCell   *cell;

	foreach(cell, query_tables(ALTERED_TABLES, TABLE_CHANGED))
		log_with_inheritors(lfirst(cell));
	if (changes_values_of_type(command))
		log_messages(query_tables(DEPENDENT_COLUMNS, TABLE_REWRITTEN));
}

/*
 * Has a column that the command names got other values?  USING computes them.
 * Without it the cast of a type that the lake keeps as text may; the lake's
 * own types tell what became of values.
 */
static bool
computes_values(const AlterTableCmd *command, Oid relid, AttrNumber number)
{
	Oid			typid;
	int32		typmod;
	Oid			collation;

	if (compat_sets_expression(command->subtype))
		return true;
	if (command->subtype != AT_AlterColumnType)
		return false;
	if (castNode(ColumnDef, command->def)->raw_default != NULL)
		return true;
	get_atttypetypmodcoll(relid, number, &typid, &typmod, &collation);
	return source_keeps_text(typid, typmod);
}

static void
table_rewritten(const Node *command, Oid relid)
{
	TableMessage message = {.kind = TABLE_REWRITTEN, .relid = relid};
	ListCell   *cell;

	if (!IsA(command, AlterTableStmt) || get_rel_persistence(relid) != RELPERSISTENCE_PERMANENT)
		return;
	foreach(cell, castNode(AlterTableStmt, command)->cmds)
	{
		const AlterTableCmd *part = lfirst_node(AlterTableCmd, cell);
		AttrNumber	number = part->name ? get_attnum(relid, part->name) : InvalidAttrNumber;

		if (number != InvalidAttrNumber && computes_values(part, relid, number))
			message.columns = lappend_int(message.columns, number);
	}
	if (message.columns != NIL)
		table_message_log(&message);
}

static Oid
rewritten_table(void)
{
	Oid			relid;
	bool		isnull;

	SPI_connect();
	if (SPI_execute("SELECT pg_event_trigger_table_rewrite_oid()", true, 1) != SPI_OK_SELECT)
		elog(ERROR, "cannot read the table of an event trigger");
	relid = DatumGetObjectId(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	SPI_finish();
	return relid;
}

Datum
streamhouse_sync_ddl_trigger(PG_FUNCTION_ARGS)
{
	EventTriggerData *trigger = (EventTriggerData *) fcinfo->context;

	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" can only be called as an event trigger", "streamhouse.sync_ddl_trigger")));

	/* without logical decoding nobody would read it */
	if (IsBinaryUpgrade || !XLogLogicalInfoActive())
		PG_RETURN_NULL();
	if (strcmp(trigger->event, "sql_drop") == 0)
		log_messages(query_tables(DROPPED_TABLES, TABLE_DROPPED));
	else if (strcmp(trigger->event, "table_rewrite") == 0)
		table_rewritten(trigger->parsetree, rewritten_table());
	else
		command_ended(trigger->parsetree);
	PG_RETURN_NULL();
}
