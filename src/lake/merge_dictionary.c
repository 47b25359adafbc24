/*
 * merge_dictionary.c
 *		One dictionary for the strings that a merge takes from several runs.
 *
 * Each run has codes into a dictionary of its own.  Put one behind the other
 * they serve all runs, and whoever looks at the merged rows (a filter, a
 * grouping, the border to SQL) looks at each entry once.  An entry may be
 * there several times.
 */
#include "postgres.h"

#include "lake/merge_state.h"

static JoinedDictionary *
create_joined(const SectionMerge *merge)
{
	MemoryContext old = MemoryContextSwitchTo(merge->context);
	JoinedDictionary *joined = palloc0(sizeof(JoinedDictionary));

	joined->entries = palloc(BATCH_ROWS * sizeof(BytesView));
	joined->ids = palloc0(merge->nruns * sizeof(uint64));
	joined->starts = palloc0(merge->nruns * sizeof(int32));
	MemoryContextSwitchTo(old);
	return joined;
}

/* Put together what is loaded: entries are views that live as long as the runs' batches. */
static void
join_entries(const SectionMerge *merge, int position, JoinedDictionary *joined)
{
	joined->id = vector_new_dictionary_id();
	joined->size = 0;
	for (int i = 0; i < merge->nruns; i++)
	{
		const MergeRun *run = &merge->runs[i];
		const Vector *column = run->columns[position];

		joined->ids[i] = 0;
		if (!run->loaded[position])
			continue;
		memcpy(joined->entries + joined->size, column->dictionary, column->dictionary_size * sizeof(BytesView));
		joined->ids[i] = column->dictionary_id;
		joined->starts[i] = joined->size;
		joined->size += column->dictionary_size;
	}
}

const JoinedDictionary *
merge_join_dictionaries(const SectionMerge *merge, int position, int nrows)
{
	JoinedDictionary *joined = merge->dictionaries[position];
	bool		same = joined != NULL && joined->id != 0;
	int64		size = 0;

	for (int i = 0; i < merge->nruns; i++)
	{
		const MergeRun *run = &merge->runs[i];
		const Vector *column = run->columns[position];
		uint64		id = 0;

		if (run->loaded[position])
		{
			if (column->codes == NULL || column->dictionary_size == 0 || column->dictionary_id == 0)
				return NULL;
			id = column->dictionary_id;
			size += column->dictionary_size;
		}
		same = same && joined->ids[i] == id;
	}
	if (same)
		return joined;
	if (size > Min(nrows, BATCH_ROWS))
		return NULL;
	if (joined == NULL)
		joined = merge->dictionaries[position] = create_joined(merge);
	join_entries(merge, position, joined);
	return joined;
}
