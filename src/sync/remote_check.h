/*
 * remote_check.h
 *		What can be known to be wrong with a source elsewhere before a sync is made.
 */
#ifndef STREAMHOUSE_SYNC_REMOTE_CHECK_H
#define STREAMHOUSE_SYNC_REMOTE_CHECK_H

#include "sync/remote_catalog.h"

/* Takes a problem of a table ("schema.table"), or of the whole sync (NULL); a warning: the sync can be made all the same. */
typedef void (*RemoteProblemFunction) (void *arg, bool is_warning, const char *table, const char *text, const char *cure);

typedef struct RemotePublished
{
	const RemoteTable *table;
	const SyncTableRecord *mirror;	/* source and columns of it are filled in */
} RemotePublished;

/*
 * Check server, rights, publication and tables.  Fills in sync->remote_publish,
 * and returns the tables (RemotePublished *) of the publication, of which those that are new get mirrors.
 */
extern List *remote_check(SyncRecord *sync, RemoteProblemFunction report, void *arg);

/* Check whether the source can send messages, if rules keep them. */
extern void remote_check_messages(const SyncRecord *sync, RemoteProblemFunction report, void *arg);

#endif							/* STREAMHOUSE_SYNC_REMOTE_CHECK_H */
