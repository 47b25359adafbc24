/*
 * predicate_eval.c
 *		Filters batches exactly.
 *
 * A leaf is one loop over the rows still selected, compiled for its type and
 * operator.  Rows are kept without a branch: each is written to the next
 * place, and the place moves on only if the row matches.
 *
 * In tables that are nearly in the order of a number or a date, most batches
 * match a comparison with all of their rows or with none, which is counted
 * faster than rows are kept.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "columnar/predicate.h"
#include "columnar/wide.h"

/* Counted together: few, as of the first block that matches in part the count is in vain. */
#define BLOCK_ROWS 64

/*
 * Keep the rows for which a condition on "row" holds.  and_then is & where
 * looking at the undefined value of a null row does no harm, and && elsewhere.
 */
#define KEEP_ROWS(and_then, condition) \
	do { \
		int			kept = 0; \
		KEEP_ROWS_FROM(0, and_then, condition); \
	} while (0)

/* The same from a place on, when kept of those before it have been. */
#define KEEP_ROWS_FROM(start, and_then, condition) \
	do { \
		if (nulls == NULL) \
		{ \
			for (int i = (start); i < nrows; i++) \
			{ \
				int32		row = rows[i]; \
				rows[kept] = row; \
				kept += (condition); \
			} \
		} \
		else \
		{ \
			for (int i = (start); i < nrows; i++) \
			{ \
				int32		row = rows[i]; \
				rows[kept] = row; \
				kept += (!nulls[row]) and_then (condition); \
			} \
		} \
		return kept; \
	} while (0)

/* The same for numbers, where consecutive rows are counted in blocks until one matches in part. */
#define KEEP_NUMBERS(condition) \
	do { \
		int			kept = 0; \
		int			done = 0; \
		if (nulls == NULL && are_consecutive(rows, nrows)) \
		{ \
			int64		row = rows[0]; \
			for (; nrows - done >= BLOCK_ROWS; done += BLOCK_ROWS) \
			{ \
				int			matches = 0; \
				for (int i = 0; i < BLOCK_ROWS; i++, row++) \
					matches += (condition); \
				if (matches > 0 && matches < BLOCK_ROWS) \
					break; \
				memmove(rows + kept, rows + done, matches * sizeof(int32)); \
				kept += matches; \
			} \
		} \
		KEEP_ROWS_FROM(done, &, condition); \
	} while (0)

#define KEEP_BYTES(condition) KEEP_ROWS(&&, condition)

static bool
are_consecutive(const int32 *rows, int nrows)
{
	return rows[nrows - 1] - rows[0] == nrows - 1;
}

static const bool *
nulls_of(const Vector *vector)
{
	return vector->has_nulls ? vector->nulls : NULL;
}

/* Comparison with one value.  NaN is above all others: > is "not <=", >= is "not <". */
#define DEFINE_COMPARE(name, c_type, member, KEEP, EQUAL, LESS, LESS_EQUAL) \
WIDE_LOOPS \
static int \
name(const Predicate *leaf, const Vector *vector, int32 *rows, int nrows) \
{ \
	const c_type *values = vector->values.member; \
	const c_type constant = leaf->values[0].v.member; \
	const bool *nulls = nulls_of(vector); \
	switch (leaf->op) \
	{ \
		case PREDICATE_EQ: \
			KEEP(EQUAL(values[row], constant)); \
		case PREDICATE_NE: \
			KEEP(!EQUAL(values[row], constant)); \
		case PREDICATE_LT: \
			KEEP(LESS(values[row], constant)); \
		case PREDICATE_LE: \
			KEEP(LESS_EQUAL(values[row], constant)); \
		case PREDICATE_GT: \
			KEEP(!LESS_EQUAL(values[row], constant)); \
		case PREDICATE_GE: \
			KEEP(!LESS(values[row], constant)); \
		default: \
			elog(ERROR, "predicate %d does not compare", (int) leaf->op); \
	} \
}

/* Membership in sorted values, by binary search. */
#define DEFINE_MEMBER(name, c_type, member, and_then, EQUAL, LESS_EQUAL) \
static inline bool \
name##_has(const Scalar *sorted, int count, c_type value) \
{ \
	while (count > 1) \
	{ \
		int			half = count / 2; \
		if (LESS_EQUAL(sorted[half].v.member, value)) \
			sorted += half; \
		count -= half; \
	} \
	return EQUAL(sorted->v.member, value); \
} \
\
static int \
name(const Predicate *leaf, const Vector *vector, int32 *rows, int nrows) \
{ \
	const c_type *values = vector->values.member; \
	const bool *nulls = nulls_of(vector); \
	const bool	wanted = leaf->op == PREDICATE_IN; \
	KEEP_ROWS(and_then, name##_has(leaf->values, leaf->nvalues, values[row]) == wanted); \
}

#define NUMBER_EQUAL(a, b) ((a) == (b))
#define NUMBER_LESS(a, b) ((a) < (b))
#define NUMBER_LESS_EQUAL(a, b) ((a) <= (b))
#define FLOAT_EQUAL(a, b) (double_compare((a), (b)) == 0)
#define FLOAT_LESS_EQUAL(a, b) (double_compare((a), (b)) <= 0)
#define BYTES_LESS(a, b) (bytes_compare((a), (b)) < 0)
#define BYTES_LESS_EQUAL(a, b) (bytes_compare((a), (b)) <= 0)

DEFINE_COMPARE(compare_int8, int8, i8, KEEP_NUMBERS, NUMBER_EQUAL, NUMBER_LESS, NUMBER_LESS_EQUAL)
DEFINE_COMPARE(compare_int16, int16, i16, KEEP_NUMBERS, NUMBER_EQUAL, NUMBER_LESS, NUMBER_LESS_EQUAL)
DEFINE_COMPARE(compare_int32, int32, i32, KEEP_NUMBERS, NUMBER_EQUAL, NUMBER_LESS, NUMBER_LESS_EQUAL)
DEFINE_COMPARE(compare_int64, int64, i64, KEEP_NUMBERS, NUMBER_EQUAL, NUMBER_LESS, NUMBER_LESS_EQUAL)
DEFINE_COMPARE(compare_int128, int128, i128, KEEP_NUMBERS, NUMBER_EQUAL, NUMBER_LESS, NUMBER_LESS_EQUAL)
DEFINE_COMPARE(compare_float, float, f32, KEEP_NUMBERS, NUMBER_EQUAL, NUMBER_LESS, NUMBER_LESS_EQUAL)
DEFINE_COMPARE(compare_double, double, f64, KEEP_NUMBERS, NUMBER_EQUAL, NUMBER_LESS, NUMBER_LESS_EQUAL)
DEFINE_COMPARE(compare_bytes, BytesView, bytes, KEEP_BYTES, bytes_equal, BYTES_LESS, BYTES_LESS_EQUAL)

DEFINE_MEMBER(member_int8, int8, i8, &, NUMBER_EQUAL, NUMBER_LESS_EQUAL)
DEFINE_MEMBER(member_int16, int16, i16, &, NUMBER_EQUAL, NUMBER_LESS_EQUAL)
DEFINE_MEMBER(member_int32, int32, i32, &, NUMBER_EQUAL, NUMBER_LESS_EQUAL)
DEFINE_MEMBER(member_int64, int64, i64, &, NUMBER_EQUAL, NUMBER_LESS_EQUAL)
DEFINE_MEMBER(member_int128, int128, i128, &, NUMBER_EQUAL, NUMBER_LESS_EQUAL)
DEFINE_MEMBER(member_float, float, f32, &, FLOAT_EQUAL, FLOAT_LESS_EQUAL)
DEFINE_MEMBER(member_double, double, f64, &, FLOAT_EQUAL, FLOAT_LESS_EQUAL)
DEFINE_MEMBER(member_bytes, BytesView, bytes, &&, bytes_equal, BYTES_LESS_EQUAL)

typedef int (*LeafFilter) (const Predicate *leaf, const Vector *vector, int32 *rows, int nrows);

static const LeafFilter compare_filters[] = {
	[PHYSICAL_INT8] = compare_int8,
	[PHYSICAL_INT16] = compare_int16,
	[PHYSICAL_INT32] = compare_int32,
	[PHYSICAL_INT64] = compare_int64,
	[PHYSICAL_INT128] = compare_int128,
	[PHYSICAL_FLOAT] = compare_float,
	[PHYSICAL_DOUBLE] = compare_double,
	[PHYSICAL_BYTES] = compare_bytes,
};

static const LeafFilter member_filters[] = {
	[PHYSICAL_INT8] = member_int8,
	[PHYSICAL_INT16] = member_int16,
	[PHYSICAL_INT32] = member_int32,
	[PHYSICAL_INT64] = member_int64,
	[PHYSICAL_INT128] = member_int128,
	[PHYSICAL_FLOAT] = member_float,
	[PHYSICAL_DOUBLE] = member_double,
	[PHYSICAL_BYTES] = member_bytes,
};

/* ---- the leaves that are not plain comparisons ---- */

static int
keep_nulls(const Vector *vector, int32 *rows, int nrows)
{
	int			kept = 0;

	if (!vector->has_nulls)
		return 0;
	for (int i = 0; i < nrows; i++)
	{
		int32		row = rows[i];

		rows[kept] = row;
		kept += vector->nulls[row];
	}
	return kept;
}

static int
keep_not_nulls(const Vector *vector, int32 *rows, int nrows)
{
	const bool *nulls = nulls_of(vector);

	if (nulls == NULL)
		return nrows;
	KEEP_ROWS(&, true);
}

static int
keep_prefixed(const Vector *vector, BytesView prefix, int32 *rows, int nrows)
{
	const BytesView *values = vector->values.bytes;
	const bool *nulls = nulls_of(vector);

	if (prefix.length == 0)
		return keep_not_nulls(vector, rows, nrows);
	KEEP_ROWS(&&, values[row].length >= prefix.length &&
			  memcmp(values[row].data, prefix.data, prefix.length) == 0);
}

/* A float compared with NaN: equal to NaN, below for all others. */
static int
compare_with_nan(PredicateOp op, const Vector *vector, int32 *rows, int nrows)
{
	const bool *nulls = nulls_of(vector);
	const bool	nan_wanted = op == PREDICATE_EQ || op == PREDICATE_GE;

	if (op == PREDICATE_GT)
		return 0;
	if (op == PREDICATE_LE)
		return keep_not_nulls(vector, rows, nrows);
	if (vector->type->physical == PHYSICAL_FLOAT)
		KEEP_ROWS(&, (isnan(vector->values.f32[row]) != 0) == nan_wanted);
	KEEP_ROWS(&, (isnan(vector->values.f64[row]) != 0) == nan_wanted);
}

/* A leaf that looks at values, on a plain vector. */
static int
filter_values(const Predicate *leaf, const Vector *vector, int32 *rows, int nrows)
{
	PhysicalType physical = vector->type->physical;

	if (leaf->op == PREDICATE_STARTS_WITH)
		return keep_prefixed(vector, leaf->values[0].v.bytes, rows, nrows);
	if (leaf->set != NULL)
		return value_set_filter(leaf->set, leaf->op == PREDICATE_IN, vector, rows, nrows);
	if (leaf->op == PREDICATE_IN || leaf->op == PREDICATE_NOT_IN)
		return member_filters[physical] (leaf, vector, rows, nrows);
	if (scalar_is_nan(physical, &leaf->values[0]))
		return compare_with_nan(leaf->op, vector, rows, nrows);
	return compare_filters[physical] (leaf, vector, rows, nrows);
}

/* ---- dictionaries ---- */

/* The codes that rows use, each once; used is left with their marks. */
static int
collect_codes(const Vector *vector, const int32 *rows, int nrows, bool *used, int32 *codes)
{
	int			ncodes = 0;

	for (int i = 0; i < nrows; i++)
	{
		int32		code = vector->codes[rows[i]];

		if (!used[code])
		{
			used[code] = true;
			codes[ncodes++] = code;
		}
	}
	return ncodes;
}

/*
 * The leaf is decided for dictionary entries, and rows look their code up.
 * All entries when there are no more than rows, else those that rows use.
 */
static int
filter_dictionary(const Predicate *leaf, const Vector *vector, int32 *rows, int nrows)
{
	Vector		entries = {0};
	const bool *nulls = nulls_of(vector);
	const int32 *row_codes = vector->codes;
	int			size = vector->dictionary_size;
	bool	   *matches;
	int32	   *codes;
	int			ncodes;
	int			kept = 0;

	if (size == 0)
		return 0;				/* all rows are null */
	matches = (bool *) palloc0(size);
	codes = (int32 *) palloc(Min(size, nrows) * sizeof(int32));
	if (size <= nrows)
	{
		for (ncodes = 0; ncodes < size; ncodes++)
			codes[ncodes] = ncodes;
	}
	else
	{
		ncodes = collect_codes(vector, rows, nrows, matches, codes);
		memset(matches, false, size);
	}

	entries.type = vector->type;
	entries.values.bytes = unconstify(BytesView *, vector->dictionary);
	ncodes = filter_values(leaf, &entries, codes, ncodes);
	for (int i = 0; i < ncodes; i++)
		matches[codes[i]] = true;

	for (int i = 0; i < nrows; i++)
	{
		int32		row = rows[i];

		rows[kept] = row;
		kept += (nulls == NULL || !nulls[row]) && matches[row_codes[row]];
	}
	pfree(codes);
	pfree(matches);
	return kept;
}

static int
filter_leaf(const Predicate *leaf, const Vector *vector, int32 *rows, int nrows)
{
	Assert(leaf->type->physical == vector->type->physical);
	if (nrows == 0)
		return 0;
	if (leaf->op == PREDICATE_IS_NULL)
		return keep_nulls(vector, rows, nrows);
	if (leaf->op == PREDICATE_IS_NOT_NULL)
		return keep_not_nulls(vector, rows, nrows);
	if (vector->codes != NULL)
		return filter_dictionary(leaf, vector, rows, nrows);
	return filter_values(leaf, vector, rows, nrows);
}

/* ---- trees ---- */

/* Each child decides on the rows that those before it did not accept. */
static int
filter_or(const List *children, Vector *const *columns, int32 *selection, int nselected)
{
	int			nrows = selection[nselected - 1] + 1;
	bool	   *accepted = (bool *) palloc0(nrows);
	int32	   *open = (int32 *) palloc(nselected * sizeof(int32));
	int32	   *tried = (int32 *) palloc(nselected * sizeof(int32));
	int			nopen = nselected;
	int			kept = 0;
	ListCell   *cell;

	memcpy(open, selection, nselected * sizeof(int32));
	foreach(cell, children)
	{
		int			still_open = 0;
		int			matched;

		memcpy(tried, open, nopen * sizeof(int32));
		matched = predicate_filter((const Predicate *) lfirst(cell), columns, tried, nopen);
		for (int i = 0; i < matched; i++)
			accepted[tried[i]] = true;
		for (int i = 0; i < nopen; i++)
		{
			int32		row = open[i];

			open[still_open] = row;
			still_open += !accepted[row];
		}
		nopen = still_open;
	}
	for (int i = 0; i < nselected; i++)
	{
		int32		row = selection[i];

		selection[kept] = row;
		kept += accepted[row];
	}
	pfree(tried);
	pfree(open);
	pfree(accepted);
	return kept;
}

/* Keep of selection those rows for which the predicate is true; how many. */
int
predicate_filter(const Predicate *predicate, Vector *const *columns, int32 *selection, int nselected)
{
	ListCell   *cell;

	if (predicate == NULL || nselected == 0)
		return nselected;
	switch (predicate->op)
	{
		case PREDICATE_FALSE:
			return 0;
		case PREDICATE_AND:
			foreach(cell, predicate->children)
				nselected = predicate_filter((const Predicate *) lfirst(cell), columns, selection, nselected);
			return nselected;
		case PREDICATE_OR:
			return filter_or(predicate->children, columns, selection, nselected);
		default:
			return filter_leaf(predicate, columns[predicate->column], selection, nselected);
	}
}
