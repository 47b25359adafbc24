/*
 * binary_row.h
 *		Paimon's row bytes: partitions, keys, statistics and bucket hashes.
 *
 * Source: format digest section 5.
 */
#ifndef STREAMHOUSE_BINARY_ROW_H
#define STREAMHOUSE_BINARY_ROW_H

#include "columnar/vector.h"

/*
 * Row bytes (5.1) of nfields values, palloc'd, without the arity prefix;
 * header byte 0 (+I).
 */
extern BytesView binary_row_encode(const DataType *const *types, const Scalar *values, int nfields);

/* The same with the four-byte big-endian arity in front (5.5). */
extern BytesView binary_row_serialize(const DataType *const *types, const Scalar *values, int nfields);

/* Serialised row of no fields. */
extern BytesView binary_row_serialize_empty(void);

/*
 * Decode a serialised row (with arity).  values gets nfields scalars; bytes
 * point into row.  what names it in errors ("partition", "minimum key" ...
 * and path).  ERROR when arity or bounds are wrong.
 */
extern void binary_row_deserialize(BytesView row, const DataType *const *types, Scalar *values, int nfields,
								   const char *what, const char *path);

/* Murmur hash (5.6) of row bytes without arity, or of a string. */
extern int32 binary_row_hash(BytesView row);

/*
 * Hashes of many rows at once: types and columns (flat vectors) of the key.
 * out[k] is for row rows[k] (rows NULL: row k).
 */
extern void binary_row_hash_vectors(Vector *const *columns, int ncolumns, const int32 *rows, int nrows, int32 *out);

#endif							/* STREAMHOUSE_BINARY_ROW_H */
