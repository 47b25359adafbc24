/*
 * statistics_write.c
 *		The extremes of the values written: of a page, a chunk and the file.
 */
#include "postgres.h"

#include <math.h>

#include "columnar/compare.h"
#include "format/parquet/parquet_write.h"
#include "port/pg_bswap.h"

void
value_bounds_init(ValueBounds *bounds, MemoryContext context)
{
	memset(bounds, 0, sizeof(ValueBounds));
	byte_buffer_init(&bounds->min_bytes, context);
	byte_buffer_init(&bounds->max_bytes, context);
}

void
value_bounds_reset(ValueBounds *bounds)
{
	bounds->any = false;
	bounds->has_nan = false;
	byte_buffer_clear(&bounds->min_bytes, PAGE_BYTES);
	byte_buffer_clear(&bounds->max_bytes, PAGE_BYTES);
}

/* The extremes of an array, joined with those known so far. */
#define ADD_NUMBERS(ctype, member) \
	do { \
		const ctype *from = values; \
		ctype		min = bounds->any ? bounds->min.v.member : from[0]; \
		ctype		max = bounds->any ? bounds->max.v.member : from[0]; \
		for (int i = 0; i < nvalues; i++) \
		{ \
			min = from[i] < min ? from[i] : min; \
			max = from[i] > max ? from[i] : max; \
		} \
		bounds->min.v.member = min; \
		bounds->max.v.member = max; \
	} while (0)

/* The same where values may be NaN: then the extremes do not matter any more. */
#define ADD_FLOATS(ctype, member) \
	do { \
		const ctype *numbers = values; \
		bool		has_nan = false; \
		for (int i = 0; i < nvalues; i++) \
			has_nan |= numbers[i] != numbers[i]; \
		bounds->has_nan |= has_nan; \
		ADD_NUMBERS(ctype, member); \
	} while (0)

/* The first eight bytes as a number in their order; short values are filled up with zeros. */
static inline uint64
order_prefix(BytesView value)
{
	uint64		prefix = 0;

	if (likely(value.length >= sizeof(prefix)))
		memcpy(&prefix, value.data, sizeof(prefix));
	else
	{
		for (uint32 i = 0; i < value.length; i++)
			((char *) &prefix)[i] = value.data[i];
	}
	return pg_ntoh64(prefix);
}

static void
keep_bytes(ByteBuffer *buffer, Scalar *target, BytesView value)
{
	if (value.data == buffer->data && buffer->data != NULL)
		return;
	buffer->length = 0;
	byte_buffer_append(buffer, value.data, value.length);
	target->v.bytes.data = buffer->data;
	target->v.bytes.length = value.length;
}

/* Most values lie strictly between the extremes, which their first bytes tell. */
static void
add_bytes(ValueBounds *bounds, const BytesView *values, int nvalues)
{
	BytesView	min = bounds->any ? bounds->min.v.bytes : values[0];
	BytesView	max = bounds->any ? bounds->max.v.bytes : values[0];
	uint64		min_prefix = order_prefix(min);
	uint64		max_prefix = order_prefix(max);

	for (int i = 0; i < nvalues; i++)
	{
		uint64		prefix = order_prefix(values[i]);

		if (prefix > min_prefix && prefix < max_prefix)
			continue;
		if (prefix <= min_prefix && bytes_compare(values[i], min) < 0)
		{
			min = values[i];
			min_prefix = prefix;
		}
		if (prefix >= max_prefix && bytes_compare(values[i], max) > 0)
		{
			max = values[i];
			max_prefix = prefix;
		}
	}
	keep_bytes(&bounds->min_bytes, &bounds->min, min);
	keep_bytes(&bounds->max_bytes, &bounds->max, max);
}

void
value_bounds_add(ValueBounds *bounds, PhysicalType staged, const void *values, int nvalues)
{
	if (nvalues == 0)
		return;
	switch (staged)
	{
		case PHYSICAL_INT8:
			ADD_NUMBERS(int8, i8);
			break;
		case PHYSICAL_INT32:
			ADD_NUMBERS(int32, i32);
			break;
		case PHYSICAL_INT64:
			ADD_NUMBERS(int64, i64);
			break;
		case PHYSICAL_INT128:
			ADD_NUMBERS(int128, i128);
			break;
		case PHYSICAL_FLOAT:
			ADD_FLOATS(float, f32);
			break;
		case PHYSICAL_DOUBLE:
			ADD_FLOATS(double, f64);
			break;
		case PHYSICAL_BYTES:
			add_bytes(bounds, values, nvalues);
			break;
		default:
			elog(ERROR, "no bounds of physical type %d", (int) staged);
	}
	bounds->any = true;
}

void
value_bounds_merge(ValueBounds *bounds, PhysicalType staged, const ValueBounds *other)
{
	if (!other->any)
		return;
	bounds->has_nan |= other->has_nan;
	value_bounds_add(bounds, staged, &other->min.v, 1);
	value_bounds_add(bounds, staged, &other->max.v, 1);
}

/*
 * Readers may take -0 for less than +0, or not: a least value of zero is given
 * as -0, a greatest one as +0.
 */
bool
value_bounds_get(const ValueBounds *bounds, PhysicalType staged, Scalar *min, Scalar *max)
{
	if (!bounds->any || bounds->has_nan)
		return false;
	*min = bounds->min;
	*max = bounds->max;
	min->isnull = max->isnull = false;
	if (staged == PHYSICAL_FLOAT)
	{
		if (min->v.f32 == 0)
			min->v.f32 = -0.0f;
		if (max->v.f32 == 0)
			max->v.f32 = 0.0f;
	}
	else if (staged == PHYSICAL_DOUBLE)
	{
		if (min->v.f64 == 0)
			min->v.f64 = -0.0;
		if (max->v.f64 == 0)
			max->v.f64 = 0.0;
	}
	return true;
}

/* PLAIN, but byte arrays without their length. */
BytesView
statistics_bytes(const ColumnForm *form, const Scalar *value, char *buffer)
{
	BytesView	bytes = {buffer, form->width};

	if (form->staged == PHYSICAL_BYTES)
		return value->v.bytes;
	if (form->staged == PHYSICAL_INT128)
		plain_encode_decimals(buffer, &value->v.i128, 1, form->width);
	else
		memcpy(buffer, &value->v, form->width);
	return bytes;
}
