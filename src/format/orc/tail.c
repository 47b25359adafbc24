/*
 * tail.c
 *		Reading an ORC file's postscript and footer.
 *
 * A file ends with the stripes' statistics, the footer, a postscript that is
 * never compressed, and its length in one byte.  One read of the last bytes
 * gets all of it almost always, and the whole of a small file.
 */
#include "postgres.h"

#include "format/orc/protobuf.h"
#include "format/orc/stream.h"
#include "format/orc/tail.h"

#define TAIL_BYTES (64 * 1024)
#define MAGIC_BYTES 3
#define MAX_TYPES 1000000
#define MAX_STRIPES 1000000
#define MAX_TYPE_TEXT_DEPTH 3

/* Lengths of what lies in front of the postscript. */
typedef struct Postscript
{
	uint64		footer_length;
	uint64		metadata_length;
	uint64		stripe_statistics_length;
	uint32		compression;
	uint64		block_bytes;
} Postscript;

/* ---- bytes ---- */

void
orc_damaged(const char *path, const char *column, const char *detail)
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
orc_file_read(OrcFile *file, uint64 offset, size_t length, void *buffer)
{
	storage_read(file->storage, offset, length, buffer);
	file->counters->bytes_read += length;
}

const uint8 *
orc_file_peek(const OrcFile *file, uint64 offset, uint64 length)
{
	uint64		end = file->tail_start + file->tail_length;

	if (offset < file->tail_start || offset > end || length > end - offset)
		return NULL;
	return (const uint8 *) file->tail + (offset - file->tail_start);
}

static void
read_tail(OrcFile *file, uint64 size, size_t length)
{
	file->tail = palloc_extended(length + ORC_PADDING, MCXT_ALLOC_HUGE);
	file->tail_start = size - length;
	file->tail_length = length;
	orc_file_read(file, file->tail_start, length, file->tail);
	memset(file->tail + length, 0, ORC_PADDING);
}

/* ---- the postscript ---- */

static void
set_compression(OrcFile *file, const Postscript *postscript)
{
	static const struct
	{
		const char *name;
		bool		supported;
		Codec		codec;
	}			compressions[] = {
		[ORC_NONE] = {"none", true, CODEC_NONE},
		[ORC_ZLIB] = {"zlib", true, CODEC_DEFLATE},
		[ORC_SNAPPY] = {"snappy", true, CODEC_SNAPPY},
		[ORC_LZO] = {"lzo", false},
		[ORC_LZ4] = {"lz4", true, CODEC_LZ4_RAW},
		[ORC_ZSTD] = {"zstd", true, CODEC_ZSTD},
		[ORC_BROTLI] = {"brotli", false},
	};
	uint32		compression = postscript->compression;

	if (compression >= lengthof(compressions))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("file \"%s\" has the unknown compression %u", file->path, compression)));
	if (!compressions[compression].supported)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("file \"%s\" is compressed with %s, which is not supported",
						file->path, compressions[compression].name)));
	file->codec = compressions[compression].codec;
	file->compressed = file->codec != CODEC_NONE;
	if (!file->compressed)
		return;
	if (postscript->block_bytes == 0 || postscript->block_bytes > ORC_MAX_BLOCK_BYTES)
		orc_damaged(file->path, NULL, "The size of its compressed chunks is impossible.");
	file->block_bytes = (uint32) postscript->block_bytes;
}

static void
read_postscript(OrcTail *tail, OrcFile *file, BytesView bytes, Postscript *postscript)
{
	ProtoReader message;
	ProtoReader list;
	uint64		number;

	memset(postscript, 0, sizeof(*postscript));
	if (bytes.length < MAGIC_BYTES ||
		memcmp(bytes.data + bytes.length - MAGIC_BYTES, ORC_MAGIC, MAGIC_BYTES) != 0)
		orc_damaged(file->path, NULL, "It does not end as an ORC file does.");
	proto_init(&message, file->path, bytes);
	while (proto_next(&message))
	{
		switch (message.field)
		{
			case 1:
				postscript->footer_length = proto_uint(&message);
				break;
			case 2:
				postscript->compression = proto_uint32(&message);
				break;
			case 3:
				postscript->block_bytes = proto_uint(&message);
				break;
			case 4:
				/* two numbers, packed or not: the first one counts */
				proto_list(&message, &list);
				if (list.end - list.cursor > 1 && proto_list_next(&list, &number))
					tail->major_version = (uint32) Min(number, PG_UINT32_MAX);
				break;
			case 5:
				postscript->metadata_length = proto_uint(&message);
				break;
			case 6:
				tail->writer_version = proto_uint32(&message);
				break;
			case 7:
				postscript->stripe_statistics_length = proto_uint(&message);
				break;
		}
	}
}

/* ---- the footer ---- */

/* How often a field occurs in a message, and another one. */
static void
count_fields(const char *path, BytesView bytes, uint32 field_a, uint32 *count_a, uint32 field_b, uint32 *count_b)
{
	ProtoReader message;

	*count_a = *count_b = 0;
	proto_init(&message, path, bytes);
	while (proto_next(&message))
	{
		*count_a += message.field == field_a;
		*count_b += message.field == field_b;
	}
}

static void
read_stripe(ProtoReader *message, OrcStripeInfo *stripe)
{
	memset(stripe, 0, sizeof(*stripe));
	while (proto_next(message))
	{
		switch (message->field)
		{
			case 1:
				stripe->offset = proto_uint(message);
				break;
			case 2:
				stripe->index_length = proto_uint(message);
				break;
			case 3:
				stripe->data_length = proto_uint(message);
				break;
			case 4:
				stripe->footer_length = proto_uint(message);
				break;
			case 5:
				stripe->rows = proto_uint(message);
				break;
		}
	}
}

/* Append packed or single numbers to the type's children. */
static void
add_children(OrcType *type, const ProtoReader *message)
{
	ProtoReader list;
	uint64		number;

	proto_list(message, &list);
	if (list.cursor == list.end)
		return;
	/* a number has a byte at least */
	if (type->children == NULL)
		type->children = palloc((list.end - list.cursor) * sizeof(uint32));
	else
		type->children = repalloc(type->children, (type->nchildren + (list.end - list.cursor)) * sizeof(uint32));
	while (proto_list_next(&list, &number))
		type->children[type->nchildren++] = (uint32) Min(number, PG_UINT32_MAX);
}

static void
read_type(const char *path, ProtoReader *message, OrcType *type)
{
	BytesView	bytes = {(const char *) message->cursor, message->end - message->cursor};
	uint32		nnames;
	uint32		unused;

	memset(type, 0, sizeof(*type));
	count_fields(path, bytes, 3, &nnames, 0, &unused);
	type->names = palloc(Max(nnames, 1) * sizeof(char *));
	while (proto_next(message))
	{
		switch (message->field)
		{
			case 1:
				type->kind = proto_uint32(message);
				break;
			case 2:
				add_children(type, message);
				break;
			case 3:
				type->names[type->nnames++] = proto_string(message);
				break;
			case 5:
				type->precision = proto_uint32(message);
				break;
			case 6:
				type->scale = proto_uint32(message);
				break;
		}
	}
}

/* Fields in a first pass are counted, in a second one read. */
static void
read_footer(OrcTail *tail, OrcFile *file, BytesView bytes)
{
	ProtoReader message;
	ProtoReader part;
	uint32		nstatistics;
	uint32		unused;

	count_fields(file->path, bytes, 3, &tail->nstripes, 4, &tail->ntypes);
	count_fields(file->path, bytes, 7, &nstatistics, 0, &unused);
	if (tail->ntypes > MAX_TYPES)
		orc_damaged(file->path, NULL, "It has too many columns.");
	if (tail->nstripes > MAX_STRIPES)
		orc_damaged(file->path, NULL, "It has too many stripes.");
	tail->stripes = palloc(Max(tail->nstripes, 1) * sizeof(OrcStripeInfo));
	tail->types = palloc(Max(tail->ntypes, 1) * sizeof(OrcType));
	if (nstatistics == tail->ntypes)
		tail->statistics = palloc(Max(nstatistics, 1) * sizeof(BytesView));
	tail->nstripes = tail->ntypes = nstatistics = 0;
	proto_init(&message, file->path, bytes);
	while (proto_next(&message))
	{
		switch (message.field)
		{
			case 3:
				proto_message(&message, &part);
				read_stripe(&part, &tail->stripes[tail->nstripes++]);
				break;
			case 4:
				proto_message(&message, &part);
				read_type(file->path, &part, &tail->types[tail->ntypes++]);
				break;
			case 6:
				tail->rows = proto_uint(&message);
				break;
			case 7:
				if (tail->statistics != NULL)
					tail->statistics[nstatistics++] = proto_bytes(&message);
				break;
			case 8:
				tail->row_index_stride = proto_uint32(&message);
				break;
			case 9:
				tail->writer = proto_uint32(&message);
				break;
			case 10:
				ereport(ERROR,
						(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						 errmsg("file \"%s\" is encrypted", file->path),
						 errdetail("ORC's encryption is not supported.")));
				break;
		}
	}
}

/* Children come after their parent, so that the tree has no circles. */
static void
check_types(const OrcTail *tail, const OrcFile *file)
{
	if (tail->ntypes == 0 || tail->types[0].kind != ORC_STRUCT)
		orc_damaged(file->path, NULL, "Its schema is not a struct.");
	for (uint32 i = 0; i < tail->ntypes; i++)
	{
		const OrcType *type = &tail->types[i];
		uint32		expected = type->kind == ORC_LIST ? 1 : type->kind == ORC_MAP ? 2 : type->nchildren;

		if (type->kind == ORC_STRUCT ? type->nnames != type->nchildren : type->nchildren != expected)
			orc_damaged(file->path, NULL, "A type in its schema has an impossible number of children.");
		for (uint32 k = 0; k < type->nchildren; k++)
		{
			if (type->children[k] <= i || type->children[k] >= tail->ntypes)
				orc_damaged(file->path, NULL, "A type in its schema has an impossible child.");
		}
	}
}

static void
check_stripes(const OrcTail *tail, const OrcFile *file)
{
	uint64		rows = 0;

	for (uint32 i = 0; i < tail->nstripes; i++)
	{
		const OrcStripeInfo *stripe = &tail->stripes[i];
		uint64		left = file->data_end;

		if (stripe->offset > left || stripe->index_length > (left -= stripe->offset) ||
			stripe->data_length > (left -= stripe->index_length) ||
			stripe->footer_length > left - stripe->data_length)
			orc_damaged(file->path, NULL, "A stripe lies behind the file's end.");
		if (stripe->rows > PG_INT64_MAX - rows)
			orc_damaged(file->path, NULL, "A stripe has an impossible number of rows.");
		rows += stripe->rows;
	}
	if (rows != tail->rows)
		orc_damaged(file->path, NULL, "Its stripes have another number of rows than the file.");
}

void
tail_read(OrcTail *tail, OrcFile *file, StorageFile *storage, uint64 size, FormatCounters *counters)
{
	OrcPlace	place;
	Postscript	postscript;
	BytesView	bytes;
	uint64		length;

	memset(tail, 0, sizeof(*tail));
	file->storage = storage;
	file->path = storage_file_path(storage);
	file->counters = counters;
	file->memory = scan_memory_create();
	if (size == 0)
		size = storage_file_size(storage);
	if (size < 2 * MAGIC_BYTES + 1)
		orc_damaged(file->path, NULL, "It is too short for an ORC file.");

	read_tail(file, size, Min(size, TAIL_BYTES));
	bytes.length = (uint8) file->tail[file->tail_length - 1];
	if (bytes.length > file->tail_length - 1)
		orc_damaged(file->path, NULL, "The length of its postscript is impossible.");
	bytes.data = file->tail + file->tail_length - 1 - bytes.length;
	read_postscript(tail, file, bytes, &postscript);
	set_compression(file, &postscript);

	length = size - 1 - bytes.length;
	if (postscript.footer_length > length || postscript.metadata_length > length - postscript.footer_length ||
		postscript.stripe_statistics_length > length - postscript.footer_length - postscript.metadata_length)
		orc_damaged(file->path, NULL, "The lengths of its metadata are impossible.");
	length -= postscript.footer_length;
	tail->metadata_start = length - postscript.metadata_length;
	tail->metadata_length = postscript.metadata_length;
	file->data_end = tail->metadata_start - postscript.stripe_statistics_length;

	place.path = file->path;
	place.column = NULL;
	read_footer(tail, file, stream_read_section(file, &place, length, postscript.footer_length));
	check_types(tail, file);
	check_stripes(tail, file);
}

/* ---- types ---- */

int
type_find_field(const OrcType *type, const char *name)
{
	if (type->kind != ORC_STRUCT)
		return -1;
	for (uint32 i = 0; i < type->nnames; i++)
	{
		if (strcmp(type->names[i], name) == 0)
			return (int) i;
	}
	return -1;
}

static const char *
kind_name(OrcKind kind)
{
	static const char *const names[] = {
		"boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary", "timestamp",
		"array", "map", "struct", "uniontype", "decimal", "date", "varchar", "char",
		"timestamp with local time zone"
	};

	return (uint32) kind < lengthof(names) ? names[kind] : "unknown";
}

static void
append_type_text(StringInfo text, const OrcTail *tail, uint32 number, int depth)
{
	const OrcType *type = &tail->types[number];

	appendStringInfoString(text, kind_name(type->kind));
	if (type->kind == ORC_DECIMAL)
		appendStringInfo(text, "(%u,%u)", type->precision, type->scale);
	if (type->nchildren == 0)
		return;
	appendStringInfoChar(text, '<');
	for (uint32 i = 0; i < type->nchildren && depth < MAX_TYPE_TEXT_DEPTH; i++)
	{
		if (i > 0)
			appendStringInfoChar(text, ',');
		if (i < type->nnames)
			appendStringInfo(text, "%s:", type->names[i]);
		append_type_text(text, tail, type->children[i], depth + 1);
	}
	appendStringInfoChar(text, '>');
}

char *
orc_type_text(const OrcTail *tail, uint32 number)
{
	StringInfoData text;

	initStringInfo(&text);
	append_type_text(&text, tail, number, 0);
	return text.data;
}
