/*
 * time_key.c
 *		Timestamps are told apart no finer than a function of them looks.
 *
 * A key is the number of the local day, hour, minute or second.  The zone of
 * the session is followed through its changes: between two of them the local
 * time has a constant distance from the universal one.  The number of that
 * interval is a part of the key, since an hour may come twice.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "common/int.h"
#include "parser/scansup.h"
#include "pgtime.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "fdw/epoch.h"
#include "fdw/time_key.h"

/* Intervals that are remembered, how far back one is looked for, and bits of their number in keys. */
#define MAX_INTERVALS 64
#define INTERVAL_SECONDS (90 * SECS_PER_DAY)
#define NUMBER_BITS 20

/* Between two changes of the zone, or a part of that. */
typedef struct ZoneInterval
{
	int64		start;			/* microseconds since 1970 */
	int64		end;			/* not of it any more */
	int64		offset;			/* of local time, microseconds */
	uint32		number;
} ZoneInterval;

struct TimeKey
{
	int64		unit;			/* microseconds of a value in memory */
	int64		grain;
	uint32		next_number;
	int			nintervals;
	int			oldest;			/* that will be forgotten first */
	int			current;
	ZoneInterval intervals[MAX_INTERVALS];
	Vector	   *keys;
};

/* ---- grains ---- */

/* The unit that date_trunc or extract names, -1: it is not known. */
static int
decode_unit(const Expr *node)
{
	const Const *name = (const Const *) node;
	char	   *lower;
	text	   *unit;
	int			type;
	int			value;

	if (!IsA(name, Const) || name->constisnull || name->consttype != TEXTOID)
		return -1;
	unit = DatumGetTextPP(name->constvalue);
	lower = downcase_truncate_identifier(VARDATA_ANY(unit), VARSIZE_ANY_EXHDR(unit), false);
	type = DecodeUnits(0, lower, &value);
	if (type == UNKNOWN_FIELD)
		type = DecodeSpecial(0, lower, &value);
	return type == UNITS || type == RESERV ? value : -1;
}

static int64
unit_grain(const Expr *node)
{
	switch (decode_unit(node))
	{
		case DTK_DAY:
		case DTK_WEEK:
		case DTK_MONTH:
		case DTK_QUARTER:
		case DTK_YEAR:
		case DTK_DECADE:
		case DTK_CENTURY:
		case DTK_MILLENNIUM:
		case DTK_DOW:
		case DTK_ISODOW:
		case DTK_DOY:
		case DTK_ISOYEAR:
			return USECS_PER_DAY;
		case DTK_HOUR:
			return USECS_PER_HOUR;
		case DTK_MINUTE:
			return USECS_PER_MINUTE;
		default:
			return GRAIN_NONE;
	}
}

int
time_extract_scale(const Expr *unit, bool of_date)
{
	if (unit_grain(unit) != GRAIN_NONE)
		return 0;
	switch (decode_unit(unit))
	{
		case DTK_MICROSEC:
			return 0;
		case DTK_MILLISEC:
			return 3;
		case DTK_SECOND:
			return 6;
		case DTK_EPOCH:
			return of_date ? 0 : 6;
		default:
			return -1;
	}
}

int64
time_grain(const Expr *node, const Expr *argument)
{
	const FuncExpr *call = (const FuncExpr *) node;

	if (!IsA(call, FuncExpr))
		return GRAIN_NONE;
	switch (call->funcid)
	{
		case F_DATE_TRUNC_TEXT_TIMESTAMP:
		case F_DATE_TRUNC_TEXT_TIMESTAMPTZ:
		case F_DATE_PART_TEXT_TIMESTAMP:
		case F_DATE_PART_TEXT_TIMESTAMPTZ:
		case F_EXTRACT_TEXT_TIMESTAMP:
		case F_EXTRACT_TEXT_TIMESTAMPTZ:
			return lsecond(call->args) == argument ? unit_grain(linitial(call->args)) : GRAIN_NONE;
		case F_DATE_TIMESTAMP:
		case F_DATE_TIMESTAMPTZ:
			return USECS_PER_DAY;
		default:
			return GRAIN_NONE;
	}
}

/* ---- zones ---- */

static int64
seconds_to_micros(pg_time_t seconds, int64 beyond)
{
	int64		micros;

	return pg_mul_s64_overflow(seconds, USECS_PER_SEC, &micros) ? beyond : micros;
}

/* What surrounds a moment: from a change of the zone, or a while before, to the next. */
static ZoneInterval
find_interval(int64 micros)
{
	pg_time_t	moment = (pg_time_t) floor_divide(micros, USECS_PER_SEC);
	pg_time_t	start = moment - INTERVAL_SECONDS;
	pg_time_t	boundary;
	ZoneInterval interval;
	long		before_offset;
	long		after_offset;
	int			before_dst;
	int			after_dst;
	int			found;

	while ((found = pg_next_dst_boundary(&start, &before_offset, &before_dst, &boundary, &after_offset, &after_dst,
										 session_timezone)) > 0 && boundary <= moment)
		start = boundary;
	if (found < 0)
		elog(ERROR, "could not find the offset of the time zone");
	interval.start = seconds_to_micros(start, PG_INT64_MIN);
	interval.end = found > 0 ? seconds_to_micros(boundary, PG_INT64_MAX) : PG_INT64_MAX;
	interval.offset = before_offset * USECS_PER_SEC;
	return interval;
}

static inline bool
contains(const ZoneInterval *interval, int64 micros)
{
	return micros >= interval->start && micros < interval->end;
}

/* The interval of a moment that the current one does not contain. */
static pg_noinline void
change_interval(TimeKey *key, int64 micros)
{
	for (key->current = 0; key->current < key->nintervals; key->current++)
	{
		if (contains(&key->intervals[key->current], micros))
			return;
	}
	if (key->nintervals < MAX_INTERVALS)
		key->current = key->nintervals++;
	else
	{
		key->current = key->oldest;
		key->oldest = (key->oldest + 1) % MAX_INTERVALS;
	}
	key->intervals[key->current] = find_interval(micros);
	key->intervals[key->current].number = key->next_number++ % (1 << NUMBER_BITS);
}

/* ---- keys ---- */

const DataType *
time_key_type(void)
{
	return type_make(TYPE_BIGINT, 0, 0, true);
}

TimeKey *
time_key_create(const DataType *column, int64 grain)
{
	TimeKey    *key = palloc0(sizeof(TimeKey));

	Assert(column->physical == PHYSICAL_INT64);
	key->unit = column->precision <= MILLIS_PRECISION ? MICROS_PER_MILLI : 1;
	key->grain = grain;
	key->keys = vector_create(time_key_type(), BATCH_ROWS);
	if (column->root == TYPE_TIMESTAMP)
	{
		key->intervals[0] = (ZoneInterval) {.start = PG_INT64_MIN, .end = PG_INT64_MAX};
		key->nintervals = 1;
	}
	else
		key->intervals[0] = (ZoneInterval) {.start = 0, .end = 0};
	return key;
}

/* No other value has the key of one that is too large for the server, and to compute it is an error. */
static inline int64
key_of(TimeKey *key, int64 value)
{
	const ZoneInterval *interval;
	int64		micros;
	int64		local;
	int64		number;

	if (pg_mul_s64_overflow(value, key->unit, &micros))
		return PG_INT64_MAX;
	if (!contains(&key->intervals[key->current], micros))
		change_interval(key, micros);
	interval = &key->intervals[key->current];
	local = (int64) ((uint64) micros + (uint64) interval->offset);
	number = local / key->grain - (local % key->grain < 0);
	return (int64) ((uint64) number << NUMBER_BITS) | interval->number;
}

const Vector *
time_key_make(TimeKey *key, const Vector *column, const int32 *rows, int nrows)
{
	Vector	   *keys = key->keys;
	int			i;

	vector_reset(keys);
	keys->has_nulls = column->has_nulls;
	if (column->has_nulls)
		memcpy(keys->nulls, column->nulls, BATCH_ROWS * sizeof(bool));
	for (i = 0; i < nrows; i++)
	{
		int32		row = rows != NULL ? rows[i] : i;

		if (!column->has_nulls || !column->nulls[row])
			keys->values.i64[row] = key_of(key, column->values.i64[row]);
	}
	return keys;
}
