/*
 * decoded_row.h
 *		Tuples as logical decoding hands them over, in slots.
 *
 * Large values that an update left unchanged are not in the WAL: of those
 * there is only their place in the TOAST table, which must not be followed.
 */
#ifndef STREAMHOUSE_SYNC_DECODED_ROW_H
#define STREAMHOUSE_SYNC_DECODED_ROW_H

#include "postgres.h"

#include "access/htup.h"
#include "executor/tuptable.h"

/* The values of a tuple as a row of a virtual slot; they point into the tuple. */
extern void decoded_row_store(TupleTableSlot *slot, HeapTuple tuple);

/* Is only the place of a value known?  Never of a column that is not there (negative). */
extern bool decoded_value_is_out_of_reach(const TupleTableSlot *slot, int column);

/*
 * Both rows of an update, in slots of the same columns; old_tuple is NULL when
 * the WAL has nothing of the old row.  Values out of reach in the new row are
 * taken from the old one, if that has them.
 */
extern void decoded_row_store_update(TupleTableSlot *new_slot, TupleTableSlot *old_slot, HeapTuple new_tuple,
									 HeapTuple old_tuple);

#endif							/* STREAMHOUSE_SYNC_DECODED_ROW_H */
