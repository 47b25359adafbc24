/*
 * encode.h
 *		What encode.c, encode_nested.c, encode_json.c and encode_variant.c share.
 */
#ifndef STREAMHOUSE_FDW_ENCODE_H
#define STREAMHOUSE_FDW_ENCODE_H

#include "utils/jsonb.h"

#include "fdw/types.h"

/* Errors that name table and column. */
extern void encode_out_of_range(const ColumnEncoder *encoder);
extern void encode_too_long(const ColumnEncoder *encoder);
extern void encode_mismatch(const ColumnEncoder *encoder, Oid typid);	/* when encoders are made */

/* ERROR unless the database holds UTF-8. */
extern void encode_require_encoding(const ColumnEncoder *encoder);

/* Encode into a row of a vector that had nothing there. */
extern void encode_into(const ColumnEncoder *encoder, Datum value, bool isnull, Vector *target, int row);

/* ---- encode_nested.c ---- */

typedef void (*EncoderInit) (ColumnEncoder *encoder, const char *table, const char *column, const DataType *type,
							 Oid typid);

/* Complete an encoder that takes arrays, whose elements' encoder is made by the function; or composite values. */
extern void encoder_init_array(ColumnEncoder *encoder, EncoderInit init_element);
extern void encoder_init_row(ColumnEncoder *encoder);

/* A list of count elements, which are to be encoded: returns where they begin. */
extern int32 encode_list(const ColumnEncoder *encoder, Vector *target, int row, int64 count);

/* ---- encode_json.c ---- */

/* The same, of one that takes jsonb. */
extern void encoder_init_json(ColumnEncoder *encoder);

/* ---- encode_variant.c ---- */

extern void encode_variant(const ColumnEncoder *encoder, const JsonbValue *value, Vector *target, int row);

#endif							/* STREAMHOUSE_FDW_ENCODE_H */
