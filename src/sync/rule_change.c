/*
 * rule_change.c
 *		Other rules for the tables of a sync that is there.
 *
 * A lake table keeps its columns, its partition and its key: a table whose rule
 * makes others of it must go to another lake table.  With another condition its
 * rows are copied again into the same one.  Options of the lake table that mean
 * nothing for the files that are there are changed in place.
 */
#include "postgres.h"

#include "foreign/foreign.h"
#include "utils/lsyscache.h"

#include "fdw/fdw.h"
#include "lake/schema.h"
#include "sync/column_change.h"
#include "sync/rule_change.h"

/* Options of a lake table that stays. */
typedef struct OptionChange
{
	LakeTable  *lake;
	List	   *pairs;			/* OptionPair *: value NULL: not set any more */
} OptionChange;

/* The tables of a sync and other rules, being compared. */
typedef struct Comparison
{
	SyncRecord *sync;			/* with the new rules */
	SyncRecord	before;
	const char *warehouse;
	RuleChanges *changes;
	StringInfoData refused;		/* tables that cannot follow, and why */
	StringInfoData copied;		/* tables that must be copied, and why */
} Comparison;

/* Add a line about a table. */
static void
note(StringInfo list, const SyncTableRecord *known, const char *text)
{
	appendStringInfo(list, "%s- table \"%s\": %s", list->len > 0 ? "\n" : "", known->source_name, text);
}

static bool
same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool
same_names(const List *a, const List *b)
{
	const ListCell *la;
	const ListCell *lb;

	forboth(la, a, lb, b)
	{
		if (!same_text(lfirst(la), lfirst(lb)))
			return false;
	}
	return list_length(a) == list_length(b);
}

static bool
same_columns(const List *a, const List *b)
{
	const ListCell *la;
	const ListCell *lb;

	forboth(la, a, lb, b)
	{
		const ComputedColumn *x = lfirst(la);
		const ComputedColumn *y = lfirst(lb);

		if (!same_text(x->name, y->name) || !same_text(x->expression, y->expression))
			return false;
	}
	return list_length(a) == list_length(b);
}

/* What of the lake table's columns would be another one, or NULL. */
static const char *
other_shape(const SyncTableRecord *known, const SyncTableRecord *wanted)
{
	const TableRule none = {0};
	const TableRule *a = known->rule ? known->rule : &none;
	const TableRule *b = wanted->rule ? wanted->rule : &none;

	if (known->history != wanted->history)
		return "history";
	if (!same_text(known->shard, wanted->shard))
		return "shard";
	if (!same_columns(a->columns, b->columns))
		return "columns";
	if (!same_names(a->partition, b->partition))
		return "partition";
	if (!same_text(a->soft_delete, b->soft_delete))
		return "soft_delete";
	if (known->nmetadata != wanted->nmetadata ||
		memcmp(known->metadata, wanted->metadata, sizeof(MetadataField) * known->nmetadata) != 0)
		return "metadata";
	return NULL;
}

/* ---- options ---- */

/* Does the option mean nothing for files and snapshots that are there? */
static bool
option_may_change(const char *key)
{
	static const char *const prefixes[] = {
		"snapshot.", "changelog.num-retained.", "changelog.time-retained", "file.compression", "file.block-size", "target-file-size",
		"num-sorted-run.", "compaction.", "manifest.", "metadata.stats-mode", "parquet.", "orc.", "commit."
	};
	int			i;

	for (i = 0; i < lengthof(prefixes); i++)
	{
		if (strncmp(key, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	}
	return false;
}

static void
compare_option(Comparison *comparison, const SyncTableRecord *known, const char *key, const char *before, const char *now, List **pairs)
{
	OptionPair *pair;

	if (same_text(before, now))
		return;
	if (!option_may_change(key))
		note(&comparison->refused, known, psprintf("option \"%s\" of lake table \"%s\" cannot be changed", key, known->lake_table));
	pair = palloc0(sizeof(OptionPair));
	pair->key = pstrdup(key);
	pair->value = now ? pstrdup(now) : NULL;
	*pairs = lappend(*pairs, pair);
}

static void
compare_options(Comparison *comparison, const SyncTableRecord *known, const SyncTableRecord *wanted, LakeTable *lake)
{
	List	   *before = sync_table_options(&comparison->before, known);
	List	   *now = sync_table_options(comparison->sync, wanted);
	List	   *pairs = NIL;
	OptionChange *change;
	ListCell   *cell;

	foreach(cell, now)
	{
		const OptionPair *option = lfirst(cell);

		compare_option(comparison, known, option->key, option_pair_value(before, option->key), option->value, &pairs);
	}
	foreach(cell, before)
	{
		const OptionPair *option = lfirst(cell);

		if (option_pair_value(now, option->key) == NULL)
			compare_option(comparison, known, option->key, option->value, NULL, &pairs);
	}
	if (pairs == NIL)
		return;
	change = palloc0(sizeof(OptionChange));
	change->lake = lake;
	change->pairs = pairs;
	comparison->changes->options = lappend(comparison->changes->options, change);
}

void
rule_changes_publish_options(const RuleChanges *changes)
{
	ListCell   *cell;

	foreach(cell, changes->options)
	{
		const OptionChange *change = lfirst(cell);
		TableSchema *schema = schema_next(change->lake->schema);
		ListCell   *pair;

		foreach(pair, change->pairs)
			schema_set_option(schema, ((OptionPair *) lfirst(pair))->key, ((OptionPair *) lfirst(pair))->value);
		options_check_replicable(schema, options_parse(schema), change->lake->name);
		column_change_publish(change->lake, schema);
	}
}

/* ---- tables ---- */

/* What a lake table is called that no rule names: as it is, or as its source. */
static const char *
name_without_rule(const SyncTableRecord *known)
{
	if (known->rule == NULL || known->rule->table == NULL)
		return known->lake_table;
	return OidIsValid(known->remote_table) ? strchr(known->source_name, '.') + 1 : get_rel_name(known->source);
}

/* What the new rules make of a table. */
static SyncTableRecord *
wanted_record(const SyncRecord *sync, const SyncTableRecord *known)
{
	SyncTableRecord *wanted = palloc(sizeof(SyncTableRecord));

	*wanted = *known;
	sync_table_set_rule(sync, wanted, table_rules_match(sync->rules, known->source_name, false));
	/* a table that is gone will leave the sync */
	if (get_rel_name(known->source) == NULL)
		return wanted;
	wanted->lake_table = table_rule_lake_table(wanted->rule, known->source_name, name_without_rule(known));
	wanted->shard = table_rule_shard(wanted->rule, known->source_name);
	return wanted;
}

/* The table's record from now on; NULL: it moves. */
static SyncTableRecord *
compare_table(Comparison *comparison, SyncTableRecord *known)
{
	SyncTableRecord *wanted = wanted_record(comparison->sync, known);
	LakeTable  *lake = lake_table_open(comparison->warehouse, comparison->sync->database, known->lake_table, true);
	const char *shape = lake ? other_shape(known, wanted) : NULL;

	if (strcmp(known->lake_table, wanted->lake_table) != 0 || lake == NULL)
	{
		comparison->changes->moved = lappend(comparison->changes->moved, known);
		if (lake)
			note(&comparison->copied, known,
				 psprintf("it would go to lake table \"%s\" instead of \"%s\"", wanted->lake_table, known->lake_table));
		return NULL;
	}
	if (shape)
		note(&comparison->refused, known,
			 psprintf("\"%s\" of its rule would be another one, which lake table \"%s\" cannot follow", shape, known->lake_table));
	else if (!same_text(known->rule ? known->rule->where : NULL, wanted->rule ? wanted->rule->where : NULL))
	{
		note(&comparison->copied, known, "its condition \"where\" is another one");
		comparison->changes->again = lappend(comparison->changes->again, wanted);
	}
	else if (wanted->rule_number != known->rule_number)
		comparison->changes->same = lappend(comparison->changes->same, wanted);
	compare_options(comparison, known, wanted, lake);
	return wanted;
}

static void
report(const Comparison *comparison, bool copy)
{
	if (comparison->refused.len > 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("tables of sync \"%s\" cannot follow these rules", comparison->sync->name),
				 errdetail_internal("%s", comparison->refused.data),
				 errhint("Give them other lake tables with \"table\", or remove the lake tables first.")));
	if (comparison->copied.len > 0 && !copy)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("tables of sync \"%s\" would have to be copied again", comparison->sync->name),
				 errdetail_internal("%s", comparison->copied.data),
				 errhint("Call streamhouse.alter_sync with copy => true.")));
}

void
rule_changes_find(SyncRecord *sync, List *rules, bool copy, RuleChanges *changes)
{
	Comparison	comparison = {.sync = sync, .before = *sync, .changes = changes};
	List	   *tables = NIL;
	ListCell   *cell;

	memset(changes, 0, sizeof(RuleChanges));
	initStringInfo(&comparison.refused);
	initStringInfo(&comparison.copied);
	comparison.warehouse = server_warehouse(GetForeignServerByName(sync->server, false), true);
	sync->rules = rules;
	foreach(cell, sync->tables)
	{
		SyncTableRecord *known = lfirst(cell);
		SyncTableRecord *wanted = known->refused ? known : compare_table(&comparison, known);

		if (wanted)
			tables = lappend(tables, wanted);
	}
	report(&comparison, copy);
	sync->tables = tables;
}
