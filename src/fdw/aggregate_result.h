/*
 * aggregate_result.h
 *		What is kept for an aggregate becomes a Datum of its result.
 */
#ifndef STREAMHOUSE_FDW_AGGREGATE_RESULT_H
#define STREAMHOUSE_FDW_AGGREGATE_RESULT_H

#include "fdw/compute.h"
#include "fdw/types.h"

typedef struct ResultColumn
{
	AggregateResult result;
	const DataType *type;		/* of the argument, or key */
	ColumnDecoder decoder;		/* RESULT_EXTREME, and keys */
	Vector	   *vector;			/* the same: BATCH_ROWS of room */
} ResultColumn;

/* table: a name for messages.  typid, typmod: of the result. */
extern void result_column_init(ResultColumn *column, AggregateResult result, const char *table, const DataType *type,
							   Oid typid, int32 typmod);

/* Of one group: is its result NULL?  If not, what is it?  RESULT_EXTREME can only be decoded, as below. */
extern bool result_column_is_null(const ResultColumn *column, const Aggregate *aggregate, int group);
extern Datum result_column_datum(const ResultColumn *column, const Aggregate *aggregate, int group);

/* Results of count groups from first on; what is passed by reference is allocated in CurrentMemoryContext. */
extern void result_column_decode(const ResultColumn *column, const Aggregate *aggregate, int first, int count,
								 Datum *values, bool *isnull);

#endif							/* STREAMHOUSE_FDW_AGGREGATE_RESULT_H */
