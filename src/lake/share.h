/*
 * share.h
 *		A scan's splits cut and packed into units, for several readers to share.
 */
#ifndef STREAMHOUSE_SHARE_H
#define STREAMHOUSE_SHARE_H

#include "lake/plan.h"

/*
 * Units (Split *) with the rows of the splits, from large to small, for so
 * many readers, who take one after the other.  The same splits give the same
 * units.  In CurrentMemoryContext; they refer to the splits' files.
 */
extern List *share_splits(LakeTable *table, const List *splits, int readers);

#endif							/* STREAMHOUSE_SHARE_H */
