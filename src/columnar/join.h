/*
 * join.h
 *		Equi-joins of batches with tables in memory, one after the other.
 *
 * The rows of a batch pass by the steps.  Each finds the rows that match them
 * in its table: an inner join drops those that match none, a left join keeps
 * them, with NULLs beside.  Columns are numbered over all relations, and those
 * of the tables are put together only when and where they are wanted.
 */
#ifndef STREAMHOUSE_JOIN_H
#define STREAMHOUSE_JOIN_H

#include "columnar/expression.h"
#include "columnar/join_table.h"

typedef struct JoinStep
{
	int			nkeys;
	Expression **outer_keys;	/* of columns before it; prepared */
	int			nkey_columns;	/* which ones */
	const int  *key_columns;
	int			ncolumns;
	const int  *columns;		/* the table's columns, by their numbers in the join */
	/* may change between batches */
	JoinTable  *table;
	JoinPart	part;			/* rows whose keys are in no other part are left out */
	bool		keeps_unmatched;
} JoinStep;

/*
 * A column of the batch, whose values are wanted at the selected rows (NULL:
 * the first nrows), and of this batch at no others any more.
 */
typedef Vector *(*JoinSource) (void *arg, int column, const int32 *rows, int nrows);

/* Takes joined rows, valid until it returns; columns are the ones wanted. */
typedef void (*JoinReceiver) (void *arg, Vector *const *columns, const int32 *rows, int nrows);

typedef struct JoinSpec
{
	int			ncolumns;		/* of all relations */
	const DataType **types;
	int			nsteps;
	JoinStep   *steps;
	int			nwanted;
	const int  *wanted;
	JoinSource	source;
	void	   *source_arg;
	JoinReceiver receiver;
	void	   *receiver_arg;
} JoinSpec;

typedef struct Join Join;

/* Lives in CurrentMemoryContext; so must the specification, as long. */
extern Join *join_create(const JoinSpec *spec);

/* Join the selected rows (NULL: the first nrows) of a batch. */
extern void join_add(Join *join, const int32 *rows, int nrows);

#endif							/* STREAMHOUSE_JOIN_H */
