/*
 * toast.c
 *		Rows with values that the WAL does not carry: unchanged TOAST values, and
 *		those of deleted rows that stay in the lake.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "columnar/compare.h"
#include "lake/read.h"
#include "sync/lake_rows.h"
#include "sync/toast.h"

#define MAX_QUEUED_ROWS 10000

/* One change that waits. */
typedef struct WaitingRow
{
	SyncTable  *table;
	RowKind		kind;
	Scalar	   *old_row;		/* to be deleted first, or NULL */
	Scalar	   *row;
	bool	   *missing;		/* by field; NULL: the row is complete */
	XLogRecPtr	end_lsn;		/* of its transaction */
} WaitingRow;

/*
 * A key that occurs in the queue.  The rest counts during one pass over the
 * queue.
 */
typedef struct KeyEntry
{
	BytesView	key;			/* as row bytes */
	char		status;
	bool		wanted;			/* a row of it misses values */
	bool		urgent;			/* it is the first row's */
	bool		deferred;		/* no room for its row, or behind one that had none */
	Scalar	   *row;			/* the newest row; NULL: there is none */
} KeyEntry;

static inline uint32
hash_key(BytesView key)
{
	return hash_bytes((const unsigned char *) key.data, key.length);
}

static inline bool
same_key(BytesView a, BytesView b)
{
	return a.length == b.length && memcmp(a.data, b.data, a.length) == 0;
}

#define SH_PREFIX keys
#define SH_ELEMENT_TYPE KeyEntry
#define SH_KEY_TYPE BytesView
#define SH_KEY key
#define SH_HASH_KEY(tb, key) hash_key(key)
#define SH_EQUAL(tb, a, b) same_key(a, b)
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

typedef struct ToastQueue
{
	MemoryContext context;		/* all of it; deleted when the queue is empty */
	List	   *rows;			/* WaitingRow * */
	keys_hash  *keys;
	MemoryContext found_context;	/* rows found in the lake, of one pass */
	Scalar	   *found;			/* room for one */
} ToastQueue;

static ToastQueue *
queue_create(SyncStream *stream, const SyncTarget *target)
{
	MemoryContext context = AllocSetContextCreate(stream->context, "streamhouse waiting rows",
												  ALLOCSET_DEFAULT_SIZES);
	ToastQueue *queue = MemoryContextAllocZero(context, sizeof(ToastQueue));

	queue->context = context;
	queue->keys = keys_create(context, 256, NULL);
	queue->found_context = AllocSetContextCreate(context, "streamhouse rows found", ALLOCSET_DEFAULT_SIZES);
	queue->found = MemoryContextAlloc(context, sizeof(Scalar) * target->lake->schema->nfields);
	return queue;
}

void
toast_queue_discard(SyncTarget *target)
{
	if (target->queue == NULL)
		return;
	MemoryContextDelete(target->queue->context);
	target->queue = NULL;
}

static void
remember_key(ToastQueue *queue, BytesView key)
{
	bool		found;

	(void) keys_insert(queue->keys, key, &found);
}

/* The entry of a row's key, which is in the queue. */
static KeyEntry *
entry_of(const SyncTarget *target, const Scalar *row)
{
	return keys_lookup(target->queue->keys, sync_target_key_bytes(target, row));
}

/* The row by whose key the missing values are known to the lake. */
static const Scalar *
known_by(const WaitingRow *waiting)
{
	return waiting->old_row ? waiting->old_row : waiting->row;
}

static Scalar *
copy_row(const SyncTarget *target, const Scalar *row)
{
	int			nfields = target->lake->schema->nfields;
	Scalar	   *copy = palloc(sizeof(Scalar) * nfields);
	int			i;

	for (i = 0; i < nfields; i++)
		copy[i] = scalar_copy(target->lake->schema->fields[i].type, &row[i]);
	return copy;
}

/* Queue the change: copies of the rows, and their keys. */
static void
enqueue(const SyncStream *stream, SyncTable *table, RowKind kind, const Scalar *old_row, const Scalar *row, const bool *missing)
{
	SyncTarget *target = table->target;
	ToastQueue *queue = target->queue;
	MemoryContext old = MemoryContextSwitchTo(queue->context);
	WaitingRow *waiting = palloc0(sizeof(WaitingRow));
	Size		nfields = target->lake->schema->nfields;

	waiting->table = table;
	waiting->kind = kind;
	waiting->end_lsn = stream->transaction->end_lsn;
	waiting->row = copy_row(target, row);
	remember_key(queue, sync_target_key_bytes(target, row));
	if (old_row)
	{
		waiting->old_row = copy_row(target, old_row);
		remember_key(queue, sync_target_key_bytes(target, old_row));
	}
	if (missing)
		waiting->missing = memcpy(palloc(nfields), missing, nfields);
	queue->rows = lappend(queue->rows, waiting);
	MemoryContextSwitchTo(old);
	target->pending = true;
}

/* Does an earlier change of this row's key wait? */
static bool
key_waits(const SyncTarget *target, const Scalar *row)
{
	return row && entry_of(target, row) != NULL;
}

bool
toast_queue_take(SyncStream *stream, SyncTable *table, RowKind kind, const Scalar *old_row,
				 const Scalar *row, const bool *missing)
{
	SyncTarget *target = table->target;

	if (target->queue == NULL && missing == NULL)
		return false;
	if (target->queue == NULL)
		target->queue = queue_create(stream, target);
	if (missing == NULL && !key_waits(target, row) && !key_waits(target, old_row))
		return false;

	enqueue(stream, table, kind, old_row, row, missing);
	if (list_length(target->queue->rows) >= MAX_QUEUED_ROWS ||
		MemoryContextMemAllocated(target->queue->context, false) > stream->memory_limit / 4)
		toast_queue_resolve(stream, target);
	return true;
}

static int
compare_scalars(const void *a, const void *b, void *type)
{
	return scalar_compare_values(((const DataType *) type)->physical, a, b);
}

/* "column IN (values of the wanted keys)", sorted and distinct. */
static Predicate *
key_column_predicate(const SyncTarget *target, int field)
{
	const DataType *type = target->lake->schema->fields[field].type;
	ToastQueue *queue = target->queue;
	Scalar	   *values = palloc(sizeof(Scalar) * list_length(queue->rows));
	int			nvalues = 0;
	int			ndistinct = 0;
	ListCell   *cell;
	int			i;

	foreach(cell, queue->rows)
	{
		const WaitingRow *waiting = lfirst(cell);

		if (waiting->missing)
			values[nvalues++] = known_by(waiting)[field];
	}
	qsort_arg(values, nvalues, sizeof(Scalar), compare_scalars, unconstify(DataType *, type));
	for (i = 0; i < nvalues; i++)
	{
		if (i == 0 || scalar_compare_values(type->physical, &values[ndistinct - 1], &values[i]) != 0)
			values[ndistinct++] = values[i];
	}
	return predicate_leaf(PREDICATE_IN, field, type, values, ndistinct);
}

/*
 * Keep the row of a batch if it is one of those wanted and there is room.  The
 * first row's is kept in any case, so that every pass gets on.
 */
static void
keep_row(SyncStream *stream, SyncTarget *target, const Batch *batch, int n)
{
	MemoryContext found = target->queue->found_context;
	Scalar	   *row = target->queue->found;
	KeyEntry   *entry;

	lake_rows_get(batch, n, row);
	entry = entry_of(target, row);
	if (entry == NULL || !entry->wanted)
		return;
	if (entry->urgent || MemoryContextMemAllocated(found, false) < stream->memory_limit / 2)
	{
		MemoryContext old = MemoryContextSwitchTo(found);

		entry->row = copy_row(target, row);
		MemoryContextSwitchTo(old);
	}
	else
		entry->deferred = true;
}

/* All rows of a batch; their key bytes are not kept. */
static void
keep_rows(SyncStream *stream, SyncTarget *target, const Batch *batch, MemoryContext scratch)
{
	MemoryContext old = MemoryContextSwitchTo(scratch);
	int			i;

	for (i = 0; i < batch->nselected; i++)
		keep_row(stream, target, batch, i);
	MemoryContextSwitchTo(old);
	MemoryContextReset(scratch);
}

/* Read the rows of all wanted keys, as they are with what the writer has so far. */
static void
read_wanted_rows(SyncStream *stream, SyncTarget *target)
{
	int			nkeys;
	const int  *key = sync_target_key(target, &nkeys);
	List	   *conditions = NIL;
	TableReader *reader;
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "streamhouse keys found",
												  ALLOCSET_DEFAULT_SIZES);
	Batch	   *batch;
	int			i;

	for (i = 0; i < nkeys; i++)
		conditions = lappend(conditions, key_column_predicate(target, key[i]));
	reader = lake_rows_open(stream, target, predicate_combine(PREDICATE_AND, conditions));
	while ((batch = lake_rows_next(reader)) != NULL)
		keep_rows(stream, target, batch, scratch);
	table_reader_close(reader);
}

/* A row whose values are not in the lake: may it go without?  The changes up to the copy's snapshot have removed it. */
static bool
is_gone_later(const WaitingRow *waiting)
{
	return waiting->table->complete && waiting->end_lsn <= waiting->table->copied_as_of;
}

/* Fill the missing fields from the newest row of the key that had them.  False: there is none, and nothing is to be written. */
static bool
complete_row(SyncTarget *target, WaitingRow *waiting)
{
	const KeyEntry *entry = entry_of(target, known_by(waiting));
	int			i;

	if (entry->row == NULL && waiting->kind == ROW_DELETE)
		return false;
	if (entry->row == NULL && is_gone_later(waiting))
		return true;
	if (entry->row == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("lake table \"%s\" lacks a row that was updated in table \"%s\"",
						target->lake->name, waiting->table->record->source_name),
				 errdetail("The row's unchanged TOAST values are needed, which the WAL does not carry."),
				 errhint("Drop the sync and the lake table, and create the sync again.")));
	for (i = 0; i < target->lake->schema->nfields; i++)
	{
		if (waiting->missing[i])
			waiting->row[i] = entry->row[i];
	}
	return true;
}

static void
release_row(SyncStream *stream, SyncTarget *target, WaitingRow *waiting)
{
	bool		keeps = sync_table_keeps_deleted(waiting->table->record);

	if (waiting->missing && !complete_row(target, waiting))
		return;
	apply_change(stream, waiting->table, waiting->kind, waiting->old_row, waiting->row);
	if (waiting->old_row && !keeps)
		entry_of(target, waiting->old_row)->row = NULL;
	entry_of(target, waiting->row)->row = waiting->kind == ROW_DELETE && !keeps ? NULL : waiting->row;
}

/* Begin a pass: which keys are wanted. */
static void
mark_keys(SyncTarget *target)
{
	ToastQueue *queue = target->queue;
	const WaitingRow *first = linitial(queue->rows);
	keys_iterator iterator;
	KeyEntry   *entry;
	ListCell   *cell;

	keys_start_iterate(queue->keys, &iterator);
	while ((entry = keys_iterate(queue->keys, &iterator)) != NULL)
	{
		entry->wanted = entry->urgent = entry->deferred = false;
		entry->row = NULL;
	}
	foreach(cell, queue->rows)
	{
		const WaitingRow *waiting = lfirst(cell);

		if (waiting->missing)
			entry_of(target, known_by(waiting))->wanted = true;
	}
	entry_of(target, first->row)->urgent = true;
	if (first->old_row)
		entry_of(target, first->old_row)->urgent = true;
}

/* A row whose key's row had no room waits for the next pass, and so does what comes after it. */
static bool
must_wait(SyncTarget *target, const WaitingRow *waiting)
{
	KeyEntry   *entry = entry_of(target, waiting->row);
	KeyEntry   *old_entry = waiting->old_row ? entry_of(target, waiting->old_row) : entry;

	if (!entry->deferred && !old_entry->deferred)
		return false;
	entry->deferred = old_entry->deferred = true;
	return true;
}

/* Must the row wait for its table's copy? */
static bool
must_defer(SyncTarget *target, const WaitingRow *waiting)
{
	return waiting->missing && !waiting->table->complete && entry_of(target, known_by(waiting))->row == NULL;
}

/* Is the lake complete?  To be asked before it is read. */
static void
ask_for_copies(SyncStream *stream, SyncTarget *target)
{
	ListCell   *cell;

	foreach(cell, target->tables)
	{
		SyncTable  *table = lfirst(cell);

		table->copied_as_of = InvalidXLogRecPtr;
		table->complete = table->record->copied || stream->monitor->copy_finished(table->record, &table->copied_as_of);
	}
}

/*
 * Read what there is room for, and release the rows that are complete; the
 * others stay.  The table that must wait for its copy, or NULL.
 */
static SyncTable *
resolve_pass(SyncStream *stream, SyncTarget *target)
{
	ToastQueue *queue = target->queue;
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "streamhouse waiting rows scan",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(scratch);
	List	   *left = NIL;
	SyncTable  *deferred = NULL;
	ListCell   *cell;

	ask_for_copies(stream, target);
	mark_keys(target);
	read_wanted_rows(stream, target);
	MemoryContextReset(scratch);
	foreach(cell, queue->rows)
	{
		WaitingRow *waiting = lfirst(cell);

		if (must_wait(target, waiting))
		{
			MemoryContextSwitchTo(queue->context);
			left = lappend(left, waiting);
			MemoryContextSwitchTo(scratch);
		}
		else if (must_defer(target, waiting))
		{
			deferred = waiting->table;
			break;
		}
		else
			release_row(stream, target, waiting);
		MemoryContextReset(scratch);
	}
	queue->rows = left;
	MemoryContextReset(queue->found_context);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(scratch);
	return deferred;
}

void
toast_queue_resolve(SyncStream *stream, SyncTarget *target)
{
	if (target->queue == NULL)
		return;
	while (target->queue->rows != NIL)
	{
		SyncTable  *deferred = resolve_pass(stream, target);

		if (deferred)
		{
			apply_defer(stream, deferred);
			return;
		}
		CHECK_FOR_INTERRUPTS();
	}
	toast_queue_discard(target);
}
