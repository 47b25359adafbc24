/*
 * modify.c
 *		INSERT, COPY, UPDATE, DELETE and TRUNCATE on foreign tables.
 *
 * A row becomes scalars, which the transaction's writer of the table buffers
 * (transaction.c); nothing is visible outside before the commit.  An insert
 * into a primary-key table replaces the row of that key, as in Paimon.  UPDATE
 * and DELETE need the whole old row, for its key and because a delete row
 * carries all values; core fetches it as the junk attribute "wholerow" for
 * UPDATE, and for DELETE it is added here.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "optimizer/appendinfo.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "columnar/compare.h"
#include "fdw/transaction.h"
#include "fdw/types.h"

#define WHOLE_ROW "wholerow"

typedef struct ModifyState
{
	ForeignRelation *foreign;
	TableWriter *writer;
	ColumnEncoder *encoders;	/* by table field */
	Scalar	   *new_values;		/* by table field */
	Scalar	   *old_values;
	Datum	   *old_datums;		/* by attribute */
	bool	   *old_nulls;
	AttrNumber	whole_row;		/* of UPDATE and DELETE: resno of the old row in the plan's slot */
	MemoryContext row_context;	/* what one row's conversion allocates */
} ModifyState;

/* Only tables with a key know which row is meant. */
static void
check_has_key(const ForeignRelation *foreign)
{
	if (foreign->table->has_primary_key)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot update or delete rows of foreign table \"%s\"", RelationGetRelationName(foreign->relation)),
			 errdetail("Lake table \"%s\" has no primary key.", foreign->table->name),
			 errhint("Append tables take INSERT, COPY and TRUNCATE.")));
}

/* Not every merge engine lets the new row be what is read, or none. */
static void
check_takes_changes(const ForeignRelation *foreign, CmdType operation)
{
	const LakeTable *table = foreign->table;

	if (operation == CMD_UPDATE)
		options_check_update(table->schema, table->options, table->name);
	else
		options_check_delete(table->schema, table->options, table->name);
}

int
streamhouseIsForeignRelUpdatable(Relation relation)
{
	return (1 << CMD_INSERT) | (1 << CMD_UPDATE) | (1 << CMD_DELETE);
}

void
streamhouseAddForeignUpdateTargets(PlannerInfo *root, Index rtindex, RangeTblEntry *target_rte,
								   Relation target_relation)
{
	ForeignRelation *foreign = foreign_relation_open(target_relation, RELATION_WRITE, NULL);
	Var		   *var;

	check_has_key(foreign);
	check_takes_changes(foreign, root->parse->commandType);
	foreign_relation_close(foreign);
	/* of type record, as core adds it itself, so that partitions share one column */
	var = makeVar(rtindex, InvalidAttrNumber, RECORDOID, -1, InvalidOid, 0);
	add_row_identity_var(root, var, rtindex, WHOLE_ROW);
}

List *
streamhousePlanForeignModify(PlannerInfo *root, ModifyTable *plan, Index result_relation, int subplan_index)
{
	if (plan->onConflictAction != ONCONFLICT_NONE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("INSERT with ON CONFLICT is not supported on lake tables"),
				 errhint("An INSERT into a table with a primary key replaces the row of that key.")));
	return NIL;
}

static ModifyState *
modify_state_create(Relation relation, MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	ModifyState *state = palloc0(sizeof(ModifyState));
	ForeignRelation *foreign = foreign_relation_open(relation, RELATION_WRITE, NULL);
	const TableSchema *schema = foreign->table->schema;
	TupleDesc	desc = RelationGetDescr(relation);

	state->foreign = foreign;
	state->encoders = palloc0(sizeof(ColumnEncoder) * schema->nfields);
	for (int f = 0; f < schema->nfields; f++)
		column_encoder_init(&state->encoders[f], RelationGetRelationName(relation), schema->fields[f].name,
							schema->fields[f].type, TupleDescAttr(desc, foreign->attributes[f] - 1)->atttypid);
	state->new_values = palloc0(sizeof(Scalar) * schema->nfields);
	state->old_values = palloc0(sizeof(Scalar) * schema->nfields);
	state->old_datums = palloc0(sizeof(Datum) * desc->natts);
	state->old_nulls = palloc0(sizeof(bool) * desc->natts);
	state->row_context = AllocSetContextCreate(context, "streamhouse modified row", ALLOCSET_DEFAULT_SIZES);
	state->writer = transaction_writer(foreign->address, foreign->table);
	MemoryContextSwitchTo(old);
	return state;
}

void
streamhouseBeginForeignModify(ModifyTableState *mtstate, ResultRelInfo *resultRelInfo,
							  List *fdw_private, int subplan_index, int eflags)
{
	ModifyState *state;

	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	state = modify_state_create(resultRelInfo->ri_RelationDesc, mtstate->ps.state->es_query_cxt);
	if (mtstate->operation != CMD_INSERT)
	{
		state->whole_row = ExecFindJunkAttributeInTlist(outerPlanState(mtstate)->plan->targetlist, WHOLE_ROW);
		if (!AttributeNumberIsValid(state->whole_row))
			elog(ERROR, "could not find junk attribute \"%s\"", WHOLE_ROW);
	}
	resultRelInfo->ri_FdwState = state;
}

void
streamhouseBeginForeignInsert(ModifyTableState *mtstate, ResultRelInfo *resultRelInfo)
{
	ModifyTable *plan = castNode(ModifyTable, mtstate->ps.plan);

	/* COPY has no plan */
	if (plan != NULL && plan->onConflictAction != ONCONFLICT_NONE)
		(void) streamhousePlanForeignModify(NULL, plan, 0, 0);
	resultRelInfo->ri_FdwState = modify_state_create(resultRelInfo->ri_RelationDesc, mtstate->ps.state->es_query_cxt);
}

static void
modify_state_free(ResultRelInfo *resultRelInfo)
{
	ModifyState *state = resultRelInfo->ri_FdwState;

	if (state == NULL)
		return;
	MemoryContextDelete(state->row_context);
	foreign_relation_close(state->foreign);
	resultRelInfo->ri_FdwState = NULL;
}

void
streamhouseEndForeignModify(EState *estate, ResultRelInfo *resultRelInfo)
{
	modify_state_free(resultRelInfo);
}

void
streamhouseEndForeignInsert(EState *estate, ResultRelInfo *resultRelInfo)
{
	modify_state_free(resultRelInfo);
}

/* Datums by attribute into scalars by table field. */
static void
encode_row(ModifyState *state, const Datum *datums, const bool *nulls, Scalar *values)
{
	int			nfields = state->foreign->table->schema->nfields;

	for (int f = 0; f < nfields; f++)
	{
		int			a = state->foreign->attributes[f] - 1;

		column_encode(&state->encoders[f], datums[a], nulls[a], &values[f]);
	}
}

static void
encode_new_row(ModifyState *state, TupleTableSlot *slot)
{
	slot_getallattrs(slot);
	encode_row(state, slot->tts_values, slot->tts_isnull, state->new_values);
}

static void
encode_old_row(ModifyState *state, TupleTableSlot *plan_slot)
{
	bool		isnull;
	Datum		datum = ExecGetJunkAttribute(plan_slot, state->whole_row, &isnull);
	HeapTupleHeader header;
	HeapTupleData tuple;

	if (isnull)
		elog(ERROR, "the old row of foreign table \"%s\" is missing", RelationGetRelationName(state->foreign->relation));
	header = DatumGetHeapTupleHeader(datum);
	tuple.t_len = HeapTupleHeaderGetDatumLength(header);
	ItemPointerSetInvalid(&tuple.t_self);
	tuple.t_tableOid = InvalidOid;
	tuple.t_data = header;
	heap_deform_tuple(&tuple, RelationGetDescr(state->foreign->relation), state->old_datums, state->old_nulls);
	encode_row(state, state->old_datums, state->old_nulls, state->old_values);
}

static bool
contains(const int *fields, int nfields, int field)
{
	for (int i = 0; i < nfields; i++)
		if (fields[i] == field)
			return true;
	return false;
}

/*
 * Merge engines that go on from the values of a deleted row shall find none:
 * only the key is left, and what orders the row among others.
 */
static void
strip_deleted_row(ModifyState *state)
{
	const LakeTable *table = state->foreign->table;
	const TableSchema *schema = table->schema;
	const TableOptions *options = table->options;

	for (int f = 0; f < schema->nfields && options->merge_engine != MERGE_DEDUPLICATE; f++)
	{
		if (!contains(schema->primary_keys, schema->nprimary_keys, f) &&
			!contains(schema->partition_keys, schema->npartition_keys, f) &&
			!contains(options->sequence_fields, options->nsequence_fields, f))
			state->old_values[f].isnull = true;
	}
}

static bool
key_changed(const ModifyState *state)
{
	const TableSchema *schema = state->foreign->table->schema;

	for (int k = 0; k < schema->nprimary_keys; k++)
	{
		int			f = schema->primary_keys[k];

		if (scalar_compare(schema->fields[f].type->physical, &state->old_values[f], &state->new_values[f]) != 0)
			return true;
	}
	return false;
}

TupleTableSlot *
streamhouseExecForeignInsert(EState *estate, ResultRelInfo *resultRelInfo,
							 TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	ModifyState *state = resultRelInfo->ri_FdwState;
	MemoryContext old = MemoryContextSwitchTo(state->row_context);

	encode_new_row(state, slot);
	table_writer_append(state->writer, ROW_INSERT, state->new_values);
	MemoryContextSwitchTo(old);
	MemoryContextReset(state->row_context);
	return slot;
}

TupleTableSlot *
streamhouseExecForeignUpdate(EState *estate, ResultRelInfo *resultRelInfo,
							 TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	ModifyState *state = resultRelInfo->ri_FdwState;
	MemoryContext old = MemoryContextSwitchTo(state->row_context);

	encode_new_row(state, slot);
	encode_old_row(state, planSlot);
	if (key_changed(state))
	{
		check_takes_changes(state->foreign, CMD_DELETE);
		table_writer_append(state->writer, ROW_DELETE, state->old_values);
		table_writer_append(state->writer, ROW_INSERT, state->new_values);
	}
	else
		table_writer_append(state->writer, ROW_UPDATE_AFTER, state->new_values);
	MemoryContextSwitchTo(old);
	MemoryContextReset(state->row_context);
	return slot;
}

TupleTableSlot *
streamhouseExecForeignDelete(EState *estate, ResultRelInfo *resultRelInfo,
							 TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	ModifyState *state = resultRelInfo->ri_FdwState;
	MemoryContext old = MemoryContextSwitchTo(state->row_context);

	encode_old_row(state, planSlot);
	strip_deleted_row(state);
	table_writer_append(state->writer, ROW_DELETE, state->old_values);
	MemoryContextSwitchTo(old);

	/* RETURNING wants the old row, in its own slot */
	if (resultRelInfo->ri_projectReturning != NULL)
	{
		ExecClearTuple(slot);
		memcpy(slot->tts_values, state->old_datums, sizeof(Datum) * slot->tts_tupleDescriptor->natts);
		memcpy(slot->tts_isnull, state->old_nulls, sizeof(bool) * slot->tts_tupleDescriptor->natts);
		ExecStoreVirtualTuple(slot);
		ExecMaterializeSlot(slot);
	}
	MemoryContextReset(state->row_context);
	return slot;
}

void
streamhouseExecForeignTruncate(List *relations, DropBehavior behavior, bool restart_seqs)
{
	ListCell   *lc;

	foreach(lc, relations)
	{
		ForeignRelation *foreign = foreign_relation_open(lfirst(lc), RELATION_WRITE, NULL);

		table_writer_truncate(transaction_writer(foreign->address, foreign->table));
		foreign_relation_close(foreign);
	}
}
