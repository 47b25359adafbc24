/*
 * merge_function.h
 *		Merge engines: what becomes of the rows of one key.
 *
 * Reading, flushing and compaction all merge through this one interface, and
 * only keys with two rows or more: a row alone is the result as it is.
 *
 * The result of some engines is one of the rows; they pick it knowing kinds
 * alone.  Others compute it column by column, so that columns nobody asks for
 * are not computed; what they decide row by row they decide once for a set of
 * keys, in "begin".
 */
#ifndef STREAMHOUSE_MERGE_FUNCTION_H
#define STREAMHOUSE_MERGE_FUNCTION_H

#include "columnar/vector.h"
#include "lake/options.h"

/*
 * Rows of several keys.  Those of key k are the members starts[k] ..
 * starts[k + 1] - 1, oldest first.  Columns may lie in several vectors, the
 * sources of a column; a member is a row of one of them.
 */
typedef struct MergeKeys
{
	int			nkeys;
	const int32 *starts;
	const int8 *kinds;			/* RowKind by member */
	const int32 *sources;		/* by member; NULL: all of source 0 */
	const int32 *rows;			/* by member */
} MergeKeys;

/* What begin finds of each key */
typedef struct MergeResults
{
	int8	   *kinds;			/* RowKind of the result */
	int32	   *newest;			/* member that the result takes its sequence number from */
} MergeResults;

typedef struct MergeFunction
{
	const struct MergeEngine *engine;
	const TableSchema *schema;
	const char *table_name;
	bool		ignore_delete;
	MemoryContext context;		/* of results: emptied by merge_function_begin */
	int			ndeciding;		/* fields that begin looks at */
	int		   *deciding;
} MergeFunction;

typedef struct MergeEngine
{
	/* ERROR, naming it, for what is not supported of the table's options */
	MergeFunction *(*create) (const TableSchema *schema, const TableOptions *options, const char *table_name);

	/* which of a key's rows is the result, -1: none; NULL: results are computed */
	int			(*pick) (const MergeFunction *function, const int8 *kinds, int nrows);

	/* deciding: the sources of each deciding field */
	void		(*begin) (MergeFunction *function, const MergeKeys *keys, Vector *const *const *deciding,
						  MergeResults *results);

	/* values of a field for the keys listed, to places[i] of out */
	void		(*merge) (MergeFunction *function, const MergeKeys *keys, int field, Vector *const *sources,
						  const int32 *selection, int nselected, const int32 *places, Vector *out);
} MergeEngine;

extern const MergeEngine deduplicate_engine;
extern const MergeEngine first_row_engine;
extern const MergeEngine partial_update_engine;
extern const MergeEngine aggregation_engine;

/* The merge function of a table, in CurrentMemoryContext; ERROR if it is not supported.  All arguments must outlive it. */
extern MergeFunction *merge_function_create(const TableSchema *schema, const TableOptions *options,
											const char *table_name);

/* For engines: the common part of a function, zeroed, size bytes in all. */
extern void *merge_function_allocate(const MergeEngine *engine, Size size, const TableSchema *schema,
									 const TableOptions *options, const char *table_name);

/* Is the result of every key one of its rows? */
extern bool merge_engine_picks(const TableOptions *options);

static inline int
merge_function_pick(const MergeFunction *function, const int8 *kinds, int nrows)
{
	return function->engine->pick(function, kinds, nrows);
}

/* Begin with a set of keys, which must stay until the next one.  Forgets the values made before. */
extern void merge_function_begin(MergeFunction *function, const MergeKeys *keys, Vector *const *const *deciding,
								 MergeResults *results);

static inline void
merge_function_merge(MergeFunction *function, const MergeKeys *keys, int field, Vector *const *sources,
					 const int32 *selection, int nselected, const int32 *places, Vector *out)
{
	function->engine->merge(function, keys, field, sources, selection, nselected, places, out);
}

/* A member's value. */
static inline Scalar
merge_member_value(const MergeKeys *keys, Vector *const *sources, int member)
{
	return vector_get(sources[keys->sources != NULL ? keys->sources[member] : 0], keys->rows[member]);
}

#endif							/* STREAMHOUSE_MERGE_FUNCTION_H */
