/*
 * pick.c
 *		Which files of a bucket to compact.
 *
 * Primary key tables: universal compaction over the sorted runs, newest first.
 * Whatever is picked begins with the newest run and is contiguous in age, so
 * that rows never pass older rows of their key.  Append tables: small files
 * are put together, in a bucketed table only neighbours, as the order of rows
 * counts there.  Source: format digest sections 10.1 and 10.2.
 */
#include "postgres.h"

#include "lake/pick.h"
#include "lake/sections.h"

/* A file weighs at least so much more than its bytes */
#define OPEN_FILE_COST (INT64CONST(4) * 1024 * 1024)

/* The files of a level above 0, or one file of level 0 */
typedef struct LevelRun
{
	int32		level;
	int64		size;
	List	   *files;
} LevelRun;

typedef struct LevelRuns
{
	int			nruns;
	LevelRun   *runs;			/* newest first */
	int32		max_level;
} LevelRuns;

int64
compaction_large_file_size(const LakeTable *table)
{
	return table->options->target_file_size / 10 * 7;
}

static LevelRuns
collect_runs(const LakeTable *table, List *files)
{
	List	   *sorted = list_copy(files);
	LevelRuns	result = {0};
	ListCell   *cell;

	list_sort(sorted, data_file_age_cell_compare);
	result.runs = palloc0(Max(list_length(sorted), 1) * sizeof(LevelRun));
	result.max_level = table->options->num_levels - 1;
	foreach(cell, sorted)
	{
		DataFileMeta *file = lfirst(cell);
		LevelRun   *run = result.nruns > 0 ? &result.runs[result.nruns - 1] : NULL;

		if (run == NULL || file->level == 0 || file->level != run->level)
		{
			run = &result.runs[result.nruns++];
			run->level = file->level;
		}
		run->size += file->file_size;
		run->files = lappend(run->files, file);
		result.max_level = Max(result.max_level, file->level);
	}
	list_free(sorted);
	return result;
}

/* A unit of the newest count runs, NULL if it would change nothing. */
static CompactionUnit *
make_unit(const LevelRuns *runs, int count, int32 output_level)
{
	CompactionUnit *unit = palloc0(sizeof(CompactionUnit));

	for (int i = 0; i < count; i++)
		unit->files = list_concat(unit->files, runs->runs[i].files);
	if (list_length(unit->files) == 1 && ((DataFileMeta *) linitial(unit->files))->level == output_level)
		return NULL;
	unit->output_level = output_level;
	unit->to_max_level = output_level == runs->max_level;
	unit->drop_deletes = output_level > 0 && output_level >= runs->runs[runs->nruns - 1].level;
	return unit;
}

/* A unit of at least the newest count runs; its level follows from the run that comes next. */
static CompactionUnit *
make_unit_below_next(const LevelRuns *runs, int count)
{
	int32		output_level = 0;

	if (count < runs->nruns)
		output_level = Max(runs->runs[count].level - 1, 0);
	/* level 0 takes no output: go on, over all of it, to the first level above */
	while (output_level == 0 && count < runs->nruns)
		output_level = runs->runs[count++].level;
	if (count == runs->nruns)
		output_level = runs->max_level;
	return make_unit(runs, count, output_level);
}

/* Extend the newest count runs while the next one is not much larger than all of them. */
static CompactionUnit *
pick_by_size_ratio(const LakeTable *table, const LevelRuns *runs, int count)
{
	double		size = 0;

	for (int i = 0; i < count; i++)
		size += runs->runs[i].size;
	while (count < runs->nruns &&
		   size * (100.0 + table->options->size_ratio) / 100.0 >= runs->runs[count].size)
		size += runs->runs[count++].size;
	return count > 1 ? make_unit_below_next(runs, count) : NULL;
}

/* Is all that is newer than the oldest run large, measured by that? */
static bool
size_is_amplified(const LakeTable *table, const LevelRuns *runs)
{
	double		newer = 0;

	for (int i = 0; i < runs->nruns - 1; i++)
		newer += runs->runs[i].size;
	return newer * 100.0 > (double) table->options->size_amplification_percent * runs->runs[runs->nruns - 1].size;
}

static CompactionUnit *
pick_by_triggers(const LakeTable *table, const LevelRuns *runs)
{
	int			trigger = table->options->compaction_trigger;
	CompactionUnit *unit;

	if (runs->nruns < trigger)
		return NULL;
	if (size_is_amplified(table, runs))
		return make_unit(runs, runs->nruns, runs->max_level);
	unit = pick_by_size_ratio(table, runs, 1);
	if (unit == NULL && runs->nruns > trigger)
		unit = pick_by_size_ratio(table, runs, runs->nruns - trigger + 1);
	return unit;
}

static List *
pick_of_keyed_table(LakeTable *table, List *files, bool full)
{
	LevelRuns	runs = collect_runs(table, files);
	CompactionUnit *unit = NULL;

	if (runs.nruns == 0)
		return NIL;
	if (!full)
		unit = pick_by_triggers(table, &runs);
	else if (runs.nruns > 1 || runs.runs[0].level != runs.max_level)
		unit = make_unit(&runs, runs.nruns, runs.max_level);
	return unit != NULL ? list_make1(unit) : NIL;
}

static int
compare_int64(int64 a, int64 b)
{
	return a < b ? -1 : a > b;
}

/* The order of rows in a bucketed append table. */
static int
sequence_cell_compare(const ListCell *a, const ListCell *b)
{
	const DataFileMeta *first = lfirst(a);
	const DataFileMeta *second = lfirst(b);
	int			order = compare_int64(first->min_sequence_number, second->min_sequence_number);

	return order != 0 ? order : strcmp(first->file_name, second->file_name);
}

/* The order of arrival, as far as it is known, where every writer numbers rows from 0. */
static int
creation_cell_compare(const ListCell *a, const ListCell *b)
{
	const DataFileMeta *first = lfirst(a);
	const DataFileMeta *second = lfirst(b);
	int			order = compare_int64(first->creation_time, second->creation_time);

	return order != 0 ? order : sequence_cell_compare(a, b);
}

/* Add a unit, unless there would be as many files after as before. */
static List *
add_append_unit(const LakeTable *table, List *units, List *files)
{
	CompactionUnit *unit;
	int64		size = 0;
	ListCell   *cell;

	foreach(cell, files)
		size += ((DataFileMeta *) lfirst(cell))->file_size;
	if (size / Max(table->options->target_file_size, 1) + 1 >= list_length(files))
		return units;
	unit = palloc0(sizeof(CompactionUnit));
	unit->files = files;
	return lappend(units, unit);
}

/* Small files of a table without buckets, in packs of about twice the target size. */
static List *
pick_packs(LakeTable *table, List *files, bool full)
{
	List	   *sorted = list_copy(files);
	List	   *units = NIL;
	List	   *pack = NIL;
	int64		weight = 0;
	ListCell   *cell;

	list_sort(sorted, creation_cell_compare);
	foreach(cell, sorted)
	{
		DataFileMeta *file = lfirst(cell);

		if (file->file_size >= compaction_large_file_size(table))
			continue;
		pack = lappend(pack, file);
		weight += file->file_size + OPEN_FILE_COST;
		if (list_length(pack) > 1 && weight >= table->options->target_file_size * 2)
		{
			units = add_append_unit(table, units, pack);
			pack = NIL;
			weight = 0;
		}
	}
	if (list_length(pack) >= (full ? 2 : table->options->compaction_min_file_num))
		units = add_append_unit(table, units, pack);
	return units;
}

/* Stretches of small neighbours. */
static List *
pick_small_stretches(LakeTable *table, List *sorted)
{
	List	   *units = NIL;
	List	   *stretch = NIL;
	ListCell   *cell;

	foreach(cell, sorted)
	{
		DataFileMeta *file = lfirst(cell);

		if (file->file_size < compaction_large_file_size(table))
		{
			stretch = lappend(stretch, file);
			continue;
		}
		if (stretch != NIL)
			units = add_append_unit(table, units, stretch);
		stretch = NIL;
	}
	if (stretch != NIL)
		units = add_append_unit(table, units, stretch);
	return units;
}

/* Windows of so many neighbours that are together not too large. */
static List *
pick_windows(LakeTable *table, List *sorted)
{
	int			min_files = table->options->compaction_min_file_num;
	List	   *units = NIL;
	List	   *window = NIL;
	int64		size = 0;
	ListCell   *cell;

	foreach(cell, sorted)
	{
		DataFileMeta *file = lfirst(cell);

		window = lappend(window, file);
		size += file->file_size;
		if (list_length(window) >= min_files)
		{
			units = add_append_unit(table, units, window);
			window = NIL;
			size = 0;
		}
		else if (size >= table->options->target_file_size * 2)
		{
			size -= ((DataFileMeta *) linitial(window))->file_size;
			window = list_delete_first(window);
		}
	}
	return units;
}

static List *
pick_of_append_table(LakeTable *table, List *files, bool full)
{
	List	   *sorted;

	if (table->options->bucket_mode == BUCKET_UNAWARE)
		return pick_packs(table, files, full);
	sorted = list_copy(files);
	list_sort(sorted, sequence_cell_compare);
	return full ? pick_small_stretches(table, sorted) : pick_windows(table, sorted);
}

List *
pick_compaction(LakeTable *table, List *files, bool full)
{
	if (table->has_primary_key)
		return pick_of_keyed_table(table, files, full);
	return pick_of_append_table(table, files, full);
}
