/*
 * dictionary_write.c
 *		The distinct values of a column chunk, found by hashing.
 *
 * The values themselves lie in PLAIN form one after the other, as the
 * dictionary page will have them; the hash table is open addressing over codes
 * with the hashes beside them, so most probes touch one slot and one value.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "format/parquet/parquet_write.h"
#include "utils/memutils.h"

#define FIRST_SLOTS 1024
#define HASH_FACTOR UINT64CONST(0x9E3779B97F4A7C15)
#define KEEP_BYTES (4 * DICTIONARY_BYTES)

void
dictionary_writer_init(ValueDictionary *dictionary, MemoryContext context, int width)
{
	memset(dictionary, 0, sizeof(ValueDictionary));
	dictionary->context = context;
	dictionary->width = width;
	byte_buffer_init(&dictionary->plain, context);
	byte_buffer_init(&dictionary->offsets, context);
	byte_buffer_init(&dictionary->pages, context);
}

void
dictionary_writer_reset(ValueDictionary *dictionary)
{
	dictionary->nvalues = 0;
	byte_buffer_clear(&dictionary->plain, KEEP_BYTES);
	byte_buffer_clear(&dictionary->offsets, KEEP_BYTES);
	byte_buffer_clear(&dictionary->pages, KEEP_BYTES);
	if (dictionary->slots != NULL)
		memset(dictionary->slots, 0, dictionary->nslots * sizeof(DictionarySlot));
}

static inline uint64
load_uint64(const char *bytes)
{
	uint64		value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static inline uint32
load_uint32(const char *bytes)
{
	uint32		value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static inline uint64
mix(uint64 hash, uint64 value)
{
	hash = (hash ^ value) * HASH_FACTOR;
	return hash ^ hash >> 32;
}

/* Eight bytes at a time; the last ones overlap those before. */
static inline uint32
hash_value(const char *bytes, size_t length)
{
	uint64		hash = length;

	if (length >= sizeof(uint64))
	{
		const char *last = bytes + length - sizeof(uint64);

		for (; bytes < last; bytes += sizeof(uint64))
			hash = mix(hash, load_uint64(bytes));
		hash = mix(hash, load_uint64(last));
	}
	else if (length >= sizeof(uint32))
		hash = mix(hash, (uint64) load_uint32(bytes) << 32 | load_uint32(bytes + length - sizeof(uint32)));
	else
	{
		uint64		tail = 0;

		for (size_t i = 0; i < length; i++)
			tail = tail << 8 | (uint8) bytes[i];
		hash = mix(hash, tail);
	}
	return (uint32) mix(hash, 0);
}

static inline const char *
byte_array_at(const ValueDictionary *dictionary, int code)
{
	return dictionary->plain.data + ((const uint32 *) dictionary->offsets.data)[code];
}

static inline BytesView
view_at(const ValueDictionary *dictionary, int code)
{
	const char *entry = byte_array_at(dictionary, code);
	BytesView	view = {entry + sizeof(uint32), load_uint32(entry)};

	return view;
}

/* Twice as many slots, at most half of them taken. */
static void
grow_slots(ValueDictionary *dictionary)
{
	uint32		nslots = dictionary->nslots == 0 ? FIRST_SLOTS : dictionary->nslots * 2;
	uint32		mask = nslots - 1;
	DictionarySlot *slots = MemoryContextAllocZero(dictionary->context, nslots * sizeof(DictionarySlot));

	for (uint32 i = 0; i < dictionary->nslots; i++)
	{
		DictionarySlot *slot = &dictionary->slots[i];
		uint32		at = slot->hash & mask;

		if (slot->code == 0)
			continue;
		while (slots[at].code != 0)
			at = (at + 1) & mask;
		slots[at] = *slot;
	}
	if (dictionary->slots != NULL)
		pfree(dictionary->slots);
	dictionary->slots = slots;
	dictionary->nslots = nslots;
}

/* Add a value that was not found, in the free slot; -1 when the dictionary is full. */
static int32
add_value(ValueDictionary *dictionary, DictionarySlot *slot, uint32 hash, const char *bytes, size_t length)
{
	size_t		size = length + (dictionary->width == 0 ? sizeof(uint32) : 0);
	int32		code = dictionary->nvalues;

	if (dictionary->plain.length + size > DICTIONARY_BYTES)
		return -1;
	if (dictionary->width == 0)
	{
		uint32		offset = (uint32) dictionary->plain.length;
		uint32		prefix = (uint32) length;
		int32		no_page = -1;

		byte_buffer_append(&dictionary->offsets, &offset, sizeof(offset));
		byte_buffer_append(&dictionary->pages, &no_page, sizeof(no_page));
		byte_buffer_append(&dictionary->plain, &prefix, sizeof(prefix));
	}
	byte_buffer_append(&dictionary->plain, bytes, length);
	slot->hash = hash;
	slot->code = code + 1;
	dictionary->nvalues++;
	if ((uint32) dictionary->nvalues * 2 > dictionary->nslots)
		grow_slots(dictionary);
	return code;
}

/* width is a constant where this is inlined, so hashing and comparing are too. */
static pg_attribute_always_inline int32
code_of_fixed(ValueDictionary *dictionary, const char *value, int width)
{
	uint32		hash = hash_value(value, width);
	uint32		mask = dictionary->nslots - 1;
	uint32		at = hash & mask;

	for (;; at = (at + 1) & mask)
	{
		DictionarySlot *slot = &dictionary->slots[at];

		if (slot->code == 0)
			return add_value(dictionary, slot, hash, value, width);
		if (slot->hash == hash &&
			memcmp(dictionary->plain.data + (size_t) (slot->code - 1) * width, value, width) == 0)
			return slot->code - 1;
	}
}

static pg_attribute_always_inline bool
encode_fixed(ValueDictionary *dictionary, const char *plain, int nvalues, int32 *codes, int width)
{
	for (int i = 0; i < nvalues; i++)
	{
		codes[i] = code_of_fixed(dictionary, plain + (size_t) i * width, width);
		if (codes[i] < 0)
			return false;
	}
	return true;
}

bool
dictionary_encode_fixed(ValueDictionary *dictionary, const void *plain, int nvalues, int32 *codes)
{
	if (dictionary->slots == NULL)
		grow_slots(dictionary);
	switch (dictionary->width)
	{
		case 4:
			return encode_fixed(dictionary, plain, nvalues, codes, 4);
		case 8:
			return encode_fixed(dictionary, plain, nvalues, codes, 8);
		default:
			return encode_fixed(dictionary, plain, nvalues, codes, dictionary->width);
	}
}

int32
dictionary_code_of(ValueDictionary *dictionary, BytesView value)
{
	uint32		hash = hash_value(value.data, value.length);
	uint32		mask;
	uint32		at;

	if (dictionary->slots == NULL)
		grow_slots(dictionary);
	mask = dictionary->nslots - 1;
	for (at = hash & mask;; at = (at + 1) & mask)
	{
		DictionarySlot *slot = &dictionary->slots[at];
		BytesView	found;

		if (slot->code == 0)
			return add_value(dictionary, slot, hash, value.data, value.length);
		if (slot->hash != hash)
			continue;
		found = view_at(dictionary, slot->code - 1);
		if (found.length == value.length &&
			(value.length == 0 || memcmp(found.data, value.data, value.length) == 0))
			return slot->code - 1;
	}
}

bool
dictionary_encode_bytes(ValueDictionary *dictionary, const BytesView *values, int nvalues, int32 *codes)
{
	for (int i = 0; i < nvalues; i++)
	{
		codes[i] = dictionary_code_of(dictionary, values[i]);
		if (codes[i] < 0)
			return false;
	}
	return true;
}

void
dictionary_rewind(ValueDictionary *dictionary, int nvalues)
{
	if (nvalues == dictionary->nvalues)
		return;
	if (dictionary->width == 0)
		dictionary->plain.length = byte_array_at(dictionary, nvalues) - dictionary->plain.data;
	else
		dictionary->plain.length = (size_t) nvalues * dictionary->width;
	dictionary->nvalues = nvalues;
}

void
dictionary_decode(const ValueDictionary *dictionary, const int32 *codes, int ncodes, ByteBuffer *out)
{
	for (int i = 0; i < ncodes; i++)
	{
		if (dictionary->width == 0)
		{
			BytesView	value = view_at(dictionary, codes[i]);

			plain_encode_bytes(out, &value, 1);
		}
		else
			byte_buffer_append(out, dictionary->plain.data + (size_t) codes[i] * dictionary->width,
							   dictionary->width);
	}
}

void
dictionary_add_bounds(ValueDictionary *dictionary, const int32 *codes, int ncodes, int page, ValueBounds *bounds)
{
	int32	   *pages = (int32 *) dictionary->pages.data;
	BytesView	values[2];		/* the least and the greatest */
	bool		any = false;

	for (int i = 0; i < ncodes; i++)
	{
		BytesView	value;

		if (pages[codes[i]] == page)
			continue;
		pages[codes[i]] = page;
		value = view_at(dictionary, codes[i]);
		if (!any || bytes_compare(value, values[0]) < 0)
			values[0] = value;
		if (!any || bytes_compare(value, values[1]) > 0)
			values[1] = value;
		any = true;
	}
	if (any)
		value_bounds_add(bounds, PHYSICAL_BYTES, values, 2);
}
