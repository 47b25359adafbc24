/*
 * merge_partial.c
 *		Merge engine partial-update: newer values replace older ones, column
 *		by column.
 *
 * Columns may be in sequence groups, whose own sequence columns order the
 * rows for them.  What a row does to a group is decided once, for all of the
 * group's columns: the row that gave the group its present sequence values is
 * known, and compared with.
 *
 * Source: format digest section 7.2.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "lake/aggregator.h"
#include "lake/merge_function.h"
#include "lake/read.h"
#include "miscadmin.h"

/* What a row does as a whole */
typedef enum RowEffect
{
	ROW_ADDS,
	ROW_BEGINS,					/* the first one, which deletes: the result begins with its values */
	ROW_REMOVES					/* the result is reset to its values */
} RowEffect;

/* What a row does to a sequence group */
typedef enum GroupEffect
{
	GROUP_SKIPPED,				/* it has no sequence values */
	GROUP_NEWER,				/* or as new as what is there */
	GROUP_OLDER
} GroupEffect;

typedef struct SequenceGroup
{
	int			nfields;		/* sequence columns */
	int		   *deciding;		/* positions among the deciding fields */
	bool		removes;		/* a row of kind -D that is newer removes the result */
	int			present;		/* member whose sequence values the result has, -1: none */
	uint8	   *effects;		/* GroupEffect by member */
} SequenceGroup;

typedef struct PartialField
{
	int			group;			/* -1: none */
	bool		is_sequence;	/* orders its group */
	Aggregator *aggregator;		/* NULL: values are replaced */
} PartialField;

typedef struct PartialFunction
{
	MergeFunction base;
	bool		remove_on_delete;
	int			ngroups;
	SequenceGroup *groups;
	PartialField *fields;
	uint8	   *effects;		/* RowEffect by member */
} PartialFunction;

/* ---- options ---- */

static void
refuse_option(const char *table_name, const char *key, const char *value, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("option \"%s\" = \"%s\" of lake table \"%s\" is not supported", key, value, table_name),
			 errdetail("%s", detail)));
}

static bool
is_group_option(const char *key)
{
	static const char prefix[] = "fields.";
	static const char suffix[] = ".sequence-group";
	size_t		length = strlen(key);

	return length > strlen(prefix) + strlen(suffix) && strncmp(key, prefix, strlen(prefix)) == 0 &&
		strcmp(key + length - strlen(suffix), suffix) == 0;
}

/* The columns between "fields." and ".sequence-group". */
static List *
group_option_columns(const char *key)
{
	const char *start = key + strlen("fields.");

	return schema_split_names(pnstrdup(start, strlen(start) - strlen(".sequence-group")));
}

/* Put a column into the group that is made last. */
static int
add_to_group(PartialFunction *function, const OptionPair *option, const char *name)
{
	const MergeFunction *base = &function->base;
	int			field = schema_field(base->schema, name);
	PartialField *partial;

	if (field < 0)
		refuse_option(base->table_name, option->key, option->value, psprintf("There is no column \"%s\".", name));
	partial = &function->fields[field];
	if (partial->group >= 0 && partial->group != function->ngroups)
		refuse_option(base->table_name, option->key, option->value,
					  psprintf("Column \"%s\" is in another sequence group.", name));
	if (schema_field_is_key(base->schema, field))
		refuse_option(base->table_name, option->key, option->value,
					  psprintf("Column \"%s\" is in the primary key.", name));
	partial->group = function->ngroups;
	return field;
}

static void
add_group(PartialFunction *function, const OptionPair *option)
{
	MergeFunction *base = &function->base;
	SequenceGroup *group = &function->groups[function->ngroups];
	List	   *names = group_option_columns(option->key);
	ListCell   *cell;

	group->deciding = palloc(list_length(names) * sizeof(int));
	foreach(cell, names)
	{
		int			field = add_to_group(function, option, lfirst(cell));

		function->fields[field].is_sequence = true;
		group->deciding[group->nfields++] = base->ndeciding;
		base->deciding[base->ndeciding++] = field;
	}
	foreach(cell, schema_split_names(option->value))
		add_to_group(function, option, lfirst(cell));
	function->ngroups++;
}

static void
create_groups(PartialFunction *function)
{
	const TableSchema *schema = function->base.schema;
	ListCell   *cell;

	function->groups = palloc0(Max(list_length(schema->options), 1) * sizeof(SequenceGroup));
	function->base.deciding = palloc(schema->nfields * sizeof(int));
	foreach(cell, schema->options)
	{
		const OptionPair *option = lfirst(cell);

		if (is_group_option(option->key))
			add_group(function, option);
	}
}

static void
create_aggregators(PartialFunction *function)
{
	const MergeFunction *base = &function->base;
	const TableSchema *schema = base->schema;

	for (int i = 0; i < schema->nfields; i++)
	{
		PartialField *field = &function->fields[i];
		const char *name = aggregate_function_name(schema, i);

		if (name == NULL || schema_field_is_key(schema, i) || field->is_sequence)
			continue;
		if (field->group < 0 && strcmp(name, aggregate_last_non_null_value.name) != 0)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("aggregate function \"%s\" of column \"%s\" of lake table \"%s\" is not supported",
							name, schema->fields[i].name, base->table_name),
					 errdetail("Merge engine \"partial-update\" takes it only in a sequence group.")));
		field->aggregator = aggregator_create(schema, i, name, base->table_name, base->context);
	}
}

static void
mark_removing_groups(PartialFunction *function)
{
	const MergeFunction *base = &function->base;
	const char *key = "partial-update.remove-record-on-sequence-group";
	const char *value = schema_option(base->schema, key);
	ListCell   *cell;

	if (value == NULL)
		return;
	foreach(cell, schema_split_names(value))
	{
		int			field = schema_field(base->schema, lfirst(cell));

		if (field < 0 || !function->fields[field].is_sequence)
			refuse_option(base->table_name, key, value,
						  psprintf("\"%s\" is no sequence column of a sequence group.", (char *) lfirst(cell)));
		function->groups[function->fields[field].group].removes = true;
	}
	if (base->ignore_delete)
		refuse_option(base->table_name, key, value, "It contradicts \"ignore-delete\".");
}

static MergeFunction *
partial_create(const TableSchema *schema, const TableOptions *options, const char *table_name)
{
	const char *remove_key = "partial-update.remove-record-on-delete";
	PartialFunction *function = merge_function_allocate(&partial_update_engine, sizeof(PartialFunction),
														schema, options, table_name);

	function->fields = palloc0(schema->nfields * sizeof(PartialField));
	for (int i = 0; i < schema->nfields; i++)
		function->fields[i].group = -1;
	create_groups(function);
	create_aggregators(function);
	mark_removing_groups(function);
	function->remove_on_delete = option_is_true(schema, remove_key);
	if (function->remove_on_delete && options->ignore_delete)
		refuse_option(table_name, remove_key, "true", "It contradicts \"ignore-delete\".");
	if (function->remove_on_delete && function->ngroups > 0)
		refuse_option(table_name, remove_key, "true", "It contradicts sequence groups.");
	return &function->base;
}

/* ---- deciding ---- */

static bool
has_sequence(const SequenceGroup *group, const MergeKeys *keys, Vector *const *const *deciding, int member)
{
	for (int i = 0; i < group->nfields; i++)
		if (!merge_member_value(keys, deciding[group->deciding[i]], member).isnull)
			return true;
	return false;
}

static bool
is_older(const PartialFunction *function, const SequenceGroup *group, const MergeKeys *keys,
		 Vector *const *const *deciding, int member)
{
	const MergeFunction *base = &function->base;

	if (group->present < 0)
		return false;
	for (int i = 0; i < group->nfields; i++)
	{
		Vector	   *const *sources = deciding[group->deciding[i]];
		Scalar		input = merge_member_value(keys, sources, member);
		Scalar		present = merge_member_value(keys, sources, group->present);
		const DataType *type = base->schema->fields[base->deciding[group->deciding[i]]].type;
		int			order = scalar_compare(type->physical, &input, &present);

		if (order != 0)
			return order < 0;
	}
	return false;
}

static void
set_present(PartialFunction *function, int member)
{
	for (int i = 0; i < function->ngroups; i++)
		function->groups[i].present = member;
}

/* Decide what a row does to each group; false if it removes the result. */
static bool
decide_groups(PartialFunction *function, const MergeKeys *keys, Vector *const *const *deciding, int member)
{
	for (int i = 0; i < function->ngroups; i++)
	{
		SequenceGroup *group = &function->groups[i];

		if (!has_sequence(group, keys, deciding, member))
			group->effects[member] = GROUP_SKIPPED;
		else if (is_older(function, group, keys, deciding, member))
			group->effects[member] = GROUP_OLDER;
		else
		{
			if (group->removes && keys->kinds[member] == ROW_DELETE)
				return false;
			group->effects[member] = GROUP_NEWER;
			group->present = member;
		}
	}
	return true;
}

static void
refuse_retract(const PartialFunction *function)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_EXCEPTION),
			 errmsg("lake table \"%s\" has rows that delete, which merge engine \"partial-update\" cannot merge",
					function->base.table_name),
			 errhint("Options \"ignore-delete\", \"partial-update.remove-record-on-delete\" "
					 "and sequence groups say what becomes of them.")));
}

/* Does a row of kind -D or -U remove the result? */
static bool
decide_retract(PartialFunction *function, const MergeKeys *keys, Vector *const *const *deciding, int member)
{
	if (function->ngroups > 0)
		return !decide_groups(function, keys, deciding, member);
	if (!function->remove_on_delete)
		refuse_retract(function);
	return keys->kinds[member] == ROW_DELETE;
}

static void
decide_key(PartialFunction *function, const MergeKeys *keys, Vector *const *const *deciding, int key,
		   MergeResults *results)
{
	bool		has_insert = false;
	int			last = keys->starts[key + 1] - 1;

	set_present(function, -1);
	results->newest[key] = last;
	for (int member = keys->starts[key]; member <= last; member++)
	{
		RowEffect	effect = ROW_ADDS;

		if (!ROW_KIND_IS_RETRACT(keys->kinds[member]))
		{
			(void) decide_groups(function, keys, deciding, member);
			has_insert = true;
		}
		else
		{
			if (member == keys->starts[key])
			{
				effect = ROW_BEGINS;
				set_present(function, member);
			}
			if (!function->base.ignore_delete && decide_retract(function, keys, deciding, member))
			{
				effect = ROW_REMOVES;
				set_present(function, member);
			}
		}
		function->effects[member] = effect;
	}
	results->kinds[key] = function->effects[last] == ROW_REMOVES || !has_insert ? ROW_DELETE : ROW_INSERT;
}

static void
partial_begin(MergeFunction *base, const MergeKeys *keys, Vector *const *const *deciding, MergeResults *results)
{
	PartialFunction *function = (PartialFunction *) base;
	int			nmembers = keys->starts[keys->nkeys];

	function->effects = MemoryContextAllocHuge(base->context, Max(nmembers, 1));
	for (int i = 0; i < function->ngroups; i++)
		function->groups[i].effects = MemoryContextAllocHuge(base->context, Max(nmembers, 1));
	for (int i = 0; i < keys->nkeys; i++)
	{
		CHECK_FOR_INTERRUPTS();
		decide_key(function, keys, deciding, i, results);
	}
}

/* ---- merging a column ---- */

/* An insert's value of a column without sequence group. */
static void
update(const PartialFunction *function, int field, Scalar *result, const Scalar *input)
{
	const DataField *column = &function->base.schema->fields[field];

	if (!input->isnull)
		*result = *input;
	else if (!column->type->nullable && function->ngroups == 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("lake table \"%s\" has a null in column \"%s\", which is NOT NULL",
						function->base.table_name, column->name)));
}

static void
update_in_group(const PartialField *field, GroupEffect effect, Scalar *result, const Scalar *input)
{
	if (effect == GROUP_NEWER && field->aggregator == NULL)
		*result = *input;
	else if (effect == GROUP_NEWER)
		aggregator_add(field->aggregator, result, input);
	else if (effect == GROUP_OLDER && field->aggregator != NULL)
		aggregator_add_older(field->aggregator, result, input);
}

static void
retract_in_group(const PartialField *field, GroupEffect effect, Scalar *result, const Scalar *input)
{
	if (effect == GROUP_SKIPPED)
		return;
	if (field->aggregator != NULL)
		aggregator_retract(field->aggregator, result, input);
	else if (effect == GROUP_NEWER)
	{
		*result = *input;
		if (!field->is_sequence)
			result->isnull = true;
	}
}

static Scalar
merge_key(const PartialFunction *function, const MergeKeys *keys, int key, int field, Vector *const *sources)
{
	const PartialField *partial = &function->fields[field];
	const uint8 *group_effects = partial->group >= 0 ? function->groups[partial->group].effects : NULL;
	Scalar		result = {.isnull = true};

	if (partial->aggregator != NULL)
		aggregator_reset(partial->aggregator);
	for (int member = keys->starts[key]; member < keys->starts[key + 1]; member++)
	{
		Scalar		input = merge_member_value(keys, sources, member);
		bool		retracts = ROW_KIND_IS_RETRACT(keys->kinds[member]);

		if (function->effects[member] != ROW_ADDS)
			result = input;
		if (function->effects[member] == ROW_REMOVES || (retracts && function->base.ignore_delete))
			continue;
		if (group_effects != NULL && retracts)
			retract_in_group(partial, group_effects[member], &result, &input);
		else if (group_effects != NULL)
			update_in_group(partial, group_effects[member], &result, &input);
		else if (!retracts)
			update(function, field, &result, &input);
	}
	return result;
}

static void
partial_merge(MergeFunction *base, const MergeKeys *keys, int field, Vector *const *sources,
			  const int32 *selection, int nselected, const int32 *places, Vector *out)
{
	const PartialFunction *function = (PartialFunction *) base;

	for (int i = 0; i < nselected; i++)
	{
		Scalar		result = merge_key(function, keys, selection[i], field, sources);

		CHECK_FOR_INTERRUPTS();
		vector_set(out, places[i], &result);
	}
}

const MergeEngine partial_update_engine = {
	.create = partial_create,
	.begin = partial_begin,
	.merge = partial_merge
};
