/*
 * bloom.h
 *		The bloom filters of column chunks.
 *
 * Source: apache/parquet-format, BloomFilter.md.
 */
#ifndef STREAMHOUSE_PARQUET_BLOOM_H
#define STREAMHOUSE_PARQUET_BLOOM_H

#include "format/parquet/page_index.h"

/*
 * May the rows of a row group match, as far as bloom filters tell?  columns,
 * by number, are those of the predicate.  Filters are read only for leaves
 * that the chunks' statistics leave open.
 */
extern bool bloom_filters_may_match(ParquetFile *file, const IndexedColumn *columns, const Predicate *predicate,
									int64 num_rows);

#endif							/* STREAMHOUSE_PARQUET_BLOOM_H */
