/*
 * decode.h
 *		What the files that decode share: decode.c and those beside it.
 */
#ifndef STREAMHOUSE_FDW_DECODE_H
#define STREAMHOUSE_FDW_DECODE_H

#include "fdw/types.h"

/* The loop over rows: r is the row in the vector, i the place in the result. */
#define FOR_EACH_ROW(i, r) \
	for (i = 0; i < nrows && ((r = rows ? rows[i] : i), true); i++)

/* The same over rows that are not null. */
#define FOR_EACH_VALUE(i, r) \
	FOR_EACH_ROW(i, r) \
		if (!vector->has_nulls || !vector->nulls[r])

/* Values of consecutive rows, or of those listed; null rows are converted too, it does no harm. */
#define CONVERT_ROWS(from, convert) \
	do { \
		int			i; \
\
		if (rows == NULL) \
		{ \
			for (i = 0; i < nrows; i++) \
				values[i] = convert((from)[i]); \
		} \
		else \
		{ \
			for (i = 0; i < nrows; i++) \
				values[i] = convert((from)[rows[i]]); \
		} \
	} while (0)

static inline BytesView
vector_bytes(const Vector *vector, int row)
{
	return vector->codes ? vector->dictionary[vector->codes[row]] : vector->values.bytes[row];
}

/* decode_string.c: the function for a type whose values are bytes. */
extern DecodeFunction decoder_of_string(const ColumnDecoder *decoder, Oid typid);

/* Errors that name table and column. */
extern void decode_out_of_range(const ColumnDecoder *decoder);
extern void decode_too_long(const ColumnDecoder *decoder);
extern void decode_would_change(const ColumnDecoder *decoder, const char *what);	/* under strict */

/* ERROR unless bytes are text for SQL. */
extern void decode_check_string(const ColumnDecoder *decoder, BytesView bytes);

/* The strings of a vector's dictionary as varlenas, in CurrentMemoryContext; and whether all are text for SQL. */
extern Datum *decode_dictionary_entries(const ColumnDecoder *decoder, const Vector *vector);
extern bool decode_dictionary_is_valid(const Vector *vector);

/*
 * decode_dictionary.c: the same, kept for the dictionary of these rows; NULL when they are not.
 * is_text: they must be text for SQL.
 */
extern const Datum *decode_kept_entries(const ColumnDecoder *decoder, const Vector *vector, int nrows, bool is_text);

/* ERROR unless the database holds UTF-8. */
extern void decode_require_encoding(const ColumnDecoder *decoder);

/* decode_nested.c: complete the decoder of a type that is nested and shown as array or composite. */
extern void decoder_init_nested(ColumnDecoder *decoder);

/* decode_json.c: the same, shown as jsonb. */
extern void decoder_init_json(ColumnDecoder *decoder);

#endif							/* STREAMHOUSE_FDW_DECODE_H */
