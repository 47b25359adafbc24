/*
 * drop_database.h
 *		DROP DATABASE with workers in the database.
 */
#ifndef STREAMHOUSE_WORKER_DROP_DATABASE_H
#define STREAMHOUSE_WORKER_DROP_DATABASE_H

/* Install the hook; while preloading. */
extern void drop_database_init(void);

#endif							/* STREAMHOUSE_WORKER_DROP_DATABASE_H */
