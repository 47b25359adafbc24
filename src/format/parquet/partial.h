/*
 * partial.h
 *		Bytes that are there up to some place, and further when they are needed.
 *
 * A page in which a few rows are looked up is decompressed only as far as
 * those rows.  Its length is known, and so is where it will lie in memory:
 * decoders check against its end as ever, and ask for bytes before they load
 * them.
 */
#ifndef STREAMHOUSE_PARQUET_PARTIAL_H
#define STREAMHOUSE_PARQUET_PARTIAL_H

typedef struct PartialBytes
{
	const uint8 *ready;			/* behind the last byte that is there */
	void		(*more) (struct PartialBytes *partial, const uint8 *until);	/* moves ready to until or beyond */
} PartialBytes;

/* See to it that the bytes before until are there.  NULL: all always are. */
static inline void
partial_need(PartialBytes *partial, const uint8 *until)
{
	if (partial != NULL && until > partial->ready)
		partial->more(partial, until);
}

#endif							/* STREAMHOUSE_PARQUET_PARTIAL_H */
