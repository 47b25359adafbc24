/*
 * aggregation.h
 *		GROUP BY over batches: keys, aggregates, and what does not fit into memory.
 *
 *	aggregation_add			for each batch
 *	aggregation_finish		then the groups in memory are complete
 *	aggregation_next		after those have been taken: the next, from files
 *
 * Once the groups have filled the memory, rows of other groups go to files by
 * a hash of their keys, as they are; each file is then aggregated by itself.
 */
#ifndef STREAMHOUSE_AGGREGATION_H
#define STREAMHOUSE_AGGREGATION_H

#include "columnar/aggregate.h"
#include "columnar/expression.h"

typedef struct AggregationItem
{
	AggregateKind kind;
	Expression *argument;		/* NULL for AGGREGATE_COUNT_ROWS */
	const Predicate *filter;	/* rows that count; NULL: all */
	Expression *condition;		/* a boolean that must be true of those; NULL: none */
} AggregationItem;

/* Expressions and filters are over columns as in a table: aggregation_add gets them by number. */
typedef struct AggregationSpec
{
	int			nkeys;			/* 0: one group, which is there without rows, too */
	Expression **keys;
	int			nitems;
	AggregationItem *items;
	int			ntable_columns;
	int			ncolumns;		/* that expressions and filters use */
	const int  *columns;
	const DataType **types;		/* of those */
	Size		memory_limit;
} AggregationSpec;

typedef struct Aggregation Aggregation;

/* Lives in CurrentMemoryContext; so must the specification, as long. */
extern Aggregation *aggregation_create(const AggregationSpec *spec);

/* Take the selected rows (NULL: the first nrows); columns[i] is the spec's columns[i]. */
extern void aggregation_add(Aggregation *aggregation, Vector *const *columns, const int32 *rows, int nrows);

extern void aggregation_finish(Aggregation *aggregation);

/* The groups at hand, numbered from 0, their keys and aggregates. */
extern int	aggregation_group_count(const Aggregation *aggregation);
extern void aggregation_key(const Aggregation *aggregation, int key, int32 first, int count, Vector *out);
extern Aggregate *aggregation_item(const Aggregation *aggregation, int item);

/* Turn to the next groups; false when there are no more. */
extern bool aggregation_next(Aggregation *aggregation);

/* Bytes of rows that went to files. */
extern int64 aggregation_spilled_rows(const Aggregation *aggregation);

#endif							/* STREAMHOUSE_AGGREGATION_H */
