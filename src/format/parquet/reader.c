/*
 * reader.c
 *		Parquet files as batches: row groups, row ranges, columns.
 *
 * Row groups come one after another; their statistics, then their bloom
 * filters and page indexes, leave ranges of rows that may match the predicate.  Batches are cut
 * from these.  A column's pages are only touched when it is read.
 */
#include "postgres.h"

#include "format/parquet/bloom.h"
#include "format/parquet/column_read.h"
#include "format/parquet/nested_read.h"
#include "format/parquet/parquet.h"
#include "format/parquet/part_rows.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* Of all columns together, and of one. */
#define WINDOW_BUDGET_BYTES (8 * 1024 * 1024)
#define MIN_WINDOW_BYTES (256 * 1024)
#define MAX_WINDOW_BYTES (512 * 1024)

/* Batches of long strings or arrays have fewer rows, so that they do not take more than about this. */
#define BATCH_BYTES (32 * 1024 * 1024)
#define ELEMENT_BYTES 16		/* of an element in memory, about */

/* A column that is asked for. */
typedef struct ReaderColumn
{
	const DataType *wanted;
	bool		in_predicate;
	const ParquetField *field;	/* NULL: the file lacks it */
	ParquetColumn *flat;		/* either of the two */
	NestedColumn *nested;
} ReaderColumn;

typedef struct ParquetReader
{
	FormatReader base;
	MemoryContext context;		/* holds all of this */
	MemoryContext group_context;
	MemoryContext batch_context;
	ParquetFile file;
	FormatCounters own_counters;	/* when the caller wants none */
	RowRange	rows;			/* of the file, that are to be read */
	ParquetMetadata metadata;
	bool	   *wanted_leaves;
	const Predicate *predicate;
	List	   *conjuncts;		/* of it */
	ReaderColumn *columns;
	int			nleaves;		/* to be read */
	ParquetColumn **leaves;

	/* the row group */
	ParquetRowGroup row_group;
	bool		in_group;
	int64		group_start;	/* its first row in the file */
	int			batch_rows;
	RowRange   *ranges;
	int			nranges;
	int			range;			/* the one that position is in */
	int64		position;		/* within the row group: the next batch */
} ParquetReader;

/* ---- opening ---- */

static void
add_leaf(ParquetReader *reader, ParquetColumn *leaf)
{
	reader->leaves = repalloc(reader->leaves, (reader->nleaves + 1) * sizeof(ParquetColumn *));
	reader->leaves[reader->nleaves++] = leaf;
	reader->wanted_leaves[leaf->field->leaf] = true;
}

static void
open_flat_column(const NestedSource *source, ReaderColumn *column, const char *name)
{
	if (!column->field->flat)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" of file \"%s\" is nested and cannot be read as %s",
						name, source->file->path, type_to_text(column->wanted))));
	column->flat = palloc(sizeof(ParquetColumn));
	column_init(column->flat, source->file, column->field, name, column->wanted, source->scratch,
				source->batch_context, source->window_bytes);
}

static void
open_columns(ParquetReader *reader, const FormatReadOptions *options)
{
	size_t		window = WINDOW_BUDGET_BYTES / Max(options->ncolumns, 1);
	NestedSource source = {
		.file = &reader->file,
		.scratch = column_scratch_create(),
		.batch_context = reader->batch_context,
		.window_bytes = Max(MIN_WINDOW_BYTES, Min(window, MAX_WINDOW_BYTES))
	};

	for (int i = 0; i < options->ncolumns; i++)
	{
		const DataField *wanted = &options->columns[i];
		ReaderColumn *column = &reader->columns[i];

		column->wanted = wanted->type;
		column->field = metadata_field(&reader->metadata, wanted->name);
		if (column->field == NULL)
			continue;
		reader->base.present[i] = true;
		if (type_is_nested(wanted->type))
		{
			column->nested = nested_column_create(&source, column->field, pstrdup(wanted->name), wanted->type);
			for (int k = 0; k < column->nested->nleaves; k++)
				add_leaf(reader, &column->nested->leaves[k]->column);
		}
		else
		{
			open_flat_column(&source, column, pstrdup(wanted->name));
			add_leaf(reader, column->flat);
		}
	}
}

static void
make_columns(ParquetReader *reader, const FormatReadOptions *options)
{
	int			ncolumns = options->ncolumns;
	bool	   *in_predicate = palloc0(Max(ncolumns, 1) * sizeof(bool));

	reader->base.ncolumns = ncolumns;
	reader->base.present = palloc0(Max(ncolumns, 1) * sizeof(bool));
	reader->columns = palloc0(Max(ncolumns, 1) * sizeof(ReaderColumn));
	reader->leaves = palloc(sizeof(ParquetColumn *));
	reader->wanted_leaves = palloc0(Max(reader->metadata.nleaves, 1) * sizeof(bool));
	reader->predicate = options->predicate;
	if (reader->predicate != NULL)
		predicate_columns(reader->predicate, in_predicate);
	reader->conjuncts = predicate_conjuncts(reader->predicate);
	for (int i = 0; i < ncolumns; i++)
		reader->columns[i].in_predicate = in_predicate[i];
	pfree(in_predicate);
}

static void
choose_part(ParquetReader *reader, const FormatReadOptions *options)
{
	MemoryContext old = MemoryContextSwitchTo(reader->group_context);
	RowRange	rows = format_rows(options, reader->base.file_rows, reader->file.path);

	if (rows.start == 0)
		reader->file.counters->row_groups += reader->metadata.nrow_groups;
	reader->rows = options->rows != NULL && options->rows_may_move ?
		part_rows_align(reader->metadata, reader->wanted_leaves, reader->leaves, reader->nleaves, rows) : rows;
	MemoryContextSwitchTo(old);
	MemoryContextReset(reader->group_context);
}

FormatReader *
parquet_open(StorageFile *file, const FormatReadOptions *options)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "parquet reader", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	ParquetReader *reader = palloc0(sizeof(ParquetReader));

	reader->context = context;
	reader->group_context = AllocSetContextCreate(context, "parquet row group", ALLOCSET_SMALL_SIZES);
	reader->batch_context = AllocSetContextCreate(context, "parquet batch", ALLOCSET_SMALL_SIZES);
	parquet_file_open(&reader->file, file, options->file_size,
					  options->counters != NULL ? options->counters : &reader->own_counters);
	metadata_begin(&reader->metadata, &reader->file);
	make_columns(reader, options);
	open_columns(reader, options);
	reader->row_group.chunks = palloc0(Max(reader->metadata.nleaves, 1) * sizeof(ParquetChunk));
	reader->base.file_rows = reader->metadata.num_rows;
	choose_part(reader, options);
	MemoryContextSwitchTo(old);
	return &reader->base;
}

void
parquet_close(FormatReader *base)
{
	ParquetReader *reader = (ParquetReader *) base;

	MemoryContextDelete(reader->context);
}

/* Look at all row groups ahead; then the reader is where it was. */
int
parquet_group_statistics(FormatReader *base, int column, GroupStatistics **out)
{
	ParquetReader *reader = (ParquetReader *) base;
	const ParquetColumn *flat = reader->columns[column].flat;
	ParquetMetadata metadata = reader->metadata;
	ParquetRowGroup row_group;
	int			ngroups = 0;

	if (flat == NULL || metadata.nrow_groups > MaxAllocSize / sizeof(GroupStatistics))
		return 0;
	row_group.chunks = palloc0(metadata.nleaves * sizeof(ParquetChunk));
	*out = palloc0(Max(metadata.nrow_groups, 1) * sizeof(GroupStatistics));
	while (metadata_next_row_group(&metadata, reader->wanted_leaves, &row_group))
	{
		GroupStatistics *group = &(*out)[ngroups++];

		group->nrows = row_group.num_rows;
		statistics_of_chunk(flat->field, &flat->conversion, flat->wanted,
							&row_group.chunks[flat->field->leaf].statistics, row_group.num_rows,
							&group->statistics);
	}
	pfree(row_group.chunks);
	return ngroups;
}

/* ---- choosing rows ---- */

static const ColumnStatistics *
group_statistics(void *arg, int column)
{
	IndexedColumn *columns = arg;

	return &columns[column].statistics;
}

/* The predicate's columns with their statistics over the row group. */
static IndexedColumn *
describe_columns(ParquetReader *reader)
{
	IndexedColumn *columns = palloc0(Max(reader->base.ncolumns, 1) * sizeof(IndexedColumn));

	for (int i = 0; i < reader->base.ncolumns; i++)
	{
		const ReaderColumn *column = &reader->columns[i];
		IndexedColumn *indexed = &columns[i];

		indexed->wanted = column->wanted;
		indexed->field = column->field;
		if (column->field == NULL)
		{
			indexed->used = column->in_predicate;
			indexed->statistics.has_null_count = true;
			indexed->statistics.null_count = reader->row_group.num_rows;
			continue;
		}
		/* nothing is known of nested columns */
		if (column->flat == NULL)
			continue;
		indexed->used = column->in_predicate;
		indexed->place = &column->flat->place;
		indexed->conversion = &column->flat->conversion;
		indexed->chunk = &reader->row_group.chunks[column->field->leaf];
		if (indexed->used)
			statistics_of_chunk(indexed->field, indexed->conversion, indexed->wanted,
								&indexed->chunk->statistics, reader->row_group.num_rows, &indexed->statistics);
	}
	return columns;
}

/* A row group counts for who reads its first row. */
static bool
group_counts(const ParquetReader *reader)
{
	return reader->group_start >= reader->rows.start;
}

/* The ranges of the row group that may match; false if none of it does. */
static bool
choose_rows(ParquetReader *reader, IndexedColumn *columns)
{
	int64		num_rows = reader->row_group.num_rows;

	if (num_rows == 0 || reader->group_start + num_rows <= reader->rows.start)
		return false;
	if (reader->predicate == NULL)
	{
		if (group_counts(reader))
			reader->file.counters->row_groups_read++;
		reader->ranges = palloc(sizeof(RowRange));
		reader->ranges[0].start = 0;
		reader->ranges[0].end = num_rows;
		reader->nranges = 1;
		row_ranges_clip(reader->ranges, &reader->nranges, reader->group_start, &reader->rows);
		return true;
	}
	if (!predicate_may_match(reader->predicate, num_rows, group_statistics, columns))
		return false;
	if (!bloom_filters_may_match(&reader->file, columns, reader->predicate, num_rows))
	{
		if (group_counts(reader))
			reader->file.counters->bloom_excluded++;
		return false;
	}
	if (group_counts(reader))
		reader->file.counters->row_groups_read++;
	reader->ranges = page_index_ranges(&reader->file, columns, reader->base.ncolumns, reader->predicate,
									   num_rows, &reader->nranges);
	row_ranges_clip(reader->ranges, &reader->nranges, reader->group_start, &reader->rows);
	if (reader->nranges > 0)
		return true;
	for (int i = 0; i < reader->base.ncolumns; i++)
	{
		if (columns[i].offsets != NULL)
			reader->file.counters->pages_skipped += columns[i].offsets->npages;
	}
	return false;
}

/* ---- moving ---- */

/* How many rows a batch may have so that its strings and elements are not too many bytes. */
static int
choose_batch_rows(ParquetReader *reader)
{
	double		bytes = 0;
	double		rows;

	for (int i = 0; i < reader->nleaves; i++)
	{
		const ParquetColumn *leaf = reader->leaves[i];
		const ParquetChunk *chunk = &reader->row_group.chunks[leaf->field->leaf];

		if (leaf->field->max_repetition > 0)
			bytes += (double) chunk->num_values * ELEMENT_BYTES;
		if (leaf->wanted != NULL && leaf->wanted->physical == PHYSICAL_BYTES)
			bytes += chunk->uncompressed_size;
	}
	if (bytes <= 0)
		return BATCH_ROWS;
	rows = BATCH_BYTES / (bytes / reader->row_group.num_rows);
	return (int) Max(1, Min(rows, BATCH_ROWS));
}

static void
end_group(ParquetReader *reader)
{
	if (!reader->in_group)
		return;
	for (int i = 0; i < reader->nleaves; i++)
		column_end_group(reader->leaves[i]);
	reader->group_start += reader->row_group.num_rows;
	reader->in_group = false;
	MemoryContextReset(reader->group_context);
}

static void
begin_leaf(ParquetReader *reader, ParquetColumn *leaf, OffsetIndex *offsets)
{
	column_begin_group(leaf, &reader->row_group.chunks[leaf->field->leaf], reader->row_group.num_rows,
					   reader->ranges, reader->nranges, offsets);
}

static void
begin_group(ParquetReader *reader, const IndexedColumn *indexed)
{
	for (int i = 0; i < reader->base.ncolumns; i++)
	{
		ReaderColumn *column = &reader->columns[i];

		if (column->flat != NULL)
			begin_leaf(reader, column->flat, indexed[i].offsets);
		if (column->nested == NULL)
			continue;
		for (int k = 0; k < column->nested->nleaves; k++)
		{
			begin_leaf(reader, &column->nested->leaves[k]->column, NULL);
			leaf_begin_group(column->nested->leaves[k]);
		}
	}
	reader->batch_rows = choose_batch_rows(reader);
	reader->range = -1;
	reader->in_group = true;
}

/* Go to the next row group that may have matching rows; false at the end. */
static bool
next_group(ParquetReader *reader)
{
	MemoryContext old = MemoryContextSwitchTo(reader->group_context);

	end_group(reader);
	while (reader->group_start < reader->rows.end &&
		   metadata_next_row_group(&reader->metadata, reader->wanted_leaves, &reader->row_group))
	{
		IndexedColumn *indexed = describe_columns(reader);

		CHECK_FOR_INTERRUPTS();
		if (reader->row_group.num_rows > reader->base.file_rows - reader->group_start)
			parquet_damaged(reader->file.path, NULL, "Its row groups have more rows than the file.");
		if (choose_rows(reader, indexed))
		{
			begin_group(reader, indexed);
			break;
		}
		reader->group_start += reader->row_group.num_rows;
		MemoryContextReset(reader->group_context);
	}
	MemoryContextSwitchTo(old);
	if (!reader->in_group && reader->group_start < reader->rows.end)
		parquet_damaged(reader->file.path, NULL, "Its row groups have fewer rows than the file.");
	return reader->in_group;
}

/* Make the range shorter, if the rows that match are found faster than by a look at all; is something left? */
static bool
narrow_range(ParquetReader *reader, RowRange *range)
{
	ListCell   *cell;

	foreach(cell, reader->conjuncts)
	{
		const Predicate *leaf = lfirst(cell);
		ParquetColumn *column = leaf->op == PREDICATE_AND || leaf->op == PREDICATE_OR || leaf->op == PREDICATE_FALSE ?
			NULL : reader->columns[leaf->column].flat;

		/* of files sorted by several columns, the next ones ascend only within one value */
		if (column != NULL && column_search(column, leaf, range))
			break;
	}
	return range->start < range->end;
}

/* Go to the next range with rows; false at the end. */
static bool
next_range(ParquetReader *reader)
{
	do
	{
		while (reader->in_group && ++reader->range < reader->nranges)
		{
			RowRange   *range = &reader->ranges[reader->range];

			if (narrow_range(reader, range))
			{
				reader->position = range->start;
				return true;
			}
		}
	} while (next_group(reader));
	return false;
}

bool
parquet_next(FormatReader *base)
{
	ParquetReader *reader = (ParquetReader *) base;
	int64		left;

	for (int i = 0; i < reader->nleaves; i++)
		column_new_batch(reader->leaves[i]);
	MemoryContextReset(reader->batch_context);
	if ((!reader->in_group || reader->position == reader->ranges[reader->range].end) && !next_range(reader))
	{
		base->nrows = 0;
		return false;
	}
	left = reader->ranges[reader->range].end - reader->position;
	base->first_row = reader->group_start + reader->position;
	base->nrows = (int) Min(left, reader->batch_rows);
	reader->position += base->nrows;
	reader->file.counters->rows_read += base->nrows;
	return true;
}

void
parquet_read_column(FormatReader *base, int column, const int32 *selection, int nselected, Vector *out)
{
	ParquetReader *reader = (ParquetReader *) base;
	ReaderColumn *wanted = &reader->columns[column];
	int64		start = reader->position - base->nrows;

	if (wanted->nested != NULL)
		nested_column_read(wanted->nested, start, base->nrows, selection, nselected, out);
	else
		column_read(wanted->flat, start, base->nrows, selection, nselected, out);
}
