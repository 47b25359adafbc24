/*
 * pending_files.h
 *		Files written but not yet named by any snapshot.
 *
 * Nothing refers to them, so whoever wrote them must remove them when he
 * fails.  A registry belongs to a memory context: when that is reset or
 * deleted (an ERROR, an abort, a close), the files that are still registered
 * are removed.
 */
#ifndef STREAMHOUSE_PENDING_FILES_H
#define STREAMHOUSE_PENDING_FILES_H

#include "postgres.h"

typedef struct PendingFiles PendingFiles;

/* A registry that belongs to CurrentMemoryContext. */
extern PendingFiles *pending_files_create(void);

/* Register a file by its full path, which is copied. */
extern void pending_files_add(PendingFiles *files, const char *path);

/* Remove one registered file now, without raising. */
extern void pending_files_remove(PendingFiles *files, const char *path);

/* The other's files are this one's from now on. */
extern void pending_files_take(PendingFiles *files, PendingFiles *other);

/* How many are registered; and remove all but the first so many, without raising. */
extern int	pending_files_count(const PendingFiles *files);
extern void pending_files_cut(PendingFiles *files, int count);

/*
 * While held, nothing is removed, whatever happens: used around a publication
 * whose outcome is not known yet.
 */
extern void pending_files_hold(PendingFiles *files, bool hold);

/* All registered files are published (or are somebody else's now): forget them. */
extern void pending_files_forget(PendingFiles *files);

#endif							/* STREAMHOUSE_PENDING_FILES_H */
