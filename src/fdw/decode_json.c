/*
 * decode_json.c
 *		Nested values of the lake become jsonb.
 *
 * A MAP or MULTISET whose keys are strings becomes an object, another one an
 * array of [key, value] pairs.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "fdw/decode.h"
#include "fdw/decode_variant.h"

static void put_value(JsonBuild *build, JsonbIteratorToken place, const ColumnDecoder *decoder, const Vector *vector,
					  int row);

static inline bool
is_null(const Vector *vector, int row)
{
	return vector->has_nulls && vector->nulls[row];
}

static void
put_array(JsonBuild *build, const ColumnDecoder *decoder, const Vector *vector, int row)
{
	ListView	list = vector->values.list[row];
	int32		i;

	json_bracket(build, WJB_BEGIN_ARRAY);
	for (i = 0; i < list.length; i++)
		put_value(build, WJB_ELEM, decoder->parts, vector->children[0], list.start + i);
	json_bracket(build, WJB_END_ARRAY);
}

static BytesView
map_key(const ColumnDecoder *key, const Vector *keys, int row)
{
	BytesView	bytes;

	if (is_null(keys, row))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("value of column \"%s\" of table \"%s\" is null", key->column, key->table)));
	bytes = vector_bytes(keys, row);
	decode_check_string(key, bytes);
	return bytes;
}

static void
put_map(JsonBuild *build, const ColumnDecoder *decoder, const Vector *vector, int row)
{
	bool		is_object = type_is_string(decoder->parts[0].type);
	ListView	list = vector->values.list[row];
	int32		i;

	json_bracket(build, is_object ? WJB_BEGIN_OBJECT : WJB_BEGIN_ARRAY);
	for (i = list.start; i < list.start + list.length; i++)
	{
		if (is_object)
		{
			json_key(build, map_key(&decoder->parts[0], vector->children[0], i));
			put_value(build, WJB_VALUE, &decoder->parts[1], vector->children[1], i);
			continue;
		}
		json_bracket(build, WJB_BEGIN_ARRAY);
		put_value(build, WJB_ELEM, &decoder->parts[0], vector->children[0], i);
		put_value(build, WJB_ELEM, &decoder->parts[1], vector->children[1], i);
		json_bracket(build, WJB_END_ARRAY);
	}
	json_bracket(build, is_object ? WJB_END_OBJECT : WJB_END_ARRAY);
}

static void
put_row(JsonBuild *build, const ColumnDecoder *decoder, const Vector *vector, int row)
{
	int			i;

	json_bracket(build, WJB_BEGIN_OBJECT);
	for (i = 0; i < decoder->nparts; i++)
	{
		const char *name = decoder->type->children[i].name;
		BytesView	bytes = {name, strlen(name)};

		json_key(build, bytes);
		put_value(build, WJB_VALUE, &decoder->parts[i], vector->children[i], row);
	}
	json_bracket(build, WJB_END_OBJECT);
}

static void
put_string(JsonBuild *build, JsonbIteratorToken place, const ColumnDecoder *decoder, BytesView bytes)
{
	decode_check_string(decoder, bytes);
	json_string(build, place, bytes);
}

static Datum
atom_datum(const ColumnDecoder *decoder, const Vector *vector, int row)
{
	Datum		datum;

	decoder->decode(decoder, vector, &row, 1, &datum);
	return datum;
}

static void
check_zero(const ColumnDecoder *decoder, double value)
{
	if (decoder->strict && value == 0 && signbit(value))
		decode_would_change(decoder, "a negative zero");
}

static void
put_atom(JsonBuild *build, JsonbIteratorToken place, const ColumnDecoder *decoder, const Vector *vector, int row)
{
	switch (decoder->type->root)
	{
		case TYPE_BOOLEAN:
			json_boolean(build, place, vector->values.i8[row] != 0);
			break;
		case TYPE_TINYINT:
			json_integer(build, place, vector->values.i8[row]);
			break;
		case TYPE_SMALLINT:
			json_integer(build, place, vector->values.i16[row]);
			break;
		case TYPE_INT:
			json_integer(build, place, vector->values.i32[row]);
			break;
		case TYPE_BIGINT:
			json_integer(build, place, vector->values.i64[row]);
			break;
		case TYPE_FLOAT:
			check_zero(decoder, vector->values.f32[row]);
			json_float(build, place, vector->values.f32[row]);
			break;
		case TYPE_DOUBLE:
			check_zero(decoder, vector->values.f64[row]);
			json_double(build, place, vector->values.f64[row]);
			break;
		case TYPE_DECIMAL:
			json_numeric(build, place, DatumGetNumeric(atom_datum(decoder, vector, row)));
			break;
		case TYPE_CHAR:
		case TYPE_VARCHAR:
			put_string(build, place, decoder, vector_bytes(vector, row));
			break;
		case TYPE_BINARY:
		case TYPE_VARBINARY:
		case TYPE_BLOB:
			json_bytea(build, place, vector_bytes(vector, row));
			break;
		default:
			json_datetime(build, place, atom_datum(decoder, vector, row), decoder->typid);
			break;
	}
}

static void
put_value(JsonBuild *build, JsonbIteratorToken place, const ColumnDecoder *decoder, const Vector *vector, int row)
{
	check_stack_depth();
	if (is_null(vector, row))
	{
		json_null(build, place);
		return;
	}
	switch (decoder->type->root)
	{
		case TYPE_ARRAY:
		case TYPE_VECTOR:
			put_array(build, decoder, vector, row);
			break;
		case TYPE_MAP:
		case TYPE_MULTISET:
			put_map(build, decoder, vector, row);
			break;
		case TYPE_ROW:
			put_row(build, decoder, vector, row);
			break;
		case TYPE_VARIANT:
			decode_variant(build, place, decoder, vector_bytes(vector->children[1], row),
						   vector_bytes(vector->children[0], row));
			break;
		default:
			put_atom(build, place, decoder, vector, row);
			break;
	}
}

static void
decode_json(const ColumnDecoder *decoder, const Vector *vector, const int32 *rows, int nrows, Datum *values)
{
	MemoryContext result = CurrentMemoryContext;
	MemoryContext work = AllocSetContextCreate(result, "streamhouse jsonb value", ALLOCSET_DEFAULT_SIZES);
	int			i;
	int			r;

	MemoryContextSwitchTo(work);
	FOR_EACH_VALUE(i, r)
	{
		JsonBuild	build = {0};

		CHECK_FOR_INTERRUPTS();
		put_value(&build, WJB_ELEM, decoder, vector, r);
		values[i] = json_result(&build, result);
		MemoryContextReset(work);
	}
	MemoryContextSwitchTo(result);
	MemoryContextDelete(work);
}

static const char *
part_path(const ColumnDecoder *decoder, int part)
{
	switch (decoder->type->root)
	{
		case TYPE_ROW:
			return psprintf("%s.%s", decoder->column, type_part(decoder->type, part)->name);
		case TYPE_MAP:
		case TYPE_MULTISET:
			return psprintf("%s[].%s", decoder->column, part == 0 ? "key" : "value");
		default:
			return psprintf("%s[]", decoder->column);
	}
}

/* It becomes a key. */
static void
check_field_name(const ColumnDecoder *decoder, const char *name)
{
	BytesView	bytes = {name, strlen(name)};

	decode_check_string(decoder, bytes);
}

void
decoder_init_json(ColumnDecoder *decoder)
{
	int			i;

	decode_require_encoding(decoder);
	decoder->decode = decode_json;
	if (decoder->type->root == TYPE_VARIANT)
		return;
	decoder->nparts = type_part_count(decoder->type);
	decoder->parts = palloc0(Max(decoder->nparts, 1) * sizeof(ColumnDecoder));
	for (i = 0; i < decoder->nparts; i++)
	{
		const DataType *type = type_part(decoder->type, i)->type;
		Oid			typid = JSONBOID;
		int32		typmod = -1;

		if (decoder->type->root == TYPE_ROW)
			check_field_name(decoder, type_part(decoder->type, i)->name);
		if (!type_is_nested(type))
			sql_type_of_lake(type, &typid, &typmod);
		column_decoder_init(&decoder->parts[i], decoder->table, part_path(decoder, i), type, typid, typmod);
	}
}
