/*
 * test_join.c
 *		Joins of batches with tables in memory, against nested loops.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "columnar/join.h"
#include "unit.h"
#include "utils/memutils.h"

#define PROBE_ROWS 3000
#define BUILT_ROWS 400
#define FIELDS 3				/* of each relation: two keys, a value */
#define MAX_STEPS 2

/* Relations in memory: that of the batches, then those that are built. */
static const DataType *types[FIELDS * (MAX_STEPS + 1)];
static Scalar *values[FIELDS * (MAX_STEPS + 1)];
static int	row_counts[MAX_STEPS + 1];

/* How the built ones are joined: a key by the column before it, both keys by a number and a string. */
static bool keeps_unmatched[MAX_STEPS];
static bool by_both[MAX_STEPS];

static Scalar
random_key(const DataType *type, int distinct)
{
	Scalar		value = {.isnull = unit_random_below(15) == 0};
	char	   *text = palloc(24);

	if (type->physical == PHYSICAL_INT32)
		value.v.i32 = unit_random_below(distinct) - 2;
	else
	{
		snprintf(text, 24, "key number %d", (int) unit_random_below(distinct));
		value.v.bytes = unit_bytes(text);
	}
	return value;
}

static void
make_relations(int nsteps, int distinct)
{
	for (int relation = 0; relation <= nsteps; relation++)
	{
		row_counts[relation] = relation == 0 ? PROBE_ROWS : unit_random_below(4) == 0 ? 0 : 1 + unit_random_below(BUILT_ROWS);
		for (int field = 0; field < FIELDS; field++)
		{
			int			c = relation * FIELDS + field;

			types[c] = field == 0 ? type_make(TYPE_INT, 0, 0, true) :
				field == 1 ? type_make(TYPE_VARCHAR, TYPE_MAX_LENGTH, 0, true) : type_make(TYPE_DECIMAL, 30, 2, true);
			values[c] = palloc(Max(row_counts[relation], 1) * sizeof(Scalar));
			for (int row = 0; row < row_counts[relation]; row++)
				values[c][row] = field < 2 ? random_key(types[c], distinct) : unit_random_scalar(types[c]);
		}
	}
}

/* Rows of a relation from first on, as columns; strings maybe as codes. */
static Batch *
make_batch(int relation, int first, int nrows)
{
	Batch	   *batch = batch_create(FIELDS, types + relation * FIELDS, BATCH_ROWS);

	for (int field = 0; field < FIELDS; field++)
	{
		for (int i = 0; i < nrows; i++)
			vector_set(batch->columns[field], i, &values[relation * FIELDS + field][first + i]);
	}
	if (unit_random_below(2) == 0)
	{
		Vector	   *vector = batch->columns[1];
		BytesView  *dictionary = palloc(Max(nrows, 1) * sizeof(BytesView));

		for (int i = 0; i < nrows; i++)
		{
			dictionary[i] = vector->has_nulls && vector->nulls[i] ? unit_bytes("") : vector->values.bytes[i];
			vector->codes_buffer[i] = i;
		}
		vector->codes = vector->codes_buffer;
		vector->dictionary = dictionary;
		vector->dictionary_size = nrows;
	}
	batch->nrows = nrows;
	return batch;
}

/* ---- by nested loops ---- */

static bool
equal_values(int a, int row_a, int b, int row_b)
{
	const Scalar *left = &values[a][row_a];
	const Scalar *right = &values[b][row_b];

	return row_a >= 0 && !left->isnull && !right->isnull &&
		scalar_compare_values(types[a]->physical, left, right) == 0;
}

static bool
match(int step, const int *places, int row)
{
	int			from = step;	/* the relation before */
	int			column = (step + 1) * FIELDS;

	if (by_both[step])
		return equal_values(0, places[0], column, row) && equal_values(1, places[0], column + 1, row);
	return equal_values(from * FIELDS + 1, places[from], column + 1, row);
}

/* A sum over joined rows that does not depend on their order. */
static uint64
row_digest(int nsteps, const int *places)
{
	uint64		digest = 17;

	for (int relation = 0; relation <= nsteps; relation++)
	{
		for (int field = 0; field < FIELDS; field++)
		{
			const Scalar *value = places[relation] >= 0 ? &values[relation * FIELDS + field][places[relation]] : NULL;
			uint64		part = 3;

			if (value != NULL && !value->isnull)
			{
				if (field == 0)
					part = (uint64) value->v.i32 + 1000;
				else if (field == 2)
					part = (uint64) value->v.i128 ^ (uint64) (value->v.i128 >> 64);
				else
				{
					for (uint32 i = 0; i < value->v.bytes.length; i++)
						part = part * 131 + (uint8) value->v.bytes.data[i];
				}
			}
			digest = digest * UINT64CONST(1000003) + part;
		}
	}
	return digest * digest;
}

static void
loop(int nsteps, int step, int *places, int64 *count, uint64 *sum)
{
	bool		any = false;

	if (step == nsteps)
	{
		*sum += row_digest(nsteps, places);
		(*count)++;
		return;
	}
	for (int row = 0; row < row_counts[step + 1]; row++)
	{
		if (!match(step, places, row))
			continue;
		places[step + 1] = row;
		any = true;
		loop(nsteps, step + 1, places, count, sum);
	}
	places[step + 1] = -1;
	if (!any && keeps_unmatched[step])
		loop(nsteps, step + 1, places, count, sum);
}

/* ---- by the join ---- */

typedef struct Run
{
	int			nsteps;
	Batch	   *batch;
	int64		count;
	uint64		sum;
} Run;

static Vector *
source(void *arg, int column, const int32 *rows, int nrows)
{
	return ((Run *) arg)->batch->columns[column];
}

static void
receive(void *arg, Vector *const *columns, const int32 *rows, int nrows)
{
	Run		   *run = arg;
	int			places[MAX_STEPS + 1] = {0, 0, 0};

	/* the digest reads relations: let these be the joined row */
	for (int i = 0; i < nrows; i++)
	{
		Scalar		row[FIELDS * (MAX_STEPS + 1)];
		Scalar	   *saved[FIELDS * (MAX_STEPS + 1)];

		for (int c = 0; c < FIELDS * (run->nsteps + 1); c++)
		{
			row[c] = vector_get(columns[c], rows != NULL ? rows[i] : i);
			saved[c] = values[c];
			values[c] = &row[c];
		}
		run->sum += row_digest(run->nsteps, places);
		run->count++;
		memcpy(values, saved, FIELDS * (run->nsteps + 1) * sizeof(Scalar *));
	}
}

static Expression *
column_expression(int column)
{
	Expression *expression = palloc0(sizeof(Expression));

	expression->kind = EXPRESSION_COLUMN;
	expression->type = types[column];
	expression->column = column;
	return expression;
}

/* The keys of a step, of the relation before and the built one. */
static void
make_step(int number, JoinStep *step, JoinTableSpec *spec)
{
	int			before = by_both[number] ? 0 : number * FIELDS + 1;
	int		   *key_columns = palloc(2 * sizeof(int));
	int		   *columns = palloc(FIELDS * sizeof(int));

	step->nkeys = step->nkey_columns = spec->nkeys = by_both[number] ? 2 : 1;
	step->outer_keys = palloc(2 * sizeof(Expression *));
	spec->key_types = palloc(2 * sizeof(DataType *));
	for (int k = 0; k < step->nkeys; k++)
	{
		step->outer_keys[k] = column_expression(before + k);
		key_columns[k] = before + k;
		spec->key_types[k] = types[before + k];
	}
	step->key_columns = key_columns;
	for (int field = 0; field < FIELDS; field++)
		columns[field] = (number + 1) * FIELDS + field;
	step->columns = columns;
	step->ncolumns = spec->ncolumns = FIELDS;
	spec->types = types + (number + 1) * FIELDS;
	spec->memory_limit = 1024 * 1024;
}

/* Rows of a built relation from first on, those in the step's part. */
static void
add_rows(int number, JoinStep *step, int first, int nrows)
{
	Batch	   *batch = make_batch(number + 1, first, nrows);
	const Vector *keys[2];
	int32	   *rows = palloc(BATCH_ROWS * sizeof(int32));
	int			kept;

	for (int k = 0; k < step->nkeys; k++)
		keys[k] = batch->columns[by_both[number] ? k : 1];
	kept = join_part_rows(&step->part, keys, step->nkeys, NULL, nrows, false, rows);
	join_table_add(step->table, keys, batch->columns, rows, kept);
}

static void
pass_all(Run *run, Join *join)
{
	for (int first = 0; first < PROBE_ROWS;)
	{
		int			most = 1 + unit_random_below(BATCH_ROWS);
		int			nrows = Min(most, PROBE_ROWS - first);
		int32	   *rows = palloc(nrows * sizeof(int32));

		for (int i = 0; i < nrows; i++)
			rows[i] = i;
		run->batch = make_batch(0, first, nrows);
		join_add(join, unit_random_below(2) == 0 ? NULL : rows, nrows);
		first += nrows;
	}
}

/* The first step's table comes in parts, and each of these in portions of its rows. */
static void
run_join(int nsteps, uint32 nparts, int portions, Run *run)
{
	JoinSpec	spec = {.ncolumns = FIELDS * (nsteps + 1), .types = types, .nsteps = nsteps};
	JoinTableSpec tables[MAX_STEPS] = {{0}};
	JoinStep	steps[MAX_STEPS] = {{0}};
	int			wanted[FIELDS * (MAX_STEPS + 1)];
	Join	   *join;

	for (int c = 0; c < spec.ncolumns; c++)
		wanted[c] = c;
	spec.steps = steps;
	spec.nwanted = spec.ncolumns;
	spec.wanted = wanted;
	spec.source = source;
	spec.source_arg = spec.receiver_arg = run;
	spec.receiver = receive;
	for (int i = 0; i < nsteps; i++)
	{
		make_step(i, &steps[i], &tables[i]);
		steps[i].part.nparts = 1;
		steps[i].keeps_unmatched = keeps_unmatched[i];
		steps[i].table = join_table_create(&tables[i]);
		if (i == 0)
			continue;
		add_rows(i, &steps[i], 0, row_counts[i + 1]);
		join_table_finish(steps[i].table);
	}
	join = join_create(&spec);
	steps[0].part.nparts = nparts;
	for (uint32 part = 0; part < nparts; part++)
	{
		steps[0].part.part = part;
		join_table_free(steps[0].table);
		steps[0].table = join_table_create(&tables[0]);
		for (int portion = 0; portion < portions; portion++)
		{
			int			first = row_counts[1] * portion / portions;

			if (portion > 0)
				join_table_clear_rows(steps[0].table);
			add_rows(0, &steps[0], first, row_counts[1] * (portion + 1) / portions - first);
			join_table_finish(steps[0].table);
			steps[0].keeps_unmatched = keeps_unmatched[0] && portion == portions - 1;
			pass_all(run, join);
		}
	}
}

static void
check_joins(int nsteps, int distinct)
{
	for (int turn = 0; turn < 12; turn++)
	{
		Run			run = {.nsteps = nsteps};
		uint32		nparts = 1 << unit_random_below(4);
		int			portions = 1 + unit_random_below(3);
		int64		count = 0;
		uint64		sum = 0;

		for (int i = 0; i < nsteps; i++)
		{
			keeps_unmatched[i] = unit_random_below(2) == 0;
			by_both[i] = unit_random_below(2) == 0;
		}
		make_relations(nsteps, distinct);
		for (int row = 0; row < PROBE_ROWS; row++)
		{
			int			places[MAX_STEPS + 1] = {row, -1, -1};

			loop(nsteps, 0, places, &count, &sum);
		}
		run_join(nsteps, nparts, portions, &run);
		if (!CHECK_MESSAGE(run.count == count && run.sum == sum,
						   "%d steps, %u parts, %d portions: " INT64_FORMAT " rows, not " INT64_FORMAT,
						   nsteps, nparts, portions, run.count, count))
			break;
	}
}

static void
test_one_table(void)
{
	check_joins(1, 2000);
	check_joins(1, 40);
}

static void
test_two_tables(void)
{
	check_joins(2, 2000);
	check_joins(2, 60);
}

/* Each key has one row: its number is the key's. */
static void
test_unique(void)
{
	const DataType *type = type_make(TYPE_BIGINT, 0, 0, true);
	JoinTableSpec spec = {.nkeys = 1, .key_types = &type, .ncolumns = 1, .types = &type, .memory_limit = 100 * 1024};
	JoinTable  *table = join_table_create(&spec);
	Vector	   *vector = vector_create(type, BATCH_ROWS);
	const Vector *keys[1] = {vector};
	int32	   *rows = palloc(BATCH_ROWS * sizeof(int32));
	int32	   *found = palloc(BATCH_ROWS * sizeof(int32));
	Vector	   *out = vector_create(type, BATCH_ROWS);

	for (int batch = 0; batch < 10; batch++)
	{
		for (int i = 0; i < BATCH_ROWS; i++)
		{
			rows[i] = i;
			vector->values.i64[i] = (int64) (batch * BATCH_ROWS + i) << 33;
		}
		CHECK(join_table_is_full(table) == (batch > 1));
		join_table_add(table, keys, &vector, rows, BATCH_ROWS);
	}
	join_table_finish(table);
	CHECK(join_table_is_unique(table));
	CHECK_INT(join_table_row_count(table), 10 * BATCH_ROWS);
	vector->values.i64[0] = 1;
	join_table_find(table, keys, NULL, 2, found);
	CHECK_INT(found[0], JOIN_NONE);
	CHECK_INT(found[1], 9 * BATCH_ROWS + 1);
	join_table_gather(table, 0, found, NULL, 2, out);
	CHECK(out->has_nulls && out->nulls[0] && !out->nulls[1]);
	CHECK(out->values.i64[1] == (int64) (9 * BATCH_ROWS + 1) << 33);
	join_table_clear_rows(table);
	join_table_finish(table);
	CHECK(!join_table_is_unique(table));
}

int
main(void)
{
	unit_begin();
	RUN(test_one_table);
	RUN(test_two_tables);
	RUN(test_unique);
	return unit_end();
}
