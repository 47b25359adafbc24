/*
 * string_table.c
 *		Numbers for strings.
 *
 * A hash table with open addressing over entries in the order of their
 * numbers; the bytes lie in an arena.  A dictionary-encoded vector asks for
 * each entry of its dictionary once, and rows look their code up.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "columnar/hash.h"
#include "columnar/string_table.h"
#include "utils/memutils.h"

#define FIRST_ENTRIES 256
#define ARENA_CHUNK ((Size) 64 * 1024)
#define FREE_SLOT (-1)

typedef struct StringSlot
{
	uint32		hash;
	int32		code;			/* FREE_SLOT: empty */
} StringSlot;

struct StringTable
{
	MemoryContext context;
	int			count;
	int			capacity;		/* of entries; there are twice as many slots */
	BytesView  *entries;
	uint32	   *hashes;			/* of entries */
	StringSlot *slots;
	/* the arena */
	char	   *place;
	Size		room;
	Size		arena_bytes;
	/* codes of a vector's dictionary: valid where the stamp is the present one */
	uint64		dictionary_id;
	int			dictionary_capacity;
	int32	   *dictionary_codes;
	uint32	   *stamps;
	uint32		stamp;
};

static void
fill_slots(StringTable *table)
{
	uint32		mask = table->capacity * 2 - 1;

	for (uint32 i = 0; i <= mask; i++)
		table->slots[i].code = FREE_SLOT;
	for (int code = 0; code < table->count; code++)
	{
		uint32		at = table->hashes[code] & mask;

		while (table->slots[at].code != FREE_SLOT)
			at = (at + 1) & mask;
		table->slots[at].hash = table->hashes[code];
		table->slots[at].code = code;
	}
}

StringTable *
string_table_create(void)
{
	StringTable *table = (StringTable *) palloc0(sizeof(StringTable));

	table->context = CurrentMemoryContext;
	table->capacity = FIRST_ENTRIES;
	table->entries = (BytesView *) palloc(table->capacity * sizeof(BytesView));
	table->hashes = (uint32 *) palloc(table->capacity * sizeof(uint32));
	table->slots = (StringSlot *) palloc(table->capacity * 2 * sizeof(StringSlot));
	fill_slots(table);
	return table;
}

static void
grow(StringTable *table)
{
	table->capacity *= 2;
	table->entries = (BytesView *) repalloc_huge(table->entries, table->capacity * sizeof(BytesView));
	table->hashes = (uint32 *) repalloc_huge(table->hashes, table->capacity * sizeof(uint32));
	table->slots = (StringSlot *) repalloc_huge(table->slots, (Size) table->capacity * 2 * sizeof(StringSlot));
	fill_slots(table);
}

static BytesView
keep_bytes(StringTable *table, BytesView string)
{
	BytesView	copy = {.data = table->place, .length = string.length};

	if (string.length > table->room)
	{
		Size		size = Max(ARENA_CHUNK, string.length);

		table->place = (char *) MemoryContextAllocHuge(table->context, size);
		table->room = size;
		table->arena_bytes += size;
		copy.data = table->place;
	}
	if (string.length > 0)
		memcpy(table->place, string.data, string.length);
	table->place += string.length;
	table->room -= string.length;
	return copy;
}

static int32
find(StringTable *table, BytesView string, bool add)
{
	uint32		hash = (uint32) hash_string(string);
	uint32		mask = table->capacity * 2 - 1;
	uint32		at = hash & mask;

	for (; table->slots[at].code != FREE_SLOT; at = (at + 1) & mask)
	{
		if (table->slots[at].hash == hash && bytes_equal(table->entries[table->slots[at].code], string))
			return table->slots[at].code;
	}
	if (!add)
		return STRING_UNKNOWN;
	if (table->count == table->capacity)
	{
		grow(table);
		return find(table, string, add);
	}
	table->slots[at].hash = hash;
	table->slots[at].code = table->count;
	table->hashes[table->count] = hash;
	table->entries[table->count] = keep_bytes(table, string);
	return table->count++;
}

/* Forget the codes of the dictionary before, if it was another, and make room for those of this one. */
static void
begin_dictionary(StringTable *table, const Vector *vector)
{
	int			size = vector->dictionary_size;

	/* without entries all rows are null */
	if (size == 0 || (vector->dictionary_id != 0 && vector->dictionary_id == table->dictionary_id))
		return;
	table->dictionary_id = vector->dictionary_id;
	if (size > table->dictionary_capacity)
	{
		if (table->stamps != NULL)
		{
			pfree(table->dictionary_codes);
			pfree(table->stamps);
		}
		table->dictionary_capacity = size;
		table->dictionary_codes = (int32 *) MemoryContextAllocHuge(table->context, size * sizeof(int32));
		table->stamps = (uint32 *) MemoryContextAllocHuge(table->context, size * sizeof(uint32));
		table->stamp = 0;
	}
	if (table->stamp == 0 || table->stamp == PG_UINT32_MAX)
	{
		memset(table->stamps, 0, table->dictionary_capacity * sizeof(uint32));
		table->stamp = 0;
	}
	table->stamp++;
}

static pg_noinline void
find_entry(StringTable *table, const Vector *vector, int32 entry, bool add)
{
	table->stamps[entry] = table->stamp;
	table->dictionary_codes[entry] = find(table, vector->dictionary[entry], add);
}

/* Compiled once for each kind of rows; what does not change is out of sight of the stores. */
static pg_attribute_always_inline void
translate_codes(StringTable *table, const Vector *vector, const int32 *rows, int nrows, const bool *nulls, bool add,
				int32 *codes)
{
	const int32 *entries = vector->codes;
	const int32 *known = table->dictionary_codes;
	const uint32 *stamps = table->stamps;
	uint32		stamp = table->stamp;

	for (int i = 0; i < nrows; i++)
	{
		int32		row = rows != NULL ? rows[i] : i;

		if (nulls != NULL && nulls[row])
		{
			codes[row] = STRING_NULL;
			continue;
		}
		if (unlikely(stamps[entries[row]] != stamp))
			find_entry(table, vector, entries[row], add);
		codes[row] = known[entries[row]];
	}
}

static void
codes_of_dictionary(StringTable *table, const Vector *vector, const int32 *rows, int nrows, bool add, int32 *codes)
{
	begin_dictionary(table, vector);
	if (vector->has_nulls)
		translate_codes(table, vector, rows, nrows, vector->nulls, add, codes);
	else if (rows != NULL)
		translate_codes(table, vector, rows, nrows, NULL, add, codes);
	else
		translate_codes(table, vector, NULL, nrows, NULL, add, codes);
}

void
string_table_codes(StringTable *table, const Vector *vector, const int32 *rows, int nrows, bool add, int32 *codes)
{
	MemoryContext old = MemoryContextSwitchTo(table->context);

	if (vector->codes != NULL)
		codes_of_dictionary(table, vector, rows, nrows, add, codes);
	else
	{
		for (int i = 0; i < nrows; i++)
		{
			int32		row = rows != NULL ? rows[i] : i;

			codes[row] = vector->has_nulls && vector->nulls[row] ? STRING_NULL :
				find(table, vector->values.bytes[row], add);
		}
	}
	MemoryContextSwitchTo(old);
}

BytesView
string_table_get(const StringTable *table, int32 code)
{
	return table->entries[code];
}

const BytesView *
string_table_entries(const StringTable *table, int *count)
{
	*count = table->count;
	return table->entries;
}

Size
string_table_memory(const StringTable *table)
{
	Size		entry = sizeof(BytesView) + sizeof(uint32) + 2 * sizeof(StringSlot);

	return table->capacity * entry + table->arena_bytes +
		table->dictionary_capacity * (sizeof(int32) + sizeof(uint32));
}
