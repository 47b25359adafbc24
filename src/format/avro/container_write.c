/*
 * container_write.c
 *		Avro's binary encoding, and writing object container files.
 */
#include "postgres.h"

#include "format/avro/avro.h"
#include "format/avro/container.h"
#include "port/pg_bswap.h"
#include "utils/memutils.h"

/* As Java: a block is written once it has so many bytes. */
#define BLOCK_LENGTH 64000

struct AvroWriter
{
	MemoryContext context;
	StorageWriter *file;
	Codec		codec;
	int			level;
	bool		has_checksum;
	char		sync[AVRO_SYNC_LENGTH];
	StringInfoData block;
	int64		count;			/* records in block */
	char	   *compressed;		/* room for a compressed block */
	size_t		compressed_capacity;
};

typedef struct CodecName
{
	const char *name;			/* in table options */
	const char *avro_name;		/* in files */
	Codec		codec;
} CodecName;

static const CodecName codec_names[] = {
	{"zstd", "zstandard", CODEC_ZSTD},
	{"zstandard", "zstandard", CODEC_ZSTD},
	{"snappy", "snappy", CODEC_SNAPPY},
	{"deflate", "deflate", CODEC_DEFLATE},
	{"none", "null", CODEC_NONE},
	{"null", "null", CODEC_NONE},
};

/* Encoding */

void
avro_write_long(StringInfo out, int64 value)
{
	uint64		bits = ((uint64) value << 1) ^ (uint64) (value >> 63);
	char		bytes[10];
	int			n = 0;

	while (bits > 0x7f)
	{
		bytes[n++] = (char) (bits | 0x80);
		bits >>= 7;
	}
	bytes[n++] = (char) bits;
	appendBinaryStringInfo(out, bytes, n);
}

void
avro_write_bytes(StringInfo out, const void *data, size_t length)
{
	avro_write_long(out, length);
	appendBinaryStringInfo(out, data, length);
}

void
avro_write_string(StringInfo out, const char *text)
{
	avro_write_bytes(out, text, strlen(text));
}

/* Files */

static const CodecName *
find_codec(const char *name, const char *path)
{
	for (int i = 0; i < lengthof(codec_names); i++)
	{
		if (pg_strcasecmp(codec_names[i].name, name) == 0)
			return &codec_names[i];
	}
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("compression \"%s\" is not supported for Avro file \"%s\"", name, path),
			 errhint("Supported: zstd, snappy, deflate, none.")));
	return NULL;				/* keep compiler quiet */
}

static void
write_header(AvroWriter *writer, const char *schema_json, const char *codec)
{
	StringInfoData header;

	initStringInfo(&header);
	appendBinaryStringInfo(&header, AVRO_MAGIC, AVRO_MAGIC_LENGTH);
	avro_write_long(&header, 2);
	avro_write_string(&header, "avro.schema");
	avro_write_string(&header, schema_json);
	avro_write_string(&header, "avro.codec");
	avro_write_string(&header, codec);
	avro_write_long(&header, 0);
	appendBinaryStringInfo(&header, writer->sync, AVRO_SYNC_LENGTH);
	storage_append(writer->file, header.data, header.len);
	pfree(header.data);
}

AvroWriter *
avro_writer_create(const char *path, const char *schema_json, const char *codec, int level)
{
	const CodecName *name = find_codec(codec, path);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "Avro writer", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	AvroWriter *writer = palloc0(sizeof(AvroWriter));

	writer->context = context;
	writer->codec = name->codec;
	writer->level = name->codec == CODEC_ZSTD ? level : 0;
	writer->has_checksum = name->codec == CODEC_SNAPPY;
	if (!pg_strong_random(writer->sync, AVRO_SYNC_LENGTH))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate random values")));
	initStringInfo(&writer->block);
	writer->file = storage_create(path);
	write_header(writer, schema_json, name->avro_name);
	MemoryContextSwitchTo(old);
	return writer;
}

StringInfo
avro_writer_buffer(AvroWriter *writer)
{
	return &writer->block;
}

/* The block as it goes into the file. */
static const char *
encode_block(AvroWriter *writer, size_t *length)
{
	size_t		plain_length = writer->block.len;
	size_t		bound;

	if (writer->codec == CODEC_NONE)
	{
		*length = plain_length;
		return writer->block.data;
	}

	bound = codec_bound(writer->codec, plain_length) + AVRO_SNAPPY_CHECKSUM_LENGTH;
	if (bound > writer->compressed_capacity)
	{
		if (writer->compressed != NULL)
			pfree(writer->compressed);
		writer->compressed = MemoryContextAlloc(writer->context, bound);
		writer->compressed_capacity = bound;
	}
	*length = codec_compress(writer->codec, writer->level, writer->block.data, plain_length,
							 writer->compressed, writer->compressed_capacity);
	if (writer->has_checksum)
	{
		uint32		checksum = pg_hton32(avro_checksum(writer->block.data, plain_length));

		memcpy(writer->compressed + *length, &checksum, sizeof(checksum));
		*length += sizeof(checksum);
	}
	return writer->compressed;
}

static void
flush_block(AvroWriter *writer)
{
	StringInfoData head;
	const char *data;
	size_t		length;

	if (writer->count == 0)
		return;

	data = encode_block(writer, &length);
	initStringInfo(&head);
	avro_write_long(&head, writer->count);
	avro_write_long(&head, length);
	storage_append(writer->file, head.data, head.len);
	storage_append(writer->file, data, length);
	storage_append(writer->file, writer->sync, AVRO_SYNC_LENGTH);
	pfree(head.data);
	resetStringInfo(&writer->block);
	writer->count = 0;
}

void
avro_writer_end_record(AvroWriter *writer)
{
	writer->count++;
	if (writer->block.len >= BLOCK_LENGTH)
		flush_block(writer);
}

uint64
avro_writer_position(const AvroWriter *writer)
{
	return storage_position(writer->file) + writer->block.len;
}

uint64
avro_writer_finish(AvroWriter *writer)
{
	uint64		size;

	flush_block(writer);
	size = storage_finish(writer->file);
	MemoryContextDelete(writer->context);
	return size;
}
