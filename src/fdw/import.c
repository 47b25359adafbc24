/*
 * import.c
 *		IMPORT FOREIGN SCHEMA: a foreign table for each table of a database.
 *
 * What cannot be shown is left out with a WARNING that says why; but a table
 * that was asked for by name (LIMIT TO) must be there, and be readable.
 *
 * Option rows: ROW is shown as 'composite' types, made here, or as 'jsonb'.
 */
#include "postgres.h"

#include "access/xact.h"
#include "commands/defrem.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "fdw/fdw.h"
#include "fdw/import_types.h"
#include "format/format.h"
#include "lake/system_table.h"

typedef struct Import
{
	const ForeignServer *server;
	const ImportForeignSchemaStmt *stmt;
	char	   *warehouse;
	ImportTypes types;
	List	   *commands;		/* char * */
} Import;

/* Has the database the system tables of the whole warehouse? */
static bool
is_system_database(const Import *import)
{
	return strcmp(import->stmt->remote_schema, SYSTEM_DATABASE) == 0;
}

static bool
is_listed(const ImportForeignSchemaStmt *stmt, const char *table)
{
	ListCell   *lc;

	foreach(lc, stmt->table_list)
	{
		if (strcmp(lfirst_node(RangeVar, lc)->relname, table) == 0)
			return true;
	}
	return false;
}

static void
check_name(const char *kind, const char *name, const char *table)
{
	if (strlen(name) >= NAMEDATALEN)
		ereport(ERROR,
				(errcode(ERRCODE_NAME_TOO_LONG),
				 errmsg("%s name \"%s\" of lake table \"%s\" is too long", kind, name, table),
				 errdetail("Names in SQL have up to %d bytes.", NAMEDATALEN - 1)));
}

static void
append_column(StringInfo sql, const Import *import, const LakeTable *table, const char *name, const DataField *field)
{
	int32		typmod;
	Oid			typid;

	check_name("column", field->name, table->name);
	typid = import_column_type(&import->types, name, field, &typmod);
	appendStringInfo(sql, "%s %s%s", quote_identifier(field->name), format_type_with_typemod(typid, typmod),
					 field->type->nullable ? "" : " NOT NULL");
}

/* The columns that system tables add are the last fields, but some of them are shown first. */
static void
append_columns(StringInfo sql, const Import *import, const LakeTable *table, const char *name)
{
	int			nfields = table->schema->nfields;
	int			leading = system_table_leading_fields(table);

	for (int i = 0; i < nfields; i++)
	{
		if (i > 0)
			appendStringInfoString(sql, ", ");
		append_column(sql, import, table, name, &table->schema->fields[(i + nfields - leading) % nfields]);
	}
}

/* Not all files need be in the table's format of now, but those to come will. */
static void
check_file_format(const LakeTable *table)
{
	if (format_lookup(table->options->file_format) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("lake table \"%s\" cannot be read: option \"file.format\" = \"%s\" is not supported",
						table->name, table->options->file_format)));
}

/* The command for one table; raises what makes the table unreadable. */
static char *
import_command(const Import *import, const char *name)
{
	TableAddress *address = table_address_of_name(import->server, import->warehouse,
												  import->stmt->remote_schema, name);
	const LakeSnapshot *snapshot;
	LakeTable  *table;
	StringInfoData sql;

	table = lake_table_open_as_of(address, &snapshot);
	options_check_readable(table->schema, table->options, table->name);
	check_file_format(table);
	check_name("table", name, table->name);

	initStringInfo(&sql);
	appendStringInfo(&sql, "CREATE FOREIGN TABLE %s.%s (", quote_identifier(import->stmt->local_schema),
					 quote_identifier(name));
	append_columns(&sql, import, table, name);
	appendStringInfo(&sql, ") SERVER %s OPTIONS (database %s, \"table\" %s)",
					 quote_identifier(import->server->servername),
					 quote_literal_cstr(import->stmt->remote_schema), quote_literal_cstr(name));
	lake_table_close(table);

	/* names come from files and folders */
	pg_verifymbstr(sql.data, sql.len, false);
	return sql.data;
}

/* In a subtransaction, so that whatever is wrong with a table can be caught. */
static void
import_or_warn(Import *import, const char *name)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		import->commands = lappend(import->commands, import_command(import, name));
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		if (error->sqlerrcode == ERRCODE_QUERY_CANCELED)
			ReThrowError(error);
		ereport(WARNING,
				(errcode(error->sqlerrcode),
				 errmsg("cannot import table \"%s\": %s", name, error->message),
				 error->detail ? errdetail_internal("%s", error->detail) : 0));
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
}

static void
import_listed(Import *import)
{
	ListCell   *lc;

	foreach(lc, import->stmt->table_list)
		import->types.reserved = lappend(import->types.reserved, lfirst_node(RangeVar, lc)->relname);
	foreach(lc, import->stmt->table_list)
		import->commands = lappend(import->commands,
								   import_command(import, lfirst_node(RangeVar, lc)->relname));
}

static List *
list_tables(const Import *import)
{
	return is_system_database(import) ? system_table_global_names() :
		lake_list_tables(import->warehouse, import->stmt->remote_schema);
}

static void
import_all(Import *import)
{
	List	   *tables = list_tables(import);
	ListCell   *lc;

	import->types.reserved = tables;
	foreach(lc, tables)
	{
		const char *name = lfirst(lc);

		CHECK_FOR_INTERRUPTS();
		if (import->stmt->list_type != FDW_IMPORT_SCHEMA_EXCEPT || !is_listed(import->stmt, name))
			import_or_warn(import, name);
	}
}

static void
require_database(const Import *import)
{
	List	   *databases = lake_list_databases(import->warehouse);
	ListCell   *lc;

	if (is_system_database(import))
		return;
	foreach(lc, databases)
	{
		if (strcmp(lfirst(lc), import->stmt->remote_schema) == 0)
			return;
	}
	ereport(ERROR,
			(errcode(ERRCODE_FDW_SCHEMA_NOT_FOUND),
			 errmsg("database \"%s\" does not exist in warehouse \"%s\"",
					import->stmt->remote_schema, import->warehouse)));
}

static void
take_option(Import *import, DefElem *option)
{
	const char *value = defGetString(option);

	if (strcmp(option->defname, "rows") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
				 errmsg("invalid option \"%s\"", option->defname),
				 errhint("The option of IMPORT FOREIGN SCHEMA is \"%s\".", "rows")));
	if (strcmp(value, "composite") != 0 && strcmp(value, "jsonb") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("invalid value for option \"%s\": \"%s\"", option->defname, value),
				 errhint("It is \"%s\" or \"%s\".", "composite", "jsonb")));
	import->types.rows_as_jsonb = strcmp(value, "jsonb") == 0;
}

List *
streamhouseImportForeignSchema(ImportForeignSchemaStmt *stmt, Oid serverid)
{
	Import		import = {.server = GetForeignServer(serverid), .stmt = stmt};
	ListCell   *lc;

	import.types.schema = stmt->local_schema;
	foreach(lc, stmt->options)
		take_option(&import, lfirst_node(DefElem, lc));
	import.warehouse = server_warehouse(import.server, false);
	require_database(&import);
	if (stmt->list_type == FDW_IMPORT_SCHEMA_LIMIT_TO)
		import_listed(&import);
	else
		import_all(&import);
	return import.commands;
}
