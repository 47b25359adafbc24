/*
 * checksum.h
 *		CRC-32 (of gzip, Parquet and Avro), by carry-less multiplication where the processor has it.
 */
#ifndef STREAMHOUSE_CHECKSUM_H
#define STREAMHOUSE_CHECKSUM_H

#include "postgres.h"

extern uint32 checksum_crc32(const void *data, size_t length);

#endif							/* STREAMHOUSE_CHECKSUM_H */
