/*
 * test_nested.c
 *		Nested values: vectors against texts made when they were filled, and
 *		back from Parquet files.
 */
#include "postgres.h"

#include "columnar/vector.h"

#include "unit.h"

#define MAX_ROWS 300

/* ---- random types and values ---- */

static DataType *
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

static DataType *
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

static void
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

static BytesView
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

/* A vector of random rows, and the text of each. */
static Vector *
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

/* ---- vectors ---- */

static void
check_gather(const DataType *type)
{
	BytesView	texts[MAX_ROWS];
	BytesView	expected[2 * MAX_ROWS];
	int32		from[MAX_ROWS];
	int			nrows = 1 + unit_random_below(MAX_ROWS);
	Vector	   *source = random_vector(type, nrows, texts);
	Vector	   *target = vector_create(type, 2 * MAX_ROWS);
	int			at = 0;

	for (int row = 0; row < nrows; row++)
		if (!CHECK_BYTES(row_text(source, row), texts[row]))
			return;
	vector_reset(target);
	while (at < MAX_ROWS)
	{
		int			count = unit_random_below(MAX_ROWS);

		for (int i = 0; i < count; i++)
		{
			from[i] = unit_random_below(nrows);
			expected[at + i] = texts[from[i]];
		}
		vector_gather(target, at, source, from, count);
		at += count;
	}
	vector_reserve(target, 3 * MAX_ROWS);
	vector_flatten(target, NULL, at);
	for (int row = 0; row < at; row++)
		if (!CHECK_BYTES(row_text(target, row), expected[row]))
			return;
	vector_free(target);
}

static void
test_gather(void)
{
	for (int i = 0; i < 200; i++)
	{
		int			next_id = 1;

		check_gather(random_nested_type(&next_id));
	}
}

/* Copies own their bytes: they stay when the source's are overwritten. */
static void
test_scalar_copy(void)
{
	for (int i = 0; i < 100; i++)
	{
		int			next_id = 1;
		DataType   *type = random_nested_type(&next_id);
		BytesView	text;
		Vector	   *vector = random_vector(type, 1, &text);
		Scalar		value = vector_get(vector, 0);
		Scalar		copy;
		RowCost		cost = vector_row_cost(vector, 0);
		char	   *bytes = palloc(Max(cost.bytes, 1));
		char	   *place = bytes;

		vector_move_bytes(vector, 0, &place);
		CHECK_INT(place - bytes, cost.bytes);
		copy = scalar_copy(type, &value);
		memset(bytes, '?', cost.bytes);
		vector_free(vector);
		CHECK(copy.isnull == (strcmp(text.data, "null") == 0));
		if (!copy.isnull)
			CHECK_BYTES(row_text(copy.v.nested.vector, copy.v.nested.row), text);
	}
}

/* Strings with a dictionary, below lists and rows. */
static void
test_flatten(void)
{
	static const BytesView words[] = {{"zero", 4}, {"one", 3}, {"two", 3}};
	DataType   *type = nested_type(TYPE_ARRAY, 1);
	DataType   *row_type = nested_type(TYPE_ROW, 1);
	DataType   *string_type = type_parse_atomic("STRING");
	Vector	   *vector;
	Vector	   *strings;
	Vector	   *copy;
	int32		from[] = {1, 0};

	type->children[0].type = row_type;
	row_type->children[0].type = string_type;
	vector = vector_create(type, 2);
	copy = vector_create(type, 2);
	strings = vector->children[0]->children[0];
	vector->values.list[0] = (ListView) {0, 2};
	vector->values.list[1] = (ListView) {2, 1};
	vector->children[0]->filled = 3;
	strings->codes = strings->codes_buffer;
	strings->dictionary = words;
	strings->dictionary_size = lengthof(words);
	for (int i = 0; i < 3; i++)
		strings->codes[i] = 2 - i;
	CHECK_BYTES(row_text(vector, 0), unit_bytes("[(two,);(one,);]"));
	CHECK_INT(vector_row_cost(vector, 0).bytes, 6);
	vector_gather(copy, 0, vector, from, 2);
	vector_reserve(strings, 1000);
	vector_flatten(vector, NULL, 2);
	CHECK(strings->codes == NULL);
	CHECK_BYTES(row_text(vector, 0), unit_bytes("[(two,);(one,);]"));
	CHECK_BYTES(row_text(vector, 1), unit_bytes("[(zero,);]"));
	CHECK_BYTES(row_text(copy, 0), unit_bytes("[(zero,);]"));
	CHECK_BYTES(row_text(copy, 1), unit_bytes("[(two,);(one,);]"));
	vector_set_all_null(vector, 2);
	CHECK_BYTES(row_text(vector, 1), unit_bytes("null"));
	CHECK_INT(vector->children[0]->filled, 0);
}

/* ... and the same value in every row. */
static void
test_constant(void)
{
	int			next_id = 1;
	DataType   *type = random_nested_type(&next_id);
	BytesView	text;
	Vector	   *vector = random_vector(type, 1, &text);
	Scalar		value = vector_get(vector, 0);
	Vector	   *constant = vector_create(type, 10);

	vector_set_constant(constant, &value, 10);
	for (int i = 0; i < 10; i++)
		CHECK_BYTES(row_text(constant, i), text);
}

int
main(void)
{
	unit_begin();
	RUN(test_gather);
	RUN(test_scalar_copy);
	RUN(test_flatten);
	RUN(test_constant);
	return unit_end();
}
