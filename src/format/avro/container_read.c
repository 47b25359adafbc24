/*
 * container_read.c
 *		Avro object container files, block by block.
 *
 * A file is read in pieces through a window of bounded size, which grows only
 * to what a single block needs.
 */
#include "postgres.h"

#include "format/avro/avro.h"
#include "format/avro/container.h"
#include "format/checksum.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/memutils.h"

#define READ_SIZE				(256 * 1024)
#define MAX_BLOCK_LENGTH		(256 * 1024 * 1024) /* compressed or not */
#define MAX_METADATA_LENGTH		(64 * 1024 * 1024)

struct AvroReader
{
	MemoryContext context;
	StorageFile *file;
	const char *path;
	uint64		file_size;
	/* the window: bytes of the file from start on */
	uint64		file_position;	/* of the byte after the window */
	char	   *window;
	size_t		capacity;
	size_t		start;			/* next byte to be used */
	size_t		filled;
	/* from the header */
	AvroSchema *schema;
	Codec		codec;
	bool		has_checksum;
	char		sync[AVRO_SYNC_LENGTH];
	char	   *block;			/* decompressed, or NULL */
};

uint32
avro_checksum(const void *data, size_t length)
{
	return checksum_crc32(data, length);
}

/* Have n bytes at the start of the window; false if the file has no more than fewer. */
static bool
fill_window(AvroReader *reader, size_t n)
{
	size_t		have = reader->filled - reader->start;
	uint64		left = reader->file_size - reader->file_position;
	size_t		more;

	if (have >= n)
		return true;
	if (n - have > left)
		return false;

	memmove(reader->window, reader->window + reader->start, have);
	reader->start = 0;
	if (n > reader->capacity)
	{
		reader->capacity = n;
		reader->window = repalloc(reader->window, n);
	}
	more = Min(reader->capacity - have, left);
	storage_read(reader->file, reader->file_position, more, reader->window + have);
	reader->file_position += more;
	reader->filled = have + more;
	return true;
}

/* The next n bytes; they stay until the window moves. */
static const char *
take(AvroReader *reader, size_t n)
{
	const char *bytes;

	if (!fill_window(reader, n))
		avro_error(reader->path, "The file ends too early.");
	bytes = reader->window + reader->start;
	reader->start += n;
	return bytes;
}

static int64
take_long(AvroReader *reader)
{
	AvroInput	input = {.path = reader->path};
	int64		value;

	/* ten bytes are the longest number; at the end there may be fewer */
	for (size_t want = 10; want > 0 && !fill_window(reader, want); want--)
		;
	input.position = reader->window + reader->start;
	input.end = reader->window + reader->filled;
	value = avro_read_long(&input);
	reader->start = input.position - reader->window;
	return value;
}

static char *
take_metadata(AvroReader *reader, size_t *length)
{
	int64		n = take_long(reader);
	char	   *copy;

	if (n < 0 || n > MAX_METADATA_LENGTH)
		avro_error(reader->path, "Its header has a value of length %lld.", (long long) n);
	/* any bytes may be in it: not a string of C yet */
	*length = n;
	copy = memcpy(palloc(n + 1), take(reader, n), n);
	copy[n] = '\0';
	return copy;
}

static void
set_codec(AvroReader *reader, const char *name)
{
	if (strcmp(name, "null") == 0)
		reader->codec = CODEC_NONE;
	else if (strcmp(name, "deflate") == 0)
		reader->codec = CODEC_DEFLATE;
	else if (strcmp(name, "zstandard") == 0)
		reader->codec = CODEC_ZSTD;
	else if (strcmp(name, "bzip2") == 0)
		reader->codec = CODEC_BZIP2;
	else if (strcmp(name, "snappy") == 0)
	{
		reader->codec = CODEC_SNAPPY;
		reader->has_checksum = true;
	}
	else
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("codec \"%s\" of Avro file \"%s\" is not supported", name, reader->path),
				 errhint("Supported: null, deflate, bzip2, snappy, zstandard.")));
}

static void
read_metadata_entry(AvroReader *reader)
{
	size_t		key_length;
	size_t		length;
	char	   *key = take_metadata(reader, &key_length);
	char	   *value = take_metadata(reader, &length);

	if (strcmp(key, "avro.schema") == 0)
		reader->schema = avro_schema_parse(value, length, reader->path);
	else if (strcmp(key, "avro.codec") == 0)
		set_codec(reader, value);
}

static void
read_header(AvroReader *reader)
{
	int64		count;

	if (!fill_window(reader, AVRO_MAGIC_LENGTH) ||
		memcmp(take(reader, AVRO_MAGIC_LENGTH), AVRO_MAGIC, AVRO_MAGIC_LENGTH) != 0)
		avro_error(reader->path, "It does not begin as an Avro container file.");

	while ((count = take_long(reader)) != 0)
	{
		if (count < 0)
		{
			take_long(reader);
			count = -Max(count, -MAX_METADATA_LENGTH);
		}
		/* runs out of file soon if the count is wrong */
		for (int64 i = 0; i < count; i++)
			read_metadata_entry(reader);
	}
	if (reader->schema == NULL)
		avro_error(reader->path, "Its header has no schema.");
	memcpy(reader->sync, take(reader, AVRO_SYNC_LENGTH), AVRO_SYNC_LENGTH);
}

/* path: to be opened, unless file is there already */
static AvroReader *
open_reader(const char *path, StorageFile *file, int64 size)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "Avro reader", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	AvroReader *reader = palloc0(sizeof(AvroReader));

	reader->context = context;
	reader->path = pstrdup(path);
	reader->file = file != NULL ? file : storage_open(path);
	reader->file_size = storage_file_size(reader->file);
	if (size >= 0 && (uint64) size != reader->file_size)
		avro_error(path, "It has %llu bytes, but should have %lld.",
				   (unsigned long long) reader->file_size, (long long) size);

	reader->capacity = Max(Min(reader->file_size, READ_SIZE), 16);
	reader->window = palloc(reader->capacity);
	read_header(reader);
	MemoryContextSwitchTo(old);
	return reader;
}

AvroReader *
avro_reader_open(const char *path, int64 size)
{
	return open_reader(path, NULL, size);
}

AvroReader *
avro_reader_on(StorageFile *file, int64 size)
{
	return open_reader(storage_file_path(file), file, size);
}

const AvroSchema *
avro_reader_schema(const AvroReader *reader)
{
	return reader->schema;
}

/* Decompress a block into memory of its own, or leave it where it is. */
static void
decode_block(AvroReader *reader, const char *data, size_t length, AvroInput *input)
{
	uint32		checksum = 0;
	size_t		plain_length;

	input->path = reader->path;
	if (reader->codec == CODEC_NONE)
	{
		input->position = data;
		input->end = data + length;
		return;
	}

	if (reader->has_checksum)
	{
		if (length < AVRO_SNAPPY_CHECKSUM_LENGTH)
			avro_error(reader->path, "A block has no checksum.");
		length -= AVRO_SNAPPY_CHECKSUM_LENGTH;
		memcpy(&checksum, data + length, sizeof(checksum));
		checksum = pg_ntoh32(checksum);
	}
	reader->block = codec_decompress_unknown(reader->codec, data, length, MAX_BLOCK_LENGTH, &plain_length);
	if (reader->block == NULL)
		avro_error(reader->path, "A block cannot be decompressed with %s.", codec_name(reader->codec));
	if (reader->has_checksum && avro_checksum(reader->block, plain_length) != checksum)
		avro_error(reader->path, "The checksum of a block is wrong.");
	input->position = reader->block;
	input->end = reader->block + plain_length;
}

bool
avro_reader_next(AvroReader *reader, int64 *count, AvroInput *input)
{
	MemoryContext old = MemoryContextSwitchTo(reader->context);
	int64		length;
	const char *data;

	CHECK_FOR_INTERRUPTS();
	if (reader->block != NULL)
	{
		pfree(reader->block);
		reader->block = NULL;
	}
	if (!fill_window(reader, 1))
	{
		MemoryContextSwitchTo(old);
		return false;
	}

	*count = take_long(reader);
	length = take_long(reader);
	if (*count < 0 || length < 0 || length > MAX_BLOCK_LENGTH)
		avro_error(reader->path, "A block has %lld records in %lld bytes.", (long long) *count, (long long) length);
	data = take(reader, length + AVRO_SYNC_LENGTH);
	if (memcmp(data + length, reader->sync, AVRO_SYNC_LENGTH) != 0)
		avro_error(reader->path, "A block does not end with the synchronization mark.");
	decode_block(reader, data, length, input);
	MemoryContextSwitchTo(old);
	return true;
}

uint64
avro_reader_position(const AvroReader *reader)
{
	return reader->file_position;
}

void
avro_reader_close(AvroReader *reader)
{
	MemoryContextDelete(reader->context);
}

/*
 * What is decoded lives in a context that is emptied after each block: the
 * block's size bounds it.
 */
void
avro_read_file(const char *path, int64 size, const AvroLayout *layout, AvroRecordCallback callback, void *arg)
{
	AvroReader *reader = avro_reader_open(path, size);
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "Avro records", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = CurrentMemoryContext;
	AvroPlan   *plan = avro_bind(reader->schema, layout, path);
	void	   *record = palloc(layout->size);
	AvroInput	input;
	int64		count;

	while (avro_reader_next(reader, &count, &input))
	{
		for (int64 i = 0; i < count; i++)
		{
			CHECK_FOR_INTERRUPTS();
			MemoryContextSwitchTo(scratch);
			avro_decode(plan, &input, record);
			MemoryContextSwitchTo(old);
			callback(record, arg);
		}
		if (input.position != input.end)
			avro_error(path, "A block is longer than its records.");
		MemoryContextReset(scratch);
	}
	MemoryContextDelete(scratch);
	avro_reader_close(reader);
}
