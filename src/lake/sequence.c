/*
 * sequence.c
 *		Sequence numbers of a table's buckets, as one writer knows them.
 *
 * Numbers are taken from ADD entries alone, whether or not the file was
 * deleted later: a number too high does no harm.  So no entry is kept in
 * memory, and manifests may be read in any order.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "lake/sequence.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* Above so many new snapshots reading all manifests is cheaper than the deltas. */
#define MAX_DELTAS 1000

/* The "bucket" whose state is that of a partition as a whole. */
#define WHOLE_PARTITION (-1)

typedef struct BucketKey
{
	BytesView	partition;
	int32		bucket;
} BucketKey;

typedef struct BucketSlot
{
	BucketKey	key;
	BucketState *state;
	char		status;
} BucketSlot;

static inline uint32
hash_bucket_key(BucketKey key)
{
	uint32		hash = hash_bytes((const unsigned char *) key.partition.data, (int) key.partition.length);

	return hash_combine(hash, murmurhash32((uint32) key.bucket));
}

static inline bool
same_bucket_key(BucketKey a, BucketKey b)
{
	return a.bucket == b.bucket && a.partition.length == b.partition.length &&
		memcmp(a.partition.data, b.partition.data, a.partition.length) == 0;
}

#define SH_PREFIX bucket_table
#define SH_ELEMENT_TYPE BucketSlot
#define SH_KEY_TYPE BucketKey
#define SH_KEY key
#define SH_HASH_KEY(table, key) hash_bucket_key(key)
#define SH_EQUAL(table, a, b) same_bucket_key(a, b)
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct SequenceMap
{
	MemoryContext context;
	LakeTable  *table;
	SequenceRule rule;
	int64		lead;
	bucket_table_hash *buckets;
	int64		known_snapshot; /* its numbers and those before are in; 0: none */
};

SequenceMap *
sequence_map_create(LakeTable *table)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "lake sequence numbers",
												  ALLOCSET_DEFAULT_SIZES);
	SequenceMap *map = (SequenceMap *) MemoryContextAllocZero(context, sizeof(SequenceMap));

	map->context = context;
	map->table = table;
	map->buckets = bucket_table_create(context, 64, NULL);
	return map;
}

void
sequence_map_set_rule(SequenceMap *map, SequenceRule rule)
{
	map->rule = rule;
}

void
sequence_map_set_lead(SequenceMap *map, int64 lead)
{
	map->lead = lead;
}

BucketState *
sequence_map_bucket(SequenceMap *map, BytesView partition, int32 bucket)
{
	BucketKey	key = {partition, bucket};
	bool		found;
	BucketSlot *slot = bucket_table_insert(map->buckets, key, &found);

	if (!found)
	{
		BucketState *state = (BucketState *) MemoryContextAllocZero(map->context, sizeof(BucketState));
		char	   *bytes = (char *) MemoryContextAlloc(map->context, Max(partition.length, 1));

		memcpy(bytes, partition.data, partition.length);
		state->partition.data = bytes;
		state->partition.length = partition.length;
		state->bucket = bucket;
		state->committed = -1;
		state->next = map->lead + (map->rule == SEQUENCE_ABOVE_BASE ? 1 : 0);
		state->step = map->rule == SEQUENCE_BASE ? 0 : 1;
		slot->key.partition = state->partition;
		slot->state = state;
	}
	return slot->state;
}

/* Raise a bucket's numbers above those of a committed file. */
static void
note_entry(const ManifestEntry *entry, void *arg)
{
	SequenceMap *map = (SequenceMap *) arg;
	BucketState *state;

	if (entry->kind != FILE_ADD || entry->bucket < 0)
		return;
	if (entry->total_buckets > 0 && entry->total_buckets != map->table->options->buckets)
		sequence_map_bucket(map, entry->partition, WHOLE_PARTITION)->other_total = true;
	state = sequence_map_bucket(map, entry->partition, entry->bucket);
	state->committed = Max(state->committed, entry->file->max_sequence_number);
	if (state->step > 0)
		state->next = Max(state->next, state->committed + 1 + map->lead);
}

/* Note the files that a manifest list adds. */
static void
note_manifest_list(SequenceMap *map, const char *name, int64 size)
{
	MemoryContext list_context = AllocSetContextCreate(CurrentMemoryContext, "lake manifest list",
													   ALLOCSET_DEFAULT_SIZES);
	MemoryContext manifest_context = AllocSetContextCreate(list_context, "lake manifest",
														   ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(list_context);
	List	   *manifests = manifest_list_read(map->table->location, name, size);
	ListCell   *lc;

	MemoryContextSwitchTo(manifest_context);
	foreach(lc, manifests)
	{
		const ManifestFileMeta *manifest = (const ManifestFileMeta *) lfirst(lc);

		CHECK_FOR_INTERRUPTS();
		if (manifest->num_added_files == 0)
			continue;
		manifest_read(map->table->location, manifest, note_entry, map);
		MemoryContextReset(manifest_context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(list_context);
}

/*
 * Learn from the deltas of the snapshots after the known one; false when one
 * is gone, or when reading everything is better.
 */
static bool
note_deltas(SequenceMap *map, const LakeSnapshot *latest)
{
	if (map->known_snapshot == 0 || latest->id < map->known_snapshot ||
		latest->id - map->known_snapshot > MAX_DELTAS)
		return false;
	while (map->known_snapshot < latest->id)
	{
		const LakeSnapshot *snapshot = latest;

		if (map->known_snapshot + 1 < latest->id)
			snapshot = snapshot_load(map->table->location, map->known_snapshot + 1, true);
		if (snapshot == NULL)
			return false;
		note_manifest_list(map, snapshot->delta_manifest_list, snapshot->delta_manifest_list_size);
		map->known_snapshot++;
	}
	return true;
}

void
sequence_map_refresh(SequenceMap *map, const LakeSnapshot *latest)
{
	if (latest == NULL || latest->id == map->known_snapshot)
		return;
	if (note_deltas(map, latest))
		return;
	note_manifest_list(map, latest->base_manifest_list, latest->base_manifest_list_size);
	note_manifest_list(map, latest->delta_manifest_list, latest->delta_manifest_list_size);
	map->known_snapshot = latest->id;
}

bool
sequence_map_has_other_totals(SequenceMap *map, List *entries)
{
	ListCell   *lc;

	foreach(lc, entries)
	{
		BucketKey	key = {((const ManifestEntry *) lfirst(lc))->partition, WHOLE_PARTITION};
		BucketSlot *slot = bucket_table_lookup(map->buckets, key);

		if (slot != NULL && slot->state->other_total)
			return true;
	}
	return false;
}

void
sequence_map_committed(SequenceMap *map, const LakeSnapshot *snapshot, List *entries)
{
	ListCell   *lc;

	foreach(lc, entries)
		note_entry((const ManifestEntry *) lfirst(lc), map);
	if (map->known_snapshot == snapshot->id - 1)
		map->known_snapshot = snapshot->id;
}
