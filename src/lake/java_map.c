/*
 * java_map.c
 *		Sets and maps of values, with the order that Java's hash maps have.
 *
 * Entries stand in the order of the table's places, which hashes choose, and
 * within a place in the order of insertion, or the reverse.  The table has 16 places at first
 * and twice as many whenever it is three quarters full.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "lake/binary_row.h"
#include "lake/java_map.h"

#define FIRST_PLACES 16

/* ---- hashes ---- */

static int32
hash_long(int64 value)
{
	return (int32) ((uint64) value ^ (uint64) value >> 32);
}

static int32
hash_float(float value)
{
	int32		bits = 0x7fc00000;

	if (!isnan(value))
		memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static int32
hash_double(double value)
{
	int64		bits = INT64CONST(0x7ff8000000000000);

	if (!isnan(value))
		memcpy(&bits, &value, sizeof(bits));
	return hash_long(bits);
}

/* BigDecimal: of the digits as a number, and the scale. */
static int32
hash_decimal(int128 unscaled, int scale)
{
	uint128		rest = unscaled < 0 ? -(uint128) unscaled : (uint128) unscaled;
	uint32		hash = 0;

	for (int i = 3; i >= 0; i--)
		hash = 31 * hash + (uint32) (rest >> (32 * i));
	if (unscaled < 0)
		hash = -hash;
	return (int32) (31 * hash + (uint32) scale);
}

static int32
hash_timestamp(const DataType *type, const Scalar *value)
{
	int128		count = type->physical == PHYSICAL_INT128 ? value->v.i128 : value->v.i64;
	int64		per_milli = type->precision > 6 ? 1000000 : type->precision > 3 ? 1000 : 1;
	int64		nanos = (int64) (count % per_milli);
	int64		millis;

	if (nanos < 0)
		nanos += per_milli;
	millis = (int64) ((count - nanos) / per_milli);
	nanos *= 1000000 / per_milli;
	return (int32) (31 * (uint32) ((int32) millis ^ (int32) (millis >> 32)) + (uint32) nanos);
}

static int32 hash_value(const DataType *type, const Scalar *value);

/* Not Java's, which compares nested values one by one: only equal values must have equal hashes. */
static int32
hash_nested(const DataType *type, const Scalar *value)
{
	const Vector *vector = value->v.nested.vector;
	int32		row = value->v.nested.row;
	ListView	list = {row, 1};
	uint32		hash = 1;

	if (type->physical == PHYSICAL_LIST)
		list = vector->values.list[row];
	/* maps are equal in any order */
	if (type->root == TYPE_MAP || type->root == TYPE_MULTISET)
		return list.length;
	for (int i = 0; i < vector->nchildren; i++)
	{
		for (int32 k = 0; k < list.length; k++)
		{
			Scalar		part = vector_get(vector->children[i], list.start + k);

			hash = 31 * hash + (uint32) hash_value(vector->children[i]->type, &part);
		}
	}
	return (int32) hash;
}

static int32
hash_value(const DataType *type, const Scalar *value)
{
	if (value->isnull)
		return 0;
	if (type->root == TYPE_BOOLEAN)
		return value->v.i8 ? 1231 : 1237;
	if (type->root == TYPE_DECIMAL)
		return hash_decimal(type->physical == PHYSICAL_INT64 ? value->v.i64 : value->v.i128, type->scale);
	if (type->root == TYPE_TIMESTAMP || type->root == TYPE_TIMESTAMP_LTZ)
		return hash_timestamp(type, value);
	switch (type->physical)
	{
		case PHYSICAL_INT8:
			return value->v.i8;
		case PHYSICAL_INT16:
			return value->v.i16;
		case PHYSICAL_INT32:
			return value->v.i32;
		case PHYSICAL_INT64:
			return hash_long(value->v.i64);
		case PHYSICAL_INT128:
			break;
		case PHYSICAL_FLOAT:
			return hash_float(value->v.f32);
		case PHYSICAL_DOUBLE:
			return hash_double(value->v.f64);
		case PHYSICAL_BYTES:
			return binary_row_hash(value->v.bytes);
		case PHYSICAL_LIST:
		case PHYSICAL_ROW:
			return hash_nested(type, value);
	}
	elog(ERROR, "values of type %s have no hash", type_to_text(type));
}

/* ---- equality ---- */

/* By bits, but that all NaNs are equal. */
static bool
floats_equal(const DataType *type, const Scalar *a, const Scalar *b)
{
	if (type->physical == PHYSICAL_FLOAT)
		return hash_float(a->v.f32) == hash_float(b->v.f32);
	return (isnan(a->v.f64) && isnan(b->v.f64)) || memcmp(&a->v.f64, &b->v.f64, sizeof(double)) == 0;
}

static bool
parts_equal(const Vector *a, int32 row_a, const Vector *b, int32 row_b)
{
	Scalar		x = vector_get(a, row_a);
	Scalar		y = vector_get(b, row_b);

	return java_values_equal(a->type, &x, &y);
}

/* Has every entry of the one map its like in the other, of the same length? */
static bool
maps_equal(const Vector *a, ListView x, const Vector *b, ListView y)
{
	for (int32 i = 0; i < x.length; i++)
	{
		int32		k = 0;

		while (k < y.length &&
			   !(parts_equal(a->children[0], x.start + i, b->children[0], y.start + k) &&
				 parts_equal(a->children[1], x.start + i, b->children[1], y.start + k)))
			k++;
		if (k == y.length)
			return false;
	}
	return true;
}

static bool
nested_equal(const DataType *type, const NestedView *a, const NestedView *b)
{
	ListView	x = {a->row, 1};
	ListView	y = {b->row, 1};

	if (type->physical == PHYSICAL_LIST)
	{
		x = a->vector->values.list[a->row];
		y = b->vector->values.list[b->row];
	}
	if (x.length != y.length)
		return false;
	if (type->root == TYPE_MAP || type->root == TYPE_MULTISET)
		return maps_equal(a->vector, x, b->vector, y);
	for (int i = 0; i < a->vector->nchildren; i++)
		for (int32 k = 0; k < x.length; k++)
			if (!parts_equal(a->vector->children[i], x.start + k, b->vector->children[i], y.start + k))
				return false;
	return true;
}

bool
java_values_equal(const DataType *type, const Scalar *a, const Scalar *b)
{
	if (a->isnull || b->isnull)
		return a->isnull && b->isnull;
	if (type_is_nested(type))
		return nested_equal(type, &a->v.nested, &b->v.nested);
	if (type->physical == PHYSICAL_FLOAT || type->physical == PHYSICAL_DOUBLE)
		return floats_equal(type, a, b);
	return scalar_compare_values(type->physical, a, b) == 0;
}

/* ---- the map ---- */

JavaMap *
java_map_create(const DataType *key_type, int max_entries)
{
	JavaMap    *map = palloc0(sizeof(JavaMap));

	map->key_type = key_type;
	map->max_entries = max_entries;
	map->entries = MemoryContextAllocHuge(CurrentMemoryContext, Max(max_entries, 1) * sizeof(JavaMapEntry));
	map->nchains = FIRST_PLACES;
	while (map->nchains < max_entries && map->nchains < PG_INT32_MAX / 4)
		map->nchains *= 2;
	map->chains = MemoryContextAllocHuge(CurrentMemoryContext, map->nchains * sizeof(int));
	memset(map->chains, -1, map->nchains * sizeof(int));
	return map;
}

static JavaMapEntry *
find_entry(const JavaMap *map, const Scalar *key, int32 hash)
{
	for (int i = map->chains[hash & (map->nchains - 1)]; i >= 0; i = map->entries[i].next)
	{
		JavaMapEntry *entry = &map->entries[i];

		if (entry->hash == hash && !entry->removed && java_values_equal(map->key_type, &entry->key, key))
			return entry;
	}
	return NULL;
}

JavaMapEntry *
java_map_find(const JavaMap *map, const Scalar *key)
{
	return find_entry(map, key, hash_value(map->key_type, key));
}

JavaMapEntry *
java_map_enter(JavaMap *map, const Scalar *key, bool *found)
{
	int32		hash = hash_value(map->key_type, key);
	JavaMapEntry *entry = find_entry(map, key, hash);
	int		   *chain = &map->chains[hash & (map->nchains - 1)];

	*found = entry != NULL;
	if (entry != NULL)
		return entry;
	Assert(map->nentries < map->max_entries);
	entry = &map->entries[map->nentries];
	memset(entry, 0, sizeof(*entry));
	entry->key = *key;
	entry->value.isnull = true;
	entry->hash = hash;
	entry->next = *chain;
	*chain = map->nentries++;
	return entry;
}

void
java_map_remove(JavaMap *map, const Scalar *key)
{
	JavaMapEntry *entry = java_map_find(map, key);

	if (entry != NULL)
		entry->removed = true;
}

int
java_map_order(const JavaMap *map, JavaMapEntry **out)
{
	uint32		nplaces = FIRST_PLACES;
	int		   *starts;
	int			count = 0;

	while ((int64) map->nentries * 4 > (int64) nplaces * 3)
		nplaces *= 2;
	starts = MemoryContextAllocExtended(CurrentMemoryContext, ((Size) nplaces + 1) * sizeof(int),
										MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

#define PLACE(entry) ((((uint32) (entry)->hash) ^ ((uint32) (entry)->hash >> 16)) & (nplaces - 1))
	for (int i = 0; i < map->nentries; i++)
		if (!map->entries[i].removed)
			starts[PLACE(&map->entries[i]) + 1]++;
	for (uint32 place = 0; place < nplaces; place++)
		starts[place + 1] += starts[place];
	for (int i = 0; i < map->nentries; i++)
	{
		JavaMapEntry *entry = &map->entries[map->newest_first ? map->nentries - 1 - i : i];

		if (entry->removed)
			continue;
		out[starts[PLACE(entry)]++] = entry;
		count++;
	}
#undef PLACE
	pfree(starts);
	return count;
}
