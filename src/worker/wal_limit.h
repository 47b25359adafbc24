/*
 * wal_limit.h
 *		The limit of the WAL that the slot of a sync may retain.
 */
#ifndef STREAMHOUSE_WAL_LIMIT_H
#define STREAMHOUSE_WAL_LIMIT_H

/* Give up the slots of this database's syncs that retain more than they may.  Outside any transaction. */
extern void wal_limits_enforce(void);

#endif							/* STREAMHOUSE_WAL_LIMIT_H */
