/*
 * column_change.c
 *		Columns of a source that are not those of its lake table any more.
 *
 * A field of the lake table knows its source column by number, so a column
 * that is renamed stays the same.  Types are changed in place if that changes
 * no value that the lake has: the readers of older files see to it.  Values
 * that the rows got from elsewhere are not in the WAL: those of a new column
 * with a default, or of a column that was computed anew.  Then the table is
 * copied again, unless the lake keeps rows that the source has not.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_class.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/relcache.h"

#include "columnar/cast.h"
#include "sync/column_change.h"
#include "sync/published.h"
#include "sync/rule_expression.h"
#include "sync/source.h"

/* One comparison of a source with its lake table. */
typedef struct Comparison
{
	const SyncRecord *sync;
	const SyncTableRecord *record;
	const TableSchema *schema;
	TupleDesc	source;
	AttrNumber *published;
	int			npublished;
	bool		before_copy;
	ColumnChange *change;
} Comparison;

int
source_field_count(const TableSchema *schema, const SyncTableRecord *record)
{
	return row_field_count(schema, record) - sync_table_ncomputed(record);
}

int
row_field_count(const TableSchema *schema, const SyncTableRecord *record)
{
	return schema->nfields - record->nmetadata;
}

AttrNumber
source_column_of_field(const SyncTableRecord *record, TupleDesc source, int field)
{
	AttrNumber	number;

	if (field >= record->ncolumns)
		return 0;
	number = record->columns[field];
	return number == 0 || number > source->natts || TupleDescAttr(source, number - 1)->attisdropped ? 0 : number;
}

ColumnChange *
column_change_make(const SyncTableRecord *record, ColumnChangeKind kind, char *reason)
{
	ColumnChange *change = palloc0(sizeof(ColumnChange));

	change->record = record;
	change->kind = kind;
	change->reason = reason;
	change->column_list = record->column_list;
	change->ncolumns = record->ncolumns;
	change->columns = palloc(sizeof(AttrNumber) * (record->ncolumns + MaxHeapAttributeNumber));
	memcpy(change->columns, record->columns, sizeof(AttrNumber) * record->ncolumns);
	return change;
}

/* The change asks for this, too.  What asks for most gives the reason. */
static void
ask(ColumnChange *change, ColumnChangeKind kind, char *reason)
{
	if (kind > change->kind)
		change->reason = reason;
	else if (kind == change->kind)
		change->reason = change->reason ? psprintf("%s %s", change->reason, reason) : reason;
	change->kind = Max(kind, change->kind);
}

/* The sources of a shared lake table differ in what it can have in one way only. */
static void
ask_to_agree(ColumnChange *change, const char *reason)
{
	ask(change, CHANGE_PAUSE, psprintf("%s It shares the lake table with others.", reason));
	change->cure = "give the sources the same columns and call streamhouse.resync_table";
}

/* The lake's next schema, to be changed. */
static TableSchema *
next_schema(Comparison *comparison)
{
	if (comparison->change->schema == NULL)
		comparison->change->schema = schema_next(comparison->schema);
	return comparison->change->schema;
}

bool
column_type_is_wider(const DataType *from, const DataType *to)
{
	if (cast_is_widening(from, to))
		return true;
	switch (to->root)
	{
		case TYPE_DOUBLE:
			return from->root == TYPE_FLOAT;
		case TYPE_DECIMAL:
			return from->root == TYPE_DECIMAL && to->scale >= from->scale &&
				to->precision - to->scale >= from->precision - from->scale;
		case TYPE_VARCHAR:
			return from->root == TYPE_VARCHAR && to->length >= from->length;
		case TYPE_TIMESTAMP:
		case TYPE_TIMESTAMP_LTZ:
			return from->root == to->root && to->precision >= from->precision;
		default:
			return false;
	}
}

static void
compare_type(Comparison *comparison, int field, Form_pg_attribute column)
{
	const DataField *known = &comparison->schema->fields[field];
	DataType   *type = source_lake_type(known->name, column->atttypid, column->atttypmod, true);
	DataField	replacement = {.name = known->name, .type = type};
	char	   *reason;

	if (type_equal(type, known->type))
		return;
	/* other sources may have wider values */
	if (comparison->record->shard && column_type_is_wider(type, known->type))
		return;
	reason = psprintf("Column \"%s\" would be %s now, but is %s in the lake.",
					  known->name, type_to_text(type), type_to_text(known->type));
	if (schema_field_is_key(comparison->schema, field))
	{
		ask(comparison->change, CHANGE_PAUSE, psprintf("%s It is part of the key, whose types cannot change.", reason));
		comparison->change->cure = "remove the lake table and call streamhouse.resync_table";
	}
	else if (column_type_is_wider(known->type, type))
	{
		schema_retype_field(next_schema(comparison), field, type);
		ask(comparison->change, CHANGE_FOLLOW, reason);
	}
	else if (comparison->record->shard)
		ask_to_agree(comparison->change, reason);
	else
	{
		if (comparison->before_copy)
			schema_replace_field(next_schema(comparison), field, &replacement);
		ask(comparison->change, CHANGE_COPY, reason);
	}
}

/* A column that has a field. */
static void
compare_column(Comparison *comparison, int field)
{
	ColumnChange *change = comparison->change;
	const DataField *known = &comparison->schema->fields[field];
	AttrNumber	number = comparison->record->columns[field];
	Form_pg_attribute column;
	bool		evolves = comparison->sync->on_schema_change != SCHEMA_CHANGE_IGNORE;

	if (number == 0 || number > comparison->source->natts)
		return;
	column = TupleDescAttr(comparison->source, number - 1);
	if (column->attisdropped)
	{
		if (schema_field_is_key(comparison->schema, field) || !evolves)
			return;				/* the key is compared as a whole */
		change->columns[field] = 0;
		ask(change, CHANGE_FOLLOW, psprintf("Column \"%s\" was dropped, and is null in the lake from now on.", known->name));
		return;
	}
	if (!attribute_is_among(comparison->published, comparison->npublished, number))
	{
		ask(change, CHANGE_PAUSE, psprintf("Column \"%s\" is not published any more.", known->name));
		change->cure = "remove the lake table and call streamhouse.resync_table";
		return;
	}
	if (!evolves)
		return;
	compare_type(comparison, field, column);
	/* names of the partition are in the paths of files, and others may call the column as before */
	if (strcmp(NameStr(column->attname), known->name) != 0 && !schema_field_is_partition(comparison->schema, field) &&
		!comparison->record->shard)
	{
		schema_rename_field(next_schema(comparison), field, NameStr(column->attname));
		ask(change, CHANGE_FOLLOW, psprintf("Column \"%s\" is called \"%s\" now.", known->name, NameStr(column->attname)));
	}
}

/* May rows that existed have got a value when the column was added? */
static bool
column_came_with_values(Form_pg_attribute column)
{
	return column->atthasdef || column->atthasmissing || column->attidentity != '\0' ||
		column->attgenerated != '\0' || get_typdefault(column->atttypid) != NULL;
}

/* History keeps what was: there the rows that existed did not have the column. */
static void
ask_for_values(Comparison *comparison, Form_pg_attribute column)
{
	const char *name = NameStr(column->attname);

	if (comparison->record->history)
		return;
	if (comparison->change->column_list)
		ask(comparison->change, CHANGE_COPY,
			psprintf("Column \"%s\" is published now, and rows may have had values in it before.", name));
	else if (column_came_with_values(column))
		ask(comparison->change, CHANGE_COPY,
			psprintf("Column \"%s\" was added with a default, whose values in the rows that existed are not in the WAL.", name));
}

/* Is the field at its place already, as after a crash? */
static bool
field_is_there(const Comparison *comparison, int position, const DataField *wanted)
{
	const DataField *field = &comparison->schema->fields[position];

	return position < source_field_count(comparison->schema, comparison->record) &&
		strcmp(field->name, wanted->name) == 0 && type_equal(field->type, wanted->type) && field->type->nullable;
}

/* Let the record's next column be that of the field at a position. */
static void
add_column(ColumnChange *change, int position, AttrNumber number)
{
	while (change->ncolumns <= position)
		change->columns[change->ncolumns++] = 0;
	change->columns[position] = number;
}

/*
 * A column that has no field, in a lake table that others fill, too: one of
 * them may have brought it.  If the field is not new to the source its rows have
 * other values there.
 */
static void
take_shared_column(Comparison *comparison, Form_pg_attribute column, const DataField *wanted)
{
	ColumnChange *change = comparison->change;
	const TableSchema *schema = change->schema ? change->schema : comparison->schema;
	int			nfields = source_field_count(schema, comparison->record);
	int			position = schema_field(schema, wanted->name);

	if (position >= nfields || (position >= 0 && !type_equal(schema->fields[position].type, wanted->type) &&
								!column_type_is_wider(wanted->type, schema->fields[position].type)))
	{
		ask_to_agree(change, psprintf("Column \"%s\" is new, and the lake table has another one of that name.", wanted->name));
		return;
	}
	if (position < 0)
	{
		position = nfields;
		schema_add_field(next_schema(comparison), position, wanted);
	}
	if (position < comparison->record->ncolumns)
		ask(change, CHANGE_COPY, psprintf("Column \"%s\" is there again.", wanted->name));
	add_column(change, position, column->attnum);
	ask(change, CHANGE_FOLLOW, psprintf("Column \"%s\" is new.", wanted->name));
	ask_for_values(comparison, column);
}

/* A column that has no field. */
static void
take_new_column(Comparison *comparison, Form_pg_attribute column)
{
	ColumnChange *change = comparison->change;
	DataField	field = {.name = pstrdup(NameStr(column->attname))};
	int			position = change->ncolumns;

	if (schema_name_is_reserved(field.name))
	{
		ask(change, CHANGE_PAUSE, psprintf("Column \"%s\" is new, and its name is reserved in the lake.", field.name));
		change->cure = "rename the column and call streamhouse.resync_table";
		return;
	}
	field.type = source_lake_type(field.name, column->atttypid, column->atttypmod, true);
	if (comparison->record->shard)
	{
		take_shared_column(comparison, column, &field);
		return;
	}
	if (!field_is_there(comparison, position, &field))
		schema_add_field(next_schema(comparison), position, &field);
	add_column(change, position, column->attnum);
	ask(change, CHANGE_FOLLOW, psprintf("Column \"%s\" is new.", field.name));
	ask_for_values(comparison, column);
}

/* A name that the schema does not have, for a column whose source is gone. */
static char *
retired_name(const TableSchema *schema, const char *name)
{
	char	   *result = psprintf("%s_dropped", name);
	int			n;

	for (n = 2; schema_field(schema, result) >= 0; n++)
		result = psprintf("%s_dropped%d", name, n);
	return result;
}

/* Two fields have one name: that of a column which was dropped gives way. */
static void
settle_name(Comparison *comparison, int a, int b)
{
	ColumnChange *change = comparison->change;
	bool		a_is_gone = a < change->ncolumns && change->columns[a] == 0;
	bool		b_is_gone = b < change->ncolumns && change->columns[b] == 0;

	if (a_is_gone || b_is_gone)
		schema_rename_field(change->schema, a_is_gone ? a : b,
							retired_name(change->schema, change->schema->fields[a].name));
	else
	{
		ask(change, CHANGE_PAUSE, psprintf("The lake table has another column \"%s\".", change->schema->fields[a].name));
		change->cure = "rename the column and call streamhouse.resync_table";
	}
}

static void
settle_names(Comparison *comparison)
{
	const TableSchema *schema = comparison->change->schema;
	int			i;
	int			k;

	if (schema == NULL)
		return;
	for (i = 0; i < schema->nfields; i++)
	{
		for (k = 0; k < i; k++)
		{
			if (strcmp(schema->fields[i].name, schema->fields[k].name) == 0)
				settle_name(comparison, i, k);
		}
	}
}

/* The columns of an index, or of none. */
static Bitmapset *
index_columns(Oid index_oid)
{
	Bitmapset  *columns = NULL;
	Relation	index = OidIsValid(index_oid) ? RelationIdGetRelation(index_oid) : NULL;
	int			i;

	if (index == NULL)
		return NULL;
	for (i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
		columns = bms_add_member(columns, index->rd_index->indkey.values[i]);
	RelationClose(index);
	return columns;
}

static char *
column_names(TupleDesc source, const Bitmapset *columns)
{
	StringInfoData names;
	int			number = -1;

	initStringInfo(&names);
	while ((number = bms_next_member(columns, number)) >= 0)
		appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "", NameStr(TupleDescAttr(source, number - 1)->attname));
	return names.data;
}

static char *
lake_key_names(const TableSchema *schema)
{
	StringInfoData names;
	int			i;

	initStringInfo(&names);
	for (i = 0; i < schema->nprimary_keys; i++)
		appendStringInfo(&names, "%s%s", i > 0 ? ", " : "", schema->fields[schema->primary_keys[i]].name);
	return names.data;
}

/* Is a row identified by the columns that are the lake table's key? */
static void
compare_key(Comparison *comparison, Relation source)
{
	const TableSchema *schema = comparison->schema;
	Bitmapset  *lake_key = NULL;
	Bitmapset  *key;
	int			i;

	if (schema->nprimary_keys == 0)
		return;
	key = index_columns(source_key_index(source));
	for (i = 0; i < schema->nprimary_keys; i++)
	{
		int			field = schema->primary_keys[i];
		int			column = field < comparison->record->ncolumns ? comparison->record->columns[field] : 0;

		/* it begins with the partition, wherever that comes from */
		if (!schema_field_is_partition(schema, field) || (column > 0 && bms_is_member(column, key)))
			lake_key = bms_add_member(lake_key, column);
	}
	if (bms_equal(lake_key, key))
		return;
	ask(comparison->change, CHANGE_PAUSE,
		psprintf("Its key, or its replica identity, is another one: (%s) now, and (%s) in the lake, where keys cannot change.",
				 column_names(comparison->source, key), lake_key_names(schema)));
	comparison->change->cure = "remove the lake table and call streamhouse.resync_table";
}

/* Columns that the table's rule uses. */
static void
compare_used(Comparison *comparison)
{
	const SyncTableRecord *record = comparison->record;
	int			i;

	for (i = 0; i < record->nused; i++)
	{
		AttrNumber	number = record->used_columns[i];
		Form_pg_attribute column = number <= comparison->source->natts ? TupleDescAttr(comparison->source, number - 1) : NULL;

		if (column == NULL || column->attisdropped)
		{
			ask(comparison->change, CHANGE_PAUSE, psprintf("Column \"%s\", which the table's rule uses, was dropped.", record->used_names[i]));
			comparison->change->cure = "create the sync again with other rules";
		}
		else if (column->atttypid != record->used_types[i])
			ask(comparison->change, CHANGE_PAUSE, psprintf("Column \"%s\", which the table's rule uses, is of type %s now.",
														   record->used_names[i], format_type_be(column->atttypid)));
	}
}

/* Columns that are computed: their types follow the source's, when the table is copied. */
static void
compare_computed(Comparison *comparison, Relation source)
{
	int			first = source_field_count(comparison->schema, comparison->record);
	int			i;

	if (comparison->change->kind == CHANGE_PAUSE)
		return;
	for (i = 0; i < sync_table_ncomputed(comparison->record); i++)
	{
		const DataField *known = &comparison->schema->fields[first + i];
		DataField	field = rule_column_field(comparison->record, source, i);

		if (type_equal(field.type, known->type))
			continue;
		if (comparison->record->shard)
		{
			ask_to_agree(comparison->change, psprintf("Column \"%s\" would be %s now.", known->name, type_to_text(field.type)));
			continue;
		}
		if (schema_field_is_key(comparison->schema, first + i) || schema_field_is_partition(comparison->schema, first + i))
		{
			ask(comparison->change, CHANGE_PAUSE, psprintf("Column \"%s\" of the partition would be %s now.", known->name,
														   type_to_text(field.type)));
			comparison->change->cure = "remove the lake table and call streamhouse.resync_table";
			continue;
		}
		if (comparison->before_copy)
			schema_replace_field(next_schema(comparison), schema_field(next_schema(comparison), known->name), &field);
		ask(comparison->change, CHANGE_COPY, psprintf("Column \"%s\" would be %s now.", known->name, type_to_text(field.type)));
	}
}

const char *
column_change_copy_obstacle(const SyncRecord *sync, const SyncTableRecord *record)
{
	const PublicationActions *actions = &published_find(sync)->pubactions;

	/* the first copy has still to be made: it may as well begin now */
	if (!record->copied)
		return NULL;
	if (record->history)
		return "The history in the lake cannot be copied again.";
	if (sync_table_keeps_deleted(record))
		return "The table is not copied again by itself, because the lake keeps deleted rows, which the source has not.";
	if (!actions->pubinsert || !actions->pubupdate || !actions->pubdelete || !actions->pubtruncate)
		return "The table is not copied again by itself, because the publication leaves out some operations: the lake may have rows that the source has not.";
	return NULL;
}

/* What the policy makes of a change. */
static void
apply_policy(const SyncRecord *sync, ColumnChange *change)
{
	const char *obstacle;

	if (change->kind == CHANGE_COPY && (obstacle = column_change_copy_obstacle(sync, change->record)) != NULL)
		ask(change, CHANGE_PAUSE, psprintf("%s %s", change->reason, obstacle));
	if (change->reason == NULL)
		return;
	if (sync->on_schema_change == SCHEMA_CHANGE_PAUSE && change->kind < CHANGE_PAUSE)
		change->kind = CHANGE_PAUSE;
	if (sync->on_schema_change == SCHEMA_CHANGE_STOP)
		change->kind = CHANGE_STOP;
}

static void
compare(Comparison *comparison, Relation source, bool with_key)
{
	const SyncTableRecord *record = comparison->record;
	const Publication *publication = published_find(comparison->sync);
	int			i;

	comparison->source = RelationGetDescr(source);
	comparison->published = published_columns(publication, source, &comparison->npublished);
	comparison->change = column_change_make(record, CHANGE_NONE, NULL);
	/* other sources may have brought any number of fields */
	comparison->change->columns = repalloc(comparison->change->columns, sizeof(AttrNumber) *
										   (comparison->schema->nfields + record->ncolumns + MaxHeapAttributeNumber));
	comparison->change->column_list = record->column_list || published_has_column_list(publication, source);
	if (with_key)
		compare_key(comparison, source);
	compare_used(comparison);
	compare_computed(comparison, source);
	for (i = 0; i < record->ncolumns; i++)
		compare_column(comparison, i);
	for (i = 0; i < comparison->npublished && comparison->sync->on_schema_change != SCHEMA_CHANGE_IGNORE; i++)
	{
		if (!attribute_is_among(record->columns, record->ncolumns, comparison->published[i]))
			take_new_column(comparison, TupleDescAttr(comparison->source, comparison->published[i] - 1));
	}
	settle_names(comparison);
	if (comparison->change->kind == CHANGE_NONE && comparison->change->column_list != record->column_list)
		comparison->change->kind = CHANGE_FOLLOW;
}

static ColumnChange *
find_change(Comparison *comparison, Relation source, bool with_key, ColumnChangeKind more, char *reason)
{
	compare(comparison, source, with_key);
	if (more != CHANGE_NONE)
		ask(comparison->change, more, reason);
	apply_policy(comparison->sync, comparison->change);
	return comparison->change->kind == CHANGE_NONE ? NULL : comparison->change;
}

ColumnChange *
column_change_find(const SyncRecord *sync, const SyncTableRecord *record, const TableSchema *schema, Relation source,
				   bool with_key)
{
	Comparison	comparison = {.sync = sync, .record = record, .schema = schema};

	return find_change(&comparison, source, with_key, CHANGE_NONE, NULL);
}

ColumnChange *
column_change_find_more(const SyncRecord *sync, const SyncTableRecord *record, const TableSchema *schema, Relation source,
						ColumnChangeKind kind, char *reason)
{
	Comparison	comparison = {.sync = sync, .record = record, .schema = schema};

	return find_change(&comparison, source, true, kind, reason);
}

ColumnChange *
column_change_before_copy(const SyncRecord *sync, const SyncTableRecord *record, const TableSchema *schema,
						  Relation source)
{
	Comparison	comparison = {.sync = sync, .record = record, .schema = schema, .before_copy = true};

	compare(&comparison, source, true);
	return comparison.change->kind == CHANGE_NONE ? NULL : comparison.change;
}

ColumnChange *
column_change_of_values(const SyncRecord *sync, const SyncTableRecord *record, TupleDesc source, List *numbers)
{
	ColumnChange *change = column_change_make(record, CHANGE_NONE, NULL);
	ListCell   *cell;

	foreach(cell, numbers)
	{
		AttrNumber	number = lfirst_int(cell);

		if (number >= 1 && number <= source->natts && attribute_is_among(record->columns, record->ncolumns, number))
			ask(change, CHANGE_COPY, psprintf("Values of column \"%s\" have changed in rows that existed, by a change of its type or expression.",
											  NameStr(TupleDescAttr(source, number - 1)->attname)));
	}
	apply_policy(sync, change);
	return change->kind == CHANGE_NONE ? NULL : change;
}

void
column_change_raise(const ColumnChange *change)
{
	const char *hint = "Remove the lake table and call streamhouse.resync_table.";

	if (change->kind == CHANGE_STOP)
		hint = "Call streamhouse.alter_sync with on_schema_change => 'evolve', 'ignore' or 'pause', or undo the change.";
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("columns of table \"%s\" have changed", change->record->source_name),
			 change->reason ? errdetail_internal("%s", change->reason) : 0,
			 errhint("%s", hint)));
}
