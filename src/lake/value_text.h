/*
 * value_text.h
 *		Values as Java prints them, for the names of partition folders.
 *
 * Source: format digest section 1, "Partition directory text".
 */
#ifndef STREAMHOUSE_VALUE_TEXT_H
#define STREAMHOUSE_VALUE_TEXT_H

#include "columnar/vector.h"

typedef enum ValueTextStyle
{
	VALUE_TEXT_LEGACY,			/* toString() of Java's internal value: dates are numbers */
	VALUE_TEXT_CAST				/* cast to STRING */
} ValueTextStyle;

/*
 * Append a value that is not null.  False when the text cannot be known: it
 * depends on the writing process, or is none.
 */
extern bool value_to_text(StringInfo out, const DataType *type, const Scalar *value, ValueTextStyle style);

#endif							/* STREAMHOUSE_VALUE_TEXT_H */
