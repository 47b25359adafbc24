/*
 * test_scan_memory.c
 *		Memory of scans: given back with its context, used again, bounded.
 */
#include "postgres.h"

#include "storage/scan_memory.h"
#include "utils/memutils.h"

#include "unit.h"

#define MEGABYTE ((size_t) 1024 * 1024)
#define PIECES 40

static size_t
kept(size_t bytes)
{
	return SCAN_MEMORY_IDLE_BYTES == 0 ? 0 : bytes;
}

/* What nobody gave back goes back with the context, as after an error. */
static void
test_contexts(void)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "scratch", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(scratch);
	ScanMemory *memory = scan_memory_create();
	char	   *first = scan_memory_take(memory, MEGABYTE);
	char	   *second = scan_memory_take(memory, MEGABYTE);
	char	   *small = scan_memory_take(memory, 100);

	MemoryContextSwitchTo(old);
	CHECK(first == (char *) MAXALIGN(first));
	memset(first, 1, MEGABYTE);
	memset(second, 2, MEGABYTE);
	memset(small, 3, 100);
	CHECK(first[MEGABYTE - 1] == 1);
	scan_memory_give(second);
	scan_memory_give(NULL);
	CHECK_INT(scan_memory_idle(), kept(MEGABYTE));
	MemoryContextReset(scratch);
	CHECK_INT(scan_memory_idle(), kept(2 * MEGABYTE));
	MemoryContextDelete(scratch);
	CHECK_INT(scan_memory_idle(), kept(2 * MEGABYTE));
}

static void
test_reuse(void)
{
	ScanMemory *memory = scan_memory_create();
	size_t		idle = scan_memory_idle();
	char	   *piece;

	/* not of a piece that is much larger, nor smaller */
	scan_memory_give(scan_memory_take(memory, MEGABYTE / 8));
	CHECK_INT(scan_memory_idle(), kept(idle + MEGABYTE / 8));
	piece = scan_memory_take(memory, 3 * MEGABYTE);
	CHECK_INT(scan_memory_idle(), kept(idle + MEGABYTE / 8));
	scan_memory_give(piece);
	idle = scan_memory_idle();
	piece = scan_memory_take(memory, 2 * MEGABYTE);
	CHECK_INT(scan_memory_idle(), kept(idle - 3 * MEGABYTE));
	memset(piece, 0, 2 * MEGABYTE);
	scan_memory_give(piece);
	CHECK_INT(scan_memory_idle(), idle);
}

static void
test_limit(void)
{
	ScanMemory *memory = scan_memory_create();
	void	   *pieces[PIECES];

	for (int i = 0; i < PIECES; i++)
		pieces[i] = scan_memory_take(memory, MEGABYTE);
	for (int i = 0; i < PIECES; i++)
		scan_memory_give(pieces[i]);
	CHECK_INT(scan_memory_idle(), SCAN_MEMORY_IDLE_BYTES);
	/* one that would take the place of most others is not kept */
	scan_memory_give(scan_memory_take(memory, SCAN_MEMORY_IDLE_BYTES));
	CHECK_INT(scan_memory_idle(), SCAN_MEMORY_IDLE_BYTES);
}

int
main(void)
{
	unit_begin();
	RUN(test_contexts);
	RUN(test_reuse);
	RUN(test_limit);
	return unit_end();
}
