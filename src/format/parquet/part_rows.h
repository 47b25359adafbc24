/*
 * part_rows.h
 *		Where a part of a file that is read for itself really begins and ends.
 */
#ifndef STREAMHOUSE_PARQUET_PART_ROWS_H
#define STREAMHOUSE_PARQUET_PART_ROWS_H

#include "format/parquet/column_read.h"

/*
 * The rows to be read of a file for a part of it: its bounds, each moved to
 * the edge of a row group if that is cheaper.  Where a bound goes depends only
 * on the file and the columns, so that parts which meet still do.  metadata
 * is before the first row group; memory is taken in CurrentMemoryContext.
 */
extern RowRange part_rows_align(ParquetMetadata metadata, const bool *wanted_leaves,
								ParquetColumn *const *leaves, int nleaves, RowRange rows);

#endif							/* STREAMHOUSE_PARQUET_PART_ROWS_H */
