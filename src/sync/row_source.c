/*
 * row_source.c
 *		How rows of a relation become rows of its lake table.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "access/sysattr.h"
#include "catalog/partition.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/relcache.h"

#include "columnar/value_text.h"
#include "sync/decoded_row.h"
#include "sync/published.h"
#include "sync/row_source.h"
#include "sync/rule_expression.h"
#include "sync/source.h"

#define DESCRIPTION_LENGTH 200

/* A field that a rule computes. */
typedef struct ComputedField
{
	ExprState  *state;
	int			ncolumns;
	int		   *columns;		/* of a deformed row, that it uses */
} ComputedField;

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

/* Is it STRING, for the text of any value? */
static bool
type_is_text(const DataType *type)
{
	return type->root == TYPE_VARCHAR && type->length == TYPE_MAX_LENGTH;
}

static void
column_fits_not(const RowSource *rows, const DataField *field, Oid typid)
{
	ColumnChange *change = column_change_make(rows->record, CHANGE_PAUSE,
											  psprintf("Column \"%s\" is of type %s now, whose values do not go into %s, its type in the lake.",
													   field->name, format_type_be(typid), type_to_text(field->type)));

	if (rows->misfit)
		*rows->misfit = change;
	column_change_raise(change);
}

/* A column whose type in the lake is not the one it would have. */
static void
init_conversion(RowSource *rows, int i, Form_pg_attribute column)
{
	const DataField *field = &rows->schema->fields[i];
	int32		typmod = column->atttypmod;
	Oid			typid = getBaseTypeAndTypmod(column->atttypid, &typmod);
	Oid			result;

	if (type_is_text(field->type))
	{
		column_encoder_init_text(&rows->encoders[i], rows->name, field->name, field->type, typid);
		return;
	}
	rows->conversions[i] = value_conversion_make(typid, typmod, field->type, &result);
	if (rows->conversions[i] == NULL)
		column_fits_not(rows, field, typid);
	rows->misfits[i] = column_change_make(rows->record, CHANGE_PAUSE,
										  psprintf("A value of column \"%s\" does not fit %s, its type in the lake.",
												   field->name, type_to_text(field->type)));
	column_encoder_init(&rows->encoders[i], rows->name, field->name, field->type, result);
}

static void
init_encoder(RowSource *rows, int i, Form_pg_attribute column, UnrepresentablePolicy policy)
{
	const DataField *field = &rows->schema->fields[i];

	if (type_equal(source_lake_type(field->name, column->atttypid, column->atttypmod, true), field->type))
		source_encoder_init(&rows->encoders[i], rows->name, field, column->atttypid, column->atttypmod);
	else
		init_conversion(rows, i, column);
	column_encoder_set_policy(&rows->encoders[i], policy,
							  "Call streamhouse.alter_sync with on_unrepresentable => 'clamp' or 'null'.");
}

Datum
row_source_convert(RowSource *rows, int field, Datum value)
{
	const DataField *known = &rows->schema->fields[field];
	Datum		result;

	if (rows->misfit)
		*rows->misfit = rows->misfits[field];
	if (!value_conversion_apply(rows->conversions[field], value, &result))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("a value of column \"%s\" of table \"%s\" does not fit %s, its type in the lake",
						known->name, rows->name, type_to_text(known->type)),
				 errhint("Call streamhouse.alter_sync with on_schema_change => 'evolve', and streamhouse.resync_table.")));
	if (rows->misfit)
		*rows->misfit = NULL;
	return result;
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

/* An expression of the source's columns, for a relation that is the source or one of its partitions. */
static Expr *
expression_for(Expr *expression, Relation source, Relation relation)
{
	if (source == relation)
		return expression;
	return linitial(map_partition_varattnos(list_make1(expression), 1, relation, source));
}

/* What the publication lets pass, and the rule. */
static void
init_filter(RowSource *rows, Expr *filter, Relation source, Relation relation)
{
	const RuleExpression *condition = rule_condition(rows->record, source);
	List	   *quals = filter ? make_ands_implicit(expression_planner(filter)) : NIL;

	if (condition)
		quals = list_concat(quals, make_ands_implicit(expression_planner(expression_for(condition->expression, source, relation))));
	rows->filter = ExecInitQual(quals, NULL);
}

static void
init_computed_field(RowSource *rows, int number, Relation source, Relation relation, UnrepresentablePolicy policy)
{
	ComputedField *computed = &rows->computed[number];
	int			field = rows->first_computed + number;
	const RuleExpression *expression = rule_column_expression(rows->record, source, number);
	Expr	   *expr = expression_for(expression->expression, source, relation);
	Bitmapset  *members = NULL;
	int			member = -1;

	computed->state = ExecInitExpr(expression_planner(expr), NULL);
	pull_varattnos((Node *) expr, 1, &members);
	computed->columns = palloc(sizeof(int) * bms_num_members(members));
	while ((member = bms_next_member(members, member)) >= 0)
		computed->columns[computed->ncolumns++] = member + FirstLowInvalidHeapAttributeNumber - 1;
	source_encoder_init(&rows->encoders[field], rows->name, &rows->schema->fields[field], expression->type, expression->typmod);
	column_encoder_set_policy(&rows->encoders[field], policy,
							  "Call streamhouse.alter_sync with on_unrepresentable => 'clamp' or 'null'.");
}

static void
init_computed(RowSource *rows, Relation source, Relation relation, UnrepresentablePolicy policy)
{
	int			ncomputed = sync_table_ncomputed(rows->record);
	int			i;

	rows->first_computed = rows->nfields - ncomputed;
	rows->computed = palloc0(sizeof(ComputedField) * ncomputed);
	for (i = 0; i < ncomputed; i++)
		init_computed_field(rows, i, source, relation, policy);
	rows->needs_old_rows = rule_needs_old_rows(rows->record, source);
}

bool
row_source_is_out_of_reach(const RowSource *rows, int field, const TupleTableSlot *slot)
{
	const ComputedField *computed;
	int			i;

	if (field < rows->first_computed)
		return decoded_value_is_out_of_reach(slot, row_source_column(rows, field));
	computed = &rows->computed[field - rows->first_computed];
	for (i = 0; i < computed->ncolumns; i++)
	{
		if (decoded_value_is_out_of_reach(slot, computed->columns[i]))
			return true;
	}
	return false;
}

void
row_source_refuse_null(RowSource *rows, int field)
{
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(rows));
	ColumnChange *change;

	change = column_change_make(rows->record, CHANGE_PAUSE,
								psprintf("Column \"%s\" is part of the key in the lake, and would be null in a row.",
										 rows->schema->fields[field].name));
	MemoryContextSwitchTo(old);
	if (rows->misfit)
		*rows->misfit = change;
	column_change_raise(change);
}

/* The value is allocated as the row is, not in the memory of the context. */
void
row_source_encode_computed(RowSource *rows, int field, const TupleTableSlot *slot, Scalar *row)
{
	ComputedField *computed = &rows->computed[field - rows->first_computed];
	bool		isnull;
	Datum		value;

	rows->context->ecxt_scantuple = unconstify(TupleTableSlot *, slot);
	value = ExecEvalExpr(computed->state, rows->context, &isnull);
	if (isnull && !rows->schema->fields[field].type->nullable)
		row_source_refuse_null(rows, field);
	column_encode(&rows->encoders[field], value, isnull, &row[field]);
}

/* The relation's columns by field, and the filter. */
static void
init_columns(RowSource *rows, const SyncRecord *sync, const SyncTableRecord *record, Relation source, Relation relation)
{
	const Publication *publication = published_find(sync);
	int			i;

	for (i = 0; i < source_field_count(rows->schema, record); i++)
	{
		TupleDesc	desc = RelationGetDescr(source);

		rows->columns[i] = source_column_of_field(record, desc, i);
		if (rows->columns[i] == 0)
			continue;
		if (source != relation)
			rows->columns[i] = column_of_partition(rows, relation, NameStr(TupleDescAttr(desc, rows->columns[i] - 1)->attname));
		init_encoder(rows, i, TupleDescAttr(RelationGetDescr(relation), rows->columns[i] - 1), sync->on_unrepresentable);
	}
	init_computed(rows, source, relation, sync->on_unrepresentable);
	init_filter(rows, published_filter(publication, source, relation), source, relation);
}

/* The source that a relation is, or belongs to. */
static Relation
open_source(const SyncTableRecord *record, Relation relation)
{
	Relation	source = RelationGetRelid(relation) == record->source ? relation : RelationIdGetRelation(record->source);

	if (!RelationIsValid(source))
		elog(ERROR, "could not open table \"%s\"", record->source_name);
	return source;
}

RowSource *
row_source_make(const SyncRecord *sync, const SyncTableRecord *record, const TableSchema *schema, Relation relation,
				ColumnChange **misfit)
{
	RowSource  *rows = palloc0(sizeof(RowSource));
	Relation	source = open_source(record, relation);

	rows->name = record->source_name;
	rows->record = record;
	rows->misfit = misfit;
	rows->schema = schema;
	rows->nfields = row_field_count(schema, record);
	rows->context = CreateStandaloneExprContext();
	rows->columns = palloc0(sizeof(AttrNumber) * rows->nfields);
	rows->encoders = palloc0(sizeof(ColumnEncoder) * rows->nfields);
	rows->conversions = palloc0(sizeof(ValueConversion *) * rows->nfields);
	rows->misfits = palloc0(sizeof(ColumnChange *) * rows->nfields);
	rows->order = encoding_order(schema);
	init_columns(rows, sync, record, source, relation);
	if (source != relation)
		RelationClose(source);
	return rows;
}

ColumnChange *
row_source_change(const SyncRecord *sync, const SyncTableRecord *record, const TableSchema *schema, Relation relation,
				  bool with_key)
{
	Relation	source = open_source(record, relation);
	ColumnChange *change = column_change_find(sync, record, schema, source, with_key);

	if (source != relation)
		RelationClose(source);
	return change;
}

bool
row_source_passes(const RowSource *rows, TupleTableSlot *slot)
{
	if (rows->filter == NULL)
		return true;
	ResetExprContext(rows->context);
	rows->context->ecxt_scantuple = slot;
	return ExecQual(rows->filter, rows->context);
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
