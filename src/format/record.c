/*
 * record.c
 *		Files of records, read into structs: Avro, or a columnar format.
 *
 * A layout says what the columns of a columnar file are: its fields, with the
 * types that their targets have.  Rows of its batches are then put into
 * structs one by one; such files are small and few.
 */
#include "postgres.h"

#include "format/format.h"
#include "format/record.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#define MAGIC_LENGTH 4

/* How the files of a format begin */
typedef struct FormatMagic
{
	const char *name;
	const char *magic;
	int			length;
} FormatMagic;

static const FormatMagic magics[] = {
	{"parquet", "PAR1", 4},
	{"orc", "ORC", 3},
};

#define record_error(path, ...) \
	ereport(ERROR, \
			(errcode(ERRCODE_DATA_CORRUPTED), \
			 errmsg("file \"%s\" is damaged", path), \
			 errdetail(__VA_ARGS__)))

static DataType *layout_type(const AvroLayout *layout);

static DataType *
array_type(DataType *element)
{
	DataType   *type = type_make(TYPE_ARRAY, 0, 0, true);

	type->nchildren = 1;
	type->children = palloc0(sizeof(DataField));
	type->children[0].type = element;
	return type;
}

static DataType *
field_type(const AvroField *field)
{
	if (field->column_type != NULL)
		return type_parse_atomic(field->column_type);
	switch (field->target)
	{
		case AVRO_TO_INT32:
			return type_parse_atomic("INT");
		case AVRO_TO_INT64:
			return type_parse_atomic("BIGINT");
		case AVRO_TO_STRING:
			return type_parse_atomic("STRING");
		case AVRO_TO_BYTES:
			return type_parse_atomic("BYTES");
		case AVRO_TO_STRING_LIST:
			return array_type(type_parse_atomic("STRING"));
		case AVRO_TO_INT64_ARRAY:
			return array_type(type_parse_atomic("BIGINT"));
		case AVRO_TO_RECORD:
			return layout_type(field->record);
		case AVRO_TO_RECORD_LIST:
			return array_type(layout_type(field->record));
	}
	elog(ERROR, "field \"%s\" has an unknown target", field->name);
}

static DataType *
layout_type(const AvroLayout *layout)
{
	DataType   *type = type_make(TYPE_ROW, 0, 0, true);

	type->nchildren = layout->nfields;
	type->children = palloc0(layout->nfields * sizeof(DataField));
	for (int i = 0; i < layout->nfields; i++)
	{
		type->children[i].id = i;
		type->children[i].name = pstrdup(layout->fields[i].name);
		type->children[i].type = field_type(&layout->fields[i]);
	}
	return type;
}

static void fill_record(const AvroLayout *layout, Vector *const *columns, int row, char *target, const char *path);

/* A number of whatever width the column has. */
static int64
get_number(const Vector *vector, int row)
{
	Scalar		value = vector_get(vector, row);

	switch (vector->type->physical)
	{
		case PHYSICAL_INT8:
			return value.v.i8;
		case PHYSICAL_INT32:
			return value.v.i32;
		default:
			Assert(vector->type->physical == PHYSICAL_INT64);
			return value.v.i64;
	}
}

static char *
get_string(const Vector *vector, int row)
{
	BytesView	bytes = vector_get(vector, row).v.bytes;

	return pnstrdup(bytes.data, bytes.length);
}

static bool
is_null(const Vector *vector, int row)
{
	return vector->has_nulls && vector->nulls[row];
}

static void
fill_list(const AvroField *field, const Vector *vector, int row, char *target, const char *path)
{
	const Vector *elements = vector->children[0];
	ListView	view = vector->values.list[row];
	List	   *list = NIL;
	int64	   *numbers = NULL;

	if (field->target == AVRO_TO_INT64_ARRAY)
		numbers = palloc(Max(view.length, 1) * sizeof(int64));
	for (int i = 0; i < view.length; i++)
	{
		int			element = view.start + i;

		if (field->target == AVRO_TO_INT64_ARRAY)
			numbers[i] = is_null(elements, element) ? -1 : get_number(elements, element);
		else if (is_null(elements, element))
			continue;
		else if (field->target == AVRO_TO_STRING_LIST)
			list = lappend(list, get_string(elements, element));
		else
		{
			char	   *record = palloc0(field->record->size);

			fill_record(field->record, elements->children, element, record, path);
			list = lappend(list, record);
		}
	}
	if (field->target == AVRO_TO_INT64_ARRAY)
	{
		*(int64 **) (target + field->offset) = numbers;
		*(int *) (target + field->count) = view.length;
	}
	else
		*(List **) (target + field->offset) = list;
}

static void
fill_field(const AvroField *field, const Vector *vector, int row, char *target, const char *path)
{
	if (is_null(vector, row))
	{
		if (!field->optional)
			record_error(path, "Field \"%s\" is missing.", field->name);
		return;
	}
	if (field->flag != AVRO_NO_OFFSET)
		*(bool *) (target + field->flag) = true;
	switch (field->target)
	{
		case AVRO_TO_INT32:
			*(int32 *) (target + field->offset) = (int32) get_number(vector, row);
			break;
		case AVRO_TO_INT64:
			*(int64 *) (target + field->offset) = get_number(vector, row);
			break;
		case AVRO_TO_STRING:
			*(char **) (target + field->offset) = get_string(vector, row);
			break;
		case AVRO_TO_BYTES:
			*(BytesView *) (target + field->offset) = vector_get(vector, row).v.bytes;
			break;
		case AVRO_TO_RECORD:
			fill_record(field->record, vector->children, row, target + field->offset, path);
			break;
		case AVRO_TO_STRING_LIST:
		case AVRO_TO_INT64_ARRAY:
		case AVRO_TO_RECORD_LIST:
			fill_list(field, vector, row, target, path);
			break;
	}
}

/* The target is zeroed. */
static void
fill_record(const AvroLayout *layout, Vector *const *columns, int row, char *target, const char *path)
{
	for (int i = 0; i < layout->nfields; i++)
		fill_field(&layout->fields[i], columns[i], row, target, path);
}

/* Who is called back, in which context */
typedef struct RecordVisitor
{
	MemoryContext context;
	AvroRecordCallback callback;
	void	   *arg;
} RecordVisitor;

/* Rows of one batch, in CurrentMemoryContext. */
static void
visit_batch(FormatReader *reader, const AvroLayout *layout, Vector *const *columns, const char *path,
			const RecordVisitor *visitor)
{
	char	   *record = palloc(layout->size);

	for (int i = 0; i < layout->nfields; i++)
		format_read_column(reader, i, NULL, reader->nrows, columns[i]);
	for (int row = 0; row < reader->nrows; row++)
	{
		MemoryContext old;

		CHECK_FOR_INTERRUPTS();
		memset(record, 0, layout->size);
		fill_record(layout, columns, row, record, path);
		old = MemoryContextSwitchTo(visitor->context);
		visitor->callback(record, visitor->arg);
		MemoryContextSwitchTo(old);
	}
}

static void
read_columnar(const FormatRoutine *routine, StorageFile *file, int64 size, const AvroLayout *layout,
			  const RecordVisitor *visitor)
{
	const char *path = storage_file_path(file);
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "streamhouse records", ALLOCSET_DEFAULT_SIZES);
	const DataType *type = layout_type(layout);
	FormatReadOptions options = {.ncolumns = layout->nfields, .columns = type->children};
	Vector	  **columns = palloc(layout->nfields * sizeof(Vector *));
	FormatReader *reader;

	if (size >= 0 && (uint64) size != storage_file_size(file))
		record_error(path, "It has " UINT64_FORMAT " bytes, its metadata says " INT64_FORMAT ".",
					 storage_file_size(file), size);
	for (int i = 0; i < layout->nfields; i++)
		columns[i] = vector_create(type->children[i].type, BATCH_ROWS);
	reader = format_open(routine, file, &options);
	while (format_next(reader))
	{
		MemoryContext old = MemoryContextSwitchTo(scratch);

		visit_batch(reader, layout, columns, path, visitor);
		MemoryContextSwitchTo(old);
		MemoryContextReset(scratch);
	}
	format_close(reader);
	MemoryContextDelete(scratch);
}

/* The columnar format that the file's first bytes tell, NULL if none. */
static const FormatRoutine *
columnar_format(StorageFile *file)
{
	char		begin[MAGIC_LENGTH];

	if (storage_file_size(file) < MAGIC_LENGTH)
		return NULL;
	storage_read(file, 0, MAGIC_LENGTH, begin);
	for (int i = 0; i < lengthof(magics); i++)
		if (memcmp(begin, magics[i].magic, magics[i].length) == 0)
			return format_lookup(magics[i].name);
	return NULL;
}

bool
record_file_is_avro(const char *path)
{
	StorageFile *file = storage_open(path);
	bool		is_avro = columnar_format(file) == NULL;

	storage_close(file);
	return is_avro;
}

void
record_read_file(const char *path, int64 size, const AvroLayout *layout, AvroRecordCallback callback, void *arg)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse record file",
												  ALLOCSET_DEFAULT_SIZES);
	RecordVisitor visitor = {CurrentMemoryContext, callback, arg};
	MemoryContext old = MemoryContextSwitchTo(context);
	StorageFile *file = storage_open(path);
	const FormatRoutine *routine = columnar_format(file);

	if (routine != NULL)
		read_columnar(routine, file, size, layout, &visitor);
	storage_close(file);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	if (routine == NULL)
		avro_read_file(path, size, layout, callback, arg);
}
