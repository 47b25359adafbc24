/*
 * metadata.h
 *		What manifests alone know of aggregates: files that need not be read.
 */
#ifndef STREAMHOUSE_FDW_METADATA_H
#define STREAMHOUSE_FDW_METADATA_H

#include "columnar/aggregation.h"
#include "lake/plan.h"

/* Can manifests know what a file adds to an aggregate? */
extern bool metadata_may_know(const AggregationItem *item);

/* Does a predicate (NULL: none) decide on partitions as a whole? */
extern bool metadata_is_of_partitions(const TableSchema *schema, const Predicate *predicate);

/* Can they know it of all items? */
extern bool metadata_may_answer(const AggregationSpec *spec, const TableSchema *schema, const Predicate *predicate);

/*
 * Add all rows of a split, if what is known of its files is exact; else false,
 * and nothing is added.  aggregation NULL: only ask.
 */
extern bool metadata_add_split(LakeTable *table, const Split *split, const AggregationSpec *spec,
							   Aggregation *aggregation);

#endif							/* STREAMHOUSE_FDW_METADATA_H */
