/*
 * system_catalog.c
 *		The system tables of a whole warehouse, in database "sys".
 *
 * Source: format digest section 13.1.
 */
#include "postgres.h"

#include "lake/system_table.h"
#include "utils/memutils.h"

/* One table, with what there is to tell of it */
typedef struct CatalogItem
{
	char	   *database;
	char	   *table;
	char	   *type;
	bool		partitioned;
	bool		has_primary_key;
	char	   *partition;
	FileGroup	group;			/* of the partition; without its bytes */
	char	   *key;			/* of an option */
	char	   *value;
} CatalogItem;

/* Call back for each table of the warehouse, opened, in a context of its own. */
typedef void (*TableCallback) (LakeTable *table, const CatalogItem *item, void *arg);

static void
visit_tables(const char *warehouse, TableCallback callback, void *arg)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse catalog tables",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = CurrentMemoryContext;
	ListCell   *database;
	ListCell   *name;

	foreach(database, lake_list_databases(warehouse))
	{
		foreach(name, lake_list_tables(warehouse, lfirst(database)))
		{
			CatalogItem item = {.database = lfirst(database), .table = lfirst(name)};
			LakeTable  *table;

			MemoryContextSwitchTo(context);
			table = lake_table_open(warehouse, item.database, item.table, true);
			if (table != NULL)
				callback(table, &item, arg);
			MemoryContextSwitchTo(old);
			MemoryContextReset(context);
		}
	}
	MemoryContextDelete(context);
}

typedef struct ItemList
{
	MemoryContext context;
	List	   *items;
} ItemList;

/* A copy in the list's context. */
static CatalogItem *
add_item(ItemList *list, const CatalogItem *item)
{
	MemoryContext old = MemoryContextSwitchTo(list->context);
	CatalogItem *copy = palloc(sizeof(CatalogItem));

	*copy = *item;
	list->items = lappend(list->items, copy);
	MemoryContextSwitchTo(old);
	return copy;
}

/* The table's name and database, which begin every row. */
static void
set_table(Scalar *values, const CatalogItem *item)
{
	system_set_text(&values[0], item->database);
	system_set_text(&values[1], item->table);
}

static void
set_boolean(Scalar *value, bool boolean)
{
	value->isnull = false;
	value->v.i8 = boolean;
}

static void
collect_table(LakeTable *table, const CatalogItem *item, void *arg)
{
	CatalogItem *copy = add_item(arg, item);
	const char *type = schema_option(table->schema, "type");

	copy->type = MemoryContextStrdup(((ItemList *) arg)->context, type != NULL ? type : "table");
	copy->partitioned = table->schema->npartition_keys > 0;
	copy->has_primary_key = table->has_primary_key;
}

static List *
list_all_tables(SystemSource *source)
{
	ItemList	list = {.context = CurrentMemoryContext};

	visit_tables(source->warehouse, collect_table, &list);
	return list.items;
}

static bool
fill_table(SystemSource *source, void *arg, Scalar *values)
{
	const CatalogItem *item = arg;

	set_table(values, item);
	system_set_text(&values[2], item->type);
	set_boolean(&values[3], item->partitioned);
	set_boolean(&values[4], item->has_primary_key);
	return true;
}

static const SystemColumn table_columns[] = {
	{"database_name", "STRING NOT NULL"},
	{"table_name", "STRING NOT NULL"},
	{"table_type", "STRING NOT NULL"},
	{"partitioned", "BOOLEAN"},
	{"primary_key", "BOOLEAN"},
	{"owner", "STRING"},
	{"created_at", "BIGINT"},
	{"created_by", "STRING"},
	{"updated_at", "BIGINT"},
	{"updated_by", "STRING"},
	{"record_count", "BIGINT"},
	{"file_size_in_bytes", "BIGINT"},
	{"file_count", "BIGINT"},
	{"last_file_creation_time", "BIGINT"},
};

const SystemTable system_all_tables = {
	"tables", lengthof(table_columns), table_columns, list_all_tables, fill_table
};

/* Tables without partitions have none to show. */
static void
collect_partitions(LakeTable *table, const CatalogItem *item, void *arg)
{
	ListCell   *cell;

	if (table->schema->npartition_keys == 0)
		return;
	foreach(cell, system_file_groups(table, snapshot_load_latest(table->location), false))
	{
		const FileGroup *group = lfirst(cell);
		CatalogItem *copy = add_item(arg, item);

		copy->partition = MemoryContextStrdup(((ItemList *) arg)->context,
											  lake_partition_spec(table, group->partition));
		copy->group = *group;
	}
}

static List *
list_all_partitions(SystemSource *source)
{
	ItemList	list = {.context = CurrentMemoryContext};

	visit_tables(source->warehouse, collect_partitions, &list);
	return list.items;
}

static bool
fill_partition(SystemSource *source, void *arg, Scalar *values)
{
	const CatalogItem *item = arg;

	set_table(values, item);
	system_set_text(&values[2], item->partition);
	system_set_int64(&values[3], item->group.record_count);
	system_set_int64(&values[4], item->group.bytes);
	system_set_int64(&values[5], item->group.files);
	if (item->group.has_time)
		system_set_int64(&values[6], item->group.time);
	set_boolean(&values[7], false);
	return true;
}

static const SystemColumn partition_columns[] = {
	{"database_name", "STRING NOT NULL"},
	{"table_name", "STRING NOT NULL"},
	{"partition_name", "STRING NOT NULL"},
	{"record_count", "BIGINT"},
	{"file_size_in_bytes", "BIGINT"},
	{"file_count", "BIGINT"},
	{"last_file_creation_time", "BIGINT"},
	{"done", "BOOLEAN"},
};

const SystemTable system_all_partitions = {
	"partitions", lengthof(partition_columns), partition_columns, list_all_partitions, fill_partition
};

static void
add_option(ItemList *list, const CatalogItem *item, const char *key, const char *value)
{
	CatalogItem *copy = add_item(list, item);

	copy->key = MemoryContextStrdup(list->context, key);
	copy->value = MemoryContextStrdup(list->context, value);
}

/* The path is an option of every table. */
static void
collect_options(LakeTable *table, const CatalogItem *item, void *arg)
{
	ListCell   *cell;

	foreach(cell, table->schema->options)
	{
		const OptionPair *option = lfirst(cell);

		add_option(arg, item, option->key, option->value);
	}
	if (schema_option(table->schema, "path") == NULL)
		add_option(arg, item, "path", table->location);
}

static List *
list_all_options(SystemSource *source)
{
	ItemList	list = {.context = CurrentMemoryContext};

	visit_tables(source->warehouse, collect_options, &list);
	return list.items;
}

static bool
fill_option(SystemSource *source, void *arg, Scalar *values)
{
	const CatalogItem *item = arg;

	set_table(values, item);
	system_set_text(&values[2], item->key);
	system_set_text(&values[3], item->value);
	return true;
}

static const SystemColumn option_columns[] = {
	{"database_name", "STRING NOT NULL"},
	{"table_name", "STRING NOT NULL"},
	{"key", "STRING NOT NULL"},
	{"value", "STRING NOT NULL"},
};

const SystemTable system_all_table_options = {
	"all_table_options", lengthof(option_columns), option_columns, list_all_options, fill_option
};

static List *
list_catalog_options(SystemSource *source)
{
	return list_make1(unconstify(char *, source->warehouse));
}

static bool
fill_catalog_option(SystemSource *source, void *item, Scalar *values)
{
	system_set_text(&values[0], "warehouse");
	system_set_text(&values[1], item);
	return true;
}

static const SystemColumn catalog_columns[] = {
	{"key", "STRING NOT NULL"},
	{"value", "STRING NOT NULL"},
};

const SystemTable system_catalog_options = {
	"catalog_options", lengthof(catalog_columns), catalog_columns, list_catalog_options, fill_catalog_option
};
