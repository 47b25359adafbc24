/*
 * server_call.c
 *		Expressions that the server's own executor computes, inside the scan.
 *
 * The columns that are read become Datums as in rows, for the rows that are
 * asked for.  Those are the ones whose input has not been there before
 * (columnar/memo.c), so that what the server's functions cost is paid once for
 * each distinct value, entry of a dictionary, or local day.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "columnar/grouping.h"
#include "compat.h"
#include "fdw/numeric.h"
#include "fdw/server_call.h"
#include "fdw/time_key.h"
#include "fdw/types.h"

/* A column that the expression reads. */
typedef struct CallInput
{
	const Var  *var;
	int			column;			/* in batches */
	const DataType *type;
	int64		grain;			/* how fine the expression looks at it */
	TimeKey    *time_key;		/* NULL: the column is its own key */
	ColumnDecoder decoder;
	Datum	   *values;
	bool	   *isnull;
} CallInput;

typedef struct ServerCall
{
	MemoFunction function;		/* must be first */
	const DataType *type;
	Oid			typid;			/* of the result, the base type */
	Expr	   *expr;			/* over a slot with the inputs as attributes */
	int			ninputs;
	CallInput  *inputs;
	ExprState  *state;
	ExprContext *econtext;
	TupleTableSlot *slot;
} ServerCall;

/* ---- making ---- */

const DataType *
server_call_type(const Expr *node)
{
	switch (getBaseType(exprType((const Node *) node)))
	{
		case BOOLOID:
			return type_make(TYPE_BOOLEAN, 0, 0, true);
		case INT2OID:
			return type_make(TYPE_SMALLINT, 0, 0, true);
		case INT4OID:
		case DATEOID:
			return type_make(TYPE_INT, 0, 0, true);
		case INT8OID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return type_make(TYPE_BIGINT, 0, 0, true);
		case FLOAT4OID:
			return type_make(TYPE_FLOAT, 0, 0, true);
		case FLOAT8OID:
			return type_make(TYPE_DOUBLE, 0, 0, true);
		case TEXTOID:
		case VARCHAROID:
			return type_make(TYPE_VARCHAR, TYPE_MAX_LENGTH, 0, true);
		case BYTEAOID:
			return type_make(TYPE_VARBINARY, TYPE_MAX_LENGTH, 0, true);
		default:
			return NULL;
	}
}

static CallInput *
input_of(ServerCall *call, const Var *var)
{
	int			i;

	for (i = 0; i < call->ninputs; i++)
	{
		if (call->inputs[i].var->varno == var->varno && call->inputs[i].var->varattno == var->varattno)
			return &call->inputs[i];
	}
	elog(ERROR, "column %d is not among those of an expression", var->varattno);
}

static bool
is_column(const Node *node)
{
	return node != NULL && IsA(node, Var);
}

/* The finest grain of what looks at a column. */
static bool
grain_walker(Node *node, void *context)
{
	ServerCall *call = context;
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (is_column(node))
	{
		input_of(call, (Var *) node)->grain = GRAIN_NONE;
		return false;
	}
	if (!IsA(node, FuncExpr))
		return expression_tree_walker(node, grain_walker, context);
	foreach(lc, ((FuncExpr *) node)->args)
	{
		if (is_column(lfirst(lc)))
		{
			CallInput  *input = input_of(call, lfirst(lc));

			input->grain = Min(input->grain, time_grain((Expr *) node, lfirst(lc)));
		}
		else
			grain_walker(lfirst(lc), context);
	}
	return false;
}

/* Columns become attributes of the slot that they are computed from. */
static Node *
slot_mutator(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (is_column(node))
	{
		const Var  *var = (Var *) node;
		ServerCall *call = context;

		return (Node *) makeVar(1, input_of(call, var) - call->inputs + 1, var->vartype, var->vartypmod,
								var->varcollid, 0);
	}
	return expression_tree_mutator(node, slot_mutator, context);
}

/* Floats that are equal may differ: 0 and -0.  Nested values are not compared. */
static bool
has_keys(const ServerCall *call)
{
	int			i;

	for (i = 0; i < call->ninputs; i++)
	{
		const DataType *type = call->inputs[i].type;

		if (type_is_nested(type) || type->physical == PHYSICAL_FLOAT || type->physical == PHYSICAL_DOUBLE)
			return false;
	}
	return call->ninputs <= GROUPING_MAX_KEYS;
}

static bool
has_time_key(const CallInput *input)
{
	return input->grain > GRAIN_NONE && input->grain < PG_INT64_MAX &&
		(input->type->root == TYPE_TIMESTAMP || input->type->root == TYPE_TIMESTAMP_LTZ) &&
		input->type->physical == PHYSICAL_INT64;
}

static void
make_keys(MemoFunction *function, Vector *const *columns, const int32 *rows, int nrows, const Vector **keys)
{
	ServerCall *call = (ServerCall *) function;
	int			i;

	for (i = 0; i < call->ninputs; i++)
	{
		const CallInput *input = &call->inputs[i];

		keys[i] = input->time_key == NULL ? columns[input->column] :
			time_key_make(input->time_key, columns[input->column], rows, nrows);
	}
}

static void
compute(MemoFunction *function, Vector *const *columns, const int32 *rows, int nrows, Vector *result);

Expression *
server_call_make(const Expr *node, const DataType *type, List *columns, const int *inputs,
				 const DataType *const *types)
{
	ServerCall *call = palloc0(sizeof(ServerCall));
	Expression *expression = palloc0(sizeof(Expression));
	int			i;

	call->type = type;
	call->typid = getBaseType(exprType((const Node *) node));
	call->ninputs = list_length(columns);
	call->inputs = palloc0(call->ninputs * sizeof(CallInput));
	call->function.key_types = palloc(call->ninputs * sizeof(DataType *));
	for (i = 0; i < call->ninputs; i++)
	{
		call->inputs[i].var = list_nth_node(Var, columns, i);
		call->inputs[i].column = inputs[i];
		call->inputs[i].type = types[i];
		call->inputs[i].grain = PG_INT64_MAX;
	}
	grain_walker(unconstify(Node *, (const Node *) node), call);
	for (i = 0; i < call->ninputs; i++)
		call->function.key_types[i] = has_time_key(&call->inputs[i]) ? time_key_type() : types[i];
	call->expr = (Expr *) slot_mutator(unconstify(Node *, (const Node *) node), call);
	call->function.compute = compute;
	call->function.make_keys = has_keys(call) ? make_keys : NULL;
	call->function.nkeys = call->ninputs;

	expression->kind = EXPRESSION_CALL;
	expression->type = type;
	expression->function = &call->function;
	expression->ninputs = call->ninputs;
	expression->inputs = inputs;
	return expression;
}

void
server_call_prepare(Expression *expression, const char *table, EState *estate)
{
	ServerCall *call = (ServerCall *) expression->function;
	TupleDesc	desc = CreateTemplateTupleDesc(call->ninputs);
	int			i;

	for (i = 0; i < call->ninputs; i++)
	{
		CallInput  *input = &call->inputs[i];

		TupleDescInitEntry(desc, i + 1, NULL, input->var->vartype, input->var->vartypmod, 0);
		column_decoder_init(&input->decoder, table, "?column?", input->type, input->var->vartype,
							input->var->vartypmod);
		input->values = palloc(BATCH_ROWS * sizeof(Datum));
		input->isnull = palloc(BATCH_ROWS * sizeof(bool));
		if (has_time_key(input))
			input->time_key = time_key_create(input->type, input->grain);
	}
	call->slot = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	call->econtext = CreateExprContext(estate);
	call->econtext->ecxt_scantuple = call->slot;
	call->state = ExecInitExpr(call->expr, NULL);
}

/* ---- computing ---- */

static void
store_decimal(const ServerCall *call, Datum value, Vector *result, int32 row)
{
	DecimalValue decimal = decimal_from_numeric((struct varlena *) PG_DETOAST_DATUM_PACKED(value), call->type->scale);

	if (decimal.place != DECIMAL_FINITE || !decimal.exact)
		elog(ERROR, "the scale of a numeric is not the one foreseen");
	if (call->type->physical == PHYSICAL_INT64)
		result->values.i64[row] = (int64) decimal.floor;
	else
		result->values.i128[row] = decimal.floor;
}

static void
store_bytes(Datum value, MemoryContext context, BytesView *out)
{
	struct varlena *bytes = PG_DETOAST_DATUM_PACKED(value);

	out->length = VARSIZE_ANY_EXHDR(bytes);
	out->data = MemoryContextAlloc(context, Max(out->length, 1));
	memcpy(unconstify(char *, out->data), VARDATA_ANY(bytes), out->length);
}

static void
store(const ServerCall *call, Datum value, MemoryContext context, Vector *result, int32 row)
{
	switch (call->typid)
	{
		case BOOLOID:
			result->values.i8[row] = DatumGetBool(value);
			break;
		case INT2OID:
			result->values.i16[row] = DatumGetInt16(value);
			break;
		case INT4OID:
		case DATEOID:
			result->values.i32[row] = DatumGetInt32(value);
			break;
		case INT8OID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			result->values.i64[row] = DatumGetInt64(value);
			break;
		case FLOAT4OID:
			result->values.f32[row] = DatumGetFloat4(value);
			break;
		case FLOAT8OID:
			result->values.f64[row] = DatumGetFloat8(value);
			break;
		case NUMERICOID:
			store_decimal(call, value, result, row);
			break;
		default:
			store_bytes(value, context, &result->values.bytes[row]);
			break;
	}
}

static void
decode_inputs(ServerCall *call, Vector *const *columns, const int32 *rows, int nrows)
{
	int			i;

	for (i = 0; i < call->ninputs; i++)
		column_decode(&call->inputs[i].decoder, columns[call->inputs[i].column], rows, nrows,
					  call->inputs[i].values, call->inputs[i].isnull);
}

static Datum
compute_row(ServerCall *call, int number, bool *isnull)
{
	TupleTableSlot *slot = call->slot;
	int			i;

	ExecClearTuple(slot);
	for (i = 0; i < call->ninputs; i++)
	{
		slot->tts_values[i] = call->inputs[i].values[number];
		slot->tts_isnull[i] = call->inputs[i].isnull[number];
	}
	ExecStoreVirtualTuple(slot);
	return ExecEvalExpr(call->state, call->econtext, isnull);
}

static void
compute(MemoFunction *function, Vector *const *columns, const int32 *rows, int nrows, Vector *result)
{
	ServerCall *call = (ServerCall *) function;
	MemoryContext context = CurrentMemoryContext;
	bool		has_nulls = false;
	int			i;

	ResetExprContext(call->econtext);
	MemoryContextSwitchTo(call->econtext->ecxt_per_tuple_memory);
	decode_inputs(call, columns, rows, nrows);
	result->has_nulls = true;
	for (i = 0; i < nrows; i++)
	{
		bool		isnull;
		Datum		value = compute_row(call, i, &isnull);

		result->nulls[rows[i]] = isnull;
		has_nulls |= isnull;
		if (!isnull)
			store(call, value, context, result, rows[i]);
	}
	result->has_nulls = has_nulls;
	MemoryContextSwitchTo(context);
}
