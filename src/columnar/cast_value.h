/*
 * cast_value.h
 *		What the files of cast have in common: casts of single values.
 */
#ifndef STREAMHOUSE_CAST_VALUE_H
#define STREAMHOUSE_CAST_VALUE_H

#include "columnar/cast.h"

typedef enum CastResult
{
	CAST_DONE,
	CAST_NULL,					/* there is no such value: NULL by rule */
	CAST_FAILED					/* an error by rule */
} CastResult;

/* What casts of values work with. */
typedef struct CastState
{
	const DataType *from;
	const DataType *to;
	StringInfoData text;		/* to print into */
	MemoryContext strings;		/* strings made, emptied before each vector */
	char	   *free;			/* room left in the newest piece of it */
	Size		nfree;
} CastState;

/* Both values are not null; out is zeroed. */
typedef CastResult (*CastValue) (CastState *state, const Scalar *in, Scalar *out);

/* Casts whole vectors of numbers. */
typedef void (*CastLoop) (const Vector *source, const int32 *selection, int nselected, Vector *target);

struct Cast
{
	CastState	state;
	CastLoop	loop;			/* one of these two, or else the parts */
	CastValue	value;
	int		   *sources;		/* by part: which one of the nested type it is from; -1: null */
	Cast	  **parts;			/* by part: how it is cast; NULL: not at all */
};

/* nested types: cast_nested.c */
extern bool cast_nested_is_supported(const DataType *from, const DataType *to);
extern bool cast_nested_is_identity(const DataType *from, const DataType *to);
extern void cast_nested_init(Cast *cast);
extern const char *cast_nested_vector(Cast *cast, const Vector *source, const int32 *selection, int nselected,
									  Vector *target);

/* numbers: cast_number.c */
extern void cast_set_integer(const DataType *type, Scalar *value, int64 integer);	/* narrowing as Java */
extern int128 cast_get_decimal(const DataType *type, const Scalar *value);
extern CastResult cast_set_decimal(const DataType *type, Scalar *value, int128 unscaled, int scale);
extern CastResult cast_integer_to_boolean(CastState *state, const Scalar *in, Scalar *out);
extern CastResult cast_integer_to_decimal(CastState *state, const Scalar *in, Scalar *out);
extern CastResult cast_real_to_decimal(CastState *state, const Scalar *in, Scalar *out);
extern CastResult cast_decimal_to_decimal(CastState *state, const Scalar *in, Scalar *out);
extern CastResult cast_decimal_to_integer(CastState *state, const Scalar *in, Scalar *out);
extern CastResult cast_decimal_to_real(CastState *state, const Scalar *in, Scalar *out);

/* The loop that casts between two types of numbers, NULL if there is none. */
extern CastLoop cast_number_loop(PhysicalType from, PhysicalType to);

/* dates and times: cast_time.c */
#define MILLIS_PER_DAY INT64CONST(86400000)
#define MILLIS_PRECISION 3		/* up to it timestamps count milliseconds */

/* A timestamp as Java has it: milliseconds, and nanoseconds (0 .. 999999) beyond them. */
extern bool cast_set_timestamp(const DataType *type, Scalar *value, int64 millis, int32 nanos);
extern CastResult cast_integer_to_timestamp(CastState *state, const Scalar *in, Scalar *out);
extern CastResult cast_date_to_timestamp(CastState *state, const Scalar *in, Scalar *out);
extern CastResult cast_time_to_timestamp(CastState *state, const Scalar *in, Scalar *out);
extern CastResult cast_timestamp_to_timestamp(CastState *state, const Scalar *in, Scalar *out);
extern CastResult cast_timestamp_to_integer(CastState *state, const Scalar *in, Scalar *out);
extern CastResult cast_timestamp_to_date(CastState *state, const Scalar *in, Scalar *out);
extern CastResult cast_timestamp_to_time(CastState *state, const Scalar *in, Scalar *out);

/* strings and bytes: cast_text.c */
extern bool cast_is_printable(const DataType *type);
extern CastResult cast_print(CastState *state, const Scalar *in, Scalar *out);
extern CastResult cast_bytes_to_string(CastState *state, const Scalar *in, Scalar *out);
extern CastResult cast_string_to_string(CastState *state, const Scalar *in, Scalar *out);
extern CastResult cast_bytes_to_bytes(CastState *state, const Scalar *in, Scalar *out);
extern CastResult cast_parse_boolean(CastState *state, const Scalar *in, Scalar *out);
extern CastResult cast_parse_integer(CastState *state, const Scalar *in, Scalar *out);
extern CastResult cast_parse_real(CastState *state, const Scalar *in, Scalar *out);
extern CastResult cast_parse_decimal(CastState *state, const Scalar *in, Scalar *out);

/* Parse text as a decimal; CAST_NULL when it does not fit the type. */
extern CastResult cast_decimal_from_text(const DataType *type, const char *text, size_t length, Scalar *out);

/* Digits with a sign before and a fraction behind, of which nothing counts. */
extern bool cast_integer_from_text(BytesView text, int64 min, int64 max, int64 *value);

/* dates and times from strings: cast_parse_time.c */
extern CastResult cast_parse_date(CastState *state, const Scalar *in, Scalar *out);
extern CastResult cast_parse_time(CastState *state, const Scalar *in, Scalar *out);
extern CastResult cast_parse_timestamp(CastState *state, const Scalar *in, Scalar *out);

#endif							/* STREAMHOUSE_CAST_VALUE_H */
