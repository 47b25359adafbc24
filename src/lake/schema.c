/*
 * schema.c
 *		Schema files: their JSON, finding and publishing them.
 *
 * Source: format digest sections 2.1 and 2.2.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "format/json.h"
#include "lake/path.h"
#include "lake/schema.h"
#include "miscadmin.h"
#include "storage/cache.h"
#include "storage/storage.h"
#include "utils/memutils.h"

#define SCHEMA_VERSION			3
#define MAX_SCHEMA_FILE_SIZE	(64 * 1024 * 1024)
#define MAX_TYPE_TEXT			1000

static const char *const known_members[] = {
	"version", "id", "fields", "highestFieldId", "partitionKeys", "primaryKeys", "options", "comment", "timeMillis",
};

static DataType *parse_type(const JsonNode *node, const char *path);
static JsonNode *type_to_json(const DataType *type);

/* Types */

/*
 * The text form of collections, "INT ARRAY NOT NULL": an element type with a
 * suffix.  NULL when it is not one.
 */
static DataType *
parse_suffixed_type(const char *text, const char *path)
{
	static const struct
	{
		const char *suffix;
		TypeRoot	root;
		bool		nullable;
	}			forms[] = {
		{" ARRAY", TYPE_ARRAY, true},
		{" ARRAY NOT NULL", TYPE_ARRAY, false},
		{" MULTISET", TYPE_MULTISET, true},
		{" MULTISET NOT NULL", TYPE_MULTISET, false},
	};
	size_t		length = strlen(text);

	/* the bound is one on recursion, too */
	if (length > MAX_TYPE_TEXT)
		return NULL;

	for (int i = 0; i < lengthof(forms); i++)
	{
		size_t		suffix = strlen(forms[i].suffix);

		if (length > suffix && pg_strcasecmp(text + length - suffix, forms[i].suffix) == 0)
		{
			DataType   *type = type_make_nested(forms[i].root, 1, forms[i].nullable);

			type->children[0].type = parse_type(json_make_string(pnstrdup(text, length - suffix)), path);
			return type;
		}
	}
	return NULL;
}

static DataType *
parse_type_text(const char *text, const char *path)
{
	DataType   *type = type_parse_atomic(text);

	if (type == NULL)
		type = parse_suffixed_type(text, path);
	if (type == NULL)
		json_error(path, "Data type \"%s\" is unknown.", text);
	return type;
}

static void
parse_field(const JsonNode *node, DataField *field, const char *path)
{
	JsonNode   *type;

	if (node->kind != JSON_NODE_OBJECT)
		json_error(path, "A field is not an object.");

	json_require(node, "id", JSON_NODE_NUMBER, path);
	field->id = json_get_int32(node, "id", 0, path);
	field->name = json_get_string(node, "name", true, path);
	field->description = json_get_string(node, "description", false, path);
	field->default_value = json_get_string(node, "defaultValue", false, path);

	type = json_get(node, "type");
	if (type == NULL)
		json_error(path, "Field \"%s\" has no type.", field->name);
	field->type = parse_type(type, path);
}

static DataField *
parse_fields(const JsonNode *array, const char *path)
{
	int			n = list_length(array->children);
	DataField  *fields = palloc0(Max(n, 1) * sizeof(DataField));

	for (int i = 0; i < n; i++)
		parse_field(list_nth(array->children, i), &fields[i], path);
	return fields;
}

static DataType *
parse_child_type(const JsonNode *node, const char *name, const char *path)
{
	JsonNode   *child = json_get(node, name);

	if (child == NULL)
		json_error(path, "A nested type has no \"%s\".", name);
	return parse_type(child, path);
}

static DataType *
parse_nested_type(const JsonNode *node, const char *path)
{
	const char *word = json_get_string(node, "type", true, path);
	bool		nullable = strstr(word, "NOT NULL") == NULL;
	DataType   *type;

	if (strncmp(word, "ROW", 3) == 0)
	{
		JsonNode   *fields = json_require(node, "fields", JSON_NODE_ARRAY, path);

		type = type_make_nested(TYPE_ROW, 0, nullable);
		type->nchildren = list_length(fields->children);
		type->children = parse_fields(fields, path);
		return type;
	}
	if (strncmp(word, "MAP", 3) == 0)
	{
		type = type_make_nested(TYPE_MAP, 2, nullable);
		type->children[0].type = parse_child_type(node, "key", path);
		type->children[1].type = parse_child_type(node, "value", path);
		return type;
	}

	if (strncmp(word, "ARRAY", 5) == 0)
		type = type_make_nested(TYPE_ARRAY, 1, nullable);
	else if (strncmp(word, "MULTISET", 8) == 0)
		type = type_make_nested(TYPE_MULTISET, 1, nullable);
	else if (strncmp(word, "VECTOR", 6) == 0)
	{
		type = type_make_nested(TYPE_VECTOR, 1, nullable);
		type->length = json_get_int32(node, "length", 0, path);
	}
	else
		json_error(path, "Data type \"%s\" is unknown.", word);
	type->children[0].type = parse_child_type(node, "element", path);
	return type;
}

static DataType *
parse_type(const JsonNode *node, const char *path)
{
	switch (node->kind)
	{
		case JSON_NODE_STRING:
			return parse_type_text(node->text, path);
		case JSON_NODE_OBJECT:
			return parse_nested_type(node, path);
		default:
			json_error(path, "A data type is neither a string nor an object.");
	}
}

static JsonNode *
fields_to_json(const DataField *fields, int nfields)
{
	JsonNode   *array = json_make(JSON_NODE_ARRAY);

	for (int i = 0; i < nfields; i++)
	{
		JsonNode   *node = json_make(JSON_NODE_OBJECT);

		json_add_int64(node, "id", fields[i].id);
		json_add_string(node, "name", fields[i].name);
		json_add(node, "type", type_to_json(fields[i].type));
		if (fields[i].description != NULL)
			json_add_string(node, "description", fields[i].description);
		if (fields[i].default_value != NULL)
			json_add_string(node, "defaultValue", fields[i].default_value);
		json_append(array, node);
	}
	return array;
}

static JsonNode *
type_to_json(const DataType *type)
{
	JsonNode   *node;

	if (!type_is_nested(type) || type->root == TYPE_VARIANT)
		return json_make_string(type_to_text(type));

	node = json_make(JSON_NODE_OBJECT);
	json_add_string(node, "type", type_to_text(type));
	switch (type->root)
	{
		case TYPE_ROW:
			json_add(node, "fields", fields_to_json(type->children, type->nchildren));
			break;
		case TYPE_MAP:
			json_add(node, "key", type_to_json(type->children[0].type));
			json_add(node, "value", type_to_json(type->children[1].type));
			break;
		default:
			json_add(node, "element", type_to_json(type->children[0].type));
			if (type->root == TYPE_VECTOR)
				json_add_int64(node, "length", type->length);
			break;
	}
	return node;
}

/* Schemas */

int
schema_field(const TableSchema *schema, const char *name)
{
	for (int i = 0; i < schema->nfields; i++)
	{
		if (strcmp(schema->fields[i].name, name) == 0)
			return i;
	}
	return -1;
}

static bool
is_among(const int *fields, int nfields, int field)
{
	for (int i = 0; i < nfields; i++)
	{
		if (fields[i] == field)
			return true;
	}
	return false;
}

bool
schema_field_is_key(const TableSchema *schema, int field)
{
	return is_among(schema->primary_keys, schema->nprimary_keys, field);
}

bool
schema_field_is_partition(const TableSchema *schema, int field)
{
	return is_among(schema->partition_keys, schema->npartition_keys, field);
}

const char *
option_pair_value(const List *options, const char *key)
{
	const ListCell *lc;

	foreach(lc, options)
	{
		const OptionPair *option = lfirst(lc);

		if (strcmp(option->key, key) == 0)
			return option->value;
	}
	return NULL;
}

const char *
schema_option(const TableSchema *schema, const char *key)
{
	return option_pair_value(schema->options, key);
}

void
schema_set_trimmed_keys(TableSchema *schema)
{
	schema->trimmed_keys = palloc(Max(schema->nprimary_keys, 1) * sizeof(int));
	schema->ntrimmed_keys = 0;
	for (int i = 0; i < schema->nprimary_keys; i++)
	{
		bool		in_partition = false;

		for (int k = 0; k < schema->npartition_keys; k++)
			in_partition |= schema->partition_keys[k] == schema->primary_keys[i];
		if (!in_partition)
			schema->trimmed_keys[schema->ntrimmed_keys++] = schema->primary_keys[i];
	}
}

/* A key's columns as positions; each must be a column, and only once. */
static int *
parse_key(const TableSchema *schema, const JsonNode *document, const char *member, int *nkeys, const char *path)
{
	JsonNode   *array = json_require(document, member, JSON_NODE_ARRAY, path);
	int			n = list_length(array->children);
	int		   *keys = palloc(Max(n, 1) * sizeof(int));

	for (int i = 0; i < n; i++)
	{
		JsonNode   *name = list_nth(array->children, i);

		if (name->kind != JSON_NODE_STRING)
			json_error(path, "A name in \"%s\" is not a string.", member);
		keys[i] = schema_field(schema, name->text);
		if (keys[i] < 0)
			json_error(path, "Column \"%s\" in \"%s\" is not a field.", name->text, member);
		for (int k = 0; k < i; k++)
		{
			if (keys[k] == keys[i])
				json_error(path, "Column \"%s\" is twice in \"%s\".", name->text, member);
		}
	}
	*nkeys = n;
	return keys;
}

OptionPair *
option_pair_make(const char *key, const char *value)
{
	OptionPair *option = palloc(sizeof(OptionPair));

	option->key = pstrdup(key);
	option->value = pstrdup(value);
	return option;
}

static List *
parse_options(const JsonNode *document, const char *path)
{
	JsonNode   *object = json_get(document, "options");
	List	   *options = NIL;

	if (object == NULL)
		return NIL;
	if (object->kind != JSON_NODE_OBJECT)
		json_error(path, "Field \"options\" is not an object.");

	for (int i = 0; i < list_length(object->names); i++)
	{
		const char *name = list_nth(object->names, i);
		JsonNode   *value = list_nth(object->children, i);

		if (value->kind != JSON_NODE_STRING)
			json_error(path, "Option \"%s\" is not a string.", name);
		options = lappend(options, option_pair_make(name, value->text));
	}
	return options;
}

/* What options mean that files of older versions leave out. */
static void
add_version_defaults(TableSchema *schema, int version)
{
	if (version <= 1 && schema_option(schema, "bucket") == NULL)
		schema->options = lappend(schema->options, option_pair_make("bucket", "1"));
	if (version <= 2 && schema_option(schema, "file.format") == NULL)
		schema->options = lappend(schema->options, option_pair_make("file.format", "orc"));
}

/* Members that a newer library wrote: kept for the next schema. */
static JsonNode *
unknown_members(const JsonNode *document)
{
	JsonNode   *unknown = NULL;

	for (int i = 0; i < list_length(document->names); i++)
	{
		const char *name = list_nth(document->names, i);
		bool		known = false;

		for (int k = 0; k < lengthof(known_members); k++)
			known |= strcmp(name, known_members[k]) == 0;
		if (!known)
		{
			if (unknown == NULL)
				unknown = json_make(JSON_NODE_OBJECT);
			json_add(unknown, name, list_nth(document->children, i));
		}
	}
	return unknown;
}

static int32
highest_id(const DataField *fields, int nfields, int32 highest)
{
	for (int i = 0; i < nfields; i++)
	{
		highest = Max(highest, fields[i].id);
		if (fields[i].type->nchildren > 0)
			highest = highest_id(fields[i].type->children, fields[i].type->nchildren, highest);
	}
	return highest;
}

/* The children of ARRAY and MAP have id 0 here, which is not above any other. */
static void
check_fields(const TableSchema *schema, const char *path)
{
	for (int i = 0; i < schema->nfields; i++)
	{
		const DataField *field = &schema->fields[i];

		CHECK_FOR_INTERRUPTS();
		if (field->id < 0)
			json_error(path, "Field \"%s\" has the id %d.", field->name, field->id);
		for (int k = 0; k < i; k++)
		{
			if (strcmp(schema->fields[k].name, field->name) == 0)
				json_error(path, "There are two fields \"%s\".", field->name);
			if (schema->fields[k].id == field->id)
				json_error(path, "Fields \"%s\" and \"%s\" have the same id.", schema->fields[k].name, field->name);
		}
	}
}

TableSchema *
schema_parse(const char *json, size_t length, const char *path)
{
	JsonNode   *document = json_parse_object(json, length, path);
	JsonNode   *fields = json_require(document, "fields", JSON_NODE_ARRAY, path);
	TableSchema *schema = palloc0(sizeof(TableSchema));

	json_require(document, "id", JSON_NODE_NUMBER, path);
	schema->id = json_get_int64(document, "id", 0, path);
	schema->nfields = list_length(fields->children);
	schema->fields = parse_fields(fields, path);
	check_fields(schema, path);
	schema->highest_field_id = Max(json_get_int32(document, "highestFieldId", -1, path),
								   highest_id(schema->fields, schema->nfields, -1));
	schema->partition_keys = parse_key(schema, document, "partitionKeys", &schema->npartition_keys, path);
	schema->primary_keys = parse_key(schema, document, "primaryKeys", &schema->nprimary_keys, path);
	schema_set_trimmed_keys(schema);
	schema->options = parse_options(document, path);
	schema->comment = json_get_string(document, "comment", false, path);
	schema->time_millis = json_get_int64(document, "timeMillis", 0, path);
	schema->unknown = unknown_members(document);
	add_version_defaults(schema, json_get_int32(document, "version", 1, path));
	return schema;
}

static JsonNode *
key_to_json(const TableSchema *schema, const int *keys, int nkeys)
{
	JsonNode   *array = json_make(JSON_NODE_ARRAY);

	for (int i = 0; i < nkeys; i++)
		json_append(array, json_make_string(schema->fields[keys[i]].name));
	return array;
}

static JsonNode *
options_to_json(const List *options)
{
	JsonNode   *object = json_make(JSON_NODE_OBJECT);
	ListCell   *lc;

	foreach(lc, options)
	{
		OptionPair *option = lfirst(lc);

		json_add_string(object, option->key, option->value);
	}
	return object;
}

char *
schema_to_json(const TableSchema *schema)
{
	JsonNode   *document = json_make(JSON_NODE_OBJECT);

	json_add_int64(document, "version", SCHEMA_VERSION);
	json_add_int64(document, "id", schema->id);
	json_add(document, "fields", fields_to_json(schema->fields, schema->nfields));
	json_add_int64(document, "highestFieldId", schema->highest_field_id);
	json_add(document, "partitionKeys", key_to_json(schema, schema->partition_keys, schema->npartition_keys));
	json_add(document, "primaryKeys", key_to_json(schema, schema->primary_keys, schema->nprimary_keys));
	json_add(document, "options", options_to_json(schema->options));
	if (schema->comment != NULL)
		json_add_string(document, "comment", schema->comment);
	json_add_int64(document, "timeMillis", schema->time_millis);
	if (schema->unknown != NULL)
	{
		document->names = list_concat(document->names, schema->unknown->names);
		document->children = list_concat(document->children, schema->unknown->children);
	}
	return json_to_text(document);
}

/* What a file held, and what was made of it. */
typedef struct KeptSchema
{
	size_t		length;
	char	   *json;
	TableSchema *schema;
} KeptSchema;

static KeptSchema *
keep_schema(const char *path, const char *json, size_t length)
{
	KeptSchema *kept = palloc(sizeof(KeptSchema));

	kept->length = length;
	kept->json = pnstrdup(json, length);
	kept->schema = schema_parse(kept->json, length, path);
	return kept;
}

/*
 * A table that is made again at the same place has schema files of the same
 * names: so files are read, and only what is made of them is kept, by their
 * contents.
 */
static const TableSchema *
schema_of_file(const char *path, const char *json, size_t length)
{
	int64		hash = (int64) hash_bytes_extended((const unsigned char *) json, (int) length, 0);
	const KeptSchema *kept = cache_get(CACHE_SCHEMA, path, hash);
	MemoryContext context;
	MemoryContext old;

	if (kept != NULL && kept->length == length && memcmp(kept->json, json, length) == 0)
		return kept->schema;
	context = cache_context_create();
	old = MemoryContextSwitchTo(context);
	kept = keep_schema(path, json, length);
	MemoryContextSwitchTo(old);
	if (cache_has_room(MemoryContextMemAllocated(context, true)))
		cache_put(CACHE_SCHEMA, path, hash, context, kept);
	return kept->schema;
}

const TableSchema *
schema_load(const char *table_location, int64 id)
{
	char	   *path = schema_path(table_location, id);
	size_t		length;
	char	   *json = storage_read_whole(path, MAX_SCHEMA_FILE_SIZE, false, &length);
	const TableSchema *schema = schema_of_file(path, json, length);

	if (schema->id != id)
		json_error(path, "The schema's id is %lld.", (long long) schema->id);
	pfree(json);
	return schema;
}

const TableSchema *
schema_load_latest(const char *table_location, bool missing_ok)
{
	int			n;
	int64	   *ids = list_numbered_files(table_location, "schema", "schema-", &n);

	if (n == 0)
	{
		if (missing_ok)
			return NULL;
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("there is no lake table at \"%s\"", table_location)));
	}
	return schema_load(table_location, ids[n - 1]);
}

bool
schema_publish(const char *table_location, const TableSchema *schema)
{
	char	   *json = schema_to_json(schema);

	return storage_publish(schema_path(table_location, schema->id), json, strlen(json));
}
