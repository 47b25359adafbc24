/*
 * value_set.c
 *		Sets of many values, as hash tables with linear probing.
 *
 * Free places of a table hold the first value of the set: a search ends there,
 * whether it is for that value or for one that is not in the set.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "columnar/hash.h"
#include "columnar/value_set.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

/* Of fewer values, a search in order is as fast. */
#define MIN_SET_VALUES 16

struct ValueSet
{
	uint32		mask;			/* places - 1 */
	int64	   *numbers;		/* of integers, else NULL */
	int64		free_number;
	BytesView  *strings;
	BytesView	free_string;
};

static inline bool
has_number(const ValueSet *set, int64 number, uint32 *place)
{
	*place = (uint32) hash_word(0, (uint64) number) & set->mask;
	for (;;)
	{
		int64		found = set->numbers[*place];

		if (found == number)
			return true;
		if (found == set->free_number)
			return false;
		*place = (*place + 1) & set->mask;
	}
}

static inline bool
has_string(const ValueSet *set, BytesView string, uint32 *place)
{
	*place = (uint32) hash_string(string) & set->mask;
	for (;;)
	{
		BytesView	found = set->strings[*place];

		if (bytes_equal(found, string))
			return true;
		if (found.data == set->free_string.data && found.length == set->free_string.length)
			return false;
		*place = (*place + 1) & set->mask;
	}
}

static void
add_numbers(ValueSet *set, PhysicalType physical, const Scalar *values, int nvalues)
{
	uint32		place;
	uint32		i;

	set->numbers = (int64 *) palloc((Size) (set->mask + 1) * sizeof(int64));
	set->free_number = scalar_integer(physical, &values[0]);
	for (i = 0; i <= set->mask; i++)
		set->numbers[i] = set->free_number;
	for (int j = 1; j < nvalues; j++)
	{
		int64		number = scalar_integer(physical, &values[j]);

		if (!has_number(set, number, &place))
			set->numbers[place] = number;
	}
}

static void
add_strings(ValueSet *set, const Scalar *values, int nvalues)
{
	uint32		place;
	uint32		i;

	set->strings = (BytesView *) palloc((Size) (set->mask + 1) * sizeof(BytesView));
	set->free_string = values[0].v.bytes;
	for (i = 0; i <= set->mask; i++)
		set->strings[i] = set->free_string;
	for (int j = 1; j < nvalues; j++)
	{
		if (!has_string(set, values[j].v.bytes, &place))
			set->strings[place] = values[j].v.bytes;
	}
}

ValueSet *
value_set_create(PhysicalType physical, const Scalar *values, int nvalues)
{
	ValueSet   *set;

	if (nvalues < MIN_SET_VALUES || nvalues > (int) (MaxAllocSize / 4 / sizeof(BytesView)))
		return NULL;
	switch (physical)
	{
		case PHYSICAL_INT8:
		case PHYSICAL_INT16:
		case PHYSICAL_INT32:
		case PHYSICAL_INT64:
		case PHYSICAL_BYTES:
			break;
		default:
			return NULL;
	}
	set = (ValueSet *) palloc0(sizeof(ValueSet));
	set->mask = pg_nextpower2_32((uint32) nvalues * 2) - 1;
	if (physical == PHYSICAL_BYTES)
		add_strings(set, values, nvalues);
	else
		add_numbers(set, physical, values, nvalues);
	return set;
}

/* The value of a null row is not defined: of a string it must not be looked at. */
#define KEEP_MEMBERS(has, member) \
	for (int i = 0; i < nrows; i++) \
	{ \
		int32		row = rows[i]; \
		rows[kept] = row; \
		kept += (nulls == NULL || !nulls[row]) && has(set, vector->values.member[row], &place) == wanted; \
	}

int
value_set_filter(const ValueSet *set, bool wanted, const Vector *vector, int32 *rows, int nrows)
{
	const bool *nulls = vector->has_nulls ? vector->nulls : NULL;
	uint32		place;
	int			kept = 0;

	switch (vector->type->physical)
	{
		case PHYSICAL_INT8:
			KEEP_MEMBERS(has_number, i8);
			break;
		case PHYSICAL_INT16:
			KEEP_MEMBERS(has_number, i16);
			break;
		case PHYSICAL_INT32:
			KEEP_MEMBERS(has_number, i32);
			break;
		case PHYSICAL_INT64:
			KEEP_MEMBERS(has_number, i64);
			break;
		default:
			KEEP_MEMBERS(has_string, bytes);
			break;
	}
	return kept;
}
