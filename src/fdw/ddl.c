/*
 * ddl.c
 *		Event trigger: CREATE FOREIGN TABLE makes the lake table.
 *
 * When the lake has no table there, one is made of the columns and options,
 * and appears when the transaction commits.  When there is one, the columns
 * must suit it.  ALTER FOREIGN TABLE cannot change a lake table, and says so.
 */
#include "postgres.h"

#include "access/table.h"
#include "commands/event_trigger.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "utils/rel.h"

#include "fdw/fdw.h"
#include "fdw/types.h"

#define FDW_NAME "streamhouse"

PG_FUNCTION_INFO_V1(streamhouse_ddl_trigger);
PGDLLEXPORT Datum streamhouse_ddl_trigger(PG_FUNCTION_ARGS);

static bool
is_ours(Oid relid)
{
	ForeignServer *server = GetForeignServer(GetForeignTable(relid)->serverid);

	return strcmp(GetForeignDataWrapper(server->fdwid)->fdwname, FDW_NAME) == 0;
}

/* Columns that are kept: PostgreSQL 18 computes virtual ones when they are read. */
static bool
is_stored(Form_pg_attribute attribute)
{
	return !attribute->attisdropped && attribute->attgenerated != 'v';
}

static TableSchema *
schema_of_relation(Relation relation)
{
	TupleDesc	desc = RelationGetDescr(relation);
	Oid			relid = RelationGetRelid(relation);
	DataField  *fields = palloc0(desc->natts * sizeof(DataField));
	List	   *primary_key;
	List	   *options;
	int			nfields = 0;
	int			i;

	for (i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);
		DataField  *field = &fields[nfields];

		if (!is_stored(attribute))
			continue;
		nfields++;
		field->name = pstrdup(NameStr(attribute->attname));
		field->type = lake_type_of_sql(field->name, attribute->atttypid, attribute->atttypmod,
									   !attribute->attnotnull);
	}
	if (nfields == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("foreign table \"%s\" has no columns to make a lake table of",
						RelationGetRelationName(relation)),
				 errhint("Use IMPORT FOREIGN SCHEMA for tables that are in the lake.")));
	primary_key = table_primary_key(relid);
	options = table_lake_options(relid);
	return schema_build(nfields, fields, table_partition_keys(relid), primary_key,
						primary_key != NIL ? schema_with_default_bucket(options) : options, NULL);
}

/* The lake table's schema, whether it is in the lake or will be; NULL: neither. */
static LakeTable *
existing_table(const TableAddress *address)
{
	const TableSchema *created = transaction_created_table(address->location);

	if (created != NULL)
		return lake_table_with_schema(address->warehouse, address->database, address->table, created);
	return lake_table_open_address(address);
}

static void
refuse_definition(Relation relation, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_DUPLICATE_TABLE),
			 errmsg("the lake table of foreign table \"%s\" exists, with another %s",
					RelationGetRelationName(relation), what),
			 errhint("Leave the options out, or give those of the lake table.")));
}

static bool
same_names(List *names, const TableSchema *schema, const int *positions, int npositions)
{
	ListCell   *lc;
	int			i = 0;

	if (list_length(names) != npositions)
		return false;
	foreach(lc, names)
	{
		if (strcmp(lfirst(lc), schema->fields[positions[i++]].name) != 0)
			return false;
	}
	return true;
}

/* What the options say of a lake table that is there must be true of it. */
static void
check_definition(Relation relation, const TableSchema *schema)
{
	Oid			relid = RelationGetRelid(relation);
	List	   *primary_key = table_primary_key(relid);
	List	   *partition_keys = table_partition_keys(relid);
	ListCell   *lc;

	if (primary_key != NIL &&
		!same_names(primary_key, schema, schema->primary_keys, schema->nprimary_keys))
		refuse_definition(relation, "primary key");
	if (partition_keys != NIL &&
		!same_names(partition_keys, schema, schema->partition_keys, schema->npartition_keys))
		refuse_definition(relation, "partitioning");
	foreach(lc, table_lake_options(relid))
	{
		const OptionPair *pair = lfirst(lc);
		const char *value = schema_option(schema, pair->key);

		if (value == NULL || strcmp(value, pair->value) != 0)
			refuse_definition(relation, psprintf("option \"%s\"", pair->key));
	}
}

static void
make_lake_table(Relation relation, const TableAddress *address)
{
	TableSchema *schema;
	LakeTable  *table;

	if (strchr(address->table, '$') != NULL || address->system != NULL || address->read_options != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("lake table \"%s.%s\" does not exist", address->database, address->table),
				 errdetail("Foreign table \"%s\" would only read it.", RelationGetRelationName(relation))));
	schema = schema_of_relation(relation);
	table = lake_table_with_schema(address->warehouse, address->database, address->table, schema);

	/* a table that could not be used is not worth making */
	options_check_readable(table->schema, table->options, table->name);
	options_check_writable(table->schema, table->options, table->name);
	lake_table_close(table);

	/* checks the privilege to write */
	table_address(RelationGetRelid(relation), true);
	transaction_create_table(address, schema);
}

static void
foreign_table_created(Oid relid)
{
	Relation	relation = table_open(relid, AccessShareLock);
	TableAddress *address = table_address(relid, false);
	LakeTable  *table = existing_table(address);

	if (table == NULL)
		make_lake_table(relation, address);
	else
	{
		match_columns(RelationGetDescr(relation), RelationGetRelationName(relation), table);
		check_definition(relation, table->schema);
		lake_table_close(table);
	}
	table_close(relation, NoLock);
}

/* Do the options given change more than which lake table is shown? */
static void
check_altered_options(List *options)
{
	ListCell   *lc;

	foreach(lc, options)
	{
		const char *name = lfirst_node(DefElem, lc)->defname;

		if (!is_foreign_table_option(name) && !is_read_option(name))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot change option \"%s\" of a lake table with ALTER FOREIGN TABLE", name),
					 errhint("The options \"database\", \"table\" and \"fresh_reads\" can be changed, and those that say which rows are read.")));
	}
}

static void
check_alter(const AlterTableStmt *stmt)
{
	ListCell   *lc;

	foreach(lc, stmt->cmds)
	{
		const AlterTableCmd *command = lfirst_node(AlterTableCmd, lc);

		if (command->subtype == AT_GenericOptions)
			check_altered_options((List *) command->def);
	}
}

/* The foreign tables that the command has touched (Oids), ours alone. */
static List *
touched_tables(void)
{
	MemoryContext context = CurrentMemoryContext;
	List	   *relids = NIL;
	uint64		i;

	SPI_connect();
	if (SPI_execute("SELECT objid FROM pg_catalog.pg_event_trigger_ddl_commands() "
					"WHERE object_type OPERATOR(pg_catalog.=) 'foreign table'", true, 0) != SPI_OK_SELECT)
		elog(ERROR, "cannot read the commands of an event trigger");
	for (i = 0; i < SPI_processed; i++)
	{
		bool		isnull;
		Oid			relid = DatumGetObjectId(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &isnull));
		MemoryContext old_context = MemoryContextSwitchTo(context);

		if (is_ours(relid))
			relids = list_append_unique_oid(relids, relid);
		MemoryContextSwitchTo(old_context);
	}
	SPI_finish();
	return relids;
}

Datum
streamhouse_ddl_trigger(PG_FUNCTION_ARGS)
{
	EventTriggerData *trigger = (EventTriggerData *) fcinfo->context;
	List	   *relids;
	ListCell   *lc;

	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" can only be called as an event trigger", "streamhouse.ddl_trigger")));

	/* pg_upgrade only copies what there is */
	if (IsBinaryUpgrade)
		PG_RETURN_NULL();

	relids = touched_tables();
	if (IsA(trigger->parsetree, CreateForeignTableStmt))
	{
		foreach(lc, relids)
			foreign_table_created(lfirst_oid(lc));
	}
	else if (IsA(trigger->parsetree, AlterTableStmt) && relids != NIL)
		check_alter((AlterTableStmt *) trigger->parsetree);
	PG_RETURN_NULL();
}
