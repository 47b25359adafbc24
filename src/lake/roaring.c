/*
 * roaring.c
 *		Serialised roaring bitmaps: containers, and the 32-bit format.
 *
 * The 32-bit format is the portable one: a cookie, which of the containers
 * are runs, key and cardinality of each, maybe their offsets, then their
 * payloads.
 */
#include "postgres.h"

#include "lake/roaring.h"
#include "port/pg_bitutils.h"

#define COOKIE_WITHOUT_RUNS 12346
#define COOKIE_WITH_RUNS 12347
#define OFFSETS_FROM 4			/* with runs, offsets come with so many containers */
#define MAX_CONTAINERS 65536
#define MAX_MEMBERS 65536
#define MAX_ARRAY_MEMBERS 4096
#define BITSET_WORDS 1024
#define BITSET_BYTES (BITSET_WORDS * (int) sizeof(uint64))

static int
member_at(const char *payload, int index)
{
	return (int) bytes_number(payload + 2 * index, 2);
}

/* ---- containers ---- */

static bool
array_is_sound(const RoaringContainer *container)
{
	for (int i = 1; i < container->cardinality; i++)
		if (member_at(container->payload, i - 1) >= member_at(container->payload, i))
			return false;
	return true;
}

/* Sets the cardinality. */
static bool
runs_are_sound(RoaringContainer *container)
{
	int			next = 0;

	container->cardinality = 0;
	for (int i = 0; i < container->nruns; i++)
	{
		int			first = member_at(container->payload, 2 * i);
		int			length = member_at(container->payload, 2 * i + 1);

		if (first < next || first + length >= MAX_MEMBERS)
			return false;
		container->cardinality += length + 1;
		next = first + length + 1;
	}
	return true;
}

static size_t
payload_bytes(const RoaringContainer *container)
{
	switch (container->form)
	{
		case ROARING_RUNS:
			return 4 * (size_t) container->nruns;
		case ROARING_BITSET:
			return BITSET_BYTES;
		case ROARING_ARRAY:
			return 2 * (size_t) container->cardinality;
	}
	return 0;
}

bool
roaring_read_container(ByteInput *input, RoaringForm form, int cardinality, RoaringContainer *out)
{
	const char *nruns = NULL;

	if (form == ROARING_RUNS && (nruns = byte_input_take(input, 2)) == NULL)
		return false;
	if (form != ROARING_RUNS && (cardinality < 1 || cardinality > MAX_MEMBERS))
		return false;
	out->form = form;
	out->cardinality = cardinality;
	out->nruns = nruns != NULL ? (int) bytes_number(nruns, 2) : 0;
	out->payload = byte_input_take(input, payload_bytes(out));
	if (out->payload == NULL)
		return false;
	switch (form)
	{
		case ROARING_RUNS:
			return runs_are_sound(out);
		case ROARING_BITSET:
			return pg_popcount(out->payload, BITSET_BYTES) == (uint64) cardinality;
		case ROARING_ARRAY:
			return array_is_sound(out);
	}
	return false;
}

void
roaring_append_container(StringInfo out, const RoaringContainer *container)
{
	if (container->form == ROARING_RUNS)
		append_number(out, container->nruns, 2);
	appendBinaryStringInfo(out, container->payload, (int) payload_bytes(container));
}

static void
set_members(uint64 *words, int first, int last)
{
	for (int i = first; i <= last; i++)
	{
		if (i % 64 == 0 && i + 63 <= last)
		{
			words[i / 64] = ~UINT64CONST(0);
			i += 63;
		}
		else
			words[i / 64] |= UINT64CONST(1) << (i % 64);
	}
}

static void
add_to_bits(uint64 *words, const RoaringContainer *container)
{
	const char *payload = container->payload;

	if (container->form == ROARING_RUNS)
	{
		for (int i = 0; i < container->nruns; i++)
		{
			int			first = member_at(payload, 2 * i);

			set_members(words, first, first + member_at(payload, 2 * i + 1));
		}
	}
	else if (container->form == ROARING_ARRAY)
	{
		for (int i = 0; i < container->cardinality; i++)
			set_members(words, member_at(payload, i), member_at(payload, i));
	}
	else
	{
		for (int i = 0; i < BITSET_WORDS; i++)
			words[i] |= bytes_number(payload + 8 * i, 8);
	}
}

/* How many members there are, and runs of them. */
static void
count_bits(const uint64 *words, RoaringContainer *container)
{
	uint64		before = 0;		/* the bit before the word, as its lowest one */

	container->cardinality = 0;
	container->nruns = 0;
	for (int i = 0; i < BITSET_WORDS; i++)
	{
		container->cardinality += pg_popcount64(words[i]);
		container->nruns += pg_popcount64(words[i] & ~(words[i] << 1 | before));
		before = words[i] >> 63;
	}
}

/* From what number of bytes on runs are preferred; those that were runs stay so a little longer. */
static bool
prefers_runs(const RoaringContainer *counts, bool had_runs)
{
	int			bytes = 2 + 4 * counts->nruns;

	if (counts->cardinality > MAX_ARRAY_MEMBERS)
		return bytes < BITSET_BYTES;
	return had_runs ? bytes <= 2 * counts->cardinality + 2 : bytes < 2 * counts->cardinality;
}

static void
append_members(StringInfo out, const uint64 *words)
{
	for (int i = 0; i < BITSET_WORDS; i++)
		for (uint64 rest = words[i]; rest != 0; rest &= rest - 1)
			append_number(out, 64 * i + pg_rightmost_one_pos64(rest), 2);
}

static void
append_runs(StringInfo out, const uint64 *words)
{
	int			first = -1;		/* of the run at hand */

	for (int i = 0; i <= MAX_MEMBERS; i++)
	{
		bool		is_member = i < MAX_MEMBERS && (words[i / 64] >> (i % 64) & 1) != 0;

		/* whole words that go on as they begin */
		if (i < MAX_MEMBERS && i % 64 == 0 && words[i / 64] == (first >= 0 ? ~UINT64CONST(0) : 0))
			i += 63;
		else if (is_member && first < 0)
			first = i;
		else if (!is_member && first >= 0)
		{
			append_number(out, first, 2);
			append_number(out, i - 1 - first, 2);
			first = -1;
		}
	}
}

RoaringContainer
roaring_unite_containers(const RoaringContainer *a, const RoaringContainer *b)
{
	uint64		words[BITSET_WORDS] = {0};
	bool		had_runs = a->form == ROARING_RUNS || (b != NULL && b->form == ROARING_RUNS);
	RoaringContainer result = {0};
	StringInfoData payload;

	add_to_bits(words, a);
	if (b != NULL)
		add_to_bits(words, b);
	count_bits(words, &result);
	initStringInfo(&payload);
	if (prefers_runs(&result, had_runs))
	{
		result.form = ROARING_RUNS;
		append_runs(&payload, words);
	}
	else if (result.cardinality <= MAX_ARRAY_MEMBERS)
	{
		result.form = ROARING_ARRAY;
		append_members(&payload, words);
	}
	else
	{
		result.form = ROARING_BITSET;
		for (int i = 0; i < BITSET_WORDS; i++)
			append_number(&payload, words[i], 8);
	}
	result.payload = payload.data;
	return result;
}

/* ---- the 32-bit format ---- */

typedef struct Bitmap32
{
	int			ncontainers;
	uint16	   *keys;
	RoaringContainer *containers;
} Bitmap32;

static void
allocate_bitmap(Bitmap32 *bitmap, int ncontainers)
{
	bitmap->ncontainers = 0;
	bitmap->keys = palloc(Max(ncontainers, 1) * sizeof(uint16));
	bitmap->containers = palloc(Max(ncontainers, 1) * sizeof(RoaringContainer));
}

/* Read the cookie: how many containers there are, -1 if it is none, and where the flags of runs are, if any. */
static int
read_cookie(ByteInput *input, const char **run_flags)
{
	const char *bytes = byte_input_take(input, 4);
	uint64		cookie = bytes != NULL ? bytes_number(bytes, 4) : 0;
	uint64		ncontainers;

	*run_flags = NULL;
	if ((cookie & 0xFFFF) == COOKIE_WITH_RUNS)
	{
		ncontainers = (cookie >> 16) + 1;
		*run_flags = byte_input_take(input, (ncontainers + 7) / 8);
		return *run_flags != NULL ? (int) ncontainers : -1;
	}
	if (cookie != COOKIE_WITHOUT_RUNS || (bytes = byte_input_take(input, 4)) == NULL)
		return -1;
	ncontainers = bytes_number(bytes, 4);
	return ncontainers <= MAX_CONTAINERS ? (int) ncontainers : -1;
}

static bool
read_bitmap(BytesView bytes, Bitmap32 *bitmap)
{
	ByteInput	input = byte_input(bytes);
	const char *run_flags;
	int			ncontainers = read_cookie(&input, &run_flags);
	const char *headers = ncontainers >= 0 ? byte_input_take(&input, 4 * (size_t) ncontainers) : NULL;

	if (headers == NULL)
		return false;
	if ((run_flags == NULL || ncontainers >= OFFSETS_FROM) && byte_input_take(&input, 4 * (size_t) ncontainers) == NULL)
		return false;
	allocate_bitmap(bitmap, ncontainers);
	for (int i = 0; i < ncontainers; i++)
	{
		bool		is_runs = run_flags != NULL && (run_flags[i / 8] >> (i % 8) & 1) != 0;
		int			cardinality = (int) bytes_number(headers + 4 * i + 2, 2) + 1;
		RoaringForm form = is_runs ? ROARING_RUNS :
			cardinality > MAX_ARRAY_MEMBERS ? ROARING_BITSET : ROARING_ARRAY;

		bitmap->keys[i] = (uint16) bytes_number(headers + 4 * i, 2);
		if (i > 0 && bitmap->keys[i - 1] >= bitmap->keys[i])
			return false;
		if (!roaring_read_container(&input, form, cardinality, &bitmap->containers[i]))
			return false;
		bitmap->ncontainers++;
	}
	return true;
}

/* An empty container, which only runs can be, has no place in a bitmap. */
static void
add_container(Bitmap32 *bitmap, uint16 key, const RoaringContainer *a, const RoaringContainer *b)
{
	RoaringContainer result = roaring_unite_containers(a, b);

	if (result.cardinality == 0)
		return;
	bitmap->keys[bitmap->ncontainers] = key;
	bitmap->containers[bitmap->ncontainers++] = result;
}

static void
unite_bitmaps(const Bitmap32 *a, const Bitmap32 *b, Bitmap32 *result)
{
	int			i = 0;
	int			j = 0;

	allocate_bitmap(result, a->ncontainers + b->ncontainers);
	while (i < a->ncontainers || j < b->ncontainers)
	{
		if (j == b->ncontainers || (i < a->ncontainers && a->keys[i] < b->keys[j]))
		{
			add_container(result, a->keys[i], &a->containers[i], NULL);
			i++;
		}
		else if (i == a->ncontainers || b->keys[j] < a->keys[i])
		{
			add_container(result, b->keys[j], &b->containers[j], NULL);
			j++;
		}
		else
		{
			add_container(result, a->keys[i], &a->containers[i], &b->containers[j]);
			i++;
			j++;
		}
	}
}

static void
append_run_flags(StringInfo out, const Bitmap32 *bitmap)
{
	uint8		flags = 0;

	for (int i = 0; i < bitmap->ncontainers; i++)
	{
		if (bitmap->containers[i].form == ROARING_RUNS)
			flags |= 1 << (i % 8);
		if (i % 8 == 7 || i == bitmap->ncontainers - 1)
		{
			appendStringInfoCharMacro(out, (char) flags);
			flags = 0;
		}
	}
}

static void
append_bitmap(StringInfo out, const Bitmap32 *bitmap)
{
	int			start = out->len;
	bool		has_runs = false;
	int			offset;

	for (int i = 0; i < bitmap->ncontainers; i++)
		has_runs |= bitmap->containers[i].form == ROARING_RUNS;
	append_number(out, has_runs ? COOKIE_WITH_RUNS : COOKIE_WITHOUT_RUNS, has_runs ? 2 : 4);
	if (has_runs)
	{
		append_number(out, bitmap->ncontainers - 1, 2);
		append_run_flags(out, bitmap);
	}
	else
		append_number(out, bitmap->ncontainers, 4);
	for (int i = 0; i < bitmap->ncontainers; i++)
	{
		append_number(out, bitmap->keys[i], 2);
		append_number(out, bitmap->containers[i].cardinality - 1, 2);
	}
	offset = out->len - start + 4 * bitmap->ncontainers;
	for (int i = 0; i < bitmap->ncontainers && (!has_runs || bitmap->ncontainers >= OFFSETS_FROM); i++)
	{
		const RoaringContainer *container = &bitmap->containers[i];

		append_number(out, offset, 4);
		offset += (int) payload_bytes(container) + (container->form == ROARING_RUNS ? 2 : 0);
	}
	for (int i = 0; i < bitmap->ncontainers; i++)
		roaring_append_container(out, &bitmap->containers[i]);
}

bool
roaring32_unite(BytesView a, BytesView b, StringInfo out)
{
	Bitmap32	bitmaps[2];
	Bitmap32	result;

	if (!read_bitmap(a, &bitmaps[0]) || !read_bitmap(b, &bitmaps[1]))
		return false;
	unite_bitmaps(&bitmaps[0], &bitmaps[1], &result);
	append_bitmap(out, &result);
	return true;
}
