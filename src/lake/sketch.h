/*
 * sketch.h
 *		Serialised sketches of Apache DataSketches, united byte for byte as its
 *		Java library does it.
 */
#ifndef STREAMHOUSE_SKETCH_H
#define STREAMHOUSE_SKETCH_H

#include "columnar/vector.h"
#include "lib/stringinfo.h"

/* Append the union of two sketches; false if one of them is not sound.  Leaves garbage in CurrentMemoryContext. */
extern bool theta_sketch_unite(BytesView a, BytesView b, StringInfo out);
extern bool hll_sketch_unite(BytesView a, BytesView b, StringInfo out);

#endif							/* STREAMHOUSE_SKETCH_H */
