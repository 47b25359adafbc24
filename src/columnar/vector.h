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
	}			values;
	int32	   *codes;			/* NULL, or see above: capacity entries */
	const BytesView *dictionary;
	int			dictionary_size;
	int32	   *codes_buffer;	/* where codes points when it is set */
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
extern Batch *batch_create(int ncolumns, const DataType *const *types, int capacity);

/* Forget nulls and dictionary. */
extern void vector_reset(Vector *vector);

/* Turn a dictionary-encoded vector into a plain one, for the rows selected (NULL: all nrows). */
extern void vector_flatten(Vector *vector, const int32 *selection, int nselected);

/* Make every row null. */
extern void vector_set_all_null(Vector *vector, int nrows);

/* Fill nrows rows with one value (partition columns). The scalar's bytes must outlive the vector's use. */
extern void vector_set_constant(Vector *vector, const Scalar *value, int nrows);

/* Read and write one row; bytes are not copied. */
extern Scalar vector_get(const Vector *vector, int row);
extern void vector_set(Vector *vector, int row, const Scalar *value);

/* Copy rows from[i] of source to rows at+i of target, i < count; bytes not copied. */
extern void vector_gather(Vector *target, int at, const Vector *source, const int32 *from, int count);

/* Deep copy of a scalar into CurrentMemoryContext. */
extern Scalar scalar_copy(const DataType *type, const Scalar *value);

#endif							/* STREAMHOUSE_VECTOR_H */
