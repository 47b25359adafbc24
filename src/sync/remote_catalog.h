/*
 * remote_catalog.h
 *		What the catalogs of another server say of a publication and its tables.
 *
 * They say what is so now, not what was when a change was made.
 */
#ifndef STREAMHOUSE_SYNC_REMOTE_CATALOG_H
#define STREAMHOUSE_SYNC_REMOTE_CATALOG_H

#include "sync/remote.h"

typedef struct RemoteTableColumn
{
	char	   *name;
	RemoteColumn column;		/* as the source knows it */
	bool		published;
	bool		came_with_values;	/* rows that existed may have got a value when it was added */

	/* as values of it are kept here: of the server's own types, all others are text */
	Oid			type;
	int32		typmod;
} RemoteTableColumn;

typedef struct RemoteTable
{
	Oid			oid;
	char	   *table;			/* without schema */
	char	   *name;			/* "schema.table" */
	char		identity;		/* REPLICA_IDENTITY_... */
	bool		partitioned;
	bool		deferrable_key;
	bool		readable;		/* all rows, by us */
	bool		column_list;
	char	   *filter;			/* rows that are published, as SQL; NULL: all */
	char	   *bad_partition;	/* that cannot be replicated as part of it, or NULL */
	int			ncolumns;
	RemoteTableColumn *columns;
	List	   *key;			/* char *: columns that identify a row, in order */
} RemoteTable;

/* Operations that the publication publishes, as in its publish option; NULL: there is no publication. */
extern char *remote_publication(RemoteConnection *remote, const char *publication);

/* Numbers of the tables as which a publication publishes. */
extern List *remote_published_tables(RemoteConnection *remote, const char *publication);

/* NULL when there is no such table. */
extern RemoteTable *remote_table(RemoteConnection *remote, const char *publication, Oid oid);

#endif							/* STREAMHOUSE_SYNC_REMOTE_CATALOG_H */
