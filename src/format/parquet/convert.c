/*
 * convert.c
 *		Which Parquet types can be read as which of ours, and doing it.
 */
#include "postgres.h"

#include "format/parquet/convert.h"
#include "port/pg_bswap.h"

#define JULIAN_EPOCH 2440588	/* julian day of 1970-01-01 */
#define NANOS_PER_DAY INT64CONST(86400000000000)

/* ---- integers ---- */

#define CONVERT_INTEGERS(name, source, target) \
static bool \
name(const Conversion *conversion, const void *native, int count, void *out) \
{ \
	const source *from = native; \
	target	   *to = out; \
	int64		minimum = conversion->minimum; \
	int64		maximum = conversion->maximum; \
	bool		bad = false; \
\
	for (int i = 0; i < count; i++) \
	{ \
		int64		value = (int64) from[i]; \
\
		bad |= value < minimum || value > maximum; \
		to[i] = (target) value; \
	} \
	return !bad; \
}

CONVERT_INTEGERS(int32_to_int8, int32, int8)
CONVERT_INTEGERS(int32_to_int16, int32, int16)
CONVERT_INTEGERS(int32_to_int64, int32, int64)
CONVERT_INTEGERS(uint32_to_int8, uint32, int8)
CONVERT_INTEGERS(uint32_to_int16, uint32, int16)
CONVERT_INTEGERS(uint32_to_int32, uint32, int32)
CONVERT_INTEGERS(uint32_to_int64, uint32, int64)
CONVERT_INTEGERS(int64_to_int8, int64, int8)
CONVERT_INTEGERS(int64_to_int16, int64, int16)
CONVERT_INTEGERS(int64_to_int32, int64, int32)

/* Unsigned 64 bit values fit while their highest bit is clear, which the minimum of 0 tests. */
CONVERT_INTEGERS(int64_to_int64, int64, int64)

static ConvertValues
integer_converter(ParquetType from, bool is_unsigned, PhysicalType to)
{
	bool		wide = from == PARQUET_INT64;

	switch (to)
	{
		case PHYSICAL_INT8:
			return wide ? int64_to_int8 : is_unsigned ? uint32_to_int8 : int32_to_int8;
		case PHYSICAL_INT16:
			return wide ? int64_to_int16 : is_unsigned ? uint32_to_int16 : int32_to_int16;
		case PHYSICAL_INT32:
			return wide ? int64_to_int32 : is_unsigned ? uint32_to_int32 : NULL;
		default:
			return wide ? (is_unsigned ? int64_to_int64 : NULL) : is_unsigned ? uint32_to_int64 : int32_to_int64;
	}
}

static bool
integer_conversion(Conversion *conversion, const ParquetField *field, const DataType *wanted)
{
	int			bits = (int) physical_size(wanted->physical) * 8;

	if (field->type != PARQUET_INT32 && field->type != PARQUET_INT64)
		return false;
	if (field->meaning != PARQUET_MEANING_NONE && field->meaning != PARQUET_MEANING_INTEGER)
		return false;
	conversion->maximum = (int64) (PG_UINT64_MAX >> (65 - bits));
	conversion->minimum = field->is_unsigned ? 0 : -conversion->maximum - 1;
	conversion->is_unsigned = field->is_unsigned;
	conversion->convert = integer_converter(field->type, field->is_unsigned, wanted->physical);
	return true;
}

/* ---- floats ---- */

static bool
float_to_double(const Conversion *conversion, const void *native, int count, void *out)
{
	const float *from = native;
	double	   *to = out;

	for (int i = 0; i < count; i++)
		to[i] = from[i];
	return true;
}

static bool
double_conversion(Conversion *conversion, const ParquetField *field)
{
	if (field->type == PARQUET_FLOAT)
		conversion->convert = float_to_double;
	else
		return field->type == PARQUET_DOUBLE;
	return true;
}

/* ---- decimals ---- */

static bool
int32_to_int128(const Conversion *conversion, const void *native, int count, void *out)
{
	const int32 *from = native;
	int128	   *to = out;

	for (int i = 0; i < count; i++)
		to[i] = from[i];
	return true;
}

static bool
int64_to_int128(const Conversion *conversion, const void *native, int count, void *out)
{
	const int64 *from = native;
	int128	   *to = out;

	for (int i = 0; i < count; i++)
		to[i] = from[i];
	return true;
}

static inline uint64
load_big_endian(const char *data)
{
	uint64		word;

	memcpy(&word, data, sizeof(word));
	return pg_ntoh64(word);
}

/* More than 16 bytes: those in front of the last 16 may only repeat the sign. */
static bool
long_big_endian(BytesView bytes, int128 *out)
{
	uint32		extra = bytes.length - sizeof(int128);
	const char *low = bytes.data + extra;
	char		sign = (*low & 0x80) ? (char) 0xff : 0;

	for (uint32 i = 0; i < extra; i++)
	{
		if (bytes.data[i] != sign)
			return false;
	}
	*out = (int128) ((uint128) load_big_endian(low) << 64 | load_big_endian(low + 8));
	return true;
}

/*
 * Big-endian two's complement of any length; false if it does not fit.  Loads
 * 16 bytes however short the value is: see READ_PADDING.
 */
static inline bool
big_endian_int128(BytesView bytes, int128 *out)
{
	uint128		value;

	if (bytes.length > sizeof(int128))
		return long_big_endian(bytes, out);
	value = (uint128) load_big_endian(bytes.data) << 64 | load_big_endian(bytes.data + 8);
	*out = bytes.length == 0 ? 0 : (int128) value >> (8 * (sizeof(int128) - bytes.length));
	return true;
}

static inline bool
big_endian_int64(BytesView bytes, int64 *out)
{
	int128		value = 0;
	bool		fits;

	/* most are as short as their precision allows */
	if (bytes.length > 0 && bytes.length <= sizeof(int64))
	{
		*out = (int64) load_big_endian(bytes.data) >> (8 * (sizeof(int64) - bytes.length));
		return true;
	}
	fits = big_endian_int128(bytes, &value);
	*out = (int64) value;
	return fits && *out == value;
}

static bool
bytes_to_int128(const Conversion *conversion, const void *native, int count, void *out)
{
	const BytesView *from = native;
	int128	   *to = out;
	bool		fits = true;

	for (int i = 0; i < count; i++)
		fits &= big_endian_int128(from[i], &to[i]);
	return fits;
}

static bool
bytes_to_int64(const Conversion *conversion, const void *native, int count, void *out)
{
	const BytesView *from = native;
	int64	   *to = out;
	bool		fits = true;

	for (int i = 0; i < count; i++)
		fits &= big_endian_int64(from[i], &to[i]);
	return fits;
}

static bool
decimal_conversion(Conversion *conversion, const ParquetField *field, const DataType *wanted)
{
	bool		wide = wanted->physical == PHYSICAL_INT128;

	if (field->meaning != PARQUET_MEANING_DECIMAL || field->scale != wanted->scale ||
		field->precision > wanted->precision)
		return false;
	switch (field->type)
	{
		case PARQUET_INT32:
			conversion->convert = wide ? int32_to_int128 : int32_to_int64;
			conversion->minimum = PG_INT64_MIN;
			conversion->maximum = PG_INT64_MAX;
			return true;
		case PARQUET_INT64:
			conversion->convert = wide ? int64_to_int128 : NULL;
			return true;
		case PARQUET_BYTE_ARRAY:
		case PARQUET_FIXED_LEN_BYTE_ARRAY:
			conversion->convert = wide ? bytes_to_int128 : bytes_to_int64;
			return true;
		default:
			return false;
	}
}

/* ---- times ---- */

static inline int64
floor_divide(int64 value, int64 divisor)
{
	int64		quotient = value / divisor;

	return quotient - (value % divisor < 0);
}

static bool
scale_to_int32(const Conversion *conversion, const void *native, int count, void *out)
{
	const int64 *from = native;
	int32	   *to = out;
	bool		fits = true;

	for (int i = 0; i < count; i++)
	{
		int64		value = floor_divide(from[i], conversion->divisor);

		to[i] = (int32) value;
		fits &= to[i] == value;
	}
	return fits;
}

static bool
divide_int64(const Conversion *conversion, const void *native, int count, void *out)
{
	const int64 *from = native;
	int64	   *to = out;

	for (int i = 0; i < count; i++)
		to[i] = floor_divide(from[i], conversion->divisor);
	return true;
}

static bool
multiply_int64(const Conversion *conversion, const void *native, int count, void *out)
{
	const int64 *from = native;
	int64	   *to = out;
	int64		limit = PG_INT64_MAX / conversion->multiplier;
	bool		bad = false;

	for (int i = 0; i < count; i++)
	{
		bad |= from[i] > limit || from[i] < -limit;
		to[i] = (int64) ((uint64) from[i] * (uint64) conversion->multiplier);
	}
	return !bad;
}

static bool
multiply_to_int128(const Conversion *conversion, const void *native, int count, void *out)
{
	const int64 *from = native;
	int128	   *to = out;

	for (int i = 0; i < count; i++)
		to[i] = (int128) from[i] * conversion->multiplier;
	return true;
}

/*
 * INT96: nanos of the day, then the julian day.  Java splits times before 1970
 * with truncation, so the nanos may be negative: the sum is right all the same.
 */
static int128
int96_nanos(BytesView bytes)
{
	int64		nanos;
	int32		day;

	memcpy(&nanos, bytes.data, sizeof(nanos));
	memcpy(&day, bytes.data + sizeof(nanos), sizeof(day));
	return ((int128) day - JULIAN_EPOCH) * NANOS_PER_DAY + nanos;
}

static bool
int96_to_int128(const Conversion *conversion, const void *native, int count, void *out)
{
	const BytesView *from = native;
	int128	   *to = out;

	for (int i = 0; i < count; i++)
		to[i] = int96_nanos(from[i]);
	return true;
}

static bool
int96_to_int64(const Conversion *conversion, const void *native, int count, void *out)
{
	const BytesView *from = native;
	int64	   *to = out;
	bool		fits = true;

	for (int i = 0; i < count; i++)
	{
		int128		nanos = int96_nanos(from[i]);
		int128		value = nanos / conversion->divisor - (nanos % conversion->divisor < 0);

		to[i] = (int64) value;
		fits &= to[i] == value;
	}
	return fits;
}

static int64
units_per_second(ParquetTimeUnit unit)
{
	return unit == PARQUET_MILLIS ? 1000 : unit == PARQUET_MICROS ? 1000000 : 1000000000;
}

/* From the file's unit into the wanted one. */
static void
set_factor(Conversion *conversion, ParquetTimeUnit from, ParquetTimeUnit to)
{
	conversion->multiplier = Max(units_per_second(to) / units_per_second(from), 1);
	conversion->divisor = Max(units_per_second(from) / units_per_second(to), 1);
}

static bool
time_conversion(Conversion *conversion, const ParquetField *field)
{
	if (field->meaning != PARQUET_MEANING_TIME)
		return false;
	if (field->type == PARQUET_INT32)
		return field->unit == PARQUET_MILLIS;
	if (field->type != PARQUET_INT64)
		return false;
	set_factor(conversion, field->unit, PARQUET_MILLIS);
	conversion->convert = scale_to_int32;
	return true;
}

static bool
timestamp_conversion(Conversion *conversion, const ParquetField *field, const DataType *wanted)
{
	bool		wide = wanted->physical == PHYSICAL_INT128;
	ParquetTimeUnit unit = wanted->precision <= 3 ? PARQUET_MILLIS :
		wanted->precision <= 6 ? PARQUET_MICROS : PARQUET_NANOS;

	if (field->type == PARQUET_INT96)
	{
		set_factor(conversion, PARQUET_NANOS, unit);
		conversion->convert = wide ? int96_to_int128 : int96_to_int64;
		return true;
	}
	if (field->type != PARQUET_INT64 || field->meaning != PARQUET_MEANING_TIMESTAMP)
		return false;
	set_factor(conversion, field->unit, unit);
	if (wide)
		conversion->convert = multiply_to_int128;
	else if (conversion->multiplier > 1)
		conversion->convert = multiply_int64;
	else if (conversion->divisor > 1)
		conversion->convert = divide_int64;
	return true;
}

/* ---- bytes ---- */

static bool
bytes_conversion(const ParquetField *field)
{
	if (field->type != PARQUET_BYTE_ARRAY && field->type != PARQUET_FIXED_LEN_BYTE_ARRAY)
		return false;
	return field->meaning != PARQUET_MEANING_DECIMAL && field->meaning != PARQUET_MEANING_FLOAT16;
}

/* ---- all ---- */

static bool
find_conversion(Conversion *conversion, const ParquetField *field, const DataType *wanted)
{
	switch (wanted->root)
	{
		case TYPE_BOOLEAN:
			return field->type == PARQUET_BOOLEAN;
		case TYPE_TINYINT:
		case TYPE_SMALLINT:
		case TYPE_INT:
		case TYPE_BIGINT:
			return integer_conversion(conversion, field, wanted);
		case TYPE_FLOAT:
			return field->type == PARQUET_FLOAT;
		case TYPE_DOUBLE:
			return double_conversion(conversion, field);
		case TYPE_DECIMAL:
			return decimal_conversion(conversion, field, wanted);
		case TYPE_CHAR:
		case TYPE_VARCHAR:
		case TYPE_BINARY:
		case TYPE_VARBINARY:
			return bytes_conversion(field);
		case TYPE_DATE:
			return field->type == PARQUET_INT32 && field->meaning == PARQUET_MEANING_DATE;
		case TYPE_TIME:
			return time_conversion(conversion, field);
		case TYPE_TIMESTAMP:
		case TYPE_TIMESTAMP_LTZ:
			return timestamp_conversion(conversion, field, wanted);
		default:
			return false;
	}
}

void
conversion_init(Conversion *conversion, const ParquetPlace *place, const ParquetField *field, const DataType *wanted)
{
	memset(conversion, 0, sizeof(*conversion));
	conversion->multiplier = conversion->divisor = 1;
	if (!find_conversion(conversion, field, wanted))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" of file \"%s\" cannot be read as %s",
						place->column, place->path, type_to_text(wanted)),
				 errdetail("The file's type is %s.", parquet_field_type_text(field))));
}

void
conversion_apply(const Conversion *conversion, const ParquetPlace *place, const DataType *wanted,
				 const void *native, int count, void *out)
{
	if (!conversion->convert(conversion, native, count, out))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("a value of column \"%s\" of file \"%s\" is out of range for type %s",
						place->column, place->path, type_to_text(wanted))));
}

static const char *
physical_name(ParquetType type)
{
	switch (type)
	{
		case PARQUET_BOOLEAN:
			return "BOOLEAN";
		case PARQUET_INT32:
			return "INT32";
		case PARQUET_INT64:
			return "INT64";
		case PARQUET_INT96:
			return "INT96";
		case PARQUET_FLOAT:
			return "FLOAT";
		case PARQUET_DOUBLE:
			return "DOUBLE";
		case PARQUET_BYTE_ARRAY:
			return "BYTE_ARRAY";
		case PARQUET_FIXED_LEN_BYTE_ARRAY:
			return "FIXED_LEN_BYTE_ARRAY";
	}
	return "unknown";
}

char *
parquet_field_type_text(const ParquetField *field)
{
	static const char *const units[] = {"MILLIS", "MICROS", "NANOS"};
	const char *physical = physical_name(field->type);

	switch (field->meaning)
	{
		case PARQUET_MEANING_NONE:
			return pstrdup(physical);
		case PARQUET_MEANING_STRING:
			return psprintf("%s, STRING", physical);
		case PARQUET_MEANING_INTEGER:
			return psprintf("%s, %s INTEGER", physical, field->is_unsigned ? "unsigned" : "signed");
		case PARQUET_MEANING_DECIMAL:
			return psprintf("%s, DECIMAL(%d, %d)", physical, field->precision, field->scale);
		case PARQUET_MEANING_DATE:
			return psprintf("%s, DATE", physical);
		case PARQUET_MEANING_TIME:
			return psprintf("%s, TIME(%s)", physical, units[field->unit]);
		case PARQUET_MEANING_TIMESTAMP:
			return psprintf("%s, TIMESTAMP(%s)", physical, units[field->unit]);
		case PARQUET_MEANING_FLOAT16:
			return psprintf("%s, FLOAT16", physical);
		case PARQUET_MEANING_OTHER:
			return psprintf("%s, another logical type", physical);
	}
	return pstrdup(physical);
}
