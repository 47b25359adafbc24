/*
 * json.h
 *		JSON documents as trees, read by the server's parser.
 *
 * Objects keep the order of their members and the ones nobody asks for, so
 * that a document can be written back with all it had.
 */
#ifndef STREAMHOUSE_JSON_H
#define STREAMHOUSE_JSON_H

#include "postgres.h"

#include "nodes/pg_list.h"

typedef enum JsonNodeKind
{
	JSON_NODE_NULL,
	JSON_NODE_BOOLEAN,
	JSON_NODE_NUMBER,
	JSON_NODE_STRING,
	JSON_NODE_ARRAY,
	JSON_NODE_OBJECT
} JsonNodeKind;

typedef struct JsonNode
{
	JsonNodeKind kind;
	bool		boolean;
	char	   *text;			/* of a string (unescaped) or number (as written) */
	List	   *names;			/* of an object: char *, parallel to children */
	List	   *children;		/* of an object or array: JsonNode * */
} JsonNode;

/* Parse in CurrentMemoryContext; ERRCODE_DATA_CORRUPTED names path. */
extern JsonNode *json_parse(const char *text, size_t length, const char *path);

/* As json_parse; the document must be an object. */
extern JsonNode *json_parse_object(const char *text, size_t length, const char *path);

/* A member of an object; NULL when it is absent or null. */
extern JsonNode *json_get(const JsonNode *object, const char *name);

/*
 * Members of a type; ERRCODE_DATA_CORRUPTED when a member is of another type,
 * or lacks and is required.  Without it: NULL, or the default.
 */
extern char *json_get_string(const JsonNode *object, const char *name, bool required, const char *path);
extern int64 json_get_int64(const JsonNode *object, const char *name, int64 missing, const char *path);
extern int32 json_get_int32(const JsonNode *object, const char *name, int32 missing, const char *path);
extern JsonNode *json_require(const JsonNode *object, const char *name, JsonNodeKind kind, const char *path);

/* Report that a document is not as it should be. */
#define json_error(path, ...) \
	ereport(ERROR, \
			(errcode(ERRCODE_DATA_CORRUPTED), \
			 errmsg("file \"%s\" is damaged", path), \
			 errdetail(__VA_ARGS__)))

/* Making trees */
extern JsonNode *json_make(JsonNodeKind kind);
extern JsonNode *json_make_string(const char *value);
extern JsonNode *json_make_int64(int64 value);
extern void json_append(JsonNode *array, JsonNode *child);
extern void json_add(JsonNode *object, const char *name, JsonNode *child);
extern void json_add_string(JsonNode *object, const char *name, const char *value);
extern void json_add_int64(JsonNode *object, const char *name, int64 value);

/* The text as Java's Jackson prints it, indented by two spaces; and without any blanks. */
extern char *json_to_text(const JsonNode *node);
extern char *json_to_flat_text(const JsonNode *node);

#endif							/* STREAMHOUSE_JSON_H */
