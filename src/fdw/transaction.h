/*
 * transaction.h
 *		The writing side of a transaction: a writer per lake table.
 *
 * What scans need of it is in fdw.h.
 */
#ifndef STREAMHOUSE_FDW_TRANSACTION_H
#define STREAMHOUSE_FDW_TRANSACTION_H

#include "fdw/fdw.h"
#include "lake/writer.h"

/*
 * The transaction's writer of a table, ready for rows of the current
 * subtransaction.  Ask anew in each statement: a rolled back subtransaction
 * may have closed the writer it opened.
 */
extern TableWriter *transaction_writer(const TableAddress *address, LakeTable *table);

/* Let sessions of this server queue for a table's commits (lake_commit_lock_hook). */
extern void transaction_init(void);

#endif							/* STREAMHOUSE_FDW_TRANSACTION_H */
