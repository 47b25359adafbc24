/*
 * statistics.h
 *		ORC's statistics as bounds in our types.
 */
#ifndef STREAMHOUSE_ORC_STATISTICS_H
#define STREAMHOUSE_ORC_STATISTICS_H

#include "columnar/predicate.h"
#include "format/orc/tail.h"

/*
 * Bounds of a column from an encoded ColumnStatistics message, over so many
 * rows.  Nothing is known of what the message does not say for certain.
 */
extern void orc_statistics_bounds(const OrcTail *tail, const char *path, const OrcType *type, const DataType *wanted,
								 BytesView message, int64 rows, ColumnStatistics *out);

/* How many values, and bytes of strings, a column has. */
typedef struct OrcVolume
{
	uint64		values;
	uint64		bytes;
} OrcVolume;

extern OrcVolume orc_statistics_volume(const char *path, BytesView message);

#endif							/* STREAMHOUSE_ORC_STATISTICS_H */
