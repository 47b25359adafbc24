/*
 * aggregate_nested.c
 *		Aggregate functions of arrays and maps.
 *
 * A new value is put together from parts of the accumulator and the input,
 * so it is made in one of two vectors while the accumulator may lie in the
 * other.  Appending, which is most frequent, happens in place.
 */
#include "postgres.h"

#include "lake/aggregator.h"
#include "lake/binary_row.h"
#include "lake/java_map.h"
#include "utils/memutils.h"

/* Where an aggregator makes lists and maps */
typedef struct NestedMaker
{
	MemoryContext step_context; /* emptied with each step */
	Vector	   *vectors[2];
	int			current;		/* that of the value made last */
} NestedMaker;

static void
prepare(Aggregator *aggregator)
{
	NestedMaker *maker = palloc0(sizeof(NestedMaker));

	maker->step_context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse aggregate step",
												ALLOCSET_DEFAULT_SIZES);
	for (int i = 0; i < 2; i++)
		maker->vectors[i] = vector_create(aggregator->field->type, 1);
	aggregator->maker = maker;
}

/* ---- parts of a value ---- */

static ListView
list_of(const Scalar *value)
{
	return value->v.nested.vector->values.list[value->v.nested.row];
}

static int
length_of(const Scalar *value)
{
	return value->isnull ? 0 : list_of(value).length;
}

/* Element of an array; of a map the key (part 0) or value (part 1). */
static Scalar
element_of(const Scalar *value, int part, int index)
{
	return vector_get(value->v.nested.vector->children[part], list_of(value).start + index);
}

static const DataType *
element_type(const Aggregator *aggregator)
{
	return type_part(aggregator->field->type, 0)->type;
}

/* ---- making a value ---- */

/* Begin an empty list in the vector that the accumulator does not lie in. */
static Vector *
begin_list(Aggregator *aggregator)
{
	NestedMaker *maker = aggregator->maker;
	Vector	   *vector;

	maker->current = 1 - maker->current;
	vector = maker->vectors[maker->current];
	vector_reset(vector);
	vector->values.list[0] = (ListView) {0, 0};
	return vector;
}

/* A place for one more element of the list. */
static int
add_place(Vector *vector)
{
	ListView   *list = &vector->values.list[0];

	for (int i = 0; i < vector->nchildren; i++)
	{
		vector_reserve(vector->children[i], (int64) vector->children[i]->filled + 1);
		vector->children[i]->filled++;
	}
	return list->start + list->length++;
}

static void
add_element(Vector *vector, const Scalar *element)
{
	int			place = add_place(vector);

	vector_set(vector->children[0], place, element);
}

static void
set_result(Scalar *accumulator, const Vector *vector)
{
	memset(accumulator, 0, sizeof(*accumulator));
	accumulator->v.nested.vector = vector;
}

/* Let the accumulator be the list being made, which is the last thing in its vector. */
static Vector *
own_list(Aggregator *aggregator, Scalar *accumulator)
{
	Vector	   *vector = aggregator->maker->vectors[aggregator->maker->current];

	if (accumulator->v.nested.vector == vector)
		return vector;
	vector = begin_list(aggregator);
	for (int i = 0; i < length_of(accumulator); i++)
	{
		Scalar		element = element_of(accumulator, 0, i);

		add_element(vector, &element);
	}
	set_result(accumulator, vector);
	return vector;
}

/* Memory of one step: arrays of values, maps. */
static MemoryContext
begin_step(Aggregator *aggregator)
{
	MemoryContextReset(aggregator->maker->step_context);
	return MemoryContextSwitchTo(aggregator->maker->step_context);
}

/* Append entries' values, in the order of Java's map, as the elements of a list. */
static void
set_map_values(Aggregator *aggregator, const JavaMap *map, Scalar *accumulator)
{
	JavaMapEntry **entries = MemoryContextAllocHuge(CurrentMemoryContext, (map->nentries + 1) * sizeof(JavaMapEntry *));
	int			count = java_map_order(map, entries);
	Vector	   *vector = begin_list(aggregator);

	for (int i = 0; i < count; i++)
		add_element(vector, &entries[i]->value);
	set_result(accumulator, vector);
}

/* ---- collect ---- */

static bool
accepts_array(const DataType *type)
{
	return type->root == TYPE_ARRAY;
}

/* Java tells arrays of bytes apart by where they are, so that none is equal to another. */
static bool
has_identity(const DataType *type)
{
	return type->root == TYPE_BINARY || type->root == TYPE_VARBINARY;
}

static void
append_elements(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	Vector	   *vector = own_list(aggregator, accumulator);

	for (int i = 0; i < length_of(input); i++)
	{
		Scalar		element = element_of(input, 0, i);

		add_element(vector, &element);
	}
}

static void
enter_elements(JavaMap *map, const Scalar *list)
{
	for (int i = 0; i < length_of(list); i++)
	{
		Scalar		element = element_of(list, 0, i);
		bool		found;

		java_map_enter(map, &element, &found)->value = element;
	}
}

/* A set of both lists' elements, in the order of Java's map. */
static void
unite_elements(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	MemoryContext old = begin_step(aggregator);
	JavaMap    *map = java_map_create(element_type(aggregator), length_of(accumulator) + length_of(input));

	enter_elements(map, accumulator);
	enter_elements(map, input);
	set_map_values(aggregator, map, accumulator);
	MemoryContextSwitchTo(old);
}

/* Elements of the input that are not in the list yet; the list itself is left as it is. */
static void
append_new_elements(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	MemoryContext old = begin_step(aggregator);
	JavaMap    *map = java_map_create(element_type(aggregator), length_of(accumulator) + length_of(input));
	Vector	   *vector;

	enter_elements(map, accumulator);
	if (accumulator->isnull)
	{
		vector = begin_list(aggregator);
		set_result(accumulator, vector);
	}
	else
		vector = own_list(aggregator, accumulator);
	for (int i = 0; i < length_of(input); i++)
	{
		Scalar		element = element_of(input, 0, i);
		bool		found;

		java_map_enter(map, &element, &found);
		if (!found)
			add_element(vector, &element);
	}
	MemoryContextSwitchTo(old);
}

static void
collect(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	const DataType *type = element_type(aggregator);

	if (accumulator->isnull && input->isnull)
		return;
	if (aggregator->distinct && type_is_nested(type))
		append_new_elements(aggregator, accumulator, input);
	else if (aggregator->distinct && !has_identity(type))
		unite_elements(aggregator, accumulator, input);
	else if (accumulator->isnull)
		*accumulator = *input;
	else if (!input->isnull)
		append_elements(aggregator, accumulator, input);
}

/* Each element taken back takes one with it, the first. */
static void
take_elements_back(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	const DataType *type = element_type(aggregator);
	int			nback = length_of(input);
	MemoryContext old;
	bool	   *used;
	Vector	   *vector;

	if (accumulator->isnull || nback == 0)
		return;
	old = begin_step(aggregator);
	used = palloc0(nback * sizeof(bool));
	vector = begin_list(aggregator);
	for (int i = 0; i < length_of(accumulator); i++)
	{
		Scalar		element = element_of(accumulator, 0, i);
		int			k = 0;

		for (; k < nback; k++)
		{
			Scalar		back = element_of(input, 0, k);

			if (!used[k] && java_values_equal(type, &element, &back) && (element.isnull || !has_identity(type)))
				break;
		}
		if (k < nback)
			used[k] = true;
		else
			add_element(vector, &element);
	}
	set_result(accumulator, vector);
	MemoryContextSwitchTo(old);
}

/* ---- merge_map ---- */

static bool
accepts_map(const DataType *type)
{
	return type->root == TYPE_MAP;
}

static void
enter_pairs(JavaMap *map, const Scalar *pairs)
{
	for (int i = 0; i < length_of(pairs); i++)
	{
		Scalar		key = element_of(pairs, 0, i);
		bool		found;

		java_map_enter(map, &key, &found)->value = element_of(pairs, 1, i);
	}
}

/* The map's entries as a value. */
static void
set_map(Aggregator *aggregator, const JavaMap *map, Scalar *accumulator)
{
	Vector	   *vector = begin_list(aggregator);

	for (int i = 0; i < map->nentries; i++)
	{
		int			place;

		if (map->entries[i].removed)
			continue;
		place = add_place(vector);
		vector_set(vector->children[0], place, &map->entries[i].key);
		vector_set(vector->children[1], place, &map->entries[i].value);
	}
	set_result(accumulator, vector);
}

static void
merge_pairs(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	MemoryContext old;
	JavaMap    *map;

	if (accumulator->isnull || input->isnull)
	{
		if (accumulator->isnull)
			*accumulator = *input;
		return;
	}
	old = begin_step(aggregator);
	map = java_map_create(element_type(aggregator), length_of(accumulator) + length_of(input));
	enter_pairs(map, accumulator);
	enter_pairs(map, input);
	set_map(aggregator, map, accumulator);
	MemoryContextSwitchTo(old);
}

static void
take_pairs_back(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	MemoryContext old;
	JavaMap    *map;

	if (accumulator->isnull || length_of(input) == 0)
		return;
	old = begin_step(aggregator);
	map = java_map_create(element_type(aggregator), length_of(accumulator));
	enter_pairs(map, accumulator);
	for (int i = 0; i < length_of(input); i++)
	{
		Scalar		key = element_of(input, 0, i);

		java_map_remove(map, &key);
	}
	set_map(aggregator, map, accumulator);
	MemoryContextSwitchTo(old);
}

/* ---- nested_update, nested_partial_update ---- */

/* Keys of rows are compared as encoded rows */
static const DataType row_key_type = {.root = TYPE_VARBINARY, .physical = PHYSICAL_BYTES, .length = TYPE_MAX_LENGTH};

static bool
accepts_array_of_rows(const DataType *type)
{
	return type->root == TYPE_ARRAY && type_part(type, 0)->type->root == TYPE_ROW;
}

static int
find_row_field(const DataType *type, const char *name)
{
	for (int i = 0; i < type_part_count(type); i++)
		if (strcmp(type_part(type, i)->name, name) == 0)
			return i;
	return -1;
}

static void
refuse_nested_key(const Aggregator *aggregator, const char *value)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("option \"fields.%s.nested-key\" = \"%s\" of lake table \"%s\" is not supported",
					aggregator->field->name, value != NULL ? value : "", aggregator->table_name),
			 errdetail("Aggregate function \"%s\" wants fields of the elements there.", aggregator->function->name)));
}

static void
prepare_nested_key(Aggregator *aggregator)
{
	const char *value = aggregator_option(aggregator, "nested-key");
	List	   *names = value != NULL ? schema_split_names(value) : NIL;
	ListCell   *cell;

	prepare(aggregator);
	aggregator->nested_keys = palloc(Max(list_length(names), 1) * sizeof(int));
	foreach(cell, names)
	{
		int			field = find_row_field(element_type(aggregator), lfirst(cell));

		if (field < 0 || type_is_nested(type_part(element_type(aggregator), field)->type))
			refuse_nested_key(aggregator, value);
		aggregator->nested_keys[aggregator->nnested_keys++] = field;
	}
}

static void
prepare_required_key(Aggregator *aggregator)
{
	prepare_nested_key(aggregator);
	if (aggregator->nnested_keys == 0)
		refuse_nested_key(aggregator, NULL);
}

static Scalar
row_key(const Aggregator *aggregator, const Scalar *row)
{
	int			nkeys = aggregator->nnested_keys;
	Scalar	   *values = palloc(nkeys * sizeof(Scalar));
	const DataType **types = palloc(nkeys * sizeof(DataType *));
	Scalar		key = {0};

	for (int i = 0; i < nkeys; i++)
	{
		const Vector *field = row->v.nested.vector->children[aggregator->nested_keys[i]];

		values[i] = vector_get(field, row->v.nested.row);
		types[i] = field->type;
	}
	key.v.bytes = binary_row_encode(types, values, nkeys);
	return key;
}

/* Enter at most limit rows of a list under their keys; rows that are NULL do not count. */
static void
enter_rows(const Aggregator *aggregator, JavaMap *map, const Scalar *list, int limit)
{
	for (int i = 0; i < length_of(list) && limit > 0; i++)
	{
		Scalar		row = element_of(list, 0, i);
		Scalar		key;
		bool		found;

		if (row.isnull)
			continue;
		key = row_key(aggregator, &row);
		java_map_enter(map, &key, &found)->value = row;
		limit--;
	}
}

/* Append at most limit rows of a list. */
static void
add_rows(Vector *vector, const Scalar *list, int limit)
{
	for (int i = 0; i < length_of(list) && limit > 0; i++)
	{
		Scalar		row = element_of(list, 0, i);

		if (row.isnull)
			continue;
		add_element(vector, &row);
		limit--;
	}
}

static void
update_rows(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	MemoryContext old;
	int			room;

	if (accumulator->isnull || input->isnull)
	{
		if (accumulator->isnull)
			*accumulator = *input;
		return;
	}
	room = aggregator->count_limit - length_of(accumulator);
	if (room <= 0)
		return;
	old = begin_step(aggregator);
	if (aggregator->nnested_keys > 0)
	{
		JavaMap    *map = java_map_create(&row_key_type, length_of(accumulator) + length_of(input));

		enter_rows(aggregator, map, accumulator, PG_INT32_MAX);
		enter_rows(aggregator, map, input, room);
		set_map_values(aggregator, map, accumulator);
	}
	else
	{
		Vector	   *vector;

			vector = begin_list(aggregator);
		add_rows(vector, accumulator, PG_INT32_MAX);
		add_rows(vector, input, room);
		set_result(accumulator, vector);
	}
	MemoryContextSwitchTo(old);
}

/* The rows of the accumulator that are equal to none of the input. */
static void
add_other_rows(Aggregator *aggregator, Vector *vector, const Scalar *accumulator, const Scalar *input)
{
	const DataType *type = element_type(aggregator);

	for (int i = 0; i < length_of(accumulator); i++)
	{
		Scalar		row = element_of(accumulator, 0, i);
		bool		found = row.isnull;

		for (int k = 0; k < length_of(input) && !found; k++)
		{
			Scalar		back = element_of(input, 0, k);

			found = java_values_equal(type, &row, &back);
		}
		if (!found)
			add_element(vector, &row);
	}
}

static void
take_rows_back(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	MemoryContext old;

	if (accumulator->isnull || input->isnull)
		return;
	old = begin_step(aggregator);
	if (aggregator->nnested_keys > 0)
	{
		JavaMap    *map = java_map_create(&row_key_type, length_of(accumulator));

		enter_rows(aggregator, map, accumulator, PG_INT32_MAX);
		for (int i = 0; i < length_of(input); i++)
		{
			Scalar		row = element_of(input, 0, i);
			Scalar		key;

			if (row.isnull)
				continue;
			key = row_key(aggregator, &row);
			java_map_remove(map, &key);
		}
		set_map_values(aggregator, map, accumulator);
	}
	else
	{
		Vector	   *vector;

			vector = begin_list(aggregator);
		add_other_rows(aggregator, vector, accumulator, input);
		set_result(accumulator, vector);
	}
	MemoryContextSwitchTo(old);
}

/* Rows of the same key, field by field: what is not NULL replaces what was there. */
static void
merge_rows(const Aggregator *aggregator, JavaMap *map, Scalar **merged, const Scalar *list)
{
	int			nfields = type_part_count(element_type(aggregator));

	for (int i = 0; i < length_of(list); i++)
	{
		Scalar		row = element_of(list, 0, i);
		Scalar		key;
		Scalar	   *fields;
		JavaMapEntry *entry;
		bool		found;

		if (row.isnull)
			continue;
		key = row_key(aggregator, &row);
		entry = java_map_enter(map, &key, &found);
		if (!found)
			merged[entry - map->entries] = palloc(nfields * sizeof(Scalar));
		fields = merged[entry - map->entries];
		for (int f = 0; f < nfields; f++)
		{
			Scalar		value = vector_get(row.v.nested.vector->children[f], row.v.nested.row);

			if (!found || !value.isnull)
				fields[f] = value;
		}
	}
}

static void
add_merged_row(Vector *vector, const Scalar *fields)
{
	int			place = add_place(vector);
	Vector	   *rows = vector->children[0];

	if (rows->has_nulls)
		rows->nulls[place] = false;
	for (int f = 0; f < rows->nchildren; f++)
		vector_set(rows->children[f], place, &fields[f]);
}

static void
update_rows_partially(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	int			most = length_of(accumulator) + length_of(input);
	MemoryContext old;
	JavaMap    *map;
	JavaMapEntry **entries;
	Scalar	  **merged;
	Vector	   *vector;
	int			count;

	if (accumulator->isnull || input->isnull)
	{
		if (accumulator->isnull)
			*accumulator = *input;
		return;
	}
	old = begin_step(aggregator);
	map = java_map_create(&row_key_type, most);
	map->newest_first = true;
	merged = palloc(Max(most, 1) * sizeof(Scalar *));
	entries = palloc(Max(most, 1) * sizeof(JavaMapEntry *));
	merge_rows(aggregator, map, merged, accumulator);
	merge_rows(aggregator, map, merged, input);
	count = java_map_order(map, entries);
	vector = begin_list(aggregator);
	for (int i = 0; i < count; i++)
		add_merged_row(vector, merged[entries[i] - map->entries]);
	set_result(accumulator, vector);
	MemoryContextSwitchTo(old);
}

const AggregateFunction aggregate_collect = {
	.name = "collect",
	.accepts = accepts_array,
	.prepare = prepare,
	.aggregate = collect,
	.retract = take_elements_back,
	.unordered = true
};

const AggregateFunction aggregate_merge_map = {
	.name = "merge_map",
	.accepts = accepts_map,
	.prepare = prepare,
	.aggregate = merge_pairs,
	.retract = take_pairs_back
};

const AggregateFunction aggregate_nested_update = {
	.name = "nested_update",
	.accepts = accepts_array_of_rows,
	.prepare = prepare_nested_key,
	.aggregate = update_rows,
	.retract = take_rows_back
};

const AggregateFunction aggregate_nested_partial_update = {
	.name = "nested_partial_update",
	.accepts = accepts_array_of_rows,
	.prepare = prepare_required_key,
	.aggregate = update_rows_partially
};
