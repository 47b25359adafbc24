/*
 * merge_function.c
 *		Merge engines: what becomes of the rows of one key.
 *
 * Source: format digest section 7.2.
 */
#include "postgres.h"

#include "lake/merge_function.h"

/* The newest row, of whatever kind. */
static int
deduplicate_pick(int nrows)
{
	return nrows - 1;
}

static const MergeFunction merge_functions[] = {
	{"deduplicate", deduplicate_pick},
};

const MergeFunction *
merge_function_of_table(const LakeTable *table)
{
	const char *name = schema_option(table->schema, "merge-engine");

	if (name == NULL)
		name = "deduplicate";
	for (int i = 0; i < lengthof(merge_functions); i++)
		if (pg_strcasecmp(merge_functions[i].name, name) == 0)
			return &merge_functions[i];
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("merge engine \"%s\" of table \"%s\" is not supported", name, table->name)));
	return NULL;				/* keep compiler quiet */
}
