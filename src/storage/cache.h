/*
 * cache.h
 *		What files of the lake hold, kept for later statements of the session.
 *
 * Only of files that never change: their names have UUIDs in them, so that a
 * table made again at the same place has others; those of schemas have none,
 * so what they hold is a part of the key.  The least recently used
 * values make room for new ones; a value that is in use stays until then.
 */
#ifndef STREAMHOUSE_CACHE_H
#define STREAMHOUSE_CACHE_H

#include "postgres.h"

typedef enum CacheKind
{
	CACHE_SCHEMA,				/* by a hash of what the file holds */
	CACHE_MANIFEST_LIST,
	CACHE_MANIFEST,
	CACHE_INDEX_MANIFEST,
	CACHE_DELETION_VECTOR,
	CACHE_PARQUET_FOOTER,
	CACHE_PARQUET_INDEX,
	CACHE_PARQUET_PAGE
} CacheKind;

#define CACHE_KINDS (CACHE_PARQUET_PAGE + 1)

/* streamhouse.metadata_cache_size, in kB; 0: nothing is kept. */
extern int	cache_limit;

/* Is a value of about so many bytes worth to be kept: is it a small part of what may be? */
extern bool cache_has_room(Size bytes);

/*
 * The value made of a file of a size (or of what begins at such a place in it, or has such a hash), or NULL.  It stays as it is until
 * CurrentMemoryContext is reset or deleted.
 */
extern const void *cache_get(CacheKind kind, const char *path, int64 size);

/* How many values of a kind this process has found so far. */
extern int64 cache_hits(CacheKind kind);

/* A context to make a value in, below CurrentMemoryContext until it is kept. */
extern MemoryContext cache_context_create(void);

/* Keep the value that context holds, which is then in use as if by cache_get. */
extern void cache_put(CacheKind kind, const char *path, int64 size, MemoryContext context, const void *value);

/* For tests: the bytes of all values kept. */
extern Size cache_size(void);

#endif							/* STREAMHOUSE_CACHE_H */
