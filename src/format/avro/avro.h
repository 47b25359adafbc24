/*
 * avro.h
 *		Avro object container files: reading into structs, and writing.
 *
 * A file brings its own schema.  A reader says by a layout which fields it
 * wants and where in a struct they go; binding the layout to the file's schema
 * gives a plan by which records are decoded: wanted fields are found by name,
 * the others are skipped.
 */
#ifndef STREAMHOUSE_AVRO_H
#define STREAMHOUSE_AVRO_H

#include "columnar/vector.h"
#include "format/codec.h"
#include "lib/stringinfo.h"
#include "storage/storage.h"

typedef enum AvroKind
{
	AVRO_NULL,
	AVRO_BOOLEAN,
	AVRO_INT,
	AVRO_LONG,
	AVRO_FLOAT,
	AVRO_DOUBLE,
	AVRO_BYTES,
	AVRO_STRING,
	AVRO_FIXED,
	AVRO_ENUM,
	AVRO_ARRAY,
	AVRO_MAP,
	AVRO_UNION,
	AVRO_RECORD
} AvroKind;

typedef struct AvroSchema
{
	AvroKind	kind;
	char	   *full_name;		/* of records, enums and fixed */
	char	   *logical_type;	/* or NULL */
	int32		precision;		/* of decimals */
	int32		scale;
	uint32		fixed_size;
	int			nsymbols;		/* of enums */
	int			nchildren;		/* items, values, branches, fields */
	struct AvroSchema **children;
	char	  **field_names;	/* of records */
} AvroSchema;

/* ERRCODE_DATA_CORRUPTED names path. */
extern AvroSchema *avro_schema_parse(const char *json, size_t length, const char *path);

/*
 * Look through a union of null and one other type: *null_branch is set, and
 * the other type returned.  Else it is -1.
 */
extern const AvroSchema *avro_strip_null(const AvroSchema *schema, int *null_branch);

/* Encoded bytes, of which position is the next. */
typedef struct AvroInput
{
	const char *position;
	const char *end;
	const char *path;			/* for messages */
} AvroInput;

extern int64 avro_read_long(AvroInput *input);
extern int32 avro_read_int(AvroInput *input);
extern BytesView avro_read_bytes(AvroInput *input); /* a view into the input */
extern const char *avro_read_fixed(AvroInput *input, uint64 length);	/* the same */
extern bool avro_read_null(AvroInput *input, int null_branch);	/* of a union, -1: there is none */
extern int64 avro_read_item_count(AvroInput *input);	/* of the next piece of an array, 0: no more */
extern void avro_skip(AvroInput *input, const AvroSchema *schema);

/* Report damaged data. */
#define avro_error(path, ...) \
	ereport(ERROR, \
			(errcode(ERRCODE_DATA_CORRUPTED), \
			 errmsg("Avro file \"%s\" is damaged", path), \
			 errdetail(__VA_ARGS__)))

/* Where a field goes, and how it is kept there. */
typedef enum AvroTarget
{
	AVRO_TO_INT32,
	AVRO_TO_INT64,
	AVRO_TO_STRING,				/* char *, palloc'd */
	AVRO_TO_BYTES,				/* BytesView into the input */
	AVRO_TO_STRING_LIST,		/* List of char * */
	AVRO_TO_INT64_ARRAY,		/* int64 *, with an int for the length; -1 for null elements */
	AVRO_TO_RECORD,				/* a struct, by its own layout */
	AVRO_TO_RECORD_LIST			/* List of palloc'd structs; null elements are left out */
} AvroTarget;

typedef struct AvroField
{
	const char *name;
	AvroTarget	target;
	size_t		offset;			/* in the struct */
	size_t		flag;			/* offset of a bool: is the field not null? AVRO_NO_OFFSET: none */
	size_t		count;			/* of AVRO_TO_INT64_ARRAY: offset of the length, an int */
	bool		optional;		/* may be null, or lack: then all of its target is zero */
	const struct AvroLayout *record;	/* of AVRO_TO_RECORD, _LIST */
	const char *column_type;	/* in files of other formats, if not what the target says */
} AvroField;

typedef struct AvroLayout
{
	size_t		size;			/* of the struct */
	int			nfields;
	const AvroField *fields;
} AvroLayout;

#define AVRO_NO_OFFSET SIZE_MAX

typedef struct AvroPlan AvroPlan;

/* ERROR when a field has another type, or lacks and is not optional. */
extern AvroPlan *avro_bind(const AvroSchema *schema, const AvroLayout *layout, const char *path);

/* Does the file have fields that the layout does not name? */
extern bool avro_plan_skips(const AvroPlan *plan);

/* Decode one record into a struct, in CurrentMemoryContext. */
extern void avro_decode(const AvroPlan *plan, AvroInput *input, void *target);

/* Reading container files */
typedef struct AvroReader AvroReader;

/*
 * Open in CurrentMemoryContext.  size: the file's size as metadata has it,
 * -1 unknown; a file of another size is damaged.
 */
extern AvroReader *avro_reader_open(const char *path, int64 size);

/* The same over a file that is open, and stays the caller's. */
extern AvroReader *avro_reader_on(StorageFile *file, int64 size);
extern const AvroSchema *avro_reader_schema(const AvroReader *reader);

/*
 * The next block's records, count of them; false at the end.  The bytes stay
 * until the next call.
 */
extern bool avro_reader_next(AvroReader *reader, int64 *count, AvroInput *input);

/* Bytes read from the file so far. */
extern uint64 avro_reader_position(const AvroReader *reader);
extern void avro_reader_close(AvroReader *reader);

/* Call back for each record of a file, decoded by layout; what it gets lives only for the call. */
typedef void (*AvroRecordCallback) (void *record, void *arg);
extern void avro_read_file(const char *path, int64 size, const AvroLayout *layout,
						   AvroRecordCallback callback, void *arg);

/* Encoding */
extern void avro_write_long(StringInfo out, int64 value);
extern void avro_write_bytes(StringInfo out, const void *data, size_t length);
extern void avro_write_string(StringInfo out, const char *text);

/* Writing container files */
typedef struct AvroWriter AvroWriter;

/* Codec by Paimon's or Avro's name: "zstd", "zstandard", "snappy", "deflate", "none", "null". */
extern AvroWriter *avro_writer_create(const char *path, const char *schema_json, const char *codec, int level);

/* Encode a record here, then say that it is complete. */
extern StringInfo avro_writer_buffer(AvroWriter *writer);
extern void avro_writer_end_record(AvroWriter *writer);

/* Bytes written and buffered so far; for rolling. */
extern uint64 avro_writer_position(const AvroWriter *writer);

/* Finish, durable; the file's size.  A writer not finished leaves no file. */
extern uint64 avro_writer_finish(AvroWriter *writer);

#endif							/* STREAMHOUSE_AVRO_H */
