/*
 * encode_json.c
 *		jsonb becomes nested values of the lake.
 *
 * It takes what decode_json.c makes.  Numbers may come as strings, a MAP's
 * keys always do in an object; fields of a ROW that an object lacks are null,
 * those that the lake lacks an error.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "lib/qunique.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"

#include "columnar/compare.h"
#include "fdw/encode.h"

static void fill_value(const ColumnEncoder *encoder, const JsonbValue *json, Vector *target, int row);

static const char *
json_kind(const JsonbValue *json)
{
	switch (json->type)
	{
		case jbvNull:
			return "null";
		case jbvString:
			return "string";
		case jbvNumeric:
			return "number";
		case jbvBool:
			return "boolean";
		default:
			return JsonContainerIsObject(json->val.binary.data) ? "object" : "array";
	}
}

static pg_noinline void
json_mismatch(const ColumnEncoder *encoder, const JsonbValue *json)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("column \"%s\" of table \"%s\" cannot take a JSON %s", encoder->column, encoder->table, json_kind(json)),
			 errdetail("The column's type in the lake is %s.", type_describe(encoder->type))));
}

/* The container of an array or object, NULL if it is neither. */
static JsonbContainer *
json_container(const JsonbValue *json)
{
	return json->type == jbvBinary ? json->val.binary.data : NULL;
}

/* ---- atoms ---- */

static Datum
number_datum(const ColumnEncoder *encoder, const JsonbValue *json)
{
	Datum		numeric = NumericGetDatum(json->val.numeric);

	switch (encoder->typid)
	{
		case INT2OID:
			return DirectFunctionCall1(numeric_int2, numeric);
		case INT4OID:
			return DirectFunctionCall1(numeric_int4, numeric);
		case INT8OID:
			return DirectFunctionCall1(numeric_int8, numeric);
		case FLOAT4OID:
			return DirectFunctionCall1(numeric_float4, numeric);
		case FLOAT8OID:
			return DirectFunctionCall1(numeric_float8, numeric);
		case NUMERICOID:
			return numeric;
		default:
			json_mismatch(encoder, json);
			return (Datum) 0;	/* keep compiler quiet */
	}
}

static Datum
string_datum(const ColumnEncoder *encoder, const JsonbValue *json)
{
	const char *string = json->val.string.val;
	int			length = json->val.string.len;

	if (encoder->typid == TEXTOID)
		return PointerGetDatum(cstring_to_text_with_len(string, length));
	return InputFunctionCall(encoder->input, pnstrdup(string, length),
							 encoder->input_parameter, -1);
}

static void
atom_error_context(void *arg)
{
	const ColumnEncoder *encoder = arg;

	errcontext("value for column \"%s\" of table \"%s\"", encoder->column, encoder->table);
}

static Datum
atom_datum(const ColumnEncoder *encoder, const JsonbValue *json)
{
	ErrorContextCallback callback;
	Datum		datum = (Datum) 0;

	callback.callback = atom_error_context;
	callback.arg = unconstify(ColumnEncoder *, encoder);
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	if (json->type == jbvNumeric)
		datum = number_datum(encoder, json);
	else if (json->type == jbvString)
		datum = string_datum(encoder, json);
	else if (json->type == jbvBool && encoder->typid == BOOLOID)
		datum = BoolGetDatum(json->val.boolean);
	else
		json_mismatch(encoder, json);
	error_context_stack = callback.previous;
	return datum;
}

/* ---- arrays and objects ---- */

static void
fill_array(const ColumnEncoder *encoder, const JsonbValue *json, Vector *target, int row)
{
	JsonbContainer *container = json_container(json);
	JsonbIteratorToken token;
	JsonbIterator *iterator;
	JsonbValue	element;
	int32		at;

	if (container == NULL || !JsonContainerIsArray(container))
		json_mismatch(encoder, json);
	at = encode_list(encoder, target, row, JsonContainerSize(container));
	iterator = JsonbIteratorInit(container);
	while ((token = JsonbIteratorNext(&iterator, &element, true)) != WJB_DONE)
	{
		if (token == WJB_ELEM)
			fill_value(encoder->parts, &element, target->children[0], at++);
	}
}

/* Of MAP and MULTISET; files have no null there. */
static void
fill_key(const ColumnEncoder *encoder, const JsonbValue *json, Vector *target, int row)
{
	if (json->type == jbvNull)
		ereport(ERROR,
				(errcode(ERRCODE_NOT_NULL_VIOLATION),
				 errmsg("null value for column \"%s\" of table \"%s\", which is a key", encoder->column, encoder->table)));
	fill_value(encoder, json, target, row);
}

static void
fill_pair(const ColumnEncoder *encoder, const JsonbValue *pair, Vector *target, int32 at)
{
	JsonbContainer *container = json_container(pair);

	if (container == NULL || !JsonContainerIsArray(container) || JsonContainerSize(container) != 2)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of table \"%s\" cannot take this JSON array", encoder->column, encoder->table),
				 errdetail("Its elements must be pairs: arrays of a key and a value.")));
	fill_key(&encoder->parts[0], getIthJsonbValueFromContainer(container, 0), target->children[0], at);
	fill_value(&encoder->parts[1], getIthJsonbValueFromContainer(container, 1), target->children[1], at);
}

static int
compare_keys(const void *a, const void *b, void *keys)
{
	return vector_compare(keys, *(const int32 *) a, keys, *(const int32 *) b);
}

static void
check_keys_differ(const ColumnEncoder *encoder, Vector *keys, ListView list)
{
	int32	   *rows;
	int32		i;

	if (list.length < 2 || !type_is_primitive(keys->type))
		return;
	rows = palloc(list.length * sizeof(int32));
	for (i = 0; i < list.length; i++)
		rows[i] = list.start + i;
	qsort_arg(rows, list.length, sizeof(int32), compare_keys, keys);
	if (qunique_arg(rows, list.length, sizeof(int32), compare_keys, keys) < list.length)
		ereport(ERROR,
				(errcode(ERRCODE_UNIQUE_VIOLATION),
				 errmsg("value for column \"%s\" of table \"%s\" has a key twice", encoder->column, encoder->table)));
	pfree(rows);
}

static void
fill_map(const ColumnEncoder *encoder, const JsonbValue *json, Vector *target, int row)
{
	JsonbContainer *container = json_container(json);
	JsonbIteratorToken token;
	JsonbIterator *iterator;
	JsonbValue	value;
	int32		at;

	if (container == NULL)
		json_mismatch(encoder, json);
	at = encode_list(encoder, target, row, JsonContainerSize(container));
	iterator = JsonbIteratorInit(container);
	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			fill_key(&encoder->parts[0], &value, target->children[0], at);
		else if (token == WJB_VALUE)
			fill_value(&encoder->parts[1], &value, target->children[1], at++);
		else if (token == WJB_ELEM)
			fill_pair(encoder, &value, target, at++);
	}
	check_keys_differ(encoder, target->children[0], target->values.list[row]);
}

static bool
has_field(const DataType *type, const JsonbValue *key)
{
	int			i;

	for (i = 0; i < type->nchildren; i++)
	{
		const char *name = type->children[i].name;

		if (strlen(name) == key->val.string.len && memcmp(name, key->val.string.val, key->val.string.len) == 0)
			return true;
	}
	return false;
}

static pg_noinline void
unknown_field(const ColumnEncoder *encoder, JsonbContainer *container)
{
	JsonbIterator *iterator = JsonbIteratorInit(container);
	JsonbIteratorToken token;
	JsonbValue	value;

	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
	{
		if (token == WJB_KEY && !has_field(encoder->type, &value))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("column \"%s\" of table \"%s\" has no field \"%s\"", encoder->column, encoder->table,
							pnstrdup(value.val.string.val, value.val.string.len)),
					 errdetail("The column's type in the lake is %s.", type_describe(encoder->type))));
	}
}

static void
fill_row(const ColumnEncoder *encoder, const JsonbValue *json, Vector *target, int row)
{
	JsonbContainer *container = json_container(json);
	JsonbValue	missing = {.type = jbvNull};
	int			found = 0;
	int			i;

	if (container == NULL || !JsonContainerIsObject(container))
		json_mismatch(encoder, json);
	for (i = 0; i < encoder->nparts; i++)
	{
		const char *name = encoder->type->children[i].name;
		JsonbValue *field = getKeyJsonValueFromContainer(container, name, strlen(name), NULL);

		found += field != NULL;
		fill_value(&encoder->parts[i], field ? field : &missing, target->children[i], row);
	}
	if (found < JsonContainerSize(container))
		unknown_field(encoder, container);
}

static void
fill_value(const ColumnEncoder *encoder, const JsonbValue *json, Vector *target, int row)
{
	check_stack_depth();
	if (json->type == jbvNull && (encoder->type->root != TYPE_VARIANT || encoder->type->nullable))
	{
		encode_into(encoder, (Datum) 0, true, target, row);
		return;
	}
	switch (encoder->type->root)
	{
		case TYPE_ARRAY:
		case TYPE_VECTOR:
			fill_array(encoder, json, target, row);
			break;
		case TYPE_MAP:
		case TYPE_MULTISET:
			fill_map(encoder, json, target, row);
			break;
		case TYPE_ROW:
			fill_row(encoder, json, target, row);
			break;
		case TYPE_VARIANT:
			encode_variant(encoder, json, target, row);
			break;
		default:
			encode_into(encoder, atom_datum(encoder, json), false, target, row);
			break;
	}
}

/* A whole datum: JSON's null is a value of VARIANT, and NULL to the others. */
static void
fill_json(const ColumnEncoder *encoder, Datum value, Vector *target, int row)
{
	Jsonb	   *jsonb = DatumGetJsonbP(value);
	JsonbValue	json;

	if (JB_ROOT_IS_SCALAR(jsonb))
		(void) JsonbExtractScalar(&jsonb->root, &json);
	else
	{
		json.type = jbvBinary;
		json.val.binary.data = &jsonb->root;
		json.val.binary.len = VARSIZE(jsonb) - VARHDRSZ;
	}
	if (encoder->type->root == TYPE_VARIANT)
		encode_variant(encoder, &json, target, row);
	else
		fill_value(encoder, &json, target, row);
}

/* ---- encoders ---- */

static const char *
part_path(const ColumnEncoder *encoder, int part)
{
	switch (encoder->type->root)
	{
		case TYPE_ROW:
			return psprintf("%s.%s", encoder->column, type_part(encoder->type, part)->name);
		case TYPE_MAP:
		case TYPE_MULTISET:
			return psprintf("%s[].%s", encoder->column, part == 0 ? "key" : "value");
		default:
			return psprintf("%s[]", encoder->column);
	}
}

/* The encoder of an atom takes text, or what text and numbers become. */
static void
init_part(ColumnEncoder *encoder, int part)
{
	ColumnEncoder *child = &encoder->parts[part];
	const DataType *type = type_part(encoder->type, part)->type;
	Oid			typid = JSONBOID;
	int32		typmod;
	Oid			function;

	if (type_is_string(type))
		typid = TEXTOID;
	else if (!type_is_nested(type))
		sql_type_of_lake(type, &typid, &typmod);
	column_encoder_init(child, encoder->table, part_path(encoder, part), type, typid);
	if (type_is_nested(type))
		return;
	getTypeInputInfo(typid, &function, &child->input_parameter);
	child->input = palloc(sizeof(FmgrInfo));
	fmgr_info(function, child->input);
}

void
encoder_init_json(ColumnEncoder *encoder)
{
	int			i;

	encode_require_encoding(encoder);
	encoder->fill = fill_json;
	if (encoder->type->root == TYPE_VARIANT)
		return;
	encoder->nparts = type_part_count(encoder->type);
	encoder->parts = palloc0(Max(encoder->nparts, 1) * sizeof(ColumnEncoder));
	for (i = 0; i < encoder->nparts; i++)
		init_part(encoder, i);
}
