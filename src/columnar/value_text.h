/*
 * value_text.h
 *		Values as Java prints them: in names of partition folders, and where
 *		columns become strings.
 *
 * Source: format digest sections 1, "Partition directory text", and 2.4.
 */
#ifndef STREAMHOUSE_VALUE_TEXT_H
#define STREAMHOUSE_VALUE_TEXT_H

#include "columnar/vector.h"

typedef enum ValueTextStyle
{
	VALUE_TEXT_LEGACY,			/* toString() of Java's internal value: dates are numbers */
	VALUE_TEXT_CAST,			/* cast to STRING */
	VALUE_TEXT_CAST_UTC			/* the same, where the time zone is always UTC */
} ValueTextStyle;

/*
 * Append a value that is not null.  False when the text cannot be known: it
 * depends on the writing process, or is none.
 */
extern bool value_to_text(StringInfo out, const DataType *type, const Scalar *value, ValueTextStyle style);

/* As Double.toString of Java 19. */
extern void double_to_text(StringInfo out, double value);

#endif							/* STREAMHOUSE_VALUE_TEXT_H */
