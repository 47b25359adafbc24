/*
 * write_buffer.h
 *		Rows in memory on their way into files: one growing vector a column.
 *
 * Rows keep their arrival order; a row is known by its position.  Sorting
 * makes lists of positions and moves no values.
 */
#ifndef STREAMHOUSE_WRITE_BUFFER_H
#define STREAMHOUSE_WRITE_BUFFER_H

#include "lake/read.h"
#include "lake/table.h"

typedef struct WriteBuffer WriteBuffer;

/*
 * A buffer in a child of CurrentMemoryContext for rows of the table.
 * memory_limit counts what the rows take here and while they are sorted.
 */
extern WriteBuffer *write_buffer_create(const LakeTable *table, Size memory_limit);

/*
 * Append a row, copying its values.  False when there is no room: write the
 * rows and reset the buffer, then append again.  A single row always has room.
 *
 * A NULL in a NOT NULL column is an ERROR.  Of a row that deletes, only the
 * key counts: other NOT NULL columns that are NULL there get a zero value.
 */
extern bool write_buffer_append(WriteBuffer *buffer, RowKind kind, const Scalar *values);

extern int	write_buffer_rows(const WriteBuffer *buffer);
extern Size write_buffer_memory(const WriteBuffer *buffer);

/* Vectors by field, and kinds, of all rows; valid until the next append. */
extern Vector **write_buffer_columns(WriteBuffer *buffer);
extern const int8 *write_buffer_kinds(const WriteBuffer *buffer);

/* Forget the rows from a position on. */
extern void write_buffer_truncate(WriteBuffer *buffer, int rows);

/* Forget all rows and give back most of the memory. */
extern void write_buffer_reset(WriteBuffer *buffer);

#endif							/* STREAMHOUSE_WRITE_BUFFER_H */
