/*
 * history.h
 *		Tables that keep every change: a row for each, with what it was and when.
 */
#ifndef STREAMHOUSE_SYNC_HISTORY_H
#define STREAMHOUSE_SYNC_HISTORY_H

#include "replication/reorderbuffer.h"

#include "sync/row_source.h"
#include "sync/stream.h"

/* The fields that follow the source's columns. */
typedef enum HistoryField
{
	HISTORY_KIND,				/* '+I', '-U', '+U', '-D', or 'T' of a TRUNCATE */
	HISTORY_LSN,				/* of the change */
	HISTORY_COMMIT_LSN,			/* where its transaction ends */
	HISTORY_COMMIT_TIME,
	HISTORY_FIELDS
} HistoryField;

/* One of them; its name and type are allocated. */
extern DataField history_field(HistoryField field);

/* Fill them in behind ncolumns fields; commit_time 0 is unknown. */
extern void history_describe(Scalar *row, int ncolumns, const char *kind, XLogRecPtr lsn, XLogRecPtr commit_lsn,
							 TimestampTz commit_time);

/* Append what a change or a TRUNCATE is to the table's history. */
extern void history_apply(SyncStream *stream, SyncRelation *source, const ReorderBufferChange *change);
extern void history_truncate(SyncStream *stream, SyncRelation *source, const ReorderBufferChange *change);

#endif							/* STREAMHOUSE_SYNC_HISTORY_H */
