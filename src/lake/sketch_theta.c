/*
 * sketch_theta.c
 *		Theta sketches: the hashes below a threshold.
 *
 * A compact sketch has the hashes of a set's members that are below theta,
 * all of them as long as they are few.  The union has those of both below the
 * smaller theta; where they are more than fit, the largest go and theta is
 * lowered to the smallest of them.
 */
#include "postgres.h"

#include "lake/byte_input.h"
#include "lake/sketch.h"

#define SERIAL_VERSION 3
#define FAMILY_COMPACT 3
#define SEED_HASH 0x93cc		/* of the seed that everybody uses */
#define NOMINAL_ENTRIES 4096

#define FLAG_READ_ONLY 0x02
#define FLAG_EMPTY 0x04
#define FLAG_COMPACT 0x08
#define FLAG_ORDERED 0x10
#define FLAG_SINGLE 0x20

typedef struct ThetaSketch
{
	bool		empty;			/* of no members; not only of none below theta */
	uint64		theta;			/* PG_INT64_MAX: all hashes are there */
	int			count;
	const char *hashes;			/* eight bytes each, little-endian */
} ThetaSketch;

static bool
read_sketch(BytesView bytes, ThetaSketch *sketch)
{
	ByteInput	input = byte_input(bytes);
	const char *header = byte_input_take(&input, 8);
	const char *counts = NULL;
	const char *theta = NULL;
	int			nlongs;
	uint8		flags;

	if (header == NULL || header[1] != SERIAL_VERSION || header[2] != FAMILY_COMPACT)
		return false;
	nlongs = header[0] & 0x3F;
	flags = (uint8) header[5];
	if ((flags & FLAG_COMPACT) == 0 || nlongs < 1 || nlongs > 3 ||
		(nlongs > 1 && (counts = byte_input_take(&input, 8)) == NULL) ||
		(nlongs > 2 && (theta = byte_input_take(&input, 8)) == NULL))
		return false;
	sketch->empty = (flags & FLAG_EMPTY) != 0;
	sketch->theta = theta != NULL ? bytes_number(theta, 8) : PG_INT64_MAX;
	if (counts != NULL)
		sketch->count = (int) Min(bytes_number(counts, 4), PG_INT32_MAX);
	else
		sketch->count = sketch->empty ? 0 : 1;
	sketch->hashes = byte_input_take(&input, (size_t) sketch->count * 8);
	return sketch->hashes != NULL && sketch->theta > 0 && sketch->theta <= PG_INT64_MAX &&
		(sketch->empty || bytes_number(header + 6, 2) == SEED_HASH);
}

static int
add_hashes(const ThetaSketch *sketch, uint64 theta, uint64 *hashes, int count)
{
	for (int i = 0; i < sketch->count; i++)
	{
		uint64		hash = bytes_number(sketch->hashes + 8 * (size_t) i, 8);

		if (hash > 0 && hash < theta)
			hashes[count++] = hash;
	}
	return count;
}

static int
compare_hashes(const void *a, const void *b)
{
	uint64		x = *(const uint64 *) a;
	uint64		y = *(const uint64 *) b;

	return x < y ? -1 : x > y;
}

static int
drop_repeated(uint64 *hashes, int count)
{
	int			kept = 0;

	for (int i = 0; i < count; i++)
		if (kept == 0 || hashes[kept - 1] != hashes[i])
			hashes[kept++] = hashes[i];
	return kept;
}

static void
append_sketch(StringInfo out, bool empty, uint64 theta, const uint64 *hashes, int count)
{
	bool		is_exact = theta == PG_INT64_MAX;
	bool		is_single = is_exact && count == 1;
	int			nlongs = !is_exact ? 3 : count > 1 ? 2 : 1;
	int			flags = FLAG_READ_ONLY | FLAG_COMPACT | FLAG_ORDERED;

	if (is_single)
		flags |= FLAG_SINGLE;
	if (empty)
		flags |= FLAG_EMPTY;
	append_number(out, nlongs, 1);
	append_number(out, SERIAL_VERSION, 1);
	append_number(out, FAMILY_COMPACT, 1);
	append_number(out, 0, 2);
	append_number(out, flags, 1);
	append_number(out, empty ? 0 : SEED_HASH, 2);
	if (nlongs > 1)
	{
		const float probability = 1.0f;

		append_number(out, count, 4);
		appendBinaryStringInfo(out, (const char *) &probability, sizeof(probability));
	}
	if (nlongs > 2)
		append_number(out, theta, 8);
	for (int i = 0; i < count; i++)
		append_number(out, hashes[i], 8);
}

bool
theta_sketch_unite(BytesView a, BytesView b, StringInfo out)
{
	ThetaSketch x;
	ThetaSketch y;
	uint64		theta;
	uint64	   *hashes;
	int			count;

	if (!read_sketch(a, &x) || !read_sketch(b, &y))
		return false;
	theta = Min(x.theta, y.theta);
	hashes = MemoryContextAllocHuge(CurrentMemoryContext, ((Size) x.count + y.count + 1) * sizeof(uint64));
	count = add_hashes(&x, theta, hashes, 0);
	count = add_hashes(&y, theta, hashes, count);
	qsort(hashes, count, sizeof(uint64), compare_hashes);
	count = drop_repeated(hashes, count);
	if (count > NOMINAL_ENTRIES)
	{
		count = NOMINAL_ENTRIES;
		theta = hashes[count];
	}
	append_sketch(out, x.empty && y.empty, theta, hashes, count);
	return true;
}
