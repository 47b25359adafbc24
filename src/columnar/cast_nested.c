/*
 * cast_nested.c
 *		Casts between arrays, maps and rows: of what is in them.
 *
 * Fields of rows are found by their ids, at every level: one that is new is
 * null, one that is gone is left out, and names do not matter.
 */
#include "postgres.h"

#include "columnar/cast.h"
#include "columnar/cast_value.h"

/* The part of from that becomes a part of to; -1 if there is none. */
static int
source_part(const DataType *from, const DataType *to, int part)
{
	int32		id;

	if (to->root != TYPE_ROW)
		return part;
	id = type_part(to, part)->id;
	for (int i = 0; i < type_part_count(from); i++)
	{
		if (type_part(from, i)->id == id)
			return i;
	}
	return -1;
}

/* Of these types the parts may differ. */
static bool
parts_may_differ(const DataType *from, const DataType *to)
{
	return from->root == to->root && (to->root == TYPE_ROW || to->root == TYPE_ARRAY || to->root == TYPE_MAP);
}

bool
cast_nested_is_supported(const DataType *from, const DataType *to)
{
	if (!parts_may_differ(from, to))
		return cast_nested_is_identity(from, to);
	for (int i = 0; i < type_part_count(to); i++)
	{
		int			source = source_part(from, to, i);
		const DataType *to_part = type_part(to, i)->type;

		if (source < 0)
			continue;
		/* keys that change might become equal */
		if (to->root == TYPE_MAP && i == 0 && !cast_is_identity(type_part(from, 0)->type, to_part))
			return false;
		if (!cast_is_supported(type_part(from, source)->type, to_part))
			return false;
	}
	return true;
}

bool
cast_nested_is_identity(const DataType *from, const DataType *to)
{
	int			nparts = type_part_count(to);

	if (from->root != to->root || from->length != to->length || type_part_count(from) != nparts)
		return false;
	for (int i = 0; i < nparts; i++)
	{
		if (source_part(from, to, i) != i || !cast_is_identity(type_part(from, i)->type, type_part(to, i)->type))
			return false;
	}
	return true;
}

void
cast_nested_init(Cast *cast)
{
	const DataType *from = cast->state.from;
	const DataType *to = cast->state.to;
	int			nparts = type_part_count(to);

	cast->sources = (int *) palloc(Max(nparts, 1) * sizeof(int));
	cast->parts = (Cast **) palloc0(Max(nparts, 1) * sizeof(Cast *));
	for (int i = 0; i < nparts; i++)
	{
		int			source = source_part(from, to, i);
		const DataType *to_part = type_part(to, i)->type;

		cast->sources[i] = source;
		if (source >= 0 && !cast_is_identity(type_part(from, source)->type, to_part))
			cast->parts[i] = cast_create(type_part(from, source)->type, to_part);
	}
}

static void
set_nulls(Vector *target, const int32 *rows, int nrows)
{
	static const Scalar null_value = {.isnull = true};

	for (int i = 0; i < nrows; i++)
		vector_set(target, rows[i], &null_value);
}

/* Rows that follow each other are copied at once. */
static void
copy_rows(Vector *target, const Vector *source, const int32 *rows, int nrows)
{
	for (int start = 0, end; start < nrows; start = end)
	{
		for (end = start + 1; end < nrows && rows[end] == rows[end - 1] + 1;)
			end++;
		vector_gather(target, rows[start], source, rows + start, end - start);
	}
}

/* The same rows of all parts. */
static const char *
cast_parts(Cast *cast, const Vector *source, const int32 *rows, int nrows, Vector *target)
{
	for (int i = 0; i < target->nchildren; i++)
	{
		Vector	   *part = target->children[i];
		const char *failure;

		if (cast->sources[i] < 0)
			set_nulls(part, rows, nrows);
		else if (cast->parts[i] == NULL)
			copy_rows(part, source->children[cast->sources[i]], rows, nrows);
		else
		{
			failure = cast_vector(cast->parts[i], source->children[cast->sources[i]], rows, nrows, part);
			if (failure != NULL)
				return failure;
		}
	}
	return NULL;
}

/* The elements that lists refer to, palloc'd. */
static int32 *
list_elements(const Vector *source, const int32 *rows, int nrows, int *nelements)
{
	int64		total = 0;
	int32	   *elements;

	for (int i = 0; i < nrows; i++)
		total += source->values.list[rows[i]].length;
	elements = (int32 *) MemoryContextAllocHuge(CurrentMemoryContext, Max(total, 1) * sizeof(int32));
	*nelements = 0;
	for (int i = 0; i < nrows; i++)
	{
		ListView	list = source->values.list[rows[i]];

		for (int32 k = 0; k < list.length; k++)
			elements[(*nelements)++] = list.start + k;
	}
	return elements;
}

/* Elements stay at their places. */
static const char *
cast_lists(Cast *cast, const Vector *source, const int32 *rows, int nrows, Vector *target)
{
	int			nelements;
	int32	   *elements = list_elements(source, rows, nrows, &nelements);
	const char *failure;

	for (int i = 0; i < nrows; i++)
		target->values.list[rows[i]] = source->values.list[rows[i]];
	for (int i = 0; i < target->nchildren; i++)
		vector_reserve(target->children[i], source->children[i]->filled);
	failure = cast_parts(cast, source, elements, nelements, target);
	for (int i = 0; i < target->nchildren; i++)
		target->children[i]->filled = source->children[i]->filled;
	pfree(elements);
	return failure;
}

/* What is under rows that are null means nothing, and is not cast. */
const char *
cast_nested_vector(Cast *cast, const Vector *source, const int32 *selection, int nselected, Vector *target)
{
	static const Scalar null_value = {.isnull = true};
	int32	   *rows = (int32 *) MemoryContextAllocHuge(CurrentMemoryContext, Max(nselected, 1) * sizeof(int32));
	int			nrows = 0;
	const char *failure;

	for (int i = 0; i < nselected; i++)
	{
		int			row = selection == NULL ? i : selection[i];

		if (source->has_nulls && source->nulls[row])
			vector_set(target, row, &null_value);
		else
			rows[nrows++] = row;
	}
	if (target->type->physical == PHYSICAL_LIST)
		failure = cast_lists(cast, source, rows, nrows, target);
	else
		failure = cast_parts(cast, source, rows, nrows, target);
	pfree(rows);
	return failure;
}
