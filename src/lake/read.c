/*
 * read.c
 *		Batches of a scan's rows: raw files, or sorted runs merged by key.
 *
 * Whatever the rows come from, each conjunct of the filter is evaluated as
 * soon as its columns are decoded, for the rows that are still selected, and
 * the other columns are decoded only for the rows that survive.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "lake/data_file.h"
#include "lake/merge.h"
#include "lake/read.h"
#include "lake/row_source.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* One conjunct of the filter */
typedef struct FilterStep
{
	const Predicate *conjunct;
	int			nfields;
	int		   *fields;			/* that it looks at */
} FilterStep;

struct TableReader
{
	MemoryContext context;		/* holds all of this */
	MemoryContext split_context;	/* of the open file or section */
	LakeTable  *table;
	List	   *splits;
	const Predicate *filter;
	FormatCounters *counters;
	int			nfields;		/* fields of projection and filter */
	int		   *fields;
	int			nsteps;
	FilterStep *steps;
	int			nprojection;
	int		   *projection;
	Vector	  **vectors;		/* by table field */
	bool	   *decoded;		/* by table field: read for this batch */
	int32	   *selection;
	Batch		batch;
	SplitChooser chooser;		/* NULL: all splits, one after the other */
	void	   *chooser_arg;
	/* where we are */
	int			next_split;
	const Split *split;			/* NULL: none is open */
	int			next_file;		/* of a raw split */
	RowSource  *source;			/* NULL: none is open */
};

static int
list_used_fields(const bool *used, int nfields, int *out)
{
	int			count = 0;

	for (int i = 0; i < nfields; i++)
		if (used[i])
			out[count++] = i;
	return count;
}

static void
prepare_filter(TableReader *reader, bool *used)
{
	int			nfields = reader->table->schema->nfields;
	List	   *conjuncts = predicate_conjuncts(reader->filter);
	ListCell   *cell;

	reader->steps = palloc0(Max(list_length(conjuncts), 1) * sizeof(FilterStep));
	foreach(cell, conjuncts)
	{
		FilterStep *step = &reader->steps[reader->nsteps++];
		bool	   *used_here = palloc0(nfields * sizeof(bool));

		step->conjunct = lfirst(cell);
		step->fields = palloc(nfields * sizeof(int));
		predicate_columns(step->conjunct, used_here);
		step->nfields = list_used_fields(used_here, nfields, step->fields);
		for (int i = 0; i < step->nfields; i++)
			used[step->fields[i]] = true;
		pfree(used_here);
	}
}

static void
prepare_vectors(TableReader *reader)
{
	reader->vectors = palloc0(reader->table->schema->nfields * sizeof(Vector *));
	reader->decoded = palloc0(reader->table->schema->nfields * sizeof(bool));
	for (int i = 0; i < reader->nfields; i++)
		reader->vectors[reader->fields[i]] =
			vector_create(data_file_field_type(reader->table, reader->fields[i]), BATCH_ROWS);
	reader->selection = palloc(BATCH_ROWS * sizeof(int32));
	reader->batch.ncolumns = reader->nprojection;
	reader->batch.columns = palloc(Max(reader->nprojection, 1) * sizeof(Vector *));
	for (int i = 0; i < reader->nprojection; i++)
		reader->batch.columns[i] = reader->vectors[reader->projection[i]];
}

TableReader *
table_reader_open(LakeTable *table, List *splits, const int *projection, int nprojection,
				  const Predicate *filter, FormatCounters *counters)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse table reader",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	TableReader *reader = palloc0(sizeof(TableReader));
	bool	   *used = palloc0(table->schema->nfields * sizeof(bool));

	reader->context = context;
	reader->split_context = AllocSetContextCreate(context, "streamhouse split", ALLOCSET_DEFAULT_SIZES);
	reader->table = table;
	reader->splits = splits;
	reader->filter = filter;
	reader->counters = counters;
	reader->nprojection = nprojection;
	reader->projection = palloc(Max(nprojection, 1) * sizeof(int));
	for (int i = 0; i < nprojection; i++)
	{
		reader->projection[i] = projection[i];
		used[projection[i]] = true;
	}
	prepare_filter(reader, used);
	reader->fields = palloc(table->schema->nfields * sizeof(int));
	reader->nfields = list_used_fields(used, table->schema->nfields, reader->fields);
	prepare_vectors(reader);
	MemoryContextSwitchTo(old);
	return reader;
}

uint32
table_reader_share(TableReader *reader, SplitChooser chooser, void *arg)
{
	reader->chooser = chooser;
	reader->chooser_arg = arg;
	return hash_bytes((const unsigned char *) reader->fields, reader->nfields * (int) sizeof(int));
}

/* Close what is open; its memory and files belong to the context. */
static void
close_source(TableReader *reader)
{
	reader->source = NULL;
	MemoryContextReset(reader->split_context);
}

/* Open the next file of a raw split, or the next split; false when nothing is left. */
static bool
open_source(TableReader *reader)
{
	RowSourceOptions options = {
		.nfields = reader->nfields,
		.fields = reader->fields,
		.filter = reader->filter,
		.counters = reader->counters
	};

	if (reader->split == NULL)
	{
		int64		next = reader->chooser != NULL ? reader->chooser(reader->chooser_arg) : reader->next_split++;

		if (next >= list_length(reader->splits))
			return false;
		reader->split = list_nth(reader->splits, (int) next);
		reader->next_file = 0;
	}
	reader->source = row_source_open(reader->table, reader->split, reader->next_file++, &options);
	if (!reader->split->raw || reader->table->view == VIEW_BINLOG ||
		reader->next_file >= list_length(reader->split->files))
		reader->split = NULL;
	return true;
}

/* The next rows, over files and splits; 0 at the end of all. */
static int
next_rows(TableReader *reader)
{
	for (;;)
	{
		int			nrows;

		CHECK_FOR_INTERRUPTS();
		if (reader->source == NULL && !open_source(reader))
			return 0;
		nrows = row_source_next(reader->source);
		if (nrows > 0)
			return nrows;
		close_source(reader);
	}
}

static void
decode_field(TableReader *reader, int field, const int32 *selection, int nselected)
{
	if (reader->decoded[field])
		return;
	row_source_read_field(reader->source, field, selection, nselected, reader->vectors[field]);
	reader->decoded[field] = true;
}

/* Apply the filter to the batch; returns the rows left, which the selection lists if they are not all. */
static int
filter_rows(TableReader *reader, int nrows)
{
	int			nselected = row_source_live_rows(reader->source, reader->selection);

	for (int i = 0; i < reader->nsteps && nselected > 0; i++)
	{
		const FilterStep *step = &reader->steps[i];

		for (int j = 0; j < step->nfields; j++)
			decode_field(reader, step->fields[j], nselected < nrows ? reader->selection : NULL, nselected);
		nselected = predicate_filter(step->conjunct, reader->vectors, reader->selection, nselected);
	}
	return nselected;
}

Batch *
table_reader_next_rows(TableReader *reader)
{
	MemoryContext old = MemoryContextSwitchTo(reader->split_context);
	Batch	   *batch = &reader->batch;
	int			nrows;

	do
	{
		nrows = next_rows(reader);
		if (nrows == 0)
		{
			batch = NULL;
			break;
		}
		memset(reader->decoded, 0, reader->table->schema->nfields * sizeof(bool));
		batch->nrows = nrows;
		batch->nselected = filter_rows(reader, nrows);
		batch->selection = batch->nselected < nrows ? reader->selection : NULL;
	} while (batch->nselected == 0);
	MemoryContextSwitchTo(old);
	return batch;
}

void
table_reader_decode(TableReader *reader, int column)
{
	MemoryContext old = MemoryContextSwitchTo(reader->split_context);

	decode_field(reader, reader->projection[column], reader->batch.selection, reader->batch.nselected);
	MemoryContextSwitchTo(old);
}

void
table_reader_select(TableReader *reader, const int32 *rows, int nrows)
{
	memmove(reader->selection, rows, nrows * sizeof(int32));
	reader->batch.selection = reader->selection;
	reader->batch.nselected = nrows;
}

Batch *
table_reader_next(TableReader *reader)
{
	Batch	   *batch = table_reader_next_rows(reader);

	for (int i = 0; batch != NULL && i < reader->nprojection; i++)
		table_reader_decode(reader, i);
	return batch;
}

void
table_reader_rescan(TableReader *reader)
{
	close_source(reader);
	reader->split = NULL;
	reader->next_split = 0;
}

void
table_reader_close(TableReader *reader)
{
	MemoryContextDelete(reader->context);
}

/* Reading for compaction: all fields, and the system columns beside them */
struct MergeReader
{
	MemoryContext context;
	SectionMerge *merge;
	Batch	   *batch;
	Vector	   *sequence_numbers;
	Vector	   *kinds;
};

MergeReader *
merge_reader_open(LakeTable *table, const Split *split, bool keep_deletes)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse merge reader",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	MergeReader *reader = palloc0(sizeof(MergeReader));
	int			nfields = table->schema->nfields;
	int		   *fields = palloc((nfields + 2) * sizeof(int));
	const DataType **types = palloc(nfields * sizeof(DataType *));
	SectionMergeOptions options = {.nfields = nfields + 2, .fields = fields, .keep_deletes = keep_deletes};

	for (int i = 0; i < nfields; i++)
	{
		fields[i] = i;
		types[i] = table->schema->fields[i].type;
	}
	fields[nfields] = FIELD_SEQUENCE_NUMBER;
	fields[nfields + 1] = FIELD_VALUE_KIND;
	reader->context = context;
	reader->batch = batch_create(nfields, types, BATCH_ROWS);
	reader->sequence_numbers = vector_create(data_file_field_type(table, FIELD_SEQUENCE_NUMBER), BATCH_ROWS);
	reader->kinds = vector_create(data_file_field_type(table, FIELD_VALUE_KIND), BATCH_ROWS);
	reader->merge = section_merge_open(table, split, &options);
	MemoryContextSwitchTo(old);
	return reader;
}

Batch *
merge_reader_next(MergeReader *reader, const int64 **sequence_numbers, const int8 **kinds)
{
	MemoryContext old = MemoryContextSwitchTo(reader->context);
	Batch	   *batch = reader->batch;
	int			nrows = section_merge_next(reader->merge);

	if (nrows == 0)
		batch = NULL;
	else
	{
		batch->nrows = nrows;
		batch->nselected = nrows;
		for (int i = 0; i < batch->ncolumns; i++)
			section_merge_read_field(reader->merge, i, NULL, nrows, batch->columns[i]);
		section_merge_read_field(reader->merge, FIELD_SEQUENCE_NUMBER, NULL, nrows, reader->sequence_numbers);
		section_merge_read_field(reader->merge, FIELD_VALUE_KIND, NULL, nrows, reader->kinds);
		*sequence_numbers = reader->sequence_numbers->values.i64;
		*kinds = reader->kinds->values.i8;
	}
	MemoryContextSwitchTo(old);
	return batch;
}

void
merge_reader_close(MergeReader *reader)
{
	MemoryContextDelete(reader->context);
}
