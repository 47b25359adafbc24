/*
 * row_spill.c
 *		Rows in temporary files.
 *
 * A row is its values one behind the other: a byte that says whether it is
 * null, then the value as it lies in memory, or length and bytes of a string.
 */
#include "postgres.h"

#include "columnar/row_spill.h"
#include "miscadmin.h"
#include "storage/buffile.h"
#include "utils/memutils.h"

/* A batch read ends when its strings take so much. */
#define BATCH_STRING_BYTES ((Size) 1024 * 1024)

struct RowSpill
{
	MemoryContext context;
	int			ncolumns;
	int			depth;
	BufFile    *files[SPILL_PARTITIONS];	/* NULL: no rows */
	BufFile    *reading;
	int			partition;		/* that is read */
	Batch	   *batch;			/* of rows read */
	MemoryContext strings;		/* of the batch */
	Size		string_bytes;
};

RowSpill *
row_spill_create(const DataType *const *types, int ncolumns, int depth)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse row spill",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	RowSpill   *spill = (RowSpill *) palloc0(sizeof(RowSpill));

	spill->context = context;
	spill->ncolumns = ncolumns;
	spill->depth = depth;
	spill->batch = batch_create(ncolumns, types, BATCH_ROWS);
	spill->strings = AllocSetContextCreate(context, "streamhouse row spill strings", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(old);
	return spill;
}

/* ---- writing ---- */

static void
write_bytes(BufFile *file, const void *data, size_t length)
{
	BufFileWrite(file, unconstify(void *, data), length);
}

static void
write_value(BufFile *file, const Vector *vector, int32 row)
{
	Scalar		value = vector_get(vector, row);

	write_bytes(file, &value.isnull, sizeof(bool));
	if (value.isnull)
		return;
	if (vector->type->physical == PHYSICAL_BYTES)
	{
		write_bytes(file, &value.v.bytes.length, sizeof(uint32));
		write_bytes(file, value.v.bytes.data, value.v.bytes.length);
	}
	else
		write_bytes(file, &value.v, physical_size(vector->type->physical));
}

void
row_spill_add(RowSpill *spill, uint64 hash, const Vector *const *columns, int32 row)
{
	int			partition = (hash >> (spill->depth * SPILL_PARTITION_BITS)) % SPILL_PARTITIONS;

	Assert(spill->depth < SPILL_MAX_DEPTH);
	if (spill->files[partition] == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(spill->context);

		spill->files[partition] = BufFileCreateTemp(false);
		MemoryContextSwitchTo(old);
	}
	for (int i = 0; i < spill->ncolumns; i++)
		write_value(spill->files[partition], columns[i], row);
}

/* ---- reading ---- */

bool
row_spill_open(RowSpill *spill, int partition)
{
	Assert(spill->reading == NULL);
	spill->partition = partition;
	spill->reading = spill->files[partition];
	if (spill->reading == NULL)
		return false;
	if (BufFileSeek(spill->reading, 0, 0, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not rewind a temporary file of grouped rows")));
	return true;
}

/* False at the end of the file, where at_row_start allows one. */
static bool
read_bytes(RowSpill *spill, void *data, size_t length, bool at_row_start)
{
	size_t		got = BufFileRead(spill->reading, data, length);

	if (got == length)
		return true;
	if (got > 0 || !at_row_start)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read a temporary file of grouped rows: it ends too early")));
	return false;
}

static void
read_string(RowSpill *spill, Scalar *value)
{
	char	   *data;

	read_bytes(spill, &value->v.bytes.length, sizeof(uint32), false);
	data = (char *) MemoryContextAllocHuge(spill->strings, Max(value->v.bytes.length, 1));
	if (value->v.bytes.length > 0)
		read_bytes(spill, data, value->v.bytes.length, false);
	value->v.bytes.data = data;
	spill->string_bytes += value->v.bytes.length;
}

static bool
read_row(RowSpill *spill, int row)
{
	for (int i = 0; i < spill->ncolumns; i++)
	{
		Vector	   *vector = spill->batch->columns[i];
		Scalar		value = {0};

		if (!read_bytes(spill, &value.isnull, sizeof(bool), i == 0))
			return false;
		if (!value.isnull)
		{
			if (vector->type->physical == PHYSICAL_BYTES)
				read_string(spill, &value);
			else
				read_bytes(spill, &value.v, physical_size(vector->type->physical), false);
		}
		vector_set(vector, row, &value);
	}
	return true;
}

Batch *
row_spill_next(RowSpill *spill)
{
	int			nrows = 0;

	CHECK_FOR_INTERRUPTS();
	if (spill->reading == NULL)
		return NULL;
	MemoryContextReset(spill->strings);
	spill->string_bytes = 0;
	for (int i = 0; i < spill->ncolumns; i++)
		vector_reset(spill->batch->columns[i]);
	while (nrows < BATCH_ROWS && spill->string_bytes < BATCH_STRING_BYTES && read_row(spill, nrows))
		nrows++;
	if (nrows == 0)
	{
		BufFileClose(spill->reading);
		spill->reading = NULL;
		spill->files[spill->partition] = NULL;
		return NULL;
	}
	spill->batch->nrows = nrows;
	spill->batch->nselected = nrows;
	return spill->batch;
}

int
row_spill_depth(const RowSpill *spill)
{
	return spill->depth;
}

void
row_spill_free(RowSpill *spill)
{
	for (int i = 0; i < SPILL_PARTITIONS; i++)
	{
		if (spill->files[i] != NULL)
			BufFileClose(spill->files[i]);
	}
	MemoryContextDelete(spill->context);
}
