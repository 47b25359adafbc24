/*
 * remote.h
 *		Connections to the server of a sync whose source is elsewhere.
 *
 * libpq, never blocking: the process's latch is waited for together with the
 * socket, so that it can be interrupted.  A connection lives in the memory
 * context it was made in, and is closed with it.
 */
#ifndef STREAMHOUSE_SYNC_REMOTE_H
#define STREAMHOUSE_SYNC_REMOTE_H

#include "postgres.h"

#include "sync/sync_catalog.h"

typedef struct RemoteConnection RemoteConnection;

/* Rows of a query, as text. */
typedef struct RemoteRows
{
	int			nrows;
	int			ncolumns;
	char	  **values;			/* row by row; NULL: null */
} RemoteRows;

/*
 * Connect to the sync's source; replication: for commands of the replication
 * protocol.  Sessions have the settings that make values the same wherever
 * they come from.  ERROR, with the server's message, when it cannot be.
 */
extern RemoteConnection *remote_connect(const SyncRecord *sync, bool replication);

/* One for queries, which a worker keeps as long as it runs. */
extern RemoteConnection *remote_session(const SyncRecord *sync);

/* Before its context ends. */
extern void remote_close(RemoteConnection *remote);

/* Of the server: 150004 is 15.4. */
extern int	remote_version(const RemoteConnection *remote);

/*
 * Run a query, or a command of the replication protocol; results are in CurrentMemoryContext.
 * ERROR when there is no answer within wal_receiver_timeout.
 */
extern RemoteRows *remote_query(RemoteConnection *remote, const char *query);

/* The same of one that may have to wait for transactions there. */
extern RemoteRows *remote_query_patiently(RemoteConnection *remote, const char *query);

static inline char *
remote_value(const RemoteRows *rows, int row, int column)
{
	return rows->values[row * rows->ncolumns + column];
}

/* A value of a row that must not be null. */
extern char *remote_text(const RemoteRows *rows, int row, int column);
extern Oid	remote_oid(const RemoteRows *rows, int row, int column);
extern int64 remote_int(const RemoteRows *rows, int row, int column);
extern bool remote_bool(const RemoteRows *rows, int row, int column);
extern XLogRecPtr remote_lsn(const RemoteRows *rows, int row, int column);

/* Begin a COPY TO STDOUT, or replication. */
extern void remote_copy_begin(RemoteConnection *remote, const char *command);

/*
 * The next message of it: its length, -1 at the end.  wait: until there is one; otherwise
 * 0 if there is none.  *data is valid until the next call.
 */
extern int	remote_copy_next(RemoteConnection *remote, bool wait, char **data);

/* Send a message while replicating. */
extern void remote_copy_send(RemoteConnection *remote, const char *data, int length);

/* Sleep until something comes, the latch is set, or the time has passed. */
extern void remote_wait(RemoteConnection *remote, long milliseconds);

/*
 * What may be shown of a connection string: where it leads.  ERROR unless it can be
 * used, by this role.
 */
extern char *remote_label(const char *connection, Oid owner);

#endif							/* STREAMHOUSE_SYNC_REMOTE_H */
