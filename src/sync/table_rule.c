/*
 * table_rule.c
 *		What a user wants of the lake tables of some sources.
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"

#include "compat.h"
#include "lake/schema.h"
#include "sync/table_rule.h"

/* One option's value as text; jsonb strings come without quotes. */
static char *
option_value_text(const char *key, const JsonbValue *value)
{
	switch (value->type)
	{
		case jbvString:
			return pnstrdup(value->val.string.val, value->val.string.len);
		case jbvNumeric:
			return DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(value->val.numeric)));
		case jbvBool:
			return pstrdup(value->val.boolean ? "true" : "false");
		default:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("value of option \"%s\" must be a string, a number or a boolean", key)));
	}
	return NULL;				/* keep compiler quiet */
}

List *
sync_options_parse(Datum jsonb)
{
	Jsonb	   *document = DatumGetJsonbP(jsonb);
	JsonbIterator *iterator;
	JsonbIteratorToken token;
	JsonbValue	value;
	List	   *options = NIL;
	OptionPair *option = NULL;

	if (!JB_ROOT_IS_OBJECT(document))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("options of a sync must be a JSON object")));

	iterator = JsonbIteratorInit(&document->root);
	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
		{
			option = palloc0(sizeof(OptionPair));
			option->key = pnstrdup(value.val.string.val, value.val.string.len);
		}
		else if (token == WJB_VALUE)
		{
			option->value = option_value_text(option->key, &value);
			options = lappend(options, option);
		}
	}
	return options;
}

/* ---- rules ---- */

pg_noreturn static void
refuse(const TableRule *rule, const char *key, const char *problem)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 rule->source ? errmsg("\"%s\" of the rule for \"%s\" %s", key, rule->source, problem) :
			 errmsg("\"%s\" of a rule for tables %s", key, problem)));
}

static char *
string_value(const TableRule *rule, const char *key, const JsonbValue *value)
{
	if (value->type != jbvString || value->val.string.len == 0)
		refuse(rule, key, "must be a string");
	return pnstrdup(value->val.string.val, value->val.string.len);
}

/* The strings of an array. */
static List *
string_list(const TableRule *rule, const char *key, const JsonbValue *value)
{
	JsonbIterator *iterator;
	JsonbValue	element;
	JsonbIteratorToken token;
	List	   *strings = NIL;

	if (value->type != jbvBinary || !JsonContainerIsArray(value->val.binary.data))
		refuse(rule, key, "must be an array of strings");
	iterator = JsonbIteratorInit(value->val.binary.data);
	while ((token = JsonbIteratorNext(&iterator, &element, true)) != WJB_DONE)
	{
		if (token == WJB_ELEM)
			strings = lappend(strings, string_value(rule, key, &element));
	}
	return strings;
}

static void
take_source(TableRule *rule, const char *key, const JsonbValue *value)
{
	rule->source = string_value(rule, key, value);
}

static void
take_messages(TableRule *rule, const char *key, const JsonbValue *value)
{
	if (rule->source)
		refuse(rule, key, "excludes \"source\"");
	take_source(rule, key, value);
	rule->messages = true;
}

static void
take_table(TableRule *rule, const char *key, const JsonbValue *value)
{
	rule->table = string_value(rule, key, value);
}

/* Over an object's pairs. */
static JsonbIterator *
object_value(const TableRule *rule, const char *key, const JsonbValue *value)
{
	if (value->type != jbvBinary || !JsonContainerIsObject(value->val.binary.data))
		refuse(rule, key, "must be an object");
	return JsonbIteratorInit(value->val.binary.data);
}

static void
take_options(TableRule *rule, const char *key, const JsonbValue *value)
{
	(void) object_value(rule, key, value);
	rule->options = sync_options_parse(JsonbPGetDatum(JsonbValueToJsonb((JsonbValue *) value)));
}

/* Name and expression of an object's next pair, NULL at its end. */
static ComputedColumn *
next_column(const TableRule *rule, const char *key, JsonbIterator **iterator)
{
	JsonbValue	element;
	JsonbIteratorToken token;
	ComputedColumn *column = palloc0(sizeof(ComputedColumn));

	while ((token = JsonbIteratorNext(iterator, &element, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			column->name = pnstrdup(element.val.string.val, element.val.string.len);
		else if (token == WJB_VALUE)
		{
			column->expression = string_value(rule, key, &element);
			return column;
		}
	}
	return NULL;
}

/* Its value is no expression. */
static void
take_shard(TableRule *rule, const char *key, const JsonbValue *value)
{
	JsonbIterator *iterator = object_value(rule, key, value);
	ComputedColumn *column = next_column(rule, key, &iterator);

	if (column == NULL || next_column(rule, key, &iterator) != NULL)
		refuse(rule, key, "must have the name of one column and its value");
	rule->shard = column->expression;
	column->expression = NULL;
	rule->columns = lcons(column, rule->columns);
}

static void
take_columns(TableRule *rule, const char *key, const JsonbValue *value)
{
	JsonbIterator *iterator = object_value(rule, key, value);
	ComputedColumn *column;

	while ((column = next_column(rule, key, &iterator)) != NULL)
		rule->columns = lappend(rule->columns, column);
}

static void
take_partition(TableRule *rule, const char *key, const JsonbValue *value)
{
	rule->partition = string_list(rule, key, value);
}

static void
take_where(TableRule *rule, const char *key, const JsonbValue *value)
{
	rule->where = string_value(rule, key, value);
}

static void
take_history(TableRule *rule, const char *key, const JsonbValue *value)
{
	if (value->type != jbvBool)
		refuse(rule, key, "must be true or false");
	rule->history = value->val.boolean;
}

static void
take_soft_delete(TableRule *rule, const char *key, const JsonbValue *value)
{
	rule->soft_delete = string_value(rule, key, value);
}

static void
take_metadata(TableRule *rule, const char *key, const JsonbValue *value)
{
	List	   *strings = string_list(rule, key, value);
	ListCell   *cell;
	int			i;

	foreach(cell, strings)
	{
		MetadataField field = metadata_field_by_name(lfirst(cell));

		if (field == METADATA_FIELDS)
			refuse(rule, key, psprintf("has \"%s\", which is not one of %s", (char *) lfirst(cell), metadata_field_names()));
		for (i = 0; i < rule->nmetadata; i++)
		{
			if (rule->metadata[i] == field)
				refuse(rule, key, psprintf("has \"%s\" twice", (char *) lfirst(cell)));
		}
		rule->metadata[rule->nmetadata++] = field;
	}
}

static const struct
{
	const char *key;
	void		(*take) (TableRule *rule, const char *key, const JsonbValue *value);
}			rule_keys[] =
{
	{"source", take_source},
	{"messages", take_messages},
	{"table", take_table},
	{"options", take_options},
	{"columns", take_columns},
	{"partition", take_partition},
	{"where", take_where},
	{"history", take_history},
	{"shard", take_shard},
	{"soft_delete", take_soft_delete},
	{"metadata", take_metadata}
};

static void
take(TableRule *rule, const char *key, const JsonbValue *value)
{
	int			i;

	for (i = 0; i < lengthof(rule_keys); i++)
	{
		if (strcmp(rule_keys[i].key, key) == 0)
		{
			rule_keys[i].take(rule, key, value);
			return;
		}
	}
	refuse(rule, key, "is not known");
}

/* The pattern of a rule, for all of a name. */
static Datum
whole_pattern(const TableRule *rule)
{
	return CStringGetTextDatum(psprintf("^(?:%s)$", rule->source));
}

static bool
rule_matches(const TableRule *rule, const char *source)
{
	return DatumGetBool(DirectFunctionCall2Coll(textregexeq, C_COLLATION_OID, CStringGetTextDatum(source), whole_pattern(rule)));
}

static void
check_message_rule(const TableRule *rule)
{
	if (rule->table == NULL)
		refuse(rule, "table", "is missing");
	if (rule->columns || rule->partition || rule->shard || rule->where || rule->history || rule->soft_delete || rule->nmetadata > 0)
		refuse(rule, "messages", "goes with \"table\" and \"options\" alone");
}

static TableRule *
rule_parse(JsonbContainer *object)
{
	TableRule  *rule = palloc0(sizeof(TableRule));
	JsonbIterator *iterator = JsonbIteratorInit(object);
	JsonbValue	value;
	JsonbIteratorToken token;
	char	   *key = NULL;

	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			key = pnstrdup(value.val.string.val, value.val.string.len);
		else if (token == WJB_VALUE)
			take(rule, key, &value);
	}
	if (rule->source == NULL)
		refuse(rule, "source", "is missing");
	if (rule->messages)
		check_message_rule(rule);
	if (rule->shard)
		rule->partition = lcons(pstrdup(table_rule_shard_column(rule)), rule->partition);
	/* an invalid pattern is an error here */
	(void) rule_matches(rule, "");
	return rule;
}

List *
table_rules_parse(Datum jsonb)
{
	Jsonb	   *document = DatumGetJsonbP(jsonb);
	JsonbIterator *iterator;
	JsonbValue	value;
	JsonbIteratorToken token;
	List	   *rules = NIL;

	if (!JB_ROOT_IS_ARRAY(document) || JB_ROOT_IS_SCALAR(document))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"tables\" must be a JSON array of rules")));
	iterator = JsonbIteratorInit(&document->root);
	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
	{
		if (token != WJB_ELEM)
			continue;
		if (value.type != jbvBinary || !JsonContainerIsObject(value.val.binary.data))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("each rule for tables must be a JSON object")));
		rules = lappend(rules, rule_parse(value.val.binary.data));
	}
	return rules;
}

int
table_rules_match(List *rules, const char *name, bool messages)
{
	int			i;

	for (i = 0; i < list_length(rules); i++)
	{
		const TableRule *rule = list_nth(rules, i);

		if (rule->messages == messages && rule_matches(rule, name))
			return i + 1;
	}
	return 0;
}

/* A text of the rule with what the parts of its pattern have matched. */
static char *
with_matches(const TableRule *rule, const char *source, const char *pattern)
{
	return TextDatumGetCString(DirectFunctionCall3Coll(textregexreplace_noopt, C_COLLATION_OID, CStringGetTextDatum(source),
													   whole_pattern(rule), CStringGetTextDatum(pattern)));
}

char *
table_rule_lake_table(const TableRule *rule, const char *source, const char *otherwise)
{
	if (rule == NULL || rule->table == NULL)
		return pstrdup(otherwise);
	return with_matches(rule, source, rule->table);
}

char *
table_rule_shard(const TableRule *rule, const char *source)
{
	return rule && rule->shard ? with_matches(rule, source, rule->shard) : NULL;
}
