/*
 * stripe.h
 *		A stripe of an ORC file: its streams, and which rows of it may match.
 */
#ifndef STREAMHOUSE_ORC_STRIPE_H
#define STREAMHOUSE_ORC_STRIPE_H

#include "format/format.h"
#include "format/orc/column.h"

/* Statistics of stripes: for each of them those of the columns, encoded. */
typedef struct StripeStatistics
{
	uint32		nstripes;		/* 0: there are none */
	BytesView  *stripes;
} StripeStatistics;

/* The columns that a predicate is about. */
typedef struct StripeFilter
{
	const Predicate *predicate; /* NULL: all rows are wanted */
	int			ncolumns;
	const bool *used;			/* by it */
	OrcColumn **columns;		/* NULL: the file lacks it */
	ColumnStatistics *statistics;	/* room for as many */
} StripeFilter;

/* Read the file's section of them.  In CurrentMemoryContext. */
extern void stripe_statistics_read(StripeStatistics *statistics, ColumnShared *shared);

/* Of one of the stripes that there are statistics of. */
extern void stripe_column_statistics(const StripeStatistics *statistics, uint32 stripe, const OrcColumn *column,
									 ColumnStatistics *out);

/* May the stripe have matching rows, as far as its statistics tell? */
extern bool stripe_may_match(const StripeStatistics *statistics, const ColumnShared *shared, uint32 stripe,
							 const StripeFilter *filter);

/* Read a stripe's footer into shared. */
extern void stripe_open(ColumnShared *shared, const OrcStripeInfo *stripe, MemoryContext zone_context);

/*
 * Ranges of the stripe that may have matching rows, by the row index and bloom
 * filters; in CurrentMemoryContext.
 */
extern RowRange *stripe_ranges(ColumnShared *shared, const StripeFilter *filter, int *nranges);

#endif							/* STREAMHOUSE_ORC_STRIPE_H */
