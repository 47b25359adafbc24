/*
 * nested_values.h
 *		Random nested types, and vectors of random values of them.
 */
#ifndef STREAMHOUSE_NESTED_VALUES_H
#define STREAMHOUSE_NESTED_VALUES_H

#include "columnar/vector.h"
#include "lib/stringinfo.h"

/* A type, nullable or not, whose parts are still to be set; and a nullable one of these parts (names may be NULL). */
extern DataType *nested_type(TypeRoot root, int nchildren);
extern DataType *nested_type_of(TypeRoot root, int nchildren, DataType *const *types, const char *const *names);

/* Any nesting of arrays, maps, rows, multisets and variants; fields of rows take the next ids. */
extern DataType *random_nested_type(int *next_id);

/* A vector of random rows, and the text of each. */
extern Vector *random_vector(const DataType *type, int nrows, BytesView *texts);

/* What a row holds, as text that tells it from others. */
extern BytesView row_text(const Vector *vector, int row);
extern void append_row(StringInfo text, const Vector *vector, int row);

#endif							/* STREAMHOUSE_NESTED_VALUES_H */
