/*
 * rule_expression.c
 *		SQL expressions of rules: computed columns and conditions of rows.
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/sysattr.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parse_collate.h"
#include "parser/parse_expr.h"
#include "parser/parse_node.h"
#include "parser/parser.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "sync/rule_expression.h"
#include "sync/source.h"

/* What names mean while an expression is parsed. */
typedef struct NameScope
{
	const SyncTableRecord *record;
	TupleDesc	source;
} NameScope;

static int
find_used(const SyncTableRecord *record, const char *name)
{
	int			i;

	for (i = 0; i < record->nused && strcmp(record->used_names[i], name) != 0; i++)
		;
	return i < record->nused ? i : -1;
}

/* A name that is a column of the source. */
static Node *
resolve_name(ParseState *state, ColumnRef *reference)
{
	const NameScope *scope = state->p_ref_hook_state;
	Node	   *name = linitial(reference->fields);
	int			used;
	Form_pg_attribute column;

	if (IsA(llast(reference->fields), A_Star))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("an expression of a rule cannot use all columns as \"*\"")));
	if (list_length(reference->fields) != 1 || !IsA(name, String))
		return NULL;
	used = find_used(scope->record, strVal(name));
	if (used < 0)
		return NULL;
	column = TupleDescAttr(scope->source, scope->record->used_columns[used] - 1);
	return (Node *) makeVar(1, column->attnum, column->atttypid, column->atttypmod, column->attcollation, 0);
}

/* The expression of a text, and of nothing else: what follows it in a SELECT is refused. */
static Node *
parse_text(const char *text)
{
	List	   *statements = raw_parser(text, RAW_PARSE_PLPGSQL_EXPR);
	SelectStmt *select = castNode(SelectStmt, linitial_node(RawStmt, statements)->stmt);
	SelectStmt *alone;
	ResTarget  *target;

	if (list_length(select->targetList) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("\"%s\" is not one expression", text)));
	target = linitial_node(ResTarget, select->targetList);
	alone = makeNode(SelectStmt);
	alone->targetList = select->targetList;
	if (!equal(alone, select) || target->name != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("\"%s\" is not an expression alone", text)));
	return target->val;
}

static bool
function_is_unfit(Oid function, void *context)
{
	return func_volatile(function) != PROVOLATILE_IMMUTABLE || function >= FirstNormalObjectId;
}

static bool
uses_unfit_function(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return check_functions_in_node(node, function_is_unfit, NULL) || expression_tree_walker(node, uses_unfit_function, NULL);
}

static void
require_fixed_value(Node *expression, const char *text)
{
	if (uses_unfit_function(expression, NULL) || contain_mutable_functions(expression))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("\"%s\" uses a function whose value may change", text),
				 errdetail("Only functions and operators of the server itself are possible that are immutable."),
				 errhint("What depends on the time zone does not when the expression names it: AT TIME ZONE 'UTC'.")));
}

/* With the server's own names alone. */
static Node *
transform(const SyncTableRecord *record, TupleDesc source, const char *text, bool condition)
{
	NameScope	scope = {record, source};
	ParseState *state = make_parsestate(NULL);
	Node	   *expression;

	state->p_pre_columnref_hook = resolve_name;
	state->p_ref_hook_state = &scope;
	expression = transformExpr(state, parse_text(text), EXPR_KIND_GENERATED_COLUMN);
	if (condition)
		expression = coerce_to_boolean(state, expression, "condition");
	if (exprType(expression) == UNKNOWNOID)
		expression = coerce_type(state, expression, UNKNOWNOID, TEXTOID, -1, COERCION_IMPLICIT, COERCE_IMPLICIT_CAST, -1);
	assign_expr_collations(state, expression);
	free_parsestate(state);
	return expression;
}

static RuleExpression *
make_expression(const SyncTableRecord *record, Relation source, const char *text, bool condition)
{
	RuleExpression *result = palloc0(sizeof(RuleExpression));
	int			guc_level = NewGUCNestLevel();
	Node	   *expression;
	Bitmapset  *members = NULL;
	int			member = -1;

	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	expression = transform(record, RelationGetDescr(source), text, condition);
	AtEOXact_GUC(true, guc_level);
	require_fixed_value(expression, text);
	if (expression_returns_set(expression))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("\"%s\" has many values", text)));
	result->expression = (Expr *) expression;
	result->type = exprType(expression);
	result->typmod = exprTypmod(expression);
	pull_varattnos(expression, 1, &members);
	while ((member = bms_next_member(members, member)) >= 0)
		result->columns = bms_add_member(result->columns, member + FirstLowInvalidHeapAttributeNumber);
	return result;
}

static RuleExpression *
make_constant(const char *text)
{
	RuleExpression *result = palloc0(sizeof(RuleExpression));

	result->expression = (Expr *) makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1, CStringGetTextDatum(text), false, false);
	result->type = TEXTOID;
	result->typmod = -1;
	return result;
}

RuleExpression *
rule_column_expression(const SyncTableRecord *record, Relation source, int column)
{
	const ComputedColumn *computed = list_nth(record->rule->columns, column);

	if (computed->expression == NULL)
		return make_constant(record->shard);
	return make_expression(record, source, computed->expression, false);
}

RuleExpression *
rule_condition(const SyncTableRecord *record, Relation source)
{
	if (record->rule == NULL || record->rule->where == NULL)
		return NULL;
	return make_expression(record, source, record->rule->where, true);
}

DataField
rule_column_field(const SyncTableRecord *record, Relation source, int column)
{
	const ComputedColumn *computed = list_nth(record->rule->columns, column);
	const RuleExpression *expression = rule_column_expression(record, source, column);
	DataField	field = {.name = pstrdup(computed->name)};

	field.type = source_lake_type(field.name, expression->type, expression->typmod, true);
	return field;
}

/* ---- names ---- */

static void
add_used(SyncTableRecord *record, const char *name, Form_pg_attribute column)
{
	record->used_names[record->nused] = pstrdup(name);
	record->used_columns[record->nused] = column->attnum;
	record->used_types[record->nused] = column->atttypid;
	record->nused++;
}

static bool
column_is_there(TupleDesc source, AttrNumber number)
{
	return number <= source->natts && !TupleDescAttr(source, number - 1)->attisdropped;
}

/* All names that expressions can use: those known, as far as the columns are there, and those of the other columns. */
static void
offer_names(SyncTableRecord *record, TupleDesc source)
{
	SyncTableRecord known = *record;
	Size		room = known.nused + source->natts;
	int			i;

	record->nused = 0;
	record->used_names = palloc(sizeof(char *) * room);
	record->used_columns = palloc(sizeof(AttrNumber) * room);
	record->used_types = palloc(sizeof(Oid) * room);
	for (i = 0; i < known.nused; i++)
	{
		if (column_is_there(source, known.used_columns[i]))
			add_used(record, known.used_names[i], TupleDescAttr(source, known.used_columns[i] - 1));
	}
	for (i = 0; i < record->ncolumns; i++)
	{
		Form_pg_attribute column = record->columns[i] > 0 ? TupleDescAttr(source, record->columns[i] - 1) : NULL;

		if (column && find_used(record, NameStr(column->attname)) < 0)
			add_used(record, NameStr(column->attname), column);
	}
}

static int
find_computed(const TableRule *rule, const char *name)
{
	int			i;

	for (i = 0; i < list_length(rule->columns); i++)
	{
		if (strcmp(((ComputedColumn *) list_nth(rule->columns, i))->name, name) == 0)
			return i;
	}
	return -1;
}

/* The columns that a part of the partition comes from. */
static Bitmapset *
partition_columns(const SyncTableRecord *record, Relation source, const char *name)
{
	int			computed = find_computed(record->rule, name);
	int			used;

	if (computed >= 0)
		return rule_column_expression(record, source, computed)->columns;
	used = find_used(record, name);
	if (used < 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of the partition does not exist", name),
				 errdetail("It is neither a replicated column nor one of \"columns\".")));
	return bms_make_singleton(record->used_columns[used]);
}

/* Keep the names of these columns only. */
static void
keep_used(SyncTableRecord *record, const Bitmapset *columns)
{
	int			n = 0;
	int			i;

	for (i = 0; i < record->nused; i++)
	{
		if (!bms_is_member(record->used_columns[i], columns))
			continue;
		record->used_names[n] = record->used_names[i];
		record->used_columns[n] = record->used_columns[i];
		record->used_types[n++] = record->used_types[i];
	}
	record->nused = n;
}

void
rule_resolve_columns(const SyncRecord *sync, SyncTableRecord *record, Relation source)
{
	const TableRule *rule = record->rule;
	RuleExpression *condition;
	Bitmapset  *columns = NULL;
	ListCell   *cell;
	int			i;

	if (rule == NULL)
		return;
	offer_names(record, RelationGetDescr(source));
	for (i = 0; i < list_length(rule->columns); i++)
	{
		(void) rule_column_field(record, source, i);
		columns = bms_add_members(columns, rule_column_expression(record, source, i)->columns);
	}
	condition = rule_condition(record, source);
	if (condition)
		columns = bms_add_members(columns, condition->columns);
	foreach(cell, rule->partition)
		columns = bms_add_members(columns, partition_columns(record, source, lfirst(cell)));
	keep_used(record, columns);
}

/* ---- old rows ---- */

static bool
key_has_all(Relation source, const Bitmapset *columns)
{
	int			nkeys;
	AttrNumber *key = source_key(source, &nkeys);
	int			number = -1;

	while ((number = bms_next_member(columns, number)) >= 0)
	{
		if (!attribute_is_among(key, nkeys, number))
			return false;
	}
	return true;
}

/*
 * May an update leave a value unchanged, and so out of the WAL, of which the
 * column is computed together with others?  Alone, the column does not change either.
 */
static bool
may_lack_values(Relation source, const Bitmapset *columns)
{
	int			nkeys;
	AttrNumber *key = source_key(source, &nkeys);
	int			number = -1;

	while (bms_num_members(columns) > 1 && (number = bms_next_member(columns, number)) >= 0)
	{
		Form_pg_attribute column = TupleDescAttr(RelationGetDescr(source), number - 1);

		if (!attribute_is_among(key, nkeys, number) && column->attlen == -1 && column->attstorage != TYPSTORAGE_PLAIN)
			return true;
	}
	return false;
}

static char *
column_needs_old_rows(const SyncTableRecord *record, Relation source)
{
	int			i;

	for (i = 0; i < list_length(record->rule->columns); i++)
	{
		const char *name = ((ComputedColumn *) list_nth(record->rule->columns, i))->name;
		const Bitmapset *columns = rule_column_expression(record, source, i)->columns;

		if (record->history && !key_has_all(source, columns))
			return psprintf("column \"%s\" is computed of old rows, too", name);
		if (may_lack_values(source, columns))
			return psprintf("column \"%s\" is computed of large values, which an update may leave unchanged, and of others", name);
	}
	return NULL;
}

char *
rule_needs_old_rows(const SyncTableRecord *record, Relation source)
{
	const RuleExpression *condition;
	ListCell   *cell;

	if (record->rule == NULL)
		return NULL;
	condition = rule_condition(record, source);
	if (condition && !key_has_all(source, condition->columns))
		return pstrdup("the condition \"where\" of its rule uses columns beside the key");
	foreach(cell, record->rule->partition)
	{
		if ((source_key_index(source) != InvalidOid && !record->history) &&
			!key_has_all(source, partition_columns(record, source, lfirst(cell))))
			return psprintf("the partition \"%s\" of a row is not known by its key", (char *) lfirst(cell));
	}
	return column_needs_old_rows(record, source);
}
