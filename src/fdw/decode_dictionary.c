/*
 * decode_dictionary.c
 *		Strings of a dictionary as Datums that are kept from slice to slice.
 *
 * A scan decodes few rows at a time, and a dictionary serves many: its entries
 * are made once there have been as many rows as it has entries, and from then
 * on rows only point to them.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "fdw/decode.h"

/* Larger dictionaries have few rows for each entry, and would leave the processor's cache. */
#define MAX_KEPT_BYTES (512 * 1024)

struct KeptDictionary
{
	MemoryContext owner;
	MemoryContext context;		/* of the entries, in the owner; NULL: there have been none */
	uint64		id;				/* of the dictionary that rows had last; 0: none */
	int64		rows;			/* that came with it */
	bool		unfit;			/* too large, or not all of it is valid */
	Datum	   *entries;		/* NULL: not made */
};

void
column_decoder_keep_dictionaries(ColumnDecoder *decoder)
{
	decoder->kept = palloc0(sizeof(KeptDictionary));
	decoder->kept->owner = CurrentMemoryContext;
}

static Size
room_of(const Vector *vector)
{
	Size		total = 0;
	int			i;

	for (i = 0; i < vector->dictionary_size && total <= MAX_KEPT_BYTES; i++)
		total += VARHDRSZ + (Size) vector->dictionary[i].length + sizeof(Datum);
	return total;
}

static void
make_entries(const ColumnDecoder *decoder, KeptDictionary *kept, const Vector *vector, bool is_text)
{
	MemoryContext old;

	kept->unfit = room_of(vector) > MAX_KEPT_BYTES || (is_text && !decode_dictionary_is_valid(vector));
	if (kept->unfit)
		return;
	if (kept->context == NULL)
		kept->context = AllocSetContextCreate(kept->owner, "streamhouse kept dictionary", ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(kept->context);
	kept->entries = decode_dictionary_entries(decoder, vector);
	MemoryContextSwitchTo(old);
}

const Datum *
decode_kept_entries(const ColumnDecoder *decoder, const Vector *vector, int nrows, bool is_text)
{
	KeptDictionary *kept = decoder->kept;

	if (kept == NULL || vector->codes == NULL || vector->dictionary_id == 0)
		return NULL;
	if (kept->id != vector->dictionary_id)
	{
		if (kept->context != NULL)
			MemoryContextReset(kept->context);
		kept->id = vector->dictionary_id;
		kept->rows = 0;
		kept->unfit = false;
		kept->entries = NULL;
	}
	kept->rows += nrows;
	if (kept->entries == NULL && !kept->unfit && kept->rows >= vector->dictionary_size)
		make_entries(decoder, kept, vector, is_text);
	return kept->entries;
}
