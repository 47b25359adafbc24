/*
 * file_write.c
 *		Writing a Parquet file: row groups, page indexes and the footer.
 */
#include "postgres.h"

#include "format/parquet/parquet.h"
#include "format/parquet/parquet_write.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#define MAGIC_LENGTH 4
#define FIRST_ROW_GROUPS 4
#define ZSTD_LEVEL 1			/* unless the options say */

typedef struct CodecName
{
	const char *name;
	Codec		codec;
	ParquetCodec parquet_codec;
} CodecName;

static const CodecName codec_names[] = {
	{"zstd", CODEC_ZSTD, PARQUET_ZSTD},
	{"snappy", CODEC_SNAPPY, PARQUET_SNAPPY},
	{"lz4", CODEC_LZ4_RAW, PARQUET_LZ4_RAW},
	{"lz4_raw", CODEC_LZ4_RAW, PARQUET_LZ4_RAW},
	{"gzip", CODEC_GZIP, PARQUET_GZIP},
	{"none", CODEC_NONE, PARQUET_UNCOMPRESSED},
	{"uncompressed", CODEC_NONE, PARQUET_UNCOMPRESSED},
};

static void
set_codec(ParquetWriter *writer, const FormatWriteOptions *options)
{
	const char *name = options->compression != NULL ? options->compression : "zstd";

	for (int i = 0; i < lengthof(codec_names); i++)
	{
		if (pg_strcasecmp(codec_names[i].name, name) != 0)
			continue;
		writer->codec = codec_names[i].codec;
		writer->parquet_codec = codec_names[i].parquet_codec;
		if (writer->codec == CODEC_ZSTD)
			writer->level = options->compression_level != 0 ? options->compression_level : ZSTD_LEVEL;
		return;
	}
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("Parquet compression \"%s\" is not supported", name),
			 errhint("Supported are zstd, snappy, lz4, gzip and none.")));
}

/* The caller's fields need not outlive the call. */
static void
add_columns(ParquetWriter *writer, const FormatWriteOptions *options)
{
	int			nleaves = 0;

	for (int i = 0; i < options->ncolumns; i++)
		nleaves += count_leaves(&options->columns[i]);
	writer->leaves = MemoryContextAllocHuge(CurrentMemoryContext, Max(nleaves, 1) * sizeof(ColumnWriter));
	writer->ncolumns = options->ncolumns;
	writer->nodes = palloc0(Max(options->ncolumns, 1) * sizeof(WriteNode));
	for (int i = 0; i < options->ncolumns; i++)
		write_node_init(&writer->nodes[i], writer, &options->columns[i]);
}

FormatWriter *
parquet_create(StorageWriter *file, const FormatWriteOptions *options)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "Parquet writer", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	ParquetWriter *writer = palloc0(sizeof(ParquetWriter));

	writer->context = context;
	writer->row_group_context = AllocSetContextCreate(context, "Parquet row group", ALLOCSET_DEFAULT_SIZES);
	writer->file = file;
	writer->row_group_bytes = options->row_group_bytes != 0 ? options->row_group_bytes : ROW_GROUP_BYTES;
	set_codec(writer, options);
	add_columns(writer, options);
	writer->max_row_groups = FIRST_ROW_GROUPS;
	writer->row_groups = palloc(FIRST_ROW_GROUPS * sizeof(RowGroupFooter));
	writer->slice = palloc(sizeof(ValueSlice));
	initStringInfo(&writer->header);
	byte_buffer_init(&writer->body, context);
	byte_buffer_init(&writer->compressed, context);
	storage_append(file, PARQUET_MAGIC, MAGIC_LENGTH);
	MemoryContextSwitchTo(caller);
	return &writer->base;
}

static RowGroupFooter *
add_row_group(ParquetWriter *writer)
{
	RowGroupFooter *group;

	if (writer->nrow_groups == writer->max_row_groups)
	{
		writer->max_row_groups *= 2;
		writer->row_groups = repalloc_huge(writer->row_groups, writer->max_row_groups * sizeof(RowGroupFooter));
	}
	group = &writer->row_groups[writer->nrow_groups++];
	memset(group, 0, sizeof(RowGroupFooter));
	group->chunks = MemoryContextAllocZero(writer->context, Max(writer->nleaves, 1) * sizeof(ChunkFooter));
	return group;
}

static void
end_row_group(ParquetWriter *writer)
{
	RowGroupFooter *group;

	if (writer->row_group_rows == 0)
		return;
	group = add_row_group(writer);
	group->nrows = writer->row_group_rows;
	group->offset = storage_position(writer->file);
	for (int i = 0; i < writer->nleaves; i++)
	{
		int64		raw_bytes;
		int64		stored_bytes;

		column_writer_end_chunk(&writer->leaves[i], &group->chunks[i], &raw_bytes, &stored_bytes);
		group->raw_bytes += raw_bytes;
		group->stored_bytes += stored_bytes;
	}
	writer->row_group_rows = 0;
	MemoryContextReset(writer->row_group_context);
}

static size_t
buffered_bytes(const ParquetWriter *writer)
{
	size_t		total = 0;

	for (int i = 0; i < writer->nleaves; i++)
		total += column_writer_buffered(&writer->leaves[i]);
	return total;
}

void
parquet_write(FormatWriter *base, Vector *const *columns, const int32 *rows, int nrows)
{
	ParquetWriter *writer = (ParquetWriter *) base;

	for (int first = 0; first < nrows;)
	{
		int			count = Min(Min(nrows - first, SLICE_ROWS), ROW_GROUP_ROWS - (int) writer->row_group_rows);

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < writer->ncolumns; i++)
			write_node_append(&writer->nodes[i], columns[i], rows, first, count);
		first += count;
		writer->row_group_rows += count;
		writer->base.nrows += count;
		if (writer->row_group_rows >= ROW_GROUP_ROWS || buffered_bytes(writer) >= writer->row_group_bytes)
			end_row_group(writer);
	}
}

uint64
parquet_position(FormatWriter *base)
{
	ParquetWriter *writer = (ParquetWriter *) base;
	uint64		position = storage_position(writer->file);

	for (int i = 0; i < writer->nleaves; i++)
		position += column_writer_expected(&writer->leaves[i]);
	return position;
}

/* All column indexes, then all offset indexes, in the order of the chunks. */
static void
write_page_indexes(ParquetWriter *writer)
{
	for (int pass = 0; pass < 2; pass++)
	{
		for (int i = 0; i < writer->nrow_groups * writer->nleaves; i++)
		{
			ChunkFooter *chunk = &writer->row_groups[i / writer->nleaves].chunks[i % writer->nleaves];
			BytesView	index = pass == 0 ? chunk->column_index : chunk->offset_index;

			if (pass == 0)
				chunk->column_index_offset = storage_position(writer->file);
			else
				chunk->offset_index_offset = storage_position(writer->file);
			storage_append(writer->file, index.data, index.length);
		}
	}
}

static void
write_footer(ParquetWriter *writer)
{
	uint32		length;

	resetStringInfo(&writer->header);
	metadata_write_footer(writer, &writer->header);
	length = (uint32) writer->header.len;
	appendBinaryStringInfo(&writer->header, (const char *) &length, sizeof(length));
	appendBinaryStringInfo(&writer->header, PARQUET_MAGIC, MAGIC_LENGTH);
	storage_append(writer->file, writer->header.data, writer->header.len);
}

/* A bound in the type that the column's vectors have. */
static Scalar
bound_for_column(const ColumnWriter *column, const Scalar *bound)
{
	Scalar		result = *bound;

	switch (column->field->type->physical)
	{
		case PHYSICAL_INT8:
			result.v.i8 = column->form.staged == PHYSICAL_INT8 ? bound->v.i8 : (int8) bound->v.i32;
			break;
		case PHYSICAL_INT16:
			result.v.i16 = (int16) bound->v.i32;
			break;
		case PHYSICAL_INT64:
			result.v.i64 = column->form.staged == PHYSICAL_INT64 ? bound->v.i64 : bound->v.i32;
			break;
		default:
			break;
	}
	return scalar_copy(column->field->type, &result);
}

/* Lake tables keep no bounds of binary columns, and nothing of nested ones. */
static void
give_statistics(const WriteNode *node, ColumnStatistics *statistics)
{
	const ColumnWriter *column = node->leaf;
	Scalar		min;
	Scalar		max;

	memset(statistics, 0, sizeof(ColumnStatistics));
	if (column == NULL)
		return;
	statistics->has_null_count = true;
	statistics->null_count = column->file_nulls;
	if (column->form.staged == PHYSICAL_BYTES && !column->form.is_text)
		return;
	if (!value_bounds_get(&column->file_bounds, column->form.staged, &min, &max))
		return;
	statistics->has_min = statistics->has_max = true;
	statistics->min = bound_for_column(column, &min);
	statistics->max = bound_for_column(column, &max);
}

void
parquet_finish(FormatWriter *base, ColumnStatistics *statistics)
{
	ParquetWriter *writer = (ParquetWriter *) base;

	end_row_group(writer);
	write_page_indexes(writer);
	write_footer(writer);
	for (int i = 0; i < writer->ncolumns; i++)
		give_statistics(&writer->nodes[i], &statistics[i]);
	MemoryContextDelete(writer->context);
}
