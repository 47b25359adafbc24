/*
 * merge_values.c
 *		Values of the rows that a merge chose, read or computed.
 *
 * A chosen row lies in the batch of a run, and its values are copied from
 * there; or it is the number of a key, whose rows the merge function makes the
 * values from.
 */
#include "postgres.h"

#include "lake/data_file.h"
#include "lake/merge_state.h"
#include "lake/read.h"

/* Where a step gives out so many of a hundred rows, all of them are read. */
#define MOST_PERCENT 75

void
merge_values_init(SectionMerge *merge)
{
	const MergeFunction *function = merge->function;
	ComputedKeys *computed = &merge->computed;

	merge->touched = palloc(merge->nruns * sizeof(MergeRun *));
	merge->values = palloc(merge->nruns * sizeof(void *));
	merge->nulls = palloc(merge->nruns * sizeof(bool *));
	merge->strings = palloc(merge->nruns * sizeof(StringSource));
	merge->dictionaries = palloc0(merge->source.nfields * sizeof(JoinedDictionary *));
	if (function->engine->pick != NULL)
		return;
	merge->sources = palloc(merge->nruns * sizeof(Vector *));
	merge->deciding = palloc(Max(function->ndeciding, 1) * sizeof(Vector **));
	for (int i = 0; i < function->ndeciding; i++)
		merge->deciding[i] = palloc(merge->nruns * sizeof(Vector *));
	computed->max_members = BATCH_ROWS + merge->nruns;
	computed->starts = palloc0((BATCH_ROWS + 1) * sizeof(int32));
	computed->kinds = palloc(computed->max_members * sizeof(int8));
	computed->runs = palloc(computed->max_members * sizeof(int32));
	computed->rows = palloc(computed->max_members * sizeof(int32));
	computed->results.kinds = palloc(BATCH_ROWS * sizeof(int8));
	computed->results.newest = palloc(BATCH_ROWS * sizeof(int32));
	computed->keys.starts = computed->starts;
	computed->keys.kinds = computed->kinds;
	computed->keys.sources = computed->runs;
	computed->keys.rows = computed->rows;
}

void
merge_compute_key(SectionMerge *merge, int ntied)
{
	ComputedKeys *computed = &merge->computed;
	int			key = computed->keys.nkeys++;
	int			member = computed->starts[key];

	for (int i = 0; i < ntied; i++, member++)
	{
		const MergeRun *run = merge->tied[i];

		computed->kinds[member] = merge_run_next_kind(run);
		computed->runs[member] = run->index;
		computed->rows[member] = run->rows[run->cursor];
	}
	computed->starts[key + 1] = member;
	merge->chosen_run[merge->nchosen] = COMPUTED_ROW;
	merge->chosen_row[merge->nchosen] = key;
	merge->nchosen++;
}

/* The vectors of a column by run. */
static void
list_sources(const SectionMerge *merge, int position, Vector **sources)
{
	for (int i = 0; i < merge->nruns; i++)
		sources[i] = merge->runs[i].columns[position];
}

static void
drop_deletes(SectionMerge *merge)
{
	int			kept = 0;

	for (int i = 0; i < merge->nchosen; i++)
	{
		if (merge->chosen_run[i] == COMPUTED_ROW &&
			ROW_KIND_IS_RETRACT(merge->computed.results.kinds[merge->chosen_row[i]]))
			continue;
		merge->chosen_run[kept] = merge->chosen_run[i];
		merge->chosen_row[kept] = merge->chosen_row[i];
		kept++;
	}
	merge->nchosen = kept;
}

void
merge_compute_begin(SectionMerge *merge)
{
	const MergeFunction *function = merge->function;
	ComputedKeys *computed = &merge->computed;
	const MergeKeys *keys = &computed->keys;

	if (keys->nkeys == 0)
		return;
	for (int i = 0; i < function->ndeciding; i++)
	{
		int			position = merge->positions[function->deciding[i]];

		for (int member = 0; member < computed->starts[keys->nkeys]; member++)
			merge_run_read_pending(&merge->runs[computed->runs[member]], position);
		list_sources(merge, position, merge->deciding[i]);
	}
	merge_function_begin(merge->function, keys, (Vector *const *const *) merge->deciding, &computed->results);
	if (!merge->keep_deletes)
		drop_deletes(merge);
}

/* ---- reading ---- */

/* Note that a row of a run is needed of a column that is to be read. */
static void
want_row(SectionMerge *merge, int position, int run_index, int32 row, int *ntouched)
{
	MergeRun   *run = &merge->runs[run_index];

	if (run->loaded[position])
		return;
	if (run->nwanted == 0)
		merge->touched[(*ntouched)++] = run;
	run->wanted[run->nwanted++] = row;
}

/* Has this step given out most of the rows that it went past? */
static bool
most_are_chosen(const SectionMerge *merge)
{
	int			passed = 0;

	for (int i = 0; i < merge->nruns; i++)
		passed += merge->runs[i].cursor - merge->runs[i].pending;
	return merge->nchosen * 100 >= passed * MOST_PERCENT;
}

/* All rows of the step are wanted: those that it passed over are read with them. */
static void
read_whole_runs(SectionMerge *merge, int position)
{
	for (int i = 0; i < merge->nruns; i++)
	{
		if (merge->runs[i].nchosen > 0)
			merge_run_read_pending(&merge->runs[i], position);
	}
}

/* Read a column in every run that the selected rows come from. */
static void
read_runs(SectionMerge *merge, int position, const int32 *selection, int nselected)
{
	const ComputedKeys *computed = &merge->computed;
	int			ntouched = 0;

	for (int i = 0; i < nselected; i++)
	{
		int			chosen = selection ? selection[i] : i;
		int			run = merge->chosen_run[chosen];
		int			row = merge->chosen_row[chosen];

		if (run != COMPUTED_ROW)
		{
			want_row(merge, position, run, row, &ntouched);
			continue;
		}
		for (int member = computed->starts[row]; member < computed->starts[row + 1]; member++)
			want_row(merge, position, computed->runs[member], computed->rows[member], &ntouched);
	}
	for (int i = 0; i < ntouched; i++)
		merge_run_read_wanted(merge->touched[i], position);
}

/* ---- rows that lie in the runs ---- */

/* A run's column, NULL where it has not been read for the present batch. */
static const Vector *
loaded_column(const MergeRun *run, int position)
{
	return run->loaded[position] ? run->columns[position] : NULL;
}

/* The loop over rows: "place" in out, "run" and "row" are where its value lies. */
#define FOR_EACH_CHOSEN(body) \
	do { \
		if (selection == NULL) \
		{ \
			for (int place = 0; place < nselected; place++) \
			{ \
				int32		run = merge->chosen_run[place]; \
				int32		row = merge->chosen_row[place]; \
\
				body; \
			} \
		} \
		else \
		{ \
			for (int i = 0; i < nselected; i++) \
			{ \
				int32		place = selection[i]; \
				int32		run = merge->chosen_run[place]; \
				int32		row = merge->chosen_row[place]; \
\
				body; \
			} \
		} \
	} while (0)

static void
gather_nulls(const SectionMerge *merge, int position, const int32 *selection, int nselected, Vector *out)
{
	static const bool none[BATCH_ROWS] = {false};
	const bool **nulls = merge->nulls;

	for (int i = 0; i < merge->nruns; i++)
	{
		const Vector *column = loaded_column(&merge->runs[i], position);

		nulls[i] = column != NULL && column->has_nulls ? column->nulls : none;
		out->has_nulls |= nulls[i] != none;
	}
	if (out->has_nulls)
		FOR_EACH_CHOSEN(out->nulls[place] = nulls[run][row]);
}

/* Nested values, with their nulls; rows that follow each other in one run at a time. */
static void
gather_nested(const SectionMerge *merge, int position, const int32 *selection, int nselected, Vector *out)
{
	for (int i = 0; i < nselected;)
	{
		int			first = selection ? selection[i] : i;
		int			count = 0;

		do
		{
			count++;
			i++;
		} while (i < nselected && (selection ? selection[i] : i) == first + count &&
				 merge->chosen_run[first + count] == merge->chosen_run[first]);
		vector_gather(out, first, merge->runs[merge->chosen_run[first]].columns[position],
					  &merge->chosen_row[first], count);
	}
}

static void
gather_strings(const SectionMerge *merge, int position, const int32 *selection, int nselected, Vector *out)
{
	const JoinedDictionary *joined = merge_join_dictionaries(merge, position, nselected);
	StringSource *strings = merge->strings;
	BytesView  *values = out->values.bytes;

	for (int i = 0; i < merge->nruns; i++)
	{
		const Vector *column = loaded_column(&merge->runs[i], position);

		if (column == NULL)
			continue;
		/* without entries all rows are null, and their values may be anything */
		strings[i].codes = column->dictionary_size > 0 ? column->codes : NULL;
		strings[i].views = strings[i].codes != NULL ? column->dictionary : column->values.bytes;
	}
	if (joined != NULL)
	{
		int32	   *codes = out->codes_buffer;

		out->codes = codes;
		out->dictionary = joined->entries;
		out->dictionary_size = joined->size;
		out->dictionary_id = joined->id;
		FOR_EACH_CHOSEN(codes[place] = strings[run].codes[row] + joined->starts[run]);
	}
	else
		FOR_EACH_CHOSEN(values[place] = strings[run].views[strings[run].codes != NULL ? strings[run].codes[row] : row]);
}

static void
gather_values(const SectionMerge *merge, int position, const int32 *selection, int nselected, Vector *out)
{
	const void **values = merge->values;

	for (int i = 0; i < merge->nruns; i++)
	{
		const Vector *column = loaded_column(&merge->runs[i], position);

		values[i] = column != NULL ? column->values.any : NULL;
	}
#define GATHER(type) \
	FOR_EACH_CHOSEN(((type *) out->values.any)[place] = ((const type *) values[run])[row]); \
	break
	switch (physical_size(out->type->physical))
	{
		case sizeof(int8):
			GATHER(int8);
		case sizeof(int16):
			GATHER(int16);
		case sizeof(int32):
			GATHER(int32);
		case sizeof(int64):
			GATHER(int64);
		case sizeof(int128):
			GATHER(int128);
	}
#undef GATHER
}

static void
gather_rows(const SectionMerge *merge, int position, const int32 *selection, int nselected, Vector *out)
{
	if (type_is_nested(out->type))
	{
		gather_nested(merge, position, selection, nselected, out);
		return;
	}
	gather_nulls(merge, position, selection, nselected, out);
	if (out->type->physical == PHYSICAL_BYTES)
		gather_strings(merge, position, selection, nselected, out);
	else
		gather_values(merge, position, selection, nselected, out);
}

/* ---- rows that are computed ---- */

static void
compute_field(SectionMerge *merge, int field, int position, const int32 *keys, const int32 *places, int count,
			  Vector *out)
{
	const ComputedKeys *computed = &merge->computed;

	if (field == FIELD_VALUE_KIND)
	{
		for (int i = 0; i < count; i++)
			out->values.i8[places[i]] = computed->results.kinds[keys[i]];
	}
	else if (field == FIELD_SEQUENCE_NUMBER)
	{
		for (int i = 0; i < count; i++)
		{
			int32		newest = computed->results.newest[keys[i]];

			out->values.i64[places[i]] =
				merge->runs[computed->runs[newest]].columns[position]->values.i64[computed->rows[newest]];
		}
	}
	else
	{
		list_sources(merge, position, merge->sources);
		merge_function_merge(merge->function, &computed->keys, field, merge->sources, keys, count, places, out);
	}
}

/* Some of the rows are computed: each kind for itself. */
static void
read_mixed(SectionMerge *merge, int field, int position, const int32 *selection, int nselected, Vector *out)
{
	int32		gathered[BATCH_ROWS];
	int32		keys[BATCH_ROWS];
	int32		places[BATCH_ROWS];
	int			ngathered = 0;
	int			ncomputed = 0;

	for (int i = 0; i < nselected; i++)
	{
		int			chosen = selection ? selection[i] : i;

		if (merge->chosen_run[chosen] != COMPUTED_ROW)
			gathered[ngathered++] = chosen;
		else
		{
			keys[ncomputed] = merge->chosen_row[chosen];
			places[ncomputed++] = chosen;
		}
	}
	if (ngathered > 0)
		gather_rows(merge, position, gathered, ngathered, out);
	compute_field(merge, field, position, keys, places, ncomputed, out);
}

void
section_merge_read_field(SectionMerge *merge, int field, const int32 *selection, int nselected, Vector *out)
{
	int			position = field >= 0 ? merge->positions[field] : merge->system_positions[-1 - field];

	if (position < 0)
		elog(ERROR, "field %d was not asked for when the merge was opened", field);
	vector_reset(out);
	if (selection == NULL && merge->computed.keys.nkeys == 0 && most_are_chosen(merge))
		read_whole_runs(merge, position);
	else
		read_runs(merge, position, selection, nselected);
	if (merge->computed.keys.nkeys > 0)
		read_mixed(merge, field, position, selection, nselected, out);
	else
		gather_rows(merge, position, selection, nselected, out);
}
