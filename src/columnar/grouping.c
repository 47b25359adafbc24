/*
 * grouping.c
 *		Rows are sorted into groups by the values of key columns.
 *
 * The keys of a row are packed into a few words, which a hash table knows:
 * numbers as they are, strings by their number in a table of strings.  A word
 * has two places of 32 bits; strings and small numbers take one place, a place
 * for all keys together says which are null.
 *
 * Of one or two strings an array by their numbers has the groups that have
 * been found before, while it is small: that spares most rows the hash table.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "columnar/group_table.h"
#include "columnar/grouping.h"
#include "columnar/hash.h"
#include "columnar/string_table.h"
#include "utils/memutils.h"

typedef struct GroupKey
{
	const DataType *type;
	int			place;			/* the first of its places in the words */
	StringTable *strings;		/* of strings */
	Vector	   *values;			/* by group; NULL for strings, which their table has */
} GroupKey;

struct Grouping
{
	MemoryContext context;
	int			nkeys;
	GroupKey   *keys;
	int			nwords;
	int			flags_place;	/* of null flags, -1: all keys are strings */
	GroupTable *table;
	uint64	   *words;			/* of a batch */
	int32	   *codes;			/* of a batch: of the strings of one key */
	int32	   *found;			/* of a batch: groups */
	int32	   *first;			/* of a batch: rows that began a group */
	/* of one or two strings: groups by number (0: null), row by row of the first key's; NULL: no array */
	bool		may_be_dense;
	int32	   *dense;
	int			dense_rows;
	int			dense_columns;
	int32	   *second_codes;	/* of a batch */
};

/* Groups that the array may have room for. */
#define DENSE_MAX 524288
#define DENSE_FIRST 16

/* Places that a value takes; a string's number says whether it is null. */
static int
key_places(PhysicalType physical)
{
	switch (physical)
	{
		case PHYSICAL_INT64:
		case PHYSICAL_DOUBLE:
			return 2;
		case PHYSICAL_INT128:
			return 4;
		default:
			return 1;
	}
}

static int
init_key(GroupKey *key, const DataType *type, int place)
{
	key->type = type;
	key->place = place;
	if (type->physical == PHYSICAL_BYTES)
		key->strings = string_table_create();
	else
		key->values = vector_create(type, 0);
	return place + key_places(type->physical);
}

Grouping *
grouping_create(const DataType *const *types, int nkeys)
{
	Grouping   *grouping = (Grouping *) palloc0(sizeof(Grouping));
	int			places = 0;
	bool		needs_flags = false;

	Assert(nkeys > 0 && nkeys <= GROUPING_MAX_KEYS);
	grouping->context = CurrentMemoryContext;
	grouping->nkeys = nkeys;
	grouping->keys = (GroupKey *) palloc0(nkeys * sizeof(GroupKey));
	for (int i = 0; i < nkeys; i++)
	{
		places = init_key(&grouping->keys[i], types[i], places);
		needs_flags |= grouping->keys[i].strings == NULL;
	}
	grouping->flags_place = needs_flags ? places++ : -1;
	grouping->nwords = (places + 1) / 2;
	grouping->table = group_table_create(grouping->nwords);
	grouping_reserve(grouping, group_table_capacity(grouping->table));
	grouping->words = (uint64 *) palloc(BATCH_ROWS * grouping->nwords * sizeof(uint64));
	grouping->codes = (int32 *) palloc(BATCH_ROWS * sizeof(int32));
	grouping->found = (int32 *) palloc(BATCH_ROWS * sizeof(int32));
	grouping->first = (int32 *) palloc(BATCH_ROWS * sizeof(int32));
	grouping->may_be_dense = nkeys <= 2 && !needs_flags;
	if (grouping->may_be_dense)
		grouping->second_codes = (int32 *) palloc0(BATCH_ROWS * sizeof(int32));
	return grouping;
}

void
grouping_reserve(Grouping *grouping, int capacity)
{
	group_table_reserve(grouping->table, capacity);
	for (int i = 0; i < grouping->nkeys; i++)
	{
		if (grouping->keys[i].values != NULL)
			vector_reserve(grouping->keys[i].values, group_table_capacity(grouping->table));
	}
}

/* ---- packing ---- */

/* Equal floats have equal bits. */
static inline uint32
float_bits(float value)
{
	uint32		bits;

	value = isnan(value) ? (float) NAN : value == 0 ? 0 : value;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline uint64
double_bits(double value)
{
	uint64		bits;

	value = isnan(value) ? (double) NAN : value == 0 ? 0 : value;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* Values into their places; of null rows the value is undefined, and zero is written. */
#define PACK(c_type, value) \
	for (int i = 0; i < nrows; i++) \
	{ \
		int32		row = rows != NULL ? rows[i] : i; \
		c_type		packed = nulls != NULL && nulls[row] ? 0 : (c_type) (value); \
		memcpy(out + (Size) i * stride, &packed, sizeof(packed)); \
	}

static void
pack_values(const Vector *vector, const int32 *rows, int nrows, uint32 *out, int stride)
{
	const bool *nulls = vector->has_nulls ? vector->nulls : NULL;

	switch (vector->type->physical)
	{
		case PHYSICAL_INT8:
			PACK(uint32, vector->values.i8[row]);
			break;
		case PHYSICAL_INT16:
			PACK(uint32, vector->values.i16[row]);
			break;
		case PHYSICAL_INT32:
			PACK(uint32, vector->values.i32[row]);
			break;
		case PHYSICAL_INT64:
			PACK(uint64, vector->values.i64[row]);
			break;
		case PHYSICAL_INT128:
			PACK(uint128, vector->values.i128[row]);
			break;
		case PHYSICAL_FLOAT:
			PACK(uint32, float_bits(vector->values.f32[row]));
			break;
		case PHYSICAL_DOUBLE:
			PACK(uint64, double_bits(vector->values.f64[row]));
			break;
		default:
			elog(ERROR, "values of physical type %d cannot be grouped", (int) vector->type->physical);
	}
}

static void
pack_flags(const Vector *vector, int key, const int32 *rows, int nrows, uint32 *out, int stride)
{
	if (!vector->has_nulls)
		return;
	for (int i = 0; i < nrows; i++)
		out[(Size) i * stride] |= (uint32) vector->nulls[rows != NULL ? rows[i] : i] << key;
}

/* STRING_UNKNOWN, for a string that may not be added, is in no key of the table. */
static void
pack_strings(Grouping *grouping, const GroupKey *key, const Vector *vector, const int32 *rows, int nrows, bool add,
			 uint32 *out, int stride)
{
	string_table_codes(key->strings, vector, rows, nrows, add, grouping->codes);
	for (int i = 0; i < nrows; i++)
		out[(Size) i * stride] = (uint32) grouping->codes[rows != NULL ? rows[i] : i];
}

static void
pack_keys(Grouping *grouping, const Vector *const *columns, const int32 *rows, int nrows, bool add)
{
	uint32	   *out = (uint32 *) grouping->words;
	int			stride = grouping->nwords * 2;

	memset(out, 0, (Size) nrows * stride * sizeof(uint32));
	for (int k = 0; k < grouping->nkeys; k++)
	{
		const GroupKey *key = &grouping->keys[k];

		if (key->strings != NULL)
			pack_strings(grouping, key, columns[k], rows, nrows, add, out + key->place, stride);
		else
		{
			pack_values(columns[k], rows, nrows, out + key->place, stride);
			pack_flags(columns[k], k, rows, nrows, out + grouping->flags_place, stride);
		}
	}
}

/* ---- groups ---- */

static void
keep_values(Grouping *grouping, const Vector *const *columns, int first_group, int count)
{
	MemoryContext old = MemoryContextSwitchTo(grouping->context);

	for (int k = 0; k < grouping->nkeys; k++)
	{
		if (grouping->keys[k].values != NULL)
			vector_gather(grouping->keys[k].values, first_group, columns[k], grouping->first, count);
	}
	MemoryContextSwitchTo(old);
}

/* ---- the array ---- */

/* The place of a row's strings; -1: one of them is unknown. */
static inline int64
dense_place(const Grouping *grouping, int32 row)
{
	int32		first = grouping->codes[row];
	int32		second = grouping->second_codes[row];

	if (first == STRING_UNKNOWN || second == STRING_UNKNOWN)
		return -1;
	return (int64) (first + 1) * grouping->dense_columns + (grouping->nkeys > 1 ? second + 1 : 0);
}

static int
count_strings(const GroupKey *key)
{
	int			count;

	string_table_entries(key->strings, &count);
	return count;
}

/* Make the array large enough for all strings there are; without one, if it would be too large. */
static bool
reserve_dense(Grouping *grouping)
{
	int			nrows = count_strings(&grouping->keys[0]) + 1;
	int			ncolumns = grouping->nkeys > 1 ? count_strings(&grouping->keys[1]) + 1 : 1;
	int			rows = Max(grouping->dense_rows, DENSE_FIRST);
	int			columns = grouping->nkeys > 1 ? Max(grouping->dense_columns, DENSE_FIRST) : 1;

	if (grouping->dense != NULL && nrows <= grouping->dense_rows && ncolumns <= grouping->dense_columns)
		return true;
	while (rows < nrows)
		rows *= 2;
	while (columns < ncolumns)
		columns *= 2;
	if (grouping->dense != NULL)
		pfree(grouping->dense);
	grouping->dense = NULL;
	grouping->dense_rows = rows;
	grouping->dense_columns = columns;
	grouping->may_be_dense = (int64) rows * columns <= DENSE_MAX;
	if (!grouping->may_be_dense)
		return false;
	grouping->dense = (int32 *) MemoryContextAlloc(grouping->context, (Size) rows * columns * sizeof(int32));
	memset(grouping->dense, 0xFF, (Size) rows * columns * sizeof(int32));
	return true;
}

/* A row whose group the array does not have: the hash table may, or gets it.  Returns how many were added. */
static int
find_sparse(Grouping *grouping, int32 row, bool add, int32 *groups)
{
	int64		place = dense_place(grouping, row);
	union
	{
		uint64		word;
		int32		places[2];
	}			key = {0};
	int32		unused;
	int			added;

	groups[row] = GROUP_NONE;
	if (place < 0)
		return 0;
	if (grouping->dense[place] >= 0)
	{
		groups[row] = grouping->dense[place];
		return 0;
	}
	key.places[grouping->keys[0].place] = grouping->codes[row];
	if (grouping->nkeys > 1)
		key.places[grouping->keys[1].place] = grouping->second_codes[row];
	added = group_table_find(grouping->table, &key.word, 1, add, &groups[row], &unused);
	grouping->dense[place] = groups[row];
	return added;
}

/*
 * The groups that the array has; are there rows of others?  When groups are
 * added, no string is unknown.
 */
static pg_attribute_always_inline bool
look_up_dense(const Grouping *grouping, const int32 *rows, int nrows, bool two_keys, bool add, int32 *groups)
{
	const int32 *dense = grouping->dense;
	const int32 *codes = grouping->codes;
	const int32 *second_codes = grouping->second_codes;
	int64		columns = grouping->dense_columns;
	int32		all = 0;

	for (int i = 0; i < nrows; i++)
	{
		int32		row = rows != NULL ? rows[i] : i;
		int32		first = codes[row];
		int32		second = two_keys ? second_codes[row] : STRING_NULL;
		bool		known = add || (first != STRING_UNKNOWN && second != STRING_UNKNOWN);
		int32		group = known ? dense[(first + 1) * columns + second + 1] : GROUP_NONE;

		groups[row] = group;
		all |= group;
	}
	return all < 0;
}

/* Compiled for the common cases, in which what does not change is not looked at for each row. */
static bool
assign_known(const Grouping *grouping, const int32 *rows, int nrows, bool add, int32 *groups)
{
	if (rows != NULL || !add)
		return look_up_dense(grouping, rows, nrows, grouping->nkeys > 1, add, groups);
	if (grouping->nkeys > 1)
		return look_up_dense(grouping, NULL, nrows, true, true, groups);
	return look_up_dense(grouping, NULL, nrows, false, true, groups);
}

/* False when there is no array. */
static bool
assign_dense(Grouping *grouping, const Vector *const *columns, const int32 *rows, int nrows, bool add,
			 int32 *groups, int *added)
{
	string_table_codes(grouping->keys[0].strings, columns[0], rows, nrows, add, grouping->codes);
	if (grouping->nkeys > 1)
		string_table_codes(grouping->keys[1].strings, columns[1], rows, nrows, add, grouping->second_codes);
	if (!reserve_dense(grouping))
		return false;
	*added = 0;
	if (!assign_known(grouping, rows, nrows, add, groups))
		return true;
	for (int i = 0; i < nrows; i++)
	{
		int32		row = rows != NULL ? rows[i] : i;

		if (groups[row] < 0 && find_sparse(grouping, row, add, groups) > 0)
			grouping->first[(*added)++] = row;
	}
	return true;
}

int
grouping_assign(Grouping *grouping, const Vector *const *columns, const int32 *rows, int nrows, bool add,
				int32 *groups)
{
	int			before = group_table_count(grouping->table);
	int			added;

	/* strings have no values to keep: their tables have them */
	if (grouping->may_be_dense && assign_dense(grouping, columns, rows, nrows, add, groups, &added))
		return added;
	pack_keys(grouping, columns, rows, nrows, add);
	if (rows == NULL)
		added = group_table_find(grouping->table, grouping->words, nrows, add, groups, grouping->first);
	else
	{
		added = group_table_find(grouping->table, grouping->words, nrows, add, grouping->found, grouping->first);
		for (int i = 0; i < nrows; i++)
			groups[rows[i]] = grouping->found[i];
		for (int i = 0; i < added; i++)
			grouping->first[i] = rows[grouping->first[i]];
	}
	if (added > 0)
		keep_values(grouping, columns, before, added);
	return added;
}

const int32 *
grouping_new_rows(const Grouping *grouping)
{
	return grouping->first;
}

int
grouping_count(const Grouping *grouping)
{
	return group_table_count(grouping->table);
}

int
grouping_capacity(const Grouping *grouping)
{
	return group_table_capacity(grouping->table);
}

Size
grouping_group_bytes(const Grouping *grouping)
{
	Size		bytes = group_table_key_bytes(grouping->table);

	for (int k = 0; k < grouping->nkeys; k++)
	{
		if (grouping->keys[k].values != NULL)
			bytes += vector_row_bytes(grouping->keys[k].type);
	}
	return bytes;
}

Size
grouping_string_bytes(const Grouping *grouping)
{
	Size		bytes = 0;

	for (int k = 0; k < grouping->nkeys; k++)
	{
		if (grouping->keys[k].strings != NULL)
			bytes += string_table_memory(grouping->keys[k].strings);
	}
	if (grouping->dense != NULL)
		bytes += (Size) grouping->dense_rows * grouping->dense_columns * sizeof(int32);
	return bytes;
}

static void
string_key(const Grouping *grouping, const GroupKey *key, int32 first, int count, Vector *out)
{
	for (int i = 0; i < count; i++)
	{
		const uint32 *places = (const uint32 *) group_table_key(grouping->table, first + i);
		int32		code = (int32) places[key->place];
		Scalar		value = {.isnull = code == STRING_NULL};

		if (!value.isnull)
			value.v.bytes = string_table_get(key->strings, code);
		vector_set(out, i, &value);
	}
}

void
grouping_key(const Grouping *grouping, int key, int32 first, int count, Vector *out)
{
	vector_reset(out);
	if (grouping->keys[key].strings != NULL)
		string_key(grouping, &grouping->keys[key], first, count, out);
	else
	{
		for (int i = 0; i < count; i++)
		{
			int32		group = first + i;

			vector_gather(out, i, grouping->keys[key].values, &group, 1);
		}
	}
}

/* ---- hashes of values ---- */

static uint64
hash_value(const Vector *vector, int32 row)
{
	if (vector->has_nulls && vector->nulls[row])
		return 1;
	if (vector->codes != NULL)
		return hash_string(vector->dictionary[vector->codes[row]]);
	switch (vector->type->physical)
	{
		case PHYSICAL_INT8:
			return hash_word(0, (uint64) vector->values.i8[row]);
		case PHYSICAL_INT16:
			return hash_word(0, (uint64) vector->values.i16[row]);
		case PHYSICAL_INT32:
			return hash_word(0, (uint64) vector->values.i32[row]);
		case PHYSICAL_INT64:
			return hash_word(0, (uint64) vector->values.i64[row]);
		case PHYSICAL_INT128:
			return hash_word(hash_word(0, (uint64) vector->values.i128[row]),
							 (uint64) (vector->values.i128[row] >> 64));
		case PHYSICAL_FLOAT:
			return hash_word(0, float_bits(vector->values.f32[row]));
		case PHYSICAL_DOUBLE:
			return hash_word(0, double_bits(vector->values.f64[row]));
		case PHYSICAL_BYTES:
			return hash_string(vector->values.bytes[row]);
		default:
			elog(ERROR, "values of physical type %d cannot be grouped", (int) vector->type->physical);
	}
}

uint64
grouping_hash(const Vector *const *columns, int nkeys, int32 row)
{
	uint64		hash = 0;

	for (int k = 0; k < nkeys; k++)
		hash = hash_word(hash, hash_value(columns[k], row));
	return hash;
}
