/*
 * conversion.h
 *		Values of a source column whose type is not the one that the lake has.
 *
 * So it is with a column that the sync's policy leaves as it is in the lake,
 * and with rows that were written before a change that the lake has followed.
 */
#ifndef STREAMHOUSE_SYNC_CONVERSION_H
#define STREAMHOUSE_SYNC_CONVERSION_H

#include "postgres.h"

#include "columnar/type.h"

typedef struct ValueConversion ValueConversion;

/*
 * From a base type to the SQL type of a lake type, *result; NULL when there is
 * no way there and back.  Allocates in CurrentMemoryContext.
 */
extern ValueConversion *value_conversion_make(Oid typid, int32 typmod, const DataType *type, Oid *result);

/*
 * Convert one value; not null.  False when something of it would be lost: it is
 * not the same again on its way back.  The casts may raise errors of their own.
 */
extern bool value_conversion_apply(ValueConversion *conversion, Datum value, Datum *result);

#endif							/* STREAMHOUSE_SYNC_CONVERSION_H */
