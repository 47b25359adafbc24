/*
 * codec.h
 *		Compression codecs over the well-kept libraries: zstd, lz4, snappy, zlib, bzip2.
 */
#ifndef STREAMHOUSE_CODEC_H
#define STREAMHOUSE_CODEC_H

#include "postgres.h"

typedef enum Codec
{
	CODEC_NONE,
	CODEC_SNAPPY,
	CODEC_GZIP,					/* gzip or zlib header, found by itself */
	CODEC_DEFLATE,				/* raw deflate (Avro, ORC) */
	CODEC_LZ4_RAW,				/* one LZ4 block */
	CODEC_LZ4_HADOOP,			/* LZ4 blocks in Hadoop's framing; falls back to raw */
	CODEC_ZSTD,
	CODEC_BZIP2					/* only to read (Avro) */
} Codec;

extern const char *codec_name(Codec codec);

/*
 * Decompress exactly target_length bytes into target.  False when the data is
 * damaged or gives another length; the caller raises the error, as it knows
 * the file.
 */
extern bool codec_decompress(Codec codec, const void *source, size_t source_length, void *target, size_t target_length);

/* The same when only a bound of the length is known (ORC); *length gets what came out. */
extern bool codec_decompress_within(Codec codec, const void *source, size_t source_length,
									void *target, size_t capacity, size_t *length);

/*
 * The same when the length is not known beforehand (Avro): palloc'd result,
 * at most max_length bytes; NULL when damaged or longer.
 */
extern char *codec_decompress_unknown(Codec codec, const void *source, size_t source_length, size_t max_length, size_t *length);

/* Room that codec_compress needs at most. */
extern size_t codec_bound(Codec codec, size_t source_length);

/* Compress into target (codec_bound bytes); returns the length.  level: of zstd and gzip, 0 for the default. */
extern size_t codec_compress(Codec codec, int level, const void *source, size_t source_length, void *target, size_t target_capacity);

#endif							/* STREAMHOUSE_CODEC_H */
