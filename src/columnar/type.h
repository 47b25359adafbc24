/*
 * type.h
 *		Paimon's data types, and how the values of each lie in memory.
 *
 * Source: paimon format digest sections 2.2 (type texts) and 2.3 (field ids).
 */
#ifndef STREAMHOUSE_TYPE_H
#define STREAMHOUSE_TYPE_H

#include "postgres.h"

#include "lib/stringinfo.h"

typedef enum TypeRoot
{
	TYPE_BOOLEAN,
	TYPE_TINYINT,
	TYPE_SMALLINT,
	TYPE_INT,
	TYPE_BIGINT,
	TYPE_FLOAT,
	TYPE_DOUBLE,
	TYPE_DECIMAL,
	TYPE_CHAR,
	TYPE_VARCHAR,				/* STRING = VARCHAR(2147483647) */
	TYPE_BINARY,
	TYPE_VARBINARY,				/* BYTES = VARBINARY(2147483647) */
	TYPE_DATE,
	TYPE_TIME,
	TYPE_TIMESTAMP,
	TYPE_TIMESTAMP_LTZ,
	TYPE_VARIANT,
	TYPE_BLOB,
	TYPE_ARRAY,
	TYPE_MULTISET,
	TYPE_MAP,
	TYPE_ROW,
	TYPE_VECTOR
} TypeRoot;

#define TYPE_MAX_LENGTH 2147483647	/* of VARCHAR and VARBINARY: STRING, BYTES */
#define TYPE_MAX_DECIMAL_PRECISION 38

/*
 * How values lie in memory:
 *
 *	PHYSICAL_INT8	BOOLEAN (0, 1), TINYINT
 *	PHYSICAL_INT16	SMALLINT
 *	PHYSICAL_INT32	INT, DATE (days since 1970-01-01), TIME (millis of day)
 *	PHYSICAL_INT64	BIGINT, DECIMAL p <= 18 (unscaled), TIMESTAMP(_LTZ)
 *					p <= 3 (millis since epoch) and p <= 6 (micros)
 *	PHYSICAL_INT128 DECIMAL p > 18 (unscaled), TIMESTAMP(_LTZ) p > 6 (nanos)
 *	PHYSICAL_FLOAT, PHYSICAL_DOUBLE
 *	PHYSICAL_BYTES	CHAR, VARCHAR (UTF-8), BINARY, VARBINARY, BLOB as BytesView
 *	PHYSICAL_LIST	ARRAY, VECTOR: a run of elements of one vector beside;
 *					MAP, MULTISET: a run in two of them, keys and values (the
 *					values of MULTISET are INT counts)
 *	PHYSICAL_ROW	ROW: nothing but a vector for each field beside; VARIANT:
 *					the same, of the binary fields "value" and "metadata"
 */
typedef enum PhysicalType
{
	PHYSICAL_INT8,
	PHYSICAL_INT16,
	PHYSICAL_INT32,
	PHYSICAL_INT64,
	PHYSICAL_INT128,
	PHYSICAL_FLOAT,
	PHYSICAL_DOUBLE,
	PHYSICAL_BYTES,
	PHYSICAL_LIST,
	PHYSICAL_ROW
} PhysicalType;

struct DataField;

typedef struct DataType
{
	TypeRoot	root;
	bool		nullable;
	PhysicalType physical;		/* follows from root and precision */
	int32		length;			/* CHAR, VARCHAR, BINARY, VARBINARY, VECTOR */
	int32		precision;		/* DECIMAL, TIME, TIMESTAMP(_LTZ) */
	int32		scale;			/* DECIMAL */
	/* children: ARRAY/MULTISET/VECTOR element; MAP key, value; ROW fields */
	int			nchildren;
	struct DataField *children; /* for ARRAY and MAP only the type is set */
} DataType;

typedef struct DataField
{
	int32		id;
	char	   *name;
	DataType   *type;
	char	   *description;	/* NULL when there is none */
	char	   *default_value;	/* NULL when there is none */
	bool		unused;			/* of ROW, in a type to be read as: nobody looks at it, so it may come as null */
} DataField;

/* Size in bytes of one value of a physical type, without what it refers to; of ROW 0. */
extern size_t physical_size(PhysicalType physical);

/* The physical type that root and precision give. */
extern PhysicalType type_physical(TypeRoot root, int32 precision);

/* Make an atomic type in CurrentMemoryContext; pass 0 for what does not apply. */
extern DataType *type_make(TypeRoot root, int32 length_or_precision, int32 scale, bool nullable);

/* Make a nested type whose children are to be filled in. */
extern DataType *type_make_nested(TypeRoot root, int nchildren, bool nullable);

/*
 * Parse an atomic type's SQL text, e.g. "DECIMAL(10, 2) NOT NULL" (section
 * 2.2: aliases and defaults included).  NULL when it is not an atomic type.
 */
extern DataType *type_parse_atomic(const char *text);

/* The text as Paimon writes it into schema files, " NOT NULL" included. */
extern char *type_to_text(const DataType *type);

/* For messages: nested types with the types they are made of, "ARRAY<INT NOT NULL>". */
extern char *type_describe(const DataType *type);

/* Equal in everything but nullability. */
extern bool type_equal(const DataType *a, const DataType *b);

/*
 * The vectors beside a vector of a nested type: how many, and the field that
 * each holds (of fields of ROW and VARIANT with the name, else only the type).
 */
extern int	type_part_count(const DataType *type);
extern const DataField *type_part(const DataType *type, int part);

extern bool type_is_nested(const DataType *type);	/* has parts */
extern bool type_is_primitive(const DataType *type);	/* may be in keys: neither nested nor BLOB */
extern bool type_is_supported(const DataType *type);	/* of columns of tables that SQL may read and write */
extern bool type_is_string(const DataType *type);	/* CHAR, VARCHAR */

/* TINYINT to BIGINT? */
static inline bool
type_is_integer(const DataType *type)
{
	return type->root >= TYPE_TINYINT && type->root <= TYPE_BIGINT;
}

#endif							/* STREAMHOUSE_TYPE_H */
