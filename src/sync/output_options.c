/*
 * output_options.c
 *		What a client of the output plugin may ask for.
 */
#include "postgres.h"

#include "commands/defrem.h"
#include "utils/builtins.h"
#include "utils/varlena.h"

#include "sync/output.h"

static void
refuse_value(const DefElem *option, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("option \"%s\" of output plugin \"streamhouse\" cannot be \"%s\"", option->defname, defGetString((DefElem *) option)),
			 errhint("%s", hint)));
}

/* An option without a value is a flag. */
static bool
boolean_value(const DefElem *option)
{
	bool		value = true;

	if (option->arg != NULL && !parse_bool(strVal(option->arg), &value))
		refuse_value(option, "It is true or false.");
	return value;
}

static const char *
text_value(const DefElem *option)
{
	if (option->arg == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" of output plugin \"streamhouse\" needs a value", option->defname)));
	return strVal(option->arg);
}

/* Parts of a list (char *), at commas outside double quotes, without blanks around them. */
static List *
split_list(const char *text)
{
	List	   *parts = NIL;
	bool		quoted = false;
	const char *start = text;
	const char *c;

	for (c = text;; c++)
	{
		if (*c == '"')
			quoted = !quoted;
		if (*c == '\0' || (*c == ',' && !quoted))
		{
			const char *end = c;

			while (start < end && *start == ' ')
				start++;
			while (end > start && end[-1] == ' ')
				end--;
			if (end > start)
				parts = lappend(parts, pnstrdup(start, end - start));
			start = c + 1;
		}
		if (*c == '\0')
			return parts;
	}
}

static OutputPattern *
parse_pattern(const DefElem *option, const char *text)
{
	OutputPattern *pattern = palloc0(sizeof(OutputPattern));
	List	   *names;

	if (!SplitIdentifierString(pstrdup(text), '.', &names) || list_length(names) != 2)
		refuse_value(option, "It is a list of names like shop.orders, shop.* or *.orders, with commas in between.");
	if (strcmp(linitial(names), "*") != 0)
		pattern->schema = linitial(names);
	if (strcmp(lsecond(names), "*") != 0)
		pattern->table = lsecond(names);
	return pattern;
}

static List *
pattern_list(const DefElem *option)
{
	List	   *patterns = NIL;
	ListCell   *lc;

	foreach(lc, split_list(text_value(option)))
		patterns = lappend(patterns, parse_pattern(option, lfirst(lc)));
	return patterns;
}

static void
parse_actions(OutputOptions *options, const DefElem *option)
{
	ListCell   *lc;

	memset(options->actions, false, sizeof(options->actions));
	foreach(lc, split_list(text_value(option)))
	{
		const char *name = lfirst(lc);

		if (pg_strcasecmp(name, "insert") == 0)
			options->actions[REORDER_BUFFER_CHANGE_INSERT] = true;
		else if (pg_strcasecmp(name, "update") == 0)
			options->actions[REORDER_BUFFER_CHANGE_UPDATE] = true;
		else if (pg_strcasecmp(name, "delete") == 0)
			options->actions[REORDER_BUFFER_CHANGE_DELETE] = true;
		else if (pg_strcasecmp(name, "truncate") == 0)
			options->actions[REORDER_BUFFER_CHANGE_TRUNCATE] = true;
		else
			refuse_value(option, "It is a list of insert, update, delete and truncate.");
	}
}

static void
parse_format(OutputOptions *options, const DefElem *option)
{
	const char *name = text_value(option);

	if (strcmp(name, "json") == 0)
		options->format = &output_json;
	else if (strcmp(name, "binary") == 0)
		options->format = &output_binary;
	else
		refuse_value(option, "It is json or binary.");
}

static void
parse_layout(OutputOptions *options, const DefElem *option)
{
	const char *name = text_value(option);

	if (strcmp(name, "object") != 0 && strcmp(name, "wal2json") != 0)
		refuse_value(option, "It is object or wal2json.");
	options->arrays = strcmp(name, "wal2json") == 0;
}

static void
parse_origin(OutputOptions *options, const DefElem *option)
{
	const char *name = text_value(option);

	if (strcmp(name, "any") != 0 && strcmp(name, "none") != 0)
		refuse_value(option, "It is any or none.");
	options->local_only = strcmp(name, "none") == 0;
}

static void
parse_option(OutputOptions *options, const DefElem *option)
{
	const char *name = option->defname;

	if (strcmp(name, "format") == 0)
		parse_format(options, option);
	else if (strcmp(name, "layout") == 0)
		parse_layout(options, option);
	else if (strcmp(name, "publication") == 0)
		options->publication = pstrdup(text_value(option));
	else if (strcmp(name, "tables") == 0)
		options->tables = pattern_list(option);
	else if (strcmp(name, "exclude_tables") == 0)
		options->exclude_tables = pattern_list(option);
	else if (strcmp(name, "actions") == 0)
		parse_actions(options, option);
	else if (strcmp(name, "origin") == 0)
		parse_origin(options, option);
	else if (strcmp(name, "messages") == 0)
		options->messages = boolean_value(option);
	else if (strcmp(name, "message_prefixes") == 0)
		options->message_prefixes = split_list(text_value(option));
	else if (strcmp(name, "include_xids") == 0)
		options->include_xids = boolean_value(option);
	else if (strcmp(name, "include_lsn") == 0)
		options->include_lsn = boolean_value(option);
	else if (strcmp(name, "include_time") == 0)
		options->include_time = boolean_value(option);
	else if (strcmp(name, "include_types") == 0)
		options->include_types = boolean_value(option);
	else if (strcmp(name, "include_transactions") == 0)
		options->include_transactions = boolean_value(option);
	else if (strcmp(name, "skip_empty") == 0)
		options->skip_empty = boolean_value(option);
	else if (strcmp(name, "streaming") == 0)
		options->streaming = boolean_value(option);
	else
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_PARAMETER),
				 errmsg("output plugin \"streamhouse\" has no option \"%s\"", name),
				 errhint("Its options are format, layout, publication, tables, exclude_tables, actions, origin, messages, "
						 "message_prefixes, include_xids, include_lsn, include_time, include_types, include_transactions, "
						 "skip_empty and streaming.")));
}

void
output_options_parse(OutputOptions *options, List *given)
{
	ListCell   *lc;

	memset(options, 0, sizeof(*options));
	memset(options->actions, true, sizeof(options->actions));
	options->format = &output_json;
	options->include_xids = true;
	options->include_lsn = true;
	options->include_time = true;
	options->include_transactions = true;
	options->skip_empty = true;
	foreach(lc, given)
		parse_option(options, lfirst_node(DefElem, lc));

	if (options->message_prefixes != NIL)
		options->messages = true;
	if (options->format == &output_binary && options->arrays)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"layout\" of output plugin \"streamhouse\" is for format json only")));
	if (options->format == &output_binary && !options->include_transactions)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("format binary of output plugin \"streamhouse\" has transactions always"),
				 errhint("Leave out \"include_transactions\".")));
}
