/*
 * test_parquet_lookup.c
 *		Rows looked up in pages that stay in the cache: packed numbers, search, marks.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "format/format.h"
#include "format/parquet/packed_numbers.h"
#include "storage/cache.h"
#include "storage/storage.h"
#include "unit.h"
#include "utils/memutils.h"

#define NROWS 60000
#define CACHE_KB (64 * 1024)

/* The rows of the file; all of them have a column whose values are made of the row. */
typedef struct LookupColumn
{
	const char *name;
	const char *type;
	bool		nullable;
	bool		has_nulls;
	bool		unique;			/* and ascending */
	int64		(*value) (int row);
} LookupColumn;

static int64
key(int row)
{
	return (int64) row * 3 - 90000;
}

static int64
repeated(int row)
{
	return row / 700;
}

static int64
spread(int row)
{
	return (int64) ((uint64) row * UINT64CONST(0x9e3779b97f4a7c15));
}

static int64
narrow(int row)
{
	return spread(row) % 1000;
}

static int64
falling(int row)
{
	return INT64CONST(5000000000000) - (int64) row * 1000003;
}

static const LookupColumn columns_of_file[] = {
	{"key", "BIGINT", false, false, true, key},
	{"repeated", "BIGINT", true, false, false, repeated},
	{"small", "INT", false, false, true, key},
	{"spread", "BIGINT", false, false, false, spread},
	{"narrow", "BIGINT", true, true, false, narrow},
	{"gaps", "BIGINT", true, true, false, key},
	{"falling", "TIMESTAMP(6)", false, false, false, falling},
	{"word", "STRING", false, false, true, key},
	{"words", "STRING", true, false, false, repeated},
	{"names", "STRING", true, true, false, key},
	{"mixed", "STRING", false, false, false, narrow},
	{"text", "STRING", true, false, false, spread},
};

#define NCOLUMNS lengthof(columns_of_file)
#define TEXT_COLUMN (NCOLUMNS - 1)

static DataField fields[NCOLUMNS];

static bool
is_null(const LookupColumn *column, int row)
{
	return column->has_nulls && row % 7 == 3;
}

/* Texts of various lengths, in the order of their numbers if these are not large. */
static Scalar
scalar_of(int number, int64 of)
{
	Scalar		value = {0};

	if (fields[number].type->physical == PHYSICAL_BYTES)
	{
		char	   *text = psprintf("%014lld%*s", (long long) of + 1000000, (int) ((uint64) of % 50), "");

		value.v.bytes.data = text;
		value.v.bytes.length = strlen(text);
	}
	else if (fields[number].type->physical == PHYSICAL_INT32)
		value.v.i32 = (int32) of;
	else
		value.v.i64 = of;
	return value;
}

static Scalar
value_of(int number, int row)
{
	const LookupColumn *column = &columns_of_file[number];
	Scalar		value = {.isnull = is_null(column, row)};

	if (value.isnull)
		return value;
	return scalar_of(number, column->value(row));
}

static void
describe_fields(void)
{
	for (int i = 0; i < NCOLUMNS; i++)
	{
		fields[i].id = i;
		fields[i].name = pstrdup(columns_of_file[i].name);
		fields[i].type = type_parse_atomic(columns_of_file[i].type);
		fields[i].type->nullable = columns_of_file[i].nullable;
	}
}

/* In the memory of the test; so are the fields. */
static char *
write_lookup_file(void)
{
	FormatWriteOptions options = {.ncolumns = NCOLUMNS, .columns = fields, .compression = "zstd"};
	char	   *path = storage_join(unit_directory(), "lookup.parquet");
	StorageWriter *storage = storage_create(path);
	FormatWriter *writer;
	Vector	   *vectors[NCOLUMNS];
	ColumnStatistics statistics[NCOLUMNS];

	describe_fields();
	writer = format_create(format_lookup("parquet"), storage, &options);
	for (int i = 0; i < NCOLUMNS; i++)
	{
		vectors[i] = vector_create(fields[i].type, NROWS);
		for (int row = 0; row < NROWS; row++)
		{
			Scalar		value = value_of(i, row);

			vector_set(vectors[i], row, &value);
		}
	}
	format_write(writer, vectors, NULL, NROWS);
	format_finish(writer, statistics);
	storage_finish(storage);
	return path;
}

static bool
holds(PredicateOp op, int order)
{
	switch (op)
	{
		case PREDICATE_EQ:
			return order == 0;
		case PREDICATE_LT:
			return order < 0;
		case PREDICATE_LE:
			return order <= 0;
		case PREDICATE_GT:
			return order > 0;
		default:
			Assert(op == PREDICATE_GE);
			return order >= 0;
	}
}

/* What is asked for: rows of which a column compares so with the bound. */
typedef struct Lookup
{
	int			column;
	PredicateOp op;
	int64		bound;
} Lookup;

static bool
matches(const Lookup *lookup, int row)
{
	const LookupColumn *column = &columns_of_file[lookup->column];
	int64		value = column->value(row);

	return !is_null(column, row) && holds(lookup->op, value < lookup->bound ? -1 : value > lookup->bound);
}

static void
check_row(Vector *const *vectors, int position, int row)
{
	for (int i = 0; i < NCOLUMNS; i++)
	{
		Scalar		expected = value_of(i, row);
		Scalar		found = vector_get(vectors[i], position);

		CHECK_MESSAGE(expected.isnull == found.isnull &&
					  (found.isnull || scalar_compare_values(fields[i].type->physical, &expected, &found) == 0),
					  "column %s, row %d", columns_of_file[i].name, row);
	}
}

/* Filter the batch, then read the other columns for the rows that are left; row is the first that was not checked. */
static void
check_batch(FormatReader *reader, const Lookup *lookup, const Predicate *predicate, Vector **vectors, int64 *row)
{
	int32		selection[BATCH_ROWS];
	int			nselected;

	for (int i = 0; i < reader->nrows; i++)
		selection[i] = i;
	format_read_column(reader, lookup->column, NULL, reader->nrows, vectors[lookup->column]);
	nselected = predicate_filter(predicate, vectors, selection, reader->nrows);
	for (int i = 0; i < NCOLUMNS; i++)
	{
		if (i != lookup->column)
			format_read_column(reader, i, selection, nselected, vectors[i]);
	}
	for (int k = 0; k < nselected; k++)
	{
		for (; *row < reader->first_row + selection[k]; (*row)++)
			CHECK(!matches(lookup, (int) *row));
		check_row(vectors, selection[k], (int) (*row)++);
	}
}

/* The rows given out that match are those of the file that do, with all their values.  Returns how many were given out. */
static int64
check_lookup(const char *path, const RowRange *rows, const Lookup *lookup)
{
	FormatCounters counters = {0};
	const DataType *type = fields[lookup->column].type;
	Scalar		value = scalar_of(lookup->column, lookup->bound);
	FormatReadOptions options = {.ncolumns = NCOLUMNS, .columns = fields, .rows = rows, .counters = &counters};
	StorageFile *storage = storage_open(path);
	FormatReader *reader;
	Vector	   *vectors[NCOLUMNS];
	int64		row = rows->start;

	options.predicate = predicate_leaf(lookup->op, lookup->column, type, &value, 1);
	reader = format_open(format_lookup("parquet"), storage, &options);
	for (int i = 0; i < NCOLUMNS; i++)
		vectors[i] = vector_create(fields[i].type, BATCH_ROWS);
	while (format_next(reader))
		check_batch(reader, lookup, options.predicate, vectors, &row);
	for (; row < rows->end; row++)
		CHECK(!matches(lookup, (int) row));
	format_close(reader);
	storage_close(storage);
	return counters.rows_read;
}

static void
test_lookups(void)
{
	static const PredicateOp ops[] = {PREDICATE_EQ, PREDICATE_LT, PREDICATE_LE, PREDICATE_GT, PREDICATE_GE};
	char	   *path = write_lookup_file();
	MemoryContext old = CurrentMemoryContext;
	MemoryContext context = AllocSetContextCreate(old, "lookup", ALLOCSET_DEFAULT_SIZES);

	cache_limit = CACHE_KB;
	for (int i = 0; i < 600; i++)
	{
		int			middle = unit_random_below(NROWS);
		int			before = unit_random_below(Min(middle, 30000) + 1);
		int			behind = unit_random_below(Min(NROWS - middle, 300));
		RowRange	rows = {middle - before, middle + 1 + behind};
		Lookup		lookup = {unit_random_below(TEXT_COLUMN), ops[unit_random_below(lengthof(ops))]};
		int			of_row = unit_random_below(8) == 0 ? 0 : middle;

		lookup.bound = columns_of_file[lookup.column].value(of_row) + unit_random_below(3) - 1;
		MemoryContextSwitchTo(context);
		(void) check_lookup(path, &rows, &lookup);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	cache_limit = 0;
	storage_remove(path, false);
}

/* A row of an ascending column is found, or found missing, without a look at others. */
static void
test_search(void)
{
	char	   *path = write_lookup_file();
	RowRange	rows = {0, NROWS - 1};

	cache_limit = CACHE_KB;
	for (int i = 0; i < NCOLUMNS; i++)
	{
		for (int row = 100; columns_of_file[i].unique && row < NROWS; row += 5000)
		{
			CHECK_INT(check_lookup(path, &rows, &(Lookup) {i, PREDICATE_EQ, columns_of_file[i].value(row)}), 1);
			CHECK_INT(check_lookup(path, &rows, &(Lookup) {i, PREDICATE_EQ, columns_of_file[i].value(row) + 1}), 0);
		}
	}
	cache_limit = 0;
	storage_remove(path, false);
}

/* Any width, with the extremes of the type. */
static void
test_packing(void)
{
	for (int i = 0; i < 400; i++)
	{
		int			type_width = unit_random_below(2) ? 8 : 4;
		int			bits = 1 + unit_random_below(type_width * 8);
		int			count = 1 + unit_random_below(100);
		int64	   *values = palloc(count * sizeof(int64));
		int32	   *halves = palloc(count * sizeof(int32));
		const uint8 *plain = type_width == 8 ? (const uint8 *) values : (const uint8 *) halves;
		ParquetPlace place = {"file", "column"};
		PackedNumbers numbers;
		ValueDecoder decoder;
		uint8	   *packed;
		int64	   *out = palloc0(count * sizeof(int64));
		bool		ascending = true;
		int64		base = (int64) unit_random();

		for (int k = 0; k < count; k++)
		{
			values[k] = (int64) ((uint64) base + (unit_random() >> (64 - bits)));
			halves[k] = (int32) values[k];
			if (type_width == 4)
				values[k] = halves[k];
			ascending &= k == 0 || values[k] >= values[k - 1];
		}
		numbers_measure(plain, type_width, count, &numbers);
		CHECK_INT(numbers.count, count);
		CHECK_INT(numbers.ascending, ascending);
		CHECK(numbers.width >= 1 && numbers.width <= type_width);
		packed = palloc(count * numbers.width + READ_PADDING);
		if (numbers.width < type_width)
			numbers_pack(plain, type_width, &numbers, packed);
		else
			memcpy(packed, plain, count * type_width);
		packed_init(&decoder, &place, type_width == 8 ? PARQUET_INT64 : PARQUET_INT32, &numbers, packed);
		decoder.read(&decoder, count / 2, out);
		CHECK(memcmp(out, plain, count / 2 * type_width) == 0);
		if (count / 2 < count - 1)
			decoder.skip(&decoder, count - 1 - count / 2);
		decoder.read(&decoder, 1, out);
		CHECK(memcmp(out, plain + (count - 1) * type_width, type_width) == 0);
		CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "column \"column\"", decoder.read(&decoder, 1, out));
	}
}

int
main(void)
{
	unit_begin();
	RUN(test_packing);
	RUN(test_lookups);
	RUN(test_search);
	return unit_end();
}
