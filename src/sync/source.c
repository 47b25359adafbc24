/*
 * source.c
 *		A source table's definition, and the lake table that goes with it.
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type_d.h"
#include "utils/lsyscache.h"
#include "utils/relcache.h"

#include "compat.h"
#include "sync/rule_expression.h"
#include "sync/source.h"

bool
attribute_is_among(const AttrNumber *numbers, int count, AttrNumber number)
{
	int			i;

	for (i = 0; i < count; i++)
	{
		if (numbers[i] == number)
			return true;
	}
	return false;
}

/* The type of an array's elements, InvalidOid for others, which count as text: int2vector and its like. */
static Oid
array_element(Oid typid)
{
	Oid			element = get_element_type(typid);

	return OidIsValid(element) && get_array_type(element) == typid ? element : InvalidOid;
}

bool
source_keeps_text(Oid typid, int32 typmod)
{
	Oid			element;

	typid = getBaseTypeAndTypmod(typid, &typmod);
	element = array_element(typid);

	if (OidIsValid(element))
		typid = getBaseTypeAndTypmod(element, &typmod);
	return typid != OIDOID && !lake_type_exists(typid, typmod);
}

static DataType *
source_atom(const char *column, Oid typid, int32 typmod, bool nullable)
{
	if (typid == OIDOID)
		return type_make(TYPE_BIGINT, 0, 0, nullable);
	if (source_keeps_text(typid, typmod))
		return type_make(TYPE_VARCHAR, TYPE_MAX_LENGTH, 0, nullable);
	return lake_type_of_sql(column, typid, typmod, nullable);
}

DataType *
source_lake_type(const char *column, Oid typid, int32 typmod, bool nullable)
{
	Oid			element;
	DataType   *type;

	typid = getBaseTypeAndTypmod(typid, &typmod);
	element = array_element(typid);
	if (!OidIsValid(element))
		return source_atom(column, typid, typmod, nullable);

	type = type_make_nested(TYPE_ARRAY, 1, nullable);
	if (!source_keeps_text(typid, typmod))
		element = getBaseTypeAndTypmod(element, &typmod);
	type->children[0].type = source_atom(column, element, typmod, true);
	return type;
}

void
source_encoder_init(ColumnEncoder *encoder, const char *table, const DataField *field, Oid typid, int32 typmod)
{
	typid = getBaseTypeAndTypmod(typid, &typmod);
	if (source_keeps_text(typid, typmod))
		column_encoder_init_text(encoder, table, field->name, field->type, typid);
	else
		column_encoder_init(encoder, table, field->name, field->type, typid);
}

Oid
source_key_index(Relation relation)
{
	Oid			replica_index = RelationGetReplicaIndex(relation);

	return relation->rd_rel->relreplident == REPLICA_IDENTITY_INDEX ? replica_index :
		RelationGetPrimaryKeyIndex(relation, false);
}

AttrNumber *
source_key(Relation relation, int *nkeys)
{
	Oid			index_oid = source_key_index(relation);
	AttrNumber *key;
	Relation	index;
	int			i;

	*nkeys = 0;
	if (!OidIsValid(index_oid))
		return NULL;

	index = index_open(index_oid, AccessShareLock);
	*nkeys = IndexRelationGetNumberOfKeyAttributes(index);
	key = palloc(sizeof(AttrNumber) * *nkeys);
	for (i = 0; i < *nkeys; i++)
		key[i] = index->rd_index->indkey.values[i];
	index_close(index, AccessShareLock);
	return key;
}

AttrNumber *
source_columns(Relation relation, int *ncolumns)
{
	TupleDesc	desc = RelationGetDescr(relation);
	AttrNumber *columns = palloc(sizeof(AttrNumber) * desc->natts);
	int			i;

	*ncolumns = 0;
	for (i = 0; i < desc->natts; i++)
	{
		if (!TupleDescAttr(desc, i)->attisdropped)
			columns[(*ncolumns)++] = i + 1;
	}
	return columns;
}

static void
require_columns(Relation relation, const SyncTableRecord *record)
{
	TupleDesc	desc = RelationGetDescr(relation);
	int			i;

	for (i = 0; i < record->ncolumns; i++)
	{
		if (record->columns[i] <= 0 || record->columns[i] > desc->natts || TupleDescAttr(desc, record->columns[i] - 1)->attisdropped)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("columns of table \"%s\" have changed since its sync was created",
							RelationGetRelationName(relation)),
					 errhint("Drop the sync and create it again.")));
	}
}

/* The key of the lake table; none if a column of it is not replicated, or with history. */
static AttrNumber *
lake_key(Relation relation, const SyncTableRecord *record, int *nkeys)
{
	AttrNumber *key = source_key(relation, nkeys);
	int			i;

	for (i = 0; i < *nkeys; i++)
	{
		if (!attribute_is_among(record->columns, record->ncolumns, key[i]))
			*nkeys = 0;
	}
	if (record->history)
		*nkeys = 0;
	return key;
}

static bool
names_have(const List *names, const char *name)
{
	const ListCell *cell;

	foreach(cell, names)
	{
		if (strcmp(lfirst(cell), name) == 0)
			return true;
	}
	return false;
}

/*
 * The key of a lake table begins with the columns of its partition: rows of
 * one key lie in one of them.  So these are NOT NULL, too.
 */
static List *
key_with_partition(const SyncTableRecord *record, int nfields, DataField *fields, List *key_names)
{
	List	   *result = NIL;
	ListCell   *cell;
	int			i;

	foreach(cell, record->rule ? record->rule->partition : NIL)
	{
		if (!names_have(key_names, lfirst(cell)))
			result = lappend(result, lfirst(cell));
		for (i = 0; i < nfields; i++)
		{
			if (strcmp(fields[i].name, lfirst(cell)) == 0)
				fields[i].type->nullable = false;
		}
	}
	return list_concat(result, key_names);
}

TableSchema *
source_lake_schema(Relation relation, const SyncTableRecord *record, List *options)
{
	TupleDesc	desc = RelationGetDescr(relation);
	int			ncolumns = record->ncolumns;
	int			ncomputed = sync_table_ncomputed(record);
	int			nfields = ncolumns + ncomputed + record->nmetadata;
	DataField  *fields = palloc0(sizeof(DataField) * nfields);
	List	   *key_names = NIL;
	int			nkeys;
	AttrNumber *key = lake_key(relation, record, &nkeys);
	int			i;

	require_columns(relation, record);
	if (sync_table_keeps_deleted(record) && nkeys == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("deleted rows of table \"%s\" cannot be marked by \"soft_delete\", since its lake table has no key",
						record->source_name),
				 errhint("Give the table a primary key that is published, without \"history\", or leave \"soft_delete\" out of its rule.")));
	for (i = 0; i < ncolumns; i++)
	{
		Form_pg_attribute column = TupleDescAttr(desc, record->columns[i] - 1);

		fields[i].name = pstrdup(NameStr(column->attname));
		fields[i].type = source_lake_type(fields[i].name, column->atttypid, column->atttypmod,
										  !attribute_is_among(key, nkeys, record->columns[i]));
	}
	for (i = 0; i < ncomputed; i++)
		fields[ncolumns + i] = rule_column_field(record, relation, i);
	for (i = 0; i < record->nmetadata; i++)
		fields[ncolumns + ncomputed + i] = sync_table_metadata_field(record, i);
	for (i = 0; i < nkeys; i++)
		key_names = lappend(key_names, pstrdup(NameStr(TupleDescAttr(desc, key[i] - 1)->attname)));
	if (nkeys > 0)
		key_names = key_with_partition(record, nfields, fields, key_names);
	return schema_build(nfields, fields, record->rule ? record->rule->partition : NIL, key_names, nkeys > 0 ? schema_with_default_bucket(options) : options, NULL);
}

/* Why a field of the lake table is not the one the sync would have made, or NULL. */
static char *
field_fault(const DataField *wanted, const DataField *field, bool is_key)
{
	if (strcmp(wanted->name, field->name) != 0)
		return psprintf("It has column \"%s\" in the place of \"%s\".", field->name, wanted->name);
	if (!type_equal(wanted->type, field->type))
		return psprintf("Its column \"%s\" is %s and should be %s.", field->name, type_describe(field->type),
						type_describe(wanted->type));
	if (!is_key && !field->type->nullable)
		return psprintf("Its column \"%s\" is NOT NULL without being part of the key.", field->name);
	return NULL;
}

/* Why a lake table is not as the sync would have made it, or NULL. */
static char *
schema_fault(const TableSchema *wanted, const TableSchema *schema)
{
	int			i;

	if (schema->nfields != wanted->nfields)
		return psprintf("It has %d columns and should have %d.", schema->nfields, wanted->nfields);
	if (schema->npartition_keys != wanted->npartition_keys ||
		memcmp(schema->partition_keys, wanted->partition_keys, sizeof(int) * wanted->npartition_keys) != 0)
		return "Its partition is another one.";
	if (schema->nprimary_keys != wanted->nprimary_keys)
		return "Its primary key is another one.";
	for (i = 0; i < wanted->nfields; i++)
	{
		bool		is_key = schema_field_is_key(wanted, i);
		char	   *fault = field_fault(&wanted->fields[i], &schema->fields[i], is_key);

		if (fault)
			return fault;
		if (is_key != schema_field_is_key(schema, i))
			return "Its primary key is another one.";
	}
	return NULL;
}

void
source_require_fit(const char *source, const TableSchema *wanted, const LakeTable *lake)
{
	LakeSnapshot *newest = snapshot_load_latest(lake->location);
	char	   *fault = schema_fault(wanted, lake->schema);

	if (fault == NULL && newest != NULL && newest->total_record_count != 0)
		fault = "It has rows that the sync did not write.";
	if (fault)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("lake table \"%s\" exists and does not fit %s", lake->name, source),
				 errdetail_internal("%s", fault),
				 errhint("Remove the lake table, or use another lake database.")));
}

bool
source_check_target(Relation relation, const SyncTableRecord *record, LakeTable *lake, const char *commit_user)
{
	options_check_replicable(lake->schema, lake->options, lake->name);
	if (snapshot_latest_of_user(lake->location, commit_user, 0) != NULL)
		return true;
	source_require_fit(psprintf("table \"%s\"", RelationGetRelationName(relation)), source_lake_schema(relation, record, NIL),
					   lake);
	return false;
}

TableSchema *
source_other_schema(Relation relation, const SyncTableRecord *record, const LakeTable *lake)
{
	TableSchema *wanted = source_lake_schema(relation, record, lake->schema->options);

	if (schema_fault(wanted, lake->schema) == NULL)
		return NULL;
	wanted->id = lake->schema->id + 1;
	wanted->highest_field_id = Max(wanted->highest_field_id, lake->schema->highest_field_id);
	return wanted;
}
