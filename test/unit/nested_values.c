/*
 * nested_values.c
 *		Random nested types, and vectors of random values of them.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "nested_values.h"
#include "unit.h"

DataType *
nested_type(TypeRoot root, int nchildren)
{
	DataType   *type = palloc0(sizeof(DataType));

	type->root = root;
	type->nullable = unit_random_below(4) > 0;
	type->physical = type_physical(root, 0);
	type->nchildren = nchildren;
	type->children = palloc0(nchildren * sizeof(DataField));
	return type;
}

DataType *
nested_type_of(TypeRoot root, int nchildren, DataType *const *types, const char *const *names)
{
	DataType   *type = nested_type(root, nchildren);

	type->nullable = true;
	for (int i = 0; i < nchildren; i++)
	{
		type->children[i].type = types[i];
		type->children[i].name = names != NULL ? pstrdup(names[i]) : NULL;
	}
	return type;
}

static DataType *
random_atom(bool nullable)
{
	static const char *const atoms[] = {
		"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "BYTES",
		"DATE", "DECIMAL(9, 2)", "DECIMAL(15, 3)", "DECIMAL(30, 5)", "TIMESTAMP(3)", "TIMESTAMP(9)"
	};
	DataType   *type = type_parse_atomic(atoms[unit_random_below(lengthof(atoms))]);

	type->nullable = nullable;
	return type;
}

static DataType *
random_type(int depth, int *next_id)
{
	static const TypeRoot roots[] = {TYPE_ARRAY, TYPE_MAP, TYPE_ROW, TYPE_MULTISET, TYPE_VARIANT};
	TypeRoot	root = roots[unit_random_below(lengthof(roots))];
	int			nchildren = root == TYPE_MAP ? 2 : root == TYPE_ROW ? 1 + unit_random_below(3) :
		root == TYPE_VARIANT ? 0 : 1;
	DataType   *type;

	if (depth == 0 || unit_random_below(4) == 0)
		return random_atom(unit_random_below(4) > 0);
	type = nested_type(root, nchildren);
	for (int i = 0; i < nchildren; i++)
	{
		bool		is_key = i == 0 && (root == TYPE_MAP || root == TYPE_MULTISET);

		if (root == TYPE_ROW)
		{
			type->children[i].id = (*next_id)++;
			type->children[i].name = psprintf("f%d", i);
		}
		type->children[i].type = is_key ? random_atom(false) : random_type(depth - 1, next_id);
	}
	return type;
}

DataType *
random_nested_type(int *next_id)
{
	DataType   *type;

	do
		type = random_type(1 + unit_random_below(4), next_id);
	while (!type_is_nested(type));
	return type;
}

static void
append_scalar(StringInfo text, const DataType *type, const Scalar *value)
{
	if (type->physical == PHYSICAL_BYTES)
		appendBinaryStringInfo(text, value->v.bytes.data, value->v.bytes.length);
	else
	{
		const uint8 *bytes = (const uint8 *) &value->v;

		for (int i = 0; i < physical_size(type->physical); i++)
			appendStringInfo(text, "%02x", bytes[i]);
	}
}

/* Fill a row at random, and append what it holds to text. */
static void
fill_row(Vector *vector, int row, StringInfo text)
{
	const DataType *type = vector->type;
	bool		isnull = type->nullable && unit_random_below(5) == 0;
	Scalar		value = {.isnull = isnull};

	if (isnull)
		appendStringInfoString(text, "null");
	if (isnull || !type_is_nested(type))
	{
		while (!isnull && (value = unit_random_scalar(type)).isnull)
			;
		/* files keep no more digits than the type has */
		if (type->root == TYPE_DECIMAL && type->physical == PHYSICAL_INT64)
			value.v.i64 %= 1000000000;
		else if (type->root == TYPE_DECIMAL)
			value.v.i128 %= INT64CONST(1000000000000000000);
		if (!isnull)
			append_scalar(text, type, &value);
		vector_set(vector, row, &value);
		return;
	}
	if (vector->has_nulls)
		vector->nulls[row] = false;
	if (type->physical == PHYSICAL_ROW)
	{
		appendStringInfoChar(text, '(');
		for (int i = 0; i < vector->nchildren; i++)
		{
			fill_row(vector->children[i], row, text);
			appendStringInfoChar(text, ',');
		}
		appendStringInfoChar(text, ')');
		return;
	}
	value.v.i32 = unit_random_below(20) == 0 ? unit_random_below(400) : unit_random_below(4);
	vector->values.list[row].start = vector->children[0]->filled;
	vector->values.list[row].length = value.v.i32;
	appendStringInfoChar(text, '[');
	for (int i = 0; i < vector->nchildren; i++)
	{
		Vector	   *child = vector->children[i];

		vector_reserve(child, (int64) child->filled + value.v.i32);
		child->filled += value.v.i32;
	}
	for (int k = 0; k < value.v.i32; k++)
	{
		for (int i = 0; i < vector->nchildren; i++)
		{
			fill_row(vector->children[i], vector->values.list[row].start + k, text);
			appendStringInfoChar(text, ';');
		}
	}
	appendStringInfoChar(text, ']');
}

void
append_row(StringInfo text, const Vector *vector, int row)
{
	Scalar		value = vector_get(vector, row);

	if (value.isnull)
		appendStringInfoString(text, "null");
	else if (vector->type->physical == PHYSICAL_ROW)
	{
		appendStringInfoChar(text, '(');
		for (int i = 0; i < vector->nchildren; i++)
		{
			append_row(text, vector->children[i], row);
			appendStringInfoChar(text, ',');
		}
		appendStringInfoChar(text, ')');
	}
	else if (vector->type->physical == PHYSICAL_LIST)
	{
		ListView	list = vector->values.list[row];

		appendStringInfoChar(text, '[');
		for (int k = 0; k < list.length; k++)
		{
			for (int i = 0; i < vector->nchildren; i++)
			{
				append_row(text, vector->children[i], list.start + k);
				appendStringInfoChar(text, ';');
			}
		}
		appendStringInfoChar(text, ']');
	}
	else
		append_scalar(text, vector->type, &value);
}

BytesView
row_text(const Vector *vector, int row)
{
	StringInfoData text;
	BytesView	view;

	initStringInfo(&text);
	append_row(&text, vector, row);
	view.data = text.data;
	view.length = text.len;
	return view;
}

Vector *
random_vector(const DataType *type, int nrows, BytesView *texts)
{
	Vector	   *vector = vector_create(type, nrows);

	for (int row = 0; row < nrows; row++)
	{
		StringInfoData text;

		initStringInfo(&text);
		fill_row(vector, row, &text);
		texts[row].data = text.data;
		texts[row].length = text.len;
	}
	return vector;
}
