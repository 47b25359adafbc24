/*
 * monitor.h
 *		How a sync at work talks to whoever runs it.
 */
#ifndef STREAMHOUSE_SYNC_MONITOR_H
#define STREAMHOUSE_SYNC_MONITOR_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "datatype/timestamp.h"

#include "sync/sync_catalog.h"

typedef struct SyncMonitor
{
	/* May the sync go on?  Asked often. */
	bool		(*wanted) (void);

	/* The position that somebody waits for, so that the flush interval does not count. */
	XLogRecPtr	(*flush_request) (void);

	/* Does somebody wait to know where a source elsewhere is?  And where it was no earlier than then, and from where on it keeps WAL. */
	bool		(*position_wanted) (void);
	void		(*source_position) (TimestampTz since, XLogRecPtr end, XLogRecPtr restart);

	/* So many more rows are in the lake. */
	void		(*rows_written) (int64 rows);

	/*
	 * All that was committed up to here is in the lake; commit_time is that of
	 * the newest transaction, 0 when none was added.
	 */
	void		(*reached) (XLogRecPtr visible, TimestampTz commit_time);

	/* Does the sync get no further because standbys do not, that are to take over without loss? */
	void		(*awaits_standbys) (bool awaits);

	/*
	 * Is all of the table in the lake that its copy has to bring?  Then rows
	 * may be newer than the stream until it has passed *position.
	 */
	bool		(*copy_finished) (const SyncTableRecord *table, XLogRecPtr *position);

	/* The stream leaves out the table, and wants to be started again when its copy is finished. */
	void		(*deferred) (const SyncTableRecord *table);

	/* Call a function in a transaction of its own; outside decoding. */
	void		(*in_transaction) (void (*function) (void *arg), void *arg);

	/* All is well, whatever happened before. */
	void		(*healthy) (void);
} SyncMonitor;

#endif							/* STREAMHOUSE_SYNC_MONITOR_H */
