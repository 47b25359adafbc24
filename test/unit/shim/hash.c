/*
 * hash.c
 *		The server's hash tables (utils/hsearch.h), private ones only.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#define FIRST_BUCKETS 64
#define ELEMENT_DATA(element) ((char *) (element) + MAXALIGN(sizeof(HASHELEMENT)))
#define ELEMENT_OF(entry) ((HASHELEMENT *) ((char *) (entry) - MAXALIGN(sizeof(HASHELEMENT))))

struct HTAB
{
	MemoryContext context;
	HashValueFunc hash;
	HashCompareFunc match;
	HashCopyFunc keycopy;
	Size		keysize;
	Size		entrysize;
	HASHELEMENT **buckets;
	uint32		nbuckets;		/* a power of two */
	long		nentries;
	int			scans;			/* under way: buckets must not split */
};

static void *
copy_string(void *dest, const void *src, Size size)
{
	strlcpy((char *) dest, (const char *) src, size);
	return dest;
}

static int
compare_strings(const void *a, const void *b, Size size)
{
	return strncmp((const char *) a, (const char *) b, size - 1);
}

HTAB *
hash_create(const char *tabname, long nelem, const HASHCTL *info, int flags)
{
	MemoryContext context;
	HTAB	   *table;

	context = AllocSetContextCreateInternal((flags & HASH_CONTEXT) ? info->hcxt : TopMemoryContext,
											tabname, ALLOCSET_DEFAULT_SIZES);
	table = (HTAB *) MemoryContextAllocZero(context, sizeof(HTAB));
	table->context = context;
	table->keysize = info->keysize;
	table->entrysize = info->entrysize;
	table->hash = (flags & HASH_FUNCTION) ? info->hash :
		((flags & HASH_BLOBS) ? tag_hash : string_hash);
	table->match = (flags & HASH_COMPARE) ? info->match :
		(table->hash == string_hash ? compare_strings : memcmp);
	table->keycopy = (flags & HASH_KEYCOPY) ? info->keycopy :
		(table->hash == string_hash ? copy_string : (HashCopyFunc) memcpy);
	table->nbuckets = FIRST_BUCKETS;
	table->buckets = (HASHELEMENT **)
		MemoryContextAllocZero(context, table->nbuckets * sizeof(HASHELEMENT *));
	return table;
}

void
hash_destroy(HTAB *hashp)
{
	if (hashp != NULL)
		MemoryContextDelete(hashp->context);
}

static void
double_buckets(HTAB *table)
{
	uint32		nbuckets = table->nbuckets * 2;
	HASHELEMENT **buckets = (HASHELEMENT **)
		MemoryContextAllocExtended(table->context, nbuckets * sizeof(HASHELEMENT *),
								   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	for (uint32 i = 0; i < table->nbuckets; i++)
	{
		HASHELEMENT *element = table->buckets[i];

		while (element != NULL)
		{
			HASHELEMENT *next = element->link;
			uint32		bucket = element->hashvalue & (nbuckets - 1);

			element->link = buckets[bucket];
			buckets[bucket] = element;
			element = next;
		}
	}
	pfree(table->buckets);
	table->buckets = buckets;
	table->nbuckets = nbuckets;
}

static HASHELEMENT *
enter(HTAB *table, const void *key, uint32 hash)
{
	HASHELEMENT *element = (HASHELEMENT *)
		MemoryContextAlloc(table->context, MAXALIGN(sizeof(HASHELEMENT)) + table->entrysize);
	uint32		bucket;

	if (table->nentries >= table->nbuckets && table->scans == 0)
		double_buckets(table);
	bucket = hash & (table->nbuckets - 1);
	element->hashvalue = hash;
	element->link = table->buckets[bucket];
	table->buckets[bucket] = element;
	table->keycopy(ELEMENT_DATA(element), key, table->keysize);
	table->nentries++;
	return element;
}

uint32
get_hash_value(HTAB *hashp, const void *keyPtr)
{
	return hashp->hash(keyPtr, hashp->keysize);
}

void *
hash_search(HTAB *hashp, const void *keyPtr, HASHACTION action, bool *foundPtr)
{
	return hash_search_with_hash_value(hashp, keyPtr, get_hash_value(hashp, keyPtr),
									   action, foundPtr);
}

void *
hash_search_with_hash_value(HTAB *hashp, const void *keyPtr, uint32 hashvalue,
							HASHACTION action, bool *foundPtr)
{
	HASHELEMENT **link = &hashp->buckets[hashvalue & (hashp->nbuckets - 1)];

	while (*link != NULL &&
		   ((*link)->hashvalue != hashvalue ||
			hashp->match(ELEMENT_DATA(*link), keyPtr, hashp->keysize) != 0))
		link = &(*link)->link;

	if (foundPtr != NULL)
		*foundPtr = *link != NULL;
	if (*link == NULL)
	{
		if (action == HASH_FIND || action == HASH_REMOVE)
			return NULL;
		return ELEMENT_DATA(enter(hashp, keyPtr, hashvalue));
	}
	if (action == HASH_REMOVE)
	{
		HASHELEMENT *removed = *link;

		/* the memory stays until the table goes: callers may still look at it */
		*link = removed->link;
		hashp->nentries--;
		return ELEMENT_DATA(removed);
	}
	return ELEMENT_DATA(*link);
}

long
hash_get_num_entries(HTAB *hashp)
{
	return hashp->nentries;
}

static void
next_bucket(HASH_SEQ_STATUS *status)
{
	while (status->curEntry == NULL && status->curBucket < status->hashp->nbuckets)
		status->curEntry = status->hashp->buckets[status->curBucket++];
}

void
hash_seq_init(HASH_SEQ_STATUS *status, HTAB *hashp)
{
	status->hashp = hashp;
	status->curBucket = 0;
	status->curEntry = NULL;
	hashp->scans++;
	next_bucket(status);
}

/* The successor is found before an entry is given out: it may be removed. */
void *
hash_seq_search(HASH_SEQ_STATUS *status)
{
	HASHELEMENT *element = status->curEntry;

	if (element == NULL)
	{
		hash_seq_term(status);
		return NULL;
	}
	status->curEntry = element->link;
	next_bucket(status);
	return ELEMENT_DATA(element);
}

void
hash_seq_term(HASH_SEQ_STATUS *status)
{
	status->hashp->scans--;
}
