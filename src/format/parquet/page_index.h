/*
 * page_index.h
 *		Where a chunk's pages are, and which of them can have matching rows.
 *
 * Source: apache/parquet-format, PageIndex.md.
 */
#ifndef STREAMHOUSE_PARQUET_PAGE_INDEX_H
#define STREAMHOUSE_PARQUET_PAGE_INDEX_H

#include "format/format.h"
#include "format/parquet/statistics_read.h"

typedef struct PageLocation
{
	uint64		offset;			/* of the header */
	uint64		end;
	int64		first_row;		/* within the row group */
	uint64		read_end;		/* end of the wanted pages that follow without a gap */
} PageLocation;

typedef struct OffsetIndex
{
	int			npages;
	PageLocation *pages;		/* one more than npages, where first_row is the number of rows */
} OffsetIndex;

/* What the page index needs to know of a column of the predicate. */
typedef struct IndexedColumn
{
	const ParquetPlace *place;
	const ParquetField *field;	/* NULL: the file lacks it, all rows are null */
	const Conversion *conversion;
	const DataType *wanted;
	const ParquetChunk *chunk;
	bool		used;			/* by the predicate */
	ColumnStatistics statistics;	/* of the chunk */
	OffsetIndex *offsets;		/* out, if it was read */
} IndexedColumn;

/*
 * The ranges of a row group's rows that may match.  Everything lies in
 * CurrentMemoryContext.
 */
extern RowRange *page_index_ranges(ParquetFile *file, IndexedColumn *columns, int ncolumns,
								   const Predicate *predicate, int64 num_rows, int *nranges);

/* A chunk's offset index; NULL when it has none. */
extern OffsetIndex *offset_index_read(ParquetFile *file, const ParquetPlace *place, const ParquetChunk *chunk,
									  int64 num_rows);

/* Note which pages have rows in the ranges, for reading ahead. */
extern void offset_index_mark(OffsetIndex *index, const RowRange *ranges, int nranges);

/* The page that has a row. */
extern int	offset_index_find(const OffsetIndex *index, int64 row);

#endif							/* STREAMHOUSE_PARQUET_PAGE_INDEX_H */
