/*
 * format.c
 *		The table of data file formats, and what all of them have in common.
 */
#include "postgres.h"

#include "format/avro/data.h"
#include "format/blob/blob.h"
#include "format/format.h"
#include "format/orc/orc.h"
#include "format/parquet/parquet.h"

static const FormatRoutine *const formats[] = {
	&parquet_format,
	&orc_format,
	&avro_format,
	&blob_format,
};

const FormatRoutine *
format_lookup(const char *name)
{
	for (int i = 0; i < lengthof(formats); i++)
	{
		if (strcmp(formats[i]->name, name) == 0)
			return formats[i];
	}
	return NULL;
}

FormatReader *
format_open(const FormatRoutine *routine, StorageFile *file, const FormatReadOptions *options)
{
	FormatReader *reader = routine->open(file, options);

	reader->routine = routine;
	if (options->counters != NULL && (options->rows == NULL || options->rows->start == 0))
		options->counters->files++;
	return reader;
}

RowRange
format_rows(const FormatReadOptions *options, int64 file_rows, const char *path)
{
	RowRange	all = {0, file_rows};

	if (options->rows == NULL)
		return all;
	if (options->rows->end > file_rows)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("data file \"%s\" has " INT64_FORMAT " rows, the manifest says more", path, file_rows)));
	return *options->rows;
}

void
row_ranges_clip(RowRange *ranges, int *nranges, int64 start, const RowRange *rows)
{
	int			count = 0;

	for (int i = 0; i < *nranges; i++)
	{
		RowRange	range = {Max(ranges[i].start, rows->start - start), Min(ranges[i].end, rows->end - start)};

		if (range.start < range.end)
			ranges[count++] = range;
	}
	*nranges = count;
}

bool
format_next(FormatReader *reader)
{
	return reader->routine->next(reader);
}

void
format_read_column(FormatReader *reader, int column, const int32 *selection, int nselected, Vector *out)
{
	Assert(column >= 0 && column < reader->ncolumns);
	Assert(out->capacity >= reader->nrows);

	if (reader->present[column])
		reader->routine->read_column(reader, column, selection, nselected, out);
	else
	{
		vector_reset(out);
		vector_set_all_null(out, reader->nrows);
	}
}

void
format_close(FormatReader *reader)
{
	reader->routine->close(reader);
}

int
format_group_statistics(FormatReader *reader, int column, GroupStatistics **out)
{
	if (reader->routine->group_statistics == NULL || !reader->present[column])
		return 0;
	return reader->routine->group_statistics(reader, column, out);
}

FormatWriter *
format_create(const FormatRoutine *routine, StorageWriter *file, const FormatWriteOptions *options)
{
	FormatWriter *writer;

	if (routine->create == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("writing %s files is not supported", routine->name)));
	writer = routine->create(file, options);
	writer->routine = routine;
	return writer;
}

void
format_write(FormatWriter *writer, Vector *const *columns, const int32 *rows, int nrows)
{
	writer->routine->write(writer, columns, rows, nrows);
}

uint64
format_position(FormatWriter *writer)
{
	return writer->routine->position(writer);
}

void
format_finish(FormatWriter *writer, ColumnStatistics *statistics)
{
	writer->routine->finish(writer, statistics);
}
