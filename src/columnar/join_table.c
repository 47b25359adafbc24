/*
 * join_table.c
 *		One side of an equi-join in memory.
 *
 * Keys are numbered as groups are.  While each row brings a new key, a row's
 * number is its key's; else the rows are listed by key.  Strings are kept as
 * numbers, which later steps can group by without looking at bytes.
 */
#include "postgres.h"

#include "columnar/grouping.h"
#include "columnar/join_table.h"
#include "columnar/string_table.h"
#include "utils/memutils.h"

typedef struct JoinColumn
{
	const DataType *type;
	Vector	   *values;			/* of strings: INT, their numbers */
	StringTable *strings;
	/* once finished */
	const BytesView *dictionary;
	int			dictionary_size;
	uint64		dictionary_id;
} JoinColumn;

struct JoinTable
{
	MemoryContext context;
	const JoinTableSpec *spec;
	Grouping   *grouping;		/* of the keys */
	bool		cleared;		/* it has had other rows */
	int32	   *groups;			/* of a batch: keys */
	int32	   *codes;			/* of a batch: strings */
	/* rows */
	MemoryContext row_context;
	int			nrows;
	int			capacity;
	int32	   *row_keys;
	JoinColumn *columns;
	/* once finished, unless unique: rows by key */
	int32	   *starts;
	int32	   *order;
};

#define FIRST_ROWS 256

static const BytesView no_string[1];

static void
begin_rows(JoinTable *table)
{
	const JoinTableSpec *spec = table->spec;
	MemoryContext old = MemoryContextSwitchTo(table->row_context);

	table->nrows = 0;
	table->capacity = FIRST_ROWS;
	table->row_keys = (int32 *) palloc(table->capacity * sizeof(int32));
	table->starts = NULL;
	table->columns = (JoinColumn *) palloc0(Max(spec->ncolumns, 1) * sizeof(JoinColumn));
	for (int i = 0; i < spec->ncolumns; i++)
	{
		JoinColumn *column = &table->columns[i];
		bool		is_string = spec->types[i]->physical == PHYSICAL_BYTES;

		column->type = spec->types[i];
		column->values = vector_create(is_string ? type_make(TYPE_INT, 0, 0, true) : column->type, table->capacity);
		if (is_string)
			column->strings = string_table_create();
	}
	MemoryContextSwitchTo(old);
}

JoinTable *
join_table_create(const JoinTableSpec *spec)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse join table",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	JoinTable  *table = (JoinTable *) palloc0(sizeof(JoinTable));

	table->context = context;
	table->spec = spec;
	table->grouping = grouping_create(spec->key_types, spec->nkeys);
	table->groups = (int32 *) palloc(BATCH_ROWS * sizeof(int32));
	table->codes = (int32 *) palloc(BATCH_ROWS * sizeof(int32));
	table->row_context = AllocSetContextCreate(context, "streamhouse join rows", ALLOCSET_DEFAULT_SIZES);
	begin_rows(table);
	MemoryContextSwitchTo(old);
	return table;
}

void
join_table_free(JoinTable *table)
{
	MemoryContextDelete(table->context);
}

void
join_table_clear_rows(JoinTable *table)
{
	MemoryContextReset(table->row_context);
	begin_rows(table);
	table->cleared = true;
}

/* ---- adding ---- */

static bool
has_null(const Vector *const *keys, int nkeys, int32 row)
{
	for (int k = 0; k < nkeys; k++)
	{
		if (keys[k]->has_nulls && keys[k]->nulls[row])
			return true;
	}
	return false;
}

static bool
is_in_part(const JoinPart *part, const Vector *const *keys, int nkeys, int32 row)
{
	return part->nparts == 1 || (grouping_hash(keys, nkeys, row) & (part->nparts - 1)) == part->part;
}

int
join_part_rows(const JoinPart *part, const Vector *const *keys, int nkeys, const int32 *rows, int nrows,
			   bool with_nulls, int32 *out)
{
	int			kept = 0;

	for (int i = 0; i < nrows; i++)
	{
		int32		row = rows != NULL ? rows[i] : i;

		if (has_null(keys, nkeys, row) ? with_nulls && part->part == 0 : is_in_part(part, keys, nkeys, row))
			out[kept++] = row;
	}
	return kept;
}

static void
reserve(JoinTable *table, int nrows)
{
	MemoryContext old;

	if (nrows <= table->capacity)
		return;
	while (table->capacity < nrows)
		table->capacity *= 2;
	old = MemoryContextSwitchTo(table->row_context);
	table->row_keys = (int32 *) repalloc_huge(table->row_keys, (Size) table->capacity * sizeof(int32));
	for (int i = 0; i < table->spec->ncolumns; i++)
		vector_reserve(table->columns[i].values, table->capacity);
	MemoryContextSwitchTo(old);
}

static void
add_strings(JoinTable *table, JoinColumn *column, const Vector *source, const int32 *rows, int nrows)
{
	string_table_codes(column->strings, source, rows, nrows, true, table->codes);
	for (int i = 0; i < nrows; i++)
	{
		Scalar		value = {.isnull = table->codes[rows[i]] == STRING_NULL};

		value.v.i32 = table->codes[rows[i]];
		vector_set(column->values, table->nrows + i, &value);
	}
}

void
join_table_add(JoinTable *table, const Vector *const *keys, Vector *const *columns, const int32 *rows, int nrows)
{
	reserve(table, table->nrows + nrows);
	grouping_reserve(table->grouping, grouping_count(table->grouping) + nrows);
	grouping_assign(table->grouping, keys, rows, nrows, true, table->groups);
	for (int i = 0; i < nrows; i++)
		table->row_keys[table->nrows + i] = table->groups[rows[i]];
	for (int i = 0; i < table->spec->ncolumns; i++)
	{
		JoinColumn *column = &table->columns[i];

		if (column->strings != NULL)
			add_strings(table, column, columns[i], rows, nrows);
		else
			vector_gather(column->values, table->nrows, columns[i], rows, nrows);
	}
	table->nrows += nrows;
}

bool
join_table_is_full(const JoinTable *table)
{
	return table->nrows > BATCH_ROWS && join_table_memory(table) > table->spec->memory_limit;
}

/* List the rows by key. */
static void
order_rows(JoinTable *table)
{
	int			nkeys = grouping_count(table->grouping);
	int32	   *next;

	table->starts = (int32 *) MemoryContextAllocHuge(table->row_context, ((Size) nkeys + 2) * sizeof(int32));
	table->order = (int32 *) MemoryContextAllocHuge(table->row_context, (Size) Max(table->nrows, 1) * sizeof(int32));
	memset(table->starts, 0, ((Size) nkeys + 2) * sizeof(int32));
	next = table->starts + 1;
	for (int row = 0; row < table->nrows; row++)
		next[table->row_keys[row] + 1]++;
	for (int key = 0; key < nkeys; key++)
		next[key + 1] += next[key];
	/* next[key] is where the key's rows begin, and moves on to where they end: starts[key + 1] */
	for (int row = 0; row < table->nrows; row++)
		table->order[next[table->row_keys[row]]++] = row;
}

void
join_table_finish(JoinTable *table)
{
	for (int i = 0; i < table->spec->ncolumns; i++)
	{
		JoinColumn *column = &table->columns[i];

		if (column->strings == NULL)
			continue;
		column->dictionary = string_table_entries(column->strings, &column->dictionary_size);
		if (column->dictionary_size == 0)
		{
			column->dictionary = no_string;
			column->dictionary_size = 1;
		}
		column->dictionary_id = vector_new_dictionary_id();
	}
	if (table->cleared || table->nrows != grouping_count(table->grouping))
		order_rows(table);
}

/* ---- finding ---- */

void
join_table_find(JoinTable *table, const Vector *const *keys, const int32 *rows, int nrows, int32 *found)
{
	/* a key that is NULL is none of the table's */
	grouping_assign(table->grouping, keys, rows, nrows, false, found);
}

bool
join_table_is_unique(const JoinTable *table)
{
	return table->starts == NULL;
}

const int32 *
join_table_rows(const JoinTable *table, int32 key, int *count)
{
	Assert(table->starts != NULL);
	*count = table->starts[key + 1] - table->starts[key];
	return table->order + table->starts[key];
}

#define GATHER(member) \
	for (int i = 0; i < nrows; i++) \
	{ \
		int32		row = rows != NULL ? rows[i] : i; \
		if (from[row] >= 0) \
			out->values.member[row] = source->values.member[from[row]]; \
	} \
	break

static void
gather_values(const Vector *source, const int32 *from, const int32 *rows, int nrows, Vector *out)
{
	switch (source->type->physical)
	{
		case PHYSICAL_INT8:
			GATHER(i8);
		case PHYSICAL_INT16:
			GATHER(i16);
		case PHYSICAL_INT32:
			GATHER(i32);
		case PHYSICAL_INT64:
			GATHER(i64);
		case PHYSICAL_INT128:
			GATHER(i128);
		case PHYSICAL_FLOAT:
			GATHER(f32);
		case PHYSICAL_DOUBLE:
			GATHER(f64);
		case PHYSICAL_BYTES:
			GATHER(bytes);
		default:
			elog(ERROR, "values of physical type %d cannot be joined", (int) source->type->physical);
	}
}

static void
gather_codes(const Vector *source, const int32 *codes, const int32 *from, const int32 *rows, int nrows, Vector *out)
{
	for (int i = 0; i < nrows; i++)
	{
		int32		row = rows != NULL ? rows[i] : i;
		int32		at = from[row];

		/* codes of nulls must be valid, too */
		out->codes_buffer[row] = at < 0 || (source->has_nulls && source->nulls[at]) ? 0 : codes[at];
	}
	out->codes = out->codes_buffer;
}

static void
gather_nulls(const Vector *source, const int32 *from, const int32 *rows, int nrows, Vector *out)
{
	bool		any = false;

	for (int i = 0; i < nrows; i++)
	{
		int32		row = rows != NULL ? rows[i] : i;
		int32		at = from[row];

		out->nulls[row] = at < 0 || (source->has_nulls && source->nulls[at]);
		any |= out->nulls[row];
	}
	out->has_nulls = any;
}

void
join_gather(const Vector *source, const int32 *from, const int32 *rows, int nrows, Vector *out)
{
	vector_reset(out);
	gather_nulls(source, from, rows, nrows, out);
	if (source->codes == NULL)
		gather_values(source, from, rows, nrows, out);
	else
	{
		gather_codes(source, source->codes, from, rows, nrows, out);
		out->dictionary = source->dictionary;
		out->dictionary_size = source->dictionary_size;
		out->dictionary_id = source->dictionary_id;
	}
}

void
join_table_gather(const JoinTable *table, int column, const int32 *from, const int32 *rows, int nrows, Vector *out)
{
	const JoinColumn *source = &table->columns[column];

	if (source->strings == NULL)
	{
		join_gather(source->values, from, rows, nrows, out);
		return;
	}
	vector_reset(out);
	gather_nulls(source->values, from, rows, nrows, out);
	gather_codes(source->values, source->values->values.i32, from, rows, nrows, out);
	out->dictionary = source->dictionary;
	out->dictionary_size = source->dictionary_size;
	out->dictionary_id = source->dictionary_id;
}

/* ---- what is there ---- */

int
join_table_row_count(const JoinTable *table)
{
	return table->nrows;
}

int
join_table_key_count(const JoinTable *table)
{
	return grouping_count(table->grouping);
}

void
join_table_key_values(const JoinTable *table, int key, int first, int count, Vector *out)
{
	grouping_key(table->grouping, key, first, count, out);
}

Size
join_table_memory(const JoinTable *table)
{
	return MemoryContextMemAllocated(table->context, true);
}
