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

/* Values out of reach in the new row that the old one, of the same columns, has. */
extern void decoded_row_take_unchanged(TupleTableSlot *new_slot, const TupleTableSlot *old_slot);

#endif							/* STREAMHOUSE_SYNC_DECODED_ROW_H */
