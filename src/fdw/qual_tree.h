/*
 * qual_tree.h
 *		The tree between quals.c, which makes it of clauses, and qual_bind.c,
 *		which makes predicates of it.
 */
#ifndef STREAMHOUSE_FDW_QUAL_TREE_H
#define STREAMHOUSE_FDW_QUAL_TREE_H

#include "fdw/quals.h"

typedef enum QualKind
{
	QUAL_AND,					/* children */
	QUAL_OR,					/* children */
	QUAL_COMPARE,				/* column op comparand */
	QUAL_DISTINCT,				/* column IS [NOT] DISTINCT FROM comparand: op NE, EQ */
	QUAL_ANY,					/* column op elements of comparand: op IN, NOT_IN */
	QUAL_LIKE,					/* column LIKE comparand: of it, what its beginning says */
	QUAL_NULL_TEST				/* op IS_NULL, IS_NOT_NULL */
} QualKind;

struct Qual
{
	QualKind	kind;
	List	   *children;		/* Qual * */
	int			column;			/* table field */
	const DataType *type;		/* of the column */
	PredicateOp op;
	Expr	   *comparand;
	Oid			comparand_type; /* of its elements, for QUAL_ANY */
	ExprState  *state;			/* once prepared: of a comparand that is not constant */
};

/* How LIKE patterns begin. */
typedef enum LikeKind
{
	LIKE_UNKNOWN,				/* ends in an escape: the executor shall complain */
	LIKE_LITERAL,				/* no wildcard: equality */
	LIKE_PREFIX,				/* a prefix, then one %: STARTS_WITH */
	LIKE_OTHER					/* a prefix, then more: STARTS_WITH is a part of it */
} LikeKind;

/* The pattern's beginning up to a wildcard, without escapes, in CurrentMemoryContext. */
extern LikeKind like_prefix(Datum pattern, BytesView *prefix);

/* Is it =, <> or one of the four others of the default order of its type? */
extern bool qual_is_comparison(Oid opno);

/* Do strings under this collation compare as their bytes do? */
extern bool qual_collation_allows(Oid collation, bool only_equality);

#endif							/* STREAMHOUSE_FDW_QUAL_TREE_H */
