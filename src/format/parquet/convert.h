/*
 * convert.h
 *		From the values of a Parquet column to those of the type wanted.
 *
 * Source: format digest section 6.4.  Values come in native form (decode.h),
 * dense, and leave in the physical form of columnar/type.h.
 */
#ifndef STREAMHOUSE_PARQUET_CONVERT_H
#define STREAMHOUSE_PARQUET_CONVERT_H

#include "format/parquet/decode.h"
#include "format/parquet/metadata.h"

/* False if a value does not fit into the type wanted. */
struct Conversion;
typedef bool (*ConvertValues) (const struct Conversion *conversion, const void *native, int count, void *out);

typedef struct Conversion
{
	ConvertValues convert;		/* NULL: native and wanted form are the same */
	int64		multiplier;		/* of times, when the wanted unit is finer; else 1 */
	int64		divisor;		/* when it is coarser; rounds down */
	int64		minimum;		/* of integers */
	int64		maximum;
	bool		is_unsigned;
} Conversion;

/*
 * How a file's column becomes the type wanted.  ERROR, naming path and
 * column, when it cannot.
 */
extern void conversion_init(Conversion *conversion, const ParquetPlace *place, const ParquetField *field,
							const DataType *wanted);

/* Convert, with an ERROR for values that do not fit. */
extern void conversion_apply(const Conversion *conversion, const ParquetPlace *place, const DataType *wanted,
							 const void *native, int count, void *out);

/* A file's type in words, for errors; palloc'd. */
extern char *parquet_field_type_text(const ParquetField *field);

#endif							/* STREAMHOUSE_PARQUET_CONVERT_H */
