/*
 * page.h
 *		The pages of a column chunk: fetching, checking and decompressing.
 */
#ifndef STREAMHOUSE_PARQUET_PAGE_H
#define STREAMHOUSE_PARQUET_PAGE_H

#include "format/codec.h"
#include "format/parquet/metadata.h"
#include "format/parquet/partial.h"

/*
 * Memory that values may point into.  Buffers that are replaced while a batch
 * is out are kept until the next one; then the largest is used again.
 */
typedef struct PageBuffer
{
	struct PageBuffer *next;
	size_t		capacity;		/* without the padding behind it */
	char		data[FLEXIBLE_ARRAY_MEMBER];
} PageBuffer;

typedef struct BufferPool
{
	ScanMemory *memory;
	PageBuffer *spare;
	PageBuffer *retired;		/* released, but perhaps still pointed into */
} BufferPool;

extern PageBuffer *buffer_take(BufferPool *pool, size_t size);
extern void buffer_release(BufferPool *pool, PageBuffer *buffer);	/* NULL is allowed */
extern void buffer_pool_new_batch(BufferPool *pool);

typedef struct PageHeader
{
	ParquetPageType type;
	uint32		compressed_size;	/* of the body, levels included */
	uint32		uncompressed_size;
	bool		has_crc;
	uint32		crc;
	int32		num_values;
	ParquetEncoding encoding;
	/* data pages */
	ParquetEncoding level_encoding; /* of definition levels */
	ParquetEncoding repetition_encoding;
	/* version 2 */
	int32		num_rows;
	uint32		levels_length;
	uint32		repetition_length;
	int32		num_nulls;
	bool		is_compressed;
} PageHeader;

/* A page's body, decompressed. */
typedef struct PageBody
{
	const uint8 *levels;		/* of version 2, behind those of repetition; else NULL: in front of the values */
	const uint8 *values;
	size_t		length;			/* of values */
	PartialBytes *partial;		/* how much of it is there; NULL: all */
} PageBody;

/*
 * Reads a chunk in windows: more than a page at a time, but not all of a large
 * chunk.  stop is how far it should read ahead.
 */
typedef struct ChunkReader
{
	ParquetFile *file;
	const char *column;
	Codec		codec;
	size_t		window_bytes;
	uint64		start;			/* the first page, of a dictionary if there is one */
	uint64		end;
	uint64		position;		/* of the next header, or of the body after page_header_next */
	uint64		stop;
	size_t		ahead;			/* bytes of the next window: few after a jump, then more */
	BufferPool	windows;
	PageBuffer *window;			/* holds window_length bytes from window_start */
	bool		window_used;	/* values may point into it */
	uint64		window_start;
	size_t		window_length;
	BufferPool	pages;
	PageBuffer *page;			/* the current page, decompressed */
	bool		page_used;		/* values may point into it; its user says so */
	MemoryContext keep_context; /* pages are taken from the cache, and put there, for as long; NULL: they are not */
	uint64		page_place;		/* of the current page's header */
	struct KeptPage *kept;		/* the current page in the cache, NULL: it was not there */
	PartialBytes partial;		/* of that one */
} ChunkReader;

/* Once for a column; memory lies in CurrentMemoryContext. */
extern void chunk_reader_init(ChunkReader *reader, ParquetFile *file, const char *column, size_t window_bytes);

/* Begin a chunk; checks what its metadata says. */
extern void chunk_reader_open(ChunkReader *reader, const ParquetChunk *chunk);

/*
 * The body of the current page, which the caller has just read and which values may point into from now on, until it is
 * given back; NULL if it does not lie in a buffer of about its size.
 */
extern PageBuffer *chunk_reader_keep_page(ChunkReader *reader, const PageBody *body);
extern void chunk_reader_give_page(ChunkReader *reader, PageBuffer *page);

/* Let go of its memory, when no values of it are needed any more. */
extern void chunk_reader_close(ChunkReader *reader);

/* Go to a page's header; windows end at stop, if it lies beyond. */
extern void chunk_reader_seek(ChunkReader *reader, uint64 position, uint64 stop);

/* Read the next page's header; false at the end of the chunk. */
extern bool page_header_next(ChunkReader *reader, PageHeader *header);

/* After page_header_next, one of these. */
extern void page_skip_body(ChunkReader *reader, const PageHeader *header);
extern void page_read_body(ChunkReader *reader, const PageHeader *header, PageBody *body);

/* Bytes of the chunk, which the caller knows to be within it; valid until the next call. */
extern const char *chunk_bytes(ChunkReader *reader, uint64 offset, size_t length);

/* Values of batches before are not needed any more. */
extern void chunk_reader_new_batch(ChunkReader *reader);

#endif							/* STREAMHOUSE_PARQUET_PAGE_H */
