/*
 * file_writer.c
 *		Data files of one partition and bucket, with their metadata.
 *
 * The columns of a file (format digest 6.1): of an append table its fields; of
 * a primary key table the key columns again as _KEY_<name> (not in thin mode),
 * the sequence number, the row kind, then all fields.  Nothing is copied to
 * lay them out so: the vectors of keys are written twice.
 */
#include "postgres.h"

#include "format/format.h"
#include "lake/binary_row.h"
#include "lake/clock.h"
#include "lake/file_writer.h"
#include "lake/read.h"
#include "lake/statistics.h"
#include "miscadmin.h"
#include "storage/storage.h"
#include "utils/memutils.h"

#define KEY_FIELD_ID_START 1073741823
#define SEQUENCE_NUMBER_FIELD_ID 2147483646
#define VALUE_KIND_FIELD_ID 2147483645

/* Rows between two looks at the file's size. */
#define ROLL_CHECK_ROWS 1000

/* The file being written. */
typedef struct OpenFile
{
	MemoryContext context;
	char	   *name;
	char	   *path;
	StorageWriter *storage;
	FormatWriter *format;
	int64		rows;
	int64		delete_rows;
	int64		min_sequence_number;
	int64		max_sequence_number;
	BytesView	min_key;
	BytesView	max_key;
} OpenFile;

struct FileWriter
{
	MemoryContext context;
	LakeTable  *table;
	FileWriterTarget target;
	PendingFiles *files;
	const FormatRoutine *routine;
	char		uuid[37];
	int			counter;
	StatsMode  *stats_modes;	/* by field */

	/* the columns of a file */
	int			ncolumns;
	int			first_value;	/* column of field 0 */
	DataField  *columns;
	Vector	  **vectors;		/* what is written for each */
	Vector		sequence_vector;
	Vector		kind_vector;

	int64		next_sequence_number;	/* of append tables */
	OpenFile   *file;			/* NULL between files */
	List	   *entries;		/* of finished files */
};

static void
set_system_column(DataField *column, const char *name, int32 id, TypeRoot root)
{
	column->id = id;
	column->name = pstrdup(name);
	column->type = type_make(root, 0, 0, false);
}

/* Lay out the columns that files of the table have. */
static void
build_columns(FileWriter *writer)
{
	const TableSchema *schema = writer->table->schema;
	int			n = 0;

	writer->columns = (DataField *) palloc0((schema->nfields + schema->ntrimmed_keys + 2) * sizeof(DataField));
	if (writer->table->has_primary_key)
	{
		for (int i = 0; i < schema->ntrimmed_keys && !writer->table->options->thin_mode; i++)
		{
			const DataField *field = &schema->fields[schema->trimmed_keys[i]];
			DataField  *column = &writer->columns[n++];

			*column = *field;
			column->id = KEY_FIELD_ID_START + field->id;
			column->name = psprintf("_KEY_%s", field->name);
			column->type = (DataType *) palloc(sizeof(DataType));
			*column->type = *field->type;
			column->type->nullable = false;
		}
		set_system_column(&writer->columns[n++], "_SEQUENCE_NUMBER", SEQUENCE_NUMBER_FIELD_ID, TYPE_BIGINT);
		set_system_column(&writer->columns[n++], "_VALUE_KIND", VALUE_KIND_FIELD_ID, TYPE_TINYINT);
		writer->sequence_vector.type = writer->columns[n - 2].type;
		writer->kind_vector.type = writer->columns[n - 1].type;
	}
	writer->first_value = n;
	for (int i = 0; i < schema->nfields; i++)
		writer->columns[n++] = schema->fields[i];
	writer->ncolumns = n;
	writer->vectors = (Vector **) palloc(n * sizeof(Vector *));
}

FileWriter *
file_writer_open(LakeTable *table, const FileWriterTarget *target, PendingFiles *files)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "lake file writer",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	FileWriter *writer = (FileWriter *) palloc0(sizeof(FileWriter));
	char	   *partition = (char *) palloc(target->partition.length);

	writer->context = context;
	writer->table = table;
	writer->target = *target;
	memcpy(partition, target->partition.data, target->partition.length);
	writer->target.partition.data = partition;
	writer->files = files;
	writer->next_sequence_number = target->first_sequence_number;
	writer->routine = format_lookup(table->options->file_format);
	if (writer->routine == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("file format \"%s\" of table \"%s\" cannot be written",
						table->options->file_format, table->name)));
	lake_uuid(writer->uuid);
	writer->stats_modes = (StatsMode *) palloc(table->schema->nfields * sizeof(StatsMode));
	stats_modes_of_table(table->schema, table->options->thin_mode, target->level, writer->stats_modes);
	build_columns(writer);
	MemoryContextSwitchTo(old);
	return writer;
}

/* Begin the next file. */
static void
begin_file(FileWriter *writer)
{
	const TableOptions *options = writer->table->options;
	MemoryContext context = AllocSetContextCreate(writer->context, "lake data file", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	OpenFile   *file = (OpenFile *) palloc0(sizeof(OpenFile));
	DataFileMeta named = {0};
	FormatWriteOptions format_options = {0};

	file->context = context;
	file->name = psprintf("%s%s-%d.%s", options->data_file_prefix, writer->uuid, writer->counter++,
						  writer->routine->name);
	named.file_name = file->name;
	file->path = lake_data_file_path(writer->table, writer->target.partition, writer->target.bucket, &named);
	file->storage = storage_create(file->path);
	format_options.ncolumns = writer->ncolumns;
	format_options.columns = writer->columns;
	format_options.compression = options->file_compression;
	format_options.compression_level = options->zstd_level;
	file->format = format_create(writer->routine, file->storage, &format_options);
	file->min_sequence_number = PG_INT64_MAX;
	file->max_sequence_number = PG_INT64_MIN;
	writer->file = file;
	MemoryContextSwitchTo(old);
}

/* The serialised key of one row of a batch, in the file's context. */
static BytesView
serialize_key(FileWriter *writer, Vector *const *columns, int row)
{
	const TableSchema *schema = writer->table->schema;
	MemoryContext old = MemoryContextSwitchTo(writer->file->context);
	Scalar	   *values = (Scalar *) palloc(Max(schema->ntrimmed_keys, 1) * sizeof(Scalar));
	BytesView	key;

	for (int i = 0; i < schema->ntrimmed_keys; i++)
		values[i] = vector_get(columns[schema->trimmed_keys[i]], row);
	key = binary_row_serialize(writer->table->key_types, values, schema->ntrimmed_keys);
	pfree(values);
	MemoryContextSwitchTo(old);
	return key;
}

/* Statistics of the finished file's keys and values, reduced by their modes. */
static void
set_statistics(FileWriter *writer, DataFileMeta *meta, ColumnStatistics *columns)
{
	const TableSchema *schema = writer->table->schema;
	const TableOptions *options = writer->table->options;
	ColumnStatistics *values = columns + writer->first_value;
	ColumnStatistics *keys = (ColumnStatistics *) palloc(Max(schema->ntrimmed_keys, 1) * sizeof(ColumnStatistics));
	const DataType **types = (const DataType **) palloc(schema->nfields * sizeof(DataType *));

	for (int i = 0; i < schema->ntrimmed_keys; i++)
	{
		keys[i] = values[schema->trimmed_keys[i]];
		column_statistics_truncate(&keys[i], writer->table->key_types[i], stats_mode_of_keys);
	}
	if (writer->table->has_primary_key)
		meta->key_stats = simple_stats_build(writer->table->key_types, keys, schema->ntrimmed_keys);
	else
		meta->key_stats = simple_stats_empty();

	for (int i = 0; i < schema->nfields; i++)
	{
		types[i] = schema->fields[i].type;
		column_statistics_truncate(&values[i], types[i], writer->stats_modes[i]);
	}
	if (options->stats_dense_store)
		meta->value_stats = simple_stats_build_dense(schema, values, &meta->has_value_stats_cols,
													 &meta->value_stats_cols);
	else
		meta->value_stats = simple_stats_build(types, values, schema->nfields);
}

/* The metadata of the file that was just finished. */
static DataFileMeta *
describe_file(FileWriter *writer, int64 size, ColumnStatistics *statistics)
{
	OpenFile   *file = writer->file;
	DataFileMeta *meta = (DataFileMeta *) palloc0(sizeof(DataFileMeta));

	meta->file_name = file->name;
	meta->file_size = size;
	meta->row_count = file->rows;
	meta->schema_id = writer->table->schema->id;
	meta->level = writer->target.level;
	meta->file_source = writer->target.source;
	meta->has_creation_time = true;
	meta->creation_time = clock_local_millis();
	meta->has_delete_row_count = true;
	meta->delete_row_count = file->delete_rows;
	meta->min_sequence_number = file->min_sequence_number;
	meta->max_sequence_number = file->max_sequence_number;
	if (writer->table->has_primary_key)
	{
		meta->min_key = file->min_key;
		meta->max_key = file->max_key;
	}
	else
	{
		meta->min_key = binary_row_serialize_empty();
		meta->max_key = binary_row_serialize_empty();
	}
	set_statistics(writer, meta, statistics);
	return meta;
}

/* End the current file and keep its entry. */
static void
end_file(FileWriter *writer)
{
	OpenFile   *file = writer->file;
	MemoryContext old = MemoryContextSwitchTo(file->context);
	ColumnStatistics *statistics = (ColumnStatistics *) palloc0(writer->ncolumns * sizeof(ColumnStatistics));
	ManifestEntry entry = {0};
	uint64		size;

	format_finish(file->format, statistics);
	size = storage_finish(file->storage);
	pending_files_add(writer->files, file->path);

	entry.kind = FILE_ADD;
	entry.partition = writer->target.partition;
	entry.bucket = writer->target.bucket;
	entry.total_buckets = writer->target.total_buckets;
	entry.file = describe_file(writer, size, statistics);
	MemoryContextSwitchTo(writer->context);
	writer->entries = lappend(writer->entries, manifest_entry_copy(&entry));
	MemoryContextSwitchTo(old);
	MemoryContextDelete(file->context);
	writer->file = NULL;
}

/* Count sequence numbers and deletes of rows, and remember the keys at the ends. */
static void
note_keyed_rows(FileWriter *writer, Vector *const *columns, const int64 *sequence_numbers, const int8 *kinds,
				const int32 *rows, int nrows)
{
	OpenFile   *file = writer->file;

	for (int i = 0; i < nrows; i++)
	{
		int64		sequence_number = sequence_numbers[rows[i]];

		file->min_sequence_number = Min(file->min_sequence_number, sequence_number);
		file->max_sequence_number = Max(file->max_sequence_number, sequence_number);
		file->delete_rows += ROW_KIND_IS_RETRACT(kinds[rows[i]]) ? 1 : 0;
	}
	if (file->rows == 0)
		file->min_key = serialize_key(writer, columns, rows[0]);
	if (file->max_key.data != NULL)
		pfree((void *) file->max_key.data);
	file->max_key = serialize_key(writer, columns, rows[nrows - 1]);
}

/* Give consecutive sequence numbers to rows that do not store theirs. */
static void
note_plain_rows(FileWriter *writer, int nrows)
{
	OpenFile   *file = writer->file;

	if (file->rows == 0)
		file->min_sequence_number = writer->next_sequence_number;
	writer->next_sequence_number += nrows;
	file->max_sequence_number = writer->next_sequence_number - 1;
}

/* Write up to ROLL_CHECK_ROWS rows; writer->vectors are set. */
static void
write_chunk(FileWriter *writer, Vector *const *columns, const int64 *sequence_numbers, const int8 *kinds,
			const int32 *rows, int nrows)
{
	CHECK_FOR_INTERRUPTS();
	if (writer->file == NULL)
		begin_file(writer);
	if (writer->table->has_primary_key)
		note_keyed_rows(writer, columns, sequence_numbers, kinds, rows, nrows);
	else
		note_plain_rows(writer, nrows);
	format_write(writer->file->format, writer->vectors, rows, nrows);
	writer->file->rows += nrows;
	if (format_position(writer->file->format) >= writer->table->options->target_file_size)
		end_file(writer);
}

static void
write_rows(FileWriter *writer, Vector *const *columns, const int64 *sequence_numbers, const int8 *kinds,
		   const int32 *rows, int nrows)
{
	const TableSchema *schema = writer->table->schema;
	int32		identity[ROLL_CHECK_ROWS];

	for (int i = 0; i < schema->nfields; i++)
	{
		vector_flatten(columns[i], rows, nrows);
		writer->vectors[writer->first_value + i] = columns[i];
	}
	for (int done = 0; done < nrows; done += ROLL_CHECK_ROWS)
	{
		int			count = Min(nrows - done, ROLL_CHECK_ROWS);

		if (rows == NULL)
		{
			for (int i = 0; i < count; i++)
				identity[i] = done + i;
		}
		write_chunk(writer, columns, sequence_numbers, kinds, rows != NULL ? rows + done : identity, count);
	}
}

/* Rows of a table without primary key. */
void
file_writer_append(FileWriter *writer, Vector *const *columns, const int32 *rows, int nrows)
{
	Assert(!writer->table->has_primary_key);
	write_rows(writer, columns, NULL, NULL, rows, nrows);
}

/* Rows of a primary key table, in the order of their keys. */
void
file_writer_append_keyed(FileWriter *writer, Vector *const *columns,
						 const int64 *sequence_numbers, const int8 *kinds,
						 const int32 *rows, int nrows)
{
	const TableSchema *schema = writer->table->schema;

	Assert(writer->table->has_primary_key);
	for (int i = 0; i < writer->first_value - 2; i++)
		writer->vectors[i] = columns[schema->trimmed_keys[i]];
	/* the writer of the format only reads what it is given */
	writer->sequence_vector.values.any = (void *) sequence_numbers;
	writer->kind_vector.values.any = (void *) kinds;
	writer->vectors[writer->first_value - 2] = &writer->sequence_vector;
	writer->vectors[writer->first_value - 1] = &writer->kind_vector;
	write_rows(writer, columns, sequence_numbers, kinds, rows, nrows);
}

/* Finish and free the writer; the entries of its files. */
List *
file_writer_finish(FileWriter *writer)
{
	List	   *entries = NIL;
	ListCell   *lc;

	if (writer->file != NULL)
		end_file(writer);
	foreach(lc, writer->entries)
		entries = lappend(entries, manifest_entry_copy((const ManifestEntry *) lfirst(lc)));
	MemoryContextDelete(writer->context);
	return entries;
}
