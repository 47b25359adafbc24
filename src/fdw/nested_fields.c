/*
 * nested_fields.c
 *		Which fields of ROW columns a query uses: the others are not read.
 *
 * A field is taken from a composite value by (column).field, and from a row
 * that is shown as jsonb by -> and ->> with a constant name.  The planner
 * passes columns up as they are, so that the whole query has to be looked at:
 * a column that occurs anywhere without such a field is used as a whole.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_type_d.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "fdw/nested_fields.h"
#include "lake/merge_function.h"

typedef struct FieldSearch
{
	Index		varno;
	List	   *paths;
	Bitmapset  *whole;			/* attributes used as a whole, offset by FirstLowInvalidHeapAttributeNumber */
} FieldSearch;

/* ---- planning ---- */

/* (row).field: the row and the field's name; NULL: it is no composite type's. */
static Expr *
take_selected(FieldSelect *select, char **name)
{
	Oid			typrelid = get_typ_typrelid(getBaseType(exprType((Node *) select->arg)));

	if (!OidIsValid(typrelid))
		return NULL;
	*name = get_attname(typrelid, select->fieldnum, true);
	return *name != NULL ? select->arg : NULL;
}

/* row -> 'field' */
static Expr *
take_json_field(OpExpr *expr, char **name)
{
	Const	   *key;

	if (expr->opfuncid != F_JSONB_OBJECT_FIELD && expr->opfuncid != F_JSONB_OBJECT_FIELD_TEXT)
		return NULL;
	key = lsecond(expr->args);
	if (!IsA(key, Const) || key->constisnull)
		return NULL;
	*name = TextDatumGetCString(key->constvalue);
	return linitial(expr->args);
}

/* The path to a field of a column of the relation, or NIL. */
static List *
find_path(Node *node, const FieldSearch *search)
{
	char	   *name = NULL;
	Expr	   *row = NULL;
	List	   *path;

	if (IsA(node, FieldSelect))
		row = take_selected((FieldSelect *) node, &name);
	else if (IsA(node, OpExpr))
		row = take_json_field((OpExpr *) node, &name);
	if (row == NULL)
		return NIL;
	if (IsA(row, Var))
	{
		Var		   *var = (Var *) row;

		if (var->varno != search->varno || var->varlevelsup != 0 || var->varattno <= 0)
			return NIL;
		path = list_make1(makeInteger(var->varattno));
	}
	else
		path = find_path((Node *) row, search);
	return path != NIL ? lappend(path, makeString(name)) : NIL;
}

static bool
search_walker(Node *node, void *arg)
{
	FieldSearch *search = arg;
	List	   *path;

	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		Var		   *var = (Var *) node;

		if (var->varno == search->varno && var->varlevelsup == 0)
			search->whole = bms_add_member(search->whole, var->varattno - FirstLowInvalidHeapAttributeNumber);
		return false;
	}
	if (IsA(node, RestrictInfo))
		return search_walker((Node *) ((RestrictInfo *) node)->clause, search);
	path = find_path(node, search);
	if (path != NIL)
	{
		search->paths = lappend(search->paths, path);
		return false;
	}
	return expression_tree_walker(node, search_walker, search);
}

/* Rows that are locked or changed have to come back whole; other subqueries' uses are not seen here. */
static bool
is_search_possible(const PlannerInfo *root, const RelOptInfo *baserel)
{
	return baserel->reloptkind == RELOPT_BASEREL && root->parse->commandType == CMD_SELECT &&
		root->rowMarks == NIL && bms_is_empty(baserel->lateral_referencers);
}

List *
nested_fields_used(PlannerInfo *root, RelOptInfo *baserel)
{
	FieldSearch search = {.varno = baserel->relid};
	List	   *result = NIL;
	ListCell   *lc;

	if (!is_search_possible(root, baserel))
		return NIL;
	search_walker((Node *) baserel->baserestrictinfo, &search);
	search_walker((Node *) baserel->joininfo, &search);
	search_walker((Node *) root->processed_tlist, &search);
	search_walker((Node *) root->parse->targetList, &search);
	search_walker((Node *) root->parse->jointree, &search);
	search_walker(root->parse->havingQual, &search);
	if (bms_is_member(InvalidAttrNumber - FirstLowInvalidHeapAttributeNumber, search.whole))
		return NIL;
	foreach(lc, search.paths)
	{
		List	   *path = lfirst(lc);

		if (!bms_is_member(intVal(linitial(path)) - FirstLowInvalidHeapAttributeNumber, search.whole))
			result = lappend(result, path);
	}
	return result;
}

/* ---- execution ---- */

static void
mark_fields(DataType *type, bool unused)
{
	if (type->root != TYPE_ROW)
		return;
	for (int i = 0; i < type->nchildren; i++)
	{
		type->children[i].unused = unused;
		mark_fields(type->children[i].type, unused);
	}
}

static DataField *
find_field(DataType *type, const char *name)
{
	if (type->root != TYPE_ROW)
		return NULL;
	for (int i = 0; i < type->nchildren; i++)
	{
		if (strcmp(type->children[i].name, name) == 0)
			return &type->children[i];
	}
	return NULL;
}

/* The field at the end of the path, all of it, and those on the way to it. */
static void
mark_path_used(DataType *type, const List *path)
{
	for (int i = 1; i < list_length(path); i++)
	{
		DataField  *field = find_field(type, strVal(list_nth(path, i)));

		/* no such field: the value within is asked for as a whole */
		if (field == NULL)
			break;
		field->unused = false;
		type = field->type;
	}
	mark_fields(type, false);
}

static DataType *
path_type(const ForeignRelation *foreign, const List *path)
{
	int			field = foreign->fields[intVal(linitial(path)) - 1];

	return field < 0 ? NULL : foreign->table->schema->fields[field].type;
}

/* Merge functions that make values look into them. */
static bool
is_pruning_possible(const LakeTable *table)
{
	return lake_table_shows_state(table) && (!table->has_primary_key || merge_engine_picks(table->options));
}

void
nested_fields_apply(ForeignRelation *foreign, const List *paths)
{
	LakeTable  *table = foreign->table;
	const ListCell *lc;
	MemoryContext old_context;

	if (paths == NIL || !is_pruning_possible(table))
		return;
	old_context = MemoryContextSwitchTo(table->context);
	table->schema = schema_copy(table->schema);
	MemoryContextSwitchTo(old_context);
	foreach(lc, paths)
	{
		DataType   *type = path_type(foreign, lfirst(lc));

		if (type != NULL)
			mark_fields(type, true);
	}
	foreach(lc, paths)
	{
		DataType   *type = path_type(foreign, lfirst(lc));

		if (type != NULL)
			mark_path_used(type, lfirst(lc));
	}
}

char *
nested_field_name(const ForeignRelation *foreign, const List *path)
{
	TupleDesc	desc = RelationGetDescr(foreign->relation);
	StringInfoData name;

	initStringInfo(&name);
	appendStringInfoString(&name, quote_identifier(NameStr(TupleDescAttr(desc, intVal(linitial(path)) - 1)->attname)));
	for (int i = 1; i < list_length(path); i++)
		appendStringInfo(&name, ".%s", quote_identifier(strVal(list_nth(path, i))));
	return name.data;
}
