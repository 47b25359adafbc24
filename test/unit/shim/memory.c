/*
 * memory.c
 *		Memory contexts without a server.
 *
 * Every chunk is a malloc of its own, so that AddressSanitizer sees each
 * overrun and each use after a reset.  Contexts nest, reset, delete and call
 * back as the server's do; the different allocators are all this one.
 */
#include "postgres.h"

#include "nodes/memnodes.h"
#include "utils/memutils.h"

#include "shim.h"

typedef struct Chunk
{
	struct Chunk *next;
	struct Chunk *previous;
	Size		size;
	MemoryContext context;		/* must lie just before the data: PG 15 looks there */
} Chunk;

typedef struct ShimContext
{
	MemoryContextData base;
	Chunk	   *chunks;
	char	   *name;
} ShimContext;

#define CHUNK_OF(pointer) ((Chunk *) ((char *) (pointer) - sizeof(Chunk)))
#define DATA_OF(chunk) ((void *) ((char *) (chunk) + sizeof(Chunk)))

/* New memory holds garbage, the more so in tests. */
#define GARBAGE 0x7F
#define GARBAGE_BYTES 4096

MemoryContext CurrentMemoryContext = NULL;
MemoryContext TopMemoryContext = NULL;
MemoryContext ErrorContext = NULL;
MemoryContext PostmasterContext = NULL;
MemoryContext CacheMemoryContext = NULL;
MemoryContext MessageContext = NULL;
MemoryContext TopTransactionContext = NULL;
MemoryContext CurTransactionContext = NULL;
MemoryContext PortalContext = NULL;

/* What all contexts hold, what they may, and the first allocation beyond that */
static Size live_bytes = 0;
static Size limit_bytes = 0;
static Size refused_bytes = 0;

void
shim_limit_memory(Size bytes)
{
	limit_bytes = bytes > 0 ? live_bytes + bytes : 0;
	if (bytes > 0)
		refused_bytes = 0;
}

Size
shim_refused_bytes(void)
{
	return refused_bytes;
}

/* ---- contexts ---- */

static MemoryContext
context_create(MemoryContext parent, const char *name)
{
	ShimContext *context = (ShimContext *) calloc(1, sizeof(ShimContext));

	if (context == NULL)
		abort();
	context->base.type = T_AllocSetContext;
	context->base.isReset = true;
	context->name = strdup(name);
	context->base.name = context->name;
	MemoryContextSetParent(&context->base, parent);
	return &context->base;
}

void
MemoryContextInit(void)
{
	TopMemoryContext = context_create(NULL, "TopMemoryContext");
	ErrorContext = context_create(TopMemoryContext, "ErrorContext");
	CacheMemoryContext = context_create(TopMemoryContext, "CacheMemoryContext");
	TopTransactionContext = context_create(TopMemoryContext, "TopTransactionContext");
	CurTransactionContext = TopTransactionContext;
	CurrentMemoryContext = TopMemoryContext;
}

MemoryContext
AllocSetContextCreateInternal(MemoryContext parent, const char *name,
							  Size minContextSize, Size initBlockSize, Size maxBlockSize)
{
	return context_create(parent, name);
}

MemoryContext
SlabContextCreate(MemoryContext parent, const char *name, Size blockSize, Size chunkSize)
{
	return context_create(parent, name);
}

MemoryContext
GenerationContextCreate(MemoryContext parent, const char *name,
						Size minContextSize, Size initBlockSize, Size maxBlockSize)
{
	return context_create(parent, name);
}

void
MemoryContextSetIdentifier(MemoryContext context, const char *id)
{
	context->ident = id;
}

MemoryContext
MemoryContextGetParent(MemoryContext context)
{
	return context->parent;
}

static void
unlink_context(MemoryContext context)
{
	if (context->prevchild != NULL)
		context->prevchild->nextchild = context->nextchild;
	else if (context->parent != NULL)
		context->parent->firstchild = context->nextchild;
	if (context->nextchild != NULL)
		context->nextchild->prevchild = context->prevchild;
	context->prevchild = NULL;
	context->nextchild = NULL;
	context->parent = NULL;
}

void
MemoryContextSetParent(MemoryContext context, MemoryContext new_parent)
{
	unlink_context(context);
	if (new_parent == NULL)
		return;
	context->parent = new_parent;
	context->nextchild = new_parent->firstchild;
	if (new_parent->firstchild != NULL)
		new_parent->firstchild->prevchild = context;
	new_parent->firstchild = context;
}

void
MemoryContextRegisterResetCallback(MemoryContext context, MemoryContextCallback *cb)
{
	cb->next = context->reset_cbs;
	context->reset_cbs = cb;
	context->isReset = false;
}

static void
call_reset_callbacks(MemoryContext context)
{
	MemoryContextCallback *callback;

	while ((callback = context->reset_cbs) != NULL)
	{
		context->reset_cbs = callback->next;
		callback->func(callback->arg);
	}
}

static void
free_chunks(ShimContext *context)
{
	Chunk	   *chunk = context->chunks;

	while (chunk != NULL)
	{
		Chunk	   *next = chunk->next;

		free(chunk);
		chunk = next;
	}
	context->chunks = NULL;
	live_bytes -= context->base.mem_allocated;
	context->base.mem_allocated = 0;
}

void
MemoryContextResetOnly(MemoryContext context)
{
	call_reset_callbacks(context);
	free_chunks((ShimContext *) context);
	context->isReset = true;
}

void
MemoryContextReset(MemoryContext context)
{
	MemoryContextDeleteChildren(context);
	MemoryContextResetOnly(context);
}

void
MemoryContextResetChildren(MemoryContext context)
{
	for (MemoryContext child = context->firstchild; child != NULL; child = child->nextchild)
	{
		MemoryContextResetChildren(child);
		MemoryContextResetOnly(child);
	}
}

void
MemoryContextDelete(MemoryContext context)
{
	ShimContext *shim = (ShimContext *) context;

	if (context == CurrentMemoryContext || context == TopMemoryContext)
	{
		fprintf(stderr, "deleting the current memory context \"%s\"\n", context->name);
		abort();
	}
	MemoryContextDeleteChildren(context);
	call_reset_callbacks(context);
	unlink_context(context);
	free_chunks(shim);
	free(shim->name);
	free(shim);
}

void
MemoryContextDeleteChildren(MemoryContext context)
{
	while (context->firstchild != NULL)
		MemoryContextDelete(context->firstchild);
}

bool
MemoryContextIsEmpty(MemoryContext context)
{
	return context->firstchild == NULL && ((ShimContext *) context)->chunks == NULL;
}

Size
MemoryContextMemAllocated(MemoryContext context, bool recurse)
{
	Size		total = context->mem_allocated;

	if (recurse)
	{
		for (MemoryContext child = context->firstchild; child != NULL; child = child->nextchild)
			total += MemoryContextMemAllocated(child, true);
	}
	return total;
}

void
MemoryContextAllowInCriticalSection(MemoryContext context, bool allow)
{
	context->allowInCritSection = allow;
}

/* ---- chunks ---- */

static void
link_chunk(Chunk *chunk, MemoryContext context)
{
	ShimContext *shim = (ShimContext *) context;

	chunk->context = context;
	chunk->previous = NULL;
	chunk->next = shim->chunks;
	if (shim->chunks != NULL)
		shim->chunks->previous = chunk;
	shim->chunks = chunk;
	context->mem_allocated += chunk->size;
	live_bytes += chunk->size;
	context->isReset = false;
}

static void
unlink_chunk(Chunk *chunk)
{
	ShimContext *shim = (ShimContext *) chunk->context;

	if (chunk->previous != NULL)
		chunk->previous->next = chunk->next;
	else
		shim->chunks = chunk->next;
	if (chunk->next != NULL)
		chunk->next->previous = chunk->previous;
	shim->base.mem_allocated -= chunk->size;
	live_bytes -= chunk->size;
}

static void
check_size(Size size, bool huge)
{
	if (!(huge ? AllocHugeSizeIsValid(size) : AllocSizeIsValid(size)))
		elog(ERROR, "invalid memory alloc request size %zu", size);
}

static void
out_of_memory(Size size)
{
	ereport(ERROR,
			(errcode(ERRCODE_OUT_OF_MEMORY),
			 errmsg("out of memory"),
			 errdetail("Failed on request of size %zu.", size)));
}

static void
check_limit(Size size)
{
	if (limit_bytes == 0 || live_bytes + size <= limit_bytes)
		return;
	if (refused_bytes == 0)
		refused_bytes = size;
	out_of_memory(size);
}

void *
MemoryContextAllocExtended(MemoryContext context, Size size, int flags)
{
	Chunk	   *chunk;

	check_size(size, (flags & MCXT_ALLOC_HUGE) != 0);
	check_limit(size);
	chunk = (Chunk *) malloc(sizeof(Chunk) + size);
	if (chunk == NULL)
	{
		if ((flags & MCXT_ALLOC_NO_OOM) == 0)
			out_of_memory(size);
		return NULL;
	}
	chunk->size = size;
	link_chunk(chunk, context);
	if (flags & MCXT_ALLOC_ZERO)
		memset(DATA_OF(chunk), 0, size);
	else
		memset(DATA_OF(chunk), GARBAGE, Min(size, GARBAGE_BYTES));
	return DATA_OF(chunk);
}

void *
MemoryContextAlloc(MemoryContext context, Size size)
{
	return MemoryContextAllocExtended(context, size, 0);
}

void *
MemoryContextAllocZero(MemoryContext context, Size size)
{
	return MemoryContextAllocExtended(context, size, MCXT_ALLOC_ZERO);
}

void *
MemoryContextAllocZeroAligned(MemoryContext context, Size size)
{
	return MemoryContextAllocExtended(context, size, MCXT_ALLOC_ZERO);
}

void *
MemoryContextAllocHuge(MemoryContext context, Size size)
{
	return MemoryContextAllocExtended(context, size, MCXT_ALLOC_HUGE);
}

void *
palloc(Size size)
{
	return MemoryContextAllocExtended(CurrentMemoryContext, size, 0);
}

void *
palloc0(Size size)
{
	return MemoryContextAllocExtended(CurrentMemoryContext, size, MCXT_ALLOC_ZERO);
}

void *
palloc_extended(Size size, int flags)
{
	return MemoryContextAllocExtended(CurrentMemoryContext, size, flags);
}

void
pfree(void *pointer)
{
	Chunk	   *chunk = CHUNK_OF(pointer);

	unlink_chunk(chunk);
	free(chunk);
}

/* Always moves, so that nobody can rely on staying. */
void *
repalloc_extended(void *pointer, Size size, int flags)
{
	Chunk	   *chunk = CHUNK_OF(pointer);
	void	   *moved = MemoryContextAllocExtended(chunk->context, size, flags);

	if (moved != NULL)
	{
		memcpy(moved, pointer, Min(size, chunk->size));
		pfree(pointer);
	}
	return moved;
}

void *
repalloc(void *pointer, Size size)
{
	return repalloc_extended(pointer, size, 0);
}

void *
repalloc_huge(void *pointer, Size size)
{
	return repalloc_extended(pointer, size, MCXT_ALLOC_HUGE);
}

void *
repalloc0(void *pointer, Size oldsize, Size size)
{
	char	   *moved = (char *) repalloc(pointer, size);

	if (size > oldsize)
		memset(moved + oldsize, 0, size - oldsize);
	return moved;
}

Size
GetMemoryChunkSpace(void *pointer)
{
	return CHUNK_OF(pointer)->size + sizeof(Chunk);
}

#if PG_VERSION_NUM >= 160000
MemoryContext
GetMemoryChunkContext(void *pointer)
{
	return CHUNK_OF(pointer)->context;
}
#endif

#if PG_VERSION_NUM >= 170000
MemoryContext
BumpContextCreate(MemoryContext parent, const char *name,
				  Size minContextSize, Size initBlockSize, Size maxBlockSize)
{
	return context_create(parent, name);
}
#endif

/* ---- sizes and strings ---- */

Size
add_size(Size s1, Size s2)
{
	Size		result;

	if (__builtin_add_overflow(s1, s2, &result))
		elog(ERROR, "invalid memory allocation request size %zu + %zu", s1, s2);
	return result;
}

Size
mul_size(Size s1, Size s2)
{
	Size		result;

	if (__builtin_mul_overflow(s1, s2, &result))
		elog(ERROR, "invalid memory allocation request size %zu * %zu", s1, s2);
	return result;
}

void *
palloc_mul(Size s1, Size s2)
{
	return palloc(mul_size(s1, s2));
}

void *
palloc0_mul(Size s1, Size s2)
{
	return palloc0(mul_size(s1, s2));
}

void *
palloc_mul_extended(Size s1, Size s2, int flags)
{
	return palloc_extended(mul_size(s1, s2), flags);
}

void *
repalloc_mul(void *p, Size s1, Size s2)
{
	return repalloc(p, mul_size(s1, s2));
}

void *
repalloc_mul_extended(void *p, Size s1, Size s2, int flags)
{
	return repalloc_extended(p, mul_size(s1, s2), flags);
}

char *
MemoryContextStrdup(MemoryContext context, const char *string)
{
	Size		length = strlen(string) + 1;

	return (char *) memcpy(MemoryContextAlloc(context, length), string, length);
}

char *
pstrdup(const char *in)
{
	return MemoryContextStrdup(CurrentMemoryContext, in);
}

char *
pnstrdup(const char *in, Size len)
{
	char	   *out;

	len = strnlen(in, len);
	out = (char *) palloc(len + 1);
	memcpy(out, in, len);
	out[len] = '\0';
	return out;
}
