/*
 * point.h
 *		Where a value of SQL lies among the values that a lake column can have.
 *
 * A comparison with a constant becomes a predicate in the column's own type.
 * The constant may be of another type: finer than the column (numeric 1.234
 * beside DECIMAL(10, 2)), out of its range (5000000000 beside INT), or coarser
 * (a timestamp of micros beside TIMESTAMP(9), of which SQL sees only micros).
 */
#ifndef STREAMHOUSE_FDW_POINT_H
#define STREAMHOUSE_FDW_POINT_H

#include "columnar/predicate.h"

typedef enum PointKind
{
	POINT_VALUE,				/* a value of the column's type */
	POINT_GAP,					/* between two; value is the one below */
	POINT_RANGE,				/* what SQL sees as one: value to last */
	POINT_BELOW,				/* below all */
	POINT_ABOVE					/* above all */
} PointKind;

typedef struct Point
{
	PointKind	kind;
	Scalar		value;
	Scalar		last;
} Point;

/* Can values of an SQL type be placed among those of a lake type, with the same order on both sides? */
extern bool point_is_defined(const DataType *type, Oid typid);

/* Place one; what it points to is in CurrentMemoryContext. */
extern Point point_of_datum(const DataType *type, Oid typid, Datum value);

/* The predicate "column op point", op from PREDICATE_EQ to PREDICATE_GE. */
extern Predicate *point_predicate(PredicateOp op, int column, const DataType *type, const Point *point);

#endif							/* STREAMHOUSE_FDW_POINT_H */
