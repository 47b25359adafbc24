/*
 * bloom.h
 *		The bloom filters of row groups in an ORC file.
 */
#ifndef STREAMHOUSE_ORC_BLOOM_H
#define STREAMHOUSE_ORC_BLOOM_H

#include "columnar/predicate.h"
#include "format/orc/column.h"

/* Has the stripe filters of the column? */
extern bool bloom_exists(const OrcColumn *column);

/* May rows of the stripe's row group match the leaf, as far as the column's filter tells? */
extern bool bloom_may_match(OrcColumn *column, uint32 group, const Predicate *leaf);

#endif							/* STREAMHOUSE_ORC_BLOOM_H */
