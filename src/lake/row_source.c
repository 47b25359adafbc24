/*
 * row_source.c
 *		Where the rows of a split come from.
 */
#include "postgres.h"

#include "lake/column_join.h"
#include "lake/data_file.h"
#include "lake/file_index.h"
#include "lake/incremental.h"
#include "lake/merge.h"
#include "lake/read.h"
#include "lake/row_source.h"
#include "lake/system_table.h"

/* One kind of source: what is shaped like a file reader */
typedef struct RowSourceRoutine
{
	int			(*next) (void *state);
	void		(*read_field) (void *state, int field, const int32 *selection, int nselected, Vector *out);
} RowSourceRoutine;

struct RowSource
{
	const RowSourceRoutine *routine;
	void	   *state;
	LakeTable  *table;
	DataFileReader *file;		/* of raw splits: the state; rows of it may be deleted */
	bool		has_system_columns; /* it knows kinds and sequence numbers by FIELD_... */
	MemoryContext context;
	Vector	   *kinds;			/* of rows whose kinds are shown as text; made when first asked for */
	int			nrows;
};

static int
file_next(void *state)
{
	return data_file_next(state);
}

static void
file_read_field(void *state, int field, const int32 *selection, int nselected, Vector *out)
{
	data_file_read_field(state, field, selection, nselected, out);
}

static int
merge_next(void *state)
{
	return section_merge_next(state);
}

static void
merge_read_field(void *state, int field, const int32 *selection, int nselected, Vector *out)
{
	section_merge_read_field(state, field, selection, nselected, out);
}

static int
join_next(void *state)
{
	return column_join_next(state);
}

static void
join_read_field(void *state, int field, const int32 *selection, int nselected, Vector *out)
{
	column_join_read_field(state, field, selection, nselected, out);
}

static int
diff_next(void *state)
{
	return diff_reader_next(state);
}

static void
diff_read_field(void *state, int field, const int32 *selection, int nselected, Vector *out)
{
	diff_reader_read_field(state, field, selection, nselected, out);
}

static int
system_next(void *state)
{
	return system_reader_next(state);
}

static void
system_read_field(void *state, int field, const int32 *selection, int nselected, Vector *out)
{
	system_reader_read_field(state, field, selection, nselected, out);
}

/* Of a file whose index excludes all of its rows */
static int
nothing_next(void *state)
{
	return 0;
}

static const RowSourceRoutine no_source = {nothing_next, NULL};
static const RowSourceRoutine file_source = {file_next, file_read_field};
static const RowSourceRoutine merge_source = {merge_next, merge_read_field};
static const RowSourceRoutine join_source = {join_next, join_read_field};
static const RowSourceRoutine diff_source = {diff_next, diff_read_field};
static const RowSourceRoutine system_source = {system_next, system_read_field};

/* Views show the system columns of primary key files as fields: the one that is meant, or the field. */
static int
system_field(const LakeTable *table, int field)
{
	switch (table->schema->fields[field].id)
	{
		case FIELD_ID_ROW_KIND:
			return FIELD_VALUE_KIND;
		case FIELD_ID_SEQUENCE_NUMBER:
			return FIELD_SEQUENCE_NUMBER;
		default:
			return field;
	}
}

static int *
system_fields(const LakeTable *table, const RowSourceOptions *options)
{
	int		   *fields = palloc(Max(options->nfields, 1) * sizeof(int));

	for (int i = 0; i < options->nfields; i++)
		fields[i] = system_field(table, options->fields[i]);
	return fields;
}

static void
open_file(RowSource *source, const Split *split, const DataFileMeta *file, const RowSourceOptions *options)
{
	char	   *path = lake_data_file_path(source->table, split->partition, split->bucket, file);
	RowSet		rows = file_index_rows(source->table, file, path, options->filter);

	source->routine = &no_source;
	if (rows.kind == ROWS_NONE)
	{
		if (options->counters != NULL)
			options->counters->index_excluded++;
		return;
	}
	source->has_system_columns = source->table->has_primary_key;
	source->file = data_file_open(source->table, split->partition, split->bucket, file,
								  source->has_system_columns ? system_fields(source->table, options) : options->fields,
								  options->nfields, options->filter, split->is_part ? &split->rows : NULL,
								  options->counters);
	data_file_restrict(source->file, rows);
	source->routine = &file_source;
	source->state = source->file;
}

static void
open_merge(RowSource *source, const Split *split, const RowSourceOptions *options)
{
	SectionMergeOptions merge_options = {
		.nfields = options->nfields,
		.fields = system_fields(source->table, options),
		.predicate = options->filter,
		.keep_deletes = source->table->view == VIEW_AUDIT_LOG,
		.counters = options->counters
	};

	source->has_system_columns = true;
	source->routine = &merge_source;
	source->state = section_merge_open(source->table, split, &merge_options);
}

RowSource *
row_source_open(LakeTable *table, const Split *split, int file, const RowSourceOptions *options)
{
	RowSource  *source = palloc0(sizeof(RowSource));

	source->table = table;
	source->context = CurrentMemoryContext;
	if (table->view == VIEW_SYSTEM || table->view == VIEW_BINLOG)
	{
		source->routine = &system_source;
		source->state = system_reader_open(table, split, options->fields, options->nfields, options->counters);
	}
	else if (split->joined)
	{
		source->routine = &join_source;
		source->state = column_join_open(table, split, options->fields, options->nfields, options->counters);
	}
	else if (split->is_diff)
	{
		source->has_system_columns = true;
		source->routine = &diff_source;
		source->state = diff_reader_open(table, split, options->fields, options->nfields,
										 table->view == VIEW_AUDIT_LOG, options->counters);
	}
	else if (split->raw)
		open_file(source, split, list_nth(split->files, file), options);
	else
		open_merge(source, split, options);
	return source;
}

int
row_source_next(RowSource *source)
{
	source->nrows = source->routine->next(source->state);
	return source->nrows;
}

int
row_source_live_rows(const RowSource *source, int32 *rows)
{
	if (source->file != NULL)
		return data_file_live_rows(source->file, rows);
	for (int i = 0; i < source->nrows; i++)
		rows[i] = i;
	return source->nrows;
}

/* Kinds of rows, as Paimon writes them. */
static void
read_kinds(RowSource *source, const int32 *selection, int nselected, Vector *out)
{
	static const char *const texts[] = {"+I", "-U", "+U", "-D"};

	if (source->kinds == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(source->context);

		source->kinds = vector_create(data_file_field_type(source->table, FIELD_VALUE_KIND), BATCH_ROWS);
		MemoryContextSwitchTo(old);
	}
	source->routine->read_field(source->state, FIELD_VALUE_KIND, selection, nselected, source->kinds);
	vector_reset(out);
	for (int i = 0; i < nselected; i++)
	{
		int			row = selection != NULL ? selection[i] : i;
		int			kind = source->kinds->values.i8[row];

		if (kind < ROW_INSERT || kind > ROW_DELETE)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("table \"%s\" has rows of unknown kind %d", source->table->name, kind)));
		out->values.bytes[row].data = texts[kind];
		out->values.bytes[row].length = 2;
	}
}

void
row_source_read_field(RowSource *source, int field, const int32 *selection, int nselected, Vector *out)
{
	int			system = source->has_system_columns ? system_field(source->table, field) : field;

	if (system == FIELD_VALUE_KIND)
		read_kinds(source, selection, nselected, out);
	else
		source->routine->read_field(source->state, system, selection, nselected, out);
}
