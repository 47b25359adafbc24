/*
 * page.c
 *		Fetching, checking and decompressing the pages of a column chunk.
 *
 * Source: apache/parquet-format, README.md and parquet.thrift.
 */
#include "postgres.h"

#include "format/checksum.h"
#include "format/parquet/kept_page.h"
#include "format/parquet/page.h"
#include "utils/memutils.h"

/* Page headers are smaller; with statistics of long strings they grow. */
#define HEADER_BYTES 1024
#define MAX_HEADER_BYTES (256 * 1024)
#define MAX_PAGE_BYTES (MaxAllocSize / 2)
#define CHUNK_SLACK_BYTES 100	/* old writers left their dictionary's header out of a chunk's length */
#define JUMP_WINDOW_BYTES (256 * 1024)	/* read after a jump, when more jumps are likely */

/* ---- buffers ---- */

PageBuffer *
buffer_take(BufferPool *pool, size_t size)
{
	PageBuffer *buffer = pool->spare;

	pool->spare = NULL;
	if (buffer != NULL && buffer->capacity >= size)
		return buffer;
	if (buffer != NULL)
		scan_memory_give(buffer);
	buffer = scan_memory_take(pool->memory, offsetof(PageBuffer, data) + size + READ_PADDING);
	buffer->next = NULL;
	buffer->capacity = size;
	memset(buffer->data + size, 0, READ_PADDING);
	return buffer;
}

void
buffer_release(BufferPool *pool, PageBuffer *buffer)
{
	if (buffer == NULL)
		return;
	buffer->next = pool->retired;
	pool->retired = buffer;
}

/* Keep the larger one of a buffer that nothing points into and the spare one. */
static void
buffer_recycle(BufferPool *pool, PageBuffer *buffer)
{
	PageBuffer *spare = pool->spare;

	if (spare != NULL && spare->capacity >= buffer->capacity)
	{
		scan_memory_give(buffer);
		return;
	}
	if (spare != NULL)
		scan_memory_give(spare);
	buffer->next = NULL;
	pool->spare = buffer;
}

void
buffer_pool_new_batch(BufferPool *pool)
{
	while (pool->retired != NULL)
	{
		PageBuffer *buffer = pool->retired;

		pool->retired = buffer->next;
		buffer_recycle(pool, buffer);
	}
}

/* ---- headers ---- */

static void
damaged(const ChunkReader *reader, const char *detail)
{
	parquet_damaged(reader->file->path, reader->column, detail);
}

static int32
read_i32(ThriftReader *thrift, ThriftType type)
{
	thrift_expect(thrift, type, THRIFT_I32);
	return thrift_read_i32(thrift);
}

/*
 * DataPageHeader and DictionaryPageHeader: number of values and encoding come
 * first in both; the levels' encodings (fields 3 and 4) only in data pages.
 */
static void
parse_page_header(ThriftReader *thrift, ThriftType type, PageHeader *header)
{
	int16		saved;
	int16		id;

	thrift_expect(thrift, type, THRIFT_STRUCT);
	saved = thrift_struct_begin(thrift);
	while (thrift_field(thrift, &id, &type))
	{
		if (id == 1)
			header->num_values = read_i32(thrift, type);
		else if (id == 2)
			header->encoding = (ParquetEncoding) read_i32(thrift, type);
		else if (id == 3 && type == THRIFT_I32)
			header->level_encoding = (ParquetEncoding) read_i32(thrift, type);
		else if (id == 4 && type == THRIFT_I32)
			header->repetition_encoding = (ParquetEncoding) read_i32(thrift, type);
		else
			thrift_skip(thrift, type);
	}
	thrift_struct_end(thrift, saved);
}

static void
parse_page_header_v2(ThriftReader *thrift, ThriftType type, PageHeader *header)
{
	int16		saved;
	int16		id;

	thrift_expect(thrift, type, THRIFT_STRUCT);
	saved = thrift_struct_begin(thrift);
	header->is_compressed = true;
	header->level_encoding = PARQUET_RLE;
	while (thrift_field(thrift, &id, &type))
	{
		switch (id)
		{
			case 1:
				header->num_values = read_i32(thrift, type);
				break;
			case 2:
				header->num_nulls = read_i32(thrift, type);
				break;
			case 3:
				header->num_rows = read_i32(thrift, type);
				break;
			case 4:
				header->encoding = (ParquetEncoding) read_i32(thrift, type);
				break;
			case 5:
				header->levels_length = (uint32) read_i32(thrift, type);
				break;
			case 6:
				header->repetition_length = (uint32) read_i32(thrift, type);
				break;
			case 7:
				header->is_compressed = thrift_read_bool(thrift, type);
				break;
			default:
				thrift_skip(thrift, type);
				break;
		}
	}
	thrift_struct_end(thrift, saved);
}

static void
parse_fields(ThriftReader *thrift, PageHeader *header)
{
	int16		saved = thrift_struct_begin(thrift);
	int16		id;
	ThriftType	type;

	memset(header, 0, sizeof(*header));
	header->num_values = -1;
	while (thrift_field(thrift, &id, &type))
	{
		switch (id)
		{
			case 1:
				header->type = (ParquetPageType) read_i32(thrift, type);
				break;
			case 2:
				header->uncompressed_size = (uint32) read_i32(thrift, type);
				break;
			case 3:
				header->compressed_size = (uint32) read_i32(thrift, type);
				break;
			case 4:
				header->crc = (uint32) read_i32(thrift, type);
				header->has_crc = true;
				break;
			case 5:
			case 7:
				parse_page_header(thrift, type, header);
				break;
			case 8:
				parse_page_header_v2(thrift, type, header);
				break;
			default:
				thrift_skip(thrift, type);
				break;
		}
	}
	thrift_struct_end(thrift, saved);
}

static void
check_header(const ChunkReader *reader, const PageHeader *header)
{
	if (header->compressed_size > reader->end - reader->position)
		damaged(reader, "A page is longer than what is left of its column chunk.");
	if (header->uncompressed_size > MAX_PAGE_BYTES || header->compressed_size > MAX_PAGE_BYTES)
		damaged(reader, "A page is larger than 512 MB.");
	if (header->type != PARQUET_INDEX_PAGE && header->num_values < 0)
		damaged(reader, "A page has no number of values, or an impossible one.");
	if (header->type == PARQUET_DATA_PAGE_V2)
	{
		uint64		levels = (uint64) header->levels_length + header->repetition_length;

		if (levels > header->compressed_size || levels > header->uncompressed_size)
			damaged(reader, "The levels of a page are longer than the page.");
		if (header->num_nulls < 0 || header->num_nulls > header->num_values)
			damaged(reader, "A page has more nulls than values.");
	}
}

/* ---- windows ---- */

void
chunk_reader_init(ChunkReader *reader, ParquetFile *file, const char *column, size_t window_bytes)
{
	memset(reader, 0, sizeof(*reader));
	reader->file = file;
	reader->column = column;
	reader->window_bytes = window_bytes;
	reader->windows.memory = reader->pages.memory = file->memory;
}

static Codec
chunk_codec(const ChunkReader *reader, ParquetCodec codec)
{
	switch (codec)
	{
		case PARQUET_UNCOMPRESSED:
			return CODEC_NONE;
		case PARQUET_SNAPPY:
			return CODEC_SNAPPY;
		case PARQUET_GZIP:
			return CODEC_GZIP;
		case PARQUET_LZ4:
			return CODEC_LZ4_HADOOP;
		case PARQUET_LZ4_RAW:
			return CODEC_LZ4_RAW;
		case PARQUET_ZSTD:
			return CODEC_ZSTD;
		case PARQUET_LZO:
		case PARQUET_BROTLI:
			break;
	}
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("file \"%s\" is compressed with a codec that is not supported in column \"%s\"",
					reader->file->path, reader->column),
			 errdetail("The codec is %s.",
					   codec == PARQUET_LZO ? "LZO" :
					   codec == PARQUET_BROTLI ? "Brotli" : psprintf("number %d", (int) codec))));
	return CODEC_NONE;
}

/* Let the window go; its memory stays while values point into it. */
static void
window_drop(ChunkReader *reader)
{
	if (reader->window == NULL)
		return;
	if (reader->window_used)
		buffer_release(&reader->windows, reader->window);
	else
		buffer_recycle(&reader->windows, reader->window);
	reader->window = NULL;
	reader->window_length = 0;
	reader->window_used = false;
}

void
chunk_reader_open(ChunkReader *reader, const ParquetChunk *chunk)
{
	int64		start = chunk->data_page_offset;
	int64		data_end = (int64) reader->file->data_end;

	reader->codec = chunk_codec(reader, chunk->codec);
	if (chunk->dictionary_page_offset > 0 && chunk->dictionary_page_offset < start)
		start = chunk->dictionary_page_offset;
	if (start < 0 || chunk->compressed_size < 0 || start > data_end || chunk->compressed_size > data_end - start)
		damaged(reader, "A column chunk lies outside of the file.");
	reader->start = (uint64) start;
	reader->stop = reader->start + (uint64) chunk->compressed_size;
	reader->end = Min(reader->stop + CHUNK_SLACK_BYTES, reader->file->data_end);
	reader->position = reader->start;
	reader->ahead = reader->window_bytes;
}

void
chunk_reader_close(ChunkReader *reader)
{
	reader->window_used = false;
	window_drop(reader);
	if (reader->page != NULL)
		buffer_recycle(&reader->pages, reader->page);
	reader->page = NULL;
}

void
chunk_reader_seek(ChunkReader *reader, uint64 position, uint64 stop)
{
	if (position < reader->start || position > reader->end || stop > reader->end)
		damaged(reader, "The page index points outside of the column chunk.");
	if (position != reader->position)
		reader->ahead = JUMP_WINDOW_BYTES;
	reader->position = position;
	reader->stop = stop;
}

static const char *
window_find(const ChunkReader *reader, uint64 offset, size_t length)
{
	if (reader->window == NULL || offset < reader->window_start ||
		offset - reader->window_start + length > reader->window_length)
		return NULL;
	return reader->window->data + (offset - reader->window_start);
}

/*
 * Move the window to offset, keeping what it has of the bytes from there on.
 * It takes the place of the old one unless values point into that: memory that
 * was just used is in the processor's cache, and costs no page faults.
 */
static void
window_move(ChunkReader *reader, uint64 offset, size_t length)
{
	uint64		ahead = reader->stop > offset ? reader->stop - offset : 0;
	size_t		total = Max(length, (size_t) Min(ahead, reader->ahead));
	bool		in_place = reader->window != NULL && !reader->window_used && reader->window->capacity >= total;
	PageBuffer *window = in_place ? reader->window : buffer_take(&reader->windows, total);
	size_t		kept = 0;

	if (reader->window != NULL && offset >= reader->window_start &&
		offset < reader->window_start + reader->window_length)
	{
		kept = reader->window_start + reader->window_length - offset;
		kept = Min(kept, total);
		memmove(window->data, reader->window->data + (offset - reader->window_start), kept);
	}
	if (total > kept)
		parquet_file_read(reader->file, offset + kept, total - kept, window->data + kept);
	memset(window->data + total, 0, READ_PADDING);
	if (!in_place)
		window_drop(reader);
	reader->window = window;
	reader->window_start = offset;
	reader->window_length = total;
	reader->ahead = Min(reader->ahead * 2, reader->window_bytes);
}

const char *
chunk_bytes(ChunkReader *reader, uint64 offset, size_t length)
{
	const char *bytes = parquet_file_peek(reader->file, offset, length);

	if (bytes == NULL)
		bytes = window_find(reader, offset, length);
	if (bytes == NULL)
	{
		window_move(reader, offset, length);
		bytes = reader->window->data;
	}
	return bytes;
}

/* Read the header at the position from so many bytes; returns its length, 0 if they are only a part of it. */
static size_t
parse_header(ChunkReader *reader, size_t length, bool is_part, PageHeader *header)
{
	const char *bytes = chunk_bytes(reader, reader->position, length);
	ThriftReader thrift;

	thrift_read_init(&thrift, bytes, length, reader->file->path);
	thrift.is_part = is_part;
	parse_fields(&thrift, header);
	return thrift.ran_out ? 0 : (const char *) thrift.cursor - bytes;
}

bool
page_header_next(ChunkReader *reader, PageHeader *header)
{
	uint64		left = reader->end - reader->position;
	size_t		length;

	if (left == 0)
		return false;
	reader->page_place = reader->position;
	if (kept_page_find(reader))
	{
		*header = reader->kept->header;
		reader->position = reader->kept->body;
		return true;
	}
	/* a header lies before stop, like its page; only one behind it reads beyond */
	if (reader->stop > reader->position)
		left = Min(left, reader->stop - reader->position);
	length = parse_header(reader, Min(left, HEADER_BYTES), left > HEADER_BYTES, header);
	if (length == 0)
		length = parse_header(reader, Min(left, MAX_HEADER_BYTES), false, header);
	reader->position += length;
	check_header(reader, header);
	return true;
}

void
page_skip_body(ChunkReader *reader, const PageHeader *header)
{
	reader->position += header->compressed_size;
}

static void
check_crc(const ChunkReader *reader, const PageHeader *header, const char *bytes)
{
	if (header->has_crc &&
		checksum_crc32(bytes, header->compressed_size) != header->crc)
		damaged(reader, "The checksum of a page is wrong.");
}

/* The part of a page that is compressed; levels of version 2 are not. */
static const uint8 *
decompress(ChunkReader *reader, const uint8 *bytes, size_t length, size_t target_length)
{
	if (reader->page_used)
		buffer_release(&reader->pages, reader->page);
	else if (reader->page != NULL)
		buffer_recycle(&reader->pages, reader->page);
	reader->page = NULL;
	reader->page_used = false;
	reader->page = buffer_take(&reader->pages, Max(target_length, 1));
	if (target_length > 0 &&
		!codec_decompress(reader->codec, bytes, length, reader->page->data, target_length))
		damaged(reader, psprintf("A page could not be decompressed with %s.", codec_name(reader->codec)));
	return (const uint8 *) reader->page->data;
}

static void
fetch_body(ChunkReader *reader, const PageHeader *header, PageBody *body)
{
	const uint8 *bytes = (const uint8 *) chunk_bytes(reader, reader->position, header->compressed_size);
	size_t		levels = 0;
	bool		compressed = reader->codec != CODEC_NONE;

	check_crc(reader, header, (const char *) bytes);
	if (kept_page_create(reader, header))
	{
		kept_page_use(reader, body);
		return;
	}
	body->levels = NULL;
	body->partial = NULL;
	if (header->type == PARQUET_DATA_PAGE_V2)
	{
		levels = header->repetition_length + header->levels_length;
		body->levels = bytes + header->repetition_length;
		compressed = compressed && header->is_compressed;
	}
	body->values = bytes + levels;
	body->length = header->uncompressed_size - levels;
	if (compressed)
		body->values = decompress(reader, body->values, header->compressed_size - levels, body->length);
	else if (header->compressed_size != header->uncompressed_size)
		damaged(reader, "A page that is not compressed has two different lengths.");
	else
		reader->window_used = true;
	reader->position += header->compressed_size;
}

PageBuffer *
chunk_reader_keep_page(ChunkReader *reader, const PageBody *body)
{
	PageBuffer *page = reader->page;

	/* a large buffer is for large pages */
	if (page == NULL || body->values != (const uint8 *) page->data || page->capacity / 2 > body->length)
		return NULL;
	reader->page = NULL;
	return page;
}

void
chunk_reader_give_page(ChunkReader *reader, PageBuffer *page)
{
	buffer_recycle(&reader->pages, page);
}

void
page_read_body(ChunkReader *reader, const PageHeader *header, PageBody *body)
{
	if (reader->kept != NULL)
		kept_page_use(reader, body);
	else
		fetch_body(reader, header, body);
}

void
chunk_reader_new_batch(ChunkReader *reader)
{
	buffer_pool_new_batch(&reader->windows);
	buffer_pool_new_batch(&reader->pages);
}
