/*
 * orc_format.h
 *		Numbers of the ORC format (ORC specification version 1).
 */
#ifndef STREAMHOUSE_ORC_FORMAT_H
#define STREAMHOUSE_ORC_FORMAT_H

#define ORC_MAGIC "ORC"

/* CompressionKind */
typedef enum OrcCompression
{
	ORC_NONE = 0,
	ORC_ZLIB = 1,
	ORC_SNAPPY = 2,
	ORC_LZO = 3,
	ORC_LZ4 = 4,
	ORC_ZSTD = 5,
	ORC_BROTLI = 6
} OrcCompression;

/* Type.Kind */
typedef enum OrcKind
{
	ORC_BOOLEAN = 0,
	ORC_BYTE = 1,
	ORC_SHORT = 2,
	ORC_INT = 3,
	ORC_LONG = 4,
	ORC_FLOAT = 5,
	ORC_DOUBLE = 6,
	ORC_STRING = 7,
	ORC_BINARY = 8,
	ORC_TIMESTAMP = 9,
	ORC_LIST = 10,
	ORC_MAP = 11,
	ORC_STRUCT = 12,
	ORC_UNION = 13,
	ORC_DECIMAL = 14,
	ORC_DATE = 15,
	ORC_VARCHAR = 16,
	ORC_CHAR = 17,
	ORC_TIMESTAMP_INSTANT = 18
} OrcKind;

/* Stream.Kind, those that are read */
typedef enum OrcStreamKind
{
	ORC_STREAM_PRESENT = 0,
	ORC_STREAM_DATA = 1,
	ORC_STREAM_LENGTH = 2,
	ORC_STREAM_DICTIONARY_DATA = 3,
	ORC_STREAM_SECONDARY = 5,
	ORC_STREAM_ROW_INDEX = 6,
	ORC_STREAM_BLOOM_FILTER = 8 /* of UTF-8 strings: the older ones, 7, are of no certain encoding */
} OrcStreamKind;

/* ColumnEncoding.Kind */
typedef enum OrcEncoding
{
	ORC_DIRECT = 0,
	ORC_DICTIONARY = 1,
	ORC_DIRECT_V2 = 2,
	ORC_DICTIONARY_V2 = 3
} OrcEncoding;

/* Footer.writer */
#define ORC_WRITER_JAVA 0

/* PostScript.writerVersion, of the Java writer */
#define ORC_JAVA_HIVE_8732 1	/* statistics of strings and of whole stripes are right */
#define ORC_JAVA_HIVE_13083 4	/* statistics of decimals are of what was written */

/* PostScript.version of the format's unfinished successor: decimals may be integers */
#define ORC_VERSION_UNSTABLE_MAJOR 1

/* Timestamps count seconds from the begin of 2015: as a wall clock, in seconds since 1970 */
#define ORC_TIMESTAMP_EPOCH INT64CONST(1420070400)

#define ORC_MAX_BLOCK_BYTES (8 * 1024 * 1024)	/* of a compressed chunk: its length has 23 bits */

#endif							/* STREAMHOUSE_ORC_FORMAT_H */
