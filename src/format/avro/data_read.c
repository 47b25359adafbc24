/*
 * data_read.c
 *		Avro container files as batches of columns.
 *
 * Records have to be walked through one after the other.  The first column
 * that is asked for in a batch causes the walk, which notes where the values of
 * the wanted columns are; a value is decoded when its column is read, if its
 * row is selected.  A batch never goes beyond a block, whose bytes stay until
 * the next one is read.
 */
#include "postgres.h"

#include "format/avro/data.h"
#include "miscadmin.h"
#include "utils/memutils.h"

typedef struct DataReader
{
	FormatReader base;
	MemoryContext context;
	AvroReader *container;
	const AvroSchema *record;
	int		   *field_columns;	/* by the record's field: column, or -1 */
	AvroValue **values;			/* by column */
	const char ***places;		/* by column and row: where its value is in the block */
	AvroInput	block;			/* at the first row that was not walked */
	int64		rows_after;		/* rows of the block after the batch */
	bool		walked;			/* the batch? */
	FormatCounters *counters;
	uint64		counted;		/* bytes that went into the counters */
} DataReader;

static int
find_column(const FormatReadOptions *options, const char *name)
{
	for (int i = 0; i < options->ncolumns; i++)
	{
		if (strcmp(options->columns[i].name, name) == 0)
			return i;
	}
	return -1;
}

static void
bind_columns(DataReader *reader, const FormatReadOptions *options, const char *path)
{
	const AvroSchema *record = reader->record;

	reader->field_columns = palloc(Max(record->nchildren, 1) * sizeof(int));
	for (int i = 0; i < record->nchildren; i++)
	{
		int			column = find_column(options, record->field_names[i]);

		reader->field_columns[i] = -1;
		if (column < 0 || reader->base.present[column])
			continue;
		reader->values[column] = avro_value_bind(record->children[i], options->columns[column].type);
		if (reader->values[column] == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("column \"%s\" of file \"%s\" cannot be read as %s",
							record->field_names[i], path, type_to_text(options->columns[column].type)),
					 errdetail("The file's type is %s.", avro_type_text(record->children[i]))));
		reader->field_columns[i] = column;
		reader->base.present[column] = true;
		reader->places[column] = palloc(BATCH_ROWS * sizeof(char *));
	}
}

static FormatReader *
data_open(StorageFile *file, const FormatReadOptions *options)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "Avro data reader", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	const char *path = storage_file_path(file);
	DataReader *reader = palloc0(sizeof(DataReader));

	reader->context = context;
	reader->container = avro_reader_on(file, options->file_size > 0 ? (int64) options->file_size : -1);
	reader->record = avro_reader_schema(reader->container);
	if (reader->record->kind != AVRO_RECORD)
		avro_error(path, "It does not hold records.");
	reader->base.file_rows = options->file_rows;
	reader->base.ncolumns = options->ncolumns;
	reader->base.present = palloc0(Max(options->ncolumns, 1) * sizeof(bool));
	reader->values = palloc0(Max(options->ncolumns, 1) * sizeof(AvroValue *));
	reader->places = palloc0(Max(options->ncolumns, 1) * sizeof(char **));
	reader->counters = options->counters;
	reader->block.path = path;
	bind_columns(reader, options, path);
	MemoryContextSwitchTo(old);
	return &reader->base;
}

/* Step over the batch's records, and note where wanted values are. */
static void
walk_batch(DataReader *reader)
{
	const AvroSchema *record = reader->record;

	CHECK_FOR_INTERRUPTS();
	for (int row = 0; row < reader->base.nrows; row++)
	{
		for (int i = 0; i < record->nchildren; i++)
		{
			int			column = reader->field_columns[i];

			if (column >= 0)
				reader->places[column][row] = reader->block.position;
			avro_skip(&reader->block, record->children[i]);
		}
	}
	reader->walked = true;
	if (reader->rows_after == 0 && reader->block.position != reader->block.end)
		avro_error(reader->block.path, "A block is longer than its records.");
}

static void
count_bytes(DataReader *reader)
{
	uint64		position = avro_reader_position(reader->container);

	if (reader->counters != NULL)
		reader->counters->bytes_read += position - reader->counted;
	reader->counted = position;
}

/* The next block with rows in it; false at the end. */
static bool
next_block(DataReader *reader)
{
	int64		rows_before = reader->base.first_row;

	do
	{
		if (!avro_reader_next(reader->container, &reader->rows_after, &reader->block))
		{
			if (rows_before != reader->base.file_rows)
				avro_error(reader->block.path, "It has %lld rows, but should have %lld.",
						   (long long) rows_before, (long long) reader->base.file_rows);
			return false;
		}
		count_bytes(reader);
		if (reader->rows_after > reader->base.file_rows - rows_before)
			avro_error(reader->block.path, "It has more than the %lld rows that it should have.",
					   (long long) reader->base.file_rows);
	} while (reader->rows_after == 0);
	return true;
}

static bool
data_next(FormatReader *base)
{
	DataReader *reader = (DataReader *) base;

	/* the next batch begins where this one ends; after the block's last one that does not matter */
	if (!reader->walked && reader->rows_after > 0)
		walk_batch(reader);
	base->first_row += base->nrows;
	base->nrows = 0;
	if (reader->rows_after == 0 && !next_block(reader))
		return false;
	base->nrows = (int) Min(reader->rows_after, BATCH_ROWS);
	reader->rows_after -= base->nrows;
	reader->walked = false;
	if (reader->counters != NULL)
		reader->counters->rows_read += base->nrows;
	return true;
}

static void
data_read_column(FormatReader *base, int column, const int32 *selection, int nselected, Vector *out)
{
	DataReader *reader = (DataReader *) base;
	AvroInput	input = reader->block;

	if (!reader->walked)
		walk_batch(reader);
	vector_reset(out);
	if (selection == NULL)
		nselected = base->nrows;
	for (int i = 0; i < nselected; i++)
	{
		int			row = selection == NULL ? i : selection[i];

		input.position = reader->places[column][row];
		avro_value_decode(reader->values[column], &input, out, row);
	}
}

static void
data_close(FormatReader *base)
{
	MemoryContextDelete(((DataReader *) base)->context);
}

/* Only for reading. */
const FormatRoutine avro_format = {
	.name = "avro",
	.open = data_open,
	.next = data_next,
	.read_column = data_read_column,
	.close = data_close,
};
