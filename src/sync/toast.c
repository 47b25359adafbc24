/*
 * toast.c
 *		Rows with unchanged TOAST values, which the WAL does not carry.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "columnar/compare.h"
#include "lake/plan.h"
#include "lake/read.h"
#include "sync/toast.h"

#define MAX_QUEUED_ROWS 10000

/* One change that waits. */
typedef struct WaitingRow
{
	RowKind		kind;
	Scalar	   *old_row;		/* to be deleted first, or NULL */
	Scalar	   *row;
	bool	   *missing;		/* by field; NULL: the row is complete */
} WaitingRow;

/* A key that occurs in the queue, and the newest row of it while the queue is worked off. */
typedef struct KeyEntry
{
	BytesView	key;			/* as row bytes */
	char		status;
	bool		wanted;			/* a row of it misses values */
	Scalar	   *row;			/* NULL: there is none */
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
} ToastQueue;

static ToastQueue *
queue_create(SyncStream *stream)
{
	MemoryContext context = AllocSetContextCreate(stream->context, "streamhouse waiting rows",
												  ALLOCSET_DEFAULT_SIZES);
	ToastQueue *queue = MemoryContextAllocZero(context, sizeof(ToastQueue));

	queue->context = context;
	queue->keys = keys_create(context, 256, NULL);
	return queue;
}

void
toast_queue_discard(SyncTable *table)
{
	if (table->queue == NULL)
		return;
	MemoryContextDelete(table->queue->context);
	table->queue = NULL;
}

static KeyEntry *
remember_key(ToastQueue *queue, BytesView key)
{
	bool		found;
	KeyEntry   *entry = keys_insert(queue->keys, key, &found);

	if (!found)
	{
		entry->wanted = false;
		entry->row = NULL;
	}
	return entry;
}

static Scalar *
copy_row(const SyncTable *table, const Scalar *row)
{
	int			nfields = table->lake->schema->nfields;
	Scalar	   *copy = palloc(sizeof(Scalar) * nfields);
	int			i;

	for (i = 0; i < nfields; i++)
		copy[i] = scalar_copy(table->lake->schema->fields[i].type, &row[i]);
	return copy;
}

/* Queue the change: copies of the rows, and their keys. */
static void
enqueue(SyncTable *table, RowKind kind, const Scalar *old_row, const Scalar *row, const bool *missing)
{
	ToastQueue *queue = table->queue;
	MemoryContext old = MemoryContextSwitchTo(queue->context);
	WaitingRow *waiting = palloc0(sizeof(WaitingRow));
	Size		nfields = table->lake->schema->nfields;

	waiting->kind = kind;
	waiting->row = copy_row(table, row);
	remember_key(queue, sync_table_key_bytes(table, row));
	if (old_row)
	{
		waiting->old_row = copy_row(table, old_row);
		remember_key(queue, sync_table_key_bytes(table, old_row));
	}
	if (missing)
	{
		waiting->missing = memcpy(palloc(nfields), missing, nfields);
		remember_key(queue, sync_table_key_bytes(table, old_row ? old_row : row))->wanted = true;
	}
	queue->rows = lappend(queue->rows, waiting);
	MemoryContextSwitchTo(old);
	table->pending = true;
}

/* Does an earlier change of this row's key wait? */
static bool
key_waits(const SyncTable *table, const Scalar *row)
{
	return row && keys_lookup(table->queue->keys, sync_table_key_bytes(table, row)) != NULL;
}

bool
toast_queue_take(SyncStream *stream, SyncTable *table, RowKind kind, const Scalar *old_row,
				 const Scalar *row, const bool *missing)
{
	if (table->queue == NULL && missing == NULL)
		return false;
	if (table->queue == NULL)
		table->queue = queue_create(stream);
	if (missing == NULL && !key_waits(table, row) && !key_waits(table, old_row))
		return false;

	enqueue(table, kind, old_row, row, missing);
	if (list_length(table->queue->rows) >= MAX_QUEUED_ROWS ||
		MemoryContextMemAllocated(table->queue->context, false) > stream->memory_limit / 4)
		toast_queue_resolve(stream, table);
	return true;
}

static int
compare_scalars(const void *a, const void *b, void *type)
{
	return scalar_compare_values(((const DataType *) type)->physical, a, b);
}

/* "column IN (values of the wanted keys)", sorted and distinct. */
static Predicate *
key_column_predicate(const SyncTable *table, int field)
{
	const DataType *type = table->lake->schema->fields[field].type;
	ToastQueue *queue = table->queue;
	Scalar	   *values = palloc(sizeof(Scalar) * list_length(queue->rows));
	int			nvalues = 0;
	int			ndistinct = 0;
	ListCell   *cell;
	int			i;

	foreach(cell, queue->rows)
	{
		const WaitingRow *waiting = lfirst(cell);

		if (waiting->missing)
			values[nvalues++] = (waiting->old_row ? waiting->old_row : waiting->row)[field];
	}
	qsort_arg(values, nvalues, sizeof(Scalar), compare_scalars, unconstify(DataType *, type));
	for (i = 0; i < nvalues; i++)
	{
		if (i == 0 || scalar_compare_values(type->physical, &values[ndistinct - 1], &values[i]) != 0)
			values[ndistinct++] = values[i];
	}
	return predicate_leaf(PREDICATE_IN, field, type, values, ndistinct);
}

/* Keep the row of a batch if it is one of those wanted. */
static void
keep_row(SyncTable *table, const Batch *batch, int position)
{
	ToastQueue *queue = table->queue;
	Scalar	   *row = table->old_row;
	KeyEntry   *entry;
	int			i;

	for (i = 0; i < batch->ncolumns; i++)
		row[i] = vector_get(batch->columns[i], position);
	entry = keys_lookup(queue->keys, sync_table_key_bytes(table, row));
	if (entry && entry->wanted)
	{
		MemoryContext old = MemoryContextSwitchTo(queue->context);

		entry->row = copy_row(table, row);
		MemoryContextSwitchTo(old);
	}
}

static void
flatten_batch(Batch *batch)
{
	int			i;

	for (i = 0; i < batch->ncolumns; i++)
		vector_flatten(batch->columns[i], batch->selection, batch->nselected);
}

/* Read the rows of all wanted keys, as they are with what the writer has so far. */
static void
read_wanted_rows(SyncStream *stream, SyncTable *table)
{
	TableWriter *writer = apply_writer(stream, table);
	ScanRequest request = {0};
	int			nfields = table->lake->schema->nfields;
	int		   *projection = palloc(sizeof(int) * nfields);
	int			nkeys;
	const int  *key = sync_table_key(table, &nkeys);
	List	   *conditions = NIL;
	Predicate  *filter;
	TableReader *reader;
	Batch	   *batch;
	int			i;

	for (i = 0; i < nkeys; i++)
		conditions = lappend(conditions, key_column_predicate(table, key[i]));
	for (i = 0; i < nfields; i++)
		projection[i] = i;
	filter = predicate_combine(PREDICATE_AND, conditions);

	stream->memory -= table_writer_memory(writer);
	request.extra_entries = table_writer_flush(writer);
	stream->memory += table_writer_memory(writer);
	request.truncated = table_writer_truncated(writer);
	request.snapshot = snapshot_load_latest(table->lake->location);
	request.predicate = filter;
	reader = table_reader_open(table->lake, scan_plan(table->lake, &request)->splits, projection, nfields, filter, NULL);
	while ((batch = table_reader_next(reader)) != NULL)
	{
		flatten_batch(batch);
		for (i = 0; i < batch->nselected; i++)
			keep_row(table, batch, batch->selection ? batch->selection[i] : i);
	}
	table_reader_close(reader);
}

/* Fill the missing fields from the newest row of the key that had them. */
static void
complete_row(SyncTable *table, WaitingRow *waiting)
{
	const Scalar *known_by = waiting->old_row ? waiting->old_row : waiting->row;
	KeyEntry   *entry = keys_lookup(table->queue->keys, sync_table_key_bytes(table, known_by));
	int			i;

	if (entry->row == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("lake table \"%s\" lacks a row that was updated in table \"%s\"",
						table->lake->name, table->record->source_name),
				 errdetail("The row's unchanged TOAST values are needed, which the WAL does not carry."),
				 errhint("Drop the sync and the lake table, and create the sync again.")));
	for (i = 0; i < table->lake->schema->nfields; i++)
	{
		if (waiting->missing[i])
			waiting->row[i] = entry->row[i];
	}
}

static void
set_newest(SyncTable *table, const Scalar *key_row, Scalar *row)
{
	keys_lookup(table->queue->keys, sync_table_key_bytes(table, key_row))->row = row;
}

static void
release_row(SyncStream *stream, SyncTable *table, WaitingRow *waiting)
{
	if (waiting->missing)
		complete_row(table, waiting);
	if (waiting->old_row)
	{
		apply_row(stream, table, ROW_DELETE, waiting->old_row);
		set_newest(table, waiting->old_row, NULL);
	}
	apply_row(stream, table, waiting->kind, waiting->row);
	set_newest(table, waiting->row, waiting->kind == ROW_DELETE ? NULL : waiting->row);
}

void
toast_queue_resolve(SyncStream *stream, SyncTable *table)
{
	ToastQueue *queue = table->queue;
	MemoryContext scratch;
	MemoryContext old;
	ListCell   *cell;

	if (queue == NULL)
		return;
	scratch = AllocSetContextCreate(CurrentMemoryContext, "streamhouse waiting rows scan", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(scratch);
	read_wanted_rows(stream, table);
	MemoryContextReset(scratch);
	foreach(cell, queue->rows)
	{
		release_row(stream, table, lfirst(cell));
		MemoryContextReset(scratch);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(scratch);
	toast_queue_discard(table);
}
