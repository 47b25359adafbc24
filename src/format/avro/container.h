/*
 * container.h
 *		What reading and writing of Avro container files share.
 */
#ifndef STREAMHOUSE_AVRO_CONTAINER_H
#define STREAMHOUSE_AVRO_CONTAINER_H

#include "format/codec.h"

#define AVRO_MAGIC			"Obj\x01"
#define AVRO_MAGIC_LENGTH	4
#define AVRO_SYNC_LENGTH	16

#define AVRO_SNAPPY_CHECKSUM_LENGTH 4

/* CRC-32 of the plain data, which follows snappy's, big endian. */
extern uint32 avro_checksum(const void *data, size_t length);

#endif							/* STREAMHOUSE_AVRO_CONTAINER_H */
