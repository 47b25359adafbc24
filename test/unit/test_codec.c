/*
 * test_codec.c
 *		Decompressing by parts, and checksums.
 */
#include "postgres.h"

#include <zlib.h>

#include "format/checksum.h"
#include "format/codec_part.h"

#include "unit.h"

#define LENGTH (700 * 1000)		/* some of zstd's blocks */

/* Text that compresses, but not to nothing. */
static char *
make_text(uint32 seed)
{
	char	   *text = palloc(LENGTH);

	for (int i = 0; i < LENGTH; i++)
	{
		seed = seed * 1103515245 + 12345;
		text[i] = (char) ('a' + (seed >> 16) % 7);
	}
	return text;
}

static char *
make_compressed(Codec codec, const char *text, size_t length, size_t *compressed_length)
{
	size_t		bound = codec_bound(codec, length);
	char	   *compressed = palloc(bound);

	*compressed_length = codec_compress(codec, 0, text, length, compressed, bound);
	return compressed;
}

/* Parts of two streams in turn, each of which begins again when the other was decompressed. */
static void
check_parts(Codec codec)
{
	CodecPart	parts[2] = {{0}, {0}};
	char	   *texts[2];
	char	   *compressed[2];
	char	   *targets[2];
	size_t		lengths[2];

	for (int k = 0; k < 2; k++)
	{
		texts[k] = make_text(k);
		compressed[k] = make_compressed(codec, texts[k], LENGTH, &lengths[k]);
		targets[k] = palloc0(LENGTH);
	}
	for (int wanted = 1; wanted <= LENGTH; wanted = wanted < 1000 ? wanted + 999 : wanted + 23300)
	{
		int			k = wanted / 100000 % 2;

		CHECK(codec_decompress_part(codec, &parts[k], compressed[k], lengths[k], targets[k], LENGTH, wanted));
		CHECK(parts[k].produced >= wanted && parts[k].produced <= LENGTH);
		CHECK(memcmp(targets[k], texts[k], parts[k].produced) == 0);
	}
	for (int k = 0; k < 2; k++)
	{
		CHECK(codec_decompress_part(codec, &parts[k], compressed[k], lengths[k], targets[k], LENGTH, LENGTH));
		CHECK_INT(parts[k].produced, LENGTH);
		CHECK(memcmp(targets[k], texts[k], LENGTH) == 0);
	}
}

static void
test_parts(void)
{
	check_parts(CODEC_ZSTD);
	check_parts(CODEC_SNAPPY);
	check_parts(CODEC_LZ4_RAW);
}

/* A part of zstd is less than all. */
static void
test_part_is_less(void)
{
	char	   *text = make_text(1);
	char	   *target = palloc(LENGTH);
	CodecPart	part = {0};
	size_t		length;
	char	   *compressed = make_compressed(CODEC_ZSTD, text, LENGTH, &length);

	CHECK(codec_decompress_part(CODEC_ZSTD, &part, compressed, length, target, LENGTH, 1000));
	CHECK(part.produced <= 128 * 1024);
}

/* Two frames, one behind the other, are one text. */
static void
test_frames(void)
{
	char	   *text = make_text(2);
	char	   *target = palloc(LENGTH);
	CodecPart	part = {0};
	size_t		first;
	size_t		second;
	char	   *one = make_compressed(CODEC_ZSTD, text, LENGTH / 3, &first);
	char	   *two = make_compressed(CODEC_ZSTD, text + LENGTH / 3, LENGTH - LENGTH / 3, &second);
	char	   *both = palloc(first + second);

	memcpy(both, one, first);
	memcpy(both + first, two, second);
	for (int wanted = 1000; wanted < LENGTH; wanted += 50000)
	{
		CHECK(codec_decompress_part(CODEC_ZSTD, &part, both, first + second, target, LENGTH, wanted));
		CHECK(memcmp(target, text, wanted) == 0);
	}
}

/* Damage in what is wanted is found; so is a source that ends too soon, or gives another length. */
static void
test_damage(void)
{
	char	   *text = make_text(3);
	char	   *target = palloc(LENGTH + 1);
	CodecPart	part = {0};
	size_t		length;
	char	   *compressed = make_compressed(CODEC_ZSTD, text, LENGTH, &length);

	CHECK(codec_decompress_part(CODEC_ZSTD, &part, compressed, length / 2, target, LENGTH, 1000));
	CHECK(!codec_decompress_part(CODEC_ZSTD, &part, compressed, length / 2, target, LENGTH, LENGTH - 1000));
	memset(&part, 0, sizeof(part));
	CHECK(!codec_decompress_part(CODEC_ZSTD, &part, compressed, length, target, LENGTH + 1, LENGTH + 1));
	memset(&part, 0, sizeof(part));
	CHECK(!codec_decompress_part(CODEC_ZSTD, &part, compressed, length, target, LENGTH - 1, LENGTH - 1));
	memset(&part, 0, sizeof(part));
	compressed[0] ^= 1;
	CHECK(!codec_decompress_part(CODEC_ZSTD, &part, compressed, length, target, LENGTH, 1000));
	compressed[0] ^= 1;
	for (int i = 0; i < 2000; i++)
	{
		int			place = i * 7919 % length;

		compressed[place] ^= 1 << i % 8;
		memset(&part, 0, sizeof(part));
		(void) codec_decompress_part(CODEC_ZSTD, &part, compressed, length, target, LENGTH, i * 300);
		compressed[place] ^= 1 << i % 8;
	}
}

/* The same as zlib's, of all lengths and alignments. */
static void
test_checksum(void)
{
	char	   *text = make_text(4);

	for (int from = 0; from < 17; from++)
	{
		for (int length = 0; length < 600; length++)
			CHECK(checksum_crc32(text + from, length) == (uint32) crc32(0, (const Bytef *) text + from, length));
	}
	CHECK(checksum_crc32(text, LENGTH) == (uint32) crc32(0, (const Bytef *) text, LENGTH));
	CHECK(checksum_crc32("123456789", 9) == 0xcbf43926);
}

int
main(void)
{
	unit_begin();
	RUN(test_parts);
	RUN(test_part_is_less);
	RUN(test_frames);
	RUN(test_damage);
	RUN(test_checksum);
	return unit_end();
}
