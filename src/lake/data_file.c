/*
 * data_file.c
 *		One data file as columns of the table's present schema.
 *
 * Source: format digest sections 1 (names), 2.4 (evolution), 6.1 and 6.2.
 */
#include "postgres.h"

#include "columnar/cast.h"
#include "lake/binary_row.h"
#include "lake/data_file.h"
#include "lake/deletion_vector.h"

#define NSYSTEM_FIELDS 2

/* Where the values of a field come from */
typedef enum FieldSource
{
	SOURCE_NOT_ASKED,
	SOURCE_FILE,				/* a column of the file */
	SOURCE_PARTITION,			/* the same value in all rows */
	SOURCE_NULL,				/* the file is older than the column */
	SOURCE_ROW_KIND,			/* a row kind: of append tables "+I" */
	SOURCE_ROW_ID,				/* a row id: in the file, else by position */
	SOURCE_SEQUENCE_NUMBER		/* that of a row: in the file, else the file's */
} FieldSource;

typedef struct FieldMapping
{
	FieldSource source;
	int			column;			/* of the format reader; SOURCE_FILE */
	const DataType *file_type;	/* SOURCE_FILE */
	Cast	   *cast;			/* from the file's type; NULL: values are read as they are */
	Vector	   *uncast;			/* values of the file's type, to be cast */
	int			partition_key;	/* SOURCE_PARTITION */
} FieldMapping;

struct DataFileReader
{
	LakeTable  *table;
	const DataFileMeta *file;
	const TableSchema *file_schema;
	FieldMapping *mappings;		/* by field + NSYSTEM_FIELDS */
	Scalar	   *partition_values;
	StorageFile *storage;
	FormatReader *format;
	RowSet		live;			/* rows that count: not deleted, nor excluded by an index */
};

static DataType sequence_number_type = {.root = TYPE_BIGINT, .nullable = false, .physical = PHYSICAL_INT64};
static DataType value_kind_type = {.root = TYPE_TINYINT, .nullable = false, .physical = PHYSICAL_INT8};

static const DataField system_fields[NSYSTEM_FIELDS] = {
	{.id = 2147483645, .name = "_VALUE_KIND", .type = &value_kind_type},
	{.id = 2147483646, .name = "_SEQUENCE_NUMBER", .type = &sequence_number_type},
};

/* Of rows in append tables */
static const Scalar insert_kind = {.v.bytes = {"+I", 2}};

/* Endings that name a compression after or before the format, and no format */
static const char *const compression_extensions[] = {
	"zstd", "zst", "snappy", "lz4", "gz", "gzip", "lzo", "bz2", "deflate", "br", "none"
};

static bool
is_compression_extension(const char *text, size_t length)
{
	for (int i = 0; i < lengthof(compression_extensions); i++)
		if (strlen(compression_extensions[i]) == length &&
			strncmp(compression_extensions[i], text, length) == 0)
			return true;
	return false;
}

/* The text between the last two dots before end; start of the name counts as a dot. */
static const char *
last_part(const char *name, const char *end)
{
	const char *start = end;

	while (start > name && start[-1] != '.')
		start--;
	return start;
}

char *
data_file_format_name(const char *file_name)
{
	const char *end = file_name + strlen(file_name);
	const char *start = last_part(file_name, end);

	if (start > file_name && is_compression_extension(start, end - start))
	{
		end = start - 1;
		start = last_part(file_name, end);
	}
	return start > file_name ? pnstrdup(start, end - start) : pstrdup("");
}

const FormatRoutine *
data_file_format(const LakeTable *table, const char *file_name)
{
	char	   *name = data_file_format_name(file_name);
	const FormatRoutine *routine = format_lookup(name);

	if (routine == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("file format \"%s\" is not supported", name),
				 errdetail("Table \"%s\" has data file \"%s\".", table->name, file_name)));
	pfree(name);
	return routine;
}

static const DataField *
table_field(const LakeTable *table, int field)
{
	return field < 0 ? &system_fields[field + NSYSTEM_FIELDS] : &table->schema->fields[field];
}

const DataType *
data_file_field_type(const LakeTable *table, int field)
{
	return table_field(table, field)->type;
}

static int
partition_key_of(const TableSchema *schema, int field)
{
	for (int i = 0; i < schema->npartition_keys; i++)
		if (schema->partition_keys[i] == field)
			return i;
	return -1;
}

/* The file's own field for a field of the table, or NULL: it did not exist then. */
static const DataField *
find_file_field(const DataFileReader *reader, int field)
{
	const DataField *wanted = table_field(reader->table, field);
	const TableSchema *schema = reader->file_schema;

	if (field < 0)
		return wanted;
	/* mostly the schemas are the same */
	if (field < schema->nfields && schema->fields[field].id == wanted->id)
		return &schema->fields[field];
	for (int i = 0; i < schema->nfields; i++)
		if (schema->fields[i].id == wanted->id)
			return &schema->fields[i];
	return NULL;
}

/* What makes the file's values those of the table's type, if they are others. */
static void
prepare_cast(const DataFileReader *reader, FieldMapping *mapping, const DataField *wanted)
{
	if (cast_is_identity(mapping->file_type, wanted->type))
		return;
	if (!cast_is_supported(mapping->file_type, wanted->type))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" of table \"%s\" changed its type, which is not supported",
						wanted->name, reader->table->name),
				 errdetail("It is %s now and %s in data file \"%s\".",
						   type_to_text(wanted->type), type_to_text(mapping->file_type),
						   reader->file->file_name)));
	mapping->cast = cast_create(mapping->file_type, wanted->type);
	mapping->uncast = vector_create(mapping->file_type, BATCH_ROWS);
}

/* Is the field one that a view adds? */
static bool
map_view_field(const DataField *wanted, FieldMapping *mapping)
{
	switch (wanted->id)
	{
		case FIELD_ID_ROW_KIND:
			mapping->source = SOURCE_ROW_KIND;
			return true;
		case FIELD_ID_ROW_ID:
			mapping->source = SOURCE_ROW_ID;
			return true;
		case FIELD_ID_SEQUENCE_NUMBER:
			mapping->source = SOURCE_SEQUENCE_NUMBER;
			return true;
		default:
			return false;
	}
}

/*
 * Decide where each field comes from; columns gets those to ask of the
 * format, under the names and of the types that they have in the file.
 */
static int
map_fields(DataFileReader *reader, const int *fields, int nfields, DataField *columns)
{
	int			ncolumns = 0;

	for (int i = 0; i < nfields; i++)
	{
		FieldMapping *mapping = &reader->mappings[fields[i] + NSYSTEM_FIELDS];
		const DataField *wanted = table_field(reader->table, fields[i]);
		const DataField *found;

		if (mapping->source != SOURCE_NOT_ASKED)
			continue;
		if (map_view_field(wanted, mapping))
		{
			if (mapping->source == SOURCE_ROW_KIND)
				continue;
			mapping->column = ncolumns;
			columns[ncolumns++] = *wanted;
			continue;
		}
		mapping->partition_key = partition_key_of(reader->table->schema, fields[i]);
		if (mapping->partition_key >= 0)
		{
			mapping->source = SOURCE_PARTITION;
			continue;
		}
		found = find_file_field(reader, fields[i]);
		if (found == NULL)
		{
			mapping->source = SOURCE_NULL;
			continue;
		}
		mapping->source = SOURCE_FILE;
		mapping->file_type = found->type;
		prepare_cast(reader, mapping, wanted);
		mapping->column = ncolumns;
		columns[ncolumns] = *found;
		/* which says what is unused of rows */
		if (mapping->cast == NULL && type_equal(found->type, wanted->type))
			columns[ncolumns].type = wanted->type;
		ncolumns++;
	}
	return ncolumns;
}

/*
 * A leaf of the predicate over the columns asked of the format, NULL if there
 * is none such.  Of casts only those of integers to wider ones keep the order
 * (2.4); the values must be some of the file's type.
 */
static Predicate *
rewrite_leaf(const Predicate *leaf, void *arg)
{
	const DataFileReader *reader = arg;
	const FieldMapping *mapping = &reader->mappings[leaf->column + NSYSTEM_FIELDS];
	const DataType *type = leaf->type;
	Scalar	   *values;

	if (mapping->source != SOURCE_FILE)
		return NULL;
	if (mapping->cast == NULL)
		return predicate_move_leaf(leaf, mapping->column);
	if (!cast_is_widening(mapping->file_type, type))
		return NULL;
	values = palloc(Max(leaf->nvalues, 1) * sizeof(Scalar));
	for (int i = 0; i < leaf->nvalues; i++)
	{
		values[i] = leaf->values[i];
		if (!cast_integer(type, mapping->file_type, &values[i]))
			return NULL;
	}
	return predicate_leaf(leaf->op, mapping->column, mapping->file_type, values, leaf->nvalues);
}

/* Keys and system columns are never absent: a file without them is damaged. */
static void
check_required_columns(const DataFileReader *reader, const char *path)
{
	const TableSchema *schema = reader->table->schema;

	for (int field = -NSYSTEM_FIELDS; field < schema->nfields; field++)
	{
		const FieldMapping *mapping = &reader->mappings[field + NSYSTEM_FIELDS];
		bool		required = field < 0;

		for (int i = 0; i < schema->ntrimmed_keys; i++)
			required |= schema->trimmed_keys[i] == field;
		if (required && mapping->source == SOURCE_FILE && !reader->format->present[mapping->column])
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("data file \"%s\" has no column \"%s\"", path, table_field(reader->table, field)->name)));
	}
}

DataFileReader *
data_file_open(LakeTable *table, BytesView partition, int32 bucket, const DataFileMeta *file,
			   const int *fields, int nfields, const Predicate *predicate, const RowRange *rows,
			   FormatCounters *counters)
{
	const TableSchema *schema = table->schema;
	const FormatRoutine *routine = data_file_format(table, file->file_name);
	char	   *path = lake_data_file_path(table, partition, bucket, file);
	DataFileReader *reader = palloc0(sizeof(DataFileReader));
	FormatReadOptions options = {0};
	DataField  *columns = palloc0(Max(nfields, 1) * sizeof(DataField));

	reader->table = table;
	reader->file = file;
	reader->file_schema = lake_table_schema(table, file->schema_id);
	reader->mappings = palloc0((schema->nfields + NSYSTEM_FIELDS) * sizeof(FieldMapping));
	reader->partition_values = palloc0(Max(schema->npartition_keys, 1) * sizeof(Scalar));
	binary_row_deserialize(partition, table->partition_types, reader->partition_values, schema->npartition_keys,
						   "partition", path);
	options.ncolumns = map_fields(reader, fields, nfields, columns);
	options.columns = columns;
	options.predicate = predicate_rewrite(predicate, rewrite_leaf, reader);
	options.rows = rows;
	options.rows_may_move = true;
	options.counters = counters;
	options.file_size = file->file_size > 0 ? file->file_size : 0;
	options.file_rows = file->row_count;
	reader->storage = storage_open(path);
	reader->format = format_open(routine, reader->storage, &options);
	if (reader->format->file_rows != file->row_count)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("data file \"%s\" has " INT64_FORMAT " rows, the manifest says " INT64_FORMAT,
						path, reader->format->file_rows, file->row_count)));
	check_required_columns(reader, path);
	reader->live = file->deletions == NULL ? row_set_all(file->row_count) :
		deletion_vector_live_rows(file->deletions, file->file_name, file->row_count);
	return reader;
}

int
data_file_group_statistics(DataFileReader *reader, int field, GroupStatistics **out)
{
	const FieldMapping *mapping = &reader->mappings[field + NSYSTEM_FIELDS];

	if (mapping->source != SOURCE_FILE || mapping->cast != NULL || reader->live.kind != ROWS_ALL)
		return 0;
	return format_group_statistics(reader->format, mapping->column, out);
}

int
data_file_next(DataFileReader *reader)
{
	return format_next(reader->format) ? reader->format->nrows : 0;
}

void
data_file_restrict(DataFileReader *reader, RowSet rows)
{
	reader->live = row_set_and(reader->live, rows);
}

int64
data_file_first_row(const DataFileReader *reader)
{
	return reader->format->first_row;
}

int
data_file_live_rows(const DataFileReader *reader, int32 *rows)
{
	int			nrows = reader->format->nrows;

	if (reader->live.kind == ROWS_SOME)
		return row_set_list(&reader->live, true, reader->format->first_row, nrows, rows);
	if (reader->live.kind == ROWS_NONE)
		return 0;
	for (int i = 0; i < nrows; i++)
		rows[i] = i;
	return nrows;
}

bool
data_file_may_have_more(const DataFileReader *reader)
{
	return reader->format->first_row + reader->format->nrows < reader->format->file_rows;
}

/* Read in the file's type, and cast what is selected. */
static void
read_cast_column(DataFileReader *reader, int field, const int32 *selection, int nselected, Vector *out)
{
	const FieldMapping *mapping = &reader->mappings[field + NSYSTEM_FIELDS];
	const char *failure;

	format_read_column(reader->format, mapping->column, selection, nselected, mapping->uncast);
	failure = cast_vector(mapping->cast, mapping->uncast, selection,
						  selection == NULL ? reader->format->nrows : nselected, out);
	if (failure != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("column \"%s\" of table \"%s\" cannot be read as %s from data file \"%s\"",
						table_field(reader->table, field)->name, reader->table->name,
						type_to_text(out->type), reader->file->file_name),
				 errdetail("%s", failure)));
}

/* Compaction keeps row ids and sequence numbers of rows in the file; else they follow from the file's. */
static void
read_row_numbers(DataFileReader *reader, const FieldMapping *mapping, const int32 *selection, int nselected,
				 Vector *out)
{
	const DataFileMeta *file = reader->file;
	bool		is_row_id = mapping->source == SOURCE_ROW_ID;

	format_read_column(reader->format, mapping->column, selection, nselected, out);
	if (!out->has_nulls || (is_row_id && !file->has_first_row_id))
		return;
	for (int i = 0; i < nselected; i++)
	{
		int			row = selection != NULL ? selection[i] : i;

		if (!out->nulls[row])
			continue;
		out->nulls[row] = false;
		out->values.i64[row] = is_row_id ?
			file->first_row_id + reader->format->first_row + row : file->max_sequence_number;
	}
}

void
data_file_read_field(DataFileReader *reader, int field, const int32 *selection, int nselected, Vector *out)
{
	const FieldMapping *mapping = &reader->mappings[field + NSYSTEM_FIELDS];

	switch (mapping->source)
	{
		case SOURCE_FILE:
			if (mapping->cast != NULL)
				read_cast_column(reader, field, selection, nselected, out);
			else
				format_read_column(reader->format, mapping->column, selection, nselected, out);
			break;
		case SOURCE_PARTITION:
			vector_set_constant(out, &reader->partition_values[mapping->partition_key], reader->format->nrows);
			break;
		case SOURCE_NULL:
			vector_set_all_null(out, reader->format->nrows);
			break;
		case SOURCE_ROW_KIND:
			vector_set_constant(out, &insert_kind, reader->format->nrows);
			break;
		case SOURCE_ROW_ID:
		case SOURCE_SEQUENCE_NUMBER:
			read_row_numbers(reader, mapping, selection, nselected, out);
			break;
		case SOURCE_NOT_ASKED:
			elog(ERROR, "field %d was not asked for when data file \"%s\" was opened", field, reader->file->file_name);
			break;
	}
}

void
data_file_close(DataFileReader *reader)
{
	format_close(reader->format);
	storage_close(reader->storage);
}
