/*
 * preflight.c
 *		Everything that can be known to be wrong with a sync before it is made.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/resowner.h"

#include "fdw/fdw.h"
#include "fdw/types.h"
#include "sync/message_table.h"
#include "sync/preflight_check.h"
#include "sync/published.h"
#include "sync/rule_expression.h"
#include "sync/shared_target.h"
#include "sync/source.h"

void
preflight_remark(Preflight *check, bool is_warning, const char *text, const char *cure)
{
	PreflightProblem *problem = palloc0(sizeof(PreflightProblem));

	problem->is_warning = is_warning;
	problem->table = check->table;
	problem->text = pstrdup(text);
	problem->cure = cure ? pstrdup(cure) : NULL;
	check->problems = lappend(check->problems, problem);
}

void
preflight_problem(Preflight *check, const char *text, const char *cure)
{
	preflight_remark(check, false, text, cure);
}

/*
 * Run a check that raises; its error becomes a problem.  The internal
 * subtransaction releases what the check had open.
 */
void
preflight_attempt(Preflight *check, void (*function) (Preflight *check, void *arg), void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		function(check, arg);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		if (error->detail)
			preflight_problem(check, psprintf("%s (%s)", error->message, error->detail), error->hint);
		else
			preflight_problem(check, error->message, error->hint);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
}

static bool
publishes_changes(const Preflight *check)
{
	return check->publication->pubactions.pubupdate || check->publication->pubactions.pubdelete;
}

static char *
qualified_name(Relation relation)
{
	return psprintf("%s.%s", get_namespace_name(RelationGetNamespace(relation)), RelationGetRelationName(relation));
}

static void
check_replica_identity(Preflight *check, Relation relation)
{
	if (relation->rd_rel->relreplident == REPLICA_IDENTITY_NOTHING)
		preflight_problem(check, psprintf("table \"%s\" has REPLICA IDENTITY NOTHING", qualified_name(relation)),
					"set another one with ALTER TABLE ... REPLICA IDENTITY, or publish only inserts");
}

/* The columns that identify a row must be among those replicated. */
static void
check_key_columns(Preflight *check, const SyncTableRecord *record, const AttrNumber *key, int nkeys)
{
	int			i;

	for (i = 0; i < nkeys; i++)
	{
		if (!attribute_is_among(record->columns, record->ncolumns, key[i]))
			preflight_problem(check, psprintf("the column list of table \"%s\" lacks column \"%s\" of its key",
										record->source_name, get_attname(record->source, key[i], false)),
						"add it with ALTER PUBLICATION, or publish only inserts");
	}
}

/* May values lie in the TOAST table, so that the WAL has them only when they change? */
static bool
has_large_columns(const SyncTableRecord *record, TupleDesc desc)
{
	int			i;

	for (i = 0; i < record->ncolumns; i++)
	{
		Form_pg_attribute column = TupleDescAttr(desc, record->columns[i] - 1);

		if (column->attlen == -1 && column->attstorage != TYPSTORAGE_PLAIN)
			return true;
	}
	return false;
}

/* History needs no key, but whole rows.  relation: the source, or a partition of it. */
static void
check_history_identity(Preflight *check, const SyncTableRecord *record, Relation source, Relation relation)
{
	int			nkeys;
	bool		has_key = source_key(relation, &nkeys) != NULL;
	const char *cure = "set REPLICA IDENTITY FULL with ALTER TABLE, or publish only inserts";

	if (relation->rd_rel->relreplident == REPLICA_IDENTITY_FULL)
		return;
	if (!has_key || relation->rd_rel->relreplident == REPLICA_IDENTITY_NOTHING)
		preflight_problem(check, psprintf("table \"%s\" has nothing to identify updated and deleted rows", qualified_name(relation)), cure);
	else if (check->publication->pubactions.pubupdate && has_large_columns(record, RelationGetDescr(source)))
		preflight_problem(check, psprintf("the WAL lacks large values of table \"%s\" that an update leaves unchanged, which its history needs",
									qualified_name(relation)), cure);
}

/* What a change of a row needs: something that says which row. */
static void
check_identity(Preflight *check, const PublishedTable *published, const SyncTableRecord *record, Relation relation)
{
	int			nkeys;
	AttrNumber *key;

	if (!publishes_changes(check))
		return;
	key = source_key(relation, &nkeys);
	if (record->history)
		check_history_identity(check, record, relation, relation);
	else if (key != NULL)
	{
		check_replica_identity(check, relation);
		check_key_columns(check, record, key, nkeys);
	}
	else if (published->deferrable_key)
		preflight_problem(check, psprintf("the primary key of table \"%s\" is deferrable, so that it does not identify rows",
									published->name),
					"make it NOT DEFERRABLE, or publish only inserts");
	else
		preflight_problem(check, psprintf("table \"%s\" has no primary key to identify updated and deleted rows", published->name),
					"add one, or name a unique index with ALTER TABLE ... REPLICA IDENTITY USING INDEX, or publish only inserts, "
					"or let the sync keep history");
}

/* The names of the columns that identify rows, in order. */
static List *
key_names(Relation relation)
{
	int			nkeys;
	AttrNumber *key = source_key(relation, &nkeys);
	List	   *names = NIL;
	int			i;

	for (i = 0; i < nkeys; i++)
		names = lappend(names, makeString(get_attname(RelationGetRelid(relation), key[i], false)));
	return names;
}

/* Changes of a partition must say which row of the root they mean. */
static void
check_partition(Preflight *check, const PublishedTable *published, const SyncTableRecord *record, Relation root,
				Relation partition)
{
	if (partition->rd_rel->relkind == RELKIND_FOREIGN_TABLE)
		preflight_problem(check, psprintf("partition \"%s\" of table \"%s\" is a foreign table, which is not supported",
									RelationGetRelationName(partition), published->name),
					"leave the table out of the publication");
	if (partition->rd_rel->relkind != RELKIND_RELATION || !publishes_changes(check))
		return;
	if (record->history)
	{
		check_history_identity(check, record, root, partition);
		return;
	}
	check_replica_identity(check, partition);
	if (partition->rd_rel->relreplident == REPLICA_IDENTITY_INDEX && !equal(key_names(partition), key_names(root)))
		preflight_problem(check, psprintf("partition \"%s\" of table \"%s\" has another replica identity than the table",
									RelationGetRelationName(partition), published->name),
					"set REPLICA IDENTITY DEFAULT or FULL for it");
}

static void
check_partitions(Preflight *check, const PublishedTable *published, const SyncTableRecord *record, Relation root)
{
	ListCell   *cell;

	foreach(cell, find_all_inheritors(published->relid, AccessShareLock, NULL))
	{
		Relation	partition = table_open(lfirst_oid(cell), NoLock);

		check_partition(check, published, record, root, partition);
		table_close(partition, NoLock);
	}
}

/* Kinds of tables that are not served. */
static bool
check_kind(Preflight *check, const PublishedTable *published, Relation relation)
{
	char		kind = relation->rd_rel->relkind;

	if (relation->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT &&
		(kind == RELKIND_RELATION || kind == RELKIND_PARTITIONED_TABLE))
		return true;
	preflight_problem(check, psprintf("table \"%s\" is not an ordinary, logged table, which is not supported", published->name),
				"leave it out of the publication");
	return false;
}

typedef struct ColumnArg
{
	const char *table;
	Form_pg_attribute column;
} ColumnArg;

static void
check_column(Preflight *check, void *arg)
{
	const ColumnArg *column = arg;
	const char *name = psprintf("%s.%s", column->table, NameStr(column->column->attname));

	if (column->column->attgenerated != '\0' && column->column->attgenerated != ATTRIBUTE_GENERATED_STORED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" is generated when it is read, which is not supported", name)));
	(void) source_lake_type(name, column->column->atttypid, column->column->atttypmod, true);
}

typedef struct RuleArg
{
	Relation	relation;
	SyncTableRecord *record;
} RuleArg;

/* The relation, or a partition of it, whose changes do not tell of all of the old row. */
static Relation
without_old_rows(Relation source)
{
	ListCell   *cell;

	foreach(cell, find_all_inheritors(RelationGetRelid(source), NoLock, NULL))
	{
		Relation	relation = table_open(lfirst_oid(cell), AccessShareLock);

		/* tables that merely inherit are others */
		if ((relation == source || relation->rd_rel->relispartition) && relation->rd_rel->relkind == RELKIND_RELATION && relation->rd_rel->relreplident != REPLICA_IDENTITY_FULL)
			return relation;
		table_close(relation, NoLock);
	}
	return NULL;
}

/* What the rule for a table says of its rows. */
static void
check_rule(Preflight *check, void *arg)
{
	const RuleArg *rule = arg;
	char	   *need;
	Relation	relation;

	rule_resolve_columns(check->sync, rule->record, rule->relation);
	need = rule_needs_old_rows(rule->record, rule->relation);
	if (need == NULL || !publishes_changes(check))
		return;
	relation = without_old_rows(rule->relation);
	if (relation == NULL)
		return;
	preflight_problem(check, psprintf("table \"%s\" has not REPLICA IDENTITY FULL, although %s", qualified_name(relation), need),
				"set it with ALTER TABLE, or publish only inserts");
	table_close(relation, NoLock);
}

typedef struct TargetArg
{
	Relation	relation;
	const SyncTableRecord *record;
	bool		is_new;			/* the sync does not have the table yet */
} TargetArg;

/* A lake table of which the source is to have a part. */
static void
check_shared_target(Preflight *check, const TargetArg *target, LakeTable *lake)
{
	SyncTableRecord record = *target->record;
	const TableSchema *schema = shared_target_schema(check->sync, &record, lake);

	if (lake)
		options_check_replicable(lake->schema, lake->options, lake->name);
	if (schema)
		shared_target_match(target->relation, &record, schema, lake != NULL);
	else
	{
		schema = source_lake_schema(target->relation, &record, sync_table_options(check->sync, &record));
		options_check_replicable(schema, options_parse(schema), record.lake_table);
	}
	if (lake && !shared_target_is_ours(lake))
		preflight_problem(check, psprintf("lake table \"%s\" is filled by a sync of another database, or by one that is gone", lake->name),
					"let syncs of this database alone fill it, or remove it");
	if (lake && !lake->has_primary_key && snapshot_latest_id(lake->location) > 0 &&
		snapshot_latest_of_user(lake->location, check->sync->slot, 0) == NULL)
		preflight_problem(check, psprintf("lake table \"%s\" has no key, and the sync has not begun it", lake->name),
					"use another one, or let one sync alone fill it");
	if (lake && target->is_new && shared_target_has_rows(&record, lake))
		preflight_problem(check, psprintf("lake table \"%s\" has rows of shard \"%s\" that the sync did not write", lake->name, record.shard),
					"remove them, or let the source have another shard");
}

/* The lake table, if it exists; otherwise its schema to be. */
static void
check_target(Preflight *check, void *arg)
{
	const TargetArg *target = arg;
	const SyncTableRecord *record = target->record;
	LakeTable  *lake = lake_table_open(check->warehouse, check->sync->database, record->lake_table, true);
	TableSchema *schema;

	if (record->shard)
	{
		check_shared_target(check, target, lake);
		return;
	}
	if (lake)
	{
		(void) source_check_target(target->relation, record, lake, check->sync->slot);
		return;
	}
	schema = source_lake_schema(target->relation, record, sync_table_options(check->sync, record));
	options_check_replicable(schema, options_parse(schema), record->lake_table);
}

static void
check_privilege(Preflight *check, const PublishedTable *published)
{
	if (pg_class_aclcheck(published->relid, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
		preflight_problem(check, psprintf("permission denied for table \"%s\"", published->name), "grant SELECT on it");
}

static SyncTableRecord *
record_table(const Preflight *check, const PublishedTable *published, Relation relation, bool *is_new)
{
	SyncTableRecord *record = palloc0(sizeof(SyncTableRecord));
	ListCell   *cell;

	record->source = published->relid;
	record->source_name = published->name;
	if (published->remote)
	{
		record->remote_table = published->remote->mirror->remote_table;
		record->nmirrored = published->remote->mirror->nmirrored;
		record->mirrored = published->remote->mirror->mirrored;
	}
	sync_table_set_rule(check->sync, record, table_rules_match(check->sync->rules, record->source_name, false));
	record->lake_table = table_rule_lake_table(record->rule, record->source_name, published->table);
	record->shard = table_rule_shard(record->rule, record->source_name);
	*is_new = true;
	foreach(cell, check->left)
	{
		const SyncTableRecord *known = lfirst(cell);

		/* the source may have got another name since; the lake table has not */
		if (known->source == record->source && !known->refused)
		{
			*is_new = false;
			record->lake_table = known->lake_table;
			record->shard = known->shard;
			sync_table_set_rule(check->sync, record, known->rule_number);
			record->nused = known->nused;
			record->used_names = known->used_names;
			record->used_columns = known->used_columns;
			record->used_types = known->used_types;
		}
	}
	record->columns = published_columns(check->publication, relation, &record->ncolumns);
	record->column_list = published->remote ? published->remote->table->column_list : published_has_column_list(check->publication, relation);
	return record;
}

/* Have both a part of the lake table, and different ones? */
static bool
may_share(const SyncTableRecord *a, const SyncTableRecord *b)
{
	return a->shard && b->shard && strcmp(a->shard, b->shard) != 0;
}

/* Two tables of different schemas must not meet in one lake table. */
static void
check_name(Preflight *check, const List *others, const SyncTableRecord *record)
{
	const ListCell *cell;

	foreach(cell, others)
	{
		const SyncTableRecord *other = lfirst(cell);

		if (other->refused || strcmp(other->lake_table, record->lake_table) != 0 || may_share(other, record))
			continue;
		preflight_problem(check, psprintf("tables \"%s\" and \"%s\" would both be lake table \"%s\"%s",
									other->source_name, record->source_name, record->lake_table,
									record->shard ? psprintf(", shard \"%s\"", record->shard) : ""),
					"give them different names with \"tables\", or tell them apart with \"shard\"");
	}
}

static void
check_table(Preflight *check, const PublishedTable *published)
{
	Relation	relation = table_open(published->relid, AccessShareLock);
	TupleDesc	desc = RelationGetDescr(relation);
	bool		is_new;
	SyncTableRecord *record = record_table(check, published, relation, &is_new);
	int			before;
	int			i;

	check->table = published->name;
	before = list_length(check->problems);
	if (published->remote == NULL)
		check_privilege(check, published);
	if (check_kind(check, published, relation))
	{
		check_identity(check, published, record, relation);
		if (relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
			check_partitions(check, published, record, relation);
		for (i = 0; i < record->ncolumns; i++)
		{
			ColumnArg	column = {published->name, TupleDescAttr(desc, record->columns[i] - 1)};

			preflight_attempt(check, check_column, &column);
		}
		check_name(check, check->sync->tables, record);
		check_name(check, check->sync->message_tables, record);
		if (record->shard && record->shard[0] == '\0')
			preflight_problem(check, psprintf("the shard of table \"%s\" is empty", published->name), "let \"shard\" have a value for it");
	}
	if (list_length(check->problems) == before)
	{
		RuleArg		rule = {relation, record};

		preflight_attempt(check, check_rule, &rule);
	}
	if (list_length(check->problems) == before && check->warehouse)
	{
		TargetArg	target = {relation, record, is_new};

		preflight_attempt(check, check_target, &target);
	}
	check->sync->tables = lappend(check->sync->tables, record);
	table_close(relation, NoLock);
	check->table = NULL;
}

/* No other sync may write to the lake table. */
static void
check_other_sync(Preflight *check, const SyncRecord *other, const SyncTableRecord *table)
{
	ListCell   *cell;

	foreach(cell, list_concat_copy(other->tables, other->message_tables))
	{
		const SyncTableRecord *theirs = lfirst(cell);

		if (!theirs->refused && strcmp(theirs->lake_table, table->lake_table) == 0 && !may_share(theirs, table))
			preflight_problem(check, psprintf("sync \"%s\" writes to lake table \"%s\"", other->name, table->lake_table),
						"use another lake database, or tell the sources apart with \"shard\"");
	}
}

/* first: those before are known. */
static void
check_other_syncs(Preflight *check, int first)
{
	ListCell   *cell;
	ListCell   *mine;

	foreach(cell, sync_catalog_list())
	{
		const SyncRecord *other = lfirst(cell);

		if (strcmp(other->name, check->sync->name) == 0 || strcmp(other->server, check->sync->server) != 0 ||
			strcmp(other->database, check->sync->database) != 0)
			continue;
		other = sync_catalog_find(other->name);
		if (other == NULL)
			continue;
		for_each_from(mine, check->sync->tables, first)
		{
			check->table = ((SyncTableRecord *) lfirst(mine))->source_name;
			check_other_sync(check, other, lfirst(mine));
		}
		for_each_from(mine, check->sync->message_tables, 0)
			check_other_sync(check, other, lfirst(mine));
		check->table = NULL;
	}
}

/* All of them, or those of a table and those that are of none; NULL when there are none. */
static char *
problems_text(const Preflight *check, const char *table, const char *separator, const char *mark)
{
	StringInfoData text;
	ListCell   *cell;

	initStringInfo(&text);
	foreach(cell, check->problems)
	{
		const PreflightProblem *problem = lfirst(cell);

		if (table && problem->table && strcmp(table, problem->table) != 0)
			continue;
		appendStringInfo(&text, "%s%s%s", text.len > 0 ? separator : "", mark, problem->text);
		if (problem->cure)
			appendStringInfo(&text, ": %s", problem->cure);
	}
	return text.len > 0 ? text.data : NULL;
}

static void
report_problems(const Preflight *check, const char *what)
{
	if (check->problems == NIL)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("sync \"%s\" cannot %s", check->sync->name, what),
			 errdetail_internal("%s", problems_text(check, NULL, "\n", "- "))));
}

static void
check_message_table(Preflight *check, void *arg)
{
	message_table_check(check->sync, arg, check->warehouse);
}

/* Does one of the records fill the lake table? */
static bool
fills(const List *records, const char *lake_table)
{
	const ListCell *cell;

	foreach(cell, records)
	{
		if (strcmp(((const SyncTableRecord *) lfirst(cell))->lake_table, lake_table) == 0)
			return true;
	}
	return false;
}

/* known: those that the sync has filled. */
static void
check_message_tables(Preflight *check, const List *known)
{
	ListCell   *cell;

	foreach(cell, message_table_records(check->sync))
	{
		check_name(check, check->sync->tables, lfirst(cell));
		check_name(check, check->sync->message_tables, lfirst(cell));
		check->sync->message_tables = lappend(check->sync->message_tables, lfirst(cell));
		if (check->warehouse && !fills(known, ((const SyncTableRecord *) lfirst(cell))->lake_table))
			preflight_attempt(check, check_message_table, lfirst(cell));
	}
}

static void
check_all(Preflight *check)
{
	ListCell   *cell;

	preflight_source(check);
	foreach(cell, check->published)
		check_table(check, lfirst(cell));
	check_message_tables(check, NIL);
	check_other_syncs(check, 0);
}

void
preflight(SyncRecord *sync, bool preloaded)
{
	Preflight	check = {.sync = sync, .preloaded = preloaded};

	check_all(&check);
	report_problems(&check, "be created");
}

void
preflight_messages(SyncRecord *sync)
{
	Preflight	check = {.sync = sync};
	const List *known = sync->message_tables;

	check.warehouse = server_warehouse(GetForeignServerByName(sync->server, false), true);
	sync->message_tables = NIL;
	check_message_tables(&check, known);
	if (sync->message_tables != NIL)
		preflight_source_messages(&check);
	check_other_syncs(&check, list_length(sync->tables));
	report_problems(&check, "follow these rules");
}

/* Mirrors are made for the check alone. */
List *
preflight_list_problems(SyncRecord *sync, bool preloaded)
{
	Preflight	check = {.sync = sync, .preloaded = preloaded, .with_warnings = true};
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	check_all(&check);
	if (sync->connection == NULL)
		preflight_warn_of_settings(&check);
	RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return check.problems;
}

/* The sync's record of a table, or NULL. */
static SyncTableRecord *
find_record(const SyncRecord *sync, Oid source)
{
	ListCell   *cell;

	foreach(cell, sync->tables)
	{
		if (((SyncTableRecord *) lfirst(cell))->source == source)
			return lfirst(cell);
	}
	return NULL;
}

static bool
is_published(const Preflight *check, Oid source)
{
	ListCell   *cell;

	foreach(cell, check->published)
	{
		if (((PublishedTable *) lfirst(cell))->relid == source)
			return true;
	}
	return false;
}

typedef bool (*LeaveFunction) (const Preflight *check, const SyncTableRecord *record, const void *arg);

/* What the publication has no more, and tables that could not join; or the one table that is to be taken anew. */
static bool
leaves_refreshed(const Preflight *check, const SyncTableRecord *record, const void *arg)
{
	Oid			only = *(const Oid *) arg;

	return OidIsValid(only) ? record->source == only : record->refused || !is_published(check, record->source);
}

/* Of tables that could not join, those to be tried anew and those that are not published any more. */
static bool
leaves_refused(const Preflight *check, const SyncTableRecord *record, const void *arg)
{
	bool		again = *(const bool *) arg;

	return record->refused && (again || !is_published(check, record->source));
}

/* Take tables out of the sync, and return them. */
static List *
leave_tables(Preflight *check, LeaveFunction leaves, const void *arg)
{
	List	   *left = NIL;
	List	   *kept = NIL;
	ListCell   *cell;

	foreach(cell, check->sync->tables)
	{
		SyncTableRecord *record = lfirst(cell);

		if (leaves(check, record, arg))
			left = lappend(left, record);
		else
			kept = lappend(kept, record);
	}
	check->sync->tables = kept;
	return left;
}

List *
preflight_tables(SyncRecord *sync, bool preloaded, Oid only, List **left)
{
	Preflight	check = {.sync = sync, .preloaded = preloaded};
	int			nkept;
	ListCell   *cell;

	preflight_source(&check);
	*left = check.left = leave_tables(&check, leaves_refreshed, &only);
	nkept = list_length(sync->tables);
	if (OidIsValid(only) && !is_published(&check, only))
		preflight_problem(&check, psprintf("the publication has no table \"%s\"", get_rel_name(only)), NULL);
	foreach(cell, check.published)
	{
		Oid			relid = ((PublishedTable *) lfirst(cell))->relid;

		if (OidIsValid(only) ? relid == only : find_record(sync, relid) == NULL)
			check_table(&check, lfirst(cell));
	}
	check_other_syncs(&check, nkept);
	report_problems(&check, "take up tables");
	return list_copy_tail(sync->tables, nkept);
}

List *
preflight_joining(SyncRecord *sync, bool preloaded, bool again, List **left)
{
	Preflight	check = {.sync = sync, .preloaded = preloaded};
	int			nkept;
	ListCell   *cell;

	preflight_source(&check);
	*left = NIL;
	/* a source elsewhere may just be out of reach */
	if (sync->connection && check.publication == NULL)
		return NIL;
	*left = check.left = leave_tables(&check, leaves_refused, &again);
	nkept = list_length(sync->tables);
	foreach(cell, check.published)
	{
		const PublishedTable *table = lfirst(cell);

		if (find_record(sync, table->relid) != NULL)
			continue;
		check_table(&check, table);
		((SyncTableRecord *) llast(sync->tables))->refused = problems_text(&check, table->name, "; ", "");
	}
	if (list_length(sync->tables) > nkept)
		check_other_syncs(&check, nkept);
	for_each_from(cell, sync->tables, nkept)
	{
		SyncTableRecord *record = lfirst(cell);

		record->refused = problems_text(&check, record->source_name, "; ", "");
	}
	return list_copy_tail(sync->tables, nkept);
}
