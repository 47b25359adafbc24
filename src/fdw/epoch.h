/*
 * epoch.h
 *		Dates and times: the lake counts from 1970, the server from 2000.
 */
#ifndef STREAMHOUSE_FDW_EPOCH_H
#define STREAMHOUSE_FDW_EPOCH_H

#include "datatype/timestamp.h"

#define EPOCH_DAYS (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE)
#define EPOCH_MICROS (EPOCH_DAYS * USECS_PER_DAY)

#define MICROS_PER_MILLI INT64CONST(1000)
#define NANOS_PER_MICRO INT64CONST(1000)
#define MILLIS_PER_DAY (SECS_PER_DAY * 1000)

/* Timestamps of at most this precision are millis in memory; then micros, up to 6. */
#define MILLIS_PRECISION 3

/* Division that rounds down, also below zero. */
static inline int128
floor_divide(int128 value, int64 divisor)
{
	int128		quotient = value / divisor;

	return quotient * divisor > value ? quotient - 1 : quotient;
}

/* What SQL shows of a timestamp finer than it can: cut, not rounded. */
static inline int128
nanos_to_micros(int128 nanos)
{
	return floor_divide(nanos, NANOS_PER_MICRO);
}

#endif							/* STREAMHOUSE_FDW_EPOCH_H */
