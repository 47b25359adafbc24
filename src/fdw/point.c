/*
 * point.c
 *		Where a value of SQL lies among the values that a lake column can have.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type_d.h"
#include "utils/date.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "fdw/epoch.h"
#include "fdw/numeric.h"
#include "fdw/point.h"

bool
point_is_defined(const DataType *type, Oid typid)
{
	switch (type->root)
	{
		case TYPE_BOOLEAN:
			return typid == BOOLOID;
		case TYPE_TINYINT:
		case TYPE_SMALLINT:
		case TYPE_INT:
		case TYPE_BIGINT:
			return typid == INT2OID || typid == INT4OID || typid == INT8OID || typid == NUMERICOID;
		case TYPE_FLOAT:
		case TYPE_DOUBLE:
			return typid == FLOAT4OID || typid == FLOAT8OID;
		case TYPE_DECIMAL:
			return typid == NUMERICOID;
		case TYPE_CHAR:
		case TYPE_VARCHAR:
			/* not character(n), to which blanks at the end mean nothing */
			return typid == TEXTOID || typid == VARCHAROID;
		case TYPE_BINARY:
		case TYPE_VARBINARY:
			return typid == BYTEAOID;
		case TYPE_DATE:
		case TYPE_TIMESTAMP:
			return typid == DATEOID || typid == TIMESTAMPOID;
		case TYPE_TIME:
			return typid == TIMEOID;
		case TYPE_TIMESTAMP_LTZ:
			return typid == TIMESTAMPTZOID || typid == DATEOID || typid == TIMESTAMPOID;
		default:
			return false;
	}
}

static Point
point_infinite(bool above)
{
	Point		point = {.kind = above ? POINT_ABOVE : POINT_BELOW};

	return point;
}

static void
set_integer(Scalar *scalar, PhysicalType physical, int128 value)
{
	switch (physical)
	{
		case PHYSICAL_INT8:
			scalar->v.i8 = (int8) value;
			break;
		case PHYSICAL_INT16:
			scalar->v.i16 = (int16) value;
			break;
		case PHYSICAL_INT32:
			scalar->v.i32 = (int32) value;
			break;
		case PHYSICAL_INT64:
			scalar->v.i64 = (int64) value;
			break;
		default:
			Assert(physical == PHYSICAL_INT128);
			scalar->v.i128 = value;
			break;
	}
}

/* A value in units of the column, or, if not exact, between floor and the next. */
static Point
point_integer(const DataType *type, int128 floor, bool exact)
{
	Point		point = {.kind = exact ? POINT_VALUE : POINT_GAP};

	if (type->physical != PHYSICAL_INT128)
	{
		int128		limit = (int128) 1 << (8 * physical_size(type->physical) - 1);

		if (floor >= limit || floor < -limit)
			return point_infinite(floor > 0);
	}
	set_integer(&point.value, type->physical, floor);
	return point;
}

/* A value counted in units of which divisor make one of the column's. */
static Point
point_divided(const DataType *type, int128 value, int64 divisor)
{
	int128		floor = floor_divide(value, divisor);

	return point_integer(type, floor, floor * divisor == value);
}

static Point
point_numeric(const DataType *type, Datum value, int scale)
{
	DecimalValue decimal = decimal_from_numeric(PG_DETOAST_DATUM_PACKED(value), scale);

	switch (decimal.place)
	{
		case DECIMAL_MINUS_INFINITY:
		case DECIMAL_BELOW:
			return point_infinite(false);
		case DECIMAL_FINITE:
			return point_integer(type, decimal.floor, decimal.exact);
		case DECIMAL_ABOVE:
		case DECIMAL_PLUS_INFINITY:
		case DECIMAL_NAN:		/* which the server sorts last */
			break;
	}
	return point_infinite(true);
}

static Point
point_float(const DataType *type, double value)
{
	Point		point = {.kind = POINT_VALUE};
	float		narrow;

	if (type->root == TYPE_DOUBLE)
	{
		point.value.v.f64 = value;
		return point;
	}
	narrow = (float) value;
	if (!isnan(value) && (double) narrow != value)
	{
		point.kind = POINT_GAP;
		if ((double) narrow > value)
			narrow = nextafterf(narrow, -INFINITY);
	}
	point.value.v.f32 = narrow;
	return point;
}

static Point
point_bytes(Datum value)
{
	struct varlena *bytes = PG_DETOAST_DATUM_COPY(value);
	Point		point = {.kind = POINT_VALUE};

	point.value.v.bytes.data = VARDATA_ANY(bytes);
	point.value.v.bytes.length = VARSIZE_ANY_EXHDR(bytes);
	return point;
}

/* Micros since 1970, in a timestamp column. */
static Point
point_micros(const DataType *type, int128 micros)
{
	Point		point;

	if (type->physical != PHYSICAL_INT128)
		return point_divided(type, micros, type->precision <= MILLIS_PRECISION ? MICROS_PER_MILLI : 1);

	point = point_integer(type, micros * NANOS_PER_MICRO, true);
	point.kind = POINT_RANGE;
	set_integer(&point.last, type->physical, micros * NANOS_PER_MICRO + NANOS_PER_MICRO - 1);
	return point;
}

static Point
point_date(const DataType *type, DateADT date)
{
	int128		days = (int128) date + EPOCH_DAYS;

	if (DATE_NOT_FINITE(date))
		return point_infinite(DATE_IS_NOEND(date));
	return type->root == TYPE_DATE ? point_integer(type, days, true) : point_micros(type, days * USECS_PER_DAY);
}

static Point
point_timestamp(const DataType *type, Timestamp timestamp)
{
	int128		micros = (int128) timestamp + EPOCH_MICROS;

	if (TIMESTAMP_NOT_FINITE(timestamp))
		return point_infinite(TIMESTAMP_IS_NOEND(timestamp));
	return type->root == TYPE_DATE ? point_divided(type, micros, USECS_PER_DAY) : point_micros(type, micros);
}

Point
point_of_datum(const DataType *type, Oid typid, Datum value)
{
	int			overflow;

	/* beside instants, local times are those of the session's time zone, and infinite if out of range */
	switch (typid)
	{
		case BOOLOID:
			return point_integer(type, DatumGetBool(value) ? 1 : 0, true);
		case INT2OID:
			return point_integer(type, DatumGetInt16(value), true);
		case INT4OID:
			return point_integer(type, DatumGetInt32(value), true);
		case INT8OID:
			return point_integer(type, DatumGetInt64(value), true);
		case NUMERICOID:
			return point_numeric(type, value, type->root == TYPE_DECIMAL ? type->scale : 0);
		case FLOAT4OID:
			return point_float(type, DatumGetFloat4(value));
		case FLOAT8OID:
			return point_float(type, DatumGetFloat8(value));
		case TEXTOID:
		case VARCHAROID:
		case BYTEAOID:
			return point_bytes(value);
		case DATEOID:
			if (type->root == TYPE_TIMESTAMP_LTZ)
				return point_timestamp(type, date2timestamptz_opt_overflow(DatumGetDateADT(value), &overflow));
			return point_date(type, DatumGetDateADT(value));
		case TIMEOID:
			return point_divided(type, DatumGetTimeADT(value), MICROS_PER_MILLI);
		case TIMESTAMPOID:
			if (type->root == TYPE_TIMESTAMP_LTZ)
				return point_timestamp(type, timestamp2timestamptz_opt_overflow(DatumGetTimestamp(value), &overflow));
			return point_timestamp(type, DatumGetTimestamp(value));
		case TIMESTAMPTZOID:
			return point_timestamp(type, DatumGetTimestamp(value));
		default:
			elog(ERROR, "type %u has no place in a lake column", typid);
	}
}

static Predicate *
leaf_of_value(PredicateOp op, int column, const DataType *type, const Scalar *value)
{
	Scalar		values = *value;

	return predicate_leaf(op, column, type, &values, 1);
}

static Predicate *
leaf_of_none(bool matches, int column, const DataType *type)
{
	return predicate_leaf(matches ? PREDICATE_IS_NOT_NULL : PREDICATE_FALSE, column, type, NULL, 0);
}

static Predicate *
range_predicate(PredicateOp op, int column, const DataType *type, const Point *point)
{
	switch (op)
	{
		case PREDICATE_EQ:
			return predicate_combine(PREDICATE_AND,
									 list_make2(leaf_of_value(PREDICATE_GE, column, type, &point->value),
												leaf_of_value(PREDICATE_LE, column, type, &point->last)));
		case PREDICATE_NE:
			return predicate_combine(PREDICATE_OR,
									 list_make2(leaf_of_value(PREDICATE_LT, column, type, &point->value),
												leaf_of_value(PREDICATE_GT, column, type, &point->last)));
		case PREDICATE_LT:
		case PREDICATE_GE:
			return leaf_of_value(op, column, type, &point->value);
		default:
			return leaf_of_value(op, column, type, &point->last);
	}
}

/* No value equals the point: what is left of an operator is its direction. */
static Predicate *
gap_predicate(PredicateOp op, int column, const DataType *type, const Point *point)
{
	switch (op)
	{
		case PREDICATE_LT:
		case PREDICATE_LE:
			return leaf_of_value(PREDICATE_LE, column, type, &point->value);
		case PREDICATE_GT:
		case PREDICATE_GE:
			return leaf_of_value(PREDICATE_GT, column, type, &point->value);
		default:
			return leaf_of_none(op == PREDICATE_NE, column, type);
	}
}

Predicate *
point_predicate(PredicateOp op, int column, const DataType *type, const Point *point)
{
	switch (point->kind)
	{
		case POINT_VALUE:
			return leaf_of_value(op, column, type, &point->value);
		case POINT_GAP:
			return gap_predicate(op, column, type, point);
		case POINT_RANGE:
			return range_predicate(op, column, type, point);
		case POINT_BELOW:
			return leaf_of_none(op == PREDICATE_NE || op == PREDICATE_GT || op == PREDICATE_GE, column, type);
		case POINT_ABOVE:
			return leaf_of_none(op == PREDICATE_NE || op == PREDICATE_LT || op == PREDICATE_LE, column, type);
	}
	return NULL;				/* keep compiler quiet */
}
