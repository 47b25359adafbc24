/*
 * metadata.h
 *		Columns of a lake table that say of each row where it came from.
 *
 * They follow the source's columns.  Tables with history have the first four,
 * and those whose rows stay when they are deleted the last one.
 */
#ifndef STREAMHOUSE_SYNC_METADATA_H
#define STREAMHOUSE_SYNC_METADATA_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "datatype/timestamp.h"

#include "columnar/vector.h"

typedef enum MetadataField
{
	METADATA_KIND,				/* '+I', '-U', '+U', '-D', or 'T' of a TRUNCATE */
	METADATA_LSN,				/* of the change */
	METADATA_COMMIT_LSN,		/* where its transaction ends */
	METADATA_COMMIT_TIME,
	METADATA_XID,
	METADATA_TABLE,				/* "schema.table" of the source */
	METADATA_DELETED,			/* is the row deleted? Where rules say so, under a name of theirs */
	METADATA_FIELDS
} MetadataField;

#define HISTORY_FIELDS 4

/* What they are filled from. */
typedef struct RowOrigin
{
	const char *kind;
	XLogRecPtr	lsn;
	XLogRecPtr	commit_lsn;
	TimestampTz commit_time;	/* 0: unknown, as of rows that are copied */
	TransactionId xid;			/* or invalid, likewise */
	const char *table;
} RowOrigin;

/* By the name that users give of all but the last one; METADATA_FIELDS when there is none. */
extern MetadataField metadata_field_by_name(const char *name);

/* "kind, lsn, ...", for messages. */
extern char *metadata_field_names(void);

/* The column; its name and type are allocated.  deleted_name: of METADATA_DELETED. */
extern DataField metadata_column(MetadataField field, const char *deleted_name);

/* Fill in some of them. */
extern void metadata_describe(Scalar *row, const MetadataField *fields, int nfields, const RowOrigin *origin);

#endif							/* STREAMHOUSE_SYNC_METADATA_H */
