/*
 * codec.c
 *		Compression codecs over zstd, lz4, snappy, zlib and bzip2.
 *
 * Nothing in here raises an error over damaged input: the callers know the
 * file and say which one it is.
 */
#include "postgres.h"

#include <bzlib.h>
#include <limits.h>
#include <lz4.h>
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#include "format/codec.h"
#include "port/pg_bswap.h"
#include "utils/memutils.h"

#define ZLIB_RAW_WINDOW (-15)	/* raw deflate */
#define ZLIB_GZIP_WINDOW (15 + 16)	/* write a gzip header */
#define ZLIB_ANY_WINDOW (15 + 32)	/* read a gzip or zlib header */
#define HADOOP_HEADER_SIZE 8	/* two big-endian lengths */
#define GZIP_OVERHEAD 32		/* header and trailer beyond zlib's own bound */

/*
 * zstd's contexts cost more to set up than a small page takes to decompress,
 * so each process keeps one of each kind.
 */
static ZSTD_DCtx *zstd_decompressor = NULL;
static ZSTD_CCtx *zstd_compressor = NULL;

const char *
codec_name(Codec codec)
{
	switch (codec)
	{
		case CODEC_NONE:
			return "none";
		case CODEC_SNAPPY:
			return "snappy";
		case CODEC_GZIP:
			return "gzip";
		case CODEC_DEFLATE:
			return "deflate";
		case CODEC_LZ4_RAW:
			return "lz4";
		case CODEC_LZ4_HADOOP:
			return "lz4 (hadoop)";
		case CODEC_ZSTD:
			return "zstd";
		case CODEC_BZIP2:
			return "bzip2";
	}
	return "unknown";
}

static ZSTD_DCtx *
get_zstd_decompressor(void)
{
	if (zstd_decompressor == NULL)
		zstd_decompressor = ZSTD_createDCtx();
	if (zstd_decompressor == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory"),
				 errdetail("Could not create a zstd decompressor.")));
	return zstd_decompressor;
}

static bool
lz4_decompress(const char *source, size_t source_length, char *target, size_t target_length)
{
	int			length;

	if (source_length > INT_MAX || target_length > INT_MAX)
		return false;
	length = LZ4_decompress_safe(source, target, (int) source_length, (int) target_length);
	return length >= 0 && (size_t) length == target_length;
}

/* Take a big-endian length off the front of source. */
static bool
take_length(const char **source, size_t *left, uint32 *length)
{
	if (*left < sizeof(uint32))
		return false;
	memcpy(length, *source, sizeof(uint32));
	*length = pg_ntoh32(*length);
	*source += sizeof(uint32);
	*left -= sizeof(uint32);
	return true;
}

/*
 * Hadoop's framing: blocks of an uncompressed length, followed by chunks with
 * a compressed length each until that many bytes came out.
 */
static bool
lz4_hadoop_decompress(const char *source, size_t source_length, char *target, size_t target_length)
{
	size_t		left = source_length;
	size_t		room = target_length;

	while (left > 0)
	{
		uint32		block;

		if (!take_length(&source, &left, &block) || block > room)
			return false;
		while (block > 0)
		{
			uint32		chunk;
			int			length;

			if (!take_length(&source, &left, &chunk) || chunk > left || chunk > INT_MAX || block > INT_MAX)
				return false;
			length = LZ4_decompress_safe(source, target, (int) chunk, (int) block);
			if (length <= 0)
				return false;
			source += chunk;
			left -= chunk;
			target += length;
			room -= length;
			block -= length;
		}
	}
	return room == 0;
}

/* gzip (several members may follow each other), zlib or raw deflate. */
static bool
zlib_decompress(int window_bits, const void *source, size_t source_length, void *target, size_t target_length)
{
	z_stream	stream = {0};
	int			status;

	if (source_length > UINT_MAX || target_length > UINT_MAX)
		return false;
	stream.next_in = unconstify(void *, source);
	stream.avail_in = source_length;
	stream.next_out = target;
	stream.avail_out = target_length;
	if (inflateInit2(&stream, window_bits) != Z_OK)
		return false;
	for (;;)
	{
		status = inflate(&stream, Z_FINISH);
		if (status != Z_STREAM_END || stream.avail_in == 0 || stream.avail_out == 0)
			break;
		if (inflateReset(&stream) != Z_OK)
			break;
	}
	inflateEnd(&stream);
	return status == Z_STREAM_END && stream.avail_out == 0;
}

static bool
snappy_decompress(const char *source, size_t source_length, char *target, size_t target_length)
{
	size_t		length;

	if (snappy_uncompressed_length(source, source_length, &length) != SNAPPY_OK || length != target_length)
		return false;
	return snappy_uncompress(source, source_length, target, &length) == SNAPPY_OK && length == target_length;
}

bool
codec_decompress(Codec codec, const void *source, size_t source_length, void *target, size_t target_length)
{
	switch (codec)
	{
		case CODEC_NONE:
			if (source_length != target_length)
				return false;
			memcpy(target, source, source_length);
			return true;
		case CODEC_SNAPPY:
			return snappy_decompress(source, source_length, target, target_length);
		case CODEC_GZIP:
			return zlib_decompress(ZLIB_ANY_WINDOW, source, source_length, target, target_length);
		case CODEC_DEFLATE:
			return zlib_decompress(ZLIB_RAW_WINDOW, source, source_length, target, target_length);
		case CODEC_LZ4_RAW:
			return lz4_decompress(source, source_length, target, target_length);
		case CODEC_LZ4_HADOOP:
			return lz4_hadoop_decompress(source, source_length, target, target_length) ||
				lz4_decompress(source, source_length, target, target_length);
		case CODEC_ZSTD:
			return ZSTD_decompressDCtx(get_zstd_decompressor(), target, target_length,
									   source, source_length) == target_length;
		case CODEC_BZIP2:
			break;
	}
	return false;
}

static bool
zlib_decompress_within(int window_bits, const void *source, size_t source_length,
					   void *target, size_t capacity, size_t *length)
{
	z_stream	stream = {0};
	int			status;

	if (source_length > UINT_MAX || capacity > UINT_MAX || inflateInit2(&stream, window_bits) != Z_OK)
		return false;
	stream.next_in = unconstify(void *, source);
	stream.avail_in = source_length;
	stream.next_out = target;
	stream.avail_out = capacity;
	status = inflate(&stream, Z_FINISH);
	*length = capacity - stream.avail_out;
	inflateEnd(&stream);
	return status == Z_STREAM_END;
}

static bool
lz4_decompress_within(const char *source, size_t source_length, char *target, size_t capacity, size_t *length)
{
	int			result;

	if (source_length > INT_MAX || capacity > INT_MAX)
		return false;
	result = LZ4_decompress_safe(source, target, (int) source_length, (int) capacity);
	*length = Max(result, 0);
	return result >= 0;
}

bool
codec_decompress_within(Codec codec, const void *source, size_t source_length,
						void *target, size_t capacity, size_t *length)
{
	switch (codec)
	{
		case CODEC_SNAPPY:
			return snappy_uncompressed_length(source, source_length, length) == SNAPPY_OK && *length <= capacity &&
				snappy_uncompress(source, source_length, target, length) == SNAPPY_OK;
		case CODEC_GZIP:
			return zlib_decompress_within(ZLIB_ANY_WINDOW, source, source_length, target, capacity, length);
		case CODEC_DEFLATE:
			return zlib_decompress_within(ZLIB_RAW_WINDOW, source, source_length, target, capacity, length);
		case CODEC_LZ4_RAW:
			return lz4_decompress_within(source, source_length, target, capacity, length);
		case CODEC_ZSTD:
			*length = ZSTD_decompressDCtx(get_zstd_decompressor(), target, capacity, source, source_length);
			return !ZSTD_isError(*length);
		case CODEC_NONE:
		case CODEC_LZ4_HADOOP:
			break;				/* these know their length */
		case CODEC_BZIP2:
			break;
	}
	elog(ERROR, "codec %s needs the length of what it decompresses", codec_name(codec));
}

/* A result that grows while it is produced, up to a limit. */
typedef struct Growing
{
	char	   *data;
	size_t		length;
	size_t		capacity;
	size_t		limit;
} Growing;

static void
growing_init(Growing *growing, size_t source_length, size_t limit)
{
	growing->limit = limit;
	growing->capacity = Max(Min(source_length * 4, limit), 64);
	growing->data = MemoryContextAllocHuge(CurrentMemoryContext, growing->capacity);
	growing->length = 0;
}

/* Make room for more; false when the limit is passed. */
static bool
growing_enlarge(Growing *growing)
{
	if (growing->length < growing->capacity)
		return true;
	if (growing->length > growing->limit)
		return false;
	/* one byte above the limit is enough to see that it was passed */
	growing->capacity = Min(growing->capacity * 2, Max(growing->limit + 1, growing->capacity + 1));
	growing->data = repalloc_huge(growing->data, growing->capacity);
	return true;
}

/*
 * zlib, bzip2 and zstd keep their state outside of memory contexts, so
 * enlarging, the only thing here that may raise, is done under PG_TRY by the
 * caller.  Raw deflate is a single stream, behind which fastavro leaves a part
 * of a checksum.
 */
static bool
zlib_decompress_growing(z_stream *stream, bool raw, const void *source, size_t source_length, Growing *out)
{
	int			status = Z_OK;

	stream->next_in = unconstify(void *, source);
	stream->avail_in = source_length;
	while (status != Z_STREAM_END || (stream->avail_in > 0 && !raw))
	{
		size_t		room;

		if (!growing_enlarge(out))
			return false;
		if (status == Z_STREAM_END && inflateReset(stream) != Z_OK)
			return false;
		room = Min(out->capacity - out->length, UINT_MAX);
		stream->next_out = (Bytef *) out->data + out->length;
		stream->avail_out = room;
		status = inflate(stream, Z_NO_FLUSH);
		out->length += room - stream->avail_out;
		if (status != Z_OK && status != Z_STREAM_END)
			return false;
		if (status == Z_OK && stream->avail_out > 0 && stream->avail_in == 0)
			return false;		/* truncated */
	}
	return out->length <= out->limit;
}

static bool
zlib_decompress_unknown(int window_bits, const void *source, size_t source_length, Growing *out)
{
	z_stream	stream = {0};
	volatile bool ok = false;

	if (source_length > UINT_MAX || inflateInit2(&stream, window_bits) != Z_OK)
		return false;
	PG_TRY();
	{
		ok = zlib_decompress_growing(&stream, window_bits == ZLIB_RAW_WINDOW, source, source_length, out);
	}
	PG_FINALLY();
	{
		inflateEnd(&stream);
	}
	PG_END_TRY();
	return ok;
}

/* Streams may follow each other. */
static bool
bzip2_decompress_growing(bz_stream *stream, const void *source, size_t source_length, Growing *out)
{
	int			status = BZ_OK;

	stream->next_in = unconstify(void *, source);
	stream->avail_in = source_length;
	while (status != BZ_STREAM_END || stream->avail_in > 0)
	{
		size_t		room;

		if (!growing_enlarge(out))
			return false;
		if (status == BZ_STREAM_END &&
			(BZ2_bzDecompressEnd(stream) != BZ_OK || BZ2_bzDecompressInit(stream, 0, 0) != BZ_OK))
			return false;
		room = Min(out->capacity - out->length, UINT_MAX);
		stream->next_out = out->data + out->length;
		stream->avail_out = room;
		status = BZ2_bzDecompress(stream);
		out->length += room - stream->avail_out;
		if (status != BZ_OK && status != BZ_STREAM_END)
			return false;
		if (status == BZ_OK && stream->avail_out > 0 && stream->avail_in == 0)
			return false;		/* truncated */
	}
	return out->length <= out->limit;
}

static bool
bzip2_decompress_unknown(const void *source, size_t source_length, Growing *out)
{
	bz_stream	stream = {0};
	volatile bool ok = false;

	if (source_length > UINT_MAX || BZ2_bzDecompressInit(&stream, 0, 0) != BZ_OK)
		return false;
	PG_TRY();
	{
		ok = bzip2_decompress_growing(&stream, source, source_length, out);
	}
	PG_FINALLY();
	{
		BZ2_bzDecompressEnd(&stream);
	}
	PG_END_TRY();
	return ok;
}

/* The decompressor is reset at the start, so an error in the middle does no harm. */
static bool
zstd_decompress_unknown(const void *source, size_t source_length, Growing *growing)
{
	ZSTD_DCtx  *context = get_zstd_decompressor();
	ZSTD_inBuffer in = {source, source_length, 0};
	size_t		status = 0;

	ZSTD_DCtx_reset(context, ZSTD_reset_session_only);
	for (;;)
	{
		ZSTD_outBuffer out;

		if (!growing_enlarge(growing))
			return false;
		out.dst = growing->data;
		out.size = growing->capacity;
		out.pos = growing->length;
		status = ZSTD_decompressStream(context, &out, &in);
		growing->length = out.pos;
		if (ZSTD_isError(status))
			return false;
		if (in.pos == in.size && (status == 0 || out.pos < out.size))
			break;
	}
	/* 0: a frame ended where the input did */
	return status == 0 && growing->length <= growing->limit;
}

char *
codec_decompress_unknown(Codec codec, const void *source, size_t source_length, size_t max_length, size_t *length)
{
	Growing		out;
	bool		ok = false;

	if (codec == CODEC_NONE || codec == CODEC_SNAPPY)
	{
		size_t		known = source_length;

		if (codec == CODEC_SNAPPY && snappy_uncompressed_length(source, source_length, &known) != SNAPPY_OK)
			return NULL;
		if (known > max_length)
			return NULL;
		growing_init(&out, 0, max_length);
		out.data = repalloc_huge(out.data, Max(known, 1));
		out.length = known;
		ok = codec_decompress(codec, source, source_length, out.data, known);
	}
	else
	{
		growing_init(&out, source_length, max_length);
		if (codec == CODEC_GZIP || codec == CODEC_DEFLATE)
			ok = zlib_decompress_unknown(codec == CODEC_GZIP ? ZLIB_ANY_WINDOW : ZLIB_RAW_WINDOW,
										 source, source_length, &out);
		else if (codec == CODEC_ZSTD)
			ok = zstd_decompress_unknown(source, source_length, &out);
		else if (codec == CODEC_BZIP2)
			ok = bzip2_decompress_unknown(source, source_length, &out);
	}
	if (!ok)
	{
		pfree(out.data);
		return NULL;
	}
	*length = out.length;
	return out.data;
}

size_t
codec_bound(Codec codec, size_t source_length)
{
	switch (codec)
	{
		case CODEC_NONE:
			return source_length;
		case CODEC_SNAPPY:
			return snappy_max_compressed_length(source_length);
		case CODEC_GZIP:
		case CODEC_DEFLATE:
			return compressBound(source_length) + GZIP_OVERHEAD;
		case CODEC_LZ4_RAW:
			return LZ4_COMPRESSBOUND(source_length);
		case CODEC_LZ4_HADOOP:
			return LZ4_COMPRESSBOUND(source_length) + HADOOP_HEADER_SIZE;
		case CODEC_ZSTD:
			return ZSTD_compressBound(source_length);
		case CODEC_BZIP2:
			break;
	}
	return 0;
}

static size_t
zlib_compress(int window_bits, int level, const void *source, size_t source_length, void *target, size_t capacity)
{
	z_stream	stream = {0};
	int			status;

	if (source_length > UINT_MAX)
		return 0;
	if (deflateInit2(&stream, level == 0 ? Z_DEFAULT_COMPRESSION : level, Z_DEFLATED,
					 window_bits, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return 0;
	stream.next_in = unconstify(void *, source);
	stream.avail_in = source_length;
	stream.next_out = target;
	stream.avail_out = Min(capacity, UINT_MAX);
	status = deflate(&stream, Z_FINISH);
	deflateEnd(&stream);
	return status == Z_STREAM_END ? stream.total_out : 0;
}

static size_t
lz4_compress(const char *source, size_t source_length, char *target, size_t capacity)
{
	if (source_length > LZ4_MAX_INPUT_SIZE)
		return 0;
	return LZ4_compress_default(source, target, (int) source_length, (int) Min(capacity, INT_MAX));
}

static size_t
lz4_hadoop_compress(const char *source, size_t source_length, char *target, size_t capacity)
{
	uint32		header[2];
	size_t		length;

	if (capacity < HADOOP_HEADER_SIZE)
		return 0;
	length = lz4_compress(source, source_length, target + HADOOP_HEADER_SIZE, capacity - HADOOP_HEADER_SIZE);
	if (length == 0)
		return 0;
	header[0] = pg_hton32((uint32) source_length);
	header[1] = pg_hton32((uint32) length);
	memcpy(target, header, HADOOP_HEADER_SIZE);
	return length + HADOOP_HEADER_SIZE;
}

static size_t
zstd_compress(int level, const void *source, size_t source_length, void *target, size_t capacity)
{
	size_t		length;

	if (zstd_compressor == NULL)
		zstd_compressor = ZSTD_createCCtx();
	if (zstd_compressor == NULL)
		return 0;
	length = ZSTD_compressCCtx(zstd_compressor, target, capacity, source, source_length,
							   level == 0 ? ZSTD_CLEVEL_DEFAULT : level);
	return ZSTD_isError(length) ? 0 : length;
}

static size_t
snappy_compress_checked(const char *source, size_t source_length, char *target, size_t capacity)
{
	size_t		length = capacity;

	return snappy_compress(source, source_length, target, &length) == SNAPPY_OK ? length : 0;
}

size_t
codec_compress(Codec codec, int level, const void *source, size_t source_length, void *target, size_t target_capacity)
{
	size_t		length = 0;

	switch (codec)
	{
		case CODEC_NONE:
			Assert(target_capacity >= source_length);
			memcpy(target, source, source_length);
			return source_length;
		case CODEC_SNAPPY:
			length = snappy_compress_checked(source, source_length, target, target_capacity);
			break;
		case CODEC_GZIP:
		case CODEC_DEFLATE:
			length = zlib_compress(codec == CODEC_GZIP ? ZLIB_GZIP_WINDOW : ZLIB_RAW_WINDOW, level,
								   source, source_length, target, target_capacity);
			break;
		case CODEC_LZ4_RAW:
			length = lz4_compress(source, source_length, target, target_capacity);
			break;
		case CODEC_LZ4_HADOOP:
			length = lz4_hadoop_compress(source, source_length, target, target_capacity);
			break;
		case CODEC_ZSTD:
			length = zstd_compress(level, source, source_length, target, target_capacity);
			break;
		case CODEC_BZIP2:
			break;				/* not for writing */
	}
	if (length == 0)
		ereport(ERROR,
				(errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
				 errmsg("could not compress %zu bytes with %s", source_length, codec_name(codec))));
	return length;
}
