/*
 * checksum.c
 *		CRC-32, by carry-less multiplication where the processor has it.
 *
 * A CRC is the remainder of the data, as a polynomial, divided by a fixed one.
 * Multiplying a piece by the remainder of x^n moves it n bits on without
 * changing the result, so that 64 bytes at a time fold into the next 64.  The
 * last 16 bytes that are left stand for all before; zlib takes their CRC.
 */
#include "postgres.h"

#include <limits.h>
#include <zlib.h>

#include "format/checksum.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define USE_FOLDING

#include <immintrin.h>

#define FOLDED_BYTES 64			/* four registers */

/* Remainders of x^(512+32), x^(512-32), x^(128+32) and x^(128-32), bits reversed. */
#define BY_512_HIGH INT64CONST(0x0154442bd4)
#define BY_512_LOW INT64CONST(0x01c6e41596)
#define BY_128_HIGH INT64CONST(0x01751997d0)
#define BY_128_LOW INT64CONST(0x00ccaa009e)

__attribute__((target("pclmul,sse2")))
static inline __m128i
fold(__m128i value, __m128i by, __m128i next)
{
	__m128i		low = _mm_clmulepi64_si128(value, by, 0x00);
	__m128i		high = _mm_clmulepi64_si128(value, by, 0x11);

	return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

/* Of a length that is a multiple of 16, 64 at least. */
__attribute__((target("pclmul,sse2")))
static uint32
crc32_folded(const uint8 *data, size_t length)
{
	const __m128i *from = (const __m128i *) data;
	const __m128i *end = (const __m128i *) (data + length);
	__m128i		by_512 = _mm_set_epi64x(BY_512_LOW, BY_512_HIGH);
	__m128i		by_128 = _mm_set_epi64x(BY_128_LOW, BY_128_HIGH);
	__m128i		parts[4];
	uint8		rest[sizeof(__m128i)];

	for (int i = 0; i < 4; i++)
		parts[i] = _mm_loadu_si128(from++);
	/* a CRC begins with all bits set */
	parts[0] = _mm_xor_si128(parts[0], _mm_cvtsi32_si128(-1));
	for (; end - from >= 4; from += 4)
	{
		for (int i = 0; i < 4; i++)
			parts[i] = fold(parts[i], by_512, _mm_loadu_si128(from + i));
	}
	for (int i = 1; i < 4; i++)
		parts[i] = fold(parts[i - 1], by_128, parts[i]);
	for (; from < end; from++)
		parts[3] = fold(parts[3], by_128, _mm_loadu_si128(from));
	_mm_storeu_si128((__m128i *) rest, parts[3]);
	/* zlib inverts the value it begins with */
	return (uint32) crc32(0xffffffff, rest, sizeof(rest));
}

#endif

uint32
checksum_crc32(const void *data, size_t length)
{
	const uint8 *cursor = data;
	uLong		crc = 0;

#ifdef USE_FOLDING
	if (length >= FOLDED_BYTES && __builtin_cpu_supports("pclmul"))
	{
		size_t		folded = length - length % sizeof(__m128i);

		crc = crc32_folded(cursor, folded);
		cursor += folded;
		length -= folded;
	}
#endif
	while (length > 0)
	{
		uInt		n = (uInt) Min(length, (size_t) INT_MAX);

		crc = crc32(crc, cursor, n);
		cursor += n;
		length -= n;
	}
	return (uint32) crc;
}
