/*
 * published.c
 *		What a publication publishes, as of the current snapshot.
 *
 * The rules are those of logical replication: a partition is published with
 * its ancestors; row filter and column list are those of the relation as which
 * it is published; there are none for all tables or all of a schema.
 */
#include "postgres.h"

#include "catalog/partition.h"
#include "catalog/pg_publication_rel.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "compat.h"
#include "sync/published.h"
#include "sync/source.h"

PublicationActions
published_actions_parse(const char *publish)
{
	PublicationActions actions = {0};

	actions.pubinsert = strstr(publish, "insert") != NULL;
	actions.pubupdate = strstr(publish, "update") != NULL;
	actions.pubdelete = strstr(publish, "delete") != NULL;
	actions.pubtruncate = strstr(publish, "truncate") != NULL;
	return actions;
}

static Publication *
remote_publication(const SyncRecord *sync)
{
	Publication *publication = palloc0(sizeof(Publication));

	publication->name = sync->publication;
	publication->alltables = true;
	publication->pubactions = published_actions_parse(sync->remote_publish);
	return publication;
}

Publication *
published_find(const SyncRecord *sync)
{
	const char *name = sync->publication;
	Publication *publication;

	if (sync->connection)
		return remote_publication(sync);
	publication = GetPublicationByName(name, true);
	if (publication == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("publication \"%s\" does not exist", name),
				 errdetail("What is changed without it cannot be replicated."),
				 errhint("Create the publication again, drop the sync and its lake tables, and create the sync again.")));
	return publication;
}

/* Does the publication name the relation, or its schema? */
static bool
is_named(const Publication *publication, Relation relation)
{
	return list_member_oid(GetRelationPublications(RelationGetRelid(relation)), publication->oid) ||
		list_member_oid(GetSchemaPublications(RelationGetNamespace(relation)), publication->oid);
}

Oid
published_as(const Publication *publication, Relation relation)
{
	Oid			relid = RelationGetRelid(relation);
	List	   *ancestors = relation->rd_rel->relispartition ? get_partition_ancestors(relid) : NIL;
	Oid			ancestor = InvalidOid;
	int			level;

	if (ancestors != NIL && publication->alltables)
		ancestor = llast_oid(ancestors);
	else if (ancestors != NIL)
		ancestor = GetTopMostAncestorInPublication(publication->oid, ancestors, &level);

	if (OidIsValid(ancestor))
		return publication->pubviaroot ? ancestor : relid;
	return publication->alltables || is_named(publication, relation) ? relid : InvalidOid;
}

/* An attribute of the publication's entry for the source; false when there is none. */
static bool
entry_attribute(const Publication *publication, Relation source, AttrNumber number, Datum *value)
{
	HeapTuple	tuple = SearchSysCache2(PUBLICATIONRELMAP, ObjectIdGetDatum(RelationGetRelid(source)),
										ObjectIdGetDatum(publication->oid));
	bool		isnull = true;

	if (!HeapTupleIsValid(tuple))
		return false;
	*value = SysCacheGetAttr(PUBLICATIONRELMAP, tuple, number, &isnull);
	if (!isnull)
		*value = PointerGetDatum(PG_DETOAST_DATUM_COPY(*value));
	ReleaseSysCache(tuple);
	return !isnull;
}

bool
published_has_column_list(const Publication *publication, Relation source)
{
	Datum		list;

	return entry_attribute(publication, source, Anum_pg_publication_rel_prattrs, &list);
}

AttrNumber *
published_columns(const Publication *publication, Relation source, int *ncolumns)
{
	Datum		list;
	int2vector *numbers;
	AttrNumber *columns;

	if (!entry_attribute(publication, source, Anum_pg_publication_rel_prattrs, &list))
		return source_columns(source, ncolumns);
	numbers = (int2vector *) DatumGetPointer(list);
	*ncolumns = numbers->dim1;
	columns = palloc(sizeof(AttrNumber) * numbers->dim1);
	memcpy(columns, numbers->values, sizeof(AttrNumber) * numbers->dim1);
	return columns;
}

Expr *
published_filter(const Publication *publication, Relation source, Relation relation)
{
	Datum		qual;
	Node	   *filter;

	if (publication->alltables ||
		SearchSysCacheExists2(PUBLICATIONNAMESPACEMAP, ObjectIdGetDatum(RelationGetNamespace(source)),
							  ObjectIdGetDatum(publication->oid)) ||
		!entry_attribute(publication, source, Anum_pg_publication_rel_prqual, &qual))
		return NULL;
	filter = stringToNode(TextDatumGetCString(qual));
	if (source != relation)
		filter = linitial(map_partition_varattnos(list_make1(filter), 1, relation, source));
	return (Expr *) compat_expand_generated_columns(filter, relation);
}
