/*
 * row_source.c
 *		How rows of a relation become rows of its lake table.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/relcache.h"

#include "columnar/value_text.h"
#include "sync/published.h"
#include "sync/row_source.h"
#include "sync/source.h"

#define DESCRIPTION_LENGTH 200

/* A partition may have its columns in another order. */
static AttrNumber
column_of_partition(const RowSource *rows, Relation partition, const char *name)
{
	AttrNumber	number = get_attnum(RelationGetRelid(partition), name);

	if (number <= 0)
		elog(ERROR, "partition \"%s\" of table \"%s\" does not have column \"%s\"",
			 RelationGetRelationName(partition), rows->name, name);
	return number;
}

static void
init_encoder(ColumnEncoder *encoder, const RowSource *rows, const DataField *field, Form_pg_attribute column,
			 UnrepresentablePolicy policy)
{
	source_encoder_init(encoder, rows->name, field, column->atttypid, column->atttypmod);
	column_encoder_set_policy(encoder, policy, "Call streamhouse.alter_sync with on_unrepresentable => 'clamp' or 'null'.");
}

static int *
encoding_order(const TableSchema *schema)
{
	int		   *order = palloc(sizeof(int) * schema->nfields);
	bool	   *is_key = palloc0(schema->nfields);
	int			n;
	int			i;

	for (n = 0; n < schema->nprimary_keys; n++)
	{
		order[n] = schema->primary_keys[n];
		is_key[order[n]] = true;
	}
	for (i = 0; i < schema->nfields; i++)
	{
		if (!is_key[i])
			order[n++] = i;
	}
	pfree(is_key);
	return order;
}

static void
init_filter(RowSource *rows, Expr *filter)
{
	if (filter == NULL)
		return;
	rows->filter = ExecInitQual(make_ands_implicit(expression_planner(filter)), NULL);
	rows->filter_context = CreateStandaloneExprContext();
}

/* The relation's columns by field, and the filter. */
static void
init_columns(RowSource *rows, const SyncRecord *sync, const SyncTableRecord *record, Relation source, Relation relation)
{
	const Publication *publication = published_find(sync->publication);
	int			i;

	for (i = 0; i < rows->nfields; i++)
	{
		const DataField *field = &rows->schema->fields[i];

		rows->columns[i] = source_column_of_field(record, RelationGetDescr(source), i);
		if (rows->columns[i] == 0)
			continue;
		if (source != relation)
			rows->columns[i] = column_of_partition(rows, relation, field->name);
		init_encoder(&rows->encoders[i], rows, field, TupleDescAttr(RelationGetDescr(relation), rows->columns[i] - 1),
					 sync->on_unrepresentable);
	}
	init_filter(rows, published_filter(publication, source, relation));
}

RowSource *
row_source_make(const SyncRecord *sync, const SyncTableRecord *record, const TableSchema *schema, Relation relation,
				ColumnChange **change)
{
	RowSource  *rows = palloc0(sizeof(RowSource));
	bool		is_source = RelationGetRelid(relation) == record->source;
	Relation	source = is_source ? relation : RelationIdGetRelation(record->source);

	rows->name = record->source_name;
	rows->schema = schema;
	rows->nfields = source_field_count(schema, sync->history);
	rows->columns = palloc(sizeof(AttrNumber) * rows->nfields);
	rows->encoders = palloc0(sizeof(ColumnEncoder) * rows->nfields);
	rows->order = encoding_order(schema);
	if (!RelationIsValid(source))
		elog(ERROR, "could not open table \"%s\"", record->source_name);
	*change = column_change_find(sync, record, schema, source);
	if (*change == NULL || (*change)->problem == NULL)
		init_columns(rows, sync, record, source, relation);
	if (!is_source)
		RelationClose(source);
	return rows;
}

bool
row_source_passes(const RowSource *rows, TupleTableSlot *slot)
{
	if (rows->filter_context == NULL)
		return true;
	ResetExprContext(rows->filter_context);
	rows->filter_context->ecxt_scantuple = slot;
	return ExecQual(rows->filter, rows->filter_context);
}

char *
row_source_describe(const RowSource *rows)
{
	const TableSchema *schema = rows->schema;
	StringInfoData names;
	StringInfoData values;
	int			i;

	if (rows->named_row == NULL || schema->nprimary_keys == 0)
		return pstrdup("");
	initStringInfo(&names);
	initStringInfo(&values);
	for (i = 0; i < schema->nprimary_keys; i++)
	{
		const DataField *field = &schema->fields[schema->primary_keys[i]];
		const Scalar *value = &rows->named_row[schema->primary_keys[i]];

		appendStringInfo(&names, "%s%s", i > 0 ? ", " : "", field->name);
		appendStringInfoString(&values, i > 0 ? ", " : "");
		if (value->isnull)
			appendStringInfoString(&values, "null");
		else
			(void) value_to_text(&values, field->type, value, VALUE_TEXT_CAST);
	}
	values.data[pg_mbcliplen(values.data, values.len, DESCRIPTION_LENGTH)] = '\0';
	return psprintf(", row (%s)=(%s)", names.data, values.data);
}
