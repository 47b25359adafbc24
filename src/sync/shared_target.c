/*
 * shared_target.c
 *		Lake tables that several sources fill, each a part of its own: its shard.
 */
#include "postgres.h"

#include "access/table.h"
#include "miscadmin.h"
#include "utils/rel.h"

#include "lake/plan.h"
#include "lake/read.h"
#include "sync/column_change.h"
#include "sync/shared_target.h"
#include "sync/source.h"

/* Has the source a column for each field? */
static bool
has_all_columns(const SyncTableRecord *record)
{
	return record->ncolumns > 0 && !attribute_is_among(record->columns, record->ncolumns, 0);
}

/* Another source that tells what the lake table is to be. */
static const SyncTableRecord *
find_other(const SyncRecord *sync, const SyncTableRecord *record)
{
	ListCell   *cell;

	foreach(cell, sync->tables)
	{
		const SyncTableRecord *other = lfirst(cell);

		if (other->source != record->source && !other->refused && !other->paused && other->shard &&
			strcmp(other->lake_table, record->lake_table) == 0 && has_all_columns(other))
			return other;
	}
	return NULL;
}

const TableSchema *
shared_target_schema(const SyncRecord *sync, const SyncTableRecord *record, const LakeTable *lake)
{
	const SyncTableRecord *other = lake ? NULL : find_other(sync, record);
	Relation	source = other ? try_table_open(other->source, AccessShareLock) : NULL;
	TableSchema *schema;

	if (lake)
		return lake->schema;
	if (source == NULL)
		return NULL;
	schema = source_lake_schema(source, other, sync_table_options(sync, other));
	table_close(source, AccessShareLock);
	return schema;
}

pg_noreturn static void
refuse(const SyncTableRecord *record, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("table \"%s\" does not fit lake table \"%s\", which it is to share with others",
					record->source_name, record->lake_table),
			 errdetail_internal("%s", detail),
			 errhint("Give the sources the same columns, or the table another lake table.")));
}

/* The names of some fields, in order. */
static char *
field_names(const TableSchema *schema, const int *fields, int nfields)
{
	StringInfoData names;
	int			i;

	initStringInfo(&names);
	for (i = 0; i < nfields; i++)
		appendStringInfo(&names, "%s%s", i > 0 ? ", " : "", schema->fields[fields[i]].name);
	return names.data;
}

static void
require_same_fields(const SyncTableRecord *record, const char *what, char *wanted, char *there)
{
	if (strcmp(wanted, there) != 0)
		refuse(record, psprintf("Its %s would be (%s), and is (%s).", what, wanted, there));
}

/* Values of the source must go into the field, as it is or as it can become. */
static void
require_type(const SyncTableRecord *record, const DataField *wanted, const DataField *field, bool fixed)
{
	if (type_equal(wanted->type, field->type) || (!fixed && column_type_is_wider(field->type, wanted->type)) ||
		column_type_is_wider(wanted->type, field->type))
		return;
	refuse(record, psprintf("Column \"%s\" would be %s, and is %s.", wanted->name, type_to_text(wanted->type),
							type_to_text(field->type)));
}

/* The fields behind those of the sources: computed ones and metadata. */
static void
match_tail(const SyncTableRecord *record, const TableSchema *wanted, const TableSchema *schema, int nfields)
{
	int			ntail = wanted->nfields - record->ncolumns;
	int			i;

	for (i = 0; i < ntail; i++)
	{
		const DataField *mine = &wanted->fields[record->ncolumns + i];
		const DataField *field = &schema->fields[nfields + i];

		if (strcmp(mine->name, field->name) != 0)
			refuse(record, psprintf("Column \"%s\" would be in the place of \"%s\".", mine->name, field->name));
		if (!type_equal(mine->type, field->type))
			refuse(record, psprintf("Column \"%s\" would be %s, and is %s.", mine->name, type_to_text(mine->type),
									type_to_text(field->type)));
	}
}

/* The source's column for a field, 0 when it has none. */
static AttrNumber
match_field(const SyncTableRecord *record, const TableSchema *wanted, const DataField *field, bool fixed)
{
	int			i = schema_field(wanted, field->name);

	if (i < 0 || i >= record->ncolumns)
	{
		if (!field->type->nullable)
			refuse(record, psprintf("It has no column \"%s\", which is NOT NULL in the lake table.", field->name));
		return 0;
	}
	require_type(record, &wanted->fields[i], field, fixed);
	return record->columns[i];
}

void
shared_target_match(Relation source, SyncTableRecord *record, const TableSchema *schema, bool exists)
{
	TableSchema *wanted = source_lake_schema(source, record, NIL);
	int			nfields = source_field_count(schema, record);
	AttrNumber *columns;
	int			i;

	if (nfields < 0)
		refuse(record, psprintf("It would have %d columns, and has %d.", wanted->nfields, schema->nfields));
	require_same_fields(record, "partition", field_names(wanted, wanted->partition_keys, wanted->npartition_keys),
						field_names(schema, schema->partition_keys, schema->npartition_keys));
	require_same_fields(record, "primary key", field_names(wanted, wanted->primary_keys, wanted->nprimary_keys),
						field_names(schema, schema->primary_keys, schema->nprimary_keys));
	match_tail(record, wanted, schema, nfields);
	columns = palloc(sizeof(AttrNumber) * nfields);
	for (i = 0; i < nfields; i++)
		columns[i] = match_field(record, wanted, &schema->fields[i], !exists || schema_field_is_key(schema, i));
	for (i = 0; i < record->ncolumns && !exists; i++)
	{
		if (!attribute_is_among(columns, nfields, record->columns[i]))
			refuse(record, psprintf("It has a column \"%s\", which others have not.", wanted->fields[i].name));
	}
	record->columns = columns;
	record->ncolumns = nfields;
}

static int
shard_field(const SyncTableRecord *record, const TableSchema *schema)
{
	return schema_field(schema, table_rule_shard_column(record->rule));
}

static void
set_shard(const SyncTableRecord *record, Scalar *value)
{
	value->isnull = false;
	value->v.bytes.data = record->shard;
	value->v.bytes.length = strlen(record->shard);
}

void
shared_target_set_shard(const SyncTableRecord *record, const TableSchema *schema, Scalar *row)
{
	set_shard(record, &row[shard_field(record, schema)]);
}

Predicate *
shared_target_condition(const SyncTableRecord *record, const TableSchema *schema)
{
	int			field = shard_field(record, schema);
	Scalar	   *value = palloc0(sizeof(Scalar));

	set_shard(record, value);
	return predicate_leaf(PREDICATE_EQ, field, schema->fields[field].type, value, 1);
}

bool
shared_target_has_rows(const SyncTableRecord *record, LakeTable *lake)
{
	ScanRequest request = {.snapshot = snapshot_load_latest(lake->location)};
	int			field = shard_field(record, lake->schema);
	TableReader *reader;
	Batch	   *batch;
	bool		found = false;

	request.predicate = shared_target_condition(record, lake->schema);
	reader = table_reader_open(lake, scan_plan(lake, &request)->splits, &field, 1, request.predicate, NULL);
	while (!found && (batch = table_reader_next(reader)) != NULL)
		found = batch->nselected > 0;
	table_reader_close(reader);
	return found;
}

static bool
is_slot_of_sync(const List *syncs, const char *slot)
{
	const ListCell *cell;

	foreach(cell, syncs)
	{
		if (strcmp(((const SyncRecord *) lfirst(cell))->slot, slot) == 0)
			return true;
	}
	return false;
}

bool
shared_target_is_ours(const LakeTable *lake)
{
	List	   *syncs = sync_catalog_list();
	bool		by_syncs = false;
	int64		id;

	for (id = snapshot_latest_id(lake->location); id > 0; id--)
	{
		const LakeSnapshot *snapshot = snapshot_load(lake->location, id, true);

		if (snapshot == NULL)
			break;
		if (is_slot_of_sync(syncs, snapshot->commit_user))
			return true;
		by_syncs |= snapshot_property(snapshot, SNAPSHOT_SYSTEM_PROPERTY) != NULL;
		CHECK_FOR_INTERRUPTS();
	}
	return !by_syncs;
}
