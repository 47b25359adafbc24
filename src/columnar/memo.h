/*
 * memo.h
 *		A function of some columns, computed once for each distinct input.
 *
 * For functions that cost much more than finding out that their input has
 * been there before: those of the server.  When inputs do not repeat, nothing
 * is kept, and every row is computed.
 */
#ifndef STREAMHOUSE_MEMO_H
#define STREAMHOUSE_MEMO_H

#include "columnar/vector.h"

typedef struct MemoFunction MemoFunction;

/* What stands behind a function; owners put more after it. */
struct MemoFunction
{
	/*
	 * Compute the result's values for the selected rows (ascending), which
	 * columns has by number.  What the values point to is allocated in
	 * CurrentMemoryContext.
	 */
	void		(*compute) (MemoFunction *function, Vector *const *columns, const int32 *rows, int nrows,
							Vector *result);

	/*
	 * Rows whose keys are equal have equal results.  Give the vectors of the
	 * keys of the selected rows (NULL: the first nrows).  NULL: results are
	 * not kept.
	 */
	void		(*make_keys) (MemoFunction *function, Vector *const *columns, const int32 *rows, int nrows,
							  const Vector **keys);
	int			nkeys;
	const DataType **key_types;
};

typedef struct Memo Memo;

/* Lives in CurrentMemoryContext; type: of the results. */
extern Memo *memo_create(MemoFunction *function, const DataType *type);

/* Values for the selected rows (NULL: the first nrows), at their places; strings may be dictionary-encoded. */
extern void memo_evaluate(Memo *memo, Vector *const *columns, const int32 *rows, int nrows, Vector *result);

#endif							/* STREAMHOUSE_MEMO_H */
