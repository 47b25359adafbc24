/*
 * refresh.h
 *		Tables that are added to a publication join its syncs by themselves.
 */
#ifndef STREAMHOUSE_WORKER_REFRESH_H
#define STREAMHOUSE_WORKER_REFRESH_H

#include "postgres.h"

/* Look once.  Outside any transaction. */
extern void refresh_syncs(void);

#endif							/* STREAMHOUSE_WORKER_REFRESH_H */
