/*
 * mirror.c
 *		Mirrors of tables of another server: empty local tables with their columns.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_extension.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "sync/catalog_access.h"
#include "sync/mirror.h"
#include "sync/source.h"

#define MIRROR_SCHEMA "streamhouse"

/* Statements about one mirror, in order. */
typedef struct MirrorScript
{
	char	   *mirror;			/* quoted */
	List	   *statements;		/* char * */
} MirrorScript;

static char *
quoted_mirror(const char *name)
{
	return pstrdup(quote_qualified_identifier(MIRROR_SCHEMA, name));
}

static void
run_script(const List *statements)
{
	CatalogAccess access;
	const ListCell *cell;

	catalog_enter(&access);
	foreach(cell, statements)
	{
		if (SPI_execute(lfirst(cell), false, 0) != SPI_OK_UTILITY)
			elog(ERROR, "could not execute \"%s\"", (char *) lfirst(cell));
	}
	catalog_leave(&access);
}

static void
alter(MirrorScript *script, const char *action)
{
	script->statements = lappend(script->statements, psprintf("ALTER TABLE %s %s", script->mirror, action));
}

static char *
type_name(const RemoteTableColumn *column)
{
	return format_type_extended(column->type, column->typmod, FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY);
}

/* The key for SQL, NULL when there is none; not all of it may be published. */
static char *
key_list(const RemoteTable *table)
{
	StringInfoData list;
	ListCell   *cell;
	int			i;

	initStringInfo(&list);
	foreach(cell, table->key)
	{
		for (i = 0; i < table->ncolumns; i++)
		{
			if (strcmp(table->columns[i].name, lfirst(cell)) == 0 && !table->columns[i].published)
				return NULL;
		}
		appendStringInfo(&list, "%s%s", list.len > 0 ? ", " : "", quote_identifier(lfirst(cell)));
	}
	return list.len > 0 ? list.data : NULL;
}

static const char *
identity_clause(char identity)
{
	switch (identity)
	{
		case REPLICA_IDENTITY_FULL:
			return "FULL";
		case REPLICA_IDENTITY_NOTHING:
			return "NOTHING";
		default:
			return "DEFAULT";	/* whatever index it is, the mirror's key is that */
	}
}

/* ---- a new one ---- */

/* Names may be long, or taken by a table that was called so before. */
static char *
mirror_name(const SyncRecord *sync, const RemoteTable *table)
{
	char	   *name = psprintf("%s.%s", sync->name, table->name);
	Oid			relid = get_relname_relid(name, get_namespace_oid(MIRROR_SCHEMA, false));
	ListCell   *cell;
	bool		taken = false;

	foreach(cell, sync->tables)
	{
		const SyncTableRecord *record = lfirst(cell);

		taken |= record->source == relid && record->remote_table != table->oid;
	}
	return taken || strlen(name) >= NAMEDATALEN ? psprintf("%s.%u", sync->slot, table->oid) : name;
}

static char *
create_statement(const char *mirror, const RemoteTable *table)
{
	StringInfoData columns;
	char	   *key = key_list(table);
	int			i;

	initStringInfo(&columns);
	for (i = 0; i < table->ncolumns; i++)
	{
		const RemoteTableColumn *column = &table->columns[i];

		if (column->published)
			appendStringInfo(&columns, "%s%s %s", columns.len > 0 ? ", " : "", quote_identifier(column->name), type_name(column));
	}
	if (key)
		appendStringInfo(&columns, ", PRIMARY KEY (%s)", key);
	return psprintf("CREATE TABLE %s (%s)", mirror, columns.data);
}

/* DROP EXTENSION takes it along. */
static void
depend_on_extension(Oid relid)
{
	ObjectAddress mirror;
	ObjectAddress extension;

	ObjectAddressSet(mirror, RelationRelationId, relid);
	ObjectAddressSet(extension, ExtensionRelationId, get_extension_oid("streamhouse", false));
	recordDependencyOn(&mirror, &extension, DEPENDENCY_AUTO);
}

void
mirror_make(const SyncRecord *sync, const RemoteTable *table, SyncTableRecord *record)
{
	char	   *name = mirror_name(sync, table);
	MirrorScript script = {.mirror = quoted_mirror(name)};
	int			i;

	/* one of that name is left from something that was given up */
	if (OidIsValid(get_relname_relid(name, get_namespace_oid(MIRROR_SCHEMA, false))))
		script.statements = lappend(script.statements, psprintf("DROP TABLE %s", script.mirror));
	script.statements = lappend(script.statements, create_statement(script.mirror, table));
	alter(&script, psprintf("REPLICA IDENTITY %s", identity_clause(table->identity)));
	run_script(script.statements);

	record->source = get_relname_relid(name, get_namespace_oid(MIRROR_SCHEMA, false));
	record->remote_table = table->oid;
	record->mirrored = palloc(sizeof(RemoteColumn) * Max(table->ncolumns, 1));
	record->nmirrored = 0;
	for (i = 0; i < table->ncolumns; i++)
	{
		if (table->columns[i].published)
			record->mirrored[record->nmirrored++] = table->columns[i].column;
	}
	depend_on_extension(record->source);
}

void
mirror_drop(const SyncTableRecord *record)
{
	char	   *name = get_rel_name(record->source);

	if (name)
		run_script(list_make1(psprintf("DROP TABLE %s", quoted_mirror(name))));
}

static bool
has_source(const List *records, Oid source)
{
	const ListCell *cell;

	foreach(cell, records)
	{
		if (((const SyncTableRecord *) lfirst(cell))->source == source)
			return true;
	}
	return false;
}

void
mirror_drop_left(const List *left, const List *again)
{
	const ListCell *cell;

	foreach(cell, left)
	{
		const SyncTableRecord *record = lfirst(cell);

		if (OidIsValid(record->remote_table) && !has_source(again, record->source))
			mirror_drop(record);
	}
}

/* ---- one that follows the source ---- */

static const RemoteTableColumn *
column_of_number(const RemoteTable *table, AttrNumber number)
{
	int			i;

	for (i = 0; i < table->ncolumns; i++)
	{
		if (table->columns[i].column.number == number)
			return &table->columns[i];
	}
	return NULL;
}

static bool
is_mirrored(const SyncTableRecord *record, TupleDesc desc, AttrNumber number)
{
	int			i;

	for (i = 0; i < Min(desc->natts, record->nmirrored); i++)
	{
		if (record->mirrored[i].number == number && !TupleDescAttr(desc, i)->attisdropped)
			return true;
	}
	return false;
}

static bool
same_type(const RemoteColumn *a, Oid type, int32 typmod)
{
	return a->type == type && a->typmod == typmod;
}

/* Another type: what the rows got by it is not in the stream. */
static void
follow_type(MirrorScript *script, MirrorChange *change, RemoteColumn *known, const RemoteTableColumn *column)
{
	const char *name = quote_identifier(column->name);

	if (same_type(known, column->column.type, column->column.typmod))
		return;
	alter(script, psprintf("ALTER COLUMN %s DROP DEFAULT", name));
	alter(script, psprintf("ALTER COLUMN %s TYPE %s USING NULL", name, type_name(column)));
	change->copy = psprintf("Column \"%s\" has got another type, and what became of its values is not in the stream.", column->name);
	*known = column->column;
}

/* Names may be exchanged: all go out of the way first. */
static void
follow_names(MirrorScript *script, const SyncTableRecord *record, TupleDesc desc, const RemoteTable *table)
{
	List	   *second = NIL;
	int			i;

	for (i = 0; i < Min(desc->natts, record->nmirrored); i++)
	{
		const RemoteTableColumn *column = column_of_number(table, record->mirrored[i].number);
		const char *name = NameStr(TupleDescAttr(desc, i)->attname);
		char	   *between = psprintf("renamed %d", i + 1);

		if (TupleDescAttr(desc, i)->attisdropped || column == NULL || !column->published || strcmp(column->name, name) == 0)
			continue;
		alter(script, psprintf("RENAME COLUMN %s TO %s", quote_identifier(name), quote_identifier(between)));
		second = lappend(second, psprintf("ALTER TABLE %s RENAME COLUMN %s TO %s", script->mirror, quote_identifier(between),
										  quote_identifier(column->name)));
	}
	script->statements = list_concat(script->statements, second);
}

/* A default that is no constant says that rows which existed may have got values (column_came_with_values). */
static void
add_column(MirrorScript *script, SyncTableRecord *record, const RemoteTableColumn *column)
{
	char	   *type = type_name(column);
	char	   *values = column->came_with_values ? psprintf(" DEFAULT CASE WHEN true THEN NULL::%s END", type) : "";

	alter(script, psprintf("ADD COLUMN %s %s%s", quote_identifier(column->name), type, values));
	record->mirrored[record->nmirrored++] = column->column;
}

static void
follow_columns(MirrorScript *script, MirrorChange *change, SyncTableRecord *record, TupleDesc desc, const RemoteTable *table)
{
	int			nknown = Min(desc->natts, record->nmirrored);
	int			i;

	for (i = 0; i < nknown; i++)
	{
		const char *name = NameStr(TupleDescAttr(desc, i)->attname);
		const RemoteTableColumn *column = column_of_number(table, record->mirrored[i].number);

		if (TupleDescAttr(desc, i)->attisdropped)
			continue;
		if (column == NULL || !column->published)
			alter(script, psprintf("DROP COLUMN %s", quote_identifier(name)));
		if (column && !column->published)
			change->pause = psprintf("Column \"%s\" is not published any more.", name);
	}
	follow_names(script, record, desc, table);
	for (i = 0; i < nknown; i++)
	{
		const RemoteTableColumn *column = column_of_number(table, record->mirrored[i].number);

		if (!TupleDescAttr(desc, i)->attisdropped && column && column->published)
			follow_type(script, change, &record->mirrored[i], column);
	}
	for (i = 0; i < table->ncolumns; i++)
	{
		if (table->columns[i].published && !is_mirrored(record, desc, table->columns[i].column.number))
			add_column(script, record, &table->columns[i]);
	}
}

/* The names of the key, as it is in the mirror. */
static char *
mirror_key_list(Relation mirror)
{
	StringInfoData list;
	int			nkeys;
	AttrNumber *key = source_key(mirror, &nkeys);
	int			i;

	initStringInfo(&list);
	for (i = 0; i < nkeys; i++)
		appendStringInfo(&list, "%s%s", list.len > 0 ? ", " : "",
						 quote_identifier(NameStr(TupleDescAttr(RelationGetDescr(mirror), key[i] - 1)->attname)));
	return list.len > 0 ? list.data : NULL;
}

/* After the columns: a key goes with a column of it. */
static List *
follow_key(const char *quoted, Oid relid, const RemoteTable *table)
{
	MirrorScript script = {.mirror = pstrdup(quoted)};
	Relation	mirror = table_open(relid, NoLock);
	char	   *known = mirror_key_list(mirror);
	char	   *key = key_list(table);
	Oid			index = source_key_index(mirror);
	const char *identity = identity_clause(mirror->rd_rel->relreplident);

	table_close(mirror, NoLock);
	if (known && (key == NULL || strcmp(known, key) != 0))
		alter(&script, psprintf("DROP CONSTRAINT %s", quote_identifier(get_rel_name(index))));
	if (key && (known == NULL || strcmp(known, key) != 0))
		alter(&script, psprintf("ADD PRIMARY KEY (%s)", key));
	if (strcmp(identity, identity_clause(table->identity)) != 0)
		alter(&script, psprintf("REPLICA IDENTITY %s", identity_clause(table->identity)));
	return script.statements;
}

MirrorChange
mirror_follow(const SyncRecord *sync, SyncTableRecord *record, const RemoteTable *table)
{
	MirrorChange change = {0};
	Relation	mirror = table_open(record->source, AccessExclusiveLock);
	MirrorScript script = {.mirror = quoted_mirror(RelationGetRelationName(mirror))};
	RemoteColumn *mirrored = MemoryContextAlloc(GetMemoryChunkContext(record->mirrored),
												sizeof(RemoteColumn) * (record->nmirrored + table->ncolumns));

	/* other copies of the record stay as they are */
	memcpy(mirrored, record->mirrored, sizeof(RemoteColumn) * record->nmirrored);
	record->mirrored = mirrored;
	follow_columns(&script, &change, record, RelationGetDescr(mirror), table);
	table_close(mirror, NoLock);
	run_script(script.statements);
	run_script(follow_key(script.mirror, record->source, table));
	if (script.statements != NIL)
		sync_catalog_set_mirrored(sync->name, record);
	return change;
}

/* ---- comparing ---- */

bool
mirror_is_same(const SyncTableRecord *a, const SyncTableRecord *b)
{
	int			i;

	for (i = 0; i < Min(a->nmirrored, b->nmirrored); i++)
	{
		if (a->mirrored[i].number != b->mirrored[i].number || !same_type(&a->mirrored[i], b->mirrored[i].type, b->mirrored[i].typmod))
			return false;
	}
	return a->nmirrored == b->nmirrored;
}

bool
mirror_fits(const SyncTableRecord *record, Relation mirror, const RemoteTable *table)
{
	TupleDesc	desc = RelationGetDescr(mirror);
	int			i;

	if (desc->natts > record->nmirrored)
		return false;
	for (i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute known = TupleDescAttr(desc, i);
		const RemoteTableColumn *column = column_of_number(table, record->mirrored[i].number);

		if (!known->attisdropped &&
			(column == NULL || !column->published || strcmp(column->name, NameStr(known->attname)) != 0 ||
			 !same_type(&record->mirrored[i], column->column.type, column->column.typmod)))
			return false;
	}
	return true;
}

/* The column of that name and type, or 0. */
static AttrNumber
match_column(const SyncTableRecord *record, TupleDesc desc, const char *name, Oid type, int32 typmod)
{
	int			i;

	for (i = 0; i < Min(desc->natts, record->nmirrored); i++)
	{
		if (!TupleDescAttr(desc, i)->attisdropped && strcmp(NameStr(TupleDescAttr(desc, i)->attname), name) == 0)
			return same_type(&record->mirrored[i], type, typmod) ? i + 1 : 0;
	}
	return 0;
}

/* Are the columns that the stream names as the key the mirror's?  It names them all with FULL. */
static bool
match_key(Relation mirror, const RemoteLayout *layout, const AttrNumber *numbers)
{
	int			nkeys;
	AttrNumber *key = source_key(mirror, &nkeys);
	int			nlayout = 0;
	int			i;

	if (layout->identity == REPLICA_IDENTITY_FULL || layout->identity == REPLICA_IDENTITY_NOTHING || nkeys == 0)
		return true;
	for (i = 0; i < layout->ncolumns; i++)
	{
		if (!layout->is_key[i])
			continue;
		if (!attribute_is_among(key, nkeys, numbers[i]))
			return false;
		nlayout++;
	}
	return nlayout == nkeys;
}

bool
mirror_match(const SyncTableRecord *record, Relation mirror, const RemoteLayout *layout, AttrNumber *numbers)
{
	int			ncolumns;
	int			i;

	(void) source_columns(mirror, &ncolumns);
	if (ncolumns != layout->ncolumns ||
		strcmp(identity_clause(mirror->rd_rel->relreplident), identity_clause(layout->identity)) != 0)
		return false;
	for (i = 0; i < layout->ncolumns; i++)
	{
		numbers[i] = match_column(record, RelationGetDescr(mirror), layout->names[i], layout->types[i], layout->typmods[i]);
		if (numbers[i] == 0)
			return false;
	}
	return match_key(mirror, layout, numbers);
}

char *
mirror_column_list(Relation mirror)
{
	TupleDesc	desc = RelationGetDescr(mirror);
	StringInfoData list;
	int			i;

	initStringInfo(&list);
	for (i = 0; i < desc->natts; i++)
	{
		if (!TupleDescAttr(desc, i)->attisdropped)
			appendStringInfo(&list, "%s%s", list.len > 0 ? ", " : "", quote_identifier(NameStr(TupleDescAttr(desc, i)->attname)));
	}
	return list.data;
}

void
mirror_input_prepare(MirrorInput *input, const FormData_pg_attribute *column, MemoryContext context)
{
	Oid			function;

	getTypeInputInfo(column->atttypid, &function, &input->parameter);
	fmgr_info_cxt(function, &input->function, context);
	input->typmod = column->atttypmod;
}

Datum
mirror_input_value(MirrorInput *input, char *text)
{
	return InputFunctionCall(&input->function, text, input->parameter, input->typmod);
}
