/*
 * schema.c
 *		The schema an Avro file brings, parsed from its JSON.
 */
#include "postgres.h"

#include "format/avro/avro.h"
#include "format/json.h"

typedef struct SchemaParser
{
	const char *path;
	List	   *named;			/* AvroSchema *: types that later ones may refer to */
} SchemaParser;

static const char *const primitive_names[] = {
	[AVRO_NULL] = "null",
	[AVRO_BOOLEAN] = "boolean",
	[AVRO_INT] = "int",
	[AVRO_LONG] = "long",
	[AVRO_FLOAT] = "float",
	[AVRO_DOUBLE] = "double",
	[AVRO_BYTES] = "bytes",
	[AVRO_STRING] = "string",
};

static AvroSchema *parse_node(SchemaParser *parser, const JsonNode *node, const char *namespace);

static AvroSchema *
make_schema(AvroKind kind, int nchildren)
{
	AvroSchema *schema = palloc0(sizeof(AvroSchema));

	schema->kind = kind;
	schema->nchildren = nchildren;
	schema->children = palloc0(Max(nchildren, 1) * sizeof(AvroSchema *));
	return schema;
}

/* A name with its namespace in front, unless it has one. */
static char *
qualify(const char *name, const char *namespace)
{
	if (strchr(name, '.') != NULL || namespace == NULL || namespace[0] == '\0')
		return pstrdup(name);
	return psprintf("%s.%s", namespace, name);
}

static AvroSchema *
find_named(SchemaParser *parser, const char *full_name)
{
	ListCell   *lc;

	foreach(lc, parser->named)
	{
		AvroSchema *schema = lfirst(lc);

		if (strcmp(schema->full_name, full_name) == 0)
			return schema;
	}
	return NULL;
}

/* A primitive type or one named before. */
static AvroSchema *
parse_name(SchemaParser *parser, const char *name, const char *namespace)
{
	AvroSchema *schema;

	for (int i = 0; i < lengthof(primitive_names); i++)
	{
		if (strcmp(primitive_names[i], name) == 0)
			return make_schema(i, 0);
	}
	schema = find_named(parser, qualify(name, namespace));
	if (schema == NULL)
		schema = find_named(parser, name);
	if (schema == NULL)
		avro_error(parser->path, "Its schema has the unknown type \"%s\".", name);
	return schema;
}

static AvroSchema *
parse_union(SchemaParser *parser, const JsonNode *node, const char *namespace)
{
	AvroSchema *schema = make_schema(AVRO_UNION, list_length(node->children));

	if (schema->nchildren == 0)
		avro_error(parser->path, "Its schema has an empty union.");
	for (int i = 0; i < schema->nchildren; i++)
		schema->children[i] = parse_node(parser, list_nth(node->children, i), namespace);
	return schema;
}

/* The child type that a member of an array, map or field holds. */
static AvroSchema *
parse_member(SchemaParser *parser, const JsonNode *node, const char *member, const char *namespace)
{
	const JsonNode *child = json_get(node, member);

	if (child == NULL)
		avro_error(parser->path, "Its schema has a type without \"%s\".", member);
	return parse_node(parser, child, namespace);
}

static AvroSchema *
parse_record(SchemaParser *parser, AvroSchema *schema, const JsonNode *node, const char *namespace)
{
	JsonNode   *fields = json_require(node, "fields", JSON_NODE_ARRAY, parser->path);

	schema->nchildren = list_length(fields->children);
	schema->children = palloc0(Max(schema->nchildren, 1) * sizeof(AvroSchema *));
	schema->field_names = palloc0(Max(schema->nchildren, 1) * sizeof(char *));
	for (int i = 0; i < schema->nchildren; i++)
	{
		JsonNode   *field = list_nth(fields->children, i);

		if (field->kind != JSON_NODE_OBJECT)
			avro_error(parser->path, "Its schema has a field that is not an object.");
		schema->field_names[i] = json_get_string(field, "name", true, parser->path);
		schema->children[i] = parse_member(parser, field, "type", namespace);
	}
	return schema;
}

/* A record, enum or fixed: a type with a name, which its own fields may use. */
static AvroSchema *
parse_named(SchemaParser *parser, AvroKind kind, const JsonNode *node, const char *namespace)
{
	AvroSchema *schema = make_schema(kind, 0);
	char	   *name = json_get_string(node, "name", true, parser->path);
	char	   *own = json_get_string(node, "namespace", false, parser->path);
	char	   *dot;

	schema->full_name = qualify(name, own != NULL ? own : namespace);
	dot = strrchr(schema->full_name, '.');
	namespace = dot != NULL ? pnstrdup(schema->full_name, dot - schema->full_name) : NULL;
	parser->named = lappend(parser->named, schema);

	if (kind == AVRO_RECORD)
		parse_record(parser, schema, node, namespace);
	else if (kind == AVRO_ENUM)
		schema->nsymbols = list_length(json_require(node, "symbols", JSON_NODE_ARRAY, parser->path)->children);
	else
	{
		int32		size = json_get_int32(node, "size", -1, parser->path);

		if (size < 0)
			avro_error(parser->path, "Its schema has a fixed type of size %d.", size);
		schema->fixed_size = size;
	}
	return schema;
}

static AvroSchema *
parse_typed(SchemaParser *parser, const JsonNode *node, const JsonNode *type, const char *namespace)
{
	AvroSchema *schema;

	if (strcmp(type->text, "record") == 0)
		return parse_named(parser, AVRO_RECORD, node, namespace);
	if (strcmp(type->text, "enum") == 0)
		return parse_named(parser, AVRO_ENUM, node, namespace);
	if (strcmp(type->text, "fixed") == 0)
		return parse_named(parser, AVRO_FIXED, node, namespace);
	if (strcmp(type->text, "array") == 0)
	{
		schema = make_schema(AVRO_ARRAY, 1);
		schema->children[0] = parse_member(parser, node, "items", namespace);
		return schema;
	}
	if (strcmp(type->text, "map") == 0)
	{
		schema = make_schema(AVRO_MAP, 1);
		schema->children[0] = parse_member(parser, node, "values", namespace);
		return schema;
	}
	return parse_name(parser, type->text, namespace);
}

static AvroSchema *
parse_object(SchemaParser *parser, const JsonNode *node, const char *namespace)
{
	JsonNode   *type = json_get(node, "type");
	AvroSchema *schema;

	if (type == NULL)
		avro_error(parser->path, "Its schema has a type without \"type\".");
	if (type->kind != JSON_NODE_STRING)
		return parse_node(parser, type, namespace);
	schema = parse_typed(parser, node, type, namespace);
	if (schema->logical_type == NULL)
	{
		schema->logical_type = json_get_string(node, "logicalType", false, parser->path);
		schema->precision = json_get_int32(node, "precision", 0, parser->path);
		schema->scale = json_get_int32(node, "scale", 0, parser->path);
	}
	return schema;
}

static AvroSchema *
parse_node(SchemaParser *parser, const JsonNode *node, const char *namespace)
{
	switch (node->kind)
	{
		case JSON_NODE_STRING:
			return parse_name(parser, node->text, namespace);
		case JSON_NODE_ARRAY:
			return parse_union(parser, node, namespace);
		case JSON_NODE_OBJECT:
			return parse_object(parser, node, namespace);
		default:
			avro_error(parser->path, "Its schema has a type that is no type.");
	}
}

const AvroSchema *
avro_strip_null(const AvroSchema *schema, int *null_branch)
{
	*null_branch = -1;
	if (schema->kind != AVRO_UNION || schema->nchildren != 2)
		return schema;
	for (int i = 0; i < 2; i++)
	{
		if (schema->children[i]->kind == AVRO_NULL)
		{
			*null_branch = i;
			return schema->children[1 - i];
		}
	}
	return schema;
}

AvroSchema *
avro_schema_parse(const char *json, size_t length, const char *path)
{
	SchemaParser parser = {.path = path};

	return parse_node(&parser, json_parse(json, length, path), NULL);
}
