/*
 * record.h
 *		Files of records, read into structs: Avro, or a columnar format.
 */
#ifndef STREAMHOUSE_RECORD_H
#define STREAMHOUSE_RECORD_H

#include "format/avro/avro.h"

/* Is it an Avro container file, as its first bytes say? */
extern bool record_file_is_avro(const char *path);

/*
 * Call back for each record of a file, decoded by layout; what it gets lives
 * only for the call.  size as for avro_reader_open.
 */
extern void record_read_file(const char *path, int64 size, const AvroLayout *layout,
							 AvroRecordCallback callback, void *arg);

#endif							/* STREAMHOUSE_RECORD_H */
