/*
 * scan_memory.c
 *		Large pieces of memory that hold bytes of files while they are read.
 *
 * Pieces lie in a context of the process.  One that is given back waits for a
 * scan that needs about as much; those that wait longest are freed when all
 * together are more than SCAN_MEMORY_IDLE_BYTES.
 */
#include "postgres.h"

#include "lib/ilist.h"
#include "port/pg_bitutils.h"
#include "storage/scan_memory.h"
#include "utils/memutils.h"

/* Smaller pieces cost few page faults; larger ones would take the place of all others. */
#define SMALLEST_KEPT (32 * 1024)
#define LARGEST_KEPT (SCAN_MEMORY_IDLE_BYTES / 4)

typedef struct Piece
{
	dlist_node	node;			/* of its ScanMemory, or of those that wait */
	size_t		capacity;		/* behind this header */
} Piece;

#define PIECE_HEADER MAXALIGN(sizeof(Piece))

struct ScanMemory
{
	MemoryContextCallback callback;
	dlist_head	pieces;
};

static MemoryContext pieces_context = NULL;
static dlist_head idle = DLIST_STATIC_INIT(idle);	/* what was given back last is first */
static size_t idle_bytes = 0;

static void
forget_idle(Piece *piece)
{
	dlist_delete(&piece->node);
	idle_bytes -= piece->capacity;
}

static void
give_back(Piece *piece)
{
	if (piece->capacity < SMALLEST_KEPT || piece->capacity > LARGEST_KEPT)
	{
		pfree(piece);
		return;
	}
	dlist_push_head(&idle, &piece->node);
	idle_bytes += piece->capacity;
	while (idle_bytes > SCAN_MEMORY_IDLE_BYTES)
	{
		Piece	   *oldest = dlist_tail_element(Piece, node, &idle);

		forget_idle(oldest);
		pfree(oldest);
	}
}

static void
give_all_back(void *arg)
{
	ScanMemory *memory = arg;

	while (!dlist_is_empty(&memory->pieces))
		give_back(dlist_container(Piece, node, dlist_pop_head_node(&memory->pieces)));
}

ScanMemory *
scan_memory_create(void)
{
	ScanMemory *memory = palloc(sizeof(ScanMemory));

	if (pieces_context == NULL)
		pieces_context = AllocSetContextCreate(TopMemoryContext, "streamhouse scan memory", ALLOCSET_DEFAULT_SIZES);
	dlist_init(&memory->pieces);
	memory->callback.func = give_all_back;
	memory->callback.arg = memory;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &memory->callback);
	return memory;
}

/* Sizes differ a little from page to page; with steps from a quarter to an eighth of them, the next one fits. */
static size_t
round_size(size_t size)
{
	size_t		step = ((size_t) 1 << pg_leftmost_one_pos64(size)) / 4;

	return (size + step - 1) / step * step;
}

/* The smallest that is large enough, but none so large that most of it would lie idle; NULL if there is none. */
static Piece *
find_idle(size_t size)
{
	Piece	   *best = NULL;
	dlist_iter	iter;

	if (size < SMALLEST_KEPT / 2)
		return NULL;
	dlist_foreach(iter, &idle)
	{
		Piece	   *piece = dlist_container(Piece, node, iter.cur);

		if (piece->capacity >= size && piece->capacity / 2 <= size &&
			(best == NULL || piece->capacity < best->capacity))
			best = piece;
	}
	return best;
}

void *
scan_memory_take(ScanMemory *memory, size_t size)
{
	Piece	   *piece = find_idle(size);

	if (piece != NULL)
		forget_idle(piece);
	else
	{
		if (size >= SMALLEST_KEPT)
			size = round_size(size);
		piece = MemoryContextAllocHuge(pieces_context, PIECE_HEADER + size);
		piece->capacity = size;
	}
	dlist_push_head(&memory->pieces, &piece->node);
	return (char *) piece + PIECE_HEADER;
}

void
scan_memory_give(void *memory)
{
	Piece	   *piece;

	if (memory == NULL)
		return;
	piece = (Piece *) ((char *) memory - PIECE_HEADER);
	dlist_delete(&piece->node);
	give_back(piece);
}

size_t
scan_memory_idle(void)
{
	return idle_bytes;
}
