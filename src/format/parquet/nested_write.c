/*
 * nested_write.c
 *		Nested columns on their way into a Parquet file.
 *
 * A column is a tree of nodes, each a field, an element, a key or a value.
 * Rows are shredded from the root down: what a node gets is a list of
 * positions in its vector, -1 where its value ended further up, with their
 * levels.  A node that may be null counts up the definition levels of those
 * that are not, a list puts its elements in the place of each of its own.
 *
 * Source: format digest sections 6.3 (ids) and 6.4 (groups).
 */
#include "postgres.h"

#include "format/parquet/parquet_write.h"
#include "miscadmin.h"

#define ELEMENT_ID_BASE 536870911	/* PG_INT32_MAX / 4 */
#define ELEMENT_ID_STEP 1024
#define SHRED_ROWS 256
#define KEEP_BYTES (1024 * 1024)	/* of a node's memory, from some rows to the next */

/* ---- nodes ---- */

static void
refuse_type(const DataField *field, const DataType *type)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("column \"%s\" cannot be written to a Parquet file", field->name),
			 errdetail("Type %s is not supported there.", type_to_text(type))));
}

static int
count_leaves_of_type(const DataField *field, const DataType *type, int depth)
{
	int			count = 0;

	if (!type_is_nested(type))
		return 1;
	if (type->root == TYPE_VECTOR || type_part_count(type) == 0)
		refuse_type(field, type);
	if (depth == MAX_NESTING)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("column \"%s\" cannot be written to a Parquet file", field->name),
				 errdetail("Its type has more than %d levels.", MAX_NESTING)));
	for (int i = 0; i < type_part_count(type); i++)
		count += count_leaves_of_type(field, type_part(type, i)->type, depth + 1);
	return count;
}

int
count_leaves(const DataField *field)
{
	return count_leaves_of_type(field, field->type, 0);
}

static bool
is_map(const WriteNode *node)
{
	return node->type.root == TYPE_MAP || node->type.root == TYPE_MULTISET;
}

const char *
repeated_group_name(const WriteNode *node)
{
	if (node->type.physical != PHYSICAL_LIST)
		return NULL;
	return is_map(node) ? "key_value" : "list";
}

/*
 * Elements, keys and values have no ids in the schema; theirs come from the
 * field that they are in, and how deep.
 */
static int32
element_id(const WriteNode *list, int part, int32 field_id, int depth)
{
	uint32		offset = (uint32) field_id * ELEMENT_ID_STEP + depth;

	return (int32) (is_map(list) && part == 0 ? ELEMENT_ID_BASE - offset : ELEMENT_ID_BASE + offset);
}

static const char *
part_name(const WriteNode *node, const DataField *part, int i)
{
	if (node->type.physical == PHYSICAL_ROW)
		return pstrdup(part->name);
	if (!is_map(node))
		return "element";
	return i == 0 ? "key" : "value";
}

/* For errors. */
static char *
display_name(const WriteNode *node)
{
	return node->parent == NULL ? pstrdup(node->name) : psprintf("%s.%s", display_name(node->parent), node->name);
}

static void
init_leaf(WriteNode *node, ParquetWriter *writer)
{
	DataField  *field = palloc0(sizeof(DataField));

	field->id = node->id;
	field->name = display_name(node);
	field->type = &node->type;
	node->leaf = &writer->leaves[writer->nleaves++];
	column_writer_init(node->leaf, writer, field, node);
}

static void init_children(WriteNode *node, ParquetWriter *writer, const DataType *type, int32 field_id, int depth);

/* field_id and depth: of the row's field that it is or is in, and how many lists are between them. */
static void
init_node(WriteNode *node, ParquetWriter *writer, const DataType *type, int32 field_id, int depth)
{
	node->type = *type;
	node->type.nchildren = 0;
	node->type.children = NULL;
	node->definition += node->nullable;
	byte_buffer_init(&node->positions, writer->context);
	byte_buffer_init(&node->definitions, writer->context);
	if (!type_is_nested(type))
	{
		init_leaf(node, writer);
		return;
	}
	byte_buffer_init(&node->element_positions, writer->context);
	byte_buffer_init(&node->element_definitions, writer->context);
	byte_buffer_init(&node->element_repetitions, writer->context);
	if (type->physical == PHYSICAL_LIST)
		node->repetition++;
	init_children(node, writer, type, field_id, depth);
}

static void
init_children(WriteNode *node, ParquetWriter *writer, const DataType *type, int32 field_id, int depth)
{
	bool		is_list = type->physical == PHYSICAL_LIST;

	node->nchildren = type_part_count(type);
	node->children = palloc0(node->nchildren * sizeof(WriteNode));
	for (int i = 0; i < node->nchildren; i++)
	{
		const DataField *part = type_part(type, i);
		WriteNode  *child = &node->children[i];

		child->parent = node;
		child->name = part_name(node, part, i);
		child->id = is_list ? element_id(node, i, field_id, depth + 1) : part->id;
		/* keys are never null, whatever their type says */
		child->nullable = part->type->nullable && !(is_map(node) && i == 0);
		child->definition = node->definition + is_list;
		child->repetition = node->repetition;
		if (is_list)
			init_node(child, writer, part->type, field_id, depth + 1);
		else
			init_node(child, writer, part->type, part->id, 0);
	}
}

void
write_node_init(WriteNode *node, ParquetWriter *writer, const DataField *field)
{
	memset(node, 0, sizeof(WriteNode));
	node->name = pstrdup(field->name);
	node->id = field->id;
	node->nullable = field->type->nullable;
	init_node(node, writer, field->type, field->id, 0);
}

/* ---- shredding ---- */

/* What lies in a node's vector. */
typedef struct Shreds
{
	int			count;
	const int32 *positions;
	const uint8 *definitions;
	const uint8 *repetitions;
} Shreds;

/* Empty buffers, with room for so many. */
static void *
clear_buffer(ByteBuffer *buffer, int count, size_t width)
{
	byte_buffer_clear(buffer, Max(KEEP_BYTES, count * width));
	return byte_buffer_reserve(buffer, count * width);
}

static void
refuse_nulls(const WriteNode *node, const Vector *vector, const Shreds *shreds)
{
	for (int i = 0; vector->has_nulls && i < shreds->count; i++)
	{
		if (shreds->positions[i] >= 0 && vector->nulls[shreds->positions[i]])
			ereport(ERROR,
					(errcode(ERRCODE_NOT_NULL_VIOLATION),
					 errmsg("null value in column \"%s\", which is NOT NULL", display_name(node))));
	}
}

/* One definition level more for what is not null; the rest ends here. */
static void
shred_nulls(WriteNode *node, const Vector *vector, Shreds *shreds)
{
	int32	   *positions = clear_buffer(&node->positions, shreds->count, sizeof(int32));
	uint8	   *definitions = clear_buffer(&node->definitions, shreds->count, sizeof(uint8));

	for (int i = 0; i < shreds->count; i++)
	{
		int32		position = shreds->positions[i];
		bool		present = position >= 0 && !(vector->has_nulls && vector->nulls[position]);

		positions[i] = present ? position : -1;
		definitions[i] = shreds->definitions[i] + present;
	}
	shreds->positions = positions;
	shreds->definitions = definitions;
}

/* How many there will be when elements are in the lists' place. */
static int
count_elements(const Vector *vector, const Shreds *shreds)
{
	int64		count = 0;

	for (int i = 0; i < shreds->count; i++)
	{
		int32		position = shreds->positions[i];

		count += position >= 0 ? Max(vector->values.list[position].length, 1) : 1;
	}
	if (count > PG_INT32_MAX / 8)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("arrays or maps have too many elements to be written to a Parquet file")));
	return (int) count;
}

/* Elements in the place of lists; an empty list leaves one that ends here. */
static Shreds
shred_lists(WriteNode *node, const Vector *vector, const Shreds *shreds)
{
	int			count = count_elements(vector, shreds);
	int32	   *positions = clear_buffer(&node->element_positions, count, sizeof(int32));
	uint8	   *definitions = clear_buffer(&node->element_definitions, count, sizeof(uint8));
	uint8	   *repetitions = clear_buffer(&node->element_repetitions, count, sizeof(uint8));
	Shreds		elements = {count, positions, definitions, repetitions};
	int			n = 0;

	for (int i = 0; i < shreds->count; i++)
	{
		int32		position = shreds->positions[i];
		ListView	list = {0, 0};

		if (position >= 0)
			list = vector->values.list[position];
		if (list.length == 0)
		{
			positions[n] = -1;
			definitions[n] = shreds->definitions[i];
			repetitions[n++] = shreds->repetitions[i];
			continue;
		}
		for (int32 k = 0; k < list.length; k++)
			positions[n + k] = list.start + k;
		memset(definitions + n, shreds->definitions[i] + 1, list.length);
		memset(repetitions + n, node->repetition, list.length);
		repetitions[n] = shreds->repetitions[i];
		n += list.length;
	}
	return elements;
}

static void
shred(WriteNode *node, const Vector *vector, Shreds shreds)
{
	if (node->nullable)
		shred_nulls(node, vector, &shreds);
	else
		refuse_nulls(node, vector, &shreds);
	if (node->leaf != NULL)
	{
		ColumnInput input = {vector, shreds.positions, shreds.definitions, shreds.repetitions};

		column_writer_append(node->leaf, &input, 0, shreds.count);
		return;
	}
	if (node->type.physical == PHYSICAL_LIST)
		shreds = shred_lists(node, vector, &shreds);
	for (int i = 0; i < node->nchildren; i++)
		shred(&node->children[i], vector->children[i], shreds);
}

static void
shred_rows(WriteNode *node, const Vector *vector, const int32 *rows, int first, int nrows)
{
	static const uint8 zeros[SHRED_ROWS];
	int32		positions[SHRED_ROWS];
	Shreds		shreds = {nrows, positions, zeros, zeros};

	for (int i = 0; i < nrows; i++)
		positions[i] = rows != NULL ? rows[first + i] : first + i;
	shred(node, vector, shreds);
}

void
write_node_append(WriteNode *node, const Vector *vector, const int32 *rows, int first, int nrows)
{
	ColumnInput input = {vector, rows, NULL, NULL};

	if (node->leaf != NULL)
	{
		column_writer_append(node->leaf, &input, first, nrows);
		return;
	}
	for (int done = 0; done < nrows; done += SHRED_ROWS)
	{
		CHECK_FOR_INTERRUPTS();
		shred_rows(node, vector, rows, first + done, Min(nrows - done, SHRED_ROWS));
	}
}
