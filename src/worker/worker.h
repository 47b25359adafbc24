/*
 * worker.h
 *		The background processes: one launcher for the server, a maintenance
 *		worker for each database with the extension, and a worker for each sync,
 *		with others beside it while tables are copied.
 */
#ifndef STREAMHOUSE_WORKER_H
#define STREAMHOUSE_WORKER_H

#include "postgres.h"

/* As pg_stat_activity.backend_type shows them. */
#define LAUNCHER_TYPE "streamhouse launcher"
#define MAINTENANCE_TYPE "streamhouse maintenance"
#define SYNC_TYPE "streamhouse sync"
#define COPY_TYPE "streamhouse copy"

/* Reserve shared memory and register the launcher; from _PG_init while preloading. */
extern void worker_init(void);

/*
 * What the current transaction asks of the workers, done when it commits:
 * start, stop or restart a sync, start this database's maintenance worker.
 */
extern void worker_start_sync_at_commit(const char *slot, const char *name);
extern void worker_stop_sync_at_commit(const char *slot);
extern void worker_restart_sync_at_commit(const char *slot);
extern void worker_start_maintenance_at_commit(void);

/* Set the signal handlers that all our workers have, and begin to receive signals. */
extern void worker_handle_signals(void);

/* Reload the configuration if asked to. */
extern void worker_handle_reload(void);

/*
 * Make and take down a transaction with an active snapshot; afterwards the
 * context given and the resource owner of before are current.
 */
extern void worker_begin_transaction(void);
extern void worker_end_transaction(MemoryContext context);

/* The same after an error. */
extern void worker_abort_transaction(MemoryContext context);

/* Call a function in a transaction of its own.  An error is returned rather than raised, in the context that is current. */
extern ErrorData *worker_attempt(void (*function) (void *arg), void *arg);

/* Settings of users are not for processes that read source tables. */
extern void worker_fix_settings(void);

/*
 * Let a context go when the process ends, if there is one then: unpublished
 * files are removed with the memory of their writers.
 */
extern void worker_delete_at_exit(MemoryContext *context);

/* Is the extension installed in this database?  In a transaction. */
extern bool worker_extension_exists(void);

/* Entry points, by name in the library. */
extern PGDLLEXPORT void streamhouse_launcher_main(Datum argument);
extern PGDLLEXPORT void streamhouse_maintenance_main(Datum argument);
extern PGDLLEXPORT void streamhouse_sync_main(Datum argument);
extern PGDLLEXPORT void streamhouse_copy_main(Datum argument);
extern PGDLLEXPORT void streamhouse_copy_helper_main(Datum argument);

#endif							/* STREAMHOUSE_WORKER_H */
