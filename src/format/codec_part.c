/*
 * codec_part.c
 *		Decompressing only the beginning of what was compressed, and more of it later.
 *
 * zstd writes blocks of 128 kB at most.  Fed block by block, with the whole
 * target as the output buffer, it decodes straight into place and stops behind
 * any of them.  The process has one context for this, which remembers the
 * stream it stands in; a stream that lost it to another starts again.
 */
#include "postgres.h"

#define ZSTD_STATIC_LINKING_ONLY	/* for ZSTD_d_stableOutBuffer */
#include <zstd.h>

#include "format/codec_part.h"

#if ZSTD_VERSION_NUMBER >= 10500

#define FRAME_HEADER_BYTES 18	/* at most */

static ZSTD_DCtx *decompressor = NULL;
static uint64 current_stream = 0;	/* 0: none */
static uint64 last_stream = 0;

static bool
begin_stream(CodecPart *part)
{
	current_stream = 0;
	if (decompressor == NULL)
	{
		decompressor = ZSTD_createDCtx();
		if (decompressor == NULL ||
			ZSTD_isError(ZSTD_DCtx_setParameter(decompressor, ZSTD_d_stableOutBuffer, 1)))
			return false;
	}
	ZSTD_DCtx_reset(decompressor, ZSTD_reset_session_only);
	current_stream = part->stream = ++last_stream;
	part->consumed = part->produced = 0;
	part->next_input = FRAME_HEADER_BYTES;
	return true;
}

/* False also when it is merely better done in one piece. */
static bool
zstd_part(CodecPart *part, const void *source, size_t source_length, void *target, size_t target_length,
		  size_t wanted)
{
	bool		continued = part->stream != 0 && part->stream == current_stream;

	if (!continued &&
		(target_length <= CODEC_WHOLE_BYTES || wanted > target_length / 8 * 7 || !begin_stream(part)))
		return false;
	while (part->produced < wanted)
	{
		ZSTD_inBuffer in = {source, Min(source_length, part->consumed + part->next_input), part->consumed};
		ZSTD_outBuffer out = {target, target_length, part->produced};
		size_t		status = ZSTD_decompressStream(decompressor, &out, &in);
		bool		moved = in.pos > part->consumed || out.pos > part->produced;

		part->consumed = in.pos;
		part->produced = out.pos;
		part->next_input = status;
		/* the end of a frame is not for us unless it is the end of all */
		if (ZSTD_isError(status) || !moved || (status == 0 && out.pos < wanted))
		{
			current_stream = 0;
			return false;
		}
	}
	return true;
}

#endif

bool
codec_decompress_part(Codec codec, CodecPart *part, const void *source, size_t source_length,
					  void *target, size_t target_length, size_t wanted)
{
	if (wanted <= part->produced)
		return true;
#if ZSTD_VERSION_NUMBER >= 10500
	if (codec == CODEC_ZSTD && zstd_part(part, source, source_length, target, target_length, wanted))
		return true;
#endif
	part->stream = 0;
	if (!codec_decompress(codec, source, source_length, target, target_length))
		return false;
	part->produced = target_length;
	return true;
}
