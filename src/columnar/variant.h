/*
 * variant.h
 *		VARIANT's binary form: metadata (a dictionary of names) and a value.
 *
 * It is the Variant encoding of Parquet, which Spark and Paimon share.  All
 * numbers are little-endian.
 */
#ifndef STREAMHOUSE_VARIANT_H
#define STREAMHOUSE_VARIANT_H

#include "lib/stringinfo.h"

#include "columnar/vector.h"

/* Neither part of a value may be larger, to Java. */
#define VARIANT_MAX_SIZE (16 * 1024 * 1024)

/* ---- reading: functions are false for what is damaged ---- */

typedef struct VariantMetadata
{
	const char *offsets;		/* count + 1 of them */
	int			offset_size;
	uint32		count;
	BytesView	names;			/* all of them */
} VariantMetadata;

typedef enum VariantKind
{
	VARIANT_NULL,
	VARIANT_BOOLEAN,			/* integer */
	VARIANT_INTEGER,
	VARIANT_FLOAT,				/* number */
	VARIANT_DOUBLE,				/* number */
	VARIANT_DECIMAL,			/* unscaled, scale */
	VARIANT_STRING,				/* bytes */
	VARIANT_BINARY,				/* bytes */
	VARIANT_UUID,				/* bytes, 16 of them */
	VARIANT_DATE,				/* integer: days since 1970 */
	VARIANT_TIME,				/* integer: micros of the day */
	VARIANT_TIMESTAMP,			/* integer: micros, or nanos, since 1970 */
	VARIANT_TIMESTAMP_LTZ,
	VARIANT_ARRAY,
	VARIANT_OBJECT
} VariantKind;

typedef struct VariantValue
{
	VariantKind kind;
	bool		is_nanos;		/* of timestamps */
	int64		integer;
	double		number;
	int128		unscaled;
	int			scale;
	BytesView	bytes;
	const char *start;
	uint32		size;			/* bytes of the value, whatever follows it */
	uint32		id;				/* of a member of an object: its name's number */

	/* arrays and objects */
	uint32		count;
	const char *ids;			/* of objects: names by number */
	const char *offsets;
	int			id_size;
	int			offset_size;
	BytesView	members;		/* all of them */
	uint64		members_read;	/* bytes of those that variant_member gave */
} VariantValue;

extern bool variant_read_metadata(BytesView bytes, VariantMetadata *metadata);
extern bool variant_metadata_name(const VariantMetadata *metadata, uint32 id, BytesView *name);
extern bool variant_read(BytesView bytes, VariantValue *value);

/*
 * Member i of an array or object, name only of an object's.  To be called once
 * for each: members that share bytes, so that they are more than the value is
 * long, are found damaged.
 */
extern bool variant_member(VariantValue *container, const VariantMetadata *metadata, uint32 i, BytesView *name,
						   VariantValue *member);

/* ---- building ---- */

/* The names of all objects within a value, sorted, once each. */
typedef struct VariantNames
{
	int			count;
	int			capacity;
	BytesView  *names;
} VariantNames;

extern void variant_add_name(VariantNames *names, BytesView name);
extern void variant_finish_names(VariantNames *names);	/* once all are added */
extern int	variant_name_id(const VariantNames *names, BytesView name);	/* -1: it is not one of them */
extern void variant_append_metadata(StringInfo out, const VariantNames *names);

extern void variant_append_null(StringInfo out);
extern void variant_append_boolean(StringInfo out, bool value);
extern void variant_append_integer(StringInfo out, int64 value);
extern void variant_append_float(StringInfo out, float value);
extern void variant_append_double(StringInfo out, double value);
extern void variant_append_decimal(StringInfo out, int128 unscaled, int scale);	/* of at most 38 digits */
extern void variant_append_string(StringInfo out, BytesView value);
extern void variant_append_binary(StringInfo out, BytesView value);
extern void variant_append_date(StringInfo out, int32 days);
extern void variant_append_timestamp(StringInfo out, int64 value, bool is_ltz, bool is_nanos);

/* A member of an array or object that is being built. */
typedef struct VariantMember
{
	int			id;				/* of the name, in objects */
	uint32		offset;			/* from the beginning of the members */
	BytesView	name;			/* for those who sort by it */
} VariantMember;

/*
 * What was appended since start are the members: put the container's head
 * before them.  An object's are sorted by id, as the names of VariantNames
 * are; if the metadata's are not, the caller sorts by name.
 */
extern void variant_finish_array(StringInfo out, int start, const VariantMember *members, int count);
extern void variant_finish_object(StringInfo out, int start, VariantMember *members, int count);
extern void variant_finish_sorted_object(StringInfo out, int start, const VariantMember *members, int count);

#endif							/* STREAMHOUSE_VARIANT_H */
