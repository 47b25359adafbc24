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

/* A kept page with room for so many bytes, in the cache instead of one that may be there. */
static KeptPage *
put_page(ChunkReader *reader, const PageHeader *header, uint64 body, size_t room)
{
	MemoryContext old = MemoryContextSwitchTo(reader->keep_context);
	MemoryContext context = cache_context_create();
	KeptPage   *kept = MemoryContextAllocZero(context, sizeof(KeptPage));

	kept->header = *header;
	kept->body = body;
	kept->bytes = MemoryContextAlloc(context, room + READ_PADDING);
	memset(kept->bytes + room, 0, READ_PADDING);
	cache_put(CACHE_PARQUET_PAGE, reader->file->path, (int64) reader->page_place, context, kept);
	MemoryContextSwitchTo(old);
	return kept;
}

bool
kept_page_create(ChunkReader *reader, const PageHeader *header)
{
	if (!may_keep_page(reader, header))
		return false;
	reader->kept = put_page(reader, header, reader->position, header->uncompressed_size);
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

static void
show_page(ChunkReader *reader, PageBody *body)
{
	KeptPage   *kept = reader->kept;

	reader->partial.ready = (const uint8 *) kept->bytes + kept->part.produced;
	reader->partial.more = decompress_more;
	body->levels = NULL;
	body->values = (const uint8 *) kept->bytes;
	body->length = kept->header.uncompressed_size;
	body->partial = &reader->partial;
}

void
kept_page_use(ChunkReader *reader, PageBody *body)
{
	show_page(reader, body);
	reader->position += reader->kept->header.compressed_size;
}

/*
 * A packed page takes the place of the kept one.  What is in front of the
 * integers stays as it is; who stands in the page as it was still may.
 */
static void
pack_page(ChunkReader *reader, const PageBody *body, int width)
{
	KeptPage   *plain = reader->kept;
	size_t		levels = body->values - (const uint8 *) plain->bytes;
	PackedNumbers numbers;
	size_t		length;
	KeptPage   *packed;

	numbers_measure(body->values, width, body->length / width, &numbers);
	if (numbers.count == 0 || numbers.width == width)
	{
		plain->numbers = numbers;
		return;
	}
	length = levels + (size_t) numbers.count * numbers.width;
	packed = put_page(reader, &plain->header, plain->body, length);
	packed->part = plain->part;
	packed->numbers = numbers;
	memcpy(packed->bytes, plain->bytes, levels);
	numbers_pack(body->values, width, &packed->numbers, (uint8 *) packed->bytes + levels);
	memset(packed->bytes + length, 0, READ_PADDING);
	reader->kept = packed;
}

const PackedNumbers *
kept_page_numbers(ChunkReader *reader, ParquetType type, PageBody *body, bool *moved)
{
	KeptPage   *kept = reader->kept;

	*moved = false;
	if (kept == NULL || (type != PARQUET_INT32 && type != PARQUET_INT64))
		return NULL;
	if (kept->numbers.count == 0)
	{
		/* of a larger page less than all may be needed */
		if (kept->part.produced < kept->header.uncompressed_size &&
			kept->header.uncompressed_size > CODEC_WHOLE_BYTES)
			return NULL;
		partial_need(body->partial, body->values + body->length);
		pack_page(reader, body, (int) native_size(type));
	}
	*moved = reader->kept != kept;
	if (*moved)
		show_page(reader, body);
	return reader->kept->numbers.count > 0 ? &reader->kept->numbers : NULL;
}

ByteMarks *
kept_page_marks(ChunkReader *reader, ParquetType type)
{
	KeptPage   *kept = reader->kept;

	if (kept == NULL || type != PARQUET_BYTE_ARRAY)
		return NULL;
	if (kept->marks == NULL)
		kept->marks = byte_marks_create(GetMemoryChunkContext(kept), kept->header.num_values);
	return kept->marks;
}
