/*
 * simple_stats.h
 *		Avro form of the statistics in manifests and their lists (4.5).
 */
#ifndef STREAMHOUSE_SIMPLE_STATS_H
#define STREAMHOUSE_SIMPLE_STATS_H

#include "format/avro/avro.h"
#include "lake/manifest.h"

extern const AvroLayout simple_stats_layout;

extern void simple_stats_write(StringInfo out, const SimpleStats *stats);
extern SimpleStats simple_stats_copy(const SimpleStats *stats);

/* The Avro schema of a record with this name, as Java writes it. */
#define SIMPLE_STATS_SCHEMA(name) \
	"{\"type\":\"record\",\"name\":\"" name "\",\"fields\":[" \
	"{\"name\":\"_MIN_VALUES\",\"type\":\"bytes\"}," \
	"{\"name\":\"_MAX_VALUES\",\"type\":\"bytes\"}," \
	"{\"name\":\"_NULL_COUNTS\",\"type\":[\"null\",{\"type\":\"array\",\"items\":[\"null\",\"long\"]}],\"default\":null}]}"

/* Parts of schemas: a field that is not null, and one that may be. */
#define AVRO_FIELD(name, type) "{\"name\":\"" name "\",\"type\":" type "}"
#define AVRO_NULLABLE_FIELD(name, type) "{\"name\":\"" name "\",\"type\":[\"null\"," type "],\"default\":null}"

/* Encode a nullable long or int. */
extern void avro_write_nullable_long(StringInfo out, bool present, int64 value);

/* Deep copies into CurrentMemoryContext. */
extern BytesView bytes_copy(BytesView view);
extern List *string_list_copy(const List *list);

#endif							/* STREAMHOUSE_SIMPLE_STATS_H */
