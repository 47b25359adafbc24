/*
 * vector.c
 *		Making, reading and filling vectors and batches.
 */
#include "postgres.h"

#include <limits.h>

#include "columnar/vector.h"
#include "utils/memutils.h"

#define FIRST_ELEMENTS 64		/* for which there is room in a list's children */
#define MAX_CAPACITY (INT_MAX / 2)
#define GATHER_ELEMENTS 256		/* elements of lists gathered at a time */

/*
 * Expand the statement for the C type of each fixed or variable physical type,
 * with "member" as the union's member for it.
 */
#define DISPATCH_PHYSICAL(physical, statement) \
	switch (physical) \
	{ \
		case PHYSICAL_INT8: \
			statement(i8); \
			break; \
		case PHYSICAL_INT16: \
			statement(i16); \
			break; \
		case PHYSICAL_INT32: \
			statement(i32); \
			break; \
		case PHYSICAL_INT64: \
			statement(i64); \
			break; \
		case PHYSICAL_INT128: \
			statement(i128); \
			break; \
		case PHYSICAL_FLOAT: \
			statement(f32); \
			break; \
		case PHYSICAL_DOUBLE: \
			statement(f64); \
			break; \
		case PHYSICAL_BYTES: \
			statement(bytes); \
			break; \
		case PHYSICAL_LIST: \
		case PHYSICAL_ROW: \
			elog(ERROR, "nested values are no scalars"); \
			break; \
	}

static void
create_children(Vector *vector, int capacity)
{
	vector->nchildren = type_part_count(vector->type);
	vector->children = (Vector **) palloc(Max(vector->nchildren, 1) * sizeof(Vector *));
	for (int i = 0; i < vector->nchildren; i++)
		vector->children[i] = vector_create(type_part(vector->type, i)->type, capacity);
}

Vector *
vector_create(const DataType *type, int capacity)
{
	Vector	   *vector = (Vector *) palloc0(sizeof(Vector));
	size_t		size = physical_size(type->physical);

	vector->type = type;
	vector->capacity = capacity;
	vector->nulls = (bool *) MemoryContextAllocHuge(CurrentMemoryContext, Max(capacity, 1));
	if (size > 0)
		vector->values.any = MemoryContextAllocHuge(CurrentMemoryContext, Max(capacity, 1) * size);
	if (type->physical == PHYSICAL_BYTES)
		vector->codes_buffer = (int32 *)
			MemoryContextAllocHuge(CurrentMemoryContext, Max(capacity, 1) * sizeof(int32));
	if (type_is_nested(type))
		create_children(vector, type->physical == PHYSICAL_ROW ? capacity : FIRST_ELEMENTS);
	return vector;
}

void
vector_free(Vector *vector)
{
	for (int i = 0; i < vector->nchildren; i++)
		vector_free(vector->children[i]);
	if (vector->children != NULL)
		pfree(vector->children);
	if (vector->values.any != NULL)
		pfree(vector->values.any);
	if (vector->codes_buffer != NULL)
		pfree(vector->codes_buffer);
	pfree(vector->nulls);
	pfree(vector);
}

Batch *
batch_create(int ncolumns, const DataType *const *types, int capacity)
{
	Batch	   *batch = (Batch *) palloc0(sizeof(Batch));

	batch->ncolumns = ncolumns;
	batch->columns = (Vector **) palloc(Max(ncolumns, 1) * sizeof(Vector *));
	for (int i = 0; i < ncolumns; i++)
		batch->columns[i] = vector_create(types[i], capacity);
	return batch;
}

/* Make room for capacity rows at least, more than that when it has to grow. */
void
vector_reserve(Vector *vector, int64 capacity)
{
	size_t		size = physical_size(vector->type->physical);

	if (capacity <= vector->capacity)
		return;
	if (capacity > MAX_CAPACITY)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("arrays or maps have too many elements together"),
				 errdetail(INT64_FORMAT " of them cannot be in memory at once.", capacity)));
	capacity = Max(capacity, Min(vector->capacity, MAX_CAPACITY / 2) * 2);
	vector->nulls = (bool *) repalloc_huge(vector->nulls, capacity);
	if (vector->has_nulls)
		memset(vector->nulls + vector->capacity, false, capacity - vector->capacity);
	if (size > 0)
		vector->values.any = repalloc_huge(vector->values.any, capacity * size);
	if (vector->codes_buffer != NULL)
		vector->codes_buffer = (int32 *) repalloc_huge(vector->codes_buffer, capacity * sizeof(int32));
	if (vector->codes != NULL)
		vector->codes = vector->codes_buffer;
	vector->capacity = (int) capacity;
	if (vector->type->physical == PHYSICAL_ROW)
	{
		for (int i = 0; i < vector->nchildren; i++)
			vector_reserve(vector->children[i], capacity);
	}
}

uint64
vector_new_dictionary_id(void)
{
	static uint64 last = 0;

	return ++last;
}

/* Forget nulls, dictionary and elements. */
void
vector_reset(Vector *vector)
{
	vector->has_nulls = false;
	vector->codes = NULL;
	vector->dictionary = NULL;
	vector->dictionary_size = 0;
	vector->dictionary_id = 0;
	vector->filled = 0;
	for (int i = 0; i < vector->nchildren; i++)
		vector_reset(vector->children[i]);
}

/* Make room in nulls for the first null: rows set before had none. */
static void
begin_nulls(Vector *vector)
{
	if (vector->has_nulls)
		return;
	memset(vector->nulls, false, vector->capacity);
	vector->has_nulls = true;
}

/* Of lists all elements, whoever's they are: codes in use are valid. */
static void
flatten_children(Vector *vector, const int32 *selection, int nselected)
{
	for (int i = 0; i < vector->nchildren; i++)
	{
		Vector	   *child = vector->children[i];

		if (vector->type->physical == PHYSICAL_ROW)
			vector_flatten(child, selection, nselected);
		else
			vector_flatten(child, NULL, child->filled);
	}
}

/* Turn a dictionary-encoded vector into a plain one, for the rows selected. */
void
vector_flatten(Vector *vector, const int32 *selection, int nselected)
{
	const BytesView *dictionary = vector->dictionary;
	const int32 *codes = vector->codes;
	BytesView  *values = vector->values.bytes;

	flatten_children(vector, selection, nselected);
	if (codes == NULL)
		return;
	/* without entries all rows are null, and their values may be anything */
	if (vector->dictionary_size > 0)
	{
		if (selection == NULL)
		{
			for (int i = 0; i < nselected; i++)
				values[i] = dictionary[codes[i]];
		}
		else
		{
			for (int i = 0; i < nselected; i++)
				values[selection[i]] = dictionary[codes[selection[i]]];
		}
	}
	vector->codes = NULL;
	vector->dictionary = NULL;
	vector->dictionary_size = 0;
	vector->dictionary_id = 0;
}

/* The rows from one on as a vector of their own. */
Vector
vector_rest(const Vector *vector, int first)
{
	Vector		rest = *vector;

	Assert(!type_is_nested(vector->type) && first <= vector->capacity);
	rest.capacity -= first;
	rest.nulls += first;
	rest.values.i8 += first * physical_size(vector->type->physical);
	if (rest.codes != NULL)
		rest.codes += first;
	rest.codes_buffer = rest.codes;
	return rest;
}

/* Make every row null. */
void
vector_set_all_null(Vector *vector, int nrows)
{
	Assert(nrows <= vector->capacity);
	vector_reset(vector);
	begin_nulls(vector);
	memset(vector->nulls, true, nrows);
}

/* Fill nrows rows with one value. */
void
vector_set_constant(Vector *vector, const Scalar *value, int nrows)
{
	Assert(nrows <= vector->capacity);
	if (value->isnull)
	{
		vector_set_all_null(vector, nrows);
		return;
	}
	vector_reset(vector);
	if (type_is_nested(vector->type))
	{
		for (int i = 0; i < nrows; i++)
			vector_set(vector, i, value);
		return;
	}
#define FILL(member) \
	for (int i = 0; i < nrows; i++) \
		vector->values.member[i] = value->v.member
	DISPATCH_PHYSICAL(vector->type->physical, FILL);
#undef FILL
}

/* Read one row; bytes are not copied. */
Scalar
vector_get(const Vector *vector, int row)
{
	Scalar		value = {0};

	if (vector->has_nulls && vector->nulls[row])
	{
		value.isnull = true;
		return value;
	}
	if (vector->codes != NULL)
	{
		value.v.bytes = vector->dictionary[vector->codes[row]];
		return value;
	}
	if (type_is_nested(vector->type))
	{
		value.v.nested.vector = vector;
		value.v.nested.row = row;
		return value;
	}
#define GET(member) \
	value.v.member = vector->values.member[row]
	DISPATCH_PHYSICAL(vector->type->physical, GET);
#undef GET
	return value;
}

/* Write one row of a plain vector; bytes are not copied. */
void
vector_set(Vector *vector, int row, const Scalar *value)
{
	Assert(vector->codes == NULL);
	Assert(row >= 0 && row < vector->capacity);
	if (value->isnull)
	{
		begin_nulls(vector);
		vector->nulls[row] = true;
		return;
	}
	if (type_is_nested(vector->type))
	{
		vector_gather(vector, row, value->v.nested.vector, &value->v.nested.row, 1);
		return;
	}
	if (vector->has_nulls)
		vector->nulls[row] = false;
#define SET(member) \
	vector->values.member[row] = value->v.member
	DISPATCH_PHYSICAL(vector->type->physical, SET);
#undef SET
}

static void
gather_nulls(Vector *target, int at, const Vector *source, const int32 *from, int count)
{
	if (source->has_nulls)
	{
		begin_nulls(target);
		for (int i = 0; i < count; i++)
			target->nulls[at + i] = source->nulls[from[i]];
	}
	else if (target->has_nulls)
		memset(target->nulls + at, false, count);
}

/* Through the dictionary; the codes of null rows may not be valid without one. */
static void
gather_dictionary(Vector *target, int at, const Vector *source, const int32 *from, int count)
{
	if (source->dictionary_size == 0)
		return;
	for (int i = 0; i < count; i++)
		target->values.bytes[at + i] = source->dictionary[source->codes[from[i]]];
}

/* Append elements of a list vector's children to those of another. */
static void
append_elements(Vector *target, const Vector *source, const int32 *elements, int count)
{
	for (int i = 0; i < target->nchildren; i++)
	{
		Vector	   *child = target->children[i];

		vector_reserve(child, (int64) child->filled + count);
		vector_gather(child, child->filled, source->children[i], elements, count);
		child->filled += count;
	}
}

static void
gather_lists(Vector *target, int at, const Vector *source, const int32 *from, int count)
{
	int32		elements[GATHER_ELEMENTS];
	int			pending = 0;
	int32		start = target->children[0]->filled;

	for (int i = 0; i < count; i++)
	{
		ListView	list = {0, 0};
		ListView   *copy = &target->values.list[at + i];

		if (!source->has_nulls || !source->nulls[from[i]])
			list = source->values.list[from[i]];
		copy->start = start;
		copy->length = list.length;
		start += list.length;
		for (int32 k = 0; k < list.length; k++)
		{
			elements[pending++] = list.start + k;
			if (pending == GATHER_ELEMENTS)
			{
				append_elements(target, source, elements, pending);
				pending = 0;
			}
		}
	}
	append_elements(target, source, elements, pending);
}

/* The fields of rows that are not null: what stands under null rows may be anything. */
static void
gather_fields(Vector *target, int at, const Vector *source, const int32 *from, int count)
{
	for (int i = 0; i < count;)
	{
		int			end = count;

		if (source->has_nulls)
		{
			while (i < count && source->nulls[from[i]])
				i++;
			end = i;
			while (end < count && !source->nulls[from[end]])
				end++;
		}
		for (int k = 0; k < target->nchildren && i < end; k++)
			vector_gather(target->children[k], at + i, source->children[k], from + i, end - i);
		i = end;
	}
}

/* Copy rows from[i] of source to rows at+i of target, a plain vector; bytes are not copied. */
void
vector_gather(Vector *target, int at, const Vector *source, const int32 *from, int count)
{
	Assert(target->codes == NULL);
	Assert(at >= 0 && at + count <= target->capacity);
	Assert(target->type->physical == source->type->physical);
	Assert(target->nchildren == source->nchildren);

	gather_nulls(target, at, source, from, count);
	if (target->type->physical == PHYSICAL_LIST)
		gather_lists(target, at, source, from, count);
	else if (target->type->physical == PHYSICAL_ROW)
		gather_fields(target, at, source, from, count);
	else if (source->codes != NULL)
		gather_dictionary(target, at, source, from, count);
	else
	{
#define GATHER(member) \
	for (int i = 0; i < count; i++) \
		target->values.member[at + i] = source->values.member[from[i]]
		DISPATCH_PHYSICAL(target->type->physical, GATHER);
#undef GATHER
	}
}

/* ---- copies ---- */

/* The bytes of a string that is not null. */
static BytesView
bytes_at(const Vector *vector, int32 row)
{
	return vector->codes != NULL ? vector->dictionary[vector->codes[row]] : vector->values.bytes[row];
}

/* Bytes that a row has in a vector of the type. */
Size
vector_row_bytes(const DataType *type)
{
	Size		bytes = sizeof(bool) + physical_size(type->physical);

	for (int i = 0; type->physical == PHYSICAL_ROW && i < type_part_count(type); i++)
		bytes += vector_row_bytes(type_part(type, i)->type);
	return bytes;
}

static void
add_row_cost(const Vector *vector, int32 row, RowCost *cost)
{
	ListView	list = {row, 1};

	if (vector->has_nulls && vector->nulls[row])
		return;
	if (vector->type->physical == PHYSICAL_BYTES)
		cost->bytes += bytes_at(vector, row).length;
	else if (vector->type->physical == PHYSICAL_LIST)
		list = vector->values.list[row];
	for (int i = 0; i < vector->nchildren; i++)
	{
		const Vector *child = vector->children[i];

		if (vector->type->physical == PHYSICAL_LIST)
			cost->elements += list.length * vector_row_bytes(child->type);
		if (type_is_nested(child->type) || child->type->physical == PHYSICAL_BYTES)
		{
			for (int32 k = 0; k < list.length; k++)
				add_row_cost(child, list.start + k, cost);
		}
	}
}

/* What a row's value takes in memory beside its place in the vectors. */
RowCost
vector_row_cost(const Vector *vector, int32 row)
{
	RowCost		cost = {0, 0};

	add_row_cost(vector, row, &cost);
	return cost;
}

static void
move_string(BytesView *string, char **place)
{
	if (string->length > 0)
		memcpy(*place, string->data, string->length);
	string->data = *place;
	*place += string->length;
}

/* Copy the strings of a row to *place. */
void
vector_move_bytes(Vector *vector, int32 row, char **place)
{
	ListView	list = {row, 1};

	if (vector->has_nulls && vector->nulls[row])
		return;
	if (vector->type->physical == PHYSICAL_BYTES)
		move_string(&vector->values.bytes[row], place);
	else if (vector->type->physical == PHYSICAL_LIST)
		list = vector->values.list[row];
	for (int i = 0; i < vector->nchildren; i++)
	{
		Vector	   *child = vector->children[i];

		if (!type_is_nested(child->type) && child->type->physical != PHYSICAL_BYTES)
			continue;
		for (int32 k = 0; k < list.length; k++)
			vector_move_bytes(child, list.start + k, place);
	}
}

static char *
allocate_bytes(Size length)
{
	return (char *) MemoryContextAllocHuge(CurrentMemoryContext, Max(length, 1));
}

/* Deep copy of a scalar into CurrentMemoryContext. */
Scalar
scalar_copy(const DataType *type, const Scalar *value)
{
	Scalar		copy = *value;
	char	   *place;

	if (value->isnull)
		return copy;
	if (type->physical == PHYSICAL_BYTES)
	{
		place = allocate_bytes(value->v.bytes.length);
		move_string(&copy.v.bytes, &place);
	}
	else if (type_is_nested(type))
	{
		Vector	   *vector = vector_create(type, 1);

		vector_set(vector, 0, value);
		place = allocate_bytes(vector_row_cost(vector, 0).bytes);
		vector_move_bytes(vector, 0, &place);
		copy = vector_get(vector, 0);
	}
	return copy;
}
