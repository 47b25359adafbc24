/*
 * statistics_read.c
 *		Parquet's statistics as bounds in our types.
 *
 * Bounds serve to skip rows, so whatever is not certain is dropped: values
 * whose order the file does not define, or that do not fit the wanted type.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "format/parquet/statistics_read.h"

/*
 * The deprecated bounds were compared as signed numbers, whatever the type, and
 * so were the new ones in files that do not name their order.
 */
static bool
bounds_are_ordered(const ParquetField *field, bool old)
{
	switch (field->type)
	{
		case PARQUET_BOOLEAN:
		case PARQUET_INT32:
		case PARQUET_INT64:
		case PARQUET_FLOAT:
		case PARQUET_DOUBLE:
			return !field->is_unsigned || (field->has_order && !old);
		case PARQUET_BYTE_ARRAY:
		case PARQUET_FIXED_LEN_BYTE_ARRAY:
			return field->has_order && !old && field->meaning != PARQUET_MEANING_OTHER;
		case PARQUET_INT96:
			return false;
	}
	return false;
}

/* One value, encoded as PLAIN but for the length of byte arrays. */
static bool
bound_value(const ParquetField *field, const Conversion *conversion, const DataType *wanted,
			BytesView bytes, Scalar *out)
{
	size_t		size = native_size(field->type);
	union
	{
		int64		number;
		BytesView	bytes;
	}			native;

	if (bytes.data == NULL)
		return false;
	if (field->type == PARQUET_BYTE_ARRAY || field->type == PARQUET_FIXED_LEN_BYTE_ARRAY)
	{
		/* cut short is good enough for bytes, but not for numbers */
		if (field->type == PARQUET_FIXED_LEN_BYTE_ARRAY && conversion->convert != NULL &&
			bytes.length != (uint32) field->type_length)
			return false;
		native.bytes = bytes;
	}
	else
	{
		if (bytes.length != size)
			return false;
		memcpy(&native, bytes.data, size);
	}
	memset(out, 0, sizeof(*out));
	if (conversion->convert == NULL)
		memcpy(&out->v, &native, size);
	else if (!conversion->convert(conversion, &native, 1, &out->v))
		return false;
	return !scalar_is_nan(wanted->physical, out);
}

void
statistics_bounds(const ParquetField *field, const Conversion *conversion, const DataType *wanted,
				  BytesView min, BytesView max, bool old, ColumnStatistics *out)
{
	bool		is_float = wanted->physical == PHYSICAL_FLOAT || wanted->physical == PHYSICAL_DOUBLE;

	out->has_min = out->has_max = false;
	if (!bounds_are_ordered(field, old))
		return;
	out->has_min = bound_value(field, conversion, wanted, min, &out->min);
	/* writers leave NaN out, which is the greatest value for us: there may be one */
	if (!is_float)
		out->has_max = bound_value(field, conversion, wanted, max, &out->max);
}

void
statistics_of_chunk(const ParquetField *field, const Conversion *conversion, const DataType *wanted,
					const ParquetStatistics *statistics, int64 num_rows, ColumnStatistics *out)
{
	bool		old = statistics->min_value.data == NULL && statistics->max_value.data == NULL;

	memset(out, 0, sizeof(*out));
	if (old)
		statistics_bounds(field, conversion, wanted, statistics->old_min, statistics->old_max, true, out);
	else
		statistics_bounds(field, conversion, wanted, statistics->min_value, statistics->max_value, false, out);
	if (field->repetition == PARQUET_REQUIRED)
		out->has_null_count = true;
	else if (statistics->has_null_count && statistics->null_count >= 0 && statistics->null_count <= num_rows)
	{
		out->has_null_count = true;
		out->null_count = statistics->null_count;
	}
}
