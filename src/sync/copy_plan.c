/*
 * copy_plan.c
 *		The chunks in which a table is copied.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "storage/bufmgr.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "sync/copy_plan.h"
#include "sync/remote_copy.h"
#include "sync/source.h"

static BlockNumber
toast_blocks(Relation relation)
{
	Relation	toast;
	BlockNumber blocks;

	if (!OidIsValid(relation->rd_rel->reltoastrelid))
		return 0;
	toast = table_open(relation->rd_rel->reltoastrelid, AccessShareLock);
	blocks = RelationGetNumberOfBlocks(toast);
	table_close(toast, AccessShareLock);
	return blocks;
}

static int
compare_starts(const ListCell *a, const ListCell *b)
{
	BlockNumber x = ((const CopyChunk *) lfirst(a))->start;
	BlockNumber y = ((const CopyChunk *) lfirst(b))->start;

	return x < y ? -1 : x > y;
}

static CopyRelation *
describe_relation(Relation relation)
{
	CopyRelation *described = palloc0(sizeof(CopyRelation));

	described->relid = RelationGetRelid(relation);
	described->file = relation->rd_rel->relfilenode;
	described->blocks = RelationGetNumberOfBlocks(relation);
	described->toast_blocks = toast_blocks(relation);
	described->rows = relation->rd_rel->reltuples;
	described->whole_rows = relation->rd_rel->relreplident == REPLICA_IDENTITY_FULL;
	described->divisible = relation->rd_tableam == GetHeapamTableAmRoutine();
	return described;
}

/* Those of a relation's present file, in order. */
static List *
done_of_relation(List *done, const CopyRelation *relation)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, done)
	{
		const CopyChunk *chunk = lfirst(cell);

		if (chunk->relid == relation->relid && chunk->file == relation->file)
			result = lappend(result, lfirst(cell));
	}
	list_sort(result, compare_starts);
	return result;
}

static void
add_chunks(CopyPlan *plan, const CopyRelation *relation, BlockNumber start, BlockNumber end, BlockNumber step)
{
	while (start < end)
	{
		CopyChunk  *chunk = palloc(sizeof(CopyChunk));

		chunk->relid = relation->relid;
		chunk->file = relation->file;
		chunk->start = start;
		chunk->end = end - start > step ? start + step : end;
		plan->chunks = lappend(plan->chunks, chunk);
		start = chunk->end;
	}
}

/*
 * A relation's blocks without those that are done.  Values out of line count
 * as if they were spread evenly.
 */
static void
plan_relation(CopyPlan *plan, const CopyRelation *relation, List *done, int64 chunk_size)
{
	BlockNumber blocks = relation->blocks;
	int64		bytes = ((int64) blocks + relation->toast_blocks) * BLCKSZ;
	int64		step = blocks;
	BlockNumber start = 0;
	ListCell   *cell;

	if (bytes > chunk_size && relation->divisible)
		step = Max((int64) ((double) blocks * chunk_size / bytes), 1);
	foreach(cell, done_of_relation(done, relation))
	{
		const CopyChunk *chunk = lfirst(cell);

		if (chunk->start > start)
			add_chunks(plan, relation, start, Min(chunk->start, blocks), step);
		plan->nbefore++;
		plan->bytes_before += (int64) ((double) bytes * (Min(chunk->end, blocks) - Min(chunk->start, blocks)) / Max(blocks, 1));
		start = Max(start, chunk->end);
	}
	add_chunks(plan, relation, start, blocks, step);
	plan->bytes += bytes;
	if (relation->rows < 0)
		plan->rows = -1;
	else if (plan->rows >= 0)
		plan->rows += relation->rows;
}

/* The file that a relation had as of the active snapshot; invalid when there was no such relation. */
static Oid
file_of_snapshot(Oid relid)
{
	Relation	catalog = table_open(RelationRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	row;
	Oid			file;

	ScanKeyInit(&key, Anum_pg_class_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(catalog, ClassOidIndexId, true, GetActiveSnapshot(), 1, &key);
	row = systable_getnext(scan);
	file = HeapTupleIsValid(row) ? ((Form_pg_class) GETSTRUCT(row))->relfilenode : InvalidOid;
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return file;
}

/*
 * ALTER TABLE leaves nothing for snapshots of before when it writes a table
 * anew: they would see an empty one.
 */
static void
require_file_of_snapshot(const CopyTable *table, Relation relation)
{
	Oid			file = file_of_snapshot(RelationGetRelid(relation));

	if (OidIsValid(file) && file != relation->rd_rel->relfilenode)
		copy_raise_written_anew(table);
}

/* The table itself, or its partitions that have rows.  CopyRelation *. */
static List *
relations_of_table(const CopyTable *table, Relation source)
{
	List	   *relids = list_make1_oid(RelationGetRelid(source));
	List	   *relations = NIL;
	ListCell   *cell;

	if (source->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		relids = find_all_inheritors(RelationGetRelid(source), NoLock, NULL);
	foreach(cell, relids)
	{
		Relation	relation = try_table_open(lfirst_oid(cell), AccessShareLock);

		if (relation && relation->rd_rel->relkind == RELKIND_RELATION)
		{
			require_file_of_snapshot(table, relation);
			relations = lappend(relations, describe_relation(relation));
		}
		if (relation)
			table_close(relation, AccessShareLock);
	}
	return relations;
}

/*
 * The blocks that are in the lake.  A row that was updated since may have moved to
 * one of these; if values of it are out of line and unchanged the WAL lacks
 * them, so they must come by the copy.
 */
static List *
find_done(const CopyTable *table, List *relations)
{
	LakeTable  *lake = lake_table_open(table->warehouse, table->sync->database, table->record->lake_table, false);
	ListCell   *cell;

	foreach(cell, relations)
	{
		const CopyRelation *relation = lfirst(cell);

		if (relation->toast_blocks > 0 && !relation->whole_rows)
			return NIL;
	}
	return copy_chunks_done(table, lake);
}

static List *
local_relations(const CopyTable *table)
{
	Relation	source = try_table_open(table->record->source, AccessShareLock);
	List	   *relations;

	if (source == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table %u of sync \"%s\" does not exist any more", table->record->source, table->sync->name),
				 errhint("Call streamhouse.refresh_sync.")));
	relations = relations_of_table(table, source);
	table_close(source, AccessShareLock);
	return relations;
}

CopyPlan *
copy_plan(const CopyTable *table, int64 chunk_size)
{
	CopyPlan   *plan = palloc0(sizeof(CopyPlan));
	List	   *relations = table->snapshot ? remote_copy_relations(table) : local_relations(table);
	List	   *done = XLogRecPtrIsInvalid(table->record->base) ? NIL : find_done(table, relations);
	ListCell   *cell;

	foreach(cell, relations)
		plan_relation(plan, lfirst(cell), done, chunk_size);
	return plan;
}

bool
copy_is_of_one_snapshot(const CopyTable *table)
{
	LakeTable  *lake = lake_table_open(table->warehouse, table->sync->database, table->record->lake_table, true);

	return lake == NULL || !lake->has_primary_key;
}
