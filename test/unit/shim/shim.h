/*
 * shim.h
 *		What unit tests may ask of the stand-in for the server.
 *
 * The shim gives the few services of the server that the lower layers use:
 * memory contexts, ereport, lists, hash tables, files.  They keep the server's
 * own headers and semantics, so the product's sources are compiled unchanged.
 */
#ifndef STREAMHOUSE_SHIM_H
#define STREAMHOUSE_SHIM_H

#include "postgres.h"

/* Text of the last WARNING, NOTICE or LOG since the last forget; NULL if none. */
extern const char *shim_last_message(void);
extern void shim_forget_messages(void);

/*
 * From now on refuse allocations with which memory contexts would hold so many
 * bytes more than they do now; 0: no limit.  And the size of the first one
 * that was refused since.
 */
extern void shim_limit_memory(Size bytes);
extern Size shim_refused_bytes(void);

/* Files opened by the fd.c stand-ins and not closed yet. */
extern int	shim_open_files(void);

#endif							/* STREAMHOUSE_SHIM_H */
