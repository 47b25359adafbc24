/*
 * reconcile.h
 *		Make the workers and slots of a database agree with its catalog.
 */
#ifndef STREAMHOUSE_WORKER_RECONCILE_H
#define STREAMHOUSE_WORKER_RECONCILE_H

#include "postgres.h"

/*
 * Start the syncs that should run, stop those that should not, drop the slots
 * of syncs that are no more.  False when the extension itself is gone.
 * Outside any transaction.
 */
extern bool reconcile_syncs(void);

#endif							/* STREAMHOUSE_WORKER_RECONCILE_H */
