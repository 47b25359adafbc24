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

void
merge_values_init(SectionMerge *merge)
{
	const MergeFunction *function = merge->function;
	ComputedKeys *computed = &merge->computed;

	merge->touched = palloc(merge->nruns * sizeof(MergeRun *));
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

static void
gather_nulls(const SectionMerge *merge, int position, const int32 *selection, int nselected, Vector *out)
{
	bool		has_nulls = false;

	for (int i = 0; i < merge->nruns; i++)
		if (merge->runs[i].columns[position] != NULL && merge->runs[i].columns[position]->has_nulls)
			has_nulls = true;
	if (!has_nulls)
		return;
	out->has_nulls = true;
	memset(out->nulls, false, out->capacity);
	for (int i = 0; i < nselected; i++)
	{
		int			chosen = selection ? selection[i] : i;
		const Vector *source = merge->runs[merge->chosen_run[chosen]].columns[position];

		out->nulls[chosen] = source->has_nulls && source->nulls[merge->chosen_row[chosen]];
	}
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
gather_rows(const SectionMerge *merge, int position, const int32 *selection, int nselected, Vector *out)
{
	if (type_is_nested(out->type))
	{
		gather_nested(merge, position, selection, nselected, out);
		return;
	}
	gather_nulls(merge, position, selection, nselected, out);

#define GATHER(member) \
	for (int i = 0; i < nselected; i++) \
	{ \
		int			chosen = selection ? selection[i] : i; \
		const Vector *source = merge->runs[merge->chosen_run[chosen]].columns[position]; \
\
		out->values.member[chosen] = source->values.member[merge->chosen_row[chosen]]; \
	} \
	break
	switch (out->type->physical)
	{
		case PHYSICAL_INT8:
			GATHER(i8);
		case PHYSICAL_INT16:
			GATHER(i16);
		case PHYSICAL_INT32:
			GATHER(i32);
		case PHYSICAL_INT64:
			GATHER(i64);
		case PHYSICAL_INT128:
			GATHER(i128);
		case PHYSICAL_FLOAT:
			GATHER(f32);
		case PHYSICAL_DOUBLE:
			GATHER(f64);
		case PHYSICAL_BYTES:
			GATHER(bytes);
		case PHYSICAL_LIST:
		case PHYSICAL_ROW:
			break;
	}
#undef GATHER
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
	read_runs(merge, position, selection, nselected);
	if (merge->computed.keys.nkeys > 0)
		read_mixed(merge, field, position, selection, nselected, out);
	else
		gather_rows(merge, position, selection, nselected, out);
}
