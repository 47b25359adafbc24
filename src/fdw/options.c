/*
 * options.c
 *		Options of servers and foreign tables: what is allowed, what they mean.
 *
 * A server has "warehouse".  A foreign table has "database" and "table", which
 * say what lake table it shows; "scan.*" and "incremental-between" say
 * which of its rows.  All other options describe a lake table to be made by
 * CREATE FOREIGN TABLE: the key, the partitions, and Paimon's own.
 */
#include "postgres.h"

#include "access/reloptions.h"
#include "catalog/pg_authid_d.h"
#include "catalog/pg_foreign_data_wrapper_d.h"
#include "catalog/pg_foreign_server_d.h"
#include "catalog/pg_foreign_table_d.h"
#include "catalog/pg_user_mapping_d.h"
#include "commands/defrem.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/varlena.h"

#include "fdw/fdw.h"
#include "lake/system_table.h"

#define OPTION_WAREHOUSE "warehouse"
#define OPTION_EXTERNAL_PATHS "allow_external_paths"
#define OPTION_DATABASE "database"
#define OPTION_TABLE "table"
#define OPTION_PARTITION "partition"
#define OPTION_FRESH_READS "fresh_reads"

PG_FUNCTION_INFO_V1(streamhouse_fdw_validator);
PGDLLEXPORT Datum streamhouse_fdw_validator(PG_FUNCTION_ARGS);

static bool
is_primary_key_option(const char *name)
{
	return strcmp(name, "primary_key") == 0 || strcmp(name, "primary-key") == 0;
}

bool
is_foreign_table_option(const char *name)
{
	return strcmp(name, OPTION_DATABASE) == 0 || strcmp(name, OPTION_TABLE) == 0 || strcmp(name, OPTION_FRESH_READS) == 0;
}

/* The local path of a warehouse option. */
static char *
warehouse_path(const char *warehouse)
{
	static const char scheme[] = "file://";
	const char *path = warehouse;

	if (strncmp(path, scheme, strlen(scheme)) == 0)
		path += strlen(scheme);
	else if (strstr(path, "://") != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("warehouse \"%s\" is of a kind that is not supported yet", warehouse),
				 errhint("Use an absolute path on this machine, or file:// before one.")));
	if (path[0] != '/')
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("warehouse \"%s\" is not an absolute path", warehouse)));
	return pstrdup(path);
}

static void
require_file_role(Oid userid, Oid role, const char *action)
{
	if (!has_privs_of_role(userid, role))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to %s files of a warehouse", action),
				 errdetail("User \"%s\" must have the privileges of role \"%s\".",
						   GetUserNameFromId(userid, false), GetUserNameFromId(role, false))));
}

static void
validate_server_option(const DefElem *option)
{
	if (strcmp(option->defname, OPTION_EXTERNAL_PATHS) == 0)
	{
		(void) defGetBoolean(unconstify(DefElem *, option));
		return;
	}
	if (strcmp(option->defname, OPTION_WAREHOUSE) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
				 errmsg("invalid option \"%s\" of a server", option->defname),
				 errhint("Options of a server are \"%s\" and \"%s\".", OPTION_WAREHOUSE, OPTION_EXTERNAL_PATHS)));
	warehouse_path(defGetString(unconstify(DefElem *, option)));
	require_file_role(GetUserId(), ROLE_PG_READ_SERVER_FILES, "read");
}

static void
validate_table_option(const DefElem *option, bool *has_key)
{
	const char *name = option->defname;
	const char *value = defGetString(unconstify(DefElem *, option));

	if (is_foreign_table_option(name) && value[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("option \"%s\" is empty", name)));
	if (strcmp(name, OPTION_FRESH_READS) == 0)
		(void) defGetBoolean(unconstify(DefElem *, option));
	if (!is_primary_key_option(name))
		return;
	if (*has_key)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("options \"primary_key\" and \"primary-key\" mean the same, give one of them")));
	*has_key = true;
}

/*
 * Options of tables that are not ours are Paimon's, and are checked when a
 * lake table is made of them.
 */
Datum
streamhouse_fdw_validator(PG_FUNCTION_ARGS)
{
	List	   *options = untransformRelOptions(PG_GETARG_DATUM(0));
	Oid			catalog = PG_GETARG_OID(1);
	bool		has_warehouse = false;
	bool		has_key = false;
	ListCell   *lc;

	foreach(lc, options)
	{
		DefElem    *option = lfirst_node(DefElem, lc);

		if (catalog == ForeignServerRelationId)
		{
			validate_server_option(option);
			has_warehouse |= strcmp(option->defname, OPTION_WAREHOUSE) == 0;
		}
		else if (catalog == ForeignTableRelationId)
			validate_table_option(option, &has_key);
		else
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
					 errmsg("invalid option \"%s\"", option->defname),
					 errhint("Options belong to servers and foreign tables.")));
	}
	if (catalog == ForeignServerRelationId && !has_warehouse)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_OPTION_NAME_NOT_FOUND),
				 errmsg("option \"%s\" is required", OPTION_WAREHOUSE),
				 errhint("It is the folder that holds the lake's databases.")));
	PG_RETURN_VOID();
}

static const char *
option_text(List *options, const char *name)
{
	ListCell   *lc;

	foreach(lc, options)
	{
		DefElem    *option = lfirst_node(DefElem, lc);

		if (strcmp(option->defname, name) == 0)
			return defGetString(option);
	}
	return NULL;
}

char *
server_warehouse(const ForeignServer *server, bool for_write)
{
	const char *warehouse = option_text(server->options, OPTION_WAREHOUSE);

	if (warehouse == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_OPTION_NAME_NOT_FOUND),
				 errmsg("server \"%s\" has no option \"%s\"", server->servername, OPTION_WAREHOUSE)));
	require_file_role(server->owner, ROLE_PG_READ_SERVER_FILES, "read");
	if (for_write)
		require_file_role(server->owner, ROLE_PG_WRITE_SERVER_FILES, "write");
	return warehouse_path(warehouse);
}

static bool
server_allows_external_paths(const ForeignServer *server)
{
	ListCell   *lc;

	foreach(lc, server->options)
	{
		DefElem    *option = lfirst_node(DefElem, lc);

		if (strcmp(option->defname, OPTION_EXTERNAL_PATHS) == 0)
			return defGetBoolean(option);
	}
	return false;
}

TableAddress *
table_address_of_name(const ForeignServer *server, char *warehouse, char *database, const char *name)
{
	TableAddress *address = palloc0(sizeof(TableAddress));

	address->warehouse = warehouse;
	address->database = database;
	system_table_split_name(name, &address->table, &address->system);
	address->location = lake_table_location(warehouse, database, address->table);
	address->allow_external_paths = server_allows_external_paths(server);
	return address;
}

bool
is_read_option(const char *name)
{
	return strncmp(name, "scan.", 5) == 0 || strncmp(name, "incremental-between", 19) == 0;
}

TableAddress *
table_address(Oid relid, bool for_write)
{
	ForeignTable *table = GetForeignTable(relid);
	const ForeignServer *server = GetForeignServer(table->serverid);
	const char *database = option_text(table->options, OPTION_DATABASE);
	const char *name = option_text(table->options, OPTION_TABLE);
	TableAddress *address = table_address_of_name(server, server_warehouse(server, for_write),
												  database ? pstrdup(database) : get_namespace_name(get_rel_namespace(relid)),
												  name ? name : get_rel_name(relid));
	ListCell   *lc;

	foreach(lc, table->options)
	{
		DefElem    *option = lfirst_node(DefElem, lc);

		if (is_read_option(option->defname))
			address->read_options = lappend(address->read_options,
											option_pair_make(option->defname, defGetString(option)));
		else if (strcmp(option->defname, OPTION_FRESH_READS) == 0)
			address->fresh_reads = defGetBoolean(option);
	}
	return address;
}

/* "a, b" -> names, without the blanks around them. */
static List *
split_names(const char *text)
{
	List	   *names = NIL;
	char	   *rest = pstrdup(text);
	char	   *name;

	while ((name = strsep(&rest, ",")) != NULL)
	{
		char	   *end;

		while (*name == ' ')
			name++;
		for (end = name + strlen(name); end > name && end[-1] == ' ';)
			*--end = '\0';
		if (*name != '\0')
			names = lappend(names, name);
	}
	return names;
}

List *
table_primary_key(Oid relid)
{
	ListCell   *lc;

	foreach(lc, GetForeignTable(relid)->options)
	{
		DefElem    *option = lfirst_node(DefElem, lc);

		if (is_primary_key_option(option->defname))
			return split_names(defGetString(option));
	}
	return NIL;
}

List *
table_partition_keys(Oid relid)
{
	const char *partition = option_text(GetForeignTable(relid)->options, OPTION_PARTITION);

	return partition ? split_names(partition) : NIL;
}

List *
table_lake_options(Oid relid)
{
	List	   *pairs = NIL;
	ListCell   *lc;

	foreach(lc, GetForeignTable(relid)->options)
	{
		DefElem    *option = lfirst_node(DefElem, lc);
		OptionPair *pair;

		if (is_foreign_table_option(option->defname) || is_primary_key_option(option->defname) ||
			is_read_option(option->defname) || strcmp(option->defname, OPTION_PARTITION) == 0)
			continue;
		pair = palloc(sizeof(OptionPair));
		pair->key = pstrdup(option->defname);
		pair->value = pstrdup(defGetString(option));
		pairs = lappend(pairs, pair);
	}
	return pairs;
}
