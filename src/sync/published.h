/*
 * published.h
 *		What a publication publishes, as of the current snapshot: of the catalogs'
 *		present, or of the past while decoding.
 */
#ifndef STREAMHOUSE_SYNC_PUBLISHED_H
#define STREAMHOUSE_SYNC_PUBLISHED_H

#include "postgres.h"

#include "catalog/pg_publication.h"
#include "utils/rel.h"

#include "sync/sync_catalog.h"

/*
 * The publication of a sync; ERROR when there is none of that name.  One of
 * another server is seen from here: it has the mirrors, and all that comes from there.
 */
extern Publication *published_find(const SyncRecord *sync);

/* Operations that it publishes, from the text that its publish option would be. */
extern PublicationActions published_actions_parse(const char *publish);

/*
 * The relation as which changes of this one are published: itself, or an
 * ancestor of a partition; InvalidOid when they are not published.
 */
extern Oid	published_as(const Publication *publication, Relation relation);

/* Attribute numbers of the columns that are published: of the column list, or all. */
extern AttrNumber *published_columns(const Publication *publication, Relation source, int *ncolumns);

/* Does the publication list the columns of a source? */
extern bool published_has_column_list(const Publication *publication, Relation source);

/*
 * The row filter of a source, for the columns of a relation that is the source
 * or one of its partitions; NULL when there is none.
 */
extern Expr *published_filter(const Publication *publication, Relation source, Relation relation);

#endif							/* STREAMHOUSE_SYNC_PUBLISHED_H */
