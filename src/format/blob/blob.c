/*
 * blob.c
 *		Files of large values: one column of bytes, one value after the other.
 *
 * A file is
 *
 *		entry *		magic number, bytes, int64 length of the entry, int32 CRC of
 *					all that is before it in the entry
 *		index		lengths of the entries, each as its difference to the one
 *					before, in zigzag varints; -1 stands for null, without entry
 *		int32		length of the index
 *		int8		version, 1
 *
 * with all numbers little endian.  Values are read only for the rows that are
 * asked for, and a batch is no longer than its values allow.
 */
#include "postgres.h"

#include "format/blob/blob.h"
#include "format/checksum.h"
#include "utils/memutils.h"

#define BLOB_MAGIC 1481511375
#define BLOB_VERSION 1
#define FOOTER_SIZE 5
#define ENTRY_HEAD 4
#define ENTRY_TAIL 12
#define NULL_LENGTH (-1)

/* Values of a batch take about so much */
#define BATCH_BYTES (16 * 1024 * 1024)

typedef struct BlobReader
{
	FormatReader base;
	StorageFile *file;
	FormatCounters *counters;
	int64	   *lengths;		/* of entries, by row */
	int64	   *offsets;
	MemoryContext batch_context;	/* values of the batch */
} BlobReader;

#define blob_error(file, ...) \
	ereport(ERROR, \
			(errcode(ERRCODE_DATA_CORRUPTED), \
			 errmsg("blob file \"%s\" is damaged", storage_file_path(file)), \
			 errdetail(__VA_ARGS__)))

static uint32
load_le32(const char *bytes)
{
	const unsigned char *b = (const unsigned char *) bytes;

	return (uint32) b[0] | (uint32) b[1] << 8 | (uint32) b[2] << 16 | (uint32) b[3] << 24;
}

static int64
load_le64(const char *bytes)
{
	return (int64) ((uint64) load_le32(bytes) | (uint64) load_le32(bytes + 4) << 32);
}

/* The next difference; false when the index ends in the middle of it. */
static bool
read_difference(const unsigned char **position, const unsigned char *end, int64 *value)
{
	uint64		bits = 0;

	for (int shift = 0; shift < 64; shift += 7)
	{
		unsigned char byte;

		if (*position == end)
			return false;
		byte = *(*position)++;
		bits |= (uint64) (byte & 0x7F) << shift;
		if ((byte & 0x80) == 0)
		{
			*value = (int64) (bits >> 1) ^ -(int64) (bits & 1);
			return true;
		}
	}
	return false;
}

static void
decode_index(BlobReader *reader, const char *index, uint32 size, int64 entries_size)
{
	const unsigned char *position = (const unsigned char *) index;
	const unsigned char *end = position + size;
	int64		length = 0;
	int64		offset = 0;
	int64		nrows = 0;

	/* a row takes a byte at least */
	reader->lengths = MemoryContextAllocHuge(CurrentMemoryContext, Max(size, 1) * sizeof(int64));
	reader->offsets = MemoryContextAllocHuge(CurrentMemoryContext, Max(size, 1) * sizeof(int64));
	while (position < end)
	{
		int64		difference;

		if (!read_difference(&position, end, &difference))
			blob_error(reader->file, "Its index ends within a number.");
		length = (int64) ((uint64) length + (uint64) difference);
		if (length != NULL_LENGTH && (length < ENTRY_HEAD + ENTRY_TAIL || length > entries_size - offset))
			blob_error(reader->file, "The entry of row " INT64_FORMAT " has the length " INT64_FORMAT ".",
					   nrows, length);
		reader->lengths[nrows] = length;
		reader->offsets[nrows] = offset;
		offset += length != NULL_LENGTH ? length : 0;
		nrows++;
	}
	if (offset != entries_size)
		blob_error(reader->file, "Its entries take " INT64_FORMAT " bytes, its index counts " INT64_FORMAT ".",
				   entries_size, offset);
	reader->base.file_rows = nrows;
}

static void
read_index(BlobReader *reader)
{
	uint64		size = storage_file_size(reader->file);
	char		footer[FOOTER_SIZE];
	uint32		index_size;
	char	   *index;

	if (size < FOOTER_SIZE)
		blob_error(reader->file, "It is too short.");
	storage_read(reader->file, size - FOOTER_SIZE, FOOTER_SIZE, footer);
	if (footer[4] != BLOB_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("blob file \"%s\" is of version %d, which is not supported",
						storage_file_path(reader->file), footer[4])));
	index_size = load_le32(footer);
	if (index_size > size - FOOTER_SIZE || index_size > MaxAllocSize)
		blob_error(reader->file, "Its index has the length %u.", index_size);
	index = palloc(Max(index_size, 1));
	storage_read(reader->file, size - FOOTER_SIZE - index_size, index_size, index);
	decode_index(reader, index, index_size, size - FOOTER_SIZE - index_size);
	pfree(index);
}

static FormatReader *
blob_open(StorageFile *file, const FormatReadOptions *options)
{
	BlobReader *reader = palloc0(sizeof(BlobReader));

	reader->file = file;
	reader->counters = options->counters;
	reader->base.ncolumns = options->ncolumns;
	reader->base.present = palloc(Max(options->ncolumns, 1) * sizeof(bool));
	/* the file does not name its column */
	for (int i = 0; i < options->ncolumns; i++)
		reader->base.present[i] = options->columns[i].type->root == TYPE_BLOB;
	reader->batch_context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse blobs", ALLOCSET_DEFAULT_SIZES);
	read_index(reader);
	return &reader->base;
}

static bool
blob_next(FormatReader *base)
{
	BlobReader *reader = (BlobReader *) base;
	int64		bytes = 0;

	MemoryContextReset(reader->batch_context);
	base->first_row += base->nrows;
	base->nrows = 0;
	while (base->nrows < BATCH_ROWS && base->first_row + base->nrows < base->file_rows && bytes < BATCH_BYTES)
	{
		int64		length = reader->lengths[base->first_row + base->nrows++];

		bytes += Max(length, 0);
	}
	if (base->nrows == 0)
		return false;
	if (reader->counters != NULL)
		reader->counters->rows_read += base->nrows;
	return true;
}

static BytesView
read_entry(BlobReader *reader, int64 row)
{
	int64		length = reader->lengths[row];
	BytesView	value = {NULL, 0};
	char	   *entry;

	if (length > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("value of row " INT64_FORMAT " in blob file \"%s\" is too large",
						row, storage_file_path(reader->file)),
				 errdetail("It has " INT64_FORMAT " bytes.", length)));
	entry = MemoryContextAlloc(reader->batch_context, length);
	storage_read(reader->file, reader->offsets[row], length, entry);
	if (reader->counters != NULL)
		reader->counters->bytes_read += length;
	if (load_le32(entry) != BLOB_MAGIC || load_le64(entry + length - ENTRY_TAIL) != length)
		blob_error(reader->file, "The entry of row " INT64_FORMAT " does not begin or end as it should.", row);
	if (load_le32(entry + length - sizeof(uint32)) != checksum_crc32(entry, length - sizeof(uint32)))
		blob_error(reader->file, "The checksum of row " INT64_FORMAT " does not match.", row);
	value.data = entry + ENTRY_HEAD;
	value.length = length - ENTRY_HEAD - ENTRY_TAIL;
	return value;
}

static void
blob_read_column(FormatReader *base, int column, const int32 *selection, int nselected, Vector *out)
{
	BlobReader *reader = (BlobReader *) base;

	vector_reset(out);
	if (selection == NULL)
		nselected = base->nrows;
	for (int i = 0; i < nselected; i++)
	{
		int			row = selection != NULL ? selection[i] : i;
		Scalar		value = {.isnull = reader->lengths[base->first_row + row] == NULL_LENGTH};

		if (!value.isnull)
			value.v.bytes = read_entry(reader, base->first_row + row);
		vector_set(out, row, &value);
	}
}

static void
blob_close(FormatReader *base)
{
	BlobReader *reader = (BlobReader *) base;

	MemoryContextDelete(reader->batch_context);
	pfree(reader->lengths);
	pfree(reader->offsets);
	pfree(reader->base.present);
	pfree(reader);
}

/* Only for reading */
const FormatRoutine blob_format = {
	.name = "blob",
	.open = blob_open,
	.next = blob_next,
	.read_column = blob_read_column,
	.close = blob_close,
};
