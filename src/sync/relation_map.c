/*
 * relation_map.c
 *		The tables of a sync: source relation on one side, lake table on the other.
 */
#include "postgres.h"

#include "access/tupdesc.h"
#include "catalog/pg_class.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "lake/binary_row.h"
#include "sync/published.h"
#include "sync/relation_map.h"

static RelationMap *current_map = NULL; /* the one of this process, for invalidations */

static void
invalidate_relations(RelationMap *map)
{
	HASH_SEQ_STATUS status;
	SyncRelation *entry;

	hash_seq_init(&status, map->relations);
	while ((entry = hash_seq_search(&status)) != NULL)
		entry->mapped = entry->prepared = false;
}

void
relation_map_invalidate(RelationMap *map)
{
	map->actions_known = false;
	invalidate_relations(map);
}

static void
invalidate_relation(Datum arg, Oid relid)
{
	SyncRelation *entry;

	if (current_map == NULL)
		return;
	if (!OidIsValid(relid))
	{
		invalidate_relations(current_map);
		return;
	}
	entry = hash_search(current_map->relations, &relid, HASH_FIND, NULL);
	if (entry)
		entry->mapped = entry->prepared = false;
}

/* Of the publication, or of what belongs to it. */
static void
invalidate_publication(Datum arg, int cache, uint32 hash)
{
	if (current_map)
		relation_map_invalidate(current_map);
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
 * The newest snapshot of the sync's; each table has had one since its copy
 * was begun.  If there is none it must have expired: otherwise somebody has put
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
sync_target_check_lake(const SyncTarget *target)
{
	if (snapshot_latest_id(target->lake->location) < target->snapshot_id)
		lake_table_replaced(target->lake);
}

/*
 * Are there fields for the columns that are known, and for metadata behind
 * them, and those that are computed?  Others between them are null: a crash may have kept the catalog from
 * knowing columns that were added.
 */
static bool
fields_fit(const SyncTableRecord *record, const TableSchema *schema)
{
	int			nfields = source_field_count(schema, record);
	int			i;

	if (nfields < record->ncolumns)
		return false;
	for (i = record->ncolumns; i < nfields; i++)
	{
		if (!schema->fields[i].type->nullable)
			return false;
	}
	for (i = 0; i < sync_table_ncomputed(record); i++)
	{
		if (strcmp(schema->fields[nfields + i].name, ((ComputedColumn *) list_nth(record->rule->columns, i))->name) != 0)
			return false;
	}
	nfields += i;
	for (i = nfields; i < schema->nfields; i++)
	{
		if (strcmp(schema->fields[i].name, sync_table_metadata_field(record, i - nfields).name) != 0)
			return false;
	}
	return true;
}

static bool *
fields_beside_key(const SyncTableRecord *record, const TableSchema *schema)
{
	bool	   *beside = palloc0(sizeof(bool) * schema->nfields);
	int			i;

	memset(beside, true, sizeof(bool) * row_field_count(schema, record));
	for (i = 0; i < schema->nprimary_keys; i++)
		beside[schema->primary_keys[i]] = false;
	return beside;
}

/* That of another table, or opened now. */
static SyncTarget *
find_target(RelationMap *map, const SyncTableRecord *record, const char *warehouse)
{
	LakeTable  *lake = lake_table_open(warehouse, map->sync->database, record->lake_table, false);
	SyncTarget *target;
	LakeSnapshot *newest;
	ListCell   *cell;

	foreach(cell, map->targets)
	{
		target = lfirst(cell);
		if (strcmp(target->lake->location, lake->location) == 0)
			return target;
	}
	target = palloc0(sizeof(SyncTarget));
	newest = newest_snapshot(lake, map->sync);
	target->lake = lake;
	target->applied = newest ? (XLogRecPtr) newest->commit_identifier : InvalidXLogRecPtr;
	target->snapshot_id = newest ? newest->id : 0;
	target->partial = newest && snapshot_property(newest, SNAPSHOT_PARTIAL_PROPERTY) != NULL;
	map->targets = lappend(map->targets, target);
	return target;
}

/* Does the lake table have all rows of its sources?  They may be of no concern to the stream now. */
static bool
is_complete(const RelationMap *map, const SyncTableRecord *record)
{
	ListCell   *cell;

	foreach(cell, map->sync->tables)
	{
		const SyncTableRecord *other = lfirst(cell);

		if (!other->refused && (other->paused || !other->copied) && strcmp(other->lake_table, record->lake_table) == 0)
			return false;
	}
	return true;
}

static void
open_table(RelationMap *map, SyncTable *table, const SyncTableRecord *record, const char *warehouse)
{
	SyncTarget *target = find_target(map, record, warehouse);
	LakeTable  *lake = target->lake;
	int			nfields = lake->schema->nfields;

	if (!fields_fit(record, lake->schema))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("columns of lake table \"%s\" have changed since sync \"%s\" was created", lake->name, map->sync->name),
				 errhint("Drop the sync and the lake table, and create the sync again.")));

	target->copied = is_complete(map, record);
	target->shared = record->shard != NULL;
	target->tables = lappend(target->tables, table);
	memset(&table->pending, 0, sizeof(TableCounts));
	memset(&table->written, 0, sizeof(TableCounts));
	table->record = record;
	table->target = target;
	table->lake = lake;
	table->row = palloc0(sizeof(Scalar) * nfields);
	table->old_row = palloc0(sizeof(Scalar) * nfields);
	table->missing = palloc0(sizeof(bool) * nfields);
	table->beside_key = fields_beside_key(record, lake->schema);
}

static HTAB *
create_hash(const char *name, Size entry_size)
{
	HASHCTL		control = {0};

	control.keysize = sizeof(Oid);
	control.entrysize = entry_size;
	control.hcxt = CurrentMemoryContext;
	return hash_create(name, 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

RelationMap *
relation_map_create(const SyncRecord *sync, const char *warehouse)
{
	RelationMap *map = palloc0(sizeof(RelationMap));
	ListCell   *cell;

	map->context = CurrentMemoryContext;
	map->sync = sync;
	map->tables = create_hash("streamhouse sync tables", sizeof(SyncTable));
	map->relations = create_hash("streamhouse sync relations", sizeof(SyncRelation));
	foreach(cell, sync->tables)
	{
		const SyncTableRecord *record = lfirst(cell);

		if (!record->paused && (record->copied || !XLogRecPtrIsInvalid(record->base)))
			open_table(map, hash_search(map->tables, &record->source, HASH_ENTER, NULL), record, warehouse);
	}
	foreach(cell, sync->message_tables)
	{
		const SyncTableRecord *record = lfirst(cell);

		open_table(map, hash_search(map->tables, &record->source, HASH_ENTER, NULL), record, warehouse);
	}
	current_map = map;
	CacheRegisterRelcacheCallback(invalidate_relation, (Datum) 0);
	CacheRegisterSyscacheCallback(PUBLICATIONOID, invalidate_publication, (Datum) 0);
	CacheRegisterSyscacheCallback(PUBLICATIONRELMAP, invalidate_publication, (Datum) 0);
	CacheRegisterSyscacheCallback(PUBLICATIONNAMESPACEMAP, invalidate_publication, (Datum) 0);
	return map;
}

/* The table that a relation's rows go to, or NULL. */
static SyncTable *
table_of_relation(RelationMap *map, Relation relation)
{
	Oid			relid = RelationGetRelid(relation);
	Oid			source = published_as(published_find(map->sync), relation);
	SyncTable  *table = NULL;

	if (OidIsValid(source))
		table = hash_search(map->tables, &source, HASH_FIND, NULL);
	if (table == NULL && hash_search(map->tables, &relid, HASH_FIND, NULL) != NULL)
		ereport(LOG,
				(errmsg("sync \"%s\" leaves out changes of table \"%s\", which is not in its publication any more",
						map->sync->name, RelationGetRelationName(relation))));
	return table;
}

SyncRelation *
relation_map_find(RelationMap *map, Relation relation)
{
	bool		found;
	SyncRelation *entry = hash_search(map->relations, &RelationGetRelid(relation), HASH_ENTER, &found);

	if (!found)
	{
		entry->mapped = entry->prepared = false;
		entry->context = NULL;
		entry->rows = NULL;
	}
	if (!entry->mapped)
	{
		/* first, for it may become invalid meanwhile */
		entry->mapped = true;
		entry->table = table_of_relation(map, relation);
	}
	return entry;
}

void
relation_map_raise(RelationMap *map, ColumnChange *change, XLogRecPtr lsn)
{
	change->lsn = lsn;
	map->change = change;
	column_change_raise(change);
}

/* The lake has followed changes that come after lsn: rows before them are converted. */
static bool
lake_is_ahead(const SyncTable *table, XLogRecPtr lsn)
{
	return lsn < table->record->schema_lsn;
}

void
relation_map_check(RelationMap *map, const SyncTable *table, Relation relation, XLogRecPtr lsn, bool with_key)
{
	ColumnChange *change;

	if (lake_is_ahead(table, lsn))
		return;
	change = row_source_change(map->sync, table->record, table->lake->schema, relation, with_key);
	if (change)
		relation_map_raise(map, change, lsn);
}

/* The publication, or the replica identity, may have become another one since the table joined. */
static void
require_old_rows(RelationMap *map, const SyncTable *table, const RowSource *rows, Relation relation, XLogRecPtr lsn)
{
	const PublicationActions *actions = relation_map_actions(map);
	ColumnChange *change;

	if (rows->needs_old_rows == NULL || relation->rd_rel->relreplident == REPLICA_IDENTITY_FULL ||
		(!actions->pubupdate && !actions->pubdelete))
		return;
	change = column_change_make(table->record, CHANGE_PAUSE,
								psprintf("It has not REPLICA IDENTITY FULL, although %s.", rows->needs_old_rows));
	change->cure = "set REPLICA IDENTITY FULL and call streamhouse.resync_table";
	relation_map_raise(map, change, lsn);
}

void
relation_map_prepare(RelationMap *map, SyncRelation *entry, Relation relation, XLogRecPtr lsn)
{
	const SyncTable *table = entry->table;
	MemoryContext old;
	TupleDesc	desc;

	if (entry->prepared)
		return;
	entry->rows = NULL;			/* for messages meanwhile */
	if (entry->context)
		MemoryContextReset(entry->context);
	else
		entry->context = AllocSetContextCreate(map->context, "streamhouse sync relation", ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(entry->context);
	entry->prepared = true;
	relation_map_check(map, table, relation, lsn, true);
	entry->rows = row_source_make(map->sync, table->record, table->lake->schema, relation, &map->change);
	require_old_rows(map, table, entry->rows, relation, lsn);
	desc = CreateTupleDescCopyConstr(RelationGetDescr(relation));
	entry->new_slot = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	entry->old_slot = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	MemoryContextSwitchTo(old);
}

const PublicationActions *
relation_map_actions(RelationMap *map)
{
	if (!map->actions_known)
	{
		map->actions_known = true;
		map->actions = published_find(map->sync)->pubactions;
	}
	return &map->actions;
}

const int *
sync_target_key(const SyncTarget *target, int *nkeys)
{
	*nkeys = target->lake->schema->nprimary_keys;
	return target->lake->schema->primary_keys;
}

BytesView
sync_target_key_bytes(const SyncTarget *target, const Scalar *row)
{
	const DataType *types[INDEX_MAX_KEYS];
	Scalar		values[INDEX_MAX_KEYS];
	int			nkeys;
	const int  *key = sync_target_key(target, &nkeys);
	int			i;

	for (i = 0; i < nkeys; i++)
	{
		types[i] = target->lake->schema->fields[key[i]].type;
		values[i] = row[key[i]];
	}
	return binary_row_encode(types, values, nkeys);
}
