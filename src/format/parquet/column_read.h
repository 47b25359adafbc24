/*
 * column_read.h
 *		Reading one column of a Parquet file, row group by row group.
 *
 * A column, or one leaf of a nested column, is a cursor that only goes
 * forward.  It opens its chunk when the first row is asked for, goes past pages without wanted rows without
 * decompressing them, and within a page past values without forming them.
 */
#ifndef STREAMHOUSE_PARQUET_COLUMN_READ_H
#define STREAMHOUSE_PARQUET_COLUMN_READ_H

#include "format/parquet/packed_numbers.h"
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
	const DataType *wanted;		/* NULL: only levels, no values */
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
	PageBuffer *dictionary_page;	/* what it points into, if that is a buffer */
	int32		dictionary_size;
	uint64		dictionary_id;

	/* the page; rows of it begin at page_start, the next one at page_end */
	PageHeader	header;
	bool		has_page;
	bool		loaded;			/* decompressed, decoders are set */
	int64		page_start;
	int64		page_end;		/* UNKNOWN_ROWS: repetition levels will tell */
	int64		values_seen;	/* of the pages so far, if none was jumped over */
	int64		row;			/* where the decoders stand */
	bool		has_levels;
	RleDecoder	levels;			/* of definition */
	RleDecoder	repetitions;
	bool		is_coded;		/* values are dictionary codes */
	RleDecoder	codes;
	ValueDecoder values;
} ParquetColumn;

#define UNKNOWN_ROWS (-1)

/* ---- column_pages.c ---- */

extern ColumnScratch *column_scratch_create(void);
extern void column_damaged(const ParquetColumn *column, const char *detail);

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

/* For those who read rows: the chunk is opened by the first page. */
extern void column_next_page(ParquetColumn *column, int64 row);
extern void column_load_page(ParquetColumn *column);
extern void column_consider_index(ParquetColumn *column, int64 skipped_rows);

/* ---- column_read.c ---- */

/* Stand before a row that is not behind the decoders, in its page. */
extern void column_seek(ParquetColumn *column, int64 row);

extern void column_skip_values(ParquetColumn *column, int64 count);
extern void column_read_plain(ParquetColumn *column, int count, int present, const bool *nulls, void *out);

/* Of a flat column: rows start .. start+nrows-1 of the row group, those selected, into out. */
extern void column_read(ParquetColumn *column, int64 start, int nrows, const int32 *selection, int nselected,
						Vector *out);

/* ---- column_search.c ---- */

/*
 * Leave in the range, of which no row has been read, the rows that may satisfy a leaf on the column: none, perhaps.  False if
 * they cannot be found without a look at all.
 */
extern bool column_search(ParquetColumn *column, const Predicate *leaf, RowRange *range);

#endif							/* STREAMHOUSE_PARQUET_COLUMN_READ_H */
