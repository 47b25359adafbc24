/*
 * thrift.h
 *		Thrift's compact protocol, as much of it as Parquet uses.
 */
#ifndef STREAMHOUSE_THRIFT_H
#define STREAMHOUSE_THRIFT_H

#include "postgres.h"

#include "lib/stringinfo.h"

typedef enum ThriftType
{
	THRIFT_STOP = 0,
	THRIFT_TRUE = 1,
	THRIFT_FALSE = 2,
	THRIFT_BYTE = 3,
	THRIFT_I16 = 4,
	THRIFT_I32 = 5,
	THRIFT_I64 = 6,
	THRIFT_DOUBLE = 7,
	THRIFT_BINARY = 8,
	THRIFT_LIST = 9,
	THRIFT_SET = 10,
	THRIFT_MAP = 11,
	THRIFT_STRUCT = 12,
	THRIFT_UUID = 13
} ThriftType;

/* ---- reading (thrift_read.c): bounds-checked; damage is an ERROR naming path ---- */

typedef struct ThriftReader
{
	const uint8 *cursor;
	const uint8 *end;
	const char *path;			/* for errors */
	int			depth;			/* of nested structs, bounded */
	int16		last_field;		/* within the struct being read */
	bool		is_part;		/* there may be more behind the end: that it comes too early is no ERROR, but */
	bool		ran_out;		/* ... this; what is read then is zeros */
} ThriftReader;

extern void thrift_read_init(ThriftReader *reader, const void *data, size_t length, const char *path);

/*
 * Structs: struct_begin saves the field counter, which struct_end restores;
 * between them call field until it returns false, and consume or skip each.
 */
extern int16 thrift_struct_begin(ThriftReader *reader);
extern void thrift_struct_end(ThriftReader *reader, int16 saved);
extern bool thrift_field(ThriftReader *reader, int16 *id, ThriftType *type);
extern void thrift_skip(ThriftReader *reader, ThriftType type);
extern void thrift_expect(ThriftReader *reader, ThriftType type, ThriftType wanted);	/* ERROR if they differ */
extern bool thrift_read_bool(ThriftReader *reader, ThriftType type);	/* a field's bool is in its type */
extern int8 thrift_read_byte(ThriftReader *reader);
extern int64 thrift_read_int(ThriftReader *reader);	/* i16, i32, i64: zigzag varint */
extern int32 thrift_read_i32(ThriftReader *reader); /* checked to fit */
extern const char *thrift_read_binary(ThriftReader *reader, uint32 *length);	/* into the input */
extern char *thrift_read_string(ThriftReader *reader);	/* palloc'd */
extern uint32 thrift_read_list(ThriftReader *reader, ThriftType *element);	/* count, checked against what is left */

/* ---- writing (thrift_write.c) ---- */

typedef struct ThriftWriter
{
	StringInfo	out;
	int16		last_field;
} ThriftWriter;

extern void thrift_write_init(ThriftWriter *writer, StringInfo out);
extern int16 thrift_write_struct_begin(ThriftWriter *writer);	/* as an element or the root */
extern void thrift_write_struct_end(ThriftWriter *writer, int16 saved);
extern int16 thrift_write_struct_field(ThriftWriter *writer, int16 id);	/* field header and begin */
extern void thrift_write_bool_field(ThriftWriter *writer, int16 id, bool value);
extern void thrift_write_byte_field(ThriftWriter *writer, int16 id, int8 value);
extern void thrift_write_i16_field(ThriftWriter *writer, int16 id, int16 value);
extern void thrift_write_i32_field(ThriftWriter *writer, int16 id, int32 value);
extern void thrift_write_i64_field(ThriftWriter *writer, int16 id, int64 value);
extern void thrift_write_binary_field(ThriftWriter *writer, int16 id, const void *data, uint32 length);
extern void thrift_write_list_field(ThriftWriter *writer, int16 id, ThriftType element, uint32 count);
extern void thrift_write_varint(ThriftWriter *writer, uint64 value);	/* unsigned, bare */
extern void thrift_write_zigzag(ThriftWriter *writer, int64 value); /* bare i32/i64 (list elements) */
extern void thrift_write_binary(ThriftWriter *writer, const void *data, uint32 length);	/* bare */
extern void thrift_write_bool(ThriftWriter *writer, bool value);	/* bare (list elements) */

#endif							/* STREAMHOUSE_THRIFT_H */
