/*
 * roaring.h
 *		Serialised roaring bitmaps, united byte for byte as Java does it.
 *
 * What comes from files is checked before it is used.  Of two forms of a
 * container that take the same room, which one Java writes depends on the
 * forms it came from: that is why the C library's union will not do.
 */
#ifndef STREAMHOUSE_ROARING_H
#define STREAMHOUSE_ROARING_H

#include "lake/byte_input.h"

/* As numbered in the 64-bit format */
typedef enum RoaringForm
{
	ROARING_RUNS,				/* pairs of the first member and how many follow it */
	ROARING_BITSET,				/* 65536 bits */
	ROARING_ARRAY				/* members */
} RoaringForm;

/* The members with the same upper bits; all numbers are little-endian. */
typedef struct RoaringContainer
{
	RoaringForm form;
	int			cardinality;
	int			nruns;			/* of ROARING_RUNS */
	const char *payload;		/* without the number of runs before it */
} RoaringContainer;

/* Parse a container's bytes; false if they are not sound.  Of runs the cardinality need not be known. */
extern bool roaring_read_container(ByteInput *input, RoaringForm form, int cardinality, RoaringContainer *out);

/* Append a container's bytes, as they are parsed. */
extern void roaring_append_container(StringInfo out, const RoaringContainer *container);

/* The union of a container with another, or NULL, in its smallest form; in CurrentMemoryContext. */
extern RoaringContainer roaring_unite_containers(const RoaringContainer *a, const RoaringContainer *b);

/* Append the union of two bitmaps; false if one of them is not sound.  Leaves garbage in CurrentMemoryContext. */
extern bool roaring32_unite(BytesView a, BytesView b, StringInfo out);
extern bool roaring64_unite(BytesView a, BytesView b, StringInfo out);

#endif							/* STREAMHOUSE_ROARING_H */
