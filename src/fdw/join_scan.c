/*
 * join_scan.c
 *		Relations are joined inside a scan, on batches.
 *
 * The scan's own relation is read last, and its rows pass by the others, which
 * are built: held in memory, found by their keys.  What keys these have prunes
 * the files and rows of the first.
 *
 * A relation that does not fit into memory is built in portions, and the first
 * relation is read again for each.  Of an inner join any portion of the rows
 * will do.  Of a left join it must be known which rows match none of all: a
 * portion has all the rows of some keys, those of a part of the hashes, and
 * only rows of the same part pass by.  Where a few keys have too many rows for
 * that, the rows come in portions, too, and keys stay known until the last.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "rewrite/rewriteManip.h"
#include "utils/memutils.h"

#include "columnar/cast.h"
#include "columnar/compare.h"
#include "fdw/compute.h"
#include "fdw/plan.h"
#include "fdw/scan.h"

/* As many parts of hashes as there may be. */
#define MAX_PARTS 4096

/* Files and rows are pruned by a list of keys as long as it has no more than this, else by their range. */
#define MAX_LISTED_KEYS 256

/* A relation that is built. */
typedef struct BuiltRelation
{
	ForeignTableScan *scan;
	Expr	   *condition;
	bool		is_left;
	int			first_field;	/* of its own among the joined ones */
	Expression **inner_keys;
	const Vector **keys;		/* of a batch */
	Vector	  **kept;			/* the same, of the columns that are kept */
	int		   *kept_columns;	/* their places in the reader's batches */
	JoinTableSpec spec;
	JoinStep   *step;
	/* from the scan's start on */
	List	   *later_parts;	/* JoinPart *: of keys not built yet */
	MemoryContext part_context; /* of files and reader */
	TableReader *reader;		/* there are more rows of this part; NULL: there are not */
	int64		file_rows;		/* of the files read, deleted ones included */
	int64		read_rows;		/* of those, so far */
	bool		is_whole;		/* one portion is all */
	int64		built_rows;
	Size		memory;
} BuiltRelation;

struct JoinScan
{
	const QualTarget *target;
	JoinSpec	spec;
	int			nbuilt;
	BuiltRelation *built;
	int		   *columns;		/* by joined field of the first relation: its place in the reader's batches */
	Vector	  **fields;			/* of a batch that is built: by joined field */
	int32	   *rows;			/* of a batch that is built */
	/* from the scan's start on */
	ExprContext *econtext;
	Join	   *join;
	Batch	   *batch;			/* whose rows pass by */
	int64		passes;
};

/* ---- preparation ---- */

static void
prepare_relation(ForeignTableScan *scan, ForeignScanState *node, List *private, int offset, BuiltRelation *built)
{
	List	   *clauses = copyObject(list_nth(private, JOIN_CLAUSES));
	List	   *equations = copyObject(list_nth(private, JOIN_EQUATIONS));

	OffsetVarNodes((Node *) clauses, offset, 0);
	OffsetVarNodes((Node *) equations, offset, 0);
	built->condition = make_ands_explicit(equations);
	built->is_left = intVal(list_nth(private, JOIN_IS_LEFT)) != 0;
	built->scan = foreign_scan_join(node, intVal(list_nth(private, JOIN_VARNO)) + offset, clauses);
}

static Expression *
prepare_key(ForeignTableScan *scan, Expr *key, int offset)
{
	Expr	   *moved = copyObject(key);
	Expression *expression;

	OffsetVarNodes((Node *) moved, offset, 0);
	expression = compute_analyze_key(moved, scan->join->target);
	if (expression == NULL)
		elog(ERROR, "a join with foreign table \"%s\" can no longer be pushed down",
			 RelationGetRelationName(scan->foreign->relation));
	return expression;
}

static void
prepare_keys(ForeignTableScan *scan, List *private, int offset, BuiltRelation *built)
{
	List	   *outer = list_nth(private, JOIN_OUTER_KEYS);
	List	   *inner = list_nth(private, JOIN_INNER_KEYS);
	JoinStep   *step = built->step;
	int			i;

	step->nkeys = built->spec.nkeys = list_length(outer);
	step->outer_keys = palloc(step->nkeys * sizeof(Expression *));
	built->inner_keys = palloc(step->nkeys * sizeof(Expression *));
	built->keys = palloc(step->nkeys * sizeof(Vector *));
	built->spec.key_types = palloc(step->nkeys * sizeof(DataType *));
	for (i = 0; i < step->nkeys; i++)
	{
		step->outer_keys[i] = prepare_key(scan, list_nth(outer, i), offset);
		built->inner_keys[i] = prepare_key(scan, list_nth(inner, i), offset);

		/* the lake's column types were the same, or near enough, when this was planned */
		if (!compute_unite_keys(&step->outer_keys[i], &built->inner_keys[i]))
			elog(ERROR, "a join with foreign table \"%s\" can no longer be pushed down",
				 RelationGetRelationName(built->scan->foreign->relation));
		expression_prepare(step->outer_keys[i]);
		expression_prepare(built->inner_keys[i]);
		built->spec.key_types[i] = built->inner_keys[i]->type;
	}
}

void
join_scan_begin(ForeignTableScan *scan, ForeignScanState *node, int varno_offset)
{
	List	   *relations = list_nth(((ForeignScan *) node->ss.ps.plan)->fdw_private, SCAN_JOIN);
	JoinScan   *join = palloc0(sizeof(JoinScan));
	const QualTarget **targets = palloc((list_length(relations) + 1) * sizeof(QualTarget *));
	int			first_field = scan->target.schema->nfields;
	int			i;

	scan->join = join;
	join->nbuilt = list_length(relations);
	join->built = palloc0(join->nbuilt * sizeof(BuiltRelation));
	join->spec.nsteps = join->nbuilt;
	join->spec.steps = palloc0(join->nbuilt * sizeof(JoinStep));
	join->rows = palloc(BATCH_ROWS * sizeof(int32));
	targets[0] = &scan->target;
	for (i = 0; i < join->nbuilt; i++)
	{
		BuiltRelation *built = &join->built[i];

		built->step = &join->spec.steps[i];
		prepare_relation(scan, node, list_nth(relations, i), varno_offset, built);
		built->first_field = first_field;
		first_field += built->scan->target.schema->nfields;
		targets[i + 1] = &built->scan->target;
	}
	join->target = qual_join_targets(targets, join->nbuilt + 1);
	for (i = 0; i < join->nbuilt; i++)
		prepare_keys(scan, list_nth(relations, i), varno_offset, &join->built[i]);
}

const QualTarget *
join_scan_target(const ForeignTableScan *scan)
{
	return scan->join->target;
}

/* ---- which columns ---- */

/* Of a relation those fields that are used are read, beginning at its first among the joined ones. */
static void
prepare_projection(ForeignTableScan *relation, int first_field, const bool *used, int *columns)
{
	int			nfields = relation->target.schema->nfields;
	int			i;

	relation->projection = palloc(nfields * sizeof(int));
	for (i = 0; i < nfields; i++)
	{
		if (!used[first_field + i])
			continue;
		columns[i] = relation->ncolumns;
		relation->projection[relation->ncolumns++] = i;
	}
}

/* A relation reads its keys, and keeps what is used after it is built. */
static void
prepare_built(JoinScan *join, BuiltRelation *built, const bool *used)
{
	int			nfields = built->scan->target.schema->nfields;
	bool	   *read = palloc(join->spec.ncolumns * sizeof(bool));
	int		   *places = palloc(nfields * sizeof(int));
	int		   *columns = palloc(nfields * sizeof(int));
	int			i;

	memcpy(read, used, join->spec.ncolumns * sizeof(bool));
	for (i = 0; i < built->spec.nkeys; i++)
		compute_fields(built->inner_keys[i], read);
	prepare_projection(built->scan, built->first_field, read, places);
	built->kept_columns = palloc(nfields * sizeof(int));
	built->spec.types = palloc(nfields * sizeof(DataType *));
	built->kept = palloc(nfields * sizeof(Vector *));
	for (i = 0; i < nfields; i++)
	{
		if (!used[built->first_field + i])
			continue;
		columns[built->spec.ncolumns] = built->first_field + i;
		built->spec.types[built->spec.ncolumns] = built->scan->target.schema->fields[i].type;
		built->kept_columns[built->spec.ncolumns++] = places[i];
	}
	built->spec.memory_limit = get_hash_memory_limit();
	built->step->ncolumns = built->spec.ncolumns;
	built->step->columns = columns;
	pfree(read);
}

/* Take down the columns of a step's keys, which are used, too. */
static void
prepare_step(const JoinScan *join, JoinStep *step, bool *used)
{
	bool	   *used_here = palloc0(join->spec.ncolumns * sizeof(bool));
	int		   *columns = palloc(join->spec.ncolumns * sizeof(int));
	int			i;

	for (i = 0; i < step->nkeys; i++)
		compute_fields(step->outer_keys[i], used_here);
	for (i = 0; i < join->spec.ncolumns; i++)
	{
		if (!used_here[i])
			continue;
		columns[step->nkey_columns++] = i;
		used[i] = true;
	}
	step->key_columns = columns;
	pfree(used_here);
}

void
join_scan_use(ForeignTableScan *scan, const int *fields, int nfields)
{
	JoinScan   *join = scan->join;
	const TableSchema *schema = join->target->schema;
	bool	   *used = palloc0(schema->nfields * sizeof(bool));
	int			i;

	join->spec.ncolumns = schema->nfields;
	join->spec.types = palloc(schema->nfields * sizeof(DataType *));
	for (i = 0; i < schema->nfields; i++)
		join->spec.types[i] = schema->fields[i].type;
	join->spec.nwanted = nfields;
	join->spec.wanted = fields;
	for (i = 0; i < nfields; i++)
		used[fields[i]] = true;
	for (i = 0; i < join->nbuilt; i++)
		prepare_step(join, join->built[i].step, used);
	join->columns = palloc(scan->target.schema->nfields * sizeof(int));
	prepare_projection(scan, 0, used, join->columns);
	for (i = 0; i < join->nbuilt; i++)
		prepare_built(join, &join->built[i], used);
	join->fields = palloc0(schema->nfields * sizeof(Vector *));
}

/* ---- building ---- */

static void
open_part(JoinScan *join, BuiltRelation *built)
{
	ForeignTableScan *scan = built->scan;
	MemoryContext old_context;
	Predicate  *predicate;
	ScanPlan   *plan;

	MemoryContextReset(built->part_context);
	old_context = MemoryContextSwitchTo(built->part_context);
	plan = foreign_scan_plan(scan, join->econtext, NIL, &predicate);
	built->file_rows = plan->row_count;
	built->read_rows = 0;
	built->reader = table_reader_open(scan->foreign->table, plan->splits, scan->projection, scan->ncolumns,
									  predicate, &scan->read);
	MemoryContextSwitchTo(old_context);
}

static void
close_part(BuiltRelation *built)
{
	table_reader_close(built->reader);
	built->reader = NULL;
}

static void
add_batch(JoinScan *join, BuiltRelation *built, const Batch *batch)
{
	int			nrows;
	int			i;

	for (i = 0; i < built->scan->ncolumns; i++)
		join->fields[built->first_field + built->scan->projection[i]] = batch->columns[i];
	for (i = 0; i < built->spec.nkeys; i++)
		built->keys[i] = expression_evaluate(built->inner_keys[i], join->fields, batch->selection,
											 batch->nselected);
	for (i = 0; i < built->spec.ncolumns; i++)
		built->kept[i] = batch->columns[built->kept_columns[i]];
	nrows = join_part_rows(&built->step->part, built->keys, built->spec.nkeys, batch->selection, batch->nselected,
						   false, join->rows);
	join_table_add(built->step->table, built->keys, built->kept, join->rows, nrows);
	built->read_rows += batch->nrows;
}

/* A part does not fit: make so many of it, as far as we can see, as do, and begin again with the first. */
static void
split_part(JoinScan *join, BuiltRelation *built)
{
	JoinPart   *part = &built->step->part;
	uint32		nparts = part->nparts;
	uint32		i;

	do
		nparts *= 2;
	while (nparts < MAX_PARTS &&
		   nparts / part->nparts * (double) built->read_rows < built->file_rows);
	for (i = part->part + part->nparts; i < nparts; i += part->nparts)
	{
		JoinPart   *later = palloc(sizeof(JoinPart));

		later->part = i;
		later->nparts = nparts;
		built->later_parts = lappend(built->later_parts, later);
	}
	part->nparts = nparts;
	close_part(built);
	join_table_free(built->step->table);
	built->step->table = join_table_create(&built->spec);
	open_part(join, built);
}

/* Would fewer keys take less memory? */
static bool
can_split(const BuiltRelation *built)
{
	return built->is_left && built->step->part.nparts < MAX_PARTS &&
		join_table_key_count(built->step->table) > 1;
}

/* Take rows until memory is full, or there are no more. */
static void
fill_table(JoinScan *join, BuiltRelation *built)
{
	Batch	   *batch;
	bool		is_first = built->read_rows == 0;

	while ((batch = table_reader_next(built->reader)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		add_batch(join, built, batch);
		if (!join_table_is_full(built->step->table))
			continue;
		if (!is_first || !can_split(built))
			break;
		split_part(join, built);
	}
	if (batch == NULL)
		close_part(built);
	built->built_rows += join_table_row_count(built->step->table);
	built->memory = Max(built->memory, join_table_memory(built->step->table));
	built->step->keeps_unmatched = built->is_left && built->reader == NULL;
	join_table_finish(built->step->table);
}

static void
build_part(JoinScan *join, BuiltRelation *built, JoinPart part)
{
	built->step->part = part;
	built->step->keeps_unmatched = false;
	if (built->step->table != NULL)
		join_table_free(built->step->table);
	built->step->table = join_table_create(&built->spec);
	open_part(join, built);
	fill_table(join, built);
}

static void
build_first(JoinScan *join, BuiltRelation *built)
{
	JoinPart	all = {.part = 0, .nparts = 1};

	build_part(join, built, all);
	built->is_whole = built->reader == NULL && built->later_parts == NIL;
}

/* Build the next portion; false if there is none. */
static bool
build_next(JoinScan *join, BuiltRelation *built)
{
	if (built->reader != NULL)
	{
		if (built->is_left)
			join_table_clear_rows(built->step->table);
		else
		{
			join_table_free(built->step->table);
			built->step->table = join_table_create(&built->spec);
		}
		fill_table(join, built);
		return true;
	}
	if (built->later_parts != NIL)
	{
		JoinPart	part = *(const JoinPart *) linitial(built->later_parts);

		built->later_parts = list_delete_first(built->later_parts);
		build_part(join, built, part);
		return true;
	}
	return false;
}

/* Turn to the next combination of portions, as a counter turns to the next number; false after the last. */
static bool
build_next_of_all(JoinScan *join)
{
	int			i = join->nbuilt - 1;

	while (i >= 0 && !build_next(join, &join->built[i]))
		i--;
	if (i < 0)
		return false;
	while (++i < join->nbuilt)
	{
		if (!join->built[i].is_whole)
			build_first(join, &join->built[i]);
	}
	return true;
}

/* ---- pruning ---- */

/* The first relation's column that a key is, as an integer maybe wider; -1: it is none. */
static int
probed_column(const ForeignTableScan *scan, const Expression *key)
{
	if (key->kind == EXPRESSION_WIDEN && type_is_integer(key->type) && type_is_integer(key->arguments[0]->type))
		key = key->arguments[0];
	if (key->kind != EXPRESSION_COLUMN || key->column >= scan->target.schema->nfields ||
		key->type->physical == PHYSICAL_FLOAT || key->type->physical == PHYSICAL_DOUBLE)
		return -1;
	return key->column;
}

/* The values that a key has in the table, as those of a column; how many. */
static int
list_key_values(const BuiltRelation *built, int key, const DataType *wanted, Scalar *values)
{
	const DataType *type = built->spec.key_types[key];
	int			nkeys = join_table_key_count(built->step->table);
	Vector	   *vector = vector_create(type, BATCH_ROWS);
	int			nvalues = 0;
	int			first;
	int			i;

	for (first = 0; first < nkeys; first += BATCH_ROWS)
	{
		int			count = Min(nkeys - first, BATCH_ROWS);

		join_table_key_values(built->step->table, key, first, count, vector);
		for (i = 0; i < count; i++)
		{
			values[nvalues] = vector_get(vector, i);
			/* integers that the column cannot have are in none of its rows */
			nvalues += type->physical == wanted->physical || cast_integer(type, wanted, &values[nvalues]);
		}
	}
	vector_free(vector);
	return nvalues;
}

/* What the table's keys say of a column of the first relation. */
static Predicate *
key_predicate(const BuiltRelation *built, int key, int column, const DataType *type)
{
	int			nkeys = join_table_key_count(built->step->table);
	Scalar	   *values = MemoryContextAllocHuge(CurrentMemoryContext, Max(nkeys, 1) * sizeof(Scalar));
	int			nvalues = list_key_values(built, key, type, values);
	int			least = 0;
	int			greatest = 0;
	int			i;

	if (nvalues <= MAX_LISTED_KEYS)
		return predicate_leaf(PREDICATE_IN, column, type, values, nvalues);
	for (i = 1; i < nvalues; i++)
	{
		if (scalar_compare_values(type->physical, &values[i], &values[least]) < 0)
			least = i;
		if (scalar_compare_values(type->physical, &values[i], &values[greatest]) > 0)
			greatest = i;
	}
	return predicate_combine(PREDICATE_AND,
							 list_make2(predicate_leaf(PREDICATE_GE, column, type, &values[least], 1),
										predicate_leaf(PREDICATE_LE, column, type, &values[greatest], 1)));
}

/* What all tables say of the first relation's rows. */
static List *
key_predicates(const ForeignTableScan *scan)
{
	const JoinScan *join = scan->join;
	List	   *predicates = NIL;
	int			i;
	int			k;

	for (i = 0; i < join->nbuilt; i++)
	{
		const BuiltRelation *built = &join->built[i];

		for (k = 0; k < built->spec.nkeys && !built->is_left; k++)
		{
			int			column = probed_column(scan, built->step->outer_keys[k]);

			if (column >= 0)
				predicates = lappend(predicates, key_predicate(built, k, column,
															   scan->target.schema->fields[column].type));
		}
	}
	return predicates;
}

/* ---- the first relation's rows ---- */

static Vector *
probed_values(void *arg, int column, const int32 *rows, int nrows)
{
	ForeignTableScan *scan = arg;
	JoinScan   *join = scan->join;

	if (rows != NULL && nrows < join->batch->nselected)
		table_reader_select(scan->reader, rows, nrows);
	table_reader_decode(scan->reader, join->columns[column]);
	return join->batch->columns[join->columns[column]];
}

static bool
has_no_rows(const JoinScan *join)
{
	int			i;

	for (i = 0; i < join->nbuilt; i++)
	{
		if (!join->built[i].is_left && join_table_row_count(join->built[i].step->table) == 0)
			return true;
	}
	return false;
}

static void
read_first_relation(ForeignTableScan *scan)
{
	JoinScan   *join = scan->join;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse join pass",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(context);
	Predicate  *predicate;
	ScanPlan   *plan = foreign_scan_plan(scan, join->econtext, key_predicates(scan), &predicate);

	scan->planned = plan->counters;
	scan->reader = table_reader_open(scan->foreign->table, plan->splits, scan->projection, scan->ncolumns,
									 predicate, &scan->read);
	while ((join->batch = table_reader_next_rows(scan->reader)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		join_add(join->join, join->batch->selection, join->batch->nselected);
	}
	table_reader_close(scan->reader);
	scan->reader = NULL;
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
	join->passes++;
}

/* ---- the scan ---- */

void
join_scan_start(ForeignTableScan *scan, ExprContext *econtext)
{
	JoinScan   *join = scan->join;
	int			i;

	join->econtext = econtext;
	join->passes = 0;
	for (i = 0; i < join->nbuilt; i++)
	{
		BuiltRelation *built = &join->built[i];

		built->part_context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse build", ALLOCSET_DEFAULT_SIZES);
		built->step->table = NULL;
		built->reader = NULL;
		built->later_parts = NIL;
		built->built_rows = 0;
		built->memory = 0;
	}
}

void
join_scan_read(ForeignTableScan *scan, JoinReceiver receiver, void *arg)
{
	JoinScan   *join = scan->join;
	MemoryContext old_context = MemoryContextSwitchTo(scan->context);
	int			i;

	join->spec.source = probed_values;
	join->spec.source_arg = scan;
	join->spec.receiver = receiver;
	join->spec.receiver_arg = arg;
	join->join = join_create(&join->spec);
	for (i = 0; i < join->nbuilt; i++)
		build_first(join, &join->built[i]);
	do
	{
		if (!has_no_rows(join))
			read_first_relation(scan);
	} while (build_next_of_all(join));
	MemoryContextSwitchTo(old_context);
}

void
join_scan_end(ForeignTableScan *scan)
{
	int			i;

	for (i = 0; i < scan->join->nbuilt; i++)
		foreign_relation_close(scan->join->built[i].scan->foreign);
}

/* ---- EXPLAIN ---- */

const ForeignTableScan *
join_scan_relation(const ForeignTableScan *scan, int number)
{
	return scan->join != NULL && number < scan->join->nbuilt ? scan->join->built[number].scan : NULL;
}

bool
join_scan_is_left(const ForeignTableScan *scan, int number)
{
	return scan->join->built[number].is_left;
}

Expr *
join_scan_condition(const ForeignTableScan *scan, int number)
{
	return scan->join->built[number].condition;
}

JoinCounters
join_scan_counters(const ForeignTableScan *scan)
{
	JoinCounters counters = {.passes = scan->join->passes};
	int			i;

	for (i = 0; i < scan->join->nbuilt; i++)
	{
		counters.built_rows += scan->join->built[i].built_rows;
		counters.memory += scan->join->built[i].memory;
	}
	return counters;
}
