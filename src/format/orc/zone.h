/*
 * zone.h
 *		Time zones by name, from the system's database.
 *
 * ORC's timestamps are counted in the time zone of the writer, which the file
 * only names.
 */
#ifndef STREAMHOUSE_ORC_ZONE_H
#define STREAMHOUSE_ORC_ZONE_H

#include "format/orc/orc_file.h"

typedef struct Zone Zone;

/* NULL for UTC; else lies in CurrentMemoryContext.  ERROR if it is not known. */
extern Zone *zone_load(const OrcPlace *place, const char *name);

/* Seconds east of UTC at an instant in seconds since 1970. */
extern int64 zone_offset(Zone *zone, int64 instant);

#endif							/* STREAMHOUSE_ORC_ZONE_H */
