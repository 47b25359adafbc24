/*
 * stream.h
 *		A stream of an ORC file, decompressed chunk by chunk.
 *
 * Compressed streams are a sequence of chunks; of uncompressed ones the reader
 * makes its own.  One chunk is in memory at a time.
 */
#ifndef STREAMHOUSE_ORC_STREAM_H
#define STREAMHOUSE_ORC_STREAM_H

#include "format/orc/orc_file.h"

/* The most that stream_take gives at once: no run of integers is longer. */
#define STREAM_MAX_TAKE (5 * 1024)

typedef struct OrcStream
{
	OrcFile    *file;
	const OrcPlace *place;
	MemoryContext context;		/* for bytes in two chunks; buffers are the file's, and serve one stripe after another */
	size_t		window_bytes;	/* to read at once, at most */
	size_t		ahead;			/* to read next: little after a jump, then more */
	uint64		start;			/* in the file */
	uint64		length;
	/* all of these count from start */
	uint64		next_chunk;
	uint64		chunk_start;	/* of the current chunk, if there is one */
	bool		has_chunk;
	const uint8 *chunk;
	const uint8 *cursor;		/* what is next of the chunk */
	const uint8 *end;
	char	   *window;			/* bytes as they are in the file */
	size_t		window_capacity;
	uint64		window_start;
	size_t		window_length;
	uint8	   *block;			/* a chunk, decompressed */
	uint8	   *bridge;			/* bytes that lie in two chunks */
} OrcStream;

/* Once for a stream that each stripe has; what it needs comes to lie in CurrentMemoryContext, and in the file's memory. */
extern void stream_init(OrcStream *stream, OrcFile *file, const OrcPlace *place, size_t window_bytes);

/* Free its buffers. */
extern void stream_free(OrcStream *stream);

/* Begin with a range of the file, which must lie in it; length 0: an empty stream. */
extern void stream_open(OrcStream *stream, uint64 start, uint64 length);

/*
 * Go to a place as a row index names it: a chunk's begin and how far behind it
 * once decompressed, or (not compressed) only how far from the stream's begin.
 */
extern void stream_seek(OrcStream *stream, uint64 position, uint64 within);

extern bool stream_at_end(OrcStream *stream);

/* More than the bytes left; to be tested before memory is allocated for them. */
extern uint64 stream_left_at_most(const OrcStream *stream);

/* The next bytes, copied or skipped.  ERROR if there are less. */
extern void stream_read(OrcStream *stream, size_t length, void *target);
extern void stream_skip(OrcStream *stream, uint64 length);

extern const uint8 *stream_take_bridged(OrcStream *stream, size_t length);
extern uint64 stream_varint_slow(OrcStream *stream);

/* The next bytes, at most STREAM_MAX_TAKE, in one piece; valid until the next call. */
static inline const uint8 *
stream_take(OrcStream *stream, size_t length)
{
	const uint8 *bytes = stream->cursor;

	if (unlikely(length > (size_t) (stream->end - bytes)))
		return stream_take_bridged(stream, length);
	stream->cursor = bytes + length;
	return bytes;
}

static inline uint8
stream_byte(OrcStream *stream)
{
	return *stream_take(stream, 1);
}

#define VARINT_MAX_BYTES 10

/* Base 128, the low bits first. */
static inline uint64
stream_varint(OrcStream *stream)
{
	const uint8 *bytes = stream->cursor;
	uint64		value = 0;

	if (unlikely(stream->end - bytes < VARINT_MAX_BYTES))
		return stream_varint_slow(stream);
	for (int i = 0; i < VARINT_MAX_BYTES; i++)
	{
		value |= (uint64) (bytes[i] & 0x7f) << (7 * i);
		if ((bytes[i] & 0x80) == 0)
		{
			stream->cursor = bytes + i + 1;
			return value;
		}
	}
	return stream_varint_slow(stream);
}

/* All of a section of the file, decompressed, in CurrentMemoryContext. */
extern BytesView stream_read_section(OrcFile *file, const OrcPlace *place, uint64 start, uint64 length);

#endif							/* STREAMHOUSE_ORC_STREAM_H */
