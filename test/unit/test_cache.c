/*
 * test_cache.c
 *		The cache of decoded files: what it finds, drops and holds on to.
 */
#include "postgres.h"

#include "storage/cache.h"
#include "utils/memutils.h"

#include "unit.h"

#define VALUE_BYTES (10 * 1024)

/* Keep a value of so many bytes, which begins with its text. */
static const char *
put_bytes(CacheKind kind, const char *path, int64 size, const char *text, Size bytes)
{
	MemoryContext context = cache_context_create();
	char	   *value = MemoryContextAllocZero(context, bytes);

	strcpy(value, text);
	cache_put(kind, path, size, context, value);
	return value;
}

static const char *
put(CacheKind kind, const char *path, int64 size, const char *text)
{
	return put_bytes(kind, path, size, text, VALUE_BYTES);
}

static void
reset_cache(int limit_kb)
{
	cache_limit = 0;
	(void) cache_get(CACHE_MANIFEST, "", 0);
	CHECK_INT(cache_size(), 0);
	cache_limit = limit_kb;
}

static void
test_keys(void)
{
	reset_cache(1024);
	CHECK(cache_get(CACHE_MANIFEST, "/a", 1) == NULL);
	(void) put(CACHE_MANIFEST, "/a", 1, "one");
	(void) put(CACHE_MANIFEST, "/a", 2, "two");
	(void) put(CACHE_MANIFEST_LIST, "/a", 1, "list");
	CHECK_STRING(cache_get(CACHE_MANIFEST, "/a", 1), "one");
	CHECK_STRING(cache_get(CACHE_MANIFEST, "/a", 2), "two");
	CHECK_STRING(cache_get(CACHE_MANIFEST_LIST, "/a", 1), "list");
	CHECK(cache_get(CACHE_MANIFEST, "/b", 1) == NULL);
	(void) put(CACHE_MANIFEST, "/a", 1, "again");
	CHECK_STRING(cache_get(CACHE_MANIFEST, "/a", 1), "again");
	CHECK(cache_has_room(128 * 1024));
	CHECK(!cache_has_room(128 * 1024 + 1));
}

/* The least recently used go first, and the limit holds. */
static void
test_limit(void)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "uses", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(scratch);

	reset_cache(128);
	for (int i = 0; i < 100; i++)
	{
		(void) put(CACHE_MANIFEST, "/a", i, "value");
		MemoryContextReset(scratch);
		CHECK(cache_size() <= 128 * 1024);
		CHECK(cache_get(CACHE_MANIFEST, "/a", 0) != NULL);
	}
	CHECK(cache_get(CACHE_MANIFEST, "/a", 1) == NULL);
	CHECK(cache_get(CACHE_MANIFEST, "/a", 99) != NULL);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(scratch);
}

/* Large pages, half of all at most, make room for one another and for the rest; other large values count as any. */
static void
test_large_pages(void)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "uses", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(scratch);
	const Size	large = 400 * 1024;

	reset_cache(8 * 1024);
	for (int i = 0; i < 100; i++)
		(void) put(CACHE_PARQUET_PAGE, "/small", i, "small");
	for (int i = 0; i < 5; i++)
		(void) put_bytes(CACHE_MANIFEST, "/manifest", i, "manifest", large);
	for (int i = 0; i < 100; i++)
		(void) put_bytes(CACHE_PARQUET_PAGE, "/large", i, "large", large);
	for (int i = 0; i < 100; i++)
		CHECK(cache_get(CACHE_PARQUET_PAGE, "/small", i) != NULL);
	for (int i = 0; i < 5; i++)
		CHECK(cache_get(CACHE_MANIFEST, "/manifest", i) != NULL);
	CHECK(cache_get(CACHE_PARQUET_PAGE, "/large", 89) == NULL);
	for (int i = 91; i < 100; i++)
		CHECK(cache_get(CACHE_PARQUET_PAGE, "/large", i) != NULL);
	CHECK(cache_size() <= 8 * 1024 * 1024);
	for (int i = 5; i < 12; i++)
		(void) put_bytes(CACHE_MANIFEST, "/manifest", i, "manifest", large);
	for (int i = 0; i < 100; i++)
		CHECK(cache_get(CACHE_PARQUET_PAGE, "/small", i) != NULL);
	CHECK(cache_get(CACHE_PARQUET_PAGE, "/large", 94) == NULL);
	CHECK(cache_get(CACHE_PARQUET_PAGE, "/large", 98) != NULL);
	CHECK(cache_get(CACHE_PARQUET_PAGE, "/large", 99) != NULL);
	for (int i = 0; i < 50; i++)
		(void) put_bytes(CACHE_MANIFEST, "/manifest", i, "manifest", large);
	CHECK(cache_get(CACHE_PARQUET_PAGE, "/small", 0) == NULL);
	CHECK(cache_size() <= 8 * 1024 * 1024);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(scratch);
}

/* A value that is dropped while it is in use stays until then; so does one too large to be kept. */
static void
test_uses(void)
{
	MemoryContext use = AllocSetContextCreate(CurrentMemoryContext, "use", ALLOCSET_DEFAULT_SIZES);
	MemoryContext other = AllocSetContextCreate(CurrentMemoryContext, "other use", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(use);
	const char *value;

	reset_cache(1024);
	value = put(CACHE_PARQUET_PAGE, "/a", 1, "kept");
	MemoryContextSwitchTo(other);
	CHECK(cache_get(CACHE_PARQUET_PAGE, "/a", 1) == value);
	MemoryContextReset(other);
	reset_cache(1);
	CHECK(cache_get(CACHE_PARQUET_PAGE, "/a", 1) == NULL);
	CHECK_STRING(value, "kept");
	MemoryContextReset(use);

	MemoryContextSwitchTo(use);
	value = put(CACHE_PARQUET_PAGE, "/a", 2, "large");
	CHECK_INT(cache_size(), 0);
	CHECK_STRING(value, "large");
	MemoryContextSwitchTo(old);
	MemoryContextDelete(use);
	MemoryContextDelete(other);
}

/* A value whose making fails is gone with the context it was begun in. */
static void
test_abandoned(void)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "scratch", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(scratch);

	reset_cache(1024);
	(void) MemoryContextAlloc(cache_context_create(), VALUE_BYTES);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(scratch);
	CHECK_INT(cache_size(), 0);
}

int
main(void)
{
	unit_begin();
	RUN(test_keys);
	RUN(test_limit);
	RUN(test_large_pages);
	RUN(test_uses);
	RUN(test_abandoned);
	return unit_end();
}
