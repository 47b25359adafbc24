/*
 * json.c
 *		JSON documents as trees, read by the server's parser.
 *
 * The parser calls us at each token; a stack of open containers turns that
 * into a tree.
 */
#include "postgres.h"

#include <limits.h>

#include "compat.h"
#include "format/json.h"

/* No document of a lake is nested nearly so deep; it bounds all recursion. */
#define MAX_DEPTH 512

typedef struct TreeBuilder
{
	const char *path;
	JsonNode   *root;
	List	   *open;			/* JsonNode *: containers not yet closed, innermost last */
} TreeBuilder;

/* Reading */

/* Put a value where the parser is: under the innermost open container. */
static void
place(TreeBuilder *builder, JsonNode *node)
{
	if (builder->open == NIL)
		builder->root = node;
	else
		json_append(llast(builder->open), node);
}

static void
open_container(TreeBuilder *builder, JsonNodeKind kind)
{
	JsonNode   *node = json_make(kind);

	if (list_length(builder->open) >= MAX_DEPTH)
		json_error(builder->path, "It is nested too deep.");
	place(builder, node);
	builder->open = lappend(builder->open, node);
}

static JsonActionResult
on_object_start(void *state)
{
	open_container(state, JSON_NODE_OBJECT);
	JSON_ACTION_RETURN;
}

static JsonActionResult
on_array_start(void *state)
{
	open_container(state, JSON_NODE_ARRAY);
	JSON_ACTION_RETURN;
}

static JsonActionResult
on_container_end(void *state)
{
	TreeBuilder *builder = state;

	builder->open = list_delete_last(builder->open);
	JSON_ACTION_RETURN;
}

static JsonActionResult
on_member_start(void *state, char *name, bool isnull)
{
	TreeBuilder *builder = state;
	JsonNode   *object = llast(builder->open);

	object->names = lappend(object->names, pstrdup(name));
	JSON_ACTION_RETURN;
}

static JsonActionResult
on_scalar(void *state, char *token, JsonTokenType type)
{
	JsonNode   *node;

	switch (type)
	{
		case JSON_TOKEN_STRING:
			node = json_make_string(token);
			break;
		case JSON_TOKEN_NUMBER:
			node = json_make(JSON_NODE_NUMBER);
			node->text = pstrdup(token);
			break;
		case JSON_TOKEN_TRUE:
		case JSON_TOKEN_FALSE:
			node = json_make(JSON_NODE_BOOLEAN);
			node->boolean = type == JSON_TOKEN_TRUE;
			break;
		default:
			node = json_make(JSON_NODE_NULL);
			break;
	}
	place(state, node);
	JSON_ACTION_RETURN;
}

JsonNode *
json_parse(const char *text, size_t length, const char *path)
{
	TreeBuilder builder = {.path = path};
	JsonSemAction actions = {
		.semstate = &builder,
		.object_start = on_object_start,
		.object_end = on_container_end,
		.array_start = on_array_start,
		.array_end = on_container_end,
		.object_field_start = on_member_start,
		.scalar = on_scalar,
	};
	JsonLexContext *lexer;
	JsonParseErrorType result;

	if (length > INT_MAX || pg_encoding_verifymbstr(PG_UTF8, text, (int) length) != (int) length)
		json_error(path, "It is not UTF-8 text.");

	lexer = compat_json_lexer(text, length);
	result = pg_parse_json(lexer, &actions);
	if (result != JSON_SUCCESS)
		json_error(path, "It is not JSON: %s", json_errdetail(result, lexer));
	return builder.root;
}

JsonNode *
json_parse_object(const char *text, size_t length, const char *path)
{
	JsonNode   *node = json_parse(text, length, path);

	if (node->kind != JSON_NODE_OBJECT)
		json_error(path, "It is not a JSON object.");
	return node;
}

/* The last of equal names counts, as in Java. */
JsonNode *
json_get(const JsonNode *object, const char *name)
{
	for (int i = list_length(object->names) - 1; i >= 0; i--)
	{
		if (strcmp(list_nth(object->names, i), name) == 0)
		{
			JsonNode   *child = list_nth(object->children, i);

			return child->kind == JSON_NODE_NULL ? NULL : child;
		}
	}
	return NULL;
}

static const char *
kind_name(JsonNodeKind kind)
{
	switch (kind)
	{
		case JSON_NODE_NULL:
			return "null";
		case JSON_NODE_BOOLEAN:
			return "a boolean";
		case JSON_NODE_NUMBER:
			return "a number";
		case JSON_NODE_STRING:
			return "a string";
		case JSON_NODE_ARRAY:
			return "an array";
		case JSON_NODE_OBJECT:
			return "an object";
	}
	return "unknown";
}

/* A member of a kind, or NULL. */
static JsonNode *
get_of_kind(const JsonNode *object, const char *name, JsonNodeKind kind, const char *path)
{
	JsonNode   *child = json_get(object, name);

	if (child != NULL && child->kind != kind)
		json_error(path, "Field \"%s\" is %s, not %s.", name, kind_name(child->kind), kind_name(kind));
	return child;
}

JsonNode *
json_require(const JsonNode *object, const char *name, JsonNodeKind kind, const char *path)
{
	JsonNode   *child = get_of_kind(object, name, kind, path);

	if (child == NULL)
		json_error(path, "Field \"%s\" is missing.", name);
	return child;
}

char *
json_get_string(const JsonNode *object, const char *name, bool required, const char *path)
{
	JsonNode   *child = required ? json_require(object, name, JSON_NODE_STRING, path) :
		get_of_kind(object, name, JSON_NODE_STRING, path);

	return child != NULL ? child->text : NULL;
}

int64
json_get_int64(const JsonNode *object, const char *name, int64 missing, const char *path)
{
	JsonNode   *child = get_of_kind(object, name, JSON_NODE_NUMBER, path);
	char	   *end;
	int64		value;

	if (child == NULL)
		return missing;

	errno = 0;
	value = strtoll(child->text, &end, 10);
	if (errno != 0 || *end != '\0')
		json_error(path, "Field \"%s\" is not a 64-bit integer: %s.", name, child->text);
	return value;
}

int32
json_get_int32(const JsonNode *object, const char *name, int32 missing, const char *path)
{
	int64		value = json_get_int64(object, name, missing, path);

	if (value < PG_INT32_MIN || value > PG_INT32_MAX)
		json_error(path, "Field \"%s\" is not a 32-bit integer: %lld.", name, (long long) value);
	return (int32) value;
}

/* Making */

JsonNode *
json_make(JsonNodeKind kind)
{
	JsonNode   *node = palloc0(sizeof(JsonNode));

	node->kind = kind;
	return node;
}

JsonNode *
json_make_string(const char *value)
{
	JsonNode   *node = json_make(JSON_NODE_STRING);

	node->text = pstrdup(value);
	return node;
}

JsonNode *
json_make_int64(int64 value)
{
	JsonNode   *node = json_make(JSON_NODE_NUMBER);

	node->text = psprintf("%lld", (long long) value);
	return node;
}

void
json_append(JsonNode *array, JsonNode *child)
{
	array->children = lappend(array->children, child);
}

void
json_add(JsonNode *object, const char *name, JsonNode *child)
{
	object->names = lappend(object->names, pstrdup(name));
	object->children = lappend(object->children, child);
}

void
json_add_string(JsonNode *object, const char *name, const char *value)
{
	json_add(object, name, json_make_string(value));
}

void
json_add_int64(JsonNode *object, const char *name, int64 value)
{
	json_add(object, name, json_make_int64(value));
}

/* Writing */

static void
write_string(StringInfo out, const char *text)
{
	appendStringInfoChar(out, '"');
	for (const char *p = text; *p != '\0'; p++)
	{
		switch (*p)
		{
			case '"':
				appendStringInfoString(out, "\\\"");
				break;
			case '\\':
				appendStringInfoString(out, "\\\\");
				break;
			case '\b':
				appendStringInfoString(out, "\\b");
				break;
			case '\t':
				appendStringInfoString(out, "\\t");
				break;
			case '\n':
				appendStringInfoString(out, "\\n");
				break;
			case '\f':
				appendStringInfoString(out, "\\f");
				break;
			case '\r':
				appendStringInfoString(out, "\\r");
				break;
			default:
				if ((unsigned char) *p < 0x20)
					appendStringInfo(out, "\\u%04X", (unsigned char) *p);
				else
					appendStringInfoCharMacro(out, *p);
		}
	}
	appendStringInfoChar(out, '"');
}

/* Members stand on lines of their own, array elements side by side. */
static void
write_node(StringInfo out, const JsonNode *node, int indent)
{
	int			n = list_length(node->children);

	switch (node->kind)
	{
		case JSON_NODE_NULL:
			appendStringInfoString(out, "null");
			break;
		case JSON_NODE_BOOLEAN:
			appendStringInfoString(out, node->boolean ? "true" : "false");
			break;
		case JSON_NODE_NUMBER:
			appendStringInfoString(out, node->text);
			break;
		case JSON_NODE_STRING:
			write_string(out, node->text);
			break;
		case JSON_NODE_ARRAY:
			appendStringInfoString(out, "[ ");
			for (int i = 0; i < n; i++)
			{
				write_node(out, list_nth(node->children, i), indent);
				appendStringInfoString(out, i < n - 1 ? ", " : " ");
			}
			appendStringInfoChar(out, ']');
			break;
		case JSON_NODE_OBJECT:
			appendStringInfoString(out, n == 0 ? "{ " : "{");
			for (int i = 0; i < n; i++)
			{
				appendStringInfo(out, "%s\n%*s", i > 0 ? "," : "", indent + 2, "");
				write_string(out, list_nth(node->names, i));
				appendStringInfoString(out, " : ");
				write_node(out, list_nth(node->children, i), indent + 2);
			}
			if (n > 0)
				appendStringInfo(out, "\n%*s", indent, "");
			appendStringInfoChar(out, '}');
			break;
	}
}

char *
json_to_text(const JsonNode *node)
{
	StringInfoData out;

	initStringInfo(&out);
	write_node(&out, node, 0);
	return out.data;
}

static void
write_flat_node(StringInfo out, const JsonNode *node)
{
	bool		is_object = node->kind == JSON_NODE_OBJECT;

	if (!is_object && node->kind != JSON_NODE_ARRAY)
	{
		write_node(out, node, 0);
		return;
	}
	appendStringInfoChar(out, is_object ? '{' : '[');
	for (int i = 0; i < list_length(node->children); i++)
	{
		if (i > 0)
			appendStringInfoChar(out, ',');
		if (is_object)
		{
			write_string(out, list_nth(node->names, i));
			appendStringInfoChar(out, ':');
		}
		write_flat_node(out, list_nth(node->children, i));
	}
	appendStringInfoChar(out, is_object ? '}' : ']');
}

char *
json_to_flat_text(const JsonNode *node)
{
	StringInfoData out;

	initStringInfo(&out);
	write_flat_node(&out, node);
	return out.data;
}
