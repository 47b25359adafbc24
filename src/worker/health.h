/*
 * health.h
 *		Alerts when a sync of the database becomes late, fails, or recovers.
 */
#ifndef STREAMHOUSE_HEALTH_H
#define STREAMHOUSE_HEALTH_H

/*
 * Compare the health of each sync with that of the last call; tell of changes
 * in the log and on the channel streamhouse_health.  Outside any transaction;
 * looks once a second at most.
 */
extern void health_check(void);

#endif							/* STREAMHOUSE_HEALTH_H */
