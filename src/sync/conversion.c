/*
 * conversion.c
 *		Values of a source column whose type is not the one that the lake has.
 *
 * The casts are the server's explicit ones.  They may round and cut: a value
 * fits if it comes back as it was.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "fdw/types.h"
#include "sync/conversion.h"

struct ValueConversion
{
	ExprState  *there;
	ExprState  *back;
	FmgrInfo   *equal;			/* of the source type */
	Oid			collation;
	ExprContext *context;
};

/* The cast of the context's case value, or NULL. */
static ExprState *
cast_state(Oid from, int32 from_typmod, Oid to, int32 to_typmod)
{
	CaseTestExpr *value = makeNode(CaseTestExpr);
	Node	   *cast;

	value->typeId = from;
	value->typeMod = from_typmod;
	value->collation = get_typcollation(from);
	cast = coerce_to_target_type(NULL, (Node *) value, from, to, to_typmod, COERCION_EXPLICIT, COERCE_EXPLICIT_CAST, -1);
	return cast ? ExecInitExpr(expression_planner((Expr *) cast), NULL) : NULL;
}

ValueConversion *
value_conversion_make(Oid typid, int32 typmod, const DataType *type, Oid *result)
{
	ValueConversion *conversion = palloc0(sizeof(ValueConversion));
	TypeCacheEntry *cache = lookup_type_cache(typid, TYPECACHE_EQ_OPR_FINFO);
	int32		result_typmod;

	sql_type_of_lake(type, result, &result_typmod);
	conversion->there = cast_state(typid, typmod, *result, result_typmod);
	conversion->back = cast_state(*result, result_typmod, typid, typmod);
	if (conversion->there == NULL || conversion->back == NULL || !OidIsValid(cache->eq_opr))
		return NULL;
	conversion->equal = &cache->eq_opr_finfo;
	conversion->collation = get_typcollation(typid);
	conversion->context = CreateStandaloneExprContext();
	return conversion;
}

static Datum
cast_value(ValueConversion *conversion, ExprState *cast, Datum value, bool *isnull)
{
	conversion->context->caseValue_datum = value;
	conversion->context->caseValue_isNull = false;
	return ExecEvalExpr(cast, conversion->context, isnull);
}

bool
value_conversion_apply(ValueConversion *conversion, Datum value, Datum *result)
{
	bool		isnull;
	Datum		back;

	*result = cast_value(conversion, conversion->there, value, &isnull);
	if (isnull)
		return false;
	back = cast_value(conversion, conversion->back, *result, &isnull);
	return !isnull && DatumGetBool(FunctionCall2Coll(conversion->equal, conversion->collation, value, back));
}
