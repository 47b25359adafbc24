/*
 * deletion_vector.c
 *		Rows of data files that are deleted without the file being rewritten.
 *
 * A vector is a roaring bitmap of row positions, one of many in an index file.
 * It is turned into a plain bitmap of the file's rows when the file is opened:
 * that has a bound, and asking it for the rows of a batch takes no time.  The
 * cache keeps it for the next scan.
 *
 * Source: format digest section 7.4.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "format/checksum.h"
#include "lake/deletion_vector.h"
#include "lake/index_manifest.h"
#include "lake/path.h"
#include "port/pg_bswap.h"
#include "storage/cache.h"
#include "storage/storage.h"
#include "utils/memutils.h"

#define MAGIC_32 1581511376		/* big endian */
#define MAGIC_64 1681511377		/* little endian */

/* What is around the magic number and the bitmap: their size, and their checksum */
#define FRAME_SIZE (2 * sizeof(uint32))

/* Files whose vectors are looked for, by name */
typedef struct FileItem
{
	const char *name;
	const ManifestEntry *entry;
	uint32		hash;
	char		status;
} FileItem;

#define SH_PREFIX file_map
#define SH_ELEMENT_TYPE FileItem
#define SH_KEY_TYPE const char *
#define SH_KEY name
#define SH_HASH_KEY(table, key) hash_bytes((const unsigned char *) (key), (int) strlen(key))
#define SH_EQUAL(table, a, b) (strcmp(a, b) == 0)
#define SH_STORE_HASH
#define SH_GET_HASH(table, item) (item)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* What the cache keeps of a vector: the rows that it leaves, and what the manifest said of it */
typedef struct KeptRows
{
	RowSet		live;
	int64		length;
	int64		cardinality;
} KeptRows;

typedef struct VectorSearch
{
	LakeTable  *table;
	MemoryContext result_context;
	file_map_hash *files;
} VectorSearch;

#define vector_error(path, data_file, ...) \
	ereport(ERROR, \
			(errcode(ERRCODE_DATA_CORRUPTED), \
			 errmsg("deletion vector of data file \"%s\" in index file \"%s\" is damaged", data_file, path), \
			 errdetail(__VA_ARGS__)))

static void
note_vector(VectorSearch *search, const IndexEntry *index, const DeletionRange *range)
{
	FileItem   *item = file_map_lookup(search->files, range->data_file);
	const ManifestEntry *entry = item != NULL ? item->entry : NULL;
	DeletionVectorPlace *place;
	MemoryContext old;

	if (entry == NULL || entry->bucket != index->bucket ||
		entry->partition.length != index->partition.length ||
		memcmp(entry->partition.data, index->partition.data, index->partition.length) != 0)
		return;
	old = MemoryContextSwitchTo(search->result_context);
	place = palloc(sizeof(DeletionVectorPlace));
	place->path = index_file_path(search->table, index);
	place->offset = range->offset;
	place->length = range->length;
	place->cardinality = range->has_cardinality ? range->cardinality : -1;
	if (entry->file->deletions != NULL)
		vector_error(place->path, range->data_file, "Another one is in \"%s\".", entry->file->deletions->path);
	if (place->cardinality > entry->file->row_count)
		vector_error(place->path, range->data_file, "It has " INT64_FORMAT " rows, the data file " INT64_FORMAT ".",
					 place->cardinality, entry->file->row_count);
	entry->file->deletions = place;
	MemoryContextSwitchTo(old);
}

static void
visit_index(const IndexEntry *index, void *arg)
{
	ListCell   *cell;

	if (strcmp(index->index_type, INDEX_DELETION_VECTORS) != 0)
		return;
	foreach(cell, index->ranges)
		note_vector(arg, index, lfirst(cell));
}

void
deletion_vectors_find(LakeTable *table, const LakeSnapshot *snapshot, List *entries)
{
	VectorSearch search = {.table = table, .result_context = CurrentMemoryContext};
	MemoryContext context;
	ListCell   *cell;

	if (snapshot->index_manifest == NULL || entries == NIL)
		return;
	context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse deletion vector search",
									ALLOCSET_DEFAULT_SIZES);
	search.files = file_map_create(context, list_length(entries), NULL);
	foreach(cell, entries)
	{
		const ManifestEntry *entry = lfirst(cell);
		bool		found;

		file_map_insert(search.files, entry->file->file_name, &found)->entry = entry;
	}
	index_manifest_read(table->location, snapshot->index_manifest, visit_index, &search);
	MemoryContextDelete(context);
}

int64
deletion_vector_cardinality(const DataFileMeta *file)
{
	return file->deletions != NULL ? file->deletions->cardinality : 0;
}

static uint32
load_be32(const char *bytes)
{
	uint32		value;

	memcpy(&value, bytes, sizeof(value));
	return pg_ntoh32(value);
}

static uint32
load_le32(const char *bytes)
{
	const unsigned char *b = (const unsigned char *) bytes;

	return (uint32) b[0] | (uint32) b[1] << 8 | (uint32) b[2] << 16 | (uint32) b[3] << 24;
}

static uint64
load_le64(const char *bytes)
{
	return (uint64) load_le32(bytes) | (uint64) load_le32(bytes + 4) << 32;
}

/* Version 1: one bitmap.  Version 2: several, each with the upper halves of its positions before it. */
static bool
add_bitmaps_32(RowSet *rows, const char *bytes, size_t length)
{
	return row_set_add_bitmap(rows, 0, bytes, length) == length;
}

static bool
add_bitmaps_64(RowSet *rows, const char *bytes, size_t length)
{
	const char *end = bytes + length;
	uint64		count;

	if (length < sizeof(uint64))
		return false;
	count = load_le64(bytes);
	bytes += sizeof(uint64);
	for (uint64 i = 0; i < count; i++)
	{
		uint64		base;
		size_t		used;

		if (end - bytes < sizeof(uint32))
			return false;
		base = (uint64) load_le32(bytes) << 32;
		bytes += sizeof(uint32);
		used = row_set_add_bitmap(rows, base, bytes, end - bytes);
		if (used == 0)
			return false;
		bytes += used;
	}
	return bytes == end;
}

/* The bytes of a vector with all that is around them; *size: of magic number and bitmap. */
static char *
read_vector(const DeletionVectorPlace *place, const char *data_file, uint32 *size)
{
	StorageFile *file = storage_open(place->path);
	uint64		file_size = storage_file_size(file);
	size_t		available;
	char	   *bytes;

	if (place->offset < 0 || place->length < FRAME_SIZE || place->offset > file_size ||
		file_size - place->offset < place->length || place->length > MaxAllocSize - FRAME_SIZE)
		vector_error(place->path, data_file,
					 "It should lie at " INT64_FORMAT " with length " INT64_FORMAT ", the file has " UINT64_FORMAT " bytes.",
					 place->offset, place->length, file_size);
	/* the length of version 1 is without the frame */
	available = Min(place->length + FRAME_SIZE, file_size - place->offset);
	bytes = palloc(available);
	storage_read(file, place->offset, available, bytes);
	storage_close(file);
	*size = load_be32(bytes);
	if (*size < sizeof(uint32) || *size > available - FRAME_SIZE)
		vector_error(place->path, data_file, "Its size is %u.", *size);
	return bytes;
}

RowSet
deletion_vector_load(const DeletionVectorPlace *place, const char *data_file, int64 file_rows)
{
	RowSet		rows = row_set_empty(file_rows);
	uint32		size;
	char	   *bytes = read_vector(place, data_file, &size);
	const char *payload = bytes + sizeof(uint32);
	bool		valid;

	if (load_be32(payload + size) != checksum_crc32(payload, size))
		vector_error(place->path, data_file, "Its checksum does not match.");
	if (load_be32(payload) == MAGIC_32 && size == place->length)
		valid = add_bitmaps_32(&rows, payload + sizeof(uint32), size - sizeof(uint32));
	else if (load_le32(payload) == MAGIC_64 && size + FRAME_SIZE == place->length)
		valid = add_bitmaps_64(&rows, payload + sizeof(uint32), size - sizeof(uint32));
	else
		vector_error(place->path, data_file, "It is of an unknown kind, or its length is wrong.");
	if (!valid)
		vector_error(place->path, data_file, "Its bitmap is invalid, or has rows that the data file has not.");
	if (place->cardinality >= 0 && row_set_count(&rows) != place->cardinality)
		vector_error(place->path, data_file, "It has " INT64_FORMAT " rows, the manifest says " INT64_FORMAT ".",
					 row_set_count(&rows), place->cardinality);
	pfree(bytes);
	return rows;
}

static bool
is_kept_of(const KeptRows *kept, const DeletionVectorPlace *place, int64 file_rows)
{
	return kept->live.nrows == file_rows && kept->length == place->length && kept->cardinality == place->cardinality;
}

RowSet
deletion_vector_live_rows(const DeletionVectorPlace *place, const char *data_file, int64 file_rows)
{
	const KeptRows *found = cache_get(CACHE_DELETION_VECTOR, place->path, place->offset);
	KeptRows   *kept;
	RowSet		deleted;
	MemoryContext context;
	MemoryContext old;

	/* if the manifest says something else of the vector now, reading it tells what is wrong */
	if (found != NULL && is_kept_of(found, place, file_rows))
		return found->live;
	deleted = deletion_vector_load(place, data_file, file_rows);
	context = cache_context_create();
	old = MemoryContextSwitchTo(context);
	kept = palloc(sizeof(KeptRows));
	kept->live = row_set_and_not(row_set_all(file_rows), deleted);
	kept->length = place->length;
	kept->cardinality = place->cardinality;
	MemoryContextSwitchTo(old);
	pfree(deleted.words);
	if (cache_has_room(MemoryContextMemAllocated(context, true)))
		cache_put(CACHE_DELETION_VECTOR, place->path, place->offset, context, kept);
	return kept->live;
}
