/*
 * byte_marks.h
 *		Where some of a page's byte arrays begin, and the search for one if they ascend.
 *
 * Each has its length in front of it, so that the way to any of them leads over
 * all lengths before it.  Pages in which rows are looked up stay in memory
 * (kept_page.h); what was seen on the way stays with them.
 */
#ifndef STREAMHOUSE_PARQUET_BYTE_MARKS_H
#define STREAMHOUSE_PARQUET_BYTE_MARKS_H

#include "format/parquet/decode.h"

#define MARK_STEP 256			/* values from one mark to the next */

typedef struct ByteMarks
{
	int64		count;			/* of values the page has, nulls included */
	int			capacity;
	int			known;
	bool		measured;		/* all are known, unless the values do not ascend */
	bool		ascending;		/* and none is null */
	uint32		places[FLEXIBLE_ARRAY_MEMBER];	/* behind the begin of the first value */
} ByteMarks;

extern ByteMarks *byte_marks_create(MemoryContext context, int64 count);

/* Behind values_init, of plain byte arrays: use marks, and add to them. */
extern void values_use_marks(ValueDecoder *decoder, ByteMarks *marks);

/* Do the values of the page ascend, one for each row?  The first time all of them are looked at. */
extern bool byte_arrays_ascend(ValueDecoder *decoder);

/* As numbers_search, of byte arrays that ascend. */
extern int64 byte_arrays_search(ValueDecoder *decoder, int64 count, BytesView bound, bool equal);

#endif							/* STREAMHOUSE_PARQUET_BYTE_MARKS_H */
