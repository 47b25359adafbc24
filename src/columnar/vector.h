/*
 * vector.h
 *		Columns in memory: scalars, vectors and batches.
 *
 * A batch is up to BATCH_ROWS consecutive rows.  Vectors are indexed by the
 * row's position in the batch; a selection lists the rows that count, so a
 * filter never moves values.  Strings are views (pointer, length) into memory
 * that the producer of the batch keeps until the next batch: consumers that
 * keep values copy them.
 */
#ifndef STREAMHOUSE_VECTOR_H
#define STREAMHOUSE_VECTOR_H

#include "postgres.h"

#include "columnar/type.h"

#define BATCH_ROWS 2048

typedef struct BytesView
{
	const char *data;			/* not terminated */
	uint32		length;
} BytesView;

/* The elements of an array or a map: where they lie in the vectors beside. */
typedef struct ListView
{
	int32		start;
	int32		length;
} ListView;

struct Vector;

/* A nested value: it lies in a row of a vector. */
typedef struct NestedView
{
	const struct Vector *vector;
	int32		row;
} NestedView;

/* One value. */
typedef struct Scalar
{
	bool		isnull;
	union
	{
		int8		i8;
		int16		i16;
		int32		i32;
		int64		i64;
		int128		i128;
		float		f32;
		double		f64;
		BytesView	bytes;
		NestedView	nested;
	}			v;
} Scalar;

/*
 * A column of a batch.
 *
 * nulls has one byte a row (a byte, not a bit: it is written and tested
 * without shifts, and compilers vectorise it) and counts only if has_nulls.
 * The value of a null row is undefined.
 *
 * A PHYSICAL_BYTES vector may come dictionary-encoded: then codes is not
 * NULL, the value of row i is dictionary[codes[i]] (codes of null rows are
 * 0 or any valid code), and values is undefined until vector_flatten.
 * Filters evaluate the dictionary once, and look codes up.
 *
 * A vector of a nested type has other vectors beside it, its children, one
 * for each of the type's parts (type_part).  Those of a PHYSICAL_ROW vector
 * are indexed by row like it; they mean nothing where the row is null.  Of a
 * PHYSICAL_LIST vector values.list[row] names the rows of the children that
 * are the row's elements, in any order; "filled" of them are in use.  Elements
 * that no list refers to do no harm.
 */
typedef struct Vector
{
	const DataType *type;
	int			capacity;		/* rows for which there is room */
	bool		has_nulls;
	bool	   *nulls;			/* always allocated, capacity bytes */
	union
	{
		void	   *any;
		int8	   *i8;
		int16	   *i16;
		int32	   *i32;
		int64	   *i64;
		int128	   *i128;
		float	   *f32;
		double	   *f64;
		BytesView  *bytes;
		ListView   *list;
	}			values;
	int32	   *codes;			/* NULL, or see above: capacity entries */
	const BytesView *dictionary;
	int			dictionary_size;
	uint64		dictionary_id;	/* tells one from others; 0: not known */
	int32	   *codes_buffer;	/* where codes points when it is set */
	int			nchildren;
	struct Vector **children;
	int			filled;			/* of a list's children: elements in use */
} Vector;

typedef struct Batch
{
	int			ncolumns;
	int			nrows;			/* rows in the batch, selected or not */
	Vector	  **columns;
	int32	   *selection;		/* ascending rows, NULL: all nrows */
	int			nselected;		/* rows that count; nrows when selection is NULL */
} Batch;

/* All in CurrentMemoryContext. */
extern Vector *vector_create(const DataType *type, int capacity);
extern void vector_free(Vector *vector);
extern Batch *batch_create(int ncolumns, const DataType *const *types, int capacity);

/* Make room for capacity rows at least; rows stay what they are.  Lists' children keep their own room. */
extern void vector_reserve(Vector *vector, int64 capacity);

/* A number for a dictionary that no other has had. */
extern uint64 vector_new_dictionary_id(void);

/* Forget nulls, dictionary and elements. */
extern void vector_reset(Vector *vector);

/* Turn a dictionary-encoded vector into a plain one, for the rows selected (NULL: all nrows). */
extern void vector_flatten(Vector *vector, const int32 *selection, int nselected);

/* The rows from one on as a vector of their own, to be read only; not of a nested type. */
extern Vector vector_rest(const Vector *vector, int first);

/* Make every row null. */
extern void vector_set_all_null(Vector *vector, int nrows);

/* Fill nrows rows with one value (partition columns). The scalar's bytes must outlive the vector's use. */
extern void vector_set_constant(Vector *vector, const Scalar *value, int nrows);

/* Read and write one row; bytes are not copied, elements are when they are written. */
extern Scalar vector_get(const Vector *vector, int row);
extern void vector_set(Vector *vector, int row, const Scalar *value);

/*
 * Copy rows from[i] of source to rows at+i of target, i < count; bytes not
 * copied.  Elements are appended to the target's children.
 */
extern void vector_gather(Vector *target, int at, const Vector *source, const int32 *from, int count);

/* Bytes that a row has in a vector of the type: the fields of ROW with it, but no elements. */
extern Size vector_row_bytes(const DataType *type);

/* What a row's value takes in memory beside those: elements, and the bytes of strings. */
typedef struct RowCost
{
	Size		elements;
	Size		bytes;
} RowCost;

extern RowCost vector_row_cost(const Vector *vector, int32 row);

/*
 * Copy the strings of a row, all that lie below it too, to *place, which moves
 * on; there must be room for vector_row_cost's bytes.  For rows that are the
 * caller's own: not dictionary-encoded, elements not shared.
 */
extern void vector_move_bytes(Vector *vector, int32 row, char **place);

/* Deep copy of a scalar into CurrentMemoryContext. */
extern Scalar scalar_copy(const DataType *type, const Scalar *value);

/* The number of a value of one of the integers' physical types, up to 64 bits. */
static inline int64
scalar_integer(PhysicalType physical, const Scalar *value)
{
	switch (physical)
	{
		case PHYSICAL_INT8:
			return value->v.i8;
		case PHYSICAL_INT16:
			return value->v.i16;
		case PHYSICAL_INT32:
			return value->v.i32;
		default:
			Assert(physical == PHYSICAL_INT64);
			return value->v.i64;
	}
}

#endif							/* STREAMHOUSE_VECTOR_H */
