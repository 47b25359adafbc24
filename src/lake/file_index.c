/*
 * file_index.c
 *		Indexes of single data files: the container, and predicates over it.
 *
 * The container's head lists for each column its indexes and where they lie.
 * Every leaf of a predicate is asked of all indexes of its column, and the
 * answers are put together as the predicate's tree says.
 *
 * Source: format digest section 8.2.
 */
#include "postgres.h"

#include "columnar/cast.h"
#include "lake/file_index.h"
#include "lake/path.h"
#include "storage/storage.h"
#include "utils/memutils.h"

#define MAGIC INT64CONST(1493475289347502)
#define VERSION 1
#define SIDE_FILE_SUFFIX ".index"
#define MAX_COLUMNS 100000
#define HEAD_BEGIN 16			/* magic number, version, length of the head */

/* One index of one column */
typedef struct ColumnIndex
{
	const char *column;			/* its name in the file's schema; not terminated */
	int			column_length;
	const char *type;
	int			type_length;
	int32		start;			/* -1: the column has nothing but nulls */
	int32		length;
} ColumnIndex;

typedef struct FileIndex
{
	LakeTable  *table;
	const DataFileMeta *file;
	const TableSchema *schema;	/* of the file */
	const char *path;			/* for messages */
	StorageFile *storage;		/* of an index beside the file */
	BytesView	embedded;		/* of one in the manifest */
	List	   *indexes;		/* ColumnIndex * */
} FileIndex;

/* Kinds of indexes */
typedef struct IndexKind
{
	const char *name;
	int			operators;		/* that it has an answer for: bits */
	RowSet		(*rows) (IndexInput input, const Predicate *leaf, int64 nrows);
} IndexKind;

#define OPERATOR(op) (1 << (op))
#define LISTED_OPERATORS (OPERATOR(PREDICATE_EQ) | OPERATOR(PREDICATE_IN))
#define BITMAP_OPERATORS (LISTED_OPERATORS | OPERATOR(PREDICATE_NE) | OPERATOR(PREDICATE_NOT_IN) | \
						  OPERATOR(PREDICATE_IS_NULL) | OPERATOR(PREDICATE_IS_NOT_NULL))
#define ORDER_OPERATORS (BITMAP_OPERATORS | OPERATOR(PREDICATE_LT) | OPERATOR(PREDICATE_LE) | \
						 OPERATOR(PREDICATE_GT) | OPERATOR(PREDICATE_GE))

static const IndexKind kinds[] = {
	{"bloom-filter", LISTED_OPERATORS, bloom_index_rows},
	{"bitmap", BITMAP_OPERATORS, bitmap_index_rows},
	{"bsi", ORDER_OPERATORS, bsi_index_rows},
	{"range-bitmap", ORDER_OPERATORS, range_bitmap_index_rows},
};

const char *
index_take(IndexInput *input, int64 length)
{
	const char *bytes = input->position;

	if (length < 0 || length > input->end - input->position)
		index_error(input->path, "It ends too early.");
	input->position += length;
	return bytes;
}

uint8
index_take_byte(IndexInput *input)
{
	return (uint8) *index_take(input, 1);
}

int32
index_take_int32(IndexInput *input)
{
	const unsigned char *bytes = (const unsigned char *) index_take(input, 4);

	return (int32) ((uint32) bytes[0] << 24 | (uint32) bytes[1] << 16 | (uint32) bytes[2] << 8 | bytes[3]);
}

int64
index_take_int64(IndexInput *input)
{
	uint64		upper = (uint32) index_take_int32(input);

	return (int64) (upper << 32 | (uint32) index_take_int32(input));
}

IndexInput
index_input_at(const IndexInput *input, int64 offset)
{
	IndexInput	result = *input;

	result.position = result.start;
	index_take(&result, offset);
	return result;
}

/* Times finer than micros are cut in indexes; of floats the bits are compared there, and here the numbers. */
bool
index_type_is_supported(const DataType *type)
{
	switch (type->root)
	{
		case TYPE_BOOLEAN:
		case TYPE_TINYINT:
		case TYPE_SMALLINT:
		case TYPE_INT:
		case TYPE_BIGINT:
		case TYPE_DATE:
		case TYPE_TIME:
		case TYPE_VARCHAR:
			return true;
		case TYPE_TIMESTAMP:
		case TYPE_TIMESTAMP_LTZ:
			return type->physical == PHYSICAL_INT64;
		default:
			return false;
	}
}

bool
index_take_value(IndexInput *input, const DataType *type, Scalar *value)
{
	memset(value, 0, sizeof(*value));
	switch (type->physical)
	{
		case PHYSICAL_INT8:
			value->v.i8 = (int8) index_take_byte(input);
			return true;
		case PHYSICAL_INT16:
			value->v.i16 = (int16) (index_take_byte(input) << 8);
			value->v.i16 |= index_take_byte(input);
			return true;
		case PHYSICAL_INT32:
			value->v.i32 = index_take_int32(input);
			return true;
		case PHYSICAL_INT64:
			value->v.i64 = index_take_int64(input);
			return true;
		case PHYSICAL_BYTES:
			value->v.bytes.length = (uint32) index_take_int32(input);
			value->v.bytes.data = index_take(input, value->v.bytes.length);
			return true;
		default:
			return false;
	}
}

/* A name: its length in two bytes, then modified UTF-8, which differs from ours for few names. */
static const char *
take_name(IndexInput *input, int *length)
{
	*length = index_take_byte(input) << 8;
	*length |= index_take_byte(input);
	return index_take(input, *length);
}

/* Bytes of the container, wherever it is. */
static IndexInput
container_bytes(const FileIndex *index, int64 start, int64 length)
{
	uint64		size = index->storage != NULL ? storage_file_size(index->storage) : index->embedded.length;
	IndexInput	input = {.path = index->path};

	if (start < 0 || length < 0 || start > size || length > size - start || length > MaxAllocSize)
		index_error(index->path, "It has " UINT64_FORMAT " bytes, and should have " INT64_FORMAT " at " INT64_FORMAT ".",
					size, length, start);
	if (index->storage != NULL)
	{
		char	   *bytes = palloc(Max(length, 1));

		storage_read(index->storage, start, length, bytes);
		input.start = bytes;
	}
	else
		input.start = index->embedded.data + start;
	input.position = input.start;
	input.end = input.start + length;
	return input;
}

static void
read_columns(FileIndex *index, IndexInput *head)
{
	int32		ncolumns = index_take_int32(head);

	if (ncolumns < 0 || ncolumns > MAX_COLUMNS)
		index_error(head->path, "It has %d columns.", ncolumns);
	for (int i = 0; i < ncolumns; i++)
	{
		int			column_length;
		const char *column = take_name(head, &column_length);
		int32		nindexes = index_take_int32(head);

		for (int j = 0; j < nindexes; j++)
		{
			ColumnIndex *entry = palloc(sizeof(ColumnIndex));

			entry->column = column;
			entry->column_length = column_length;
			entry->type = take_name(head, &entry->type_length);
			entry->start = index_take_int32(head);
			entry->length = index_take_int32(head);
			index->indexes = lappend(index->indexes, entry);
		}
	}
}

static void
read_head(FileIndex *index)
{
	IndexInput	begin = container_bytes(index, 0, HEAD_BEGIN);
	int32		length;
	IndexInput	head;

	if (index_take_int64(&begin) != MAGIC)
		index_error(index->path, "It does not begin as it should.");
	if (index_take_int32(&begin) != VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("file index \"%s\" is of a version that is not supported", index->path)));
	length = index_take_int32(&begin);
	if (length < HEAD_BEGIN)
		index_error(index->path, "Its head has the length %d.", length);
	head = container_bytes(index, HEAD_BEGIN, length - HEAD_BEGIN);
	read_columns(index, &head);
}

/* Find the container; false if the file has none. */
static bool
open_container(FileIndex *index, const char *data_path)
{
	const DataFileMeta *file = index->file;
	ListCell   *cell;

	index->path = file->file_name;
	index->embedded = file->embedded_index;
	if (file->has_embedded_index)
		return true;
	foreach(cell, file->extra_files)
	{
		const char *name = lfirst(cell);
		size_t		length = strlen(name);
		size_t		suffix = strlen(SIDE_FILE_SUFFIX);

		if (length < suffix || strcmp(name + length - suffix, SIDE_FILE_SUFFIX) != 0)
			continue;
		index->path = storage_join(pnstrdup(data_path, strrchr(data_path, '/') - data_path), name);
		index->storage = storage_open(index->path);
		return true;
	}
	return false;
}

/* The file's column of a table field, if its values are the same in both. */
static const DataField *
column_of_field(const FileIndex *index, int field)
{
	const DataField *wanted = &index->table->schema->fields[field];

	for (int i = 0; i < index->schema->nfields; i++)
	{
		const DataField *found = &index->schema->fields[i];

		if (found->id == wanted->id)
			return cast_is_identity(found->type, wanted->type) ? found : NULL;
	}
	return NULL;
}

/* What one index says of a leaf. */
static RowSet
ask_index(const FileIndex *index, const ColumnIndex *entry, const Predicate *leaf)
{
	int64		nrows = index->file->row_count;

	/* all values are null: nothing but IS NULL is true */
	if (entry->start == -1)
		return leaf->op == PREDICATE_IS_NULL ? row_set_all(nrows) : row_set_none(nrows);
	for (int i = 0; i < lengthof(kinds); i++)
	{
		if (strlen(kinds[i].name) != entry->type_length ||
			memcmp(kinds[i].name, entry->type, entry->type_length) != 0 ||
			(kinds[i].operators & OPERATOR(leaf->op)) == 0)
			continue;
		return kinds[i].rows(container_bytes(index, entry->start, entry->length), leaf, nrows);
	}
	return row_set_all(nrows);
}

static RowSet
ask_leaf(const FileIndex *index, const Predicate *leaf)
{
	RowSet		rows = row_set_all(index->file->row_count);
	const DataField *column = column_of_field(index, leaf->column);
	ListCell   *cell;

	if (column == NULL || !index_type_is_supported(column->type))
		return rows;
	foreach(cell, index->indexes)
	{
		const ColumnIndex *entry = lfirst(cell);

		if (strlen(column->name) == entry->column_length &&
			memcmp(column->name, entry->column, entry->column_length) == 0)
			rows = row_set_and(rows, ask_index(index, entry, leaf));
	}
	return rows;
}

static RowSet
ask(const FileIndex *index, const Predicate *predicate)
{
	int64		nrows = index->file->row_count;
	RowSet		rows;
	ListCell   *cell;

	switch (predicate->op)
	{
		case PREDICATE_AND:
			rows = row_set_all(nrows);
			foreach(cell, predicate->children)
				rows = row_set_and(rows, ask(index, lfirst(cell)));
			return rows;
		case PREDICATE_OR:
			rows = row_set_none(nrows);
			foreach(cell, predicate->children)
				rows = row_set_or(rows, ask(index, lfirst(cell)));
			return rows;
		case PREDICATE_FALSE:
			return row_set_none(nrows);
		default:
			return ask_leaf(index, predicate);
	}
}

RowSet
file_index_rows(LakeTable *table, const DataFileMeta *file, const char *data_path, const Predicate *predicate)
{
	FileIndex	index = {.table = table, .file = file};
	RowSet		rows = row_set_all(file->row_count);
	MemoryContext context;
	MemoryContext old;

	if (predicate == NULL || (!file->has_embedded_index && file->extra_files == NIL))
		return rows;
	context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse file index", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	if (open_container(&index, data_path))
	{
		index.schema = lake_table_schema(table, file->schema_id);
		read_head(&index);
		rows = row_set_simplify(ask(&index, predicate));
	}
	MemoryContextSwitchTo(old);
	rows = row_set_copy(&rows);
	MemoryContextDelete(context);
	return rows;
}
