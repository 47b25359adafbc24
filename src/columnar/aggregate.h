/*
 * aggregate.h
 *		Aggregates over groups of rows, fed a batch at a time.
 *
 * What is kept of each group lies in arrays by group.  Sums of integers and
 * decimals are exact.  Sums of floats add up in the order of rows, as a
 * server does that reads rows one by one.
 */
#ifndef STREAMHOUSE_AGGREGATE_H
#define STREAMHOUSE_AGGREGATE_H

#include "columnar/vector.h"

typedef enum AggregateKind
{
	AGGREGATE_COUNT_ROWS,
	AGGREGATE_COUNT,			/* values that are not null */
	AGGREGATE_COUNT_DISTINCT,
	AGGREGATE_SUM,				/* of integers and decimals; of floats in their own precision */
	AGGREGATE_MOMENTS,			/* of floats: number, sum, and sum of squared differences */
	AGGREGATE_MIN,
	AGGREGATE_MAX
} AggregateKind;

/* The sum of numbers of 128 bits: high * 2^64 + low. */
typedef struct WideSum
{
	int128		high;
	int128		low;			/* not negative */
} WideSum;

/* As the server's float8_accum has them. */
typedef struct FloatMoments
{
	double		n;
	double		sum;
	double		squares;
} FloatMoments;

typedef struct DistinctCount DistinctCount;

typedef struct Aggregate
{
	MemoryContext context;
	AggregateKind kind;
	const DataType *type;		/* of the argument; NULL for AGGREGATE_COUNT_ROWS */
	int			capacity;		/* groups for which there is room */
	int64	   *counts;			/* by group: of values (rows) taken */
	const struct Aggregate *row_counter;	/* not NULL: until aggregate_finish, counts are less by its counts */
	union
	{
		void	   *any;
		int64	   *i64;		/* of INT8 to INT32 */
		int128	   *i128;		/* of INT64 */
		WideSum    *wide;		/* of INT128 */
		float	   *f32;
		double	   *f64;
		FloatMoments *moments;
	}			sums;			/* AGGREGATE_SUM, AGGREGATE_MOMENTS */
	Vector	   *extremes;		/* AGGREGATE_MIN, AGGREGATE_MAX: where counts is not 0 */
	uint32	   *room;			/* of strings in extremes: bytes allocated */
	Size		string_bytes;	/* all of those */
	DistinctCount *distinct;	/* AGGREGATE_COUNT_DISTINCT */
} Aggregate;

/*
 * Lives in CurrentMemoryContext.  grouped: rows come with groups.
 * memory_limit: of a set of distinct values; what is beyond goes to files.
 */
extern Aggregate *aggregate_create(AggregateKind kind, const DataType *type, bool grouped, Size memory_limit);

/* Make room for groups; new ones are empty. */
extern void aggregate_reserve(Aggregate *aggregate, int capacity);

/*
 * Can the aggregate do without counts of its own where another one counts the
 * same rows?  Then only rows without a value cost it a step.
 */
extern bool aggregate_can_share_counts(const Aggregate *aggregate);

/* It does, and counter, of AGGREGATE_COUNT_ROWS, lives as long.  To be called before rows come. */
extern void aggregate_share_counts(Aggregate *aggregate, const Aggregate *counter);

/* Bytes for each group of the capacity, and beside those. */
extern Size aggregate_group_bytes(const Aggregate *aggregate);
extern Size aggregate_other_bytes(const Aggregate *aggregate);

/*
 * Take the selected rows (NULL: the first nrows).  groups[row] is a row's
 * group; NULL: all are of group 0.  values may be dictionary-encoded; NULL for
 * AGGREGATE_COUNT_ROWS.
 */
extern void aggregate_add(Aggregate *aggregate, const Vector *values, const int32 *rows, int nrows,
						  const int32 *groups);

/* No more rows come: settles counts. */
extern void aggregate_finish(Aggregate *aggregate);

#endif							/* STREAMHOUSE_AGGREGATE_H */
