/*
 * aggregate_state.h
 *		States of aggregates in the form that the server's own combine.
 */
#ifndef STREAMHOUSE_FDW_AGGREGATE_STATE_H
#define STREAMHOUSE_FDW_AGGREGATE_STATE_H

#include "utils/numeric.h"

/* Of sum(bigint) and avg(bigint), as int8_avg_serialize makes it. */
extern Datum int8_state(int64 count, Numeric sum);

/* Of sum(numeric) and avg(numeric), as numeric_avg_serialize makes it; all values have the scale. */
extern Datum numeric_state(int64 count, Numeric sum, int scale);

/* Of avg(integer) and avg(smallint). */
extern Datum int_state(int64 count, int64 sum);

/* Of avg of floats. */
extern Datum float_state(double count, double sum, double squares);

#endif							/* STREAMHOUSE_FDW_AGGREGATE_STATE_H */
