/*
 * column_join.c
 *		Rows whose columns are in different files.
 *
 * Fields that come from the same files share a source, which reads them one
 * after the other.  The rows of a step are those that all sources have in
 * their current batches; mostly these are the same, and then a column is read
 * for the selected rows alone.
 */
#include "postgres.h"

#include "lake/column_join.h"
#include "lake/data_file.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* Fields and the files they are in */
typedef struct JoinSource
{
	List	   *files;			/* DataFileMeta *, which follow each other by row id */
	int			nfields;
	int		   *fields;
	int			next_file;
	MemoryContext file_context; /* of the open file */
	DataFileReader *reader;		/* NULL: none is open */
	int64		file_start;		/* rows of the group before the file */
	int64		batch_start;	/* and before the reader's batch */
	int			batch_rows;
	Vector	  **vectors;		/* by position in fields: the batch, if it had to be read whole */
	bool	   *loaded;			/* by position in fields */
} JoinSource;

struct ColumnJoin
{
	LakeTable  *table;
	const Split *split;
	FormatCounters *counters;
	MemoryContext context;
	int64		first_row_id;	/* of the group */
	int64		total_rows;
	int			nsources;
	JoinSource *sources;
	int64		start;			/* first row of the step */
	int			nrows;
};

static int64
row_id_end(const DataFileMeta *file)
{
	return file->first_row_id + file->row_count;
}

/* By first row id; of those that begin together the newest first. */
static int
compare_row_ids(const ListCell *a, const ListCell *b)
{
	const DataFileMeta *x = lfirst(a);
	const DataFileMeta *y = lfirst(b);

	if (x->first_row_id != y->first_row_id)
		return x->first_row_id < y->first_row_id ? -1 : 1;
	if (x->max_sequence_number != y->max_sequence_number)
		return x->max_sequence_number > y->max_sequence_number ? -1 : 1;
	return strcmp(x->file_name, y->file_name);
}

static void
check_file(LakeTable *table, const DataFileMeta *file)
{
	if (!file->has_first_row_id || file->first_row_id < 0 || file->first_row_id > PG_INT64_MAX - file->row_count)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("data file \"%s\" of table \"%s\" has no valid row ids", file->file_name, table->name)));
	if (file->deletions != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" has deletion vectors and data evolution, which is not supported", table->name)));
}

List *
column_join_groups(LakeTable *table, List *files)
{
	List	   *sorted = list_copy(files);
	List	   *groups = NIL;
	List	   *group = NIL;
	int64		end = 0;
	ListCell   *cell;

	foreach(cell, sorted)
		check_file(table, lfirst(cell));
	list_sort(sorted, compare_row_ids);
	foreach(cell, sorted)
	{
		const DataFileMeta *file = lfirst(cell);

		if (group != NIL && file->first_row_id >= end)
		{
			groups = lappend(groups, group);
			group = NIL;
		}
		end = group == NIL ? row_id_end(file) : Max(end, row_id_end(file));
		group = lappend(group, lfirst(cell));
	}
	return group != NIL ? lappend(groups, group) : groups;
}

/* Does a file hold a field of the table? */
static bool
file_has_field(LakeTable *table, const DataFileMeta *file, int field)
{
	const TableSchema *schema = lake_table_schema(table, file->schema_id);
	const char *name = NULL;
	ListCell   *cell;

	for (int i = 0; i < schema->nfields; i++)
		if (schema->fields[i].id == table->schema->fields[field].id)
			name = schema->fields[i].name;
	if (name == NULL || !file->has_write_cols)
		return name != NULL;
	foreach(cell, file->write_cols)
		if (strcmp(lfirst(cell), name) == 0)
			return true;
	return false;
}

/*
 * The files that have all rows of the group, one after the other; field -1:
 * any field.  NIL if no file has any.
 */
static List *
files_of_field(const ColumnJoin *join, int field)
{
	int64		next = join->first_row_id;
	List	   *files = NIL;
	ListCell   *cell;

	foreach(cell, join->split->files)
	{
		DataFileMeta *file = lfirst(cell);

		if (field >= 0 && !file_has_field(join->table, file, field))
			continue;
		/* an older file for rows that newer ones have */
		if (files != NIL && row_id_end(file) <= next)
			continue;
		if (file->first_row_id != next)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("table \"%s\" has columns written for a part of a file's rows, which is not supported",
							join->table->name),
					 errdetail("Data file \"%s\" is one of them.", file->file_name)));
		files = lappend(files, file);
		next = row_id_end(file);
	}
	if (files != NIL && next != join->first_row_id + join->total_rows)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("files of table \"%s\" lack rows of a column", join->table->name),
				 errdetail("Row ids " INT64_FORMAT " to " INT64_FORMAT " are in no file.",
						   next, join->first_row_id + join->total_rows - 1)));
	return files;
}

/* Columns that views add and those of partitions are in no file: any file tells them. */
static bool
is_in_files(const LakeTable *table, int field)
{
	for (int i = 0; i < table->schema->npartition_keys; i++)
		if (table->schema->partition_keys[i] == field)
			return false;
	return !FIELD_ID_IS_OF_VIEW(table->schema->fields[field].id);
}

static bool
same_files(List *a, List *b)
{
	if (list_length(a) != list_length(b))
		return false;
	for (int i = 0; i < list_length(a); i++)
		if (list_nth(a, i) != list_nth(b, i))
			return false;
	return true;
}

static void
add_field(ColumnJoin *join, int field, int nfields)
{
	List	   *files = is_in_files(join->table, field) ? files_of_field(join, field) : NIL;
	JoinSource *source;

	if (files == NIL)
		files = files_of_field(join, -1);
	for (int i = 0; i < join->nsources; i++)
	{
		source = &join->sources[i];
		if (same_files(source->files, files))
		{
			source->fields[source->nfields++] = field;
			return;
		}
	}
	source = &join->sources[join->nsources++];
	source->files = files;
	source->fields = palloc(nfields * sizeof(int));
	source->fields[0] = field;
	source->nfields = 1;
	source->vectors = palloc0(nfields * sizeof(Vector *));
	source->loaded = palloc0(nfields * sizeof(bool));
	source->file_context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse joined file",
												 ALLOCSET_DEFAULT_SIZES);
}

ColumnJoin *
column_join_open(LakeTable *table, const Split *split, const int *fields, int nfields, FormatCounters *counters)
{
	ColumnJoin *join = palloc0(sizeof(ColumnJoin));
	ListCell   *cell;

	join->table = table;
	join->split = split;
	join->counters = counters;
	join->context = CurrentMemoryContext;
	join->first_row_id = ((DataFileMeta *) linitial(split->files))->first_row_id;
	foreach(cell, split->files)
		join->total_rows = Max(join->total_rows, row_id_end(lfirst(cell)) - join->first_row_id);
	join->sources = palloc0(Max(nfields, 1) * sizeof(JoinSource));
	for (int i = 0; i < nfields; i++)
		add_field(join, fields[i], nfields);
	return join;
}

static void
open_next_file(ColumnJoin *join, JoinSource *source)
{
	DataFileMeta *file;
	MemoryContext old;

	if (source->reader != NULL)
	{
		data_file_close(source->reader);
		source->reader = NULL;
		MemoryContextReset(source->file_context);
	}
	/* counts were checked against the files' when they were opened */
	Assert(source->next_file < list_length(source->files));
	file = list_nth(source->files, source->next_file++);
	source->file_start = file->first_row_id - join->first_row_id;
	old = MemoryContextSwitchTo(source->file_context);
	source->reader = data_file_open(join->table, join->split->partition, join->split->bucket, file,
									source->fields, source->nfields, NULL, NULL, join->counters);
	MemoryContextSwitchTo(old);
}

/* Let a source move on until its batch has the row. */
static void
advance(ColumnJoin *join, JoinSource *source, int64 row)
{
	while (source->batch_start + source->batch_rows <= row)
	{
		MemoryContext old;
		int			nrows = 0;

		CHECK_FOR_INTERRUPTS();
		if (source->reader != NULL)
		{
			old = MemoryContextSwitchTo(source->file_context);
			nrows = data_file_next(source->reader);
			MemoryContextSwitchTo(old);
		}
		if (nrows == 0)
		{
			open_next_file(join, source);
			continue;
		}
		source->batch_start = source->file_start + data_file_first_row(source->reader);
		source->batch_rows = nrows;
		memset(source->loaded, 0, source->nfields * sizeof(bool));
	}
}

int
column_join_next(ColumnJoin *join)
{
	int64		end;

	join->start += join->nrows;
	end = Min(join->start + BATCH_ROWS, join->total_rows);
	for (int i = 0; i < join->nsources && join->start < join->total_rows; i++)
	{
		JoinSource *source = &join->sources[i];

		advance(join, source, join->start);
		end = Min(end, source->batch_start + source->batch_rows);
	}
	join->nrows = (int) (end - join->start);
	return join->nrows;
}

/* Read a column of the source's batch whole, unless that was done. */
static const Vector *
load_column(ColumnJoin *join, JoinSource *source, int position)
{
	int			field = source->fields[position];
	MemoryContext old;

	if (source->vectors[position] == NULL)
	{
		old = MemoryContextSwitchTo(join->context);
		source->vectors[position] = vector_create(data_file_field_type(join->table, field), BATCH_ROWS);
		MemoryContextSwitchTo(old);
	}
	if (!source->loaded[position])
	{
		old = MemoryContextSwitchTo(source->file_context);
		data_file_read_field(source->reader, field, NULL, source->batch_rows, source->vectors[position]);
		MemoryContextSwitchTo(old);
		source->loaded[position] = true;
	}
	return source->vectors[position];
}

static void
read_from(ColumnJoin *join, JoinSource *source, int position, const int32 *selection, int nselected, Vector *out)
{
	int			shift = (int) (join->start - source->batch_start);
	const Vector *loaded;
	int32		rows[BATCH_ROWS];
	MemoryContext old;

	if (shift == 0 && source->batch_rows == join->nrows)
	{
		old = MemoryContextSwitchTo(source->file_context);
		data_file_read_field(source->reader, source->fields[position], selection, nselected, out);
		MemoryContextSwitchTo(old);
		return;
	}
	loaded = load_column(join, source, position);
	for (int i = 0; i < join->nrows; i++)
		rows[i] = shift + i;
	vector_reset(out);
	vector_gather(out, 0, loaded, rows, join->nrows);
}

void
column_join_read_field(ColumnJoin *join, int field, const int32 *selection, int nselected, Vector *out)
{
	for (int i = 0; i < join->nsources; i++)
	{
		JoinSource *source = &join->sources[i];

		for (int position = 0; position < source->nfields; position++)
		{
			if (source->fields[position] != field)
				continue;
			read_from(join, source, position, selection, nselected, out);
			return;
		}
	}
	elog(ERROR, "field %d was not asked for when the files were opened", field);
}
