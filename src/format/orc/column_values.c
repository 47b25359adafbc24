/*
 * column_values.c
 *		Which ORC types can be read as which of ours, and their values.
 */
#include "postgres.h"

#include "columnar/decimal.h"
#include "format/orc/column.h"
#include "utils/memutils.h"

#define MAX_DECIMAL_SCALE 38
#define DECIMAL64_PRECISION 18
#define NANOS_PER_SECOND INT64CONST(1000000000)
#define NANOS_PER_MILLI 1000000
#define MAX_SECONDS (INT64CONST(1) << 53)	/* what any of our timestamps can hold is much less */

/* Bytes that stay as long as the batch, or as the stripe. */
static char *
allocate_bytes(OrcColumn *column, MemoryContext context, uint64 length, const OrcStream *stream)
{
	if (length > stream_left_at_most(stream))
		orc_column_damaged(column, "A stream ends before all of its values.");
	return MemoryContextAllocHuge(context, Max((size_t) length, 1));
}

static void
out_of_range(const OrcColumn *column)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("a value of column \"%s\" of file \"%s\" is out of range for type %s",
					column->place.column, column->place.path, type_to_text(column->wanted))));
}

/* Of the two versions of runs of integers; most types can have no other encoding. */
static bool
is_version2(const OrcColumn *column)
{
	uint32		encoding = column->shared->stripe_columns[column->number].encoding;

	return encoding == ORC_DIRECT_V2 || encoding == ORC_DICTIONARY_V2;
}

static bool
is_dictionary(const OrcColumn *column)
{
	uint32		encoding = column->shared->stripe_columns[column->number].encoding;

	return encoding == ORC_DICTIONARY || encoding == ORC_DICTIONARY_V2;
}

static void
open_integers(OrcColumn *column, IntReader *reader, OrcStreamKind kind, bool is_signed)
{
	orc_column_open_stream(column, &reader->stream, kind);
	int_reader_reset(reader, is_signed, is_version2(column));
}

/* Into the wanted physical type; an error if one does not fit. */
static void
narrow(OrcColumn *column, const int64 *numbers, int count, void *out)
{
	bool		fits = true;

#define NARROW(type) \
	do { \
		type	   *to = out; \
		for (int i = 0; i < count; i++) \
		{ \
			to[i] = (type) numbers[i]; \
			fits &= to[i] == numbers[i]; \
		} \
	} while (0)

	switch (column->wanted->physical)
	{
		case PHYSICAL_INT8:
			NARROW(int8);
			break;
		case PHYSICAL_INT16:
			NARROW(int16);
			break;
		case PHYSICAL_INT32:
			NARROW(int32);
			break;
		default:
			NARROW(int64);
			break;
	}
#undef NARROW
	if (!fits)
		out_of_range(column);
}

/* ---- booleans ---- */

static void
booleans_open(OrcColumn *column)
{
	orc_column_open_stream(column, &column->data.bits.bytes.stream, ORC_STREAM_DATA);
	bit_reader_reset(&column->data.bits);
}

static void
booleans_seek(OrcColumn *column, ProtoReader *positions)
{
	seek_bits(&column->data.bits, positions);
}

static void
booleans_skip(OrcColumn *column, int64 count)
{
	bit_reader_skip(&column->data.bits, count);
}

static void
booleans_read(OrcColumn *column, int count, void *out)
{
	bit_reader_read(&column->data.bits, count, out);
}

static const ValueRoutine booleans = {booleans_open, booleans_seek, booleans_skip, booleans_read};

/* ---- integers of one byte ---- */

static void
bytes_open(OrcColumn *column)
{
	orc_column_open_stream(column, &column->data.bytes.stream, ORC_STREAM_DATA);
	byte_reader_reset(&column->data.bytes);
}

static void
bytes_seek(OrcColumn *column, ProtoReader *positions)
{
	seek_bytes(&column->data.bytes, positions);
}

static void
bytes_skip(OrcColumn *column, int64 count)
{
	byte_reader_skip(&column->data.bytes, count);
}

static void
bytes_read(OrcColumn *column, int count, void *out)
{
	int64	   *numbers = column->shared->numbers;
	int8	   *bytes = (int8 *) column->shared->more_numbers;

	if (column->wanted->physical == PHYSICAL_INT8)
	{
		byte_reader_read(&column->data.bytes, count, out);
		return;
	}
	byte_reader_read(&column->data.bytes, count, (uint8 *) bytes);
	for (int i = 0; i < count; i++)
		numbers[i] = bytes[i];
	narrow(column, numbers, count, out);
}

static const ValueRoutine bytes = {bytes_open, bytes_seek, bytes_skip, bytes_read};

/* ---- integers, dates ---- */

static void
integers_open(OrcColumn *column)
{
	open_integers(column, &column->data.integers, ORC_STREAM_DATA, true);
}

static void
integers_seek(OrcColumn *column, ProtoReader *positions)
{
	seek_integers(&column->data.integers, positions);
}

static void
integers_skip(OrcColumn *column, int64 count)
{
	int_reader_skip(&column->data.integers, count);
}

static void
integers_read(OrcColumn *column, int count, void *out)
{
	if (column->wanted->physical == PHYSICAL_INT64)
	{
		int_reader_read(&column->data.integers, count, out);
		return;
	}
	int_reader_read(&column->data.integers, count, column->shared->numbers);
	narrow(column, column->shared->numbers, count, out);
}

static const ValueRoutine integers = {integers_open, integers_seek, integers_skip, integers_read};

/* ---- floats ---- */

static size_t
float_width(const OrcColumn *column)
{
	return column->type->kind == ORC_FLOAT ? sizeof(float) : sizeof(double);
}

static void
floats_open(OrcColumn *column)
{
	orc_column_open_stream(column, &column->data.raw, ORC_STREAM_DATA);
}

static void
floats_seek(OrcColumn *column, ProtoReader *positions)
{
	seek_stream(&column->data.raw, positions);
}

static void
floats_skip(OrcColumn *column, int64 count)
{
	stream_skip(&column->data.raw, count * float_width(column));
}

static void
floats_read(OrcColumn *column, int count, void *out)
{
	const float *from = (const float *) column->shared->numbers;
	double	   *to = out;
	bool		widens = column->type->kind == ORC_FLOAT && column->wanted->physical == PHYSICAL_DOUBLE;

	stream_read(&column->data.raw, count * float_width(column), widens ? column->shared->numbers : out);
	for (int i = 0; widens && i < count; i++)
		to[i] = from[i];
}

static const ValueRoutine floats = {floats_open, floats_seek, floats_skip, floats_read};

/* ---- strings ---- */

/* CHAR is filled up with blanks in the file, but has none at its end for Paimon. */
static void
trim_blanks(const OrcColumn *column, BytesView *views, int64 count)
{
	if (column->type->kind != ORC_CHAR)
		return;
	for (int64 i = 0; i < count; i++)
	{
		while (views[i].length > 0 && views[i].data[views[i].length - 1] == ' ')
			views[i].length--;
	}
}

/* The sum of lengths, each of which must be possible. */
static uint64
sum_lengths(const OrcColumn *column, const int64 *lengths, int count)
{
	uint64		total = 0;

	for (int i = 0; i < count; i++)
	{
		if (lengths[i] < 0 || lengths[i] > PG_INT32_MAX)
			orc_column_damaged(column, "The length of a value is impossible.");
		total += lengths[i];
	}
	return total;
}

static void
set_views(const int64 *lengths, int count, const char *data, BytesView *views)
{
	for (int i = 0; i < count; i++)
	{
		views[i].data = data;
		views[i].length = (uint32) lengths[i];
		data += lengths[i];
	}
}

/* How long each entry of the dictionary is; as many as there are, whatever the file promises. */
static uint64
read_dictionary_lengths(OrcColumn *column, IntReader *reader, int32 count)
{
	int64	   *lengths = column->shared->numbers;
	size_t		capacity = 0;
	uint64		total = 0;

	column->dictionary = MemoryContextAlloc(column->shared->stripe_context, sizeof(BytesView));
	for (int32 done = 0; done < count;)
	{
		int			n = Min(count - done, BATCH_ROWS);

		int_reader_read(reader, n, lengths);
		total += sum_lengths(column, lengths, n);
		if (done + n > capacity)
		{
			capacity = Max(done + n, capacity * 2);
			column->dictionary = repalloc_huge(column->dictionary, capacity * sizeof(BytesView));
		}
		for (int i = 0; i < n; i++)
			column->dictionary[done + i].length = (uint32) lengths[i];
		done += n;
	}
	return total;
}

static void
load_dictionary(OrcColumn *column)
{
	uint32		count = column->shared->stripe_columns[column->number].dictionary_size;
	OrcStream	stream;
	uint64		length;
	char	   *data;

	if (count > PG_INT32_MAX)
		orc_column_damaged(column, "The size of its dictionary is impossible.");
	open_integers(column, &column->second, ORC_STREAM_LENGTH, false);
	length = read_dictionary_lengths(column, &column->second, (int32) count);
	stream_init(&stream, column->shared->file, &column->place, column->shared->window_bytes);
	stream.context = column->shared->stripe_context;
	orc_column_open_stream(column, &stream, ORC_STREAM_DICTIONARY_DATA);
	data = allocate_bytes(column, column->shared->stripe_context, length, &stream);
	stream_read(&stream, length, data);
	for (uint32 i = 0; i < count; i++)
	{
		column->dictionary[i].data = data;
		data += column->dictionary[i].length;
	}
	trim_blanks(column, column->dictionary, count);
	column->dictionary_size = (int32) count;
	stream_free(&stream);
}

static void
strings_open(OrcColumn *column)
{
	column->dictionary = NULL;
	column->dictionary_size = 0;
	if (is_dictionary(column))
	{
		load_dictionary(column);
		open_integers(column, &column->data.integers, ORC_STREAM_DATA, false);
		return;
	}
	orc_column_open_stream(column, &column->data.raw, ORC_STREAM_DATA);
	open_integers(column, &column->second, ORC_STREAM_LENGTH, false);
}

static void
strings_seek(OrcColumn *column, ProtoReader *positions)
{
	if (column->dictionary != NULL)
	{
		seek_integers(&column->data.integers, positions);
		return;
	}
	seek_stream(&column->data.raw, positions);
	seek_integers(&column->second, positions);
}

static void
strings_skip(OrcColumn *column, int64 count)
{
	int64	   *lengths = column->shared->numbers;

	if (column->dictionary != NULL)
	{
		int_reader_skip(&column->data.integers, count);
		return;
	}
	while (count > 0)
	{
		int			n = (int) Min(count, BATCH_ROWS);

		int_reader_read(&column->second, n, lengths);
		stream_skip(&column->data.raw, sum_lengths(column, lengths, n));
		count -= n;
	}
}

static void
read_coded_strings(OrcColumn *column, int count, BytesView *out)
{
	int64	   *codes = column->shared->numbers;

	int_reader_read(&column->data.integers, count, codes);
	for (int i = 0; i < count; i++)
	{
		if ((uint64) codes[i] >= (uint64) column->dictionary_size)
			orc_column_damaged(column, "A value is not in the dictionary.");
		out[i] = column->dictionary[codes[i]];
	}
}

static void
strings_read(OrcColumn *column, int count, void *out)
{
	int64	   *lengths = column->shared->numbers;
	uint64		total;
	char	   *data;

	if (column->dictionary != NULL)
	{
		read_coded_strings(column, count, out);
		return;
	}
	int_reader_read(&column->second, count, lengths);
	total = sum_lengths(column, lengths, count);
	data = allocate_bytes(column, column->shared->batch_context, total, &column->data.raw);
	stream_read(&column->data.raw, total, data);
	set_views(lengths, count, data, out);
	trim_blanks(column, out, count);
}

static const ValueRoutine strings = {strings_open, strings_seek, strings_skip, strings_read};

/* ---- decimals ---- */

/* A successor of the format keeps them as integers of the column's scale. */
static bool
is_decimal64(const OrcColumn *column)
{
	return column->shared->tail->major_version == ORC_VERSION_UNSTABLE_MAJOR &&
		column->type->precision <= DECIMAL64_PRECISION;
}

static void
decimals_open(OrcColumn *column)
{
	if (is_decimal64(column))
	{
		integers_open(column);
		return;
	}
	orc_column_open_stream(column, &column->data.raw, ORC_STREAM_DATA);
	open_integers(column, &column->second, ORC_STREAM_SECONDARY, true);
}

static void
decimals_seek(OrcColumn *column, ProtoReader *positions)
{
	if (is_decimal64(column))
	{
		integers_seek(column, positions);
		return;
	}
	seek_stream(&column->data.raw, positions);
	seek_integers(&column->second, positions);
}

/* Base 128, the low bits first, the sign in the lowest. */
static int128
read_unscaled(OrcColumn *column)
{
	OrcStream  *stream = &column->data.raw;
	uint64		low = 0;
	uint128		value;
	uint8		byte;
	int			shift;

	/* most have less than 64 bits */
	for (shift = 0; shift < 63; shift += 7)
	{
		byte = stream_byte(stream);
		low |= (uint64) (byte & 0x7f) << shift;
		if ((byte & 0x80) == 0)
			return (int64) (low >> 1) ^ -(int64) (low & 1);
	}
	value = low;
	do
	{
		byte = stream_byte(stream);
		if (shift > 126 || (shift == 126 && (byte & 0x7f) > 3))
			out_of_range(column);
		value |= (uint128) (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return (int128) (value >> 1) ^ -(int128) (value & 1);
}

static void
decimals_skip(OrcColumn *column, int64 count)
{
	if (is_decimal64(column))
	{
		integers_skip(column, count);
		return;
	}
	int_reader_skip(&column->second, count);
	while (count-- > 0)
	{
		while (stream_byte(&column->data.raw) & 0x80)
			;
	}
}

static int128
rescale(OrcColumn *column, int128 unscaled, int64 scale)
{
	int128		result;

	if (scale < 0 || scale > MAX_DECIMAL_SCALE)
		orc_column_damaged(column, "The scale of a decimal is impossible.");
	if (!decimal_rescale(unscaled, (int) scale, column->wanted->scale, column->wanted->precision, &result))
		out_of_range(column);
	return result;
}

static void
read_decimal64(OrcColumn *column, int count, void *out)
{
	int64	   *numbers = column->shared->numbers;
	int128	   *wide = out;

	if (column->wanted->physical == PHYSICAL_INT64)
	{
		int_reader_read(&column->data.integers, count, out);
		return;
	}
	int_reader_read(&column->data.integers, count, numbers);
	for (int i = 0; i < count; i++)
		wide[i] = numbers[i];
}

static void
decimals_read(OrcColumn *column, int count, void *out)
{
	int64	   *scales = column->shared->numbers;
	int64		scale = column->wanted->scale;
	int128		limit = decimal_power_of_ten(column->wanted->precision);
	int64	   *narrow_out = out;
	int128	   *wide_out = out;
	bool		wide = column->wanted->physical == PHYSICAL_INT128;

	if (is_decimal64(column))
	{
		read_decimal64(column, count, out);
		return;
	}
	int_reader_read(&column->second, count, scales);
	for (int i = 0; i < count; i++)
	{
		int128		value = read_unscaled(column);

		if (scales[i] != scale)
			value = rescale(column, value, scales[i]);
		if (value >= limit || value <= -limit)
			out_of_range(column);
		if (wide)
			wide_out[i] = value;
		else
			narrow_out[i] = (int64) value;
	}
}

static const ValueRoutine decimals = {decimals_open, decimals_seek, decimals_skip, decimals_read};

/* ---- timestamps ---- */

/* The begin of 2015 in the writer's time zone. */
static int64
base_seconds(Zone *zone)
{
	int64		base = ORC_TIMESTAMP_EPOCH;

	if (zone == NULL)
		return base;
	base -= zone_offset(zone, ORC_TIMESTAMP_EPOCH);
	return ORC_TIMESTAMP_EPOCH - zone_offset(zone, base);
}

/* Instants do not depend on any time zone. */
static Zone *
timestamp_zone(const OrcColumn *column)
{
	return column->type->kind == ORC_TIMESTAMP_INSTANT ? NULL : column->shared->zone;
}

static void
timestamps_open(OrcColumn *column)
{
	open_integers(column, &column->data.integers, ORC_STREAM_DATA, true);
	open_integers(column, &column->second, ORC_STREAM_SECONDARY, false);
	column->base_seconds = base_seconds(timestamp_zone(column));
}

static void
timestamps_seek(OrcColumn *column, ProtoReader *positions)
{
	seek_integers(&column->data.integers, positions);
	seek_integers(&column->second, positions);
}

static void
timestamps_skip(OrcColumn *column, int64 count)
{
	int_reader_skip(&column->data.integers, count);
	int_reader_skip(&column->second, count);
}

/*
 * In place: the low three bits tell how many zeros were taken off the end.
 * Arrow's writer makes nanos of times before 1970 negative.
 */
static void
decode_nanos(OrcColumn *column, int64 *nanos, int count)
{
	static const int64 zeros[8] = {1, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
	bool		bad = false;

	for (int i = 0; i < count; i++)
	{
		int64		digits = nanos[i] >> 3;

		bad |= digits >= NANOS_PER_SECOND || digits <= -NANOS_PER_SECOND;
		nanos[i] = (int64) ((uint64) digits * (uint64) zeros[nanos[i] & 7]);
		bad |= nanos[i] >= NANOS_PER_SECOND || nanos[i] <= -NANOS_PER_SECOND;
	}
	if (bad)
		orc_column_damaged(column, "The nanoseconds of a timestamp are impossible.");
}

/*
 * In place: seconds since 1970 on the writer's wall clock, and nanos that are
 * not negative.  Writers cut seconds before 1970 off towards zero when there
 * are milliseconds to cut.
 */
static void
decode_seconds(OrcColumn *column, int64 *seconds, int64 *nanos, int count)
{
	Zone	   *zone = timestamp_zone(column);
	bool		bad = false;

	for (int i = 0; i < count; i++)
	{
		int64		second = (int64) ((uint64) seconds[i] + (uint64) column->base_seconds);
		bool		borrows = nanos[i] < 0;

		bad |= second > MAX_SECONDS || second < -MAX_SECONDS;
		seconds[i] = second - (borrows || (second < 0 && nanos[i] >= NANOS_PER_MILLI));
		nanos[i] += borrows ? NANOS_PER_SECOND : 0;
	}
	if (bad)
		out_of_range(column);
	for (int i = 0; zone != NULL && i < count; i++)
		seconds[i] += zone_offset(zone, seconds[i]);
}

static void
timestamps_read(OrcColumn *column, int count, void *out)
{
	int64	   *seconds = column->shared->numbers;
	int64	   *nanos = column->shared->more_numbers;
	int64		units = column->wanted->precision <= 3 ? 1000 : 1000000;
	int64	   *narrow_out = out;
	int128	   *wide_out = out;
	bool		bad = false;

	int_reader_read(&column->second, count, nanos);
	int_reader_read(&column->data.integers, count, seconds);
	decode_nanos(column, nanos, count);
	decode_seconds(column, seconds, nanos, count);
	if (column->wanted->physical == PHYSICAL_INT128)
	{
		for (int i = 0; i < count; i++)
			wide_out[i] = (int128) seconds[i] * NANOS_PER_SECOND + nanos[i];
		return;
	}
	for (int i = 0; i < count; i++)
	{
		bad |= seconds[i] > PG_INT64_MAX / units - 1 || seconds[i] < PG_INT64_MIN / units + 1;
		narrow_out[i] = (int64) ((uint64) seconds[i] * units + nanos[i] / (NANOS_PER_SECOND / units));
	}
	if (bad)
		out_of_range(column);
}

static const ValueRoutine timestamps = {timestamps_open, timestamps_seek, timestamps_skip, timestamps_read};

/* ---- nested values ---- */

static void
fields_open(OrcColumn *column)
{
}

static void
fields_seek(OrcColumn *column, ProtoReader *positions)
{
}

static void
fields_skip(OrcColumn *column, int64 count)
{
	for (int i = 0; i < column->nchildren; i++)
	{
		if (column->children[i] != NULL)
			orc_column_skip(column->children[i], count);
	}
}

static const ValueRoutine fields = {fields_open, fields_seek, fields_skip, NULL};

/* Arrays, and maps: keys and values are counted together. */
static void
lists_open(OrcColumn *column)
{
	open_integers(column, &column->second, ORC_STREAM_LENGTH, false);
}

static void
lists_seek(OrcColumn *column, ProtoReader *positions)
{
	seek_integers(&column->second, positions);
}

static void
lists_skip(OrcColumn *column, int64 count)
{
	while (count > 0)
	{
		int64	   *lengths = column->shared->numbers;
		int			n = (int) Min(count, BATCH_ROWS);

		int_reader_read(&column->second, n, lengths);
		fields_skip(column, (int64) sum_lengths(column, lengths, n));
		count -= n;
	}
}

static const ValueRoutine lists = {lists_open, lists_seek, lists_skip, NULL};

/* ---- all ---- */

static const ValueRoutine *
integer_routine(const OrcType *type)
{
	switch (type->kind)
	{
		case ORC_BYTE:
			return &bytes;
		case ORC_SHORT:
		case ORC_INT:
		case ORC_LONG:
			return &integers;
		default:
			return NULL;
	}
}

static const ValueRoutine *
string_routine(const OrcType *type)
{
	switch (type->kind)
	{
		case ORC_STRING:
		case ORC_VARCHAR:
		case ORC_CHAR:
		case ORC_BINARY:
			return &strings;
		default:
			return NULL;
	}
}

const ValueRoutine *
values_find(const OrcTail *tail, const OrcType *type, const DataType *wanted)
{
	OrcKind		kind = type->kind;

	switch (wanted->root)
	{
		case TYPE_BOOLEAN:
			return kind == ORC_BOOLEAN ? &booleans : NULL;
		case TYPE_TINYINT:
		case TYPE_SMALLINT:
		case TYPE_INT:
		case TYPE_BIGINT:
			return integer_routine(type);
		case TYPE_FLOAT:
			return kind == ORC_FLOAT ? &floats : NULL;
		case TYPE_DOUBLE:
			return kind == ORC_FLOAT || kind == ORC_DOUBLE ? &floats : NULL;
		case TYPE_DECIMAL:
			return kind == ORC_DECIMAL && type->scale == wanted->scale && type->precision <= wanted->precision ?
				&decimals : NULL;
		case TYPE_CHAR:
		case TYPE_VARCHAR:
		case TYPE_BINARY:
		case TYPE_VARBINARY:
		case TYPE_BLOB:
			return string_routine(type);
		case TYPE_DATE:
			return kind == ORC_DATE ? &integers : NULL;
		case TYPE_TIME:
			return kind == ORC_INT ? &integers : NULL;
		case TYPE_TIMESTAMP:
		case TYPE_TIMESTAMP_LTZ:
			return kind == ORC_TIMESTAMP || kind == ORC_TIMESTAMP_INSTANT ? &timestamps : NULL;
		case TYPE_ARRAY:
		case TYPE_VECTOR:
			return kind == ORC_LIST ? &lists : NULL;
		case TYPE_MAP:
		case TYPE_MULTISET:
			return kind == ORC_MAP ? &lists : NULL;
		case TYPE_ROW:
			return kind == ORC_STRUCT ? &fields : NULL;
		case TYPE_VARIANT:
			return NULL;
	}
	return NULL;
}
