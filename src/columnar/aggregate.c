/*
 * aggregate.c
 *		Aggregates over groups of rows.
 *
 * An aggregate has arrays by group, and one loop for each type of argument.
 */
#include "postgres.h"

#include "columnar/aggregate.h"
#include "columnar/compare.h"
#include "columnar/distinct.h"
#include "columnar/wide.h"
#include "utils/memutils.h"

static Size
sum_size(const Aggregate *aggregate)
{
	if (aggregate->kind == AGGREGATE_MOMENTS)
		return sizeof(FloatMoments);
	if (aggregate->kind != AGGREGATE_SUM)
		return 0;
	switch (aggregate->type->physical)
	{
		case PHYSICAL_INT64:
			return sizeof(int128);
		case PHYSICAL_INT128:
			return sizeof(WideSum);
		case PHYSICAL_FLOAT:
			return sizeof(float);
		default:
			return sizeof(int64);	/* double as well */
	}
}

static bool
is_extreme(const Aggregate *aggregate)
{
	return aggregate->kind == AGGREGATE_MIN || aggregate->kind == AGGREGATE_MAX;
}

Aggregate *
aggregate_create(AggregateKind kind, const DataType *type, bool grouped, Size memory_limit)
{
	Aggregate  *aggregate = (Aggregate *) palloc0(sizeof(Aggregate));

	aggregate->context = CurrentMemoryContext;
	aggregate->kind = kind;
	aggregate->type = type;
	if (is_extreme(aggregate))
		aggregate->extremes = vector_create(type, 0);
	if (kind == AGGREGATE_COUNT_DISTINCT)
		aggregate->distinct = distinct_create(type, grouped, memory_limit);
	return aggregate;
}

/* An array by group grows; what is new is zero. */
static void *
grow_array(const Aggregate *aggregate, void *array, Size element, int capacity)
{
	Size		before = aggregate->capacity * element;

	array = array == NULL ? MemoryContextAllocHuge(aggregate->context, capacity * element) :
		repalloc_huge(array, capacity * element);
	memset((char *) array + before, 0, capacity * element - before);
	return array;
}

void
aggregate_reserve(Aggregate *aggregate, int capacity)
{
	if (capacity <= aggregate->capacity)
		return;
	aggregate->counts = (int64 *) grow_array(aggregate, aggregate->counts, sizeof(int64), capacity);
	if (sum_size(aggregate) > 0)
		aggregate->sums.any = grow_array(aggregate, aggregate->sums.any, sum_size(aggregate), capacity);
	if (aggregate->extremes != NULL)
	{
		vector_reserve(aggregate->extremes, capacity);
		if (aggregate->type->physical == PHYSICAL_BYTES)
			aggregate->room = (uint32 *) grow_array(aggregate, aggregate->room, sizeof(uint32), capacity);
	}
	aggregate->capacity = capacity;
}

bool
aggregate_can_share_counts(const Aggregate *aggregate)
{
	if (aggregate->kind == AGGREGATE_COUNT)
		return true;

	/* sums of floats ask for each value whether it is the first */
	return aggregate->kind == AGGREGATE_SUM && aggregate->type->physical != PHYSICAL_FLOAT &&
		aggregate->type->physical != PHYSICAL_DOUBLE;
}

void
aggregate_share_counts(Aggregate *aggregate, const Aggregate *counter)
{
	aggregate->row_counter = counter;
}

Size
aggregate_group_bytes(const Aggregate *aggregate)
{
	Size		bytes = sizeof(int64) + sum_size(aggregate);

	if (aggregate->extremes != NULL)
		bytes += vector_row_bytes(aggregate->type) + sizeof(uint32);
	return bytes;
}

Size
aggregate_other_bytes(const Aggregate *aggregate)
{
	return aggregate->string_bytes;
}

/* ---- loops over rows ---- */

/* i_ counts, row is the place in the batch, group where it belongs. */
#define FOR_EACH_ROW(row, group) \
	for (int32 i_ = 0, row, group; \
		 i_ < nrows && ((row = rows != NULL ? rows[i_] : i_), \
						(group = groups != NULL ? groups[row] : 0), true); \
		 i_++)

/* The same over rows whose value is not null. */
#define FOR_EACH_VALUE(row, group) \
	FOR_EACH_ROW(row, group) \
		if (nulls == NULL || !nulls[row])

/* An integer, or another where null is 1: without a branch, or compilers would not make loops wide. */
#define UNLESS_NULL(c_type, value, null, neutral) \
	((c_type) (((value) & ((c_type) (null) - 1)) | ((neutral) & -(c_type) (null))))

/*
 * The rows that count (rows, nrows, nulls), of one group: loops without stores, and wide ones over all rows.  Of null
 * rows the value is undefined, but can be read; the neutral one is taken in its place.
 */
#define FOLD(STEP, c_type, source, neutral) \
	do { \
		if (rows == NULL && nulls == NULL) \
		{ \
			for (int i = 0; i < nrows; i++) \
				STEP(source[i]); \
		} \
		else if (rows == NULL) \
		{ \
			for (int i = 0; i < nrows; i++) \
				STEP(UNLESS_NULL(c_type, source[i], nulls[i], neutral)); \
		} \
		else if (nulls == NULL) \
		{ \
			for (int i = 0; i < nrows; i++) \
				STEP(source[rows[i]]); \
		} \
		else \
		{ \
			for (int i = 0; i < nrows; i++) \
				STEP(UNLESS_NULL(c_type, source[rows[i]], nulls[rows[i]], neutral)); \
		} \
	} while (0)

#define ADD(value) sum += (value)

/* ---- counts ---- */

static void
count_rows(int64 *counts, const int32 *rows, int nrows, const int32 *groups)
{
	if (groups == NULL)
	{
		counts[0] += nrows;
		return;
	}
	if (rows == NULL)
	{
		for (int i = 0; i < nrows; i++)
			counts[groups[i]]++;
	}
	else
	{
		for (int i = 0; i < nrows; i++)
			counts[groups[rows[i]]]++;
	}
}

/* How many flags, which are bytes of 0 and 1, are set: eight are added at once, for as long as their sums fit in bytes. */
static int
count_flags(const bool *flags, int nflags)
{
	const uint64 even_bytes = UINT64CONST(0x00ff00ff00ff00ff);
	int			count = 0;
	int			i = 0;

	while (nflags - i >= 8)
	{
		int			end = i + Min((nflags - i) / 8, 255) * 8;
		uint64		sums = 0;

		for (; i < end; i += 8)
		{
			uint64		eight;

			memcpy(&eight, flags + i, sizeof(eight));
			sums += eight;
		}
		sums = (sums & even_bytes) + (sums >> 8 & even_bytes);
		count += sums * UINT64CONST(0x0001000100010001) >> 48;
	}
	for (; i < nflags; i++)
		count += flags[i];
	return count;
}

/* How many of the rows are not null. */
static int
count_present(const Vector *values, const int32 *rows, int nrows)
{
	int			nulls = 0;

	if (!values->has_nulls)
		return nrows;
	if (rows == NULL)
		return nrows - count_flags(values->nulls, nrows);
	for (int i = 0; i < nrows; i++)
		nulls += values->nulls[rows[i]];
	return nrows - nulls;
}

/* Most values are not null: eight are passed at once. */
static void
take_off_nulls(int64 *counts, const bool *nulls, int nrows, const int32 *groups)
{
	int			i = 0;

	for (; i + 8 <= nrows; i += 8)
	{
		uint64		eight;

		memcpy(&eight, nulls + i, sizeof(eight));
		if (eight == 0)
			continue;
		for (int k = i; k < i + 8; k++)
			counts[groups[k]] -= nulls[k];
	}
	for (; i < nrows; i++)
		counts[groups[i]] -= nulls[i];
}

/* Of many groups, whose rows another aggregate counts. */
static void
count_missing(int64 *counts, const Vector *values, const int32 *rows, int nrows, const int32 *groups)
{
	if (!values->has_nulls)
		return;
	if (rows == NULL)
		take_off_nulls(counts, values->nulls, nrows, groups);
	else
		FOR_EACH_ROW(row, group)
			counts[group] -= values->nulls[row];
}

static void
count_values(Aggregate *aggregate, const Vector *values, const int32 *rows, int nrows, const int32 *groups)
{
	int64	   *counts = aggregate->counts;

	if (aggregate->row_counter != NULL)
		count_missing(counts, values, rows, nrows, groups);
	else if (!values->has_nulls)
		count_rows(counts, rows, nrows, groups);
	else if (groups == NULL)
		counts[0] += count_present(values, rows, nrows);
	else
		FOR_EACH_ROW(row, group)
			counts[group] += !values->nulls[row];
}

/* ---- sums ---- */

/* Of one group. */
#define SUM_ROWS(name, c_type, member, sum_type) \
WIDE_LOOPS \
static sum_type \
name(const Vector *values, const int32 *rows, int nrows) \
{ \
	const c_type *source = values->values.member; \
	const uint8 *nulls = values->has_nulls ? (const uint8 *) values->nulls : NULL; \
	sum_type	sum = 0; \
	FOLD(ADD, c_type, source, 0); \
	return sum; \
}

SUM_ROWS(sum_int8, int8, i8, int64)
SUM_ROWS(sum_int16, int16, i16, int64)
SUM_ROWS(sum_int32, int32, i32, int64)
SUM_ROWS(sum_int64, int64, i64, int128)

/* Of many groups. */
#define SUM_GROUPS(name, c_type, member, sum_type, sum_member) \
static void \
name(Aggregate *aggregate, const Vector *values, const int32 *rows, int nrows, const int32 *groups) \
{ \
	const c_type *source = values->values.member; \
	const uint8 *nulls = values->has_nulls ? (const uint8 *) values->nulls : NULL; \
	sum_type   *sums = aggregate->sums.sum_member; \
	if (rows == NULL && nulls == NULL) \
	{ \
		for (int i = 0; i < nrows; i++) \
			sums[groups[i]] += source[i]; \
	} \
	else if (rows == NULL) \
	{ \
		for (int i = 0; i < nrows; i++) \
			sums[groups[i]] += UNLESS_NULL(c_type, source[i], nulls[i], 0); \
	} \
	else \
	{ \
		FOR_EACH_VALUE(row, group) \
			sums[group] += source[row]; \
	} \
}

SUM_GROUPS(sum_groups_int8, int8, i8, int64, i64)
SUM_GROUPS(sum_groups_int16, int16, i16, int64, i64)
SUM_GROUPS(sum_groups_int32, int32, i32, int64, i64)
SUM_GROUPS(sum_groups_int64, int64, i64, int128, i128)

#define SUM_INTEGERS(sum_rows, sum_groups, sum_member) \
	if (groups != NULL) \
		sum_groups(aggregate, values, rows, nrows, groups); \
	else \
		aggregate->sums.sum_member[0] += sum_rows(values, rows, nrows); \
	break

static inline void
wide_sum_add(WideSum *sum, int128 value)
{
	sum->high += value >> 64;
	sum->low += (uint64) value;
}

static pg_noinline void
float_overflow(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("value out of range: overflow")));
}

/* The first value is the sum itself: -0 stays. */
#define SUM_FLOATS(c_type, member) \
	FOR_EACH_VALUE(row, group) \
	{ \
		c_type		value = values->values.member[row]; \
		c_type		before = aggregate->sums.member[group]; \
		c_type		sum = aggregate->counts[group]++ == 0 ? value : before + value; \
		if (unlikely(isinf(sum)) && !isinf(before) && !isinf(value)) \
			float_overflow(); \
		aggregate->sums.member[group] = sum; \
	} \
	return

static void
add_to_sums(Aggregate *aggregate, const Vector *values, const int32 *rows, int nrows, const int32 *groups)
{
	const bool *nulls = values->has_nulls ? values->nulls : NULL;

	switch (values->type->physical)
	{
		case PHYSICAL_INT8:
			SUM_INTEGERS(sum_int8, sum_groups_int8, i64);
		case PHYSICAL_INT16:
			SUM_INTEGERS(sum_int16, sum_groups_int16, i64);
		case PHYSICAL_INT32:
			SUM_INTEGERS(sum_int32, sum_groups_int32, i64);
		case PHYSICAL_INT64:
			SUM_INTEGERS(sum_int64, sum_groups_int64, i128);
		case PHYSICAL_INT128:
			FOR_EACH_VALUE(row, group)
				wide_sum_add(&aggregate->sums.wide[group], values->values.i128[row]);
			break;
		case PHYSICAL_FLOAT:
			SUM_FLOATS(float, f32);
		case PHYSICAL_DOUBLE:
			SUM_FLOATS(double, f64);
		default:
			elog(ERROR, "values of physical type %d cannot be added", (int) values->type->physical);
	}
	count_values(aggregate, values, rows, nrows, groups);
}

/* Youngs and Cramer, step by step as float8_accum: it fails where that does. */
static inline void
add_moment(FloatMoments *moments, double value)
{
	double		n = moments->n + 1;
	double		sum = moments->sum + value;

	if (moments->n > 0)
	{
		double		difference = value * n - sum;

		moments->squares += difference * difference / (n * moments->n);
		if (isinf(sum) || isinf(moments->squares))
		{
			if (!isinf(moments->sum) && !isinf(value))
				float_overflow();
			moments->squares = NAN;
		}
	}
	else if (isnan(value) || isinf(value))
		moments->squares = NAN;
	moments->n = n;
	moments->sum = sum;
}

static void
add_to_moments(Aggregate *aggregate, const Vector *values, const int32 *rows, int nrows, const int32 *groups)
{
	const bool *nulls = values->has_nulls ? values->nulls : NULL;

	FOR_EACH_VALUE(row, group)
	{
		add_moment(&aggregate->sums.moments[group],
				   values->type->physical == PHYSICAL_FLOAT ? values->values.f32[row] : values->values.f64[row]);
	}
	count_values(aggregate, values, rows, nrows, groups);
}

/* ---- extremes ---- */

#define NUMBER_LESS(a, b) ((a) < (b))
#define FLOAT_LESS(a, b) (double_compare((a), (b)) < 0)

/* A value takes the place of one that is not beyond it: of equal ones the last stays, as in the server. */
#define EXTREME(c_type, member, LESS) \
	{ \
		c_type	   *extremes = aggregate->extremes->values.member; \
		FOR_EACH_VALUE(row, group) \
		{ \
			c_type		value = values->values.member[row]; \
			if (aggregate->counts[group]++ == 0 || \
				!(aggregate->kind == AGGREGATE_MIN ? LESS(extremes[group], value) : LESS(value, extremes[group]))) \
				extremes[group] = value; \
		} \
		break; \
	}

#define TAKE_LESS(value) extreme = Min(extreme, value)
#define TAKE_GREATER(value) extreme = Max(extreme, value)

/* Of one group that has a value among the rows. */
#define EXTREME_ROWS(name, c_type, member, least, greatest) \
WIDE_LOOPS \
static void \
name(Aggregate *aggregate, const Vector *values, const int32 *rows, int nrows) \
{ \
	const c_type *source = values->values.member; \
	const uint8 *nulls = values->has_nulls ? (const uint8 *) values->nulls : NULL; \
	bool		is_min = aggregate->kind == AGGREGATE_MIN; \
	c_type		extreme = is_min ? (greatest) : (least); \
	if (aggregate->counts[0] > 0) \
		extreme = aggregate->extremes->values.member[0]; \
	if (is_min) \
		FOLD(TAKE_LESS, c_type, source, greatest); \
	else \
		FOLD(TAKE_GREATER, c_type, source, least); \
	aggregate->extremes->values.member[0] = extreme; \
}

EXTREME_ROWS(extreme_int16, int16, i16, PG_INT16_MIN, PG_INT16_MAX)
EXTREME_ROWS(extreme_int32, int32, i32, PG_INT32_MIN, PG_INT32_MAX)
EXTREME_ROWS(extreme_int64, int64, i64, PG_INT64_MIN, PG_INT64_MAX)

static void
keep_string(Aggregate *aggregate, int32 group, BytesView string)
{
	BytesView  *kept = &aggregate->extremes->values.bytes[group];

	if (aggregate->room[group] < string.length)
	{
		Size		size = Max((Size) string.length, Min((Size) aggregate->room[group] * 2, PG_UINT32_MAX));

		if (aggregate->room[group] > 0)
			pfree(unconstify(char *, kept->data));
		kept->data = (char *) MemoryContextAllocHuge(aggregate->context, size);
		aggregate->string_bytes += size - aggregate->room[group];
		aggregate->room[group] = (uint32) size;
	}
	if (string.length > 0)
		memcpy(unconstify(char *, kept->data), string.data, string.length);
	kept->length = string.length;
}

static void
add_strings(Aggregate *aggregate, const Vector *values, const int32 *rows, int nrows, const int32 *groups)
{
	const bool *nulls = values->has_nulls ? values->nulls : NULL;
	BytesView  *extremes = aggregate->extremes->values.bytes;
	int			wanted = aggregate->kind == AGGREGATE_MIN ? -1 : 1;

	FOR_EACH_VALUE(row, group)
	{
		BytesView	value = values->codes != NULL ? values->dictionary[values->codes[row]] : values->values.bytes[row];

		if (aggregate->counts[group]++ == 0 || bytes_compare(value, extremes[group]) * wanted > 0)
			keep_string(aggregate, group, value);
	}
}

/* Rows of one group; false when they have to be looked at one by one. */
static bool
add_rows_to_extreme(Aggregate *aggregate, const Vector *values, const int32 *rows, int nrows)
{
	int			present = count_present(values, rows, nrows);

	if (present == 0)
		return true;
	switch (values->type->physical)
	{
		case PHYSICAL_INT16:
			extreme_int16(aggregate, values, rows, nrows);
			break;
		case PHYSICAL_INT32:
			extreme_int32(aggregate, values, rows, nrows);
			break;
		case PHYSICAL_INT64:
			extreme_int64(aggregate, values, rows, nrows);
			break;
		default:
			return false;
	}
	aggregate->counts[0] += present;
	return true;
}

static void
add_to_extremes(Aggregate *aggregate, const Vector *values, const int32 *rows, int nrows, const int32 *groups)
{
	const bool *nulls = values->has_nulls ? values->nulls : NULL;

	if (groups == NULL && add_rows_to_extreme(aggregate, values, rows, nrows))
		return;
	switch (values->type->physical)
	{
		case PHYSICAL_INT8:
			EXTREME(int8, i8, NUMBER_LESS)
		case PHYSICAL_INT16:
			EXTREME(int16, i16, NUMBER_LESS)
		case PHYSICAL_INT32:
			EXTREME(int32, i32, NUMBER_LESS)
		case PHYSICAL_INT64:
			EXTREME(int64, i64, NUMBER_LESS)
		case PHYSICAL_INT128:
			EXTREME(int128, i128, NUMBER_LESS)
		case PHYSICAL_FLOAT:
			EXTREME(float, f32, FLOAT_LESS)
		case PHYSICAL_DOUBLE:
			EXTREME(double, f64, FLOAT_LESS)
		case PHYSICAL_BYTES:
			add_strings(aggregate, values, rows, nrows, groups);
			break;
		default:
			elog(ERROR, "values of physical type %d have no order", (int) values->type->physical);
	}
}

void
aggregate_add(Aggregate *aggregate, const Vector *values, const int32 *rows, int nrows, const int32 *groups)
{
	switch (aggregate->kind)
	{
		case AGGREGATE_COUNT_ROWS:
			count_rows(aggregate->counts, rows, nrows, groups);
			break;
		case AGGREGATE_COUNT:
			count_values(aggregate, values, rows, nrows, groups);
			break;
		case AGGREGATE_COUNT_DISTINCT:
			distinct_add(aggregate->distinct, values, rows, nrows, groups, aggregate->counts);
			break;
		case AGGREGATE_SUM:
			add_to_sums(aggregate, values, rows, nrows, groups);
			break;
		case AGGREGATE_MOMENTS:
			add_to_moments(aggregate, values, rows, nrows, groups);
			break;
		case AGGREGATE_MIN:
		case AGGREGATE_MAX:
			add_to_extremes(aggregate, values, rows, nrows, groups);
			break;
	}
}

void
aggregate_finish(Aggregate *aggregate)
{
	if (aggregate->distinct != NULL)
		distinct_finish(aggregate->distinct, aggregate->counts);
	if (aggregate->row_counter != NULL)
	{
		for (int i = 0; i < aggregate->capacity; i++)
			aggregate->counts[i] += aggregate->row_counter->counts[i];
	}
}
