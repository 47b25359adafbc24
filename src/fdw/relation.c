/*
 * relation.c
 *		The lake table behind a foreign table, and the snapshot to read.
 *
 * READ COMMITTED takes the newest snapshot for each statement; all scans of a
 * statement must see the same one, however often its table occurs.  REPEATABLE
 * READ keeps what the transaction saw first.  Both are pins, kept by a memory
 * context that lives exactly as long: the statement's, or the transaction's.
 */
#include "postgres.h"

#include "access/xact.h"
#include "lib/ilist.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "fdw/fdw.h"
#include "fdw/source_position.h"
#include "fdw/types.h"
#include "lake/system_table.h"
#include "settings.h"

/* A table's snapshot while it must not change. */
typedef struct SnapshotPin
{
	char	   *location;
	LakeSnapshot *snapshot;		/* or NULL: the table had none */
} SnapshotPin;

typedef struct SnapshotPins
{
	dlist_node	node;
	MemoryContext owner;		/* holds all of this */
	List	   *pins;
	MemoryContextCallback callback;
} SnapshotPins;

static dlist_head pins_of_all = DLIST_STATIC_INIT(pins_of_all);

static void
forget_pins(void *arg)
{
	dlist_delete(&((SnapshotPins *) arg)->node);
}

static SnapshotPins *
pins_of(MemoryContext owner)
{
	SnapshotPins *pins;
	dlist_iter	iter;

	dlist_foreach(iter, &pins_of_all)
	{
		pins = dlist_container(SnapshotPins, node, iter.cur);
		if (pins->owner == owner)
			return pins;
	}

	pins = MemoryContextAllocZero(owner, sizeof(SnapshotPins));
	pins->owner = owner;
	pins->callback.func = forget_pins;
	pins->callback.arg = pins;
	dlist_push_head(&pins_of_all, &pins->node);
	MemoryContextRegisterResetCallback(owner, &pins->callback);
	return pins;
}

/* A read that is to be fresh waits for the sync that fills the table. */
static LakeSnapshot *
newest_snapshot(const TableAddress *address)
{
	if ((setting_fresh_reads || address->fresh_reads) && source_position_routine)
		source_position_routine->refresh(psprintf("%s.%s", address->database, address->table), address->location);
	return snapshot_load_latest(address->location);
}

/* The newest snapshot, or the one that owner saw before. */
static const LakeSnapshot *
pinned_snapshot(MemoryContext owner, const TableAddress *address)
{
	SnapshotPins *pins = pins_of(owner);
	MemoryContext old_context;
	SnapshotPin *pin;
	ListCell   *lc;

	foreach(lc, pins->pins)
	{
		pin = lfirst(lc);
		if (strcmp(pin->location, address->location) == 0)
			return pin->snapshot;
	}

	old_context = MemoryContextSwitchTo(owner);
	pin = palloc(sizeof(SnapshotPin));
	pin->location = pstrdup(address->location);
	pin->snapshot = newest_snapshot(address);
	pins->pins = lappend(pins->pins, pin);
	MemoryContextSwitchTo(old_context);
	return pin->snapshot;
}

static const LakeSnapshot *
current_snapshot(const TableAddress *address, MemoryContext statement)
{
	if (IsolationUsesXactSnapshot())
		return pinned_snapshot(TopTransactionContext, address);
	if (statement != NULL)
		return pinned_snapshot(statement, address);
	return snapshot_load_latest(address->location);
}

static LakeTable *
open_with_schema(const TableAddress *address, const TableSchema *schema)
{
	return lake_table_with_schema(address->warehouse, address->database, address->table, schema);
}

/* The table as of a snapshot has the columns and keys of then, but today's options. */
static LakeTable *
reopen_at_schema(const TableAddress *address, LakeTable *table, int64 schema_id)
{
	TableSchema schema = *lake_table_schema(table, schema_id);
	LakeTable  *result;

	schema.options = table->schema->options;
	result = open_with_schema(address, &schema);
	result->allow_external_paths = table->allow_external_paths;
	lake_table_close(table);
	return result;
}

/* The table that an address names, without a system table of it. */
static LakeTable *
open_base(const TableAddress *address)
{
	LakeTable  *table = lake_table_open(address->warehouse, address->database, address->table, true);

	if (table != NULL)
		table->allow_external_paths = address->allow_external_paths;
	return table;
}

static LakeTable *
open_or_refuse(const TableAddress *address)
{
	LakeTable  *table = open_base(address);

	if (table == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("lake table \"%s.%s\" does not exist", address->database, address->table),
				 errdetail("There is no table in \"%s\".", address->location)));
	return table;
}

/* Those of the whole warehouse; NULL when the address is of a table. */
static LakeTable *
open_global(const TableAddress *address)
{
	if (strcmp(address->database, SYSTEM_DATABASE) != 0 || address->system != NULL)
		return NULL;
	return system_table_open_global(address->warehouse, address->table);
}

LakeTable *
lake_table_open_as_of(const TableAddress *address, const LakeSnapshot **snapshot)
{
	LakeTable  *table = open_global(address);

	*snapshot = NULL;
	if (table != NULL)
		return table;
	table = open_or_refuse(address);
	table->incremental = travel_incremental(table, address->read_options);
	*snapshot = table->incremental == NULL ? travel_snapshot(table, address->read_options) : NULL;
	if (*snapshot != NULL && (*snapshot)->schema_id != table->schema->id)
		table = reopen_at_schema(address, table, (*snapshot)->schema_id);
	return address->system != NULL ? system_table_open(table, address->system) : table;
}

LakeTable *
lake_table_open_address(const TableAddress *address)
{
	LakeTable  *table = open_global(address);

	if (table == NULL)
		table = open_base(address);
	if (table != NULL && address->system != NULL)
		table = system_table_open(table, address->system);
	return table;
}

static int
match_column(Form_pg_attribute attribute, const char *relation_name, const LakeTable *table)
{
	const char *name = NameStr(attribute->attname);
	int			field = schema_field(table->schema, name);
	const DataType *type;

	if (field < 0)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_COLUMN_NAME_NOT_FOUND),
				 errmsg("column \"%s\" of foreign table \"%s\" does not exist in lake table \"%s\"",
						name, relation_name, table->name),
				 errhint("Alter the foreign table, or drop it and import it again.")));
	type = table->schema->fields[field].type;
	if (!sql_type_holds_lake(attribute->atttypid, attribute->atttypmod, type))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_DATA_TYPE),
				 errmsg("column \"%s\" of foreign table \"%s\" has type %s, which cannot show type %s of lake table \"%s\"",
						name, relation_name, format_type_with_typemod(attribute->atttypid, attribute->atttypmod),
						type_describe(type), table->name),
				 errhint("Alter the foreign table, or drop it and import it again.")));
	return field;
}

/* Columns that the lake need not have: PostgreSQL 18 computes virtual ones when they are read. */
static bool
is_stored(Form_pg_attribute attribute)
{
	return !attribute->attisdropped && attribute->attgenerated != 'v';
}

int *
match_columns(TupleDesc desc, const char *relation_name, const LakeTable *table)
{
	int		   *fields = palloc(desc->natts * sizeof(int));
	int			i;

	for (i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		fields[i] = is_stored(attribute) ? match_column(attribute, relation_name, table) : -1;
	}
	return fields;
}

static void
map_columns(ForeignRelation *foreign)
{
	TupleDesc	desc = RelationGetDescr(foreign->relation);
	int			i;

	foreign->fields = match_columns(desc, RelationGetRelationName(foreign->relation), foreign->table);
	foreign->attributes = palloc0(foreign->table->schema->nfields * sizeof(int));
	for (i = 0; i < desc->natts; i++)
	{
		if (foreign->fields[i] >= 0)
			foreign->attributes[foreign->fields[i]] = i + 1;
	}
}

/* A row written without a column would lose what the lake has there. */
static void
require_all_columns(const ForeignRelation *foreign)
{
	const TableSchema *schema = foreign->table->schema;
	int			field;

	for (field = 0; field < schema->nfields; field++)
	{
		if (foreign->attributes[field] == 0)
			ereport(ERROR,
					(errcode(ERRCODE_FDW_COLUMN_NAME_NOT_FOUND),
					 errmsg("cannot write foreign table \"%s\", which lacks column \"%s\" of lake table \"%s\"",
							RelationGetRelationName(foreign->relation), schema->fields[field].name,
							foreign->table->name),
					 errhint("Alter the foreign table, or drop it and import it again.")));
	}
}

static void
open_for_reading(ForeignRelation *foreign, MemoryContext statement)
{
	if (foreign->created)
		return;
	foreign->table = lake_table_open_as_of(foreign->address, &foreign->snapshot);
	if (foreign->snapshot == NULL)
		foreign->snapshot = current_snapshot(foreign->address, statement);
}

static void
open_for_writing(ForeignRelation *foreign)
{
	if (is_time_travelling())
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot write foreign table \"%s\" while \"streamhouse.as_of\" is set",
						RelationGetRelationName(foreign->relation)),
				 errhint("The past can only be read: RESET streamhouse.as_of.")));
	if (foreign->address->system != NULL || foreign->address->read_options != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot write foreign table \"%s\"", RelationGetRelationName(foreign->relation)),
				 foreign->address->system != NULL ?
				 errdetail("It shows a system table.") :
				 errdetail("Its options say which rows to read.")));
	if (!foreign->created)
		foreign->table = open_or_refuse(foreign->address);
}

static void
prepare_reading(ForeignRelation *foreign)
{
	options_check_readable(foreign->table->schema, foreign->table->options, foreign->table->name);
	map_columns(foreign);
}

ForeignRelation *
foreign_relation_open_shared(Relation relation, const LakeSnapshot *snapshot, int64 schema_id)
{
	ForeignRelation *foreign = palloc0(sizeof(ForeignRelation));

	foreign->relation = relation;
	foreign->address = table_address(RelationGetRelid(relation), false);
	foreign->table = open_or_refuse(foreign->address);
	if (foreign->table->schema->id != schema_id)
		foreign->table = reopen_at_schema(foreign->address, foreign->table, schema_id);
	foreign->snapshot = snapshot;
	prepare_reading(foreign);
	return foreign;
}

ForeignRelation *
foreign_relation_open(Relation relation, RelationAccess access, MemoryContext statement)
{
	ForeignRelation *foreign = palloc0(sizeof(ForeignRelation));
	const TableSchema *created;

	foreign->relation = relation;
	foreign->address = table_address(RelationGetRelid(relation), access == RELATION_WRITE);
	created = transaction_created_table(foreign->address->location);
	if (created != NULL)
	{
		foreign->created = true;
		foreign->table = open_with_schema(foreign->address, created);
		if (foreign->address->system != NULL && access == RELATION_READ)
			foreign->table = system_table_open(foreign->table, foreign->address->system);
	}

	if (access == RELATION_READ)
	{
		open_for_reading(foreign, statement);
		prepare_reading(foreign);
	}
	else
	{
		open_for_writing(foreign);
		options_check_writable(foreign->table->schema, foreign->table->options, foreign->table->name);
		map_columns(foreign);
		require_all_columns(foreign);
	}
	return foreign;
}

void
foreign_relation_close(ForeignRelation *foreign)
{
	lake_table_close(foreign->table);
	pfree(foreign);
}
