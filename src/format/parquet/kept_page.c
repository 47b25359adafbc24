/*
 * kept_page.c
 *		Pages in which rows are looked up: kept in the cache, decompressed as far as needed.
 *
 * Most of a lookup's time is decompression: of twenty thousand values a column
 * for the sake of one.  So a page's bytes come when a decoder asks for them
 * (partial.h), and what has come serves later statements, too.
 */
#include "postgres.h"

#include "format/parquet/kept_page.h"
#include "storage/cache.h"
#include "utils/memutils.h"

bool
kept_page_find(ChunkReader *reader)
{
	MemoryContext old;

	reader->kept = NULL;
	if (reader->keep_context == NULL)
		return false;
	old = MemoryContextSwitchTo(reader->keep_context);
	/* not const for us: its bytes are a cache of their own */
	reader->kept = unconstify(void *, cache_get(CACHE_PARQUET_PAGE, reader->file->path, (int64) reader->position));
	MemoryContextSwitchTo(old);
	if (reader->kept == NULL)
		return false;
	reader->file->counters->pages_cached++;
	return true;
}

/* Levels of version 2 are not compressed, and lie apart. */
static bool
may_keep_page(const ChunkReader *reader, const PageHeader *header)
{
	return reader->keep_context != NULL && reader->codec != CODEC_NONE && header->type != PARQUET_DATA_PAGE_V2 &&
		cache_has_room(header->uncompressed_size);
}

bool
kept_page_create(ChunkReader *reader, const PageHeader *header)
{
	MemoryContext old;
	MemoryContext context;
	KeptPage   *kept;

	if (!may_keep_page(reader, header))
		return false;
	old = MemoryContextSwitchTo(reader->keep_context);
	context = cache_context_create();
	kept = MemoryContextAllocZero(context, sizeof(KeptPage));
	kept->header = *header;
	kept->body = reader->position;
	kept->bytes = MemoryContextAlloc(context, (Size) header->uncompressed_size + READ_PADDING);
	memset(kept->bytes + header->uncompressed_size, 0, READ_PADDING);
	cache_put(CACHE_PARQUET_PAGE, reader->file->path, (int64) reader->page_place, context, kept);
	MemoryContextSwitchTo(old);
	reader->kept = kept;
	return true;
}

static void
decompress_more(PartialBytes *partial, const uint8 *until)
{
	ChunkReader *reader = (ChunkReader *) ((char *) partial - offsetof(ChunkReader, partial));
	KeptPage   *kept = reader->kept;
	const PageHeader *header = &kept->header;
	size_t		wanted = until - (const uint8 *) kept->bytes;

	if (wanted > kept->part.produced &&
		!codec_decompress_part(reader->codec, &kept->part,
							   chunk_bytes(reader, kept->body, header->compressed_size), header->compressed_size,
							   kept->bytes, header->uncompressed_size, wanted))
		parquet_damaged(reader->file->path, reader->column,
						psprintf("A page could not be decompressed with %s.", codec_name(reader->codec)));
	partial->ready = (const uint8 *) kept->bytes + kept->part.produced;
}

void
kept_page_use(ChunkReader *reader, PageBody *body)
{
	KeptPage   *kept = reader->kept;

	reader->partial.ready = (const uint8 *) kept->bytes + kept->part.produced;
	reader->partial.more = decompress_more;
	body->levels = NULL;
	body->values = (const uint8 *) kept->bytes;
	body->length = kept->header.uncompressed_size;
	body->partial = &reader->partial;
	reader->position += kept->header.compressed_size;
}
