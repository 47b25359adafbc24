/*
 * join.c
 *		Equi-joins of batches with tables in memory.
 *
 * While every row matches one row at most, joined rows keep the places that
 * they have in the batch: of its columns nothing is copied.  A step that
 * multiplies rows gives them new places.
 */
#include "postgres.h"

#include "columnar/join.h"
#include "miscadmin.h"

/* Rows on their way: which rows of the relations they are made of. */
typedef struct JoinRows
{
	const int32 *rows;			/* NULL: the first nrows */
	int			nrows;
	int32	  **places;			/* by relation, by row; of the batch NULL: it is the same */
} JoinRows;

/* What a step gives its rows. */
typedef struct JoinLevel
{
	const Vector **keys;
	int32	   *candidates;		/* rows of the step's part */
	int32	   *found;
	int32	   *rows;
	int32	   *from;			/* of multiplied rows: the row before */
	int32	   *matches;		/* of multiplied rows: the row of the table */
	int32	  **buffers;		/* of places */
	int32	  **places;
} JoinLevel;

/* Where a column is: in the batch, or in a step's table. */
typedef struct ColumnPlace
{
	int			step;			/* -1: in the batch */
	int			column;
} ColumnPlace;

struct Join
{
	const JoinSpec *spec;
	ColumnPlace *places;
	Vector	  **gathered;		/* NULL: not yet needed */
	Vector	  **columns;		/* for expressions */
	Vector	  **wanted;
	JoinLevel  *levels;
	MemoryContext context;
	/* the rows of the batch that may still be asked for */
	const int32 *batch_rows;
	int			batch_nrows;
};

static int32 *
make_rows(void)
{
	return (int32 *) palloc(BATCH_ROWS * sizeof(int32));
}

static void
init_level(Join *join, int number)
{
	const JoinSpec *spec = join->spec;
	const JoinStep *step = &spec->steps[number];
	JoinLevel  *level = &join->levels[number];

	level->keys = (const Vector **) palloc(step->nkeys * sizeof(Vector *));
	level->candidates = make_rows();
	level->found = make_rows();
	level->rows = make_rows();
	level->from = make_rows();
	level->matches = make_rows();
	level->buffers = (int32 **) palloc((number + 1) * sizeof(int32 *));
	for (int i = 0; i <= number; i++)
		level->buffers[i] = make_rows();
	level->places = (int32 **) palloc((number + 2) * sizeof(int32 *));
	for (int c = 0; c < step->ncolumns; c++)
	{
		join->places[step->columns[c]].step = number;
		join->places[step->columns[c]].column = c;
	}
}

Join *
join_create(const JoinSpec *spec)
{
	Join	   *join = (Join *) palloc0(sizeof(Join));

	join->spec = spec;
	join->context = CurrentMemoryContext;
	join->places = (ColumnPlace *) palloc(Max(spec->ncolumns, 1) * sizeof(ColumnPlace));
	for (int c = 0; c < spec->ncolumns; c++)
	{
		join->places[c].step = -1;
		join->places[c].column = c;
	}
	join->gathered = (Vector **) palloc0(Max(spec->ncolumns, 1) * sizeof(Vector *));
	join->columns = (Vector **) palloc0(Max(spec->ncolumns, 1) * sizeof(Vector *));
	join->wanted = (Vector **) palloc(Max(spec->nwanted, 1) * sizeof(Vector *));
	join->levels = (JoinLevel *) palloc0(spec->nsteps * sizeof(JoinLevel));
	for (int i = 0; i < spec->nsteps; i++)
		init_level(join, i);
	return join;
}

/* ---- columns ---- */

static Vector *
gathered_vector(Join *join, int column)
{
	if (join->gathered[column] == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(join->context);

		join->gathered[column] = vector_create(join->spec->types[column], BATCH_ROWS);
		MemoryContextSwitchTo(old);
	}
	return join->gathered[column];
}

/* A column's values at the rows. */
static Vector *
fetch(Join *join, const JoinRows *rows, int column)
{
	const JoinSpec *spec = join->spec;
	const ColumnPlace *place = &join->places[column];
	Vector	   *gathered;

	if (place->step >= 0)
	{
		gathered = gathered_vector(join, column);
		join_table_gather(spec->steps[place->step].table, place->column, rows->places[place->step + 1],
						  rows->rows, rows->nrows, gathered);
	}
	else
	{
		Vector	   *source = spec->source(spec->source_arg, column, join->batch_rows, join->batch_nrows);

		if (rows->places[0] == NULL)
			return source;
		gathered = gathered_vector(join, column);
		join_gather(source, rows->places[0], rows->rows, rows->nrows, gathered);
	}
	return gathered;
}

static void
compute_keys(Join *join, int number, const JoinRows *rows)
{
	const JoinStep *step = &join->spec->steps[number];
	JoinLevel  *level = &join->levels[number];

	for (int i = 0; i < step->nkey_columns; i++)
		join->columns[step->key_columns[i]] = fetch(join, rows, step->key_columns[i]);
	for (int k = 0; k < step->nkeys; k++)
		level->keys[k] = expression_evaluate(step->outer_keys[k], join->columns, rows->rows, rows->nrows);
}

/* ---- rows ---- */

static void pass(Join *join, int number, const JoinRows *rows);

/* Each row matches one at most: rows stay where they are. */
static void
pass_in_place(Join *join, int number, const JoinRows *rows)
{
	const JoinStep *step = &join->spec->steps[number];
	JoinLevel  *level = &join->levels[number];
	JoinRows	out = {.places = level->places};
	const int32 *found = level->found;
	int			kept = 0;

	for (int i = 0; i < rows->nrows; i++)
	{
		int32		row = rows->rows != NULL ? rows->rows[i] : i;

		level->rows[kept] = row;
		kept += found[row] != JOIN_NONE || step->keeps_unmatched;
	}
	memcpy(level->places, rows->places, (number + 1) * sizeof(int32 *));
	level->places[number + 1] = level->found;
	out.nrows = kept;
	out.rows = rows->rows == NULL && kept == rows->nrows ? NULL : level->rows;
	if (kept > 0)
		pass(join, number + 1, &out);
}

/* Hand on the multiplied rows so far. */
static void
pass_multiplied(Join *join, int number, const JoinRows *rows, int count)
{
	JoinLevel  *level = &join->levels[number];
	JoinRows	out = {.nrows = count, .places = level->places};

	CHECK_FOR_INTERRUPTS();
	for (int relation = 0; relation <= number; relation++)
	{
		const int32 *before = rows->places[relation];
		int32	   *places = level->buffers[relation];

		for (int i = 0; i < count; i++)
			places[i] = before != NULL ? before[level->from[i]] : level->from[i];
		level->places[relation] = places;
	}
	level->places[number + 1] = level->matches;
	if (count > 0)
		pass(join, number + 1, &out);
}

static void
multiply(Join *join, int number, const JoinRows *rows)
{
	const JoinStep *step = &join->spec->steps[number];
	JoinLevel  *level = &join->levels[number];
	static const int32 none[1] = {JOIN_NONE};
	int			count = 0;

	for (int i = 0; i < rows->nrows; i++)
	{
		int32		row = rows->rows != NULL ? rows->rows[i] : i;
		const int32 *matches = none;
		int			nmatches = step->keeps_unmatched ? 1 : 0;

		if (level->found[row] != JOIN_NONE)
			matches = join_table_rows(step->table, level->found[row], &nmatches);
		for (int k = 0; k < nmatches; k++)
		{
			if (count == BATCH_ROWS)
			{
				pass_multiplied(join, number, rows, count);
				count = 0;
			}
			level->from[count] = row;
			level->matches[count++] = matches[k];
		}
	}
	pass_multiplied(join, number, rows, count);
}

static void
deliver(Join *join, const JoinRows *rows)
{
	const JoinSpec *spec = join->spec;

	for (int i = 0; i < spec->nwanted; i++)
		join->wanted[i] = fetch(join, rows, spec->wanted[i]);
	spec->receiver(spec->receiver_arg, join->wanted, rows->rows, rows->nrows);
}

static void
pass(Join *join, int number, const JoinRows *rows)
{
	const JoinStep *step = &join->spec->steps[number];
	JoinRows	candidates = *rows;

	if (rows->places[0] == NULL)
	{
		join->batch_rows = rows->rows;
		join->batch_nrows = rows->nrows;
	}
	if (number == join->spec->nsteps)
	{
		deliver(join, rows);
		return;
	}
	compute_keys(join, number, rows);
	if (step->part.nparts > 1)
	{
		JoinLevel  *level = &join->levels[number];

		candidates.nrows = join_part_rows(&step->part, level->keys, step->nkeys, rows->rows, rows->nrows, true,
										  level->candidates);
		candidates.rows = level->candidates;
		if (candidates.nrows == 0)
			return;
	}
	join_table_find(step->table, join->levels[number].keys, candidates.rows, candidates.nrows,
					join->levels[number].found);
	if (join_table_is_unique(step->table))
		pass_in_place(join, number, &candidates);
	else
		multiply(join, number, &candidates);
}

void
join_add(Join *join, const int32 *rows, int nrows)
{
	int32	   *same_place = NULL;
	JoinRows	all = {.rows = rows, .nrows = nrows, .places = &same_place};

	if (nrows > 0)
		pass(join, 0, &all);
}
