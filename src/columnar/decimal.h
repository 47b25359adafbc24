/*
 * decimal.h
 *		Decimals as scaled 128-bit integers: texts, scales, limits.
 */
#ifndef STREAMHOUSE_DECIMAL_H
#define STREAMHOUSE_DECIMAL_H

#include "postgres.h"

#include "lib/stringinfo.h"

/* 10 to the exponent, 0 .. 38. */
extern int128 decimal_power_of_ten(int exponent);

/* Has the unscaled value at most that many digits? */
extern bool decimal_fits(int128 unscaled, int precision);

/* All digits of the scale, never an exponent: "-0.050". */
extern void decimal_to_text(StringInfo out, int128 unscaled, int scale);

/*
 * Parse "[+-]digits[.digits]"; digits beyond the scale are rounded, half away
 * from zero.  False when it is no such text or does not fit the precision.
 */
extern bool decimal_from_text(const char *text, size_t length, int precision, int scale, int128 *unscaled);

/* Change the scale, rounding half away from zero.  False when it does not fit the precision. */
extern bool decimal_rescale(int128 unscaled, int from_scale, int to_scale, int precision, int128 *result);

#endif							/* STREAMHOUSE_DECIMAL_H */
