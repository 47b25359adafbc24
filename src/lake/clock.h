/*
 * clock.h
 *		Times as Paimon writes them.
 */
#ifndef STREAMHOUSE_CLOCK_H
#define STREAMHOUSE_CLOCK_H

#include "postgres.h"

/* Milliseconds since 1970. */
extern int64 clock_millis(void);

/* The local wall clock's time as if it were UTC: of data files (format digest 4.4). */
extern int64 clock_local_millis(void);

#endif							/* STREAMHOUSE_CLOCK_H */
