/*
 * lookup_keys.c
 *		Keys to look rows up by: the values of some columns that are sought.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "fdw/lookup_keys.h"

struct LookupKeys
{
	MemoryContext context;
	MemoryContext value_context;	/* strings of keys that have no number yet */
	int			nfields;
	int		   *fields;
	const DataType **types;
	Grouping   *grouping;
	Vector	  **vectors;		/* by key field: keys that have no number yet */
	int			nadded;
	int32	   *numbers;
};

LookupKeys *
lookup_keys_create(const TableSchema *schema, const int *fields, int nfields)
{
	LookupKeys *keys = palloc0(sizeof(LookupKeys));
	int			i;

	keys->context = CurrentMemoryContext;
	keys->value_context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse lookup values",
												ALLOCSET_DEFAULT_SIZES);
	keys->nfields = nfields;
	keys->fields = palloc(nfields * sizeof(int));
	keys->types = palloc(nfields * sizeof(DataType *));
	keys->vectors = palloc(nfields * sizeof(Vector *));
	keys->numbers = palloc(BATCH_ROWS * sizeof(int32));
	for (i = 0; i < nfields; i++)
	{
		keys->fields[i] = fields[i];
		keys->types[i] = schema->fields[fields[i]].type;
		keys->vectors[i] = vector_create(keys->types[i], BATCH_ROWS);
	}
	keys->grouping = grouping_create(keys->types, nfields);
	return keys;
}

bool
lookup_keys_add(LookupKeys *keys, const Scalar *values)
{
	MemoryContext old_context = MemoryContextSwitchTo(keys->value_context);
	int			i;

	Assert(keys->nadded < BATCH_ROWS);
	for (i = 0; i < keys->nfields; i++)
	{
		Scalar		value = scalar_copy(keys->types[i], &values[i]);

		vector_set(keys->vectors[i], keys->nadded, &value);
	}
	MemoryContextSwitchTo(old_context);
	return ++keys->nadded == BATCH_ROWS;
}

int
lookup_keys_number(LookupKeys *keys, const int32 **numbers)
{
	int			count = keys->nadded;
	MemoryContext old_context;
	int			i;

	*numbers = keys->numbers;
	if (count == 0)
		return 0;
	old_context = MemoryContextSwitchTo(keys->context);
	grouping_reserve(keys->grouping, grouping_count(keys->grouping) + count);
	grouping_assign(keys->grouping, (const Vector *const *) keys->vectors, NULL, count, true, keys->numbers);
	MemoryContextSwitchTo(old_context);

	MemoryContextReset(keys->value_context);
	for (i = 0; i < keys->nfields; i++)
		vector_reset(keys->vectors[i]);
	keys->nadded = 0;
	return count;
}

int
lookup_keys_count(const LookupKeys *keys)
{
	return grouping_count(keys->grouping);
}

int
lookup_keys_nfields(const LookupKeys *keys)
{
	return keys->nfields;
}

const int *
lookup_keys_fields(const LookupKeys *keys)
{
	return keys->fields;
}

/* The values that the keys have of one field. */
static Predicate *
field_predicate(const LookupKeys *keys, int i)
{
	int			count = grouping_count(keys->grouping);
	Scalar	   *values = palloc(Max(count, 1) * sizeof(Scalar));
	Vector	   *part = vector_create(keys->types[i], BATCH_ROWS);
	Predicate  *predicate;
	int			first;
	int			row;

	for (first = 0; first < count; first += BATCH_ROWS)
	{
		int			nrows = Min(count - first, BATCH_ROWS);

		grouping_key(keys->grouping, i, first, nrows, part);
		for (row = 0; row < nrows; row++)
			values[first + row] = vector_get(part, row);
	}
	predicate = predicate_leaf(PREDICATE_IN, keys->fields[i], keys->types[i], values, count);
	vector_free(part);
	pfree(values);
	return predicate;
}

Predicate *
lookup_keys_predicate(const LookupKeys *keys)
{
	List	   *parts = NIL;
	int			i;

	for (i = 0; i < keys->nfields; i++)
		parts = lappend(parts, field_predicate(keys, i));
	return predicate_combine(PREDICATE_AND, parts);
}

void
lookup_keys_find(LookupKeys *keys, const Vector *const *columns, const int32 *rows, int nrows, int32 *numbers)
{
	grouping_assign(keys->grouping, columns, rows, nrows, false, numbers);
}
