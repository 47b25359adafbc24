/*
 * types.h
 *		Postgres types and values on one side, the lake's on the other.
 *
 * Which SQL type shows a lake type, which lake type a new column gets, and
 * the conversion of values: whole columns of a batch into Datums for scans,
 * one Datum into a Scalar for writing.  How a value is converted is decided
 * once per column.
 *
 * The type table:
 *
 *	BOOLEAN			boolean				CHAR(n)			character(n)
 *	TINYINT			smallint			VARCHAR(n)		character varying(n)
 *	SMALLINT		smallint			STRING			text
 *	INT				integer				BINARY(n), VARBINARY(n), BYTES	bytea
 *	BIGINT			bigint				DATE			date
 *	FLOAT			real				TIME(p)			time(min(p, 3))
 *	DOUBLE			double precision	TIMESTAMP(p)	timestamp(min(p, 6))
 *	DECIMAL(p, s)	numeric(p, s)		TIMESTAMP_LTZ(p) timestamptz(min(p, 6))
 *	ARRAY<t>		array of t's		ROW				jsonb, or a composite type
 *	MAP, MULTISET	jsonb				ARRAY<ARRAY<t>>	jsonb
 *	VARIANT			jsonb				BLOB			bytea
 *
 * A column of any nested type may be declared jsonb, as may the parts of one:
 * elements of arrays, attributes of composite types.
 *
 * Timestamps finer than microseconds are cut to microseconds on their way
 * into SQL.  CHAR values are padded to their length in SQL, and stored
 * without trailing blanks.
 */
#ifndef STREAMHOUSE_FDW_TYPES_H
#define STREAMHOUSE_FDW_TYPES_H

#include "access/tupdesc.h"
#include "fmgr.h"

#include "columnar/vector.h"

/* The SQL type that shows a lake type: of the server's own types, so that of ROW is jsonb. */
extern void sql_type_of_lake(const DataType *type, Oid *typid, int32 *typmod);

/* Does a Postgres array show it: an ARRAY or VECTOR, but not of such? */
extern bool lake_type_is_array(const DataType *type);

/* A composite type's attribute that shows a field of ROW by its name, -1 when it has none. */
extern int	row_attribute(TupleDesc desc, const char *field);

/*
 * The lake type of a new column, in CurrentMemoryContext; domains count as
 * their base type.  ERROR with a hint, naming the column, when there is none.
 */
extern DataType *lake_type_of_sql(const char *column, Oid typid, int32 typmod, bool nullable);

/* Is there one, apart from arrays and composite types? */
extern bool lake_type_exists(Oid typid, int32 typmod);

/* Does an SQL column of this type hold every value of the lake type? */
extern bool sql_type_holds_lake(Oid typid, int32 typmod, const DataType *type);

/* Reading: a column's values in a batch become Datums. */
typedef struct ColumnDecoder ColumnDecoder;
typedef struct KeptDictionary KeptDictionary;
typedef void (*DecodeFunction) (const ColumnDecoder *decoder, const Vector *vector, const int32 *rows, int nrows,
								Datum *values);

struct ColumnDecoder
{
	const char *table;			/* names for messages; the caller's */
	const char *column;			/* of parts the path: "items[].price" */
	const DataType *type;
	int32		typmod;			/* of the SQL column */
	bool		strict;			/* refuse what would not go back into the lake as it was; init sets false */
	DecodeFunction decode;
	KeptDictionary *kept;		/* of strings, or NULL: see column_decoder_keep_dictionaries */

	/* of nested types: decoders of an array's elements, a composite type's attributes, what is in a jsonb */
	int			nparts;
	ColumnDecoder *parts;
	const int  *fields;			/* of attributes: the parts of the lake's type, -1 if dropped */
	TupleDesc	desc;			/* composite types */
	Oid			typid;			/* of the SQL type, how its values are passed */
	int16		typlen;
	bool		typbyval;
	char		typalign;
};

/* typid, typmod: of the SQL column; sql_type_holds_lake must be true of them.  In CurrentMemoryContext. */
extern void column_decoder_init(ColumnDecoder *decoder, const char *table, const char *column,
								const DataType *type, Oid typid, int32 typmod);
extern void column_decoder_set_strict(ColumnDecoder *decoder);

/*
 * For who decodes a column slice by slice: strings of a dictionary are made once.  They
 * live until rows of another dictionary are decoded.  Allocates in CurrentMemoryContext.
 */
extern void column_decoder_keep_dictionaries(ColumnDecoder *decoder);

/*
 * Decode nrows rows of the vector (rows NULL: the first ones) into values and
 * isnull.  What is passed by reference is allocated in CurrentMemoryContext,
 * in a few large pieces.  ERROR, naming table and column, for what SQL cannot
 * hold: dates out of range, strings that are not UTF-8 or hold a zero byte.
 */
extern void column_decode(const ColumnDecoder *decoder, const Vector *vector, const int32 *rows, int nrows,
						  Datum *values, bool *isnull);

/* The same for nrows consecutive rows from one on. */
extern void column_decode_range(const ColumnDecoder *decoder, const Vector *vector, int first, int nrows,
								Datum *values, bool *isnull);

/* Writing: a Datum becomes a Scalar. */
typedef struct ColumnEncoder ColumnEncoder;
typedef void (*EncodeFunction) (const ColumnEncoder *encoder, Datum value, Scalar *out);
typedef void (*FillFunction) (const ColumnEncoder *encoder, Datum value, Vector *target, int row);

/* What becomes of infinity and NaN where the lake type has none. */
typedef enum UnrepresentablePolicy
{
	UNREPRESENTABLE_ERROR,
	UNREPRESENTABLE_NULL,
	UNREPRESENTABLE_CLAMP		/* dates and timestamps into the years 1 to 9999; the rest as NULL */
} UnrepresentablePolicy;

struct ColumnEncoder
{
	const char *table;
	const char *column;
	const DataType *type;
	Oid			typid;			/* base type of the SQL column */
	EncodeFunction encode;
	UnrepresentablePolicy policy;
	const char *hint;
	FmgrInfo   *output;			/* of column_encoder_init_text */

	/* of nested types, as in ColumnDecoder */
	FillFunction fill;			/* NULL for others */
	int			nparts;
	ColumnEncoder *parts;
	const int  *fields;
	TupleDesc	desc;
	int16		typlen;
	bool		typbyval;
	char		typalign;

	/* of values within a jsonb: how their text is read */
	FmgrInfo   *input;
	Oid			input_parameter;
};

/*
 * The same, for a Datum of type typid, in CurrentMemoryContext.  ERROR when the
 * lake type cannot take values of that type at all.
 */
extern void column_encoder_init(ColumnEncoder *encoder, const char *table, const char *column,
								const DataType *type, Oid typid);

/*
 * The same for a STRING column that takes Datums of any type, as the type's
 * output function prints them; or for one of ARRAY<STRING> that takes arrays
 * of any type.  What the function needs is allocated in
 * CurrentMemoryContext and lives as long as the encoder.
 */
extern void column_encoder_init_text(ColumnEncoder *encoder, const char *table, const char *column,
									 const DataType *type, Oid typid);

/* What to do with infinity and NaN, and the hint if it is an error; init sets that. */
extern void column_encoder_set_policy(ColumnEncoder *encoder, UnrepresentablePolicy policy, const char *hint);

/*
 * Encode one value.  Bytes of the result point into the datum, or into its
 * detoasted copy in CurrentMemoryContext, where nested values are made, too.  Finer fractions are rounded as an
 * SQL assignment does.  ERROR, naming table and column, for what the lake type
 * cannot hold: out of range, too long, infinity, NaN of a decimal, NULL where
 * the column is NOT NULL.
 */
extern void column_encode(const ColumnEncoder *encoder, Datum value, bool isnull, Scalar *out);

#endif							/* STREAMHOUSE_FDW_TYPES_H */
