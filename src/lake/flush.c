/*
 * flush.c
 *		From buffered rows to data files.
 *
 * Every row gets a target, its partition and bucket.  Positions are brought
 * into the order of targets by counting; within a target they are in arrival
 * order already, and only sorted further by key.
 */
#include "postgres.h"

#include "lake/binary_row.h"
#include "lake/file_writer.h"
#include "lake/flush.h"
#include "lake/flush_merge.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* A partition is found by the row bytes' hash, and told by a row that is in it. */
typedef struct PartitionKey
{
	uint32		hash;
	int32		row;
} PartitionKey;

typedef struct FlushPartition
{
	PartitionKey key;
	BytesView	bytes;			/* serialised */
	int32	   *targets;		/* by bucket, -1: none yet */
	char		status;
} FlushPartition;

static bool same_partition(const void *flush, int32 a, int32 b);

#define SH_PREFIX partition_table
#define SH_ELEMENT_TYPE FlushPartition
#define SH_KEY_TYPE PartitionKey
#define SH_KEY key
#define SH_HASH_KEY(table, key) ((key).hash)
#define SH_EQUAL(table, a, b) ((a).hash == (b).hash && same_partition((table)->private_data, (a).row, (b).row))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* Rows of one partition and bucket. */
typedef struct FlushTarget
{
	BucketState *state;
	int			nrows;
	int			start;			/* of its rows in the order of targets */
} FlushTarget;

typedef struct Flush
{
	LakeTable  *table;
	SequenceMap *sequences;
	PendingFiles *files;
	Vector	  **columns;
	const int8 *kinds;
	Vector	  **partition_columns;
	Vector	  **key_columns;
	partition_table_hash *partitions;
	int			nbuckets;
	int			ntargets;
	int			max_targets;
	FlushTarget *targets;
	int64	   *sequence_numbers;	/* by position */
	MergeFunction *function;	/* of a table with primary key */
} Flush;

/* Are a value's bytes the same in two rows?  Partitions are equal if these are. */
static bool
same_bytes(const Vector *column, int32 a, int32 b)
{
	bool		null_a = column->has_nulls && column->nulls[a];
	bool		null_b = column->has_nulls && column->nulls[b];
	size_t		width = physical_size(column->type->physical);

	if (null_a || null_b)
		return null_a && null_b;
	if (column->type->physical == PHYSICAL_BYTES)
	{
		BytesView	x = column->values.bytes[a];
		BytesView	y = column->values.bytes[b];

		return x.length == y.length && memcmp(x.data, y.data, x.length) == 0;
	}
	return memcmp((char *) column->values.any + a * width, (char *) column->values.any + b * width, width) == 0;
}

static bool
same_partition(const void *arg, int32 a, int32 b)
{
	const Flush *flush = (const Flush *) arg;

	for (int i = 0; i < flush->table->schema->npartition_keys; i++)
	{
		if (!same_bytes(flush->partition_columns[i], a, b))
			return false;
	}
	return true;
}

static BytesView
serialize_partition(const Flush *flush, int32 row)
{
	int			nkeys = flush->table->schema->npartition_keys;
	Scalar	   *values = (Scalar *) palloc(Max(nkeys, 1) * sizeof(Scalar));
	BytesView	partition;

	for (int i = 0; i < nkeys; i++)
		values[i] = vector_get(flush->partition_columns[i], row);
	partition = binary_row_serialize(flush->table->partition_types, values, nkeys);
	pfree(values);
	return partition;
}

static FlushPartition *
find_partition(Flush *flush, uint32 hash, int32 row)
{
	PartitionKey key = {hash, row};
	bool		found;
	FlushPartition *partition = partition_table_insert(flush->partitions, key, &found);

	if (!found)
	{
		partition->bytes = serialize_partition(flush, row);
		partition->targets = (int32 *) palloc(flush->nbuckets * sizeof(int32));
		for (int i = 0; i < flush->nbuckets; i++)
			partition->targets[i] = -1;
	}
	return partition;
}

/* The number of the target of a partition's bucket. */
static int32
find_target(Flush *flush, FlushPartition *partition, int32 bucket)
{
	FlushTarget *target;

	Assert(bucket >= 0 && bucket < flush->nbuckets);
	if (partition->targets[bucket] >= 0)
		return partition->targets[bucket];
	if (flush->ntargets == flush->max_targets)
	{
		flush->max_targets *= 2;
		flush->targets = (FlushTarget *) repalloc(flush->targets, flush->max_targets * sizeof(FlushTarget));
	}
	target = &flush->targets[flush->ntargets];
	target->state = sequence_map_bucket(flush->sequences, partition->bytes, bucket);
	target->nrows = 0;
	partition->targets[bucket] = flush->ntargets;
	return flush->ntargets++;
}

/* Find the target of up to BATCH_ROWS rows, and count them there. */
static void
assign_targets(Flush *flush, int first, int nrows, int32 *targets)
{
	int			nkeys = flush->table->schema->npartition_keys;
	FlushPartition *partition = NULL;
	int32		rows[BATCH_ROWS];
	int32		buckets[BATCH_ROWS];
	int32		hashes[BATCH_ROWS];

	for (int i = 0; i < nrows; i++)
		rows[i] = first + i;
	lake_assign_buckets(flush->table, flush->columns, rows, nrows, buckets);
	if (nkeys > 0)
		binary_row_hash_vectors(flush->partition_columns, nkeys, rows, nrows, hashes);
	else
		memset(hashes, 0, nrows * sizeof(int32));

	for (int i = 0; i < nrows; i++)
	{
		/* rows of one partition mostly come together */
		if (i == 0 || hashes[i] != hashes[i - 1] || !same_partition(flush, rows[i], rows[i - 1]))
			partition = find_partition(flush, (uint32) hashes[i], rows[i]);
		targets[i] = find_target(flush, partition, buckets[i]);
		flush->targets[targets[i]].nrows++;
	}
}

/* Positions first .. end - 1 in the order of their targets; sequence numbers, too. */
static int32 *
order_by_target(Flush *flush, int first, int end)
{
	int			nrows = end - first;
	int32	   *targets = (int32 *) MemoryContextAllocHuge(CurrentMemoryContext, nrows * sizeof(int32));
	int32	   *order = (int32 *) MemoryContextAllocHuge(CurrentMemoryContext, nrows * sizeof(int32));
	int			start = 0;

	for (int done = 0; done < nrows; done += BATCH_ROWS)
	{
		CHECK_FOR_INTERRUPTS();
		assign_targets(flush, first + done, Min(nrows - done, BATCH_ROWS), targets + done);
	}
	for (int i = 0; i < flush->ntargets; i++)
	{
		flush->targets[i].start = start;
		start += flush->targets[i].nrows;
		flush->targets[i].nrows = 0;
	}
	for (int i = 0; i < nrows; i++)
	{
		FlushTarget *target = &flush->targets[targets[i]];

		order[target->start + target->nrows++] = first + i;
		if (flush->table->has_primary_key)
		{
			flush->sequence_numbers[first + i] = target->state->next;
			target->state->next += target->state->step;
		}
	}
	pfree(targets);
	return order;
}

/* Write one target's rows, given in arrival order. */
static List *
write_target(Flush *flush, const FlushTarget *target, int32 *rows)
{
	LakeTable  *table = flush->table;
	FileWriterTarget file_target = {0};
	FileWriter *writer;
	int			nrows = target->nrows;

	file_target.partition = target->state->partition;
	file_target.bucket = target->state->bucket;
	file_target.total_buckets = table->options->buckets;
	file_target.source = FILE_SOURCE_APPEND;
	file_target.first_sequence_number = target->state->next;
	writer = file_writer_open(table, &file_target, flush->files);
	if (table->has_primary_key)
	{
		KeyedRows	keyed = {
			.table = table,
			.columns = flush->columns,
			.key_columns = flush->key_columns,
			.sequence_numbers = flush->sequence_numbers,
			.kinds = flush->kinds
		};

		write_merged_rows(&keyed, flush->function, writer, rows, nrows);
	}
	else
	{
		file_writer_append(writer, flush->columns, rows, nrows);
		target->state->next += nrows;
	}
	return file_writer_finish(writer);
}

static Vector **
pick_columns(Vector **columns, const int *fields, int nfields)
{
	Vector	  **picked = (Vector **) palloc(Max(nfields, 1) * sizeof(Vector *));

	for (int i = 0; i < nfields; i++)
		picked[i] = columns[fields[i]];
	return picked;
}

static Flush *
begin_flush(LakeTable *table, SequenceMap *sequences, WriteBuffer *buffer, PendingFiles *files, int end)
{
	const TableSchema *schema = table->schema;
	Flush	   *flush = (Flush *) palloc0(sizeof(Flush));

	flush->table = table;
	flush->sequences = sequences;
	flush->files = files;
	flush->columns = write_buffer_columns(buffer);
	flush->kinds = write_buffer_kinds(buffer);
	flush->partition_columns = pick_columns(flush->columns, schema->partition_keys, schema->npartition_keys);
	flush->key_columns = pick_columns(flush->columns, schema->trimmed_keys, schema->ntrimmed_keys);
	flush->partitions = partition_table_create(CurrentMemoryContext, 16, flush);
	flush->nbuckets = table->options->bucket_mode == BUCKET_FIXED ? table->options->buckets : 1;
	flush->max_targets = 16;
	flush->targets = (FlushTarget *) palloc(flush->max_targets * sizeof(FlushTarget));
	if (table->has_primary_key)
	{
		flush->sequence_numbers = (int64 *) MemoryContextAllocHuge(CurrentMemoryContext, end * sizeof(int64));
		flush->function = merge_function_create(schema, table->options, table->name);
	}
	return flush;
}

/* Write the rows first .. end - 1 of a buffer into new files. */
List *
flush_rows(LakeTable *table, SequenceMap *sequences, WriteBuffer *buffer,
		   int first, int end, PendingFiles *files)
{
	MemoryContext context;
	MemoryContext old;
	List	   *entries = NIL;
	Flush	   *flush;
	int32	   *order;

	if (first == end)
		return NIL;
	context = AllocSetContextCreate(CurrentMemoryContext, "lake flush", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	flush = begin_flush(table, sequences, buffer, files, end);
	order = order_by_target(flush, first, end);
	MemoryContextSwitchTo(old);
	for (int i = 0; i < flush->ntargets; i++)
		entries = list_concat(entries, write_target(flush, &flush->targets[i], order + flush->targets[i].start));
	MemoryContextDelete(context);
	return entries;
}
