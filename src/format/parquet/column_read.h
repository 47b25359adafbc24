/*
 * column_read.h
 *		Reading one column of a Parquet file, row group by row group.
 *
 * A column is a cursor that only goes forward.  It opens its chunk when the
 * first row is asked for, goes past pages without wanted rows without
 * decompressing them, and within a page past values without forming them.
 */
#ifndef STREAMHOUSE_PARQUET_COLUMN_READ_H
#define STREAMHOUSE_PARQUET_COLUMN_READ_H

#include "format/parquet/page.h"
#include "format/parquet/page_index.h"

/* Space in which values are prepared; all columns of a reader share it. */
typedef struct ColumnScratch
{
	void	   *native;			/* BATCH_ROWS + 1 values of any type, each */
	void	   *converted;
	int32	   *codes;
} ColumnScratch;

typedef struct ParquetColumn
{
	ParquetFile *file;
	ParquetPlace place;
	const DataType *wanted;
	const ParquetField *field;
	Conversion	conversion;
	ColumnScratch *scratch;
	MemoryContext group_context;	/* dictionary and page index of a row group */
	MemoryContext batch_context;	/* the reader's, reset with each batch */
	MemoryContext page_context; /* what the decoders of the current page allocate */

	/* the row group */
	const ParquetChunk *chunk;
	int64		group_rows;
	const RowRange *ranges;		/* rows that will be asked for, at most */
	int			nranges;
	bool		opened;
	ChunkReader pages;
	OffsetIndex *offsets;		/* NULL: not read, or none */
	int			next_page;		/* number of the page after the current one */
	void	   *dictionary;		/* in the wanted form; NULL: none */
	int32		dictionary_size;

	/* the page; rows of it begin at page_start, the next one at page_end */
	PageHeader	header;
	bool		has_page;
	bool		loaded;			/* decompressed, decoders are set */
	int64		page_start;
	int64		page_end;
	int64		row;			/* where the decoders stand */
	bool		has_levels;
	RleDecoder	levels;
	bool		is_coded;		/* values are dictionary codes */
	RleDecoder	codes;
	ValueDecoder values;
} ParquetColumn;

extern ColumnScratch *column_scratch_create(void);

/* In CurrentMemoryContext.  ERROR when the file's type cannot become the wanted one. */
extern void column_init(ParquetColumn *column, ParquetFile *file, const ParquetField *field, const char *name,
						const DataType *wanted, ColumnScratch *scratch, MemoryContext batch_context,
						size_t window_bytes);

/*
 * Begin a row group, of which no rows outside of ranges will be read.  chunk,
 * ranges and offsets (NULL: not read) are the caller's until column_end_group.
 */
extern void column_begin_group(ParquetColumn *column, const ParquetChunk *chunk, int64 num_rows,
							   const RowRange *ranges, int nranges, OffsetIndex *offsets);
extern void column_end_group(ParquetColumn *column);

/* Before the rows of a new batch are read. */
extern void column_new_batch(ParquetColumn *column);

/* Rows start .. start+nrows-1 of the row group, those selected, into out. */
extern void column_read(ParquetColumn *column, int64 start, int nrows, const int32 *selection, int nselected,
						Vector *out);

#endif							/* STREAMHOUSE_PARQUET_COLUMN_READ_H */
