/*
 * damage_file.c
 *		Damaged data files, read in every way that readers have.
 */
#include "postgres.h"

#include "damage.h"
#include "format/format.h"
#include "storage/cache.h"
#include "utils/memutils.h"

#define MAX_COLUMNS 24
#define MAX_BATCHES 64			/* a damaged file may have any number of rows */
#define CACHE_KB 1024

typedef struct DataFile
{
	const char *format;
	int			ncolumns;
	const DataField *columns;
	int64		nrows;
	uint64		sum;			/* of what was read */
} DataFile;

int
damage_columns(const char *const *names_and_types, DataField *columns)
{
	int			count = 0;

	for (; names_and_types[2 * count] != NULL; count++)
	{
		columns[count].name = pstrdup(names_and_types[2 * count]);
		columns[count].type = type_parse_atomic(names_and_types[2 * count + 1]);
	}
	return count;
}

/* Look at all bytes of a value. */
static void
touch_value(DataFile *file, const Vector *vector, int row)
{
	Scalar		value = vector_get(vector, row);

	if (value.isnull)
		return;
	switch (vector->type->physical)
	{
		case PHYSICAL_BYTES:
			for (uint32 i = 0; i < value.v.bytes.length; i++)
				file->sum += (unsigned char) value.v.bytes.data[i];
			break;
		case PHYSICAL_LIST:
			for (int k = 0; k < vector->values.list[row].length; k++)
				for (int i = 0; i < vector->nchildren; i++)
					touch_value(file, vector->children[i], vector->values.list[row].start + k);
			break;
		case PHYSICAL_ROW:
			for (int i = 0; i < vector->nchildren; i++)
				touch_value(file, vector->children[i], row);
			break;
		default:
			file->sum += value.v.i8;
	}
}

/* Rows of the batch, few or many; NULL: all. */
static int32 *
random_selection(int nrows, int32 *selection, int *nselected)
{
	int			step = unit_random_below(3) == 0 ? 1 + nrows / 2 : 1 + unit_random_below(40);

	*nselected = 0;
	if (unit_random_below(3) == 0)
	{
		*nselected = nrows;
		return NULL;
	}
	for (int row = unit_random_below(step); row < nrows; row += 1 + unit_random_below(step))
		selection[(*nselected)++] = row;
	return selection;
}

/* One that many rows satisfy, or a comparison with a random value; NULL: none. */
static Predicate *
random_predicate(const DataFile *file)
{
	static const PredicateOp ops[] = {PREDICATE_EQ, PREDICATE_LT, PREDICATE_GE, PREDICATE_IN, PREDICATE_NE};
	int			column = unit_random_below(file->ncolumns);
	const DataType *type = file->columns[column].type;
	Scalar	   *values = palloc(2 * sizeof(Scalar));
	PredicateOp op = ops[unit_random_below(lengthof(ops))];

	if (type_is_nested(type) || unit_random_below(3) == 0)
		return NULL;
	if (unit_random_below(2))
		return predicate_leaf(unit_random_below(2) ? PREDICATE_IS_NOT_NULL : PREDICATE_IS_NULL, column, type, NULL, 0);
	for (int i = 0; i < 2; i++)
		while ((values[i] = unit_random_scalar(type)).isnull)
			;
	return predicate_leaf(op, column, type, values, op == PREDICATE_IN ? 2 : 1);
}

/* Some rows, often few, so that pages are read in part. */
static const RowRange *
random_range(const DataFile *file)
{
	RowRange   *range = palloc(sizeof(RowRange));
	int64		count = 1 + unit_random_below(unit_random_below(2) ? 4 : file->nrows);

	if (unit_random_below(2))
		return NULL;
	range->start = unit_random_below(file->nrows);
	range->end = Min(file->nrows, range->start + count);
	return range;
}

static void
ask_statistics(const DataFile *file, FormatReader *reader)
{
	for (int i = 0; i < file->ncolumns; i++)
	{
		GroupStatistics *statistics;

		if (!type_is_nested(file->columns[i].type))
			(void) format_group_statistics(reader, i, &statistics);
	}
}

static void
read_batch(DataFile *file, FormatReader *reader, Vector **vectors)
{
	int32		rows[BATCH_ROWS];

	for (int i = 0; i < file->ncolumns; i++)
	{
		int			nselected;
		int32	   *selection = random_selection(reader->nrows, rows, &nselected);

		if (unit_random_below(8) == 0)
			continue;
		format_read_column(reader, i, selection, nselected, vectors[i]);
		for (int k = 0; k < nselected; k++)
			touch_value(file, vectors[i], selection != NULL ? selection[k] : k);
	}
}

static void
read_whole_file(DataFile *file, const char *path, const FormatReadOptions *options)
{
	StorageFile *storage = storage_open(path);
	FormatReader *reader = format_open(format_lookup(file->format), storage, options);

	while (format_next(reader))
	{
		for (int i = 0; i < file->ncolumns; i++)
			format_read_column(reader, i, NULL, reader->nrows, vector_create(file->columns[i].type, BATCH_ROWS));
	}
	format_close(reader);
	storage_close(storage);
}

static void
read_file(DataFile *file, const char *path, const FormatReadOptions *options)
{
	StorageFile *storage = storage_open(path);
	FormatReader *reader = format_open(format_lookup(file->format), storage, options);
	Vector	   *vectors[MAX_COLUMNS];

	for (int i = 0; i < file->ncolumns; i++)
		vectors[i] = vector_create(file->columns[i].type, BATCH_ROWS);
	if (unit_random_below(4) == 0)
		ask_statistics(file, reader);
	for (int i = 0; i < MAX_BATCHES && format_next(reader); i++)
	{
		CHECK(reader->nrows > 0 && reader->nrows <= BATCH_ROWS);
		read_batch(file, reader, vectors);
	}
	format_close(reader);
	storage_close(storage);
}

/* A file cut short is never read as if it were whole. */
static void
check_cut_file(const char *what, DataFile *file, BytesView bytes)
{
	char	   *path = storage_join(unit_directory(), psprintf("cut.%s", file->format));
	FormatReadOptions options = {.ncolumns = file->ncolumns, .columns = file->columns, .file_rows = file->nrows};
	MemoryContext old = CurrentMemoryContext;
	MemoryContext context = AllocSetContextCreate(old, "cut", ALLOCSET_DEFAULT_SIZES);

	for (uint32 length = 0; length < bytes.length; length += 1 + bytes.length / 100)
	{
		volatile bool failed = false;

		MemoryContextSwitchTo(context);
		storage_replace(path, bytes.data, length);
		PG_TRY();
		{
			read_whole_file(file, path, &options);
		}
		PG_CATCH();
		{
			FlushErrorState();
			failed = true;
		}
		PG_END_TRY();
		CHECK_MESSAGE(failed, "%s cut to %u bytes is read", what, length);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
}

/* Once, or twice with what the first reading left in the cache. */
static void
read_data_file(BytesView bytes, void *arg)
{
	static int	counter = 0;
	DataFile   *file = arg;
	char	   *path = storage_join(unit_directory(), psprintf("damaged-%d.%s", counter++, file->format));
	FormatCounters counters = {0};
	FormatReadOptions options = {
		.ncolumns = file->ncolumns, .columns = file->columns, .predicate = random_predicate(file),
		.counters = &counters, .file_rows = file->nrows
	};

	cache_limit = unit_random_below(2) ? CACHE_KB : 0;
	if (format_lookup(file->format)->takes_rows)
		options.rows = random_range(file);
	options.rows_may_move = unit_random_below(2) == 0;
	storage_replace(path, bytes.data, bytes.length);
	PG_TRY();
	{
		for (int i = 0; i < 2; i++)
			read_file(file, path, &options);
	}
	PG_FINALLY();
	{
		storage_remove(path, false);
	}
	PG_END_TRY();
}

void
damage_data_file(const char *what, const char *format, BytesView sound, int ncolumns, const DataField *columns,
				 int64 nrows, int times)
{
	DataFile	file = {format, ncolumns, columns, nrows};

	for (int i = 0; i < 20; i++)
		read_data_file(sound, &file);
	check_cut_file(what, &file, sound);
	damage_read(what, sound, times, read_data_file, &file);
	cache_limit = 0;
}
