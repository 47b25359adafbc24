/*
 * server_call.h
 *		Expressions that the server's own executor computes, inside the scan.
 *
 * Any expression that is not volatile can be one, if values of its type lie in
 * vectors.  Of type numeric that is so where all results have one scale.
 * Dates and times are in vectors as the server has them: as INT and BIGINT.
 */
#ifndef STREAMHOUSE_FDW_SERVER_CALL_H
#define STREAMHOUSE_FDW_SERVER_CALL_H

#include "columnar/expression.h"
#include "fdw/quals.h"

/*
 * Make an expression of node, whose values are of the lake type.  columns are
 * (Var *) those that node reads, inputs their numbers, types theirs.
 */
extern Expression *server_call_make(const Expr *node, const DataType *type, List *columns, const int *inputs,
									const DataType *const *types);

/* The lake type for results of node, numeric aside; NULL: there is none. */
extern const DataType *server_call_type(const Expr *node);

/* Make ready to compute; table is a name for messages. */
extern void server_call_prepare(Expression *expression, const char *table, EState *estate);

#endif							/* STREAMHOUSE_FDW_SERVER_CALL_H */
