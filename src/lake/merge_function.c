/*
 * merge_function.c
 *		Merge engines: which there are, and those that pick one of the rows.
 *
 * Source: format digest section 7.2.
 */
#include "postgres.h"

#include "lake/merge_function.h"
#include "lake/read.h"
#include "utils/memutils.h"

static const MergeEngine *const engines[] = {
	[MERGE_DEDUPLICATE] = &deduplicate_engine,
	[MERGE_PARTIAL_UPDATE] = &partial_update_engine,
	[MERGE_AGGREGATION] = &aggregation_engine,
	[MERGE_FIRST_ROW] = &first_row_engine
};

MergeFunction *
merge_function_create(const TableSchema *schema, const TableOptions *options, const char *table_name)
{
	return engines[options->merge_engine]->create(schema, options, table_name);
}

void *
merge_function_allocate(const MergeEngine *engine, Size size, const TableSchema *schema,
						const TableOptions *options, const char *table_name)
{
	MergeFunction *function = palloc0(size);

	function->engine = engine;
	function->schema = schema;
	function->table_name = table_name;
	function->ignore_delete = options->ignore_delete;
	if (engine->pick == NULL)
		function->context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse merge results",
												  ALLOCSET_DEFAULT_SIZES);
	return function;
}

bool
merge_engine_picks(const TableOptions *options)
{
	return engines[options->merge_engine]->pick != NULL;
}

void
merge_function_begin(MergeFunction *function, const MergeKeys *keys, Vector *const *const *deciding,
					 MergeResults *results)
{
	MemoryContextReset(function->context);
	function->engine->begin(function, keys, deciding, results);
}

/* ---- deduplicate ---- */

static MergeFunction *
deduplicate_create(const TableSchema *schema, const TableOptions *options, const char *table_name)
{
	return merge_function_allocate(&deduplicate_engine, sizeof(MergeFunction), schema, options, table_name);
}

/* The newest row, of whatever kind unless deletes are ignored. */
static int
deduplicate_pick(const MergeFunction *function, const int8 *kinds, int nrows)
{
	int			newest = nrows - 1;

	while (function->ignore_delete && newest >= 0 && ROW_KIND_IS_RETRACT(kinds[newest]))
		newest--;
	return newest;
}

const MergeEngine deduplicate_engine = {
	.create = deduplicate_create,
	.pick = deduplicate_pick
};

/* ---- first-row ---- */

static MergeFunction *
first_row_create(const TableSchema *schema, const TableOptions *options, const char *table_name)
{
	return merge_function_allocate(&first_row_engine, sizeof(MergeFunction), schema, options, table_name);
}

/* The oldest row. */
static int
first_row_pick(const MergeFunction *function, const int8 *kinds, int nrows)
{
	int			first = -1;

	for (int i = nrows - 1; i >= 0; i--)
	{
		if (!ROW_KIND_IS_RETRACT(kinds[i]))
			first = i;
		else if (!function->ignore_delete)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_EXCEPTION),
					 errmsg("lake table \"%s\" has rows that delete, which merge engine \"first-row\" cannot merge",
							function->table_name),
					 errhint("With option \"ignore-delete\" they are ignored.")));
	}
	return first;
}

const MergeEngine first_row_engine = {
	.create = first_row_create,
	.pick = first_row_pick
};
