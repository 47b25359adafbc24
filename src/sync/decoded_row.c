/*
 * decoded_row.c
 *		Tuples as logical decoding hands them over, in slots.
 */
#include "postgres.h"

#include "access/htup_details.h"

#include "compat.h"
#include "sync/decoded_row.h"

void
decoded_row_store(TupleTableSlot *slot, HeapTuple tuple)
{
	ExecClearTuple(slot);
	heap_deform_tuple(tuple, slot->tts_tupleDescriptor, slot->tts_values, slot->tts_isnull);
	ExecStoreVirtualTuple(slot);
}

bool
decoded_value_is_out_of_reach(const TupleTableSlot *slot, int column)
{
	return column >= 0 && !slot->tts_isnull[column] && TupleDescAttr(slot->tts_tupleDescriptor, column)->attlen == -1 &&
		VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(slot->tts_values[column]));
}

static void
take_unchanged(TupleTableSlot *new_slot, const TupleTableSlot *old_slot)
{
	int			i;

	for (i = 0; i < new_slot->tts_tupleDescriptor->natts; i++)
	{
		if (decoded_value_is_out_of_reach(new_slot, i) && !old_slot->tts_isnull[i] &&
			!decoded_value_is_out_of_reach(old_slot, i))
			new_slot->tts_values[i] = old_slot->tts_values[i];
	}
}

void
decoded_row_store_update(TupleTableSlot *new_slot, TupleTableSlot *old_slot, HeapTuple new_tuple, HeapTuple old_tuple)
{
	decoded_row_store(new_slot, new_tuple);
	if (old_tuple == NULL)
		return;
	decoded_row_store(old_slot, old_tuple);
	take_unchanged(new_slot, old_slot);
}
