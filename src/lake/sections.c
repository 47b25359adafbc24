/*
 * sections.c
 *		Key ranges of data files: sections, sorted runs and the age of files.
 *
 * Files of a bucket whose key ranges overlap, directly or through others,
 * form a section: no key lies in two sections, so each is merged for itself.
 * Within a section the files are arranged into as few sorted runs as
 * possible.  Source: format digest sections 6.7 and 7.1.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "lake/binary_row.h"
#include "lake/plan.h"
#include "lake/sections.h"

/* A file with its key range decoded */
typedef struct KeyedFile
{
	DataFileMeta *file;
	Scalar	   *min_key;
	Scalar	   *max_key;
	int			nkeys;
	const DataType *const *types;
} KeyedFile;

static int
keys_compare(const KeyedFile *context, const Scalar *a, const Scalar *b)
{
	for (int i = 0; i < context->nkeys; i++)
	{
		int			order = scalar_compare(context->types[i]->physical, &a[i], &b[i]);

		if (order != 0)
			return order;
	}
	return 0;
}

static int
keyed_file_compare(const void *a, const void *b)
{
	const KeyedFile *first = a;
	const KeyedFile *second = b;
	int			order = keys_compare(first, first->min_key, second->min_key);

	return order != 0 ? order : keys_compare(first, first->max_key, second->max_key);
}

static void
decode_key_range(LakeTable *table, DataFileMeta *file, KeyedFile *out)
{
	out->file = file;
	out->nkeys = table->schema->ntrimmed_keys;
	out->types = table->key_types;
	out->min_key = palloc(out->nkeys * sizeof(Scalar));
	out->max_key = palloc(out->nkeys * sizeof(Scalar));
	binary_row_deserialize(file->min_key, out->types, out->min_key, out->nkeys, "minimum key", file->file_name);
	binary_row_deserialize(file->max_key, out->types, out->max_key, out->nkeys, "maximum key", file->file_name);

	/* sections cut from an inverted range would tear keys apart */
	if (keys_compare(out, out->min_key, out->max_key) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("minimum key of data file \"%s\" of table \"%s\" is above its maximum key",
						file->file_name, table->name)));
}

/* The files with their key ranges, sorted by them. */
static KeyedFile *
sort_by_key_range(LakeTable *table, List *files)
{
	KeyedFile  *sorted = palloc(Max(list_length(files), 1) * sizeof(KeyedFile));
	ListCell   *cell;
	int			count = 0;

	foreach(cell, files)
		decode_key_range(table, lfirst(cell), &sorted[count++]);
	qsort(sorted, count, sizeof(KeyedFile), keyed_file_compare);
	return sorted;
}

List *
interval_partition(LakeTable *table, List *files)
{
	KeyedFile  *sorted = sort_by_key_range(table, files);
	int			count = list_length(files);
	List	   *sections = NIL;
	List	   *section = NIL;
	const Scalar *bound = NULL;

	for (int i = 0; i < count; i++)
	{
		if (section != NIL && keys_compare(&sorted[i], sorted[i].min_key, bound) > 0)
		{
			sections = lappend(sections, section);
			section = NIL;
		}
		if (section == NIL || keys_compare(&sorted[i], sorted[i].max_key, bound) > 0)
			bound = sorted[i].max_key;
		section = lappend(section, sorted[i].file);
	}
	if (section != NIL)
		sections = lappend(sections, section);
	pfree(sorted);
	return sections;
}

List *
section_runs(LakeTable *table, List *files)
{
	KeyedFile  *sorted = sort_by_key_range(table, files);
	int			count = list_length(files);
	int		   *last = palloc(Max(count, 1) * sizeof(int)); /* by run: its last file */
	List	  **runs = palloc(Max(count, 1) * sizeof(List *));
	List	   *result = NIL;
	int			nruns = 0;

	for (int i = 0; i < count; i++)
	{
		int			best = -1;

		/* the run that ends first takes the file, if it ends before it */
		for (int run = 0; run < nruns; run++)
			if (best < 0 ||
				keys_compare(&sorted[i], sorted[last[run]].max_key, sorted[last[best]].max_key) < 0)
				best = run;
		if (best < 0 || keys_compare(&sorted[i], sorted[i].min_key, sorted[last[best]].max_key) <= 0)
		{
			best = nruns++;
			runs[best] = NIL;
		}
		runs[best] = lappend(runs[best], sorted[i].file);
		last[best] = i;
	}
	for (int run = 0; run < nruns; run++)
		result = lappend(result, runs[run]);
	pfree(last);
	pfree(runs);
	pfree(sorted);
	return result;
}

bool
key_ranges_are_disjoint(LakeTable *table, List *files)
{
	return list_length(section_runs(table, files)) <= 1;
}

static int
compare_int64(int64 a, int64 b)
{
	return a < b ? -1 : a > b;
}

int
data_file_compare_age(const DataFileMeta *a, const DataFileMeta *b)
{
	int			order;

	if (a->unpublished != b->unpublished)
		return a->unpublished ? -1 : 1;
	if (a->level != b->level)
		return a->level < b->level ? -1 : 1;
	order = compare_int64(b->max_sequence_number, a->max_sequence_number);
	if (order == 0)
		order = compare_int64(a->min_sequence_number, b->min_sequence_number);
	if (order == 0 && a->has_creation_time && b->has_creation_time)
		order = compare_int64(a->creation_time, b->creation_time);
	return order != 0 ? order : strcmp(a->file_name, b->file_name);
}

int
data_file_age_cell_compare(const ListCell *a, const ListCell *b)
{
	return data_file_compare_age(lfirst(a), lfirst(b));
}

bool
data_file_may_have_deletes(const DataFileMeta *file)
{
	return !file->has_delete_row_count || file->delete_row_count != 0;
}
