/*
 * lake_fixture.h
 *		A small table (k INT, v STRING), with or without key, for tests of writing.
 */
#ifndef STREAMHOUSE_LAKE_FIXTURE_H
#define STREAMHOUSE_LAKE_FIXTURE_H

#include "postgres.h"

#include "lake/commit.h"
#include "lake/read.h"
#include "lake/writer.h"
#include "unit.h"

#define FIXTURE_KEYS 1000		/* keys are below */

/* What a table of the fixture holds: by key, the value's number, -1 for none. */
typedef struct FixtureRows
{
	int			nrows;			/* read in all */
	int			values[FIXTURE_KEYS];
} FixtureRows;

/* Options as "key=value" strings, ended by NULL. */
static inline LakeTable *
fixture_table(bool has_key, const char *const *options)
{
	static int	counter = 0;
	DataField	fields[2] = {
		{.name = "k",.type = type_make(TYPE_INT, 0, 0, false)},
		{.name = "v",.type = type_make(TYPE_VARCHAR, TYPE_MAX_LENGTH, 0, true)}
	};
	List	   *pairs = NIL;
	TableSchema *schema;

	for (; *options != NULL; options++)
	{
		OptionPair *pair = palloc(sizeof(OptionPair));
		const char *equals = strchr(*options, '=');

		pair->key = pnstrdup(*options, equals - *options);
		pair->value = pstrdup(equals + 1);
		pairs = lappend(pairs, pair);
	}
	schema = schema_build(2, fields, NIL, has_key ? list_make1(pstrdup("k")) : NIL, pairs, NULL);
	return lake_table_create(unit_directory(), "db", psprintf("t%d", counter++), schema);
}

static inline LakeTable *
fixture_key_table(void)
{
	static const char *const options[] = {"bucket=2", NULL};

	return fixture_table(true, options);
}

static inline void
fixture_append(TableWriter *writer, RowKind kind, int key, int value)
{
	Scalar		row[2] = {{0}};
	char		text[32];

	snprintf(text, sizeof(text), "value %d", value);
	row[0].v.i32 = key;
	row[1].v.bytes = unit_bytes(text);
	table_writer_append(writer, kind, row);
}

static inline int64
fixture_commit(TableWriter *writer)
{
	CommitInfo	info = {"fixture", BATCH_COMMIT_IDENTIFIER, NIL, false};

	return table_writer_commit(writer, &info);
}

/* Write one row in a commit of its own. */
static inline int64
fixture_put(LakeTable *table, RowKind kind, int key, int value)
{
	TableWriter *writer = table_writer_open(table, 1024 * 1024);
	int64		snapshot_id;

	fixture_append(writer, kind, key, value);
	snapshot_id = fixture_commit(writer);
	table_writer_close(writer);
	return snapshot_id;
}

static inline void
fixture_read(LakeTable *table, FixtureRows *rows)
{
	static const int projection[] = {0, 1};
	ScanRequest request = {.snapshot = snapshot_load_latest(table->location)};
	TableReader *reader = table_reader_open(table, scan_plan(table, &request)->splits, projection, 2, NULL, NULL);
	Batch	   *batch;

	rows->nrows = 0;
	memset(rows->values, -1, sizeof(rows->values));
	while ((batch = table_reader_next(reader)) != NULL)
	{
		for (int i = 0; i < batch->nselected; i++)
		{
			int			row = batch->selection != NULL ? batch->selection[i] : i;
			Scalar		key = vector_get(batch->columns[0], row);
			Scalar		value = vector_get(batch->columns[1], row);

			rows->nrows++;
			rows->values[key.v.i32] = atoi(pnstrdup(value.v.bytes.data, value.v.bytes.length) + strlen("value "));
		}
	}
	table_reader_close(reader);
}

/* Files in a folder of the table whose names begin so. */
static inline int
fixture_count_files(LakeTable *table, const char *folder, const char *prefix)
{
	int			count = 0;
	ListCell   *lc;

	foreach(lc, storage_list(storage_join(table->location, folder)))
		count += strncmp((const char *) lfirst(lc), prefix, strlen(prefix)) == 0;
	return count;
}

static inline int
fixture_count_data_files(LakeTable *table)
{
	return fixture_count_files(table, "bucket-0", "data-") + fixture_count_files(table, "bucket-1", "data-");
}

/* Live entries of the latest snapshot. */
static inline List *
fixture_entries(LakeTable *table)
{
	return scan_live_entries(table, snapshot_load_latest(table->location), NULL, NULL);
}

#endif							/* STREAMHOUSE_LAKE_FIXTURE_H */
