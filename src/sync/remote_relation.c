/*
 * remote_relation.c
 *		Relations of another server, as the stream describes them, and their rows.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "libpq/pqformat.h"
#include "utils/inval.h"
#include "utils/memutils.h"

#include "compat.h"
#include "sync/remote_relation.h"

struct RemoteRelations
{
	MemoryContext context;
	HTAB	   *table;			/* RemoteRelation */
	uint64		described;		/* so far */
};

static RemoteRelations *current = NULL; /* of this process, for invalidations */

void
remote_raise_damaged(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROTOCOL_VIOLATION),
			 errmsg("the source does not send what it should: %s", what)));
}

static void
invalidate_relation(Datum arg, Oid relid)
{
	HASH_SEQ_STATUS status;
	RemoteRelation *relation;

	if (current == NULL)
		return;
	hash_seq_init(&status, current->table);
	while ((relation = hash_seq_search(&status)) != NULL)
	{
		if (!OidIsValid(relid) || (relation->record && relation->record->source == relid))
			relation->matched = false;
	}
}

RemoteRelations *
remote_relations_create(MemoryContext context)
{
	HASHCTL		control = {.keysize = sizeof(RemoteRelationKey), .entrysize = sizeof(RemoteRelation), .hcxt = context};
	RemoteRelations *relations = MemoryContextAllocZero(context, sizeof(RemoteRelations));

	relations->context = context;
	relations->table = hash_create("streamhouse source relations", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	current = relations;
	CacheRegisterRelcacheCallback(invalidate_relation, (Datum) 0);
	return relations;
}

/* ---- descriptions ---- */

static const SyncTableRecord *
record_of_relation(const SyncRecord *sync, Oid relid)
{
	ListCell   *cell;

	foreach(cell, sync->tables)
	{
		const SyncTableRecord *record = lfirst(cell);

		if (record->remote_table == relid)
			return record;
	}
	return NULL;
}

static void
read_columns(StringInfo in, RemoteLayout *layout)
{
	int			i;

	layout->ncolumns = pq_getmsgint(in, 2);
	layout->names = palloc0(sizeof(char *) * Max(layout->ncolumns, 1));
	layout->types = palloc0(sizeof(Oid) * Max(layout->ncolumns, 1));
	layout->typmods = palloc0(sizeof(int32) * Max(layout->ncolumns, 1));
	layout->is_key = palloc0(sizeof(bool) * Max(layout->ncolumns, 1));
	for (i = 0; i < layout->ncolumns; i++)
	{
		layout->is_key[i] = (pq_getmsgbyte(in) & 1) != 0;
		layout->names[i] = pstrdup(pq_getmsgstring(in));
		layout->types[i] = pq_getmsgint(in, 4);
		layout->typmods[i] = (int32) pq_getmsgint(in, 4);
	}
}

void
remote_relation_describe(RemoteRelations *relations, const SyncRecord *sync, TransactionId xid, StringInfo in)
{
	RemoteRelationKey key = {.xid = xid, .relid = pq_getmsgint(in, 4)};
	bool		found;
	RemoteRelation *relation = hash_search(relations->table, &key, HASH_ENTER, &found);
	MemoryContext old;

	if (found)
		MemoryContextReset(relation->context);
	else
		relation->context = AllocSetContextCreate(relations->context, "streamhouse source relation", ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(relation->context);
	relation->number = ++relations->described;
	relation->record = record_of_relation(sync, key.relid);
	relation->matched = false;
	(void) pq_getmsgstring(in);	/* its schema and its name */
	(void) pq_getmsgstring(in);
	relation->layout.identity = pq_getmsgbyte(in);
	read_columns(in, &relation->layout);
	MemoryContextSwitchTo(old);
}

RemoteRelation *
remote_relation_find(RemoteRelations *relations, TransactionId xid, Oid relid)
{
	RemoteRelationKey key = {.xid = xid, .relid = relid};
	RemoteRelation *relation = hash_search(relations->table, &key, HASH_FIND, NULL);

	if (relation == NULL)
		remote_raise_damaged("a change of a table that it has not described");
	return relation;
}

/* A description becomes everybody's, unless there is a later one; the source does not repeat it then. */
static void
publish(RemoteRelations *relations, RemoteRelation *relation)
{
	RemoteRelationKey own = relation->key;
	RemoteRelationKey key = {.xid = InvalidTransactionId, .relid = own.relid};
	bool		found;
	RemoteRelation *shared = hash_search(relations->table, &key, HASH_ENTER, &found);

	if (found && shared->number > relation->number)
		MemoryContextDelete(relation->context);
	else
	{
		if (found)
			MemoryContextDelete(shared->context);
		*shared = *relation;
		shared->key = key;
	}
	(void) hash_search(relations->table, &own, HASH_REMOVE, NULL);
}

void
remote_relations_end(RemoteRelations *relations, TransactionId xid, bool committed)
{
	List	   *own = NIL;
	HASH_SEQ_STATUS status;
	RemoteRelation *relation;
	ListCell   *cell;

	hash_seq_init(&status, relations->table);
	while ((relation = hash_seq_search(&status)) != NULL)
	{
		if (relation->key.xid == xid)
			own = lappend(own, relation);
	}
	foreach(cell, own)
	{
		relation = lfirst(cell);
		if (committed)
			publish(relations, relation);
		else
		{
			MemoryContextDelete(relation->context);
			(void) hash_search(relations->table, &relation->key, HASH_REMOVE, NULL);
		}
	}
	list_free(own);
}

/* ---- mirrors ---- */

static Relation
open_mirror(const RemoteRelation *relation)
{
	Relation	mirror = RelationIdGetRelation(relation->record->source);

	if (!RelationIsValid(mirror))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("the mirror of table \"%s\" does not exist any more", relation->record->source_name),
				 errhint("Drop the sync and its lake tables, and create the sync again.")));
	return mirror;
}

pg_noreturn static void
raise_mirror_change(SyncStream *stream, const RemoteRelation *relation, XLogRecPtr lsn)
{
	MemoryContext old = MemoryContextSwitchTo(stream->context);
	ColumnChange *change = column_change_make(relation->record, CHANGE_MIRROR, "Columns have changed at the source.");

	MemoryContextSwitchTo(old);
	change->layout = &relation->layout;
	relation_map_raise(stream->map, change, lsn);
}

/* Before its first row as it is described, and whenever the mirror may be another one. */
static void
match_relation(SyncStream *stream, RemoteRelation *relation, Relation mirror, XLogRecPtr lsn)
{
	int			ncolumns = relation->layout.ncolumns;
	AttrNumber *numbers = palloc(sizeof(AttrNumber) * Max(ncolumns, 1));
	MemoryContext old;
	int			i;

	if (relation->matched)
		return;
	relation->matched = true;	/* first, for it may become invalid meanwhile */
	if (!mirror_match(relation->record, mirror, &relation->layout, numbers))
		raise_mirror_change(stream, relation, lsn);
	old = MemoryContextSwitchTo(relation->context);
	relation->inputs = palloc0(sizeof(RemoteColumnInput) * Max(ncolumns, 1));
	for (i = 0; i < ncolumns; i++)
	{
		RemoteColumnInput *input = &relation->inputs[i];
		Form_pg_attribute column = TupleDescAttr(RelationGetDescr(mirror), numbers[i] - 1);

		mirror_input_prepare(&input->input, column, relation->context);
		input->number = numbers[i];
		input->varlena = column->attlen == -1;
	}
	MemoryContextSwitchTo(old);
}

Relation
remote_relation_open(SyncStream *stream, RemoteRelation *relation, XLogRecPtr lsn)
{
	Relation	mirror = open_mirror(relation);

	match_relation(stream, relation, mirror, lsn);
	return mirror;
}

/* ---- rows ---- */

/*
 * A large value that was left unchanged is not sent; decoded rows have a
 * pointer in its place, which is never followed (decoded_row.h).
 */
static Datum
unchanged_value(void)
{
	char	   *pointer = palloc0(TOAST_POINTER_SIZE);

	SET_VARTAG_EXTERNAL(pointer, VARTAG_ONDISK);
	return PointerGetDatum(pointer);
}

static Datum
read_value(RemoteColumnInput *input, char status, const StringInfo value)
{
	if (status == LOGICALREP_COLUMN_TEXT)
		return mirror_input_value(&input->input, value->data);
	if (status != LOGICALREP_COLUMN_UNCHANGED || !input->varlena)
		remote_raise_damaged("a value of an unknown kind");
	return unchanged_value();
}

typedef struct ColumnContext
{
	const RemoteRelation *relation;
	int			column;
} ColumnContext;

static void
value_error_context(void *arg)
{
	const ColumnContext *context = arg;

	errcontext("value of column \"%s\" of table \"%s\" from the source",
			   context->relation->layout.names[context->column], context->relation->record->source_name);
}

HeapTuple
remote_relation_row(const RemoteRelation *relation, Relation mirror, const LogicalRepTupleData *data)
{
	TupleDesc	desc = RelationGetDescr(mirror);
	Datum	   *values = palloc0(sizeof(Datum) * desc->natts);
	bool	   *nulls = palloc(sizeof(bool) * desc->natts);
	ColumnContext context = {.relation = relation};
	ErrorContextCallback callback = {.previous = error_context_stack, .callback = value_error_context, .arg = &context};

	if (data->ncols != relation->layout.ncolumns)
		remote_raise_damaged("a row of other columns than its table");
	memset(nulls, true, sizeof(bool) * desc->natts);
	error_context_stack = &callback;
	for (context.column = 0; context.column < data->ncols; context.column++)
	{
		RemoteColumnInput *input = &relation->inputs[context.column];
		char		status = data->colstatus[context.column];

		if (status == LOGICALREP_COLUMN_NULL)
			continue;
		nulls[input->number - 1] = false;
		values[input->number - 1] = read_value(input, status, &data->colvalues[context.column]);
	}
	error_context_stack = callback.previous;
	return heap_form_tuple(desc, values, nulls);
}
