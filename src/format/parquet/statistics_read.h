/*
 * statistics_read.h
 *		Parquet's statistics as bounds in our types.
 */
#ifndef STREAMHOUSE_PARQUET_STATISTICS_READ_H
#define STREAMHOUSE_PARQUET_STATISTICS_READ_H

#include "columnar/predicate.h"
#include "format/parquet/convert.h"

/*
 * A lower and an upper bound as they are in the file (data NULL: none); old:
 * from the deprecated fields.  Only what can be trusted gets into out, whose
 * null count is left alone.
 */
extern void statistics_bounds(const ParquetField *field, const Conversion *conversion, const DataType *wanted,
							  BytesView min, BytesView max, bool old, ColumnStatistics *out);

/* Everything that a chunk of num_rows rows says about a column. */
extern void statistics_of_chunk(const ParquetField *field, const Conversion *conversion, const DataType *wanted,
								const ParquetStatistics *statistics, int64 num_rows, ColumnStatistics *out);

#endif							/* STREAMHOUSE_PARQUET_STATISTICS_READ_H */
