/*
 * write_buffer.c
 *		Rows in memory on their way into files: one growing vector a column.
 *
 * Fixed-width values lie in arrays that double; the bytes of strings lie in an
 * arena of chunks, so that no value costs an allocation.  What the arrays and
 * chunks take is counted against a limit before they grow.
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
	/* the arena */
	char	   *chunk;			/* free room */
	Size		chunk_left;
	Size		next_chunk;		/* size of the next one */
	Size		chunk_bytes;	/* of all chunks */
};

/* (Re)allocate the arrays for capacity rows; null flags of new rows are false. */
static void
set_capacity(WriteBuffer *buffer, int capacity)
{
	for (int i = 0; i < buffer->nfields; i++)
	{
		Vector	   *column = buffer->columns[i];
		Size		width = physical_size(column->type->physical);

		if (column->values.any == NULL)
		{
			column->values.any = MemoryContextAllocHuge(buffer->context, capacity * width);
			column->nulls = (bool *) MemoryContextAllocHuge(buffer->context, capacity);
		}
		else
		{
			column->values.any = repalloc_huge(column->values.any, capacity * width);
			column->nulls = (bool *) repalloc_huge(column->nulls, capacity);
		}
		memset(column->nulls + buffer->capacity, false, capacity - buffer->capacity);
		column->capacity = capacity;
	}
	if (buffer->kinds == NULL)
		buffer->kinds = (int8 *) MemoryContextAllocHuge(buffer->context, capacity);
	else
		buffer->kinds = (int8 *) repalloc_huge(buffer->kinds, capacity);
	buffer->capacity = capacity;
}

/* Give large arrays back. */
static void
free_arrays(WriteBuffer *buffer)
{
	for (int i = 0; i < buffer->nfields; i++)
	{
		Vector	   *column = buffer->columns[i];

		pfree(column->values.any);
		pfree(column->nulls);
		column->values.any = NULL;
		column->nulls = NULL;
	}
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
		buffer->columns[i] = (Vector *) palloc0(sizeof(Vector));
		buffer->columns[i]->type = schema->fields[i].type;
		buffer->row_bytes += sizeof(bool) + physical_size(schema->fields[i].type->physical);
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

/* Room for length bytes in the arena? */
static bool
reserve_bytes(WriteBuffer *buffer, Size length)
{
	Size		chunk = Max(buffer->next_chunk, length);

	if (length <= buffer->chunk_left)
		return true;
	if (buffer->nrows > 0 && write_buffer_memory(buffer) + chunk > buffer->limit)
		return false;
	buffer->chunk = (char *) MemoryContextAllocHuge(buffer->bytes_context, chunk);
	buffer->chunk_left = chunk;
	buffer->chunk_bytes += chunk;
	buffer->next_chunk = Min(buffer->next_chunk * 2, MAX_CHUNK_BYTES);
	return true;
}

/* The bytes of a row's strings. */
static Size
bytes_of_row(const WriteBuffer *buffer, const Scalar *values)
{
	Size		length = 0;

	for (int i = 0; i < buffer->nfields; i++)
	{
		if (buffer->columns[i]->type->physical == PHYSICAL_BYTES && !values[i].isnull)
			length += values[i].v.bytes.length;
	}
	return length;
}

/* The value to store instead of a NULL in a NOT NULL column. */
static Scalar
replace_null(const WriteBuffer *buffer, int field, RowKind kind)
{
	const DataField *column = &buffer->table->schema->fields[field];
	Scalar		zero = {0};

	if (!ROW_KIND_IS_RETRACT(kind) || buffer->is_key[field])
		ereport(ERROR,
				(errcode(ERRCODE_NOT_NULL_VIOLATION),
				 errmsg("null value in column \"%s\" of lake table \"%s\" violates not-null constraint",
						column->name, buffer->table->name)));
	if (column->type->physical == PHYSICAL_BYTES)
		zero.v.bytes.data = "";
	return zero;
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
				buffer->chunk += stored->length;
				buffer->chunk_left -= stored->length;
				break;
			}
		case PHYSICAL_NONE:
			elog(ERROR, "column of type %s cannot be buffered", type_to_text(column->type));
	}
}

bool
write_buffer_append(WriteBuffer *buffer, RowKind kind, const Scalar *values)
{
	int			row = buffer->nrows;

	if (!reserve_row(buffer) || !reserve_bytes(buffer, bytes_of_row(buffer, values)))
		return false;
	for (int i = 0; i < buffer->nfields; i++)
	{
		Vector	   *column = buffer->columns[i];
		Scalar		value = values[i];

		if (value.isnull && !column->type->nullable)
			value = replace_null(buffer, i, kind);
		column->nulls[row] = value.isnull;
		if (value.isnull)
			column->has_nulls = true;
		else
			store_value(buffer, column, row, &value);
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
	return buffer->capacity * buffer->row_bytes + buffer->chunk_bytes;
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
	if (buffer->capacity > INITIAL_ROWS)
	{
		free_arrays(buffer);
		set_capacity(buffer, INITIAL_ROWS);
	}
}
