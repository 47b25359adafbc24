/*
 * row_spill.h
 *		Rows that do not fit into memory, in temporary files by their hash.
 *
 * Rows whose hashes are equal come into one partition, in the order they were
 * added.  A partition that is too large again is spilled with the next depth.
 */
#ifndef STREAMHOUSE_ROW_SPILL_H
#define STREAMHOUSE_ROW_SPILL_H

#include "columnar/vector.h"

#define SPILL_PARTITION_BITS 5
#define SPILL_PARTITIONS (1 << SPILL_PARTITION_BITS)

/* Then the hash has no more bits: rows have to be kept in memory. */
#define SPILL_MAX_DEPTH (64 / SPILL_PARTITION_BITS)

typedef struct RowSpill RowSpill;

/* Lives in a child of CurrentMemoryContext; types are copied, not what they point to. */
extern RowSpill *row_spill_create(const DataType *const *types, int ncolumns, int depth);

extern void row_spill_add(RowSpill *spill, uint64 hash, const Vector *const *columns, int32 row);

/* Turn to reading a partition from its beginning; false if it has no rows. */
extern bool row_spill_open(RowSpill *spill, int partition);

/* The next rows, valid until the next call; NULL when there are no more: then the partition's file is gone. */
extern Batch *row_spill_next(RowSpill *spill);

extern int	row_spill_depth(const RowSpill *spill);
extern void row_spill_free(RowSpill *spill);

#endif							/* STREAMHOUSE_ROW_SPILL_H */
