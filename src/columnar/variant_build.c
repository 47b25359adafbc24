/*
 * variant_build.c
 *		Building the binary form of VARIANT.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "columnar/decimal.h"
#include "columnar/variant.h"
#include "utils/memutils.h"

#define METADATA_HEADER 0x11	/* version 1, names sorted */
#define SHORT_STRING_MAX 63
#define SMALL_COUNT_MAX 255

/* The first byte of primitive values: see PrimitiveType in variant_read.c. */
#define PRIMITIVE(type) ((type) << 2)
#define HEADER_NULL PRIMITIVE(0)
#define HEADER_TRUE PRIMITIVE(1)
#define HEADER_FALSE PRIMITIVE(2)
#define HEADER_INT8 PRIMITIVE(3)
#define HEADER_INT16 PRIMITIVE(4)
#define HEADER_INT32 PRIMITIVE(5)
#define HEADER_INT64 PRIMITIVE(6)
#define HEADER_DOUBLE PRIMITIVE(7)
#define HEADER_DECIMAL4 PRIMITIVE(8)
#define HEADER_DECIMAL8 PRIMITIVE(9)
#define HEADER_DECIMAL16 PRIMITIVE(10)
#define HEADER_DATE PRIMITIVE(11)
#define HEADER_TIMESTAMP_LTZ PRIMITIVE(12)
#define HEADER_TIMESTAMP PRIMITIVE(13)
#define HEADER_FLOAT PRIMITIVE(14)
#define HEADER_BINARY PRIMITIVE(15)
#define HEADER_STRING PRIMITIVE(16)
#define HEADER_TIMESTAMP_LTZ_NANOS PRIMITIVE(18)
#define HEADER_TIMESTAMP_NANOS PRIMITIVE(19)

#define HEADER_SHORT_STRING(length) ((length) << 2 | 1)
#define HEADER_OBJECT(is_large, id_size, offset_size) \
	((is_large) << 6 | ((id_size) - 1) << 4 | ((offset_size) - 1) << 2 | 2)
#define HEADER_ARRAY(is_large, offset_size) ((is_large) << 4 | ((offset_size) - 1) << 2 | 3)

static char *
put_unsigned(char *at, uint64 value, int size)
{
	for (int i = 0; i < size; i++, value >>= 8)
		*at++ = (char) value;
	return at;
}

static void
append_unsigned(StringInfo out, uint64 value, int size)
{
	char		bytes[8];

	put_unsigned(bytes, value, size);
	appendBinaryStringInfo(out, bytes, size);
}

/* Bytes that a number up to value needs. */
static int
size_for(uint64 value)
{
	int			size = 1;

	while (size < 4 && value >> (size * 8) != 0)
		size++;
	return size;
}

/* ---- names ---- */

void
variant_add_name(VariantNames *names, BytesView name)
{
	if (names->count == names->capacity)
	{
		names->capacity = Max(names->capacity * 2, 16);
		names->names = names->names == NULL ? (BytesView *) palloc(names->capacity * sizeof(BytesView)) :
			(BytesView *) repalloc(names->names, names->capacity * sizeof(BytesView));
	}
	names->names[names->count++] = name;
}

static int
compare_names(const void *a, const void *b)
{
	return bytes_compare(*(const BytesView *) a, *(const BytesView *) b);
}

void
variant_finish_names(VariantNames *names)
{
	int			count = 0;

	if (names->count > 0)
		qsort(names->names, names->count, sizeof(BytesView), compare_names);
	for (int i = 0; i < names->count; i++)
	{
		if (count == 0 || !bytes_equal(names->names[i], names->names[count - 1]))
			names->names[count++] = names->names[i];
	}
	names->count = count;
}

int
variant_name_id(const VariantNames *names, BytesView name)
{
	const BytesView *found = (const BytesView *)
		(names->count > 0 ? bsearch(&name, names->names, names->count, sizeof(BytesView), compare_names) : NULL);

	return found == NULL ? -1 : (int) (found - names->names);
}

void
variant_append_metadata(StringInfo out, const VariantNames *names)
{
	uint64		total = 0;
	int			offset_size;

	for (int i = 0; i < names->count; i++)
		total += names->names[i].length;
	offset_size = size_for(Max(total, (uint64) names->count));

	appendStringInfoChar(out, (char) (METADATA_HEADER | (offset_size - 1) << 6));
	append_unsigned(out, names->count, offset_size);
	total = 0;
	append_unsigned(out, total, offset_size);
	for (int i = 0; i < names->count; i++)
	{
		total += names->names[i].length;
		append_unsigned(out, total, offset_size);
	}
	for (int i = 0; i < names->count; i++)
		appendBinaryStringInfo(out, names->names[i].data, names->names[i].length);
}

/* ---- values ---- */

void
variant_append_null(StringInfo out)
{
	appendStringInfoChar(out, HEADER_NULL);
}

void
variant_append_boolean(StringInfo out, bool value)
{
	appendStringInfoChar(out, value ? HEADER_TRUE : HEADER_FALSE);
}

static void
append_number(StringInfo out, char header, int64 value, int size)
{
	appendStringInfoChar(out, header);
	append_unsigned(out, (uint64) value, size);
}

void
variant_append_integer(StringInfo out, int64 value)
{
	if (value >= PG_INT8_MIN && value <= PG_INT8_MAX)
		append_number(out, HEADER_INT8, value, 1);
	else if (value >= PG_INT16_MIN && value <= PG_INT16_MAX)
		append_number(out, HEADER_INT16, value, 2);
	else if (value >= PG_INT32_MIN && value <= PG_INT32_MAX)
		append_number(out, HEADER_INT32, value, 4);
	else
		append_number(out, HEADER_INT64, value, 8);
}

void
variant_append_float(StringInfo out, float value)
{
	uint32		bits;

	memcpy(&bits, &value, sizeof(bits));
	append_number(out, HEADER_FLOAT, bits, 4);
}

void
variant_append_double(StringInfo out, double value)
{
	int64		bits;

	memcpy(&bits, &value, sizeof(bits));
	append_number(out, HEADER_DOUBLE, bits, 8);
}

void
variant_append_decimal(StringInfo out, int128 unscaled, int scale)
{
	int			size = decimal_fits(unscaled, 9) && scale <= 9 ? 4 : decimal_fits(unscaled, 18) && scale <= 18 ? 8 : 16;

	appendStringInfoChar(out, size == 4 ? HEADER_DECIMAL4 : size == 8 ? HEADER_DECIMAL8 : HEADER_DECIMAL16);
	appendStringInfoChar(out, (char) scale);
	append_unsigned(out, (uint64) unscaled, Min(size, 8));
	if (size == 16)
		append_unsigned(out, (uint64) (unscaled >> 64), 8);
}

void
variant_append_string(StringInfo out, BytesView value)
{
	if (value.length <= SHORT_STRING_MAX)
		appendStringInfoChar(out, (char) HEADER_SHORT_STRING(value.length));
	else
	{
		appendStringInfoChar(out, HEADER_STRING);
		append_unsigned(out, value.length, 4);
	}
	appendBinaryStringInfo(out, value.data, value.length);
}

void
variant_append_binary(StringInfo out, BytesView value)
{
	append_number(out, HEADER_BINARY, value.length, 4);
	appendBinaryStringInfo(out, value.data, value.length);
}

void
variant_append_date(StringInfo out, int32 days)
{
	append_number(out, HEADER_DATE, days, 4);
}

void
variant_append_timestamp(StringInfo out, int64 value, bool is_ltz, bool is_nanos)
{
	if (is_nanos)
		append_number(out, is_ltz ? HEADER_TIMESTAMP_LTZ_NANOS : HEADER_TIMESTAMP_NANOS, value, 8);
	else
		append_number(out, is_ltz ? HEADER_TIMESTAMP_LTZ : HEADER_TIMESTAMP, value, 8);
}

/* Make room for a head before what was appended since start. */
static char *
insert_head(StringInfo out, int start, Size size)
{
	int			members = out->len - start;

	if (size > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a VARIANT has too many members")));
	enlargeStringInfo(out, (int) size);
	memmove(out->data + start + size, out->data + start, members);
	out->len += (int) size;
	return out->data + start;
}

void
variant_finish_array(StringInfo out, int start, const VariantMember *members, int count)
{
	bool		is_large = count > SMALL_COUNT_MAX;
	int			count_size = is_large ? 4 : 1;
	uint32		total = out->len - start;
	int			offset_size = size_for(total);
	char	   *at = insert_head(out, start, 1 + count_size + ((Size) count + 1) * offset_size);

	*at++ = (char) HEADER_ARRAY(is_large, offset_size);
	at = put_unsigned(at, count, count_size);
	for (int i = 0; i < count; i++)
		at = put_unsigned(at, members[i].offset, offset_size);
	put_unsigned(at, total, offset_size);
}

static int
compare_ids(const void *a, const void *b)
{
	return ((const VariantMember *) a)->id - ((const VariantMember *) b)->id;
}

void
variant_finish_object(StringInfo out, int start, VariantMember *members, int count)
{
	if (count > 0)
		qsort(members, count, sizeof(VariantMember), compare_ids);
	variant_finish_sorted_object(out, start, members, count);
}

/* Members are listed in the order of their names; they lie in any. */
void
variant_finish_sorted_object(StringInfo out, int start, const VariantMember *members, int count)
{
	bool		is_large = count > SMALL_COUNT_MAX;
	int			count_size = is_large ? 4 : 1;
	uint32		total = out->len - start;
	int			offset_size = size_for(total);
	int			largest = 0;
	int			id_size;
	char	   *at;

	for (int i = 0; i < count; i++)
		largest = Max(largest, members[i].id);
	id_size = size_for(largest);
	at = insert_head(out, start, 1 + count_size + (Size) count * id_size + ((Size) count + 1) * offset_size);

	*at++ = (char) HEADER_OBJECT(is_large, id_size, offset_size);
	at = put_unsigned(at, count, count_size);
	for (int i = 0; i < count; i++)
		at = put_unsigned(at, members[i].id, id_size);
	for (int i = 0; i < count; i++)
		at = put_unsigned(at, members[i].offset, offset_size);
	put_unsigned(at, total, offset_size);
}
