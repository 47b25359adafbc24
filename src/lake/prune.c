/*
 * prune.c
 *		What a predicate excludes before anything is read: manifests,
 *		partitions, buckets and files.
 *
 * Partitions are decided exactly, as their values are at hand.  Buckets are
 * decided when the predicate names all values that the bucket key can have.
 * Files are decided by statistics, whose bounds need not be tight.
 * Source: format digest sections 2.4, 4.5, 4.6, 5.7 and 7.1.
 */
#include "postgres.h"

#include "columnar/cast.h"
#include "columnar/compare.h"
#include "lake/binary_row.h"
#include "lake/data_file.h"
#include "lake/plan.h"
#include "lake/prune.h"
#include "utils/memutils.h"

/* Keys of more value combinations than this are not looked up one by one */
#define MAX_BUCKET_KEYS 2048

/* 1582-10-15, in seconds */
#define ORC_FIRST_EXACT_SECOND INT64CONST(-12219292800)

/* The buckets that the predicate allows, of so many */
typedef struct BucketSet
{
	int32		total_buckets;
	int			nbuckets;
	int32	   *buckets;
} BucketSet;

struct ScanPruner
{
	MemoryContext context;		/* holds all of this */
	MemoryContext scratch;		/* reset by each decision */
	LakeTable  *table;
	const Predicate *predicate; /* NULL: everything is kept */
	Predicate  *key_predicate;	/* what it says of key columns alone */
	List	   *partition_conjuncts;	/* Predicate * on partition columns alone */
	Vector	  **partition_vectors;	/* by table field; one row each */
	int			nkeys;			/* allowed values of the bucket key; 0: not known */
	Vector	  **key_vectors;	/* by table field: nkeys rows */
	List	   *bucket_sets;	/* BucketSet *, made as totals occur */
};

/* Whose statistics are looked up */
typedef struct StatisticsSource
{
	LakeTable  *table;
	const DataFileMeta *file;
	ColumnStatistics result;
} StatisticsSource;

Predicate *
predicate_of_fields(const TableSchema *schema, const Predicate *predicate, const int *fields, int nfields)
{
	int		   *map;
	Predicate  *result;

	if (predicate == NULL)
		return NULL;
	map = palloc(Max(schema->nfields, 1) * sizeof(int));
	for (int i = 0; i < schema->nfields; i++)
		map[i] = -1;
	for (int i = 0; i < nfields; i++)
		map[fields[i]] = fields[i];
	result = predicate_remap(predicate, map);
	pfree(map);
	return result;
}

static void
collect_partition_conjuncts(ScanPruner *pruner)
{
	const TableSchema *schema = pruner->table->schema;
	bool	   *is_partition_key = palloc0(schema->nfields * sizeof(bool));
	bool	   *used = palloc(schema->nfields * sizeof(bool));
	ListCell   *cell;

	for (int i = 0; i < schema->npartition_keys; i++)
		is_partition_key[schema->partition_keys[i]] = true;
	foreach(cell, predicate_conjuncts(pruner->predicate))
	{
		bool		only_partition_keys = true;

		memset(used, 0, schema->nfields * sizeof(bool));
		predicate_columns(lfirst(cell), used);
		for (int i = 0; i < schema->nfields; i++)
			if (used[i] && !is_partition_key[i])
				only_partition_keys = false;
		if (only_partition_keys)
			pruner->partition_conjuncts = lappend(pruner->partition_conjuncts, lfirst(cell));
	}
	if (pruner->partition_conjuncts == NIL)
		return;
	pruner->partition_vectors = palloc0(schema->nfields * sizeof(Vector *));
	for (int i = 0; i < schema->npartition_keys; i++)
		pruner->partition_vectors[schema->partition_keys[i]] = vector_create(pruner->table->partition_types[i], 1);
}

/* The conjunct that lists all values the field may have, or NULL. */
static const Predicate *
find_value_list(const Predicate *predicate, int field)
{
	ListCell   *cell;

	foreach(cell, predicate_conjuncts(predicate))
	{
		const Predicate *conjunct = lfirst(cell);

		if ((conjunct->op == PREDICATE_EQ || conjunct->op == PREDICATE_IN) && conjunct->column == field)
			return conjunct;
	}
	return NULL;
}

/* All combinations of the values that the predicate allows for the bucket key. */
static void
collect_bucket_keys(ScanPruner *pruner)
{
	const TableSchema *schema = pruner->table->schema;
	const TableOptions *options = pruner->table->options;
	int			nkeys = 1;
	int			repeat = 1;

	if (options->bucket_mode != BUCKET_FIXED)
		return;
	for (int i = 0; i < options->nbucket_keys; i++)
	{
		int			field = options->bucket_keys[i];
		PhysicalType physical = schema->fields[field].type->physical;
		const Predicate *list = find_value_list(pruner->predicate, field);

		/* values that are equal but differ in bytes lie in different buckets */
		if (list == NULL || physical == PHYSICAL_FLOAT || physical == PHYSICAL_DOUBLE)
			return;
		if (list->nvalues < 1 || list->nvalues > MAX_BUCKET_KEYS / nkeys)
			return;
		nkeys *= list->nvalues;
	}
	pruner->nkeys = nkeys;
	pruner->key_vectors = palloc0(schema->nfields * sizeof(Vector *));
	for (int i = 0; i < options->nbucket_keys; i++)
	{
		int			field = options->bucket_keys[i];
		const Predicate *list = find_value_list(pruner->predicate, field);
		Vector	   *vector = vector_create(schema->fields[field].type, nkeys);

		for (int row = 0; row < nkeys; row++)
			vector_set(vector, row, &list->values[row / repeat % list->nvalues]);
		repeat *= list->nvalues;
		pruner->key_vectors[field] = vector;
	}
}

ScanPruner *
scan_pruner_create(LakeTable *table, const Predicate *predicate)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse scan pruner",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	ScanPruner *pruner = palloc0(sizeof(ScanPruner));

	pruner->context = context;
	pruner->scratch = AllocSetContextCreate(context, "streamhouse scan pruner scratch", ALLOCSET_DEFAULT_SIZES);
	pruner->table = table;
	pruner->predicate = predicate;
	if (predicate != NULL)
	{
		pruner->key_predicate = predicate_of_fields(table->schema, predicate,
													table->schema->trimmed_keys, table->schema->ntrimmed_keys);
		collect_partition_conjuncts(pruner);
		collect_bucket_keys(pruner);
	}
	MemoryContextSwitchTo(old);
	return pruner;
}

void
scan_pruner_free(ScanPruner *pruner)
{
	MemoryContextDelete(pruner->context);
}

/* Number of fields of a serialised row, -1 when there is none. */
static int32
row_arity(BytesView row)
{
	const unsigned char *bytes = (const unsigned char *) row.data;

	if (row.length < 4)
		return -1;
	return (int32) ((uint32) bytes[0] << 24 | (uint32) bytes[1] << 16 | (uint32) bytes[2] << 8 | bytes[3]);
}

/*
 * Statistics of one column of many.  False when nothing is known of it: an
 * empty row stands for statistics that were not collected.
 */
static bool
simple_stats_column(const SimpleStats *stats, const DataType *const *types, int ncolumns, int column,
					const char *path, ColumnStatistics *out)
{
	PhysicalType physical = types[column]->physical;
	Scalar	   *values;

	memset(out, 0, sizeof(*out));
	if (row_arity(stats->min_values) == 0 && row_arity(stats->max_values) == 0)
		return false;
	values = palloc(ncolumns * sizeof(Scalar));
	binary_row_deserialize(stats->min_values, types, values, ncolumns, "minimum values", path);
	out->min = values[column];
	binary_row_deserialize(stats->max_values, types, values, ncolumns, "maximum values", path);
	out->max = values[column];
	pfree(values);
	if (stats->has_null_counts && column < stats->nnull_counts && stats->null_counts[column] >= 0)
	{
		out->has_null_count = true;
		out->null_count = stats->null_counts[column];
	}
	/* Java's bounds are not to be trusted where a NaN occurred, and then one of them may be NaN */
	out->has_min = !out->min.isnull && !scalar_is_nan(physical, &out->min);
	out->has_max = !out->max.isnull && !scalar_is_nan(physical, &out->max);
	if ((physical == PHYSICAL_FLOAT || physical == PHYSICAL_DOUBLE) && !(out->has_min && out->has_max))
		out->has_min = out->has_max = false;
	return out->has_min || out->has_max || out->has_null_count;
}

static const ColumnStatistics *
lookup_partition_statistics(void *arg, int column)
{
	void	  **args = arg;
	ScanPruner *pruner = args[0];
	const ManifestFileMeta *manifest = args[1];
	LakeTable  *table = pruner->table;
	ColumnStatistics *result;

	for (int i = 0; i < table->schema->npartition_keys; i++)
	{
		if (table->schema->partition_keys[i] != column)
			continue;
		result = palloc(sizeof(ColumnStatistics));
		if (!simple_stats_column(&manifest->partition_stats, table->partition_types,
								 table->schema->npartition_keys, i, manifest->file_name, result))
			return NULL;
		return result;
	}
	return NULL;
}

bool
scan_pruner_keeps_manifest(ScanPruner *pruner, const ManifestFileMeta *manifest)
{
	void	   *args[2] = {pruner, (void *) manifest};
	MemoryContext old;
	bool		keeps = true;
	ListCell   *cell;

	/* postponed buckets are not read */
	if (manifest->has_bucket_range && manifest->max_bucket < 0)
		return false;
	old = MemoryContextSwitchTo(pruner->scratch);
	foreach(cell, pruner->partition_conjuncts)
	{
		/* statistics count entries, not rows: any number above the null counts will do */
		if (!predicate_may_match(lfirst(cell), manifest->num_added_files + manifest->num_deleted_files,
								 lookup_partition_statistics, args))
			keeps = false;
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(pruner->scratch);
	return keeps;
}

bool
scan_pruner_keeps_partition(ScanPruner *pruner, BytesView partition)
{
	LakeTable  *table = pruner->table;
	const TableSchema *schema = table->schema;
	MemoryContext old;
	Scalar	   *values;
	int32		selection[1] = {0};
	int			nselected = 1;
	ListCell   *cell;

	if (pruner->partition_conjuncts == NIL)
		return true;
	old = MemoryContextSwitchTo(pruner->scratch);
	values = palloc(schema->npartition_keys * sizeof(Scalar));
	binary_row_deserialize(partition, table->partition_types, values, schema->npartition_keys,
						   "partition", table->name);
	for (int i = 0; i < schema->npartition_keys; i++)
	{
		Vector	   *vector = pruner->partition_vectors[schema->partition_keys[i]];

		vector_reset(vector);
		vector_set(vector, 0, &values[i]);
	}
	foreach(cell, pruner->partition_conjuncts)
	{
		if (nselected > 0)
			nselected = predicate_filter(lfirst(cell), pruner->partition_vectors, selection, nselected);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(pruner->scratch);
	return nselected > 0;
}

static int
int32_compare(const void *a, const void *b)
{
	int32		first = *(const int32 *) a;
	int32		second = *(const int32 *) b;

	return first < second ? -1 : first > second;
}

/* The buckets, of total_buckets, into which the allowed keys fall; sorted. */
static const BucketSet *
find_bucket_set(ScanPruner *pruner, int32 total_buckets)
{
	LakeTable	rescaled = *pruner->table;
	TableOptions options = *pruner->table->options;
	MemoryContext old;
	BucketSet  *set;
	int32	   *rows;
	ListCell   *cell;

	foreach(cell, pruner->bucket_sets)
	{
		set = lfirst(cell);
		if (set->total_buckets == total_buckets)
			return set;
	}
	/* files keep the number of buckets they were written for: assign as if it were the table's */
	options.buckets = total_buckets;
	rescaled.options = &options;
	old = MemoryContextSwitchTo(pruner->context);
	set = palloc(sizeof(BucketSet));
	set->total_buckets = total_buckets;
	set->nbuckets = pruner->nkeys;
	set->buckets = palloc(pruner->nkeys * sizeof(int32));
	rows = palloc(pruner->nkeys * sizeof(int32));
	for (int i = 0; i < pruner->nkeys; i++)
		rows[i] = i;
	lake_assign_buckets(&rescaled, pruner->key_vectors, rows, pruner->nkeys, set->buckets);
	qsort(set->buckets, set->nbuckets, sizeof(int32), int32_compare);
	pruner->bucket_sets = lappend(pruner->bucket_sets, set);
	pfree(rows);
	MemoryContextSwitchTo(old);
	return set;
}

bool
scan_pruner_keeps_bucket(ScanPruner *pruner, int32 bucket, int32 total_buckets)
{
	const BucketSet *set;

	if (pruner->nkeys == 0 || total_buckets <= 0)
		return true;
	set = find_bucket_set(pruner, total_buckets);
	return bsearch(&bucket, set->buckets, set->nbuckets, sizeof(int32), int32_compare) != NULL;
}

/* Whole seconds of a timestamp since 1970, rounded down. */
static int64
timestamp_seconds(const DataType *type, const Scalar *value)
{
	int128		number = type->physical == PHYSICAL_INT128 ? value->v.i128 : value->v.i64;
	int64		units = type->precision <= 3 ? 1000 : type->precision <= 6 ? 1000000 : 1000000000;

	return (int64) (number / units) - (number % units < 0);
}

/* Is what an ORC file has of a timestamp what its statistics say? */
static bool
orc_keeps_timestamp(const DataType *type, const Scalar *value)
{
	int64		seconds = timestamp_seconds(type, value);

	return seconds >= ORC_FIRST_EXACT_SECOND && (seconds < -1 || seconds > 1);
}

/*
 * Paimon takes the bounds of ORC files from values that ORC's Java writer then
 * changes: CHAR loses the blanks at its end when it is read, and gains them in
 * statistics; instants are written as the wall clock of the writer's time
 * zone; timestamps before the Gregorian calendar are taken for Julian ones, and
 * those in the last second before 1970 come back a second later.
 */
static void
drop_orc_bounds(LakeTable *table, const DataFileMeta *file, const DataType *type, ColumnStatistics *out)
{
	if (type->root != TYPE_CHAR && type->root != TYPE_TIMESTAMP && type->root != TYPE_TIMESTAMP_LTZ)
		return;
	if (strcmp(data_file_format(table, file->file_name)->name, "orc") != 0)
		return;
	out->has_min &= type->root == TYPE_TIMESTAMP && orc_keeps_timestamp(type, &out->min);
	out->has_max &= type->root == TYPE_TIMESTAMP && orc_keeps_timestamp(type, &out->max);
}

/* Statistics of a key column; of the first one, the file's key range gives bounds as well. */
static bool
key_column_statistics(LakeTable *table, const DataFileMeta *file, int key, ColumnStatistics *out)
{
	int			nkeys = table->schema->ntrimmed_keys;
	Scalar	   *values;

	if (simple_stats_column(&file->key_stats, table->key_types, nkeys, key, file->file_name, out) &&
		out->has_min && out->has_max)
		return true;
	if (key != 0)
		return out->has_min || out->has_max || out->has_null_count;
	values = palloc(nkeys * sizeof(Scalar));
	binary_row_deserialize(file->min_key, table->key_types, values, nkeys, "minimum key", file->file_name);
	out->min = values[0];
	binary_row_deserialize(file->max_key, table->key_types, values, nkeys, "maximum key", file->file_name);
	out->max = values[0];
	pfree(values);
	out->has_min = !out->min.isnull && !scalar_is_nan(table->key_types[0]->physical, &out->min);
	out->has_max = !out->max.isnull && !scalar_is_nan(table->key_types[0]->physical, &out->max);
	return out->has_min || out->has_max;
}

/* Position of a field in a schema by its id, -1 if it has none such. */
static int
field_by_id(const TableSchema *schema, int32 id)
{
	for (int i = 0; i < schema->nfields; i++)
		if (schema->fields[i].id == id)
			return i;
	return -1;
}

/* Of the row numbers that compaction stores behind the columns. */
static const DataType row_number_type = {.root = TYPE_BIGINT, .nullable = true, .physical = PHYSICAL_INT64};

/* Does a file that lists its columns have all of its schema, in order, maybe others behind them? */
static bool
begins_with_all_columns(LakeTable *table, const DataFileMeta *file)
{
	const TableSchema *schema = lake_table_schema(table, file->schema_id);

	if (list_length(file->write_cols) < schema->nfields)
		return false;
	for (int i = 0; i < schema->nfields; i++)
		if (strcmp(list_nth(file->write_cols, i), schema->fields[i].name) != 0)
			return false;
	return true;
}

/*
 * The columns that the file's value statistics are about, as types in their
 * order, and the place of one field among them (-1: not there).
 */
static int
locate_value_statistics(const DataFileMeta *file, const TableSchema *schema, int field,
						const DataType ***types, int *ncolumns)
{
	int			place = -1;
	int			count = 0;
	List	   *names = file->has_value_stats_cols ? file->value_stats_cols : file->write_cols;
	ListCell   *cell;

	if (!file->has_value_stats_cols && !file->has_write_cols)
	{
		*types = palloc(Max(schema->nfields, 1) * sizeof(DataType *));
		for (int i = 0; i < schema->nfields; i++)
			(*types)[i] = schema->fields[i].type;
		*ncolumns = schema->nfields;
		return field;
	}
	*types = palloc(Max(list_length(names), 1) * sizeof(DataType *));
	foreach(cell, names)
	{
		int			column = schema_field(schema, lfirst(cell));

		/* of numbers of rows there may be statistics, too; those that name unknown columns cannot be decoded */
		if (column < 0 && file->has_value_stats_cols)
			return -1;
		if (column == field)
			place = count;
		(*types)[count++] = column >= 0 ? schema->fields[column].type : &row_number_type;
	}
	*ncolumns = count;
	return place;
}

static bool
value_column_statistics(LakeTable *table, const DataFileMeta *file, const TableSchema *schema, int field,
						ColumnStatistics *out)
{
	const DataType **types;
	int			ncolumns;
	int			place = locate_value_statistics(file, schema, field, &types, &ncolumns);
	bool		known = place >= 0 &&
		simple_stats_column(&file->value_stats, types, ncolumns, place, file->file_name, out);

	pfree(types);
	if (known)
		drop_orc_bounds(table, file, schema->fields[field].type, out);
	return known;
}

bool
file_value_statistics(LakeTable *table, const DataFileMeta *file, int field, ColumnStatistics *out)
{
	const DataField *wanted = &table->schema->fields[field];
	const TableSchema *schema = lake_table_schema(table, file->schema_id);
	const DataType *file_type;
	int			file_field;

	memset(out, 0, sizeof(*out));
	if (FIELD_ID_IS_OF_VIEW(wanted->id))
		return false;
	file_field = field_by_id(schema, wanted->id);
	if (file_field < 0)
	{
		/* a column added later is null in all rows */
		out->has_null_count = true;
		out->null_count = file->row_count;
		return true;
	}
	/* bounds of most other types do not order as ours */
	file_type = schema->fields[file_field].type;
	if (cast_is_identity(file_type, wanted->type))
		return value_column_statistics(table, file, schema, file_field, out);
	return cast_is_widening(file_type, wanted->type) &&
		value_column_statistics(table, file, schema, file_field, out) &&
		cast_integer(file_type, wanted->type, &out->min) &&
		cast_integer(file_type, wanted->type, &out->max);
}

bool
file_column_statistics(LakeTable *table, const DataFileMeta *file, int field, ColumnStatistics *out)
{
	for (int i = 0; i < table->schema->ntrimmed_keys; i++)
	{
		if (table->schema->trimmed_keys[i] == field)
		{
			bool		known = key_column_statistics(table, file, i, out);

			drop_orc_bounds(table, file, table->key_types[i], out);
			return known;
		}
	}
	/* other files have the other columns of the rows, and maybe newer values */
	if (file->has_write_cols && (table->options->data_evolution || !begins_with_all_columns(table, file)))
	{
		memset(out, 0, sizeof(*out));
		return false;
	}
	return file_value_statistics(table, file, field, out);
}

static const ColumnStatistics *
lookup_file_statistics(void *arg, int column)
{
	StatisticsSource *source = arg;

	if (!file_column_statistics(source->table, source->file, column, &source->result))
		return NULL;
	return &source->result;
}

static bool
keeps_file(ScanPruner *pruner, const Predicate *predicate, const DataFileMeta *file)
{
	StatisticsSource source = {.table = pruner->table, .file = file};
	MemoryContext old;
	bool		keeps;

	if (predicate == NULL)
		return true;
	old = MemoryContextSwitchTo(pruner->scratch);
	keeps = predicate_may_match(predicate, file->row_count, lookup_file_statistics, &source);
	MemoryContextSwitchTo(old);
	MemoryContextReset(pruner->scratch);
	return keeps;
}

bool
scan_pruner_keeps_keys(ScanPruner *pruner, const DataFileMeta *file)
{
	return keeps_file(pruner, pruner->key_predicate, file);
}

bool
scan_pruner_keeps_rows(ScanPruner *pruner, const DataFileMeta *file)
{
	return keeps_file(pruner, pruner->predicate, file);
}
