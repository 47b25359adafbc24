/*
 * kept_page.h
 *		Pages in which rows are looked up: kept in the cache, decompressed as far as needed.
 */
#ifndef STREAMHOUSE_PARQUET_KEPT_PAGE_H
#define STREAMHOUSE_PARQUET_KEPT_PAGE_H

#include "format/codec_part.h"
#include "format/parquet/page.h"

/* A page as the cache has it; more of its bytes may come, those that are there stay. */
typedef struct KeptPage
{
	PageHeader	header;
	uint64		body;			/* where that lies in the file */
	CodecPart	part;
	char	   *bytes;
} KeptPage;

/* Set the reader's kept page to that at its position, or to NULL; is there one? */
extern bool kept_page_find(ChunkReader *reader);

/* The page whose body the reader stands before becomes a kept one, if it may; its bytes come later. */
extern bool kept_page_create(ChunkReader *reader, const PageHeader *header);

/* Go past the body; body shows the kept page. */
extern void kept_page_use(ChunkReader *reader, PageBody *body);

#endif							/* STREAMHOUSE_PARQUET_KEPT_PAGE_H */
