/*
 * memo.c
 *		A function of some columns, computed once for each distinct input.
 *
 * Inputs are numbered as groups are; the results lie in a vector by number.
 * Memory is bounded: once there are many, all are forgotten, and if most of
 * the rows were new ones, none are kept any more.
 */
#include "postgres.h"

#include "columnar/grouping.h"
#include "columnar/memo.h"
#include "utils/memutils.h"

#define MEMO_MAX_RESULTS 65536
#define MEMO_MAX_BYTES (8 * 1024 * 1024)

struct Memo
{
	MemoFunction *function;
	const DataType *type;
	bool		keeps;
	MemoryContext kept;			/* of all that follows */
	Grouping   *inputs;
	Vector	   *results;		/* by number of the input */
	uint64		dictionary_id;	/* of the results as they are */
	int64		nrows;			/* looked up since they were forgotten */
	/* of a batch */
	MemoryContext batch_context;
	const Vector **keys;
	int32	   *numbers;
	int32	   *all_rows;
};

static void
forget(Memo *memo)
{
	MemoryContext old;

	MemoryContextReset(memo->kept);
	old = MemoryContextSwitchTo(memo->kept);
	memo->inputs = grouping_create(memo->function->key_types, memo->function->nkeys);
	memo->results = vector_create(memo->type, grouping_capacity(memo->inputs));
	memo->nrows = 0;
	MemoryContextSwitchTo(old);
}

Memo *
memo_create(MemoFunction *function, const DataType *type)
{
	Memo	   *memo = (Memo *) palloc0(sizeof(Memo));

	memo->function = function;
	memo->type = type;
	memo->keeps = function->make_keys != NULL;
	memo->kept = AllocSetContextCreate(CurrentMemoryContext, "streamhouse results", ALLOCSET_DEFAULT_SIZES);
	memo->batch_context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse results of a batch",
												ALLOCSET_DEFAULT_SIZES);
	memo->keys = (const Vector **) palloc(Max(function->nkeys, 1) * sizeof(Vector *));
	memo->numbers = (int32 *) palloc(BATCH_ROWS * sizeof(int32));
	memo->all_rows = (int32 *) palloc(BATCH_ROWS * sizeof(int32));
	for (int i = 0; i < BATCH_ROWS; i++)
		memo->all_rows[i] = i;
	if (memo->keeps)
		forget(memo);
	return memo;
}

/* Forget results when there are many, and give up keeping them when they were of little use. */
static void
bound_memory(Memo *memo, int nrows)
{
	int			count = grouping_count(memo->inputs);

	if (count + nrows <= MEMO_MAX_RESULTS && MemoryContextMemAllocated(memo->kept, true) <= MEMO_MAX_BYTES)
		return;
	if ((int64) count * 2 > memo->nrows)
	{
		memo->keeps = false;
		MemoryContextReset(memo->kept);
	}
	else if (count > 0)
		forget(memo);
}

static void
compute_all(Memo *memo, Vector *const *columns, const int32 *rows, int nrows, Vector *result)
{
	MemoryContext old;

	MemoryContextReset(memo->batch_context);
	old = MemoryContextSwitchTo(memo->batch_context);
	memo->function->compute(memo->function, columns, rows != NULL ? rows : memo->all_rows, nrows, result);
	MemoryContextSwitchTo(old);
}

/* The entries of a dictionary must be strings, also those that stand for null. */
static void
clear_null_strings(Vector *results, int first, int count)
{
	if (results->type->physical != PHYSICAL_BYTES || !results->has_nulls)
		return;
	for (int i = first; i < first + count; i++)
	{
		if (results->nulls[i])
			results->values.bytes[i] = (BytesView) {"", 0};
	}
}

/* Compute what the batch has of new inputs; result is used for it. */
static void
compute_new(Memo *memo, Vector *const *columns, int first, int count, Vector *result)
{
	MemoryContext old = MemoryContextSwitchTo(memo->kept);
	const int32 *rows = grouping_new_rows(memo->inputs);

	vector_reserve(memo->results, grouping_capacity(memo->inputs));
	memo->function->compute(memo->function, columns, rows, count, result);
	vector_gather(memo->results, first, result, rows, count);
	clear_null_strings(memo->results, first, count);
	memo->dictionary_id = vector_new_dictionary_id();
	MemoryContextSwitchTo(old);
}

#define FOR_EACH_ROW(row) \
	for (int32 i_ = 0, row; i_ < nrows && ((row = rows != NULL ? rows[i_] : i_), true); i_++)

#define COPY(member) \
	FOR_EACH_ROW(row) \
		result->values.member[row] = memo->results->values.member[memo->numbers[row]]; \
	break

/* Every row gets the result of its input's number. */
static void
spread(const Memo *memo, const int32 *rows, int nrows, Vector *result)
{
	vector_reset(result);
	result->has_nulls = memo->results->has_nulls;
	if (result->has_nulls)
	{
		FOR_EACH_ROW(row)
			result->nulls[row] = memo->results->nulls[memo->numbers[row]];
	}
	switch (memo->type->physical)
	{
		case PHYSICAL_INT8:
			COPY(i8);
		case PHYSICAL_INT16:
			COPY(i16);
		case PHYSICAL_INT32:
			COPY(i32);
		case PHYSICAL_INT64:
			COPY(i64);
		case PHYSICAL_INT128:
			COPY(i128);
		case PHYSICAL_FLOAT:
			COPY(f32);
		case PHYSICAL_DOUBLE:
			COPY(f64);
		case PHYSICAL_BYTES:
			result->codes = memo->numbers;
			result->dictionary = memo->results->values.bytes;
			result->dictionary_size = grouping_count(memo->inputs);
			result->dictionary_id = memo->dictionary_id;
			break;
		default:
			elog(ERROR, "results of physical type %d cannot be kept", (int) memo->type->physical);
	}
}

void
memo_evaluate(Memo *memo, Vector *const *columns, const int32 *rows, int nrows, Vector *result)
{
	int			first;
	int			added;

	vector_reset(result);
	if (memo->keeps)
		bound_memory(memo, nrows);
	if (!memo->keeps)
	{
		compute_all(memo, columns, rows, nrows, result);
		return;
	}
	first = grouping_count(memo->inputs);
	grouping_reserve(memo->inputs, first + nrows);
	memo->function->make_keys(memo->function, columns, rows, nrows, memo->keys);
	added = grouping_assign(memo->inputs, memo->keys, rows, nrows, true, memo->numbers);
	memo->nrows += nrows;
	if (added > 0)
		compute_new(memo, columns, first, added, result);
	spread(memo, rows, nrows, result);
}
