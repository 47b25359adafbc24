/*
 * column_change.c
 *		Columns of a source that have changed since the lake table was made.
 *
 * A column that is added is null in all rows that exist, unless it came with a
 * value for them: these values are not in the WAL, so the table is copied
 * again.  The lake table changes first, then the catalog; after a crash in
 * between, the stream meets the change again, and finds the lake's new field.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "utils/lsyscache.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"

#include "lake/schema.h"
#include "sync/column_change.h"
#include "sync/history.h"
#include "sync/published.h"
#include "sync/source.h"

int
source_field_count(const TableSchema *schema, bool history)
{
	return schema->nfields - (history ? HISTORY_FIELDS : 0);
}

AttrNumber
source_column_of_field(const SyncTableRecord *record, TupleDesc source, int field)
{
	AttrNumber	number;

	if (field >= record->ncolumns)
		return 0;
	number = record->columns[field];
	return number > source->natts || TupleDescAttr(source, number - 1)->attisdropped ? 0 : number;
}

static bool
field_is_key(const TableSchema *schema, int field)
{
	int			i;

	for (i = 0; i < schema->nprimary_keys; i++)
	{
		if (schema->primary_keys[i] == field)
			return true;
	}
	return false;
}

/* What is wrong with a column that has a field, or NULL. */
static char *
known_column_problem(const SyncTableRecord *record, TupleDesc source, const TableSchema *schema, int field)
{
	const DataField *wanted = &schema->fields[field];
	AttrNumber	number = source_column_of_field(record, source, field);
	Form_pg_attribute column;
	DataType   *type;

	if (number == 0)
		return field_is_key(schema, field) ? psprintf("Column \"%s\" of the key is not there any more.", wanted->name) : NULL;
	column = TupleDescAttr(source, number - 1);
	if (strcmp(NameStr(column->attname), wanted->name) != 0)
		return psprintf("Column \"%s\" is called \"%s\" now.", wanted->name, NameStr(column->attname));
	type = source_lake_type(wanted->name, column->atttypid, column->atttypmod, true);
	if (!type_equal(type, wanted->type))
		return psprintf("Column \"%s\" would be %s now, but is %s in the lake.",
						wanted->name, type_to_text(type), type_to_text(wanted->type));
	return NULL;
}

/* May rows that existed have got a value when the column was added? */
static bool
column_came_with_values(TupleDesc source, Form_pg_attribute column)
{
	return column->atthasdef || column->atthasmissing || column->attidentity != '\0' ||
		column->attgenerated != '\0' || get_typdefault(column->atttypid) != NULL;
}

/* The same of a column that has none; field is its place to be. */
static char *
new_column_problem(const ColumnChange *change, TupleDesc source, Form_pg_attribute column, const TableSchema *schema,
				   int field)
{
	const char *name = NameStr(column->attname);
	int			taken = schema_field(schema, name);

	if (change->column_list)
		return psprintf("Column \"%s\" is published now, and rows may have had values in it before.", name);
	if (column_came_with_values(source, column))
		return psprintf("Column \"%s\" was added with a default, whose values in the rows that existed are not in the WAL.", name);
	if (schema_name_is_reserved(name))
		return psprintf("Column \"%s\" is new, and its name is reserved in the lake.", name);
	if (taken >= 0 && taken != field)
		return psprintf("Column \"%s\" is new, and the lake table has another column of that name.", name);
	return NULL;
}

static void
add_column(ColumnChange *change, Form_pg_attribute column)
{
	DataField  *field = &change->fields[change->nadded];

	field->name = pstrdup(NameStr(column->attname));
	field->type = source_lake_type(field->name, column->atttypid, column->atttypmod, true);
	change->numbers[change->nadded++] = column->attnum;
}

/* Columns that are published and have no field. */
static void
find_new_columns(ColumnChange *change, TupleDesc source, const AttrNumber *published, int npublished,
				 const TableSchema *schema)
{
	const SyncTableRecord *record = change->record;
	int			i;

	change->numbers = palloc(sizeof(AttrNumber) * Max(npublished, 1));
	change->fields = palloc0(sizeof(DataField) * Max(npublished, 1));
	for (i = 0; i < npublished && change->problem == NULL; i++)
	{
		Form_pg_attribute column = TupleDescAttr(source, published[i] - 1);

		if (attribute_is_among(record->columns, record->ncolumns, published[i]))
			continue;
		change->problem = new_column_problem(change, source, column, schema, record->ncolumns + change->nadded);
		add_column(change, column);
	}
}

/*
 * Is a row identified by the columns that are the lake table's key?  With all
 * columns in the WAL (REPLICA IDENTITY FULL) it does not matter.  The initial
 * copy has compared the keys themselves.
 */
static bool
key_is_identity(const SyncTableRecord *record, const TableSchema *schema, Relation source)
{
	Bitmapset  *identity;
	int			i;

	if (schema->nprimary_keys == 0 || !HistoricSnapshotActive())
		return true;
	identity = RelationGetIdentityKeyBitmap(source);
	if (identity == NULL)
		return true;
	for (i = 0; i < schema->nprimary_keys; i++)
	{
		AttrNumber	number = record->columns[schema->primary_keys[i]];

		if (!bms_is_member(number - FirstLowInvalidHeapAttributeNumber, identity))
			return false;
	}
	return bms_num_members(identity) == schema->nprimary_keys;
}

/* Columns that have a field. */
static void
check_known_columns(ColumnChange *change, TupleDesc source, const AttrNumber *published, int npublished,
					const TableSchema *schema)
{
	const SyncTableRecord *record = change->record;
	int			i;

	for (i = 0; i < record->ncolumns && change->problem == NULL; i++)
	{
		AttrNumber	number = source_column_of_field(record, source, i);

		change->problem = known_column_problem(record, source, schema, i);
		if (change->problem == NULL && number != 0 && !attribute_is_among(published, npublished, number))
			change->problem = psprintf("Column \"%s\" is not published any more.", schema->fields[i].name);
	}
}

ColumnChange *
column_change_find(const SyncRecord *sync, const SyncTableRecord *record, const TableSchema *schema, Relation source)
{
	ColumnChange *change = palloc0(sizeof(ColumnChange));
	const Publication *publication = published_find(sync->publication);
	TupleDesc	desc = RelationGetDescr(source);
	int			npublished;
	AttrNumber *published = published_columns(publication, source, &npublished);

	change->record = record;
	change->column_list = record->column_list || published_has_column_list(publication, source);
	check_known_columns(change, desc, published, npublished, schema);
	if (change->problem == NULL && !key_is_identity(record, schema, source))
		change->problem = pstrdup("Its key, or its replica identity, is another one.");
	find_new_columns(change, desc, published, npublished, schema);
	if (change->problem || change->nadded > 0 || change->column_list != record->column_list)
		return change;
	pfree(change);
	return NULL;
}

void
column_change_raise(const ColumnChange *change)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("columns of table \"%s\" have changed", change->record->source_name),
			 change->problem ? errdetail_internal("%s", change->problem) : 0,
			 errhint("Remove the lake table and call streamhouse.resync_table.")));
}

static bool
field_is_there(const TableSchema *schema, int position, int end, const DataField *wanted)
{
	const DataField *field = &schema->fields[position];

	return position < end && strcmp(field->name, wanted->name) == 0 && type_equal(field->type, wanted->type) &&
		field->type->nullable;
}

/* Add the fields that the lake table lacks, one schema for each. */
static void
extend_lake_table(const SyncRecord *sync, const ColumnChange *change, const char *warehouse)
{
	const char *name = change->record->lake_table;
	LakeTable  *lake = lake_table_open(warehouse, sync->database, name, false);
	int			i;

	for (i = 0; i < change->nadded; i++)
	{
		int			position = change->record->ncolumns + i;
		const TableSchema *schema = schema_load_latest(lake->location, false);

		if (field_is_there(schema, position, source_field_count(schema, sync->history), &change->fields[i]))
			continue;
		if (!schema_publish(lake->location, schema_add_field(schema, position, &change->fields[i])))
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("lake table \"%s\" got another schema at the same time", lake->name)));
	}
}

static void
extend_record(const SyncRecord *sync, const ColumnChange *change)
{
	const SyncTableRecord *record = change->record;
	int			ncolumns = record->ncolumns + change->nadded;
	AttrNumber *columns = palloc(sizeof(AttrNumber) * ncolumns);

	memcpy(columns, record->columns, sizeof(AttrNumber) * record->ncolumns);
	memcpy(columns + record->ncolumns, change->numbers, sizeof(AttrNumber) * change->nadded);
	sync_catalog_set_columns(sync->name, record, columns, ncolumns, change->column_list);
}

void
column_change_follow(const SyncRecord *sync, const ColumnChange *change, const char *warehouse)
{
	const char *name = change->record->source_name;

	if (change->problem)
	{
		ereport(LOG,
				(errmsg("sync \"%s\" pauses table \"%s\" at %X/%X: its columns have changed",
						sync->name, name, LSN_FORMAT_ARGS(change->commit_lsn)),
				 errdetail_internal("%s", change->problem)));
		sync_catalog_pause_table(sync->name, change->record, change->commit_lsn,
								 psprintf("columns have changed: %s Changes from here on are not taken: remove the lake table and call streamhouse.resync_table.",
										  change->problem));
		return;
	}
	extend_lake_table(sync, change, warehouse);
	extend_record(sync, change);
	if (change->nadded > 0)
		ereport(LOG,
				(errmsg_plural("sync \"%s\" has added %d column to the lake table of \"%s\"",
							   "sync \"%s\" has added %d columns to the lake table of \"%s\"",
							   change->nadded, sync->name, change->nadded, name)));
}
