/*
 * scan_memory.h
 *		Large pieces of memory that hold bytes of files while they are read.
 *
 * A scan needs some megabytes for each of its columns, for a moment.  From the
 * system such memory comes page by page, with a fault for each, which takes
 * longer than to fill it; so some of what one scan gives back is kept for the
 * next one of the process.
 */
#ifndef STREAMHOUSE_SCAN_MEMORY_H
#define STREAMHOUSE_SCAN_MEMORY_H

#include "postgres.h"

/*
 * So much is kept at most.  Nothing is under the sanitizer, so that it sees who
 * still looks at what was given back.
 */
#ifdef __SANITIZE_ADDRESS__
#define SCAN_MEMORY_IDLE_BYTES ((size_t) 0)
#else
#define SCAN_MEMORY_IDLE_BYTES ((size_t) 32 * 1024 * 1024)
#endif

typedef struct ScanMemory ScanMemory;

/* One whose pieces all go back when CurrentMemoryContext is reset or deleted. */
extern ScanMemory *scan_memory_create(void);

/* A piece of at least size bytes, aligned as by palloc, with anything in it. */
extern void *scan_memory_take(ScanMemory *memory, size_t size);

/* Give a piece back before that; NULL is allowed. */
extern void scan_memory_give(void *piece);

/* For tests: the bytes kept for later scans. */
extern size_t scan_memory_idle(void);

#endif							/* STREAMHOUSE_SCAN_MEMORY_H */
