/*
 * output_binary.c
 *		Messages of the logical replication protocol, with values in binary.
 *
 * They are those that pgoutput sends, so that clients which know these can
 * read them; core writes them.
 */
#include "postgres.h"

#include "access/transam.h"
#include "replication/logicalproto.h"

#include "compat.h"
#include "sync/output.h"

/* Transaction numbers are part of changes inside blocks of transactions in progress. */
static TransactionId
xid_in_stream(const OutputState *state, TransactionId xid)
{
	return state->in_stream ? xid : InvalidTransactionId;
}

static void
binary_event(const OutputState *state, StringInfo out, const OutputEvent *event)
{
	ReorderBufferTXN *transaction = event->transaction;

	switch (event->action)
	{
		case 'B':
			logicalrep_write_begin(out, transaction);
			break;
		case 'C':
			logicalrep_write_commit(out, transaction, event->lsn);
			break;
		case 'b':
			logicalrep_write_begin_prepare(out, transaction);
			break;
		case 'P':
			logicalrep_write_prepare(out, transaction, event->lsn);
			break;
		case 'K':
			logicalrep_write_commit_prepared(out, transaction, event->lsn);
			break;
		case 'r':
			logicalrep_write_rollback_prepared(out, transaction, event->lsn, event->time);
			break;
		case 'S':
			logicalrep_write_stream_start(out, event->xid, event->first);
			break;
		case 'E':
			logicalrep_write_stream_stop(out);
			break;
		case 'A':
			logicalrep_write_stream_abort(out, event->xid, event->subxid, InvalidXLogRecPtr, 0, false);
			break;
		case 'c':
			logicalrep_write_stream_commit(out, transaction, event->lsn);
			break;
		case 'p':
			logicalrep_write_stream_prepare(out, transaction, event->lsn);
			break;
		default:
			elog(ERROR, "unexpected event '%c'", event->action);
	}
}

/* Types that are not the server's own, then the relation; before its first change, in each block. */
static void
binary_describe(OutputState *state, LogicalDecodingContext *context, OutputRelation *target, Relation relation,
				TransactionId xid)
{
	TupleDesc	desc = RelationGetDescr(relation);
	int			i;

	if (target->format_data != NULL && !state->in_stream)
		return;
	for (i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(desc, i);

		if (column->attisdropped || column->atttypid < FirstGenbkiObjectId || !bms_is_member(column->attnum, target->columns))
			continue;
		OutputPluginPrepareWrite(context, false);
		logicalrep_write_typ(context->out, xid_in_stream(state, xid), column->atttypid);
		OutputPluginWrite(context, false);
	}
	OutputPluginPrepareWrite(context, false);
	logicalrep_write_rel(context->out, xid_in_stream(state, xid), relation, target->columns, PUBLISH_GENCOLS_STORED);
	OutputPluginWrite(context, false);

	/* what a block of a transaction in progress tells may be aborted */
	target->format_data = state->in_stream ? NULL : target;
}

static void
binary_row(const OutputState *state, StringInfo out, OutputRelation *target, Relation relation, const OutputRow *row)
{
	TransactionId xid = xid_in_stream(state, row->xid);
	TupleTableSlot *old_row = unconstify(TupleTableSlot *, row->old_row);
	TupleTableSlot *new_row = unconstify(TupleTableSlot *, row->new_row);

	switch (row->action)
	{
		case 'I':
			logicalrep_write_insert(out, xid, relation, new_row, true, target->columns, PUBLISH_GENCOLS_STORED);
			break;
		case 'U':
			logicalrep_write_update(out, xid, relation, old_row, new_row, true, target->columns,
									PUBLISH_GENCOLS_STORED);
			break;
		case 'D':
			if (old_row == NULL)
				ereport(ERROR,
						(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						 errmsg("a delete from table \"%s.%s\" does not say which row", target->schema, target->table),
						 errhint("Give the table a replica identity with ALTER TABLE ... REPLICA IDENTITY, or exclude it with \"exclude_tables\".")));
			logicalrep_write_delete(out, xid, relation, old_row, true, target->columns, PUBLISH_GENCOLS_STORED);
			break;
		default:
			elog(ERROR, "unexpected row '%c'", row->action);
	}
}

static void
binary_truncate(const OutputState *state, StringInfo out, const OutputTruncate *truncate)
{
	Oid		   *relids = palloc(sizeof(Oid) * truncate->ntargets);
	int			i;

	for (i = 0; i < truncate->ntargets; i++)
		relids[i] = truncate->targets[i]->relid;
	logicalrep_write_truncate(out, xid_in_stream(state, truncate->xid), truncate->ntargets, relids, truncate->cascade,
							  truncate->restart_identity);
}

static void
binary_message(const OutputState *state, StringInfo out, const OutputMessage *message)
{
	logicalrep_write_message(out, xid_in_stream(state, message->xid), message->lsn, message->transactional,
							 message->prefix, message->size, message->content);
}

const OutputFormat output_binary = {
	.binary = true,
	.event = binary_event,
	.row = binary_row,
	.truncate = binary_truncate,
	.message = binary_message,
	.describe = binary_describe
};
