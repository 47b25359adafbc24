/*
 * vector.c
 *		Making, reading and filling vectors and batches.
 */
#include "postgres.h"

#include "columnar/vector.h"

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
		case PHYSICAL_NONE: \
			elog(ERROR, "no vectors of physical type %d", (int) (physical)); \
			break; \
	}

Vector *
vector_create(const DataType *type, int capacity)
{
	Vector	   *vector = (Vector *) palloc0(sizeof(Vector));
	size_t		size = physical_size(type->physical);

	if (size == 0)
		elog(ERROR, "no vectors of type %s", type_to_text(type));
	vector->type = type;
	vector->capacity = capacity;
	vector->nulls = (bool *) palloc(Max(capacity, 1));
	vector->values.any = MemoryContextAllocHuge(CurrentMemoryContext, Max(capacity, 1) * size);
	if (type->physical == PHYSICAL_BYTES)
		vector->codes_buffer = (int32 *)
			MemoryContextAllocHuge(CurrentMemoryContext, Max(capacity, 1) * sizeof(int32));
	return vector;
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

/* Forget nulls and dictionary. */
void
vector_reset(Vector *vector)
{
	vector->has_nulls = false;
	vector->codes = NULL;
	vector->dictionary = NULL;
	vector->dictionary_size = 0;
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

/* Turn a dictionary-encoded vector into a plain one, for the rows selected. */
void
vector_flatten(Vector *vector, const int32 *selection, int nselected)
{
	const BytesView *dictionary = vector->dictionary;
	const int32 *codes = vector->codes;
	BytesView  *values = vector->values.bytes;

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

/* Copy rows from[i] of source to rows at+i of target, a plain vector; bytes are not copied. */
void
vector_gather(Vector *target, int at, const Vector *source, const int32 *from, int count)
{
	Assert(target->codes == NULL);
	Assert(at >= 0 && at + count <= target->capacity);
	Assert(target->type->physical == source->type->physical);

	gather_nulls(target, at, source, from, count);
	if (source->codes != NULL)
	{
		gather_dictionary(target, at, source, from, count);
		return;
	}
#define GATHER(member) \
	for (int i = 0; i < count; i++) \
		target->values.member[at + i] = source->values.member[from[i]]
	DISPATCH_PHYSICAL(target->type->physical, GATHER);
#undef GATHER
}

/* Deep copy of a scalar into CurrentMemoryContext. */
Scalar
scalar_copy(const DataType *type, const Scalar *value)
{
	Scalar		copy = *value;

	if (!value->isnull && type->physical == PHYSICAL_BYTES)
	{
		uint32		length = value->v.bytes.length;
		char	   *data = (char *) MemoryContextAllocHuge(CurrentMemoryContext, Max(length, 1));

		if (length > 0)
			memcpy(data, value->v.bytes.data, length);
		copy.v.bytes.data = data;
	}
	return copy;
}
