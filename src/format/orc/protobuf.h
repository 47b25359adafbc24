/*
 * protobuf.h
 *		Reading Protocol Buffers messages, which ORC's metadata are.
 *
 *		while (proto_next(&message))
 *			switch (message.field)
 *			{
 *				case 1:
 *					length = proto_uint(&message);
 *					break;
 *				...
 *			}
 *
 * Fields that are not asked for are skipped.  Whatever is damaged is an ERROR.
 */
#ifndef STREAMHOUSE_ORC_PROTOBUF_H
#define STREAMHOUSE_ORC_PROTOBUF_H

#include "columnar/vector.h"

typedef struct ProtoReader
{
	const char *path;			/* of the file, for errors */
	const uint8 *cursor;
	const uint8 *end;
	/* the current field, set by proto_next */
	uint32		field;
	uint32		wire_type;
	uint64		number;			/* of varints and fixed ones */
	const uint8 *start;			/* of the value */
	BytesView	bytes;			/* of strings and messages */
} ProtoReader;

extern void proto_init(ProtoReader *reader, const char *path, BytesView message);

/* Move to the next field; false at the end of the message. */
extern bool proto_next(ProtoReader *reader);

/* The current field's value. */
extern uint64 proto_uint(const ProtoReader *reader);
extern uint32 proto_uint32(const ProtoReader *reader);
extern int64 proto_sint(const ProtoReader *reader); /* zigzag */
extern double proto_double(const ProtoReader *reader);
extern BytesView proto_bytes(const ProtoReader *reader);
extern char *proto_string(const ProtoReader *reader);	/* palloc'd, terminated */

/* A message within the message. */
extern void proto_message(const ProtoReader *reader, ProtoReader *message);

/* Numbers of a repeated field: one, or packed ones. */
extern void proto_list(const ProtoReader *reader, ProtoReader *list);
extern bool proto_list_next(ProtoReader *list, uint64 *number);

#endif							/* STREAMHOUSE_ORC_PROTOBUF_H */
