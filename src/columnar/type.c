/*
 * type.c
 *		Paimon's data types: making them, their SQL texts, comparing them.
 *
 * Only atomic types have a text of their own; the JSON of nested types is the
 * schema's business (lake/schema.c), which asks here for their atoms.
 */
#include "postgres.h"

#include "columnar/type.h"
#include "columnar/vector.h"

#define MAX_FRACTION_PRECISION 9	/* of TIME and TIMESTAMP */

/* The words that begin a type, and what follows from them. */
typedef struct TypeWord
{
	const char *word;
	TypeRoot	root;
	int32		default_length; /* or precision */
	int			max_parameters;
} TypeWord;

static const TypeWord type_words[] = {
	{"BOOLEAN", TYPE_BOOLEAN, 0, 0},
	{"TINYINT", TYPE_TINYINT, 0, 0},
	{"SMALLINT", TYPE_SMALLINT, 0, 0},
	{"INT", TYPE_INT, 0, 0},
	{"INTEGER", TYPE_INT, 0, 0},
	{"BIGINT", TYPE_BIGINT, 0, 0},
	{"FLOAT", TYPE_FLOAT, 0, 0},
	{"DOUBLE", TYPE_DOUBLE, 0, 0},
	{"DECIMAL", TYPE_DECIMAL, 10, 2},
	{"NUMERIC", TYPE_DECIMAL, 10, 2},
	{"DEC", TYPE_DECIMAL, 10, 2},
	{"CHAR", TYPE_CHAR, 1, 1},
	{"VARCHAR", TYPE_VARCHAR, 1, 1},
	{"STRING", TYPE_VARCHAR, TYPE_MAX_LENGTH, 0},
	{"BINARY", TYPE_BINARY, 1, 1},
	{"VARBINARY", TYPE_VARBINARY, 1, 1},
	{"BYTES", TYPE_VARBINARY, TYPE_MAX_LENGTH, 0},
	{"DATE", TYPE_DATE, 0, 0},
	{"TIME", TYPE_TIME, 0, 1},
	{"TIMESTAMP", TYPE_TIMESTAMP, 6, 1},
	{"TIMESTAMP_LTZ", TYPE_TIMESTAMP_LTZ, 6, 1},
	{"VARIANT", TYPE_VARIANT, 0, 0},
	{"BLOB", TYPE_BLOB, 0, 0},
};

/* Size in bytes of one value of a physical type. */
size_t
physical_size(PhysicalType physical)
{
	switch (physical)
	{
		case PHYSICAL_INT8:
			return sizeof(int8);
		case PHYSICAL_INT16:
			return sizeof(int16);
		case PHYSICAL_INT32:
			return sizeof(int32);
		case PHYSICAL_INT64:
			return sizeof(int64);
		case PHYSICAL_INT128:
			return sizeof(int128);
		case PHYSICAL_FLOAT:
			return sizeof(float);
		case PHYSICAL_DOUBLE:
			return sizeof(double);
		case PHYSICAL_BYTES:
			return sizeof(BytesView);
		case PHYSICAL_LIST:
			return sizeof(ListView);
		case PHYSICAL_ROW:
			return 0;
	}
	pg_unreachable();
}

/* The physical type that root and precision give. */
PhysicalType
type_physical(TypeRoot root, int32 precision)
{
	switch (root)
	{
		case TYPE_BOOLEAN:
		case TYPE_TINYINT:
			return PHYSICAL_INT8;
		case TYPE_SMALLINT:
			return PHYSICAL_INT16;
		case TYPE_INT:
		case TYPE_DATE:
		case TYPE_TIME:
			return PHYSICAL_INT32;
		case TYPE_BIGINT:
			return PHYSICAL_INT64;
		case TYPE_FLOAT:
			return PHYSICAL_FLOAT;
		case TYPE_DOUBLE:
			return PHYSICAL_DOUBLE;
		case TYPE_DECIMAL:
			return precision <= 18 ? PHYSICAL_INT64 : PHYSICAL_INT128;
		case TYPE_TIMESTAMP:
		case TYPE_TIMESTAMP_LTZ:
			return precision <= 6 ? PHYSICAL_INT64 : PHYSICAL_INT128;
		case TYPE_CHAR:
		case TYPE_VARCHAR:
		case TYPE_BINARY:
		case TYPE_VARBINARY:
		case TYPE_BLOB:
			return PHYSICAL_BYTES;
		case TYPE_ARRAY:
		case TYPE_MULTISET:
		case TYPE_MAP:
		case TYPE_VECTOR:
			return PHYSICAL_LIST;
		case TYPE_ROW:
		case TYPE_VARIANT:
			return PHYSICAL_ROW;
	}
	pg_unreachable();
}

static bool
root_has_length(TypeRoot root)
{
	return root == TYPE_CHAR || root == TYPE_VARCHAR ||
		root == TYPE_BINARY || root == TYPE_VARBINARY || root == TYPE_VECTOR;
}

/* Make an atomic type in CurrentMemoryContext. */
DataType *
type_make(TypeRoot root, int32 length_or_precision, int32 scale, bool nullable)
{
	DataType   *type = (DataType *) palloc0(sizeof(DataType));

	type->root = root;
	type->nullable = nullable;
	if (root_has_length(root))
		type->length = length_or_precision;
	else
		type->precision = length_or_precision;
	type->scale = scale;
	type->physical = type_physical(root, type->precision);
	return type;
}

DataType *
type_make_nested(TypeRoot root, int nchildren, bool nullable)
{
	DataType   *type = type_make(root, 0, 0, nullable);

	type->nchildren = nchildren;
	type->children = (DataField *) palloc0(Max(nchildren, 1) * sizeof(DataField));
	return type;
}

/* ---- parsing ---- */

static const char *
skip_spaces(const char *cursor)
{
	while (*cursor == ' ' || (*cursor >= '\t' && *cursor <= '\r'))
		cursor++;
	return cursor;
}

static bool
is_word_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Move past a whole word, whatever its case; false and unmoved if it is another. */
static bool
accept_word(const char **cursor, const char *word)
{
	const char *at = skip_spaces(*cursor);
	size_t		length = strlen(word);

	if (pg_strncasecmp(at, word, length) != 0 || is_word_character(at[length]))
		return false;
	*cursor = at + length;
	return true;
}

static bool
accept_character(const char **cursor, char c)
{
	const char *at = skip_spaces(*cursor);

	if (*at != c)
		return false;
	*cursor = at + 1;
	return true;
}

/* A decimal number that fits int32. */
static bool
accept_number(const char **cursor, int32 *value)
{
	const char *at = skip_spaces(*cursor);
	int64		number = 0;

	if (*at < '0' || *at > '9')
		return false;
	for (; *at >= '0' && *at <= '9'; at++)
	{
		number = number * 10 + (*at - '0');
		if (number > PG_INT32_MAX)
			return false;
	}
	*cursor = at;
	*value = (int32) number;
	return true;
}

/* "(n)" or "(n, m)"; nothing is fine and leaves the defaults. */
static bool
accept_parameters(const char **cursor, int max_parameters, int32 *first, int32 *second)
{
	if (max_parameters == 0 || !accept_character(cursor, '('))
		return true;
	if (!accept_number(cursor, first))
		return false;
	if (max_parameters == 2 && accept_character(cursor, ',') && !accept_number(cursor, second))
		return false;
	return accept_character(cursor, ')');
}

static bool
accept_time_zone(const char **cursor)
{
	return accept_word(cursor, "TIME") && accept_word(cursor, "ZONE");
}

/* What may follow some types' parameters. */
static bool
accept_suffix(const char **cursor, TypeRoot *root)
{
	if (*root == TYPE_DOUBLE)
		accept_word(cursor, "PRECISION");
	else if (*root == TYPE_TIME || *root == TYPE_TIMESTAMP)
	{
		if (accept_word(cursor, "WITHOUT"))
			return accept_time_zone(cursor);
		if (*root == TYPE_TIMESTAMP && accept_word(cursor, "WITH"))
		{
			*root = TYPE_TIMESTAMP_LTZ;
			return accept_word(cursor, "LOCAL") && accept_time_zone(cursor);
		}
	}
	return true;
}

static bool
parameters_in_range(TypeRoot root, int32 first, int32 second)
{
	switch (root)
	{
		case TYPE_DECIMAL:
			return first >= 1 && first <= TYPE_MAX_DECIMAL_PRECISION && second <= first;
		case TYPE_TIME:
		case TYPE_TIMESTAMP:
		case TYPE_TIMESTAMP_LTZ:
			return first <= MAX_FRACTION_PRECISION;
		default:
			return !root_has_length(root) || first >= 1;
	}
}

/* Parse an atomic type's SQL text; NULL when it is not one. */
DataType *
type_parse_atomic(const char *text)
{
	const char *cursor = text;
	const TypeWord *found = NULL;
	TypeRoot	root;
	int32		first;
	int32		second = 0;
	bool		nullable = true;

	for (int i = 0; i < lengthof(type_words) && found == NULL; i++)
	{
		if (accept_word(&cursor, type_words[i].word))
			found = &type_words[i];
	}
	if (found == NULL)
		return NULL;

	root = found->root;
	first = found->default_length;
	if (!accept_parameters(&cursor, found->max_parameters, &first, &second) ||
		!accept_suffix(&cursor, &root) ||
		!parameters_in_range(root, first, second))
		return NULL;

	if (accept_word(&cursor, "NOT"))
	{
		if (!accept_word(&cursor, "NULL"))
			return NULL;
		nullable = false;
	}
	else
		accept_word(&cursor, "NULL");
	if (*skip_spaces(cursor) != '\0')
		return NULL;

	return type_make(root, first, second, nullable);
}

/* ---- printing ---- */

static const char *
root_name(TypeRoot root)
{
	switch (root)
	{
		case TYPE_BOOLEAN:
			return "BOOLEAN";
		case TYPE_TINYINT:
			return "TINYINT";
		case TYPE_SMALLINT:
			return "SMALLINT";
		case TYPE_INT:
			return "INT";
		case TYPE_BIGINT:
			return "BIGINT";
		case TYPE_FLOAT:
			return "FLOAT";
		case TYPE_DOUBLE:
			return "DOUBLE";
		case TYPE_DECIMAL:
			return "DECIMAL";
		case TYPE_CHAR:
			return "CHAR";
		case TYPE_VARCHAR:
			return "VARCHAR";
		case TYPE_BINARY:
			return "BINARY";
		case TYPE_VARBINARY:
			return "VARBINARY";
		case TYPE_DATE:
			return "DATE";
		case TYPE_TIME:
			return "TIME";
		case TYPE_TIMESTAMP:
		case TYPE_TIMESTAMP_LTZ:
			return "TIMESTAMP";
		case TYPE_VARIANT:
			return "VARIANT";
		case TYPE_BLOB:
			return "BLOB";
		case TYPE_ARRAY:
			return "ARRAY";
		case TYPE_MULTISET:
			return "MULTISET";
		case TYPE_MAP:
			return "MAP";
		case TYPE_ROW:
			return "ROW";
		case TYPE_VECTOR:
			return "VECTOR";
	}
	pg_unreachable();
}

/*
 * The text as Paimon writes it into schema files, " NOT NULL" included.  Of a
 * nested type only its own word: the rest is JSON.
 */
char *
type_to_text(const DataType *type)
{
	StringInfoData text;

	initStringInfo(&text);
	if (type->root == TYPE_VARCHAR && type->length == TYPE_MAX_LENGTH)
		appendStringInfoString(&text, "STRING");
	else if (type->root == TYPE_VARBINARY && type->length == TYPE_MAX_LENGTH)
		appendStringInfoString(&text, "BYTES");
	else
	{
		appendStringInfoString(&text, root_name(type->root));
		if (type->root == TYPE_DECIMAL)
			appendStringInfo(&text, "(%d, %d)", type->precision, type->scale);
		else if (root_has_length(type->root) && type->root != TYPE_VECTOR)
			appendStringInfo(&text, "(%d)", type->length);
		else if (type->root == TYPE_TIME || type->root == TYPE_TIMESTAMP ||
				 type->root == TYPE_TIMESTAMP_LTZ)
			appendStringInfo(&text, "(%d)", type->precision);
		if (type->root == TYPE_TIMESTAMP_LTZ)
			appendStringInfoString(&text, " WITH LOCAL TIME ZONE");
	}
	if (!type->nullable)
		appendStringInfoString(&text, " NOT NULL");
	return text.data;
}

static void
describe(StringInfo out, const DataType *type)
{
	if (type->nchildren == 0)
	{
		appendStringInfoString(out, type_to_text(type));
		return;
	}
	appendStringInfo(out, "%s<", root_name(type->root));
	for (int i = 0; i < type->nchildren; i++)
	{
		if (i > 0)
			appendStringInfoString(out, ", ");
		if (type->root == TYPE_ROW)
			appendStringInfo(out, "`%s` ", type->children[i].name);
		describe(out, type->children[i].type);
	}
	if (type->root == TYPE_VECTOR)
		appendStringInfo(out, ", %d", type->length);
	appendStringInfoString(out, type->nullable ? ">" : "> NOT NULL");
}

char *
type_describe(const DataType *type)
{
	StringInfoData text;

	initStringInfo(&text);
	describe(&text, type);
	return text.data;
}

/* ---- comparing ---- */

/* Fields of ROW have names and ids; elements, keys and values only a type. */
static bool
child_equal(TypeRoot parent, const DataField *a, const DataField *b)
{
	if (parent == TYPE_ROW && (a->id != b->id || strcmp(a->name, b->name) != 0))
		return false;
	return type_equal(a->type, b->type);
}

/* Equal in everything but nullability. */
bool
type_equal(const DataType *a, const DataType *b)
{
	if (a->root != b->root || a->length != b->length ||
		a->precision != b->precision || a->scale != b->scale ||
		a->nchildren != b->nchildren)
		return false;
	for (int i = 0; i < a->nchildren; i++)
	{
		if (!child_equal(a->root, &a->children[i], &b->children[i]))
			return false;
	}
	return true;
}

/* ---- parts of nested types ---- */

static DataType count_type = {.root = TYPE_INT, .nullable = false, .physical = PHYSICAL_INT32};
static DataType binary_type = {
	.root = TYPE_VARBINARY, .nullable = false, .physical = PHYSICAL_BYTES, .length = TYPE_MAX_LENGTH
};

static const DataField count_part = {.type = &count_type};
static const DataField variant_parts[] = {
	{.id = 0, .name = "value", .type = &binary_type},
	{.id = 1, .name = "metadata", .type = &binary_type},
};

int
type_part_count(const DataType *type)
{
	switch (type->root)
	{
		case TYPE_MULTISET:
			return 2;
		case TYPE_VARIANT:
			return lengthof(variant_parts);
		default:
			return type->nchildren;
	}
}

const DataField *
type_part(const DataType *type, int part)
{
	Assert(part >= 0 && part < type_part_count(type));
	if (type->root == TYPE_VARIANT)
		return &variant_parts[part];
	return part < type->nchildren ? &type->children[part] : &count_part;
}

/* ---- kinds of types ---- */

bool
type_is_nested(const DataType *type)
{
	return type->physical == PHYSICAL_LIST || type->physical == PHYSICAL_ROW;
}

bool
type_is_primitive(const DataType *type)
{
	return !type_is_nested(type) && type->root != TYPE_BLOB;
}

bool
type_is_supported(const DataType *type)
{
	if (type->root == TYPE_VECTOR)
		return false;
	for (int i = 0; i < type->nchildren; i++)
	{
		const DataType *child = type->children[i].type;

		/* a BLOB has a file of its own */
		if (child->root == TYPE_BLOB || !type_is_supported(child))
			return false;
	}
	return true;
}

bool
type_is_string(const DataType *type)
{
	return type->root == TYPE_CHAR || type->root == TYPE_VARCHAR;
}
