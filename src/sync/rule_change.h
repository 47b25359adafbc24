/*
 * rule_change.h
 *		Other rules for the tables of a sync that is there.
 */
#ifndef STREAMHOUSE_SYNC_RULE_CHANGE_H
#define STREAMHOUSE_SYNC_RULE_CHANGE_H

#include "sync/sync_catalog.h"

typedef struct RuleChanges
{
	List	   *same;			/* SyncTableRecord *: another rule makes the same of them */
	List	   *again;			/* they have other rows: to be copied again */
	List	   *moved;			/* they go to another lake table: to be taken up anew */
	List	   *options;		/* OptionChange *: of lake tables that stay */
} RuleChanges;

/*
 * Let the sync have other rules, and its tables follow those that count for
 * their names now.  Tables that move are not among the sync's any more.  ERROR, naming all of
 * them, if tables cannot follow, or would have to be copied and copy is false.
 */
extern void rule_changes_find(SyncRecord *sync, List *rules, bool copy, RuleChanges *changes);

/* Change the options of lake tables, in the lake. */
extern void rule_changes_publish_options(const RuleChanges *changes);

#endif							/* STREAMHOUSE_SYNC_RULE_CHANGE_H */
