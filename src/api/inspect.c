/*
 * inspect.c
 *		Set-returning functions over a lake table's metadata.
 *
 * Columns are named as in Paimon's system tables "snapshots" and "files".
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "api/lake_relation.h"
#include "columnar/value_text.h"
#include "lake/binary_row.h"
#include "lake/plan.h"

#define UNIX_EPOCH_MICROS ((POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY)
#define SNAPSHOT_COLUMNS 14
#define FILE_COLUMNS 20

PG_FUNCTION_INFO_V1(streamhouse_snapshots);
PGDLLEXPORT Datum streamhouse_snapshots(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(streamhouse_files);
PGDLLEXPORT Datum streamhouse_files(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum streamhouse_snapshots(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum streamhouse_files(PG_FUNCTION_ARGS);

static int64
timestamp_of_millis(int64 millis)
{
	return millis * 1000 - UNIX_EPOCH_MICROS;
}

/* A text that may be missing. */
static void
set_text(Datum *values, bool *nulls, int column, const char *text)
{
	nulls[column] = text == NULL;
	if (text)
		values[column] = CStringGetTextDatum(text);
}

static void
set_int64(Datum *values, bool *nulls, int column, bool present, int64 value)
{
	nulls[column] = !present;
	values[column] = Int64GetDatum(value);
}

static void
report_snapshot(ReturnSetInfo *result, const LakeSnapshot *snapshot)
{
	Datum		values[SNAPSHOT_COLUMNS] = {0};
	bool		nulls[SNAPSHOT_COLUMNS] = {0};

	values[0] = Int64GetDatum(snapshot->id);
	values[1] = Int64GetDatum(snapshot->schema_id);
	set_text(values, nulls, 2, snapshot->commit_user);
	values[3] = Int64GetDatum(snapshot->commit_identifier);
	set_text(values, nulls, 4, commit_kind_name(snapshot->commit_kind));
	values[5] = TimestampTzGetDatum(timestamp_of_millis(snapshot->time_millis));
	set_text(values, nulls, 6, snapshot->base_manifest_list);
	set_text(values, nulls, 7, snapshot->delta_manifest_list);
	set_text(values, nulls, 8, snapshot->changelog_manifest_list);
	values[9] = Int64GetDatum(snapshot->total_record_count);
	values[10] = Int64GetDatum(snapshot->delta_record_count);
	set_int64(values, nulls, 11, snapshot->has_changelog_record_count, snapshot->changelog_record_count);
	set_int64(values, nulls, 12, snapshot->has_watermark, snapshot->watermark);
	set_int64(values, nulls, 13, snapshot->next_row_id != 0, snapshot->next_row_id);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

Datum
streamhouse_snapshots(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	LakeTable  *table = lake_relation_inspect(PG_GETARG_OID(0));
	MemoryContext context;
	MemoryContext old;
	int64		latest;
	int64		id;

	InitMaterializedSRF(fcinfo, 0);
	if (table == NULL)
		PG_RETURN_VOID();

	latest = snapshot_latest_id(table->location);
	context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse snapshots", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	for (id = latest > 0 ? snapshot_earliest_id(table->location) : 1; id <= latest; id++)
	{
		LakeSnapshot *snapshot = snapshot_load(table->location, id, true);

		if (snapshot)
			report_snapshot(result, snapshot);
		MemoryContextReset(context);
		CHECK_FOR_INTERRUPTS();
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	PG_RETURN_VOID();
}

static void
append_value(StringInfo out, const DataType *type, const Scalar *value)
{
	if (value->isnull)
		appendStringInfoString(out, "null");
	else if (!value_to_text(out, type, value, VALUE_TEXT_CAST))
		appendStringInfoString(out, "?");
}

/* A serialised row as "{a, b}" or "[a, b]". */
static char *
row_text(BytesView row, const DataType *const *types, int nfields, const char *brackets, const char *path)
{
	StringInfoData text;
	Scalar	   *values = palloc(sizeof(Scalar) * nfields);
	int			i;

	initStringInfo(&text);
	appendStringInfoChar(&text, brackets[0]);
	binary_row_deserialize(row, types, values, nfields, "key", path);
	for (i = 0; i < nfields; i++)
	{
		if (i > 0)
			appendStringInfoString(&text, ", ");
		append_value(&text, types[i], &values[i]);
	}
	appendStringInfoChar(&text, brackets[1]);
	return text.data;
}

typedef enum StatisticsPart
{
	PART_NULLS,
	PART_MIN,
	PART_MAX
} StatisticsPart;

/* One kind of statistics of all fields as "{field=value, ...}". */
static char *
statistics_text(LakeTable *table, const DataFileMeta *file, StatisticsPart part)
{
	StringInfoData text;
	int			i;

	initStringInfo(&text);
	appendStringInfoChar(&text, '{');
	for (i = 0; i < table->schema->nfields; i++)
	{
		const DataField *field = &table->schema->fields[i];
		ColumnStatistics statistics = {0};
		Scalar		none = {.isnull = true};
		bool		known = file_column_statistics(table, file, i, &statistics);

		appendStringInfo(&text, "%s%s=", i > 0 ? ", " : "", field->name);
		if (part == PART_NULLS)
		{
			if (known && statistics.has_null_count)
				appendStringInfo(&text, INT64_FORMAT, statistics.null_count);
			else
				appendStringInfoString(&text, "null");
		}
		else if (part == PART_MIN)
			append_value(&text, field->type, known && statistics.has_min ? &statistics.min : &none);
		else
			append_value(&text, field->type, known && statistics.has_max ? &statistics.max : &none);
	}
	appendStringInfoChar(&text, '}');
	return text.data;
}

static Datum
text_array(List *strings)
{
	Datum	   *elements = palloc(sizeof(Datum) * Max(list_length(strings), 1));
	ListCell   *cell;
	int			count = 0;

	foreach(cell, strings)
		elements[count++] = CStringGetTextDatum((char *) lfirst(cell));
	return PointerGetDatum(construct_array(elements, count, TEXTOID, -1, false, TYPALIGN_INT));
}

static const char *
file_format_text(const char *file_name)
{
	const char *dot = strrchr(file_name, '.');

	return dot ? dot + 1 : NULL;
}

static const char *
file_source_text(FileSource source)
{
	switch (source)
	{
		case FILE_SOURCE_APPEND:
			return "APPEND";
		case FILE_SOURCE_COMPACT:
			return "COMPACT";
		case FILE_SOURCE_UNKNOWN:
			break;
	}
	return NULL;
}

static void
report_file(ReturnSetInfo *result, LakeTable *table, const ManifestEntry *entry)
{
	const DataFileMeta *file = entry->file;
	char	   *path = lake_data_file_path(table, entry->partition, entry->bucket, file);
	int			nkeys = table->has_primary_key ? table->schema->ntrimmed_keys : 0;
	Datum		values[FILE_COLUMNS] = {0};
	bool		nulls[FILE_COLUMNS] = {0};

	set_text(values, nulls, 0, row_text(entry->partition, table->partition_types,
										table->schema->npartition_keys, "{}", path));
	values[1] = Int32GetDatum(entry->bucket);
	set_text(values, nulls, 2, path);
	set_text(values, nulls, 3, file_format_text(file->file_name));
	values[4] = Int64GetDatum(file->schema_id);
	values[5] = Int32GetDatum(file->level);
	values[6] = Int64GetDatum(file->row_count);
	values[7] = Int64GetDatum(file->file_size);
	set_text(values, nulls, 8, nkeys > 0 ? row_text(file->min_key, table->key_types, nkeys, "[]", path) : NULL);
	set_text(values, nulls, 9, nkeys > 0 ? row_text(file->max_key, table->key_types, nkeys, "[]", path) : NULL);
	set_text(values, nulls, 10, statistics_text(table, file, PART_NULLS));
	set_text(values, nulls, 11, statistics_text(table, file, PART_MIN));
	set_text(values, nulls, 12, statistics_text(table, file, PART_MAX));
	values[13] = Int64GetDatum(file->min_sequence_number);
	values[14] = Int64GetDatum(file->max_sequence_number);
	nulls[15] = !file->has_creation_time;
	values[15] = TimestampGetDatum(timestamp_of_millis(file->creation_time));
	set_int64(values, nulls, 16, file->has_delete_row_count, file->delete_row_count);
	set_text(values, nulls, 17, file_source_text(file->file_source));
	set_int64(values, nulls, 18, file->has_first_row_id, file->first_row_id);
	nulls[19] = !file->has_write_cols;
	if (file->has_write_cols)
		values[19] = text_array(file->write_cols);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

Datum
streamhouse_files(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	LakeTable  *table = lake_relation_inspect(PG_GETARG_OID(0));
	LakeSnapshot *snapshot = table ? snapshot_load_latest(table->location) : NULL;
	MemoryContext context;
	MemoryContext old;
	List	   *entries;
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, 0);
	if (snapshot == NULL)
		PG_RETURN_VOID();

	entries = scan_live_entries(table, snapshot, NULL, NULL);
	context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse files", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	foreach(cell, entries)
	{
		report_file(result, table, lfirst(cell));
		MemoryContextReset(context);
		CHECK_FOR_INTERRUPTS();
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	PG_RETURN_VOID();
}
