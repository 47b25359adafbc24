/*
 * table.c
 *		Opening, making and finding lake tables in a warehouse of files.
 *
 * Source: format digest section 12.1.  A database is a folder "<name>.db", a
 * table a folder in it that holds a schema.
 */
#include "postgres.h"

#include "lake/path.h"
#include "lake/table.h"
#include "storage/storage.h"
#include "utils/memutils.h"

#define DATABASE_SUFFIX ".db"
#define BRANCH_MARK "$branch_"
#define MAIN_BRANCH "main"

static void
check_name(const char *what, const char *name)
{
	if (!path_step_is_safe(name) || strchr(name, '$') != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("invalid name of a lake %s: \"%s\"", what, name)));
}

static char *
database_location(const char *warehouse, const char *database)
{
	check_name("database", database);
	return storage_join(warehouse, psprintf("%s%s", database, DATABASE_SUFFIX));
}

/* The name of the branch in "t$branch_b", NULL if there is none. */
static const char *
branch_of_name(const char *table)
{
	const char *branch = strstr(table, BRANCH_MARK);

	return branch != NULL ? branch + strlen(BRANCH_MARK) : NULL;
}

static char *
main_location(const char *warehouse, const char *database, const char *table)
{
	const char *branch = branch_of_name(table);

	if (branch != NULL)
		table = pnstrdup(table, branch - strlen(BRANCH_MARK) - table);
	check_name("table", table);
	return storage_join(database_location(warehouse, database), table);
}

char *
lake_table_location(const char *warehouse, const char *database, const char *table)
{
	char	   *location = main_location(warehouse, database, table);
	const char *branch = branch_of_name(table);

	if (branch == NULL || strcmp(branch, MAIN_BRANCH) == 0)
		return location;
	check_name("branch", branch);
	return psprintf("%s/branch/branch-%s", location, branch);
}

/* The types of some fields; key columns are never null. */
static const DataType **
field_types(const TableSchema *schema, const int *fields, int nfields, bool not_null)
{
	const DataType **types = palloc(Max(nfields, 1) * sizeof(DataType *));

	for (int i = 0; i < nfields; i++)
	{
		const DataType *type = schema->fields[fields[i]].type;

		if (not_null && type->nullable)
		{
			DataType   *copy = palloc(sizeof(DataType));

			*copy = *type;
			copy->nullable = false;
			type = copy;
		}
		types[i] = type;
	}
	return types;
}

/* A table whose schema, already in context, is as given. */
static LakeTable *
make_table(MemoryContext context, const char *location, const char *branch_location, const char *name,
		   const TableSchema *schema)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	LakeTable  *table = palloc0(sizeof(LakeTable));

	table->context = context;
	table->location = pstrdup(location);
	table->branch_location = pstrdup(branch_location);
	table->name = pstrdup(name);
	table->schema = schema;
	table->options = options_parse(schema);
	table->options->is_branch = strcmp(location, branch_location) != 0;
	table->partition_types = field_types(schema, schema->partition_keys, schema->npartition_keys, false);
	table->key_types = field_types(schema, schema->trimmed_keys, schema->ntrimmed_keys, true);
	table->has_primary_key = schema->nprimary_keys > 0;
	MemoryContextSwitchTo(old);
	return table;
}

static MemoryContext
table_context_create(void)
{
	return AllocSetContextCreate(CurrentMemoryContext, "lake table", ALLOCSET_SMALL_SIZES);
}

LakeTable *
lake_table_open(const char *warehouse, const char *database, const char *table, bool missing_ok)
{
	char	   *location = lake_table_location(warehouse, database, table);
	MemoryContext context = table_context_create();
	MemoryContext old = MemoryContextSwitchTo(context);
	const TableSchema *schema = schema_load_latest(location, true);

	MemoryContextSwitchTo(old);
	if (schema == NULL)
	{
		MemoryContextDelete(context);
		if (missing_ok)
			return NULL;
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("lake table \"%s.%s\" does not exist", database, table),
				 errdetail("There is no schema file below \"%s\".", location)));
	}
	return make_table(context, main_location(warehouse, database, table), location,
					  psprintf("%s.%s", database, table), schema);
}

LakeTable *
lake_table_with_schema(const char *warehouse, const char *database, const char *table, const TableSchema *schema)
{
	MemoryContext context = table_context_create();
	MemoryContext old = MemoryContextSwitchTo(context);
	TableSchema *copy = schema_copy(schema);

	MemoryContextSwitchTo(old);
	return make_table(context, main_location(warehouse, database, table),
					  lake_table_location(warehouse, database, table),
					  psprintf("%s.%s", database, table), copy);
}

LakeTable *
lake_table_copy(const LakeTable *table)
{
	MemoryContext context = table_context_create();
	MemoryContext old = MemoryContextSwitchTo(context);
	TableSchema *copy = schema_copy(table->schema);
	LakeTable  *result;

	MemoryContextSwitchTo(old);
	result = make_table(context, table->location, table->branch_location, table->name, copy);
	result->allow_external_paths = table->allow_external_paths;
	return result;
}

/* Does a path stay below a folder, as its text says? */
static bool
is_below(const char *path, const char *folder, size_t length)
{
	char	   *copy;
	char	   *rest;
	char	   *step;

	if (strncmp(path, folder, length) != 0 || path[length] != '/')
		return false;
	copy = rest = pstrdup(path);
	while ((step = strsep(&rest, "/")) != NULL)
		if (strcmp(step, "..") == 0)
			return false;
	pfree(copy);
	return true;
}

char *
lake_external_path(const LakeTable *table, const char *path)
{
	const char *local = path;
	const char *database = strrchr(table->location, '/');
	const char *warehouse_end;

	/* Java writes "file:/x" as well as "file:///x" */
	if (strncmp(local, "file:", 5) == 0)
		local += strncmp(local, "file://", 7) == 0 ? 7 : 5;
	if (local[0] != '/')
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" has a file in a store that is not supported", table->name),
				 errdetail("The file is \"%s\".", path)));
	/* the location is <warehouse>/<database>.db/<table> */
	for (warehouse_end = database - 1; *warehouse_end != '/'; warehouse_end--)
		;
	if (!table->allow_external_paths && !is_below(local, table->location, warehouse_end - table->location))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("table \"%s\" has a file outside of its warehouse", table->name),
				 errdetail("The file is \"%s\".", path),
				 errhint("The server's option \"allow_external_paths\" allows it.")));
	return pstrdup(local);
}

LakeTable *
lake_table_create(const char *warehouse, const char *database, const char *table, const TableSchema *schema)
{
	char	   *location;

	Assert(schema->id == 0);
	check_name("table", table);
	location = lake_table_location(warehouse, database, table);
	if (!schema_publish(location, schema))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_TABLE),
				 errmsg("lake table \"%s.%s\" already exists", database, table)));
	return lake_table_with_schema(warehouse, database, table, schema);
}

LakeTable *
lake_table_view(LakeTable *base, TableView view, const TableSchema *schema)
{
	MemoryContext context = table_context_create();
	MemoryContext old = MemoryContextSwitchTo(context);
	TableSchema *copy = schema_copy(schema);
	LakeTable  *table;

	MemoryContextSwitchTo(old);
	table = make_table(context, base->location, base->branch_location, base->name, copy);
	table->allow_external_paths = base->allow_external_paths;
	table->view = view;
	table->incremental = base->incremental;
	table->base = base;
	MemoryContextSetParent(base->context, context);
	return table;
}

void
lake_table_close(LakeTable *table)
{
	MemoryContextDelete(table->context);
}

const TableSchema *
lake_table_schema(LakeTable *table, int64 id)
{
	MemoryContext old;
	const TableSchema *schema;
	ListCell   *lc;

	if (id == table->schema->id)
		return table->schema;
	foreach(lc, table->old_schemas)
	{
		schema = lfirst(lc);
		if (schema->id == id)
			return schema;
	}

	old = MemoryContextSwitchTo(table->context);
	schema = schema_load(table->branch_location, id);
	table->old_schemas = lappend(table->old_schemas, unconstify(TableSchema *, schema));
	MemoryContextSwitchTo(old);
	return schema;
}

static int
compare_names(const ListCell *a, const ListCell *b)
{
	return strcmp(lfirst(a), lfirst(b));
}

List *
lake_list_databases(const char *warehouse)
{
	List	   *databases = NIL;
	ListCell   *lc;

	foreach(lc, storage_list(warehouse))
	{
		char	   *name = lfirst(lc);
		size_t		length = strlen(name);
		size_t		suffix = strlen(DATABASE_SUFFIX);

		if (length > suffix && strcmp(name + length - suffix, DATABASE_SUFFIX) == 0)
			databases = lappend(databases, pnstrdup(name, length - suffix));
	}
	list_sort(databases, compare_names);
	return databases;
}

static bool
holds_schema(const char *table_location)
{
	char	   *directory = storage_join(table_location, "schema");
	ListCell   *lc;

	/* most tables were made by one who wrote schema 0 and left it there */
	if (storage_exists(schema_path(table_location, 0)))
		return true;
	if (!storage_exists(directory))
		return false;
	foreach(lc, storage_list(directory))
	{
		if (strncmp(lfirst(lc), "schema-", 7) == 0)
			return true;
	}
	return false;
}

List *
lake_list_tables(const char *warehouse, const char *database)
{
	char	   *location = database_location(warehouse, database);
	List	   *tables = NIL;
	ListCell   *lc;

	foreach(lc, storage_list(location))
	{
		char	   *name = lfirst(lc);

		/* not "$": such a name stands for a system table */
		if (strchr(name, '$') == NULL && holds_schema(storage_join(location, name)))
			tables = lappend(tables, name);
	}
	list_sort(tables, compare_names);
	return tables;
}
