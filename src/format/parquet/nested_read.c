/*
 * nested_read.c
 *		Nested columns: from the file's groups to lists and rows.
 *
 * Source: apache/parquet-format, LogicalTypes.md, with its rules for the lists
 * and maps of older writers.
 */
#include "postgres.h"

#include "format/parquet/nested_read.h"
#include "miscadmin.h"

/* Selected rows with fewer than this between them are read together. */
#define SPAN_GAP_ROWS 4

/* ---- binding ---- */

/* While a column's tree is made. */
typedef struct Binder
{
	const NestedSource *source;
	const char *name;			/* of the column, for errors */
	NestedColumn *column;
} Binder;

static void bind_value(Binder *binder, NestedNode *node, const ParquetField *field, bool element,
					   const DataType *wanted);

static void
refuse_field(const Binder *binder, const ParquetField *field, const DataType *wanted)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("column \"%s\" of file \"%s\" cannot be read as %s",
					binder->name, binder->source->file->path, type_to_text(wanted)),
			 errdetail("Field \"%s\" is of another kind.", field->name)));
}

static NestedLeaf *
add_leaf(Binder *binder, const NestedNode *node, const ParquetField *field, const DataType *wanted)
{
	NestedColumn *column = binder->column;
	const NestedSource *source = binder->source;
	NestedLeaf *leaf = palloc0(sizeof(NestedLeaf));

	column_init(&leaf->column, source->file, field, binder->name, wanted, source->scratch, source->batch_context,
				source->window_bytes);
	leaf->slot_definition = node->slot_definition;
	leaf->levels.context = CurrentMemoryContext;
	column->leaves = column->leaves == NULL ? palloc(sizeof(NestedLeaf *)) :
		repalloc(column->leaves, (column->nleaves + 1) * sizeof(NestedLeaf *));
	column->leaves[column->nleaves++] = leaf;
	return leaf;
}

static const ParquetField *
first_leaf(const ParquetField *field)
{
	while (field->nchildren > 0)
		field = &field->children[0];
	return field;
}

/* The leaf that tells of a node's lists and nulls: one that is read anyway, or else any. */
static void
choose_levels(Binder *binder, NestedNode *node)
{
	for (int i = 0; i < node->nchildren && node->leaf == NULL; i++)
		node->leaf = node->children[i].leaf;
	if (node->leaf == NULL)
		node->leaf = add_leaf(binder, node, first_leaf(node->field), NULL);
	node->leaf->keep_levels = true;
}

static void
make_children(NestedNode *node)
{
	node->nchildren = type_part_count(node->wanted);
	node->children = palloc0(Max(node->nchildren, 1) * sizeof(NestedNode));
}

static void
bind_row(Binder *binder, NestedNode *node)
{
	const ParquetField *field = node->field;

	if (node->wanted->root == TYPE_VARIANT && parquet_child(field, "typed_value") != NULL)
	{
		node->shredded = shredded_create(field, binder->source->file->path, binder->name);
		node->wanted = node->shredded->type;
	}
	make_children(node);
	for (int i = 0; i < node->nchildren; i++)
	{
		const DataField *part = type_part(node->wanted, i);
		NestedNode *child = &node->children[i];

		child->slot_definition = node->slot_definition;
		child->slot_repetition = node->slot_repetition;
		bind_value(binder, child, part->unused ? NULL : parquet_child(field, part->name), false, part->type);
	}
	choose_levels(binder, node);
}

/*
 * Is what is repeated in a list the element itself, without a group around it?
 * It was so with older writers.
 */
static bool
is_element(const ParquetField *list, const ParquetField *repeated)
{
	if (repeated->nchildren != 1 || repeated->children[0].repetition == PARQUET_REPEATED)
		return true;
	return strcmp(repeated->name, "array") == 0 ||
		strcmp(repeated->name, psprintf("%s_tuple", list->name)) == 0;
}

const ParquetField *
nested_element(const ParquetField *list)
{
	const ParquetField *repeated = &list->children[0];

	return is_element(list, repeated) ? repeated : &repeated->children[0];
}

static void
bind_map(Binder *binder, NestedNode *node, const ParquetField *repeated)
{
	if (repeated->nchildren < 1 || repeated->nchildren > 2)
		refuse_field(binder, node->field, node->wanted);
	for (int i = 0; i < node->nchildren; i++)
		bind_value(binder, &node->children[i], i < repeated->nchildren ? &repeated->children[i] : NULL, false,
				   type_part(node->wanted, i)->type);
}

static void
bind_list(Binder *binder, NestedNode *node, bool element)
{
	const ParquetField *field = node->field;
	const ParquetField *repeated = field;

	/* a field that is repeated, and in no group of its own, is a list, too: it is never null */
	if (field->repetition == PARQUET_REPEATED && !element)
		node->definition = field->max_definition - 1;
	else if (field->nchildren == 1 && field->children[0].repetition == PARQUET_REPEATED)
		repeated = &field->children[0];
	else
		refuse_field(binder, field, node->wanted);
	node->element_definition = repeated->max_definition;
	make_children(node);
	for (int i = 0; i < node->nchildren; i++)
	{
		node->children[i].slot_definition = node->element_definition;
		node->children[i].slot_repetition = repeated->max_repetition;
	}
	if (node->nchildren == 2)
		bind_map(binder, node, repeated);
	else if (repeated == field || is_element(field, repeated))
		bind_value(binder, &node->children[0], repeated, true, type_part(node->wanted, 0)->type);
	else
		bind_value(binder, &node->children[0], &repeated->children[0], false, type_part(node->wanted, 0)->type);
	choose_levels(binder, node);
}

/*
 * A column, element, key, value or row's field, whose slots are set.  field
 * NULL: the file lacks it; element: it is what a list repeats.
 */
static void
bind_value(Binder *binder, NestedNode *node, const ParquetField *field, bool element, const DataType *wanted)
{
	node->field = field;
	node->wanted = wanted;
	if (field == NULL)
		return;
	node->definition = field->max_definition;
	if (wanted->physical == PHYSICAL_LIST)
	{
		bind_list(binder, node, element);
		return;
	}
	if ((field->repetition == PARQUET_REPEATED && !element) || (field->nchildren > 0) != type_is_nested(wanted))
		refuse_field(binder, field, wanted);
	if (wanted->physical == PHYSICAL_ROW)
		bind_row(binder, node);
	else
		node->leaf = add_leaf(binder, node, field, wanted);
}

NestedColumn *
nested_column_create(const NestedSource *source, const ParquetField *field, const char *name, const DataType *wanted)
{
	NestedColumn *column = palloc0(sizeof(NestedColumn));
	Binder		binder = {source, name, column};

	bind_value(&binder, &column->root, field, false, wanted);
	return column;
}

/* ---- reading ---- */

static void
node_damaged(const NestedNode *node)
{
	column_damaged(&node->leaf->column, "Its fields have different numbers of elements.");
}

/* Tell the leaves which vectors their values belong to, and where there. */
static void
place_leaves(NestedNode *node, Vector *vector, int base)
{
	if (node->shredded != NULL)
	{
		vector = node->shredded->vector;
		vector_reset(vector);
		base = 0;
	}
	if (node->field != NULL && node->nchildren == 0)
	{
		node->leaf->out = vector;
		node->leaf->base = base;
	}
	for (int i = 0; i < node->nchildren; i++)
	{
		Vector	   *child = vector->children[i];

		place_leaves(&node->children[i], child, node->wanted->physical == PHYSICAL_LIST ? child->filled : base);
	}
}

/* A field that the file lacks. */
static void
assemble_missing(Vector *vector, int base, int nslots)
{
	vector_reserve(vector, (int64) base + nslots);
	vector->has_nulls = true;
	memset(vector->nulls + base, true, nslots);
}

/* The nulls of rows. */
static void
assemble_row(const NestedNode *node, Vector *vector, int base, int nslots)
{
	const LevelList *levels = &node->leaf->levels;
	bool	   *nulls;
	int			n = 0;
	bool		any = false;

	vector_reserve(vector, (int64) base + nslots);
	nulls = vector->nulls + base;
	for (int i = 0; i < levels->count; i++)
	{
		if (levels->repetitions[i] > node->slot_repetition || levels->definitions[i] < node->slot_definition)
			continue;
		if (n == nslots)
			node_damaged(node);
		nulls[n] = levels->definitions[i] < node->definition;
		any |= nulls[n++];
	}
	if (n != nslots)
		node_damaged(node);
	vector->has_nulls |= any;
}

/* Lists, and their nulls; returns how many elements they have. */
static int
assemble_list(const NestedNode *node, Vector *vector, int base, int nslots)
{
	const LevelList *levels = &node->leaf->levels;
	int			element_repetition = node->slot_repetition + 1;
	int			first = vector->children[0]->filled;
	int			nelements = 0;
	int			n = 0;
	bool		any = false;
	ListView   *lists;
	bool	   *nulls;

	vector_reserve(vector, (int64) base + nslots);
	lists = vector->values.list + base;
	nulls = vector->nulls + base;
	for (int i = 0; i < levels->count; i++)
	{
		uint8		definition = levels->definitions[i];
		uint8		repetition = levels->repetitions[i];

		if (repetition <= node->slot_repetition && definition >= node->slot_definition)
		{
			if (n == nslots)
				node_damaged(node);
			nulls[n] = definition < node->definition;
			any |= nulls[n];
			lists[n++].start = first + nelements;
		}
		nelements += repetition <= element_repetition && definition >= node->element_definition;
	}
	if (n != nslots || (n == 0 && nelements > 0))
		node_damaged(node);
	for (int i = 0; i < n; i++)
		lists[i].length = (i + 1 < n ? lists[i + 1].start : first + nelements) - lists[i].start;
	vector->has_nulls |= any;
	return nelements;
}

/* Make the nodes' nulls and lists, and check that all fit each other. */
static void
assemble(const NestedNode *node, Vector *vector, int base, int nslots)
{
	if (node->field == NULL)
		assemble_missing(vector, base, nslots);
	else if (node->nchildren == 0)
	{
		if (node->leaf->nslots != nslots)
			node_damaged(node);
		vector_reserve(vector, (int64) base + nslots);
	}
	else if (node->shredded != NULL && vector != node->shredded->vector)
	{
		assemble(node, node->shredded->vector, 0, nslots);
		shredded_rebuild(node->shredded, nslots, vector, base);
	}
	else if (node->wanted->physical == PHYSICAL_ROW)
	{
		assemble_row(node, vector, base, nslots);
		for (int i = 0; i < node->nchildren; i++)
			assemble(&node->children[i], vector->children[i], base, nslots);
	}
	else
	{
		int			nelements = assemble_list(node, vector, base, nslots);

		for (int i = 0; i < node->nchildren; i++)
		{
			Vector	   *child = vector->children[i];

			assemble(&node->children[i], child, child->filled, nelements);
			child->filled += nelements;
		}
	}
}

static void
read_span(NestedColumn *column, int64 start, int nrows, Vector *out, int at)
{
	place_leaves(&column->root, out, at);
	for (int i = 0; i < column->nleaves; i++)
	{
		CHECK_FOR_INTERRUPTS();
		leaf_read_rows(column->leaves[i], start, nrows);
	}
	assemble(&column->root, out, at, nrows);
}

void
nested_column_read(NestedColumn *column, int64 start, int nrows, const int32 *selection, int nselected, Vector *out)
{
	MemoryContext old = MemoryContextSwitchTo(column->leaves[0]->column.batch_context);

	vector_reset(out);
	if (selection == NULL)
		read_span(column, start, nrows, out, 0);
	for (int i = 0; selection != NULL && i < nselected;)
	{
		int			first = selection[i];
		int			last = first;

		while (++i < nselected && selection[i] - last <= SPAN_GAP_ROWS)
			last = selection[i];
		read_span(column, start + first, last - first + 1, out, first);
	}
	MemoryContextSwitchTo(old);
}
