/*
 * cast.h
 *		Values of one type as values of another, by Paimon's rules.
 *
 * Columns that changed their type are read so from the files of older
 * schemas.  The results are those of Java in the time zone UTC.
 *
 * Source: format digest section 2.4.
 */
#ifndef STREAMHOUSE_CAST_H
#define STREAMHOUSE_CAST_H

#include "columnar/vector.h"

typedef struct Cast Cast;

/* Is there a cast?  From a type to itself: yes. */
extern bool cast_is_supported(const DataType *from, const DataType *to);

/* Are values of the one type, as they lie in memory, the same values of the other? */
extern bool cast_is_identity(const DataType *from, const DataType *to);

/* Of integers: is the second type the wider one? */
extern bool cast_is_widening(const DataType *from, const DataType *to);

/* An integer as one of another type; false when it does not fit. */
extern bool cast_integer(const DataType *from, const DataType *to, Scalar *value);

/* In CurrentMemoryContext; the cast must be supported, the types must outlive it. */
extern Cast *cast_create(const DataType *from, const DataType *to);

/*
 * Cast the selected rows (in any order; NULL: the first nselected ones) to their
 * places in target.  Its strings may lie in source, or stay until the next
 * call.  The result is NULL, or when a value cannot be cast a sentence about
 * it.
 */
extern const char *cast_vector(Cast *cast, const Vector *source, const int32 *selection, int nselected,
							   Vector *target);

#endif							/* STREAMHOUSE_CAST_H */
