/*
 * cast_text.c
 *		Casts to strings and bytes, and from strings to numbers.
 *
 * Strings are cut and filled by characters, bytes by bytes.  Numbers in
 * strings are read as Java reads them, which differs by the type.
 */
#include "postgres.h"

#include <math.h>

#include "columnar/cast_value.h"
#include "columnar/decimal.h"
#include "columnar/value_text.h"
#include "utils/memutils.h"

#define PIECE_LENGTH (64 * 1024)
#define MAX_DIGITS (TYPE_MAX_DECIMAL_PRECISION + 1)
#define MAX_EXPONENT PG_INT32_MAX

/* ---- strings and bytes ---- */

/* Room for a string that stays until the next vector. */
static char *
string_room(CastState *state, Size length)
{
	char	   *room;

	if (length > state->nfree)
	{
		Size		piece = Max(length, PIECE_LENGTH);

		if (MemoryContextMemAllocated(state->strings, false) > MaxAllocSize)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("values of type %s are too long", type_to_text(state->to))));
		state->free = (char *) MemoryContextAllocHuge(state->strings, piece);
		state->nfree = piece;
	}
	room = state->free;
	state->free += length;
	state->nfree -= length;
	return room;
}

static BytesView
copy_and_fill(CastState *state, BytesView bytes, char filler, Size nfillers)
{
	char	   *copy = string_room(state, bytes.length + nfillers);

	if (bytes.length > 0)
		memcpy(copy, bytes.data, bytes.length);
	memset(copy + bytes.length, filler, nfillers);
	if (nfillers > PG_UINT32_MAX - bytes.length)
		elog(ERROR, "string is too long");
	bytes.data = copy;
	bytes.length += nfillers;
	return bytes;
}

/* The length of a character by its first byte; what begins none is one by itself. */
static inline int
character_length(unsigned char first)
{
	if (first < 0xc2)
		return 1;
	return first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf8 ? 4 : 1;
}

/* Cut to the characters of the type; how many they are then. */
static int32
cut_string(const DataType *type, BytesView *string)
{
	uint32		at = 0;
	int32		ncharacters = 0;

	while (at < string->length && ncharacters < type->length)
	{
		at += character_length((unsigned char) string->data[at]);
		ncharacters++;
	}
	string->length = Min(at, string->length);
	return ncharacters;
}

static BytesView
fit_string(CastState *state, BytesView string, bool copy)
{
	const DataType *type = state->to;
	Size		nfillers = 0;

	if (type->root == TYPE_CHAR || string.length > (uint32) type->length)
	{
		int32		ncharacters = cut_string(type, &string);

		if (type->root == TYPE_CHAR)
			nfillers = type->length - ncharacters;
	}
	return copy || nfillers > 0 ? copy_and_fill(state, string, ' ', nfillers) : string;
}

CastResult
cast_string_to_string(CastState *state, const Scalar *in, Scalar *out)
{
	out->v.bytes = fit_string(state, in->v.bytes, false);
	return CAST_DONE;
}

/* Bytes become strings whatever their length. */
CastResult
cast_bytes_to_string(CastState *state, const Scalar *in, Scalar *out)
{
	out->v.bytes = in->v.bytes;
	return CAST_DONE;
}

CastResult
cast_bytes_to_bytes(CastState *state, const Scalar *in, Scalar *out)
{
	uint32		length = (uint32) state->to->length;

	out->v.bytes = in->v.bytes;
	if (out->v.bytes.length > length)
		out->v.bytes.length = length;
	else if (state->to->root == TYPE_BINARY && out->v.bytes.length < length)
		out->v.bytes = copy_and_fill(state, in->v.bytes, '\0', length - in->v.bytes.length);
	return CAST_DONE;
}

/* ---- values of all other types ---- */

bool
cast_is_printable(const DataType *type)
{
	if (!type_is_nested(type))
		return type->root != TYPE_BLOB;
	if (type->root != TYPE_ARRAY && type->root != TYPE_MAP && type->root != TYPE_ROW)
		return false;
	for (int i = 0; i < type_part_count(type); i++)
	{
		if (!cast_is_printable(type_part(type, i)->type))
			return false;
	}
	return true;
}

static bool append_nested(StringInfo text, const DataType *type, NestedView nested);

static bool
append_value(StringInfo text, const DataType *type, const Scalar *value)
{
	if (value->isnull)
	{
		appendStringInfoString(text, "null");
		return true;
	}
	if (type_is_nested(type))
		return append_nested(text, type, value->v.nested);
	return value_to_text(text, type, value, VALUE_TEXT_CAST_UTC);
}

static bool
append_part(StringInfo text, const Vector *vector, int part, int row)
{
	Scalar		value = vector_get(vector->children[part], row);

	return append_value(text, vector->children[part]->type, &value);
}

/* "[1, null]", "{key -> value}", "{field, field}" */
static bool
append_nested(StringInfo text, const DataType *type, NestedView nested)
{
	const Vector *vector = nested.vector;
	bool		is_row = type->root == TYPE_ROW;
	ListView	list = {0, vector->nchildren};

	if (!is_row)
		list = vector->values.list[nested.row];
	appendStringInfoChar(text, type->root == TYPE_ARRAY ? '[' : '{');
	for (int i = 0; i < list.length; i++)
	{
		if (i > 0)
			appendStringInfoString(text, ", ");
		if (!append_part(text, vector, is_row ? i : 0, is_row ? nested.row : list.start + i))
			return false;
		if (type->root != TYPE_MAP)
			continue;
		appendStringInfoString(text, " -> ");
		if (!append_part(text, vector, 1, list.start + i))
			return false;
	}
	appendStringInfoChar(text, type->root == TYPE_ARRAY ? ']' : '}');
	return true;
}

/* Nested values become strings whatever their length. */
CastResult
cast_print(CastState *state, const Scalar *in, Scalar *out)
{
	BytesView	text;

	resetStringInfo(&state->text);
	if (!append_value(&state->text, state->from, in))
		return CAST_FAILED;
	text.data = state->text.data;
	text.length = state->text.len;
	if (type_is_nested(state->from))
		out->v.bytes = copy_and_fill(state, text, ' ', 0);
	else
		out->v.bytes = fit_string(state, text, true);
	return CAST_DONE;
}

/* ---- booleans and integers from strings ---- */

CastResult
cast_parse_boolean(CastState *state, const Scalar *in, Scalar *out)
{
	static const char *const words[2][5] = {
		{"f", "false", "n", "no", "0"},
		{"t", "true", "y", "yes", "1"},
	};
	BytesView	text = in->v.bytes;

	for (int value = 0; value < 2; value++)
	{
		for (int i = 0; i < lengthof(words[value]); i++)
		{
			const char *word = words[value][i];

			if (strlen(word) == text.length && pg_strncasecmp(word, text.data, text.length) == 0)
			{
				out->v.i8 = value;
				return CAST_DONE;
			}
		}
	}
	return CAST_FAILED;
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool
cast_integer_from_text(BytesView text, int64 min, int64 max, int64 *value)
{
	const char *at = text.data;
	const char *end = text.data + text.length;
	bool		negative = text.length > 0 && *at == '-';
	int64		result = 0;

	if (negative || (text.length > 0 && *at == '+'))
		at++;
	if (at == end)
		return false;
	for (; at < end && is_digit(*at); at++)
	{
		int			digit = *at - '0';

		if (__builtin_mul_overflow(result, 10, &result) ||
			__builtin_sub_overflow(result, negative ? digit : -digit, &result))
			return false;
	}
	if (at < end && *at == '.')
	{
		for (at++; at < end && is_digit(*at);)
			at++;
	}
	*value = result;
	return at == end && result >= min && result <= max;
}

CastResult
cast_parse_integer(CastState *state, const Scalar *in, Scalar *out)
{
	int			bits = (int) physical_size(state->to->physical) * 8;
	int64		max = PG_INT64_MAX >> (64 - bits);
	int64		value;

	if (!cast_integer_from_text(in->v.bytes, -max - 1, max, &value))
		return CAST_FAILED;
	cast_set_integer(state->to, out, value);
	return CAST_DONE;
}

/* ---- floats from strings ---- */

static const char *
skip_digits(const char *at, const char *end)
{
	while (at < end && is_digit(*at))
		at++;
	return at;
}

static const char *
skip_hex_digits(const char *at, const char *end)
{
	while (at < end && (is_digit(*at) || (*at >= 'a' && *at <= 'f') || (*at >= 'A' && *at <= 'F')))
		at++;
	return at;
}

static bool
is_letter(const char *at, const char *end, char lower)
{
	return at < end && (*at | 0x20) == lower;
}

/* Skip an exponent that begins with this letter; NULL when there is the letter alone. */
static const char *
skip_exponent(const char *at, const char *end, char letter)
{
	const char *digits;

	if (!is_letter(at, end, letter))
		return at;
	at++;
	if (at < end && (*at == '+' || *at == '-'))
		at++;
	digits = at;
	at = skip_digits(at, end);
	return at > digits ? at : NULL;
}

/* Skip digits, a point and digits, at least one of them; NULL if there is none. */
static const char *
skip_mantissa(const char *at, const char *end, const char *(*skip) (const char *at, const char *end))
{
	const char *start = at;
	int			npoints = 0;

	at = skip(at, end);
	if (at < end && *at == '.')
	{
		npoints++;
		at = skip(at + 1, end);
	}
	return at - start > npoints ? at : NULL;
}

/* Is it a number, without the sign, as Double.parseDouble takes it? */
static bool
is_java_float(const char *at, const char *end)
{
	bool		hexadecimal = end - at > 2 && *at == '0' && is_letter(at + 1, end, 'x');

	if ((end - at == 3 && memcmp(at, "NaN", 3) == 0) || (end - at == 8 && memcmp(at, "Infinity", 8) == 0))
		return true;
	if (hexadecimal)
	{
		at = skip_mantissa(at + 2, end, skip_hex_digits);
		if (at == NULL || !is_letter(at, end, 'p'))
			return false;
		at = skip_exponent(at, end, 'p');
	}
	else
	{
		at = skip_mantissa(at, end, skip_digits);
		if (at != NULL)
			at = skip_exponent(at, end, 'e');
	}
	if (at != NULL && (is_letter(at, end, 'f') || is_letter(at, end, 'd')))
		at++;
	return at == end;
}

CastResult
cast_parse_real(CastState *state, const Scalar *in, Scalar *out)
{
	const char *start = in->v.bytes.data;
	const char *end = start + in->v.bytes.length;
	const char *number;

	while (start < end && (unsigned char) *start <= ' ')
		start++;
	while (start < end && (unsigned char) end[-1] <= ' ')
		end--;
	number = start < end && (*start == '+' || *start == '-') ? start + 1 : start;
	if (!is_java_float(number, end))
		return CAST_FAILED;

	/* with an end; a letter behind the number ends it as well */
	resetStringInfo(&state->text);
	appendBinaryStringInfo(&state->text, start, end - start);
	if (state->to->physical == PHYSICAL_FLOAT)
		out->v.f32 = strtof(state->text.data, NULL);
	else
		out->v.f64 = strtod(state->text.data, NULL);
	return CAST_DONE;
}

/* ---- decimals from strings ---- */

/* Significant digits, of which the first few count, and the point's place among them: 0.0012 is "12", -2. */
typedef struct DecimalText
{
	char		digits[MAX_DIGITS];
	int			ndigits;
	int64		point;
} DecimalText;

static void
split_mantissa(const char *at, const char *end, DecimalText *text)
{
	bool		after_point = false;
	bool		significant = false;

	text->ndigits = 0;
	text->point = 0;
	for (; at < end; at++)
	{
		if (*at == '.')
		{
			after_point = true;
			continue;
		}
		significant |= *at != '0';
		if (significant && text->ndigits < MAX_DIGITS)
			text->digits[text->ndigits++] = *at;
		if (significant && !after_point)
			text->point++;
		else if (!significant && after_point)
			text->point--;
	}
}

/* Round to a scale; false when the result has too many digits for any type. */
static bool
round_digits(const DecimalText *text, int scale, int128 *unscaled)
{
	int64		wanted = text->point + scale;

	*unscaled = 0;
	if (text->ndigits == 0 || wanted < 0)
		return true;
	if (wanted > TYPE_MAX_DECIMAL_PRECISION)
		return false;
	for (int i = 0; i < wanted; i++)
		*unscaled = *unscaled * 10 + (i < text->ndigits ? text->digits[i] - '0' : 0);
	if (wanted < text->ndigits && text->digits[wanted] >= '5')
		(*unscaled)++;
	return true;
}

static int64
parse_exponent(const char *at, const char *end)
{
	bool		negative = at < end && *at == '-';
	int64		exponent = 0;

	for (; at < end; at++)
	{
		if (is_digit(*at) && exponent < MAX_EXPONENT)
			exponent = exponent * 10 + (*at - '0');
	}
	return negative ? -exponent : exponent;
}

CastResult
cast_decimal_from_text(const DataType *type, const char *text, size_t length, Scalar *out)
{
	const char *end = text + length;
	bool		negative = length > 0 && *text == '-';
	const char *start = length > 0 && (negative || *text == '+') ? text + 1 : text;
	const char *mantissa_end = skip_mantissa(start, end, skip_digits);
	DecimalText decimal;
	int128		unscaled;
	int64		exponent = 0;

	if (mantissa_end == NULL || skip_exponent(mantissa_end, end, 'e') != end)
		return CAST_FAILED;
	split_mantissa(start, mantissa_end, &decimal);
	if (mantissa_end < end)
		exponent = parse_exponent(mantissa_end + 1, end);
	if (exponent >= MAX_EXPONENT || exponent <= -MAX_EXPONENT)
		return CAST_FAILED;
	decimal.point += exponent;
	if (!round_digits(&decimal, type->scale, &unscaled))
		return CAST_NULL;
	return cast_set_decimal(type, out, negative ? -unscaled : unscaled, type->scale);
}

CastResult
cast_parse_decimal(CastState *state, const Scalar *in, Scalar *out)
{
	return cast_decimal_from_text(state->to, in->v.bytes.data, in->v.bytes.length, out);
}
