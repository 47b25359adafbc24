/*
 * output_relation.c
 *		Which rows and columns of a relation the output plugin's client gets.
 *
 * Definitions are those as of the change: entries are made while decoding, and
 * anew when relation or publication may have changed.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/tupconvert.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "compat.h"
#include "sync/output.h"
#include "sync/published.h"
#include "sync/source.h"

static HTAB *current_relations = NULL;	/* of this process, for invalidations */

static void
invalidate_all(void)
{
	HASH_SEQ_STATUS status;
	OutputRelation *target;

	hash_seq_init(&status, current_relations);
	while ((target = hash_seq_search(&status)) != NULL)
		target->valid = false;
}

static void
invalidate_relation(Datum arg, Oid relid)
{
	OutputRelation *target;

	if (current_relations == NULL)
		return;
	if (!OidIsValid(relid))
	{
		invalidate_all();
		return;
	}
	target = hash_search(current_relations, &relid, HASH_FIND, NULL);
	if (target)
		target->valid = false;
}

/* Of a publication, or of a schema, whose name goes out. */
static void
invalidate_by_catalog(Datum arg, int cache, uint32 hash)
{
	if (current_relations)
		invalidate_all();
}

static void
forget_relations(void *arg)
{
	current_relations = NULL;
}

HTAB *
output_relations_create(OutputState *state)
{
	static bool registered = false;
	HASHCTL		control = {.keysize = sizeof(Oid), .entrysize = sizeof(OutputRelation), .hcxt = state->context};
	MemoryContextCallback *callback = MemoryContextAllocZero(state->context, sizeof(MemoryContextCallback));

	current_relations = hash_create("streamhouse output relations", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	callback->func = forget_relations;
	MemoryContextRegisterResetCallback(state->context, callback);
	if (!registered)
	{
		CacheRegisterRelcacheCallback(invalidate_relation, (Datum) 0);
		CacheRegisterSyscacheCallback(PUBLICATIONOID, invalidate_by_catalog, (Datum) 0);
		CacheRegisterSyscacheCallback(PUBLICATIONRELMAP, invalidate_by_catalog, (Datum) 0);
		CacheRegisterSyscacheCallback(PUBLICATIONNAMESPACEMAP, invalidate_by_catalog, (Datum) 0);
		CacheRegisterSyscacheCallback(NAMESPACEOID, invalidate_by_catalog, (Datum) 0);
		registered = true;
	}
	return current_relations;
}

static bool
matches(const List *patterns, const char *schema, const char *table)
{
	ListCell   *lc;

	foreach(lc, patterns)
	{
		const OutputPattern *pattern = lfirst(lc);

		if ((pattern->schema == NULL || strcmp(pattern->schema, schema) == 0) &&
			(pattern->table == NULL || strcmp(pattern->table, table) == 0))
			return true;
	}
	return false;
}

static Publication *
find_publication(const char *name)
{
	Publication *publication = GetPublicationByName(name, true);

	if (publication == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("publication \"%s\" does not exist", name),
				 errdetail("A change is decoded that was made when the publication did not exist."),
				 errhint("Create the publication first, and then the replication slot.")));
	return publication;
}

/* Columns that identify a row: of the replica identity, or all. */
static Bitmapset *
identity_columns(Relation source, const Bitmapset *columns)
{
	Bitmapset  *identity;
	Bitmapset  *result = NULL;
	int			column = -1;

	if (source->rd_rel->relreplident == REPLICA_IDENTITY_FULL)
		return bms_copy(columns);
	identity = RelationGetIdentityKeyBitmap(source);
	while ((column = bms_next_member(identity, column)) >= 0)
		result = bms_add_member(result, column + FirstLowInvalidHeapAttributeNumber);
	return bms_int_members(result, columns);
}

static void
take_columns(OutputRelation *target, const Publication *publication, Relation source)
{
	int			ncolumns;
	AttrNumber *columns = publication ? published_columns(publication, source, &ncolumns) : source_columns(source, &ncolumns);
	int			i;

	target->columns = NULL;
	for (i = 0; i < ncolumns; i++)
		target->columns = bms_add_member(target->columns, columns[i]);
	target->identity = identity_columns(source, target->columns);
}

static void
take_actions(OutputRelation *target, const OutputOptions *options, const Publication *publication)
{
	memcpy(target->actions, options->actions, sizeof(target->actions));
	if (publication == NULL)
		return;
	target->actions[REORDER_BUFFER_CHANGE_INSERT] &= publication->pubactions.pubinsert;
	target->actions[REORDER_BUFFER_CHANGE_UPDATE] &= publication->pubactions.pubupdate;
	target->actions[REORDER_BUFFER_CHANGE_DELETE] &= publication->pubactions.pubdelete;
	target->actions[REORDER_BUFFER_CHANGE_TRUNCATE] &= publication->pubactions.pubtruncate;
}

static TupleTableSlot *
slot_of(Relation relation)
{
	return MakeSingleTupleTableSlot(CreateTupleDescCopyConstr(RelationGetDescr(relation)), &TTSOpsVirtual);
}

static void
take_slots(OutputRelation *target, Relation relation, Relation source)
{
	target->old_slot = slot_of(relation);
	target->new_slot = slot_of(relation);
	target->map = NULL;
	if (source == relation)
		return;
	target->map = build_attrmap_by_name_if_req(RelationGetDescr(relation), RelationGetDescr(source), false);
	if (target->map)
	{
		target->old_root_slot = slot_of(source);
		target->new_root_slot = slot_of(source);
	}
}

static void
take_filter(OutputRelation *target, const Publication *publication, Relation source, Relation relation)
{
	Expr	   *filter = publication ? published_filter(publication, source, relation) : NULL;

	target->filter = NULL;
	if (filter == NULL)
		return;
	target->filter = ExecInitQual(make_ands_implicit(expression_planner(filter)), NULL);
	target->filter_context = CreateStandaloneExprContext();
}

/* What is wanted of the relation, if anything is. */
static void
fill_entry(OutputState *state, OutputRelation *target, Relation relation)
{
	const OutputOptions *options = &state->options;
	Publication *publication = options->publication ? find_publication(options->publication) : NULL;
	Relation	source = relation;

	target->published_as = publication ? published_as(publication, relation) : RelationGetRelid(relation);
	/* a partitioned table has changes (it may be truncated) if its partitions are published as itself */
	target->wanted = OidIsValid(target->published_as) &&
		(relation->rd_rel->relkind != RELKIND_PARTITIONED_TABLE || (publication && publication->pubviaroot));
	if (!target->wanted)
		return;
	if (target->published_as != RelationGetRelid(relation))
		source = RelationIdGetRelation(target->published_as);
	if (!RelationIsValid(source))
		elog(ERROR, "could not open relation %u", target->published_as);
	target->schema = get_namespace_name(RelationGetNamespace(source));
	target->table = pstrdup(RelationGetRelationName(source));
	target->wanted = (options->tables == NIL || matches(options->tables, target->schema, target->table)) &&
		!matches(options->exclude_tables, target->schema, target->table);
	if (target->wanted)
	{
		take_actions(target, options, publication);
		take_columns(target, publication, source);
		take_slots(target, relation, source);
		take_filter(target, publication, source, relation);
	}
	if (source != relation)
		RelationClose(source);
}

OutputRelation *
output_relation_find(OutputState *state, Relation relation)
{
	bool		found;
	OutputRelation *target = hash_search(state->relations, &RelationGetRelid(relation), HASH_ENTER, &found);
	MemoryContext old;

	if (!found)
	{
		target->valid = false;
		target->context = NULL;
	}
	if (target->valid)
		return target;
	if (target->context)
		MemoryContextReset(target->context);
	else
		target->context = AllocSetContextCreate(state->context, "streamhouse output relation", ALLOCSET_SMALL_SIZES);
	target->format_data = NULL;
	old = MemoryContextSwitchTo(target->context);
	/* first, for it may become invalid meanwhile */
	target->valid = true;
	fill_entry(state, target, relation);
	MemoryContextSwitchTo(old);
	return target;
}

bool
output_relation_passes(const OutputRelation *target, TupleTableSlot *slot)
{
	if (target->filter == NULL)
		return true;
	ResetExprContext(target->filter_context);
	target->filter_context->ecxt_scantuple = slot;
	return ExecQual(target->filter, target->filter_context);
}

const TupleTableSlot *
output_relation_row(const OutputRelation *target, TupleTableSlot *slot)
{
	if (target->map == NULL)
		return slot;
	return execute_attr_map_slot(target->map, slot,
								 slot == target->old_slot ? target->old_root_slot : target->new_root_slot);
}
