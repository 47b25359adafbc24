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

#define MAGIC INT64CONST(1493475289347502)
#define VERSION 1
#define SIDE_FILE_SUFFIX ".index"
#define MAX_COLUMNS 100000

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
	IndexInput	container;
	List	   *indexes;		/* ColumnIndex * */
} FileIndex;

/* Kinds of indexes */
typedef struct IndexKind
{
	const char *name;
	RowSet		(*rows) (IndexInput input, const Predicate *leaf, int64 nrows);
} IndexKind;

static const IndexKind kinds[] = {
	{"bloom-filter", bloom_index_rows},
	{"bitmap", bitmap_index_rows},
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

static void
read_head(FileIndex *index)
{
	IndexInput *input = &index->container;
	int32		ncolumns;

	if (index_take_int64(input) != MAGIC)
		index_error(input->path, "It does not begin as it should.");
	if (index_take_int32(input) != VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("file index \"%s\" is of a version that is not supported", input->path)));
	(void) index_take_int32(input); /* length of the head */
	ncolumns = index_take_int32(input);
	if (ncolumns < 0 || ncolumns > MAX_COLUMNS)
		index_error(input->path, "It has %d columns.", ncolumns);
	for (int i = 0; i < ncolumns; i++)
	{
		int			column_length;
		const char *column = take_name(input, &column_length);
		int32		nindexes = index_take_int32(input);

		for (int j = 0; j < nindexes; j++)
		{
			ColumnIndex *entry = palloc(sizeof(ColumnIndex));

			entry->column = column;
			entry->column_length = column_length;
			entry->type = take_name(input, &entry->type_length);
			entry->start = index_take_int32(input);
			entry->length = index_take_int32(input);
			index->indexes = lappend(index->indexes, entry);
		}
	}
}

/* The container's bytes; false if the file has no index. */
static bool
load_container(FileIndex *index, const char *data_path)
{
	const DataFileMeta *file = index->file;
	ListCell   *cell;
	BytesView	bytes = file->embedded_index;

	index->container.path = file->file_name;
	if (!file->has_embedded_index)
	{
		bytes.data = NULL;
		foreach(cell, file->extra_files)
		{
			const char *name = lfirst(cell);
			size_t		length = strlen(name);
			size_t		suffix = strlen(SIDE_FILE_SUFFIX);
			char	   *folder;

			if (length < suffix || strcmp(name + length - suffix, SIDE_FILE_SUFFIX) != 0)
				continue;
			folder = pnstrdup(data_path, strrchr(data_path, '/') - data_path);
			index->container.path = storage_join(folder, name);
			bytes.data = storage_read_whole(index->container.path, 0, false, &length);
			bytes.length = length;
			break;
		}
	}
	index->container.start = index->container.position = bytes.data;
	index->container.end = bytes.data != NULL ? bytes.data + bytes.length : NULL;
	return bytes.data != NULL;
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
	IndexInput	input;

	/* all values are null: nothing but IS NULL is true */
	if (entry->start == -1)
		return leaf->op == PREDICATE_IS_NULL ? row_set_all(nrows) : row_set_none(nrows);
	for (int i = 0; i < lengthof(kinds); i++)
	{
		if (strlen(kinds[i].name) != entry->type_length ||
			memcmp(kinds[i].name, entry->type, entry->type_length) != 0)
			continue;
		input = index_input_at(&index->container, entry->start);
		input.start = index_take(&input, entry->length);
		input.end = input.position;
		input.position = input.start;
		return kinds[i].rows(input, leaf, nrows);
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

	if (predicate == NULL || !load_container(&index, data_path))
		return row_set_all(file->row_count);
	index.schema = lake_table_schema(table, file->schema_id);
	read_head(&index);
	return row_set_simplify(ask(&index, predicate));
}
