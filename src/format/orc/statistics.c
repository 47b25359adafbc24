/*
 * statistics.c
 *		Reading ORC's statistics of files, stripes and row groups.
 *
 * Bounds serve to skip rows, so whatever is not certain is dropped: those of
 * writers that are known to have got them wrong, and values that do not fit
 * the wanted type.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "columnar/decimal.h"
#include "format/orc/protobuf.h"
#include "format/orc/statistics.h"

/* Bounds are clocks on the wall, but not all writers agree on whose. */
#define TIMESTAMP_SLACK_MILLIS INT64CONST(86400000)

/* Times within the last second before 1970 come back a second later, in all implementations. */
#define INSTANT_SLACK_MILLIS INT64CONST(2000)

typedef struct Bounds
{
	const OrcTail *tail;
	const OrcType *type;
	const DataType *wanted;
	uint64		nvalues;
	ColumnStatistics *out;
} Bounds;

/* ---- numbers ---- */

static bool
integer_scalar(PhysicalType physical, int64 number, Scalar *out)
{
	memset(out, 0, sizeof(*out));
	switch (physical)
	{
		case PHYSICAL_INT8:
			out->v.i8 = (int8) number;
			return out->v.i8 == number;
		case PHYSICAL_INT16:
			out->v.i16 = (int16) number;
			return out->v.i16 == number;
		case PHYSICAL_INT32:
			out->v.i32 = (int32) number;
			return out->v.i32 == number;
		case PHYSICAL_INT64:
			out->v.i64 = number;
			return true;
		default:
			return false;
	}
}

/* Of integers and of dates. */
static void
integer_bounds(const Bounds *bounds, ProtoReader *message)
{
	ColumnStatistics *out = bounds->out;

	while (proto_next(message))
	{
		if (message->field == 1)
			out->has_min = integer_scalar(bounds->wanted->physical, proto_sint(message), &out->min);
		else if (message->field == 2)
			out->has_max = integer_scalar(bounds->wanted->physical, proto_sint(message), &out->max);
	}
}

static bool
float_scalar(PhysicalType physical, double number, Scalar *out)
{
	memset(out, 0, sizeof(*out));
	if (physical == PHYSICAL_FLOAT)
		out->v.f32 = (float) number;
	else
		out->v.f64 = number;
	return !isnan(number);
}

static void
float_bounds(const Bounds *bounds, ProtoReader *message)
{
	ColumnStatistics *out = bounds->out;

	while (proto_next(message))
	{
		if (message->field == 1)
			out->has_min = float_scalar(bounds->wanted->physical, proto_double(message), &out->min);
		else if (message->field == 2)
			out->has_max = float_scalar(bounds->wanted->physical, proto_double(message), &out->max);
	}
}

/* Booleans: how many are true. */
static void
boolean_bounds(const Bounds *bounds, ProtoReader *message)
{
	ColumnStatistics *out = bounds->out;

	while (proto_next(message))
	{
		ProtoReader list;
		uint64		ntrue;

		if (message->field != 1)
			continue;
		proto_list(message, &list);
		if (!proto_list_next(&list, &ntrue) || ntrue > bounds->nvalues || bounds->nvalues == 0)
			continue;
		memset(&out->min, 0, sizeof(out->min));
		memset(&out->max, 0, sizeof(out->max));
		out->min.v.i8 = ntrue == bounds->nvalues;
		out->max.v.i8 = ntrue > 0;
		out->has_min = out->has_max = true;
	}
}

/* ---- decimals ---- */

static bool
decimal_scalar(const DataType *wanted, BytesView text, Scalar *out)
{
	const char *point = text.length > 0 ? memchr(text.data, '.', text.length) : NULL;
	int128		value;

	/* more digits would be rounded */
	if (point != NULL && text.data + text.length - (point + 1) > wanted->scale)
		return false;
	if (text.length == 0 ||
		!decimal_from_text(text.data, text.length, wanted->precision, wanted->scale, &value))
		return false;
	memset(out, 0, sizeof(*out));
	if (wanted->physical == PHYSICAL_INT128)
		out->v.i128 = value;
	else
		out->v.i64 = (int64) value;
	return true;
}

static void
decimal_bounds(const Bounds *bounds, ProtoReader *message)
{
	ColumnStatistics *out = bounds->out;

	if (bounds->tail->writer == ORC_WRITER_JAVA && bounds->tail->writer_version < ORC_JAVA_HIVE_13083)
		return;
	while (proto_next(message))
	{
		if (message->field == 1)
			out->has_min = decimal_scalar(bounds->wanted, proto_bytes(message), &out->min);
		else if (message->field == 2)
			out->has_max = decimal_scalar(bounds->wanted, proto_bytes(message), &out->max);
	}
}

/* ---- strings ---- */

/*
 * Long ones have only bounds that were cut off, and of the upper one the last
 * character raised.  CHAR has none: there the blanks at the end were compared,
 * too, which are no part of our values.
 */
static void
string_bounds(const Bounds *bounds, ProtoReader *message)
{
	ColumnStatistics *out = bounds->out;

	while (proto_next(message))
	{
		Scalar	   *bound = message->field == 1 || message->field == 4 ? &out->min : &out->max;

		if (message->field != 1 && message->field != 2 && message->field != 4 && message->field != 5)
			continue;
		memset(bound, 0, sizeof(*bound));
		bound->v.bytes = proto_bytes(message);
		if (bound == &out->min)
			out->has_min = true;
		else
			out->has_max = true;
	}
}

/* ---- timestamps ---- */

static bool
timestamp_scalar(const DataType *wanted, int64 millis, Scalar *out)
{
	memset(out, 0, sizeof(*out));
	if (wanted->precision <= 3)
		out->v.i64 = millis;
	else if (wanted->precision <= 6)
		return !__builtin_mul_overflow(millis, INT64CONST(1000), &out->v.i64);
	else
		out->v.i128 = (int128) millis * 1000000;
	return true;
}

/* Millis, rounded down; those in the time zone of whoever wrote them are not used. */
static void
timestamp_bounds(const Bounds *bounds, ProtoReader *message)
{
	ColumnStatistics *out = bounds->out;
	int64		slack = bounds->type->kind == ORC_TIMESTAMP_INSTANT ? INSTANT_SLACK_MILLIS : TIMESTAMP_SLACK_MILLIS;

	while (proto_next(message))
	{
		int64		millis;

		if (message->field == 3)
			out->has_min = !__builtin_sub_overflow(proto_sint(message), slack, &millis) &&
				timestamp_scalar(bounds->wanted, millis, &out->min);
		else if (message->field == 4)
			out->has_max = !__builtin_add_overflow(proto_sint(message), slack, &millis) &&
				timestamp_scalar(bounds->wanted, millis, &out->max);
	}
}

/* ---- all ---- */

/* The message that has the bounds of a type, and how it is read. */
typedef struct BoundsReader
{
	uint32		field;
	void		(*read) (const Bounds *bounds, ProtoReader *message);
} BoundsReader;

static const BoundsReader bounds_readers[] = {
	[ORC_BOOLEAN] = {5, boolean_bounds},
	[ORC_BYTE] = {2, integer_bounds},
	[ORC_SHORT] = {2, integer_bounds},
	[ORC_INT] = {2, integer_bounds},
	[ORC_LONG] = {2, integer_bounds},
	[ORC_FLOAT] = {3, float_bounds},
	[ORC_DOUBLE] = {3, float_bounds},
	[ORC_STRING] = {4, string_bounds},
	[ORC_TIMESTAMP] = {9, timestamp_bounds},
	[ORC_DECIMAL] = {6, decimal_bounds},
	[ORC_DATE] = {7, integer_bounds},
	[ORC_VARCHAR] = {4, string_bounds},
	[ORC_TIMESTAMP_INSTANT] = {9, timestamp_bounds},
};

void
orc_statistics_bounds(const OrcTail *tail, const char *path, const OrcType *type, const DataType *wanted,
					 BytesView bytes, int64 rows, ColumnStatistics *out)
{
	uint64		nvalues = orc_statistics_volume(path, bytes).values;
	Bounds		bounds = {tail, type, wanted, nvalues, out};
	const BoundsReader *reader = (uint32) type->kind < lengthof(bounds_readers) ? &bounds_readers[type->kind] : NULL;
	ProtoReader message;
	ProtoReader part;
	bool		has_nvalues = false;

	memset(out, 0, sizeof(*out));
	if (tail->writer == ORC_WRITER_JAVA && tail->writer_version < ORC_JAVA_HIVE_8732)
		return;
	proto_init(&message, path, bytes);
	while (proto_next(&message))
	{
		if (message.field == 1)
			has_nvalues = true;
		else if (reader != NULL && reader->read != NULL && message.field == reader->field)
		{
			proto_message(&message, &part);
			reader->read(&bounds, &part);
		}
	}
	if (has_nvalues && nvalues <= (uint64) rows)
	{
		out->has_null_count = true;
		out->null_count = rows - (int64) nvalues;
	}
}

OrcVolume
orc_statistics_volume(const char *path, BytesView bytes)
{
	OrcVolume	volume = {0, 0};
	ProtoReader message;
	ProtoReader part;

	proto_init(&message, path, bytes);
	while (proto_next(&message))
	{
		if (message.field == 1)
			volume.values = proto_uint(&message);
		else if (message.field == 4 || message.field == 8)
		{
			/* the sum of the lengths is the third field of strings' statistics, and the first of bytes' */
			uint32		sum_field = message.field == 4 ? 3 : 1;

			proto_message(&message, &part);
			while (proto_next(&part))
			{
				if (part.field == sum_field)
					volume.bytes = (uint64) Max(proto_sint(&part), 0);
			}
		}
	}
	return volume;
}
