/*
 * encode_variant.c
 *		jsonb becomes VARIANT.
 *
 * Numbers become integers or decimals, as they do in Paimon; only those that
 * are neither become doubles, if these are the same.
 */
#include "postgres.h"

#include "common/shortest_dec.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "columnar/decimal.h"
#include "columnar/variant.h"
#include "fdw/encode.h"
#include "fdw/numeric.h"

/* What all of one value needs. */
typedef struct VariantEncoding
{
	const ColumnEncoder *encoder;
	StringInfoData value;
	VariantNames names;
} VariantEncoding;

static void append_value(VariantEncoding *encoding, const JsonbValue *json);

static BytesView
string_bytes(const JsonbValue *json)
{
	BytesView	bytes = {json->val.string.val, json->val.string.len};

	return bytes;
}

/* The names of all objects, at every depth. */
static void
collect_names(VariantNames *names, JsonbContainer *container)
{
	JsonbIterator *iterator = JsonbIteratorInit(container);
	JsonbIteratorToken token;
	JsonbValue	json;

	while ((token = JsonbIteratorNext(&iterator, &json, false)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			variant_add_name(names, string_bytes(&json));
	}
	variant_finish_names(names);
}

static void
append_double(VariantEncoding *encoding, Datum numeric)
{
	double		value = DatumGetFloat8(DirectFunctionCall1(numeric_float8, numeric));
	char		shortest[DOUBLE_SHORTEST_DECIMAL_LEN];
	Datum		again;

	double_to_shortest_decimal_buf(value, shortest);
	again = DirectFunctionCall3(numeric_in, CStringGetDatum(shortest), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
	if (!DatumGetBool(DirectFunctionCall2(numeric_eq, numeric, again)))
		encode_out_of_range(encoding->encoder);
	variant_append_double(&encoding->value, value);
}

static void
append_number(VariantEncoding *encoding, const JsonbValue *json)
{
	Datum		numeric = NumericGetDatum(json->val.numeric);
	int			scale = DatumGetInt32(DirectFunctionCall1(numeric_scale, numeric));
	DecimalValue decimal = {.place = DECIMAL_ABOVE};

	if (scale <= TYPE_MAX_DECIMAL_PRECISION)
		decimal = decimal_from_numeric((struct varlena *) DatumGetPointer(numeric), scale);
	if (decimal.place != DECIMAL_FINITE || !decimal_fits(decimal.rounded, TYPE_MAX_DECIMAL_PRECISION))
		append_double(encoding, numeric);
	else if (scale == 0 && decimal.rounded >= PG_INT64_MIN && decimal.rounded <= PG_INT64_MAX)
		variant_append_integer(&encoding->value, (int64) decimal.rounded);
	else
		variant_append_decimal(&encoding->value, decimal.rounded, scale);
}

static void
append_container(VariantEncoding *encoding, JsonbContainer *container)
{
	VariantMember *members = palloc(Max(JsonContainerSize(container), 1) * sizeof(VariantMember));
	int			start = encoding->value.len;
	JsonbIterator *iterator = JsonbIteratorInit(container);
	JsonbIteratorToken token;
	JsonbValue	json;
	int			count = 0;

	while ((token = JsonbIteratorNext(&iterator, &json, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			members[count].id = variant_name_id(&encoding->names, string_bytes(&json));
		else if (token == WJB_VALUE || token == WJB_ELEM)
		{
			members[count++].offset = encoding->value.len - start;
			append_value(encoding, &json);
		}
	}
	if (JsonContainerIsObject(container))
		variant_finish_object(&encoding->value, start, members, count);
	else
		variant_finish_array(&encoding->value, start, members, count);
	pfree(members);
}

static void
append_value(VariantEncoding *encoding, const JsonbValue *json)
{
	check_stack_depth();
	switch (json->type)
	{
		case jbvNull:
			variant_append_null(&encoding->value);
			break;
		case jbvBool:
			variant_append_boolean(&encoding->value, json->val.boolean);
			break;
		case jbvString:
			variant_append_string(&encoding->value, string_bytes(json));
			break;
		case jbvNumeric:
			append_number(encoding, json);
			break;
		default:
			append_container(encoding, json->val.binary.data);
			break;
	}
}

static void
set_part(Vector *target, int row, const StringInfoData *bytes)
{
	Scalar		scalar = {0};

	scalar.v.bytes.data = bytes->data;
	scalar.v.bytes.length = bytes->len;
	vector_set(target, row, &scalar);
}

void
encode_variant(const ColumnEncoder *encoder, const JsonbValue *value, Vector *target, int row)
{
	VariantEncoding encoding = {.encoder = encoder};
	StringInfoData metadata;

	initStringInfo(&encoding.value);
	initStringInfo(&metadata);
	if (value->type == jbvBinary)
		collect_names(&encoding.names, value->val.binary.data);
	append_value(&encoding, value);
	variant_append_metadata(&metadata, &encoding.names);
	if (encoding.value.len > VARIANT_MAX_SIZE || metadata.len > VARIANT_MAX_SIZE)
		encode_too_long(encoder);
	set_part(target->children[0], row, &encoding.value);
	set_part(target->children[1], row, &metadata);
}
