/*
 * kept_page.h
 *		Pages in which rows are looked up: kept in the cache, decompressed as far as needed.
 */
#ifndef STREAMHOUSE_PARQUET_KEPT_PAGE_H
#define STREAMHOUSE_PARQUET_KEPT_PAGE_H

#include "format/codec_part.h"
#include "format/parquet/byte_marks.h"
#include "format/parquet/packed_numbers.h"
#include "format/parquet/page.h"

/* A page as the cache has it; more of its bytes may come, those that are there stay. */
typedef struct KeptPage
{
	PageHeader	header;
	uint64		body;			/* where that lies in the file */
	CodecPart	part;
	char	   *bytes;
	PackedNumbers numbers;		/* of count 0 until the page is packed */
	ByteMarks  *marks;			/* NULL until plain byte arrays of the page are read */
} KeptPage;

/* Set the reader's kept page to that at its position, or to NULL; is there one? */
extern bool kept_page_find(ChunkReader *reader);

/* The page whose body the reader stands before becomes a kept one, if it may; its bytes come later. */
extern bool kept_page_create(ChunkReader *reader, const PageHeader *header);

/* Go past the body; body shows the kept page. */
extern void kept_page_use(ChunkReader *reader, PageBody *body);

/*
 * The integers of the kept page, which are PLAIN and are what is left of body; NULL if they are not known.  When all
 * of them are there they are packed, once; then body shows the whole page again, at another place, and "moved" is set.
 */
extern const PackedNumbers *kept_page_numbers(ChunkReader *reader, ParquetType type, PageBody *body, bool *moved);

/* The marks of a kept page of plain byte arrays; NULL if the current page is none. */
extern ByteMarks *kept_page_marks(ChunkReader *reader, ParquetType type);

#endif							/* STREAMHOUSE_PARQUET_KEPT_PAGE_H */
