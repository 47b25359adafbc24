/*
 * cast.c
 *		Which cast there is between two types, and its application to vectors.
 *
 * Numbers are cast by loops of their own, nested types part by part; all else
 * value by value.
 */
#include "postgres.h"

#include "columnar/cast.h"
#include "columnar/cast_value.h"
#include "columnar/value_text.h"
#include "utils/memutils.h"

#define SHOWN_LENGTH 100		/* of a value in a message */

/* Types whose values are cast alike */
typedef enum TypeFamily
{
	FAMILY_BOOLEAN,
	FAMILY_INTEGER,
	FAMILY_REAL,
	FAMILY_DECIMAL,
	FAMILY_STRING,
	FAMILY_BINARY,
	FAMILY_DATE,
	FAMILY_TIME,
	FAMILY_TIMESTAMP,
	FAMILY_NONE
} TypeFamily;

static TypeFamily
type_family(const DataType *type)
{
	switch (type->root)
	{
		case TYPE_BOOLEAN:
			return FAMILY_BOOLEAN;
		case TYPE_TINYINT:
		case TYPE_SMALLINT:
		case TYPE_INT:
		case TYPE_BIGINT:
			return FAMILY_INTEGER;
		case TYPE_FLOAT:
		case TYPE_DOUBLE:
			return FAMILY_REAL;
		case TYPE_DECIMAL:
			return FAMILY_DECIMAL;
		case TYPE_CHAR:
		case TYPE_VARCHAR:
			return FAMILY_STRING;
		case TYPE_BINARY:
		case TYPE_VARBINARY:
			return FAMILY_BINARY;
		case TYPE_DATE:
			return FAMILY_DATE;
		case TYPE_TIME:
			return FAMILY_TIME;
		case TYPE_TIMESTAMP:
		case TYPE_TIMESTAMP_LTZ:
			return FAMILY_TIMESTAMP;
		default:
			return FAMILY_NONE;
	}
}

/* ---- which cast ---- */

static CastValue
find_cast_to_string(const DataType *from, const DataType *to)
{
	switch (type_family(from))
	{
		case FAMILY_STRING:
			return cast_string_to_string;
		case FAMILY_BINARY:
			return cast_bytes_to_string;
		case FAMILY_BOOLEAN:
		case FAMILY_INTEGER:
		case FAMILY_REAL:
		case FAMILY_DECIMAL:
			return cast_print;
		case FAMILY_DATE:
		case FAMILY_TIME:
		case FAMILY_TIMESTAMP:
			/* not to lengths that might cut them */
			return to->root == TYPE_VARCHAR && to->length == TYPE_MAX_LENGTH ? cast_print : NULL;
		default:
			return cast_is_printable(from) ? cast_print : NULL;
	}
}

static CastValue
find_cast_to_number(const DataType *from, const DataType *to)
{
	bool		to_integer = type_family(to) == FAMILY_INTEGER;

	switch (type_family(from))
	{
		case FAMILY_DECIMAL:
			return to_integer ? cast_decimal_to_integer : cast_decimal_to_real;
		case FAMILY_STRING:
			return to_integer ? cast_parse_integer : cast_parse_real;
		case FAMILY_TIMESTAMP:
			return to->root == TYPE_INT || to->root == TYPE_BIGINT ? cast_timestamp_to_integer : NULL;
		default:
			return NULL;
	}
}

static CastValue
find_cast_to_decimal(const DataType *from)
{
	switch (type_family(from))
	{
		case FAMILY_BOOLEAN:
		case FAMILY_INTEGER:
			return cast_integer_to_decimal;
		case FAMILY_REAL:
			return cast_real_to_decimal;
		case FAMILY_DECIMAL:
			return cast_decimal_to_decimal;
		case FAMILY_STRING:
			return cast_parse_decimal;
		default:
			return NULL;
	}
}

static CastValue
find_cast_to_timestamp(const DataType *from)
{
	switch (type_family(from))
	{
		case FAMILY_INTEGER:
			return from->root == TYPE_INT || from->root == TYPE_BIGINT ? cast_integer_to_timestamp : NULL;
		case FAMILY_STRING:
			return cast_parse_timestamp;
		case FAMILY_DATE:
			return cast_date_to_timestamp;
		case FAMILY_TIME:
			return cast_time_to_timestamp;
		case FAMILY_TIMESTAMP:
			return cast_timestamp_to_timestamp;
		default:
			return NULL;
	}
}

static CastValue
find_value_cast(const DataType *from, const DataType *to)
{
	TypeFamily	family = type_family(from);

	switch (type_family(to))
	{
		case FAMILY_BOOLEAN:
			return family == FAMILY_INTEGER ? cast_integer_to_boolean :
				family == FAMILY_STRING ? cast_parse_boolean : NULL;
		case FAMILY_INTEGER:
		case FAMILY_REAL:
			return find_cast_to_number(from, to);
		case FAMILY_DECIMAL:
			return find_cast_to_decimal(from);
		case FAMILY_STRING:
			return find_cast_to_string(from, to);
		case FAMILY_BINARY:
			return family == FAMILY_STRING || family == FAMILY_BINARY ? cast_bytes_to_bytes : NULL;
		case FAMILY_DATE:
			return family == FAMILY_STRING ? cast_parse_date :
				family == FAMILY_TIMESTAMP ? cast_timestamp_to_date : NULL;
		case FAMILY_TIME:
			return family == FAMILY_STRING ? cast_parse_time :
				family == FAMILY_TIMESTAMP ? cast_timestamp_to_time : NULL;
		case FAMILY_TIMESTAMP:
			return find_cast_to_timestamp(from);
		default:
			return NULL;
	}
}

static CastLoop
find_loop(const DataType *from, const DataType *to)
{
	TypeFamily	from_family = type_family(from);
	TypeFamily	to_family = type_family(to);

	if ((to_family == FAMILY_INTEGER || to_family == FAMILY_REAL) &&
		(from_family == FAMILY_INTEGER || from_family == FAMILY_REAL || from_family == FAMILY_BOOLEAN))
		return cast_number_loop(from->physical, to->physical);
	return NULL;
}

bool
cast_is_supported(const DataType *from, const DataType *to)
{
	if (type_is_nested(to))
		return cast_nested_is_supported(from, to);
	return type_equal(from, to) || find_loop(from, to) != NULL || find_value_cast(from, to) != NULL;
}

bool
cast_is_identity(const DataType *from, const DataType *to)
{
	TypeFamily	family = type_family(from);

	if (type_is_nested(to))
		return cast_nested_is_identity(from, to);
	if (type_equal(from, to))
		return true;
	if (family != type_family(to) || from->physical != to->physical)
		return false;
	switch (family)
	{
		case FAMILY_STRING:
			return to->root == TYPE_VARCHAR && to->length == TYPE_MAX_LENGTH;
		case FAMILY_BINARY:
			return to->root == TYPE_VARBINARY && to->length == TYPE_MAX_LENGTH;
		case FAMILY_DECIMAL:
			return from->scale == to->scale && from->precision <= to->precision;
		case FAMILY_TIMESTAMP:
			return from->precision <= to->precision &&
				(from->precision <= MILLIS_PRECISION) == (to->precision <= MILLIS_PRECISION);
		default:
			return false;
	}
}

bool
cast_is_widening(const DataType *from, const DataType *to)
{
	return type_family(from) == FAMILY_INTEGER && type_family(to) == FAMILY_INTEGER &&
		physical_size(from->physical) < physical_size(to->physical);
}

bool
cast_integer(const DataType *from, const DataType *to, Scalar *value)
{
	int64		integer;

	if (value->isnull)
		return true;
	integer = scalar_integer(from->physical, value);
	cast_set_integer(to, value, integer);
	return scalar_integer(to->physical, value) == integer;
}

/* ---- vectors ---- */

Cast *
cast_create(const DataType *from, const DataType *to)
{
	Cast	   *cast = (Cast *) palloc0(sizeof(Cast));

	cast->state.from = from;
	cast->state.to = to;
	if (!cast_is_supported(from, to))
		elog(ERROR, "there is no cast from %s to %s", type_to_text(from), type_to_text(to));
	cast->loop = find_loop(from, to);
	cast->value = find_value_cast(from, to);
	if (type_is_nested(to))
		cast_nested_init(cast);
	if (to->physical == PHYSICAL_BYTES)
		cast->state.strings = AllocSetContextCreate(CurrentMemoryContext, "streamhouse cast strings",
													ALLOCSET_DEFAULT_SIZES);
	initStringInfo(&cast->state.text);
	return cast;
}

static void
copy_nulls(const Vector *source, const int32 *selection, int nselected, Vector *target)
{
	static const Scalar null_value = {.isnull = true};

	if (!source->has_nulls)
		return;
	for (int i = 0; i < nselected; i++)
	{
		int			row = selection == NULL ? i : selection[i];

		if (source->nulls[row])
			vector_set(target, row, &null_value);
	}
}

/* A sentence about a value for which there is no other; of long ones the beginning, in whole characters. */
static const char *
describe_failure(CastState *state, const Scalar *value)
{
	StringInfoData text;
	int			length;

	initStringInfo(&text);
	if (!value_to_text(&text, state->from, value, VALUE_TEXT_CAST))
		return psprintf("A value of type %s has no counterpart of type %s.",
						type_to_text(state->from), type_to_text(state->to));
	length = Min(text.len, SHOWN_LENGTH);
	while (length < text.len && length > 0 && (text.data[length] & 0xc0) == 0x80)
		length--;
	return psprintf("The value \"%.*s\" of type %s has no counterpart of type %s.",
					length, text.data, type_to_text(state->from), type_to_text(state->to));
}

const char *
cast_vector(Cast *cast, const Vector *source, const int32 *selection, int nselected, Vector *target)
{
	CastState  *state = &cast->state;

	vector_reset(target);
	if (cast->parts != NULL)
		return cast_nested_vector(cast, source, selection, nselected, target);
	if (cast->loop != NULL)
	{
		cast->loop(source, selection, nselected, target);
		copy_nulls(source, selection, nselected, target);
		return NULL;
	}

	if (state->strings != NULL)
	{
		MemoryContextReset(state->strings);
		state->nfree = 0;
	}
	for (int i = 0; i < nselected; i++)
	{
		int			row = selection == NULL ? i : selection[i];
		Scalar		in = vector_get(source, row);
		Scalar		out = {0};

		if (in.isnull)
			out.isnull = true;
		else
		{
			CastResult	result = cast->value(state, &in, &out);

			if (result == CAST_FAILED)
				return describe_failure(state, &in);
			out.isnull = result == CAST_NULL;
		}
		vector_set(target, row, &out);
	}
	return NULL;
}
