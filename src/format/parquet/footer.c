/*
 * footer.c
 *		Finding a Parquet file's metadata, and reading ranges of the file.
 *
 * A file ends with its metadata, the length of that in four bytes, and a magic
 * word.  One read of the last bytes gets all of it almost always, and the
 * whole of a small file.
 */
#include "postgres.h"

#include "format/parquet/metadata.h"
#include "storage/cache.h"

#define TAIL_BYTES (64 * 1024)
#define MAGIC_BYTES 4
#define TRAILER_BYTES 8			/* length of the metadata, and magic */
#define ENCRYPTED_MAGIC "PARE"

void
parquet_damaged(const char *path, const char *column, const char *detail)
{
	if (column == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("file \"%s\" is damaged", path),
				 errdetail_internal("%s", detail)));
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("file \"%s\" is damaged in column \"%s\"", path, column),
			 errdetail_internal("%s", detail)));
}

void
parquet_file_read_ranges(ParquetFile *file, FileRange *ranges, int nranges)
{
	storage_read_ranges(file->storage, ranges, nranges);
	for (int i = 0; i < nranges; i++)
		file->counters->bytes_read += ranges[i].length;
}

void
parquet_file_read(ParquetFile *file, uint64 offset, size_t length, char *buffer)
{
	FileRange	range = {offset, length, buffer};

	parquet_file_read_ranges(file, &range, 1);
}

const char *
parquet_file_peek(const ParquetFile *file, uint64 offset, uint64 length)
{
	if (offset < file->tail_start || length > file->data_end || offset > file->data_end - length)
		return NULL;
	return file->tail + (offset - file->tail_start);
}

/* Read the last length bytes. */
static char *
read_tail(ParquetFile *file, uint64 size, size_t length)
{
	char	   *tail = palloc_extended(length + READ_PADDING, MCXT_ALLOC_HUGE);

	parquet_file_read(file, size - length, length, tail);
	memset(tail + length, 0, READ_PADDING);
	return tail;
}

static void
check_magic(const ParquetFile *file, const char *magic)
{
	if (memcmp(magic, ENCRYPTED_MAGIC, MAGIC_BYTES) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("file \"%s\" is encrypted", file->path),
				 errdetail("Parquet's encryption is not supported.")));
	if (memcmp(magic, PARQUET_MAGIC, MAGIC_BYTES) != 0)
		parquet_damaged(file->path, NULL, "It does not end as a Parquet file does.");
}

/* Where the metadata lies, as the last length bytes say. */
static uint32
footer_length_of(const ParquetFile *file, const char *tail, size_t length, uint64 size)
{
	const char *trailer = tail + length - TRAILER_BYTES;
	uint32		footer_length;

	check_magic(file, trailer + sizeof(footer_length));
	memcpy(&footer_length, trailer, sizeof(footer_length));
	if (footer_length > size - MAGIC_BYTES - TRAILER_BYTES)
		parquet_damaged(file->path, NULL, "The length of its metadata is impossible.");
	return footer_length;
}

/* The end of a file with all of its metadata, encoded and decoded. */
typedef struct FileEnd
{
	const char *tail;
	size_t		length;
	uint32		footer_length;
	ParquetMetadata *metadata;
} FileEnd;

static FileEnd *
read_end(ParquetFile *file, uint64 size)
{
	FileEnd    *end = palloc(sizeof(FileEnd));
	char	   *tail;

	end->length = Min(size, TAIL_BYTES);
	tail = read_tail(file, size, end->length);
	end->footer_length = footer_length_of(file, tail, end->length, size);
	if (end->footer_length > end->length - TRAILER_BYTES)
	{
		pfree(tail);
		end->length = (size_t) end->footer_length + TRAILER_BYTES;
		tail = read_tail(file, size, end->length);
	}
	end->tail = tail;
	end->metadata = metadata_decode(tail + end->length - TRAILER_BYTES - end->footer_length, end->footer_length,
									file->path);
	return end;
}

/* The end from the cache, or read into it. */
static const FileEnd *
load_end(ParquetFile *file, uint64 size)
{
	const FileEnd *found = cache_get(CACHE_PARQUET_FOOTER, file->path, (int64) size);
	MemoryContext context;
	MemoryContext old;
	FileEnd    *end;

	if (found != NULL)
		file->counters->footers_cached++;
	if (found != NULL || !cache_has_room(TAIL_BYTES))
		return found != NULL ? found : read_end(file, size);
	context = cache_context_create();
	old = MemoryContextSwitchTo(context);
	end = read_end(file, size);
	MemoryContextSwitchTo(old);
	if (cache_has_room(end->length))
		cache_put(CACHE_PARQUET_FOOTER, file->path, (int64) size, context, end);
	return end;
}

void
parquet_file_open(ParquetFile *file, StorageFile *storage, uint64 size, FormatCounters *counters)
{
	const FileEnd *end;

	file->storage = storage;
	file->path = storage_file_path(storage);
	file->counters = counters;
	file->memory = scan_memory_create();
	if (size == 0)
		size = storage_file_size(storage);
	if (size < MAGIC_BYTES + TRAILER_BYTES)
		parquet_damaged(file->path, NULL, "It is too short for a Parquet file.");
	end = load_end(file, size);
	file->tail = end->tail;
	file->tail_start = size - end->length;
	file->metadata = end->metadata;
	file->data_end = size - TRAILER_BYTES - end->footer_length;
}
