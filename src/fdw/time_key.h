/*
 * time_key.h
 *		Timestamps are told apart no finer than a function of them looks.
 *
 * date_trunc('month', t) is the same for all timestamps of a local day.  So
 * results of the server's function can be kept by day, and be as exact as it.
 */
#ifndef STREAMHOUSE_FDW_TIME_KEY_H
#define STREAMHOUSE_FDW_TIME_KEY_H

#include "nodes/primnodes.h"

#include "columnar/vector.h"

/* Microseconds within which a function of a timestamp is constant; larger ones are multiples of smaller ones. */
#define GRAIN_NONE INT64CONST(1)

/* The grain of a call, as a function of the timestamp that is its argument. */
extern int64 time_grain(const Expr *node, const Expr *argument);

/* The scale of what extract gives for a unit, -1: not always the same, or not known; and digits it may have. */
#define EXTRACT_PRECISION 24
extern int	time_extract_scale(const Expr *unit, bool of_date);

typedef struct TimeKey TimeKey;

/* Keys for a column of TIMESTAMP or TIMESTAMP_LTZ, of microseconds at most.  In CurrentMemoryContext. */
extern TimeKey *time_key_create(const DataType *column, int64 grain);

/* The type of the keys. */
extern const DataType *time_key_type(void);

/* Keys of the selected rows (NULL: the first nrows): equal where the server's function sees no difference. */
extern const Vector *time_key_make(TimeKey *key, const Vector *column, const int32 *rows, int nrows);

#endif							/* STREAMHOUSE_FDW_TIME_KEY_H */
