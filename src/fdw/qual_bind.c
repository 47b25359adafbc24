/*
 * qual_bind.c
 *		Evaluates the comparands of analysed clauses, which gives a predicate.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "mb/pg_wchar.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "fdw/point.h"
#include "fdw/qual_tree.h"

bool
qual_is_constant(const Qual *qual)
{
	ListCell   *lc;

	foreach(lc, qual->children)
	{
		if (!qual_is_constant(lfirst(lc)))
			return false;
	}
	return qual->comparand == NULL || IsA(qual->comparand, Const);
}

int
qual_equated_column(const Qual *qual)
{
	/* character(n) may equal several values */
	return qual->kind == QUAL_COMPARE && qual->op == PREDICATE_EQ && qual->comparand_type != BPCHAROID ?
		qual->column : -1;
}

bool
qual_prepare(Qual *qual, PlanState *parent)
{
	bool		runtime = false;
	ListCell   *lc;

	foreach(lc, qual->children)
		runtime |= qual_prepare(lfirst(lc), parent);
	if (qual->comparand != NULL && !IsA(qual->comparand, Const))
	{
		qual->state = ExecInitExpr(qual->comparand, parent);
		runtime = true;
	}
	return runtime;
}

/* False when the value is not known yet. */
static bool
evaluate(const Qual *qual, ExprContext *econtext, Datum *value, bool *isnull)
{
	if (IsA(qual->comparand, Const))
	{
		*value = ((Const *) qual->comparand)->constvalue;
		*isnull = ((Const *) qual->comparand)->constisnull;
		return true;
	}
	if (econtext == NULL)
		return false;
	*value = ExecEvalExprSwitchContext(qual->state, econtext, isnull);
	return true;
}

static Predicate *
never(const Qual *qual)
{
	return predicate_leaf(PREDICATE_FALSE, qual->column, qual->type, NULL, 0);
}

static Predicate *
null_test(const Qual *qual, PredicateOp op)
{
	return predicate_leaf(op, qual->column, qual->type, NULL, 0);
}

/* The value without blanks at its end, and with so many as there may be. */
static Predicate *
compare_char(const Qual *qual, PredicateOp op, Datum value)
{
	text	   *padded = DatumGetTextPP(value);
	const char *bytes = VARDATA_ANY(padded);
	int			trimmed = bpchartruelen(unconstify(char *, bytes), VARSIZE_ANY_EXHDR(padded));
	int			blanks = Max(qual->type->length - pg_mbstrlen_with_len(bytes, trimmed), 0);
	char	   *room = palloc(trimmed + blanks + 1);
	Scalar	   *values = palloc0((blanks + 1) * sizeof(Scalar));

	memcpy(room, bytes, trimmed);
	memset(room + trimmed, ' ', blanks);
	for (int i = 0; i <= blanks; i++)
	{
		values[i].v.bytes.data = room;
		values[i].v.bytes.length = trimmed + i;
	}
	return predicate_leaf(op == PREDICATE_EQ ? PREDICATE_IN : PREDICATE_NOT_IN, qual->column, qual->type, values,
						  blanks + 1);
}

static Predicate *
compare(const Qual *qual, PredicateOp op, Datum value)
{
	Point		point;

	if (qual->comparand_type == BPCHAROID)
		return compare_char(qual, op, value);
	point = point_of_datum(qual->type, qual->comparand_type, value);
	return point_predicate(op, qual->column, qual->type, &point);
}

static Predicate *
bind_compare(const Qual *qual, Datum value, bool isnull)
{
	return isnull ? never(qual) : compare(qual, qual->op, value);
}

static Predicate *
bind_distinct(const Qual *qual, Datum value, bool isnull)
{
	bool		distinct = qual->op == PREDICATE_NE;

	if (isnull)
		return null_test(qual, distinct ? PREDICATE_IS_NOT_NULL : PREDICATE_IS_NULL);
	if (!distinct)
		return compare(qual, PREDICATE_EQ, value);
	return predicate_combine(PREDICATE_OR,
							 list_make2(compare(qual, PREDICATE_NE, value), null_test(qual, PREDICATE_IS_NULL)));
}

/* Elements that SQL sees as ranges of values: each by itself. */
static Predicate *
bind_elements_apart(const Qual *qual, const Datum *elements, int nelements)
{
	bool		in = qual->op == PREDICATE_IN;
	List	   *parts = NIL;
	int			i;

	for (i = 0; i < nelements; i++)
		parts = lappend(parts, compare(qual, in ? PREDICATE_EQ : PREDICATE_NE, elements[i]));
	return predicate_combine(in ? PREDICATE_OR : PREDICATE_AND, parts);
}

/* What no value of the column equals drops out. */
static Predicate *
bind_elements(const Qual *qual, const Datum *elements, int nelements)
{
	Scalar	   *values = palloc(nelements * sizeof(Scalar));
	int			nvalues = 0;
	int			i;

	if (qual->comparand_type == BPCHAROID)
		return bind_elements_apart(qual, elements, nelements);
	for (i = 0; i < nelements; i++)
	{
		Point		point = point_of_datum(qual->type, qual->comparand_type, elements[i]);

		if (point.kind == POINT_RANGE)
			return bind_elements_apart(qual, elements, nelements);
		if (point.kind == POINT_VALUE)
			values[nvalues++] = point.value;
	}
	return predicate_leaf(qual->op, qual->column, qual->type, values, nvalues);
}

static Predicate *
bind_any(const Qual *qual, Datum value, bool isnull)
{
	ArrayType  *array;
	int16		typlen;
	bool		typbyval;
	char		typalign;
	Datum	   *elements;
	bool	   *nulls;
	int			nelements;
	int			kept = 0;
	int			i;

	if (isnull)
		return never(qual);
	array = DatumGetArrayTypeP(value);
	get_typlenbyvalalign(ARR_ELEMTYPE(array), &typlen, &typbyval, &typalign);
	deconstruct_array(array, ARR_ELEMTYPE(array), typlen, typbyval, typalign, &elements, &nulls, &nelements);
	for (i = 0; i < nelements; i++)
	{
		if (!nulls[i])
			elements[kept++] = elements[i];
	}
	if (qual->op == PREDICATE_NOT_IN && kept < nelements)
		return never(qual);
	if (kept > 0)
		return bind_elements(qual, elements, kept);

	/* IN an empty list is true of no row; NOT IN of every row, also of NULL */
	return qual->op == PREDICATE_IN ? never(qual) : NULL;
}

static Predicate *
bind_like(const Qual *qual, Datum value, bool isnull)
{
	Scalar		prefix = {.isnull = false};
	LikeKind	like;

	if (isnull)
		return never(qual);
	like = like_prefix(value, &prefix.v.bytes);
	if (like == LIKE_UNKNOWN)
		return NULL;
	if (like == LIKE_LITERAL)
		return predicate_leaf(PREDICATE_EQ, qual->column, qual->type, &prefix, 1);
	if (prefix.v.bytes.length == 0)
		return null_test(qual, PREDICATE_IS_NOT_NULL);
	return predicate_leaf(PREDICATE_STARTS_WITH, qual->column, qual->type, &prefix, 1);
}

LikeKind
like_prefix(Datum pattern, BytesView *prefix)
{
	struct varlena *text = PG_DETOAST_DATUM_PACKED(pattern);
	const char *p = VARDATA_ANY(text);
	const char *end = p + VARSIZE_ANY_EXHDR(text);
	char	   *out = palloc(end - p + 1);

	prefix->data = out;
	for (; p < end && *p != '%' && *p != '_'; p++)
	{
		if (*p == '\\' && ++p == end)
			return LIKE_UNKNOWN;
		*out++ = *p;
	}
	prefix->length = out - prefix->data;
	if (p == end)
		return LIKE_LITERAL;
	return *p == '%' && p + 1 == end ? LIKE_PREFIX : LIKE_OTHER;
}

/* A member that any row may match decides an OR, and adds nothing to an AND. */
static Predicate *
bind_members(const Qual *qual, ExprContext *econtext)
{
	List	   *parts = NIL;
	ListCell   *lc;

	foreach(lc, qual->children)
	{
		Predicate  *part = qual_bind(lfirst(lc), econtext);

		if (part != NULL)
			parts = lappend(parts, part);
		else if (qual->kind == QUAL_OR)
			return NULL;
	}
	return predicate_combine(qual->kind == QUAL_AND ? PREDICATE_AND : PREDICATE_OR, parts);
}

Predicate *
qual_bind(const Qual *qual, ExprContext *econtext)
{
	Datum		value;
	bool		isnull;

	if (qual->kind == QUAL_AND || qual->kind == QUAL_OR)
		return bind_members(qual, econtext);
	if (qual->kind == QUAL_NULL_TEST)
		return null_test(qual, qual->op);
	if (!evaluate(qual, econtext, &value, &isnull))
		return NULL;
	switch (qual->kind)
	{
		case QUAL_COMPARE:
			return bind_compare(qual, value, isnull);
		case QUAL_DISTINCT:
			return bind_distinct(qual, value, isnull);
		case QUAL_ANY:
			return bind_any(qual, value, isnull);
		default:
			return bind_like(qual, value, isnull);
	}
}
