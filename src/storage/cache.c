/*
 * cache.c
 *		A cache of decoded files, by kind, path and size, bounded in bytes.
 *
 * Each value has a memory context of its own, which holds its entry, too.  The
 * users of a value are counted; reset callbacks of their contexts count them
 * down, also after errors.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "lib/ilist.h"
#include "storage/cache.h"
#include "utils/memutils.h"

#define BUCKETS 8192			/* a power of two */

/* One value is at most this part of all. */
#define LARGEST_PART 8

/*
 * Large pages, together, are at most half: one of long strings takes the
 * place of many others, which are more work a byte to decompress.  If these
 * need room, they leave large ones no more than the part of one value.
 */
#define LARGE_PAGE_BYTES (256 * 1024)
#define LARGE_PAGES_PART 2

typedef struct CacheEntry
{
	dlist_node	by_key;			/* in its bucket */
	dlist_node	by_use;
	struct CacheList *list;		/* of by_use */
	MemoryContext context;		/* holds the value and all of this */
	CacheKind	kind;
	char	   *path;
	int64		size;
	uint32		hash;
	Size		bytes;
	const void *value;
	int			users;
	bool		kept;			/* in the lists */
} CacheEntry;

typedef struct CacheList
{
	dlist_head	entries;		/* the most recently used first */
	Size		bytes;
} CacheList;

typedef struct CacheUse
{
	MemoryContextCallback callback;
	CacheEntry *entry;
} CacheUse;

int			cache_limit = 0;

static dlist_head buckets[BUCKETS];	/* zeros are empty lists */
static CacheList large_pages = {DLIST_STATIC_INIT(large_pages.entries)};
static CacheList others = {DLIST_STATIC_INIT(others.entries)};
static int64 hits[CACHE_KINDS];

static uint32
hash_key(CacheKind kind, const char *path, int64 size)
{
	uint32		hash = hash_bytes((const unsigned char *) path, (int) strlen(path));

	return hash_combine(hash_combine(hash, hash_bytes((const unsigned char *) &size, sizeof(size))), (uint32) kind);
}

static CacheEntry *
find_entry(CacheKind kind, const char *path, int64 size, uint32 hash)
{
	dlist_iter	iter;

	dlist_foreach(iter, &buckets[hash % BUCKETS])
	{
		CacheEntry *entry = dlist_container(CacheEntry, by_key, iter.cur);

		if (entry->hash == hash && entry->kind == kind && entry->size == size && strcmp(entry->path, path) == 0)
			return entry;
	}
	return NULL;
}

static void
drop_entry(CacheEntry *entry)
{
	dlist_delete(&entry->by_key);
	dlist_delete(&entry->by_use);
	entry->list->bytes -= entry->bytes;
	entry->kept = false;
	if (entry->users == 0)
		MemoryContextDelete(entry->context);
}

static void
shrink_list(CacheList *list, Size limit)
{
	while (list->bytes > limit)
		drop_entry(dlist_tail_element(CacheEntry, by_use, &list->entries));
}

static void
shrink(Size limit)
{
	shrink_list(&large_pages, limit / LARGE_PAGES_PART);
	if (large_pages.bytes + others.bytes > limit)
		shrink_list(&large_pages, Max(limit / LARGEST_PART, limit - Min(limit, others.bytes)));
	shrink_list(&others, limit - large_pages.bytes);
}

static void
end_use(void *arg)
{
	CacheEntry *entry = ((CacheUse *) arg)->entry;

	if (--entry->users == 0 && !entry->kept)
		MemoryContextDelete(entry->context);
}

static void
begin_use(CacheEntry *entry)
{
	CacheUse   *use = palloc(sizeof(CacheUse));

	use->callback.func = end_use;
	use->callback.arg = use;
	use->entry = entry;
	entry->users++;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &use->callback);
}

static Size
limit_bytes(void)
{
	return (Size) cache_limit * 1024;
}

bool
cache_has_room(Size bytes)
{
	return bytes <= limit_bytes() / LARGEST_PART;
}

const void *
cache_get(CacheKind kind, const char *path, int64 size)
{
	CacheEntry *entry;

	shrink(limit_bytes());
	entry = find_entry(kind, path, size, hash_key(kind, path, size));
	if (entry == NULL)
		return NULL;
	dlist_move_head(&entry->list->entries, &entry->by_use);
	begin_use(entry);
	hits[kind]++;
	return entry->value;
}

int64
cache_hits(CacheKind kind)
{
	return hits[kind];
}

MemoryContext
cache_context_create(void)
{
	return AllocSetContextCreate(CurrentMemoryContext, "streamhouse cached file", ALLOCSET_SMALL_SIZES);
}

void
cache_put(CacheKind kind, const char *path, int64 size, MemoryContext context, const void *value)
{
	uint32		hash = hash_key(kind, path, size);
	CacheEntry *old = find_entry(kind, path, size, hash);
	CacheEntry *entry = MemoryContextAllocZero(context, sizeof(CacheEntry));

	entry->context = context;
	entry->kind = kind;
	entry->path = MemoryContextStrdup(context, path);
	entry->size = size;
	entry->hash = hash;
	entry->value = value;
	entry->bytes = MemoryContextMemAllocated(context, true);
	entry->list = kind == CACHE_PARQUET_PAGE && entry->bytes > LARGE_PAGE_BYTES ? &large_pages : &others;
	begin_use(entry);
	MemoryContextSetParent(context, TopMemoryContext);
	if (old != NULL)
		drop_entry(old);
	dlist_push_head(&buckets[hash % BUCKETS], &entry->by_key);
	dlist_push_head(&entry->list->entries, &entry->by_use);
	entry->kept = true;
	entry->list->bytes += entry->bytes;
	shrink(limit_bytes());
}

Size
cache_size(void)
{
	return large_pages.bytes + others.bytes;
}
