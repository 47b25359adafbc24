/*
 * stream.c
 *		Streams of an ORC file: reading and decompressing their chunks.
 */
#include "postgres.h"

#include "format/orc/orc_format.h"
#include "format/orc/stream.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#define CHUNK_HEADER_BYTES 3
#define FIRST_WINDOW_BYTES (64 * 1024)

/* More than any real file's footer or index has. */
#define MAX_SECTION_BYTES (256 * 1024 * 1024)

static void
damaged(const OrcStream *stream, const char *detail)
{
	orc_damaged(stream->place->path, stream->place->column, detail);
}

void
stream_init(OrcStream *stream, OrcFile *file, const OrcPlace *place, size_t window_bytes)
{
	memset(stream, 0, sizeof(*stream));
	stream->file = file;
	stream->place = place;
	stream->context = CurrentMemoryContext;
	stream->window_bytes = window_bytes;
}

void
stream_free(OrcStream *stream)
{
	scan_memory_give(stream->window);
	scan_memory_give(stream->block);
	if (stream->bridge != NULL)
		pfree(stream->bridge);
}

/* No chunk is current: the next one begins at position. */
static void
leave_chunk(OrcStream *stream, uint64 position)
{
	stream->next_chunk = position;
	stream->has_chunk = false;
	stream->chunk = stream->cursor = stream->end = NULL;
}

void
stream_open(OrcStream *stream, uint64 start, uint64 length)
{
	stream->start = start;
	stream->length = length;
	stream->window_start = 0;
	stream->window_length = 0;
	stream->ahead = Min(stream->window_bytes, FIRST_WINDOW_BYTES);
	leave_chunk(stream, 0);
}

/* ---- bytes as they are in the file ---- */

/* Room for so many bytes; those from kept on move to the begin. */
static void
enlarge_window(OrcStream *stream, size_t capacity, const char *kept, size_t kept_length)
{
	char	   *window = stream->window;

	if (capacity > stream->window_capacity)
		window = scan_memory_take(stream->file->memory, capacity + ORC_PADDING);
	if (kept_length > 0)
		memmove(window, kept, kept_length);
	if (window == stream->window)
		return;
	scan_memory_give(stream->window);
	stream->window = window;
	stream->window_capacity = capacity;
}

/* Read from position on; bytes that are there already are not read again. */
static void
fill_window(OrcStream *stream, uint64 position, size_t length)
{
	uint64		left = stream->length - position;
	size_t		wanted = (size_t) Min(left, Max(length, stream->ahead));
	size_t		kept = 0;

	if (position >= stream->window_start && position < stream->window_start + stream->window_length)
		kept = stream->window_start + stream->window_length - position;
	enlarge_window(stream, wanted, stream->window + (stream->window_length - kept), kept);
	stream->window_length = 0;
	orc_file_read(stream->file, stream->start + position + kept, wanted - kept, stream->window + kept);
	memset(stream->window + wanted, 0, ORC_PADDING);
	stream->window_start = position;
	stream->window_length = wanted;
	stream->ahead = Min(stream->ahead * 2, stream->window_bytes);
}

/* Bytes of the stream, which must have them; they stay until the next call. */
static const uint8 *
raw_bytes(OrcStream *stream, uint64 position, size_t length)
{
	const uint8 *bytes = orc_file_peek(stream->file, stream->start + position, length);

	if (bytes != NULL)
		return bytes;
	if (position < stream->window_start || position + length > stream->window_start + stream->window_length)
		fill_window(stream, position, length);
	return (const uint8 *) stream->window + (position - stream->window_start);
}

/* ---- chunks ---- */

static void
decompress_chunk(OrcStream *stream, const uint8 *bytes, size_t length)
{
	OrcFile    *file = stream->file;
	size_t		block_length;

	if (stream->block == NULL)
	{
		stream->block = scan_memory_take(file->memory, (size_t) file->block_bytes + ORC_PADDING);
		memset(stream->block + file->block_bytes, 0, ORC_PADDING);
	}
	if (!codec_decompress_within(file->codec, bytes, length, stream->block, file->block_bytes, &block_length))
		damaged(stream, psprintf("Data compressed with %s cannot be decompressed.", codec_name(file->codec)));
	stream->chunk = stream->block;
	stream->end = stream->chunk + block_length;
}

static void
read_compressed_chunk(OrcStream *stream)
{
	uint64		left = stream->length - stream->next_chunk;
	const uint8 *bytes;
	uint32		header;
	size_t		length;

	if (left < CHUNK_HEADER_BYTES)
		damaged(stream, "A stream ends within the header of a chunk.");
	bytes = raw_bytes(stream, stream->next_chunk, CHUNK_HEADER_BYTES);
	header = bytes[0] | (uint32) bytes[1] << 8 | (uint32) bytes[2] << 16;
	length = header >> 1;
	if (length > left - CHUNK_HEADER_BYTES)
		damaged(stream, "A compressed chunk is longer than its stream.");
	bytes = raw_bytes(stream, stream->next_chunk, CHUNK_HEADER_BYTES + length) + CHUNK_HEADER_BYTES;
	stream->next_chunk += CHUNK_HEADER_BYTES + length;
	if (header & 1)
	{
		/* it would not become smaller */
		stream->chunk = bytes;
		stream->end = bytes + length;
	}
	else
		decompress_chunk(stream, bytes, length);
}

static void
read_plain_chunk(OrcStream *stream)
{
	size_t		length = (size_t) Min(stream->length - stream->next_chunk, stream->ahead);

	stream->chunk = raw_bytes(stream, stream->next_chunk, length);
	stream->end = stream->chunk + length;
	stream->next_chunk += length;
}

/* Go to the next chunk that is not empty; false at the end of the stream. */
static bool
next_chunk(OrcStream *stream)
{
	while (stream->next_chunk < stream->length)
	{
		CHECK_FOR_INTERRUPTS();
		stream->has_chunk = false;
		stream->chunk_start = stream->next_chunk;
		if (stream->file->compressed)
			read_compressed_chunk(stream);
		else
			read_plain_chunk(stream);
		stream->cursor = stream->chunk;
		stream->has_chunk = true;
		if (stream->cursor < stream->end)
			return true;
	}
	return false;
}

/* Bytes of the current chunk, at least one. */
static size_t
available(OrcStream *stream)
{
	if (stream->cursor == stream->end && !next_chunk(stream))
		damaged(stream, "A stream ends before all of its values.");
	return stream->end - stream->cursor;
}

bool
stream_at_end(OrcStream *stream)
{
	return stream->cursor == stream->end && !next_chunk(stream);
}

uint64
stream_left_at_most(const OrcStream *stream)
{
	uint64		left = stream->length - stream->next_chunk;
	uint64		current = stream->end - stream->cursor;

	if (!stream->file->compressed)
		return current + left;
	/* a chunk has its header and one byte at least, but an empty one */
	return current + (left / (CHUNK_HEADER_BYTES + 1)) * stream->file->block_bytes + left;
}

/* Go to a chunk; if it was not read ahead, few bytes may be wanted of it. */
static void
jump(OrcStream *stream, uint64 position)
{
	leave_chunk(stream, position);
	if (position < stream->window_start || position >= stream->window_start + stream->window_length)
		stream->ahead = Min(stream->window_bytes, FIRST_WINDOW_BYTES);
}

void
stream_seek(OrcStream *stream, uint64 position, uint64 within)
{
	if (position > stream->length)
		damaged(stream, "The row index points behind the end of a stream.");
	if (!stream->file->compressed)
	{
		jump(stream, position);
		return;
	}
	if (!stream->has_chunk || stream->chunk_start != position)
	{
		jump(stream, position);
		if (within == 0)
			return;
		if (!next_chunk(stream) || stream->chunk_start != position)
			damaged(stream, "The row index points behind the end of a stream.");
	}
	if (within > (uint64) (stream->end - stream->chunk))
		damaged(stream, "The row index points behind the end of a chunk.");
	stream->cursor = stream->chunk + within;
}

/* ---- bytes ---- */

void
stream_read(OrcStream *stream, size_t length, void *target)
{
	char	   *to = target;

	while (length > 0)
	{
		size_t		n = Min(length, available(stream));

		memcpy(to, stream->cursor, n);
		stream->cursor += n;
		to += n;
		length -= n;
	}
}

void
stream_skip(OrcStream *stream, uint64 length)
{
	while (length > 0)
	{
		size_t		n;

		if (!stream->file->compressed && stream->cursor == stream->end)
		{
			/* without reading it */
			if (length > stream->length - stream->next_chunk)
				damaged(stream, "A stream ends before all of its values.");
			leave_chunk(stream, stream->next_chunk + length);
			return;
		}
		n = Min(length, available(stream));
		stream->cursor += n;
		length -= n;
	}
}

const uint8 *
stream_take_bridged(OrcStream *stream, size_t length)
{
	Assert(length <= STREAM_MAX_TAKE);
	if (length <= available(stream))
	{
		stream->cursor += length;
		return stream->cursor - length;
	}
	if (stream->bridge == NULL)
		stream->bridge = MemoryContextAllocZero(stream->context, STREAM_MAX_TAKE + ORC_PADDING);
	stream_read(stream, length, stream->bridge);
	return stream->bridge;
}

uint64
stream_varint_slow(OrcStream *stream)
{
	uint64		value = 0;

	for (int i = 0; i < VARINT_MAX_BYTES; i++)
	{
		uint8		byte = stream_byte(stream);

		value |= (uint64) (byte & 0x7f) << (7 * i);
		if ((byte & 0x80) == 0)
			return value;
	}
	damaged(stream, "A number is too long.");
	return 0;
}

BytesView
stream_read_section(OrcFile *file, const OrcPlace *place, uint64 start, uint64 length)
{
	OrcStream	stream;
	BytesView	section = {NULL, 0};
	char	   *data = NULL;
	size_t		capacity = 0;
	size_t		filled = 0;

	stream_init(&stream, file, place, (size_t) Min(length, MAX_SECTION_BYTES));
	stream_open(&stream, start, length);
	stream.ahead = stream.window_bytes;
	while (!stream_at_end(&stream))
	{
		size_t		n = stream.end - stream.cursor;

		if (n > MAX_SECTION_BYTES - filled)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("file \"%s\" has too many metadata", place->path),
					 errdetail("A section of them has more than %d bytes.", MAX_SECTION_BYTES)));
		if (filled + n > capacity)
		{
			capacity = Max(filled + n, capacity * 2);
			data = data == NULL ? palloc(capacity) : repalloc(data, capacity);
		}
		stream_read(&stream, n, data + filled);
		filled += n;
	}
	stream_free(&stream);
	section.data = data;
	section.length = (uint32) filled;
	return section;
}
