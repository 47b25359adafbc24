/*
 * codec_part.h
 *		Decompressing only the beginning of what was compressed, and more of it later.
 */
#ifndef STREAMHOUSE_CODEC_PART_H
#define STREAMHOUSE_CODEC_PART_H

#include "format/codec.h"

/*
 * So much is decompressed in one piece.  Of two blocks, most of the values lie in the first or need both; it is not worth to
 * begin again.
 */
#define CODEC_WHOLE_BYTES (256 * 1024)

/* How far it is; zeroes at the beginning. */
typedef struct CodecPart
{
	size_t		produced;		/* bytes of the target that are there */
	/* of codec_part.c */
	uint64		stream;
	size_t		consumed;
	size_t		next_input;
} CodecPart;

/*
 * See to it that the first wanted bytes of the target are there, out of target_length that the whole source gives.
 * Source and target are the same in each call for a part.  Where the codec knows no parts, all of it is decompressed.
 * False when the data is damaged; what is behind the wanted bytes may not have been looked at.
 */
extern bool codec_decompress_part(Codec codec, CodecPart *part, const void *source, size_t source_length,
								  void *target, size_t target_length, size_t wanted);

#endif							/* STREAMHOUSE_CODEC_PART_H */
