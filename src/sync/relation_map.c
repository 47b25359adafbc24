/*
 * relation_map.c
 *		The tables of a sync: source relation on one side, lake table on the other.
 */
#include "postgres.h"

#include "access/tupdesc.h"
#include "utils/inval.h"
#include "utils/memutils.h"

#include "lake/binary_row.h"
#include "sync/relation_map.h"
#include "sync/source.h"

static HTAB *map = NULL;		/* the one of this process, for invalidations */

static void
invalidate_relation(Datum arg, Oid relid)
{
	HASH_SEQ_STATUS status;
	SyncTable  *table;

	if (map == NULL)
		return;
	if (OidIsValid(relid))
	{
		table = hash_search(map, &relid, HASH_FIND, NULL);
		if (table)
			table->checked = false;
		return;
	}
	hash_seq_init(&status, map);
	while ((table = hash_seq_search(&status)) != NULL)
		table->checked = false;
}

static void
lake_table_replaced(const LakeTable *lake)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("lake table \"%s\" is not the one that the sync has filled", lake->name),
			 errdetail("The snapshots that the sync made are not there."),
			 errhint("Drop the sync and the lake table, and create the sync again.")));
}

/*
 * The newest snapshot of the sync's; each table has had one since the initial
 * copy.  If there is none it must have expired: otherwise somebody has put
 * another table in the place of the one that was filled.
 */
static LakeSnapshot *
newest_snapshot(const LakeTable *lake, const SyncRecord *sync)
{
	LakeSnapshot *newest = snapshot_latest_of_user(lake->location, sync->slot, 0);

	if (newest == NULL && snapshot_earliest_id(lake->location) <= 1)
		lake_table_replaced(lake);
	return newest;
}

void
sync_table_check_lake(const SyncTable *table)
{
	if (snapshot_latest_id(table->lake->location) < table->snapshot_id)
		lake_table_replaced(table->lake);
}

static void
open_table(SyncTable *table, const SyncRecord *sync, const SyncTableRecord *record, const char *warehouse)
{
	LakeTable  *lake = lake_table_open(warehouse, sync->database, record->lake_table, false);
	int			nfields = lake->schema->nfields;
	LakeSnapshot *newest;

	if (nfields != record->ncolumns)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("columns of lake table \"%s\" have changed since sync \"%s\" was created", lake->name, sync->name),
				 errhint("Drop the sync and the lake table, and create the sync again.")));

	newest = newest_snapshot(lake, sync);
	table->record = record;
	table->lake = lake;
	table->applied = newest ? (XLogRecPtr) newest->commit_identifier : InvalidXLogRecPtr;
	table->snapshot_id = newest ? newest->id : 0;
	table->on_unrepresentable = sync->on_unrepresentable;
	table->checked = false;
	table->encoders = palloc0(sizeof(ColumnEncoder) * nfields);
	table->encoder_context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse encoders", ALLOCSET_SMALL_SIZES);
	table->order = source_field_order(lake->schema);
	table->writer = NULL;
	table->pending = false;
	table->pending_rows = 0;
	table->queue = NULL;
	table->natts = 0;
	table->values = NULL;
	table->nulls = NULL;
	table->row = palloc0(sizeof(Scalar) * nfields);
	table->old_row = palloc0(sizeof(Scalar) * nfields);
	table->named_row = NULL;
	table->missing = palloc0(sizeof(bool) * nfields);
}

HTAB *
relation_map_create(const SyncRecord *sync, const char *warehouse)
{
	HASHCTL		control = {0};
	ListCell   *cell;

	control.keysize = sizeof(Oid);
	control.entrysize = sizeof(SyncTable);
	control.hcxt = CurrentMemoryContext;
	map = hash_create("streamhouse sync tables", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	foreach(cell, sync->tables)
	{
		const SyncTableRecord *record = lfirst(cell);

		open_table(hash_search(map, &record->source, HASH_ENTER, NULL), sync, record, warehouse);
	}
	CacheRegisterRelcacheCallback(invalidate_relation, (Datum) 0);
	return map;
}

const int *
sync_table_key(const SyncTable *table, int *nkeys)
{
	*nkeys = table->lake->schema->nprimary_keys;
	return table->lake->schema->primary_keys;
}

BytesView
sync_table_key_bytes(const SyncTable *table, const Scalar *row)
{
	const DataType *types[INDEX_MAX_KEYS];
	Scalar		values[INDEX_MAX_KEYS];
	int			nkeys;
	const int  *key = sync_table_key(table, &nkeys);
	int			i;

	for (i = 0; i < nkeys; i++)
	{
		types[i] = table->lake->schema->fields[key[i]].type;
		values[i] = row[key[i]];
	}
	return binary_row_encode(types, values, nkeys);
}

static void
columns_changed(const SyncTable *table, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("columns of table \"%s\" have changed since its sync was created", table->record->source_name),
			 errdetail_internal("%s", detail),
			 errhint("Changes of columns are not replicated. Drop the sync and the lake table, and create the sync again.")));
}

/* One field against its column; the encoder on the way. */
static void
check_field(SyncTable *table, TupleDesc desc, int field)
{
	DataField  *lake = &table->lake->schema->fields[field];
	AttrNumber	number = table->record->columns[field];
	Form_pg_attribute column;
	DataType   *type;
	MemoryContext old;

	if (number > desc->natts || TupleDescAttr(desc, number - 1)->attisdropped)
		columns_changed(table, psprintf("Column \"%s\" is not there any more.", lake->name));
	column = TupleDescAttr(desc, number - 1);
	if (strcmp(NameStr(column->attname), lake->name) != 0)
		columns_changed(table, psprintf("Column \"%s\" is called \"%s\" now.", lake->name, NameStr(column->attname)));
	type = source_lake_type(lake->name, column->atttypid, column->atttypmod, true);
	if (!type_equal(type, lake->type))
		columns_changed(table, psprintf("Column \"%s\" would be %s now, but is %s in the lake.",
										lake->name, type_to_text(type), type_to_text(lake->type)));
	old = MemoryContextSwitchTo(table->encoder_context);
	source_encoder_init(&table->encoders[field], table->record->source_name, lake, column, table->on_unrepresentable);
	MemoryContextSwitchTo(old);
}

/* Room for a deformed tuple of the relation. */
static void
make_room(SyncTable *table, int natts)
{
	MemoryContext context = GetMemoryChunkContext(table->row);

	if (natts <= table->natts)
		return;
	table->values = MemoryContextAlloc(context, sizeof(Datum) * natts);
	table->nulls = MemoryContextAlloc(context, sizeof(bool) * natts);
	table->natts = natts;
}

void
sync_table_check(SyncTable *table, Relation relation)
{
	TupleDesc	desc = RelationGetDescr(relation);
	int			live = 0;
	int			i;

	if (table->checked)
		return;
	for (i = 0; i < desc->natts; i++)
	{
		if (!TupleDescAttr(desc, i)->attisdropped)
			live++;
	}
	MemoryContextReset(table->encoder_context);
	for (i = 0; i < table->record->ncolumns; i++)
		check_field(table, desc, i);
	if (live != table->record->ncolumns)
		columns_changed(table, psprintf("It has %d columns now, and had %d.", live, table->record->ncolumns));
	make_room(table, desc->natts);
	table->checked = true;
}
