/*
 * metadata.h
 *		What a Parquet file's metadata says: columns, row groups, chunks.
 *
 * Source: apache/parquet-format, parquet.thrift.  Row groups are decoded one
 * at a time, when the reader comes to them, so that wide files with many of
 * them take no more memory than their encoded metadata.
 */
#ifndef STREAMHOUSE_PARQUET_METADATA_H
#define STREAMHOUSE_PARQUET_METADATA_H

#include "columnar/vector.h"
#include "format/parquet/footer.h"
#include "format/parquet/parquet_format.h"
#include "format/parquet/thrift.h"

/* What a column's values mean: the logical type, or the converted type of old. */
typedef enum ParquetMeaning
{
	PARQUET_MEANING_NONE,
	PARQUET_MEANING_STRING,		/* also enum and JSON */
	PARQUET_MEANING_INTEGER,
	PARQUET_MEANING_DECIMAL,
	PARQUET_MEANING_DATE,
	PARQUET_MEANING_TIME,
	PARQUET_MEANING_TIMESTAMP,
	PARQUET_MEANING_FLOAT16,
	PARQUET_MEANING_OTHER		/* bytes of some kind that we only pass on */
} ParquetMeaning;

typedef enum ParquetTimeUnit
{
	PARQUET_MILLIS,
	PARQUET_MICROS,
	PARQUET_NANOS
} ParquetTimeUnit;

/*
 * A field of the file's schema: a column, or one within.  Levels count, from
 * the root to it: of definition the optional and repeated fields, of
 * repetition the repeated ones.
 */
typedef struct ParquetField
{
	char	   *name;
	bool		flat;			/* a column with one value or null a row */
	int			leaf;			/* number of its chunk, or of its first one, in each row group */
	ParquetRepetition repetition;
	int			max_definition;
	int			max_repetition;
	int			nchildren;		/* 0: it has values, and the rest is set */
	struct ParquetField *children;
	ParquetType type;
	int32		type_length;	/* of fixed length byte arrays */
	ParquetMeaning meaning;
	bool		is_unsigned;	/* of integers */
	int32		scale;			/* of decimals */
	int32		precision;
	ParquetTimeUnit unit;		/* of times and timestamps */
	bool		is_utc;			/* of timestamps: instants */
	bool		has_order;		/* min_value and max_value follow the type's order */
} ParquetField;

/* Bytes point into the footer; data NULL: not there. */
typedef struct ParquetStatistics
{
	BytesView	min_value;
	BytesView	max_value;
	BytesView	old_min;		/* of the deprecated fields, of no defined order */
	BytesView	old_max;
	bool		has_null_count;
	int64		null_count;
} ParquetStatistics;

/* The values of one column in one row group. */
typedef struct ParquetChunk
{
	ParquetType type;
	ParquetCodec codec;
	int64		num_values;
	int64		compressed_size;
	int64		uncompressed_size;
	int64		data_page_offset;
	int64		dictionary_page_offset; /* 0: not said */
	int64		column_index_offset;	/* 0: none, as is offset_index_offset */
	int32		column_index_length;
	int64		offset_index_offset;
	int32		offset_index_length;
	int64		bloom_filter_offset;	/* 0: none */
	ParquetStatistics statistics;
} ParquetChunk;

typedef struct ParquetMetadata
{
	int64		num_rows;
	int			nfields;
	ParquetField *fields;
	int			nleaves;		/* columns of values, nested ones too */
	uint32		nrow_groups;
	uint32		row_groups_left;
	ThriftReader row_groups;	/* before the next one */
} ParquetMetadata;

typedef struct ParquetRowGroup
{
	int64		num_rows;
	ParquetChunk *chunks;		/* nleaves; only those wanted are set */
} ParquetRowGroup;

/* From the bytes of a footer, which it points into; in CurrentMemoryContext. */
extern ParquetMetadata *metadata_decode(const char *footer, uint32 length, const char *path);

/* A reader's own place among the row groups of a file; the fields are shared. */
extern void metadata_begin(ParquetMetadata *metadata, const ParquetFile *file);

/* By name; NULL when there is none. */
extern const ParquetField *parquet_child(const ParquetField *field, const char *name);
extern const ParquetField *metadata_field(const ParquetMetadata *metadata, const char *name);

/*
 * Decode the next row group, the chunks wanted (by leaf) of it; false at the
 * end.  row_group->chunks has room for nleaves.
 */
extern bool metadata_next_row_group(ParquetMetadata *metadata, const bool *wanted, ParquetRowGroup *row_group);

/* Statistics, as they are in chunks and page headers. */
extern void statistics_parse(ThriftReader *reader, ParquetStatistics *statistics);

#endif							/* STREAMHOUSE_PARQUET_METADATA_H */
