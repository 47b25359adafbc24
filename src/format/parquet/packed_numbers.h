/*
 * packed_numbers.h
 *		A page's integers in as few bytes each as they need, and searched if they ascend.
 *
 * Pages in which rows are looked up stay in memory (kept_page.h).  Keys, times
 * and amounts of neighbouring rows differ in their lower bytes only: without
 * the others more pages find room, and any value is still a load away.
 */
#ifndef STREAMHOUSE_PARQUET_PACKED_NUMBERS_H
#define STREAMHOUSE_PARQUET_PACKED_NUMBERS_H

#include "format/parquet/decode.h"

/* What is known of a page's integers once all of them have been seen. */
typedef struct PackedNumbers
{
	int64		count;			/* 0: nothing is known */
	int64		base;			/* the least, to which the packed ones are added */
	int			width;			/* bytes of each; that of the type: they are not packed, but as the page has them */
	bool		ascending;
} PackedNumbers;

/* Look at count integers of width 4 or 8. */
extern void numbers_measure(const uint8 *values, int width, int64 count, PackedNumbers *out);

/* Pack what was measured; count * numbers->width bytes go to out, and READ_PADDING behind it may be written. */
extern void numbers_pack(const uint8 *values, int width, const PackedNumbers *numbers, uint8 *out);

/* Begin a page whose integers are packed at data. */
extern void packed_init(ValueDecoder *decoder, const ParquetPlace *place, ParquetType type,
						const PackedNumbers *numbers, const uint8 *data);

/*
 * Of the next count integers, which ascend: how many are less than the bound,
 * or, with equal, not greater.  The decoder stays where it is.
 */
extern int64 numbers_search(const ValueDecoder *decoder, int64 count, int64 bound, bool equal);

#endif							/* STREAMHOUSE_PARQUET_PACKED_NUMBERS_H */
