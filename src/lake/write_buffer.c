/*
 * write_buffer.c
 *		Rows in memory on their way into files: one growing vector a column.
 *
 * Fixed-width values lie in arrays that double; the bytes of strings lie in an
 * arena of chunks, so that no value costs an allocation.  What the arrays and
 * chunks take is counted against a limit before they grow.  So are the elements
 * of nested values, twice, as the arrays that they lie in may be half empty.
 */
#include "postgres.h"

#include <limits.h>

#include "lake/write_buffer.h"
#include "utils/memutils.h"

#define INITIAL_ROWS 256
#define MAX_ROWS (INT_MAX / 2)
#define MIN_CHUNK_BYTES ((Size) 16 * 1024)
#define MAX_CHUNK_BYTES ((Size) 1024 * 1024)

/* Per row and while rows are written: sequence number, target, two sort items. */
#define SORT_ROW_BYTES (sizeof(int64) + 2 * sizeof(int32) + 16)

struct WriteBuffer
{
	MemoryContext context;
	MemoryContext bytes_context;	/* the arena's chunks */
	const LakeTable *table;
	Size		limit;
	int			nfields;
	bool	   *is_key;			/* by field: part of the primary key */
	Size		row_bytes;		/* fixed cost of a row */
	int			nrows;
	int			capacity;
	Vector	  **columns;
	int8	   *kinds;
	Size		element_bytes;	/* of nested values, counted twice */
	/* the arena */
	char	   *chunk;			/* free room */
	Size		chunk_left;
	Size		next_chunk;		/* size of the next one */
	Size		chunk_bytes;	/* of all chunks */
};

/* A column without room; of the fields of ROW, too. */
static Vector *
make_column(const DataType *type)
{
	Vector	   *column = (Vector *) palloc0(sizeof(Vector));

	column->type = type;
	column->nchildren = type_part_count(type);
	column->children = (Vector **) palloc(Max(column->nchildren, 1) * sizeof(Vector *));
	for (int i = 0; i < column->nchildren; i++)
	{
		const DataType *part = type_part(type, i)->type;

		column->children[i] = type->physical == PHYSICAL_ROW ? make_column(part) : vector_create(part, INITIAL_ROWS);
	}
	return column;
}

/* (Re)allocate a column's arrays; null flags of new rows are false. */
static void
set_column_capacity(MemoryContext context, Vector *column, int capacity)
{
	Size		width = physical_size(column->type->physical);

	if (column->nulls == NULL)
	{
		column->nulls = (bool *) MemoryContextAllocHuge(context, capacity);
		if (width > 0)
			column->values.any = MemoryContextAllocHuge(context, capacity * width);
	}
	else
	{
		column->nulls = (bool *) repalloc_huge(column->nulls, capacity);
		if (width > 0)
			column->values.any = repalloc_huge(column->values.any, capacity * width);
	}
	memset(column->nulls + column->capacity, false, capacity - column->capacity);
	column->capacity = capacity;
	if (column->type->physical == PHYSICAL_ROW)
	{
		for (int i = 0; i < column->nchildren; i++)
			set_column_capacity(context, column->children[i], capacity);
	}
}

/* (Re)allocate the arrays for capacity rows. */
static void
set_capacity(WriteBuffer *buffer, int capacity)
{
	for (int i = 0; i < buffer->nfields; i++)
		set_column_capacity(buffer->context, buffer->columns[i], capacity);
	if (buffer->kinds == NULL)
		buffer->kinds = (int8 *) MemoryContextAllocHuge(buffer->context, capacity);
	else
		buffer->kinds = (int8 *) repalloc_huge(buffer->kinds, capacity);
	buffer->capacity = capacity;
}

/* Free a column's arrays; those of elements are made anew. */
static void
free_column(MemoryContext context, Vector *column)
{
	pfree(column->nulls);
	column->nulls = NULL;
	if (column->values.any != NULL)
		pfree(column->values.any);
	column->values.any = NULL;
	column->capacity = 0;
	for (int i = 0; i < column->nchildren; i++)
	{
		Vector	   *child = column->children[i];

		if (column->type->physical == PHYSICAL_ROW)
			free_column(context, child);
		else
		{
			MemoryContext old = MemoryContextSwitchTo(context);

			column->children[i] = vector_create(child->type, INITIAL_ROWS);
			MemoryContextSwitchTo(old);
			vector_free(child);
		}
	}
}

/* Give large arrays back. */
static void
free_arrays(WriteBuffer *buffer)
{
	for (int i = 0; i < buffer->nfields; i++)
		free_column(buffer->context, buffer->columns[i]);
	pfree(buffer->kinds);
	buffer->kinds = NULL;
	buffer->capacity = 0;
}

WriteBuffer *
write_buffer_create(const LakeTable *table, Size memory_limit)
{
	const TableSchema *schema = table->schema;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "lake write buffer",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	WriteBuffer *buffer = (WriteBuffer *) palloc0(sizeof(WriteBuffer));

	buffer->context = context;
	buffer->bytes_context = AllocSetContextCreate(context, "lake write buffer bytes", ALLOCSET_DEFAULT_SIZES);
	buffer->table = table;
	buffer->limit = memory_limit;
	buffer->nfields = schema->nfields;
	buffer->is_key = (bool *) palloc0(schema->nfields * sizeof(bool));
	for (int i = 0; i < schema->nprimary_keys; i++)
		buffer->is_key[schema->primary_keys[i]] = true;
	buffer->columns = (Vector **) palloc(schema->nfields * sizeof(Vector *));
	buffer->row_bytes = SORT_ROW_BYTES + sizeof(int8);
	for (int i = 0; i < schema->nfields; i++)
	{
		buffer->columns[i] = make_column(schema->fields[i].type);
		buffer->row_bytes += vector_row_bytes(schema->fields[i].type);
	}
	buffer->next_chunk = MIN_CHUNK_BYTES;
	set_capacity(buffer, INITIAL_ROWS);
	MemoryContextSwitchTo(old);
	return buffer;
}

/* Room for one more row in the arrays?  They grow as far as the limit lets them. */
static bool
reserve_row(WriteBuffer *buffer)
{
	Size		used = write_buffer_memory(buffer);
	Size		room = used < buffer->limit ? (buffer->limit - used) / buffer->row_bytes : 0;
	int			growth = (int) Min(buffer->capacity, room);

	if (buffer->nrows < buffer->capacity)
		return true;
	/* arrays are moved when they grow: a little is not worth it */
	if (growth < buffer->capacity / 8 || growth > MAX_ROWS - buffer->capacity)
		return false;
	set_capacity(buffer, buffer->capacity + growth);
	return true;
}

/* Room for elements, and for bytes in the arena? */
static bool
reserve_cost(WriteBuffer *buffer, RowCost cost)
{
	Size		chunk = cost.bytes <= buffer->chunk_left ? 0 : Max(buffer->next_chunk, cost.bytes);
	Size		wanted = chunk + 2 * cost.elements;

	if (wanted == 0)
		return true;
	if (buffer->nrows > 0 && write_buffer_memory(buffer) + wanted > buffer->limit)
		return false;
	buffer->element_bytes += cost.elements;
	if (chunk == 0)
		return true;
	buffer->chunk = (char *) MemoryContextAllocHuge(buffer->bytes_context, chunk);
	buffer->chunk_left = chunk;
	buffer->chunk_bytes += chunk;
	buffer->next_chunk = Min(buffer->next_chunk * 2, MAX_CHUNK_BYTES);
	return true;
}

/* What a row takes beside its place in the arrays. */
static RowCost
cost_of_row(const WriteBuffer *buffer, const Scalar *values)
{
	RowCost		cost = {0, 0};

	for (int i = 0; i < buffer->nfields; i++)
	{
		const DataType *type = buffer->columns[i]->type;

		if (values[i].isnull)
			continue;
		if (type->physical == PHYSICAL_BYTES)
			cost.bytes += values[i].v.bytes.length;
		else if (type_is_nested(type))
		{
			RowCost		nested = vector_row_cost(values[i].v.nested.vector, values[i].v.nested.row);

			cost.elements += nested.elements;
			cost.bytes += nested.bytes;
		}
	}
	return cost;
}

/* May a NULL in a NOT NULL column be replaced by something else? */
static void
check_null(const WriteBuffer *buffer, int field, RowKind kind)
{
	const DataField *column = &buffer->table->schema->fields[field];

	if (!ROW_KIND_IS_RETRACT(kind) || buffer->is_key[field])
		ereport(ERROR,
				(errcode(ERRCODE_NOT_NULL_VIOLATION),
				 errmsg("null value in column \"%s\" of lake table \"%s\" violates not-null constraint",
						column->name, buffer->table->name)));
}

/* Something that is not null. */
static void
store_zero(Vector *column, int row)
{
	Size		width = physical_size(column->type->physical);

	if (column->has_nulls)
		column->nulls[row] = false;
	if (width > 0)
		memset((char *) column->values.any + row * width, 0, width);
	if (column->type->physical == PHYSICAL_BYTES)
		column->values.bytes[row].data = "";
	for (int i = 0; i < column->nchildren && column->type->physical == PHYSICAL_ROW; i++)
	{
		Vector	   *field = column->children[i];
		Scalar		null = {.isnull = true};

		if (field->type->nullable)
			vector_set(field, row, &null);
		else
			store_zero(field, row);
	}
}

/* Note that room in the arena is used. */
static void
use_chunk(WriteBuffer *buffer, Size length)
{
	buffer->chunk += length;
	buffer->chunk_left -= length;
}

/* Store one value; string bytes go to the arena, where room is reserved. */
static void
store_value(WriteBuffer *buffer, Vector *column, int row, const Scalar *value)
{
	switch (column->type->physical)
	{
		case PHYSICAL_INT8:
			column->values.i8[row] = value->v.i8;
			break;
		case PHYSICAL_INT16:
			column->values.i16[row] = value->v.i16;
			break;
		case PHYSICAL_INT32:
			column->values.i32[row] = value->v.i32;
			break;
		case PHYSICAL_INT64:
			column->values.i64[row] = value->v.i64;
			break;
		case PHYSICAL_INT128:
			column->values.i128[row] = value->v.i128;
			break;
		case PHYSICAL_FLOAT:
			column->values.f32[row] = value->v.f32;
			break;
		case PHYSICAL_DOUBLE:
			column->values.f64[row] = value->v.f64;
			break;
		case PHYSICAL_BYTES:
			{
				BytesView  *stored = &column->values.bytes[row];

				stored->data = buffer->chunk;
				stored->length = value->v.bytes.length;
				if (stored->length == 0)
				{
					stored->data = "";
					break;
				}
				memcpy(buffer->chunk, value->v.bytes.data, stored->length);
				use_chunk(buffer, stored->length);
				break;
			}
		case PHYSICAL_LIST:
		case PHYSICAL_ROW:
			{
				char	   *place = buffer->chunk;

				vector_set(column, row, value);
				vector_move_bytes(column, row, &place);
				use_chunk(buffer, place - buffer->chunk);
				break;
			}
	}
}

bool
write_buffer_append(WriteBuffer *buffer, RowKind kind, const Scalar *values)
{
	int			row = buffer->nrows;

	if (!reserve_row(buffer) || !reserve_cost(buffer, cost_of_row(buffer, values)))
		return false;
	for (int i = 0; i < buffer->nfields; i++)
	{
		Vector	   *column = buffer->columns[i];
		bool		isnull = values[i].isnull;

		if (isnull && !column->type->nullable)
		{
			check_null(buffer, i, kind);
			store_zero(column, row);
			isnull = false;
		}
		else if (!isnull)
			store_value(buffer, column, row, &values[i]);
		column->nulls[row] = isnull;
		column->has_nulls |= isnull;
	}
	buffer->kinds[row] = (int8) kind;
	buffer->nrows++;
	return true;
}

int
write_buffer_rows(const WriteBuffer *buffer)
{
	return buffer->nrows;
}

Size
write_buffer_memory(const WriteBuffer *buffer)
{
	return buffer->capacity * buffer->row_bytes + 2 * buffer->element_bytes + buffer->chunk_bytes;
}

Vector **
write_buffer_columns(WriteBuffer *buffer)
{
	return buffer->columns;
}

const int8 *
write_buffer_kinds(const WriteBuffer *buffer)
{
	return buffer->kinds;
}

/* Forget the rows from a position on; their strings stay until the reset. */
void
write_buffer_truncate(WriteBuffer *buffer, int rows)
{
	Assert(rows >= 0 && rows <= buffer->nrows);
	buffer->nrows = rows;
	if (rows == 0)
		write_buffer_reset(buffer);
}

void
write_buffer_reset(WriteBuffer *buffer)
{
	MemoryContextReset(buffer->bytes_context);
	buffer->chunk = NULL;
	buffer->chunk_left = 0;
	buffer->chunk_bytes = 0;
	buffer->next_chunk = MIN_CHUNK_BYTES;
	for (int i = 0; i < buffer->nfields; i++)
	{
		memset(buffer->columns[i]->nulls, false, buffer->nrows);
		vector_reset(buffer->columns[i]);
	}
	buffer->nrows = 0;
	if (buffer->capacity > INITIAL_ROWS || buffer->element_bytes > MAX_CHUNK_BYTES)
	{
		free_arrays(buffer);
		set_capacity(buffer, INITIAL_ROWS);
	}
	buffer->element_bytes = 0;
}
