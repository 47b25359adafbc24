/*
 * spread.h
 *		From the values that are not null, one after the other, to rows.
 */
#ifndef STREAMHOUSE_SPREAD_H
#define STREAMHOUSE_SPREAD_H

#include "postgres.h"

/*
 * Put dense values, of so many bytes each, at the rows that are not null.
 * Null rows get one of them, too: that is cheaper than not to; dense must have
 * room for one more than are used.
 */
extern void spread_values(size_t size, const void *dense, const bool *nulls, int count, void *out);

#endif							/* STREAMHOUSE_SPREAD_H */
