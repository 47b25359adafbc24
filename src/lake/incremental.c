/*
 * incremental.c
 *		What changed between two snapshots: files, and the rows of a bucket
 *		before and after.
 *
 * Source: format digest section 13.4.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "lake/data_file.h"
#include "lake/incremental.h"
#include "lake/merge.h"
#include "lake/read.h"
#include "miscadmin.h"

typedef struct EntryCollector
{
	MemoryContext context;
	EntryFilter filter;
	void	   *arg;
	List	   *entries;
} EntryCollector;

static void
collect_added(const ManifestEntry *entry, void *arg)
{
	EntryCollector *collector = arg;
	MemoryContext old;

	if (entry->kind != FILE_ADD || !collector->filter(entry, collector->arg))
		return;
	old = MemoryContextSwitchTo(collector->context);
	collector->entries = lappend(collector->entries, manifest_entry_copy(entry));
	MemoryContextSwitchTo(old);
}

static void
collect_list(LakeTable *table, const char *list, int64 size, EntryCollector *collector)
{
	ListCell   *cell;

	foreach(cell, manifest_list_read(table->location, list, size))
	{
		CHECK_FOR_INTERRUPTS();
		manifest_read(table->location, lfirst(cell), collect_added, collector);
	}
}

List *
incremental_entries(LakeTable *table, const Incremental *incremental, EntryFilter filter, void *arg)
{
	EntryCollector collector = {CurrentMemoryContext, filter, arg, NIL};

	for (int64 id = incremental->start_id + 1; id <= incremental->end_id; id++)
	{
		const LakeSnapshot *snapshot = snapshot_load(table->branch_location, id, false);

		if (incremental->mode == INCREMENTAL_DELTA && snapshot->commit_kind == COMMIT_APPEND)
			collect_list(table, snapshot->delta_manifest_list, snapshot->delta_manifest_list_size, &collector);
		if (incremental->mode == INCREMENTAL_CHANGELOG && snapshot->commit_kind != COMMIT_OVERWRITE &&
			snapshot->changelog_manifest_list != NULL)
			collect_list(table, snapshot->changelog_manifest_list, snapshot->changelog_manifest_list_size,
						 &collector);
	}
	return collector.entries;
}

static int
compare_names(const ListCell *a, const ListCell *b)
{
	return strcmp(((DataFileMeta *) lfirst(a))->file_name, ((DataFileMeta *) lfirst(b))->file_name);
}

void
incremental_remove_common(List **before, List **after)
{
	List	   *kept_before = NIL;
	List	   *kept_after = NIL;
	int			b = 0;
	int			a = 0;

	list_sort(*before, compare_names);
	list_sort(*after, compare_names);
	while (b < list_length(*before) || a < list_length(*after))
	{
		DataFileMeta *x = b < list_length(*before) ? list_nth(*before, b) : NULL;
		DataFileMeta *y = a < list_length(*after) ? list_nth(*after, a) : NULL;
		int			order = x == NULL ? 1 : y == NULL ? -1 : strcmp(x->file_name, y->file_name);

		if (order < 0)
			kept_before = lappend(kept_before, x);
		else if (order > 0)
			kept_after = lappend(kept_after, y);
		b += order <= 0 ? 1 : 0;
		a += order >= 0 ? 1 : 0;
	}
	*before = kept_before;
	*after = kept_after;
}

/* The rows of one snapshot, as they are merged */
typedef struct DiffSide
{
	SectionMerge *merge;		/* NULL: there are no files */
	Split		split;
	Vector	  **columns;		/* by table field */
	Vector	   *kinds;
	int			nrows;			/* of the batch */
	int			next;			/* row to look at; those before were dealt with */
} DiffSide;

struct DiffReader
{
	LakeTable  *table;
	bool		keep_deletes;
	int			nfields;		/* all fields but those of views are compared */
	DiffSide	before;
	DiffSide	after;
	int			nrows;			/* of the step */
	bool		is_before[BATCH_ROWS];	/* where each comes from */
	int32		rows[BATCH_ROWS];
};

static void
open_side(DiffReader *reader, DiffSide *side, const Split *split, List *files, FormatCounters *counters)
{
	LakeTable  *table = reader->table;
	int		   *fields = palloc((reader->nfields + 1) * sizeof(int));
	SectionMergeOptions options = {.fields = fields, .keep_deletes = reader->keep_deletes, .counters = counters};

	if (files == NIL)
		return;
	side->split = *split;
	side->split.files = files;
	side->columns = palloc(reader->nfields * sizeof(Vector *));
	for (int i = 0; i < reader->nfields; i++)
	{
		fields[options.nfields++] = i;
		side->columns[i] = vector_create(table->schema->fields[i].type, BATCH_ROWS);
	}
	fields[options.nfields++] = FIELD_VALUE_KIND;
	side->kinds = vector_create(data_file_field_type(table, FIELD_VALUE_KIND), BATCH_ROWS);
	side->merge = section_merge_open(table, &side->split, &options);
}

DiffReader *
diff_reader_open(LakeTable *table, const Split *split, const int *fields, int nfields, bool keep_deletes,
				 FormatCounters *counters)
{
	DiffReader *reader = palloc0(sizeof(DiffReader));

	reader->table = table;
	reader->keep_deletes = keep_deletes;
	for (int i = 0; i < table->schema->nfields; i++)
	{
		const DataField *field = &table->schema->fields[i];

		if (FIELD_ID_IS_OF_VIEW(field->id))
			break;
		if (type_is_nested(field->type))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("rows of table \"%s\" cannot be compared", table->name),
					 errdetail("Column \"%s\" is of type %s.", field->name, type_to_text(field->type))));
		reader->nfields++;
	}
	for (int i = 0; i < nfields; i++)
		if (table->schema->fields[fields[i]].id == FIELD_ID_SEQUENCE_NUMBER)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("changes of table \"%s\" between snapshots have no sequence numbers", table->name)));
	open_side(reader, &reader->before, split, split->before_files, counters);
	open_side(reader, &reader->after, split, split->files, counters);
	return reader;
}

/* Read the next batch of a side that has none left. */
static void
load_side(DiffReader *reader, DiffSide *side)
{
	if (side->merge == NULL || side->next < side->nrows)
		return;
	side->next = 0;
	side->nrows = section_merge_next(side->merge);
	if (side->nrows == 0)
	{
		side->merge = NULL;
		return;
	}
	for (int i = 0; i < reader->nfields; i++)
	{
		section_merge_read_field(side->merge, i, NULL, side->nrows, side->columns[i]);
		vector_flatten(side->columns[i], NULL, side->nrows);
	}
	section_merge_read_field(side->merge, FIELD_VALUE_KIND, NULL, side->nrows, side->kinds);
}

static int
compare_keys(const DiffReader *reader)
{
	const TableSchema *schema = reader->table->schema;
	int			order = 0;

	for (int i = 0; i < schema->ntrimmed_keys && order == 0; i++)
		order = vector_compare(reader->before.columns[schema->trimmed_keys[i]], reader->before.next,
							   reader->after.columns[schema->trimmed_keys[i]], reader->after.next);
	return order;
}

static bool
same_rows(const DiffReader *reader)
{
	const DiffSide *before = &reader->before;
	const DiffSide *after = &reader->after;

	if (ROW_KIND_IS_RETRACT(before->kinds->values.i8[before->next]) !=
		ROW_KIND_IS_RETRACT(after->kinds->values.i8[after->next]))
		return false;
	for (int i = 0; i < reader->nfields; i++)
		if (vector_compare(before->columns[i], before->next, after->columns[i], after->next) != 0)
			return false;
	return true;
}

static void
choose(DiffReader *reader, bool is_before)
{
	DiffSide   *side = is_before ? &reader->before : &reader->after;

	/* rows that are gone show only as deleted ones, and not when they were deleted before */
	if (!is_before || (reader->keep_deletes && !ROW_KIND_IS_RETRACT(side->kinds->values.i8[side->next])))
	{
		reader->is_before[reader->nrows] = is_before;
		reader->rows[reader->nrows++] = side->next;
	}
	side->next++;
}

/* Look at the next row of both, or of the one whose key comes first. */
static void
take_next(DiffReader *reader)
{
	int			order = reader->before.merge == NULL ? 1 : reader->after.merge == NULL ? -1 : compare_keys(reader);

	if (order != 0)
		choose(reader, order < 0);
	else if (same_rows(reader))
	{
		reader->before.next++;
		reader->after.next++;
	}
	else
	{
		reader->before.next++;
		choose(reader, false);
	}
}

static bool
is_exhausted(const DiffSide *side)
{
	return side->merge != NULL && side->next >= side->nrows;
}

int
diff_reader_next(DiffReader *reader)
{
	reader->nrows = 0;
	while (reader->nrows == 0)
	{
		CHECK_FOR_INTERRUPTS();
		load_side(reader, &reader->before);
		load_side(reader, &reader->after);
		if (reader->before.merge == NULL && reader->after.merge == NULL)
			break;
		/* chosen rows must stay where they are: no side moves on in a step */
		while (!is_exhausted(&reader->before) && !is_exhausted(&reader->after) && reader->nrows < BATCH_ROWS)
			take_next(reader);
	}
	return reader->nrows;
}

/* A row that was there before is deleted now. */
static int8
kind_of_row(const DiffReader *reader, int row)
{
	return reader->is_before[row] ? ROW_DELETE : reader->after.kinds->values.i8[reader->rows[row]];
}

void
diff_reader_read_field(DiffReader *reader, int field, const int32 *selection, int nselected, Vector *out)
{
	vector_reset(out);
	for (int i = 0; i < nselected; i++)
	{
		int			row = selection != NULL ? selection[i] : i;
		const DiffSide *side = reader->is_before[row] ? &reader->before : &reader->after;
		Scalar		value;

		if (field == FIELD_VALUE_KIND)
			value = (Scalar) {.v.i8 = kind_of_row(reader, row)};
		else
			value = vector_get(side->columns[field], reader->rows[row]);
		vector_set(out, row, &value);
	}
}
